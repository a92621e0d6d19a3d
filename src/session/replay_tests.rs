//! Tests of the replay: records in, conversation out.

use std::path::{Path, PathBuf};

use crate::domain::testing::task;
use crate::domain::{
    ContentHash, PermissionMode, RequestSource, TaskChange, TaskId, TodoStatus, TokenUsage,
};

use super::super::samples::{
    assistant, call, calls, every_kind, record, result, rewind, says, turn_end, user,
};
use super::*;
use crate::session::{
    CompactionEntry, FileChangeEntry, FileChangeSource, RewindEntry, RewindScope, SessionMeta,
    error_of_stub, is_result_stub,
};

fn records(entries: Vec<(u32, LogEntry)>) -> Vec<LogRecord> {
    entries.into_iter().map(|(turn, entry)| record(turn, entry)).collect()
}

/// The sent messages in short: texts, calls as `?id`, results as `id=content`.
fn sent(conversation: &ReplayedConversation) -> Vec<String> {
    let words = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Context { name, text } => format!("<{name}>{text}"),
        ContentBlock::Image(image) => format!("[{image}]"),
        ContentBlock::Thinking { thinking, .. } => format!("({thinking})"),
        ContentBlock::Sealed { protocol, .. } => format!("[{protocol}]"),
        ContentBlock::ToolUse(call) => format!("?{}", call.id),
        ContentBlock::ToolResult { tool_use_id, content, .. } => format!("{tool_use_id}={content}"),
    };
    let all = conversation.messages.iter();
    all.map(|(_, message)| message.content.iter().map(words).collect::<Vec<_>>().join(" "))
        .collect()
}

fn kept_from(id: EntryId) -> LogEntry {
    LogEntry::Compaction(CompactionEntry {
        results_kept_from: Some(id),
        ..CompactionEntry::default()
    })
}

fn first_kept(id: EntryId) -> LogEntry {
    LogEntry::Compaction(CompactionEntry { first_kept: Some(id), ..CompactionEntry::default() })
}

/// The last count of a server, as long as what it has counted is what would be sent again.
#[test]
fn the_newest_counted_request_is_known_until_something_else_is_sent() {
    let mut answer = says("yes");
    if let LogEntry::Message(message) = &mut answer {
        let usage = TokenUsage { input: 1_200, output: 3, ..TokenUsage::default() };
        (message.usage, message.model) = (Some(usage), Some("m".into()));
    }
    let mut log = records(vec![(1, user("one")), (1, answer), (2, user("two"))]);
    let counted = CountedRequest { response: log[1].id, model: "m".into(), input: 1_200 };
    assert_eq!(ReplayedConversation::of(&log).counted_request, Some(counted));
    log.push(record(2, first_kept(log[2].id)));
    assert_eq!(ReplayedConversation::of(&log).counted_request, None);
}

#[test]
fn an_empty_log_gives_an_empty_conversation() {
    let conversation = ReplayedConversation::of(&[]);
    assert_eq!(conversation.messages, []);
    assert_eq!(conversation.next_turn, TurnId(1));
    assert_eq!((conversation.title, conversation.model), (None, None));
}

#[test]
fn every_kind_of_entry_has_its_effect() {
    let conversation =
        ReplayedConversation::of(&records(every_kind().into_iter().map(|e| (3, e)).collect()));
    assert_eq!(conversation.messages.len(), 3);
    assert_eq!(conversation.plan.todos[0].status, TodoStatus::InProgress);
    let task = conversation.plan.tasks.get(TaskId(2)).unwrap();
    assert_eq!((task.owner.as_deref(), task.status), (Some("writer"), TodoStatus::Pending));
    assert_eq!(conversation.title.as_deref(), Some("The cart"));
    assert_eq!(conversation.model.as_deref(), Some("other"));
    assert_eq!(conversation.next_turn, TurnId(4));
    assert_eq!(conversation.open_calls, []);
}

#[test]
fn usage_adds_up_over_responses() {
    let conversation = ReplayedConversation::of(&records(vec![
        (1, user("hello")),
        (1, says("hi")),
        (1, turn_end()),
        (2, says("again")),
    ]));
    assert_eq!(
        conversation.spending.total().usage,
        TokenUsage { input: 20, output: 4, cache_read: 8, ..TokenUsage::default() }
    );
}

#[test]
fn absurd_numbers_in_a_log_do_no_harm() {
    let absurd = |text: &str| match says(text) {
        LogEntry::Message(message) => {
            let usage = TokenUsage {
                input: u64::MAX,
                output: u64::MAX,
                cache_read: u64::MAX,
                ..TokenUsage::default()
            };
            LogEntry::Message(MessageEntry { usage: Some(usage), ..message })
        }
        other => panic!("{other:?}"),
    };
    let all = records(vec![(u32::MAX, absurd("one")), (u32::MAX, absurd("two"))]);
    let conversation = ReplayedConversation::of(&all);
    assert_eq!(conversation.spending.total().usage.input, u64::MAX);
    assert_eq!(conversation.next_turn, TurnId(u32::MAX));
}

