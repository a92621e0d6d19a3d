//! Tests of rewinds and redos over a model of a folder: tools, commands and the user change files
//! in any order.

mod cases;
mod reviews;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::samples::{record, rewind, says, user};
use super::*;
use crate::domain::ContentHash;
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, RewindEntry,
    RewindScope,
};

type FolderFiles = BTreeMap<PathBuf, (Vec<u8>, u32)>;

/// A folder, the contents that are kept, and the log.
#[derive(Default)]
struct FolderModel {
    files: FolderFiles,
    kept: HashMap<ContentHash, Vec<u8>>,
    log: Vec<LogRecord>,
    lines: usize,
}

#[derive(Debug, Clone)]
enum FolderOperation {
    /// The user sends a message.
    Say,
    /// A tool or a command writes a line, over a line or before it.
    Write {
        file: usize,
        at: usize,
        by: FileChangeSource,
        place: bool,
    },
    /// A command removes a file, or makes it executable.
    Remove(usize),
    Chmod(usize),
    /// The user writes a line, removes one of slug's, or removes a file.
    Own {
        file: usize,
        at: usize,
    },
    Drop {
        file: usize,
        at: usize,
    },
    Clear(usize),
    /// A rewind to before one of the last messages; slug is killed after so many writes.
    Back {
        point: usize,
        what: RewindScope,
        killed: Option<usize>,
    },
    Again,
}

/// How the user's lines begin.
const OWN: &str = "own";

impl FileSystemView for FolderModel {
    fn current_state(&self, path: &Path) -> CurrentFileState {
        match self.files.get(path) {
            Some((bytes, mode)) => CurrentFileState::Present(version(bytes, *mode), bytes.clone()),
            None => CurrentFileState::Nothing,
        }
    }

    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        self.kept.get(hash).cloned()
    }

    fn place(&self, path: &Path) -> FilePlace {
        let is_outside = !path.starts_with("/w");
        let protected = path.ends_with("config").then_some("what git runs".into());
        FilePlace { is_outside, protected, ..FilePlace::default() }
    }
}

fn version(bytes: &[u8], mode: u32) -> FileVersion {
    FileVersion { kind: FileKind::File, hash: ContentHash::of(bytes), mode: Some(mode) }
}

fn path(file: usize) -> PathBuf {
    format!("/w/{file}").into()
}

impl FolderModel {
    fn note(&mut self, entry: LogEntry) {
        self.log.push(record(1, entry));
    }

    fn here(&self, path: &Path) -> Option<FileVersion> {
        self.files.get(path).map(|(bytes, mode)| version(bytes, *mode))
    }

    /// The file before slug's first change.
    fn first_image(&self, path: &Path) -> Option<FileVersion> {
        self.log.iter().find_map(|record| match &record.entry {
            LogEntry::FileChange(change) if change.place() == path => Some(change.version_before()),
            _ => None,
        })?
    }

    fn keep(&mut self, path: &Path) {
        if let Some((bytes, _)) = self.files.get(path) {
            self.kept.insert(ContentHash::of(bytes), bytes.clone());
        }
    }

    fn change(&mut self, path: &Path, by: FileChangeSource, to: Option<(Vec<u8>, u32)>) {
        let before = self.here(path);
        self.keep(path);
        match to {
            Some(file) => drop(self.files.insert(path.to_owned(), file)),
            None => drop(self.files.remove(path)),
        }
        self.keep(path);
        let after = self.here(path);
        if before != after {
            self.note(LogEntry::FileChange(FileChangeEntry::new(
                path.to_owned(),
                before,
                after,
                by,
            )));
        }
    }

