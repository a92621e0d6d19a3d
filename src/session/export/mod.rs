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

use super::undo::Rewinds;
use super::{Entry, Record};

use page::Page;
use secrets::Redaction;

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
pub enum Secrets {
    /// A word stands in their place.
    Redacted,
    /// They are written as they are.
    Kept,
}

/// A session, written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
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
type ContentOf<'a> = &'a dyn Fn(&ContentHash) -> Option<Vec<u8>>;

/// Writes a session. `content_of` gives images, and outputs that are kept.
pub fn export(
    records: &[Record],
    form: ExportForm,
    secrets: Secrets,
    content_of: ContentOf<'_>,
) -> Result<Exported, ExportError> {
    let mut redaction = Redaction::default();
    let rewinds = Rewinds::of(records);
    let told = records.iter().enumerate().filter_map(|(at, record)| {
        (rewinds.is_live(at) && is_told(&record.entry, form)).then_some(record)
    });
    let mut values: Vec<Value> = told.map(serde_json::to_value).collect::<Result<_, _>>()?;
    if secrets == Secrets::Redacted {
        values = values.into_iter().map(|value| redaction.json(value)).collect();
    }
    let text = match form {
        ExportForm::Json => json::write(values)?,
        ExportForm::Markdown => markdown::write(&Page::of(&clean(values)?)),
        ExportForm::Html => html::write(&Page::of(&clean(values)?), content_of),
        ExportForm::Log => log::write(values, secrets, &mut redaction, content_of),
    };
    Ok(Exported { text, redacted: redaction.count })
}

/// Whether an entry says anything to those that the form is for. With what was taken back goes the
/// word that it was.
fn is_told(entry: &Entry, form: ExportForm) -> bool {
    match entry {
        Entry::Session(_) | Entry::Message(_) | Entry::Title { .. } | Entry::Model { .. } => true,
        Entry::Rewind(_) => false,
        Entry::ToolStarted { .. }
        | Entry::Permission(_)
        | Entry::FileChange(_)
        | Entry::NotCovered(_)
        | Entry::Compaction(_)
        | Entry::Interrupted
        | Entry::TurnEnd(_)
        | Entry::Todo { .. }
        | Entry::Mode { .. } => form == ExportForm::Log,
    }
}

fn clean(values: Vec<Value>) -> Result<Vec<Record>, serde_json::Error> {
    values.into_iter().map(serde_json::from_value).collect()
}

#[cfg(test)]
mod tests;
