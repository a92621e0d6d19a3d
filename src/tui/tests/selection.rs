//! Tests of selecting with the mouse: the selected text is the source, whatever the width.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{ContentBlock, FileDiff, ToolDisplay};
use crate::session::ToolResultInfo;
use crate::tui::app::geometry::TranscriptRowKind;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::layout::markdown::code_blocks;
use crate::tui::layout::{SyntaxHighlighter, markdown};
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, title, user,
};

const LEFT: MouseButton = MouseButton::Left;

/// A screen that shows an answer from its first row on.
fn answer(width: u16, height: u16, text: &str) -> TestScreen {
    screen(width, height)
        .events([recorded(&assistant(vec![ContentBlock::Text { text: text.into() }]))])
}

/// The column and row where a text begins on screen.
fn find(scene: &TestScreen, text: &str) -> (u16, u16) {
    let screen = scene.text();
    let place = screen.lines().zip(0..).find_map(|(line, row)| {
        // The text of the screen has a quote before each row.
        let at = line.find(text)?;
        Some((u16::try_from(line[..at].chars().count() - 1).unwrap(), row))
    });
    place.unwrap_or_else(|| panic!("no {text:?} in\n{screen}"))
}

fn clicks(scene: TestScreen, at: (u16, u16), count: usize) -> TestScreen {
    (0..count).fold(scene, |scene, _| {
        scene.mouse(MouseEventKind::Down(LEFT), at.0, at.1).mouse(
            MouseEventKind::Up(LEFT),
            at.0,
            at.1,
        )
    })
}

/// Drags from the beginning of one text to the end of another.
fn across(scene: TestScreen, from: &str, to: &str) -> String {
    let (start, end) = (find(&scene, from), find(&scene, to));
    let wide = u16::try_from(to.chars().count()).unwrap();
    scene.drag(start, (end.0 + wide - 1, end.1)).selected()
}

#[test]
fn a_drag_copies_the_text_without_its_wrap() {
    let text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    let mut scene = answer(50, 24, text).drag((1, 2), (46, 3));
    let copied = ScreenEffect::Copy { text: text.into(), what: "the selection" };
    assert_eq!(scene.effects.pop_back(), Some(copied));
    let scene = clicks(scene, find(&answer(50, 24, text), "two"), 2);
    assert_eq!(scene.selected(), "two");
    let scene = clicks(scene.after(1000), (6, 2), 3);
    assert_eq!(scene.selected(), text);
}

#[test]
fn markdown_is_taken_as_it_was_written() {
    let text = "# Title\n\nSome **bold words** and `code()`.\n\n- first\n- second one\n  - below\n\n\
                | ay | be |\n|---|---|\n| oneone | twotwo |\n\n> quoted\n\nlast";
    for (from, to, wanted) in [
        ("Title", "Title", "Title"),
        ("Title", "code()", "# Title\n\nSome **bold words** and `code()`"),
        ("bold", "bold", "bold"),
        ("bold", "and", "**bold words** and"),
        ("Some", "words", "Some **bold words**"),
        ("• first", "below", "- first\n- second one\n  - below"),
        ("• second", "second", "- second"),
        ("second", "one", "second one"),
        ("quoted", "last", "> quoted\n\nlast"),
        ("oneone", "twotwo", "oneone | twotwo"),
        ("ay", "twotwo", "| ay | be |\n|---|---|\n| oneone | twotwo"),
    ] {
        for width in [30, 60, 140] {
            let taken = across(answer(width, 40, text), from, to);
            assert_eq!(taken, wanted, "{from} to {to} at {width}");
        }
    }
}

#[test]
fn code_is_taken_as_code() {
    let text =
        "1. Do this:\n\n   ```sh\n   for f in *; do\n     echo $f\n   done\n   ```\n\n2. Done.";
    let taken = across(answer(60, 30, text), "for f", "done");
    assert_eq!(taken, "for f in *; do\n  echo $f\ndone");
    let taken = across(answer(60, 30, text), "Do this", "for f");
    assert_eq!(taken, "1. Do this:\n\n   ```sh\n   for f");
}

#[test]
fn blocks_stand_one_blank_line_apart_and_folded_ones_are_named() {
    let log = [
        user("look"),
        assistant(vec![
            ContentBlock::Text { text: "Reading it.".into() },
            ContentBlock::ToolUse(call("c1", "Read", json!({"file_path": "a.rs"}))),
        ]),
        result("c1", "the text of the file", done("Read", 3)),
        assistant(vec![ContentBlock::Text { text: "It is short.".into() }]),
    ];
    // A title of its own, or the first line of the screen would say "look", too.
    let scene = screen(80, 24).event(recorded(&title("Files"))).events(log.iter().map(recorded));
    let wanted = "look\n\nReading it.\n\nRead a.rs\n\nIt is short.";
    assert_eq!(across(scene, "look", "short."), wanted);
}

