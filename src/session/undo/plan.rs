//! Plans what a rewind or a redo does to each file, before anything is done. A file outside the
//! workspace, or a protected one, stays as it is in every plan; only
//! [`PlannedFile::toggle_override`] changes that, file by file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::DiffOp;

use crate::domain::{ContentHash, align, base64_bytes};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, RewindEntry,
    UntrackedChanges,
};

use super::merge::merge;

/// What planning needs to know of the file system.
pub trait FileSystemView {
    /// The file at a path now.
    fn current_state(&self, path: &Path) -> CurrentFileState;
    /// A content from the store of contents; `None` where it is no longer kept.
    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>>;
    /// Where a path leads, links followed.
    fn place(&self, path: &Path) -> FilePlace;
}

/// Where a file lies. A log may come from anywhere and name any file. So a file outside the
/// workspace, or a protected one, is left as it is until the user asks to restore this very file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FilePlace {
    /// Whether it is outside the workspace.
    pub is_outside: bool,
    /// Where the file is protected: what changing it changes, as the end of the sentence "It
    /// changes …".
    pub protected: Option<Cow<'static, str>>,
    /// Whether it is one of several links that are restored at once: where each leads depends on the
    /// others, so that nobody can tell before they are there.
    #[serde(default)]
    pub is_one_of_links: bool,
}

impl FilePlace {
    /// The stricter combination of two places that are changed at once.
    fn and(self, other: Self) -> Self {
        Self {
            is_outside: self.is_outside || other.is_outside,
            protected: self.protected.or(other.protected),
            is_one_of_links: self.is_one_of_links || other.is_one_of_links,
        }
    }

    /// Whether a file there is restored only when the user asks for this very file.
    pub fn needs_answer(&self) -> bool {
        self.is_outside || self.protected.is_some() || self.is_one_of_links
    }
}

/// What lies at a path now, before a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentFileState {
    /// No file.
    Nothing,
    /// A file or a link, with its bytes.
    Present(FileVersion, Vec<u8>),
    /// Something that slug does not touch, such as a folder, in a few words.
    Other(String),
}

/// What a rewind or a redo does to all files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FilesPlan {
    /// Each file that was changed, in the order of its first change.
    pub files: Vec<PlannedFile>,
    /// Changes of commands that slug could not track, so that they stay.
    pub not_covered: Vec<UntrackedChanges>,
}

/// What a rewind or a redo does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedFile {
    /// Absolute, with links on the way resolved.
    pub path: PathBuf,
    /// The file as it is now; `None` where there is none, or it is nothing that slug touches.
    pub now: Option<FileVersion>,
    pub place: FilePlace,
    /// Who changed it: a command, if any did. What another program saved while a command ran counts
    /// as the command's, because nothing tells the two apart.
    pub by: FileChangeSource,
    pub action: FileAction,
    /// Lines added and removed; `None` where the file is not written, is a link, is too long, or
    /// has NUL bytes.
    pub lines: Option<(usize, usize)>,
    /// The other action that the user can choose; `None` where there is no choice.
    pub alternative: Option<Alternative>,
}

/// What is done instead where the user asks for it: a file that would be left becomes what it was.
/// Its current content is kept like everything that is overwritten, so that a redo brings it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Alternative {
    pub action: FileAction,
    /// Lines added and removed; `None` where the file is not written, is a link, is too long, or
    /// has NUL bytes.
    pub lines: Option<(usize, usize)>,
}

/// What a rewind or a redo does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// The file is already as it should be.
    Nothing,
    /// The file is written.
    Put(PlannedRestore),
    /// The file is removed.
    Remove,
    /// The file is left as it is, for this reason.
    Skip(SkipReason),
}

