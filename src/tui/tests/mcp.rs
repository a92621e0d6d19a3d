//! Tests of the page of `/mcp`.

use std::sync::Arc;

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent, RuleReply, RuleRequest, RuleTestError};
use crate::domain::{ContentHash, PermissionMode, PermissionOutcome, RuleKind, RuleSource};
use crate::mcp::{
    McpDefinitionSource, McpOffers, McpPrompt, McpResource, McpServerState, McpServerStatus,
    McpStartQuestion, McpToolDefinition,
};
use crate::permissions::PermissionTestReport;
use crate::services::mcp_admin::McpAdminRequest;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::{ScreenEffect, ScreenModel, ScreenMsg};
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::dialogs::{DialogView, OpenDialog};
use crate::tui::test_screen::{AGENT, TestScreen, question, screen};

pub(super) fn server(name: &str, state: McpServerState) -> McpServerStatus {
    McpServerStatus {
        name: name.into(),
        source: McpDefinitionSource::User,
        summary: format!("uvx mcp-server-{name} --repository ."),
        sent_names: Vec::new(),
        state,
        start_question: None,
        implementation: None,
        tools: Arc::default(),
        changed_tools: Vec::new(),
        offers: Arc::default(),
        warnings: Vec::new(),
        error_output: String::new(),
        is_always_loaded: false,
        login_address: None,
    }
}

fn tool(name: &str, description: &str) -> McpToolDefinition {
    McpToolDefinition {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        claims_read_only: false,
        tokens: 25,
        hash: ContentHash::of(description.as_bytes()),
    }
}

fn ready() -> McpServerStatus {
    McpServerStatus {
        sent_names: vec!["GIT_TOKEN".into(), "LANG".into()],
        implementation: Some("mcp-git 1.27.0".into()),
        tools: Arc::new([
            tool("git_status", "Shows the working tree status."),
            tool("git_push", "Pushes commits to a remote, any remote, whichever it is.\nMore."),
            tool("git_log", "Shows the commit logs."),
            tool("git_show", ""),
        ]),
        warnings: vec!["The variable GIT_TOKEN is not set.".into()],
        error_output: "listening\nready\n".into(),
        ..server("git", McpServerState::Ready)
    }
}

fn waiting() -> McpServerStatus {
    let particulars =
        ["node tracker.js", "sets KEY=${TRACKER_KEY}", "gives your TRACKER_KEY to node"];
    McpServerStatus {
        source: McpDefinitionSource::Project,
        start_question: Some(McpStartQuestion {
            particulars: particulars.map(str::to_owned).to_vec(),
            hash: ContentHash::of(b"as it is now"),
        }),
        ..server("tracker", McpServerState::NotAllowed)
    }
}

fn changed(count: usize) -> McpServerStatus {
    let names: Vec<String> = (0..count).map(|at| format!("tool_{at}")).collect();
    McpServerStatus {
        tools: names.iter().map(|name| tool(name, "Now it does more.\nMuch more.")).collect(),
        changed_tools: names,
        ..server("altered", McpServerState::Ready)
    }
}

/// A server that offers resources and prompts, too.
fn offering() -> McpServerStatus {
    let resource = |uri: &str| McpResource {
        uri: uri.into(),
        title: uri.into(),
        description: String::new(),
        mime_type: String::new(),
    };
    let prompt = |name: &str, description: &str| McpPrompt {
        name: name.into(),
        typed: name.into(),
        description: description.into(),
        arguments: Vec::new(),
    };
    let offers = McpOffers {
        resources: vec![resource("git://head"), resource("git://log")],
        templates: vec![resource("git://{commit}")],
        prompts: vec![prompt("review", "Reviews a commit.\u{202e}"), prompt("plain", "")],
        dropped: Vec::new(),
    };
    McpServerStatus { offers: Arc::new(offers), ..server("git", McpServerState::Ready) }
}

