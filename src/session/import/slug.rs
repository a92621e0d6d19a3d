//! Imports logs of slug as they are, with the contents that they refer to.
//!
//! An exported log has its contents with it, in lines of their own, which go into the store and not
//! into the log. For a log in the folder of another slug, the contents are in that slug's store
//! beside the folder. Contents that are found in neither place are reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{ContentHash, SessionId, pluralise};
use crate::session::export::log;
use crate::session::store::failed;
use crate::session::{BlobStore, SessionStore, StoreError, compression, files};

use super::lines::JsonLinesReader;
use super::{ImportError, ImportMode, ImportSourceKind, ImportedSession, set_last_used};

/// The folders of a store that hold logs, and the one beside them that holds contents.
const LOGS: [&str; 2] = ["sessions", "trash"];
const BLOBS: &str = "blobs";

/// The contents that an imported session refers to and that did not come with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MissingContents {
    /// How many images.
    pub images: usize,
    /// How many long outputs, of which the log holds only a part.
    pub outputs: usize,
    /// How many changed files of which a former content is missing.
    pub files: usize,
}

impl MissingContents {
    /// A sentence for the screen, in lower case; `None` where nothing is missing.
    pub fn describe(&self) -> Option<String> {
        let counted = |count: usize, what| (count > 0).then(|| pluralise(count, what));
        let parts = [
            counted(self.images, "image"),
            counted(self.outputs, "whole output"),
            counted(self.files, "changed file")
                .map(|files| format!("the previous contents of {files}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let (last, before) = parts.split_last()?;
        let all = match before {
            [] => last.clone(),
            before => format!("{} and {last}", before.join(", ")),
        };
        let undo = match self.files {
            0 => "",
            1 => ", so /undo cannot restore it",
            2.. => ", so /undo cannot restore them",
        };
        Some(format!("it came without {all}{undo}."))
    }
}

/// The contents that a log refers to, and those that it includes.
#[derive(Debug, Default)]
struct ReferencedContents {
    images: BTreeSet<ContentHash>,
    outputs: BTreeSet<ContentHash>,
    /// The contents before and after changes, by the file's path.
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
    /// Imports a log of slug.
    pub(super) fn import_log(
        &self,
        file: &Path,
        session: SessionId,
        mode: ImportMode,
    ) -> Result<ImportedSession, ImportError> {
        if self.has_log(session)? {
            return Err(StoreError::Exists(session).into());
        }
        let (mut messages, mut left_out, mut last) = (0, 0, None);
        let mut references = ReferencedContents::default();
        let mut lines = JsonLinesReader::open(file).map_err(failed("read", file))?;
        while let Some(line) = lines.next().map_err(failed("read", file))? {
            match line {
                None => left_out += 1,
                Some(line) if line["type"] == log::CONTENT => match log::content(&line) {
                    Some(_) => references.included.extend(hash(&line["hash"])),
                    None => left_out += 1,
                },
                Some(line) => {
                    messages += usize::from(line["type"] == "message");
                    last = last.max(DateTime::deserialize(&line["timestamp"]).ok());
                    references.note(&line);
                }
            }
        }
        let beside = adjacent_blobs(file).filter(|_| references.included.is_empty());
        if mode == ImportMode::Write {
            if let Some(beside) = &beside {
                self.take_contents(beside, &references, file)?;
            }
            self.take_log(file, session, &references, last)?;
        }
        let missing = references.missing(|hash| {
            self.blobs().has(hash)
                || references.included.contains(hash)
                || beside.as_ref().is_some_and(|beside| beside.has(hash))
        });
        Ok(ImportedSession { session, kind: ImportSourceKind::Slug, messages, left_out, missing })
    }

    /// Copies the contents that a log refers to from another store. Contents that cannot be read
    /// there count as missing.
    fn take_contents(
        &self,
        beside: &BlobStore,
        references: &ReferencedContents,
        file: &Path,
    ) -> Result<(), ImportError> {
        for hash in references.all() {
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

    /// Copies the log. Its included contents are stored before the log gets its name.
    fn take_log(
        &self,
        file: &Path,
        session: SessionId,
        references: &ReferencedContents,
        last: Option<DateTime<Utc>>,
    ) -> Result<(), ImportError> {
        let log = self.paths(session).log();
        let copy = |to: &mut File| {
            if references.included.is_empty() {
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

    /// Copies the lines that are not contents to the log, and stores the contents.
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

/// The contents of the store in which a log lies; `None` where it lies in none.
fn adjacent_blobs(file: &Path) -> Option<BlobStore> {
    let folder = file.canonicalize().ok()?;
    let folder = folder.parent()?;
    let is_of_store = LOGS.iter().any(|name| folder.ends_with(name));
    let blobs = folder.parent()?.join(BLOBS);
    (is_of_store && blobs.is_dir()).then(|| BlobStore::new(blobs))
}