    fn lines_of(&self, path: &Path) -> Vec<String> {
        let text = self.files.get(path).map_or(&[][..], |(bytes, _)| bytes);
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn mode(&self, path: &Path) -> u32 {
        self.files.get(path).map_or(0o644, |(_, mode)| *mode)
    }

    /// Every line of the user's, with its file.
    fn own_lines(&self) -> Vec<(PathBuf, String)> {
        let own = |path: &PathBuf| {
            let lines = self.lines_of(path).into_iter().filter(|line| line.starts_with(OWN));
            lines.map(|line| (path.clone(), line)).collect::<Vec<_>>()
        };
        self.files.keys().flat_map(own).collect()
    }

    fn carry_out(&mut self, plan: &FilesPlan, mut entry: RewindEntry, killed: Option<usize>) {
        let after = |file: &PlannedFile| match &file.action {
            FileAction::Put(put) => Some(put.version.clone()),
            FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => None,
        };
        let touched: Vec<PlannedFile> = plan.touched().cloned().collect();
        for file in &touched {
            self.keep(&file.path);
            entry.files.push(FileChangeEntry::new(
                file.path.clone(),
                file.now.clone(),
                after(file),
                FileChangeSource::Rewind,
            ));
        }
        self.note(LogEntry::Rewind(entry));
        for (at, file) in touched.into_iter().enumerate() {
            let to = match &file.action {
                FileAction::Put(put) => {
                    assert_eq!(ContentHash::of(&put.bytes), put.version.hash);
                    Some((put.bytes.clone(), put.version.mode.unwrap()))
                }
                FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => None,
            };
            match killed {
                Some(killed) if at > killed => return,
                // slug was killed after the write and before its record.
                Some(killed) if at == killed => {
                    match to {
                        Some(to) => drop(self.files.insert(file.path, to)),
                        None => drop(self.files.remove(&file.path)),
                    }
                    return;
                }
                Some(_) | None => self.change(&file.path, FileChangeSource::Rewind, to),
            }
        }
    }

    /// Rewinds to before the point that comes so many points before the last one.
    fn back(&mut self, point: usize, what: RewindScope, killed: Option<usize>) -> bool {
        let rewinds = RewindHistory::of(&self.log);
        let Some(start) = points(&self.log, &rewinds).map(|(at, _)| at).rev().nth(point) else {
            return false;
        };
        let plan = match what.has_files() {
            true => plan_undo(&self.log, start, self),
            false => FilesPlan::default(),
        };
        self.carry_out(&plan, rewind(self.log[start].id, what), killed);
        true
    }

    fn again(&mut self) -> bool {
        let Some(at) = RewindHistory::of(&self.log).redoable() else { return false };
        let LogEntry::Rewind(undone) = self.log[at].entry.clone() else { panic!("no rewind") };
        let plan = match undone.what.has_files() {
            true => plan_redo(&undone, self),
            false => FilesPlan::default(),
        };
        let redoes = Some(self.log[at].id);
        let part = undone.part.clone();
        let entry = RewindEntry { redoes, part, ..rewind(undone.before, undone.what) };
        self.carry_out(&plan, entry, None);
        true
    }

    fn play(&mut self, op: &FolderOperation) {
        self.lines += 1;
        match op {
            FolderOperation::Say => {
                self.note(user(&format!("message {}", self.lines)));
                self.note(says("an answer"));
            }
            FolderOperation::Write { file, at, by, place } => {
                let path = path(*file);
                let mut lines = self.lines_of(&path);
                let at = (*at).min(lines.len());
                let line = format!("line {}\n", self.lines);
                match lines.get_mut(at).filter(|old| *place && !old.starts_with(OWN)) {
                    Some(old) => *old = line,
                    None => lines.insert(at, line),
                }
                let mode = self.mode(&path);
                self.change(&path, *by, Some((lines.concat().into_bytes(), mode)));
            }
            // The command removes no file with lines of the user's: a redo would remove it again.
            FolderOperation::Remove(file) => {
                if !self.own_lines().iter().any(|(own, _)| *own == path(*file)) {
                    self.change(&path(*file), FileChangeSource::Command, None);
                }
            }
            FolderOperation::Chmod(file) => {
                if let Some((bytes, mode)) = self.files.get(&path(*file)).cloned() {
                    self.change(
                        &path(*file),
                        FileChangeSource::Command,
                        Some((bytes, mode ^ 0o111)),
                    );
                }
            }
            FolderOperation::Own { file, at } => {
                let path = path(*file);
                let (mut lines, mode) = (self.lines_of(&path), self.mode(&path));
                lines.insert((*at).min(lines.len()), format!("{OWN} {}\n", self.lines));
                self.files.insert(path, (lines.concat().into_bytes(), mode));
            }
            FolderOperation::Drop { file, at } => {
                let path = path(*file);
                let (mut lines, mode) = (self.lines_of(&path), self.mode(&path));
                if lines.get(*at).is_some_and(|line| !line.starts_with(OWN)) {
                    lines.remove(*at);
                    self.files.insert(path, (lines.concat().into_bytes(), mode));
                }
            }
            FolderOperation::Clear(file) => drop(self.files.remove(&path(*file))),
            FolderOperation::Back { point, what, killed } => {
                let own = self.own_lines();
                self.back(*point, *what, *killed);
                self.has_all(&own);
            }
            FolderOperation::Again => {
                let own = self.own_lines();
                self.again();
                self.has_all(&own);
            }
        }
    }

    fn has_all(&self, own: &[(PathBuf, String)]) {
        let now = self.own_lines();
        for line in own {
            assert!(now.contains(line), "{line:?} is lost");
        }
    }
}

fn changes() -> impl Strategy<Value = FolderOperation> {
    let by = prop_oneof![Just(FileChangeSource::Tool), Just(FileChangeSource::Command)];
    prop_oneof![
        2 => Just(FolderOperation::Say),
        6 => (0..3_usize, 0..6_usize, by, any::<bool>())
            .prop_map(|(file, at, by, place)| FolderOperation::Write { file, at, by, place }),
        1 => (0..3_usize).prop_map(FolderOperation::Remove),
        1 => (0..3_usize).prop_map(FolderOperation::Chmod),
    ]
}

fn rewinding(kills: bool) -> impl Strategy<Value = FolderOperation> {
    let what = prop_oneof![
        Just(RewindScope::Both),
        Just(RewindScope::Files),
        Just(RewindScope::Conversation)
    ];
    let killed = prop_oneof![3 => Just(None), 1 => (0..3_usize).prop_map(Some)];
    prop_oneof![
        3 => (0..4_usize, what, killed).prop_map(move |(point, what, killed)| {
            FolderOperation::Back { point, what, killed: killed.filter(|_| kills) }
        }),
        2 => Just(FolderOperation::Again),
    ]
}

fn user_operations() -> impl Strategy<Value = FolderOperation> {
    prop_oneof![
        4 => (0..3_usize, 0..6_usize).prop_map(|(file, at)| FolderOperation::Own { file, at }),
        2 => (0..3_usize, 0..6_usize).prop_map(|(file, at)| FolderOperation::Drop { file, at }),
        1 => (0..3_usize).prop_map(FolderOperation::Clear),
    ]
}

fn initial_folder() -> FolderModel {
    let mut model = FolderModel::default();
    for file in 0..2 {
        let text = (0..5).map(|line| format!("{file}.{line}\n")).collect::<String>();
        model.files.insert(path(file), (text.into_bytes(), 0o644));
    }
    model.note(user("the first message"));
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_the_user_is_ever_lost(
        ops in prop::collection::vec(
            prop_oneof![5 => changes(), 3 => rewinding(true), 3 => user_operations()], 0..40,
        ),
    ) {
        let mut model = initial_folder();
        for op in &ops {
            model.play(op);
        }
    }

    #[test]
    fn undo_and_then_redo_changes_nothing(
        ops in prop::collection::vec(
            prop_oneof![6 => changes(), 2 => rewinding(false), 2 => user_operations()], 0..30,
        ),
        point in 0..4_usize,
    ) {
        let mut model = initial_folder();
        for op in &ops {
            model.play(op);
        }
        let (files, log) = (model.files.clone(), model.log.clone());
        if model.back(point, RewindScope::Both, None) {
            prop_assert!(model.again());
            prop_assert_eq!(&model.files, &files);
            let (then, now) = (RewindHistory::of(&log), RewindHistory::of(&model.log));
            for at in 0..log.len() {
                prop_assert_eq!(then.is_live(at), now.is_live(at), "record {}", at);
            }
        }
    }

    #[test]
    fn a_file_restored_on_the_users_request_comes_back_with_a_redo(
        ops in prop::collection::vec(prop_oneof![6 => changes(), 3 => user_operations()], 0..30),
    ) {
        let mut model = initial_folder();
        for op in &ops {
            model.play(op);
        }
        let files = model.files.clone();
        let mut plan = plan_undo(&model.log, 0, &model);
        plan.files.iter_mut().for_each(PlannedFile::toggle_override);
        let first = model.log[0].id;
        model.carry_out(&plan, rewind(first, RewindScope::Both), None);
        for file in &plan.files {
            if file.is_overridden() {
                prop_assert_eq!(model.here(&file.path), model.first_image(&file.path));
            }
            prop_assert!(!matches!(file.action, FileAction::Skip(_)), "{:?}", file);
        }
        prop_assert!(model.again());
        prop_assert_eq!(&model.files, &files);
    }

    #[test]
    fn where_the_user_changed_nothing_all_goes_back_to_the_start(
        ops in prop::collection::vec(prop_oneof![6 => changes(), 2 => rewinding(false)], 0..40),
    ) {
        let mut model = initial_folder();
        let start = model.files.clone();
        for op in &ops {
            model.play(op);
        }
        // From the first record on, whether or not it is in force.
        let plan = plan_undo(&model.log, 0, &model);
        let first = model.log[0].id;
        model.carry_out(&plan, rewind(first, RewindScope::Both), None);
        prop_assert_eq!(&model.files, &start);
    }

    #[test]
    fn a_kill_half_way_is_repaired_by_another_rewind(
        ops in prop::collection::vec(changes(), 0..30),
        killed in 0..3_usize,
    ) {
        let mut model = initial_folder();
        let start = model.files.clone();
        for op in &ops {
            model.play(op);
        }
        let first = model.log[0].id;
        for killed in [Some(killed), None] {
            let plan = plan_undo(&model.log, 0, &model);
            model.carry_out(&plan, rewind(first, RewindScope::Files), killed);
        }
        prop_assert_eq!(&model.files, &start);
    }
}
