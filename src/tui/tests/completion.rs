//! Tests of the list under the caret: mentions, commands and their arguments, paths for the shell.

use crate::agent::{AgentCommand, AgentEvent};
use crate::commands::{
    CommandDescriptor, CommandPart, CommandRegistry, CommandTiming, RegisteredCommand,
    SlashArgumentKind, SlashCommand,
};
use crate::domain::PermissionMode;
use crate::services::sessions::SessionStoreResponse;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::sidebar::samples;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TURN, TestScreen, screen};

const FILES: &[&str] = &["README.md", "my notes.md", "src/", "src/cart.rs", "src/domain/"];

/// A screen where the user typed this text, in a workspace with a few files.
fn typed(text: &str) -> TestScreen {
    let (first, rest) = text.split_at(text.find('@').unwrap() + 1);
    screen(80, 24).types(first).files(FILES).types(rest).rank_paths()
}

#[track_caller]
fn has(scene: &TestScreen, text: &str) {
    assert_eq!(scene.model.conversation.composer.editor.text(), text, "{}", scene.text());
}

fn asked(scene: &TestScreen, wanted: impl Fn(&ScreenEffect) -> Option<RequestId>) -> RequestId {
    scene.effects.iter().rev().find_map(wanted).unwrap()
}

fn counts(scene: TestScreen, path: &str, lines: Option<u64>) -> TestScreen {
    let id = asked(&scene, |effect| match effect {
        ScreenEffect::CountLines { id, path: asked } if asked == path => Some(*id),
        _ => None,
    });
    scene.msg(ScreenMsg::LinesCounted { id, path: path.into(), lines })
}

fn lists(scene: TestScreen, folder: &str, names: &[&str]) -> TestScreen {
    let id = asked(&scene, |effect| match effect {
        ScreenEffect::ListFolder { id, folder: asked } if asked == folder => Some(*id),
        _ => None,
    });
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    scene.msg(ScreenMsg::FolderListed { id, folder: folder.into(), names })
}

fn knows_sessions(scene: TestScreen) -> TestScreen {
    let id = asked(&scene, |effect| match effect {
        ScreenEffect::Sessions { id, .. } => Some(*id),
        _ => None,
    });
    let row = |number, title, minutes| {
        samples::at("/home/me/src/webshop", samples::row(number, title, minutes))
    };
    let rows = vec![
        samples::at("/home/me/src/pay", samples::row(3, "Fix refunds", 5)),
        row(1, "Upgrade to axum 0.9", 130),
        row(2, "Fix empty cart checkout", 12),
    ];
    let answer = Ok(SessionStoreResponse::Listed(samples::list(rows)));
    scene.msg(ScreenMsg::Sessions { id, answer })
}

/// A screen with a command of another source beside the built-in ones.
fn with_another_source() -> TestScreen {
    let descriptor = CommandDescriptor {
        name: "again".into(),
        aliases: vec!["once-more".into()],
        argument: SlashArgumentKind::None,
        summary: "ask the server once more".into(),
        timing: CommandTiming::BetweenTurns,
        source: "this project".into(),
    };
    let command = RegisteredCommand::new(descriptor, |_| Ok(SlashCommand::Retry));
    let parts = vec![CommandPart::built_in(), CommandPart { commands: vec![command] }];
    let mut scene = screen(80, 40);
    scene.model.shared.settings.commands = CommandRegistry::from_parts(parts).0;
    scene
}

#[test]
fn a_command_of_another_source_is_completed_listed_and_run() {
    let is_retry = |it: &ScreenEffect| matches!(it, ScreenEffect::Agent(_, AgentCommand::Retry));
    let scene = with_another_source().types("/aga").shows("ask the server once more");
    let scene = scene.key("enter").key("enter");
    assert!(scene.effects.iter().any(is_retry), "{}", scene.text());

    let scene = with_another_source().event(AgentEvent::TurnStarted { turn: TURN });
    let scene = scene.types("/once-more ").key("enter").shows("A turn is running.");
    assert!(!scene.effects.iter().any(is_retry));

    with_another_source().key("ctrl+p").types("/again").shows("ask the server once more");
}

