//! Tests of the page of `/memory`, and of a typed line that begins with `#`.

use std::path::PathBuf;

use crate::agent::{AgentCommand, AgentEvent, MemoryReply, MemoryRequest, MemoryText};
use crate::context::{
    InstructionGroup, InstructionReport, InstructionRow, InstructionState, RememberLevel,
    RememberPlace,
};
use crate::domain::FileDiff;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::test_screen::{AGENT, TestScreen, screen};

fn row(path: &str, group: InstructionGroup, state: InstructionState) -> InstructionRow {
    InstructionRow { path: path.into(), group, tokens: 310, state, depth: 0 }
}

fn report() -> InstructionReport {
    use InstructionGroup::{Part, Project, Rules, User};
    use InstructionState::{ForAPart, Missing, NotSent, Sent, SentAsNote};
    let path = |name: &str| format!("/home/me/src/webshop/{name}");
    let place = |level, path: &str, is_new| RememberPlace { level, path: path.into(), is_new };
    InstructionReport {
        files: vec![
            row("/home/me/.slug/SLUG.md", User, Missing),
            row(&path("SLUG.md"), Project, Sent),
            InstructionRow { depth: 1, ..row(&path("docs/style.md"), Project, Sent) },
            row(
                &path("CLAUDE.md"),
                Project,
                NotSent("not read: SLUG.md in the same folder comes first".into()),
            ),
            row(&path(".claude/rules/ts\u{1b}[2J.md"), Rules, SentAsNote),
            row(&path("web/AGENTS.md"), Part, ForAPart("sent once work touches web/".into())),
        ],
        warnings: vec!["/home/me/src/webshop/AGENTS.md is not UTF-8 text; it is left out.".into()],
        places: vec![
            place(RememberLevel::Project, &path("SLUG.md"), false),
            place(RememberLevel::User, "/home/me/.slug/SLUG.md", true),
        ],
        is_trusted: true,
    }
}

fn reply(report: InstructionReport, text: Option<MemoryText>) -> AgentEvent {
    AgentEvent::Memory(Box::new(MemoryReply { report, text }))
}

fn told(scene: TestScreen) -> TestScreen {
    scene.event(reply(report(), None))
}

fn ask(request: MemoryRequest) -> ScreenEffect {
    ScreenEffect::Agent(AGENT, AgentCommand::Memory(request))
}

fn page(width: u16, height: u16) -> TestScreen {
    let scene = screen(width, height).types("/memory").clear_effects().key("enter");
    assert!(scene.effects.contains(&ask(MemoryRequest::Show)));
    told(scene.shows("One moment")).after(5_000).after(5_000).clear_effects()
}

#[test]
fn the_page_at_80x24() {
    insta::assert_snapshot!(page(80, 24).key("down").readable_text());
}

#[test]
fn the_page_at_120x40() {
    insta::assert_snapshot!(page(120, 40).key("end").readable_text());
}

#[test]
fn the_page_at_40x12() {
    insta::assert_snapshot!(page(40, 12).key("end").readable_text());
}

#[test]
fn enter_shows_the_file_and_a_failure_is_told() {
    let path = PathBuf::from("/home/me/src/webshop/SLUG.md");
    let wanted = ask(MemoryRequest::Read { path: path.clone() });
    let asked =
        || page(80, 24).key("down").key("enter").expect_effects(std::slice::from_ref(&wanted));
    let text = |text| reply(report(), Some(MemoryText { path: path.clone(), text }));
    let shown = asked().event(text(Ok("# Rules\nUse \u{1b}[2Jtabs".into())));
    shown.shows("Use").shows("SLUG.md").key("esc").shows("This project").key("esc").hides("Memory");
    asked().event(text(Err("It is too big. Shorten it.".into()))).shows("It is too big.");
}

#[test]
fn after_an_edit_the_page_says_what_changed_and_when_it_is_sent() {
    let path = |name: &str| PathBuf::from("/home/me/src/webshop").join(name);
    let edit = |scene: TestScreen, name| {
        let effect = ScreenEffect::EditFile { path: path(name) };
        scene.clear_effects().key("e").expect_effects(&[effect])
    };
    let closed = |name: &str, before, after| {
        ScreenMsg::FileEdited(Ok(FileDiff::between(path(name), before, after)))
    };
    let scene = edit(page(80, 24).key("down"), "SLUG.md").clear_effects();
    let scene = scene.msg(closed("SLUG.md", "a\n", "b\nc\n"));
    assert_eq!(scene.effects, [ask(MemoryRequest::Show)]);
    let scene = told(scene)
        .shows("2 lines added, 1 line removed")
        .shows("The model gets it with your next");
    let scene = edit(scene.key("down").key("down").hides("lines added"), "CLAUDE.md");
    let scene = scene.msg(closed("CLAUDE.md", "a\n", "b\n")).shows("still does not send this file");
    let scene = scene.msg(closed("CLAUDE.md", "a\n", "a\n")).shows("Nothing has changed");
    let failed = "cannot start the editor: no such file. Set $VISUAL or $EDITOR.";
    scene.msg(ScreenMsg::FileEdited(Err(failed.into()))).shows("cannot start the editor");
}

