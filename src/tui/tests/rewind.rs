//! Tests of rewinding the session: the list, the dialog, and the transcript afterwards.

use std::sync::Arc;

use crate::agent::{
    AgentCommand, AgentEvent, ForkPosition, RewindDestination, RewindError, RewindPlan,
};
use crate::domain::{ContentBlock, ContentHash, EntryId, SessionId};
use crate::session::undo::{
    Alternative, FileAction, FilePlace, FilesPlan, PlannedFile, PlannedRestore, SkipReason,
};
use crate::session::{
    FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, RewindEntry, RewindScope,
    TurnOutcome, UntrackedChanges, UntrackedFile, UntrackedReason,
};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{
    AGENT, TestScreen, assistant, record, recorded, screen, session, turn_end, user,
};

const ROOT: &str = "/home/me/src/webshop";

fn file(name: &str, now: bool, act: FileAction, lines: Option<(usize, usize)>) -> PlannedFile {
    let now = now.then(|| image("now"));
    let by =
        if name.starts_with("tests/") { FileChangeSource::Command } else { FileChangeSource::Tool };
    let instead = match act {
        FileAction::Skip(_) => Some(Alternative { action: put(false), lines: Some((5, 2)) }),
        FileAction::Nothing | FileAction::Put(_) | FileAction::Remove => None,
    };
    let path = format!("{ROOT}/{name}").into();
    PlannedFile {
        path,
        now,
        place: FilePlace::default(),
        by,
        action: act,
        lines,
        alternative: instead,
    }
}

/// A file that needs an answer of its own before it is restored.
fn elsewhere(path: &str, place: FilePlace) -> PlannedFile {
    PlannedFile {
        path: path.into(),
        place,
        alternative: Some(Alternative { action: put(false), lines: Some((1, 1)) }),
        ..file("x", true, FileAction::Skip(SkipReason::NeedsAnswer), None)
    }
}

/// A plan with a file of the workspace, one outside, a protected one, and one that is both.
fn far(width: u16, height: u16) -> (TestScreen, RewindPlan) {
    let log = log();
    let outside = FilePlace { is_outside: true, ..FilePlace::default() };
    let git = FilePlace {
        is_outside: false,
        protected: Some("what git runs".into()),
        ..FilePlace::default()
    };
    let login = Some("what runs when you log in or open a shell".into());
    let both = FilePlace { is_outside: true, protected: login, is_one_of_links: false };
    let mut plan = plan(log[3].id);
    plan.files.not_covered.clear();
    plan.files.files = vec![
        file("src/cart.rs", true, put(false), Some((1, 3))),
        elsewhere("/srv/other/notes.md", outside),
        elsewhere(&format!("{ROOT}/.git/config"), git),
        elsewhere("/home/me/.bashrc", both),
    ];
    let scene = opened(width, height, &log).types("/undo").key("enter");
    // The input is saved as a draft after a pause in typing.
    let scene = scene.after(5_000).after(5_000).clear_effects();
    (scene.event(AgentEvent::RewindPlanned(Ok(Arc::new(plan.clone())))), plan)
}

#[test]
fn what_lies_outside_or_is_protected_is_marked_at_80x24() {
    insta::assert_snapshot!(far(80, 24).0.readable_text());
}

#[test]
fn what_lies_outside_or_is_protected_is_marked_at_120x40() {
    insta::assert_snapshot!(far(120, 40).0.key("space").readable_text());
}

#[test]
fn a_file_outside_or_protected_goes_back_only_by_its_own_answer_and_never_by_enter() {
    let back = |plan: &RewindPlan| {
        let plan = Arc::new(plan.clone());
        [ScreenEffect::Agent(AGENT, AgentCommand::Rewind { plan, what: RewindScope::Both })]
    };
    let (scene, plan) = far(80, 24);
    scene.key("enter").expect_effects(&back(&plan));
    for at in 1..4 {
        let (mut scene, mut plan) = far(80, 24);
        for _ in 1..at {
            scene = scene.key("tab");
        }
        scene = scene.key("space").key("enter").expect_effects(&[]);
        plan.files.files[at].toggle_override();
        scene.key("y").expect_effects(&back(&plan));
    }
}

