//! Tests of folding out and pinning: records in, what is sent out.

use chrono::Utc;

use super::*;
use crate::domain::{MediaType, MessageImage, TurnId};
use crate::session::{CompactionEntry, CompactionNote, MessageEntry, ReplayedConversation};

fn record(entry: LogEntry) -> LogRecord {
    LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn: TurnId(1), entry }
}

fn message(role: MessageRole, content: Vec<ContentBlock>) -> LogRecord {
    record(LogEntry::Message(MessageEntry::new(Message { role, content })))
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

fn image() -> ContentBlock {
    ContentBlock::Image(MessageImage::new("plan.png", MediaType::Png, (40, 30), b"png"))
}

fn decision(about: &LogRecord, part: ContextPart, action: ContextAction) -> LogRecord {
    let item = ContextItem { entry: about.id, part };
    record(LogEntry::ContextEdit(ContextEditEntry { item, action }))
}

fn sent(records: &[LogRecord]) -> String {
    serde_json::to_string(&ReplayedConversation::of(records).messages).unwrap()
}

/// The record, folded out and brought back: what is sent in each case.
fn folded_and_back(about: &LogRecord, part: ContextPart) -> (String, String) {
    let mut records = vec![message(MessageRole::User, vec![text("task")]), about.clone()];
    let before = sent(&records);
    records.push(decision(about, part, ContextAction::FoldOut));
    let folded = sent(&records);
    records.push(decision(about, part, ContextAction::BringBack));
    assert_eq!(sent(&records), before);
    (before, folded)
}

#[test]
fn thinking_is_folded_out_without_a_trace_and_the_answer_stays() {
    let thinking = |thinking: &str| ContentBlock::Thinking {
        thinking: thinking.into(),
        signature: Some("signed".into()),
    };
    let content = vec![thinking("a long thought"), text("the answer"), thinking("another")];
    let answer = message(MessageRole::Assistant, content);
    let (before, folded) = folded_and_back(&answer, ContextPart::Thinking);
    assert!(before.contains("a long thought") && before.contains("another"));
    assert!(!folded.contains("thought") && !folded.contains("another"), "{folded}");
    assert!(folded.contains("the answer"), "{folded}");
}

#[test]
fn the_output_of_a_command_of_the_users_is_folded_out_with_a_note() {
    let output = ContentBlock::Context { name: SHELL_CONTEXT.into(), text: "$ make\nok 31".into() };
    let command = message(MessageRole::User, vec![output, text("look at that")]);
    let (_, folded) = folded_and_back(&command, ContextPart::Shell);
    assert!(!folded.contains("ok 31") && folded.contains("look at that"), "{folded}");
    assert!(
        folded.contains("The user ran a command here and has left out its output."),
        "{folded}"
    );
}

#[test]
fn all_images_of_a_message_are_folded_out_with_their_names() {
    let pictures = message(MessageRole::User, vec![text("these two"), image(), image()]);
    let (before, folded) = folded_and_back(&pictures, ContextPart::Images);
    assert_eq!(before.matches("\"type\":\"image\"").count(), 2, "{before}");
    assert!(!folded.contains("\"type\":\"image\""), "{folded}");
    assert!(folded.contains("these two") && folded.contains("Left out by the user: "), "{folded}");
    assert_eq!(folded.matches("plan.png").count(), 2, "{folded}");
}

#[test]
fn a_pinned_image_outlives_a_compaction_and_an_unpinned_one_does_not() {
    for (action, is_kept) in [(ContextAction::Pin, true), (ContextAction::Unpin, false)] {
        let picture = message(MessageRole::User, vec![text("how it looks"), image()]);
        let last = message(MessageRole::User, vec![text("go on")]);
        let note = CompactionNote { text: "NOTE".into(), ..CompactionNote::default() };
        let compaction = CompactionEntry {
            first_kept: Some(last.id),
            note: Some(note),
            ..CompactionEntry::default()
        };
        let records = [
            message(MessageRole::User, vec![text("task")]),
            picture.clone(),
            message(MessageRole::Assistant, vec![text("I see.")]),
            last,
            decision(&picture, ContextPart::Images, action),
            record(LogEntry::Compaction(compaction)),
        ];
        let text = sent(&records);
        assert_eq!(text.contains("\"type\":\"image\""), is_kept, "{action:?}: {text}");
        assert!(!text.contains("how it looks") && text.contains("NOTE"), "{action:?}: {text}");
    }
}
