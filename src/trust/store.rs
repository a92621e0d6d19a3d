//! `~/.slug/trust.json`: which folders the user trusts, with mode 0600.
//!
//! The file is read again before each change, so that two running slugs do not lose each other's
//! answers. A file that cannot be read is an error, never an empty store that the next answer would
//! save.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::read_regular;
use crate::domain::ContentHash;
use crate::platform::paths::replace_private;

use super::diff::{self, ShownLines, TrustQuestionFile};
use super::git_config;
use super::inventory::{InventoryItem, InventoryItemKind, inventory, privileged_files};

/// The user's stored answers.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
    home: Option<PathBuf>,
    answers: TrustFile,
}

/// What the user answered about a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustStatus {
    /// Trusted, and no file that gives the folder privileges has changed.
    Trusted,
    /// Not asked yet, or not trusted.
    Unknown,
    /// Trusted, but these files, relative to the folder, have changed or are new since.
    Changed(Vec<PathBuf>),
    /// The folder cannot be trusted, whatever the user answered: the home folder and the root have
    /// too much below them.
    TooWide,
}

/// Why the stored trust could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Too much lies below the folder.
    #[error("{0} cannot be trusted: it contains too much. Start slug in the project's own folder.")]
    TooWide(PathBuf),
    /// The operating system refused.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// A verb for the message: "read", "write", …
        doing: &'static str,
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// The store cannot be parsed.
    #[error("Cannot read {file} ({source}). Repair it, or delete it to be asked again.")]
    Broken { file: PathBuf, source: serde_json::Error },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct TrustFile {
    folders: Vec<TrustFolderSnapshot>,
    /// Origins that a key may be sent to over plain http.
    http_origins: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TrustFolderSnapshot {
    path: PathBuf,
    device: u64,
    inode: u64,
    contents: BTreeMap<PathBuf, ContentHash>,
    /// The lines that the question showed of each file.
    #[serde(default)]
    shown: ShownLines,
    /// Whether the user was never asked, because there was nothing but a file that slug wrote for them.
    #[serde(default)]
    is_unasked: bool,
}

/// A folder as it was when the user was asked about it. Trust is given to exactly that state.
#[derive(Debug, Clone)]
pub struct TrustQuestion {
    folder: TrustFolderSnapshot,
    items: Vec<TrustQuestionFile>,
}

impl TrustQuestion {
    /// The files that would become active, with what is new in them.
    pub fn items(&self) -> &[TrustQuestionFile] {
        &self.items
    }
}

impl TrustStore {
    /// Reads the store in `slug_home`; a missing one is empty. `home` is the user's home folder.
    ///
    /// # Errors
    ///
    /// Fails when the file exists and cannot be read or parsed.
    pub fn open(slug_home: &Path, home: Option<&Path>) -> Result<Self, TrustError> {
        let file = slug_home.join("trust.json");
        let answers = read(&file)?;
        Ok(Self { file, home: home.map(Path::to_owned), answers })
    }

    /// What the user answered about this folder, compared with what is in the folder now.
    pub fn status(&self, folder: &Path) -> TrustStatus {
        let Ok(now) = TrustFolderSnapshot::look(folder) else { return TrustStatus::Unknown };
        if self.is_too_wide(&now.path) {
            return TrustStatus::TooWide;
        }
        let Some(then) = self.answers.folders.iter().find(|then| then.is_same(&now)) else {
            return TrustStatus::Unknown;
        };
        let changed = now.changed_since(then);
        let is_known = |item: &InventoryItem| then.contents.contains_key(&item.path);
        if then.is_unasked
            && !(inventory(&now.path, self.home.as_deref()).iter().all(is_known)
                && git_config::is_plain(&now.path))
        {
            return TrustStatus::Unknown;
        }
        if changed.is_empty() { TrustStatus::Trusted } else { TrustStatus::Changed(changed) }
    }

    /// The question about a folder, as it is now.
    ///
    /// # Errors
    ///
    /// Fails when the folder cannot be looked at.
    pub fn question(&self, folder: &Path) -> Result<TrustQuestion, TrustError> {
        // The hashes come first: what changes between the two looks is asked about again.
        let mut now = TrustFolderSnapshot::look(folder)?;
        let of_git =
            |(path, lines)| InventoryItem { path, kinds: vec![InventoryItemKind::Hooks], lines };
        // Before the others: what runs programs comes first in the inventory, too.
        let mut items: Vec<InventoryItem> =
            git_config::powers(&now.path).into_iter().map(of_git).collect();
        items.extend(inventory(&now.path, self.home.as_deref()));
        now.shown = diff::shown_lines(&items);
        let then = self.answers.folders.iter().find(|then| then.is_same(&now));
        let changed = then.map(|then| now.changed_since(then)).unwrap_or_default();
        let before = then.map_or_else(ShownLines::new, |then| then.shown.clone());
        Ok(TrustQuestion { items: diff::question_files(&items, &before, &changed), folder: now })
    }

    /// Trusts a folder with what is in it now.
    ///
    /// # Errors
    ///
    /// Fails when the folder cannot be looked at or is too wide to be trusted, and when the store
    /// cannot be read or written.
    pub fn grant(&mut self, folder: &Path) -> Result<(), TrustError> {
        let question = self.question(folder)?;
        self.grant_asked(question)
    }

    /// Trusts what a question showed, and nothing that changed since.
    ///
    /// # Errors
    ///
    /// Fails when the folder is too wide to be trusted, and when the store cannot be read or
    /// written.
    pub fn grant_asked(&mut self, question: TrustQuestion) -> Result<(), TrustError> {
        let now = question.folder;
        if self.is_too_wide(&now.path) {
            return Err(TrustError::TooWide(now.path));
        }
        self.change(|answers| {
            answers.folders.retain(|then| then.path != now.path);
            answers.folders.push(now);
        })
    }

    /// Notes that slug itself has just written `file` (relative to the folder) with `content` for
    /// the user, so that the user is not asked about the change. In a folder that is not trusted
    /// nothing happens.
    ///
    /// # Errors
    ///
    /// Fails when the folder cannot be looked at, and when the store cannot be read or written.
    pub fn keep_own_change(
        &mut self,
        folder: &Path,
        file: &Path,
        content: &[u8],
    ) -> Result<(), TrustError> {
        let now = TrustFolderSnapshot::look(folder)?;
        let lines = diff::shown_lines(&inventory(&now.path, self.home.as_deref()))
            .remove(file)
            .unwrap_or_default();
        self.change(|answers| {
            if let Some(then) = answers.folders.iter_mut().find(|then| then.is_same(&now)) {
                then.contents.insert(file.to_owned(), ContentHash::of(content));
                then.shown.insert(file.to_owned(), lines);
            }
        })
    }

    /// Trusts a folder about which there was nothing to ask, after slug itself has written `file`
    /// (relative to the folder) with `content` for the user. Nothing happens if the folder has
    /// anything else that the user would be asked about, or is in the store already.
    ///
    /// # Errors
    ///
    /// Fails when the folder cannot be looked at, and when the store cannot be read or written.
    pub fn keep_own_file(
        &mut self,
        folder: &Path,
        file: &Path,
        content: &[u8],
    ) -> Result<(), TrustError> {
        let question = self.question(folder)?;
        let is_own = question.items().iter().all(|item| item.path == file)
            && question
                .folder
                .contents
                .iter()
                .all(|(path, hash)| path == file && *hash == ContentHash::of(content));
        let is_unknown = self.status(folder) == TrustStatus::Unknown;
        if is_own && is_unknown && git_config::is_plain(folder) {
            let folder = TrustFolderSnapshot { is_unasked: true, ..question.folder };
            return self.grant_asked(TrustQuestion { folder, ..question });
        }
        Ok(())
    }

    /// Whether the user trusts `content` as that of `file` (relative to the folder).
    pub fn knows(&self, folder: &Path, file: &Path, content: &[u8]) -> bool {
        let Ok(now) = TrustFolderSnapshot::look(folder) else { return false };
        let then = self.answers.folders.iter().find(|then| then.is_same(&now));
        then.is_some_and(|then| then.contents.get(file) == Some(&ContentHash::of(content)))
    }

    /// The files of this folder that the user trusts, relative to it, each with the hash of its
    /// content.
    pub fn covered(&self, folder: &Path) -> BTreeMap<PathBuf, ContentHash> {
        let Ok(now) = TrustFolderSnapshot::look(folder) else { return BTreeMap::new() };
        let then = self.answers.folders.iter().find(|then| then.is_same(&now));
        then.map(|then| then.contents.clone()).unwrap_or_default()
    }

    /// Removes the trust in a folder.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be read or written.
    pub fn forget(&mut self, folder: &Path) -> Result<(), TrustError> {
        let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        self.change(|answers| answers.folders.retain(|then| then.path != path))
    }

    /// The trusted folders, in the order in which they were trusted.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.answers.folders.iter().map(|folder| folder.path.as_path())
    }

    /// Whether a key may be sent to this origin (`http://host:port`) over plain http.
    pub fn origin_allowed(&self, origin: &str) -> bool {
        let origin = normal_origin(origin);
        self.answers.http_origins.contains(&origin)
    }

    /// Allows keys to be sent to an origin over plain http.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be read or written.
    pub fn allow_origin(&mut self, origin: &str) -> Result<(), TrustError> {
        let origin = normal_origin(origin);
        self.change(|answers| {
            if !answers.http_origins.contains(&origin) {
                answers.http_origins.push(origin);
            }
        })
    }

    /// Whether a folder, with all links followed, has too much below it.
    fn is_too_wide(&self, real: &Path) -> bool {
        let home = self.home.as_deref().map(|home| home.canonicalize().unwrap_or(home.to_owned()));
        real.parent().is_none() || home.as_deref() == Some(real)
    }

    fn change(&mut self, change: impl FnOnce(&mut TrustFile)) -> Result<(), TrustError> {
        let mut answers = read(&self.file)?;
        change(&mut answers);
        write(&self.file, &answers)?;
        self.answers = answers;
        Ok(())
    }
}