#[test]
fn the_page_has_what_servers_offer_besides_tools() {
    for (width, height) in [(80, 24), (120, 40)] {
        let scene = opened(width, height, vec![offering()]);
        let scene = scene.shows("2 resources, 2 prompts");
        let scene = scene.key("enter").after(500);
        let scene = scene.shows("Prompts: each is a slash command.").shows("/git:review");
        let scene = scene.shows("Reviews a commit.‹U+202E›").shows("/git:plain");
        scene.shows("2, and 1 address with places to fill in. Mention one with @git:");
    }
    let narrow = opened(40, 24, vec![offering()]);
    narrow.shows("ready");
}

/// A server in each state, by name.
fn all() -> Vec<McpServerStatus> {
    let failed = McpServerState::Failed("It has ended with status 127.".into());
    let off = McpServerStatus {
        source: McpDefinitionSource::Project,
        ..server("off", McpServerState::Disabled)
    };
    let error_output = "sh: uvx: not found\n".into();
    let failed = McpServerStatus { error_output, ..server("failed", failed) };
    let login = server("login", McpServerState::NeedsLogin);
    let starting = server("starting", McpServerState::Starting);
    vec![changed(1), failed, ready(), login, off, starting, waiting()]
}

/// The request that the page waits for.
fn request(scene: &TestScreen) -> RequestId {
    let follows = |effect: &ScreenEffect| match effect {
        ScreenEffect::FollowMcp { id, .. } => Some(*id),
        _ => None,
    };
    scene.effects.iter().rev().find_map(follows).unwrap()
}

fn opened(width: u16, height: u16, servers: Vec<McpServerStatus>) -> TestScreen {
    let scene = screen(width, height).types("/mcp").key("enter");
    told(scene, 1, servers)
}

fn told(scene: TestScreen, seen: u64, servers: Vec<McpServerStatus>) -> TestScreen {
    let id = request(&scene);
    scene.msg(ScreenMsg::McpServers { id, seen, servers })
}

/// The page with this server opened.
fn shown(width: u16, height: u16, server: McpServerStatus) -> TestScreen {
    opened(width, height, vec![server]).key("enter").after(500)
}

fn decided(tool: &str, decision: PermissionOutcome, rule: Option<RuleKind>) -> AgentEvent {
    let rule = rule.map(|kind| RuleSource { rule: tool.into(), kind, file: None, line: None });
    let report =
        PermissionTestReport { decision, reason: String::new(), rule, commands: Vec::new() };
    let (typed, mode) = (format!("mcp__{tool}"), PermissionMode::Ask);
    AgentEvent::Rules(Box::new(RuleReply::Tried { typed, mode, report: Ok(report) }))
}

fn with_decisions(scene: TestScreen) -> TestScreen {
    use PermissionOutcome::{Allow, Ask, Deny};
    let lost = RuleReply::Tried {
        typed: "mcp__git__git_show".into(),
        mode: PermissionMode::Ask,
        report: Err(RuleTestError::Lost("it ended".into())),
    };
    scene.events([
        decided("git__git_status", Allow, Some(RuleKind::Allow)),
        decided("git__git_push", Deny, Some(RuleKind::Deny)),
        decided("git__git_log", Ask, None),
        AgentEvent::Rules(Box::new(lost)),
    ])
}

fn asked_about(scene: &TestScreen) -> Vec<String> {
    let asks = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::Agent(agent, AgentCommand::Rules(RuleRequest::Try(typed))) => {
            assert_eq!(*agent, AGENT);
            Some(typed.clone())
        }
        _ => None,
    });
    asks.collect()
}

fn jobs(scene: &TestScreen) -> Vec<McpAdminRequest> {
    let jobs = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::ChangeMcp(job) => Some(job.clone()),
        _ => None,
    });
    jobs.collect()
}

#[test]
fn without_servers_at_80x24() {
    insta::assert_snapshot!(opened(80, 24, Vec::new()).readable_text());
}

#[test]
fn a_server_in_each_state_at_80x24() {
    insta::assert_snapshot!(opened(80, 24, all()).key("down").readable_text());
}

#[test]
fn a_server_in_each_state_at_120x40() {
    insta::assert_snapshot!(opened(120, 40, all()).key("end").readable_text());
}

#[test]
fn a_ready_server_at_80x24() {
    insta::assert_snapshot!(with_decisions(shown(80, 24, ready())).readable_text());
}