#[test]
fn the_lists_at_80x24() {
    insta::assert_snapshot!("mention", typed("see @car").readable_text());
    let scene = counts(typed("see @src/cart.rs:10-400"), "src/cart.rs", Some(220));
    insta::assert_snapshot!("lines", scene.readable_text());
    insta::assert_snapshot!(
        "sessions",
        knows_sessions(typed("as in @session:fix")).readable_text()
    );
    insta::assert_snapshot!("argument", screen(80, 24).types("/mode ").readable_text());
}

#[test]
fn a_file_is_picked_under_an_at() {
    let scene = screen(80, 24).types("see @");
    assert_eq!(scene.effects, [ScreenEffect::IndexFiles { id: RequestId(1), servers: Vec::new() }]);
    let scene =
        scene.files(FILES).types("cart").rank_paths().shows("src/cart.rs").hides("README.md");
    has(&scene.key("tab"), "see @src/cart.rs ");
}

#[test]
fn one_ranking_is_under_way_at_a_time() {
    let scene = screen(80, 24).types("@").files(FILES).types("cart");
    let queries = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::RankPaths { query, .. } => Some(query.as_str()),
        _ => None,
    });
    let queries: Vec<&str> = queries.collect();
    assert_eq!(queries, ["c"]);
    let scene = scene.shows("README.md").rank_paths().hides("README.md").shows("src/cart.rs");
    scene.expect_effects(&[]);
}

#[test]
fn what_is_chosen_is_the_best_match_though_the_ranking_is_under_way() {
    let scene = screen(80, 24).types("@").files(FILES).types("cart").key_at_once("tab");
    has(&scene, "@src/cart.rs ");
}

#[test]
fn tab_goes_into_a_folder_and_enter_takes_it() {
    has(&typed("@doma").key("tab"), "@src/domain/");
    has(&typed("@doma").key("enter"), "@src/domain/ ");
}

#[test]
fn a_path_with_spaces_is_put_in_quotes() {
    has(&typed("@notes").key("tab"), "@\"my notes.md\" ");
    has(&typed("@\"my no").key("tab"), "@\"my notes.md\" ");
}

#[test]
fn a_colon_behind_a_file_asks_for_lines() {
    let scene = typed("@cart").key("tab").types(":");
    has(&scene, "@src/cart.rs:");
    let scene = counts(scene, "src/cart.rs", Some(220)).shows("src/cart.rs has 220 lines");
    let scene = scene.types("10-400").shows("src/cart.rs has only 220 lines");
    has(&scene.key("backspace").shows("lines 10 to 40 of 220"), "@src/cart.rs:10-40");
    has(&typed("@cart").key("tab").types("a:"), "@src/cart.rs a:");
    let scene = typed("@notes").key("tab").types(":7");
    has(&counts(scene, "my notes.md", Some(9)).shows("line 7 of 9"), "@\"my notes.md\":7");
}

#[test]
fn paths_named_before_come_first() {
    let mut scene = screen(80, 24).types("see @src/domain/ ").key_at_once("ctrl+c").clear_effects();
    scene = scene.types("@").files(FILES);
    let at = |text: &str| scene.text().find(text).unwrap();
    assert!(at("src/domain/") < at("README.md"), "{}", scene.text());
}

#[test]
fn paths_elsewhere_are_listed_by_folder() {
    let scene = lists(typed("@../"), "../", &["api/", "notes.md"]);
    let scene = scene.types("ap").shows("../api/").hides("notes.md").clear_effects().key("tab");
    has(&scene, "@../api/");
    has(&lists(scene, "../api/", &["main.rs"]).key("tab"), "@../api/main.rs ");
    lists(typed("@/etc/zz"), "/etc/", &["hosts"]).shows("Nothing in /etc/ matches");
}

