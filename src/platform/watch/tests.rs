//! Checks what is reported between a look before and a look after a change of a folder.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::contents::LARGEST;
use super::*;

struct WatchFixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    watch: FolderWatcher,
}

fn folder() -> WatchFixture {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "one").unwrap();
    fs::write(root.join("b"), "two").unwrap();
    fs::write(root.join(".gitignore"), "target\n").unwrap();
    let watch = FolderWatcher::new(root.clone(), folder.path().join("contents"));
    WatchFixture { _folder: folder, root, watch }
}

fn file(text: &str) -> PathContent {
    PathContent::File { bytes: text.as_bytes().to_vec(), mode: Some(0o644) }
}

impl WatchFixture {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The changes that are reported for `command`, without contents.
    fn reported(&self, command: impl FnOnce(&Self)) -> Vec<(String, ExpectedChange)> {
        self.watch.look().unwrap();
        command(self);
        let changes = self.watch.changes().unwrap().into_iter().map(|changed| match changed {
            WatchedChange::Known { path, before: PathContent::Nothing, .. } => {
                (path, ExpectedChange::Made)
            }
            WatchedChange::Known { path, after: PathContent::Nothing, .. } => {
                (path, ExpectedChange::Removed)
            }
            WatchedChange::Known { path, .. } => (path, ExpectedChange::Changed),
            WatchedChange::Unknown { path, why } => (path, ExpectedChange::Not(why)),
        });
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        changes.map(|(path, change)| (name(&path), change)).collect()
    }

    /// Sets the last look to the future, so that all current stamps are older.
    fn grow_old(&self) {
        let mut state = self.watch.state.lock().unwrap();
        state.looked = Some(SystemTime::now() + Duration::from_secs(60));
    }

    /// The changes that `command` makes, with their contents.
    fn changes(&self, command: impl FnOnce(&Self)) -> Vec<(String, PathContent, PathContent)> {
        self.watch.look().unwrap();
        command(self);
        let name =
            |path: PathBuf| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
        let changes = self.watch.changes().unwrap().into_iter().map(|changed| match changed {
            WatchedChange::Known { path, before, after } => (name(path), before, after),
            WatchedChange::Unknown { path, why } => panic!("{path:?} {why:?}"),
        });
        changes.collect()
    }
}

/// The kind of change that is reported for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedChange {
    Made,
    Changed,
    Removed,
    Not(UnkeptReason),
}

fn reported<const N: usize>(all: [(&str, ExpectedChange); N]) -> Vec<(String, ExpectedChange)> {
    all.map(|(name, change)| (name.to_owned(), change)).to_vec()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
}

#[test]
fn made_changed_and_removed_files_are_found_with_their_content() {
    let folder = folder();
    for name in ["b", "src/a.rs"] {
        fs::set_permissions(folder.at(name), PermissionsExt::from_mode(0o644)).unwrap();
    }
    let changes = folder.changes(|it| {
        write(&it.at("src/a.rs"), "ONE");
        fs::remove_file(it.at("b")).unwrap();
        write(&it.at("src/new"), "new");
        symlink("b", it.at("link")).unwrap();
    });
    let expected = [
        ("b".to_owned(), file("two"), PathContent::Nothing),
        ("link".to_owned(), PathContent::Nothing, PathContent::Link { target: b"b".to_vec() }),
        ("src/a.rs".to_owned(), file("one"), file("ONE")),
        ("src/new".to_owned(), PathContent::Nothing, file("new")),
    ];
    assert_eq!(changes, expected);
    assert_eq!(folder.changes(|_| {}), []);
}

#[test]
fn a_change_of_equal_size_at_the_same_instant_is_found() {
    let folder = folder();
    for round in 0..50 {
        let changes = folder.changes(|it| write(&it.at("b"), &format!("{round:03}")));
        assert_eq!(changes.len(), 1, "round {round}");
        assert_eq!(changes[0].2, file(&format!("{round:03}")));
    }
}

