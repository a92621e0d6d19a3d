//! Tests of what the screen says beside the chat: the activity line, the first line, the window's
//! title, calls for the user, and reduced motion.

use std::time::Duration;

use serde_json::json;

use crate::agent::AgentEvent;
use crate::config::StatusItems;
use crate::domain::{
    ExitCause, JobEnd, JobId, JobInfo, NoticeLevel, TodoItem, TodoStatus, TokenUsage,
};
use crate::platform::terminal_notifier::TerminalProgress;
use crate::providers::retry::RetryAttempt;
use crate::providers::{PrefillProgress, RateLimited};
use crate::session::{CompactionEntry, CompactionTokens, LogEntry, TurnOutcome};
use crate::tui::app::attention::TerminalFocus;
use crate::tui::app::settings::{MotionPreference, StatusCommandState};
use crate::tui::app::{ScreenEffect, ScreenMsg, wake_at};
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, question, record, recorded, result, screen, title,
    turn_end, user, with_usage,
};
use crate::tui::view::label::label;

const RUNS: AgentEvent = AgentEvent::TurnStarted { turn: TURN };

fn todo() -> AgentEvent {
    let todos = vec![TodoItem {
        content: "Fix the cart".into(),
        active_form: "Fixing the cart".into(),
        status: TodoStatus::InProgress,
    }];
    recorded(&record(LogEntry::Todo { todos }))
}

fn runs(id: &str, command: &str) -> [AgentEvent; 3] {
    let bash = call(id, "Bash", json!({"command": command}));
    [
        AgentEvent::CallStarted { turn: TURN, call: bash.id.clone(), name: "Bash".into() },
        recorded(&assistant(vec![crate::domain::ContentBlock::ToolUse(bash.clone())])),
        AgentEvent::ToolStarted { turn: TURN, call: bash },
    ]
}

fn notified(scene: &TestScreen) -> Vec<&str> {
    let mut texts = Vec::new();
    for effect in &scene.effects {
        if let ScreenEffect::Notify(text) = effect {
            texts.push(text.as_str());
        }
    }
    texts
}

#[test]
fn the_running_line_names_the_step_and_what_is_done_for_it() {
    screen(80, 24)
        .event(RUNS)
        .shows("Waiting for the model ")
        .event(todo())
        .shows("Fixing the cart · waiting for the model")
        .events(runs("c1", "cargo test -p shop cart"))
        .shows("Fixing the cart · Bash cargo test -p shop cart")
        .events(runs("c2", "cargo clippy"))
        .shows("Fixing the cart · Bash cargo clippy and 1 more")
        .event(recorded(&result("c2", "clean", done("Bash", 3))))
        .shows("Fixing the cart · Bash cargo test -p shop cart")
        .event(recorded(&result("c1", "passed", done("Bash", 3))))
        .shows("Fixing the cart · waiting for the model");
}

#[test]
fn the_running_line_says_what_it_waits_for() {
    let held = RateLimited { wait: Duration::from_secs(7), reason: "slow down".into() };
    let held = AgentEvent::RequestRateLimited { turn: TURN, held };
    let progress = PrefillProgress { processed: 5_200, total: 12_000, cached: 0 };
    screen(80, 24)
        .event(RUNS)
        .event(AgentEvent::Prefill { turn: TURN, progress })
        .shows("Reading the prompt 43% · 5.2k of 12k tokens")
        .event(AgentEvent::ResponseDropped {
            turn: TURN,
            reason: "The server is busy (429).".into(),
            again: Some(RetryAttempt { pause: Duration::from_secs(8), number: 2, of: 5 }),
        })
        .after(3000)
        .shows("Trying again in 5 s (2 of 5) · esc stops · The server is busy (429).")
        .event(held)
        .after(1000)
        .shows("Waiting 6 s for the server · esc stops · slow down")
        .event(question(1, "rm -rf build/"))
        .shows("Run this command?")
        .hides("Waiting");
}

#[test]
fn long_text_gives_way_to_counters() {
    let long = "grep -rn 'a very long pattern that nobody would read' src/ tests/ docs/ benches/";
    let scene = screen(40, 16).event(RUNS).event(todo()).events(runs("c1", long)).after(65_000);
    let text = scene.text();
    let line = text.lines().find(|line| line.contains("Fixing the cart")).unwrap();
    assert!(line.contains("…") && line.ends_with(" 1:05 \""), "{line}");
}

