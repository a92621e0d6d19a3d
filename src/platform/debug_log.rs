//! `--debug-log`: keeps what happens in a run for a bug report. Every event has a number, and a line
//! in `events.jsonl`; requests, responses, tool calls and their results have a file of that number
//! each, and so have the bodies of requests and answers as they travelled. Secrets are taken out.
//!
//! A [`DebugLog`] is a handle that costs nothing when it is off. A thread writes the files in the
//! order in which entries arrive; the files are complete when the last handle is dropped. When the
//! disk hangs, slug does not wait: entries are left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
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

/// The place of an event among all events of a run, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugEventNumber(pub u32);

#[derive(Debug)]
struct DebugLogRun {
    folder: PathBuf,
    /// The number of the last event. Held while an event is handed over, so that the lines are in
    /// the order of their numbers.
    last: Mutex<u32>,
    /// `None` only during the drop.
    writer: Option<(mpsc::SyncSender<DebugLogItem>, JoinHandle<()>)>,
}

enum DebugLogItem {
    File { name: String, content: DebugFileContent },
    Event(Value),
}

/// What a file of the debug log holds, with secrets still in it.
enum DebugFileContent {
    Json(Value),
    /// The body of a request or an answer, as it travelled.
    Body(String),
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
        let last = Mutex::new(0);
        Ok(Self {
            run: Some(Arc::new(DebugLogRun { folder, last, writer: Some((items, thread)) })),
        })
    }

    /// The folder of this run, for a notice; `None` when the log is off.
    pub fn folder(&self) -> Option<&Path> {
        self.run.as_deref().map(|run| run.folder.as_path())
    }

    /// Whether there is a debug log, so that what it would hold is worth making.
    pub fn is_on(&self) -> bool {
        self.run.is_some()
    }

    /// Writes `NNNNNN_api_request.json`.
    pub fn request(&self, request: Value) -> DebugEventNumber {
        self.json("api_request", request)
    }

    /// Writes `NNNNNN_api_response.json`; `response` is an object, and gets the number of its
    /// request.
    pub fn response(&self, DebugEventNumber(request): DebugEventNumber, mut response: Value) {
        if let Value::Object(fields) = &mut response {
            fields.insert("request".to_owned(), request.into());
        }
        self.json("api_response", response);
    }

    /// Writes `NNNNNN_tool_call.json`.
    pub fn tool_call(&self, call: Value) {
        self.json("tool_call", call);
    }

    /// Writes `NNNNNN_tool_result.json`.
    pub fn tool_result(&self, result: Value) {
        self.json("tool_result", result);
    }

    /// Writes `NNNNNN_wire_request.json`, the body of an HTTP request as it was sent.
    pub fn wire_request(&self, address: &str, body: &str) -> DebugEventNumber {
        let content = DebugFileContent::Body(body.to_owned());
        self.file("wire_request", "json", content, json!({ "address": address }))
    }

    /// Writes `NNNNNN_wire_response.txt`, the body of an HTTP answer as it came.
    pub fn wire_response(
        &self,
        DebugEventNumber(request): DebugEventNumber,
        status: u16,
        body: &str,
    ) {
        let about = json!({ "request": request, "status": status });
        self.file("wire_response", "txt", DebugFileContent::Body(body.to_owned()), about);
    }

    /// Adds a line to `events.jsonl` with the fields of `about`, an object.
    pub fn event(&self, name: &str, about: Value) {
        if let Some(run) = &self.run {
            run.add(name, about);
        }
    }

    fn json(&self, kind: &str, value: Value) -> DebugEventNumber {
        self.file(kind, "json", DebugFileContent::Json(value), json!({}))
    }

    fn file(
        &self,
        kind: &str,
        extension: &str,
        content: DebugFileContent,
        about: Value,
    ) -> DebugEventNumber {
        let Some(run) = &self.run else { return DebugEventNumber(0) };
        run.write(kind, extension, content, about)
    }
}

impl DebugLogRun {
    /// Writes a file, and the line that names it.
    fn write(
        &self,
        kind: &str,
        extension: &str,
        content: DebugFileContent,
        mut about: Value,
    ) -> DebugEventNumber {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let name = format!("{:06}_{kind}.{extension}", *last);
        about["file"] = name.as_str().into();
        let line = line(*last, kind, about);
        self.send(DebugLogItem::File { name, content });
        self.send(DebugLogItem::Event(line));
        DebugEventNumber(*last)
    }

