//! Logs of slug's own: taken over as they are, with the contents that they name.
//!
//! An exported log has its contents with it, in lines of their own that go into the store and not
//! into the log. A log that lies in the folder of another slug has them beside that folder. What
//! is found in neither place is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{ContentHash, SessionId};
use crate::session::export::log;
use crate::session::store::failed;
use crate::session::{BlobStore, SessionStore, StoreError, compression, files};

use super::lines::JsonLinesReader;
use super::{ImportError, ImportMode, ImportSourceKind, ImportedSession, set_last_used};

/// The folders of a store that logs are in, and that of the contents beside them.
const LOGS: [&str; 2] = ["sessions", "trash"];
const BLOBS: &str = "blobs";

/// What a session names and came without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MissingContents {
    /// Images.
    pub images: usize,
    /// Long outputs, of which the log has a part.
    pub outputs: usize,
    /// Changed files of which it is not known what they held.
    pub files: usize,
}

impl MissingContents {
    /// The same in a sentence, where there is any.
    pub fn describe(&self) -> Option<String> {
        let counted = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts = [
            counted(self.images, "image", "images"),
            counted(self.outputs, "whole output", "whole outputs"),
            counted(self.files, "changed file", "changed files")
                .map(|files| format!("the former contents of {files}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (last, before) = parts.split_last()?;
        let all = match before {
            [] => last.clone(),
            before => format!("{} and {last}", before.join(", ")),
        };
        let undo = match self.files {
            0 => "",
            1 => ", so /undo leaves it as it is",
            2.. => ", so /undo leaves them as they are",
        };
        Some(format!("it came without {all}{undo}."))
    }
}

/// What a log names, and what came with it.
#[derive(Debug, Default)]
struct ReferencedContents {
    images: BTreeSet<ContentHash>,
    outputs: BTreeSet<ContentHash>,
    /// By the file's path.
    files: BTreeMap<String, BTreeSet<ContentHash>>,
    included: BTreeSet<ContentHash>,
}

impl ReferencedContents {
    fn note(&mut self, line: &Value) {
        for block in line["content"].as_array().into_iter().flatten() {
            if block["type"] == "image" {
                self.images.extend(hash(&block["hash"]));
            }
        }
        self.outputs.extend(hash(&line["result"]["kept"]));
        let change = Some(line).filter(|line| line["type"] == "file_change");
        for change in change.into_iter().chain(line["files"].as_array().into_iter().flatten()) {
            if let Some(path) = change["path"].as_str() {
                let hashes = self.files.entry(path.to_owned()).or_default();
                hashes.extend([&change["before"], &change["after"]].into_iter().filter_map(hash));
            }
        }
    }

    fn all(&self) -> BTreeSet<&ContentHash> {
        self.images.iter().chain(&self.outputs).chain(self.files.values().flatten()).collect()
    }

    fn missing(&self, is_here: impl Fn(&ContentHash) -> bool) -> MissingContents {
        let is_missing = |hash: &&ContentHash| !is_here(hash);
        MissingContents {
            images: self.images.iter().filter(is_missing).count(),
            outputs: self.outputs.iter().filter(is_missing).count(),
            files: self.files.values().filter(|it| it.iter().any(|hash| !is_here(hash))).count(),
        }
    }
}

fn hash(value: &Value) -> Option<ContentHash> {
    serde_json::from_value(value.clone()).ok()
}

impl SessionStore {
    /// Takes over a log of slug's.
    pub(super) fn import_log(
        &self,
        file: &Path,
        session: SessionId,
        importing: ImportMode,
    ) -> Result<ImportedSession, ImportError> {
        if self.has_log(session)? {
            return Err(StoreError::Exists(session).into());
        }
        let (mut messages, mut left_out, mut last) = (0, 0, None);
        let mut named = ReferencedContents::default();
        let mut lines = JsonLinesReader::open(file).map_err(failed("read", file))?;
        while let Some(line) = lines.next().map_err(failed("read", file))? {
            match line {
                None => left_out += 1,
                Some(line) if line["type"] == log::CONTENT => match log::content(&line) {
                    Some(_) => named.included.extend(hash(&line["hash"])),
                    None => left_out += 1,
                },
                Some(line) => {
                    messages += usize::from(line["type"] == "message");
                    last = last.max(DateTime::deserialize(&line["timestamp"]).ok());
                    named.note(&line);
                }
            }
        }
        let beside = adjacent_blobs(file).filter(|_| named.included.is_empty());
        if importing == ImportMode::Write {
            if let Some(beside) = &beside {
                self.take_contents(beside, &named, file)?;
            }
            self.take_log(file, session, &named, last)?;
        }
        let missing = named.missing(|hash| {
            self.blobs().has(hash)
                || named.included.contains(hash)
                || beside.as_ref().is_some_and(|beside| beside.has(hash))
        });
        Ok(ImportedSession { session, kind: ImportSourceKind::Slug, messages, left_out, missing })
    }

    /// Keeps what another store has of what a log names. What cannot be read there is missing.
    fn take_contents(
        &self,
        beside: &BlobStore,
        named: &ReferencedContents,
        file: &Path,
    ) -> Result<(), ImportError> {
        for hash in named.all() {
            match beside.get(hash) {
                Ok(Some(bytes)) => {
                    let kept = self.blobs().put(&bytes).map_err(io::Error::other);
                    kept.map_err(failed("keep what is named in", file))?;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "not taken over"),
            }
        }
        Ok(())
    }

    /// Contents go into the store, before the log that names them gets its name.
    fn take_log(
        &self,
        file: &Path,
        session: SessionId,
        named: &ReferencedContents,
        last: Option<DateTime<Utc>>,
    ) -> Result<(), ImportError> {
        let log = self.paths(session).log();
        let copy = |to: &mut File| {
            if named.included.is_empty() {
                io::copy(&mut compression::read(file)?, to)?;
            } else {
                self.divide(file, to)?;
            }
            set_last_used(to, last);
            Ok(())
        };
        let written = files::replace_with(&log, files::Durability::Synced, copy);
        Ok(written.map_err(failed("write", &log))?)
    }

    /// The lines that are not contents.
    fn divide(&self, file: &Path, to: &mut File) -> io::Result<()> {
        let mut out = BufWriter::new(to);
        let mut lines = JsonLinesReader::open(file)?;
        while let Some(line) = lines.next()? {
            match line {
                Some(line) if line["type"] == log::CONTENT => {
                    if let Some(content) = log::content(&line) {
                        self.blobs().put(&content).map_err(io::Error::other)?;
                    }
                }
                Some(_) | None => {
                    out.write_all(lines.bytes().trim_ascii_end())?;
                    out.write_all(b"\n")?;
                }
            }
        }
        out.flush()
    }
}

/// The contents of the store that a log lies in, if it does.
fn adjacent_blobs(file: &Path) -> Option<BlobStore> {
    let folder = file.canonicalize().ok()?;
    let folder = folder.parent()?;
    let is_of_store = LOGS.iter().any(|name| folder.ends_with(name));
    let blobs = folder.parent()?.join(BLOBS);
    (is_of_store && blobs.is_dir()).then(|| BlobStore::new(blobs))
}
