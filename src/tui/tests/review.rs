//! Tests of the page that reviews what a turn changed.

use std::sync::Arc;

use crate::agent::{AgentCommand, AgentEvent, ReviewPlan, ReviewScope, RewindError};
use crate::domain::{ContentHash, FileDiff, TurnId};
use crate::session::undo::{
    FilePlace, FileRejection, ReviewFiles, ReviewedChange, ReviewedContent, ReviewedFile,
    SkipReason,
};
use crate::session::{
    FileChangeSource, FileKind, FileVersion, UntrackedChanges, UntrackedFile, UntrackedReason,
};
use crate::tui::app::intent::Intent;
use crate::tui::app::{ScreenEffect, ScreenModel};
use crate::tui::dialogs::{Dialog, DialogView, OpenDialog};
use crate::tui::test_screen::{AGENT, TestScreen, recorded, screen, session, user};

const ROOT: &str = "/home/me/src/webshop";

fn version(text: &str) -> Option<FileVersion> {
    let hash = ContentHash::of(text.as_bytes());
    Some(FileVersion { kind: FileKind::File, hash, mode: Some(0o644) })
}

fn file(name: &str, old: &str, new: &str, changes: &[ReviewedChange]) -> ReviewedFile {
    let path = format!("{ROOT}/{name}");
    let diff = Arc::new(FileDiff::between(&path, old, new));
    ReviewedFile {
        path: path.into(),
        place: FilePlace::default(),
        by: FileChangeSource::Tool,
        before: version(old).filter(|_| !old.is_empty()),
        after: version(new),
        now: version(new),
        content: ReviewedContent::Text { diff, changes: changes.to_vec() },
    }
}

fn cart() -> (String, String) {
    let old: String = (1..=40).map(|n| format!("    let line_{n} = {n};\n")).collect();
    let new = old.replace("line_8 = 8", "line_8 = eight").replace("line_20 = 20;\n", "line_20;\n");
    (old, new.replace("    let line_33 = 33;\n", ""))
}

fn plan() -> ReviewPlan {
    let present = || ReviewedChange::Present;
    let (old, new) = cart();
    let conflict = ReviewedChange::Conflict(SkipReason::SameLines);
    let cart = file("src/cart.rs", &old, &new, &[present(), conflict, present()]);
    let made = file("src/new.rs", "", "fn new() {\n    free();\n}\n", &[present()]);
    let git = FilePlace {
        is_outside: false,
        protected: Some("what git runs".into()),
        ..FilePlace::default()
    };
    let guarded = file(".git/config", "a = 1\n", "a = 2\n", &[present()]);
    let guarded = ReviewedFile { place: git, by: FileChangeSource::Command, ..guarded };
    let logo = ReviewedFile {
        content: ReviewedContent::Whole { change: present() },
        by: FileChangeSource::Command,
        ..file("logo.png", "x", "y", &[])
    };
    let untracked =
        UntrackedFile { path: format!("{ROOT}/big.bin").into(), why: UntrackedReason::TooLarge };
    ReviewPlan {
        scope: ReviewScope::Turn(TurnId(3)),
        title: "Make the cart count its lines".into(),
        earlier: Some(TurnId(1)),
        later: None,
        changes: ReviewFiles {
            files: vec![cart, made, guarded, logo],
            not_covered: vec![UntrackedChanges {
                files: vec![untracked],
                ..UntrackedChanges::default()
            }],
        },
    }
}

fn asked(width: u16, height: u16) -> TestScreen {
    let scene = screen(width, height).event(recorded(&user("Make the cart count its lines")));
    let mut scene = scene.after(5_000).clear_effects();
    scene.model.conversation.status.session = Some(session());
    scene.types("/review").key("enter")
}

fn page(width: u16, height: u16) -> TestScreen {
    let plan = AgentEvent::ReviewPlanned(Ok(Arc::new(plan())));
    asked(width, height).clear_effects().event(plan).after(1)
}

fn commands(scene: &TestScreen) -> Vec<AgentCommand> {
    let command = |effect: &ScreenEffect| match effect {
        ScreenEffect::Agent(AGENT, command) => Some(command.clone()),
        _ => None,
    };
    scene.effects.iter().filter_map(command).collect()
}

fn rejected(of: &[(&str, &[usize])]) -> AgentCommand {
    let rejected = of.iter().map(|(name, changes)| FileRejection {
        path: format!("{ROOT}/{name}").into(),
        changes: changes.iter().copied().collect(),
    });
    AgentCommand::Reject { plan: Arc::new(plan()), rejected: rejected.collect() }
}

#[test]
fn the_review_at_80x24() {
    insta::assert_snapshot!(page(80, 24).key("space").readable_text());
}

#[test]
fn the_review_at_120x40() {
    insta::assert_snapshot!(page(120, 40).key("space").readable_text());
}

