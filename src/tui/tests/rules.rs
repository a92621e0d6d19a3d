//! Tests of the page with the permission rules.

use std::path::PathBuf;

use crate::agent::{AgentCommand, AgentEvent, RuleChangeError, RuleReply, RuleRequest};
use crate::domain::{CallId, CallPart, PermissionMode, PermissionOutcome, RuleKind, RuleSource};
use crate::permissions::store::RuleEdit;
use crate::permissions::{PermissionTestReport, RuleListReport, RuleSet, RuleWarning, Workspace};
use crate::session::{LogEntry, PermissionEntry};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TestScreen, record, recorded, screen};

const OWN: &str = "/home/me/.slug/settings.json";
const PROJECT: &str = "/home/me/src/webshop/.slug/settings.json";
const LOCAL: &str = "/home/me/src/webshop/.slug/settings.local.json";

fn rule(kind: RuleKind, rule: &str, file: Option<&str>, line: usize) -> RuleSource {
    let line = file.map(|_| line);
    RuleSource { rule: rule.into(), kind, file: file.map(PathBuf::from), line }
}

fn listed(failed: Option<RuleChangeError>) -> AgentEvent {
    let rules = vec![
        rule(RuleKind::Allow, "Bash(git status)", Some(OWN), 4),
        rule(RuleKind::Deny, "Bash(git push *)", Some(OWN), 7),
        rule(RuleKind::Allow, "Bash(npm *)", Some(PROJECT), 3),
        rule(RuleKind::Ask, "Bash(npm publish *)", Some(PROJECT), 5),
        rule(RuleKind::Allow, "Edit(src/**)", None, 0),
    ];
    let warnings = vec![RuleWarning {
        file: PROJECT.into(),
        line: Some(9),
        text: "the `*` in `ls*` matches the rest of that word only. For `ls` with any arguments \
         write `ls *`"
            .into(),
    }];
    let files = [OWN, PROJECT, LOCAL].map(PathBuf::from).to_vec();
    let list = RuleListReport { rules, warnings };
    AgentEvent::Rules(Box::new(RuleReply::Listed { list, files, failed }))
}

fn refused(about: &str, answer: &str, rule: Option<RuleSource>) -> AgentEvent {
    recorded(&record(LogEntry::Permission(PermissionEntry {
        call: CallId::new("c1"),
        tool: "Bash".into(),
        about: Some(about.into()),
        decision: PermissionOutcome::Deny,
        answer: answer.into(),
        rule,
    })))
}

fn page(width: u16, height: u16) -> TestScreen {
    let push = rule(RuleKind::Deny, "Bash(git push *)", Some(OWN), 7);
    screen(width, height)
        .event(refused("git push origin main", "rule", Some(push)))
        .event(refused("rm -rf build/", "deny", None))
        .types("/permissions")
        .key("enter")
        .event(listed(None))
        // The input is saved as a draft after a pause in typing.
        .after(5_000)
        .after(5_000)
        .clear_effects()
}

fn changes(file: Option<&str>, edit: RuleEdit) -> [ScreenEffect; 1] {
    let file = file.map(PathBuf::from);
    [ScreenEffect::Agent(AGENT, AgentCommand::Rules(RuleRequest::Change { file, edit }))]
}

#[test]
fn the_page_at_80x24() {
    insta::assert_snapshot!(page(80, 24).key("down").key("down").key("down").readable_text());
}

#[test]
fn the_page_at_120x40() {
    insta::assert_snapshot!(page(120, 40).key("end").readable_text());
}

#[test]
fn the_page_at_40x12() {
    insta::assert_snapshot!(page(40, 12).key("down").readable_text());
}

#[test]
fn opening_it_asks_for_the_rules() {
    let order = ScreenEffect::Agent(AGENT, AgentCommand::Rules(RuleRequest::List));
    let scene = screen(80, 24).types("/permissions").clear_effects().key("enter");
    assert!(scene.effects.contains(&order));
    scene.shows("One moment");
}

#[test]
fn a_rule_is_added_to_the_file_that_is_named() {
    let add = |rule: &str| RuleEdit::Add((RuleKind::Allow, rule.into()));
    let typed = page(80, 24).key("a").shows("settings.local.json").types("Bash(ls)");
    typed.key("enter").expect_effects(&changes(Some(LOCAL), add("Bash(ls)")));
    let session = page(80, 24).key("a").key("tab").shows("until slug quits");
    session.types("Bash(ls)").key("enter").expect_effects(&changes(None, add("Bash(ls)")));
    let own = page(80, 24).key("a").key("tab").key("tab").shows("~/.slug/settings.json");
    own.types("Bash(ls)").key("enter").expect_effects(&changes(Some(OWN), add("Bash(ls)")));
}

