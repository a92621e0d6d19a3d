//! Sessions of other tools, and of other slugs, taken into the store.
//!
//! A file is known by what is in it. It is read twice, line by line: first for what the log's
//! first line has to say and whether there is anything in it, then into a file beside the log
//! that gets its name when it is whole. The session's id is made from the source, so that what is
//! there already is not taken over twice. Nothing is made up: a call without a result stays one,
//! and what is not understood is counted.

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

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Nothing is.
    DryRun,
    /// The sessions are.
    Write,
}

/// Who wrote a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSourceKind {
    /// slug.
    Slug,
    /// Any tool that keeps chat messages.
    Chat,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// A session that was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedSession {
    /// Its id here.
    pub session: SessionId,
    /// What it was.
    pub kind: ImportSourceKind,
    /// How many messages it has.
    pub messages: usize,
    /// How many lines or parts of messages were not understood.
    pub left_out: usize,
    /// Of a log of slug's: what it names and came without.
    pub missing: MissingContents,
}

/// A file or a folder, and what became of it.
#[derive(Debug)]
pub struct ImportedFile {
    /// Which.
    pub path: PathBuf,
    /// What.
    pub outcome: Result<ImportedSession, ImportError>,
}

/// Why a file was not taken over.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It has no known shape.
    #[error("this is no session that slug knows how to read.")]
    NotASession,
    /// Nothing is said in it.
    #[error("there are no messages in it.")]
    Empty,
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportSourceKind {
    /// As it is told.
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
    /// Takes over a file, a folder that is one session, or all sessions below a folder. A session
    /// that says nothing of its folder is given `here`.
    pub fn import(
        &self,
        path: &Path,
        here: &Path,
        fit: ImageFitter<'_>,
        importing: ImportMode,
    ) -> Vec<ImportedFile> {
        let one = |path: PathBuf| {
            let outcome = self.import_one(&path, here, fit, importing);
            ImportedFile { path, outcome }
        };
        if !path.is_dir() || recognise::is_session_folder(path) {
            return vec![one(path.to_owned())];
        }
        // What lies about in a folder besides sessions is nobody's mistake.
        let is_worth_telling = |file: &ImportedFile| {
            !matches!(file.outcome, Err(ImportError::NotASession | ImportError::Empty))
        };
        let mut found: Vec<ImportedFile> = recognise::session_files_in(path)
            .into_iter()
            .map(one)
            .filter(is_worth_telling)
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
        importing: ImportMode,
    ) -> Result<ImportedSession, ImportError> {
        let source = recognise::source(path).map_err(failed("read", path))?;
        let source = source.ok_or(ImportError::NotASession)?;
        if let ImportSource::Slug { file, session } = &source {
            return self.import_log(file, *session, importing);
        }
        // They are kept before the log names them.
        let kept_in = match importing {
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
        if importing == ImportMode::Write {
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

/// A session that comes from elsewhere was not used just now.
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

/// How much there was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ImportTally {
    messages: usize,
    left_out: usize,
}

/// Hands on all records of a source but the first, and what is known in the end.
fn read(
    source: &ImportSource,
    known: ImportedMetadata,
    images: &ImageImporter<'_>,
    sink: &mut dyn FnMut(&LogRecord) -> io::Result<()>,
) -> io::Result<(ImportedMetadata, ImportTally)> {
    let mut builder = ImportBuilder::new(known, images, sink);
    match source {
        // Copied as it is.
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

/// A file that is one JSON value; null where it is none.
fn whole(file: &Path) -> io::Result<Value> {
    Ok(serde_json::from_slice(&fs::read(file)?).unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests;
