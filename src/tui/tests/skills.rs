//! Tests of skills and custom commands on screen: the list under `/`, the page of `/skills`.

use crate::agent::{AgentCommand, AgentEvent};
use crate::skills::{PromptFileRow, PromptLibraryReport};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TestScreen, screen};

fn row(name: &str, is_skill: bool, origin: &str) -> PromptFileRow {
    PromptFileRow {
        name: name.into(),
        is_skill,
        command: Some(name.into()),
        description: format!("What {name} is for.\u{1b}[2J"),
        argument_hint: None,
        origin: origin.into(),
        path: format!("~/files/{name}.md"),
        tokens: 310,
        is_listed: is_skill,
        hidden_by: None,
        allowed_tools: Vec::new(),
        warnings: Vec::new(),
    }
}

fn report() -> PromptLibraryReport {
    let shown = PromptFileRow {
        argument_hint: Some("[issue]".into()),
        allowed_tools: vec!["Bash(gh *)".into(), "Read".into()],
        ..row("git:fix", false, "this project")
    };
    let hidden = PromptFileRow {
        command: Some("skill:git:fix".into()),
        hidden_by: Some("the command ~/files/fix.md".into()),
        warnings: vec!["~/files/fix.md:3: the value of `description` is not valid YAML".into()],
        ..row("git:fix", true, "this project")
    };
    let unreachable =
        PromptFileRow { command: None, hidden_by: None, ..row("quiet", true, "yours") };
    PromptLibraryReport {
        rows: vec![row("pdf", true, "yours"), unreachable, shown, hidden],
        refused: vec!["~/files/none/SKILL.md:1: it has no description and is not loaded".into()],
    }
}

fn known(width: u16, height: u16) -> TestScreen {
    screen(width, height).event(AgentEvent::PromptFiles(Box::new(report())))
}

#[test]
fn commands_of_files_are_completed_with_whose_they_are() {
    let scene = known(80, 24).types("/pd").shows("/pdf").shows("your skill");
    let scene = scene.key("ctrl+u").types("/git:f").shows("command of this project");
    let scene = scene.key("tab").shows("/git:fix [issue]").types("12").key("enter");
    let sent = |effect: &ScreenEffect| matches!(effect, ScreenEffect::Agent(AGENT, AgentCommand::Send { text }) if text.text == "/git:fix 12");
    assert!(scene.effects.iter().any(sent), "{:?}", scene.effects);
}

#[test]
fn a_name_of_slugs_own_stays_slugs() {
    let report = PromptLibraryReport {
        rows: vec![row("help", true, "yours")],
        ..PromptLibraryReport::default()
    };
    let scene = screen(80, 24).event(AgentEvent::PromptFiles(Box::new(report)));
    let scene = scene.types("/help").key("enter");
    let is_sent =
        |it: &ScreenEffect| matches!(it, ScreenEffect::Agent(_, AgentCommand::Send { .. }));
    assert!(!scene.effects.iter().any(is_sent), "{:?}", scene.effects);
}

#[test]
fn prompts_of_servers_and_files_stay_side_by_side() {
    let scene = known(80, 24).types("/skills").key("enter").shows("Skills and commands").key("esc");
    let scene = scene.event(AgentEvent::PromptFiles(Box::default()));
    scene.types("/pdf").key("enter").shows("There is no command /pdf");
}

#[test]
fn the_page_shows_all_of_them() {
    let page = |width, height| known(width, height).types("/skills").key("enter").readable_text();
    insta::assert_snapshot!("skills_page_80x24", page(80, 24));
    insta::assert_snapshot!("skills_page_120x40", page(120, 40));
}
