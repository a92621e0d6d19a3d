//! What the log says about one part of the conversation: what was sent, why a call ran, what came back
//! and what it took. Pure: the records in, a text out.

use chrono::Local;
use serde_json::Value;

use crate::domain::{
    CallId, CallInput, ContentBlock, EntryId, MessageRole, PermissionOutcome, RuleSource,
    StopReason, ToolCall, ToolStatus, format_bytes, format_tokens, pluralise,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, PermissionEntry, SHELL_CONTEXT};

/// The most that is shown of one text, in bytes: a pager shows the whole of a long result.
const LONGEST: usize = 100_000;

/// The part of a conversation that an explanation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainedPart {
    Call(CallId),
    /// A message of the user or a response of the model.
    Message(EntryId),
}

/// Explains a part from the records of its session; `None` if they do not have it, as while it runs.
pub fn explain(records: &[LogRecord], part: &ExplainedPart) -> Option<String> {
    let mut text = String::new();
    match part {
        ExplainedPart::Call(id) => explain_call(&mut text, records, id)?,
        ExplainedPart::Message(id) => {
            let record = records.iter().find(|record| record.id == *id)?;
            explain_message(&mut text, record, record.entry.as_message()?);
        }
    }
    Some(text)
}

fn explain_call(text: &mut String, records: &[LogRecord], id: &CallId) -> Option<()> {
    let messages = || records.iter().filter_map(|it| Some((it, it.entry.as_message()?)));
    let call_in =
        |message: &MessageEntry| message.content.iter().find_map(|it| as_call(it, id)).cloned();
    let (response, message, call) =
        messages().find_map(|(record, message)| Some((record, message, call_in(message)?)))?;
    section(text, "What the model has sent");
    match &call.input {
        CallInput::Valid(input) => arguments(text, input),
        CallInput::Invalid(input) => {
            line(text, "The arguments are not JSON:");
            quote(text, input);
        }
    }
    section(text, "Why it ran, or did not");
    decisions(text, records, id);
    section(text, "What the model got back");
    let results = messages().find(|(_, message)| message.content.iter().any(|it| answers(it, id)));
    match results {
        Some((_, result)) => explain_result(text, result, id),
        None => line(text, "Nothing yet."),
    }
    section(text, "The response that it came with");
    let others = message.content.iter().filter(|it| matches!(it, ContentBlock::ToolUse(_))).count();
    explain_response(text, response, message);
    if others > 1 {
        line(text, &format!("The response made {} together.", pluralise(others, "call")));
    }
    Some(())
}

fn as_call<'a>(block: &'a ContentBlock, id: &CallId) -> Option<&'a ToolCall> {
    match block {
        ContentBlock::ToolUse(call) if call.id == *id => Some(call),
        _ => None,
    }
}

fn answers(block: &ContentBlock, id: &CallId) -> bool {
    matches!(block, ContentBlock::ToolResult { tool_use_id, .. } if tool_use_id == id)
}

/// One argument a line; a text of several lines below its name.
fn arguments(text: &mut String, input: &Value) {
    let Some(fields) = input.as_object().filter(|fields| !fields.is_empty()) else {
        return line(text, "No arguments.");
    };
    for (name, value) in fields {
        match value.as_str() {
            Some(value) if value.contains('\n') => {
                line(text, &format!("{name}:"));
                quote(text, value);
            }
            Some(value) => line(text, &format!("{name}: {value}")),
            None => line(text, &format!("{name}: {value}")),
        }
    }
}

fn decisions(text: &mut String, records: &[LogRecord], id: &CallId) {
    let mut was_asked = false;
    let mut has_begun = false;
    for record in records {
        match &record.entry {
            LogEntry::Permission(entry) if entry.call == *id => {
                was_asked = true;
                line(text, &decision(entry));
            }
            LogEntry::ToolStarted { call, approved_by, .. } if call == id => {
                if !was_asked {
                    line(text, &format!("You were not asked: {approved_by}."));
                }
                has_begun = true;
                let began = record.timestamp.with_timezone(&Local);
                line(text, &format!("It began at {}.", began.format("%H:%M:%S")));
            }
            _ => {}
        }
    }
    if !was_asked && !has_begun {
        line(text, "It did not run.");
    }
}