#[test]
fn permissions_alone_are_a_change() {
    let folder = folder();
    write(&folder.at("b"), "two");
    let changes = folder.changes(|it| {
        fs::set_permissions(it.at("b"), PermissionsExt::from_mode(0o755)).unwrap();
    });
    let after = PathContent::File { bytes: b"two".to_vec(), mode: Some(0o755) };
    assert_eq!(changes, [("b".to_owned(), file("two"), after)]);
}

#[test]
fn ignored_files_and_slugs_own_are_not_watched() {
    let folder = folder();
    let changes = folder.changes(|it| {
        for name in ["target", ".git", ".slug"] {
            fs::create_dir_all(it.at(name)).unwrap();
            write(&it.at(name).join("file"), "x");
        }
        write(&it.at(".slug-0.tmp"), "x");
    });
    assert_eq!(changes, []);
}

#[test]
fn changes_between_commands_are_not_reported() {
    let folder = folder();
    folder.changes(|_| {});
    write(&folder.at("b"), "mine");
    assert_eq!(folder.changes(|_| {}), []);
    let changes = folder.changes(|it| write(&it.at("b"), "its"));
    assert_eq!(changes, [("b".to_owned(), file("mine"), file("its"))]);
}

#[test]
fn files_that_are_too_large_or_too_many_are_named() {
    let folder = folder();
    let large = "x".repeat(LARGEST as usize + 1);
    write(&folder.at("large"), &large);
    folder.watch.look().unwrap();
    write(&folder.at("large"), &large.replace('x', "y"));
    for number in 0..MAX_REPORTED + 5 {
        write(&folder.at(&format!("made-{number:04}")), "x");
    }
    let changes = folder.watch.changes().unwrap();
    let why = |wanted| {
        let is = |it: &&WatchedChange| matches!(it, WatchedChange::Unknown { why, .. } if *why == wanted);
        changes.iter().filter(is).count()
    };
    assert_eq!(changes.len(), MAX_REPORTED + 6);
    assert_eq!((why(UnkeptReason::TooLarge), why(UnkeptReason::TooMany)), (1, 6));
}

#[test]
fn an_unlistable_folder_is_reported_and_not_tried_again() {
    let content_folder = tempfile::tempdir().unwrap();
    let watch = FolderWatcher::new("/no/such/folder".into(), content_folder.path().to_owned());
    assert_eq!(watch.look(), Err(WatchError::Unreadable));
    assert_eq!(watch.changes(), Err(WatchError::Unreadable));
}

#[test]
fn files_that_ignore_rules_hid_are_not_reported_as_made() {
    type FolderCommand = fn(&Path);
    let cases: [(&str, FolderCommand); 3] = [
        ("the line goes", |file| write(file, "target\n")),
        ("the file goes", |file| fs::remove_file(file).unwrap()),
        ("the line is overruled", |file| write(file, ".env\ntarget\n!.env\n")),
    ];
    for (case, command) in cases {
        let folder = folder();
        write(&folder.at(".gitignore"), ".env\ntarget\n");
        write(&folder.at(".env"), "SECRET");
        let found = folder.reported(|it| {
            command(&it.at(".gitignore"));
            write(&it.at("made"), "x");
        });
        let env = found.iter().find(|(name, _)| name == ".env");
        assert_eq!(env.map(|it| it.1), Some(ExpectedChange::Not(UnkeptReason::Unseen)), "{case}");
        assert!(found.contains(&("made".to_owned(), ExpectedChange::Made)), "{case} {found:?}");
    }
}

#[test]
fn older_files_that_come_into_view_are_not_reported_as_made() {
    let folder = folder();
    fs::create_dir_all(folder.at(".git/info")).unwrap();
    write(&folder.at(".git/info/exclude"), ".env\n");
    write(&folder.at(".env"), "SECRET");
    folder.watch.look().unwrap();
    folder.grow_old();
    write(&folder.at(".git/info/exclude"), "");
    write(&folder.at(".gitignore"), "other\n");
    let changes = folder.watch.changes().unwrap();
    let unseen = WatchedChange::Unknown { path: folder.at(".env"), why: UnkeptReason::Unseen };
    assert!(changes.contains(&unseen), "{changes:?}");
}