#[test]
fn a_ready_server_at_120x40() {
    insta::assert_snapshot!(with_decisions(shown(120, 40, ready())).readable_text());
}

#[test]
fn a_server_that_is_not_allowed_at_80x24() {
    insta::assert_snapshot!(shown(80, 24, waiting()).readable_text());
}

#[test]
fn changed_definitions_at_80x24() {
    insta::assert_snapshot!(shown(80, 24, changed(1)).readable_text());
}

#[test]
fn the_page_at_40x12() {
    let scene = opened(40, 12, all());
    insta::assert_snapshot!(format!("{}\n{}", scene.text(), scene.key("enter").readable_text()));
}

#[test]
fn each_state_has_its_words_and_says_what_can_be_done() {
    let mut scene = opened(80, 24, all());
    for (state, remedy) in [
        ("ready, 1 tool changed", "Open the server to review them."),
        ("failed: It has ended with status 127.", "Its standard error may say more."),
        ("ready  ", "uvx mcp-server-git"),
        ("needs login", "The server needs a login."),
        ("disabled", "Its definition in .mcp.json disables it."),
        ("starting", "you can go on working."),
        ("not allowed here yet", "Open it to review and allow it."),
    ] {
        scene = scene.shows(state).shows(remedy).key("down");
    }
    let own = server("own", McpServerState::Disabled);
    opened(80, 24, vec![own])
        .shows("slug mcp enable own")
        .key("enter")
        .shows("slug mcp enable own");
    let failed = all().remove(1);
    shown(80, 24, failed).shows("sh: uvx: not found");
}

#[test]
fn changes_come_while_the_page_is_open() {
    let scene = screen(80, 24).types("/mcp").key("enter").shows("One moment");
    let id = request(&scene);
    assert!(scene.effects.contains(&ScreenEffect::FollowMcp { id, seen: None }));
    let scene = told(scene, 7, vec![server("git", McpServerState::Starting)]).shows("starting");
    assert!(scene.effects.contains(&ScreenEffect::FollowMcp { id, seen: Some(7) }));
    let scene = told(scene, 8, vec![ready()]).hides("starting").shows("ready").shows("4 tools");
    let scene = scene.key("esc").clear_effects();
    let late = ScreenMsg::McpServers { id, seen: 9, servers: Vec::new() };
    let scene = scene.msg(late);
    assert_eq!(scene.effects, [], "nobody asks for more once the page is closed");
}

#[test]
fn a_server_is_opened_and_the_rules_are_asked_about_its_tools() {
    let names = ["status", "push", "log", "show"].map(|it| format!("mcp__git__git_{it}"));
    let scene = opened(80, 24, all()).key("down").key("down").clear_effects().key("right").after(1);
    assert_eq!(asked_about(&scene), names);
    let scene = with_decisions(scene.shows("calls itself")).clear_effects();
    let scene = scene.shows("allowed by a rule").shows("denied by a rule").shows("not known");
    // Another mode, or a rule that was saved in a question, may change what is shown.
    let scene = scene.event(AgentEvent::ModeChanged(PermissionMode::Yolo)).after(1);
    assert_eq!(asked_about(&scene), names);
    let scene = scene.clear_effects().event(question(1, "ls")).after(400);
    let scene = scene.key("n").after(400);
    assert_eq!(asked_about(&scene), names);
    let scene = scene.key("left").shows("7 servers").key("enter").key("esc").shows("7 servers");
    assert!(scene.key("esc").model.dialogs.is_empty());
}

#[test]
fn a_server_is_restarted_if_it_may_run() {
    let restart = McpAdminRequest::Restart("git".into());
    let scene = opened(80, 24, vec![ready()]).key("r").shows("Restarting git.");
    assert_eq!(jobs(&scene), std::slice::from_ref(&restart));
    assert_eq!(jobs(&scene.clear_effects().key("enter").key("r")), [restart]);
    for (at, why) in [(4, "disables it"), (5, "you can go on working"), (6, "Open it to review")] {
        let scene = opened(80, 24, vec![all().remove(at)]).key("r").shows(why);
        assert_eq!(jobs(&scene), []);
    }
}