#[test]
fn estimates_carry_a_tilde_and_measured_counts_none() {
    let usage = TokenUsage { input: 900, output: 400, cache_read: 0, ..TokenUsage::default() };
    let text = AgentEvent::Text { turn: TURN, text: "x".repeat(4_000) };
    let answer =
        with_usage(assistant(vec![crate::domain::ContentBlock::Text { text: "x".into() }]), usage);
    screen(80, 24)
        .event(RUNS)
        .event(text)
        .after(2_000)
        .shows("~1k tokens  ~500/s  0:02")
        .event(AgentEvent::ResponseTimed { turn: TURN, streamed_for: Duration::from_secs(2) })
        .event(recorded(&answer))
        .shows(" 400 tokens  0:02");
}

#[test]
fn with_reduced_motion_only_seconds_move_and_in_steps() {
    let mut scene = screen(80, 24);
    scene.model.shared.settings.motion = MotionPreference::Reduced;
    // The test screen begins at one second; counters of seconds change at 5, 10, 15.
    let scene = scene.event(RUNS).event(AgentEvent::Text { turn: TURN, text: "abc ".repeat(100) });
    assert_eq!(wake_at(&scene.model), Some(Duration::from_secs(5)));
    let before = scene.text();
    let scene = scene.after(3_900);
    assert_eq!(scene.text(), before);
    scene.after(200).shows("● Answering").shows("0:04").hides("tokens");
}

#[test]
fn a_user_who_looks_here_is_not_called() {
    let scene = screen(80, 24)
        .msg(ScreenMsg::FocusChanged(TerminalFocus::Focused))
        .event(RUNS)
        .event(question(1, "rm -rf build/"))
        .after(60_000)
        .key("y")
        .event(recorded(&turn_end(TurnOutcome::Answered)));
    assert_eq!(notified(&scene), [""; 0]);
}

fn ended(outcome: TurnOutcome) -> AgentEvent {
    recorded(&turn_end(outcome))
}

#[test]
fn a_user_who_looks_elsewhere_is_called_for_questions_and_long_turns() {
    let mut scene = screen(80, 24).msg(ScreenMsg::FocusChanged(TerminalFocus::Unfocused));
    scene.model.shared.settings.notify_after = Duration::from_secs(5);
    let scene = scene.event(RUNS).event(question(1, "rm -rf build/"));
    assert_eq!(notified(&scene), ["webshop: Bash needs your answer"]);
    let scene = scene.clear_effects().key("y").after(71_000).event(ended(TurnOutcome::Answered));
    assert_eq!(notified(&scene), ["webshop: done after 1:11"]);
    let scene = scene.clear_effects().event(RUNS).after(2_000).event(ended(TurnOutcome::Answered));
    assert_eq!(notified(&scene), [""; 0]);
    let failed = TurnOutcome::Failed("No server answers.".into());
    let scene = scene.event(RUNS).after(9_000).event(ended(failed));
    assert_eq!(notified(&scene), ["webshop: failed after 0:09"]);
}

#[test]
fn a_turn_that_is_stopped_or_followed_by_the_next_calls_nobody() {
    let scene = screen(80, 24)
        .msg(ScreenMsg::FocusChanged(TerminalFocus::Unfocused))
        .event(RUNS)
        .after(60_000);
    let scene = scene.event(ended(TurnOutcome::Interrupted));
    assert_eq!(notified(&scene), [""; 0]);
    let scene = scene.event(RUNS).after(60_000).types("and then").key("enter");
    let scene = scene.event(ended(TurnOutcome::Answered));
    assert_eq!(notified(&scene), [""; 0]);
}

#[test]
fn where_the_focus_is_not_known_a_question_calls_after_a_quiet_while() {
    let scene = screen(80, 24).event(RUNS).event(question(1, "rm -rf build/")).after(6_000);
    let scene = scene.types("x").after(9_000);
    assert_eq!(notified(&scene), [""; 0]);
    assert!(wake_at(&scene.model).is_some());
    let scene = scene.after(1_100);
    assert_eq!(notified(&scene), ["webshop: Bash needs your answer"]);
    assert_eq!(notified(&scene.clear_effects().after(60_000)), [""; 0]);
    let answered = screen(80, 24).event(RUNS).event(question(2, "rm -rf build/")).key("y");
    assert_eq!(notified(&answered.after(60_000)), [""; 0]);
}

