//! Going back and forth over a model of a folder: what tools, commands and the person do to files,
//! in any order.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::samples::{record, rewind, says, user};
use super::*;
use crate::domain::ContentHash;
use crate::session::{ChangedBy, Entry, FileChanged, FileKind, Image, Record, Rewind, Rewound};

type Files = BTreeMap<PathBuf, (Vec<u8>, u32)>;

/// A folder, what is kept, and the log.
#[derive(Default)]
struct Machine {
    files: Files,
    kept: HashMap<ContentHash, Vec<u8>>,
    log: Vec<Record>,
    lines: usize,
}

#[derive(Debug, Clone)]
enum Op {
    /// The person says something.
    Say,
    /// A tool or a command writes a line, in the place of one or before it.
    Write {
        file: usize,
        at: usize,
        by: ChangedBy,
        place: bool,
    },
    /// A command removes a file, or makes it executable.
    Remove(usize),
    Chmod(usize),
    /// The person writes a line, drops one of slug's, or removes a file.
    Own {
        file: usize,
        at: usize,
    },
    Drop {
        file: usize,
        at: usize,
    },
    Clear(usize),
    /// Back before one of the last messages; slug is killed after so many writes.
    Back {
        point: usize,
        what: Rewound,
        killed: Option<usize>,
    },
    Again,
}

/// What the person wrote begins like this.
const OWN: &str = "own";

impl World for Machine {
    fn seen(&self, path: &Path) -> Seen {
        match self.files.get(path) {
            Some((bytes, mode)) => Seen::There(image(bytes, *mode), bytes.clone()),
            None => Seen::Nothing,
        }
    }

    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        self.kept.get(hash).cloned()
    }

    fn place(&self, path: &Path) -> FilePlace {
        let is_outside = !path.starts_with("/w");
        let protected = path.ends_with("config").then_some("what git runs");
        FilePlace { is_outside, protected }
    }
}

fn image(bytes: &[u8], mode: u32) -> Image {
    Image { kind: FileKind::File, hash: ContentHash::of(bytes), mode: Some(mode) }
}

fn path(file: usize) -> PathBuf {
    format!("/w/{file}").into()
}

impl Machine {
    fn note(&mut self, entry: Entry) {
        self.log.push(record(1, entry));
    }

    fn here(&self, path: &Path) -> Option<Image> {
        self.files.get(path).map(|(bytes, mode)| image(bytes, *mode))
    }

    /// What was there before slug's first change.
    fn first_image(&self, path: &Path) -> Option<Image> {
        self.log.iter().find_map(|record| match &record.entry {
            Entry::FileChange(change) if change.place() == path => Some(change.image_before()),
            _ => None,
        })?
    }

    fn keep(&mut self, path: &Path) {
        if let Some((bytes, _)) = self.files.get(path) {
            self.kept.insert(ContentHash::of(bytes), bytes.clone());
        }
    }