#[test]
fn a_selection_stays_on_its_text() {
    let text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda";
    let scene = answer(80, 24, text);
    let (from, to) = (find(&scene, "gamma"), find(&scene, "zeta"));
    let scene = scene.drag(from, (to.0 + 3, to.1));
    let wanted = "gamma delta epsilon zeta";
    assert_eq!(scene.selected(), wanted);
    let scene = scene.resized(41, 24);
    assert_eq!(scene.selected(), wanted);
    let scene = scene
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(AgentEvent::Text { turn: TURN, text: "more and more".into() });
    assert_eq!(scene.selected(), wanted);
}

#[test]
fn shift_and_a_click_go_on_with_it() {
    let scene = answer(80, 24, "alpha beta gamma");
    let (from, mid, to) = (find(&scene, "alpha"), find(&scene, "beta"), find(&scene, "gamma"));
    let shifted = |kind| {
        let modifiers = KeyModifiers::SHIFT;
        ScreenMsg::Mouse(MouseEvent { kind, column: to.0 + 4, row: to.1, modifiers })
    };
    let scene = scene
        .drag(from, mid)
        .msg(shifted(MouseEventKind::Down(LEFT)))
        .msg(shifted(MouseEventKind::Up(LEFT)));
    assert_eq!(scene.selected(), "alpha beta gamma");
}

#[test]
fn a_diff_says_what_was_removed_and_is_code_where_nothing_was() {
    let display =
        ToolDisplay::Diff(FileDiff::between("/home/me/src/webshop/a.rs", "a\nb\nc\n", "a\nB\nc\n"));
    let info = ToolResultInfo { display: Some(display), ..done("Edit", 3) };
    let log = [
        assistant(vec![ContentBlock::ToolUse(call("c1", "Edit", json!({"file_path": "a.rs"})))]),
        result("c1", "ok", info),
    ];
    for width in [60, 160] {
        let scene = || screen(width, 24).events(log.iter().map(recorded));
        let at = |scene: &TestScreen, text: &str| {
            let rows = scene.model.conversation.geometry.rows.iter().zip(0u16..);
            let area = scene.model.conversation.geometry.transcript;
            let source = "a\nb\nB\nc\n".find(text).unwrap();
            let mut cells =
                rows.filter(|(row, _)| row.kind == TranscriptRowKind::Body).flat_map(|(row, y)| {
                    let runs = row.runs.iter().filter(move |run| run.range().contains(&source));
                    runs.map(move |run| (area.x + run.column, area.y + y))
                });
            cells.next().unwrap()
        };
        let (a, old, new, c) = {
            let it = scene();
            (at(&it, "a"), at(&it, "b"), at(&it, "B"), at(&it, "c"))
        };
        assert_eq!(scene().drag(a, c).selected(), " a\n-b\n+B\n c", "{width}");
        assert_eq!(scene().drag(new, c).selected(), "B\nc", "{width}");
        assert_eq!(scene().drag(old, old).mouse(MouseEventKind::Up(LEFT), 0, 0).selected(), "");
    }
}

#[test]
fn held_past_the_edge_the_view_goes_on_until_the_button_is_let_go() {
    let text: String = (0..200).map(|n| format!("line {n}\n\n")).collect();
    let scene = answer(60, 24, &text);
    let bottom = scene.model.conversation.geometry.transcript.y
        + scene.model.conversation.geometry.transcript.height
        - 1;
    let mut scene =
        scene.mouse(MouseEventKind::Down(LEFT), 8, bottom).mouse(MouseEventKind::Drag(LEFT), 1, 0);
    for _ in 0..40 {
        let next = crate::tui::app::wake_at(&scene.model).expect("it goes on by itself");
        assert!(next <= scene.model.shared.now + std::time::Duration::from_millis(50));
        scene = scene.after(50);
    }
    let scene = scene.mouse(MouseEventKind::Up(LEFT), 1, 0).after(50);
    assert_eq!(
        crate::tui::app::wake_at(&scene.model)
            .filter(|at| *at > scene.model.shared.now + std::time::Duration::from_secs(10)),
        None
    );
    let taken = scene.selected();
    assert!(taken.ends_with("line 199") && taken.lines().count() > 60, "{taken}");
    assert!(taken.lines().all(|line| line.is_empty() || line.starts_with("line ")), "{taken}");
}

