//! Imports sessions of other tools and of other slugs into the store.
//!
//! A file's kind is recognised by its content. The file is read twice, line by line: first to learn
//! what the log's first line has to say and whether there are any messages, then into a file beside
//! the log, which is renamed when it is whole. The session's id is made from the source, so that a
//! session is not imported twice. Nothing is made up: a call without a result stays one, and what
//! is not understood is counted.

mod builder;
mod chat;
mod claude_code;
mod codex;
mod images;
mod lines;
mod recognise;
mod slug;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::domain::SessionId;

use super::files::{self, Durability};
use super::store::failed;
use super::{LogRecord, SessionStore, StoreError};

use builder::{ImportBuilder, ImportedMetadata};
use images::ImageImporter;
use lines::JsonLinesReader;
use recognise::ImportSource;

pub use images::ImageFitter;
pub use slug::MissingContents;

/// Whether an import writes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Nothing is written.
    DryRun,
    /// The sessions are written to the store.
    Write,
}

/// Which tool wrote a session, or in which format it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSourceKind {
    Slug,
    /// Any tool that keeps chat messages in the format of OpenAI or Anthropic.
    Chat,
    ClaudeCode,
    Codex,
}

/// A session that was imported, or would be in a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedSession {
    /// Its id in the store.
    pub session: SessionId,
    pub kind: ImportSourceKind,
    /// The number of messages that were imported.
    pub messages: usize,
    /// The number of lines and parts of messages that were not understood.
    pub left_out: usize,
    /// Of a log of slug's: the contents that it refers to and that did not come with it.
    pub missing: MissingContents,
}

/// A file or a folder, and the outcome of its import.
#[derive(Debug)]
pub struct ImportedFile {
    pub path: PathBuf,
    pub outcome: Result<ImportedSession, ImportError>,
}

/// Why a file was not imported. The messages are shown after the file's name.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Its format is not known.
    #[error("not a session in a format that slug can read.")]
    NotASession,
    /// It holds no messages.
    #[error("it contains no messages.")]
    Empty,
    /// The store has the session already, or a file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportSourceKind {
    /// The name in output and in the log's first line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slug => "slug",
            Self::Chat => "chat",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }
}

impl SessionStore {
    /// Imports a file, a folder that is one session, or all sessions below a folder. A session that
    /// does not name its working folder gets `here`.
    pub fn import(
        &self,
        path: &Path,
        here: &Path,
        fit: ImageFitter<'_>,
        mode: ImportMode,
    ) -> Vec<ImportedFile> {
        let one = |path: PathBuf| {
            let outcome = self.import_one(&path, here, fit, mode);
            ImportedFile { path, outcome }
        };
        if !path.is_dir() || recognise::is_session_folder(path) {
            return vec![one(path.to_owned())];
        }
        // Other files in a folder are not worth reporting.
        let is_worth_reporting = |file: &ImportedFile| {
            !matches!(file.outcome, Err(ImportError::NotASession | ImportError::Empty))
        };
        let mut found: Vec<ImportedFile> = recognise::session_files_in(path)
            .into_iter()
            .map(one)
            .filter(is_worth_reporting)
            .collect();
        if found.is_empty() {
            let outcome = Err(ImportError::NotASession);
            found.push(ImportedFile { path: path.to_owned(), outcome });
        }
        found
    }

