//! The log entries about files: changes, rewinds, and changes that slug could not track. Undo works
//! from them. The contents are kept by hash in the store of contents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::domain::{CallId, ContentHash, EntryId};

use super::files::serialize_path;

/// A file that was made, changed or removed. Serialized as the log's `file_change` line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileChangeEntry {
    /// The file, absolute, as it was named: links on the way are not resolved.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// The path that was written to, where links on the way make it another one than `path`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_real")]
    pub real: Option<PathBuf>,
    /// The content before; `None` when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    /// The content after; `None` when the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
    /// The permission bits after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The permission bits before, where they differ from `mode` or the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_before: Option<u32>,
    #[serde(default, skip_serializing_if = "FileKind::is_file")]
    pub kind: FileKind,
    #[serde(default, skip_serializing_if = "FileKind::is_file")]
    pub kind_before: FileKind,
    #[serde(default, skip_serializing_if = "FileChangeSource::is_tool")]
    pub by: FileChangeSource,
    /// The call that changed it; `None` of a rewind, and in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// What kind of file lies at a path. Folders are never recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    #[default]
    File,
    /// A symbolic link; its content is the path that it leads to.
    Link,
}

/// Who changed a file, as far as undo and the screen tell it apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileChangeSource {
    /// A tool that edits files.
    #[default]
    Tool,
    /// A command; the change was found by comparing the folder before and after it.
    Command,
    /// A rewind of the session, or a redo.
    Rewind,
}

/// One state of a file: its content, kind and permissions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileVersion {
    pub kind: FileKind,
    /// The hash of its content.
    pub hash: ContentHash,
    /// The permission bits; `None` where they are not known.
    pub mode: Option<u32>,
}

/// The user rewound the session, or took a rewind back (a redo). On disk before any file is
/// touched; each file that is then written gets a `file_change` line of its own behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RewindEntry {
    /// The message that the rewind goes back before.
    pub before: EntryId,
    /// Of a redo: the rewind that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redoes: Option<EntryId>,
    pub what: RewindScope,
    /// Of a rewind that takes back only a part of what was changed since: which part. The
    /// conversation stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RewindPart>,
    /// The files that are about to be written, as they are and as they will be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChangeEntry>,
    /// Files that are left as they are, because the user has changed them since.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "serialize_paths")]
    pub left: Vec<PathBuf>,
    /// How many messages the conversation has after the rewind, as lists count them.
    pub messages: u64,
    /// How the last answer begins that is in force after the rewind; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The part of the changes that a rewind takes back, or a redo brings back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RewindPart {
    /// The call whose changes they are; `None` where the user rejected them in a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The changes, for the model and the transcript.
    pub files: Vec<RejectedChanges>,
}

/// The changes of one file that are taken back or brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RejectedChanges {
    /// Absolute.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// How many they are, of so many.
    pub count: usize,
    pub total: usize,
    /// Their lines, for the model; empty where they are all, or the file has no lines.
    pub text: String,
}

/// Which parts of the session a rewind takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    /// The files; the conversation stays.
    Files,
    /// The conversation; the files stay.
    Conversation,
    Both,
}

/// Changes that a command made, or may have made, and that slug cannot undo: nothing was kept of
/// the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UntrackedChanges {
    /// The files that are known by name; only so many are recorded.
    pub files: Vec<UntrackedFile>,
    /// How many further files there are that `files` does not name.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Why slug did not watch the folder while the command ran; `None` where it did. Then nothing
    /// is known of what the command did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<UnwatchedFolderReason>,
}

/// A file that undo cannot restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UntrackedFile {
    /// Absolute.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    pub why: UntrackedReason,
}

/// Why undo cannot restore a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UntrackedReason {
    /// It is too large to be kept.
    TooLarge,
    /// More files than slug keeps were changed at once, or are in the folder.
    TooMany,
    /// It could not be read.
    Unreadable,
    /// slug could not see it before the command or after it: it was ignored, or in a folder that
    /// could not be listed.
    Unseen,
    /// It may be a file that disappeared elsewhere and of which nothing is kept.
    Moved,
    /// Its name is not UTF-8, so the log cannot hold it.
    Name,
}

