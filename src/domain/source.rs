//! What a request to a model was made for.

use serde::{Deserialize, Serialize};

/// What a request to a model was made for. Whatever else comes to ask models gets a name here, and
/// stands beside the conversation wherever tokens and money are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    /// The conversation with the person.
    #[default]
    Main,
}

impl RequestSource {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
        }
    }

    /// Whether it is the conversation, which a log need not say.
    pub fn is_main(&self) -> bool {
        *self == Self::Main
    }
}
