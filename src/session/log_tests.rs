//! Tests of the log's thread with files that work and files that fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::RewindScope;
use super::super::disk::{DiskLogFile, SessionPaths};
use super::super::log_reader::load;
use super::super::samples::{every_kind, header, rewind, says, turn_end, user};
use super::super::writer::LogFileEnd;
use super::*;

/// The state that the test shares with the file.
#[derive(Debug, Default)]
struct MemoryLogState {
    bytes: Mutex<Vec<u8>>,
    syncs: AtomicUsize,
    full: AtomicBool,
}

#[derive(Debug)]
struct MemoryLogFile(Arc<MemoryLogState>);

impl LogFile for MemoryLogFile {
    fn ready(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.bytes.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.bytes.lock().unwrap().truncate(usize::try_from(len).unwrap());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.syncs.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

struct LogFixture {
    home: tempfile::TempDir,
    shared: Arc<MemoryLogState>,
    handle: LogHandle,
}

fn fixture() -> LogFixture {
    let home = tempfile::tempdir().unwrap();
    let shared = Arc::new(MemoryLogState::default());
    let writer = SessionLogWriter::new(MemoryLogFile(Arc::clone(&shared)), 0, LogFileEnd::Clean);
    let log = SessionLog::new(writer, header("/work"), home.path().join("meta.json"));
    LogFixture { home, shared, handle: LogHandle::spawn(log).unwrap() }
}

impl LogFixture {
    fn entries(&self) -> Vec<LogEntry> {
        let loaded = load(&self.shared.bytes.lock().unwrap());
        assert_eq!(loaded.notices, []);
        loaded.records.into_iter().skip(1).map(|record| record.entry).collect()
    }

    fn syncs(&self) -> usize {
        self.shared.syncs.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn append_returns_the_record_that_is_in_the_log() {
    let fixture = fixture();
    let record = fixture.handle.append(TurnId(1), user("hello")).await.unwrap();
    let loaded = load(&fixture.shared.bytes.lock().unwrap());
    assert_eq!(loaded.header.map(|header| header.session_id), Some(fixture.handle.session()));
    assert_eq!(loaded.records[1..], [(*record).clone()]);
}

#[tokio::test]
async fn r13_durable_entries_are_synced_before_the_answer() {
    let fixture = fixture();
    let mut synced = Vec::new();
    for entry in every_kind().into_iter().skip(1).chain([says("hi"), turn_end()]) {
        let name = serde_json::to_value(&entry).unwrap()["type"].as_str().unwrap().to_owned();
        let before = fixture.syncs();
        fixture.handle.append(TurnId(1), entry).await.unwrap();
        if fixture.syncs() > before {
            synced.push(name);
        }
    }
    assert_eq!(
        synced,
        [
            "message",
            "permission",
            "tool_started",
            "rewind",
            "message",
            "mode",
            "turn_end",
            "turn_end"
        ],
        "the user's message and the result, not the model's"
    );
}

#[tokio::test]
async fn r4_an_unsaved_entry_is_reported_kept_and_saved_later() {
    let fixture = fixture();
    fixture.handle.append(TurnId(1), user("one")).await.unwrap();
    fixture.shared.full.store(true, Ordering::SeqCst);
    for text in ["two", "three"] {
        match fixture.handle.append(TurnId(1), user(text)).await {
            Err(LogError::NotSaved { record, source }) => {
                assert_eq!(record.entry, user(text));
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fixture.entries(), [user("one")]);
    fixture.shared.full.store(false, Ordering::SeqCst);
    fixture.handle.append(TurnId(1), user("four")).await.unwrap();
    assert_eq!(fixture.entries(), ["one", "two", "three", "four"].map(user));
}

#[tokio::test]
async fn saving_tries_again_what_could_not_be_saved() {
    let fixture = fixture();
    fixture.handle.append(TurnId(1), user("one")).await.unwrap();
    fixture.handle.append(TurnId(1), says("two")).await.unwrap();
    let before = fixture.syncs();
    fixture.handle.save().await.unwrap();
    assert!(fixture.syncs() > before, "also what only the system had");
    fixture.shared.full.store(true, Ordering::SeqCst);
    fixture.handle.append(TurnId(1), user("three")).await.unwrap_err();
    let saved = fixture.handle.save().await;
    assert!(matches!(saved, Err(LogError::Lost { count: 1, .. })), "{saved:?}");
    fixture.shared.full.store(false, Ordering::SeqCst);
    fixture.handle.save().await.unwrap();
    assert_eq!(fixture.entries(), [user("one"), says("two"), user("three")]);
}

#[tokio::test]
async fn closing_reports_lost_lines_and_ends_the_log() {
    let fixture = fixture();
    fixture.shared.full.store(true, Ordering::SeqCst);
    fixture.handle.append(TurnId(1), user("one")).await.unwrap_err();
    let closed = fixture.handle.close().await;
    assert!(matches!(closed, Err(LogError::Lost { count: 2, .. })), "{closed:?}");
    let late = fixture.handle.append(TurnId(1), user("two")).await;
    assert!(matches!(late, Err(LogError::Closed)), "{late:?}");
}

#[tokio::test]
async fn r4_an_announcement_that_cannot_be_saved_is_dropped() {
    let fixture = fixture();
    fixture.handle.append(TurnId(1), user("one")).await.unwrap();
    fixture.handle.append(TurnId(1), says("two")).await.unwrap();
    fixture.shared.full.store(true, Ordering::SeqCst);
    let started = every_kind().into_iter().find(|it| matches!(it, LogEntry::ToolStarted { .. }));
    let back = LogEntry::Rewind(rewind(EntryId::generate(), RewindScope::Both));
    for entry in [started.unwrap(), back] {
        let refused = fixture.handle.append(TurnId(1), entry).await;
        assert!(matches!(refused, Err(LogError::NotAnnounced { .. })), "{refused:?}");
    }
    fixture.handle.append(TurnId(1), user("three")).await.unwrap_err();
    fixture.shared.full.store(false, Ordering::SeqCst);
    fixture.handle.append(TurnId(1), user("four")).await.unwrap();
    let said = [user("one"), says("two"), user("three"), user("four")];
    assert_eq!(fixture.entries(), said);
    fixture.handle.close().await.unwrap();
    let meta = SessionMeta::read(&fixture.home.path().join("meta.json")).unwrap();
    assert_eq!(meta.message_count, 4, "lists count as if nobody had gone back");
}

#[tokio::test]
async fn closing_syncs_written_lines() {
    let fixture = fixture();
    fixture.handle.append(TurnId(1), says("hi")).await.unwrap();
    assert_eq!(fixture.syncs(), 0);
    fixture.handle.close().await.unwrap();
    assert_eq!(fixture.syncs(), 1);
}

#[tokio::test]
async fn an_append_whose_future_is_dropped_is_still_written() {
    let fixture = fixture();
    let mut append = Box::pin(fixture.handle.append(TurnId(1), user("one")));
    let polled = futures_util::poll!(append.as_mut());
    drop((append, polled));
    fixture.handle.append(TurnId(1), user("two")).await.unwrap();
    assert_eq!(fixture.entries(), ["one", "two"].map(user));
}

#[tokio::test]
async fn appends_from_many_tasks_are_all_whole() {
    let fixture = fixture();
    let texts: Vec<String> = (0..50).map(|number| format!("text {number}")).collect();
    let appends = texts.iter().map(|text| fixture.handle.append(TurnId(1), user(text)));
    let saved = futures_util::future::try_join_all(appends).await.unwrap();
    let saved: Vec<LogEntry> = saved.iter().map(|record| record.entry.clone()).collect();
    assert_eq!(fixture.entries(), saved);
    assert!(fixture.syncs() <= 50);
}

#[tokio::test]
async fn dropping_the_last_handle_writes_the_meta_file() {
    let fixture = fixture();
    fixture.handle.append(TurnId(1), user("Fix the cart")).await.unwrap();
    let path = fixture.home.path().join("meta.json");
    assert_eq!(SessionMeta::read(&path), None);
    let other = fixture.handle.clone();
    drop(fixture.handle);
    assert_eq!(SessionMeta::read(&path), None);
    drop(other);
    let meta = SessionMeta::read(&path).unwrap();
    assert_eq!(meta.title.as_deref(), Some("Fix the cart"));
    assert_eq!(meta.log_bytes, fixture.shared.bytes.lock().unwrap().len() as u64);
}

#[tokio::test]
async fn an_empty_session_leaves_no_files() {
    let home = tempfile::tempdir().unwrap();
    let header = header("/work");
    let paths = SessionPaths::new(&home.path().join("sessions"), header.session_id);
    let meta = paths.meta();
    let writer = SessionLogWriter::new(DiskLogFile::new(paths), 0, LogFileEnd::Clean);
    let handle = LogHandle::spawn(SessionLog::new(writer, header, meta)).unwrap();
    handle.close().await.unwrap();
    drop(handle);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