    fn change(&mut self, path: &Path, by: ChangedBy, to: Option<(Vec<u8>, u32)>) {
        let before = self.here(path);
        self.keep(path);
        match to {
            Some(file) => drop(self.files.insert(path.to_owned(), file)),
            None => drop(self.files.remove(path)),
        }
        self.keep(path);
        let after = self.here(path);
        if before != after {
            self.note(Entry::FileChange(FileChanged::new(path.to_owned(), before, after, by)));
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

    /// Every line of the person's, with its file.
    fn own_lines(&self) -> Vec<(PathBuf, String)> {
        let own = |path: &PathBuf| {
            let lines = self.lines_of(path).into_iter().filter(|line| line.starts_with(OWN));
            lines.map(|line| (path.clone(), line)).collect::<Vec<_>>()
        };
        self.files.keys().flat_map(own).collect()
    }

    fn do_as(&mut self, plan: &FilesPlan, mut entry: Rewind, killed: Option<usize>) {
        let after = |file: &PlannedFile| match &file.act {
            Act::Put(put) => Some(put.image.clone()),
            Act::Nothing | Act::Remove | Act::Leave(_) => None,
        };
        let touched: Vec<PlannedFile> = plan.touched().cloned().collect();
        for file in &touched {
            self.keep(&file.path);
            entry.files.push(FileChanged::new(
                file.path.clone(),
                file.now.clone(),
                after(file),
                ChangedBy::Rewind,
            ));
        }
        self.note(Entry::Rewind(entry));
        for (at, file) in touched.into_iter().enumerate() {
            let to = match &file.act {
                Act::Put(put) => {
                    assert_eq!(ContentHash::of(&put.bytes), put.image.hash);
                    Some((put.bytes.clone(), put.image.mode.unwrap()))
                }
                Act::Nothing | Act::Remove | Act::Leave(_) => None,
            };
            match killed {
                Some(killed) if at > killed => return,
                // Written, and not on record any more.
                Some(killed) if at == killed => {
                    match to {
                        Some(to) => drop(self.files.insert(file.path, to)),
                        None => drop(self.files.remove(&file.path)),
                    }
                    return;
                }
                Some(_) | None => self.change(&file.path, ChangedBy::Rewind, to),
            }
        }
    }

    /// Goes back before the point so many before the last one.
    fn back(&mut self, point: usize, what: Rewound, killed: Option<usize>) -> bool {
        let rewinds = Rewinds::of(&self.log);
        let Some(start) = points(&self.log, &rewinds).map(|(at, _)| at).rev().nth(point) else {
            return false;
        };
        let plan = match what.has_files() {
            true => back(&self.log, start, self),
            false => FilesPlan::default(),
        };
        self.do_as(&plan, rewind(self.log[start].id, what), killed);
        true
    }

    fn again(&mut self) -> bool {
        let Some(at) = Rewinds::of(&self.log).redoable() else { return false };
        let Entry::Rewind(undone) = self.log[at].entry.clone() else { panic!("no rewind") };
        let plan = match undone.what.has_files() {
            true => again(&undone, self),
            false => FilesPlan::default(),
        };
        let redoes = Some(self.log[at].id);
        let entry = Rewind { redoes, ..rewind(undone.before, undone.what) };
        self.do_as(&plan, entry, None);
        true
    }

    fn play(&mut self, op: &Op) {
        self.lines += 1;
        match op {
            Op::Say => {
                self.note(user(&format!("message {}", self.lines)));
                self.note(says("an answer"));
            }
            Op::Write { file, at, by, place } => {
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
            // What slug removes of the person's, it removes again with a redo.
            Op::Remove(file) => {
                if !self.own_lines().iter().any(|(own, _)| *own == path(*file)) {
                    self.change(&path(*file), ChangedBy::Command, None);
                }
            }
            Op::Chmod(file) => {
                if let Some((bytes, mode)) = self.files.get(&path(*file)).cloned() {
                    self.change(&path(*file), ChangedBy::Command, Some((bytes, mode ^ 0o111)));
                }
            }
            Op::Own { file, at } => {
                let path = path(*file);
                let (mut lines, mode) = (self.lines_of(&path), self.mode(&path));
                lines.insert((*at).min(lines.len()), format!("{OWN} {}\n", self.lines));
                self.files.insert(path, (lines.concat().into_bytes(), mode));
            }
            Op::Drop { file, at } => {
                let path = path(*file);
                let (mut lines, mode) = (self.lines_of(&path), self.mode(&path));
                if lines.get(*at).is_some_and(|line| !line.starts_with(OWN)) {
                    lines.remove(*at);
                    self.files.insert(path, (lines.concat().into_bytes(), mode));
                }
            }
            Op::Clear(file) => drop(self.files.remove(&path(*file))),
            Op::Back { point, what, killed } => {
                let own = self.own_lines();
                self.back(*point, *what, *killed);
                self.has_all(&own);
            }
            Op::Again => {
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

fn changes() -> impl Strategy<Value = Op> {
    let by = prop_oneof![Just(ChangedBy::Tool), Just(ChangedBy::Command)];
    prop_oneof![
        2 => Just(Op::Say),
        6 => (0..3_usize, 0..6_usize, by, any::<bool>())
            .prop_map(|(file, at, by, place)| Op::Write { file, at, by, place }),
        1 => (0..3_usize).prop_map(Op::Remove),
        1 => (0..3_usize).prop_map(Op::Chmod),
    ]
}

fn rewinding(kills: bool) -> impl Strategy<Value = Op> {
    let what = prop_oneof![Just(Rewound::Both), Just(Rewound::Files), Just(Rewound::Conversation)];
    let killed = prop_oneof![3 => Just(None), 1 => (0..3_usize).prop_map(Some)];
    prop_oneof![
        3 => (0..4_usize, what, killed).prop_map(move |(point, what, killed)| {
            Op::Back { point, what, killed: killed.filter(|_| kills) }
        }),
        2 => Just(Op::Again),
    ]
}

fn person() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3_usize, 0..6_usize).prop_map(|(file, at)| Op::Own { file, at }),
        2 => (0..3_usize, 0..6_usize).prop_map(|(file, at)| Op::Drop { file, at }),
        1 => (0..3_usize).prop_map(Op::Clear),
    ]
}

fn begun() -> Machine {
    let mut machine = Machine::default();
    for file in 0..2 {
        let text = (0..5).map(|line| format!("{file}.{line}\n")).collect::<String>();
        machine.files.insert(path(file), (text.into_bytes(), 0o644));
    }
    machine.note(user("the first message"));
    machine
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_the_persons_is_ever_lost(
        ops in prop::collection::vec(
            prop_oneof![5 => changes(), 3 => rewinding(true), 3 => person()], 0..40,
        ),
    ) {
        let mut machine = begun();
        for op in &ops {
            machine.play(op);
        }
    }

    #[test]
    fn undo_and_then_redo_changes_nothing(
        ops in prop::collection::vec(
            prop_oneof![6 => changes(), 2 => rewinding(false), 2 => person()], 0..30,
        ),
        point in 0..4_usize,
    ) {
        let mut machine = begun();
        for op in &ops {
            machine.play(op);
        }
        let (files, log) = (machine.files.clone(), machine.log.clone());
        if machine.back(point, Rewound::Both, None) {
            prop_assert!(machine.again());
            prop_assert_eq!(&machine.files, &files);
            let (then, now) = (Rewinds::of(&log), Rewinds::of(&machine.log));
            for at in 0..log.len() {
                prop_assert_eq!(then.is_live(at), now.is_live(at), "record {}", at);
            }
        }
    }

    #[test]
    fn what_goes_back_by_the_persons_word_is_what_it_was_and_comes_again(
        ops in prop::collection::vec(prop_oneof![6 => changes(), 3 => person()], 0..30),
    ) {
        let mut machine = begun();
        for op in &ops {
            machine.play(op);
        }
        let files = machine.files.clone();
        let mut plan = back(&machine.log, 0, &machine);
        plan.files.iter_mut().for_each(PlannedFile::turn);
        let first = machine.log[0].id;
        machine.do_as(&plan, rewind(first, Rewound::Both), None);
        for file in &plan.files {
            if file.is_turned() {
                prop_assert_eq!(machine.here(&file.path), machine.first_image(&file.path));
            }
            prop_assert!(!matches!(file.act, Act::Leave(_)), "{:?}", file);
        }
        prop_assert!(machine.again());
        prop_assert_eq!(&machine.files, &files);
    }

    #[test]
    fn where_the_person_changed_nothing_all_goes_back_to_the_start(
        ops in prop::collection::vec(prop_oneof![6 => changes(), 2 => rewinding(false)], 0..40),
    ) {
        let mut machine = begun();
        let start = machine.files.clone();
        for op in &ops {
            machine.play(op);
        }
        // From the first record on, whatever is in force.
        let plan = back(&machine.log, 0, &machine);
        let first = machine.log[0].id;
        machine.do_as(&plan, rewind(first, Rewound::Both), None);
        prop_assert_eq!(&machine.files, &start);
    }

    #[test]
    fn a_kill_half_way_is_made_good_by_going_back_once_more(
        ops in prop::collection::vec(changes(), 0..30),
        killed in 0..3_usize,
    ) {
        let mut machine = begun();
        let start = machine.files.clone();
        for op in &ops {
            machine.play(op);
        }
        let first = machine.log[0].id;
        for killed in [Some(killed), None] {
            let plan = back(&machine.log, 0, &machine);
            machine.do_as(&plan, rewind(first, Rewound::Files), killed);
        }
        prop_assert_eq!(&machine.files, &start);
    }
}

#[test]
fn what_the_person_has_changed_since_is_merged_or_left() {
    let was: String = (0..9).map(|n| format!("line {n}\n")).collect();
    let made = was.replace("line 1", "LINE 1");
    for (own, expected) in [
        (made.replace("line 7", "mine"), Ok(was.replace("line 7", "mine"))),
        (made.replace("LINE 1", "mine"), Err(Left::SameLines)),
        (was.clone(), Ok(was.clone())),
    ] {
        let mut machine = Machine::default();
        machine.files.insert(path(0), (was.clone().into_bytes(), 0o644));
        machine.note(user("go"));
        machine.change(&path(0), ChangedBy::Tool, Some((made.clone().into_bytes(), 0o644)));
        machine.files.insert(path(0), (own.clone().into_bytes(), 0o644));
        let plan = back(&machine.log, 0, &machine);
        let got = match &plan.files[0].act {
            Act::Put(put) => {
                assert!(put.is_merged);
                Ok(String::from_utf8(put.bytes.clone()).unwrap())
            }
            Act::Nothing => Ok(own),
            Act::Leave(left) => Err(left.clone()),
            Act::Remove => panic!("removed"),
        };
        assert_eq!(got, expected);
    }
}

#[test]
fn a_file_that_is_made_or_gone_on_either_side_is_left_with_its_reason() {
    type Sides = (Option<&'static str>, Option<&'static str>, Option<&'static str>);
    let cases: [(Sides, Act); 6] = [
        ((None, Some("a"), Some("a")), Act::Remove),
        ((None, Some("a"), Some("b")), Act::Leave(Left::Changed)),
        ((None, Some("a"), None), Act::Nothing),
        ((Some("a"), Some("b"), None), Act::Leave(Left::Removed)),
        ((Some("a"), None, Some("b")), Act::Leave(Left::MadeAnew)),
        ((Some("a"), None, Some("a")), Act::Nothing),
    ];
    for ((before, after, now), act) in cases {
        let file = |text: &str| (text.as_bytes().to_vec(), 0o644);
        let mut machine = Machine::default();
        machine.files.extend(before.map(|text| (path(0), file(text))));
        machine.note(user("go"));
        machine.change(&path(0), ChangedBy::Command, after.map(file));
        machine.files.remove(&path(0));
        machine.files.extend(now.map(|text| (path(0), file(text))));
        assert_eq!(
            back(&machine.log, 0, &machine).files[0].act,
            act,
            "{before:?} {after:?} {now:?}"
        );
    }
}

#[test]
fn what_lies_outside_or_is_protected_stays_until_it_is_turned() {
    let file = |text: &str| Some((text.as_bytes().to_vec(), 0o644));
    for place in ["/elsewhere/a", "/w/.git/config", "/elsewhere/config"] {
        for (before, after) in
            [(None, file("new")), (file("old"), file("new")), (file("old"), None)]
        {
            let place = Path::new(place);
            let mut machine = Machine::default();
            machine.files.extend(before.clone().map(|before| (place.to_owned(), before)));
            machine.note(user("go"));
            machine.change(place, ChangedBy::Tool, after.clone());
            let plan = back(&machine.log, 0, &machine);
            let case = format!("{place:?} {before:?} {after:?}");
            assert_eq!(plan.files[0].act, Act::Leave(Left::NeedsAnswer), "{case}");
            assert_eq!(plan.touched().count(), 0, "{case}");
            let mut turned = plan.clone();
            turned.files[0].turn();
            assert_eq!(turned.touched().count(), 1, "{case}");
            // What a front end says of a file that nobody was asked about counts for nothing.
            let mut again = back(&machine.log, 0, &machine);
            again.turn_as(&plan);
            assert_eq!(again.touched().count(), 0, "{case}");
            again.turn_as(&turned);
            assert!(again.does_as(&turned), "{case}");
        }
    }
}

#[test]
fn a_link_that_leads_out_or_to_a_protected_place_needs_an_answer_too() {
    for (target, needs) in
        [("b", false), ("/w/b", false), ("/elsewhere/b", true), (".git/config", true)]
    {
        let mut machine = begun();
        let link =
            Image { kind: FileKind::Link, hash: ContentHash::of(target.as_bytes()), mode: None };
        machine.kept.insert(link.hash.clone(), target.as_bytes().to_vec());
        let removed = FileChanged::new(path(7), Some(link), None, ChangedBy::Command);
        machine.note(Entry::FileChange(removed));
        let plan = back(&machine.log, 0, &machine);
        assert_eq!(plan.files[0].place.needs_answer(), needs, "{target}");
        assert_eq!(plan.touched().count(), usize::from(!needs), "{target}");
    }
}

#[test]
fn a_file_of_the_workspace_goes_back_with_the_rest() {
    let mut machine = begun();
    machine.change(&path(0), ChangedBy::Tool, Some((b"new\n".to_vec(), 0o644)));
    let plan = back(&machine.log, 0, &machine);
    assert_eq!((plan.touched().count(), plan.has_questions()), (1, false));
}

#[test]
fn what_is_no_longer_kept_is_said_and_not_guessed() {
    let mut machine = begun();
    machine.change(&path(0), ChangedBy::Tool, Some((b"new\n".to_vec(), 0o644)));
    machine.kept.clear();
    assert_eq!(back(&machine.log, 0, &machine).files[0].act, Act::Leave(Left::Lost));
}

#[test]
fn something_new_that_is_said_ends_going_forth() {
    let mut machine = begun();
    machine.play(&Op::Say);
    assert!(machine.back(0, Rewound::Both, None));
    assert!(machine.back(0, Rewound::Both, None), "one further back");
    assert!(machine.again());
    assert!(machine.again());
    assert!(!machine.again(), "there is nothing more");
    assert!(machine.back(0, Rewound::Both, None));
    machine.play(&Op::Say);
    assert!(!machine.again());
}

#[test]
fn marks_of_the_end_serve_as_well_as_the_end_itself() {
    let mut machine = begun();
    for op in [
        Op::Say,
        Op::Say,
        Op::Back { point: 1, what: Rewound::Both, killed: None },
        Op::Say,
        Op::Back { point: 0, what: Rewound::Both, killed: None },
        Op::Back { point: 0, what: Rewound::Conversation, killed: None },
        Op::Again,
    ] {
        machine.play(&op);
    }
    let whole = Rewinds::of(&machine.log);
    for cut in 0..machine.log.len() {
        let (earlier, later) = machine.log.split_at(cut);
        let parts = Rewinds::of_parts(earlier, &marks(later));
        for at in 0..cut {
            assert_eq!(parts.is_live(at), whole.is_live(at), "{at} of {cut}");
        }
        let end = Rewinds::of(later);
        for at in cut..machine.log.len() {
            assert_eq!(end.is_live(at - cut), whole.is_live(at), "{at} from {cut}");
        }
    }
}

#[test]
fn two_plans_that_only_count_lines_differently_do_the_same() {
    let mut machine = begun();
    machine.change(&path(0), ChangedBy::Tool, Some((b"new\n".to_vec(), 0o644)));
    machine.change(&path(1), ChangedBy::Command, None);
    let plan = back(&machine.log, 0, &machine);
    let mut other = plan.clone();
    other.files[0].lines = Some((7, 7));
    assert!(plan.does_as(&other) && plan != other);
    other.files[0].act = Act::Remove;
    assert!(!plan.does_as(&other));
    other.files.truncate(1);
    assert!(!plan.does_as(&other));
    assert_eq!([plan.files[0].by, plan.files[1].by], [ChangedBy::Tool, ChangedBy::Command]);
}

#[test]
fn a_file_that_is_turned_in_one_plan_is_turned_in_the_other() {
    let mut machine = begun();
    machine.change(&path(0), ChangedBy::Tool, Some((b"new\n".to_vec(), 0o644)));
    machine.files.insert(path(0), (b"mine\n".to_vec(), 0o644));
    let fresh = back(&machine.log, 0, &machine);
    assert_eq!((fresh.touched().count(), fresh.left().count()), (0, 1));
    let mut shown = fresh.clone();
    shown.files[0].turn();
    assert_eq!((shown.touched().count(), shown.left().count()), (1, 0));
    assert!(!fresh.does_as(&shown));
    let mut again = fresh.clone();
    again.turn_as(&shown);
    assert!(again.does_as(&shown));
    again.turn_as(&fresh);
    assert_eq!(again, fresh);
}

#[test]
fn what_nobody_can_bring_back_is_no_question() {
    let mut machine = begun();
    machine.change(&path(0), ChangedBy::Tool, Some((b"new\n".to_vec(), 0o644)));
    machine.files.insert(path(0), (b"mine\n".to_vec(), 0o644));
    machine.kept.clear();
    let plan = back(&machine.log, 0, &machine);
    assert!(matches!(plan.files[0].act, Act::Leave(_)) && !plan.has_questions());
}

#[test]
fn what_is_as_it_was_is_no_question_however_it_came_to_be_so() {
    let mut machine = begun();
    let file = |text: &str| Some((text.as_bytes().to_vec(), 0o644));
    machine.change(&path(2), ChangedBy::Tool, file("one\n"));
    machine.files.insert(path(2), (b"mine\n".to_vec(), 0o644));
    machine.change(&path(2), ChangedBy::Tool, file("two\n"));
    machine.files.remove(&path(2));
    assert_eq!(back(&machine.log, 0, &machine).files[0].act, Act::Nothing);
}
