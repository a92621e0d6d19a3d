//! The session log on disk.

use divan::{Bencher, black_box, counter::BytesCount};
use slug_code::domain::{Message, MessageRole, SessionId, TurnId};
use slug_code::session::{LogEntry, LogRecord, MessageEntry, SessionHeader, SessionStore, load};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::samples;

const LOG: usize = 50_000_000;

fn store() -> (TempDir, SessionStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let store = SessionStore::new(path("sessions"), path("trash"), path("blobs"));
    (folder, store)
}

fn header() -> SessionHeader {
    SessionHeader {
        session_id: SessionId::generate(),
        version: SessionHeader::VERSION,
        cwd: "/work".into(),
        model: "model".into(),
        provider: "openai".into(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Appends responses one after another. slug does not wait for them to reach the disk, so this
/// measures the log without the disk.
#[divan::bench(sample_count = 20)]
fn append_1000_responses(bencher: Bencher) {
    let (_folder, store) = store();
    let runtime = runtime();
    let mut message = Message::user(samples::markdown(400));
    message.role = MessageRole::Assistant;
    bencher
        .with_inputs(|| {
            let log = store.create(header()).unwrap();
            (log, vec![LogEntry::Message(MessageEntry::new(message.clone())); 1_000])
        })
        .bench_local_values(|(log, entries)| {
            runtime.block_on(async {
                for entry in entries {
                    log.append(TurnId(1), entry).await.unwrap();
                }
            });
            log
        });
}

#[divan::bench(sample_count = 5)]
fn load_50_mb(bencher: Bencher) {
    let mut bytes = Vec::new();
    let records = samples::records(1_000);
    for record in records.iter().cycle() {
        let record = LogRecord { id: slug_code::domain::EntryId::generate(), ..record.clone() };
        serde_json::to_writer(&mut bytes, &record).unwrap();
        bytes.push(b'\n');
        if bytes.len() >= LOG {
            break;
        }
    }
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| load(black_box(&bytes)));
}

/// Forks a session of 1,000 responses: reads, copies and syncs it.
#[divan::bench(sample_count = 20)]
fn fork_1000_responses(bencher: Bencher) {
    let (_folder, store) = store();
    let parent = header();
    runtime().block_on(async {
        let log = store.create(parent.clone()).unwrap();
        for message in
            samples::messages(2_000).into_iter().filter(|it| it.role == MessageRole::Assistant)
        {
            log.append(TurnId(1), LogEntry::Message(MessageEntry::new(message))).await.unwrap();
        }
        log.close().await.unwrap();
    });
    bencher.bench(|| store.fork(parent.session_id, None, header()).unwrap());
}
