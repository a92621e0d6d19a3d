//! Tests of how the chat looks.

use std::time::Duration;

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{CallId, ContentBlock, FileDiff, TokenUsage, ToolDisplay, ToolStatus};
use crate::providers::PrefillProgress;
use crate::session::ToolResultInfo;
use crate::tui::app::wake_at;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, user, with_usage,
};

/// The chat of the design: a question, thinking, calls, an answer, a command that runs.
fn chat(width: u16, height: u16) -> TestScreen {
    let old = "fn total(&self) -> Money {\n    self.lines.reduce(Add::add).unwrap()\n}\n";
    let new = "fn total(&self) -> Money {\n    self.lines.sum()\n}\n";
    let path = "/home/me/src/webshop/src/cart.rs";
    let read = call("c1", "Read", json!({"file_path": path, "limit": 120}));
    let grep = call("c2", "Grep", json!({"pattern": "fn total", "path": "src/"}));
    let edit = call("c3", "Edit", json!({"file_path": path}));
    let bash = call("c4", "Bash", json!({"command": "cargo test -p shop cart"}));
    let found = ToolResultInfo { summary: Some("4 matches".into()), ..done("Grep", 9) };
    let display = Some(ToolDisplay::Diff(FileDiff::between(path, old, new)));
    let edited = ToolResultInfo { display, ..done("Edit", 5) };
    let thinking = AgentEvent::Thinking { turn: TURN, text: "An empty cart has no lines.".into() };
    let usage =
        TokenUsage { input: 12_000, output: 400, cache_read: 9_000, ..TokenUsage::default() };
    let first = with_usage(
        assistant(vec![
            ContentBlock::Thinking {
                thinking: "An empty cart has no lines.".into(),
                signature: None,
            },
            ContentBlock::ToolUse(read),
            ContentBlock::ToolUse(grep),
            ContentBlock::ToolUse(edit),
        ]),
        usage,
    );
    let answer = "Checkout panics because `reduce` on an empty iterator yields `None`.";
    let second = assistant(vec![
        ContentBlock::Text { text: answer.into() },
        ContentBlock::ToolUse(bash.clone()),
    ]);
    screen(width, height)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&user("why does checkout fail when the cart is empty?")))
        .event(thinking)
        .after(4200)
        .event(AgentEvent::ResponseTimed { turn: TURN, streamed_for: Duration::from_secs(10) })
        .event(recorded(&first))
        .event(recorded(&result("c1", "1 fn", done("Read", 3))))
        .event(recorded(&result("c2", "src/cart.rs:1", found)))
        .event(recorded(&result("c3", "edited", edited)))
        .event(recorded(&second))
        .event(AgentEvent::ToolStarted { turn: TURN, call: bash })
        .event(AgentEvent::ToolProgress {
            turn: TURN,
            call: CallId::new("c4"),
            text: "running 14 tests\ntest cart::empty_total_is_zero ... ok\n".into(),
        })
        .after(7000)
        .types("also add a test for a cart with one free item")
}

#[test]
fn the_chat_at_80x24() {
    insta::assert_snapshot!(chat(80, 24).readable_text());
}

#[test]
fn the_chat_at_120x40() {
    insta::assert_snapshot!(chat(120, 40).readable_text());
}

#[test]
fn the_chat_on_the_smallest_screen() {
    insta::assert_snapshot!(chat(40, 12).readable_text());
}

#[test]
fn the_keys_at_80x24() {
    insta::assert_snapshot!(screen(80, 24).key("?").readable_text());
}

#[test]
fn any_size_can_be_drawn() {
    for (width, height) in [(0, 0), (1, 1), (2, 3), (20, 5), (40, 12), (300, 100)] {
        let scene = chat(80, 24).resized(width, height).key("?").key("esc").key("ctrl+p");
        let scene = scene.key("esc").event(crate::tui::test_screen::question(1, "ls"));
        assert_eq!(scene.model.shared.geometry.width, width);
    }
}

#[test]
fn nothing_moves_when_idle() {
    let scene = screen(80, 24);
    assert_eq!(wake_at(&scene.model), None);
    let scene = scene.event(AgentEvent::TurnStarted { turn: TURN });
    assert!(wake_at(&scene.model).is_some());
}

#[test]
fn a_slow_prompt_shows_how_far_it_is() {
    let read = |processed| AgentEvent::Prefill {
        turn: TURN,
        progress: PrefillProgress { processed, total: 12_400, cached: 2_000 },
    };
    screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(read(3_100))
        .shows("Reading the prompt 25% · 3.1k of 12.4k tokens, 2k cached")
        .hides("left")
        .after(2_000)
        .event(read(3_500))
        .shows("200/s  ~45 s left  0:02")
        .after(4_000)
        .shows("200/s  ~41 s left  0:06")
        .event(read(12_400))
        .shows("Waiting for the model")
        .hides("Reading");
}

#[test]
fn a_failed_call_says_so_in_words() {
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Bash", json!({"command": "false"})))]),
        result("c1", "exit 1", ToolResultInfo { status: ToolStatus::Failed, ..done("Bash", 3) }),
    ];
    screen(80, 24).events(log.iter().map(recorded)).shows("▾ Bash    false  ✗ failed");
}

#[test]
fn a_call_inside_another_is_the_pane_of_its_tool() {
    let input = json!({"tool": "Read", "input": {"file_path": "/home/me/src/webshop/a.rs"}});
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Call", input))]),
        result("c1", "1 fn", done("Read", 3)),
    ];
    screen(80, 24).events(log.iter().map(recorded)).shows("▸ Read    a.rs");
}