/// What is written to a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedRestore {
    /// The file as it will be.
    pub version: FileVersion,
    #[serde(with = "base64_bytes")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub bytes: Vec<u8>,
    /// Whether it is merged with what the user has changed since.
    pub is_merged: bool,
}

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The user has changed the same lines since.
    SameLines,
    /// slug created it, and the user has changed it since.
    Changed,
    /// The user has removed it since.
    Removed,
    /// slug removed it, and the user has created it again since.
    MadeAnew,
    /// Its former content is no longer kept.
    Lost,
    /// It lies outside the workspace, is protected or one of several links, so the user has to ask for
    /// this very file.
    NeedsAnswer,
    /// It is now something that slug does not touch, described in a few words.
    Other(String),
}

impl SkipReason {
    /// The reason as the end of a sentence.
    pub fn words(&self) -> &str {
        match self {
            Self::SameLines => "you changed the same lines",
            Self::Changed => "you changed it since",
            Self::Removed => "you deleted it since",
            Self::MadeAnew => "you created it again",
            Self::Lost => "its content is not stored",
            Self::NeedsAnswer => "it needs your answer",
            Self::Other(what) => what,
        }
    }
}

impl PlannedFile {
    /// The target of the link that is restored here, also where the user has to ask for that first.
    fn restored_link(&self) -> Option<&Path> {
        let other = self.alternative.as_ref().map(|other| &other.action);
        [Some(&self.action), other].into_iter().flatten().find_map(|action| match action {
            FileAction::Put(put) if put.version.kind == FileKind::Link => {
                Some(Path::new(OsStr::from_bytes(&put.bytes)))
            }
            FileAction::Put(_) | FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => {
                None
            }
        })
    }

    /// Leaves a file as it is that is restored only when the user asks for this very file.
    fn leave_until_asked(&mut self) {
        if self.place.needs_answer()
            && matches!(self.action, FileAction::Put(_) | FileAction::Remove)
        {
            let action = FileAction::Skip(SkipReason::NeedsAnswer);
            self.alternative = Some(Alternative { action, lines: None });
            self.toggle_override();
        }
    }

    /// Swaps the action with its alternative, where there is one.
    pub fn toggle_override(&mut self) {
        if let Some(alternative) = &mut self.alternative {
            std::mem::swap(&mut self.action, &mut alternative.action);
            std::mem::swap(&mut self.lines, &mut alternative.lines);
        }
    }

    /// Whether the user asked to restore it although it would be left as it is.
    pub fn is_overridden(&self) -> bool {
        matches!(&self.alternative, Some(Alternative { action: FileAction::Skip(_), .. }))
    }

    /// Whether the user asked to restore it over changes of their own.
    pub fn replaces_user_changes(&self) -> bool {
        match &self.alternative {
            Some(Alternative { action: FileAction::Skip(reason), .. }) => {
                *reason != SkipReason::NeedsAnswer
            }
            Some(Alternative {
                action: FileAction::Nothing | FileAction::Put(_) | FileAction::Remove,
                ..
            })
            | None => false,
        }
    }
}

impl FilesPlan {
    /// The files that would be written or removed.
    pub fn touched(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files
            .iter()
            .filter(|file| matches!(file.action, FileAction::Put(_) | FileAction::Remove))
    }

    /// The files that would be left as they are although the rewind should change them.
    pub fn skipped(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| matches!(file.action, FileAction::Skip(_)))
    }

    /// Whether the user can choose what happens to some file.
    pub fn has_questions(&self) -> bool {
        self.files.iter().any(|file| file.alternative.is_some())
    }

    /// Makes the same choices as the user made in another plan, file by file.
    pub fn copy_overrides(&mut self, other: &Self) {
        let has_override =
            |path: &Path| other.files.iter().any(|it| it.path == path && it.is_overridden());
        for file in &mut self.files {
            if file.is_overridden() != has_override(&file.path) {
                file.toggle_override();
            }
        }
    }

    /// Whether both plans do the same to the same files. The counts of lines are not compared,
    /// because counting stops after a while and so may come out differently.
    pub fn has_same_effect(&self, other: &Self) -> bool {
        fn done(file: &PlannedFile) -> (&Path, Option<&FileVersion>, &FileAction) {
            (&file.path, file.now.as_ref(), &file.action)
        }
        self.not_covered == other.not_covered
            && self.files.iter().map(done).eq(other.files.iter().map(done))
    }
}

