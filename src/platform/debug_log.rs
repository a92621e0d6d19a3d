//! `--debug-log`: writes each request, response, tool call and tool result of a run to a file of
//! its own, and all events in order to one file, for a bug report. Secrets are taken out.
//!
//! A [`DebugLog`] is a handle that costs nothing when it is off. A thread writes the files in the
//! order in which entries arrive; the files are complete when the last handle is dropped. When the
//! disk hangs, slug does not wait: entries are left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use chrono::{DateTime, Local, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::paths::{private_dir, private_file};
use super::redact::Redactor;

/// The most entries that wait for the disk. Further entries are left out.
const WAITING: usize = 1024;

/// A handle to the debug log; it writes nothing when the log is off.
#[derive(Debug, Clone, Default)]
pub struct DebugLog {
    run: Option<Arc<DebugLogRun>>,
}

/// Joins a response to its request, and a result to its call: both files have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeNumber(u32);

#[derive(Debug)]
struct DebugLogRun {
    folder: PathBuf,
    last: AtomicU32,
    /// `None` only during the drop.
    writer: Option<(mpsc::SyncSender<DebugLogItem>, JoinHandle<()>)>,
}

enum DebugLogItem {
    File { name: String, value: Value },
    Event(Value),
}

impl DebugLog {
    /// One that writes nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Makes the folder of a run below `debug` (`~/.slug/debug`), named by the time, and starts the
    /// thread that writes to it.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made or the thread cannot be started.
    pub fn start(debug: &Path, redactor: Redactor, now: DateTime<Local>) -> io::Result<Self> {
        let folder = fresh_folder(debug, now)?;
        let (items, waiting) = mpsc::sync_channel(WAITING);
        let writing = DebugLogWriter { folder: folder.clone(), redactor };
        let thread = thread::Builder::new()
            .name("debug-log".to_owned())
            .spawn(move || writing.serve(&waiting))?;
        let last = AtomicU32::new(0);
        Ok(Self {
            run: Some(Arc::new(DebugLogRun { folder, last, writer: Some((items, thread)) })),
        })
    }

    /// The folder of this run, for a notice; `None` when the log is off.
    pub fn folder(&self) -> Option<&Path> {
        self.run.as_deref().map(|run| run.folder.as_path())
    }

    /// Writes `NNNN_api_request.json`.
    pub fn request(&self, body: &Value) -> ExchangeNumber {
        self.begin("api_request", body)
    }

    /// Writes `NNNN_api_response.json`, with the number of its request.
    pub fn response(&self, exchange: ExchangeNumber, body: &Value) {
        self.file(exchange, "api_response", body);
    }

    /// Writes `NNNN_tool_call.json`.
    pub fn tool_call(&self, call: &Value) -> ExchangeNumber {
        self.begin("tool_call", call)
    }

    /// Writes `NNNN_tool_result.json`, with the number of its call.
    pub fn tool_result(&self, exchange: ExchangeNumber, result: &Value) {
        self.file(exchange, "tool_result", result);
    }

    /// Adds a line with the time to `events.jsonl`.
    pub fn event(&self, name: &str, data: &Value) {
        if let Some(run) = &self.run {
            run.send(DebugLogItem::Event(
                json!({ "timestamp": timestamp(), "event": name, "data": data }),
            ));
        }
    }

    fn begin(&self, kind: &str, value: &Value) -> ExchangeNumber {
        let exchange = ExchangeNumber(match &self.run {
            Some(run) => run.last.fetch_add(1, Ordering::Relaxed) + 1,
            None => 0,
        });
        self.file(exchange, kind, value);
        exchange
    }

    fn file(&self, ExchangeNumber(number): ExchangeNumber, kind: &str, value: &Value) {
        if let Some(run) = &self.run {
            let name = format!("{number:04}_{kind}.json");
            let file = json!({ "timestamp": timestamp(), "event": kind, "file": name });
            run.send(DebugLogItem::File { name, value: value.clone() });
            run.send(DebugLogItem::Event(file));
        }
    }
}

impl DebugLogRun {
    fn send(&self, item: DebugLogItem) {
        if let Some((items, _)) = &self.writer
            && let Err(error) = items.try_send(item)
        {
            tracing::warn!(%error, "the debug log cannot keep up; an entry is left out");
        }
    }
}