fn image(text: &str) -> FileVersion {
    FileVersion { kind: FileKind::File, hash: ContentHash::of(text.as_bytes()), mode: Some(0o644) }
}

fn put(is_merged: bool) -> FileAction {
    FileAction::Put(PlannedRestore { version: image("then"), bytes: b"then".to_vec(), is_merged })
}

fn plan(before: EntryId) -> RewindPlan {
    let path = format!("{ROOT}/assets/catalogue.db").into();
    RewindPlan {
        to: RewindDestination::Before(before),
        before,
        message: "also add a test for a cart with one free item".into(),
        offers: vec![RewindScope::Both, RewindScope::Files, RewindScope::Conversation],
        messages: 4,
        files: FilesPlan {
            files: vec![
                file("src/cart.rs", true, put(false), Some((1, 3))),
                file("tests/cart_is_free.rs", true, FileAction::Remove, Some((0, 24))),
                file("src/money.rs", false, put(false), Some((120, 0))),
                file("src/lib.rs", true, put(true), Some((2, 2))),
                file("README.md", true, FileAction::Skip(SkipReason::SameLines), None),
                file("Cargo.lock", true, FileAction::Nothing, None),
            ],
            not_covered: vec![UntrackedChanges {
                files: vec![UntrackedFile { path, why: UntrackedReason::TooLarge }],
                ..UntrackedChanges::default()
            }],
        },
    }
}

/// The log of a session of two turns.
fn log() -> Vec<LogRecord> {
    let answer = |text: &str| assistant(vec![ContentBlock::Text { text: text.into() }]);
    vec![
        user("why does checkout fail?"),
        answer("It unwraps an empty cart."),
        turn_end(TurnOutcome::Answered),
        user("also add a test for a cart with one free item"),
        answer("Added."),
        turn_end(TurnOutcome::Answered),
    ]
}

fn opened(width: u16, height: u16, log: &[LogRecord]) -> TestScreen {
    let records = Arc::new(log.to_vec());
    screen(width, height)
        .event(AgentEvent::SessionOpened { session: session(), records })
        .clear_effects()
}

pub(super) fn planned(width: u16, height: u16) -> TestScreen {
    let log = log();
    let plan = Ok(Arc::new(plan(log[3].id)));
    opened(width, height, &log).types("/undo").key("enter").event(AgentEvent::RewindPlanned(plan))
}

#[test]
fn the_dialog_at_80x24() {
    insta::assert_snapshot!(planned(80, 24).readable_text());
}

#[test]
fn the_dialog_at_120x40() {
    insta::assert_snapshot!(planned(120, 40).readable_text());
}

#[test]
fn the_dialog_on_the_smallest_screen() {
    insta::assert_snapshot!(planned(40, 12).readable_text());
}

#[test]
fn the_list_at_80x24() {
    insta::assert_snapshot!(opened(80, 24, &log()).types("/rewind").key("enter").readable_text());
}

#[test]
fn a_message_is_named_by_its_number_or_its_words() {
    let log = log();
    let fork = |at: usize| {
        let at = ForkPosition::Before(log[at].id);
        Some(ScreenEffect::Agent(AGENT, AgentCommand::Fork { session: session(), at }))
    };
    let back = |at: usize| {
        let to = RewindDestination::Before(log[at].id);
        Some(ScreenEffect::Agent(AGENT, AgentCommand::PlanRewind(to)))
    };
    for (line, effect, told) in [
        ("/fork 1", fork(3), ""),
        ("/fork 2", fork(0), ""),
        ("/fork 3", None, "has 2 messages"),
        ("/fork Free  Item", fork(3), ""),
        ("/fork the", None, "None of your messages contains \"the\"."),
        ("/rewind 2", back(0), ""),
        ("/rewind checkout", back(0), ""),
    ] {
        let mut scene =
            opened(80, 24, &log).msg(ScreenMsg::Paste(line.into())).key("esc").clear_effects();
        scene = scene.key_at_once("enter").shows(told);
        scene.effects.retain(|effect| matches!(effect, ScreenEffect::Agent(..)));
        assert_eq!(scene.effects, Vec::from_iter(effect), "{line}");
    }
}

