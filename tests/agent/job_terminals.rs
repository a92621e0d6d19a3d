//! Jobs on a terminal, as a model starts them, looks at them and types into them, and as the user does.

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent};
use slug_code::domain::{
    ApprovalAnswer, FollowedJobs, FollowedOutput, JobId, PermissionMode, TerminalFrame,
    TerminalInput, TerminalKeyPress, TerminalSize, ToolStatus,
};
use slug_code::session::TurnOutcome;

use super::fakes::{bash, calls, words};
use super::job_tools::{fixture, open};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// Runs a turn with one call that is not asked about, and returns its result.
async fn call(
    (fixture, agent): (&AgentFixture, &mut TestAgent),
    id: &'static str,
    tool: &'static str,
    input: Value,
) -> (String, ToolStatus) {
    queue_replies(fixture, [calls(&[(id, tool, input)]), words("Well.")]);
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    agent.result(id)
}

/// Starts a command on a terminal and returns its job.
async fn on_terminal((fixture, agent): (&AgentFixture, &mut TestAgent), command: &str) -> JobId {
    let input = json!({"command": command, "tty": true});
    let (result, status) = call((fixture, agent), "start", "Bash", input).await;
    assert_eq!(status, ToolStatus::Done, "{result}");
    assert!(result.contains("[runs on a terminal as job "), "{result}");
    let is_start = |it: &AgentEvent| matches!(it, AgentEvent::JobStarted(_));
    let Some(AgentEvent::JobStarted(info)) = agent.events.iter().find(|it| is_start(it)) else {
        panic!("no job")
    };
    info.id
}

/// Waits until the terminal shows a text, and returns what it shows.
async fn shown(agent: &mut TestAgent, job: JobId, text: &str) -> TerminalFrame {
    agent.tell(AgentCommand::FollowJobs(Some(FollowedJobs { output_of: Some(job) }))).await;
    let lines = |frame: &TerminalFrame| -> String {
        frame.rows.iter().flatten().map(|run| format!("{}\n", run.text)).collect()
    };
    let shows = |it: &AgentEvent| {
        matches!(it, AgentEvent::JobOutput(FollowedOutput::Screen { job: of, frame, .. })
            if *of == job && lines(frame).contains(text))
    };
    let event = agent.wait_for(text, shows).await;
    let AgentEvent::JobOutput(FollowedOutput::Screen { frame, .. }) = event else { unreachable!() };
    frame
}

