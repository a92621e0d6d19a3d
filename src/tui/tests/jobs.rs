//! Tests of the page of `/jobs`.

use std::time::Duration;

use crossterm::event::MouseEventKind;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    ExitCause, FollowedJobs, FollowedOutput, JobEnd, JobId, JobInfo, JobReport, NoticeLevel,
    SessionId,
};
use crate::tui::app::ScreenEffect;
use crate::tui::dialogs::OpenDialog;
use crate::tui::dialogs::pager::plain_text;
use crate::tui::test_screen::{AGENT, TestScreen, screen};

fn info(id: u64, command: &str) -> JobInfo {
    JobInfo { id: JobId(id), command: command.into() }
}

fn running(id: u64, command: &str, seconds: u64, printed: u64) -> JobReport {
    let elapsed = Duration::from_secs(seconds);
    JobReport {
        job: info(id, command),
        elapsed,
        end: None,
        printed,
        last_lines: String::new(),
        has_terminal: false,
    }
}

fn ended(report: JobReport, cause: ExitCause) -> JobReport {
    JobReport { end: Some(JobEnd::Exited(cause)), ..report }
}

fn output(id: u64, skipped: u64, text: &str) -> AgentEvent {
    AgentEvent::JobOutput(FollowedOutput::Printed { job: JobId(id), skipped, text: text.into() })
}

fn opened(width: u16, height: u16) -> TestScreen {
    // The input is saved as a draft after a pause in typing.
    screen(width, height).types("/jobs").key("enter").after(5_000).after(5_000).clear_effects()
}

fn both() -> Vec<JobReport> {
    vec![
        ended(running(3, "cargo build --release", 62, 48_200), ExitCause::Code(101)),
        running(4, "npm run dev -- --port 3000", 72, 2_310),
    ]
}

/// A server that still runs, beside a build that has failed.
fn two_jobs(width: u16, height: u16) -> TestScreen {
    let text: String = (1..=80)
        .map(|at| format!("\u{1b}[32mGET\u{1b}[0m /cart/{at} \u{1b}[2m200 in {at} ms\u{1b}[0m\n"))
        .collect();
    opened(width, height).event(AgentEvent::Jobs(both())).event(output(4, 12_400_000, &text))
}

fn follow(output_of: Option<u64>) -> ScreenEffect {
    let jobs = FollowedJobs { output_of: output_of.map(JobId) };
    ScreenEffect::Agent(AGENT, AgentCommand::FollowJobs(Some(jobs)))
}

fn stop() -> ScreenEffect {
    ScreenEffect::Agent(AGENT, AgentCommand::FollowJobs(None))
}

#[test]
fn without_jobs_at_80x24() {
    insta::assert_snapshot!(opened(80, 24).event(AgentEvent::Jobs(Vec::new())).readable_text());
}

#[test]
fn without_jobs_at_120x40() {
    insta::assert_snapshot!(opened(120, 40).event(AgentEvent::Jobs(Vec::new())).readable_text());
}

#[test]
fn without_jobs_at_200x60() {
    insta::assert_snapshot!(opened(200, 60).event(AgentEvent::Jobs(Vec::new())).readable_text());
}

#[test]
fn two_jobs_at_80x24() {
    insta::assert_snapshot!(two_jobs(80, 24).readable_text());
}

#[test]
fn two_jobs_at_120x40() {
    insta::assert_snapshot!(two_jobs(120, 40).readable_text());
}

#[test]
fn two_jobs_at_200x60() {
    insta::assert_snapshot!(two_jobs(200, 60).readable_text());
}

#[test]
fn scrolled_up_at_80x24() {
    insta::assert_snapshot!(two_jobs(80, 24).key("pgup").readable_text());
}

#[test]
fn scrolled_up_at_120x40() {
    insta::assert_snapshot!(two_jobs(120, 40).key("pgup").readable_text());
}

#[test]
fn scrolled_up_at_200x60() {
    insta::assert_snapshot!(two_jobs(200, 60).key("pgup").readable_text());
}

#[test]
fn the_page_at_40x12() {
    insta::assert_snapshot!(two_jobs(40, 12).key("x").readable_text());
}

#[test]
fn the_agent_tells_about_jobs_for_as_long_as_the_page_is_open() {
    let job = AgentEvent::JobStarted(info(4, "npm run dev"));
    for command in ["/jobs", "/bashes"] {
        let scene = screen(80, 24).event(job.clone()).types(command).clear_effects().key("enter");
        assert!(scene.effects.contains(&follow(Some(4))), "{:?}", scene.effects);
        let scene = scene.shows("One moment").event(AgentEvent::Jobs(both())).clear_effects();
        let scene = scene.event(AgentEvent::Jobs(both())).event(output(4, 0, "up\n"));
        assert_eq!(scene.effects, [], "what is told changes nothing of it");
        let scene = scene.key("up");
        assert_eq!(scene.effects, [follow(Some(3))]);
        let scene = scene.clear_effects().key("esc");
        assert!(scene.effects.contains(&stop()), "{:?}", scene.effects);
    }
}

#[test]
fn the_page_goes_with_the_session_and_is_told_no_more() {
    let scene = two_jobs(80, 24).clear_effects();
    let records = std::sync::Arc::default();
    let session = SessionId::generate();
    let scene = scene.event(AgentEvent::SessionOpened { session, records });
    assert!(scene.effects.contains(&stop()), "{:?}", scene.effects);
    assert!(scene.model.dialogs.is_empty());
}

