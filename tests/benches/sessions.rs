//! A store with many sessions, and one with long sessions: listing, drawing the list, searching the
//! messages, opening, forking.
//!
//! The store that is searched has `SLUG_BENCH_MB` megabytes, 64 by default.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use chrono::{TimeDelta, Utc};
use crossterm::event::KeyCode;
use divan::Bencher;
use divan::counter::BytesCount;
use ratatui::backend::TestBackend;
use slug_code::domain::{EntryId, SessionId, TurnId};
use slug_code::services::session_service::{self, SessionJobPaths};
use slug_code::services::sessions::SessionStoreRequest;
use slug_code::session::{
    LogEntry, LogRecord, MessageEntry, SearchText, SessionHeader, SessionStore,
};
use slug_code::tui::app::settings::ScreenSettings;
use slug_code::tui::app::{ScreenEffect, ScreenMsg};
use tempfile::TempDir;

use crate::samples;
use crate::screen::BenchScreen;

const MANY: usize = 10_000;
const LONG: usize = 50_000_000;

fn store() -> (TempDir, SessionStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("sessions")).unwrap();
    let store = SessionStore::new(path("sessions"), path("trash"), path("blobs"));
    (folder, store)
}

fn header(number: usize) -> SessionHeader {
    SessionHeader {
        session_id: SessionId::generate(),
        version: SessionHeader::VERSION,
        cwd: format!("/home/me/src/project-{}", number % 40).into(),
        model: ["qwen3-coder", "claude-sonnet-5", "gpt-6"][number % 3].into(),
        provider: "local".into(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    }
}

/// Writes a log: its first line and these records. The session was last used 7 × `number` minutes
/// ago.
fn plant(folder: &Path, number: usize, records: &[LogRecord], bytes: usize) -> SessionId {
    let header = header(number);
    let session = header.session_id;
    let path = folder.join(format!("sessions/{session}.jsonl"));
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let then = Utc::now() - TimeDelta::minutes(7 * i64::try_from(number).unwrap());
    let first = LogRecord {
        id: EntryId::generate(),
        timestamp: then,
        turn: TurnId(0),
        entry: LogEntry::Session(header),
    };
    let mut written = 0;
    let mut write = |record: &LogRecord| {
        let record = LogRecord { id: EntryId::generate(), timestamp: then, ..record.clone() };
        let mut line = serde_json::to_vec(&record).unwrap();
        line.push(b'\n');
        file.write_all(&line).unwrap();
        written += line.len();
        written
    };
    write(&first);
    for record in records.iter().cycle() {
        if write(record) >= bytes {
            break;
        }
    }
    session
}

/// Ten thousand small sessions with different titles.
fn many() -> (TempDir, SessionStore) {
    let (folder, store) = store();
    for number in 0..MANY {
        let mut records = samples::records(4);
        let text = format!("Look into ticket {number}: the parser is slow on part {}", number % 97);
        let message = slug_code::domain::Message::user(text);
        records[0].entry = LogEntry::Message(MessageEntry::new(message));
        plant(folder.path(), number, &records, 600);
    }
    // The first listing creates the meta files and the index.
    assert_eq!(store.list().unwrap().len(), MANY);
    (folder, store)
}

#[divan::bench(sample_count = 20)]
fn list_10000(bencher: Bencher) {
    let (_folder, store) = many();
    bencher.bench(|| store.list().unwrap());
}

/// From the key to the frame with the list: with the newest sessions only, and with all of them.
#[divan::bench(sample_count = 20, args = ["newest", "all"])]
fn list_10000_on_screen(bencher: Bencher, which: &str) {
    let (folder, store) = many();
    let wanted =
        if which == "all" { SessionStoreRequest::List } else { SessionStoreRequest::Newest };
    bencher.bench_local(|| listed(&store, folder.path(), &wanted));
}

#[divan::bench(sample_count = 20)]
fn a_letter_in_the_filter_of_10000(bencher: Bencher) {
    let (folder, store) = many();
    let mut screen = listed(&store, folder.path(), &SessionStoreRequest::List);
    screen.press(KeyCode::Char('/'));
    bencher.bench_local(|| {
        screen.press(KeyCode::Char('7'));
        screen.draw();
        screen.press(KeyCode::Backspace);
    });
}

#[divan::bench(sample_count = 20)]
fn a_step_in_the_list_of_10000(bencher: Bencher) {
    let (folder, store) = many();
    let mut screen = listed(&store, folder.path(), &SessionStoreRequest::List);
    bencher.bench_local(|| {
        screen.press(KeyCode::Down);
        screen.draw();
    });
}

/// A screen with the list of sessions open.
fn listed(
    store: &SessionStore,
    folder: &Path,
    wanted: &SessionStoreRequest,
) -> BenchScreen<TestBackend> {
    let settings =
        ScreenSettings { cwd: "/home/me/src/project-3".into(), ..ScreenSettings::default() };
    let mut screen = BenchScreen::keeping((120, 40), settings);
    screen.draw();
    for effect in screen.press_ctrl_b() {
        if let ScreenEffect::Sessions { id, job } = effect
            && job == *wanted
        {
            let beside = SessionJobPaths {
                grouping: folder.join("grouping.json"),
                exports: folder.join("exports"),
            };
            let answer = session_service::run(store, &beside, &job);
            screen.take(ScreenMsg::Sessions { id, answer });
        }
    }
    screen.draw();
    screen
}

/// A store with this many megabytes in sessions of one megabyte each. Every fiftieth session holds
/// one special word.
fn searched() -> (TempDir, SessionStore, Vec<SessionId>, usize) {
    let bytes = std::env::var("SLUG_BENCH_MB").ok().and_then(|text| text.parse().ok());
    let bytes: usize = bytes.unwrap_or(64) * 1_000_000;
    let (folder, store) = store();
    let records = samples::records(1_000);
    let message = slug_code::domain::Message::user("there is a needle in the haystack");
    let needle =
        LogRecord { entry: LogEntry::Message(MessageEntry::new(message)), ..records[0].clone() };
    let sessions = (0..bytes / 1_000_000).map(|number| {
        let mut records = records.clone();
        if number % 50 == 3 {
            records.insert(700, needle.clone());
        }
        plant(folder.path(), number, &records, 1_000_000)
    });
    let sessions: Vec<SessionId> = sessions.collect();
    (folder, store, sessions, bytes)
}

#[divan::bench(sample_count = 5, args = ["needle in", "Needle", "nowhere to be found", "parser"])]
fn search(bencher: Bencher, text: &str) {
    let (_folder, store, sessions, bytes) = searched();
    let text = SearchText::new(text).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        let mut found = 0;
        store.search(&text, &sessions, &|| false, |_| found += 1);
        found
    });
}