#[test]
fn behind_fork_the_messages_are_listed_and_one_is_taken() {
    let log = log();
    let mut scene = opened(80, 24, &log).types("/fork ");
    insta::assert_snapshot!(scene.readable_text());
    scene = scene.key("down").clear_effects().key("enter");
    scene.effects.retain(|effect| matches!(effect, ScreenEffect::Agent(..)));
    let at = ForkPosition::Before(log[0].id);
    assert_eq!(
        scene.effects,
        [ScreenEffect::Agent(AGENT, AgentCommand::Fork { session: session(), at })]
    );
}

#[test]
fn a_fork_before_a_message_puts_its_words_into_the_input() {
    let log = log();
    let forked = |message| {
        let at = ForkPosition::Before(log[3].id);
        let records = Arc::new(log[..3].to_vec());
        let scene = opened(120, 24, &log).types("half a draft");
        let fork = SessionId::generate();
        let scene = scene.event(AgentEvent::SessionOpened { session: fork, records });
        scene.clear_effects().event(AgentEvent::Forked { from: session(), at, message })
    };
    let words = "also add a test";
    let scene = forked(Some(words.into())).shows("Forked before that message");
    assert_eq!(scene.model.conversation.composer.editor.text(), words);
    assert!(
        scene.effects.contains(&ScreenEffect::AddHistory("half a draft".into())),
        "the draft is kept"
    );
    let scene = forked(None).shows("Forked. The original is unchanged.");
    assert_eq!(scene.model.conversation.composer.editor.text(), "half a draft");
}

#[test]
fn nothing_is_done_but_what_the_dialog_shows() {
    let log = log();
    let plan = Arc::new(plan(log[3].id));
    let shown = AgentEvent::RewindPlanned(Ok(plan.clone()));
    for (key, what) in [
        ("y", Some(RewindScope::Both)),
        ("enter", Some(RewindScope::Both)),
        ("f", Some(RewindScope::Files)),
        ("c", Some(RewindScope::Conversation)),
        ("esc", None),
    ] {
        let scene = opened(80, 24, &log).types("/undo").key("enter");
        let scene = scene.expect_effects(&[ScreenEffect::Agent(
            AGENT,
            AgentCommand::PlanRewind(RewindDestination::Last),
        )]);
        // No key does anything before the plan has arrived.
        let is_for_agent = |effect: &ScreenEffect| matches!(effect, ScreenEffect::Agent(..));
        let scene = scene.clear_effects().key("y");
        assert!(!scene.effects.iter().any(is_for_agent), "{:?}", scene.effects);
        let scene = scene.event(shown.clone());
        let wanted = what.map(|what| {
            ScreenEffect::Agent(AGENT, AgentCommand::Rewind { plan: plan.clone(), what })
        });
        let wanted: Vec<ScreenEffect> = wanted.into_iter().collect();
        let mut asked = scene.clear_effects().key(key).effects;
        asked.retain(is_for_agent);
        assert_eq!(asked, wanted, "{key}");
    }
}

#[test]
fn escape_twice_lists_the_messages_and_one_is_gone_back_before() {
    let log = log();
    let scene = opened(80, 24, &log).key("esc").shows("esc again").hides("Rewind to");
    let scene = scene.key("esc").shows("Rewind to").key("down").clear_effects().key("enter");
    let wanted = AgentCommand::PlanRewind(RewindDestination::Before(log[0].id));
    scene.expect_effects(&[ScreenEffect::Agent(AGENT, wanted)]).shows("One moment");
}

