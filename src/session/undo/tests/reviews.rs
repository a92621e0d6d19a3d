//! Tests of reviews: any changes can be rejected, nothing else of the file changes, and a redo brings
//! them back.

use std::collections::BTreeSet;

use super::*;
use crate::domain::{CallId, ExcludedHunks};
use crate::session::RewindPart;

/// Lines of a file of which every fourth is the model's to change, and two lines below it one is
/// the user's: no change touches another.
const LINES: usize = 32;

fn line(at: usize) -> String {
    format!("line {at}\n")
}

/// A file in which the model has changed these places, and the user those.
fn text_with(model: &BTreeSet<usize>, user: &BTreeSet<usize>) -> String {
    let changed = |at: usize| match at % 4 {
        0 if model.contains(&(at / 4)) && at.is_multiple_of(8) => format!("new {at}\nmore {at}\n"),
        0 if model.contains(&(at / 4)) => String::new(),
        2 if user.contains(&(at / 4)) => format!("{OWN} {at}\n"),
        _ => line(at),
    };
    (0..LINES).map(changed).collect()
}

fn file(text: &str) -> (Vec<u8>, u32) {
    (text.as_bytes().to_vec(), 0o644)
}

fn places() -> impl Strategy<Value = BTreeSet<usize>> {
    prop::collection::btree_set(0..LINES / 4, 0..=LINES / 4)
}

impl FolderModel {
    /// The records that are in force.
    fn live(&self) -> impl Iterator<Item = &LogRecord> {
        let rewinds = RewindHistory::of(&self.log);
        let live = self.log.iter().enumerate().filter(move |(at, _)| rewinds.is_live(*at));
        live.map(|(_, record)| record)
    }

    fn review(&self) -> ReviewFiles {
        plan_review(self.live(), self)
    }

    /// Rejects these changes of each file, and returns how many files were left.
    fn reject(&mut self, rejected: impl Fn(&ReviewedFile) -> ExcludedHunks) -> usize {
        let review = self.review();
        let plan = |file: &ReviewedFile| {
            let changes = rejected(file);
            (changes.count() > 0).then(|| {
                plan_rejection(self.live(), file, &changes, self).expect("nothing changed")
            })
        };
        let files: Vec<PlannedFile> = review.files.iter().filter_map(plan).collect();
        let plan = FilesPlan { files, not_covered: Vec::new() };
        let skipped = plan.skipped().count();
        let part = Some(RewindPart { call: None, files: Vec::new() });
        let entry = RewindEntry { part, ..rewind(self.log[0].id, RewindScope::Files) };
        self.carry_out(&plan, entry, None);
        skipped
    }

