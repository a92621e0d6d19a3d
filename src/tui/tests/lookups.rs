//! Tests of calls that only look something up, several of which in a row stand under one line.

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{CallId, ContentBlock, ToolStatus};
use crate::session::{LogRecord, ToolResultInfo};
use crate::tui::app::conversation::block::BlockBody;
use crate::tui::app::conversation::transcript::Transcript;
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, recorded, result, screen, user,
};

const ROOT: &str = "/home/me/src/webshop";

fn read(id: &str, file: &str) -> ContentBlock {
    ContentBlock::ToolUse(call(id, "Read", json!({"file_path": format!("{ROOT}/src/{file}")})))
}

fn failed(name: &str) -> ToolResultInfo {
    ToolResultInfo { status: ToolStatus::Failed, ..done(name, 1) }
}

/// Three reads of which one fails, and a search.
fn log() -> Vec<LogRecord> {
    let grep = ContentBlock::ToolUse(call("c4", "Grep", json!({"pattern": "price"})));
    vec![
        user("look around"),
        assistant(vec![read("c1", "price.py"), read("c2", "cart.py"), read("c3", "gone.py"), grep]),
        result("c1", "1 a", done("Read", 3)),
        result("c2", "1 b", done("Read", 3)),
        result("c3", "No such file.", failed("Read")),
        result("c4", "src/price.py:1: price", done("Grep", 3)),
    ]
}

fn shown(width: u16, height: u16) -> TestScreen {
    screen(width, height).events(log().iter().map(recorded))
}

const LINE: &str =
    "▸ Read 3 files, searched once  price.py, cart.py, gone.py, \"price\"  ✗ 1 failed";

#[test]
fn reads_in_a_row_are_one_line() {
    shown(120, 40).shows(LINE).hides("No such file");
    shown(80, 24).shows("▸ Read 3 files, searched once  price.py, cart.py, gone.py, …  ✗ 1 failed");
    shown(40, 12).shows("▸ Read 3 files, searched…  ✗ 1 failed");
}

#[test]
fn the_line_opens_to_show_each() {
    let open = shown(80, 24).click("Read 3 files");
    let open = open.shows("▾ Read 3 files, searched once  ✗ 1 failed");
    let open = open.shows("   ▸ Read    src/price.py").shows("No such file.");
    // Up from the line is the message, down from it the first call.
    let open = open.key("tab").key("up").key("up").key("up").key("up").key("enter");
    open.shows(&LINE[..30]).hides("src/cart.py");
}

#[test]
fn the_keys_pass_over_what_is_hidden() {
    let scene = shown(80, 24).event(recorded(&user("and now?"))).key("tab").key("enter");
    scene.shows("   ▸ Read    src/price.py");
}

#[test]
fn a_single_read_stays_as_it_is() {
    let scene = screen(80, 24).events(log()[..1].iter().map(recorded));
    let scene = scene.event(recorded(&assistant(vec![read("c1", "price.py")])));
    scene.shows("○ Read    src/price.py").hides("1 file");
}

#[test]
fn while_they_run_the_line_is_live() {
    let response = assistant(vec![read("c1", "price.py"), read("c2", "cart.py")]);
    let start = |id: &str, file: &str| AgentEvent::ToolStarted {
        turn: TURN,
        call: call(id, "Read", json!({"file_path": format!("{ROOT}/src/{file}")})),
    };
    let scene = screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&user("look around")))
        .event(recorded(&response))
        .event(start("c1", "price.py"))
        .event(start("c2", "cart.py"))
        .after(3_000);
    scene.shows("◐ Reading 2 files  price.py, cart.py  running 0:03");
}

#[test]
fn an_edit_ends_the_run_and_an_error_in_it_is_found() {
    let edit = ContentBlock::ToolUse(call("c5", "Edit", json!({"file_path": "a.py"})));
    let mut records = log();
    records.push(assistant(vec![edit, read("c6", "late.py")]));
    let scene = screen(80, 24).events(records.iter().map(recorded));
    let scene = scene.shows("○ Edit    a.py").shows("○ Read    src/late.py");
    let scene = scene.key("tab").key("[").key("[");
    assert_eq!(scene.text().matches("Read 3 files").count(), 1);
}

fn bodies(transcript: &Transcript) -> Vec<BlockBody> {
    transcript.blocks().iter().map(|block| block.body.clone()).collect()
}