/// Plans what happens to the files when the user goes back before the record at index `start`.
pub fn plan_undo(records: &[LogRecord], start: usize, view: &dyn FileSystemView) -> FilesPlan {
    let mut histories = FileHistories::default();
    let mut not_covered = Vec::new();
    for record in records.get(start..).unwrap_or_default() {
        if let LogEntry::FileChange(change) = &record.entry {
            histories.take(change);
        } else if let LogEntry::Rewind(rewind) = &record.entry {
            histories.intend(&rewind.files);
        } else if let LogEntry::NotCovered(what) = &record.entry {
            not_covered.push(what.clone());
        }
    }
    FilesPlan { files: histories.planned(view), not_covered }
}

/// Plans what happens to the files when a rewind is taken back (a redo).
pub fn plan_redo(rewind: &RewindEntry, view: &dyn FileSystemView) -> FilesPlan {
    let mut histories = FileHistories::default();
    for change in &rewind.files {
        histories.take(change);
    }
    FilesPlan { files: histories.planned(view), not_covered: Vec::new() }
}

/// The changes of each file, in the order in which the files were first changed.
#[derive(Default)]
pub(super) struct FileHistories<'a> {
    pub(super) order: Vec<FileHistory<'a>>,
    places: HashMap<&'a Path, usize>,
}

pub(super) struct FileHistory<'a> {
    pub(super) path: &'a Path,
    pub(super) changes: Vec<&'a FileChangeEntry>,
    /// A write that a rewind announced and that no later entry confirms: slug may have died just
    /// before it or just after.
    intended: Option<&'a FileChangeEntry>,
}

impl<'a> FileHistories<'a> {
    fn of(&mut self, change: &'a FileChangeEntry) -> &mut FileHistory<'a> {
        let path = change.place();
        let at = *self.places.entry(path).or_insert(self.order.len());
        if at == self.order.len() {
            self.order.push(FileHistory { path, changes: Vec::new(), intended: None });
        }
        &mut self.order[at]
    }

    pub(super) fn take(&mut self, change: &'a FileChangeEntry) {
        let history = self.of(change);
        if let Some(intended) = history.intended.take()
            && is_done(intended, change.version_before().as_ref())
        {
            history.changes.push(intended);
        }
        history.changes.push(change);
    }

    pub(super) fn intend(&mut self, changes: &'a [FileChangeEntry]) {
        for change in changes {
            self.of(change).intended = Some(change);
        }
    }

    pub(super) fn planned(self, view: &dyn FileSystemView) -> Vec<PlannedFile> {
        let mut files: Vec<PlannedFile> =
            self.order.into_iter().map(|history| history.planned(view)).collect();
        if files.iter().filter(|file| file.restored_link().is_some()).count() > 1 {
            for file in files.iter_mut().filter(|file| file.restored_link().is_some()) {
                file.place.is_one_of_links = true;
                file.leave_until_asked();
            }
        }
        files
    }
}

impl FileHistory<'_> {
    pub(super) fn planned(mut self, view: &dyn FileSystemView) -> PlannedFile {
        let (path, place) = (self.path.to_owned(), view.place(self.path));
        let by = self.by();
        let (now, bytes) = match view.current_state(self.path) {
            CurrentFileState::Nothing => (None, Vec::new()),
            CurrentFileState::Present(version, bytes) => (Some(version), bytes),
            CurrentFileState::Other(what) => {
                let action = FileAction::Skip(SkipReason::Other(what));
                return PlannedFile {
                    path,
                    now: None,
                    place,
                    by,
                    action,
                    lines: None,
                    alternative: None,
                };
            }
        };
        self.settle(now.as_ref());
        let state = PlannedVersion { version: now.clone(), merged: None };
        let action = match self.revert(state, &bytes, view) {
            Ok(wanted) if wanted.version == now => FileAction::Nothing,
            Ok(PlannedVersion { version: None, .. }) => FileAction::Remove,
            Ok(PlannedVersion { version: Some(version), merged: Some(bytes) }) => {
                FileAction::Put(PlannedRestore { version, bytes, is_merged: true })
            }
            Ok(PlannedVersion { version: Some(version), merged: None }) => {
                let unchanged = now.as_ref().is_some_and(|now| now.hash == version.hash);
                match if unchanged { Some(bytes.clone()) } else { view.content(&version.hash) } {
                    Some(bytes) => {
                        FileAction::Put(PlannedRestore { version, bytes, is_merged: false })
                    }
                    None => FileAction::Skip(SkipReason::Lost),
                }
            }
            // The file is as it was before the first change, for whatever reason.
            Err(_) if self.original() == Some(now.clone()) => FileAction::Nothing,
            Err(reason) => FileAction::Skip(reason),
        };
        let lines = lines_of(&action, &bytes);
        let alternative = match &action {
            FileAction::Skip(_) => self.alternative(&bytes, view),
            FileAction::Nothing | FileAction::Put(_) | FileAction::Remove => None,
        };
        let mut planned = PlannedFile { path, now, place, by, action, lines, alternative };
        if let Some(target) = planned.restored_link() {
            // Opening the link opens what it leads to.
            let folder = self.path.parent().unwrap_or(Path::new("/"));
            let leads_to = view.place(&folder.join(target));
            planned.place = planned.place.and(leads_to);
        }
        planned.leave_until_asked();
        planned
    }

