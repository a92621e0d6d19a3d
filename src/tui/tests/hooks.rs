//! Tests of `/hooks`: the list, switching a hook off, trusting changes, and trying a hook.

use std::time::Duration;

use crate::domain::ContentHash;
use crate::hooks::{
    HookAction, HookCommandResult, HookDecision, HookEvent, HookExit, HookId, HookOrigin, HookRow,
    HookTrial, HookVerdict,
};
use crate::services::hook_admin::{HookAdminRequest, HookAdminResponse};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{TestScreen, screen};

fn row(event: HookEvent, filter: &str, line: &str, at: usize) -> HookRow {
    HookRow {
        id: HookId(ContentHash::of(line.as_bytes())),
        event,
        filter: filter.into(),
        action: HookAction::Command { line: line.into(), limit: Duration::from_secs(30) },
        origin: HookOrigin {
            file: "/home/me/src/webshop/.slug/settings.json".into(),
            line: Some(at),
        },
        is_on: true,
        last: None,
    }
}

fn rows() -> Vec<HookRow> {
    let guard = row(HookEvent::PreToolUse, "Bash|Edit", "./.slug/guard.sh --strict", 4);
    let text = HookAction::Prompt("Prefer small commits.".into());
    vec![
        HookRow { last: Some("blocked: not on main".into()), ..guard },
        row(HookEvent::PostToolUse, "Edit|Write", "cargo fmt 2>&1 | tail -n 5", 9),
        HookRow { action: text, ..row(HookEvent::SessionStart, "", "a", 14) },
        HookRow { is_on: false, ..row(HookEvent::Stop, "", "cargo test -q", 18) },
        row(HookEvent::SubagentStop, "", "./count.sh", 22),
        HookRow {
            action: HookAction::Unreadable("a command hook without `command`".into()),
            ..row(HookEvent::PreToolUse, "Read", "b", 27)
        },
    ]
}

/// The last request about hooks.
fn job(scene: &TestScreen) -> Option<HookAdminRequest> {
    scene.effects.iter().rev().find_map(|effect| match effect {
        ScreenEffect::Hooks { job, .. } => Some(job.clone()),
        _ => None,
    })
}

fn answer(scene: TestScreen, answer: Result<HookAdminResponse, String>) -> TestScreen {
    let id = scene.effects.iter().rev().find_map(|effect| match effect {
        ScreenEffect::Hooks { id, .. } => Some(*id),
        _ => None,
    });
    scene.msg(ScreenMsg::Hooks { id: id.expect("nothing was asked"), answer })
}

fn listed(width: u16, height: u16, rows: Vec<HookRow>) -> TestScreen {
    let scene = screen(width, height).types("/hooks").key("enter");
    assert_eq!(job(&scene), Some(HookAdminRequest::List));
    answer(scene, Ok(HookAdminResponse::Listed(rows)))
}

#[test]
fn the_list_at_80_columns() {
    insta::assert_snapshot!(listed(80, 24, rows()).readable_text());
}

#[test]
fn the_list_at_120_columns() {
    insta::assert_snapshot!(listed(120, 40, rows()).readable_text());
}

#[test]
fn one_of_them_at_80_columns() {
    insta::assert_snapshot!(listed(80, 24, rows()).key("enter").readable_text());
}

#[test]
fn without_any_there_is_a_word_on_where_they_go() {
    listed(80, 24, Vec::new()).shows("No hooks");
}

#[test]
fn one_is_switched_off_and_the_list_comes_again() {
    let scene = listed(80, 24, rows()).key("enter").key("enter");
    let first = rows().remove(0);
    assert_eq!(job(&scene), Some(HookAdminRequest::Switch(first.id.clone())));
    let after =
        std::iter::once(HookRow { is_on: false, ..first }).chain(rows().into_iter().skip(1));
    answer(scene, Ok(HookAdminResponse::Listed(after.collect()))).shows("Hooks");
}

