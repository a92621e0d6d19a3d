//! What goes wrong with an agent that a call has started: it hangs, floods, loops, is denied, or has used up
//! its time, its budget or its context. The agent that started it always hears of it, and goes on.

use std::time::Duration;

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent};
use slug_code::domain::{
    ApprovalAnswer, ApprovalKind, PermissionMode, SubagentState, ToolStatus, UsageBudget,
};
use slug_code::providers::{ErrorRecovery, RequestOverflow, StreamEvent};
use slug_code::session::{LogEntry, TurnOutcome};
use slug_code::subagents::{SubagentType, SubagentTypes};

use super::fakes::{ScriptedEvent, ScriptedStream, calls, failure, words};
use super::subagents::{log_of, open, scripted, stands, start, usage};
use super::test_agent::{AgentFixture, TestAgent};

/// A fixture whose agents of the type for all purposes have this instead.
fn with_type(change: impl FnOnce(&mut SubagentType)) -> AgentFixture {
    let mut kind = SubagentTypes::default().get(None).unwrap().clone();
    change(&mut kind);
    let subagents = SubagentTypes::with(vec![kind]);
    AgentFixture { subagents, ..AgentFixture::in_mode(PermissionMode::Yolo) }
}

/// A turn that starts one agent, which answers by these responses.
async fn one_child(fixture: AgentFixture, replies: &[ScriptedStream]) -> (AgentFixture, TestAgent) {
    let call = start("c1", "CHILD", &json!({}));
    let parent = [calls(&[call]), words("I go on.")];
    let (fixture, _) = scripted(fixture, &[("PARENT", &parent), ("CHILD", replies)]);
    let agent = open(&fixture).await;
    agent.send("PARENT").await;
    (fixture, agent)
}

fn says(text: &str) -> ScriptedEvent {
    ScriptedEvent::Event(StreamEvent::Text(text.into()))
}

/// The turn goes on after the call, whose agent has ended like this; returns the call's result.
async fn ends(agent: &mut TestAgent, state: SubagentState) -> String {
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (result, status) = agent.result("c1");
    assert_eq!(stands(agent, "c1").state, state, "{result}");
    assert_eq!(status == ToolStatus::Done, state == SubagentState::Done, "{result}");
    result
}

/// Complaint 1: the count of a turn.
#[tokio::test(flavor = "multi_thread")]
async fn the_twenty_fifth_agent_of_a_turn_is_refused_and_the_next_turn_starts_agents_again() {
    let ids: Vec<&'static str> =
        (1..=26).map(|at| &*Box::leak(format!("c{at}").into_boxed_str())).collect();
    let call = |id: &&'static str| start(id, &format!("CHILD {id}"), &json!({}));
    let mut replies: Vec<ScriptedStream> =
        ids[..24].chunks(8).map(|part| calls(&part.iter().map(call).collect::<Vec<_>>())).collect();
    replies.extend([calls(&[call(&ids[24])]), words("Enough.")]);
    replies.extend([calls(&[call(&ids[25])]), words("Done.")]);
    let reports = vec![words("Report."); 26];
    let (fixture, model) =
        scripted(AgentFixture::new(), &[("PARENT", &replies), ("CHILD", &reports)]);
    let mut agent = open(&fixture).await;
    assert_eq!(agent.turn("PARENT").await, TurnOutcome::Answered);
    assert_eq!(model.requests_with("CHILD").len(), 24);
    let (result, status) = agent.result("c25");
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains("started 24 agents") && result.contains("Do not retry"), "{result}");
    agent.turn("go on").await;
    assert_eq!(agent.result("c26").1, ToolStatus::Done);
    agent.close().await;
}

/// Complaint 4: an agent that hangs, for which its parent would wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_from_which_nothing_comes_is_stopped_and_what_it_had_said_is_told() {
    let fixture = with_type(|kind| kind.silence = Duration::from_secs(1));
    let hang = vec![says("It is in a.rs. Let me"), ScriptedEvent::Hang];
    let (_fixture, mut agent) = one_child(fixture, &[hang]).await;
    let result = ends(&mut agent, SubagentState::Silent).await;
    assert!(result.contains("(silent; 0 tool calls). Nothing came from it for 1 s."), "{result}");
    assert!(result.contains("This is no report") && result.contains("It is in a.rs."), "{result}");
    agent.close().await;
}

