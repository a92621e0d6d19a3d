//! A session as a text that can be passed on: Markdown, one HTML file, JSON, or a log to import.
//!
//! Pure but for [`file`]: records in, text out. What was said is taken from all messages that are in force, also
//! those that a compaction no longer sends; what the person took back is left out, and so is, of
//! what people read, what slug put beside their words. Secrets are taken out before anything is written, so that no form can forget it.

mod file;
mod html;
mod json;
pub(super) mod log;
mod markdown;
mod page;
mod secrets;

use serde_json::Value;

use crate::domain::ContentHash;

use super::undo::RewindHistory;
use super::{LogEntry, LogRecord};

use page::ExportPage;
use secrets::ExportRedactor;

pub use file::{ExportedFile, StoreExportError};

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// For people and for other tools.
    Markdown,
    /// One file for a browser, which asks nobody for anything.
    Html,
    /// For programs.
    Json,
    /// For another slug.
    Log,
}

/// What becomes of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretHandling {
    /// A word stands in their place.
    Redacted,
    /// They are written as they are.
    Kept,
}

/// A session, written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedText {
    /// The text of the file.
    pub text: String,
    /// How many secrets were taken out.
    pub redacted: usize,
}

/// Why a session could not be written.
#[derive(Debug, thiserror::Error)]
#[error("a record of the session cannot be written: {0}")]
pub struct ExportError(#[from] serde_json::Error);

/// Gives contents that are kept.
type ContentLookup<'a> = &'a dyn Fn(&ContentHash) -> Option<Vec<u8>>;

/// Writes a session. `content_of` gives images, and outputs that are kept.
pub fn export(
    records: &[LogRecord],
    form: ExportForm,
    secrets: SecretHandling,
    content_of: ContentLookup<'_>,
) -> Result<ExportedText, ExportError> {
    let mut redaction = ExportRedactor::default();
    let rewinds = RewindHistory::of(records);
    let told = records.iter().enumerate().filter_map(|(at, record)| {
        (rewinds.is_live(at) && is_told(&record.entry, form)).then_some(record)
    });
    let mut values: Vec<Value> = told.map(serde_json::to_value).collect::<Result<_, _>>()?;
    if secrets == SecretHandling::Redacted {
        values = values.into_iter().map(|value| redaction.json(value)).collect();
    }
    let text = match form {
        ExportForm::Json => json::write(values)?,
        ExportForm::Markdown => markdown::write(&ExportPage::of(&clean(values)?)),
        ExportForm::Html => html::write(&ExportPage::of(&clean(values)?), content_of),
        ExportForm::Log => log::write(values, secrets, &mut redaction, content_of),
    };
    Ok(ExportedText { text, redacted: redaction.count })
}

/// Whether an entry says anything to those that the form is for. With what was taken back goes the
/// word that it was.
fn is_told(entry: &LogEntry, form: ExportForm) -> bool {
    match entry {
        LogEntry::Session(_)
        | LogEntry::Message(_)
        | LogEntry::Title { .. }
        | LogEntry::Model { .. } => true,
        LogEntry::Rewind(_) => false,
        LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::Todo { .. }
        | LogEntry::Mode { .. } => form == ExportForm::Log,
    }
}

fn clean(values: Vec<Value>) -> Result<Vec<LogRecord>, serde_json::Error> {
    values.into_iter().map(serde_json::from_value).collect()
}

#[cfg(test)]
mod tests;
