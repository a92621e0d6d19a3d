//! Finds the files that a killed slug was writing, from the logs that it left locked.
//!
//! A log is locked by a file that is removed when its slug ends. A lock file that is still there
//! and that nobody holds, or that this very process has taken over, belongs to a session that was
//! killed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::{CallId, CallInput, ContentBlock, SessionId, ToolCall};

use super::line::{self, LogLine, LogLineContext};
use super::lock::LockHolder;
use super::log_reader::END;
use super::store::{failed, read_from};
use super::{FileChangeSource, LogEntry, SessionStore, StoreError};

/// How much of a log is read for its first line, in bytes.
const LONGEST_FIRST: u64 = 1 << 20;

impl SessionStore {
    /// The files that tool calls or a rewind were about to change when their slug was killed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of sessions cannot be listed, or a lock not be examined.
    /// A log whose end cannot be read is passed over.
    pub fn unfinished_writes(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = Vec::new();
        for session in self.interrupted_sessions()? {
            match self.unfinished_in(session) {
                Ok(found) => files.extend(found),
                Err(error) => tracing::debug!(%session, %error, "its end cannot be read"),
            }
        }
        Ok(files)
    }

    fn interrupted_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let this_process = LockHolder { pid: Some(std::process::id()) };
        let mut sessions = Vec::new();
        for session in self.session_folder_files()?.locked {
            if self.in_use(session)?.is_none_or(|holder| holder == this_process) {
                sessions.push(session);
            }
        }
        Ok(sessions)
    }

    fn unfinished_in(&self, session: SessionId) -> Result<Vec<PathBuf>, StoreError> {
        let path = self.paths(session).log();
        let Some(folder) = begin(&path) else { return Ok(Vec::new()) };
        let length = std::fs::metadata(&path).map_err(failed("look at", &path))?.len();
        let end = read_from(&path, length.saturating_sub(END)).map_err(failed("read", &path))?;
        Ok(unfinished_files(&end).into_iter().map(|file| folder.join(file)).collect())
    }
}

/// The working folder that the log's first line names.
fn begin(log: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    let log = File::open(log).ok()?.take(LONGEST_FIRST);
    BufReader::new(log).read_until(b'\n', &mut first).ok()?;
    match line::parse(first.trim_ascii_end(), &mut LogLineContext::default()) {
        LogLine::Record { record, .. } => match record.entry {
            LogEntry::Session(header) => Some(header.cwd),
            _ => None,
        },
        LogLine::Blank
        | LogLine::NotUnderstood { .. }
        | LogLine::Newer { .. }
        | LogLine::Damaged => None,
    }
}

/// The files of calls that started and have no result, as the model named them, and the files that
/// a rewind announced and did not write.
fn unfinished_files(end: &[u8]) -> Vec<PathBuf> {
    let mut context = LogLineContext::default();
    let mut files: HashMap<CallId, PathBuf> = HashMap::new();
    let mut open: Vec<CallId> = Vec::new();
    let mut announced: Vec<PathBuf> = Vec::new();
    for line in end.split(|byte| *byte == b'\n') {
        let LogLine::Record { record, .. } = line::parse(line, &mut context) else { continue };
        match record.entry {
            LogEntry::ToolStarted { call, .. } => open.push(call),
            LogEntry::Rewind(rewind) => {
                announced = rewind.files.iter().map(|file| file.place().to_owned()).collect();
            }
            LogEntry::FileChange(change) if change.by == FileChangeSource::Rewind => {
                announced.retain(|file| file != change.place());
            }
            LogEntry::Message(message) => {
                for block in message.content {
                    match block {
                        ContentBlock::ToolUse(call) => {
                            if let Some(file) = file_of(&call) {
                                files.insert(call.id, file);
                            }
                        }
                        ContentBlock::ToolResult { tool_use_id, .. } => {
                            open.retain(|call| *call != tool_use_id);
                        }
                        ContentBlock::Text { .. }
                        | ContentBlock::Image(_)
                        | ContentBlock::Context { .. }
                        | ContentBlock::Thinking { .. }
                        | ContentBlock::Sealed { .. } => {}
                    }
                }
            }
            _ => {}
        }
    }
    announced.extend(open.iter().filter_map(|call| files.remove(call)));
    announced
}

fn file_of(call: &ToolCall) -> Option<PathBuf> {
    match &call.inner().input {
        CallInput::Valid(input) => input.get("file_path").and_then(Value::as_str).map(Into::into),
        CallInput::Invalid { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::files;
    use super::super::lock::SessionLock;
    use super::super::samples::{assistant, header, home, lines, record, result, rewind, user};
    use super::super::{FileChangeEntry, RewindEntry, RewindScope};
    use super::*;
    use crate::domain::{ContentHash, EntryId};

    fn writes(id: &str, file: &str) -> LogEntry {
        let input = CallInput::Valid(json!({"file_path": file, "content": "x"}));
        let call = ToolCall { id: CallId::new(id), name: "Write".into(), input };
        assistant(vec![ContentBlock::ToolUse(call)])
    }

    fn started(id: &str) -> LogEntry {
        let (call, arguments) = (CallId::new(id), ContentHash::of(b"{}"));
        LogEntry::ToolStarted { call, arguments, approved_by: "rule".into() }
    }

    #[test]
    fn only_calls_without_a_result_are_unfinished() {
        let home = home();
        let store = &home.store;
        files::make_folder(&home.dir.path().join("sessions")).unwrap();
        let head = header("/work");
        let session = head.session_id;
        let entries = [
            LogEntry::Session(head),
            user("write"),
            writes("c1", "done.rs"),
            started("c1"),
            result("c1", "written"),
            writes("c2", "src/cut.rs"),
            writes("c3", "never.rs"),
            started("c2"),
        ];
        let mut bytes = lines(&entries.map(|entry| record(1, entry)));
        bytes.extend(b"{\"type\":\"mess");
        std::fs::write(store.paths(session).log(), bytes).unwrap();
        assert_eq!(store.unfinished_writes().unwrap(), [] as [PathBuf; 0], "it was closed");

        std::fs::write(store.paths(session).lock(), "4194305").unwrap();
        assert_eq!(store.unfinished_writes().unwrap(), [Path::new("/work/src/cut.rs")]);
        let _taken_over = SessionLock::take(&store.paths(session).lock()).unwrap();
        assert_eq!(store.unfinished_writes().unwrap(), [Path::new("/work/src/cut.rs")]);
    }

    #[test]
    fn a_rewind_that_was_cut_off_is_unfinished_where_it_has_not_written_yet() {
        let change = |name: &str| {
            let path = Path::new("/work").join(name);
            FileChangeEntry::new(path, None, None, FileChangeSource::Rewind)
        };
        let back = |names: &[&str]| {
            let files = names.iter().map(|name| change(name)).collect();
            LogEntry::Rewind(RewindEntry {
                files,
                ..rewind(EntryId::generate(), RewindScope::Files)
            })
        };
        let real = Some("/elsewhere/b".into());
        let linked = FileChangeEntry { real, ..change("b") };
        let mut last = back(&["a", "b", "c"]);
        if let LogEntry::Rewind(rewind) = &mut last {
            rewind.files[1] = linked;
        }
        let entries = [
            LogEntry::Session(header("/work")),
            back(&["old"]),
            user("go on"),
            last,
            LogEntry::FileChange(change("a")),
        ];
        let end = lines(&entries.map(|entry| record(1, entry)));
        assert_eq!(unfinished_files(&end), [Path::new("/elsewhere/b"), Path::new("/work/c")]);
    }
}