    /// Adds a line that holds all there is about an event.
    fn add(&self, name: &str, about: Value) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        self.send(DebugLogItem::Event(line(*last, name, about)));
    }

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
                DebugLogItem::File { name, content } => self.write(name, content),
                DebugLogItem::Event(value) => {
                    events.as_mut().map_or(Ok(()), |file| self.line(file, value))
                }
            };
            if let Err(error) = written {
                tracing::warn!(%error, folder = %self.folder.display(), "debug log not written");
            }
        }
    }

    fn write(&self, name: &str, content: &DebugFileContent) -> io::Result<()> {
        let text = match content {
            DebugFileContent::Json(value) => {
                serde_json::to_string_pretty(&self.redactor.json(value))?
            }
            DebugFileContent::Body(text) => redacted_body(&self.redactor, text),
        };
        let path = self.folder.join(name);
        let (mut file, _) = private_file(&path, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(text.as_bytes())
    }

    fn line(&self, file: &mut File, value: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.redactor.json(value))?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// A body without secrets. JSON is read, because an escape such as `\n` in front of a secret looks like a
/// part of it: whole bodies, and the data of server-sent events.
fn redacted_body(redactor: &Redactor, body: &str) -> String {
    let json = |text: &str| {
        serde_json::from_str(text).ok().map(|value: Value| redactor.json(&value).to_string())
    };
    if let Some(body) = json(body) {
        return body;
    }
    if !body.lines().any(|line| line.starts_with("data:")) {
        return redactor.text(body);
    }
    let line = |line: &str| {
        let data = line.strip_prefix("data:").map(str::trim).and_then(json);
        data.map_or_else(|| redactor.text(line), |data| format!("data: {data}\n"))
    };
    body.split_inclusive('\n').map(line).collect()
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

/// A line of `events.jsonl`.
fn line(number: u32, event: &str, about: Value) -> Value {
    let mut line = json!({ "number": number, "timestamp": timestamp(), "event": event });
    if let (Value::Object(fields), Value::Object(about)) = (&mut line, about) {
        fields.extend(about);
    }
    line
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
    fn a_run_leaves_numbered_files_and_a_line_for_every_event() {
        let home = tempfile::tempdir().unwrap();
        let log = DebugLog::start(home.path(), Redactor::default(), now()).unwrap();
        let folder = log.folder().unwrap().to_owned();
        assert_eq!(folder, home.path().join("20261121_224815"));
        let request = log.request(json!({"model": "m", "api_key": "CANARY"}));
        let clone = log.clone();
        clone.tool_call(json!({"call": "c1", "name": "Bash"}));
        log.event("turn_ended", json!({"agent": 7, "data": {"note": "sk-CANARYCANARYCANARY"}}));
        log.response(request, json!({"text": "sk-CANARYCANARYCANARY"}));
        log.tool_result(json!({"call": "c1", "text": "done"}));
        drop((log, clone));

        let read = |name: &str| -> String { fs::read_to_string(folder.join(name)).unwrap() };
        let parse = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
        assert_eq!(parse("000001_api_request.json")["api_key"], "[redacted]");
        assert_eq!(parse("000002_tool_call.json")["name"], "Bash");
        let response = parse("000004_api_response.json");
        assert_eq!((&response["text"], &response["request"]), (&json!("[redacted]"), &json!(1)));
        assert_eq!(parse("000005_tool_result.json")["call"], "c1");
        let events: Vec<Value> =
            read("events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let numbers: Vec<u64> = events.iter().filter_map(|it| it["number"].as_u64()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert_eq!(events[1]["file"], "000002_tool_call.json");
        assert_eq!(events[2]["event"], "turn_ended");
        assert_eq!(events[2]["data"], json!({"note": "[redacted]"}));
        assert_eq!(events[2]["agent"], 7);
        for entry in fs::read_dir(&folder).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn secrets_are_taken_out_of_bodies_behind_escapes_too() {
        let redactor = Redactor::default();
        let key = "AKIAIOSFODNN7EXAMPLE";
        let body = json!({"messages": [{"content": format!("a\n{key}\nb")}], "max_tokens": 5});
        let redacted = redacted_body(&redactor, &body.to_string());
        let expected = json!({"messages": [{"content": "a\n[redacted]\nb"}], "max_tokens": 5});
        assert_eq!(redacted, expected.to_string());
        let events = format!(": ping\n\ndata: {body}\n\ndata: [DONE]\n\n");
        let expected = format!(": ping\n\ndata: {expected}\n\ndata: [DONE]\n\n");
        assert_eq!(redacted_body(&redactor, &events), expected);
        assert_eq!(redacted_body(&redactor, &format!("no {key} here")), "no [redacted] here");
    }

    #[test]
    fn events_of_several_threads_have_one_sequence() {
        let home = tempfile::tempdir().unwrap();
        let log = DebugLog::start(home.path(), Redactor::default(), now()).unwrap();
        let folder = log.folder().unwrap().to_owned();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| log.event("x", json!({}))));
            }
        });
        drop(log);
        let text = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["number"].as_u64();
        let numbers: Vec<u64> = text.lines().filter_map(number).collect();
        assert_eq!(numbers, (1..=80).collect::<Vec<u64>>());
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
        let request = log.request(json!({}));
        log.response(request, json!({}));
        log.event("x", json!({}));
        assert!(!log.is_on());
        assert_eq!(log.folder(), None);
    }
}
