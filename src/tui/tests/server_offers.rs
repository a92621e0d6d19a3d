//! Tests of what MCP servers offer to the user who writes: resources to mention, prompts to send.

use std::sync::Arc;

use crate::agent::{AgentCommand, AgentEvent};
use crate::mcp::{
    McpOffers, McpPrompt, McpPromptArgument, McpResource, McpServerState, McpServerStatus,
};
use crate::tui::app::conversation::queue::Delivery;
use crate::tui::app::settings::InputSource;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TURN, TestScreen, screen};
use crate::tui::tests::mcp;

fn resource(uri: &str, title: &str) -> McpResource {
    McpResource {
        uri: uri.into(),
        title: title.into(),
        description: String::new(),
        mime_type: "text/plain".into(),
    }
}

fn prompt(name: &str, arguments: &[(&str, bool)]) -> McpPrompt {
    let argument = |(name, is_required): &(&str, bool)| McpPromptArgument {
        name: (*name).into(),
        description: format!("the {name}"),
        is_required: *is_required,
    };
    McpPrompt {
        name: name.into(),
        typed: name.into(),
        description: format!("Does a {name}."),
        arguments: arguments.iter().map(argument).collect(),
    }
}

fn server(name: &str, state: McpServerState) -> McpServerStatus {
    let offers = McpOffers {
        resources: vec![resource("note://a", "The note"), resource("note://b c", "Another")],
        templates: vec![resource("note://{id}", "Any note")],
        prompts: vec![
            prompt("review", &[("pr", true), ("why", false), ("who", true)]),
            prompt("plain", &[]),
        ],
        dropped: Vec::new(),
    };
    McpServerStatus { offers: Arc::new(offers), ..mcp::server(name, state) }
}

fn told(scene: TestScreen, state: McpServerState) -> TestScreen {
    let servers = vec![server("notes", state)];
    scene.msg(ScreenMsg::ServerOffers { seen: 1, servers })
}

/// A screen that knows a server with resources and prompts.
fn known() -> TestScreen {
    told(screen(80, 24), McpServerState::Ready)
}

#[track_caller]
fn has(scene: &TestScreen, text: &str) {
    assert_eq!(scene.model.conversation.composer.editor.text(), text, "{}", scene.text());
}

fn sent(scene: &TestScreen) -> Vec<String> {
    let text = |effect: &ScreenEffect| match effect {
        ScreenEffect::Agent(AGENT, AgentCommand::Send { text }) => Some(text.text.clone()),
        _ => None,
    };
    scene.effects.iter().filter_map(text).collect()
}

#[test]
fn resources_are_completed_behind_the_name_of_their_server() {
    let scene = known().types("see @").files(&["README.md"]).rank_paths();
    let scene = scene.shows("README.md").shows("notes:").types("note").rank_paths().key("tab");
    has(&scene, "see @notes:");
    let scene = scene.shows("note://a").shows("The note").shows("note://{id}");
    let scene = scene.types("another").hides("The note").key("tab");
    has(&scene, "see @\"notes:note://b c\" ");
    let scene = known().types("@notes:note://a").key("enter");
    has(&scene, "@notes:note://a ");
    let scene = known().types("@notes:{").key("tab");
    has(&scene, "@notes:note://{id}");
    let scene = known().types("@notes:zzz").shows("slug asks for it anyway").key("enter");
    assert_eq!(sent(&scene), ["@notes:zzz"]);
}

/// Facts of other clients: what a dead server offered stays listed.
#[test]
fn what_a_server_out_of_reach_offered_is_listed_no_more() {
    let gone = McpServerState::Failed("It has ended.".into());
    let scene = told(known(), gone).types("/notes").hides("notes:review");
    let scene = scene.key("ctrl+u").types("@").files(&["README.md"]).rank_paths();
    scene.shows("README.md").hides("notes:").types("notes:").hides("note://a");
}

/// The list of `/diff` has files alone.
#[test]
fn a_name_with_a_space_is_quoted_and_is_no_file() {
    let mut status = server("my notes", McpServerState::Ready);
    status.offers = Arc::clone(&server("x", McpServerState::Ready).offers);
    let known = || {
        let servers = vec![status.clone()];
        screen(80, 24).msg(ScreenMsg::ServerOffers { seen: 1, servers })
    };
    let scene = known().types("@").files(&["README.md"]).types("my").rank_paths().key("enter");
    has(&scene, "@\"my notes:");
    let scene = scene.shows("note://a").types("b").key("tab");
    has(&scene, "@\"my notes:note://b c\" ");
    let scene = known().types("/diff ").files(&["README.md"]).rank_paths();
    scene.shows("README.md").hides("my notes:");
}

