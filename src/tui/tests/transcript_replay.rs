//! Tests that the transcript from live events equals the one that is replayed from the log.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{CallId, ContentBlock, FileDiff, StopReason, ToolDisplay};
use crate::providers::retry::RetryAttempt;
use crate::session::{
    LogEntry, LogRecord, RewindEntry, RewindScope, ToolResultInfo, TurnEnd, TurnOutcome,
};
use crate::tui::app::conversation::block::{BlockBody, ThinkingText, ToolCallBlock};
use crate::tui::app::conversation::transcript::Transcript;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, turn_end, user,
};

/// A turn with thinking, text, a read, an edit, and the answer: as a log, and as live events.
fn turn() -> (Vec<LogRecord>, Vec<AgentEvent>) {
    let read = call("c1", "Read", json!({"file_path": "/home/me/src/webshop/src/cart.rs"}));
    let edit = call("c2", "Edit", json!({"file_path": "/home/me/src/webshop/src/cart.rs"}));
    let diff = FileDiff::between("/home/me/src/webshop/src/cart.rs", "a\nb\n", "a\nc\n");
    let edited = ToolResultInfo {
        summary: Some("+1 -1".into()),
        display: Some(ToolDisplay::Diff(diff)),
        ..done("Edit", 5)
    };
    let log = vec![
        user("why does it fail?"),
        assistant(vec![
            ContentBlock::Thinking { thinking: "let me see".into(), signature: None },
            ContentBlock::Text { text: "I look.".into() },
            ContentBlock::ToolUse(read.clone()),
            ContentBlock::ToolUse(edit.clone()),
        ]),
        result("c1", "1 a\n2 b", done("Read", 3)),
        result("c2", "edited", edited),
        assistant(vec![ContentBlock::Text { text: "It is fixed.".into() }]),
        crate::tui::test_screen::record(LogEntry::TurnEnd(TurnEnd {
            elapsed_ms: 14_200,
            ..TurnEnd::of(TurnOutcome::Answered)
        })),
    ];
    let text = |text: &str| AgentEvent::Text { turn: TURN, text: text.into() };
    let timed = AgentEvent::ResponseTimed { turn: TURN, streamed_for: Duration::from_secs(10) };
    let events = vec![
        AgentEvent::TurnStarted { turn: TURN },
        recorded(&log[0]),
        AgentEvent::RequestSent { turn: TURN },
        AgentEvent::Thinking { turn: TURN, text: "let me ".into() },
        AgentEvent::Thinking { turn: TURN, text: "see".into() },
        text("I "),
        text("look."),
        AgentEvent::CallStarted { turn: TURN, call: CallId::new("c1"), name: "Read".into() },
        AgentEvent::CallInput { turn: TURN, call: CallId::new("c1"), json: "{\"file".into() },
        AgentEvent::CallStarted { turn: TURN, call: CallId::new("c2"), name: "Edit".into() },
        timed.clone(),
        recorded(&log[1]),
        AgentEvent::ToolStarted { turn: TURN, call: read },
        recorded(&log[2]),
        AgentEvent::ToolStarted { turn: TURN, call: edit },
        AgentEvent::ToolProgress { turn: TURN, call: CallId::new("c2"), text: "…".into() },
        recorded(&log[3]),
        AgentEvent::RequestSent { turn: TURN },
        text("\n"),
        text("It is"),
        timed,
        recorded(&log[4]),
        recorded(&log[5]),
    ];
    (log, events)
}

/// Bodies without the times that only a live turn knows.
fn bodies(transcript: &Transcript) -> Vec<BlockBody> {
    let timeless = |body: &BlockBody| match body.clone() {
        BlockBody::Thinking(thinking) => {
            BlockBody::Thinking(ThinkingText { since: None, elapsed: None, ..thinking })
        }
        BlockBody::Tool(tool) => BlockBody::Tool(Box::new(ToolCallBlock { since: None, ..*tool })),
        other => other,
    };
    transcript.blocks().iter().map(|block| timeless(&block.body)).collect()
}

fn from_log(log: &[LogRecord]) -> Vec<BlockBody> {
    bodies(&Transcript::from_records("/home/me/src/webshop".into(), log))
}

fn played(events: Vec<AgentEvent>) -> TestScreen {
    screen(80, 24).events(events)
}

#[test]
fn events_and_log_lead_to_the_same_blocks() {
    let (log, events) = turn();
    let blocks = from_log(&log);
    assert_eq!(blocks.len(), 7);
    assert_eq!(bodies(&played(events).model.conversation.transcript), blocks);
}

#[test]
fn an_interrupted_turn_is_the_same_from_both() {
    let (log, events) = turn();
    let interrupted = crate::tui::test_screen::record(LogEntry::Interrupted);
    let partial = assistant(vec![ContentBlock::Text { text: "I look.".into() }]);
    let mut live: Vec<AgentEvent> = events.into_iter().take(10).collect();
    live.push(recorded(&partial));
    live.push(recorded(&interrupted));
    live.push(recorded(&turn_end(TurnOutcome::Interrupted)));
    let log = [log[0].clone(), partial, interrupted, turn_end(TurnOutcome::Interrupted)];
    let blocks = from_log(&log);
    assert_eq!(blocks.len(), 3);
    assert_eq!(bodies(&played(live).model.conversation.transcript), blocks);
}

