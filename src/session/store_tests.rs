//! Tests of the store on real folders.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use crate::domain::Message;
use crate::domain::faults::with_failing_call;

use super::super::log_reader::load;
use super::super::samples::{TestSessionStore, header, home, lines, log, says, turn_end, user};
use super::super::{LogNotice, LogRecord, index};
use super::*;

impl TestSessionStore {
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn texts(records: &[LogRecord]) -> Vec<String> {
    let said = records.iter().filter_map(|record| match &record.entry {
        LogEntry::Message(said) => Some(said.message()),
        _ => None,
    });
    said.map(|message: Message| message.text()).collect()
}

#[tokio::test]
async fn a_session_is_created_closed_opened_and_continued() {
    let home = home();
    let session = home.session(&["one"]).await;
    let (handle, loaded) = home.store.open(session).unwrap();
    assert_eq!(texts(&loaded.records), ["one"]);
    handle.append(TurnId(2), user("two")).await.unwrap();
    handle.close().await.unwrap();
    let loaded = home.store.read(session).unwrap();
    assert_eq!(texts(&loaded.records), ["one", "two"]);
    assert_eq!(loaded.notices, []);
}

#[tokio::test]
async fn all_files_are_for_the_owner_alone_and_the_lock_goes() {
    let home = home();
    let session = home.session(&["one"]).await;
    assert_eq!(
        home.names("sessions"),
        [format!("{session}.jsonl"), format!("{session}.meta.json")]
    );
    for name in home.names("sessions") {
        let path = home.dir.path().join("sessions").join(name);
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn r1_a_log_cut_anywhere_opens_and_goes_on() {
    let home = home();
    let records = log(8);
    let whole = lines(&records);
    for cut in (0..whole.len()).step_by(7).chain(whole.len() - 3..whole.len()) {
        let session = home.planted(&whole[..cut]);
        let before = load(&whole[..cut]);
        let (handle, loaded) = home.store.open(session).unwrap();
        assert_eq!(loaded, before, "cut at {cut}");
        let added = handle.append(TurnId(9), user("more")).await.unwrap();
        handle.close().await.unwrap();

        let after = home.store.read(session).unwrap();
        let (last, rest) = after.records.split_last().unwrap();
        assert_eq!((rest, last), (before.records.as_slice(), &*added), "cut at {cut}");
        assert!(!after.notices.iter().any(|notice| matches!(notice, LogNotice::Damaged { .. })));
        let torn = std::fs::read(home.store.paths(session).torn()).ok();
        let expected = match before.tail {
            LogTail::Torn(torn) => Some([&whole[torn.start..cut], b"\n"].concat()),
            LogTail::Whole | LogTail::NoLineFeed => None,
        };
        assert_eq!(torn, expected, "cut at {cut}");
    }
}

#[tokio::test]
async fn r7_a_second_writer_is_told_who_has_it() {
    let home = home();
    let session = home.session(&["one"]).await;
    let (first, _) = home.store.open(session).unwrap();
    let us = LockHolder { pid: Some(std::process::id()) };
    match home.store.open(session) {
        Err(StoreError::InUse { holder, .. }) => assert_eq!(holder, us),
        other => panic!("{other:?}"),
    }
    assert_eq!(home.store.in_use(session).unwrap(), Some(us));
    assert!(matches!(home.store.rename(session, "new"), Err(StoreError::InUse { .. })));
    assert!(matches!(home.store.trash(session), Err(StoreError::InUse { .. })));
    assert_eq!(texts(&home.store.read(session).unwrap().records), ["one"]);
    first.close().await.unwrap();
    assert_eq!(home.store.in_use(session).unwrap(), None);
    home.store.open(session).unwrap();
}

#[tokio::test]
async fn r7_a_lock_that_a_dead_process_left_is_taken_over() {
    let home = home();
    let session = home.session(&["one"]).await;
    std::fs::write(home.store.paths(session).lock(), "4194305").unwrap();
    assert_eq!(home.store.in_use(session).unwrap(), None);
    home.store.open(session).unwrap();
}

#[tokio::test]
async fn r10_a_newer_log_is_read_and_never_written() {
    let home = home();
    let mut first = header("/work");
    first.version = SessionHeader::VERSION + 1;
    let mut records = log(3);
    records[0].entry = LogEntry::Session(first);
    let session = home.planted(&lines(&records));
    assert!(matches!(home.store.open(session), Err(StoreError::Newer(_))));
    assert!(matches!(home.store.rename(session, "new"), Err(StoreError::Newer(_))));
    assert!(home.store.read(session).unwrap().read_only);
    assert_eq!(std::fs::read(home.store.paths(session).log()).unwrap(), lines(&records));
    assert_eq!(home.store.in_use(session).unwrap(), None);
}

#[tokio::test]
async fn r10_unknown_lines_stay_in_the_file() {
    let home = home();
    let foreign = b"{\"type\":\"checkpoint\",\"files\":[]}\r\nnot json\n";
    let bytes = [lines(&log(3)).as_slice(), foreign].concat();
    let session = home.planted(&bytes);
    home.store.rename(session, "new").unwrap();
    assert!(std::fs::read(home.store.paths(session).log()).unwrap().starts_with(&bytes));
}

#[tokio::test]
async fn an_empty_file_and_a_missing_one() {
    let home = home();
    let empty = home.planted(b"");
    let (handle, loaded) = home.store.open(empty).unwrap();
    assert_eq!(loaded.notices, [LogNotice::NoHeader]);
    handle.append(TurnId(1), user("one")).await.unwrap();
    assert_eq!(texts(&home.store.read(empty).unwrap().records), ["one"]);
    let missing = SessionId::generate();
    assert!(matches!(home.store.open(missing), Err(StoreError::Missing(_))));
    assert!(matches!(home.store.read(missing), Err(StoreError::Missing(_))));
    assert!(matches!(home.store.trash(missing), Err(StoreError::Missing(_))));
    assert!(!home.store.paths(missing).lock().exists());
}

#[tokio::test]
async fn the_list_has_all_sessions_newest_use_first() {
    let home = home();
    assert_eq!(home.store.list().unwrap(), []);
    let first = home.session(&["first thing", "more"]).await;
    let second = home.session_in("/other", &["second thing"]).await;
    home.store.rename(first, "Named").unwrap();
    let list = home.store.list().unwrap();
    let ids: Vec<SessionId> = list.iter().map(|meta| meta.session_id).collect();
    assert_eq!(ids, [first, second]);
    assert_eq!(list[0].title.as_deref(), Some("Named"));
    assert_eq!((list[0].message_count, list[1].message_count), (2, 1));
    assert_eq!(list[1].working_directory, Path::new("/other"));
    assert_eq!((list[1].model.as_str(), list[1].provider.as_str()), ("qwen", "local"));
    assert!(list[0].created_at <= list[0].last_used_at);
}

#[tokio::test]
async fn a_meta_file_that_is_missing_old_or_wrong_is_made_again() {
    let home = home();
    let session = home.session(&["one"]).await;
    let path = home.store.paths(session).meta();
    let (handle, _) = home.store.open(session).unwrap();
    handle.append(TurnId(2), user("two")).await.unwrap();
    handle.append(TurnId(2), says("The answer.\nMore.")).await.unwrap();
    let old = std::fs::read(&path).unwrap();
    let expected = home.store.list().unwrap();
    assert_eq!(expected[0].message_count, 3);
    assert_eq!(expected[0].summary.as_deref(), Some("The answer."));
    handle.append(TurnId(2), turn_end()).await.unwrap();
    handle.close().await.unwrap();
    let expected = home.store.list().unwrap();

    let mut ahead: SessionMeta = serde_json::from_slice(&old).unwrap();
    ahead.log_bytes = 1 << 40;
    let mut between = ahead.clone();
    between.log_bytes = 17;
    let cases = [
        ("old", Some(old)),
        ("ahead", Some(serde_json::to_vec(&ahead).unwrap())),
        ("between lines", Some(serde_json::to_vec(&between).unwrap())),
        ("damaged", Some(b"{".to_vec())),
        ("missing", None),
    ];
    for (what, bytes) in cases {
        match bytes {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        assert_eq!(home.store.list().unwrap(), expected, "{what}");
        assert_eq!(SessionMeta::read(&path).as_ref(), expected.first(), "{what}");
    }
}

#[tokio::test]
async fn a_plain_chat_log_in_the_folder_is_listed() {
    let home = home();
    let session = home.planted(b"{\"role\":\"user\",\"content\":\"What is this?\"}\n");
    let list = home.store.list().unwrap();
    assert_eq!((list[0].session_id, list[0].title.as_deref()), (session, Some("What is this?")));
    assert!(list[0].last_used_at > chrono::DateTime::UNIX_EPOCH);
}

#[tokio::test]
async fn files_that_are_no_sessions_are_passed_over() {
    let home = home();
    home.session(&["one"]).await;
    let sessions = home.dir.path().join("sessions");
    std::fs::write(sessions.join("notes.jsonl"), "x").unwrap();
    std::fs::create_dir(sessions.join(format!("{}.jsonl", SessionId::generate()))).unwrap();
    assert_eq!(home.store.list().unwrap().len(), 1);
}

#[tokio::test]
async fn the_newest_session_of_a_folder() {
    let home = home();
    assert_eq!(home.store.newest_in(Path::new("/work")).unwrap(), None);
    let older = home.session_in("/work", &["one"]).await;
    let newer = home.session_in("/work", &["two"]).await;
    home.session_in("/other", &["three"]).await;
    // The older one was copied or unpacked since.
    for (session, seconds) in [(older, 2_000), (newer, 1_000)] {
        let log = File::options().append(true).open(home.store.paths(session).log()).unwrap();
        let time = SystemTime::now() + std::time::Duration::from_secs(seconds);
        log.set_modified(time).unwrap();
    }
    assert_eq!(home.store.newest_in(Path::new("/work")).unwrap(), Some(newer));
    assert_eq!(home.store.newest_in(Path::new("/nowhere")).unwrap(), None);
}

#[tokio::test]
async fn a_deleted_session_goes_to_the_trash_and_comes_back() {
    let home = home();
    let session = home.session(&["one"]).await;
    let other = home.session(&["other"]).await;
    let before = home.names("sessions");
    home.store.trash(session).unwrap();
    let left: Vec<SessionId> =
        home.store.list().unwrap().iter().map(|meta| meta.session_id).collect();
    assert_eq!(left, [other]);
    assert_eq!(home.names("trash").len(), 2);
    home.store.restore(session).unwrap();
    assert_eq!(home.names("sessions"), before);
    assert_eq!(home.names("trash"), Vec::<String>::new());
    assert!(matches!(home.store.restore(session), Err(StoreError::Missing(_))));
}

#[tokio::test]
async fn a_session_is_found_by_the_beginning_of_its_id() {
    let home = home();
    let session = home.session(&["one"]).await;
    let text = session.to_string();
    assert_eq!(home.store.resolve(&text[..8]).unwrap(), session);
    assert_eq!(home.store.resolve(&text.to_uppercase()).unwrap(), session);
    for unknown in ["", "zzz", "ffffffff"] {
        assert!(matches!(home.store.resolve(unknown), Err(StoreError::NoMatch(_))), "{unknown}");
    }
    let other = home.session(&["two"]).await;
    match home.store.resolve(&text[..2]) {
        Err(StoreError::Ambiguous { sessions, .. }) => assert_eq!(sessions, [session, other]),
        result => panic!("{result:?}"),
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_a_session_that_is_not_saved() {
    let home = home();
    std::fs::write(home.dir.path().join("sessions"), "a file").unwrap();
    let handle = home.store.create(header("/work")).unwrap();
    let unsaved = handle.append(TurnId(1), user("one")).await;
    assert!(matches!(unsaved, Err(LogError::NotSaved { .. })), "{unsaved:?}");
    std::fs::remove_file(home.dir.path().join("sessions")).unwrap();
    handle.append(TurnId(1), user("two")).await.unwrap();
    assert_eq!(texts(&home.store.read(handle.session()).unwrap().records), ["one", "two"]);
}

#[tokio::test]
async fn a_session_in_a_folder_whose_name_is_not_utf8_is_saved() {
    use std::os::unix::ffi::OsStrExt;
    let home = home();
    let cwd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/home/me/\xff"));
    let handle = home.store.create(SessionHeader { cwd, ..header("") }).unwrap();
    handle.append(TurnId(1), user("one")).await.unwrap();
    handle.close().await.unwrap();
    let loaded = home.store.read(handle.session()).unwrap();
    assert_eq!(loaded.header.unwrap().cwd, Path::new("/home/me/\u{fffd}"));
}

#[tokio::test]
async fn many_sessions_are_listed_from_the_index() {
    let home = home();
    let bytes = lines(&log(6));
    let sessions: Vec<SessionId> = (0..40).map(|_| home.planted(&bytes)).collect();
    let listed = home.store.list().unwrap();
    assert_eq!(listed.len(), 40);
    let index = home.dir.path().join("sessions/index");
    assert_eq!(std::fs::read_to_string(&index).unwrap().lines().count(), 41);
    assert_eq!(std::fs::metadata(&index).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(home.store.newest_sessions(7), listed[..7]);
    assert_eq!(home.store.newest_sessions(100), listed);
    for session in &sessions {
        std::fs::remove_file(home.store.paths(*session).meta()).unwrap();
    }
    assert_eq!(home.store.list().unwrap(), listed);
    assert!(!home.store.paths(sessions[0]).meta().exists(), "it was not asked for");
}

#[tokio::test]
async fn outdated_index_entries_do_not_count() {
    let home = home();
    let sessions: Vec<SessionId> = (0..40).map(|_| home.planted(&lines(&log(6)))).collect();
    let before = home.store.list().unwrap();
    home.store.rename(sessions[7], "The cart").unwrap();
    std::fs::remove_file(home.store.paths(sessions[8]).log()).unwrap();
    let new = home.planted(&lines(&log(11)));
    let listed = home.store.list().unwrap();
    let of = |session| listed.iter().find(|meta| meta.session_id == session);
    assert_eq!(of(sessions[7]).unwrap().title.as_deref(), Some("The cart"));
    assert_eq!(of(sessions[8]), None);
    assert!(of(new).is_some());
    assert_eq!(listed.len(), before.len());
}

#[tokio::test]
async fn a_damaged_index_counts_as_missing() {
    let home = home();
    for _ in 0..40 {
        home.planted(&lines(&log(6)));
    }
    let index = home.dir.path().join("sessions/index");
    let listed = home.store.list().unwrap();
    let whole = std::fs::read(&index).unwrap();
    let cases: [&[u8]; 5] =
        [b"", b"slug sessions 99\n", b"\xff\xff", &whole[..whole.len() / 2], &whole[5..]];
    for bytes in cases {
        std::fs::write(&index, bytes).unwrap();
        assert_eq!(home.store.list().unwrap(), listed);
    }
    // Another slug has listed a session that was removed since.
    std::fs::write(&index, &whole).unwrap();
    std::fs::remove_file(home.store.paths(listed[0].session_id).log()).unwrap();
    assert_eq!(home.store.list().unwrap(), listed[1..]);
}

#[tokio::test]
async fn the_sessions_used_last_in_a_folder_are_found_without_an_index() {
    let home = home();
    let planted: Vec<SessionId> = (0..5).map(|_| home.planted(&lines(&log(6)))).collect();
    let listed = home.store.list().unwrap();
    let folder = listed[0].working_directory.clone();
    let recent = home.store.recent_in(&folder, 3).unwrap();
    assert_eq!(recent, listed[..3]);
    assert_eq!(home.store.recent_in(&folder, 100).unwrap().len(), planted.len());
    assert_eq!(home.store.recent_in(Path::new("/elsewhere"), 3).unwrap(), []);
}

#[tokio::test]
async fn few_sessions_have_no_index() {
    let home = home();
    for _ in 0..5 {
        home.planted(&lines(&log(6)));
    }
    home.store.list().unwrap();
    assert_eq!(home.store.newest_sessions(7), []);
    assert!(!home.dir.path().join("sessions/index").exists());
}

#[tokio::test]
async fn a_session_that_may_be_open_is_named_as_locked() {
    let home = home();
    let (open, closed) = (home.session(&["one"]).await, home.session(&["two"]).await);
    let (handle, _) = home.store.open(open).unwrap();
    let listing = home.store.listing().unwrap();
    assert!(listing.locked.contains(&open) && !listing.locked.contains(&closed));
    handle.close().await.unwrap();
}

#[tokio::test]
async fn a_fork_knows_where_it_parts() {
    let home = home();
    let parent = home.planted(&lines(&log(12)));
    let records = home.store.read(parent).unwrap().records;
    let fork = header("/work");
    let id = fork.session_id;
    home.store.fork(parent, Some(records[9].id), fork).unwrap();
    let (handle, _) = home.store.open(id).unwrap();
    handle.append(TurnId(3), user("my own way")).await.unwrap();
    handle.close().await.unwrap();
    let metas = home.store.list().unwrap();
    let of = |session| metas.iter().find(|meta| meta.session_id == session).unwrap();
    let parted = of(id).parted.clone().unwrap();
    assert_eq!((parted.entry, parted.text.as_str()), (records[9].id, "an answer"));
    assert_eq!(of(id).own.as_deref(), Some("my own way"));
    assert_eq!((&of(parent).parted, &of(parent).own), (&None, &None));
    let fork = header("/work");
    let id = fork.session_id;
    home.store.fork(parent, None, fork).unwrap();
    assert_eq!(home.store.list().unwrap()[0].session_id, id, "what was just forked comes first");
}

/// Does `work` to a session, with each call to the disk failing in turn. What was said stays, in
/// the sessions or in the trash, and the same work succeeds once the disk works.
async fn r4_whichever_call_fails(
    work: impl Fn(&TestSessionStore, SessionId) -> Result<(), StoreError>,
) {
    for call in 0.. {
        let home = home();
        let session = home.session(&["one", "two"]).await;
        let done = with_failing_call(call, || work(&home, session).is_ok());
        assert!(is_there(&home, session), "call {call}");
        if done != Some(true) && !home.store.has_log(session).unwrap() {
            home.store.restore(session).unwrap();
        }
        if done == Some(false) {
            work(&home, session).unwrap_or_else(|error| panic!("call {call}: {error}"));
            assert!(is_there(&home, session), "call {call}");
        }
        let no_temporary = |name: &String| !name.starts_with(".tmp");
        assert!(home.names("sessions").iter().all(no_temporary), "call {call}");
        if done.is_none() {
            assert!(call > 2, "{call} calls");
            return;
        }
    }
}

fn is_there(home: &TestSessionStore, session: SessionId) -> bool {
    let trash = SessionStore::new(home.store.trash.clone(), PathBuf::new(), PathBuf::new());
    [&home.store, &trash].iter().any(|store| {
        store.read(session).is_ok_and(|loaded| {
            let mut notices = loaded.notices.iter();
            notices.all(|it| matches!(it, LogNotice::TornTail { .. }))
                && texts(&loaded.records) == ["one", "two"]
        })
    })
}

#[tokio::test]
async fn r4_a_rename_that_fails_costs_nothing() {
    r4_whichever_call_fails(|home, session| home.store.rename(session, "Cart")).await;
}

#[tokio::test]
async fn r4_a_deletion_that_fails_costs_nothing() {
    r4_whichever_call_fails(|home, session| home.store.trash(session)).await;
}

#[tokio::test]
async fn r4_a_return_from_the_trash_that_fails_costs_nothing() {
    r4_whichever_call_fails(|home, session| {
        if home.store.has_log(session)? {
            home.store.trash(session)?;
        }
        home.store.restore(session)
    })
    .await;
}

#[tokio::test]
async fn r4_a_fork_that_fails_leaves_nothing_and_costs_nothing() {
    r4_whichever_call_fails(|home, session| {
        let fork = header("/work");
        let id = fork.session_id;
        let forked = home.store.fork(session, None, fork);
        match &forked {
            Ok(()) => assert_eq!(home.store.read(id)?.notices, []),
            // Where only the folder could not be synced, the fork is there, and whole.
            Err(_) => assert!(
                home.store.read(id).is_ok_and(|it| it.notices.is_empty())
                    || !home.store.has_log(id)?
            ),
        }
        forked
    })
    .await;
}

#[tokio::test]
async fn r4_opening_costs_nothing_whichever_call_fails() {
    r4_whichever_call_fails(|home, session| {
        let path = home.store.paths(session).log();
        let mut bytes = std::fs::read(&path).unwrap();
        if bytes.ends_with(b"\n") {
            bytes.extend(b"{\"torn");
            std::fs::write(&path, bytes).unwrap();
        }
        // The title is written after the repaired end.
        home.store.rename(session, "Cart")
    })
    .await;
}

/// A log of 900 MB, almost all of it one damaged line, which is a hole in the file.
fn make_long(log: &Path) {
    let before = std::fs::read(log).unwrap();
    let last = before.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap().to_owned();
    let mut file = std::fs::OpenOptions::new().write(true).open(log).unwrap();
    file.set_len(900 << 20).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(&[b"\n", &last[..], b"\n"].concat()).unwrap();
}

#[tokio::test]
async fn a_long_log_without_a_meta_file_is_listed_by_its_ends() {
    let home = home();
    let session = home.session(&["the first thing"]).await;
    let (handle, _) = home.store.open(session).unwrap();
    handle.append(TurnId(2), says("The answer.")).await.unwrap();
    handle.close().await.unwrap();
    let whole = home.store.list().unwrap();
    assert_eq!(whole[0].known_message_count(), Some(2));
    let paths = home.store.paths(session);
    make_long(&paths.log());
    for is_known in [true, false] {
        if !is_known {
            std::fs::remove_file(paths.meta()).unwrap();
            // A store with so few sessions has no index.
            let _ = std::fs::remove_file(home.dir.path().join("sessions").join(index::NAME));
        }
        let listed = home.store.list().unwrap();
        assert_eq!(listed[0].title, whole[0].title);
        assert_eq!(listed[0].summary.as_deref(), Some("The answer."));
        assert_eq!(listed[0].working_directory, whole[0].working_directory);
        assert_eq!(listed[0].known_message_count(), None);
        assert_eq!(listed[0].last_used_at, whole[0].last_used_at);
        assert_eq!(home.store.list().unwrap(), listed);
    }
}