impl TrustFolderSnapshot {
    fn look(folder: &Path) -> Result<Self, TrustError> {
        let io = |source| TrustError::Io { doing: "look at", path: folder.to_owned(), source };
        let path = folder.canonicalize().map_err(io)?;
        let (device, inode) = identity(&std::fs::metadata(&path).map_err(io)?);
        let contents = privileged_files(&path).into_iter().collect();
        Ok(Self { path, device, inode, contents, shown: ShownLines::new(), is_unasked: false })
    }

    /// The files that are new or have other content than `then`.
    fn changed_since(&self, then: &Self) -> Vec<PathBuf> {
        let changed =
            self.contents.iter().filter(|(path, hash)| then.contents.get(*path) != Some(hash));
        changed.map(|(path, _)| path.clone()).collect()
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode)
    }
}

/// Makes origins comparable: scheme and host do not depend on case, and a path is no part of an
/// origin.
fn normal_origin(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Without inodes only the path identifies a folder.
#[cfg(not(unix))]
fn identity(_metadata: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// The most bytes that are read. A larger file is cut off, and then fails to parse.
const MAX_BYTES: u64 = 64 << 20;

fn read(file: &Path) -> Result<TrustFile, TrustError> {
    match read_regular(file, MAX_BYTES) {
        Ok(Some(bytes)) => serde_json::from_slice(&bytes)
            .map_err(|source| TrustError::Broken { file: file.to_owned(), source }),
        Ok(None) => Ok(TrustFile::default()),
        Err(error) => {
            let source = std::io::Error::other(error);
            Err(TrustError::Io { doing: "read", path: file.to_owned(), source })
        }
    }
}

fn write(file: &Path, answers: &TrustFile) -> Result<(), TrustError> {
    let io = |source| TrustError::Io { doing: "write", path: file.to_owned(), source };
    let bytes = serde_json::to_vec_pretty(answers).map_err(|error| io(error.into()))?;
    replace_private(file, &bytes).map_err(io)
}
