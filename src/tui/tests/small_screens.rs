//! On a screen that is too small to show it, a question takes no yes.

use crossterm::event::{MouseButton, MouseEventKind};

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalRequest, CallDanger, FileDiff};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{TestScreen, question, screen};

use super::{hooks, rewind};

/// The first and the last sign of what is asked about.
const BEGIN: char = '¶';
const END: char = '§';

fn long_command() -> ApprovalRequest {
    let AgentEvent::ApprovalAsked(request) = question(1, "") else { unreachable!() };
    let command = format!("touch {BEGIN}{}; touch {END}", " ".repeat(120));
    ApprovalRequest {
        input: serde_json::json!({"command": command}),
        parts: Vec::new(),
        ..*request
    }
}

fn danger() -> ApprovalRequest {
    let command = format!("rm -rf {BEGIN}keep{END}");
    let input = serde_json::json!({"command": command});
    ApprovalRequest { input, dangers: vec![CallDanger::DeletesFiles], ..long_command() }
}

fn edit() -> ApprovalRequest {
    let path = "/home/me/src/webshop/w";
    let new = format!("{BEGIN}\n{}{END}\n", "x\n".repeat(20));
    let preview = Some(FileDiff::between(path, "", &new));
    let input = serde_json::json!({"file_path": path});
    ApprovalRequest { tool: "Write".into(), input, preview, ..long_command() }
}

/// Whether the screen has said yes since the last check.
fn said_yes(scene: &mut TestScreen) -> bool {
    scene.effects.drain(..).any(|effect| match effect {
        ScreenEffect::Agent(_, AgentCommand::Answer { answer, .. }) => {
            !matches!(answer, ApprovalAnswer::Deny { .. } | ApprovalAnswer::Never { .. })
        }
        ScreenEffect::Agent(_, AgentCommand::SetMode(_)) => true,
        _ => false,
    })
}

fn asked(request: &ApprovalRequest, width: u16, height: u16) -> TestScreen {
    screen(width, height)
        .event(AgentEvent::ApprovalAsked(Box::new(request.clone())))
        .clear_effects()
}

fn small_sizes() -> impl Iterator<Item = (u16, u16)> {
    (1..=6).flat_map(|height| (1..=30).map(move |width| (width, height)))
}

/// Scrolls down and tries each yes on the way: the key that was taken, and all that was on screen until
/// then.
fn first_yes(mut scene: TestScreen) -> Option<(&'static str, String)> {
    let mut seen = String::new();
    loop {
        scene = scene.after(2_000);
        let text = scene.text();
        seen.push_str(&text);
        for key in ["shift+tab", "s", "y"] {
            scene = scene.key(key);
            if said_yes(&mut scene) {
                return Some((key, seen));
            }
            scene = scene.key("backspace").after(2_000);
        }
        scene = scene.key("pgdn");
        if scene.text() == text {
            return None;
        }
    }
}

#[test]
fn no_yes_goes_through_before_title_danger_and_end_were_on_a_screen_that_can_be_read() {
    for (request, title) in [(long_command(), "Run"), (danger(), "Run"), (edit(), "Write w")] {
        let mut accepted = 0;
        for (width, height) in small_sizes() {
            for resized in [false, true] {
                let scene = match resized {
                    true => asked(&request, 30, 4).after(2_000).resized(width, height),
                    false => asked(&request, width, height),
                };
                let Some((key, seen)) = first_yes(scene) else { continue };
                let danger = request.dangers.is_empty() || seen.contains("Deletes");
                let all = seen.contains(title) && seen.contains(BEGIN) && seen.contains(END);
                assert!(all && danger, "{key} at {width}x{height}, {resized}:\n{seen}");
                accepted += 1;
            }
        }
        assert!(accepted > 0, "{title}: nothing can be approved at any size");
    }
}

#[test]
fn no_click_says_yes_where_the_question_cannot_be_read() {
    for (width, height) in [(80, 1), (80, 2), (80, 3), (19, 12), (1, 24), (2, 24)] {
        for request in [long_command(), danger(), edit()] {
            let mut scene = asked(&request, 80, 24).resized(width, height).after(2_000);
            for (column, row) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
                scene = scene.mouse(MouseEventKind::Down(MouseButton::Left), column, row);
                scene = scene.mouse(MouseEventKind::Up(MouseButton::Left), column, row);
                assert!(!said_yes(&mut scene), "{column},{row} at {width}x{height}");
            }
            // What needs no look at the question works all the same.
            let mut scene = scene.key("esc");
            let is_no = |effect: &ScreenEffect| {
                matches!(
                    effect,
                    ScreenEffect::Agent(
                        _,
                        AgentCommand::Answer { answer: ApprovalAnswer::Deny { .. }, .. }
                    )
                )
            };
            assert!(scene.effects.drain(..).any(|effect| is_no(&effect)), "{width}x{height}");
        }
    }
}

#[test]
fn a_question_that_was_read_is_answered_again_once_the_screen_is_large() {
    let scene = asked(&danger(), 80, 24).resized(80, 3).after(2_000).shows("Enlarge the window");
    let mut scene = scene.resized(80, 24).after(2_000).key("y");
    assert!(said_yes(&mut scene));
}

#[test]
fn hooks_are_trusted_and_files_go_back_only_where_the_question_can_be_read() {
    for (width, height) in small_sizes() {
        let mut seen = String::new();
        let mut scene = hooks::changed(80, 24).key("enter").resized(width, height);
        for _ in 0..40 {
            scene = scene.after(2_000);
            seen.push_str(&scene.text());
            scene = scene.key("y");
            if hooks::is_trusted(&scene) {
                assert!(width >= 20 && seen.contains("Trust the"), "{width}x{height}\n{seen}");
                break;
            }
            scene = scene.key("pgdn");
        }
        let mut scene = rewind::planned(80, 24).resized(width, height).after(2_000);
        scene.effects.clear();
        let text = scene.text();
        let mut scene = scene.key("y");
        let is_rewind =
            |it: &ScreenEffect| matches!(it, ScreenEffect::Agent(_, AgentCommand::Rewind { .. }));
        if scene.effects.drain(..).any(|effect| is_rewind(&effect)) {
            assert!(width >= 20 && text.contains("┌ "), "{width}x{height}\n{text}");
        }
    }
}
