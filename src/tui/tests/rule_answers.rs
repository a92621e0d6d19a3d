//! Tests of the rules that a question offers, and how it names them.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ContentHash};
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