#[test]
fn the_review_at_200x60() {
    insta::assert_snapshot!(page(200, 60).key("f").readable_text());
}

#[test]
fn the_part_of_the_session_is_named() {
    for (typed, scope) in
        [("/review", ReviewScope::LastTurn), ("/review session", ReviewScope::Session)]
    {
        let mut scene = screen(80, 24);
        scene.model.conversation.status.session = Some(session());
        let scene = scene.types(typed).key("enter");
        assert!(commands(&scene).contains(&AgentCommand::PlanReview(scope)), "{typed}");
    }
    let scene = page(80, 24).key("[");
    assert_eq!(commands(&scene), [AgentCommand::PlanReview(ReviewScope::Turn(TurnId(1)))]);
    let scene = page(80, 24).key("]").shows("No other turn there").key("w");
    assert_eq!(commands(&scene), [AgentCommand::PlanReview(ReviewScope::Session)]);
}

#[test]
fn changes_are_rejected_and_taken_back_in() {
    let scene = page(120, 40).hides("rejected").key("space").shows("1 of 6 rejected");
    // The focus went on: to the conflict, which stays.
    let scene = scene.shows("Conflict: you changed the same lines").key("space");
    let scene = scene.shows("cannot be rejected").key("N").key("space").hides("of 6 rejected");
    let scene = scene.key("a").shows("4 of 6 rejected").key("a").hides("of 6 rejected");
    scene.key("N").key("N").key("f").shows("2 of 6 rejected").key("tab").key("f").shows("3 of 6");
}

#[test]
fn enter_has_the_rejected_changes_taken_out_once() {
    let scene = page(120, 40).key("enter").shows("No change is rejected");
    assert_eq!(commands(&scene), []);
    let scene = scene.key("space").key("tab").key("space").key("enter").key("enter");
    assert_eq!(commands(&scene), [rejected(&[("src/cart.rs", &[0]), ("src/new.rs", &[0])])]);
    let done = AgentEvent::Rewound { message: None, told: "Rejected 2 changes in 2 files".into() };
    let scene = scene.event(done).shows("Rejected 2 changes in 2 files");
    assert!(scene.model.dialogs.is_empty());
}

#[test]
fn a_protected_file_is_confirmed_by_another_enter() {
    let scene = page(120, 40).key("tab").key("tab").key("space").key("enter");
    assert_eq!(commands(&scene), []);
    let scene = scene.shows(".git/config is protected: it changes what git runs.").key("enter");
    assert_eq!(commands(&scene), [rejected(&[(".git/config", &[0])])]);
}

#[test]
fn while_a_turn_runs_the_review_is_only_looked_at() {
    let scene = page(120, 40).event(AgentEvent::TurnStarted { turn: TurnId(4) }).key("space");
    let scene = scene.shows("1 of 6 rejected, after this turn").key("enter");
    assert_eq!(commands(&scene), []);
    scene.shows("A turn is running");
}

#[test]
fn what_was_rejected_in_a_file_that_changed_is_chosen_anew() {
    let scene = page(120, 40).key("space").key("tab").key("space").shows("2 of 6 rejected");
    let mut changed = plan();
    changed.changes.files[1].now = version("mine");
    let planned = AgentEvent::ReviewPlanned(Ok(Arc::new(changed)));
    scene.event(planned).shows("1 of 6 rejected").shows("A file has changed");
}

#[test]
fn a_session_without_changes_says_so() {
    let planned = AgentEvent::ReviewPlanned(Err(RewindError::NothingChanged));
    let scene = asked(80, 24).event(planned).shows("No turn of this session has changed a file.");
    assert!(scene.model.dialogs.is_empty());
}

#[test]
fn in_lines_changes_are_rejected_by_their_numbers() {
    let mut scene = page(80, 24);
    let read = |scene: &TestScreen| {
        let ScreenModel { conversation, background, shared, dialogs, .. } = &scene.model;
        let page = dialogs.top().expect("a page");
        let around = DialogView { conversation, background, shared };
        let page = page.linear_page(around).expect("lines");
        page.lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(read(&scene));
    let mut answer = |text: &str| match scene.model.dialogs.top_mut() {
        Some(OpenDialog::Review(review)) => review.line(text),
        other => panic!("{other:?}"),
    };
    assert!(answer("2").is_err() && answer("9").is_err() && answer("apply").is_err());
    assert_eq!(answer("3"), Ok(Vec::new()));
    assert_eq!(answer("6"), Ok(Vec::new()));
    let intents = answer("apply").unwrap();
    let command = rejected(&[("logo.png", &[0]), ("src/cart.rs", &[2])]);
    assert_eq!(intents, [Intent::WhenIdle(command)]);
    let text = read(&scene);
    assert!(text.contains("2 changes of 6 rejected") && !text.contains("eight"), "{text}");
}
