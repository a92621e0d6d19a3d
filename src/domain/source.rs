//! What a request to a model was made for.

use serde::{Deserialize, Serialize};

/// The purpose of a request to a model. Every other purpose gets a variant here, and appears beside
/// the conversation wherever slug shows tokens and costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    /// The conversation with the user.
    #[default]
    Main,
}

impl RequestSource {
    /// The purpose as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
        }
    }

    /// Whether it is the conversation, which logs leave out.
    pub fn is_main(&self) -> bool {
        *self == Self::Main
    }
}
