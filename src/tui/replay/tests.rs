//! What a replay shows, and what never gets out of it.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use proptest::prelude::*;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use super::bar::{self, ReplayProgress, ReplayState};
use super::svg::SvgRecorder;
use super::text::TextRecorder;
use super::*;
use crate::domain::{
    CallId, ContentBlock, ContentHash, FileDiff, PermissionOutcome, SessionId, ToolDisplay, TurnId,
};
use crate::session::{
    LogEntry, LogRecord, PermissionEntry, RewoundRecords, SessionHeader, ToolResultInfo,
    TurnOutcome, redact,
};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::app::{ScreenModel, ScreenMsg, update};
use crate::tui::links::LinkTable;
use crate::tui::runtime::{AsciicastVersion, record_asciicast};
use crate::tui::test_screen::{
    assistant, call, done, record, result, session, title, turn_end, user,
};
use crate::tui::theme::{ColorDepth, Theme};

const SIZE: (u16, u16) = (80, 24);

/// Records a second apart, in one turn for each message of the user's.
fn log(records: impl IntoIterator<Item = LogRecord>) -> Vec<LogRecord> {
    let header = SessionHeader {
        session_id: session(),
        version: SessionHeader::VERSION,
        cwd: "/home/me/src/webshop".into(),
        model: "qwen3-coder".into(),
        provider: "local".into(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    };
    let records = std::iter::once(record(LogEntry::Session(header))).chain(records);
    let mut turn = 0;
    let dated = records.enumerate().map(|(at, mut record)| {
        turn += u32::from(timeline::asks(&record));
        record.turn = TurnId(turn);
        record.timestamp += TimeDelta::seconds(i64::try_from(at).unwrap());
        record
    });
    dated.collect()
}

/// A session in which the user allows an edit.
fn edit() -> Vec<LogRecord> {
    let edit =
        call("c1", "Edit", json!({"file_path": "price.py", "old_string": "1", "new_string": "2"}));
    let diff = FileDiff::between("price.py", "price = 1\n", "price = 2\n");
    let display = Some(ToolDisplay::Diff(diff));
    let asked = PermissionEntry {
        call: CallId::new("c1"),
        tool: "Edit".into(),
        about: Some("price.py".into()),
        decision: PermissionOutcome::Allow,
        answer: "once".into(),
        rule: None,
    };
    log([
        user("Make it cost more"),
        assistant(vec![
            ContentBlock::Text {
                text: "I change the price, which is in one place and in no other.".into(),
            },
            ContentBlock::ToolUse(edit),
        ]),
        record(LogEntry::Permission(asked)),
        result("c1", "changed", ToolResultInfo { display, ..done("Edit", 3) }),
        assistant(vec![ContentBlock::Text { text: "It costs **two** now.".into() }]),
        turn_end(TurnOutcome::Answered),
        title("Prices"),
    ])
}

fn setup() -> ReplaySetup {
    let settings = ScreenSettings { home: Some("/home/me".into()), ..ScreenSettings::default() };
    ReplaySetup { session: session(), settings, theme: ThemeState::default() }
}

fn timeline(records: Vec<LogRecord>) -> Arc<ReplayTimeline> {
    Arc::new(ReplayTimeline::new(records, Duration::from_secs(3)))
}

fn recorder(records: Vec<LogRecord>) -> ReplayRecorder {
    let links = LinkTable::default();
    ReplayRecorder::new(timeline(records), &setup(), ReplayPace::default(), SIZE, links)
}

/// The frames of a replay as text, each with its time in milliseconds.
fn frames(records: Vec<LogRecord>) -> Vec<(u128, String)> {
    let mut frames = Vec::new();
    let drawn = recorder(records).record(TestBackend::new(SIZE.0, SIZE.1), |frame| {
        frames.push((frame.at.as_millis(), text(frame.cells)));
        Ok::<_, Infallible>(ControlFlow::Continue(()))
    });
    assert_eq!(drawn.unwrap(), None);
    frames
}

fn text(cells: &Buffer) -> String {
    let row = |row: &[ratatui::buffer::Cell]| {
        let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    cells.content().chunks(usize::from(cells.area.width)).map(row).collect::<Vec<_>>().join("\n")
}

/// Every form of a replay.
fn forms(records: &[LogRecord]) -> [(&'static str, String); 5] {
    let picture = || {
        let recorder = recorder(records.to_vec());
        let mut picture = SvgRecorder::new(SIZE, recorder.theme());
        let backend = TestBackend::new(SIZE.0, SIZE.1);
        let cut = recorder
            .record(backend, |frame| Ok::<_, Infallible>(picture.frame(frame.at, frame.cells)));
        assert_eq!(cut.unwrap(), None);
        picture
    };
    let mut lines = TextRecorder::default();
    let backend = TestBackend::new(SIZE.0, SIZE.1);
    recorder(records.to_vec())
        .record(backend, |frame| Ok::<_, Infallible>(lines.frame(frame)))
        .unwrap();
    let cast =
        |version| record_asciicast(recorder(records.to_vec()), version, SIZE, "A title").unwrap().0;
    [
        ("svg", picture().finish("A title")),
        ("html", html::write(&picture(), "A title")),
        ("text", lines.finish()),
        ("asciicast 2", cast(AsciicastVersion::Two)),
        ("asciicast 3", cast(AsciicastVersion::Three)),
    ]
}

/// A screen on which a replay has been played up to so many records.
fn played(records: &[LogRecord], upto: usize) -> ScreenModel {
    let timeline = timeline(records.to_vec());
    let mut model = setup().screen(&timeline, SIZE);
    let mut player = ReplayPlayer::new(timeline, session());
    while let Some(step) = player.change_towards(upto) {
        take(&mut model, step.change);
    }
    model
}

fn take(model: &mut ScreenModel, change: ReplayChange) {
    let ScreenModel { conversation, shared, .. } = model;
    if let Some(msg) = change.into_msg(&mut conversation.status, shared) {
        drop(update(model, msg));
    }
}

#[test]
fn pauses_are_as_long_as_in_the_log_but_no_longer_than_the_limit() {
    let mut records = edit();
    records[2].timestamp += TimeDelta::hours(5);
    records[4].timestamp -= TimeDelta::days(1);
    let timeline = ReplayTimeline::new(records, Duration::from_secs(3));
    let starts: Vec<u64> = (0..5).map(|at| timeline.start(at).as_secs()).collect();
    assert_eq!(starts, [0, 1, 4, 4, 4], "five hours take three seconds, and no time goes back");
}

#[test]
fn a_replay_ends_with_the_conversation_that_a_resume_shows() {
    let records = edit();
    let model = played(&records, records.len());
    let mut resumed = setup().screen(&timeline(records.clone()), SIZE);
    let opened =
        crate::agent::AgentEvent::SessionOpened { session: session(), records: Arc::new(records) };
    let agent = resumed.conversation.agent;
    drop(update(&mut resumed, ScreenMsg::Agent(agent, Box::new(opened))));
    let bodies = |model: &ScreenModel| {
        let blocks = model.conversation.transcript.blocks();
        blocks.iter().map(|block| format!("{:?}", block.body)).collect::<Vec<_>>()
    };
    assert_eq!(bodies(&model), bodies(&resumed));
    assert_eq!(model.conversation.status.title.as_deref(), Some("Prices"));
    assert!(model.conversation.turn.is_idle());
}

#[test]
fn text_grows_and_the_question_is_shown_until_it_was_answered() {
    let frames = frames(edit());
    let at = |wanted: &str| {
        let place = frames.iter().position(|(_, text)| text.contains(wanted));
        place.unwrap_or_else(|| panic!("no {wanted:?} in\n{}", frames.last().unwrap().1))
    };
    let whole = "I change the price, which is in one place and in no other.";
    assert!(frames.iter().any(|(_, text)| text.contains("I change") && !text.contains(whole)));
    let (asked, answered) = (at("Change price.py?  +1 -1"), at("Answered: yes, this time."));
    assert!(at(whole) <= asked && asked < answered);
    assert!((900..=1100).contains(&(frames[answered].0 - frames[asked].0)), "a second, as it was");
    assert!(!frames[answered].1.contains("Change price.py?"));
    let (end, last) = frames.last().unwrap();
    assert!(last.contains("It costs two now."), "{last}");
    assert_eq!(*end, 10_000, "seven seconds, and three for the last frame");
}

/// The log has the call as the model sent it; hooks, rules and the chat know the one inside.
#[test]
fn a_call_inside_another_is_shown_as_it_was_made() {
    let inside = |tool: &str, input| call("c1", "Call", json!({"tool": tool, "input": input}));
    let started = LogEntry::ToolStarted {
        call: CallId::new("c1"),
        arguments: ContentHash::of(b""),
        approved_by: "mode".into(),
    };
    let create = inside("TaskCreate", json!({"subject": "Mend it"}));
    let made = frames(log([
        user("plan"),
        assistant(vec![ContentBlock::ToolUse(create)]),
        record(started),
        result("c1", "Task #1 created.", done("TaskCreate", 3)),
    ]));
    let titles: Vec<&str> = made
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter(|line| line.contains("TaskCreate"))
        .collect();
    assert!(!titles.is_empty());
    assert!(titles.iter().all(|line| line.contains("TaskCreate Mend it")), "{titles:#?}");

    let asked = PermissionEntry {
        call: CallId::new("c1"),
        tool: "KillBash".into(),
        about: None,
        decision: PermissionOutcome::Allow,
        answer: "once".into(),
        rule: None,
    };
    let kill = inside("KillBash", json!({"job": 41}));
    let asked = frames(log([
        user("end it"),
        assistant(vec![ContentBlock::ToolUse(kill)]),
        record(LogEntry::Permission(asked)),
        result("c1", "ended", done("KillBash", 3)),
    ]));
    assert!(asked.iter().any(|(_, text)| text.contains("job: 41")), "{}", asked[2].1);
}

#[test]
fn the_step_keys_go_from_one_thing_said_or_done_to_the_next_and_back() {
    let records = edit();
    let timeline = timeline(records.clone());
    let mut player = ReplayPlayer::new(timeline, session());
    let mut stops = Vec::new();
    for _ in 0..6 {
        let (records, _) = player.step_forward();
        while player.change_towards(records).is_some() {}
        stops.push(records);
    }
    assert_eq!(stops, [2, 3, 4, 5, 6, 8], "messages, the answer, the result, the end");
    assert_eq!(player.step_back().0, 5, "the end of the turn shows nothing new");
    player.restart();
    assert_eq!(player.step_back().0, 0);
    // Nothing of what follows is on the screen that a step back shows.
    let shown = played(&records, 3);
    assert!(shown.conversation.transcript.diffs().next().is_none());
}

#[test]
fn a_rewound_turn_is_seen_on_screen_and_in_no_file() {
    use crate::session::{RewindEntry, RewindScope};
    let mut records = edit();
    let before = records[1].id;
    let rewind = RewindEntry {
        part: None,
        what: RewindScope::Both,
        before,
        messages: 0,
        files: Vec::new(),
        left: Vec::new(),
        redoes: None,
        summary: None,
    };
    records.push(record(LogEntry::Rewind(rewind)));
    let records = log(records.into_iter().skip(1));
    let kept = redact(&records, RewoundRecords::Kept).records;
    assert_eq!(kept.len(), records.len());
    let (before, after) = (played(&kept, kept.len() - 1), played(&kept, kept.len()));
    assert!(before.conversation.transcript.last_answer().is_some());
    assert!(after.conversation.transcript.last_answer().is_none(), "the rewind took it back");
    let left = redact(&records, RewoundRecords::LeftOut).records;
    for (form, text) in forms(&left) {
        assert!(!text.contains("costs"), "{form}");
    }
}

#[test]
fn the_picture_is_whole_without_anything_from_elsewhere() {
    let [(_, svg), (_, html), ..] = forms(&edit());
    for (form, text) in [("svg", &svg), ("html", &html)] {
        for outside in ["http:", "https:", "url(", "@import", "<image", "<foreignObject", "<use"] {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains(outside), "{outside} in the {form}");
        }
    }
    assert!(!svg.contains("<script"));
    // The style and the script are those that the policy names.
    let policy = html.split_once("Content-Security-Policy").unwrap().1;
    let policy = policy.split_once('>').unwrap().0;
    assert_eq!(policy.matches("'sha256-").count(), 3, "{policy}");
    assert!(!html.contains(" style=") && !html.contains("{picture}"), "a placeholder is left");
    assert!(svg.len() < 200_000, "{} bytes for ten seconds", svg.len());
}

#[test]
fn a_picture_that_grows_too_large_ends_and_says_where() {
    let theme = Theme::dark(ColorDepth::TrueColor);
    let mut picture = SvgRecorder::new(SIZE, &theme);
    picture.most = 50_000;
    let mut cells = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let mut frames = 0;
    loop {
        for (at, cell) in cells.content.iter_mut().enumerate() {
            let letter = u32::try_from((at * 7 + frames * 13) % 26).unwrap();
            cell.set_char(char::from_u32(u32::from('a') + letter).unwrap());
        }
        frames += 1;
        if picture.frame(Duration::from_millis(100 * frames as u64), &cells).is_break() {
            break;
        }
        assert!(frames < 1000, "no end");
    }
    let svg = picture.finish("t");
    assert!((40_000..60_000).contains(&svg.len()), "{} bytes", svg.len());
}

#[test]
fn the_last_line_says_where_the_replay_is_and_its_keys() {
    let mut shown = String::new();
    for (width, state, speed) in [
        (40, ReplayState::Playing, 1.0),
        (80, ReplayState::Paused, 0.25),
        (120, ReplayState::Ended, 16.0),
    ] {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        let (at, length) = (Duration::from_secs(42), Duration::from_secs(191));
        let theme = Theme::dark(ColorDepth::None);
        let area = buffer.area;
        bar::draw(&ReplayProgress { at, length, speed, state }, &theme, area, &mut buffer);
        shown.push_str(&text(&buffer));
        shown.push('\n');
    }
    insta::assert_snapshot!(shown);
}

/// Text with everything that terminals, XML and readers of logs stumble over.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\u{1b}[2J\u{1b}]0;t\u{7}".to_owned()),
        Just("\u{1b}]8;;http://x/\u{1b}\\".to_owned()),
        Just("\u{9b}31m\u{0}\u{8}\r\n\t\u{7f}".to_owned()),
        Just("</text></svg><script>alert(1)</script>]]>".to_owned()),
        Just("\u{202e}\u{200b}\u{feff}\u{fffe}\u{ffff}".to_owned()),
        Just(format!("ghp_{}", "Z9x8".repeat(10))),
        Just("DB_PASSWORD=hunter2! ".to_owned()),
        Just("```sh\nexport API_KEY=sk-ant-api03-Z9x8Y7w6V5u4T3s2R1q0\n```\n".to_owned()),
        "\\PC{0,12}",
        any::<String>(),
    ];
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn s73_s105_no_control_character_and_no_secret_is_in_any_form(
        texts in prop::collection::vec(hostile(), 6),
        gaps in prop::collection::vec(-100_000i64..100_000, 8),
    ) {
        let command = call("c1", "Bash", json!({"command": texts[1], "description": texts[2]}));
        let display = Some(ToolDisplay::Terminal { text: texts[3].clone() });
        let asked = PermissionEntry {
            call: CallId::new("c1"),
            tool: texts[4].clone(),
            about: Some(texts[1].clone()),
            decision: PermissionOutcome::Allow,
            answer: "session".into(),
            rule: None,
        };
        let mut records = log([
            user(&texts[0]),
            assistant(vec![
                ContentBlock::Thinking { thinking: texts[2].clone(), signature: None },
                ContentBlock::Text { text: texts[1].clone() },
                ContentBlock::ToolUse(command),
            ]),
            record(LogEntry::Permission(asked)),
            result("c1", &texts[3], ToolResultInfo { display, ..done("Bash", 3) }),
            title(&texts[5]),
            turn_end(TurnOutcome::Failed(texts[4].clone())),
        ]);
        for (record, gap) in records.iter_mut().zip(gaps) {
            record.timestamp += TimeDelta::seconds(gap);
        }
        let clean = redact(&records, RewoundRecords::LeftOut).records;
        for (form, text) in forms(&clean) {
            for secret in ["Z9x8Z9x8", "hunter2", "Y7w6V5u4"] {
                prop_assert!(!text.contains(secret), "{secret} in the {form}");
            }
            let shown = if form.starts_with("asciicast") { unescaped(&text) } else { text };
            let left = shown.chars().find(|c| {
                c.is_control() && !matches!(*c, '\n' | '\t') || matches!(*c, '\u{202e}' | '\u{200b}')
            });
            prop_assert!(left.is_none(), "{left:?} in the {form}");
            if matches!(form, "svg" | "html") {
                prop_assert!(!shown.contains("<script>alert"), "{form}");
                prop_assert!(!shown.contains(['\u{fffe}', '\u{ffff}']), "no XML: {form}");
            }
        }
    }
}

/// What an asciicast sends to a terminal, without the sequences that slug's backend makes: those that
/// move the cursor, set colours, and clear.
fn unescaped(cast: &str) -> String {
    let mut shown = String::new();
    for line in cast.lines().skip(1) {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut rest = event[2].as_str().unwrap();
        while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
            shown.push_str(before);
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
            assert!("HmJhl".contains(&sequence[end..=end]), "{sequence:?}");
            rest = &sequence[end + 1..];
        }
        shown.push_str(rest);
    }
    shown
}

#[test]
fn a_log_without_its_first_line_is_played_too() {
    let records: Vec<LogRecord> = edit().into_iter().skip(1).collect();
    let named: SessionId = session();
    let model = played(&records, records.len());
    assert_eq!(model.conversation.status.session, Some(named));
    assert!(model.conversation.transcript.last_answer().is_some());
}