#[test]
fn the_window_is_named_after_the_session_with_a_mark_for_its_state() {
    let scene = screen(80, 24);
    assert_eq!(label(&scene.model).title, "slug · webshop");
    let scene = scene.event(recorded(&title("Fix the cart"))).event(RUNS);
    assert_eq!(label(&scene.model).title, "● slug · Fix the cart");
    assert_eq!(label(&scene.model).progress, TerminalProgress::Busy);
    let progress = PrefillProgress { processed: 50, total: 200, cached: 0 };
    let scene = scene.event(AgentEvent::Prefill { turn: TURN, progress });
    assert_eq!(label(&scene.model).progress, TerminalProgress::Percent(25));
    let scene = scene.event(question(1, "rm -rf build/"));
    assert_eq!(label(&scene.model).title, "? slug · Fix the cart");
    assert_eq!(label(&scene.model).progress, TerminalProgress::Waiting);
}

#[test]
fn the_first_line_shows_what_it_is_asked_for() {
    let mut scene = screen(80, 24);
    let (items, _) = StatusItems::parse(["mode", "time", "|", "session", "folder"]);
    scene.model.shared.settings.status_items = items;
    let scene = scene.after(7_500_000);
    let text = scene.text();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("\" ask  2 h 05 min   "), "{first}");
    assert!(first.ends_with("  000000000001  webshop \""), "{first}");
}

#[test]
fn time_in_the_first_line_wakes_once_a_minute_and_nothing_else_does() {
    let mut scene = screen(80, 24);
    assert_eq!(wake_at(&scene.model), None);
    scene.model.shared.settings.status_items = StatusItems::parse(["time"]).0;
    assert_eq!(wake_at(&scene.model), Some(Duration::from_secs(60)));
}

fn with_command() -> TestScreen {
    let mut scene = screen(80, 24);
    scene.model.shared.settings.status_command = StatusCommandState::Given;
    scene
}

/// The requests to run the status command, with its input.
fn asked(
    scene: &mut TestScreen,
) -> Vec<(crate::tui::app::request_id::RequestId, serde_json::Value)> {
    let parse = |effect| match effect {
        ScreenEffect::RunStatusCommand { id, state } => {
            Some((id, serde_json::from_str(&state).unwrap()))
        }
        _ => None,
    };
    scene.effects.drain(..).filter_map(parse).collect()
}

