//! What became of files: the entries that undoing works from. The contents are kept by hash.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::domain::{ContentHash, EntryId};

use super::files::serialize_path;

/// A file that was made, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChangeEntry {
    /// The file, absolute, as it was named.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// Where it is, where links on the way make that another place.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_real")]
    pub real: Option<PathBuf>,
    /// The content before; absent when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    /// The content after; absent when the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
    /// Its permission bits then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Its permission bits before, where they were others or the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_before: Option<u32>,
    /// What it is.
    #[serde(default, skip_serializing_if = "FileKind::is_file")]
    pub kind: FileKind,
    /// What it was.
    #[serde(default, skip_serializing_if = "FileKind::is_file")]
    pub kind_before: FileKind,
    /// Who changed it.
    #[serde(default, skip_serializing_if = "FileChangeSource::is_tool")]
    pub by: FileChangeSource,
}

/// What something at a path is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    #[default]
    File,
    /// A symbolic link; where it leads is its content.
    Link,
}

/// Who changed a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeSource {
    /// A tool that edits files.
    #[default]
    Tool,
    /// A command, found by comparing the folder before and after it.
    Command,
    /// Going back in the session, or forth again.
    Rewind,
}

/// What was or is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// What it is.
    pub kind: FileKind,
    /// Its content.
    pub hash: ContentHash,
    /// Its permission bits, where they are known.
    pub mode: Option<u32>,
}

/// The person went back in the session, or forth again. On disk before any file is touched; each
/// file that was then written has a `file_change` of its own behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindEntry {
    /// The message that it went back before.
    pub before: EntryId,
    /// Of going forth: the rewind that is no longer in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redoes: Option<EntryId>,
    /// What went back.
    pub what: RewindScope,
    /// The files that are about to be written, as they are and as they will be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChangeEntry>,
    /// Files that are left as they are, because the person has changed them since.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "serialize_paths")]
    pub left: Vec<PathBuf>,
    /// How many messages the conversation has from here on, as lists count them.
    pub messages: u64,
    /// The beginning of its last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// What goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    /// The files alone.
    Files,
    /// What was said alone.
    Conversation,
    /// Files and conversation.
    Both,
}

/// What a command changed, or may have changed, and nothing was kept of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntrackedChanges {
    /// The files, as far as they are named.
    pub files: Vec<UntrackedFile>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: u64,
    /// Why nothing at all is known of what the command did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<UnwatchedFolderReason>,
}

/// A file that cannot be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntrackedFile {
    /// The file, absolute.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// Why.
    pub why: UntrackedReason,
}

/// Why a file cannot be brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UntrackedReason {
    /// It is too large to be kept.
    TooLarge,
    /// More files than are kept were changed at once, or are there.
    TooMany,
    /// It could not be read.
    Unreadable,
    /// It was out of sight before the command or after it: ignored, or in a folder that could not
    /// be listed.
    Unseen,
    /// A file went of which nothing is kept, and this may be it, in another place.
    Moved,
    /// Its name is not UTF-8, so that the log cannot hold it.
    Name,
}

/// Why a folder is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnwatchedFolderReason {
    /// It has too many files.
    TooManyFiles,
    /// It takes too long to look at.
    TooSlow,
    /// It could not be looked at.
    Unreadable,
}

/// A mode as it is restored: a log never makes a program run as another user or group.
pub fn plain_mode(mode: u32) -> u32 {
    mode & !0o6000
}

impl FileChangeEntry {
    /// A change from one thing to another.
    pub fn new(
        path: PathBuf,
        before: Option<FileVersion>,
        after: Option<FileVersion>,
        by: FileChangeSource,
    ) -> Self {
        let kind_of =
            |image: &Option<FileVersion>| image.as_ref().map_or(FileKind::File, |it| it.kind);
        let (kind_before, kind) = (kind_of(&before), kind_of(&after));
        let mode = after.as_ref().and_then(|image| image.mode);
        let mode_before = before.as_ref().and_then(|image| image.mode);
        Self {
            path,
            real: None,
            mode,
            mode_before: mode_before.filter(|before| Some(*before) != mode),
            kind,
            kind_before,
            before: before.map(|image| image.hash),
            after: after.map(|image| image.hash),
            by,
        }
    }

    /// The place that was written to.
    pub fn place(&self) -> &Path {
        self.real.as_deref().unwrap_or(&self.path)
    }

    /// What was there before.
    pub fn version_before(&self) -> Option<FileVersion> {
        let mode = self.mode_before.or(self.mode).map(plain_mode);
        self.before.clone().map(|hash| FileVersion { kind: self.kind_before, hash, mode })
    }

    /// What was there after.
    pub fn version_after(&self) -> Option<FileVersion> {
        let mode = self.mode.map(plain_mode);
        self.after.clone().map(|hash| FileVersion { kind: self.kind, hash, mode })
    }
}

impl FileVersion {
    /// Whether the content is the same, whatever the permissions.
    pub fn holds(one: Option<&Self>, other: Option<&Self>) -> bool {
        let content = |image: &Self| (image.kind, image.hash.clone());
        one.map(content) == other.map(content)
    }
}

impl RewindScope {
    /// Whether what was said goes back.
    pub fn has_conversation(self) -> bool {
        matches!(self, Self::Conversation | Self::Both)
    }

    /// Whether files go back.
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
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setuid_or_setgid_bit_of_a_log_is_restored() {
        let image =
            |mode| Some(FileVersion { kind: FileKind::File, hash: ContentHash::of(b"x"), mode });
        let path = PathBuf::from("/w/x");
        let change = FileChangeEntry::new(
            path,
            image(Some(0o4755)),
            image(Some(0o2711)),
            FileChangeSource::Tool,
        );
        assert_eq!(change.version_before().unwrap().mode, Some(0o755));
        assert_eq!(change.version_after().unwrap().mode, Some(0o711));
        let same = FileChangeEntry { mode_before: None, ..change };
        assert_eq!(same.version_before().unwrap().mode, Some(0o711));
        assert_eq!(plain_mode(0o1777), 0o1777, "sticky folders hurt nobody");
    }
}
