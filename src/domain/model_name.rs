//! A model's name, together with its provider.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A model of a configured provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelName {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name on its server.
    pub model: String,
}

impl ModelName {
    /// The name of `model` at `provider`.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    /// Whether both names are equal to these.
    pub fn is(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && self.model == model
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}
