//! Tests of the approval dialog for a call that changes several files, such as a rename.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalRequest, FileDiff};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TestScreen, question, screen};

/// A rename in three files, asked about on a screen of this size.
fn asked(width: u16, height: u16) -> TestScreen {
    let diff = |name: &str| {
        let path = format!("/home/me/src/webshop/src/{name}.rs");
        FileDiff::between(path, "use cart;\nlet a = total();\n", "use cart;\nlet a = sum();\n")
    };
    let call = ("Lsp", serde_json::json!({"operation": "rename"}));
    asked_about((width, height), call, vec![diff("cart"), diff("order"), diff("tax")])
}

/// A call that changes these files, asked about on a screen of this size.
pub(super) fn asked_about(
    (width, height): (u16, u16),
    (tool, input): (&str, serde_json::Value),
    mut previews: Vec<FileDiff>,
) -> TestScreen {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let other_previews = previews.split_off(1);
    let request = ApprovalRequest {
        tool: tool.into(),
        input,
        parts: Vec::new(),
        allow_rules: Vec::new(),
        deny_rule: None,
        preview: previews.pop(),
        other_previews,
        ..*request
    };
    screen(width, height)
        .event(AgentEvent::ApprovalAsked(Box::new(request)))
        .after(400)
        .clear_effects()
}

#[test]
fn all_files_are_shown_and_answered_as_a_whole() {
    let scene = asked(100, 50).shows("Change 3 files?").shows("+3 -3");
    let scene = ["cart.rs", "order.rs", "tax.rs"].into_iter().fold(scene, TestScreen::shows);
    let yes = AgentCommand::Answer { id: ApprovalId(1), answer: ApprovalAnswer::Once };
    scene.key("space").key("y").expect_effects(&[ScreenEffect::Agent(AGENT, yes)]);
}

#[test]
fn the_files_at_80x24_120x40_and_200x60() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        insta::assert_snapshot!(
            format!("files_{width}x{height}"),
            asked(width, height).readable_text()
        );
    }
}