impl Drop for DebugLogRun {
    fn drop(&mut self) {
        if let Some((items, thread)) = self.writer.take() {
            drop(items);
            // The thread has logged its own failures.
            let _ = thread.join();
        }
    }
}

struct DebugLogWriter {
    folder: PathBuf,
    redactor: Redactor,
}

impl DebugLogWriter {
    fn serve(&self, items: &mpsc::Receiver<DebugLogItem>) {
        let events = self.folder.join("events.jsonl");
        let mut events = match private_file(&events, OpenOptions::new().append(true).create(true)) {
            Ok((file, _)) => Some(file),
            Err(error) => {
                tracing::warn!(%error, "no events.jsonl in the debug log");
                None
            }
        };
        while let Ok(item) = items.recv() {
            let written = match &item {
                DebugLogItem::File { name, value } => self.write(name, value),
                DebugLogItem::Event(value) => {
                    events.as_mut().map_or(Ok(()), |file| self.line(file, value))
                }
            };
            if let Err(error) = written {
                tracing::warn!(%error, folder = %self.folder.display(), "debug log not written");
            }
        }
    }

    fn write(&self, name: &str, value: &Value) -> io::Result<()> {
        let path = self.folder.join(name);
        let (mut file, _) = private_file(&path, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(&serde_json::to_vec_pretty(&self.redactor.json(value))?)
    }

    fn line(&self, file: &mut File, value: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.redactor.json(value))?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// Makes `<YYYYMMDD_HHMMSS>`; a second run in the same second gets a suffix.
fn fresh_folder(debug: &Path, now: DateTime<Local>) -> io::Result<PathBuf> {
    private_dir(debug)?;
    let name = now.format("%Y%m%d_%H%M%S").to_string();
    let suffixes = std::iter::once(String::new()).chain((2..).map(|count| format!("_{count}")));
    for suffix in suffixes {
        let folder = debug.join(format!("{name}{suffix}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return private_dir(&folder).map(|_| folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn timestamp() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use chrono::TimeZone;

    use super::*;

    fn now() -> DateTime<Local> {
        Local.with_ymd_and_hms(2026, 11, 21, 22, 48, 15).unwrap()
    }

    #[test]
    fn a_run_leaves_numbered_pairs_and_events() {
        let home = tempfile::tempdir().unwrap();
        let log = DebugLog::start(home.path(), Redactor::default(), now()).unwrap();
        let folder = log.folder().unwrap().to_owned();
        assert_eq!(folder, home.path().join("20261121_224815"));
        let request = log.request(&json!({"model": "m", "api_key": "CANARY"}));
        let clone = log.clone();
        let call = clone.tool_call(&json!({"name": "Bash"}));
        log.response(request, &json!({"text": "sk-CANARYCANARYCANARY"}));
        log.tool_result(call, &json!("done"));
        log.event("turn_ended", &json!({"turn": 1}));
        drop((log, clone));

        let read = |name: &str| -> String { fs::read_to_string(folder.join(name)).unwrap() };
        let parse = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
        assert_eq!(parse("0001_api_request.json")["api_key"], "[redacted]");
        assert_eq!(parse("0001_api_response.json")["text"], "[redacted]");
        assert_eq!(parse("0002_tool_call.json")["name"], "Bash");
        assert_eq!(parse("0002_tool_result.json"), "done");
        let events: Vec<Value> =
            read("events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(events.len(), 5);
        assert_eq!(events[1]["file"], "0002_tool_call.json");
        assert_eq!(events[4]["data"]["turn"], 1);
        for entry in fs::read_dir(&folder).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn two_runs_in_one_second_do_not_share() {
        let home = tempfile::tempdir().unwrap();
        let first = DebugLog::start(home.path(), Redactor::default(), now()).unwrap();
        let second = DebugLog::start(home.path(), Redactor::default(), now()).unwrap();
        assert_ne!(first.folder(), second.folder());
    }

    #[test]
    fn one_that_is_off_does_nothing() {
        let log = DebugLog::off();
        let exchange = log.request(&json!({}));
        log.response(exchange, &json!({}));
        log.event("x", &json!({}));
        assert_eq!(log.folder(), None);
    }
}