#[test]
fn each_answer_brings_the_next_request() {
    let scene = told(screen(80, 24), McpServerState::Ready);
    scene.expect_effects(&[ScreenEffect::FollowOffers { seen: Some(1) }]);
}

#[test]
fn what_arrives_while_a_list_is_open_is_put_into_it() {
    let scene = screen(80, 24).types("/notes").hides("notes:review");
    told(scene, McpServerState::Ready).shows("/notes:review");
}

#[test]
fn prompts_are_listed_with_what_they_are_and_where_they_come_from() {
    let scene = known().types("/no").shows("/notes:review").shows("Does a review.");
    let scene = scene.shows("from notes").types("tes:plain").key("enter");
    assert_eq!(sent(&scene), ["/notes:plain"]);
    let scene = known().types("/notes:review ");
    scene.shows("/notes:review takes pr (the pr), [why] (the why), who (the who)");
    let palette = known().key("ctrl+p").types("notes:rev");
    palette.shows("/notes:review").shows("from notes").key("enter").shows("needs pr");
}

#[test]
fn a_prompt_with_all_that_it_needs_is_sent_as_it_was_typed() {
    let scene = known().types("/notes:review 12 who=\"a b\" it is slow").key("enter");
    assert_eq!(sent(&scene), ["/notes:review 12 who=\"a b\" it is slow"]);
    let scene =
        scene.event(AgentEvent::TurnStarted { turn: TURN }).types("/notes:plain").key("enter");
    let queued = scene.model.conversation.queue.items();
    assert_eq!((&*queued[0].text.text, queued[0].delivery), ("/notes:plain", Delivery::Queue));
}

#[test]
fn missing_arguments_are_asked_for_one_after_another() {
    let scene = known().types("/notes:review why=\"so what\"").key("enter");
    has(&scene, "");
    let scene = scene.shows("/notes:review needs pr").shows("pr: the pr").shows("Does a review.");
    let scene = scene.key("enter").shows("The prompt needs this.").types("12").key("enter");
    let scene = scene.shows("/notes:review needs who").hides("The prompt needs this.");
    let scene = scene.msg(ScreenMsg::Paste("a \"b\"".into())).key("enter");
    let line = "/notes:review pr=12 why=\"so what\" who=\"a \\\"b\\\"\"";
    assert_eq!(sent(&scene), [line]);
    assert!(scene.model.dialogs.is_empty());
    // As any message, it can be had again.
    let scene = scene.key("up");
    has(&scene, line);
}

#[test]
fn leaving_the_question_keeps_what_was_given() {
    for key in ["esc", "ctrl+c"] {
        let scene = known().types("/notes:review").key("enter").types("12").key("enter").key(key);
        assert!(scene.model.dialogs.is_empty() && sent(&scene).is_empty(), "{}", scene.text());
        has(&scene, "/notes:review pr=12");
    }
}

#[test]
fn arguments_that_a_prompt_does_not_take_stay_in_the_input() {
    let scene = known().types("/notes:plain x").key("enter");
    has(&scene, "/notes:plain x");
    scene.shows("/notes:plain: It takes no arguments.");
}

/// A line has no field to type in: the error names what is missing.
#[test]
fn where_lines_are_typed_a_missing_argument_is_an_error() {
    let mut scene = known();
    scene.model.shared.settings.input = InputSource::Lines;
    let scene = scene.msg(ScreenMsg::Line("/notes:review".into()));
    assert!(scene.model.dialogs.is_empty() && sent(&scene).is_empty());
    let toast = scene.model.shared.toast.as_ref().unwrap().text.clone();
    assert_eq!(toast, "/notes:review needs `pr` and `who`: /notes:review pr=VALUE");
    let scene = scene.msg(ScreenMsg::Line("/notes:review 1 who=me".into()));
    assert_eq!(sent(&scene), ["/notes:review 1 who=me"]);
}

/// The server may just be starting: the agent says what is wrong.
#[test]
fn a_prompt_that_is_not_known_yet_is_sent() {
    let scene = screen(80, 24).types("/notes:review 1").key("enter");
    assert_eq!(sent(&scene), ["/notes:review 1"]);
}

#[test]
fn the_question_fits_a_small_screen() {
    for (width, height) in [(20, 6), (80, 24), (120, 40)] {
        let scene = told(screen(width, height), McpServerState::Ready);
        let scene = scene.types("/notes:review").key("enter").types("x").key("enter");
        assert!(!scene.model.dialogs.is_empty(), "{}", scene.text());
    }
}
