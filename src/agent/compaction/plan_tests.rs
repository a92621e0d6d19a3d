//! Tests of the plan: a conversation in, what is no longer sent out.

use chrono::Utc;
use serde_json::json;

use super::*;
use crate::domain::{CallId, ContextWindow, MediaType, MessageImage, TurnId};
use crate::session::{
    CompactionNote, CompactionTokens, ContextAction, ContextEditEntry, ContextItem, ContextPart,
    LogEntry, LogRecord, MessageEntry, SHELL_CONTEXT,
};

use super::super::estimate::TokenCalibration;
use super::super::report::RequestFloor;
use super::super::summary_history::summary_history;
use super::super::summary_text::output_limit;

fn message(message: Message) -> LogRecord {
    let entry = LogEntry::Message(MessageEntry::new(message));
    LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn: TurnId(1), entry }
}

fn says(text: &str) -> LogRecord {
    let content = vec![ContentBlock::Text { text: text.into() }];
    message(Message { role: MessageRole::Assistant, content })
}

fn user(text: &str) -> LogRecord {
    message(Message::user(text))
}

/// A response with one call, and its result of so many bytes.
fn round(tool: &str, number: usize, bytes: usize) -> [LogRecord; 2] {
    let id = CallId::new(format!("c{number}"));
    let input = CallInput::Valid(json!({"file_path": format!("f{number}"), "command": "make"}));
    let call = ToolCall { id: id.clone(), name: tool.into(), input };
    let response =
        Message { role: MessageRole::Assistant, content: vec![ContentBlock::ToolUse(call)] };
    let result = ContentBlock::ToolResult {
        tool_use_id: id,
        content: "x".repeat(bytes),
        is_error: number == 1,
    };
    [message(response), message(Message { role: MessageRole::User, content: vec![result] })]
}

/// What `look` finds in a conversation for a window of this size.
fn measured<T>(
    records: &[LogRecord],
    window: u64,
    look: impl FnOnce(MeasuredConversation<'_>) -> T,
) -> T {
    let conversation = ReplayedConversation::of(records);
    let limits = RequestLimits::new(ContextWindow::Served(window), window / 4, 500);
    let estimator = TokenCalibration::default().of("m");
    let cwd = Path::new("/w");
    look(MeasuredConversation { conversation: &conversation, limits: &limits, estimator, cwd })
}

fn planned(records: &[LogRecord], window: u64, trigger: CompactionTrigger) -> CompactionPlan {
    measured(records, window, |it| plan(it, trigger))
}

fn after(records: &[LogRecord], entry: &CompactionEntry) -> Vec<Message> {
    let conversation = ReplayedConversation::of(records).compacted(entry);
    conversation.messages.into_iter().map(|(_, message)| message).collect()
}

fn calls_and_results(messages: &[Message]) -> (usize, usize) {
    let calls = messages.iter().flat_map(Message::calls).count();
    (calls, messages.iter().flat_map(Message::answers).count())
}

#[test]
fn older_results_become_stubs_where_that_is_enough() {
    let mut records = vec![user("task")];
    for number in 0..12 {
        records.extend(round("Bash", number, 4_000));
    }
    let plan = planned(&records, 20_000, CompactionTrigger::Full);
    let CompactionPlan::Shorten(entry) = plan else { panic!("{plan:?}") };
    assert!(entry.collapsed.is_empty() && entry.first_kept.is_none());
    let messages = after(&records, &entry);
    let results: Vec<usize> = messages
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            ContentBlock::ToolResult { content, .. } => Some(content.len()),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 12);
    let longest = |at: usize| if at == 1 { 300 } else { 120 };
    let stubs = results[..7].iter().enumerate();
    assert!({ stubs }.all(|(at, len)| *len < longest(at)), "the second failed: {results:?}");
    assert_eq!(results[7..], [4_000; 5], "the last five");
    let text = serde_json::to_string(&messages).unwrap();
    assert!(text.contains("[result of Bash dropped to save space, 4000 characters; call it again"));
}

