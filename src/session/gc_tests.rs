//! Tests of the garbage collection on real folders.

use std::fs::{self, File};

use crate::domain::faults::with_failing_call;
use crate::domain::{ContentHash, TurnId};

use super::super::lock::SessionLock;
use super::super::samples::{TestSessionStore, header, home, user};
use super::leftovers::LeftoverKind;
use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl TestSessionStore {
    /// A content that is old enough to be removed.
    fn content(&self, bytes: &[u8]) -> ContentHash {
        let hash = self.store.blobs().put(bytes).unwrap();
        let digits = hash.as_str();
        self.age(&format!("blobs/{}/{}", &digits[..2], &digits[2..]), 40);
        hash
    }

    fn age(&self, file: &str, days: u32) {
        let file = File::open(self.dir.path().join(file)).unwrap();
        file.set_modified(SystemTime::now() - DAY * days).unwrap();
    }

    fn collect(&self, mode: GcMode) -> GcReport {
        let options = GcOptions { mode, trash_after: DAY * 30, pack_after: DAY * 30 };
        self.store.collect_garbage(options, &[self.dir.path().join("drafts")]).unwrap()
    }

    fn files(&self) -> usize {
        let folders = ["sessions", "trash"].map(|folder| self.dir.path().join(folder));
        folders.iter().map(|folder| entries(folder).unwrap().len()).sum()
    }
}

#[tokio::test]
async fn referenced_contents_stay_and_others_are_removed() {
    let home = home();
    let named = home.content(b"named in a log");
    let drafted = home.content(b"named in a draft");
    let trashed = home.content(b"named in a deleted session");
    let young = home.store.blobs().put(b"not yet named").unwrap();
    let again = home.content(b"wanted again");
    home.store.blobs().put(b"wanted again").unwrap();
    let lost = home.content(b"named nowhere");
    home.session(&[named.as_str()]).await;
    let deleted = home.session(&[trashed.as_str()]).await;
    home.store.trash(deleted).unwrap();
    fs::create_dir(home.dir.path().join("drafts")).unwrap();
    fs::write(home.dir.path().join("drafts/a.json"), format!("{{\"{drafted}\"")).unwrap();

    let planned = home.collect(GcMode::DryRun);
    assert_eq!(planned.contents, ReclaimedSpace { count: 1, bytes: 13 });
    assert!(home.store.blobs().get(&lost).unwrap().is_some());
    assert_eq!(home.collect(GcMode::Apply), planned);
    assert_eq!(home.store.blobs().get(&lost).unwrap(), None);
    for hash in [named, drafted, trashed, young, again] {
        assert!(home.store.blobs().get(&hash).unwrap().is_some());
    }
}

#[tokio::test]
async fn references_in_packed_logs_count() {
    let home = home();
    let named = home.content(b"named");
    let session = home.session(&[named.as_str()]).await;
    home.age(&format!("sessions/{session}.jsonl"), 40);
    assert_eq!(home.collect(GcMode::Apply).packed.count, 1);
    assert_eq!(home.collect(GcMode::Apply), GcReport::default());
    assert!(home.store.blobs().get(&named).unwrap().is_some());
}

#[tokio::test]
async fn a_packed_session_is_listed_read_and_continued() {
    let home = home();
    let long = "word ".repeat(5000);
    let session = home.session(&["Fix the cart", &long]).await;
    let before = home.store.list().unwrap();
    let read = home.store.read(session).unwrap();
    home.age(&format!("sessions/{session}.jsonl"), 40);
    let packed = home.collect(GcMode::Apply).packed;
    assert!(packed.count == 1 && packed.after * 10 < packed.before, "{packed:?}");

    assert_eq!(home.store.list().unwrap(), before);
    assert_eq!(home.store.resolve(&session.to_string()[..30]).unwrap(), session);
    assert_eq!(home.store.read(session).unwrap(), read);
    home.store.trash(session).unwrap();
    assert!(home.store.list().unwrap().is_empty());
    home.store.restore(session).unwrap();
    let fork = header("/work");
    let forked = fork.session_id;
    home.store.fork(session, None, fork).unwrap();
    assert_eq!(home.store.read(forked).unwrap().records.len(), read.records.len());

    let (handle, opened) = home.store.open(session).unwrap();
    assert_eq!(opened, read);
    handle.append(TurnId(2), user("go on")).await.unwrap();
    handle.close().await.unwrap();
    assert_eq!(home.store.read(session).unwrap().records.len(), read.records.len() + 1);
    let names = entries(&home.dir.path().join("sessions")).unwrap();
    assert!(names.iter().all(|file| file.path().extension().unwrap() != "zst"));
}