#[test]
fn an_untrusted_folder_and_no_files_are_said() {
    let none = InstructionReport { is_trusted: false, ..InstructionReport::default() };
    let scene = screen(80, 24).types("/memory").key("enter").event(reply(none, None));
    let scene = scene.shows("This folder is not trusted").shows("no file sent");
    scene.key("e").key("enter").key("down").key("q").hides("not trusted");
}

#[test]
fn lines_show_and_edit_by_number() {
    let mut scene = page(80, 24);
    let model = &mut scene.model;
    let view = DialogView {
        conversation: &model.conversation,
        background: &model.background,
        shared: &model.shared,
    };
    let read_out = model.dialogs.top().unwrap().linear_page(view).unwrap();
    let text: Vec<&str> = read_out.lines.iter().map(|line| line.text.as_str()).collect();
    let text = text.join("\n");
    assert!(text.contains("4. CLAUDE.md (This project), 310 tokens. It is not read"), "{text}");
    assert!(!text.contains('\u{1b}') && text.contains("Warning:"), "{text}");
    let dialog = model.dialogs.top_mut().unwrap();
    for wrong in ["0", "7", "edit", "edit 9", "x"] {
        assert_eq!(dialog.line(wrong), Err(LineAnswerError::NoRow), "{wrong}");
    }
    assert_eq!(dialog.line("2").unwrap().len(), 1);
    assert!(format!("{:?}", dialog.line("edit 4")).contains("CLAUDE.md"));
}

/// The question about a typed line, which takes answers.
fn asked(width: u16, height: u16, typed: &str) -> TestScreen {
    told(screen(width, height).types(typed).clear_effects().key("enter")).after(1_000)
}

fn remembered(scene: &TestScreen) -> Vec<(RememberLevel, String)> {
    let asked = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::Agent(_, AgentCommand::Memory(MemoryRequest::Remember { level, typed })) => {
            Some((*level, typed.clone()))
        }
        _ => None,
    });
    asked.collect()
}

fn sent(scene: &TestScreen) -> Vec<String> {
    let sent = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::Agent(_, AgentCommand::Send { text }) => Some(text.text.clone()),
        _ => None,
    });
    sent.collect()
}

#[test]
fn the_question_at_80x24() {
    insta::assert_snapshot!(asked(80, 24, "# use tabs").readable_text());
}

#[test]
fn the_question_at_120x40() {
    insta::assert_snapshot!(asked(120, 40, "# use tabs").key("down").readable_text());
}

#[test]
fn a_line_is_remembered_where_the_user_says() {
    let scene = asked(80, 24, "# use tabs").shows("- use tabs").key("enter");
    assert_eq!(remembered(&scene), [(RememberLevel::Project, "# use tabs".into())]);
    assert!(sent(&scene).is_empty());
    let scene = scene.hides("Remember this line");
    let scene = told(scene.types("#me, too").clear_effects().key("enter")).after(1_000);
    let scene = scene.key("down").shows("Creates ~/.slug/SLUG.md").key("enter");
    assert_eq!(remembered(&scene), [(RememberLevel::User, "#me, too".into())]);
}

#[test]
fn the_last_row_sends_the_line_and_escape_gives_it_back() {
    let scene = asked(80, 24, "#12 is broken").key("down").key("down").shows("Nothing is written");
    let scene = scene.key("enter");
    assert_eq!(sent(&scene), ["#12 is broken"]);
    assert!(remembered(&scene).is_empty());
    let back = asked(80, 24, "# use tabs").key("esc");
    assert_eq!(back.model.conversation.composer.expanded(), "# use tabs");
    assert!(remembered(&back).is_empty() && sent(&back).is_empty());
}

#[test]
fn a_second_enter_at_once_writes_nothing() {
    let scene = told(screen(80, 24).types("# use tabs").key("enter"));
    let scene = scene.key_at_once("enter").shows("Remember this line");
    assert!(remembered(&scene).is_empty());
}

#[test]
fn a_paste_and_a_text_of_several_lines_are_messages() {
    let pasted = screen(80, 24).msg(ScreenMsg::Paste("# Heading".into())).key("enter");
    assert_eq!(sent(&pasted), ["# Heading"]);
    let mut lines = screen(80, 24);
    lines.model.conversation.composer.load("# Heading\n\ntext");
    assert_eq!(sent(&lines.key("enter")), ["# Heading\n\ntext"]);
    let mut long = screen(80, 24);
    long.model.conversation.composer.load(format!("# {}", "x".repeat(2001)));
    assert_eq!(sent(&long.key("enter")).len(), 1);
    let indented = screen(80, 24).types(" # not first").key("enter");
    assert_eq!(sent(&indented), [" # not first"]);
    // What is typed in front of a paste, or after it was deleted, is typed.
    let typed = screen(80, 24).types("# see ").msg(ScreenMsg::Paste("a.md".into())).key("enter");
    told(typed).shows("- see a.md");
}

#[test]
fn a_hash_alone_says_what_is_missing() {
    let scene = screen(80, 24).types("# ").key("enter").shows("No text after the #");
    assert_eq!(scene.model.conversation.composer.expanded(), "# ");
}
