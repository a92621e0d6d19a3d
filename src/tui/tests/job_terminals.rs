//! Tests of a job's terminal on the page of `/jobs`: seen, taken over and given back.

use std::time::Duration;

use crossterm::event::{MouseButton, MouseEventKind};

use crate::agent::{AgentCommand, AgentEvent};
use crate::config::KeyPreset;
use crate::domain::{
    ExitCause, FollowedOutput, HeldModifiers, JobEnd, JobId, JobInfo, JobReport, MouseAction,
    NoticeLevel, TerminalButton, TerminalColor, TerminalFrame, TerminalInput, TerminalKeyPress,
    TerminalMouse, TerminalRun, TerminalSize, TerminalStyle,
};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TestScreen, question, screen};

const JOB: JobId = JobId(3);

fn report() -> JobReport {
    JobReport {
        job: JobInfo { id: JOB, command: "vim notes.md".into() },
        elapsed: Duration::from_secs(72),
        end: None,
        printed: 2_310,
        last_lines: "~".into(),
        has_terminal: true,
    }
}

fn run(column: u16, text: &str, color: Option<u8>) -> TerminalRun {
    let foreground = color.map(TerminalColor::Indexed);
    TerminalRun {
        column,
        text: text.into(),
        style: TerminalStyle { foreground, ..TerminalStyle::default() },
    }
}

fn frame() -> TerminalFrame {
    let rows = vec![
        vec![run(0, "# ", Some(5)), run(2, "Notes", None)],
        vec![run(0, "日本語", None), run(30, "far", Some(1))],
        vec![run(0, "~", Some(4))],
        vec![run(0, "\"notes.md\" 2L", None), run(500, "beyond the edge", None)],
    ];
    let size = TerminalSize { columns: 80, rows: 24 };
    TerminalFrame { size, rows, cursor: Some((7, 0)), hides_input: false }
}

fn shows(frame: TerminalFrame, scrolled: &[&str]) -> AgentEvent {
    let scrolled = scrolled.iter().map(|&line| line.to_owned()).collect();
    AgentEvent::JobOutput(FollowedOutput::Screen { job: JOB, frame, scrolled })
}

fn opened(width: u16, height: u16) -> TestScreen {
    let screen = screen(width, height).types("/jobs").key("enter").after(5_000).after(5_000);
    screen.event(AgentEvent::Jobs(vec![report()])).event(shows(frame(), &[])).clear_effects()
}

fn taken_over(width: u16, height: u16) -> TestScreen {
    opened(width, height).key("t").clear_effects()
}

fn command(command: AgentCommand) -> ScreenEffect {
    ScreenEffect::Agent(AGENT, command)
}

fn typed(typed: TerminalInput) -> ScreenEffect {
    command(AgentCommand::TypeIntoJob { job: JOB, typed })
}

fn typed_key(written: &str) -> ScreenEffect {
    typed(TerminalInput::Key(TerminalKeyPress::parse(written).unwrap()))
}

#[test]
fn the_screen_of_the_terminal_is_in_the_pane_and_over_the_page() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let pane = opened(width, height).shows("Terminal of job 3  vim notes.md");
        pane.shows("# Notes")
            .shows("\"notes.md\" 2L")
            .shows("t take over")
            .hides("beyond the edge");
        let scene = taken_over(width, height).shows("Your keys go to job 3  vim notes.md");
        let scene = scene.shows("# Notes").shows("ctrl+] gives the keys back");
        scene.shows("ctrl+] give back").hides("Terminal of job 3");
    }
    taken_over(30, 6).shows("# Notes").shows("gives the keys back");
}

#[test]
fn every_key_but_one_goes_to_the_program() {
    let keys = [
        "x", "esc", "ctrl+c", "ctrl+l", "ctrl+z", "ctrl+d", "enter", "tab", "up", "f1", "alt+x",
        "?",
    ];
    for written in keys {
        let scene = taken_over(80, 24).key(written);
        scene.expect_effects(&[typed_key(written)]).shows("Your keys go to job");
    }
    // Without the kitty protocol it comes as ctrl+5.
    for written in ["ctrl+]", "ctrl+5"] {
        let scene = taken_over(80, 24).key(written);
        assert!(!scene.effects.iter().any(is_typed), "{:?}", scene.effects);
        scene.hides("Your keys go to job").shows("Terminal of job 3");
    }
}

fn is_typed(effect: &ScreenEffect) -> bool {
    matches!(effect, ScreenEffect::Agent(_, AgentCommand::TypeIntoJob { .. }))
}

#[test]
fn the_key_that_gives_back_is_sent_by_pressing_it_twice() {
    let scene = taken_over(80, 24).key("ctrl+]").clear_effects().key("ctrl+]");
    assert!(scene.effects.contains(&typed_key("ctrl+]")), "{:?}", scene.effects);
    let scene = scene.shows("Your keys go to job").key("ctrl+]").clear_effects();
    // Another key between the two makes the second one a key of the page, which does nothing.
    let scene =
        scene.hides("Your keys go to job").key("k").key("ctrl+]").hides("Your keys go to job");
    assert!(!scene.effects.iter().any(is_typed), "{:?}", scene.effects);
}

#[test]
fn a_key_of_the_users_gives_back_and_a_sequence_cannot() {
    let own = "[jobs]\ngive-back = \"alt+z\"\n";
    let scene = taken_over(80, 24).keys(KeyPreset::Default, own);
    let scene = scene.key("ctrl+]").shows("alt+z gives the keys back").key("alt+z");
    scene.hides("Your keys go to job");
    for own in ["[jobs]\ngive-back = \"z x\"\n", "[jobs]\ngive-back = []\n"] {
        let scene = taken_over(80, 24).keys(KeyPreset::Default, own);
        scene.shows("ctrl+] gives the keys back").key("ctrl+]").hides("Your keys go to job");
    }
}

