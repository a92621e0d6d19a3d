//! Tests of the panel beside the transcript of a wide screen.

use serde_json::json;

use crate::agent::{
    AgentCommand, AgentEvent, ContextLedger, ContextReply, ContextRequest, ContextSource,
    LedgerSource,
};
use crate::domain::{
    ContentBlock, ContentHash, ContextWindow, FileDiff, JobId, JobInfo, TodoItem, TodoStatus,
    TokenUsage, ToolDisplay,
};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord,
    ReplayedConversation, ToolResultInfo, TurnOutcome,
};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{
    AGENT, TestScreen, assistant, call, done, record, recorded, result, screen, turn_end, user,
    with_usage,
};

const ROOT: &str = "/home/me/src/webshop";

fn step(content: &str, status: TodoStatus) -> TodoItem {
    TodoItem { content: content.into(), status, active_form: String::new() }
}

/// A call that changed a file, as the log has it.
fn edit(id: &str, file: &str, before: &str, after: &str) -> [LogRecord; 3] {
    let path = format!("{ROOT}/{file}");
    let version = |text: &str| FileVersion {
        kind: FileKind::File,
        hash: ContentHash::of(text.as_bytes()),
        mode: None,
    };
    let change = FileChangeEntry::new(
        path.clone().into(),
        Some(version(before)),
        Some(version(after)),
        FileChangeSource::Tool,
    );
    let diff = FileDiff::between(path.clone(), before, after);
    let info = ToolResultInfo { display: Some(ToolDisplay::Diff(diff)), ..done("Edit", 9) };
    [
        assistant(vec![ContentBlock::ToolUse(call(id, "Edit", json!({"file_path": path})))]),
        record(LogEntry::FileChange(change)),
        result(id, "done", info),
    ]
}

fn ledger() -> ContextLedger {
    let source = |kind, tokens| LedgerSource { kind, path: None, tokens, items: Vec::new() };
    ContextLedger {
        used: 9_250,
        is_estimate: false,
        window: ContextWindow::Served(128_000),
        compacts_at: 96_000,
        reserve: 8_000,
        sources: vec![
            source(ContextSource::SystemPrompt, 700),
            source(ContextSource::Tools, 1_200),
            source(ContextSource::Instructions, 400),
            source(ContextSource::Instructions, 100),
            source(ContextSource::UserMessages, 50),
            source(ContextSource::ToolCalls, 300),
            source(ContextSource::ToolResults, 6_500),
        ],
    }
}

fn told() -> AgentEvent {
    AgentEvent::Context(Box::new(ContextReply { ledger: ledger(), failed: None }))
}

/// A session with a plan and two changed files.
pub(super) fn worked(width: u16, height: u16) -> TestScreen {
    let todos = vec![
        step("Find where prices are decided", TodoStatus::Completed),
        step(
            "Include the limits in lib/rates.sh, and say so in the README",
            TodoStatus::InProgress,
        ),
        step("Run the tests", TodoStatus::Pending),
    ];
    let usage = TokenUsage { input: 9_000, output: 250, ..TokenUsage::default() };
    let answer = assistant(vec![ContentBlock::Text { text: "Two files are changed.".into() }]);
    let mut records = vec![user("fix the prices"), record(LogEntry::Todo { todos })];
    records.extend(edit("c1", "lib/rates.sh", "a\nb\nc\n", "a\nB\nc\nd\n"));
    records.extend(edit("c2", "README.md", "x\n", "x\ny\n"));
    records.extend([with_usage(answer, usage), turn_end(TurnOutcome::Answered)]);
    let spending = ReplayedConversation::of(&records).spending;
    let spent = AgentEvent::SpendingChanged(Box::new(spending));
    screen(width, height).events(records.iter().map(recorded)).event(spent)
}

fn asked(scene: &TestScreen) -> usize {
    let ask = ScreenEffect::Agent(AGENT, AgentCommand::Context(ContextRequest::Show));
    scene.effects.iter().filter(|effect| **effect == ask).count()
}

#[test]
fn the_panel_at_160x40() {
    let job = JobInfo { id: JobId(1), command: "npm run dev".into() };
    let scene = worked(160, 40).event(told()).event(AgentEvent::JobStarted(job));
    insta::assert_snapshot!(scene.readable_text());
}

#[test]
fn a_low_panel_keeps_a_part_of_each_list() {
    let scene = worked(160, 18).event(told());
    scene.shows("│ Plan").shows("→ Include the limits").shows("│ Changed files").shows("Context");
}

#[test]
fn a_narrower_screen_has_no_panel() {
    worked(139, 40).event(told()).hides("Changed files").resized(140, 40).shows("Changed files");
}

#[test]
fn nothing_said_leaves_the_room_to_the_start_screen() {
    screen(200, 60).event(told()).hides("│ Context");
}

#[test]
fn the_agent_is_asked_once_after_each_turn_and_only_for_a_panel() {
    let scene = worked(160, 40);
    assert_eq!(asked(&scene), 1);
    let scene = scene.event(told()).key("a").clear_effects();
    let scene = scene.event(recorded(&turn_end(TurnOutcome::Answered)));
    assert_eq!(asked(&scene), 1);
    assert_eq!(asked(&worked(100, 40)), 0);
}

#[test]
fn a_click_opens_the_diff_of_a_file_and_the_pages_of_the_other_parts() {
    worked(160, 40).click("README.md                     +1").shows("What this session changed");
    worked(160, 40).click("Changed files").shows("What this session changed");
    worked(160, 40).event(told()).click("Tool results").hides("│ Changed files");
    worked(160, 40).click("9k in").shows("Tokens and cost");
    worked(160, 40).click("Run the tests").shows("The plan");
}

#[test]
fn it_can_be_hidden() {
    let scene = worked(160, 40).types("/panel off").key("enter").hides("Changed files");
    let scene = scene.shows("The panel is off.").types("/panel").key("enter");
    scene.shows("Changed files");
}

#[test]
fn a_file_that_a_command_changed_has_no_figures() {
    let version = |text: &str| FileVersion {
        kind: FileKind::File,
        hash: ContentHash::of(text.as_bytes()),
        mode: None,
    };
    let path = format!("{ROOT}/lib/rates.sh");
    let change = FileChangeEntry::new(
        path.into(),
        Some(version("a\nB\nc\nd\n")),
        Some(version("z\n")),
        FileChangeSource::Tool,
    );
    let scene = worked(160, 40).shows("lib/rates.sh                  +2 -1");
    let scene = scene.event(recorded(&record(LogEntry::FileChange(change))));
    scene
        .hides("lib/rates.sh                  +2")
        .shows("│ lib/rates.sh")
        .shows("│ README.md                     +1 -0");
}

#[test]
fn a_long_plan_shows_the_step_that_is_under_way() {
    let status = |at| match at {
        0..20 => TodoStatus::Completed,
        20 => TodoStatus::InProgress,
        _ => TodoStatus::Pending,
    };
    let todos = (0..40).map(|at| step(&format!("step {at}"), status(at))).collect();
    let scene = worked(160, 30).event(recorded(&record(LogEntry::Todo { todos })));
    scene.shows("✓ step 19").shows("→ step 20").shows("· step 21").shows("20 of 40").shows(" more");
}

#[test]
fn what_a_file_or_a_job_is_called_reaches_the_terminal_harmless() {
    let job = JobInfo { id: JobId(1), command: "echo \u{1b}[31m".into() };
    let scene = worked(160, 40).event(AgentEvent::JobStarted(job));
    scene.shows("echo ␛[31m");
}
