//! Answers the queries of `store_query`. These functions read and write files and block until that
//! is done: call them on a thread that may block.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{FileTextError, open_regular};
use crate::domain::{ContentHash, DiffContextSize, FileDiff, FileModeChange};
use crate::session::{BlobStore, KindFolds, SessionStore};

use super::explanation::explain;
use super::session_changes::{ChangedFile, ExternalChange, NetChangeContent, NetFileChange};
use super::store_query::{StoreQuery, StoreQueryResult};
use super::text_document::TextDocument;

/// Files with more bytes than this are not compared.
const LARGEST: u64 = 16 * 1024 * 1024;
/// In files with more lines than this, the diff holds only the lines near a change.
const LONGEST: usize = 50_000;

/// Why there is nothing to explain.
const NOT_IN_LOG: &str = "The session's log does not have this yet.";

/// Answers a query. `folds` is the file with the fold state of each kind of pane.
///
/// # Errors
///
/// A sentence for the user when the store's files cannot be read or the content is no longer
/// stored. Files that cannot be compared are no error: the answer says so for each.
pub fn run(
    store: &SessionStore,
    folds: &Path,
    job: &StoreQuery,
) -> Result<StoreQueryResult, String> {
    match job {
        StoreQuery::Folds { session, parent } => Ok(StoreQueryResult::Folds {
            session: store.folds(*session, *parent),
            kinds: KindFolds::load(folds),
        }),
        StoreQuery::FullOutput { document, hash } => {
            let whole = read_blob(store.blobs(), hash)?;
            // Text is taken as it is; bytes that are not UTF-8 become U+FFFD.
            let text = String::from_utf8(whole)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            Ok(StoreQueryResult::Document(Arc::new(TextDocument::new(*document, &text))))
        }
        StoreQuery::Explanation { document, session, part } => {
            let loaded = store.read(*session).map_err(|error| error.to_string())?;
            let text = explain(&loaded.records, part).ok_or(NOT_IN_LOG)?;
            Ok(StoreQueryResult::Document(Arc::new(TextDocument::new(*document, &text))))
        }
        StoreQuery::Changes { files, cwd } => {
            let root = root(cwd);
            let nets = files.iter().map(|file| net(store.blobs(), file, root)).collect();
            Ok(StoreQueryResult::Changes(Arc::new(nets)))
        }
        StoreQuery::StoreSize => {
            let size = store.size().map_err(|error| {
                format!(
                    "The size of the session store is \
                unknown: {error}."
                )
            })?;
            Ok(StoreQueryResult::StoreSize(size))
        }
    }
}

fn read_blob(blobs: &BlobStore, hash: &ContentHash) -> Result<Vec<u8>, String> {
    match blobs.get(hash) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err("Its content is no longer stored.".to_owned()),
        Err(error) => Err(format!("Its content cannot be read: {error}.")),
    }
}

/// The folder to which the file names of patches are relative: the repository, or else the working
/// folder.
fn root(cwd: &Path) -> &Path {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd)
}

/// The bytes and permissions that a path has now.
struct CurrentFileContent {
    bytes: Vec<u8>,
    mode: u32,
}

fn net(blobs: &BlobStore, file: &ChangedFile, root: &Path) -> NetFileChange {
    let name = file.path.strip_prefix(root).unwrap_or(&file.path);
    let name = name.to_string_lossy().trim_start_matches('/').to_owned();
    let named = |content, since, mode| NetFileChange {
        path: file.path.clone(),
        name: name.clone(),
        content,
        external_change: since,
        mode,
    };
    let now = match read_current(&file.path) {
        Ok(now) => now,
        Err(reason) => {
            return named(NetChangeContent::Unknown(reason), ExternalChange::Nothing, None);
        }
    };
    let since = match &now {
        None if file.after.is_some() => ExternalChange::Deleted,
        Some(now) if Some(ContentHash::of(&now.bytes)) != file.after => ExternalChange::Changed,
        None | Some(_) => ExternalChange::Nothing,
    };
    let mode = now.as_ref().map(|now| now.mode).or(file.mode);
    let before = file.before.as_ref().map(|hash| read_blob(blobs, hash)).transpose();
    let content = match before {
        Ok(before) => content(&file.path, before.as_deref(), now.as_ref(), file.mode),
        Err(reason) => NetChangeContent::Unknown(reason),
    };
    named(content, since, mode)
}

fn read_current(path: &Path) -> Result<Option<CurrentFileContent>, String> {
    let cannot = |error| format!("Cannot read it: {error}.");
    let (file, metadata) = match open_regular(path) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(None),
        Err(FileTextError::NotAFile | FileTextError::NotText) => {
            return Err("The file is gone, or is no longer a regular file.".to_owned());
        }
        Err(FileTextError::Io(error)) => return Err(cannot(error)),
    };
    if metadata.len() > LARGEST {
        return Err("Too large to compare here.".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Some(CurrentFileContent { bytes, mode: metadata.permissions().mode() & 0o7777 }))
}

