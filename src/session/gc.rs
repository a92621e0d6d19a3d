//! Garbage collection, which keeps the store small: it removes sessions that were deleted long ago,
//! contents that nothing refers to, and files that killed slugs left behind, and packs what nobody
//! has used for a while.
//!
//! A content is needed when its hash stands anywhere in a log, a draft or the prompt history, in
//! any kind of record. Where one of these files cannot be read, no content is removed.

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

/// Younger files may belong to a running slug that has not yet written the line that refers to
/// them.
const MIN_GARBAGE_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// In bytes. Packing a smaller content saves little: it takes a block of the disk either way.
const SMALL: u64 = 8 << 10;

/// Whether the garbage collection changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcMode {
    /// It removes and packs.
    Apply,
    /// It only reports what it would do.
    DryRun,
}

/// What the garbage collection removes and packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    pub mode: GcMode,
    /// Deleted sessions are removed for good after this time in the trash.
    pub trash_after: Duration,
    /// Logs and contents are packed when nobody has changed them for this time.
    pub pack_after: Duration,
}

/// What a garbage collection did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GcReport {
    /// Deleted sessions that were removed for good.
    pub trash: ReclaimedSpace,
    /// Contents that nothing referred to any more.
    pub contents: ReclaimedSpace,
    /// Files that killed slugs left behind: temporary files, locks, and meta files and folds of
    /// logs that are gone.
    pub leftovers: ReclaimedSpace,
    /// Scratch folders that nothing was changed in for long.
    pub scratch: ReclaimedSpace,
    pub packed: PackReport,
}

/// How many things of a kind were removed, and how large they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReclaimedSpace {
    pub count: usize,
    pub bytes: u64,
}

/// How many files were packed, and how much smaller they became.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PackReport {
    pub count: usize,
    /// In bytes.
    pub before: u64,
    /// In bytes; 0 in a dry run.
    pub after: u64,
    /// Why some files could not be packed, a sentence each. They stay as they are.
    pub failed: Vec<String>,
}

/// How large the store's files are, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreSize {
    /// The number of sessions, without the deleted ones.
    pub sessions: usize,
    /// All files of these sessions, not only their logs.
    pub logs: u64,
    /// All contents, packed or not.
    pub contents: u64,
    pub trash: u64,
}

impl ReclaimedSpace {
    /// Counts one more of this size.
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

impl SessionStore {
    /// Removes what nothing needs, and packs what nobody has used for long. `also` are files and
    /// folders outside the store that refer to contents, such as drafts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when a file or folder cannot be listed, read or removed. No content is
    /// removed unless all files that may refer to one could be read. A file that cannot be packed
    /// is no error: [`PackReport::failed`] names it.
    pub fn collect_garbage(
        &self,
        options: GcOptions,
        also: &[PathBuf],
    ) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let doomed = self.empty_trash(options, &mut report.trash)?;
        self.remove_leftovers(options.mode, also, &mut report.leftovers)?;
        let needed = self.named_contents(&doomed, also)?;
        self.remove_contents(options.mode, &needed, &mut report.contents)?;
        self.pack_logs(options, usize::MAX, &mut report.packed)?;
        self.pack_contents(options, &mut report.packed)?;
        Ok(report)
    }

    /// Packs logs that nobody has used for `after`, at most `most` of them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed. A log that cannot be packed
    /// is no error: [`PackReport::failed`] names it.
    pub fn pack_old(&self, after: Duration, most: usize) -> Result<PackReport, StoreError> {
        let options =
            GcOptions { mode: GcMode::Apply, trash_after: Duration::MAX, pack_after: after };
        let mut packed = PackReport::default();
        self.pack_logs(options, most, &mut packed)?;
        Ok(packed)
    }

    /// Adds up the sizes of the store's files.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when one of the store's folders cannot be listed.
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