/// Who decided, and by which rule.
fn decision(entry: &PermissionEntry) -> String {
    let rule = entry.rule.as_ref().map(rule_with_place);
    let by = |start: &str| match &rule {
        Some(rule) => format!("{start} {rule}."),
        None => format!("{start}."),
    };
    match (entry.answer.as_str(), entry.decision) {
        ("once", _) => "You were asked, and allowed it.".to_owned(),
        ("session", _) => "You were asked, and allowed it for the session.".to_owned(),
        ("part", _) => "You were asked, and allowed a part of the changes.".to_owned(),
        ("edited", _) => "You were asked, and changed the command.".to_owned(),
        ("always", _) => by("You were asked, and allowed it with the rule"),
        ("never", _) => by("You were asked, and denied it with the rule"),
        ("deny", _) => "You were asked, and denied it.".to_owned(),
        ("rule", _) => by("Denied by the rule"),
        ("mode", _) => "Denied by the permission mode.".to_owned(),
        ("headless", _) => by("Refused, because nobody could be asked"),
        ("hook", _) => "Denied by a hook.".to_owned(),
        (other, PermissionOutcome::Allow) => format!("Allowed: {other}."),
        (other, PermissionOutcome::Deny) => format!("Denied: {other}."),
        (other, PermissionOutcome::Ask) => format!("Asked: {other}."),
    }
}

fn rule_with_place(rule: &RuleSource) -> String {
    match (&rule.file, rule.line) {
        (Some(file), Some(at)) => format!("{} in {}, line {at}", rule.rule, file.display()),
        (Some(file), None) => format!("{} in {}", rule.rule, file.display()),
        (None, _) => rule.rule.clone(),
    }
}

fn explain_result(text: &mut String, message: &MessageEntry, id: &CallId) {
    let status = message.result.as_ref().map(|result| {
        let status = match result.status {
            ToolStatus::Done => "Done",
            ToolStatus::Failed => "Failed",
            ToolStatus::Denied => "Denied",
            ToolStatus::Cancelled => "Cancelled",
        };
        let took = match result.elapsed_ms {
            short @ 0..1_000 => format!("{short} ms"),
            long => format!("{:.1} s", long as f64 / 1_000.0),
        };
        format!("{status} after {took}. ")
    });
    let content = message.content.iter().find_map(|block| match block {
        ContentBlock::ToolResult { tool_use_id, content, .. } if tool_use_id == id => Some(content),
        _ => None,
    });
    let content = content.map(String::as_str).unwrap_or_default();
    let lines = pluralise(content.lines().count(), "line");
    let size = format_bytes(content.len() as u64);
    line(text, &format!("{}{lines}, {size}:", status.unwrap_or_default()));
    quote(text, content);
    if message.result.as_ref().is_some_and(|result| result.kept.is_some()) {
        line(text, "The model got a part of the output; p on the pane shows the whole.");
    }
}

fn explain_message(text: &mut String, record: &LogRecord, message: &MessageEntry) {
    match message.role {
        MessageRole::Assistant => {
            section(text, "The response");
            explain_response(text, record, message);
        }
        MessageRole::User => {
            let is_command = message.result.is_some();
            section(
                text,
                match is_command {
                    true => "Sent to the model",
                    false => "What was sent with your message",
                },
            );
            let sent = record.timestamp.with_timezone(&Local);
            let what = if is_command { "The command ended at" } else { "It was sent at" };
            line(text, &format!("{what} {}.", sent.format("%H:%M:%S")));
        }
    }
    for block in &message.content {
        match block {
            ContentBlock::Context { name, text: note } => {
                if name != SHELL_CONTEXT {
                    line(text, &format!("A note of slug's, {name}:"));
                }
                quote(text, note);
            }
            ContentBlock::Image(image) => line(text, &format!("The image {}.", image.name())),
            ContentBlock::Thinking { thinking, .. } => {
                line(text, &format!("Thinking: {}.", format_bytes(thinking.len() as u64)));
            }
            ContentBlock::Text { text: said } => {
                line(text, &format!("Text: {}.", format_bytes(said.len() as u64)));
            }
            ContentBlock::ToolUse(call) => line(text, &format!("A call of {}.", call.inner().name)),
            ContentBlock::Sealed { .. } => {
                line(text, "A part that only the provider can read; it is sent back unchanged.");
            }
            ContentBlock::ToolResult { .. } => {}
        }
    }
}