fn content(
    path: &Path,
    before: Option<&[u8]>,
    now: Option<&CurrentFileContent>,
    mode: Option<u32>,
) -> NetChangeContent {
    let mode = match (before, now, mode) {
        (Some(_), Some(now), Some(old)) if now.mode != old => {
            Some(FileModeChange { old, new: now.mode })
        }
        (_, _, _) => None,
    };
    let (old, new) = (before.unwrap_or_default(), now.map_or(&[][..], |now| &now.bytes));
    if mode.is_none() && before.is_some() == now.is_some() && old == new {
        return NetChangeContent::Same;
    }
    let (Some(old), Some(new)) = (text(old), text(new)) else {
        return NetChangeContent::Unknown(format!(
            "Binary file: {} bytes before, {} now.",
            old.len(),
            new.len()
        ));
    };
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let few = lines(old).max(lines(new)) <= LONGEST;
    let around = if few { DiffContextSize::WholeFile } else { DiffContextSize::Lines(3) };
    let diff = FileDiff { mode, ..FileDiff::with(PathBuf::from(path), old, new, around) };
    let diff = Arc::new(diff);
    match (before, now) {
        (None, _) => NetChangeContent::New(diff),
        (Some(_), None) => NetChangeContent::Deleted(diff),
        (Some(_), Some(_)) => NetChangeContent::Changed(diff),
    }
}

/// The bytes as text, if they are text.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::services::session_changes::ShownChanges;

    struct TestPageStore {
        folder: tempfile::TempDir,
        store: SessionStore,
    }

    fn test_store() -> TestPageStore {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let store = SessionStore::new(at("sessions"), at("trash"), at("blobs"));
        TestPageStore { store, folder }
    }

    impl TestPageStore {
        /// The net change of a file that had `before`, that slug left with `after`, and that has
        /// `now`.
        fn net(&self, before: Option<&[u8]>, after: &[u8], now: Option<&[u8]>) -> NetFileChange {
            let path = self.folder.path().join("file.txt");
            match now {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => drop(fs::remove_file(&path)),
            }
            let blobs = self.store.blobs();
            let mode = now.map(|_| fs::metadata(&path).unwrap().permissions().mode() & 0o7777);
            let file = ChangedFile {
                path,
                before: before.map(|bytes| blobs.put(bytes).unwrap()),
                after: Some(blobs.put(after).unwrap()),
                mode,
                shown: ShownChanges::default(),
            };
            let job = StoreQuery::Changes { files: vec![file], cwd: self.folder.path().to_owned() };
            match run(&self.store, Path::new("/none"), &job) {
                Ok(StoreQueryResult::Changes(nets)) => nets[0].clone(),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_file_is_compared_with_what_it_was_before_the_session() {
        let home = test_store();
        let net = home.net(Some(b"a\nb\n"), b"a\nx\n", Some(b"a\nx\n"));
        assert_eq!((net.name.as_str(), net.external_change), ("file.txt", ExternalChange::Nothing));
        let diff = net.diff().unwrap();
        assert_eq!((diff.added, diff.removed, diff.lines().count()), (1, 1, 3));
    }

    #[test]
    fn changes_outside_of_slug_are_reported() {
        let home = test_store();
        let changed = home.net(Some(b"a\n"), b"b\n", Some(b"c\n"));
        assert_eq!(changed.external_change, ExternalChange::Changed);
        assert_eq!(changed.diff().unwrap().added, 1);
        let deleted = home.net(Some(b"a\n"), b"b\n", None);
        assert_eq!(deleted.external_change, ExternalChange::Deleted);
        assert!(matches!(deleted.content, NetChangeContent::Deleted(_)));
    }

    #[test]
    fn new_unchanged_and_binary_files_are_told_apart() {
        let home = test_store();
        assert!(matches!(home.net(None, b"a\n", Some(b"a\n")).content, NetChangeContent::New(_)));
        assert_eq!(home.net(Some(b"a\n"), b"a\n", Some(b"a\n")).content, NetChangeContent::Same);
        let binary = home.net(Some(b"a\n"), b"\0", Some(b"\0"));
        assert!(matches!(binary.content, NetChangeContent::Unknown(_)), "{binary:?}");
    }

    #[test]
    fn other_permissions_are_a_change() {
        let home = test_store();
        let path = home.folder.path().join("run.sh");
        fs::write(&path, "ls\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let hash = home.store.blobs().put(b"ls\n").unwrap();
        let file = ChangedFile {
            path,
            before: Some(hash.clone()),
            after: Some(hash),
            mode: Some(0o644),
            shown: ShownChanges::default(),
        };
        let net = net(home.store.blobs(), &file, home.folder.path());
        assert_eq!(net.diff().unwrap().mode, Some(FileModeChange { old: 0o644, new: 0o755 }));
    }

    #[test]
    fn missing_content_is_reported_as_a_sentence() {
        let home = test_store();
        let hash = ContentHash::of(b"gone");
        let answer =
            run(&home.store, Path::new("/none"), &StoreQuery::FullOutput { document: 1, hash });
        assert_eq!(answer, Err("Its content is no longer stored.".to_owned()));
    }

    #[test]
    fn the_whole_of_an_output_is_read() {
        let home = test_store();
        let hash = home.store.blobs().put(b"one\n\xfftwo\n").unwrap();
        let answer =
            run(&home.store, Path::new("/none"), &StoreQuery::FullOutput { document: 7, hash });
        let document = TextDocument::new(7, "one\n\u{fffd}two\n");
        assert_eq!(answer, Ok(StoreQueryResult::Document(Arc::new(document))));
    }
}
