//! Tests that an idle slug uses no processor: where nothing moves, nothing wakes the loop.

use crate::agent::AgentEvent;
use crate::domain::NoticeLevel;
use crate::session::TurnOutcome;
use crate::tui::app::{ScreenMsg, wake_at};
use crate::tui::test_screen::{TURN, TestScreen, question, recorded, screen, turn_end, user};

/// Steps on a new screen that lead to an idle state.
type IdleScreenSetup = fn(TestScreen) -> TestScreen;

const RESTING: [(&str, IdleScreenSetup); 13] = [
    ("a new session", |scene| scene),
    ("a draft", |scene| scene.types("half a thought")),
    ("a finished turn", finished),
    ("a turn that was stopped", |scene| {
        scene.event(AgentEvent::TurnStarted { turn: TURN }).event(ended(TurnOutcome::Interrupted))
    }),
    ("a turn that failed", |scene| {
        let failed = TurnOutcome::Failed("No server answers.".into());
        scene.event(AgentEvent::TurnStarted { turn: TURN }).event(ended(failed))
    }),
    ("scrolled up", |scene| finished(scene).key("pgup")),
    ("the list of sessions", |scene| scene.key("ctrl+b")),
    ("the help", |scene| scene.key("?")),
    ("the palette", |scene| scene.key("ctrl+p")),
    ("a completion", |scene| scene.types("/")),
    ("a search in the history", |scene| scene.key("ctrl+r")),
    ("something was told", |scene| {
        scene.msg(ScreenMsg::Notice { level: NoticeLevel::Info, text: "Copied".into() })
    }),
    ("a question outside of a turn", |scene| scene.event(question(1, "make"))),
];

fn ended(outcome: TurnOutcome) -> AgentEvent {
    recorded(&turn_end(outcome))
}

fn finished(scene: TestScreen) -> TestScreen {
    scene
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&user(&"a question\n".repeat(60))))
        .event(ended(TurnOutcome::Answered))
}

#[test]
fn where_nothing_moves_there_is_no_timer() {
    for (name, play) in RESTING {
        // Long enough for what disappears by itself, and for what is saved with a delay.
        let scene = play(screen(100, 30)).after(10_000).after(10_000);
        assert_eq!(wake_at(&scene.model), None, "{name}:\n{}", scene.text());
    }
}