fn explain_response(text: &mut String, record: &LogRecord, message: &MessageEntry) {
    let model = message.model.as_deref().unwrap_or("a model that the log does not name");
    let at = record.timestamp.with_timezone(&Local);
    line(text, &format!("From {model}, complete at {}.", at.format("%H:%M:%S")));
    match message.usage {
        Some(usage) => {
            let about = if message.is_usage_estimated { "~" } else { "" };
            let cached = match usage.cache_read {
                0 => String::new(),
                cached => format!(", of which {} came from its cache", format_tokens(cached)),
            };
            let (read, wrote) = (format_tokens(usage.input), format_tokens(usage.output));
            line(
                text,
                &format!("The model read {about}{read} tokens{cached}, and wrote {about}{wrote}."),
            );
        }
        None => line(text, "The server has not counted its tokens."),
    }
    match message.cost {
        Some(cost) => line(text, &format!("It cost {cost}.")),
        None => line(text, "Its price is not known."),
    }
    let ended = match message.stop_reason {
        Some(StopReason::MaxTokens) => "It was cut at the output limit.",
        Some(StopReason::Refusal) => "The provider withheld the rest.",
        Some(StopReason::Interrupted) => "It was stopped before its end.",
        Some(StopReason::Paused) => "The provider paused it.",
        Some(StopReason::EndTurn | StopReason::ToolUse) | None => return,
    };
    line(text, ended);
}

fn section(text: &mut String, title: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    line(text, &title.to_uppercase());
}

fn line(text: &mut String, said: &str) {
    text.push_str(said);
    text.push('\n');
}

