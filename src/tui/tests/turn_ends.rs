//! Tests of the line that closes a turn.

use crate::agent::AgentEvent;
use crate::domain::{Money, NoticeLevel, TokenUsage};
use crate::services::store_query::StoreQuery;
use crate::session::{ChangedLines, LogEntry, LogRecord, TurnChanges, TurnEnd, TurnOutcome};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{TestScreen, assistant, record, recorded, screen, user};

fn end(outcome: TurnOutcome) -> LogRecord {
    let lines = Some(ChangedLines { added: 7, removed: 2 });
    record(LogEntry::TurnEnd(TurnEnd {
        usage: TokenUsage { input: 40_000, output: 5_120, ..TokenUsage::default() },
        cost: Some(Money::from_nanos(120_000_000)),
        elapsed_ms: 14_200,
        changes: Some(TurnChanges { files: 3, lines }),
        ..TurnEnd::of(outcome)
    }))
}

fn answered(width: u16, height: u16, end: &LogRecord) -> TestScreen {
    let text = crate::domain::ContentBlock::Text { text: "Fixed.".into() };
    let log = [user("fix it"), assistant(vec![text]), end.clone()];
    screen(width, height).events(log.iter().map(recorded))
}

fn asks_for_changes(scene: &TestScreen) -> bool {
    scene.effects.iter().any(|effect| {
        matches!(effect, ScreenEffect::QueryStore { job: StoreQuery::Changes { .. }, .. })
    })
}

#[test]
fn a_turn_ends_with_what_it_took() {
    let scene = answered(80, 24, &end(TurnOutcome::Answered));
    scene.shows("─ 14 s · 3 files +7 -2 · 5.1k tokens · $0.12 ─");
    answered(40, 12, &end(TurnOutcome::Answered)).shows("─ 14 s · 3 files +7 -2");
}

#[test]
fn a_turn_that_was_stopped_gets_its_figures_with_its_end() {
    let stopped = recorded(&record(LogEntry::Interrupted));
    let scene = screen(80, 24).event(recorded(&user("fix it"))).event(stopped);
    let scene = scene.shows("■ You stopped the turn");
    let scene = scene.event(recorded(&end(TurnOutcome::Interrupted)));
    let scene = scene.shows("■ You stopped the turn · 14 s · 3 files +7 -2");
    assert_eq!(scene.text().matches("You stopped the turn").count(), 1);
}

#[test]
fn a_failed_turn_says_why_and_what_it_took() {
    let scene = answered(80, 24, &end(TurnOutcome::Failed("The server hung up.".into())));
    scene.shows("✗ The server hung up.").shows("✗ Failed · 14 s · 3 files +7 -2");
}

#[test]
fn the_line_opens_what_the_session_changed() {
    let change = super::changes::change("src/cart.rs");
    let scene = answered(80, 24, &change).event(recorded(&end(TurnOutcome::Answered)));
    let scene = scene.clear_effects().click("3 files");
    assert!(asks_for_changes(&scene), "{:?}", scene.effects);
    let scene = answered(80, 24, &change).event(recorded(&end(TurnOutcome::Answered)));
    let scene = scene.clear_effects().key("tab").key("enter");
    assert!(asks_for_changes(&scene), "{:?}", scene.effects);
}

#[test]
fn a_turn_that_changed_nothing_opens_nothing() {
    let mut quick = end(TurnOutcome::Answered);
    if let LogEntry::TurnEnd(end) = &mut quick.entry {
        end.changes = None;
    }
    let scene = answered(80, 24, &quick).clear_effects().click("14 s");
    assert!(!asks_for_changes(&scene));
}

/// "This reason" under another notice named the wrong one.
#[test]
fn a_failed_turn_repeats_its_reason_unless_that_was_told_last() {
    let notice = |text: &str| AgentEvent::Notice { level: NoticeLevel::Warning, text: text.into() };
    let reason = "The server is still loading the model.";
    let failed = || recorded(&end(TurnOutcome::Failed(reason.into())));
    let told = |notices: &[&str]| {
        let asked = screen(80, 24).event(recorded(&user("fix it")));
        asked.events(notices.iter().map(|text| notice(text))).event(failed())
    };
    told(&[reason]).shows("The turn failed. /retry sends your message again.");
    let scene = told(&[reason, "No summary was written."]).hides("sends your message again");
    assert_eq!(scene.text().matches(reason).count(), 2, "{}", scene.text());
}

#[test]
fn a_compaction_that_was_stopped_is_no_stopped_answer() {
    let mut stopped = TurnEnd::of(TurnOutcome::Interrupted);
    stopped.is_compaction = true;
    let stopped = record(LogEntry::TurnEnd(stopped));
    answered(80, 24, &stopped).shows("■ You stopped the compaction").hides("You stopped the turn");
}