async fn type_text(agent: &TestAgent, job: JobId, text: &str) {
    for c in text.chars() {
        let written = if c == '\n' { "enter".to_owned() } else { c.to_string() };
        let press = TerminalKeyPress::parse(&written).unwrap();
        agent.tell(AgentCommand::TypeIntoJob { job, typed: TerminalInput::Key(press) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_talks_to_a_program_on_a_terminal() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "stty size; while read -p 'name? ' name; do printf '\\033[31mhello %s\\033[0m\\n' \
                \"$name\"; done; echo over";
    let job = on_terminal((&fixture, &mut agent), text).await.0;
    let input = json!({"job": job, "filter": "name\\?", "wait": 20});
    let (result, _) = call((&fixture, &mut agent), "look", "BashOutput", input).await;
    assert!(result.starts_with(&format!("name?\n[job {job} runs, ")), "{result}");
    let input = json!({"job": job, "text": "Ada\n"});
    let (result, _) = call((&fixture, &mut agent), "type", "BashInput", input).await;
    assert!(result.starts_with("24 80\nname? Ada"), "{result}");
    // On a busy machine the answer may come after the call.
    let input = json!({"job": job, "filter": "hello", "wait": 20});
    let (result, _) = call((&fixture, &mut agent), "answer", "BashOutput", input).await;
    assert!(result.starts_with("hello Ada\n[job "), "{result}");
    let input = json!({"job": job, "keys": ["ctrl+d"]});
    call((&fixture, &mut agent), "end", "BashInput", input).await;
    let input = json!({"job": job, "wait": 20});
    let (result, _) = call((&fixture, &mut agent), "last", "BashOutput", input).await;
    assert!(result.contains("over") && result.ends_with("exit status 0]"), "{result}");
    let input = json!({"job": job, "text": "x"});
    let (result, status) = call((&fixture, &mut agent), "late", "BashInput", input).await;
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains("it has ended"), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_types_is_asked_about_and_shown_by_name() {
    let fixture = fixture(PermissionMode::Ask);
    // That commands like it are allowed says nothing of what is typed.
    fixture.settings(&json!({"permissions": {"allow": ["Bash(cat)", "Bash(ls)", "Bash(ls *)"], "deny": ["Bash(rm *)"]}}));
    let mut agent = open(&fixture).await;
    let job = on_terminal((&fixture, &mut agent), "cat").await;
    let typed =
        calls(&[("type", "BashInput", json!({"job": job.0, "text": "ls\n", "keys": ["ctrl+c"]}))]);
    queue_replies(&fixture, [typed, words("Well.")]);
    agent.send("type it").await;
    let question = agent.next_approval().await;
    assert_eq!(question.parts.len(), 1, "{question:?}");
    assert_eq!(question.parts[0].text, "ls[enter][ctrl+c]");
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    // A rule that denies a command denies typing it.
    let input = json!({"job": job.0, "text": "rm -r x\n"});
    let (_, status) = call((&fixture, &mut agent), "deny", "BashInput", input).await;
    assert_eq!(status, ToolStatus::Denied);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_denies_every_command_denies_typing() {
    let fixture = fixture(PermissionMode::Yolo);
    fixture.settings(&json!({"permissions": {"deny": ["Bash"]}}));
    let mut agent = open(&fixture).await;
    let input = json!({"job": 1, "text": "anything"});
    let (_, status) = call((&fixture, &mut agent), "type", "BashInput", input).await;
    assert_eq!(status, ToolStatus::Denied);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_the_users_to_type_and_is_on_no_record() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "read -s -p 'Password: ' secret; echo; echo \"${#secret} characters\"; read rest";
    let job = on_terminal((&fixture, &mut agent), text).await;
    let frame = shown(&mut agent, job, "Password:").await;
    // The prompt is printed before the terminal stops showing what is typed.
    if !frame.hides_input {
        let hides = |it: &AgentEvent| matches!(it, AgentEvent::JobOutput(FollowedOutput::Screen { frame, .. }) if frame.hides_input);
        agent.wait_for("a hidden input", hides).await;
    }
    let input = json!({"job": job.0, "text": "model-guess\n"});
    let (result, status) = call((&fixture, &mut agent), "guess", "BashInput", input).await;
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains("Nothing was typed") && result.contains("Only the user"), "{result}");
    let (result, _) =
        call((&fixture, &mut agent), "look", "BashOutput", json!({"job": job.0})).await;
    assert!(result.contains("as for a password"), "{result}");

    type_text(&agent, job, "CANARY-77\n").await;
    shown(&mut agent, job, "9 characters").await;
    let (result, _) =
        call((&fixture, &mut agent), "after", "BashOutput", json!({"job": job.0})).await;
    assert!(result.contains("9 characters"), "{result}");
    let everything = format!("{:?} {:?}", agent.records(), agent.events);
    assert!(!everything.contains("CANARY-77"));
    let requests = format!("{:?}", fixture.model.last_request());
    assert!(!requests.contains("CANARY-77"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_asked_about_can_be_put_on_a_terminal() {
    let fixture = fixture(PermissionMode::Ask);
    let mut agent = open(&fixture).await;
    let text = "test -t 0 && echo on a terminal; read line";
    queue_replies(&fixture, [calls(&[bash("c1", text)]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::OnTerminal).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (result, _) = agent.result("c1");
    assert!(result.contains("[runs on a terminal as job "), "{result}");
    // The model learns that these are not the arguments that it sent.
    assert!(result.contains("\"tty\":true"), "{result}");
    assert_eq!(agent.approval_count(), 1, "one question is enough");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_gets_another_size_and_keys_of_the_user() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "trap 'echo now $(stty size)' WINCH; echo ready; while :; do sleep 0.05; done";
    let job = on_terminal((&fixture, &mut agent), text).await;
    shown(&mut agent, job, "ready").await;
    let size = TerminalSize { columns: 100, rows: 30 };
    agent.tell(AgentCommand::ResizeJob { job, size }).await;
    let frame = shown(&mut agent, job, "now 30 100").await;
    assert_eq!((frame.size, frame.rows.len()), (size, 30));
    let press = TerminalKeyPress::parse("ctrl+c").unwrap();
    agent.tell(AgentCommand::TypeIntoJob { job, typed: TerminalInput::Key(press) }).await;
    agent.wait_for("an end", |it| matches!(it, AgentEvent::JobEnded { .. })).await;
    // A job that has no terminal, and none at all: nothing happens.
    agent.tell(AgentCommand::ResizeJob { job: JobId(9_999), size }).await;
    let typed = TerminalInput::Paste("x".into());
    agent.tell(AgentCommand::TypeIntoJob { job: JobId(9_999), typed }).await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_flood_the_model_gets_the_end_within_bounds() {
    let fixture = fixture(PermissionMode::Yolo);
    let mut agent = open(&fixture).await;
    let text = "seq 1 200000; printf '\\033]0;'; head -c 3000000 /dev/zero | tr '\\0' t; printf '\\007'; \
                for i in 1 2 3; do printf '\\033[6n\\033[c'; done; echo the-end; read line";
    let job = on_terminal((&fixture, &mut agent), text).await.0;
    let input = json!({"job": job, "filter": "the-end", "wait": 60});
    call((&fixture, &mut agent), "wait", "BashOutput", input).await;
    let (result, _) = call((&fixture, &mut agent), "look", "BashOutput", json!({"job": job})).await;
    assert!(result.len() < 40 << 10, "{}", result.len());
    assert!(result.contains("the-end") && !result.contains("ttt"), "{result}");
    agent.close().await;
}
