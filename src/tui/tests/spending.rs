//! Tests of what the session has spent, in the first line and on the page of `/status`.

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalKind, ContextWindow, Money, TokenUsage};
use crate::session::{LogEntry, LogRecord, MessageEntry, ReplayedConversation};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TestScreen, assistant, question, screen};

/// A response of `model` that used this many tokens, a tenth of them output, and cost this many
/// thousandths of a dollar.
fn took(model: &str, tokens: u64, cost: Option<u64>) -> LogRecord {
    let mut record = assistant(Vec::new());
    if let LogEntry::Message(said) = &mut record.entry {
        *said = MessageEntry {
            model: Some(model.to_owned()),
            usage: Some(TokenUsage {
                input: tokens,
                output: tokens / 10,
                cache_read: tokens / 2,
                cache_write: 0,
            }),
            cost: cost.map(|cost| Money::from_nanos(cost * 1_000_000)),
            ..said.clone()
        };
    }
    record
}

fn spent(records: &[LogRecord]) -> AgentEvent {
    AgentEvent::SpendingChanged(Box::new(ReplayedConversation::of(records).spending))
}

fn two_models(width: u16, height: u16) -> TestScreen {
    let mut scene = screen(width, height);
    scene.model.conversation.status.window = Some(ContextWindow::Known(1_000_000));
    scene
        .event(spent(&[
            took("claude-sonnet-5-5", 120_000, Some(184)),
            took("qwen3-coder", 8_000, None),
        ]))
        .types("/status")
        .key("enter")
}

#[test]
fn the_first_line_has_the_cost_where_it_is_known() {
    screen(120, 40)
        .event(spent(&[took("qwen3-coder", 1000, None)]))
        .hides("$")
        .event(spent(&[took("claude", 1000, Some(184))]))
        .shows("$0.18 ")
        .event(spent(&[took("claude", 1000, Some(184)), took("qwen3-coder", 1000, None)]))
        .shows("$0.18+");
}

#[test]
fn the_page_has_the_sums_by_model() {
    insta::assert_snapshot!("status_80x24", two_models(80, 24).readable_text());
    insta::assert_snapshot!("status_120x40", two_models(120, 40).readable_text());
}

#[test]
fn the_page_says_why_the_cache_missed() {
    let reason = "the last prompt was read anew: the tools changed".to_owned();
    two_models(120, 40)
        .event(AgentEvent::CacheMissed { reason })
        .shows("cache    the last prompt was");
}

#[test]
fn the_page_says_so_where_no_price_is_known() {
    screen(80, 24)
        .event(spent(&[took("qwen3-coder", 1000, None)]))
        .types("/status")
        .key("enter")
        .shows("No prices: this is your own server");
}

/// The question of a turn that would exceed the session's budget.
fn over_budget() -> AgentEvent {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "") else { unreachable!() };
    request.tool = "Budget".into();
    request.kind = ApprovalKind::Budget;
    request.input = json!({});
    request.reason = "The budget of $2.50 for this session would be exceeded: $2.48 spent, and \
     the next request takes at least $0.0312."
        .into();
    request.parts.clear();
    request.allow_rules.clear();
    request.deny_rule = None;
    AgentEvent::ApprovalAsked(request)
}

#[test]
fn a_turn_over_its_budget_is_a_question() {
    for (width, height) in [(80, 24), (40, 16)] {
        let scene = screen(width, height).event(over_budget()).after(400);
        insta::assert_snapshot!(format!("over_budget_{width}x{height}"), scene.readable_text());
    }
}

#[test]
fn a_budget_is_overdrawn_once_doubled_or_kept() {
    for (key, answer) in [
        ("y", ApprovalAnswer::Once),
        ("s", ApprovalAnswer::Session { rules: Vec::new() }),
        ("n", ApprovalAnswer::Deny { instruction: None }),
    ] {
        let told = ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(1), answer });
        screen(80, 24).event(over_budget()).after(400).key(key).expect_effects(&[told]);
    }
}
