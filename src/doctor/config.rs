//! Whether the configuration can be used.

use super::Finding;
use crate::config::{ConfigError, ResolvedConfig};

const SUBJECT: &str = "config";

pub(super) fn check(config: Result<&ResolvedConfig, &[ConfigError]>) -> Vec<Finding> {
    match config {
        Ok(config) if config.warnings.is_empty() => {
            vec![Finding::ok(SUBJECT, "The configuration holds no mistake.")]
        }
        Ok(config) => {
            let remedy = "Change or remove that line; `slug config` shows what holds.";
            config.warnings.iter().map(|text| Finding::warn(SUBJECT, text, remedy)).collect()
        }
        Err(errors) => {
            let remedy = "Put it right: slug does not start with it.";
            errors.iter().map(|error| Finding::fail(SUBJECT, error.to_string(), remedy)).collect()
        }
    }
}
