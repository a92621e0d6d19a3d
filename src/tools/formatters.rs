//! What the file tools need from the project's formatters, which `formatters` implements and tests
//! replace.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

/// Formats the text of a file before it is written.
#[async_trait]
pub trait TextFormatter: Send + Sync {
    /// What is written in the place of `request.after`. Dropping this ends the formatter.
    async fn format(&self, request: FormatRequest) -> FormatResult;
}

/// A text that is about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatRequest {
    /// Absolute, as the call names it.
    pub path: PathBuf,
    /// What the file holds now; `None` for a new file.
    pub before: Option<String>,
    pub after: String,
    /// Whether another call of the response changes the file next. Then this text is not formatted; that
    /// one is, if the file is formatted now.
    pub is_changed_again: bool,
}

/// What came of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatResult {
    /// The project has no formatter for the file.
    NotConfigured,
    /// The text as the formatter of this name writes it.
    Formatted { by: String, text: String },
    /// The text stays as it is. A sentence about why; `None` where the same was said before.
    Failed(Option<String>),
}

/// What a formatter has done to a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeFormatting {
    /// The text to write, and who has made it; `None` for the text of the call.
    pub formatted: Option<(String, Arc<str>)>,
    /// Why there is none, as a sentence for the model.
    pub problem: Option<String>,
}

/// For agents without formatters.
#[derive(Debug)]
pub struct NoFormatters;

#[async_trait]
impl TextFormatter for NoFormatters {
    async fn format(&self, _: FormatRequest) -> FormatResult {
        FormatResult::NotConfigured
    }
}