#[test]
fn files_of_an_unlistable_folder_are_not_reported_as_made() {
    let folder = folder();
    fs::create_dir(folder.at("shut")).unwrap();
    write(&folder.at("shut/file"), "only copy");
    fs::set_permissions(folder.at("shut"), PermissionsExt::from_mode(0o000)).unwrap();
    let found = folder.reported(|it| {
        fs::set_permissions(it.at("shut"), PermissionsExt::from_mode(0o755)).unwrap();
    });
    // Root can open every folder.
    assert!(
        found.is_empty()
            || found == reported([("shut/file", ExpectedChange::Not(UnkeptReason::Unseen))])
    );
}

#[test]
fn files_that_only_go_out_of_view_are_not_reported_as_removed() {
    let folder = folder();
    write(&folder.at("notes"), "mine");
    let found = folder.reported(|it| write(&it.at(".gitignore"), "target\nnotes\nb\n"));
    assert_eq!(found, reported([(".gitignore", ExpectedChange::Changed)]));
    let found = folder.reported(|it| write(&it.at(".gitignore"), "target\n"));
    let unseen = ExpectedChange::Not(UnkeptReason::Unseen);
    assert_eq!(
        found,
        reported([(".gitignore", ExpectedChange::Changed), ("b", unseen), ("notes", unseen)])
    );
}

#[test]
fn a_file_under_another_name_was_made_there_and_removed_here() {
    let folder = folder();
    let found = folder.reported(|it| fs::rename(it.at("b"), it.at("c")).unwrap());
    assert_eq!(found, reported([("b", ExpectedChange::Removed), ("c", ExpectedChange::Made)]));
}

#[test]
fn a_possible_only_copy_is_not_reported_as_made() {
    let folder = folder();
    fs::create_dir(folder.at("old")).unwrap();
    let count = MAX_REPORTED / 3 * 2;
    for number in 0..count {
        write(&folder.at(&format!("old/{number:04}")), &number.to_string());
    }
    let found = folder.reported(|it| fs::rename(it.at("old"), it.at("new")).unwrap());
    assert_eq!(found.len(), 2 * count);
    let made = found.iter().filter(|(_, change)| *change == ExpectedChange::Made).count();
    assert_eq!(made, 0);

    let found = folder.reported(|it| {
        for number in 0..10 {
            fs::rename(it.at(&format!("new/{number:04}")), it.at(&format!("{number:04}"))).unwrap();
        }
    });
    let made = found.iter().filter(|(_, change)| *change == ExpectedChange::Made).count();
    assert_eq!(made, 10, "where all that went is kept, what came is known");
}

#[test]
fn a_file_overwritten_by_an_unkept_one_is_not_reported_as_known() {
    let mut folder = folder();
    folder.watch.bounds.all = 6;
    write(&folder.at("large"), "larger than that");
    let found = folder.reported(|it| {
        fs::rename(it.at("large"), it.at("b")).unwrap();
        write(&it.at("made"), "x");
    });
    let gone = |name: &str| found.iter().find(|it| it.0 == name).map(|it| it.1);
    assert_eq!(gone("large"), Some(ExpectedChange::Not(UnkeptReason::TooMany)));
    for name in ["b", "made"] {
        assert!(matches!(gone(name), Some(ExpectedChange::Not(_))), "{found:?}");
    }
}

#[test]
fn a_name_that_the_log_cannot_hold_is_not_covered() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let path = folder.root.join(OsStr::from_bytes(b"caf\xe9"));
    folder.watch.look().unwrap();
    if fs::write(&path, "x").is_err() {
        // Not every file system accepts this name.
        return;
    }
    let unnamed = WatchedChange::Unknown { path, why: UnkeptReason::Name };
    assert_eq!(folder.watch.changes().unwrap(), [unnamed]);
}