/// Random Markdown from common constructs.
fn document() -> impl Strategy<Value = String> {
    let words = "[a-z]{1,9}( [a-z日ü👍&*_]{1,7}){0,12}";
    let block = prop_oneof![
        words.prop_map(|text: String| text),
        words.prop_map(|text| format!("# {text}")),
        (words, words)
            .prop_map(|(a, b)| format!("{a} **bold {b}** and `co de` [x](http://a.b/c) e")),
        (words, words).prop_map(|(a, b)| format!("- {a}\n- {b}\n  1. in **it**\n     more")),
        (words, words).prop_map(|(a, b)| format!("> {a}\n> {b}\n>\n> - x `y` &amp; z")),
        (words, words).prop_map(|(a, b)| format!("```rust\n{a}\n\t{b}\n\nlet x = \"y\";\n```")),
        (words, words).prop_map(|(a, b)| format!("- item\n\n  ```\n  {a}\n    {b}\n  ```")),
        (words, words).prop_map(|(a, b)| format!("| h {a} | `k` |\n|---|--:|\n| {b} | **v** w |")),
    ];
    prop::collection::vec(block, 1..6).prop_map(|blocks| blocks.join("\n\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_column_shows_the_bytes_that_it_says(text in document(), width in 12_u16..120) {
        let lines = markdown::render(&text, width, &SyntaxHighlighter::off()).lines;
        let mut shown = 0;
        for line in &lines {
            let row: String = line.spans.iter().map(|span| span.text.as_str()).collect();
            let mut cells: Vec<String> = Vec::new();
            for cluster in unicode_segmentation::UnicodeSegmentation::graphemes(row.as_str(), true) {
                let wide = unicode_width::UnicodeWidthStr::width(cluster);
                cells.push(cluster.to_owned());
                cells.extend((1..wide).map(|_| String::new()));
            }
            let mut behind = 0;
            for run in &line.runs {
                prop_assert!(run.column >= behind, "{run:?} in {row:?}");
                behind = run.end();
                let seen = cells[usize::from(run.column)..usize::from(run.end())].concat();
                let source = &text[run.range()];
                let is_same = seen == source.replace('\n', " ")
                    || source == "\t" && seen.trim().is_empty()
                    || source == "&amp;" && seen == "&";
                prop_assert!(is_same, "{seen:?} is said to be {source:?}");
                shown += run.bytes;
            }
        }
        // The heads of a narrow table are labels of each of its cells, which show no bytes.
        let mapped: Vec<&str> = text.lines().filter(|line| !line.starts_with("| h ")).collect();
        let mapped = mapped.join(" ").replace("http://a.b/c", "").replace("rust", "");
        let letters = mapped.replace("&amp;", "").chars().filter(char::is_ascii_lowercase).count();
        prop_assert!(shown >= letters);
    }

    #[test]
    fn the_selected_text_is_the_source(
        text in document(),
        width in 24_u16..100,
        cells in (0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64),
    ) {
        let scene = answer(width, 60, &text);
        let rows = &scene.model.conversation.geometry.rows;
        let body: Vec<usize> = (0..rows.len()).filter(|at| !rows[*at].runs.is_empty()).collect();
        let area = scene.model.conversation.geometry.transcript;
        let pick = |row: f64, column: f64| {
            let row = body[(row * body.len() as f64) as usize];
            let runs = &rows[row].runs;
            let run = runs[(column * runs.len() as f64) as usize];
            let cell = (area.x + run.column, area.y + u16::try_from(row).unwrap());
            (cell, run.at(run.column))
        };
        let ((from, a), (to, b)) = (pick(cells.0, cells.1), pick(cells.2, cells.3));
        prop_assume!(from != to);
        let taken = scene.drag(from, to).selected();
        let range = a.start.min(b.start)..a.end.max(b.end);
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        if let Some(code) = code_blocks(&text).iter().find(|block| block.contains(&range)) {
            let code = code.code(&text, &range);
            prop_assert_eq!(taken, code.trim_matches('\n'));
        } else {
            let wanted = text[range].trim_matches('\n');
            prop_assert!(text.contains(&taken) && taken.contains(wanted), "{taken:?} / {wanted:?}");
            let extra = taken.len() - wanted.len();
            prop_assert!(extra <= 24, "{taken:?} / {wanted:?}");
        }
    }
}
