//! Tests of the agents that calls start: the line of each in its parent's transcript, its conversation, and
//! the page of `/agents`.

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::testing;
use crate::domain::{
    AgentId, CallId, ContentBlock, Message, MessageRole, Money, RequestSource, SessionId,
    StopReason, SubagentState, SubagentSummary, TokenUsage,
};
use crate::session::{LogEntry, MessageEntry, TurnOutcome};
use crate::tui::app::{ScreenEffect, wake_at};
use crate::tui::test_screen::{
    AGENT, TURN, TestScreen, assistant, call, question, record, recorded, screen, turn_end, user,
};

const SCOUT: AgentId = AgentId(7);
const CRITIC: AgentId = AgentId(8);

fn summary(agent: AgentId, kind: &str, task: &str) -> SubagentSummary {
    SubagentSummary {
        agent,
        call: CallId::new(format!("c{}", agent.0)),
        kind: kind.to_owned(),
        task: task.to_owned(),
        ..testing::subagent(SubagentState::Running)
    }
}

fn scout() -> SubagentSummary {
    let cost = "$0.02".parse::<Money>().ok();
    SubagentSummary {
        tool_calls: 5,
        refused_calls: 0,
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
        refused_calls: 0,
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
    insta::assert_snapshot!("two_started_agents_at_80_columns", scene.readable_text());
    insta::assert_snapshot!(
        "two_started_agents_at_120_columns",
        two_started(120, 40).readable_text()
    );
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
    insta::assert_snapshot!("the_page_of_agents_at_80_columns", scene.readable_text());
    insta::assert_snapshot!("the_page_of_agents_at_120_columns", opened(120, 40).readable_text());
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
    screen(80, 24).types("/agents").key("enter").shows("No agents yet.");
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
    let scene = scene.event(recorded(&turn_end(TurnOutcome::Answered)));
    let scene = scene.key("tab");
    let scene = (0..4).fold(scene, |scene, _| scene.key("up"));
    let scene = (0..6).fold(scene.clear_effects(), |scene, _| scene.key("enter").key("down"));
    let resumed = ScreenEffect::Agent(AGENT, AgentCommand::Resume { session });
    assert!(scene.effects.contains(&resumed), "{:?}", scene.effects);
}

/// The line under the header.
fn strip(scene: &TestScreen) -> String {
    scene.text().lines().nth(1).unwrap().trim_matches(['"', ' ']).to_owned()
}

/// Complaint 2: what agents take is seen while they run.
#[test]
fn a_line_under_the_header_tells_of_the_agents_that_run() {
    let scene = two_started(80, 24);
    assert_eq!(strip(&scene), "◐ explore: find the callers  12.3k $0.0200 0:41");
    let both = scene.event(stands(&summary(CRITIC, "review", "read the whole diff")));
    let line = strip(&both);
    assert!(line.starts_with("◐ explore: find") && line.contains("…  12.3k $0.0200 0:41   ◐ "));
    assert!(line.ends_with("◐ review: read the whole diff  0:00"), "{line}");
    // The time goes on without any event.
    let both = both.after(20_000);
    assert!(strip(&both).contains("$0.0200 1:01"), "{}", strip(&both));
    let none = both
        .event(stands(&critic()))
        .event(stands(&SubagentSummary { state: SubagentState::Done, ..scout() }));
    assert!(!strip(&none).contains("explore"), "{}", strip(&none));
}

#[test]
fn more_agents_than_the_line_has_room_for_are_counted() {
    for (width, shown) in [(40, "+7"), (80, "+5"), (120, "+4"), (200, "+1")] {
        let scene = (0..8).fold(screen(width, 24), |scene, at| {
            let it = summary(AgentId(20 + at), "general", "rename Order to Purchase everywhere");
            scene.event(stands(&SubagentSummary { tokens: 123_456, ..it }))
        });
        let line = strip(&scene);
        assert!(line.starts_with("◐ general: "), "{line}");
        assert_eq!((width, line.rsplit(' ').next()), (width, Some(shown)), "{line}");
    }
    // There is no room for it on the lowest screens.
    let low = screen(80, 12).event(stands(&scout()));
    assert!(!strip(&low).contains("explore"), "{}", low.text());
}

#[test]
fn the_line_marks_an_agent_that_waits_for_an_answer_and_keeps_hostile_names_apart() {
    let hostile = SubagentSummary { task: "x\u{1b}[31m\ny".into(), ..scout() };
    let scene = screen(100, 24).event(stands(&hostile));
    assert!(strip(&scene).starts_with("◐ explore: x"), "{}", strip(&scene));
    assert!(!scene.text().contains('\u{1b}'));
    let scene = scene.event_of(SCOUT, question(1, "make all"));
    assert!(strip(&scene).starts_with("? explore: x"), "{}", strip(&scene));
}

#[test]
fn the_clock_runs_while_an_agent_in_the_background_works_and_stops_with_it() {
    let scene = screen(80, 24);
    assert_eq!(wake_at(&scene.model), None);
    let works = SubagentSummary { in_background: true, ..scout() };
    let scene = scene.event(stands(&works));
    assert!(wake_at(&scene.model).is_some());
    let ended = SubagentSummary { state: SubagentState::Silent, ..works };
    let scene = scene.event(stands(&ended)).after(10_000);
    assert_eq!(wake_at(&scene.model), None);
}

/// Complaint 2: the header of its parent counts what an agent spends with each of its responses.
#[test]
fn what_an_agent_spends_is_in_the_header_at_once() {
    let mut message =
        MessageEntry::new(Message { role: MessageRole::Assistant, content: Vec::new() });
    message.source = RequestSource::Agent;
    message.stop_reason = Some(StopReason::EndTurn);
    message.usage = Some(TokenUsage { input: 1_000, ..TokenUsage::default() });
    message.cost = "$0.75".parse::<Money>().ok();
    let paid = record(LogEntry::Message(message));
    two_started(120, 24).hides("$0.75").event(recorded(&paid)).shows("$0.75");
}

/// Complaint 13: screens that flicker, and memory that grows with each agent's stream.
#[test]
fn the_stream_of_an_agent_lays_nothing_out_in_the_conversation_of_its_parent() {
    let scene = two_started(80, 24);
    let before = (scene.layout_count(), scene.text());
    let piece = || AgentEvent::Text { turn: TURN, text: "and one more ".into() };
    let scene = (0..200).fold(scene, |scene, _| scene.event_of(SCOUT, piece()));
    assert_eq!((scene.layout_count(), scene.text()), before);
}

/// Complaint 7: in the transcript of a log that has no end of it, an agent does not run.
#[test]
fn an_agent_of_a_log_without_its_end_is_interrupted() {
    let input = json!({"description": "find the callers", "prompt": "p"});
    let started = call("c7", "Agent", input);
    let mut info = crate::tui::test_screen::done("Agent", 10);
    info.agent = Some(Box::new(SubagentSummary { in_background: true, ..scout() }));
    let records = vec![
        user("Who calls parse()?"),
        assistant(vec![ContentBlock::ToolUse(started)]),
        crate::tui::test_screen::result("c7", "works in the background", info),
    ];
    let session = SessionId::generate();
    let opened = AgentEvent::SessionOpened { session, records: std::sync::Arc::new(records) };
    let scene = screen(100, 24).event(opened).shows("interrupted").hides("running");
    assert!(!strip(&scene).contains("explore"), "{}", strip(&scene));
}
