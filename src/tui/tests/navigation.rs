//! Tests of moving around: messages, errors, the scroll bar, the note about new lines.

use crossterm::event::{MouseButton, MouseEventKind};
use serde_json::json;

use crate::domain::{ContentBlock, ToolStatus};
use crate::session::ToolResultInfo;
use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::app::geometry::TimelineMarkKind;
use crate::tui::app::wheel::WheelSettings;
use crate::tui::test_screen::{TestScreen, assistant, call, done, recorded, result, screen, user};

const LEFT: MouseButton = MouseButton::Left;

/// Ten questions, each with a long answer and a call; the third and the sixth call fail.
fn talk() -> TestScreen {
    let log = (0..10).flat_map(|number| {
        let text = (0..12).map(|line| format!("answer {number}.{line}\n\n")).collect();
        let id = format!("c{number}");
        let status = if matches!(number, 2 | 5) { ToolStatus::Failed } else { ToolStatus::Done };
        let info = ToolResultInfo { status, ..done("Bash", 3) };
        [
            user(&format!("question {number}")),
            assistant(vec![
                ContentBlock::Text { text },
                ContentBlock::ToolUse(call(
                    &id,
                    "Bash",
                    json!({"command": format!("run {number}")}),
                )),
            ]),
            result(&id, "output", info),
        ]
    });
    screen(80, 24).events(log.map(|record| recorded(&record)))
}

/// The transcript's first row that has text, below the message that has scrolled away.
fn top(scene: &TestScreen) -> String {
    first_row(scene, 2 + usize::from(scene.model.conversation.geometry.pinned.is_some()))
}

/// The first row that has text, from this row of the screen on.
fn first_row(scene: &TestScreen, from: usize) -> String {
    let rows = scene.text();
    let mut rows = rows
        .lines()
        .skip(from)
        .map(|row| row.trim_matches(['"', ' ', '▐', '▎', '•', '×', '+']).to_owned());
    rows.find(|row| !row.is_empty()).unwrap_or_default()
}

#[test]
fn messages_are_gone_through_from_the_input() {
    let scene = talk().key("alt+p");
    assert_eq!(top(&scene), "❯ question 9");
    let scene = scene.key("alt+p").key("alt+p");
    assert_eq!(top(&scene), "❯ question 7");
    let scene = scene.key("alt+n");
    assert_eq!(top(&scene), "❯ question 8");
    let scene = (0..10).fold(scene, |scene, _| scene.key("alt+p"));
    assert_eq!(top(&scene), "❯ question 0");
    scene.shows("No message above").key("ctrl+end").shows("answer 9.11");
}

#[test]
fn errors_are_gone_through_from_the_panes_with_the_focus() {
    let scene = talk().key("tab").key("(");
    assert!(top(&scene).contains("run 5"), "{}", scene.text());
    let scene = scene.shows("▎▾ Bash    run 5  ✗ failed").key("(");
    let scene = scene.shows("▎▾ Bash    run 2  ✗ failed").key("(").shows("No error above");
    scene.key(")").shows("▎▾ Bash    run 5  ✗ failed");
}

#[test]
fn from_inside_an_answer_the_message_above_is_its_own() {
    let scene = talk().key("alt+p").key("shift+down").key("shift+down").key("pgup").key("pgdn");
    let scene = scene.key("pgup");
    let inside = top(&scene);
    let number = inside.split(['.', ' ']).nth(1).unwrap().to_owned();
    let scene = scene.key("alt+p");
    assert_eq!(top(&scene), format!("❯ question {number}"));
}

#[test]
fn a_notch_goes_its_rows_however_many_events_it_has() {
    let at = |events: u16, count: usize| {
        let mut scene = talk();
        scene.model.shared.settings.wheel = WheelSettings { rows: 3, events };
        let turns = 0..count * usize::from(events);
        let scene = turns.fold(scene, |scene, _| scene.mouse(MouseEventKind::ScrollUp, 10, 10));
        top(&scene)
    };
    assert_eq!(at(9, 4), at(1, 4));
    assert_eq!(at(3, 4), at(1, 4));
    assert_ne!(at(1, 4), at(1, 3));
}

