//! What becomes of each file, before anything is done to it. What lies outside the workspace or is
//! protected stays as it is in every plan; only [`PlannedFile::toggle_override`] changes that, file by file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::DiffOp;

use crate::domain::{ContentHash, align};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, RewindEntry,
    UntrackedChanges,
};

use super::merge::merge;

/// What planning has to know of the machine.
pub trait FileSystemView {
    /// What is at a path now.
    fn current_state(&self, path: &Path) -> CurrentFileState;
    /// A content that was kept.
    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>>;
    /// Where a path leads.
    fn place(&self, path: &Path) -> FilePlace;
}

/// Where a file lies. A log may come from anywhere and name any file, so one that lies outside the
/// workspace, or is protected, is left as it is until the person says of this very file that it is
/// to go back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// Whether it is outside the workspace.
    pub is_outside: bool,
    /// What a change of it changes, as the end of "It changes …", where it is protected.
    pub protected: Option<&'static str>,
}

impl FilePlace {
    /// Of two places that are changed at once, the stricter words.
    fn and(self, other: Self) -> Self {
        Self {
            is_outside: self.is_outside || other.is_outside,
            protected: self.protected.or(other.protected),
        }
    }

    /// Whether a file there goes back only by an answer of its own.
    pub fn needs_answer(self) -> bool {
        self.is_outside || self.protected.is_some()
    }
}

/// What is at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentFileState {
    /// Nothing.
    Nothing,
    /// A file or a link, with its content.
    Present(FileVersion, Vec<u8>),
    /// Something that is not touched, in a few words.
    Other(String),
}

/// What becomes of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesPlan {
    /// Each file that was changed, in the order of the first change.
    pub files: Vec<PlannedFile>,
    /// What commands changed and nothing is known of.
    pub not_covered: Vec<UntrackedChanges>,
}

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// The file, absolute.
    pub path: PathBuf,
    /// What is there now, where that is known.
    pub now: Option<FileVersion>,
    /// Where it lies.
    pub place: FilePlace,
    /// Who changed it: a command, if any did. What somebody else saved while one ran counts as its
    /// own, for nothing tells them apart.
    pub by: FileChangeSource,
    /// What is to be done.
    pub action: FileAction,
    /// Lines that come and lines that go, where there are lines.
    pub lines: Option<(usize, usize)>,
    /// Of a file that is left as it is, where the person can say otherwise: what is done then.
    pub alternative: Option<Alternative>,
}

/// What is done where the person says so: the file becomes what it was. What it is now is kept like
/// everything that is overwritten, so that going forth brings it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// What it comes to.
    pub action: FileAction,
    /// Lines that come and lines that go, where there are lines.
    pub lines: Option<(usize, usize)>,
}

/// What is to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAction {
    /// Nothing: it is as it is wanted.
    Nothing,
    /// This is put there.
    Put(PlannedRestore),
    /// It is removed.
    Remove,
    /// It is left as it is, because of this.
    Skip(SkipReason),
}

/// What is put at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRestore {
    /// What it will be.
    pub version: FileVersion,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is a merge with what the person has changed since.
    pub is_merged: bool,
}

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The person has changed the same lines since.
    SameLines,
    /// It was made by slug, and the person has changed it since.
    Changed,
    /// The person has removed it since.
    Removed,
    /// It was removed by slug, and the person has made it anew.
    MadeAnew,
    /// What it held is no longer kept.
    Lost,
    /// It lies where nothing is changed without an answer of its own.
    NeedsAnswer,
    /// It is something else now.
    Other(String),
}

impl PlannedFile {
    /// Takes the other of the two things that can be done, where there are two.
    pub fn toggle_override(&mut self) {
        if let Some(instead) = &mut self.alternative {
            std::mem::swap(&mut self.action, &mut instead.action);
            std::mem::swap(&mut self.lines, &mut instead.lines);
        }
    }

    /// Whether it becomes what it was by the person's word.
    pub fn is_overridden(&self) -> bool {
        matches!(&self.alternative, Some(Alternative { action: FileAction::Skip(_), .. }))
    }