/// The text, indented and cut with a mark where it is too long.
fn quote(text: &mut String, quoted: &str) {
    let mut end = quoted.len().min(LONGEST);
    while !quoted.is_char_boundary(end) {
        end -= 1;
    }
    for quoted in quoted[..end].lines() {
        text.push_str("  ");
        line(text, quoted);
    }
    if end < quoted.len() {
        line(text, &format!("  … {} more", format_bytes((quoted.len() - end) as u64)));
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::domain::{ContentHash, Message, Money, RuleKind, TokenUsage, TurnId};
    use crate::session::ToolResultInfo;

    fn record(entry: LogEntry) -> LogRecord {
        LogRecord { id: EntryId::generate(), timestamp: chrono::Utc::now(), turn: TurnId(1), entry }
    }

    fn response(content: Vec<ContentBlock>) -> MessageEntry {
        MessageEntry {
            model: Some("large".into()),
            usage: Some(TokenUsage {
                input: 12_100,
                output: 340,
                cache_read: 10_000,
                cache_write: 0,
            }),
            cost: Some(Money::from_nanos(13_400_000)),
            ..MessageEntry::new(Message { role: MessageRole::Assistant, content })
        }
    }

    fn call(id: &str, input: Value) -> ContentBlock {
        let input = CallInput::Valid(input);
        ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: "Bash".into(), input })
    }

    fn result(id: &str, content: &str, status: ToolStatus) -> LogRecord {
        let block = ContentBlock::ToolResult {
            tool_use_id: CallId::new(id),
            content: content.into(),
            is_error: status.is_error(),
        };
        let info = ToolResultInfo {
            name: "Bash".into(),
            status,
            summary: None,
            display: None,
            elapsed_ms: 2_140,
            kept: None,
            job: None,
            agent: None,
        };
        let message = Message { role: MessageRole::User, content: vec![block] };
        record(LogEntry::Message(MessageEntry { result: Some(info), ..MessageEntry::new(message) }))
    }

    fn permission(id: &str, answer: &str, rule: Option<&str>) -> LogRecord {
        let rule = rule.map(|rule| RuleSource {
            rule: rule.into(),
            kind: RuleKind::Allow,
            file: Some(PathBuf::from("/home/me/.slug/settings.json")),
            line: Some(3),
        });
        record(LogEntry::Permission(PermissionEntry {
            call: CallId::new(id),
            tool: "Bash".into(),
            about: None,
            decision: PermissionOutcome::Allow,
            answer: answer.into(),
            rule,
        }))
    }

    fn started(id: &str, approved_by: &str) -> LogRecord {
        record(LogEntry::ToolStarted {
            call: CallId::new(id),
            arguments: ContentHash::of(b""),
            approved_by: approved_by.into(),
        })
    }

    fn explained(records: &[LogRecord], id: &str) -> String {
        explain(records, &ExplainedPart::Call(CallId::new(id))).unwrap()
    }

    #[test]
    fn a_call_is_explained_from_its_arguments_to_its_cost() {
        let calls = vec![
            call("c1", json!({"command": "make\nmake test", "timeout": 5})),
            call("c2", json!({})),
        ];
        let records = [
            record(LogEntry::Message(response(calls))),
            permission("c1", "always", Some("Bash(make *)")),
            started("c1", "once"),
            started("c2", "rule Read"),
            result("c2", "other", ToolStatus::Done),
            result("c1", "one\ntwo\n", ToolStatus::Failed),
        ];
        let text = explained(&records, "c1");
        let began = text.lines().find(|line| line.starts_with("It began at ")).unwrap();
        let complete = text.lines().find(|line| line.contains("complete at ")).unwrap();
        let expected = [
            "WHAT THE MODEL HAS SENT",
            "command:",
            "  make",
            "  make test",
            "timeout: 5",
            "",
            "WHY IT RAN, OR DID NOT",
            "You were asked, and allowed it with the rule Bash(make *) in \
             /home/me/.slug/settings.json, line 3.",
            began,
            "",
            "WHAT THE MODEL GOT BACK",
            "Failed after 2.1 s. 2 lines, 8 bytes:",
            "  one",
            "  two",
            "",
            "THE RESPONSE THAT IT CAME WITH",
            complete,
            "The model read 12.1k tokens, of which 10k came from its cache, and wrote 340.",
            "It cost $0.0134.",
            "The response made 2 calls together.",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(explained(&records, "c2").contains("You were not asked: rule Read."));
    }

    #[test]
    fn who_decided_is_said_for_each_answer() {
        for (answer, rule, said) in [
            ("once", None, "You were asked, and allowed it."),
            ("session", None, "You were asked, and allowed it for the session."),
            ("deny", None, "You were asked, and denied it."),
            ("rule", Some("Bash(rm *)"), "Denied by the rule Bash(rm *) in"),
            ("mode", None, "Denied by the permission mode."),
            ("hook", None, "Denied by a hook."),
            ("outside the sandbox", None, "Allowed: outside the sandbox."),
        ] {
            let records = [
                record(LogEntry::Message(response(vec![call("c1", json!({}))]))),
                permission("c1", answer, rule),
            ];
            let text = explained(&records, "c1");
            assert!(text.contains(said), "{answer}: {text}");
            assert!(text.contains("Nothing yet."), "{text}");
        }
        let records = [record(LogEntry::Message(response(vec![call("c1", json!({}))])))];
        assert!(explained(&records, "c1").contains("It did not run."));
        assert_eq!(explain(&records, &ExplainedPart::Call(CallId::new("c9"))), None);
    }

    #[test]
    fn a_message_is_explained_with_what_slug_added_to_it() {
        let note = ContentBlock::Context { name: "date".into(), text: "It is Monday.".into() };
        let said = ContentBlock::Text { text: "Hello".into() };
        let message = Message { role: MessageRole::User, content: vec![note, said] };
        let records = [
            record(LogEntry::Message(MessageEntry::new(message))),
            record(LogEntry::Message(MessageEntry {
                stop_reason: Some(StopReason::MaxTokens),
                cost: None,
                usage: None,
                ..response(vec![ContentBlock::Text { text: "Hi.".into() }])
            })),
        ];
        let of = |at: usize| explain(&records, &ExplainedPart::Message(records[at].id)).unwrap();
        assert!(
            of(0).contains("A note of slug's, date:\n  It is Monday.\nText: 5 bytes.\n"),
            "{}",
            of(0)
        );
        assert!(of(1).contains("The server has not counted its tokens."), "{}", of(1));
        assert!(of(1).contains("It was cut at the output limit."), "{}", of(1));
    }

    #[test]
    fn a_command_of_the_users_is_explained_with_what_the_model_gets() {
        let output =
            ContentBlock::Context { name: SHELL_CONTEXT.into(), text: "$ ls\na.rs".into() };
        let message = Message { role: MessageRole::User, content: vec![output] };
        let LogEntry::Message(answered) = result("c1", "", ToolStatus::Done).entry else {
            unreachable!()
        };
        let entry = MessageEntry { result: answered.result, ..MessageEntry::new(message) };
        let records = [record(LogEntry::Message(entry))];
        let text = explain(&records, &ExplainedPart::Message(records[0].id)).unwrap();
        assert!(text.starts_with("SENT TO THE MODEL\nThe command ended at "), "{text}");
        assert!(text.ends_with(".\n  $ ls\n  a.rs\n"), "{text}");
    }

    #[test]
    fn a_long_result_is_cut_with_a_mark() {
        let long = "ä".repeat(80_000);
        let records = [
            record(LogEntry::Message(response(vec![call("c1", json!({"command": long}))]))),
            result("c1", &"ä\n".repeat(60_000), ToolStatus::Done),
        ];
        let text = explained(&records, "c1");
        assert!(text.contains("… 80.0 kB more"), "{}", &text[text.len() - 300..]);
    }
}
