//! Commands in the background, as a model starts them, looks at them and ends them.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession};
use slug_code::domain::{JobEnd, PermissionMode, ToolDisplay};
use slug_code::platform::environment::EnvironmentRules;
use slug_code::session::TurnOutcome;
use slug_code::tools::ExitCause;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};
use crate::support::process_host::process_host;

/// Agents whose commands run on this machine.
pub fn fixture(mode: PermissionMode) -> AgentFixture {
    let host = process_host(std::env::vars_os(), &EnvironmentRules::default());
    AgentFixture { sandbox: Some(Arc::new(host)), ..AgentFixture::in_mode(mode) }
}

pub async fn open(fixture: &AgentFixture) -> TestAgent {
    fixture.open_setup(fixture.setup(Vec::new()), InitialSession::New).await
}

/// Runs a turn with one call, and returns its result.
async fn call(
    (fixture, agent): (&AgentFixture, &mut TestAgent),
    id: &'static str,
    tool: &'static str,
    input: serde_json::Value,
) -> String {
    queue_replies(fixture, [calls(&[(id, tool, input)]), words("Well.")]);
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    agent.result(id).0
}

async fn started_job(agent: &mut TestAgent) -> u64 {
    let is_start = |it: &AgentEvent| matches!(it, AgentEvent::JobStarted(_));
    let before = agent.events.iter().find(|it| is_start(it)).cloned();
    let started = match before {
        Some(started) => started,
        None => agent.wait_for("a job", is_start).await,
    };
    let AgentEvent::JobStarted(info) = started else { unreachable!() };
    info.id.0
}

/// The messages of the newest request, in the form for debugging.
fn request_text(fixture: &AgentFixture) -> String {
    format!("{:?}", fixture.model.last_request().messages)
}

async fn job_end(agent: &mut TestAgent) -> JobEnd {
    let is_end = |it: &AgentEvent| matches!(it, AgentEvent::JobEnded { .. });
    let before = agent.events.iter().find(|it| is_end(it)).cloned();
    let ended = match before {
        Some(ended) => ended,
        None => agent.wait_for("an end", is_end).await,
    };
    let AgentEvent::JobEnded { end, .. } = ended else { unreachable!() };
    end
}