    /// The sessions of the trash that were removed, or would be in a dry run.
    fn empty_trash(
        &self,
        options: GcOptions,
        reclaimed: &mut ReclaimedSpace,
    ) -> Result<HashSet<SessionId>, StoreError> {
        let mut doomed = HashSet::new();
        for entry in entries(&self.trash).map_err(failed("list", &self.trash))? {
            let Some(session) = session_of_log(&entry) else { continue };
            let failed = failed("remove", &self.trash);
            let metadata = entry.metadata().map_err(&failed)?;
            // The time at which it was moved to the trash; the file's modification time does not
            // tell that.
            let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
            if is_older(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds), options.trash_after)
                && doomed.insert(session)
            {
                let files = SessionPaths::new(&self.trash, session).all();
                let sizes = files.iter().filter_map(|file| fs::metadata(file).ok());
                reclaimed.count += 1;
                reclaimed.bytes += sizes.map(|file| file.len()).sum::<u64>();
                if options.mode == GcMode::Apply {
                    files.iter().try_for_each(|file| files::remove(file)).map_err(failed)?;
                }
            }
        }
        Ok(doomed)
    }

    /// The hashes in all logs except those of `doomed`, and in the files of `also`.
    fn named_contents(
        &self,
        doomed: &HashSet<SessionId>,
        also: &[PathBuf],
    ) -> Result<HashSet<String>, StoreError> {
        hashes_in(|| self.referencing_files(doomed, also))
    }

    /// The files that may refer to contents, by their current names.
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
        mode: GcMode,
        needed: &HashSet<String>,
        reclaimed: &mut ReclaimedSpace,
    ) -> Result<(), StoreError> {
        for (hash, _, file) in self.blobs().all().map_err(failed("list", &self.sessions))? {
            let path = file.path();
            let metadata = missing_is_none(file.metadata()).map_err(failed("look at", &path))?;
            let Some(metadata) = metadata else { continue };
            let modified = metadata.modified().map_err(failed("look at", &path))?;
            if !needed.contains(&hash) && is_older(modified, MIN_GARBAGE_AGE) {
                reclaimed.add(metadata.len());
                if mode == GcMode::Apply {
                    files::remove(&path).map_err(failed("remove", &path))?;
                }
            }
        }
        Ok(())
    }

    fn pack_logs(
        &self,
        options: GcOptions,
        most: usize,
        packed: &mut PackReport,
    ) -> Result<(), StoreError> {
        for log in self.session_folder_files()?.logs {
            if packed.count == most {
                break;
            }
            if log.form == LogForm::Plain && is_older(log.modified, options.pack_after) {
                packed.note(self.pack_log(log.session, options));
            }
        }
        Ok(())
    }

    /// Packs a log that was old when the folder was listed; `None` where it should not be packed.
    fn pack_log(
        &self,
        session: SessionId,
        options: GcOptions,
    ) -> Result<Option<PackedFile>, StoreError> {
        let paths = self.paths(session);
        let path = paths.log();
        // Another slug may work with it after all.
        let lock = match options.mode {
            GcMode::DryRun if self.in_use(session)?.is_some() => return Ok(None),
            GcMode::DryRun => None,
            GcMode::Apply => match take_lock(&paths) {
                Ok(lock) => Some(lock),
                Err(StoreError::InUse { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        // Another slug may have opened, packed or deleted it since the folder was listed, and be
        // done with it.
        let metadata = missing_is_none(fs::metadata(&path)).map_err(failed("look at", &path))?;
        let Some(metadata) = metadata else { return Ok(None) };
        let log = LogFileInfo::new(session, LogForm::Plain, &metadata);
        if !is_older(log.modified, options.pack_after) {
            return Ok(None);
        }
        if options.mode == GcMode::Apply {
            // Saves the meta file, so that listing the sessions does not have to unpack the log.
            self.meta(&log)?;
        }
        let packed = pack(&path, log.len, options.mode)?;
        drop(lock);
        Ok(Some(packed))
    }

    fn pack_contents(&self, options: GcOptions, packed: &mut PackReport) -> Result<(), StoreError> {
        for (_, plain, file) in self.blobs().all().map_err(failed("list", &self.sessions))? {
            if file.path() == plain {
                packed.note(pack_content(&plain, options));
            }
        }
        Ok(())
    }
}

impl PackReport {
    /// Counts the outcome for one file. A failure does not stop the others.
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

/// The size of a file before and after packing, in bytes.
#[derive(Debug)]
struct PackedFile {
    before: u64,
    after: u64,
}

fn pack_content(path: &Path, options: GcOptions) -> Result<Option<PackedFile>, StoreError> {
    let metadata = missing_is_none(fs::metadata(path)).map_err(failed("look at", path))?;
    let Some(metadata) = metadata.filter(|metadata| metadata.len() >= SMALL) else {
        return Ok(None);
    };
    let modified = metadata.modified().map_err(failed("look at", path))?;
    let should_pack = is_older(modified, options.pack_after)
        && compression::is_worth_it(path).map_err(failed("read", path))?;
    should_pack.then(|| pack(path, metadata.len(), options.mode)).transpose()
}

fn pack(path: &Path, before: u64, mode: GcMode) -> Result<PackedFile, StoreError> {
    let after = match mode {
        GcMode::DryRun => 0,
        GcMode::Apply => compression::pack(path).map_err(failed("pack", path))?,
    };
    Ok(PackedFile { before, after })
}

/// The session whose log a file is, packed or not; `None` for other files.
fn session_of_log(file: &DirEntry) -> Option<SessionId> {
    let name = file.file_name();
    let (stem, ending) = name.to_str()?.split_once('.')?;
    [store::PLAIN, store::PACKED].contains(&ending).then(|| stem.parse().ok())?
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    // A time in the future is not old.
    SystemTime::now().duration_since(time).is_ok_and(|age| age >= than)
}

fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    missing_is_none(fs::read_dir(folder))?.into_iter().flatten().collect()
}

/// Whether a path may refer to contents: folders and the like do not.
fn is_file_or_gone(path: &Path) -> bool {
    match missing_is_none(fs::metadata(path)) {
        Ok(Some(metadata)) => metadata.is_file(),
        Ok(None) => !path.is_symlink(),
        // Reading the file will say why.
        Err(_) => true,
    }
}

/// The hashes in the files that `list` returns. A log changes its name when it is packed, opened,
/// deleted or restored meanwhile. So the files are listed again until all files of one list have
/// been read.
fn hashes_in(
    mut list: impl FnMut() -> Result<Vec<PathBuf>, StoreError>,
) -> Result<HashSet<String>, StoreError> {
    let (mut named, mut read) = (HashSet::new(), HashSet::new());
    loop {
        let mut all_read = true;
        for file in list()? {
            if !read.contains(&file) {
                all_read = false;
                if collect(&file, &mut named).map_err(failed("read", &file))? {
                    read.insert(file);
                }
            }
        }
        if all_read {
            return Ok(named);
        }
    }
}

/// Adds everything that looks like a hash: 64 hexadecimal digits in a row. Returns whether the file
/// exists.
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
#[path = "gc_tests.rs"]
mod tests;
