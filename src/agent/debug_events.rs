//! What the debug log keeps of the agent's events.

use serde_json::json;

use super::event::{AddressedEvent, AgentEvent};
use crate::domain::{CallInput, SessionId, ToolCall, ToolOutput};
use crate::platform::debug_log::DebugLog;

/// Adds an event to the debug log, with the agent it is from. Deltas are left out: what they add up to
/// is in the record, the response or the result that follows. Of a session that is opened, only the
/// number of its records is kept.
pub(super) fn write(debug: &DebugLog, AddressedEvent { agent, event }: &AddressedEvent) {
    if !debug.is_on() || is_delta(event) {
        return;
    }
    let of_log = |session: &SessionId, records: usize| json!({"agent": agent, "data": {"session": session, "records": records}});
    if let AgentEvent::SessionOpened { session, records } = event {
        return debug.event("session_opened", of_log(session, records.len()));
    }
    if let AgentEvent::SessionRead { session, earlier } = event {
        return debug.event("session_read", of_log(session, earlier.len()));
    }
    match serde_json::to_value(event) {
        Ok(mut value) => {
            let name = value["type"].as_str().unwrap_or("event").to_owned();
            debug.event(&name, json!({"agent": agent, "data": value["data"].take()}));
        }
        Err(error) => tracing::warn!(%error, "an event is left out of the debug log"),
    }
}

/// Writes a call as the model or the user made it: also one that does not run. The arguments that ran
/// are in the event `tool_started`.
pub(super) fn write_call(debug: &DebugLog, call: &ToolCall) {
    if debug.is_on() {
        let input = match &call.input {
            CallInput::Valid(input) => input.clone(),
            CallInput::Invalid(text) => json!({"not_json": text}),
        };
        debug.tool_call(json!({"call": call.id, "name": call.name, "input": input}));
    }
}

/// Writes what came of a call. Results are in the order in which the calls end.
pub(super) fn write_result(debug: &DebugLog, call: &ToolCall, output: &ToolOutput) {
    if debug.is_on() {
        let (status, text) = (output.status, &output.observation);
        debug.tool_result(
            json!({"call": call.id, "name": call.name, "status": status, "text": text}),
        );
    }
}

fn is_delta(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallInput { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Prefill { .. }
            | AgentEvent::ModelLoading(_)
            | AgentEvent::Jobs(_)
            | AgentEvent::JobOutput(_)
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::domain::{AgentId, EntryId, NoticeLevel, TurnId};
    use crate::platform::redact::Redactor;
    use crate::session::{LogEntry, LogRecord, TurnEnd, TurnOutcome};

    #[test]
    fn events_are_kept_and_deltas_are_not() {
        let home = tempfile::tempdir().unwrap();
        let debug =
            DebugLog::start(home.path(), Redactor::default(), chrono::Local::now()).unwrap();
        let folder = debug.folder().unwrap().to_owned();
        let (turn, session) = (TurnId(2), SessionId::generate());
        let agent = AgentId::generate();
        let end = TurnEnd::of(TurnOutcome::Answered);
        let ended = LogRecord {
            id: EntryId::generate(),
            timestamp: chrono::Utc::now(),
            turn,
            entry: LogEntry::TurnEnd(end),
        };
        for event in [
            AgentEvent::SessionOpened { session, records: Arc::default() },
            AgentEvent::TurnStarted { turn },
            AgentEvent::Text { turn, text: "a delta".into() },
            AgentEvent::Notice { level: NoticeLevel::Warning, text: "Look out.".into() },
            AgentEvent::NotRecorded(Arc::new(ended)),
        ] {
            write(&debug, &AddressedEvent { agent, event });
        }
        drop(debug);
        let text = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
        assert_eq!(names, ["session_opened", "turn_started", "notice", "not_recorded"]);
        assert_eq!(lines[0]["data"], json!({"session": session, "records": 0}));
        assert_eq!(lines[2]["data"]["text"], "Look out.");
        assert_eq!(lines[3]["data"]["outcome"], "answered");
        assert!(lines.iter().all(|line| line["agent"] == json!(agent)), "{text}");
    }
}