#[test]
fn the_title_is_the_given_one_or_made_from_the_first_message() {
    let first = (1, user("\nFix the cart\nIt is empty"));
    let named = (1, LogEntry::Title { title: "Cart".into() });
    let second = (2, user("And more"));
    let cases = [
        (vec![(1, says("hi"))], None),
        (vec![first.clone(), second.clone()], Some("Fix the cart")),
        (vec![first.clone(), named.clone(), second], Some("Cart")),
        (vec![named, first], Some("Cart")),
    ];
    for (entries, title) in cases {
        assert_eq!(ReplayedConversation::of(&records(entries)).title.as_deref(), title);
    }
}

#[test]
fn notes_of_slugs_are_no_messages_of_the_users() {
    let note = ContentBlock::Context { name: "todo".into(), text: "1. Go on.".into() };
    let retry = Message { role: MessageRole::User, content: vec![note] };
    let log = records(vec![(1, user("make it")), (2, LogEntry::Message(MessageEntry::new(retry)))]);
    assert_eq!(SessionMeta::message_summary(&log, &RewindHistory::of(&log)).0, 1);
}

#[test]
fn a_change_that_a_rewind_took_back_is_no_changed_file() {
    let change = every_kind().into_iter().find_map(|entry| match entry {
        LogEntry::FileChange(change) => Some(change),
        _ => None,
    });
    let change = FileChangeEntry { by: FileChangeSource::Tool, ..change.unwrap() };
    let (path, before, after) =
        (change.path.clone(), change.version_before(), change.version_after());
    assert_ne!(before, after);
    let by = FileChangeSource::Rewind;
    let back = FileChangeEntry::new(path.clone(), after.clone(), before.clone(), by);
    let again = FileChangeEntry::new(path.clone(), before, after, by);
    let changed = |log: &[LogRecord]| {
        let conversation = ReplayedConversation::of(log);
        conversation.files_changed.paths().map(Path::to_owned).collect::<Vec<_>>()
    };
    let mut log = records(vec![(1, user("make it")), (1, LogEntry::FileChange(change))]);
    assert_eq!(changed(&log), std::slice::from_ref(&path));
    let none: [PathBuf; 0] = [];
    let mut rewound = log.clone();
    rewound.push(record(1, LogEntry::Rewind(rewind(log[0].id, RewindScope::Both))));
    rewound.push(record(1, LogEntry::FileChange(back.clone())));
    assert_eq!(changed(&rewound), none, "the conversation went back, too");
    log.push(record(1, LogEntry::FileChange(back)));
    assert_eq!(changed(&log), none, "rejected in a review");
    log.push(record(1, LogEntry::FileChange(again)));
    assert_eq!(changed(&log), [path], "and brought back");
}

#[test]
fn a_call_that_never_began_is_told_from_one_that_did() {
    let started = LogEntry::ToolStarted {
        call: CallId::new("a"),
        arguments: ContentHash::of(b"{}"),
        approved_by: "rule".into(),
    };
    let conversation = ReplayedConversation::of(&records(vec![
        (1, user("read all")),
        (1, calls(&["a", "b"])),
        (1, started),
    ]));
    assert_eq!(conversation.open_calls, [call("a"), call("b")]);
    assert_eq!(conversation.not_begun, HashSet::from([CallId::new("b")]));
}

#[test]
fn a_mode_in_the_log_restores_no_permission() {
    let before = records(vec![(1, user("hello"))]);
    let mut conversation = ReplayedConversation::of(&before);
    let then = conversation.clone();
    conversation.apply(&record(1, LogEntry::Mode { mode: PermissionMode::Yolo }));
    assert_eq!(conversation, then);
}

#[test]
fn r9_calls_without_a_result_are_reported() {
    let conversation = ReplayedConversation::of(&records(vec![
        (1, user("read all")),
        (1, calls(&["a", "b", "c"])),
        (1, result("b", "content")),
        (1, LogEntry::Interrupted),
    ]));
    assert_eq!(conversation.open_calls, [call("a"), call("c")]);
}

#[test]
fn an_interrupted_response_stays_with_its_unsigned_thinking() {
    let thinking = ContentBlock::Thinking { thinking: "hm".into(), signature: None };
    let conversation = ReplayedConversation::of(&records(vec![
        (1, user("hello")),
        (1, assistant(vec![thinking, ContentBlock::Text { text: "half".into() }])),
        (1, LogEntry::Interrupted),
    ]));
    assert_eq!(sent(&conversation), ["hello", "(hm) half"]);
}