#[test]
fn runs_of_looking_around_become_a_note_each() {
    let mut records = vec![user("task")];
    for number in 0..40 {
        let tool = if number == 20 { "Bash" } else { "Read" };
        records.extend(round(tool, number, 400));
    }
    let plan = planned(&records, 6_500, CompactionTrigger::Full);
    let CompactionPlan::Shorten(entry) = plan else { panic!("{plan:?}") };
    assert_eq!(entry.collapsed.len(), 2, "the command ends the first run");
    let note = &entry.collapsed[0].note;
    assert!(note.contains("- Read f0\n- Read f1 (failed)\n- Read f2"), "{note}");
    let messages = after(&records, &entry);
    assert_eq!(calls_and_results(&messages), (6, 6), "the command and the last five");
}

/// An image that a call has returned is of the result: it goes with it, and is not kept as a message
/// of the user's.
#[test]
fn an_image_in_a_result_goes_with_the_result() {
    let image = MessageImage::new("a.png", MediaType::Png, (1200, 900), b"png");
    let mut records = vec![user("task")];
    for number in 0..12 {
        let [call, mut result] = round("Read", number, 40);
        let LogEntry::Message(entry) = &mut result.entry else { panic!("{result:?}") };
        entry.content.push(ContentBlock::Image(image.clone()));
        records.extend([call, result]);
    }
    let images = |messages: &[Message]| {
        let blocks = messages.iter().flat_map(|message| &message.content);
        blocks.filter(|block| matches!(block, ContentBlock::Image(_))).count()
    };
    let plan = planned(&records, 28_000, CompactionTrigger::Full);
    let CompactionPlan::Shorten(entry) = plan else { panic!("{plan:?}") };
    assert!(entry.collapsed.is_empty(), "{entry:?}");
    let messages = after(&records, &entry);
    assert_eq!(images(&messages), 5, "those of the last five results");
    let text = serde_json::to_string(&messages).unwrap();
    assert_eq!(text.matches("40 characters and an image; ").count(), 7, "{text}");

    let plan = planned(&records, 6_000, CompactionTrigger::Full);
    let CompactionPlan::Summarise(plan) = plan else { panic!("{plan:?}") };
    let messages = after(&records, &plan.entry);
    assert_eq!(messages[0].text(), "task");
    assert!(images(&messages) < 3, "the last rounds alone: {messages:?}");
}

#[test]
fn a_summary_leaves_the_users_messages_and_the_last_rounds() {
    let mut records = vec![user("the task"), user(&"long ".repeat(2_000))];
    for number in 0..30 {
        records.push(user(&format!("message {number}")));
        records.extend(round("Write", number, 40));
        records.push(says(&"I have written it. ".repeat(40)));
    }
    let plan = planned(&records, 10_000, CompactionTrigger::Full);
    let CompactionPlan::Summarise(plan) = plan else { panic!("{plan:?}") };
    let note = CompactionNote { text: "NOTE".into(), ..CompactionNote::default() };
    let entry = CompactionEntry { note: Some(note), ..plan.entry };
    let messages = after(&records, &entry);
    let (calls, results) = calls_and_results(&messages);
    assert!(calls == results && calls < 10, "{calls} calls, {results} results");
    let text = serde_json::to_string(&messages).unwrap();
    assert!(text.contains("the task") && text.contains("message 29"), "{text}");
    assert!(text.contains("message 0") && !text.contains("long long"), "what fits: {text}");
    assert_eq!(messages[0].text(), "the task");
    let note = messages
        .iter()
        .position(|it| it.content.iter().any(|b| b.as_context() == Some(("compaction", "NOTE"))));
    let first_answer = messages.iter().position(|it| it.role == MessageRole::Assistant);
    assert!(note.is_some() && note < first_answer, "the note stands before what is kept");
}