#[test]
fn a_block_keeps_its_name_when_its_line_arrives() {
    let (_, events) = turn();
    let streaming = played(events[..7].to_vec());
    let before: Vec<_> =
        streaming.model.conversation.transcript.blocks().iter().map(|block| block.id).collect();
    let done = streaming.events(events[7..].to_vec());
    let after: Vec<_> =
        done.model.conversation.transcript.blocks().iter().map(|block| block.id).collect();
    assert_eq!(before, after[..before.len()]);
}

#[test]
fn what_is_stale_changes_nothing() {
    let scene = screen(80, 24).event(AgentEvent::TurnStarted { turn: TURN });
    let stale = crate::domain::TurnId(7);
    let scene = scene.event(AgentEvent::Text { turn: stale, text: "old".into() });
    assert_eq!(scene.model.conversation.transcript.blocks().len(), 0);
}

/// A response with this text that reached the output limit.
fn cut(text: &str) -> LogRecord {
    let mut record = assistant(vec![ContentBlock::Text { text: text.into() }]);
    if let LogEntry::Message(message) = &mut record.entry {
        message.stop_reason = Some(StopReason::MaxTokens);
    }
    record
}

#[test]
fn an_answer_that_was_cut_off_goes_on_where_it_stood() {
    let mut note = user("");
    if let LogEntry::Message(message) = &mut note.entry {
        message.content =
            vec![ContentBlock::Context { name: "continuation".into(), text: "Go on.".into() }];
    }
    let rest = assistant(vec![ContentBlock::Text { text: "let b;\n```".into() }]);
    let log = [cut("```rs\nlet a;\n"), note, rest];
    let text = |piece: &str| AgentEvent::Text { turn: TURN, text: piece.into() };
    let dropped =
        AgentEvent::ResponseDropped { turn: TURN, reason: "It broke.".to_owned(), again: None };
    let [first, note, rest] = log.each_ref().map(recorded);
    let events = [
        AgentEvent::TurnStarted { turn: TURN },
        text("```rs\nlet a"),
        text(";\n"),
        first,
        note,
        text("void"),
        dropped,
        text("let "),
        text("b;\n```"),
        rest,
    ];
    let live = played(events.to_vec()).model.conversation.transcript;
    assert_eq!(live.last_answer(), Some("```rs\nlet a;\nlet b;\n```"));
    assert_eq!(live.blocks().len(), 1);
    assert_eq!(bodies(&live), from_log(&log));
}

#[test]
fn a_dropped_response_is_struck_and_its_calls_go() {
    let (_, events) = turn();
    let dropped = AgentEvent::ResponseDropped {
        turn: TURN,
        reason: "The server closed the connection.".into(),
        again: Some(RetryAttempt { pause: Duration::from_secs(4), number: 2, of: 5 }),
    };
    let scene = played(events[..9].to_vec()).event(dropped.clone());
    let scene = scene.shows("Thought, then had to start over").hides("Read");
    let blocks = scene.model.conversation.transcript.blocks().len();
    let scene = scene.shows("Trying again in 4 s (2 of 5)").event(dropped);
    assert_eq!(scene.model.conversation.transcript.blocks().len(), blocks, "the same is said once");
    let anew = AgentEvent::ResponseDropped { turn: TURN, reason: "Too long.".into(), again: None };
    scene.event(anew).shows("Waiting for the model");
}

#[test]
fn events_and_log_agree_on_what_went_back() {
    let (mut log, events) = turn();
    let (second, later) = turn();
    let before = second[0].id;
    log.extend(second);
    let rewind = RewindEntry {
        before,
        redoes: None,
        what: RewindScope::Both,
        part: None,
        files: Vec::new(),
        left: Vec::new(),
        messages: 4,
        summary: None,
    };
    let scene = played(events.into_iter().chain(later).collect());
    let whole = bodies(&scene.model.conversation.transcript);
    log.push(crate::tui::test_screen::record(LogEntry::Rewind(rewind.clone())));
    let opened = |log: &[LogRecord]| AgentEvent::SessionOpened {
        session: crate::tui::test_screen::session(),
        records: Arc::new(log.to_vec()),
    };
    let scene = scene.event(opened(&log));
    let gone = bodies(&scene.model.conversation.transcript);
    assert_eq!(gone, from_log(&log));
    assert_eq!((gone.len(), whole.len()), (8, 13), "one turn, and that it went back");
    let redo = RewindEntry { redoes: Some(log[log.len() - 1].id), ..rewind };
    log.push(crate::tui::test_screen::record(LogEntry::Rewind(redo)));
    let scene = scene.event(opened(&log));
    assert_eq!(from_log(&log), whole);
    assert_eq!(bodies(&scene.model.conversation.transcript), whole);
}