pub(super) fn changed(width: u16, height: u16) -> TestScreen {
    let news = ".slug/settings.json, programs that slug would run\n    on Stop runs cargo test -q\n  \
         + on Stop runs curl x.example\n";
    let scene = screen(width, height).types("/hooks").key("enter");
    answer(scene, Ok(HookAdminResponse::Changed { rows: rows(), news: news.into() }))
}

#[test]
fn what_is_new_in_a_project_stands_above_at_80_columns() {
    insta::assert_snapshot!(changed(80, 24).readable_text());
}

#[test]
fn trusting_what_is_new_is_asked_at_80_columns() {
    insta::assert_snapshot!(changed(80, 24).key("enter").readable_text());
}

/// Whether the screen has asked to trust what is new.
pub(super) fn is_trusted(scene: &TestScreen) -> bool {
    job(scene) == Some(HookAdminRequest::Trust)
}

/// Pressing only enter trusts nothing.
#[test]
fn changed_hooks_are_trusted_by_y_only_and_shown_in_full() {
    let scene = changed(120, 40).key("enter").shows("+ on Stop runs curl x.example");
    let scene = scene.key("enter").key("Y").key("space").key("tab").key_at_once("enter");
    assert!(!is_trusted(&scene));
    for no in ["n", "esc", "q"] {
        let scene = changed(80, 24).key("enter").key(no).hides("curl");
        assert!(!is_trusted(&scene));
    }
    let scene = changed(80, 24).key("enter").key("y");
    assert!(is_trusted(&scene));
    answer(scene, Ok(HookAdminResponse::Listed(rows()))).shows("Hooks");
}

#[test]
fn changed_hooks_are_trusted_only_after_their_end_was_shown() {
    let news: String = (0..60).map(|line| format!("  + on Stop runs {line}\n")).collect();
    let scene = screen(80, 24).types("/hooks").key("enter");
    let scene = answer(scene, Ok(HookAdminResponse::Changed { rows: rows(), news: news.into() }));
    let scene = scene.key("enter").shows("to the end, then y to trust").key("y").key("enter");
    assert_ne!(job(&scene), Some(HookAdminRequest::Trust));
    let scene = scene.key("pgdn").key("y");
    assert_ne!(job(&scene), Some(HookAdminRequest::Trust));
    let scene = scene.key("end").shows("on Stop runs 59").shows("y trust, n don't");
    assert_eq!(job(&scene.key("y")), Some(HookAdminRequest::Trust));
}

#[test]
fn a_failed_request_shows_its_error() {
    let scene = listed(80, 24, rows()).key("enter").key("enter");
    answer(scene, Err("cannot write it".into())).shows("cannot write it");
}

/// The dialog shows the whole command before it is run.
#[test]
fn one_is_tried_out_with_its_command_in_sight() {
    let scene = listed(80, 24, rows()).key("enter").key("down");
    let scene = scene.shows("./.slug/guard.sh --strict").shows("settings.json:4").key("enter");
    let hook = rows().remove(0);
    assert_eq!(job(&scene), Some(HookAdminRequest::Try(hook.id.clone())));
    let trial = HookTrial {
        hook,
        ran: Some(HookCommandResult {
            exit: HookExit::Code(2),
            stdout: "looking\n".into(),
            stderr: "not on main\u{1b}[2J\n".into(),
            elapsed: Duration::from_millis(41),
        }),
        verdict: HookVerdict {
            decision: HookDecision::Block("not on main".into()),
            ..HookVerdict::default()
        },
    };
    let scene = answer(scene, Ok(HookAdminResponse::Tried(Box::new(trial))));
    insta::assert_snapshot!(scene.readable_text());
}

#[test]
fn a_trial_that_nobody_waits_for_any_more_shows_nothing() {
    let scene = listed(80, 24, rows()).key("enter").key("down").key("enter").key("esc");
    let overlays = scene.model.dialogs.len();
    let scene = answer(scene, Err("too late".into()));
    assert_eq!(scene.model.dialogs.len(), overlays);
    scene.hides("too late");
}

/// Each kind of hook has its own actions; a prompt hook can only be switched off.
#[test]
fn only_a_command_can_be_tried() {
    listed(80, 24, rows()).key("down").key("down").key("enter").shows("Switch off").hides("Try it");
}