#[test]
fn a_paste_and_the_mouse_go_to_the_program() {
    let scene = taken_over(80, 24).msg(ScreenMsg::Paste("a\nb".into()));
    let scene = scene.expect_effects(&[typed(TerminalInput::Paste("a\nb".into()))]).clear_effects();
    let scene = scene.mouse(MouseEventKind::Down(MouseButton::Left), 9, 5);
    let event = |action, button| {
        let (button, held) = (Some(button), HeldModifiers::default());
        typed(TerminalInput::Mouse(TerminalMouse { action, button, column: 9, row: 4, held }))
    };
    let scene = scene.expect_effects(&[event(MouseAction::Press, TerminalButton::Left)]);
    let scene = scene.clear_effects().mouse(MouseEventKind::ScrollUp, 9, 5);
    let scene = scene.expect_effects(&[event(MouseAction::Press, TerminalButton::WheelUp)]);
    // The row above the screen is not the program's.
    let scene = scene.clear_effects().mouse(MouseEventKind::Down(MouseButton::Left), 9, 0);
    scene.expect_effects(&[]);
}

#[test]
fn the_terminal_has_the_size_of_its_pane() {
    let resized = |columns, rows| {
        command(AgentCommand::ResizeJob { job: JOB, size: TerminalSize { columns, rows } })
    };
    let scene = screen(80, 24).types("/jobs").key("enter").after(5_000).after(5_000);
    let scene = scene.clear_effects().event(AgentEvent::Jobs(vec![report()]));
    assert!(scene.effects.contains(&resized(78, 17)), "{:?}", scene.effects);
    let scene = scene.clear_effects().key("t");
    assert!(scene.effects.contains(&resized(80, 22)), "{:?}", scene.effects);
    let scene = scene.clear_effects().resized(100, 30);
    assert!(scene.effects.contains(&resized(100, 28)), "{:?}", scene.effects);
    let scene = scene.clear_effects().event(shows(frame(), &[]));
    scene.expect_effects(&[]);
}

#[test]
fn a_question_waits_until_the_keys_are_given_back() {
    let scene = taken_over(80, 24).event(question(1, "rm -r build"));
    let scene = scene.hides("rm -r build").shows("1 question waits: ctrl+] to answer");
    let scene = scene.event(question(2, "make"));
    let scene = scene.shows("2 questions wait: ctrl+] to answer").clear_effects().key("y");
    let scene = scene.expect_effects(&[typed_key("y")]).key("ctrl+]");
    scene.shows("rm -r build").hides("Your keys go to job");
}

#[test]
fn the_end_of_the_job_gives_the_keys_back_and_shows_what_waited() {
    let scene = taken_over(80, 24).event(question(1, "rm -r build"));
    let over = JobReport { end: Some(JobEnd::Exited(ExitCause::Code(0))), ..report() };
    let scene = scene.event(AgentEvent::Jobs(vec![over.clone()])).shows("rm -r build");
    let scene = scene.event(AgentEvent::ApprovalWithdrawn(crate::domain::ApprovalId(1)));
    scene.shows("# Notes").key("t").shows("Job 3 has ended already.");
    let scene = taken_over(80, 24).event(AgentEvent::Jobs(vec![over]));
    scene.hides("Your keys go to job").shows("ended with status 0");
}

#[test]
fn what_is_hidden_is_said_to_be_in_no_log() {
    let hidden = TerminalFrame { hides_input: true, ..frame() };
    taken_over(80, 24).event(shows(hidden, &[])).shows("is not shown, and not logged");
}

#[test]
fn lines_that_scrolled_off_are_above_the_screen() {
    let lines: Vec<String> = (1..=100).map(|at| format!("scrolled {at}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let scene = opened(80, 24).event(shows(frame(), &lines)).shows("# Notes").hides("scrolled");
    let scene = scene.key("pgup").hides("# Notes").shows("scrolled 100").shows("scrolled 90");
    let scene = scene.key("end").shows("# Notes").hides("scrolled").clear_effects();
    let text = "# Notes\n日本語                        far\n~\n\"notes.md\" 2L".to_owned();
    let scene = scene.key("y");
    let copied = scene.effects.iter().find_map(|it| match it {
        ScreenEffect::Copy { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(copied.is_some_and(|it| it.starts_with(&text)), "{:?}", scene.effects);
    scene.key("o").key("home").shows("scrolled 1").key("end").shows("# Notes");
}

#[test]
fn a_job_without_a_terminal_is_not_taken_over() {
    let piped = JobReport { has_terminal: false, ..report() };
    let scene = opened(80, 24).event(AgentEvent::Jobs(vec![piped])).key("t");
    scene.shows("Job 3 has no terminal to take over.").hides("Your keys go to job");
}

#[test]
fn the_cursor_is_that_of_the_program_while_it_is_taken_over() {
    assert_eq!(taken_over(80, 24).caret(), (7, 1));
}

#[test]
fn the_selected_job_of_another_session_gives_the_keys_back() {
    let scene = taken_over(80, 24);
    let opened = AgentEvent::SessionOpened {
        session: crate::tui::test_screen::session(),
        records: std::sync::Arc::default(),
    };
    scene.event(opened).hides("Your keys go to job");
    let notice = AgentEvent::Notice { level: NoticeLevel::Info, text: "Something.".into() };
    taken_over(80, 24).event(notice).shows("Your keys go to job");
}
