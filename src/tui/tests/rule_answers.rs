//! Tests of the rules that a question offers, and how it names them.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalKind, CallDanger, ContentHash};
use crate::permissions::rule_on_definition;
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, question, screen};

fn answered(answer: ApprovalAnswer) -> [ScreenEffect; 1] {
    [ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(1), answer })]
}

#[test]
fn a_yes_to_a_servers_tool_says_that_a_changed_definition_is_asked_about() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "x") else { panic!() };
    request.tool = "mcp__tickets__search".into();
    request.input = serde_json::json!({"text": "late"});
    let hash = ContentHash::of(b"now");
    let rule = rule_on_definition("mcp__tickets__search", &hash);
    request.allow_rules = vec![rule.clone()];
    request.deny_rule = Some("mcp__tickets__search".into());
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(request)).clear_effects();
    let scene = scene.after(400).shows("Use mcp__tickets__search?");
    let scene = scene
        .shows("s  Yes, and don't ask again this session for this tool as defined now")
        .shows("a  Always allow this tool as defined now …")
        .shows("d  Never allow `mcp__tickets__search` …");
    scene.key("s").expect_effects(&answered(ApprovalAnswer::Session { rules: vec![rule] }));
}

/// It was asked about as a shell command, which could be edited and would never run.
#[test]
fn a_call_of_a_tool_that_runs_nothing_is_no_command_whatever_its_arguments() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "git status") else { panic!() };
    request.tool = "cart.py".into();
    request.kind = ApprovalKind::RepeatedCall;
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(request)).after(400);
    scene.shows("Use cart.py again?").hides("Run this command").hides("Edit the command");
}

#[test]
fn who_allows_the_same_call_again_and_again_is_offered_a_rule_once() {
    let asked = |id: u64| {
        let AgentEvent::ApprovalAsked(mut request) = question(id, "cargo test") else { panic!() };
        request.allow_rules = vec!["Bash(cargo test)".into()];
        request.parts = Vec::new();
        AgentEvent::ApprovalAsked(request)
    };
    let five = (1..=5).fold(screen(80, 24), |scene, id| {
        scene.event(asked(id)).after(400).hides("You allowed").key("y").clear_effects()
    });
    let line = "You allowed `cargo test` 5 times. a: always";
    let scene = five.event(asked(6)).after(400).shows(line).shows("❯ y  Yes");
    // The answer that it names is the one that the question has anyway.
    let always = ApprovalAnswer::Always { rules: vec!["Bash(cargo test)".into()] };
    let six =
        [ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(6), answer: always })];
    let scene = scene.key("a").shows("Allow from now on").key("enter").expect_effects(&six);
    scene.event(asked(7)).after(400).hides("You allowed");
    // Enter on the mark refuses the offer, as any other answer does.
    let five = (1..=5).fold(screen(40, 24), |scene, id| scene.event(asked(id)).key("y"));
    let scene = five.event(asked(6)).after(400).shows("You allowed this 5 times. a: always");
    scene.key("enter").event(asked(7)).after(400).hides("You allowed");
    // What is hard to take back is never counted.
    let dangerous = |id: u64| {
        let AgentEvent::ApprovalAsked(mut request) = asked(id) else { panic!() };
        request.dangers = vec![CallDanger::DeletesFiles];
        AgentEvent::ApprovalAsked(request)
    };
    let many = (1..=6).fold(screen(80, 24), |scene, id| {
        scene.event(dangerous(id)).after(400).hides("You allowed").key("y")
    });
    many.event(asked(7)).after(400).hides("You allowed");
}