#[test]
fn the_command_is_told_the_state_when_it_has_changed() {
    let mut scene = with_command().after(100);
    let told = asked(&mut scene);
    let [(id, state)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(state["git"]["branch"], "main");
    assert_eq!(state["context_window"]["measured"], true);
    let line = Ok("\x1b[32mall \x1b]0;evil\x07green\x1b[0m".to_owned());
    let mut scene = scene.msg(ScreenMsg::StatusLine { id: *id, line }).shows("all ").shows("green");
    assert!(asked(&mut scene).is_empty());
    let mut scene = scene.after(5_000);
    assert!(asked(&mut scene).is_empty());
    assert_eq!(wake_at(&scene.model), None);
    let mut scene = scene.event(RUNS).after(1);
    assert_eq!(asked(&mut scene)[0].1["running"], true);
}

#[test]
fn a_status_command_of_claude_code_finds_what_it_reads() {
    let usage = TokenUsage { input: 30_000, output: 2_000, cache_read: 20_000, cache_write: 1_000 };
    let scene = with_command();
    let before = asked(&mut scene.after(100)).remove(0).1;
    assert_eq!(before["context_window"]["current_usage"], json!(null));
    assert_eq!(before["context_window"]["used_percentage"], json!(null));
    let mut scene = with_command();
    scene.model.conversation.status.usage = Some(usage);
    let told = asked(&mut scene.after(100)).remove(0).1;
    assert_eq!(told["model"], json!({"id": "qwen3-coder", "display_name": "qwen3-coder"}));
    assert_eq!(told["workspace"]["current_dir"], told["cwd"]);
    assert_eq!(told["workspace"]["project_dir"], told["cwd"]);
    assert_eq!(
        told["context_window"],
        json!({
            "context_window_size": 128_000, "measured": true, "used_percentage": 25,
            "remaining_percentage": 75, "total_input_tokens": 0, "total_output_tokens": 0,
            "current_usage": {
                "input_tokens": 9_000, "output_tokens": 2_000,
                "cache_creation_input_tokens": 1_000, "cache_read_input_tokens": 20_000
            }
        })
    );
    let cost = json!({"total_cost_usd": null, "total_lines_added": 0, "total_lines_removed": 0});
    assert_eq!(told["cost"], cost);
}

#[test]
fn the_command_runs_at_most_once_a_second_and_one_at_a_time() {
    let mut scene = with_command().after(100);
    let id = asked(&mut scene)[0].0;
    let mut scene = scene.event(RUNS).after(5_000);
    assert!(asked(&mut scene).is_empty(), "the first has not answered yet");
    let mut scene = scene.msg(ScreenMsg::StatusLine { id, line: Ok("a".into()) }).after(1);
    let id = asked(&mut scene)[0].0;
    let mut scene = scene.msg(ScreenMsg::StatusLine { id, line: Ok("b".into()) });
    scene.model.conversation.turn = crate::tui::app::conversation::turn::TurnActivity::Idle;
    let mut scene = scene.after(500);
    assert!(asked(&mut scene).is_empty(), "a second has not passed");
    assert!(wake_at(&scene.model).is_some());
    let mut scene = scene.after(600);
    assert_eq!(asked(&mut scene).len(), 1);
}

#[test]
fn a_command_that_fails_is_told_of_once() {
    let mut scene = with_command().after(100);
    let id = asked(&mut scene)[0].0;
    let failed = |id| ScreenMsg::StatusLine { id, line: Err("it ended with 1".into()) };
    let mut scene = scene.msg(failed(id)).shows("`ui.status_command` failed: it ended with 1");
    let before = scene.model.conversation.transcript.blocks().len();
    scene = scene.event(recorded(&user("hello"))).event(RUNS).after(2_000);
    let id = asked(&mut scene)[0].0;
    let scene = scene.msg(failed(id));
    assert_eq!(scene.model.conversation.transcript.blocks().len(), before + 1);
}

fn job(id: u64, command: &str) -> AgentEvent {
    AgentEvent::JobStarted(JobInfo { id: JobId(id), command: command.into() })
}

#[test]
fn the_first_line_counts_the_jobs_and_the_status_page_names_them() {
    screen(100, 24)
        .hides(" job")
        .event(job(1, "npm run dev"))
        .shows("1 job")
        .event(job(2, "tail -f log"))
        .shows("2 jobs")
        .types("/status")
        .key("enter")
        .shows("npm run dev")
        .shows("tail -f log")
        .key("esc")
        .event(AgentEvent::JobEnded { job: JobId(1), end: JobEnd::Exited(ExitCause::Cancelled) })
        .shows("1 job")
        .event(AgentEvent::JobEnded { job: JobId(2), end: JobEnd::Lost })
        .hides(" job");
}

#[test]
fn who_is_about_to_leave_reads_which_jobs_end() {
    screen(100, 24)
        .event(job(1, "npm run dev"))
        .key("ctrl+c")
        .shows("ctrl+c again to quit and end `npm run dev`")
        .event(job(2, "tail -f log"))
        .key("x")
        .key("ctrl+c")
        .key("ctrl+c")
        .shows("ctrl+c again to quit and end 2 jobs");
}

#[test]
fn the_exit_command_asks_before_it_ends_jobs() {
    let screen = screen(100, 24).event(job(1, "npm run dev")).types("/exit").key("enter");
    let screen = screen.shows("/exit again to quit and end `npm run dev`");
    assert!(!screen.effects.contains(&ScreenEffect::Quit));
    let screen = screen.types("/exit").key("enter");
    assert!(screen.effects.contains(&ScreenEffect::Quit));
}

#[test]
fn a_notice_under_a_dialog_is_shown_however_long_it_is() {
    for width in [40, 80] {
        let mut scene = screen(width, 24).types("/theme").key("enter");
        scene.model.shared.toast(NoticeLevel::Info, format!("Saved {}", "x".repeat(100)));
        scene.after(16).shows("Saved xxx");
    }
}

#[test]
fn after_a_compaction_the_meter_has_what_is_left() {
    let usage = TokenUsage { input: 90_000, output: 400, ..TokenUsage::default() };
    let answer =
        with_usage(assistant(vec![crate::domain::ContentBlock::Text { text: "x".into() }]), usage);
    let scene = screen(80, 24).event(RUNS).event(recorded(&answer)).shows("90.4k/128k");
    let tokens = Some(CompactionTokens { before: 90_400, after: 12_000 });
    let compaction = CompactionEntry { tokens, ..CompactionEntry::default() };
    let scene = scene.event(recorded(&record(LogEntry::Compaction(compaction))));
    scene.shows("~12k/128k 9% full").hides("0/128k ");
}