#[test]
fn a_login_is_begun_and_shows_where_the_user_logs_in() {
    let login = McpAdminRequest::LogIn("login".into());
    let needing = server("login", McpServerState::NeedsLogin);
    let scene = opened(80, 24, vec![needing.clone()]).shows("i log in").key("i");
    assert_eq!(jobs(&scene.shows("Asking login how to log in.")), std::slice::from_ref(&login));
    let address = "https://login.example.com/authorize?client_id=x\u{202e}&state=y";
    let begun = McpServerStatus { login_address: Some(address.into()), ..needing };
    for (width, height) in [(80, 24), (120, 40)] {
        let scene = opened(width, height, vec![begun.clone()]).shows("Log in at the address that");
        let scene = scene.key("enter").after(500);
        let scene = scene.shows("Open this address in your browser and log in:");
        let scene = scene.shows("https://login.example.com/authorize?client_id=x‹U+202E›&state=y");
        let copy = ScreenEffect::Copy { text: address.into(), what: "the address" };
        let scene = scene.shows("c copy address").clear_effects().key("c");
        assert!(scene.effects.contains(&copy), "{:?}", scene.effects);
        // Once more, with a new address.
        let scene = scene.shows("slug mcp login login").clear_effects().key("i");
        assert_eq!(jobs(&scene), std::slice::from_ref(&login));
    }
    let scene = opened(80, 24, vec![ready()]).key("i").shows("git does not ask for a login.");
    assert_eq!(jobs(&scene), []);
}

#[test]
fn a_projects_server_is_allowed_only_while_all_of_it_is_shown() {
    let allow = McpAdminRequest::Allow("tracker".into(), ContentHash::of(b"as it is now"));
    let scene = opened(80, 24, vec![waiting()]).clear_effects().key("y");
    assert_eq!(jobs(&scene), [], "in the list the key only opens it");
    let scene = scene.shows("sets KEY=${TRACKER_KEY}").shows("y lets it start").key_at_once("y");
    assert_eq!(jobs(&scene), [], "too early to have been read");
    let scene = scene.after(400).key("y");
    assert_eq!(jobs(&scene), std::slice::from_ref(&allow));
    let scene = scene.clear_effects().key("c").shows("tracker has nothing to accept.");
    assert_eq!(jobs(&scene), []);

    let mut long = waiting();
    let lines = (0..40).map(|at| format!("sets V{at}=x"));
    long.start_question.as_mut().unwrap().particulars.extend(lines);
    let scene = shown(80, 24, long).after(400).key("y").shows("Read it to its end first.");
    assert_eq!(jobs(&scene), []);
    // What was jumped over has not been seen.
    let scene = scene.key("end").shows("y lets it start").key("y");
    assert_eq!(jobs(&scene), []);
    let scene = scene.key("home").key("pgdn").key("pgdn").key("pgdn").after(400).key("y");
    assert_eq!(jobs(&scene), [allow]);
}

#[test]
fn changed_definitions_are_accepted_as_they_are_shown() {
    let scene = shown(80, 24, changed(1)).shows("Much more.").shows("\"properties\": {");
    let scene = scene.key("c");
    let shown_tools = changed(1).tools.to_vec();
    assert_eq!(jobs(&scene), [McpAdminRequest::Accept("altered".into(), shown_tools)]);

    // A change that comes while they are read has to be read, too.
    let scene = shown(80, 24, changed(1));
    let mut newer = changed(1);
    newer.tools = Arc::new([tool("tool_0", "Now it deletes files.")]);
    let scene = told(scene, 2, vec![newer.clone()]).shows("Now it deletes files.");
    let scene = scene.key_at_once("c");
    assert_eq!(jobs(&scene), []);
    let scene = scene.after(400).key("c");
    assert_eq!(jobs(&scene), [McpAdminRequest::Accept("altered".into(), newer.tools.to_vec())]);
    let scene = shown(80, 24, changed(9)).after(400).key("c").shows("Read it to its end first.");
    assert_eq!(jobs(&scene), []);
}