#[test]
fn without_a_running_job_the_newest_is_selected() {
    let reports = both().into_iter().take(1).collect();
    let scene = screen(80, 24).types("/jobs").clear_effects().key("enter");
    assert!(scene.effects.contains(&follow(None)), "{:?}", scene.effects);
    let scene = scene.clear_effects().event(AgentEvent::Jobs(reports));
    assert_eq!(scene.effects, [follow(Some(3))]);
    scene.shows("Output of job 3");
}

#[test]
fn the_end_is_followed_until_the_user_scrolls_up_and_again_from_the_end_on() {
    let scene = two_jobs(80, 24).shows("GET /cart/80 ").shows("following");
    let scene = scene.event(output(4, 0, "POST /pay\n")).shows("POST /pay");
    let scene = scene.key("pgup").hides("POST /pay");
    let seen = scene.text();
    let scene = scene.event(output(4, 0, "GET /thanks\n")).shows("press end to follow");
    let body = |text: &str| text.lines().skip(6).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&scene.text()), body(&seen), "what is read stays in place");
    let scene = scene.key("end").shows("GET /thanks").shows("following");
    scene.event(output(4, 0, "GET /again\n")).shows("GET /again");
}

#[test]
fn the_output_of_another_job_takes_the_place_of_the_first() {
    let scene = two_jobs(80, 24).key("up").hides("GET").shows("One moment");
    let scene = scene.event(output(4, 0, "late\n")).hides("late");
    let scene = scene.event(output(3, 0, "error: no\n")).shows("error: no");
    let reason = "The output of job 3 is no longer kept.".to_owned();
    let lost = AgentEvent::JobOutput(FollowedOutput::Lost { job: JobId(3), reason });
    scene.event(lost).shows("no longer kept");
}

#[test]
fn a_running_job_is_ended_by_the_key_twice() {
    let end = ScreenEffect::Agent(AGENT, AgentCommand::EndJob { job: JobId(4) });
    let scene = two_jobs(80, 24).clear_effects().key("x").shows("x again ends job 4");
    // Before the question can be read, no key answers it.
    let scene = scene.key_at_once("x");
    assert_eq!(scene.effects, []);
    let scene = scene.after(400).key("down").hides("again ends");
    let scene = scene.key("x").after(400).key("x");
    assert_eq!(scene.effects, [end]);
    let killed = vec![ended(running(4, "npm run dev", 75, 2_310), ExitCause::Cancelled)];
    let scene = scene.event(AgentEvent::Jobs(killed)).shows("killed after 1:15");
    let scene = scene.clear_effects().key("x").after(400).key("x");
    assert_eq!(scene.effects, []);
    scene.shows("Job 4 has ended already.");
}

#[test]
fn the_question_goes_when_the_job_ends_by_itself() {
    let scene = two_jobs(80, 24).key("x").shows("again ends job 4");
    let mut reports = both();
    reports[1] = ended(reports[1].clone(), ExitCause::Code(0));
    scene.event(AgentEvent::Jobs(reports)).hides("again ends").shows("ended with status 0");
}

#[test]
fn the_rows_on_screen_are_copied_and_all_is_opened_in_full_view() {
    let scene = two_jobs(80, 24).clear_effects().key("y");
    let Some(ScreenEffect::CopyLines { document, lines, .. }) = scene.effects.front() else {
        panic!("{:?}", scene.effects)
    };
    assert_eq!(
        plain_text(document, lines.clone()).lines().next_back(),
        Some("GET /cart/80 200 in 80 ms")
    );
    let scene = scene.clear_effects().key("o");
    assert!(matches!(scene.model.dialogs.top(), Some(OpenDialog::Pager(_))));
    let scene = scene.shows("Job 4").shows("12.4 MB of the output not shown");
    // The page below it goes on.
    let scene = scene.event(output(4, 0, "more\n")).hides("more\n").key("esc").shows("more");
    assert_eq!(scene.effects, []);
}

#[test]
fn a_job_in_the_list_can_be_clicked_and_its_output_scrolled() {
    let scene = two_jobs(80, 24).click("cargo build").shows("Output of job 3");
    let scene =
        scene.event(output(3, 0, &"line\n".repeat(100))).mouse(MouseEventKind::ScrollUp, 10, 12);
    scene.shows("lines below");
}

#[test]
fn terminal_sequences_of_a_job_are_not_obeyed() {
    let scene = opened(80, 24).event(AgentEvent::Jobs(vec![running(4, "a\u{1b}[2Jb", 1, 9)]));
    let scene = scene.event(output(4, 0, "\u{1b}]0;title\u{7}\n10%\r20%\n\u{202e}evil\n"));
    let text = scene.shows("20%").hides("10%").text();
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
}

#[test]
fn a_long_list_of_jobs_keeps_the_selected_one_in_view() {
    let reports: Vec<JobReport> =
        (1..=24).map(|id| running(id, &format!("sleep {id}00"), id, 0)).collect();
    let scene = opened(80, 24).event(AgentEvent::Jobs(reports));
    let mut scene = scene.shows("sleep 2400").hides("sleep 100 ").shows("No output yet");
    for _ in 0..30 {
        scene = scene.key("up");
    }
    scene.shows("sleep 100 ").hides("sleep 2400").shows("Output of job 1 ");
}

#[test]
fn a_toast_about_nothing_to_copy_names_the_reason() {
    let scene = opened(80, 24).event(AgentEvent::Jobs(vec![running(4, "sleep 9", 1, 0)])).key("y");
    assert_eq!(scene.model.shared.toast.as_ref().map(|it| it.level), Some(NoticeLevel::Info));
    scene.shows("Nothing to copy");
}