#[test]
fn a_signature_is_known_with_the_request_that_was_answered() {
    let thought = |signature: Option<&str>| ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: signature.map(str::to_owned),
    };
    let (asked, sealed) = (ContentHash::of(b"asked"), thought(Some("seal")));
    let mut answer = assistant(vec![sealed.clone(), thought(None)]);
    if let LogEntry::Message(message) = &mut answer {
        message.answered = Some(asked.clone());
    }
    let conversation = ReplayedConversation::of(&records(vec![(1, user("hello")), (1, answer)]));
    assert_eq!(conversation.seals.get(&sealed.signature_hash().unwrap()), Some(&asked));
    assert_eq!(conversation.seals.len(), 1);
}

#[test]
fn the_last_text_of_each_context_is_known_while_it_is_sent() {
    let with = |name: &str, text: &str| {
        let context = ContentBlock::Context { name: name.into(), text: text.into() };
        let mut message = Message::user("hello");
        message.content.insert(0, context);
        LogEntry::Message(MessageEntry::new(message))
    };
    let mut all = records(vec![
        (1, with("date", "Monday")),
        (1, says("hi")),
        (2, with("git", "clean")),
        (3, with("git", "dirty")),
    ]);
    let contexts = |records: &[LogRecord]| {
        let contexts = ReplayedConversation::of(records).contexts;
        contexts.into_iter().map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(contexts(&all), ["date Monday", "git dirty"]);
    all.push(record(3, first_kept(all[2].id)));
    assert_eq!(contexts(&all), ["git dirty"]);
}

#[test]
fn results_before_the_kept_ones_become_stubs() {
    let long = "x".repeat(200);
    let mut all = records(vec![
        (1, user("read all")),
        (1, calls(&["a", "b", "c"])),
        (1, result("a", &long)),
        (1, result("b", "short")),
        (1, result("c", &long)),
    ]);
    all.push(record(1, kept_from(all[4].id)));
    let stub =
        "a=[result of Read dropped to save space, 200 characters; call it again if you need it]";
    let last = format!("c={long}");
    assert_eq!(
        sent(&ReplayedConversation::of(&all)),
        ["read all", "?a ?b ?c", stub, "b=short", &last]
    );
}

#[test]
fn the_stub_of_a_failed_result_still_has_the_error() {
    let failed = |content: &str| {
        let block = ContentBlock::ToolResult {
            tool_use_id: CallId::new("a"),
            content: content.into(),
            is_error: true,
        };
        LogEntry::Message(MessageEntry::new(Message {
            role: MessageRole::User,
            content: vec![block],
        }))
    };
    let stub = |content: &str| {
        let mut log = records(vec![
            (1, user("test it")),
            (1, calls(&["a"])),
            (1, failed(content)),
            (1, says("no")),
        ]);
        log.push(record(1, kept_from(log[3].id)));
        sent(&ReplayedConversation::of(&log))[2].strip_prefix("a=").unwrap().to_owned()
    };
    let long = stub(&format!("running\n{}\ncart::total failed\n[exit status 1]", "x ".repeat(500)));
    assert!(is_result_stub(&long), "{long}");
    let error = error_of_stub(&long).unwrap();
    assert!(error.starts_with("running x x"), "{error}");
    assert!(error.ends_with("cart::total failed [exit status 1]"), "{error}");
    assert!(long.len() < 330, "{long}");
    let short = "There is no file cart.rs. Did you mean basket.rs?";
    assert_eq!(stub(short), short, "a stub would be longer");
    assert_eq!(error_of_stub(short), None);
}

#[test]
fn messages_before_the_first_kept_are_gone_but_no_result_loses_its_call() {
    let all = records(vec![
        (1, user("one")),
        (1, calls(&["a", "b"])),
        (1, result("a", "A")),
        (1, result("b", "B")),
        (1, says("done")),
        (2, user("two")),
        (2, calls(&["open"])),
    ]);
    let from_call = ["?a ?b", "a=A", "b=B", "done", "two", "?open"].as_slice();
    let cases = [
        (0, ["one", "?a ?b", "a=A", "b=B", "done", "two", "?open"].as_slice()),
        (1, from_call),
        (2, from_call),
        (3, from_call),
        (5, ["two", "?open"].as_slice()),
    ];
    for (kept, expected) in cases {
        let mut all = all.clone();
        all.push(record(2, first_kept(all[kept].id)));
        let conversation = ReplayedConversation::of(&all);
        assert_eq!(sent(&conversation), expected, "kept from {kept}");
        assert_eq!(conversation.open_calls, [call("open")]);
    }
}

#[test]
fn a_compaction_from_a_record_that_is_no_message_counts_from_the_next_one() {
    let mut all = records(vec![(1, user("one")), (1, turn_end()), (2, user("two"))]);
    all.push(record(2, first_kept(all[1].id)));
    assert_eq!(sent(&ReplayedConversation::of(&all)), ["two"]);
}

#[test]
fn rewound_messages_are_paid_for_and_not_sent() {
    let mut all = records(vec![
        (1, user("one")),
        (1, says("first")),
        (2, user("two")),
        (2, says("second")),
        (2, LogEntry::Todo { todos: Vec::new() }),
    ]);
    let before = all[2].id;
    let spent = ReplayedConversation::of(&all).spending;
    all.push(record(2, LogEntry::Rewind(rewind(before, RewindScope::Both))));
    let back = ReplayedConversation::of(&all);
    assert_eq!(sent(&back), ["one", "first"]);
    assert_eq!((back.next_turn, &back.spending), (TurnId(3), &spent));
    let redo = RewindEntry { redoes: Some(all[5].id), ..rewind(before, RewindScope::Both) };
    all.push(record(2, LogEntry::Rewind(redo)));
    assert_eq!(sent(&ReplayedConversation::of(&all)), ["one", "first", "two", "second"]);
}

/// What the log keeps of a response that a summary took.
fn summary() -> LogEntry {
    let LogEntry::Message(message) = says("a summary") else { panic!("no message") };
    let usage = Some(TokenUsage { input: 700, ..TokenUsage::default() });
    LogEntry::Message(MessageEntry { source: RequestSource::Summary, usage, ..message })
}

#[test]
fn what_was_asked_beside_the_conversation_is_paid_for_and_no_part_of_it() {
    let plain = [(1, user("one")), (1, says("first"))];
    let mut all = plain.to_vec();
    all.insert(1, (1, summary()));
    all.push((1, summary()));
    let (all, plain) = (records(all), records(plain.to_vec()));
    let (with, without) = (ReplayedConversation::of(&all), ReplayedConversation::of(&plain));
    assert_eq!(sent(&with), sent(&without));
    assert_eq!(with.title, without.title);
    let spent = |it: &ReplayedConversation| it.spending.turn(TurnId(1)).usage.input;
    assert_eq!(spent(&with), spent(&without) + 1400);
    let sources: Vec<&str> =
        with.spending.by_source().iter().map(|(source, _)| source.name()).collect();
    assert_eq!(sources, ["summary", "main"]);
    assert_eq!(with.spending.last(), without.spending.last(), "of the conversation alone");
    let rewinds = RewindHistory::of(&all);
    let (count, begins) = SessionMeta::message_summary(&all, &rewinds);
    assert_eq!((count, begins.as_deref()), (2, Some("first")));
}

#[test]
fn a_rewound_compaction_drops_nothing() {
    let mut all = records(vec![(1, user("one")), (1, says("first")), (2, user("two"))]);
    all.push(record(2, first_kept(all[2].id)));
    assert_eq!(sent(&ReplayedConversation::of(&all)), ["two"]);
    let before = all[2].id;
    all.push(record(2, LogEntry::Rewind(rewind(before, RewindScope::Conversation))));
    assert_eq!(sent(&ReplayedConversation::of(&all)), ["one", "first"]);
}

/// A rewind leaves the tasks as they were before the turn, and its reversal brings the change back.
#[test]
fn tasks_are_rewound_with_the_conversation() {
    let change = |id: u64, status: TodoStatus, removed: &[u64]| {
        let removed = removed.iter().copied().map(TaskId).collect();
        LogEntry::Tasks(TaskChange { tasks: vec![task(id, status, &[])], removed })
    };
    let mut all = records(vec![
        (1, user("one")),
        (1, change(1, TodoStatus::Pending, &[])),
        (1, change(2, TodoStatus::Pending, &[])),
        (2, user("two")),
        (2, change(3, TodoStatus::Completed, &[1])),
    ]);
    let ids = |records: &[LogRecord]| {
        let conversation = ReplayedConversation::of(records);
        conversation.plan.tasks.iter().map(|task| task.id.0).collect::<Vec<_>>()
    };
    assert_eq!(ids(&all), [2, 3]);
    let before = all[3].id;
    all.push(record(2, LogEntry::Rewind(rewind(before, RewindScope::Both))));
    assert_eq!(ids(&all), [1, 2]);
    let redo = RewindEntry { redoes: Some(all[5].id), ..rewind(before, RewindScope::Both) };
    all.push(record(2, LogEntry::Rewind(redo)));
    assert_eq!(ids(&all), [2, 3]);
}