/// Why slug did not watch a folder while a command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnwatchedFolderReason {
    /// It has more files than slug watches.
    TooManyFiles,
    /// Listing its files took too long.
    TooSlow,
    /// It could not be listed.
    Unreadable,
}

/// The permission bits to restore: without the set-user-id and set-group-id bits, so that a log
/// never makes a program run as another user or group.
pub fn plain_mode(mode: u32) -> u32 {
    mode & !0o6000
}

impl FileChangeEntry {
    /// A change at `path` from one version to another; `None` stands for no file.
    pub fn new(
        path: PathBuf,
        before: Option<FileVersion>,
        after: Option<FileVersion>,
        by: FileChangeSource,
    ) -> Self {
        let kind_of =
            |version: &Option<FileVersion>| version.as_ref().map_or(FileKind::File, |it| it.kind);
        let (kind_before, kind) = (kind_of(&before), kind_of(&after));
        let mode = after.as_ref().and_then(|version| version.mode);
        let mode_before = before.as_ref().and_then(|version| version.mode);
        Self {
            path,
            real: None,
            mode,
            mode_before: mode_before.filter(|before| Some(*before) != mode),
            kind,
            kind_before,
            before: before.map(|version| version.hash),
            after: after.map(|version| version.hash),
            by,
            call: None,
        }
    }

    /// The same change, made by this call.
    pub fn of_call(self, call: CallId) -> Self {
        Self { call: Some(call), ..self }
    }

    /// The path that was written to: `real` where links lead elsewhere, else `path`.
    pub fn place(&self) -> &Path {
        self.real.as_deref().unwrap_or(&self.path)
    }

    /// The file before the change; `None` where there was none. Permission bits are those that may
    /// be restored.
    pub fn version_before(&self) -> Option<FileVersion> {
        let mode = self.mode_before.or(self.mode).map(plain_mode);
        self.before.clone().map(|hash| FileVersion { kind: self.kind_before, hash, mode })
    }

    /// The file after the change; `None` where it is gone. Permission bits are those that may be
    /// restored.
    pub fn version_after(&self) -> Option<FileVersion> {
        let mode = self.mode.map(plain_mode);
        self.after.clone().map(|hash| FileVersion { kind: self.kind, hash, mode })
    }
}

impl FileVersion {
    /// Whether both are the same file or link with the same content, whatever the permissions;
    /// `None` stands for no file.
    pub fn holds(one: Option<&Self>, other: Option<&Self>) -> bool {
        let content = |version: &Self| (version.kind, version.hash.clone());
        one.map(content) == other.map(content)
    }
}

impl RewindScope {
    /// Whether the rewind takes messages back.
    pub fn has_conversation(self) -> bool {
        matches!(self, Self::Conversation | Self::Both)
    }

    /// Whether the rewind restores files.
    pub fn has_files(self) -> bool {
        matches!(self, Self::Files | Self::Both)
    }
}

impl FileKind {
    fn is_file(&self) -> bool {
        *self == Self::File
    }
}

impl FileChangeSource {
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

fn serialize_real<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.as_deref().unwrap_or(Path::new("")).display())
}

fn serialize_paths<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setuid_or_setgid_bit_of_a_log_is_restored() {
        let version =
            |mode| Some(FileVersion { kind: FileKind::File, hash: ContentHash::of(b"x"), mode });
        let path = PathBuf::from("/w/x");
        let change = FileChangeEntry::new(
            path,
            version(Some(0o4755)),
            version(Some(0o2711)),
            FileChangeSource::Tool,
        );
        assert_eq!(change.version_before().unwrap().mode, Some(0o755));
        assert_eq!(change.version_after().unwrap().mode, Some(0o711));
        let same = FileChangeEntry { mode_before: None, ..change };
        assert_eq!(same.version_before().unwrap().mode, Some(0o711));
        assert_eq!(plain_mode(0o1777), 0o1777, "sticky folders hurt nobody");
    }
}