    /// Whether it becomes so in the place of something that the person made of it since.
    pub fn replaces_user_changes(&self) -> bool {
        match &self.alternative {
            Some(Alternative { action: FileAction::Skip(left), .. }) => {
                *left != SkipReason::NeedsAnswer
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

    /// The files that are left as they are, though they should not.
    pub fn skipped(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| matches!(file.action, FileAction::Skip(_)))
    }

    /// Whether the person can say what becomes of a file.
    pub fn has_questions(&self) -> bool {
        self.files.iter().any(|file| file.alternative.is_some())
    }

    /// Turns the files that the person has turned in another plan.
    pub fn copy_overrides(&mut self, other: &Self) {
        let turned =
            |path: &Path| other.files.iter().any(|it| it.path == path && it.is_overridden());
        for file in &mut self.files {
            if file.is_overridden() != turned(&file.path) {
                file.toggle_override();
            }
        }
    }

    /// Whether the same is done to the same files. How many lines that are is looked for so long and
    /// no longer, so that it may come out otherwise.
    pub fn has_same_effect(&self, other: &Self) -> bool {
        fn done(file: &PlannedFile) -> (&Path, Option<&FileVersion>, &FileAction) {
            (&file.path, file.now.as_ref(), &file.action)
        }
        self.not_covered == other.not_covered
            && self.files.iter().map(done).eq(other.files.iter().map(done))
    }
}

/// What becomes of the files when the person goes back before the record at `start`.
pub fn plan_undo(records: &[LogRecord], start: usize, world: &dyn FileSystemView) -> FilesPlan {
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
    FilesPlan { files: histories.planned(world), not_covered }
}

/// What becomes of the files when a rewind is taken back.
pub fn plan_redo(rewind: &RewindEntry, world: &dyn FileSystemView) -> FilesPlan {
    let mut histories = FileHistories::default();
    for change in &rewind.files {
        histories.take(change);
    }
    FilesPlan { files: histories.planned(world), not_covered: Vec::new() }
}

/// The changes of each file.
#[derive(Default)]
struct FileHistories<'a> {
    order: Vec<FileHistory<'a>>,
    places: HashMap<&'a Path, usize>,
}

struct FileHistory<'a> {
    path: &'a Path,
    changes: Vec<&'a FileChangeEntry>,
    /// A write that the log announced, and nothing says yet that it came about: slug may have died
    /// before it, or just after.
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

    fn take(&mut self, change: &'a FileChangeEntry) {
        let history = self.of(change);
        if let Some(intended) = history.intended.take()
            && is_done(intended, change.version_before().as_ref())
        {
            history.changes.push(intended);
        }
        history.changes.push(change);
    }

    fn intend(&mut self, changes: &'a [FileChangeEntry]) {
        for change in changes {
            self.of(change).intended = Some(change);
        }
    }

    fn planned(self, world: &dyn FileSystemView) -> Vec<PlannedFile> {
        self.order.into_iter().map(|history| history.planned(world)).collect()
    }
}

impl FileHistory<'_> {
    fn planned(mut self, world: &dyn FileSystemView) -> PlannedFile {
        let (path, place) = (self.path.to_owned(), world.place(self.path));
        let by = self.by();
        let (now, bytes) = match world.current_state(self.path) {
            CurrentFileState::Nothing => (None, Vec::new()),
            CurrentFileState::Present(image, bytes) => (Some(image), bytes),
            CurrentFileState::Other(what) => {
                let act = FileAction::Skip(SkipReason::Other(what));
                return PlannedFile {
                    path,
                    now: None,
                    place,
                    by,
                    action: act,
                    lines: None,
                    alternative: None,
                };
            }
        };
        if let Some(intended) = self.intended.take()
            && is_done(intended, now.as_ref())
        {
            self.changes.push(intended);
        }
        let state = PlannedVersion { version: now.clone(), merged: None };
        let act = match self.revert(state, &bytes, world) {
            Ok(wanted) if wanted.version == now => FileAction::Nothing,
            Ok(PlannedVersion { version: None, .. }) => FileAction::Remove,
            Ok(PlannedVersion { version: Some(image), merged: Some(bytes) }) => {
                FileAction::Put(PlannedRestore { version: image, bytes, is_merged: true })
            }
            Ok(PlannedVersion { version: Some(image), merged: None }) => {
                let unchanged = now.as_ref().is_some_and(|now| now.hash == image.hash);
                match if unchanged { Some(bytes.clone()) } else { world.content(&image.hash) } {
                    Some(bytes) => {
                        FileAction::Put(PlannedRestore { version: image, bytes, is_merged: false })
                    }
                    None => FileAction::Skip(SkipReason::Lost),
                }
            }
            // However it came to be so.
            Err(_) if self.original() == Some(now.clone()) => FileAction::Nothing,
            Err(left) => FileAction::Skip(left),
        };
        let lines = lines_of(&act, &bytes);
        let instead = match &act {
            FileAction::Skip(_) => self.alternative(&bytes, world),
            FileAction::Nothing | FileAction::Put(_) | FileAction::Remove => None,
        };
        let place = match &act {
            FileAction::Put(put) if put.version.kind == FileKind::Link => {
                // Who opens the link opens what it leads to.
                let target = Path::new(OsStr::from_bytes(&put.bytes));
                let folder = self.path.parent().unwrap_or(Path::new("/"));
                place.and(world.place(&folder.join(target)))
            }
            FileAction::Put(_) | FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => {
                place
            }
        };
        let mut planned =
            PlannedFile { path, now, place, by, action: act, lines, alternative: instead };
        if place.needs_answer() && matches!(planned.action, FileAction::Put(_) | FileAction::Remove)
        {
            let act = FileAction::Skip(SkipReason::NeedsAnswer);
            planned.alternative = Some(Alternative { action: act, lines: None });
            planned.toggle_override();
        }
        planned
    }

    /// What it was before the first change.
    fn original(&self) -> Option<Option<FileVersion>> {
        self.changes.first().map(|change| change.version_before())
    }

    /// To make it what it was, where that is kept.
    fn alternative(&self, now: &[u8], world: &dyn FileSystemView) -> Option<Alternative> {
        let act = match self.original()? {
            None => FileAction::Remove,
            Some(image) => {
                let bytes = world.content(&image.hash)?;
                FileAction::Put(PlannedRestore { version: image, bytes, is_merged: false })
            }
        };
        let lines = lines_of(&act, now);
        Some(Alternative { action: act, lines })
    }

    fn by(&self) -> FileChangeSource {
        let all = || self.changes.iter().map(|change| change.by);
        all()
            .find(|by| *by == FileChangeSource::Command)
            .or_else(|| all().next_back())
            .unwrap_or_default()
    }

    /// Takes the changes back, from the last one on. Changes between which nobody else wrote count
    /// as one.
    fn revert(
        &self,
        mut state: PlannedVersion,
        now: &[u8],
        world: &dyn FileSystemView,
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
                state.without_change(first.version_before(), last.version_after(), now, world)?;
            rest = &rest[..rest.len() - run];
        }
        Ok(state)
    }
}