#[test]
fn texts_of_servers_are_not_obeyed() {
    let evil = "a\u{1b}[2J\u{202e}b\u{7}";
    let mut server = McpServerStatus {
        implementation: Some(evil.into()),
        warnings: vec![evil.into()],
        error_output: format!("{evil}\r\n"),
        tools: Arc::new([tool(evil, evil)]),
        summary: evil.into(),
        sent_names: vec![evil.into()],
        ..server("evil", McpServerState::Failed(evil.into()))
    };
    for changed_tools in [Vec::new(), vec![evil.to_owned()]] {
        server.changed_tools = changed_tools;
        let list = opened(80, 24, vec![server.clone()]).text();
        let page = shown(80, 40, server.clone());
        let Some(OpenDialog::Mcp(_)) = page.model.dialogs.top() else { panic!() };
        let text = format!("{list}{}", page.text());
        assert!(text.contains("a␛[2J‹U+202E›b"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{text}");
    }
}

#[test]
fn a_long_list_keeps_the_selected_server_in_view_and_is_clicked() {
    let name = |at: usize| format!("server{at:02}");
    let servers = (0..30).map(|at| server(&name(at), McpServerState::Ready)).collect();
    let mut scene = opened(80, 24, servers).shows("server00").hides("server29");
    scene = scene.key("end").shows("server29").hides("server00").key("home").shows("server00");
    scene.click("server05").key("enter").shows("mcp-server-server05").hides("server06");
}

#[test]
fn a_line_opens_a_server_and_does_what_can_be_done() {
    let mut scene = opened(80, 24, vec![ready(), waiting()]);
    let mut line = |line: &str| scene.model.dialogs.top_mut().unwrap().line(line);
    assert_eq!(line("3"), Err(LineAnswerError::NoRow));
    assert_eq!(line("allow"), Err(LineAnswerError::NoRow));
    assert_eq!(line("1").unwrap().len(), 4, "the rules are asked about each tool");
    assert_eq!(line("what"), Err(LineAnswerError::NoServerAction));
    assert_eq!(line("restart").unwrap().len(), 2);
    assert_eq!(line("").unwrap(), []);
    assert_eq!(line("2").unwrap(), []);
    assert_eq!(line("allow").unwrap().len(), 1);
    assert_eq!(line("").unwrap(), []);
    assert_eq!(line("").unwrap(), [crate::tui::app::intent::Intent::Close]);
}

#[test]
fn a_question_that_is_half_read_is_read_again_on_another_screen() {
    let pages = |count| {
        let scene = shown(80, 12, changed(2)).shows("rows below");
        (0..count).fold(scene, |scene, _| scene.key("pgdn")).resized(60, 12).after(400)
    };
    let scene = pages(1).shows("These tools are not called").key("c");
    assert_eq!(jobs(&scene.shows("Read it to its end first.")), []);
    assert_eq!(jobs(&pages(4).key("c")).len(), 1);
}

#[test]
fn the_page_is_read_out_with_what_can_be_typed() {
    let read_out = |scene: &TestScreen| {
        let ScreenModel { conversation, background, shared, dialogs, .. } = &scene.model;
        let around = DialogView { conversation, background, shared };
        let page = dialogs.top().unwrap().linear_page(around);
        page.map(|page| page.lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n"))
    };
    let list = read_out(&opened(80, 24, all())).unwrap();
    assert!(list.contains("2. failed: failed: It has ended with status 127, yours\n"), "{list}");
    let scene = shown(80, 24, ready());
    assert_eq!(read_out(&scene), None, "not before it is known what a call meets");
    let page = read_out(&with_decisions(scene)).unwrap();
    assert!(page.contains("  git_push: denied by a rule, ~25 tokens. Pushes commits"), "{page}");
    let page = read_out(&shown(80, 24, waiting())).unwrap();
    assert!(page.contains("\n  sets KEY=${TRACKER_KEY}\n"), "{page}");
    assert!(page.ends_with("Type allow to let it start, or an empty line to go back to the list."));
    let page = read_out(&shown(80, 24, changed(1))).unwrap();
    assert!(page.contains("\n    Much more.\n") && page.contains("Type accept"), "{page}");
    let page = read_out(&shown(80, 24, all().remove(5))).unwrap();
    assert_eq!(page, "starting: starting\nIt is starting. An empty line goes back to the list.");
}
