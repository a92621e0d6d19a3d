//! Tests of texts of megabytes: a frame lays none of them out anew, while they stream and afterwards.

use std::sync::Arc;

use crate::agent::AgentEvent;
use crate::domain::ContentBlock;
use crate::session::LogRecord;
use crate::tui::test_screen::{TURN, TestScreen, assistant, screen, session, user};

fn table(rows: usize) -> String {
    format!("|a|b|\n|-|-|\n{}", "|one|two|\n".repeat(rows))
}

fn answer(text: String) -> LogRecord {
    assistant(vec![ContentBlock::Text { text }])
}

/// Draws some frames, in which nothing may be laid out.
#[track_caller]
fn lays_nothing_out(mut scene: TestScreen) {
    let before = scene.layout_count();
    for millis in [10, 500, 500] {
        scene = scene.after(millis);
    }
    assert_eq!(scene.layout_count(), before);
}

#[test]
fn frames_over_huge_answers_lay_nothing_out_again() {
    // The longest that is laid out as Markdown, and one that is far too long for that.
    for rows in [13_000, 300_000] {
        let log = [user("a table"), answer(table(rows)), user("thanks"), answer("Done.".into())];
        let opened =
            AgentEvent::SessionOpened { session: session(), records: Arc::new(log.into()) };
        // The end of the table and what is below it are on screen together.
        let scene = screen(80, 24).event(opened).shows("one").shows("Done.");
        lays_nothing_out(scene);
    }
}

#[test]
fn an_answer_that_streams_is_bounded_once_it_is_huge() {
    let text = |text: String| AgentEvent::Text { turn: TURN, text };
    let scene = screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(text(table(1_000)))
        .shows("one │ two")
        .event(text("|one|two|\n".repeat(300_000)))
        .event(text("The end.".into()))
        .shows("The end.")
        .shows("|one|two|");
    lays_nothing_out(scene);
}