    /// Takes the write that was announced last for done where the file, as it is now, shows it.
    pub(super) fn settle(&mut self, now: Option<&FileVersion>) {
        if let Some(intended) = self.intended.take()
            && is_done(intended, now)
        {
            self.changes.push(intended);
        }
    }

    /// The file before its first change; the outer `None` where there is no change.
    fn original(&self) -> Option<Option<FileVersion>> {
        self.changes.first().map(|change| change.version_before())
    }

    /// The action that makes the file what it was; `None` where that is no longer kept.
    fn alternative(&self, now: &[u8], view: &dyn FileSystemView) -> Option<Alternative> {
        let action = match self.original()? {
            None => FileAction::Remove,
            Some(version) => {
                let bytes = view.content(&version.hash)?;
                FileAction::Put(PlannedRestore { version, bytes, is_merged: false })
            }
        };
        let lines = lines_of(&action, now);
        Some(Alternative { action, lines })
    }

    pub(super) fn by(&self) -> FileChangeSource {
        let all = || self.changes.iter().map(|change| change.by);
        all()
            .find(|by| *by == FileChangeSource::Command)
            .or_else(|| all().next_back())
            .unwrap_or_default()
    }

    /// Reverts the changes, the last one first. Consecutive changes between which nobody else wrote
    /// count as one.
    pub(super) fn revert(
        &self,
        mut state: PlannedVersion,
        now: &[u8],
        view: &dyn FileSystemView,
    ) -> Result<PlannedVersion, SkipReason> {
        let mut rest = &self.changes[..];
        while let Some(last) = rest.last() {
            let joins = |pair: &[&FileChangeEntry]| {
                FileVersion::holds(
                    pair[0].version_after().as_ref(),
                    pair[1].version_before().as_ref(),
                )
            };
            let run = rest.windows(2).rev().take_while(|pair| joins(pair)).count() + 1;
            let first = rest[rest.len() - run];
            state =
                state.without_change(first.version_before(), last.version_after(), now, view)?;
            rest = &rest[..rest.len() - run];
        }
        Ok(state)
    }
}

