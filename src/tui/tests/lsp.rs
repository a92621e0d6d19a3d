//! Tests of the page of `/lsp`.

use std::path::PathBuf;

use crate::lsp::{LspDefinitionSource, LspFileCounts, LspServerPhase, LspServerStatus};
use crate::services::lsp_admin::LspAdminRequest;
use crate::tui::app::ScreenModel;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::test_screen::{TestScreen, screen};

fn server(name: &str, languages: &[&str], phase: LspServerPhase) -> LspServerStatus {
    LspServerStatus {
        name: name.into(),
        source: LspDefinitionSource::BuiltIn,
        languages: languages.iter().map(|it| (*it).to_owned()).collect(),
        command: format!("{name} --stdio"),
        phase,
        root: None,
        implementation: String::new(),
        is_busy: false,
        counts: LspFileCounts::default(),
        error_output: String::new(),
    }
}

fn rooted(server: LspServerStatus) -> LspServerStatus {
    LspServerStatus { root: Some("/home/me/src/webshop".into()), ..server }
}

fn ready() -> LspServerStatus {
    LspServerStatus {
        implementation: "rust-analyzer 1.91.1 (ed61e7d 2025-11-07)".into(),
        source: LspDefinitionSource::User,
        counts: LspFileCounts { files: 3, errors: 2, warnings: 1 },
        error_output: "loading\n\u{1b}[31mno build script\u{1b}[0m\n".into(),
        ..rooted(server("rust-analyzer", &["rust"], LspServerPhase::Ready))
    }
}

/// A server in each state.
fn all() -> Vec<LspServerStatus> {
    let web = ["javascript", "javascriptreact", "typescript", "typescriptreact"];
    let failed = LspServerPhase::Failed(
        "The language server typescript ended at once (it said: no tsserver.js). It may not be \
         installed. The user can install it: npm install -g typescript-language-server"
            .into(),
    );
    let missing = LspServerPhase::NotInstalled(
        "The language server gopls is not installed: there is no program gopls. The user can \
         install it: go install golang.org/x/tools/gopls@latest"
            .into(),
    );
    let loading = LspServerStatus {
        is_busy: true,
        counts: LspFileCounts { files: 1, errors: 0, warnings: 4 },
        ..rooted(server("clangd", &["c", "cpp"], LspServerPhase::Ready))
    };
    vec![
        ready(),
        rooted(server("typescript", &web, failed)),
        loading,
        rooted(server("bash", &["shellscript"], LspServerPhase::Starting)),
        rooted(server("yaml", &["yaml"], LspServerPhase::Stopped)),
        server("pyright", &["python"], LspServerPhase::NotNeeded),
        server("gopls", &["go"], missing),
    ]
}

/// The request that the page waits for.
fn request(scene: &TestScreen) -> (RequestId, Option<u64>) {
    let follows = |effect: &ScreenEffect| match effect {
        ScreenEffect::FollowLsp { id, seen } => Some((*id, *seen)),
        _ => None,
    };
    scene.effects.iter().rev().find_map(follows).unwrap()
}

fn told(scene: TestScreen, seen: u64, servers: Vec<LspServerStatus>) -> TestScreen {
    let (id, _) = request(&scene);
    scene.msg(ScreenMsg::LspServers { id, seen, servers })
}

fn opened(width: u16, height: u16) -> TestScreen {
    told(screen(width, height).types("/lsp").key("enter").shows("One moment"), 1, all())
}

fn changes(scene: &TestScreen) -> Vec<LspAdminRequest> {
    let change = |effect: &ScreenEffect| match effect {
        ScreenEffect::ChangeLsp(job) => Some(job.clone()),
        _ => None,
    };
    scene.effects.iter().filter_map(change).collect()
}

#[test]
fn the_page_shows_each_server_in_its_state() {
    insta::assert_snapshot!("lsp_page_80x24", opened(80, 24).readable_text());
    insta::assert_snapshot!("lsp_page_120x40", opened(120, 40).readable_text());
    insta::assert_snapshot!("lsp_page_200x60", opened(200, 60).readable_text());
    insta::assert_snapshot!("lsp_page_failed_80x24", opened(80, 24).key("down").readable_text());
    insta::assert_snapshot!("lsp_page_missing_80x24", opened(80, 24).key("end").readable_text());
}

#[test]
fn each_change_of_the_servers_is_asked_for_and_shown() {
    let scene =
        opened(80, 24).key("down").key("down").shows("The server is still loading the project");
    assert_eq!(request(&scene).1, Some(1));
    let mut servers = all();
    servers[2].is_busy = false;
    servers.swap(0, 2);
    let scene = told(scene, 2, servers).hides("The server is still loading the project");
    // The selection stays with its server.
    let scene = scene.shows("clangd --stdio");
    assert_eq!(request(&scene).1, Some(2));
    // An answer to an older request changes nothing.
    let old = ScreenMsg::LspServers { id: RequestId(9_999), seen: 3, servers: Vec::new() };
    scene.msg(old).shows("clangd --stdio");
}

#[test]
fn a_server_is_restarted_and_stopped_where_that_is_possible() {
    let root = PathBuf::from("/home/me/src/webshop");
    let job = |stop: bool, name: &str| {
        let (name, root) = (name.to_owned(), root.clone());
        match stop {
            true => LspAdminRequest::Stop { name, root },
            false => LspAdminRequest::Restart { name, root },
        }
    };
    let scene = opened(80, 24).key("r").key("s").shows("Stopping rust-analyzer");
    assert_eq!(changes(&scene), [job(false, "rust-analyzer"), job(true, "rust-analyzer")]);
    // One that has failed can be started again, but not stopped.
    let scene = opened(80, 24).key("down").key("s").key("r");
    assert_eq!(changes(&scene), [job(false, "typescript")]);
    for (row, says) in [(3, "It is starting"), (5, "It starts with the first"), (6, "go install")] {
        let scene = (0..row).fold(opened(80, 24), |scene, _| scene.key("down"));
        let scene = scene.key("r").key("s").shows(says);
        assert_eq!(changes(&scene), []);
    }
    opened(80, 24).key("down").click("yaml").shows("You have stopped it").key("esc").hides("yaml");
}

#[test]
fn without_trust_the_page_says_what_to_do() {
    let scene = screen(80, 24).types("/lsp").key("enter");
    told(scene, 1, Vec::new()).shows("they start only in a folder that you trust");
}

#[test]
fn the_page_stands_any_size() {
    for (width, height) in [(1, 1), (20, 5), (40, 12), (60, 7), (300, 100)] {
        let scene = opened(120, 40).resized(width, height).key("end").key("pgup").key("home");
        drop(scene.resized(120, 40).shows("rust-analyzer"));
    }
}

#[test]
fn the_page_takes_whole_lines_and_is_read_out() {
    let mut scene = opened(80, 24);
    let mut line = |line: &str| scene.model.dialogs.top_mut().unwrap().line(line);
    assert_eq!(line("stop 1").unwrap().len(), 2);
    assert_eq!(line("9"), Err(LineAnswerError::NoRow));
    assert_eq!(line("restart x"), Err(LineAnswerError::NoRow));
    assert!(line("2").unwrap().is_empty());
    let ScreenModel { conversation, background, shared, dialogs, .. } = &scene.model;
    let page = dialogs.top().unwrap().linear_page(DialogView { conversation, background, shared });
    let lines = page.unwrap().lines;
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let text = text.join("\n");
    assert!(text.contains("1. rust-analyzer: ready, 2 errors, 1 warning. rust"), "{text}");
    assert!(text.contains("Number 2:\ntypescript\nThe language server typescript"), "{text}");
}
