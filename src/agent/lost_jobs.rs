//! Jobs that ended with slug, or with the session they were started in: the log says that they began, and
//! not that they ended. The model was promised to hear of each end, so it is told with the next message.

use std::collections::BTreeMap;

use crate::domain::{CallId, CallInput, ContentBlock, JobId};
use crate::session::LogRecord;

/// The name of the note on jobs that have ended.
pub(super) const JOB_NOTE: &str = "jobs";

/// Such a job, with its command, where the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostJob {
    pub(super) id: JobId,
    command: Option<String>,
}

impl LostJob {
    /// What the model is told of it.
    pub(super) fn note(&self) -> String {
        let command = self.command.iter().map(|command| format!(" Its command: {command}"));
        let text = format!("The job {} has ended: its session was closed.", self.id.0);
        std::iter::once(text).chain(command).collect()
    }
}

/// The jobs of these records of whose end the model has not been told.
pub(super) fn lost_jobs<'a>(records: impl Iterator<Item = &'a LogRecord>) -> Vec<LostJob> {
    let mut commands: BTreeMap<CallId, String> = BTreeMap::new();
    let mut open: BTreeMap<JobId, Option<String>> = BTreeMap::new();
    for record in records {
        let Some(entry) = record.entry.as_message().filter(|it| it.source.is_main()) else {
            continue;
        };
        for block in &entry.content {
            match block {
                ContentBlock::ToolUse(call) => {
                    let call = call.inner();
                    if let CallInput::Valid(input) = &call.input
                        && let Some(command) = input.get("command").and_then(|it| it.as_str())
                    {
                        commands.insert(call.id.clone(), command.to_owned());
                    }
                }
                ContentBlock::ToolResult { tool_use_id, content, .. } => {
                    if let Some(job) = entry.result.as_ref().and_then(|result| result.job) {
                        open.entry(job).or_insert_with(|| commands.get(tool_use_id).cloned());
                    }
                    open.retain(|job, _| !tells_end(content, *job));
                }
                ContentBlock::Context { name, text } if name == JOB_NOTE => {
                    open.retain(|job, _| !tells_end(text, *job));
                }
                ContentBlock::Context { .. }
                | ContentBlock::Text { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. } => {}
            }
        }
    }
    open.into_iter().map(|(id, command)| LostJob { id, command }).collect()
}

/// Whether a text for the model says that this job has ended, in the words of `job_state` and
/// [`LostJob::note`].
fn tells_end(text: &str, job: JobId) -> bool {
    text.contains(&format!("job {} has ended", job.0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(role: &str, content: &Value, result: &Value) -> LogRecord {
        let mut record = json!({
            "id": "01a2009b-0fa8-707a-8159-3ff8c2f9ffbc", "turn": 1, "type": "message",
            "timestamp": "2026-11-22T00:14:51.816790819Z", "role": role, "content": content,
        });
        if !result.is_null() {
            record["result"] = result.clone();
        }
        serde_json::from_value(record).unwrap()
    }

    fn call(id: &str, input: &Value) -> LogRecord {
        let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": input});
        line("assistant", &json!([call]), &Value::Null)
    }

    fn result(id: &str, job: u64, content: &str) -> LogRecord {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        let info = json!({"name": "Bash", "status": "done", "elapsed_ms": 7, "job": job});
        line("user", &json!([block]), &info)
    }

    fn note(text: &str) -> LogRecord {
        let block = json!({"type": "context", "name": JOB_NOTE, "text": text});
        line("user", &json!([block]), &Value::Null)
    }

    fn lost(records: &[LogRecord]) -> Vec<LostJob> {
        lost_jobs(records.iter())
    }

    #[test]
    fn a_job_of_whose_end_nothing_was_told_is_lost() {
        let begun = [
            call("a", &json!({"command": "npm run dev", "run_in_background": true})),
            result("a", 3, "runs in the background as job 3."),
            call("b", &json!({"command": "make", "run_in_background": true})),
            result("b", 4, "runs in the background as job 4."),
            result("c", 3, "[job 3 runs, 5.0 s so far]"),
        ];
        let third = LostJob { id: JobId(3), command: Some("npm run dev".into()) };
        let fourth = LostJob { id: JobId(4), command: Some("make".into()) };
        assert_eq!(lost(&begun), [third.clone(), fourth]);
        let told = "The job 3 has ended: its session was closed. Its command: npm run dev";
        assert_eq!(third.note(), told);
    }

    #[test]
    fn each_end_is_told_once() {
        let begun = [call("a", &json!({"command": "make"})), result("a", 3, "as job 3.")];
        let after = |record: LogRecord| lost(&[begun.as_slice(), &[record]].concat());
        let itself = lost(&begun).remove(0).note();
        assert_eq!(after(note(&itself)), []);
        assert_eq!(after(note("The job 3 has ended after 2.0 s: exit status 0.")), []);
        assert_eq!(after(result("b", 3, "done\n[job 3 has ended after 2.0 s: exit status 0]")), []);
        assert_eq!(after(note("The job 33 has ended after 2.0 s.")).len(), 1);
        let at_once = [call("a", &json!({})), result("a", 3, "job 3 has ended after 0.1 s: …")];
        assert_eq!(lost(&at_once), []);
    }
}