#[divan::bench(sample_count = 5)]
fn first_found(bencher: Bencher) {
    let (_folder, store, sessions, _) = searched();
    let text = SearchText::new("needle").unwrap();
    bencher.bench(|| {
        let stop = AtomicBool::new(false);
        let stopped = || stop.load(Ordering::Relaxed);
        store.search(&text, &sessions, &stopped, |_| stop.store(true, Ordering::Relaxed));
    });
}

/// Opens a session of 50 MB until its newest records can be drawn. The rest is read on another
/// thread, which each iteration waits for outside the measured time.
#[divan::bench(sample_count = 10)]
fn open_50_mb_to_its_newest_records(bencher: Bencher) {
    let (folder, store) = store();
    let session = plant(folder.path(), 0, &samples::records(1_000), LONG);
    let opening: RefCell<Option<JoinHandle<()>>> = RefCell::new(None);
    let wait = || {
        if let Some(opening) = opening.take() {
            opening.join().unwrap();
        }
    };
    bencher.with_inputs(wait).bench_local_values(|()| {
        let (store, (show, shown)) = (store.clone(), mpsc::channel());
        let open = move || drop(store.open_showing(session, |it| show.send(it).unwrap()).unwrap());
        opening.replace(Some(std::thread::spawn(open)));
        shown.recv().unwrap()
    });
    wait();
}

/// Forks the same session whole, and after a message in its middle.
#[divan::bench(sample_count = 10, args = [None, Some(2)])]
fn fork_50_mb(bencher: Bencher, part: Option<usize>) {
    let (folder, store) = store();
    let session = plant(folder.path(), 0, &samples::records(1_000), LONG);
    let records = store.read(session).unwrap().records;
    let upto = part.map(|part| records[records.len() / part].id);
    bencher.bench_local(|| {
        let header = header(1);
        let fork = header.session_id;
        store.fork(session, upto, header).unwrap();
        fork
    });
    // Each fork is as long as the session.
    drop(folder);
}
