//! Tests of the agents that calls start: the line of each in its parent's transcript, its conversation, and
//! the page of `/agents`.

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    AgentId, CallId, ContentBlock, Money, SessionId, SubagentState, SubagentSummary,
};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{
    AGENT, TURN, TestScreen, assistant, call, question, recorded, screen, user,
};

const SCOUT: AgentId = AgentId(7);
const CRITIC: AgentId = AgentId(8);

fn summary(agent: AgentId, kind: &str, task: &str) -> SubagentSummary {
    SubagentSummary {
        agent,
        call: CallId::new(format!("c{}", agent.0)),
        session: None,
        kind: kind.to_owned(),
        task: task.to_owned(),
        model: None,
        state: SubagentState::Running,
        in_background: false,
        tool_calls: 0,
        tokens: 0,
        cost: None,
        elapsed_ms: 0,
    }
}

fn scout() -> SubagentSummary {
    let cost = "$0.02".parse::<Money>().ok();
    SubagentSummary {
        tool_calls: 5,
        tokens: 12_340,
        cost,
        elapsed_ms: 41_000,
        ..summary(SCOUT, "explore", "find the callers")
    }
}

fn critic() -> SubagentSummary {
    SubagentSummary {
        state: SubagentState::Failed,
        tool_calls: 1,
        tokens: 900,
        elapsed_ms: 3_000,
        ..summary(CRITIC, "review", "read the diff")
    }
}

fn stands(summary: &SubagentSummary) -> AgentEvent {
    AgentEvent::Subagent(Box::new(summary.clone()))
}

/// A turn that has started two agents, one of which has failed.
fn two_started(width: u16, height: u16) -> TestScreen {
    let calls = [scout(), critic()].map(|it| {
        let input = json!({"description": it.task, "prompt": "p", "subagent_type": it.kind});
        call(it.call.as_str(), "Agent", input)
    });
    let content = calls.iter().cloned().map(ContentBlock::ToolUse).collect();
    let started = calls.map(|call| AgentEvent::ToolStarted { turn: TURN, call });
    screen(width, height)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&user("Who calls parse()?")))
        .event(recorded(&assistant(content)))
        .events(started)
        .event(stands(&summary(SCOUT, "explore", "find the callers")))
        .event(stands(&summary(CRITIC, "review", "read the diff")))
        .event(stands(&scout()))
        .event(stands(&critic()))
        .event_of(SCOUT, recorded(&user("Find every caller of parse().")))
        .event_of(SCOUT, AgentEvent::TurnStarted { turn: TURN })
        .event_of(SCOUT, AgentEvent::Text { turn: TURN, text: "Three so far.".into() })
}

#[test]
fn a_started_agent_has_a_line_with_state_and_figures() {
    let scene = two_started(80, 24).shows("running  5 calls  12.3k tokens  $0.02");
    let scene = scene.shows("failed  1 call  900 tokens").hides("Three so far.");
    insta::assert_snapshot!("two_started_agents_at_80_columns", scene.text());
    insta::assert_snapshot!("two_started_agents_at_120_columns", two_started(120, 40).text());
}

/// Complaint 6: one cannot see what an agent does, or stop it.
#[test]
fn enter_on_the_line_opens_the_conversation_where_the_agent_is_steered_and_stopped() {
    let scene = two_started(100, 24).key("tab").key("up").key("enter");
    let scene = scene.shows("Find every caller of parse().").shows("Three so far.");
    let scene = scene.clear_effects().types("skip tests").key("ctrl+s");
    let is_steer = |effect: &ScreenEffect| matches!(effect, ScreenEffect::Agent(agent, AgentCommand::Steer { .. }) if *agent == SCOUT);
    assert!(scene.effects.iter().any(is_steer), "{:?}", scene.effects);
    let scene = scene.clear_effects().key("esc");
    assert!(scene.effects.contains(&ScreenEffect::CancelTurn(SCOUT)), "{:?}", scene.effects);
}

#[test]
fn the_page_lists_all_agents_and_opens_or_stops_one() {
    let opened = |width, height| two_started(width, height).key("alt+t");
    let scene = opened(80, 24).shows("main conversation").shows("explore: find the callers");
    insta::assert_snapshot!("the_page_of_agents_at_80_columns", scene.text());
    insta::assert_snapshot!("the_page_of_agents_at_120_columns", opened(120, 40).text());
    let ended = opened(80, 24).key("enter");
    ended.shows("Message this agent · f6 next agent · alt+t all agents");
    let scene = scene.key("up").clear_effects().key("x").shows("again stops explore");
    let scene = scene.expect_effects(&[]).after(400).key("x");
    let scene = scene.expect_effects(&[ScreenEffect::CancelTurn(SCOUT)]);
    let scene = scene.key("enter").shows("Three so far.");
    // Back to where it came from.
    let scene = scene.shows("sends now · f6 next agent");
    scene.key("alt+t").key("up").key("enter").shows("Who calls parse()?");
}

#[test]
fn without_agents_the_page_says_what_one_is() {
    screen(80, 24).types("/agents").key("enter").shows("No agents.");
}

/// Complaint 9: approvals that nobody sees.
#[test]
fn a_question_of_a_started_agent_comes_up_with_its_name() {
    two_started(100, 24)
        .event_of(SCOUT, question(1, "git status && rm -rf build/"))
        .shows("explore: find the callers: Run this command?");
}

#[test]
fn the_end_of_an_agent_in_the_background_is_told_once() {
    let ended = SubagentSummary { state: SubagentState::Done, in_background: true, ..scout() };
    let scene = two_started(100, 24).event(stands(&ended)).event(stands(&ended));
    let told = scene.text().matches("Agent explore: find the callers is done.").count();
    assert_eq!(told, 1, "{}", scene.text());
}

/// The number of an agent in an old log may be that of another one by now.
#[test]
fn an_agent_of_another_process_is_opened_by_its_session() {
    let session = SessionId::generate();
    let old = SubagentSummary { session: Some(session), state: SubagentState::Done, ..scout() };
    let scene = two_started(100, 24).event(stands(&old));
    let scene = scene.event(AgentEvent::Recorded(std::sync::Arc::new(
        crate::tui::test_screen::turn_end(crate::session::TurnOutcome::Answered),
    )));
    let scene = scene.key("tab");
    let scene = (0..4).fold(scene, |scene, _| scene.key("up"));
    let scene = (0..6).fold(scene.clear_effects(), |scene, _| scene.key("enter").key("down"));
    let resumed = ScreenEffect::Agent(AGENT, AgentCommand::Resume { session });
    assert!(scene.effects.contains(&resumed), "{:?}", scene.effects);
}