    fn text(&self, file: usize) -> String {
        self.lines_of(&path(file)).concat()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_rejected_changes_leave_the_file_as_if_they_had_never_been_made(
        made in places(), out in places(), own in places(), order in any::<u64>(),
        is_before in any::<bool>(),
    ) {
        let none = BTreeSet::new();
        let mut model = FolderModel::default();
        model.files.insert(path(0), file(&text_with(&none, &none)));
        model.note(user("go"));
        // The model makes its changes one by one, in any order; the user makes theirs in between or
        // at the end.
        let mut all: Vec<usize> = made.iter().copied().collect();
        all.sort_by_key(|at| (order >> (at * 5)) & 31);
        let mut so_far = BTreeSet::new();
        let first = if is_before { own.clone() } else { none.clone() };
        for (number, at) in all.iter().enumerate() {
            if number == 1 {
                model.files.insert(path(0), file(&text_with(&so_far, &first)));
            }
            so_far.insert(*at);
            let user = if number == 0 { &none } else { &first };
            let by = if order % 2 == 0 { FileChangeSource::Tool } else { FileChangeSource::Command };
            model.change(&path(0), by, Some(file(&text_with(&so_far, user))));
        }
        model.files.insert(path(0), file(&text_with(&made, &own)));
        let before = model.files.clone();

        // The changes of the file are the places that the model changed, in their order.
        let rejected = |_: &ReviewedFile| {
            made.iter().enumerate().filter(|(_, at)| out.contains(at)).map(|(n, _)| n).collect()
        };
        let count = model.review().files.first().map_or(0, |file| file.changes().len());
        prop_assert_eq!(count, made.len());
        prop_assert_eq!(model.reject(rejected), 0);
        let left: BTreeSet<usize> = made.difference(&out).copied().collect();
        prop_assert_eq!(model.text(0), text_with(&left, &own));

        // What was rejected is no longer there to be reviewed.
        let count = model.review().files.first().map_or(0, |file| file.changes().len());
        prop_assert_eq!(count, left.len());
        prop_assert!(model.again());
        prop_assert_eq!(&model.files, &before);
        let count = model.review().files.first().map_or(0, |file| file.changes().len());
        prop_assert_eq!(count, made.len());
    }

    #[test]
    fn whatever_happened_a_rejection_loses_no_line_of_the_user_and_a_redo_restores_all(
        ops in prop::collection::vec(
            prop_oneof![6 => changes(), 2 => rewinding(true), 3 => user_operations()], 0..30,
        ),
        out in prop::collection::btree_set(0..8_usize, 0..8),
    ) {
        let mut model = initial_folder();
        for op in &ops {
            model.play(op);
        }
        let (files, own) = (model.files.clone(), model.own_lines());
        model.reject(|file| {
            (0..file.changes().len()).filter(|at| out.contains(at) && file.can_reject(*at)).collect()
        });
        model.has_all(&own);
        prop_assert!(model.again());
        prop_assert_eq!(&model.files, &files);
    }

    #[test]
    fn where_nobody_else_wrote_to_reject_all_is_to_go_back_to_the_start(
        ops in prop::collection::vec(changes(), 0..30),
    ) {
        let mut model = initial_folder();
        let start = model.files.clone();
        for op in &ops {
            model.play(op);
        }
        model.reject(|file| (0..file.changes().len()).collect());
        prop_assert_eq!(&model.files, &start);
    }
}

#[test]
fn a_change_that_was_written_over_is_a_conflict_and_the_others_are_not() {
    let none = BTreeSet::new();
    let made = BTreeSet::from([0, 2, 4]);
    let mut model = FolderModel::default();
    model.files.insert(path(0), file(&text_with(&none, &none)));
    model.note(user("go"));
    model.change(&path(0), FileChangeSource::Tool, Some(file(&text_with(&made, &none))));
    let mine =
        text_with(&made, &none).replace("new 8\n", "own 8\n").replace("new 16\n", "line 16\n");
    model.files.insert(path(0), file(&mine.replace("more 16\n", "")));
    let review = model.review();
    let expected = [
        ReviewedChange::Present,
        ReviewedChange::Conflict(SkipReason::SameLines),
        ReviewedChange::Reverted,
    ];
    assert_eq!(review.files[0].changes(), expected);
    assert_eq!(model.reject(|_| [0].into_iter().collect()), 0);
    assert!(model.text(0).starts_with("line 0\nline 1\n") && model.text(0).contains("own 8\n"));
    assert_eq!(model.reject(|_| [0].into_iter().collect()), 1, "the conflict is left");
}

#[test]
fn files_that_were_made_or_removed_have_one_change() {
    let mut model = FolderModel::default();
    model.files.insert(path(0), file("a\nb\n"));
    model.note(user("go"));
    model.change(&path(0), FileChangeSource::Command, None);
    model.change(&path(1), FileChangeSource::Tool, Some(file("one\ntwo\n")));
    model.change(&path(2), FileChangeSource::Command, Some((b"\0\x01".to_vec(), 0o644)));
    let review = model.review();
    assert!(review.files.iter().all(|file| file.changes() == [ReviewedChange::Present]));
    assert!(review.files[2].diff().is_none(), "bytes have no lines");
    model.reject(|_| [0].into_iter().collect());
    assert_eq!(model.files.keys().collect::<Vec<_>>(), [&path(0)]);
    model.again();
    model.files.insert(path(1), file("one\ntwo\nmine\n"));
    let changed = ReviewedChange::Conflict(SkipReason::Changed);
    assert_eq!(model.review().files[1].changes(), [changed]);
}

#[test]
fn a_file_that_changed_since_it_was_shown_is_not_touched() {
    let mut model = FolderModel::default();
    model.files.insert(path(0), file("a\n"));
    model.note(user("go"));
    model.change(&path(0), FileChangeSource::Tool, Some(file("b\n")));
    let shown = model.review();
    model.files.insert(path(0), file("b\nmine\n"));
    let all: ExcludedHunks = [0].into_iter().collect();
    assert_eq!(plan_rejection(&model.log, &shown.files[0], &all, &model), None);
}

#[test]
fn one_call_is_taken_back_alone() {
    let none = BTreeSet::new();
    let mut model = FolderModel::default();
    model.files.insert(path(0), file(&text_with(&none, &none)));
    model.note(user("go"));
    for (call, places) in [("first", vec![1]), ("second", vec![1, 3])] {
        let made = places.into_iter().collect();
        model.change(&path(0), FileChangeSource::Tool, Some(file(&text_with(&made, &none))));
        let Some(LogRecord { entry: LogEntry::FileChange(change), .. }) = model.log.last_mut()
        else {
            panic!("no change");
        };
        change.call = Some(CallId::new(call));
    }
    let undone = |model: &FolderModel, call: &str| {
        plan_call_undo(&model.log.iter().collect::<Vec<_>>(), &CallId::new(call), model).files[0]
            .action
            .clone()
    };
    let FileAction::Put(put) = undone(&model, "first") else { panic!("not undone") };
    let second = [3].into_iter().collect();
    assert_eq!(String::from_utf8(put.bytes).unwrap(), text_with(&second, &none));
    model.files.insert(path(0), file(&text_with(&second, &none).replace("line 4", "later 4")));
    assert_eq!(undone(&model, "first"), FileAction::Skip(SkipReason::SameLines));
}