/// The output of a command that the user ran.
fn shown(text: &str) -> LogRecord {
    let name = SHELL_CONTEXT.to_owned();
    let block = ContentBlock::Context { name, text: text.to_owned() };
    message(Message { role: MessageRole::User, content: vec![block] })
}

/// What the user has shown the model is their own, like what they have said; a long output is cut.
#[test]
fn what_the_user_has_shown_stays_with_their_messages() {
    let mut records = vec![
        shown("$ git log\nBEFORE THE TASK"),
        user("the task"),
        shown(&format!("$ make\nTHE BEGINNING\n{}\nTHE END", "noise ".repeat(6_000))),
        shown("$ cat notes\nTHE NOTES"),
    ];
    for number in 0..30 {
        records.extend(round("Write", number, 3_000));
    }
    for trigger in [CompactionTrigger::Full, CompactionTrigger::Asked] {
        let CompactionPlan::Summarise(plan) = planned(&records, 16_000, trigger) else {
            panic!("no summary")
        };
        for entry in [&plan.entry, &plan.without_model] {
            let text = serde_json::to_string(&after(&records, entry)).unwrap();
            for part in ["BEFORE THE TASK", "the task", "$ make", "BEGINNING", "END", "THE NOTES"] {
                assert!(text.contains(part), "{part} is gone: {text}");
            }
            assert!(text.contains("of this output left out here to save space; the user ran"));
            assert!(text.matches("noise").count() < 700, "{}", text.len());
        }
    }
}

/// An output that fills the window is cut although nothing else can be left out.
#[test]
fn a_long_output_of_the_users_is_cut_without_a_summary() {
    let records = [user("task"), shown(&format!("$ make\n{}", "noise ".repeat(8_000)))];
    let plan = planned(&records, 12_000, CompactionTrigger::Full);
    let CompactionPlan::Shorten(entry) = plan else { panic!("{plan:?}") };
    let text = serde_json::to_string(&after(&records, &entry)).unwrap();
    assert!(text.contains("$ make") && text.len() < 24_000, "{}", text.len());
    let tokens = Some(CompactionTokens { before: 12_000, after: 6_000 });
    let told = CompactionEntry { tokens, ..*entry }.told();
    assert!(told.ends_with("and long output is cut."), "{told}");
}

/// The newest message of the user's always stays; the one before it only if it fits.
#[test]
fn a_long_message_stays_only_while_no_newer_one_is_there() {
    let long = "long ".repeat(2_000);
    for (newer, is_kept) in [(None, true), (Some("go on"), false)] {
        let mut records = vec![user("the task")];
        for number in 0..10 {
            records.extend(round("Write", number, 2_000));
        }
        records.push(user(&long));
        for number in 10..14 {
            records.extend(round("Write", number, 2_000));
        }
        records.extend(newer.map(user));
        let CompactionPlan::Summarise(plan) = planned(&records, 12_000, CompactionTrigger::Asked)
        else {
            panic!("no summary")
        };
        let text = serde_json::to_string(&after(&records, &plan.entry)).unwrap();
        assert_eq!(text.contains("long long"), is_kept, "{newer:?}");
        assert!(text.contains("the task") && newer.is_none_or(|newer| text.contains(newer)));
    }
}

/// A response with many calls is cut to what there is room for, and pairs stay together.
#[test]
fn the_last_round_is_cut_to_fit_with_its_calls() {
    let ids: Vec<CallId> = (0..200).map(|number| CallId::new(format!("c{number}"))).collect();
    let calls = ids.iter().map(|id| {
        let input = CallInput::Valid(json!({"file_path": "f", "content": "x".repeat(300)}));
        ContentBlock::ToolUse(ToolCall { id: id.clone(), name: "Write".into(), input })
    });
    let response = Message { role: MessageRole::Assistant, content: calls.collect() };
    let mut records = vec![user("the task"), message(response)];
    records.extend(ids.iter().map(|id| {
        let result = ContentBlock::ToolResult {
            tool_use_id: id.clone(),
            content: "written".into(),
            is_error: false,
        };
        message(Message { role: MessageRole::User, content: vec![result] })
    }));
    let CompactionPlan::Shorten(entry) = planned(&records, 12_000, CompactionTrigger::Full) else {
        panic!("nothing is left out")
    };
    let messages = after(&records, &entry);
    let (calls, results) = calls_and_results(&messages);
    assert!(calls == results && (4..60).contains(&calls), "{calls} calls, {results} results");
    let text = serde_json::to_string(&messages).unwrap();
    let note = format!("{} more calls of this answer and their results are left out", 200 - calls);
    assert!(text.contains(&note), "{text}");
    let valid = messages
        .iter()
        .flat_map(Message::calls)
        .all(|call| matches!(&call.input, CallInput::Valid(input) if input["file_path"] == "f"));
    assert!(valid, "{text}");
}