#[test]
fn the_scroll_bar_is_dragged_and_clicked() {
    let scene = talk();
    let bar = scene.model.conversation.geometry.bar.unwrap();
    let thumb = bar.area.y + bar.start;
    let scene = scene.mouse(MouseEventKind::Down(LEFT), bar.area.x, thumb).mouse(
        MouseEventKind::Drag(LEFT),
        5,
        0,
    );
    assert_eq!(top(&scene), "❯ question 0");
    for row in bar.area.y..bar.area.y + bar.area.height / 2 {
        let scene = talk().mouse(MouseEventKind::Down(LEFT), bar.area.x, thumb).mouse(
            MouseEventKind::Drag(LEFT),
            bar.area.x,
            row,
        );
        let now = scene.model.conversation.geometry.bar.unwrap();
        assert!(now.start.abs_diff(row - bar.area.y) <= 1, "{row}: {now:?}\n{}", scene.text());
    }
    let scene = scene
        .mouse(MouseEventKind::Drag(LEFT), 5, 23)
        .mouse(MouseEventKind::Up(LEFT), 5, 23)
        .shows("answer 9.11");
    assert_eq!(scene.model.conversation.scroll.anchor, ScrollAnchor::Tail);
    let middle = bar.area.y + bar.area.height / 2;
    let scene = scene.mouse(MouseEventKind::Down(LEFT), bar.area.x, middle);
    let scene = scene.mouse(MouseEventKind::Up(LEFT), bar.area.x, middle).hides("answer 9.11");
    assert!(scene.model.conversation.selection.is_none());
}

#[test]
fn the_message_that_scrolled_away_stays_above_its_answer_and_leads_back_to_it() {
    let scene = talk();
    assert_eq!(scene.model.conversation.geometry.pinned, None, "at the end all is as it was");
    let mut scene = scene.key("pgup");
    for _ in 0..60 {
        let first = first_row(&scene, 2);
        let shown = scene.model.conversation.geometry.rows.first().unwrap().block;
        let pinned = scene.model.conversation.geometry.pinned;
        assert!(first.starts_with("❯ question "), "{first}");
        assert_ne!(pinned.map(|it| it.block), Some(shown), "{first}");
        let next = scene.text().lines().nth(3).unwrap_or_default().to_owned();
        let number = first.trim_start_matches("❯ question ").split(' ').next().unwrap();
        if let Some((_, answer)) = next.split_once("answer ") {
            assert!(answer.starts_with(&format!("{number}.")), "{first} above {next}");
        }
        scene = scene.key_at_once("shift+up");
    }
    let scene = talk().key("pgup").key("pgup").key("shift+up").key("shift+up");
    let pinned = scene.model.conversation.geometry.pinned.unwrap();
    let (x, y) = (pinned.area.x + 5, pinned.area.y);
    let scene = scene.mouse(MouseEventKind::Down(LEFT), x, y);
    let scene = scene.mouse(MouseEventKind::Up(LEFT), x, y);
    assert_eq!(scene.model.conversation.geometry.pinned, None);
    assert_eq!(scene.model.conversation.geometry.rows[0].block, pinned.block);
}

#[test]
fn a_mark_beside_the_scroll_bar_leads_to_its_block() {
    let scene = talk();
    let marks = scene.model.conversation.geometry.timeline.clone();
    let kinds = |wanted| marks.iter().filter(move |mark| mark.kind == wanted);
    assert_eq!(kinds(TimelineMarkKind::Failure).count(), 2, "{marks:?}");
    assert!(kinds(TimelineMarkKind::Message).count() > 5, "{marks:?}");
    let first = kinds(TimelineMarkKind::Message).nth(1).unwrap();
    let bar = scene.model.conversation.geometry.bar.unwrap();
    let (at, row) = (bar.area.x, bar.area.y + first.row);
    let scene = scene.mouse(MouseEventKind::Down(LEFT), at, row);
    let scene = scene.mouse(MouseEventKind::Drag(LEFT), at, row + 3);
    let scene = scene.mouse(MouseEventKind::Up(LEFT), at, row + 3);
    assert_eq!(top(&scene), "❯ question 1");
}

#[test]
fn the_timeline_follows_a_call_until_it_has_failed() {
    let mut scene = talk();
    let failures = |scene: &TestScreen| {
        let timeline = &scene.model.conversation.geometry.timeline;
        timeline.iter().filter(|mark| mark.kind == TimelineMarkKind::Failure).count()
    };
    assert_eq!(failures(&scene), 2);
    let asked =
        assistant(vec![ContentBlock::ToolUse(call("last", "Bash", json!({"command": "x"})))]);
    scene = scene.event(recorded(&asked));
    assert_eq!(failures(&scene), 2, "it runs");
    let failed = ToolResultInfo { status: ToolStatus::Failed, ..done("Bash", 3) };
    scene = scene.event(recorded(&result("last", "no", failed)));
    assert_eq!(failures(&scene), 3);
    assert!(scene.text().contains('•'), "{}", scene.text());
}

#[test]
fn the_line_that_says_what_is_below_goes_there_when_clicked() {
    let scene = talk().key("pgup").shows("more below");
    let below = scene.model.conversation.geometry.below.unwrap();
    let scene = scene.mouse(MouseEventKind::Down(LEFT), below.x + 2, below.y);
    scene.shows("answer 9.11").hides("more below");
}
