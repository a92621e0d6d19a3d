//! Keeping the store small: what was deleted long ago goes, and so do contents that nothing names
//! any more and what killed slugs left behind; what nobody has used for a while is packed.
//!
//! A content is needed when its hash stands anywhere in a log, a draft or the history, in whatever
//! kind of record. Where one of these cannot be read, no content is removed.

mod leftovers;

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io::{self, BufRead};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::domain::SessionId;

use super::compression;
use super::disk::SessionPaths;
use super::files::{self, missing_is_none};
use super::store::{self, LogFileInfo, LogForm, failed, take_lock};
use super::{SessionStore, StoreError};

/// What is younger may belong to a slug that has not written yet what it is for.
const MIN_GARBAGE_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Smaller contents take a block of the disk either way.
const SMALL: u64 = 8 << 10;

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcMode {
    /// It is done.
    Apply,
    /// It is only said what would be done.
    DryRun,
}

/// What is to go and what is to be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Whether it is done.
    pub mode: GcMode,
    /// Deleted sessions go after this time.
    pub trash_after: Duration,
    /// Logs and contents are packed after this time.
    pub pack_after: Duration,
}

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GcReport {
    /// Deleted sessions that are gone for good.
    pub trash: Reclaimed,
    /// Contents that nothing named any more.
    pub contents: Reclaimed,
    /// What killed slugs left: temporary files, locks, lists of logs that are gone.
    pub leftovers: Reclaimed,
    /// Logs and contents that were packed.
    pub packed: PackReport,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Reclaimed {
    /// How many.
    pub count: usize,
    /// How large they were, in bytes.
    pub bytes: u64,
}

/// What was packed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PackReport {
    /// How many.
    pub count: usize,
    /// How large they were, in bytes.
    pub before: u64,
    /// How large they are, in bytes; 0 where it was only said what would be done.
    pub after: u64,
    /// What could not be packed, and why: it stays as it is.
    pub failed: Vec<String>,
}

/// How large the store is, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreSize {
    /// How many sessions there are.
    pub sessions: usize,
    /// Their files.
    pub logs: u64,
    /// Contents by their hash.
    pub contents: u64,
    /// Deleted sessions.
    pub trash: u64,
}

impl Reclaimed {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

impl SessionStore {
    /// Removes what nothing needs and packs what nobody has used for long. `also` are files and
    /// folders beside the logs that name contents.
    pub fn collect_garbage(
        &self,
        keeping: GcOptions,
        also: &[PathBuf],
    ) -> Result<GcReport, StoreError> {
        let mut kept = GcReport::default();
        let doomed = self.empty_trash(keeping, &mut kept.trash)?;
        self.remove_leftovers(keeping.mode, also, &mut kept.leftovers)?;
        let needed = self.named_contents(&doomed, also)?;
        self.remove_contents(keeping.mode, &needed, &mut kept.contents)?;
        self.pack_logs(keeping, usize::MAX, &mut kept.packed)?;
        self.pack_contents(keeping, &mut kept.packed)?;
        Ok(kept)
    }

    /// Packs logs that nobody has used for so long, at most so many.
    pub fn pack_old(&self, after: Duration, most: usize) -> Result<PackReport, StoreError> {
        let keeping =
            GcOptions { mode: GcMode::Apply, trash_after: Duration::MAX, pack_after: after };
        let mut packed = PackReport::default();
        self.pack_logs(keeping, most, &mut packed)?;
        Ok(packed)
    }

