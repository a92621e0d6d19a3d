//! Whether the configuration can be used.

use super::DoctorFinding;
use crate::config::{ConfigError, ResolvedConfig};

const SUBJECT: &str = "config";

pub(super) fn check(config: Result<&ResolvedConfig, &[ConfigError]>) -> Vec<DoctorFinding> {
    match config {
        Ok(config) if config.warnings.is_empty() => {
            vec![DoctorFinding::ok(SUBJECT, "The configuration holds no mistake.")]
        }
        Ok(config) => {
            let remedy = "Change or remove that line; `slug config` shows what holds.";
            config.warnings.iter().map(|text| DoctorFinding::warn(SUBJECT, text, remedy)).collect()
        }
        Err(errors) => {
            let remedy = "Put it right: slug does not start with it.";
            errors
                .iter()
                .map(|error| DoctorFinding::fail(SUBJECT, error.to_string(), remedy))
                .collect()
        }
    }
}