#[tokio::test(flavor = "multi_thread")]
async fn each_look_at_a_job_shows_what_is_new_and_the_filter_leaves_lines_out() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo debug a; echo ready b; \
                while [ ! -e end ]; do sleep 0.02; done; printf last; exit 3";
    let input = json!({"command": text, "run_in_background": true});
    let result = call((&fixture, &mut agent), "a", "Bash", input).await;
    let job = started_job(&mut agent).await;
    // On a busy machine the first line may come after the first look.
    let is_early = result.starts_with("one\n");
    let (first, second) =
        if is_early { ("one", "(no new output)") } else { ("(no output yet)", "one") };
    let begun = format!("{first}\n[runs in the background as job {job}. BashOutput");
    assert!(result.starts_with(&begun), "{result}");
    let shown = agent.messages().into_iter().find_map(|it| it.result?.display);
    let Some(ToolDisplay::Terminal { text }) = shown else { panic!("{shown:?}") };
    let begun = format!("[runs in the background as job {job}; /jobs shows its output]");
    assert!(text.ends_with(&begun) && !text.contains("BashOutput"), "{text}");

    let input = json!({"bash_id": job.to_string(), "wait": if is_early { 0 } else { 20 }});
    let result = call((&fixture, &mut agent), "b", "BashOutput", input).await;
    assert!(result.starts_with(&format!("{second}\n[job {job} runs, ")), "{result}");

    std::fs::write(fixture.work.join("go"), "").unwrap();
    let input = json!({"job": job, "filter": "^ready", "wait": 20});
    let result = call((&fixture, &mut agent), "c", "BashOutput", input).await;
    assert!(result.starts_with(&format!("ready b\n[job {job} runs, ")), "{result}");
    let input = json!({"job": job, "wait": 0});
    let result = call((&fixture, &mut agent), "d", "BashOutput", input).await;
    assert!(result.starts_with("(no new output)\n"), "a line that was left out: {result}");

    std::fs::write(fixture.work.join("end"), "").unwrap();
    let input = json!({"job": job, "wait": 20});
    let result = call((&fixture, &mut agent), "e", "BashOutput", input).await;
    assert!(result.starts_with(&format!("last\n[job {job} has ended after ")), "{result}");
    assert!(result.ends_with(": exit status 3]"), "{result}");
    // The model knows of the end, and is not told again. Where the job ended before the last message was
    // sent, a note came with that.
    let notes = |fixture| request_text(fixture).matches("Its command: ").count();
    let before = notes(&fixture);
    queue_replies(&fixture, [words("Well.")]);
    agent.turn("and now").await;
    assert_eq!(notes(&fixture), before);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_job_ends_a_wait() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "while [ ! -e go ]; do sleep 0.02; done";
    let start = json!({"command": text, "run_in_background": true});
    // A wait comes after the calls before it, so it knows their jobs.
    let both = calls(&[("a", "Bash", start), ("b", "Sleep", json!({"seconds": 600}))]);
    let again = calls(&[("c", "Sleep", json!({"seconds": 1}))]);
    queue_replies(&fixture, [both, again, words("Well.")]);
    agent.send("go on").await;
    // That of the job, and that of the wait.
    agent.wait_for_tool_start().await;
    agent.wait_for_tool_start().await;
    let job = started_job(&mut agent).await;
    std::fs::write(fixture.work.join("go"), "").unwrap();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let result = agent.result("b").0;
    assert!(result.starts_with(&format!("Job {job} ({text}) has ended, after ")), "{result}");
    // The model has been told of this end with the request after it.
    assert_eq!(agent.result("c").0, "1 s have passed.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_look_at_a_running_job_twice_in_one_response_is_two_looks() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "echo up; while [ ! -e go ]; do sleep 0.02; done";
    let input = json!({"command": text, "run_in_background": true});
    call((&fixture, &mut agent), "a", "Bash", input).await;
    let job = started_job(&mut agent).await;
    let look = json!({"job": job});
    let looks = [("b", "BashOutput", look.clone()), ("c", "BashOutput", look)];
    queue_replies(&fixture, [calls(&looks), words("Well.")]);
    assert_eq!(agent.turn("look").await, TurnOutcome::Answered);
    for id in ["b", "c"] {
        let result = agent.result(id).0;
        assert!(result.starts_with(&format!("(no new output)\n[job {job} runs, ")), "{result}");
    }
    std::fs::write(fixture.work.join("go"), "").unwrap();
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_told_of_an_end_once_with_the_last_lines() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "while [ ! -e go ]; do sleep 0.02; done; seq 20; exit 7";
    let input = json!({"command": text, "run_in_background": true});
    call((&fixture, &mut agent), "a", "Bash", input).await;
    std::fs::write(fixture.work.join("go"), "").unwrap();
    assert_eq!(job_end(&mut agent).await, JobEnd::Exited(ExitCause::Code(7)));
    for _ in 0..2 {
        queue_replies(&fixture, [words("Well.")]);
        agent.turn("how is it").await;
        let request = request_text(&fixture);
        assert_eq!(request.matches(": exit status 7. Its command: ").count(), 1, "{request}");
        assert!(request.contains("Its last lines:\\n11\\n12\\n"), "{request}");
    }
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_told_once_of_a_job_that_ended_with_its_session() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let input = json!({"command": "sleep 600", "run_in_background": true});
    call((&fixture, &mut agent), "a", "Bash", input).await;
    let job = started_job(&mut agent).await;
    let session = agent.id();
    agent.close().await;
    for _ in 0..2 {
        let again = InitialSession::Resume(session);
        let mut agent = fixture.open_setup(fixture.setup(Vec::new()), again).await;
        queue_replies(&fixture, [words("Well.")]);
        agent.turn("how is it").await;
        let told =
            format!("The job {job} has ended: its session was closed. Its command: sleep 600");
        let request = request_text(&fixture);
        assert_eq!(request.matches(&told).count(), 1, "{request}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_a_job_ends_what_it_started_and_says_what_it_printed() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done";
    let input = json!({"command": text, "run_in_background": true});
    call((&fixture, &mut agent), "a", "Bash", input).await;
    let job = started_job(&mut agent).await;
    let result = call((&fixture, &mut agent), "b", "KillBash", json!({"shell_id": job})).await;
    assert!(result.contains(&format!("bye\n[job {job} has ended after ")), "{result}");
    assert!(result.ends_with(": it was ended by slug]"), "{result}");
    let result = call((&fixture, &mut agent), "c", "KillBash", json!({"job": 99_999})).await;
    assert!(result.starts_with("There is no job 99999. Jobs end with their session. "), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_at_once_is_no_job_to_look_after() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let input = json!({"command": "no-such-program", "run_in_background": true});
    let result = call((&fixture, &mut agent), "a", "Bash", input).await;
    assert!(result.contains("command not found"), "{result}");
    assert!(result.ends_with(": exit status 127]"), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_of_the_call_ends_a_job() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let input = json!({"command": "exec sleep 1000", "run_in_background": true, "timeout": 1});
    let result = call((&fixture, &mut agent), "a", "Bash", input).await;
    assert!(result.contains(", and is ended after 1 s. "), "{result}");
    assert_eq!(job_end(&mut agent).await, JobEnd::Exited(ExitCause::TimedOut));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_goes_to_the_background_when_the_user_says_so() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo later";
    let input = json!({"command": text, "timeout": 60_000});
    queue_replies(&fixture, [calls(&[("a", "Bash", input)]), words("Well.")]);
    // Without a command that runs, nothing happens.
    agent.tell(AgentCommand::DetachCommand).await;
    agent.send("go on").await;
    let is_begun = |it: &AgentEvent| matches!(it, AgentEvent::ToolProgress { .. });
    agent.wait_for("output", is_begun).await;
    agent.tell(AgentCommand::DetachCommand).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let job = started_job(&mut agent).await;
    let result = agent.result("a").0;
    let begun = format!("begun\n[runs on in the background as job {job}: as the user wanted. ");
    assert!(result.starts_with(&begun), "{result}");

    std::fs::write(fixture.work.join("go"), "").unwrap();
    let input = json!({"job": job, "wait": 20});
    let result = call((&fixture, &mut agent), "b", "BashOutput", input).await;
    assert!(result.starts_with(&format!("later\n[job {job} has ended after ")), "{result}");
    assert!(result.ends_with(": exit status 0]"), "{result}");
    agent.close().await;
}