/// Whether an announced write took place, judged by what was there next.
fn is_done(intended: &FileChangeEntry, next: Option<&FileVersion>) -> bool {
    let after = intended.version_after();
    let mode = |version: Option<&FileVersion>| version.and_then(|version| version.mode);
    let same_mode = mode(after.as_ref()).is_none() || mode(after.as_ref()) == mode(next);
    FileVersion::holds(after.as_ref(), next) && same_mode
}

/// The file at a path after some changes were reverted.
pub(super) struct PlannedVersion {
    pub(super) version: Option<FileVersion>,
    /// Its content, where it comes from a merge and so is in no record.
    pub(super) merged: Option<Vec<u8>>,
}

impl PlannedVersion {
    /// Reverts a change from `before` to `after`.
    fn without_change(
        self,
        before: Option<FileVersion>,
        after: Option<FileVersion>,
        now: &[u8],
        view: &dyn FileSystemView,
    ) -> Result<Self, SkipReason> {
        let is = |version: &Option<FileVersion>| {
            FileVersion::holds(self.version.as_ref(), version.as_ref())
        };
        if is(&after) || is(&before) {
            // Permissions that the user has changed since stay.
            let mode =
                |version: &Option<FileVersion>| version.as_ref().and_then(|version| version.mode);
            let (own, left, wanted) = (mode(&self.version), mode(&after), mode(&before));
            let mode = if own.is_some() && own != left { own } else { wanted.or(own) };
            let merged = if is(&before) { self.merged } else { None };
            return Ok(Self {
                version: before.map(|version| FileVersion { mode, ..version }),
                merged,
            });
        }
        let (before, after, own) = match (before, after, self.version) {
            (Some(before), Some(after), Some(own)) => (before, after, own),
            (_, Some(_), None) => return Err(SkipReason::Removed),
            (None, Some(_), Some(_)) => return Err(SkipReason::Changed),
            (_, None, _) => return Err(SkipReason::MadeAnew),
        };
        if [&before, &after, &own].iter().any(|version| version.kind == FileKind::Link) {
            return Err(SkipReason::Changed);
        }
        let kept = |version: &FileVersion| view.content(&version.hash).ok_or(SkipReason::Lost);
        let (theirs, base) = (kept(&before)?, kept(&after)?);
        let ours = match self.merged {
            Some(merged) => merged,
            None if ContentHash::of(now) == own.hash => now.to_owned(),
            None => kept(&own)?,
        };
        let merged = merge(&base, &ours, &theirs).ok_or(SkipReason::SameLines)?;
        let version = FileVersion { hash: ContentHash::of(&merged), ..own };
        Ok(Self { version: Some(version), merged: Some(merged) })
    }
}

/// The lines of longer files are not counted, in bytes.
const LARGEST: usize = 1 << 20;
/// How long counting the lines of a file may take.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);

pub(super) fn lines_of(action: &FileAction, now: &[u8]) -> Option<(usize, usize)> {
    match action {
        FileAction::Put(put) if put.version.kind == FileKind::File => counted(now, &put.bytes),
        FileAction::Remove => counted(now, b""),
        FileAction::Nothing | FileAction::Put(_) | FileAction::Skip(_) => None,
    }
}

/// The numbers of lines added and removed; `None` where a file is too long or has NUL bytes.
fn counted(now: &[u8], then: &[u8]) -> Option<(usize, usize)> {
    if [now, then].iter().any(|bytes| bytes.len() > LARGEST || bytes.contains(&0)) {
        return None;
    }
    let steps = align(&lines(now), &lines(then), Some(DIFF_TIMEOUT));
    let changed = steps.iter().filter(|step| !matches!(step, DiffOp::Equal { .. }));
    Some(changed.fold((0, 0), |(added, removed), step| {
        (added + step.new_range().len(), removed + step.old_range().len())
    }))
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}