#[test]
fn two_escapes_far_apart_list_nothing() {
    let scene = opened(80, 24, &log()).key("esc").after(2000).key("esc");
    scene.shows("esc again").hides("Rewind to");
}

#[test]
fn a_pane_goes_back_before_the_message_that_it_answers() {
    let log = log();
    let scene = opened(80, 24, &log).key("tab").clear_effects().key("r");
    scene.expect_effects(&[ScreenEffect::Agent(
        AGENT,
        AgentCommand::PlanRewind(RewindDestination::Before(log[3].id)),
    )]);
}

#[test]
fn while_a_turn_runs_nothing_goes_back() {
    let scene = opened(80, 24, &log())
        .event(AgentEvent::TurnStarted { turn: crate::tui::test_screen::TURN });
    scene.clear_effects().types("/undo").key("enter").shows("Stop it first with esc");
}

#[test]
fn a_refused_rewind_says_why() {
    let scene = opened(80, 24, &log()).types("/redo").key("enter");
    let refused = AgentEvent::RewindPlanned(Err(RewindError::NothingToRedo));
    scene.event(refused).shows("Nothing to redo.").hides("One moment");
}

fn rewound(before: &LogRecord, redoes: Option<&LogRecord>) -> LogRecord {
    record(LogEntry::Rewind(RewindEntry {
        before: before.id,
        redoes: redoes.map(|record| record.id),
        what: RewindScope::Both,
        part: None,
        files: Vec::new(),
        left: vec![format!("{ROOT}/README.md").into()],
        messages: 2,
        summary: None,
    }))
}

#[test]
fn the_message_returns_to_the_input_and_leaves_the_transcript() {
    let mut log = log();
    log.push(rewound(&log[3], None));
    let scene = planned(80, 24).key("y").shows("One moment");
    let records = Arc::new(log.clone());
    let scene = scene.event(AgentEvent::SessionOpened { session: session(), records });
    let done = AgentEvent::Rewound {
        message: Some("also add a test".into()),
        told: "Undone: the conversation. /redo restores it.".into(),
    };
    let scene = scene.event(done).shows("❯ also add a test").hides("Added.");
    scene.shows("Rewound to here.").shows("README.md");
    log.push(rewound(&log[3], Some(&log[6])));
    let again = opened(80, 24, &log);
    again.shows("Added.").hides("Rewound");
}

#[test]
fn going_back_to_the_same_place_twice_is_told_once() {
    let mut log = log();
    for _ in 0..2 {
        let mut back = rewound(&log[3], None);
        if let LogEntry::Rewind(rewind) = &mut back.entry {
            rewind.left.clear();
        }
        log.push(back);
    }
    let text = opened(80, 24, &log).text();
    assert_eq!(text.matches("Rewound to here.").count(), 1, "{text}");
}

#[test]
fn a_draft_that_has_to_make_room_goes_to_the_history() {
    let scene = opened(80, 24, &log()).types("my draft").clear_effects();
    let done = AgentEvent::Rewound { message: Some("also add a test".into()), told: String::new() };
    let scene = scene.event(done).shows("❯ also add a test");
    let kept = |effect: &ScreenEffect| matches!(effect, ScreenEffect::AddHistory(text) if text.text == "my draft");
    assert!(scene.effects.iter().any(kept), "{:?}", scene.effects);
}