#[tokio::test]
async fn an_open_session_is_not_packed() {
    let home = home();
    let handle = home.store.create(header("/work")).unwrap();
    handle.append(TurnId(1), user("one")).await.unwrap();
    home.age(&format!("sessions/{}.jsonl", handle.session()), 40);
    assert_eq!(home.collect(GcMode::Apply).packed.count, 0);
    handle.append(TurnId(1), user("two")).await.unwrap();
    handle.close().await.unwrap();
}

#[tokio::test]
async fn deleted_sessions_are_removed_after_their_time() {
    let home = home();
    let session = home.session(&["one"]).await;
    home.store.trash(session).unwrap();
    assert_eq!(home.collect(GcMode::Apply).trash.count, 0);
    let options =
        GcOptions { mode: GcMode::Apply, trash_after: Duration::ZERO, pack_after: Duration::MAX };
    let kept = home.store.collect_garbage(options, &[]).unwrap();
    assert!(kept.trash.count == 1 && kept.trash.bytes > 100, "{kept:?}");
    assert_eq!(home.files(), 0);
}

#[tokio::test]
async fn only_leftovers_of_killed_slugs_are_removed() {
    let home = home();
    let session = home.session(&["one"]).await;
    let gone = SessionId::generate();
    let left = [format!("{session}.lock"), ".tmpAbCdEf".into(), format!("{gone}.meta.json")];
    let stays = [format!("{gone}.torn"), "notes.txt".into(), ".tmpYoung".into()];
    for name in left.iter().chain(&stays) {
        fs::write(home.dir.path().join("sessions").join(name), "99999999").unwrap();
    }
    for name in left.iter().chain(&stays[..2]) {
        home.age(&format!("sessions/{name}"), 2);
    }
    assert_eq!(home.collect(GcMode::Apply).leftovers, ReclaimedSpace { count: 3, bytes: 24 });
    for name in stays {
        assert!(home.dir.path().join("sessions").join(name).exists());
    }
    assert_eq!(home.files(), 5);
}

#[tokio::test]
async fn files_renamed_during_the_listing_are_still_read() {
    type SessionMove = fn(&TestSessionStore, SessionId);
    let moves: [(&str, SessionMove, SessionMove); 3] = [
        ("deleted", |_, _| {}, |home, session| home.store.trash(session).unwrap()),
        (
            "brought back",
            |home, session| home.store.trash(session).unwrap(),
            |home, session| home.store.restore(session).unwrap(),
        ),
        (
            "packed",
            |_, _| {},
            |home, session| {
                compression::pack(&home.store.log_path(session)).unwrap();
            },
        ),
    ];
    for (what, begin, moved) in moves {
        let home = home();
        let hash = ContentHash::of(b"named");
        let session = home.session(&[hash.as_str()]).await;
        begin(&home, session);
        let mut times = 0;
        let named = hashes_in(|| {
            let files = home.store.referencing_files(&HashSet::new(), &[]);
            times += 1;
            if times == 1 {
                moved(&home, session);
            }
            files
        });
        assert!(named.unwrap().contains(hash.as_str()), "{what}");
    }
}

#[test]
fn a_lock_that_was_taken_meanwhile_stays() {
    let home = home();
    let path = home.dir.path().join("x.lock");
    let lock = SessionLock::take(&path).unwrap();
    assert!(!leftovers::remove(&path, LeftoverKind::Lock).unwrap());
    assert!(path.exists());
    drop(lock);
    fs::write(&path, "4194305").unwrap();
    assert!(leftovers::remove(&path, LeftoverKind::Lock).unwrap());
    assert!(!path.exists());
}

