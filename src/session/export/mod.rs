//! Exports a session as a text that can be passed on: Markdown, one HTML file, JSON, or a log to
//! import.
//!
//! Pure except for [`file`]: records in, text out. All messages that are in force are exported,
//! also those that a compaction no longer sends. Records that a rewind took back are left out. The
//! forms for reading also leave out the context that slug added to the user's messages. Secrets are
//! redacted before anything is written, so that no form can forget it.

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

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// For reading, and for other tools.
    Markdown,
    /// One file for a browser, which loads nothing from elsewhere.
    Html,
    /// One object for programs.
    Json,
    /// A log, which another slug can import.
    Log,
}

/// What an export does with secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretHandling {
    /// Each one is replaced by `[redacted: …]`.
    Redacted,
    Kept,
}

/// An exported session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedText {
    pub text: String,
    /// How many secrets were redacted.
    pub redacted: usize,
}

/// A record of the session could not be serialized, or not be read back without its secrets.
#[derive(Debug, thiserror::Error)]
#[error("a record of the session cannot be written: {0}")]
pub struct ExportError(#[from] serde_json::Error);

/// Looks up a content by its hash; `None` where it is no longer kept.
type ContentLookup<'a> = &'a dyn Fn(&ContentHash) -> Option<Vec<u8>>;

/// Exports the records of a session. `content_of` looks up images and long outputs.
///
/// # Errors
///
/// When a record cannot be serialized as JSON or, once its secrets are redacted, cannot be read
/// back.
pub fn export(
    records: &[LogRecord],
    form: ExportForm,
    secrets: SecretHandling,
    content_of: ContentLookup<'_>,
) -> Result<ExportedText, ExportError> {
    let mut redaction = ExportRedactor::default();
    let rewinds = RewindHistory::of(records);
    let exported = records.iter().enumerate().filter_map(|(at, record)| {
        (rewinds.is_live(at) && is_exported(&record.entry, form)).then_some(record)
    });
    let mut values: Vec<Value> = exported.map(serde_json::to_value).collect::<Result<_, _>>()?;
    if secrets == SecretHandling::Redacted {
        values = values.into_iter().map(|value| redaction.json(value)).collect();
    }
    let text = match form {
        ExportForm::Json => json::write(values)?,
        ExportForm::Markdown => markdown::write(&ExportPage::of(&to_records(values)?)),
        ExportForm::Html => html::write(&ExportPage::of(&to_records(values)?), content_of),
        ExportForm::Log => log::write(values, secrets, &mut redaction, content_of),
    };
    Ok(ExportedText { text, redacted: redaction.count })
}

/// Records without their secrets, redacted as in an export.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedRecords {
    pub records: Vec<LogRecord>,
    /// How many secrets were redacted.
    pub redacted: usize,
}

/// The records that are in force or, with `rewound`, all records of a session, without their secrets.
/// A record that cannot be read back without them is left out.
pub fn redact(records: &[LogRecord], rewound: RewoundRecords) -> RedactedRecords {
    let mut redaction = ExportRedactor::default();
    let rewinds = RewindHistory::of(records);
    let taken = records.iter().enumerate().filter(|(at, record)| match rewound {
        RewoundRecords::Kept => true,
        RewoundRecords::LeftOut => {
            rewinds.is_live(*at) && !matches!(record.entry, LogEntry::Rewind(_))
        }
    });
    let records = taken.filter_map(|(_, record)| {
        let clean = redaction.json(serde_json::to_value(record).ok()?);
        serde_json::from_value(clean).ok()
    });
    RedactedRecords { records: records.collect(), redacted: redaction.count }
}

/// What happens to the records that a rewind took back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewoundRecords {
    Kept,
    /// The rewinds are left out, too.
    LeftOut,
}

/// Whether an entry is exported in a form. Rewinds never are, because the records that they took
/// back are left out, too.
fn is_exported(entry: &LogEntry, form: ExportForm) -> bool {
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
        | LogEntry::ContextEdit(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::Todo { .. }
        | LogEntry::Tasks(_)
        | LogEntry::Mode { .. } => form == ExportForm::Log,
    }
}

fn to_records(values: Vec<Value>) -> Result<Vec<LogRecord>, serde_json::Error> {
    values.into_iter().map(serde_json::from_value).collect()
}

#[cfg(test)]
mod tests;
