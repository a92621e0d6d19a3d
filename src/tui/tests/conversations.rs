//! Tests of several agents on one screen: each has a conversation of its own.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{AgentId, ApprovalAnswer, ApprovalId};
use crate::tui::app::ScreenEffect;
use crate::tui::app::conversation::composer::ChatComposer;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, question, recorded, screen, user};

const OTHER: AgentId = AgentId(7);

/// A screen with two agents, the second one behind the first.
fn two_agents() -> TestScreen {
    let mut scene = screen(100, 24);
    let title = Some("review".to_owned());
    let status =
        ConversationStatus { project: "webshop".into(), title, ..ConversationStatus::default() };
    scene.model.add_conversation(OTHER, status, ChatComposer::new(Vec::new(), ""));
    scene
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { turn: TURN, text: text.into() }
}

#[test]
fn two_agents_stream_at_once_each_into_its_own_conversation() {
    let started = || AgentEvent::TurnStarted { turn: TURN };
    two_agents()
        .event(recorded(&user("Fix the tests")))
        .event_of(OTHER, recorded(&user("Read it all")))
        .event(started())
        .event_of(OTHER, started())
        .event(text("The tests "))
        .event_of(OTHER, text("All of it "))
        .event(text("are fixed."))
        .event_of(OTHER, text("was read."))
        .shows("Fix the tests")
        .shows("The tests are fixed.")
        .hides("Read it all")
        .hides("All of it")
        .key("f6")
        .shows("Read it all")
        .shows("All of it was read.")
        .hides("Fix the tests")
        .event(text(" And more."))
        .hides("And more.")
        .key("f6")
        .shows("The tests are fixed. And more.");
}

#[test]
fn a_draft_belongs_to_its_conversation() {
    let scene = two_agents().types("for the first").key("f6").hides("for the first");
    let scene = scene.types("for the second").key("enter").key("f6").shows("for the first");
    let sent: Vec<&ScreenEffect> =
        scene.effects.iter().filter(|effect| matches!(effect, ScreenEffect::Agent(..))).collect();
    let text = "for the second".into();
    assert_eq!(sent, [&ScreenEffect::Agent(OTHER, AgentCommand::Send { text })]);
}

#[test]
fn a_question_of_an_agent_behind_comes_up_with_its_name_and_is_answered_to_it() {
    let answer = AgentCommand::Answer { id: ApprovalId(1), answer: ApprovalAnswer::Once };
    two_agents()
        .event_of(OTHER, question(1, "git status && rm -rf build/"))
        .shows("review: Run this command?")
        .event(question(2, "cargo test"))
        .clear_effects()
        .key("y")
        .expect_effects(&[ScreenEffect::Agent(OTHER, answer)])
        .hides("review: Run this command?")
        .shows("cargo test");
}

#[test]
fn the_key_for_the_next_agent_is_listed_where_there_are_several() {
    let help = |scene: TestScreen| scene.key("f1").key("pgdn").key("pgdn");
    let listed = "next agent";
    let is_listed = |scene: TestScreen| {
        let mut scene = help(scene);
        for _ in 0..20 {
            if scene.text().contains(listed) {
                return true;
            }
            scene = scene.key("down").key("down").key("down");
        }
        false
    };
    assert!(is_listed(two_agents().key("f1").key("esc")));
    assert!(!is_listed(screen(100, 24)));
}

#[test]
fn an_agent_without_a_conversation_changes_nothing() {
    let scene = screen(100, 24);
    let before = scene.text();
    let scene = scene.event_of(OTHER, text("Who am I?")).key("f6");
    assert_eq!(scene.text(), before);
    assert_eq!(scene.model.conversation.agent, AGENT);
}
