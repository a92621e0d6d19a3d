//! Whether the configuration can be used.

use super::DoctorFinding;
use crate::config::{ConfigError, ResolvedConfig};

const SUBJECT: &str = "config";

pub(super) fn check(config: Result<&ResolvedConfig, &[ConfigError]>) -> Vec<DoctorFinding> {
    match config {
        Ok(config) if config.warnings.is_empty() => {
            vec![DoctorFinding::ok(SUBJECT, "The configuration has no errors.")]
        }
        Ok(config) => {
            let remedy = "Change or remove that line; `slug config` shows the values in effect.";
            config.warnings.iter().map(|text| DoctorFinding::warn(SUBJECT, text, remedy)).collect()
        }
        Err(errors) => {
            let remedy = "Correct it: slug does not start until then.";
            errors
                .iter()
                .map(|error| DoctorFinding::fail(SUBJECT, error.to_string(), remedy))
                .collect()
        }
    }
}