    fn import_one(
        &self,
        path: &Path,
        here: &Path,
        fit: ImageFitter<'_>,
        mode: ImportMode,
    ) -> Result<ImportedSession, ImportError> {
        let source = recognise::source(path).map_err(failed("read", path))?;
        let source = source.ok_or(ImportError::NotASession)?;
        if let ImportSource::Slug { file, session } = &source {
            return self.import_log(file, *session, mode);
        }
        // Images are kept before the log refers to them.
        let kept_in = match mode {
            ImportMode::DryRun => None,
            ImportMode::Write => Some(self.blobs()),
        };
        let images = ImageImporter::new(fit, kept_in);
        let (known, tally) = read(&source, ImportedMetadata::default(), &images, &mut |_| Ok(()))
            .map_err(failed("read", path))?;
        if tally.messages == 0 {
            return Err(ImportError::Empty);
        }
        let kind = source.kind();
        let known = ImportedMetadata {
            session: Some(known.session_id(kind, &source).map_err(failed("read", path))?),
            cwd: known.cwd.filter(|cwd| cwd.is_absolute()).or_else(|| Some(here.to_owned())),
            ..known
        };
        let session = known.session();
        if self.has_log(session)? {
            return Err(StoreError::Exists(session).into());
        }
        if mode == ImportMode::Write {
            let log = self.paths(session).log();
            let write = |file: &mut File| {
                let mut out = BufWriter::new(&mut *file);
                let mut last = None;
                out.write_all(&known.first_line(kind)?)?;
                read(&source, known.clone(), &images, &mut |record| {
                    last = last.max(Some(record.timestamp));
                    write_line(&mut out, record)
                })?;
                out.flush()?;
                drop(out);
                set_last_used(file, last);
                Ok(())
            };
            files::replace_with(&log, Durability::Synced, write).map_err(failed("write", &log))?;
        }
        let ImportTally { messages, left_out } = tally;
        Ok(ImportedSession {
            session,
            kind,
            messages,
            left_out,
            missing: MissingContents::default(),
        })
    }
}

/// Sets the time of the log's file to that of its last record: an imported session was not used
/// just now.
fn set_last_used(file: &File, time: Option<DateTime<Utc>>) {
    if let Some(time) = time
        && let Err(error) = files::set_modified(file, time.into())
    {
        tracing::debug!(%error, "an import keeps the time of now");
    }
}

fn write_line(out: &mut dyn Write, record: &LogRecord) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// What was read of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ImportTally {
    messages: usize,
    left_out: usize,
}

/// Passes all records of a source except the first to `sink`, and returns what is known of the
/// session in the end.
fn read(
    source: &ImportSource,
    known: ImportedMetadata,
    images: &ImageImporter<'_>,
    sink: &mut dyn FnMut(&LogRecord) -> io::Result<()>,
) -> io::Result<(ImportedMetadata, ImportTally)> {
    let mut builder = ImportBuilder::new(known, images, sink);
    match source {
        // `import_log` copies it.
        ImportSource::Slug { .. } => {}
        ImportSource::Lines { file, metadata, kind } => {
            builder.time_if_none(modified(file)?);
            if let Some(metadata) = metadata {
                chat::facts(&mut builder, &whole(metadata)?);
            }
            match kind {
                ImportSourceKind::ClaudeCode => claude_code::read(file, &mut builder)?,
                ImportSourceKind::Codex => codex::read(file, &mut builder)?,
                ImportSourceKind::Chat | ImportSourceKind::Slug => {
                    let mut lines = JsonLinesReader::open(file)?;
                    while let Some(line) = lines.next()? {
                        match line {
                            Some(value) => chat::message(&mut builder, &value)?,
                            None => builder.leave_out(),
                        }
                    }
                }
            }
        }
        ImportSource::Whole { file } => {
            builder.time_if_none(modified(file)?);
            let value = whole(file)?;
            chat::facts(&mut builder, &value);
            for message in recognise::messages(&value).into_iter().flatten() {
                chat::message(&mut builder, message)?;
            }
        }
    }
    builder.finish()
}

fn modified(file: &Path) -> io::Result<DateTime<Utc>> {
    Ok(fs::metadata(file)?.modified().map_or_else(|_| DateTime::UNIX_EPOCH, DateTime::from))
}

/// Reads a file that is one JSON value; null where it is not JSON.
fn whole(file: &Path) -> io::Result<Value> {
    Ok(serde_json::from_slice(&fs::read(file)?).unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests;