#[test]
fn a_look_keeps_no_more_than_its_bound_and_the_rest_is_named() {
    let mut folder = folder();
    folder.watch.look().unwrap();
    folder.watch.bounds.all = 25;
    for number in 0..5 {
        write(&folder.at(&format!("made-{number}")), "ten bytes.");
    }
    let changes = folder.watch.changes().unwrap();
    let is_named = |it: &&WatchedChange| {
        matches!(it, WatchedChange::Unknown { why: UnkeptReason::TooMany, .. })
    };
    assert_eq!((changes.len(), changes.iter().filter(is_named).count()), (5, 3));
}

#[test]
fn unread_files_are_named_and_read_the_next_time() {
    let mut folder = folder();
    folder.watch.look().unwrap();
    folder.watch.bounds.reading = Duration::ZERO;
    let found = folder.reported(|it| write(&it.at("made"), "x"));
    assert_eq!(found, reported([("made", ExpectedChange::Not(UnkeptReason::TooMany))]));
    folder.watch.bounds.reading = LISTING_TIMEOUT;
    let changes = folder.changes(|it| write(&it.at("made"), "other"));
    assert_eq!(changes, [("made".to_owned(), file("x"), file("other"))]);
}

#[test]
fn a_slow_listing_is_reported_and_tried_again_a_few_times() {
    let mut folder = folder();
    folder.watch.bounds.listing = Duration::ZERO;
    assert_eq!(folder.watch.look(), Err(WatchError::TooSlow));
    assert_eq!(folder.watch.changes(), Err(WatchError::TooSlow));
    folder.watch.bounds.listing = LISTING_TIMEOUT;
    assert_eq!(folder.changes(|it| write(&it.at("b"), "new")).len(), 1);
    folder.watch.bounds.listing = Duration::ZERO;
    folder.watch.state.lock().unwrap().folders.clear();
    for _ in 0..SLOW {
        fs::write(folder.at(".gitignore"), "other\n").unwrap();
        assert_eq!(folder.watch.look(), Err(WatchError::TooSlow));
    }
    folder.watch.bounds.listing = LISTING_TIMEOUT;
    assert_eq!(folder.watch.look(), Err(WatchError::TooSlow), "that is enough");
}

#[test]
fn a_folder_that_was_given_its_old_time_again_is_listed_all_the_same() {
    let folder = folder();
    folder.watch.look().unwrap();
    for (_, _, trust) in &mut folder.watch.state.lock().unwrap().folders {
        *trust = StampAge::Old;
    }
    let src = folder.at("src");
    let time = fs::metadata(&src).unwrap().modified().unwrap();
    write(&folder.at("src/new"), "x");
    fs::File::open(&src).unwrap().set_modified(time).unwrap();
    assert_eq!(folder.watch.changes().unwrap().len(), 1);
}

#[test]
fn slugs_own_folder_is_not_watched_whatever_its_name() {
    let folder = folder();
    let watch = FolderWatcher::new(folder.root.clone(), folder.at("my-slug"));
    watch.look().unwrap();
    write(&folder.at("my-slug/blob"), "x");
    write(&folder.at("made"), "x");
    let changes = watch.changes().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
}

#[test]
fn a_stamp_is_trusted_once_the_clock_that_gave_it_has_ticked() {
    let at = |millis: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    let fine = (100, 1_000_000);
    assert_eq!(stamp_age(fine, at(100_040)), StampAge::Young);
    assert_eq!(stamp_age(fine, at(100_060)), StampAge::Old);
    let coarse = (100, 0);
    assert_eq!(stamp_age(coarse, at(101_900)), StampAge::Young);
    assert_eq!(stamp_age(coarse, at(102_100)), StampAge::Old);
}