/// Without a model that writes a summary, ten turns stay, or as many of them as fit.
#[test]
fn without_a_summary_the_last_ten_turns_stay() {
    for (bytes, turns) in [(100, 10), (2_000, 4)] {
        let mut records = Vec::new();
        for number in 0..40 {
            records.push(user(&format!("question {number}")));
            records.push(says(&"a".repeat(bytes)));
        }
        let plan = planned(&records, 8_000, CompactionTrigger::Asked);
        let CompactionPlan::Summarise(plan) = plan else { panic!("{bytes}: {plan:?}") };
        let messages = after(&records, &plan.without_model);
        let answers = messages.iter().filter(|it| it.role == MessageRole::Assistant).count();
        assert!(answers <= turns && answers > 0, "{bytes}: {answers}");
        assert!(bytes > 100 || answers == 10, "{bytes}: {answers}");
    }
}

#[test]
fn nothing_is_planned_for_a_conversation_that_has_just_begun() {
    let records = [user("task"), says("hi")];
    for trigger in [CompactionTrigger::Full, CompactionTrigger::Refused, CompactionTrigger::Asked] {
        assert_eq!(planned(&records, 8_000, trigger), CompactionPlan::Nothing, "{trigger:?}");
    }
}

/// At the end of a turn nothing needs the last answer word for word: where it is all there is to leave
/// out, a summary takes its place.
#[test]
fn one_long_answer_is_worth_a_summary() {
    let records = [user("the task"), says(&"I have found it. ".repeat(1_200))];
    let plan = planned(&records, 64_000, CompactionTrigger::Asked);
    let CompactionPlan::Summarise(plan) = plan else { panic!("{plan:?}") };
    for entry in [plan.entry, plan.without_model] {
        let note = CompactionNote { text: "NOTE".into(), ..CompactionNote::default() };
        let entry = LogEntry::Compaction(CompactionEntry { note: Some(note), ..entry });
        let compaction =
            LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn: TurnId(1), entry };
        let records: Vec<LogRecord> =
            records.iter().cloned().chain([compaction, user("go on")]).collect();
        let messages = ReplayedConversation::of(&records).messages;
        let text = serde_json::to_string(&messages).unwrap();
        assert!(text.contains("the task") && text.contains("NOTE"), "{text}");
        assert!(text.contains("go on") && !text.contains("found it"), "{text}");
    }
}

#[test]
fn a_second_summary_goes_on_from_the_first() {
    let mut records = vec![user("the task")];
    for number in 0..20 {
        records.extend(round("Write", number, 2_000));
    }
    let CompactionPlan::Summarise(first) = planned(&records, 10_000, CompactionTrigger::Asked)
    else {
        panic!("no summary")
    };
    let note = CompactionNote { text: "FIRST NOTE".into(), ..CompactionNote::default() };
    let entry = LogEntry::Compaction(CompactionEntry { note: Some(note), ..first.entry });
    let record =
        LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn: TurnId(1), entry };
    records.push(record);
    for number in 20..40 {
        records.extend(round("Write", number, 2_000));
    }
    let CompactionPlan::Summarise(second) = planned(&records, 10_000, CompactionTrigger::Asked)
    else {
        panic!("no summary")
    };
    let messages = after(&records, &second.entry);
    let text = serde_json::to_string(&messages).unwrap();
    assert!(text.contains("the task") && !text.contains("FIRST NOTE"), "{text}");
    let (calls, results) = calls_and_results(&messages);
    assert_eq!(calls, results);
}

