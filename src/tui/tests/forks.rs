//! Tests of forks in the background: `/fork --background`, and the line that such a fork has in the
//! conversation that it comes from.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    AgentId, CallId, Message, MessageRole, RequestSource, SubagentState, SubagentSummary,
};
use crate::session::{LogEntry, LogRecord, MessageEntry};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{
    AGENT, TestScreen, record, recorded, screen, session, turn_end, user,
};

const FORK: AgentId = AgentId(9);

fn fork() -> SubagentSummary {
    SubagentSummary {
        agent: FORK,
        call: CallId::new("f1"),
        session: None,
        kind: "fork".into(),
        task: "write down why".into(),
        model: None,
        state: SubagentState::Running,
        in_background: true,
        tool_calls: 2,
        refused_calls: 0,
        tokens: 3_400,
        cost: None,
        elapsed_ms: 9_000,
    }
}

fn started() -> LogRecord {
    let nothing = Message { role: MessageRole::User, content: Vec::new() };
    let agents = vec![fork()];
    let source = RequestSource::Agent;
    record(LogEntry::Message(MessageEntry { source, agents, ..MessageEntry::new(nothing) }))
}

fn records() -> Vec<LogRecord> {
    let ended = turn_end(crate::session::TurnOutcome::Answered);
    vec![user("Why does it fail?"), ended, started()]
}

fn opened(records: Vec<LogRecord>) -> AgentEvent {
    AgentEvent::SessionOpened { session: session(), records: std::sync::Arc::new(records) }
}

/// A conversation with a fork that works.
fn forked(width: u16, height: u16) -> TestScreen {
    let mut before = records();
    let started = before.pop().unwrap();
    screen(width, height)
        .event(opened(before))
        .event(recorded(&started))
        .event(AgentEvent::Subagent(Box::new(fork())))
}

#[test]
fn a_fork_has_a_line_that_opens_its_conversation() {
    let scene = forked(80, 24).shows("fork: write down why").shows("running  2 calls");
    insta::assert_snapshot!("a_fork_at_80_columns", scene.readable_text());
    insta::assert_snapshot!("a_fork_at_120_columns", forked(120, 40).readable_text());
    insta::assert_snapshot!("a_fork_at_200_columns", forked(200, 60).readable_text());
    let scene = scene.event_of(FORK, recorded(&user("write down why it fails")));
    scene.key("tab").key("enter").shows("write down why it fails");
    forked(80, 24).types("/agents").key("enter").shows("fork: write down why");
}

#[test]
fn a_fork_of_a_session_that_is_opened_again_is_interrupted() {
    let scene = screen(80, 24).event(opened(records()));
    scene.shows("fork: write down why").shows("interrupted").hides("running");
}

#[test]
fn the_command_starts_a_fork_of_an_open_session() {
    let scene = forked(80, 24).clear_effects();
    let scene = scene.types("/fork --background look there").key("enter");
    let fork = AgentCommand::ForkAgent { text: "look there".into() };
    let wanted = ScreenEffect::Agent(AGENT, fork);
    assert!(scene.effects.contains(&wanted), "{:?}", scene.effects);
    forked(80, 24).types("/fork --background").key("enter").shows("Type what the fork is to do");
}