/// A model that writes blank text before each call: the log does not have that text.
#[test]
fn live_and_replayed_runs_are_the_same() {
    let first = assistant(vec![read("c1", "price.py")]);
    let second = assistant(vec![read("c2", "cart.py")]);
    let log = [
        user("look"),
        first,
        result("c1", "1 a", done("Read", 3)),
        second,
        result("c2", "1 b", done("Read", 3)),
    ];
    let blank = || AgentEvent::Text { turn: TURN, text: "\n\n".into() };
    let started = |id: &str| AgentEvent::CallStarted {
        turn: TURN,
        call: CallId::new(id),
        name: "Read".into(),
    };
    let events = [
        AgentEvent::TurnStarted { turn: TURN },
        recorded(&log[0]),
        blank(),
        started("c1"),
        recorded(&log[1]),
        recorded(&log[2]),
        blank(),
        started("c2"),
        started("void"),
        recorded(&log[3]),
        recorded(&log[4]),
    ];
    let live = screen(80, 24).events(events).model.conversation.transcript;
    let replayed = Transcript::from_records(ROOT.into(), &log);
    assert_eq!(bodies(&live), bodies(&replayed));
    assert_eq!(bodies(&live)[1], BlockBody::Lookups);
    assert!(live.blocks().is_sorted_by(|one, two| one.id < two.id));
}

/// While a turn streams read after read, no frame has a hole: at most two empty rows stand between others.
#[test]
fn a_turn_of_many_reads_leaves_no_empty_rows() {
    let long = (1..=60).map(|n| format!("Line {n} of the first answer.\n\n")).collect::<String>();
    for (thinks, says) in
        [("", ""), ("", "\n\n"), ("Hm.\n\n\n", ""), ("\n\n", "\n"), ("", "Next.\n")]
    {
        let mut scene = screen(120, 40).event(recorded(&user("hello")));
        let text = ContentBlock::Text { text: long.clone() };
        scene = scene.event(recorded(&assistant(vec![text]))).event(recorded(&user("look around")));
        scene = scene.event(AgentEvent::TurnStarted { turn: TURN });
        for round in 0..12 {
            let (id, file) = (format!("c{round}"), format!("file{round}.py"));
            let ContentBlock::ToolUse(made) = read(&id, &file) else { unreachable!() };
            let mut content = Vec::new();
            let mut events = vec![AgentEvent::RequestSent { turn: TURN }];
            if !thinks.is_empty() {
                events.push(AgentEvent::Thinking { turn: TURN, text: thinks.into() });
                content.push(ContentBlock::Thinking { thinking: thinks.into(), signature: None });
            }
            if !says.is_empty() {
                events.push(AgentEvent::Text { turn: TURN, text: says.into() });
                content.push(ContentBlock::Text { text: says.into() });
            }
            let call = made.id.clone();
            events.push(AgentEvent::CallStarted {
                turn: TURN,
                call: call.clone(),
                name: "Read".into(),
            });
            let json = format!("{{\"file_path\": \"{ROOT}/src/{file}\"}}");
            events.push(AgentEvent::CallInput { turn: TURN, call, json });
            content.push(ContentBlock::ToolUse(made.clone()));
            events.push(recorded(&assistant(content)));
            events.push(AgentEvent::ToolStarted { turn: TURN, call: made });
            let lines = "1 text\n".repeat(40);
            events.push(recorded(&result(&id, &lines, done("Read", 3))));
            for event in events {
                scene = scene.event(event).after(20);
                assert!(longest_gap(&scene) <= 2, "{thinks:?} {says:?} {round}\n{}", scene.text());
            }
        }
        for n in 0..12 {
            let text = format!("A line {n} of the answer.\n\n");
            scene = scene.event(AgentEvent::Text { turn: TURN, text }).after(20);
            assert!(longest_gap(&scene) <= 2, "{thinks:?} {says:?}\n{}", scene.text());
        }
    }
}

/// The most empty rows in a row of the transcript.
fn longest_gap(scene: &TestScreen) -> usize {
    let text = scene.text();
    let rows: Vec<bool> =
        text.lines().map(|row| row.trim_matches(|c| "\" ▐".contains(c)).is_empty()).collect();
    rows.split(|is_empty| !is_empty).map(<[bool]>::len).max().unwrap_or(0)
}