#[test]
fn queued_messages_survive_a_rewind() {
    let log = log();
    let scene =
        opened(80, 24, &log).event(AgentEvent::TurnStarted { turn: crate::tui::test_screen::TURN });
    let scene = scene.types("and then this").key_at_once("enter");
    assert_eq!(scene.model.conversation.queue.items().len(), 1);
    let ended = recorded(&turn_end(TurnOutcome::Interrupted));
    let records = Arc::new(log.clone());
    let scene = scene.event(ended).event(AgentEvent::SessionOpened { session: session(), records });
    assert_eq!(scene.model.conversation.queue.items().len(), 1);
    let other =
        AgentEvent::SessionOpened { session: SessionId::generate(), records: Arc::new(log) };
    // A session that is left gives them back.
    let scene = scene.types("typed").clear_effects().event(other);
    assert!(scene.model.conversation.queue.items().is_empty());
    assert_eq!(scene.model.conversation.composer.expanded(), "and then this\ntyped");
    scene.shows("The queued message is in the input.");
}

/// The dialog before the last message, with two more files that the user has changed.
fn asking(width: u16, height: u16) -> (TestScreen, RewindPlan) {
    let log = log();
    let mut plan = plan(log[3].id);
    plan.files.files.extend([
        file("src/cart/price.rs", true, FileAction::Skip(SkipReason::Changed), None),
        file("notes.md", false, FileAction::Skip(SkipReason::Removed), None),
    ]);
    let shown = AgentEvent::RewindPlanned(Ok(Arc::new(plan.clone())));
    (opened(width, height, &log).types("/undo").key("enter").event(shown), plan)
}

#[test]
fn the_dialog_with_an_answer_at_80x24() {
    insta::assert_snapshot!(asking(80, 24).0.key("tab").key("space").readable_text());
}

#[test]
fn the_dialog_with_an_answer_at_120x40() {
    insta::assert_snapshot!(asking(120, 40).0.key("tab").key("space").readable_text());
}

#[test]
fn a_file_that_the_user_changed_goes_back_only_by_its_own_answer() {
    let go = |keys: &[&str]| {
        let (scene, mut plan) = asking(120, 40);
        let scene = keys.iter().fold(scene, |scene, key| scene.key(key)).clear_effects().key("y");
        let sent = scene.effects.iter().find_map(|effect| match effect {
            ScreenEffect::Agent(AGENT, AgentCommand::Rewind { plan, .. }) => {
                Some(plan.files.clone())
            }
            _ => None,
        });
        let sent = sent.unwrap();
        let turned = sent.files.iter().enumerate().filter(|(_, file)| file.is_overridden());
        let turned: Vec<usize> = turned.map(|(at, _)| at).collect();
        plan.files.copy_overrides(&sent);
        assert_eq!(sent, plan.files, "nothing else is another than was planned");
        turned
    };
    let none: [usize; 0] = [];
    assert_eq!(go(&[]), none);
    assert_eq!(go(&["space"]), [4]);
    assert_eq!(go(&["tab", "space"]), [6]);
    assert_eq!(go(&["tab", "tab", "space", "tab", "space"]), [4, 7]);
    assert_eq!(go(&["space", "space"]), none);
}

#[test]
fn where_all_files_are_left_no_files_are_offered_before_one_is_turned() {
    let log = log();
    let mut plan = plan(log[3].id);
    plan.files.files.retain(|file| file.alternative.is_some());
    let shown = AgentEvent::RewindPlanned(Ok(Arc::new(plan)));
    let scene = opened(80, 24, &log).types("/undo").key("enter").event(shown);
    let scene = scene.shows("conversation only").hides("files only");
    scene.key("space").shows("files only").shows("restored; /redo restores your version");
}

/// An imported log may have any text as a message; it was sent as one, and stays one.
#[test]
fn a_message_that_looks_like_a_command_comes_back_as_a_message() {
    for text in ["!touch made", "/mode yolo"] {
        let done = AgentEvent::Rewound { message: Some(text.into()), told: String::new() };
        let scene = opened(80, 24, &log()).event(done).shows(text).clear_effects().key("enter");
        let is_sent = |effect: &ScreenEffect| matches!(effect, ScreenEffect::Agent(_, AgentCommand::Send { text: sent }) if sent.text.trim() == text);
        assert!(scene.effects.iter().any(is_sent), "{:?}", scene.effects);
    }
}