#[test]
fn s36_what_a_wide_rule_means_is_said_before_it_is_saved() {
    let scene = page(80, 24).key("a").types("Bash(npm run build)").hides("any code through");
    scene.key("ctrl+u").types("allow Bash(python *)").shows("allows any code through python");
    page(80, 24).key("a").key("ctrl+u").types("deny Bash(npm *)").hides("any code through");
}

#[test]
fn a_rule_needs_its_list() {
    let scene = page(80, 24).key("a").key("ctrl+u").types("Bash(ls)").key("enter");
    scene.expect_effects(&[]).shows("Start with deny, ask or allow");
}

#[test]
fn a_rule_is_edited_in_its_own_file() {
    let scene = page(80, 24).key("down").key("e").shows("if git tracks it");
    let from = (RuleKind::Ask, "Bash(npm publish *)".to_owned());
    let to = (RuleKind::Deny, "Bash(npm publish *)".to_owned());
    let scene = scene.key("home").key("ctrl+k").types("deny Bash(npm publish *)").key("enter");
    scene.expect_effects(&changes(Some(PROJECT), RuleEdit::Replace { from, to }));
}

#[test]
fn a_rule_that_could_not_be_saved_stays_in_the_field() {
    let scene = page(80, 24).key("a").types("Bash(x").key("enter");
    let workspace = Workspace::new("/home/me/src/webshop", Vec::new(), None, "/home/me/.slug");
    let refused = RuleSet::check("Bash(x", RuleKind::Allow, &workspace).unwrap_err();
    let scene = scene.event(listed(Some(refused.into())));
    let scene = scene.shows("is not a rule").shows("allow Bash(x");
    scene.event(listed(None)).hides("is not a rule").hides("Bash(x");
}

#[test]
fn a_rule_is_removed_with_the_same_key_twice() {
    let gone = RuleEdit::Remove((RuleKind::Deny, "Bash(git push *)".into()));
    let scene = page(80, 24).key("d").shows("again to remove it").expect_effects(&[]);
    let scene =
        scene.key("down").hides("again to remove it").key("up").key("d").expect_effects(&[]);
    scene.key("d").expect_effects(&changes(Some(OWN), gone));
    let gone = RuleEdit::Remove((RuleKind::Allow, "Edit(src/**)".into()));
    let session = page(80, 24).key("down").key("down").key("down").key("down");
    session.shows("this session").key("d").key("d").expect_effects(&changes(None, gone));
}

#[test]
fn a_refusal_is_no_rule_that_could_be_removed() {
    page(80, 24).key("end").key("d").key("d").key("e").expect_effects(&[]);
}

#[test]
fn a_call_is_tested_and_each_part_has_its_rule_and_line() {
    let scene = page(80, 24).key("t").types("npm test && rm x").key("enter");
    let typed = "npm test && rm x".to_owned();
    let scene = scene.expect_effects(&[ScreenEffect::Agent(
        AGENT,
        AgentCommand::Rules(RuleRequest::Try(typed.clone())),
    )]);
    let npm = rule(RuleKind::Allow, "Bash(npm *)", Some(PROJECT), 3);
    let report = PermissionTestReport {
        decision: PermissionOutcome::Ask,
        reason: "No rule allows this command.".into(),
        rule: None,
        commands: vec![
            CallPart {
                text: "npm test".into(),
                decision: PermissionOutcome::Allow,
                rule: Some(npm),
            },
            CallPart { text: "rm x".into(), decision: PermissionOutcome::Ask, rule: None },
        ],
    };
    let news = RuleReply::Tried { typed, mode: PermissionMode::Ask, report: Ok(report) };
    let scene = scene.event(AgentEvent::Rules(Box::new(news)));
    let scene = scene.shows("allowed by Bash(npm *)   .slug/settings.json:3").shows("? rm x");
    insta::assert_snapshot!(scene.readable_text());
}

#[test]
fn refusals_belong_to_their_session() {
    let scene = page(80, 24).key("end").shows("rm -rf build/").key("esc");
    let session = crate::tui::test_screen::session();
    let records = std::sync::Arc::default();
    let scene = scene.event(AgentEvent::SessionOpened { session, records });
    scene.types("/permissions").key("enter").event(listed(None)).hides("rm -rf build/");
}