    /// How large the store is.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let sum = |folder: &Path| -> io::Result<u64> {
            entries(folder)?.iter().map(|entry| Ok(entry.metadata()?.len())).sum()
        };
        let blobs = self.blobs().all().map_err(failed("list", &self.sessions))?;
        let contents = blobs.iter().map(|(_, _, file)| Ok(file.metadata()?.len()));
        Ok(StoreSize {
            sessions: self.session_folder_files()?.logs.len(),
            logs: sum(&self.sessions).map_err(failed("list", &self.sessions))?,
            contents: contents.sum::<io::Result<u64>>().map_err(failed("list", &self.sessions))?,
            trash: sum(&self.trash).map_err(failed("list", &self.trash))?,
        })
    }

    /// The sessions of the trash that are gone, or would be.
    fn empty_trash(
        &self,
        keeping: GcOptions,
        freed: &mut Reclaimed,
    ) -> Result<HashSet<SessionId>, StoreError> {
        let mut doomed = HashSet::new();
        for entry in entries(&self.trash).map_err(failed("list", &self.trash))? {
            let Some(session) = session_of_log(&entry) else { continue };
            let failed = failed("remove", &self.trash);
            let metadata = entry.metadata().map_err(&failed)?;
            // The time at which it was moved here, which a file's own time does not tell.
            let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
            if is_older(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds), keeping.trash_after)
                && doomed.insert(session)
            {
                let files = SessionPaths::new(&self.trash, session).all();
                let sizes = files.iter().filter_map(|file| fs::metadata(file).ok());
                freed.count += 1;
                freed.bytes += sizes.map(|file| file.len()).sum::<u64>();
                if keeping.mode == GcMode::Apply {
                    files.iter().try_for_each(|file| files::remove(file)).map_err(failed)?;
                }
            }
        }
        Ok(doomed)
    }

    /// The hashes that stand in any log but those of `doomed`, and in these other files.
    fn named_contents(
        &self,
        doomed: &HashSet<SessionId>,
        also: &[PathBuf],
    ) -> Result<HashSet<String>, StoreError> {
        hashes_in(|| self.referencing_files(doomed, also))
    }

    /// The files that may name contents, as they are called at the moment.
    fn referencing_files(
        &self,
        doomed: &HashSet<SessionId>,
        also: &[PathBuf],
    ) -> Result<Vec<PathBuf>, StoreError> {
        let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
            also.iter().cloned().partition(|it| it.is_dir());
        files.retain(|file| !matches!(file.try_exists(), Ok(false)));
        for folder in folders.iter().chain([&self.sessions, &self.trash]) {
            let in_trash = *folder == self.trash;
            for entry in entries(folder).map_err(failed("list", folder))? {
                let session = session_of_log(&entry);
                let is_doomed =
                    in_trash && session.is_some_and(|session| doomed.contains(&session));
                if !is_doomed && is_file_or_gone(&entry.path()) {
                    files.push(entry.path());
                }
            }
        }
        Ok(files)
    }

    fn remove_contents(
        &self,
        will: GcMode,
        needed: &HashSet<String>,
        freed: &mut Reclaimed,
    ) -> Result<(), StoreError> {
        for (hash, _, file) in self.blobs().all().map_err(failed("list", &self.sessions))? {
            let path = file.path();
            let metadata = missing_is_none(file.metadata()).map_err(failed("look at", &path))?;
            let Some(metadata) = metadata else { continue };
            let modified = metadata.modified().map_err(failed("look at", &path))?;
            if !needed.contains(&hash) && is_older(modified, MIN_GARBAGE_AGE) {
                freed.add(metadata.len());
                if will == GcMode::Apply {
                    files::remove(&path).map_err(failed("remove", &path))?;
                }
            }
        }
        Ok(())
    }

    fn pack_logs(
        &self,
        keeping: GcOptions,
        most: usize,
        packed: &mut PackReport,
    ) -> Result<(), StoreError> {
        for log in self.session_folder_files()?.logs {
            if packed.count == most {
                break;
            }
            if log.form == LogForm::Plain && is_older(log.modified, keeping.pack_after) {
                packed.note(self.pack_log(log.session, keeping));
            }
        }
        Ok(())
    }

    /// Packs a log that was old when the folder was listed; `None` where it is not to be packed.
    fn pack_log(
        &self,
        session: SessionId,
        keeping: GcOptions,
    ) -> Result<Option<PackedFile>, StoreError> {
        let paths = self.paths(session);
        let path = paths.log();
        // Somebody works with it after all.
        let lock = match keeping.mode {
            GcMode::DryRun if self.in_use(session)?.is_some() => return Ok(None),
            GcMode::DryRun => None,
            GcMode::Apply => match take_lock(&paths) {
                Ok(lock) => Some(lock),
                Err(StoreError::InUse { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        // Another slug may have opened, packed or deleted it since, and is done with it.
        let metadata = missing_is_none(fs::metadata(&path)).map_err(failed("look at", &path))?;
        let Some(metadata) = metadata else { return Ok(None) };
        let log = LogFileInfo::new(session, LogForm::Plain, &metadata);
        if !is_older(log.modified, keeping.pack_after) {
            return Ok(None);
        }
        if keeping.mode == GcMode::Apply {
            // A list must not have to unpack it.
            self.meta(&log)?;
        }
        let packed = pack(&path, log.len, keeping.mode)?;
        drop(lock);
        Ok(Some(packed))
    }

    fn pack_contents(&self, keeping: GcOptions, packed: &mut PackReport) -> Result<(), StoreError> {
        for (_, plain, file) in self.blobs().all().map_err(failed("list", &self.sessions))? {
            if file.path() == plain {
                packed.note(pack_content(&plain, keeping));
            }
        }
        Ok(())
    }
}

impl PackReport {
    /// Counts what became of a file. One that cannot be packed keeps no other from it.
    fn note(&mut self, outcome: Result<Option<PackedFile>, StoreError>) {
        match outcome {
            Ok(Some(PackedFile { before, after })) => {
                self.count += 1;
                self.before += before;
                self.after += after;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "not packed");
                self.failed.push(error.to_string());
            }
        }
    }
}

/// How large a file was, and is.
#[derive(Debug)]
struct PackedFile {
    before: u64,
    after: u64,
}

fn pack_content(path: &Path, keeping: GcOptions) -> Result<Option<PackedFile>, StoreError> {
    let metadata = missing_is_none(fs::metadata(path)).map_err(failed("look at", path))?;
    let Some(metadata) = metadata.filter(|metadata| metadata.len() >= SMALL) else {
        return Ok(None);
    };
    let modified = metadata.modified().map_err(failed("look at", path))?;
    let is_cold = is_older(modified, keeping.pack_after)
        && compression::is_worth_it(path).map_err(failed("read", path))?;
    is_cold.then(|| pack(path, metadata.len(), keeping.mode)).transpose()
}

fn pack(path: &Path, before: u64, will: GcMode) -> Result<PackedFile, StoreError> {
    let after = match will {
        GcMode::DryRun => 0,
        GcMode::Apply => compression::pack(path).map_err(failed("pack", path))?,
    };
    Ok(PackedFile { before, after })
}

/// Whose log a file is, packed or not.
fn session_of_log(file: &DirEntry) -> Option<SessionId> {
    let name = file.file_name();
    let (stem, ending) = name.to_str()?.split_once('.')?;
    [store::PLAIN, store::PACKED].contains(&ending).then(|| stem.parse().ok())?
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    // A time that is still to come is not old.
    SystemTime::now().duration_since(time).is_ok_and(|age| age >= than)
}

fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    missing_is_none(fs::read_dir(folder))?.into_iter().flatten().collect()
}

/// What else lies in a folder names nothing.
fn is_file_or_gone(path: &Path) -> bool {
    match missing_is_none(fs::metadata(path)) {
        Ok(Some(metadata)) => metadata.is_file(),
        Ok(None) => !path.is_symlink(),
        // Reading it says why.
        Err(_) => true,
    }
}

/// The hashes in the files that `list` has. A log has another name once it is packed, opened,
/// deleted or brought back, so that files are listed until each one of a list has been read.
fn hashes_in(
    mut list: impl FnMut() -> Result<Vec<PathBuf>, StoreError>,
) -> Result<HashSet<String>, StoreError> {
    let (mut named, mut read) = (HashSet::new(), HashSet::new());
    loop {
        let mut is_all = true;
        for file in list()? {
            if !read.contains(&file) {
                is_all = false;
                if collect(&file, &mut named).map_err(failed("read", &file))? {
                    read.insert(file);
                }
            }
        }
        if is_all {
            return Ok(named);
        }
    }
}

/// Notes all that looks like a hash: 64 hexadecimal digits in a row. Says whether there is a file.
fn collect(file: &Path, named: &mut HashSet<String>) -> io::Result<bool> {
    let packed = file.extension().is_some_and(|ending| ending == compression::ENDING);
    let plain = if packed { file.with_extension("") } else { file.to_owned() };
    let Some(mut content) = compression::open(&plain)? else { return Ok(false) };
    let mut digits = Vec::new();
    loop {
        let part = content.fill_buf()?;
        if part.is_empty() {
            break;
        }
        let length = part.len();
        for byte in part {
            if matches!(byte, b'0'..=b'9' | b'a'..=b'f') {
                if digits.len() <= 64 {
                    digits.push(*byte);
                }
            } else if !digits.is_empty() {
                note(&mut digits, named);
            }
        }
        content.consume(length);
    }
    note(&mut digits, named);
    Ok(true)
}

fn note(digits: &mut Vec<u8>, named: &mut HashSet<String>) {
    if digits.len() == 64
        && let Ok(hash) = std::str::from_utf8(digits)
    {
        named.insert(hash.to_owned());
    }
    digits.clear();
}

#[cfg(test)]
#[path = "keep_tests.rs"]
mod tests;