#[tokio::test]
async fn temporary_files_are_removed_wherever_the_store_writes() {
    let home = home();
    home.session(&["one"]).await;
    let kept = home.content(b"kept");
    let blobs = format!("blobs/{}", &kept.as_str()[..2]);
    fs::create_dir(home.dir.path().join("drafts")).unwrap();
    fs::write(home.dir.path().join("history.jsonl"), "{}").unwrap();
    fs::create_dir(home.dir.path().join("blobs/spool")).unwrap();
    let left = [
        format!("{blobs}/.tmpAbCdEf"),
        "blobs/spool/.tmpAbCdEf".into(),
        "drafts/.tmpAbCdEf".into(),
        ".tmpAbCdEf".into(),
    ];
    for name in &left {
        fs::write(home.dir.path().join(name), "12345").unwrap();
        home.age(name, 2);
    }
    let also = ["drafts", "history.jsonl"].map(|name| home.dir.path().join(name));
    let collect = |mode| {
        let options = GcOptions { mode, trash_after: DAY * 30, pack_after: DAY * 30 };
        home.store.collect_garbage(options, &also).unwrap().leftovers
    };
    assert_eq!(collect(GcMode::DryRun), ReclaimedSpace { count: 4, bytes: 20 });
    assert_eq!(collect(GcMode::Apply), ReclaimedSpace { count: 4, bytes: 20 });
    assert!(left.iter().all(|name| !home.dir.path().join(name).exists()));
    assert!(also[1].exists());
}

#[tokio::test]
async fn a_log_that_cannot_be_packed_does_not_stop_the_others() {
    let home = home();
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(home.session(&["one"]).await);
    }
    for session in &sessions {
        home.age(&format!("sessions/{session}.jsonl"), 40);
    }
    // A file cannot replace a folder.
    for session in &sessions[..2] {
        fs::create_dir(home.store.paths(*session).packed_log()).unwrap();
    }
    let packed = home.store.pack_old(DAY * 30, 4).unwrap();
    assert_eq!((packed.count, packed.failed.len()), (2, 2));
    assert!(sessions[2..].iter().all(|it| home.store.paths(*it).packed_log().is_file()));
    assert_eq!(home.store.list().unwrap().len(), 4);
}

#[tokio::test]
async fn a_log_is_checked_again_before_it_is_packed() {
    let home = home();
    let options = GcOptions { mode: GcMode::Apply, trash_after: DAY, pack_after: DAY };
    let deleted = home.session(&["one"]).await;
    home.store.trash(deleted).unwrap();
    let used = home.session(&["two"]).await;
    for session in [deleted, used] {
        assert!(home.store.pack_log(session, options).unwrap().is_none());
    }
    assert!(home.store.log_path(used).exists());
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let home = home();
    let session = home.session(&["one"]).await;
    home.age(&format!("sessions/{session}.jsonl"), 40);
    fs::remove_file(home.store.paths(session).meta()).unwrap();
    assert_eq!(home.collect(GcMode::DryRun).packed.count, 1);
    assert_eq!(home.files(), 1, "the log alone");
    let (handle, _) = home.store.open(session).unwrap();
    assert_eq!(home.collect(GcMode::DryRun).packed.count, 0, "somebody works with it");
    handle.close().await.unwrap();
}

/// Each call to the disk fails, one after another.
#[test]
fn r4_whichever_call_fails_no_session_and_no_content_is_lost() {
    for call in 0.. {
        let home = home();
        let named = home.content(&b"named ".repeat(5000));
        let session = SessionId::generate();
        files::make_folder(&home.store.sessions).unwrap();
        let line = format!("{{\"role\":\"user\",\"content\":\"{named}\"}}\n");
        fs::write(home.store.paths(session).log(), line.repeat(50)).unwrap();
        home.age(&format!("sessions/{session}.jsonl"), 40);
        home.content(b"named nowhere");
        let whole = home.store.read(session).unwrap();

        let options = GcOptions { mode: GcMode::Apply, trash_after: DAY, pack_after: DAY };
        let all_made =
            with_failing_call(call, || home.store.collect_garbage(options, &[]).is_ok()).is_none();
        assert_eq!(home.store.read(session).unwrap(), whole, "call {call}");
        assert!(home.store.blobs().get(&named).unwrap().is_some(), "call {call}");
        home.store.collect_garbage(options, &[]).unwrap();
        assert_eq!(home.store.read(session).unwrap(), whole, "call {call}");
        if all_made {
            assert!(call > 10);
            return;
        }
    }
}

#[tokio::test]
async fn the_size_is_that_of_all_files() {
    let home = home();
    assert_eq!(home.store.size().unwrap(), StoreSize::default());
    let session = home.session(&["one"]).await;
    home.session(&["two"]).await;
    home.store.blobs().put(b"12345").unwrap();
    let before = home.store.size().unwrap();
    assert_eq!((before.sessions, before.contents, before.trash), (2, 5, 0));
    home.store.trash(session).unwrap();
    let after = home.store.size().unwrap();
    assert_eq!((after.sessions, after.logs + after.trash), (1, before.logs));
}