/// Complaint 4: the deadline, also of an agent that goes on and on.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_time_is_over_is_stopped() {
    let fixture = with_type(|kind| kind.deadline = Duration::ZERO);
    let look = calls(&[("r1", "Bash", json!({"command": "block"}))]);
    let (_fixture, mut agent) = one_child(fixture, &[look]).await;
    let result = ends(&mut agent, SubagentState::OutOfTime).await;
    assert!(result.contains("Its time of 0 s is over."), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_floods_reports_at_most_what_fits() {
    let flood: String = (0..20_000).map(|at| format!("line {at} is here\n")).collect();
    let length = flood.len();
    let flood = words(&flood);
    let (fixture, mut agent) = one_child(AgentFixture::new(), &[flood]).await;
    let result = ends(&mut agent, SubagentState::Done).await;
    assert!(result.len() < 41_000, "{}", result.len());
    assert!(result.contains("[the rest is in its session]"), "{result}");
    let whole = log_of(&fixture, &stands(&agent, "c1")).into_iter().find_map(|record| {
        let message = record.entry.as_message()?.message().text();
        message.contains("line 7 is").then_some(message.len())
    });
    assert_eq!(whole, Some(length));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_writes_the_same_again_and_again_has_failed() {
    let flood = words(&"all of it is here ".repeat(20_000));
    let (_fixture, mut agent) = one_child(AgentFixture::new(), &[flood]).await;
    let result = ends(&mut agent, SubagentState::Failed).await;
    assert!(result.contains("keeps writing the same text"), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_repeats_a_call_is_asked_about_in_any_mode() {
    let ids = ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"];
    let again = ids.map(|id| calls(&[(id, "Read", json!({"file_path": "gone"}))]));
    let (_fixture, mut agent) = one_child(with_type(|_| ()), &again).await;
    let repeated = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalAsked(request) if request.kind == ApprovalKind::RepeatedCall);
    let question = agent.wait_for_other("question", repeated).await;
    assert!(agent.agent.children.stop_turn(question.agent));
    ends(&mut agent, SubagentState::Stopped).await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_denied_a_call_hears_of_it_and_still_reports() {
    let asks = calls(&[("b1", "Bash", json!({"command": "make all"}))]);
    let report = words("I was not allowed to build.");
    let (fixture, mut agent) = one_child(AgentFixture::new(), &[asks, report]).await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalAsked(_));
    let question = agent.wait_for_other("question", asked).await;
    let AgentEvent::ApprovalAsked(request) = question.event else { unreachable!() };
    let commands = agent.agent.children.commands(question.agent).unwrap();
    let answer = ApprovalAnswer::Deny { instruction: None };
    let answer = AgentCommand::Answer { id: request.id, answer };
    commands.send(answer.to(question.agent)).await.unwrap();
    let result = ends(&mut agent, SubagentState::Done).await;
    assert!(result.contains("I was not allowed to build."), "{result}");
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

/// Complaint 2: a budget of its own.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_has_used_up_its_own_budget_ends_and_its_parent_goes_on() {
    let budget = UsageBudget { tokens: Some(1_000), money: None };
    let mut expensive = calls(&[("r1", "Glob", json!({"pattern": "*"}))]);
    expensive.insert(0, usage(5_000));
    let fixture = with_type(|kind| kind.budget = budget);
    let (_fixture, mut agent) = one_child(fixture, &[expensive, words("more")]).await;
    ends(&mut agent, SubagentState::OutOfBudget).await;
    assert_eq!(stands(&agent, "c1").tokens, 5_001);
    agent.close().await;
}

/// Complaint 11: what a server says of a request that is too long is no report.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_out_of_context_has_failed() {
    let overflow = || vec![failure(400, ErrorRecovery::Compact(RequestOverflow::default()))];
    let replies: Vec<ScriptedStream> = (0..8).map(|_| overflow()).collect();
    let (_fixture, mut agent) = one_child(AgentFixture::new(), &replies).await;
    let result = ends(&mut agent, SubagentState::Failed).await;
    assert!(result.contains("It has said nothing."), "{result}");
    agent.close().await;
}

/// Complaint 11: one limiter for all; its text is no report.
#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_that_does_not_end_is_no_report() {
    let limited = || vec![failure(429, ErrorRecovery::GiveUp)];
    let (fixture, mut agent) = one_child(AgentFixture::new(), &[limited()]).await;
    let result = ends(&mut agent, SubagentState::Failed).await;
    assert!(result.contains("has not done its task (failed"), "{result}");
    let records = log_of(&fixture, &stands(&agent, "c1"));
    assert!(records.iter().any(|record| matches!(record.entry, LogEntry::TurnEnd(_))));
    agent.close().await;
}
