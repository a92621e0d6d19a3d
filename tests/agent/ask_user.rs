//! Questions of the model: the user's answers reach it, a stop withdraws them, and nobody is asked in a
//! headless run.

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{PermissionMode, QuestionAnswer, QuestionRequest, ToolStatus};
use slug_code::session::{LogEntry, LogRecord, TurnOutcome};

use super::fakes::{ScriptedStream, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn ask() -> ScriptedStream {
    let questions = json!({"questions": [
        {"question": "Which store?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]},
        {"question": "Which name?", "options": []},
    ]});
    calls(&[("c1", "AskUser", questions)])
}

async fn asked(agent: &mut TestAgent) -> QuestionRequest {
    let is_question = |event: &AgentEvent| matches!(event, AgentEvent::QuestionsAsked(_));
    match agent.wait_for("questions", is_question).await {
        AgentEvent::QuestionsAsked(request) => *request,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_the_user_reach_the_model() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [ask(), words("Postgres then.")]);
    agent.send("store the prices").await;
    let request = asked(&mut agent).await;
    assert_eq!(request.questions.len(), 2);
    assert_eq!(request.questions[0].options[1].label, "Postgres");
    let answers = vec![QuestionAnswer { chosen: vec![1], ..QuestionAnswer::default() }];
    agent.tell(AgentCommand::AnswerQuestions { id: request.id, answers }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (text, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Done);
    assert!(text.starts_with("Which store?\n→ Postgres\nWhich name?\n→ left to you"), "{text}");
    assert_eq!(agent.approval_count(), 0, "no permission is asked for");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_withdraws_the_questions() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [ask()]);
    agent.send("store the prices").await;
    let id = asked(&mut agent).await.id;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let is_withdrawn =
        |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWithdrawn(it) if *it == id);
    assert!(agent.events.iter().any(is_withdrawn));
    assert_eq!(agent.result("c1").1, ToolStatus::Cancelled);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_where_nobody_is_there() {
    let fixture = AgentFixture::new();
    let mut setup = fixture.setup(Vec::new());
    setup.interactivity = Interactivity::Headless;
    let mut agent = fixture.open_setup(setup, InitialSession::New).await;
    queue_replies(&fixture, [ask(), words("I took SQLite.")]);
    assert_eq!(agent.turn("store the prices").await, TurnOutcome::Answered);
    let (text, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Denied);
    assert!(text.contains("Nobody is there to ask"), "{text}");
    let is_refused = |event: &AgentEvent| matches!(event, AgentEvent::CallRefused { .. });
    assert!(agent.events.iter().any(is_refused), "a refusal is listed at the end of the run");
    agent.close().await;
}

fn exit_plan(id: &'static str) -> ScriptedStream {
    let input = json!({"tool": "ExitPlanMode", "input": {"plan": "1. Write it"}});
    calls(&[(id, "Call", input)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_the_user_agrees_to_is_carried_out_in_the_mode_of_their_choice() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let enter = json!({"tool": "EnterPlanMode", "input": {}});
    let write = || calls(&[("c3", "Write", json!({"file_path": "new.txt", "content": "new\n"}))]);
    queue_replies(
        &fixture,
        [calls(&[("c1", "Call", enter)]), exit_plan("c2"), write(), words("Done.")],
    );
    agent.send("write it").await;
    let request = asked(&mut agent).await;
    assert_eq!(request.questions[0].document.as_deref(), Some("1. Write it"));
    let answers = vec![QuestionAnswer { chosen: vec![1], ..QuestionAnswer::default() }];
    agent.tell(AgentCommand::AnswerQuestions { id: request.id, answers }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.result("c2").0.starts_with("The user agrees to the plan."));
    assert_eq!(fixture.read("new.txt"), "new\n", "allow-edits holds now, so nothing more is asked");
    let modes = agent.events.iter().filter_map(|event| match event {
        AgentEvent::ModeChanged(mode) => Some(*mode),
        _ => None,
    });
    let modes: Vec<PermissionMode> = modes.collect();
    assert_eq!(modes[modes.len() - 2..], [PermissionMode::Plan, PermissionMode::AllowEdits]);
    let logged = agent.records();
    let is_mode = |record: &LogRecord| {
        matches!(record.entry, LogEntry::Mode { mode: PermissionMode::AllowEdits })
    };
    assert!(logged.iter().any(is_mode), "the log has the mode");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_users_word_plan_mode_goes_on() {
    let fixture = AgentFixture::in_mode(PermissionMode::Plan);
    let mut agent = fixture.open(InitialSession::New).await;
    let write = || calls(&[("c2", "Write", json!({"file_path": "new.txt", "content": "new\n"}))]);
    queue_replies(&fixture, [exit_plan("c1"), write(), words("Stopped.")]);
    agent.send("write it").await;
    let request = asked(&mut agent).await;
    let answers =
        vec![QuestionAnswer { text: Some("tests first".into()), ..QuestionAnswer::default() }];
    agent.tell(AgentCommand::AnswerQuestions { id: request.id, answers }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.result("c1").0.contains("tests first"));
    assert_eq!(agent.result("c2").1, ToolStatus::Denied);
    agent.close().await;
}