#[test]
fn a_session_is_found_by_its_title() {
    let scene = knows_sessions(typed("as in @session:"));
    let at = |text: &str| scene.text().find(text).unwrap();
    assert!(at("Fix empty") < at("Upgrade") && at("Upgrade") < at("Fix refunds"));
    let scene = scene.types("empty").key("enter");
    let scene = scene.shows("as in @session \"Fix empty cart checkout\"").types("please");
    let told = format!("as in @session:{} please", samples::id(2));
    assert_eq!(scene.model.conversation.composer.editor.expanded(), told);
    let scene = scene.key("ctrl+_").key("ctrl+_");
    has(&scene, "as in @session:empty");
    let scene =
        knows_sessions(screen(80, 24).types("/sessions refunds")).clear_effects().key("enter");
    let session = samples::id(3);
    scene.expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::Resume { session })]);
}

#[test]
fn arguments_of_commands_are_explained() {
    let scene = screen(80, 24)
        .types("/mode ")
        .shows("/mode takes a permission mode")
        .shows("changes nothing");
    let scene = scene.types("pl").clear_effects().key("enter");
    scene
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::SetMode(PermissionMode::Plan))]);
    screen(80, 24).types("/vi ").shows("/vi takes a word of this list").shows("use vi keys");
    let scene = screen(80, 24).types("/fold too").key("enter").shows("chosen by content");
    has(&scene.key("down").key("tab"), "/fold tools closed ");
}

#[test]
fn a_path_for_the_shell_is_listed_on_tab_and_escaped() {
    let scene = screen(80, 24).types("!cat my").hides("my notes").key("tab");
    let scene = lists(scene, "", &["my notes.md", "my words/", "sales/"]).shows("my words/");
    let scene = scene.types("\\ n").hides("my words/").key("tab");
    has(&scene.hides("my words").types("s").hides("sales/"), "!cat my\\ notes.md s");
}

#[test]
fn the_only_path_that_goes_on_is_put_in_at_once() {
    let scene = lists(screen(80, 24).types("!ls sr").key("tab"), "", &["src/", "my notes.md"]);
    has(&scene, "!ls src/");
    let scene = lists(scene, "src/", &["cart.rs", "domain/"]).shows("src/cart.rs").clear_effects();
    let command = "ls src/".to_owned();
    let run = ScreenEffect::Agent(AGENT, AgentCommand::Shell { command });
    let scene = scene.key("esc").key("enter");
    assert!(scene.effects.contains(&run), "{:?}", scene.effects);
}

#[test]
fn enter_runs_a_shell_command_that_has_no_list() {
    let scene = screen(80, 24).types("!ls src").clear_effects().key("enter");
    let run = ScreenEffect::Agent(AGENT, AgentCommand::Shell { command: "ls src".into() });
    assert!(scene.effects.contains(&run), "{:?}", scene.effects);
}

#[test]
fn the_edge_of_the_list_says_how_many_rows_match() {
    let all = screen(80, 24).model.shared.settings.commands.all().count();
    screen(80, 24).types("/").shows(&format!("── {all} ─"));
    screen(80, 24).types("/setti").shows(&format!("── 1 of {all} ─"));
    // On a screen this low a row is worth more than the edge.
    let low = screen(40, 9).types("/").hides(&format!("── {all} ─"));
    low.shows("❯ /help");
}

#[test]
fn a_list_that_was_closed_opens_again_in_an_emptied_input() {
    let scene = screen(80, 24).types("/").shows("/help").key("esc").hides("/help");
    scene.key("ctrl+c").types("@").files(FILES).rank_paths().shows("README.md");
    let scene = screen(80, 24).types("@").files(FILES).rank_paths().key("esc").types("x");
    scene.hides("README.md").key("enter").types("@").rank_paths().shows("README.md");
}