/// The request for a summary fits, with the instruction and the summary, or is not made.
#[test]
fn a_request_for_a_summary_is_never_larger_than_the_window() {
    let mut long = vec![user("the task")];
    for number in 0..40 {
        long.push(user(&format!("message {number}")));
        long.extend(round("Write", number, 400));
        long.push(says(&format!("answer {number} {}", "I have written it. ".repeat(60))));
    }
    let hopeless = vec![user(&"word ".repeat(9_000)), says(&"It is so. ".repeat(400)), user("ok")];
    let cases = [
        (&long, 200_000, Some(SummaryExtent::All)),
        (&long, 8_000, Some(SummaryExtent::Newest)),
        (&hopeless, 8_000, None),
    ];
    for (records, window, extent) in cases {
        measured(records, window, |measured| {
            let planned = plan(measured, CompactionTrigger::Asked);
            let CompactionPlan::Summarise(summary) = planned else { panic!("{planned:?}") };
            let history = summary_history(measured, &summary, CompactionTrigger::Asked);
            assert_eq!(history.as_ref().map(|(_, extent)| *extent), extent, "{window}");
            let Some((history, extent)) = history else { return };
            let size = MeasuredConversation { conversation: &history, ..measured }.size();
            assert!(size + u64::from(output_limit(measured.summary_tokens())) <= window, "{size}");
            let text = serde_json::to_string(&history.messages).unwrap();
            assert!(text.contains("the task") && text.contains("answer 39 "), "{text}");
            assert_eq!(text.contains("answer 0 "), extent == SummaryExtent::All);
            assert_eq!(text.contains("is left out here, because"), extent == SummaryExtent::Newest);
        });
    }
}

/// Asked for less, slug leaves out answers and results, not what the user said.
#[test]
fn what_the_user_said_is_kept_when_the_user_asks_for_less_of_a_short_conversation() {
    let mut records = vec![user("the task")];
    for number in 0..6 {
        records.push(says(&"A long answer. ".repeat(100)));
        records.push(user(&format!("short message {number}")));
    }
    // A message that is too long for the room does not shut out the older ones.
    records.insert(5, user(&"word ".repeat(40_000)));
    let CompactionPlan::Summarise(plan) = planned(&records, 100_000, CompactionTrigger::Asked)
    else {
        panic!("nothing to do")
    };
    let text = serde_json::to_string(&after(&records, &plan.entry)).unwrap();
    for number in 0..6 {
        assert!(text.contains(&format!("short message {number}")), "{number}: {text:.2000}");
    }
    assert!(text.contains("the task") && !text.contains("word word"));
}

/// Pinned results are named apart: unpinning them is what makes room.
#[test]
fn the_floor_names_what_is_pinned() {
    let mut records = vec![user("the task")];
    records.extend(round("Read", 0, 4_000));
    let result = records[2].id;
    let floor = |records: &[LogRecord]| {
        let conversation = ReplayedConversation::of(records);
        let estimator = TokenCalibration::default().of("m");
        RequestFloor::of(&conversation, (100, 200), estimator)
    };
    let before = floor(&records);
    let item = ContextItem { entry: result, part: ContextPart::Result };
    let entry = LogEntry::ContextEdit(ContextEditEntry { item, action: ContextAction::Pin });
    records.push(LogRecord {
        id: EntryId::generate(),
        timestamp: Utc::now(),
        turn: TurnId(1),
        entry,
    });
    let after = floor(&records);
    assert_eq!((before.pinned, before.user), (0, after.user));
    assert!((670..750).contains(&after.pinned), "{after:?}");
    assert_eq!(before.rest, after.rest + after.pinned);
}