/// Whether a write that was announced has come about, by what was there next.
fn is_done(intended: &FileChangeEntry, next: Option<&FileVersion>) -> bool {
    let after = intended.version_after();
    let mode = |image: Option<&FileVersion>| image.and_then(|image| image.mode);
    let same_mode = mode(after.as_ref()).is_none() || mode(after.as_ref()) == mode(next);
    FileVersion::holds(after.as_ref(), next) && same_mode
}

/// What would be at a path.
struct PlannedVersion {
    version: Option<FileVersion>,
    /// Its content, where it is in no record.
    merged: Option<Vec<u8>>,
}

impl PlannedVersion {
    /// This without a change from `before` to `after`.
    fn without_change(
        self,
        before: Option<FileVersion>,
        after: Option<FileVersion>,
        now: &[u8],
        world: &dyn FileSystemView,
    ) -> Result<Self, SkipReason> {
        let is =
            |image: &Option<FileVersion>| FileVersion::holds(self.version.as_ref(), image.as_ref());
        if is(&after) || is(&before) {
            // Permissions that the person has changed since stay theirs.
            let mode = |image: &Option<FileVersion>| image.as_ref().and_then(|image| image.mode);
            let (own, left, wanted) = (mode(&self.version), mode(&after), mode(&before));
            let mode = if own.is_some() && own != left { own } else { wanted.or(own) };
            let merged = if is(&before) { self.merged } else { None };
            return Ok(Self { version: before.map(|image| FileVersion { mode, ..image }), merged });
        }
        let (before, after, own) = match (before, after, self.version) {
            (Some(before), Some(after), Some(own)) => (before, after, own),
            (_, Some(_), None) => return Err(SkipReason::Removed),
            (None, Some(_), Some(_)) => return Err(SkipReason::Changed),
            (_, None, _) => return Err(SkipReason::MadeAnew),
        };
        if [&before, &after, &own].iter().any(|image| image.kind == FileKind::Link) {
            return Err(SkipReason::Changed);
        }
        let kept = |image: &FileVersion| world.content(&image.hash).ok_or(SkipReason::Lost);
        let (theirs, base) = (kept(&before)?, kept(&after)?);
        let ours = match self.merged {
            Some(merged) => merged,
            None if ContentHash::of(now) == own.hash => now.to_owned(),
            None => kept(&own)?,
        };
        let merged = merge(&base, &ours, &theirs).ok_or(SkipReason::SameLines)?;
        let image = FileVersion { hash: ContentHash::of(&merged), ..own };
        Ok(Self { version: Some(image), merged: Some(merged) })
    }
}

/// Longer files are not counted.
const LARGEST: usize = 1 << 20;
/// How long counting may take.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);

fn lines_of(act: &FileAction, now: &[u8]) -> Option<(usize, usize)> {
    match act {
        FileAction::Put(put) if put.version.kind == FileKind::File => counted(now, &put.bytes),
        FileAction::Remove => counted(now, b""),
        FileAction::Nothing | FileAction::Put(_) | FileAction::Skip(_) => None,
    }
}

/// Lines that come and lines that go.
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
