//! Tests of the input, the queue, and sending.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent, ForkPosition};
use crate::domain::{
    ContextWindow, ModelName, PermissionMode, ReasoningEffort, SessionId, UserInput,
};
use crate::providers::ProviderFault;
use crate::services::sessions::SessionStoreRequest;
use crate::session::{HistoryPage, TurnOutcome};
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::settings::InputSource;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TURN, TestScreen, recorded, screen, session, turn_end};

fn send(text: &str) -> [ScreenEffect; 2] {
    let text = UserInput::from(text);
    [
        ScreenEffect::AddHistory(text.clone()),
        ScreenEffect::Agent(AGENT, AgentCommand::Send { text }),
    ]
}

fn running(scene: TestScreen) -> TestScreen {
    scene.event(AgentEvent::TurnStarted { turn: TURN }).clear_effects()
}

fn ended(outcome: TurnOutcome) -> AgentEvent {
    recorded(&turn_end(outcome))
}

#[test]
fn enter_sends() {
    screen(80, 24)
        .types("hello")
        .clear_effects()
        .key_at_once("enter")
        .expect_effects(&send("hello"));
}

#[test]
fn a_newline_does_not() {
    for key in ["shift+enter", "alt+enter", "ctrl+j"] {
        let scene =
            screen(80, 24).types("a").key(key).types("b").clear_effects().key_at_once("enter");
        scene.expect_effects(&send("a\nb"));
    }
}

#[test]
fn enter_behind_a_backslash_does_not_either() {
    let scene =
        screen(80, 24).types("a\\").key("enter").types("b").clear_effects().key_at_once("enter");
    scene.expect_effects(&send("a\nb"));
}

#[test]
fn a_long_paste_is_a_label_that_unfolds() {
    let long = "line\n".repeat(30);
    let scene = screen(80, 24).types("see ").msg(ScreenMsg::Paste(long.clone())).types(" ok");
    let scene = scene.shows("❯ see [pasted 30 lines] ok").clear_effects();
    let scene = scene.key("alt+o").shows("Place the cursor next to a paste");
    let scene = scene.key("left").key("left").key("left").key("alt+o").hides("[pasted");
    assert_eq!(scene.model.conversation.composer.editor.text(), format!("see {long} ok"));
}

#[test]
fn a_long_paste_is_sent_in_full_and_goes_as_a_whole() {
    let long = "line\n".repeat(30);
    let scene =
        screen(80, 24).msg(ScreenMsg::Paste(long.clone())).key("backspace").hides("[pasted");
    assert!(scene.model.conversation.composer.is_empty());
    let scene = screen(80, 24).msg(ScreenMsg::Paste(long.clone())).clear_effects();
    scene.expect_effects(&[]).key_at_once("enter").expect_effects(&send(&long));
}

#[test]
fn typing_replaces_the_selection() {
    let scene = screen(80, 24).types("one two").key("ctrl+shift+left").types("2");
    assert_eq!(scene.model.conversation.composer.editor.text(), "one 2");
}

#[test]
fn the_caret_stands_behind_what_is_shown() {
    // Wide characters, a joined emoji, a tab, a label, a wrapped row.
    for (text, column, row) in [
        ("日本", 7, 21),
        ("👩‍🚀x", 6, 21),
        ("a\tb", 9, 21),
        ("a\u{202e}b", 13, 21),
        ("e\u{301}", 4, 21),
        ("日本語日本語日本語日本語日本語日本語", 7, 21),
    ] {
        let scene = screen(37, 24).msg(ScreenMsg::Paste(text.into()));
        assert_eq!(scene.caret(), (column, row), "{text}\n{}", scene.text());
    }
    let scene = screen(80, 24).msg(ScreenMsg::Paste("x\n".repeat(30)));
    assert_eq!(scene.caret(), (3 + 17, 21));
}

#[test]
fn a_second_message_waits_for_the_first() {
    let scene = screen(80, 24)
        .types("one")
        .key_at_once("enter")
        .types("two")
        .key_at_once("enter")
        .clear_effects();
    running(scene).shows("+ two").event(ended(TurnOutcome::Answered)).expect_effects(&[
        ScreenEffect::ReadGit(RequestId(1)),
        ScreenEffect::Agent(AGENT, AgentCommand::Send { text: "two".into() }),
    ]);
}

#[test]
fn a_compaction_waits_in_the_queue_among_the_messages() {
    let scene = running(screen(80, 24)).types("one").key_at_once("enter");
    let scene = scene.types("/compact the API").key_at_once("enter").hides("A turn is running");
    let scene = scene.types("/compact undo").key_at_once("enter").types("two").key_at_once("enter");
    let scene = scene.shows("+ /compact the API").shows("+ two").clear_effects();
    let git = |id| ScreenEffect::ReadGit(RequestId(id));
    let scene = scene.event(ended(TurnOutcome::Answered)).expect_effects(&[
        git(1),
        ScreenEffect::Agent(AGENT, AgentCommand::Send { text: "one".into() }),
    ]);
    let scene = running(scene).event(ended(TurnOutcome::Answered)).expect_effects(&[
        git(2),
        ScreenEffect::Agent(AGENT, AgentCommand::Compact { focus: Some("the API".into()) }),
    ]);
    // What is typed before the compaction has begun waits, too.
    let scene = scene.types("three").clear_effects().key_at_once("enter");
    let scene = scene.expect_effects(&[ScreenEffect::AddHistory("three".into())]);
    running(scene).event(ended(TurnOutcome::Answered)).expect_effects(&[
        git(3),
        ScreenEffect::Agent(AGENT, AgentCommand::UndoCompaction),
        ScreenEffect::Agent(AGENT, AgentCommand::Send { text: "two".into() }),
    ]);
}

#[test]
fn a_command_that_a_turn_rules_out_stays_in_the_input() {
    for line in ["/undo", "/fork 1", "/new", "/retry", "/effort high", "/model qwen3"] {
        let scene = running(screen(80, 24)).msg(ScreenMsg::Paste(line.into())).key("esc");
        let scene = scene.clear_effects().key_at_once("enter").shows("A turn is running");
        assert_eq!(scene.model.conversation.composer.editor.text(), line);
        assert!(scene.effects.is_empty(), "{line}: {:?}", scene.effects);
    }
}

#[test]
fn a_compaction_of_the_palette_waits_for_the_turn() {
    let scene = running(screen(80, 24)).key("ctrl+p").types("/compact").key_at_once("enter");
    scene.hides("A turn is running").shows("+ /compact");
}

#[test]
fn after_a_stop_messages_wait_for_a_word() {
    running(screen(80, 24))
        .types("next")
        .key_at_once("enter")
        .clear_effects()
        .event(ended(TurnOutcome::Interrupted))
        .expect_effects(&[ScreenEffect::ReadGit(RequestId(1))])
        .shows("queued: enter sends · up edits")
        .shows("❯ enter sends the queued message")
        .key("enter")
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::Send { text: "next".into() })]);
}

#[test]
fn messages_that_wait_after_a_stop_stay_in_sight_and_name_their_keys() {
    let mut scene = running(screen(80, 24));
    for text in ["one", "two", "three", "four"] {
        scene = scene.types(text).key_at_once("enter");
    }
    let scene = scene.shows("queued").hides("waits");
    let scene = scene.event(ended(TurnOutcome::Failed("no".into()))).key("left");
    let scene = scene
        .hides("Several messages queued")
        .shows("+ 1 more")
        .shows("queued: enter sends the first");
    let scene = scene.types("x").shows("queued: sent after your next message").hides("up to edit");
    scene.key("backspace").shows("queued · up edits");
}

#[test]
fn line_by_line_the_messages_of_a_session_that_is_left_are_written() {
    let other =
        AgentEvent::SessionOpened { session: SessionId::generate(), records: Arc::default() };
    let mut scene = running(screen(80, 24)).types("one").key_at_once("enter");
    scene.model.shared.settings.input = InputSource::Lines;
    let scene = scene.event(ended(TurnOutcome::Interrupted)).event(other.clone());
    let toast = scene.model.shared.toast.as_ref().map(|toast| toast.text.clone());
    let told = "The queued message was not sent. Type it again to send it:\none";
    assert_eq!(toast.as_deref(), Some(told));
    assert!(scene.model.conversation.composer.is_empty(), "the next line would replace it");

    let scene = running(screen(80, 24)).types("one").key_at_once("enter");
    let scene = scene.event(ended(TurnOutcome::Interrupted)).event(other);
    scene.shows("The queued message is in the input.").shows("❯ one");
}

#[test]
fn a_turn_that_failed_since_nobody_listens_is_tried_again_with_enter() {
    let fault = |fault| AgentEvent::ProviderFailed { provider: "local".into(), fault };
    let retry = ScreenEffect::Agent(AGENT, AgentCommand::Retry);
    let scene = screen(80, 24).event(fault(ProviderFault::NotListening));
    let scene = running(scene.shows("enter: fix it now, with /connect"));
    let scene = scene.event(fault(ProviderFault::NotListening));
    let scene = scene.event(ended(TurnOutcome::Failed("No server answers.".into())));
    let scene = scene.shows("enter: try again, with /retry · /connect changes the server");
    scene.clear_effects().key("enter").expect_effects(&[retry]);

    // Asking again does not help where the key is wrong.
    let scene = running(screen(80, 24)).event(fault(ProviderFault::KeyRefused));
    let scene = scene.event(ended(TurnOutcome::Failed("The key is refused.".into())));
    let scene = scene.shows("enter: fix it now, with /connect");
    let connected = AgentEvent::ModelChanged {
        model: ModelName::new("local", "m"),
        effort: None,
        window: ContextWindow::Served(8_000),
        local: true,
    };
    let scene = scene.event(connected).shows("enter: try again, with /retry");
    scene
        .clear_effects()
        .key("enter")
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::Retry)]);
}

#[test]
fn a_waiting_message_can_be_taken_back() {
    let scene =
        running(screen(80, 24)).types("typo").key_at_once("enter").clear_effects().key("up");
    assert_eq!(scene.model.conversation.composer.editor.text(), "typo");
    assert!(scene.model.conversation.queue.items().is_empty());
}

#[test]
fn ctrl_s_steers_the_running_turn() {
    let text = "use sum()".to_owned();
    let scene = running(screen(80, 24)).types(&text).clear_effects().key_at_once("ctrl+s");
    let id = scene.model.conversation.queue.items()[0].id;
    scene
        .expect_effects(&[
            ScreenEffect::AddHistory(text.clone().into()),
            ScreenEffect::Agent(AGENT, AgentCommand::Steer { id, text: text.clone().into() }),
        ])
        .shows("next step")
        .key("up")
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::WithdrawSteer { id })])
        .event(AgentEvent::SteerSettled { id, returned: Some(text.into()) })
        .hides("next step")
        .shows("❯ use sum()");
}

#[test]
fn escape_stops_the_turn() {
    running(screen(80, 24))
        .key("esc")
        .expect_effects(&[ScreenEffect::CancelTurn(AGENT)])
        .shows("Stopping");
    screen(80, 24).key("esc").expect_effects(&[]);
}

#[test]
fn ctrl_c_clears_then_stops_then_asks_then_leaves() {
    running(screen(80, 24))
        .types("half")
        .clear_effects()
        .key_at_once("ctrl+c")
        .expect_effects(&[ScreenEffect::AddHistory("half".into())])
        .key_at_once("ctrl+c")
        .expect_effects(&[ScreenEffect::CancelTurn(AGENT)])
        .event(ended(TurnOutcome::Interrupted))
        .clear_effects()
        .key_at_once("ctrl+c")
        .expect_effects(&[])
        .shows("ctrl+c again to quit")
        .key_at_once("ctrl+c")
        .expect_effects(&[ScreenEffect::Quit]);
}

#[test]
fn a_shell_command_is_the_users_own() {
    let scene = screen(80, 24).types("!ls -l").clear_effects().key_at_once("enter");
    scene.expect_effects(&[
        ScreenEffect::AddHistory("!ls -l".into()),
        ScreenEffect::Agent(AGENT, AgentCommand::Shell { command: "ls -l".into() }),
    ]);
}

#[test]
fn slash_commands_do_what_they_say() {
    let rows: &[(&str, ScreenEffect)] = &[
        ("/new", ScreenEffect::Agent(AGENT, AgentCommand::NewSession)),
        ("/compact", ScreenEffect::Agent(AGENT, AgentCommand::Compact { focus: None })),
        (
            "/fork",
            ScreenEffect::Agent(
                AGENT,
                AgentCommand::Fork { session: session(), at: ForkPosition::End },
            ),
        ),
        ("/mode plan", ScreenEffect::Agent(AGENT, AgentCommand::SetMode(PermissionMode::Plan))),
        ("/retry", ScreenEffect::Agent(AGENT, AgentCommand::Retry)),
        ("/sessions", ScreenEffect::Sessions { id: RequestId(2), job: SessionStoreRequest::List }),
        ("/save", ScreenEffect::Agent(AGENT, AgentCommand::Save)),
        ("save", ScreenEffect::Agent(AGENT, AgentCommand::Save)),
        ("/rename the cart", ScreenEffect::Agent(AGENT, AgentCommand::SetTitle("the cart".into()))),
        (
            "/export",
            ScreenEffect::Sessions {
                id: RequestId(1),
                job: SessionStoreRequest::Export { session: session() },
            },
        ),
        ("/resume", ScreenEffect::Sessions { id: RequestId(2), job: SessionStoreRequest::List }),
        ("/quit", ScreenEffect::Quit),
        ("exit", ScreenEffect::Quit),
        ("quit", ScreenEffect::Quit),
    ];
    for (line, effect) in rows {
        let scene = screen(80, 24).msg(ScreenMsg::Paste((*line).into())).key("esc").clear_effects();
        let mut scene = scene.key_at_once("enter");
        scene.effects.retain(|it| {
            let ScreenEffect::Sessions { job, .. } = it else { return true };
            !matches!(job, SessionStoreRequest::Recent { .. } | SessionStoreRequest::Newest)
        });
        scene.expect_effects(std::slice::from_ref(effect));
    }
}

#[test]
fn an_unknown_command_stays_in_the_input() {
    let scene =
        screen(80, 24).types("/nope").key_at_once("enter").shows("There is no command /nope");
    assert_eq!(scene.model.conversation.composer.editor.text(), "/nope");
}

#[test]
fn the_palette_under_a_slash_runs_a_command() {
    screen(80, 24)
        .types("/comp")
        .shows("shorten the conversation")
        .clear_effects()
        .key_at_once("enter")
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::Compact { focus: None })]);
}

#[test]
fn a_favourite_comes_first_and_stays_selected() {
    let row = |provider: &str, model: &str| ModelRow {
        name: ModelName::new(provider, model),
        window: None,
        mark: FavouriteMark::None,
    };
    let models = vec![row("vllm", "small"), row("router", "large")];
    screen(80, 24)
        .types("/model")
        .key("enter")
        .msg(ScreenMsg::ModelsListed { id: RequestId(1), models: Ok(models) })
        .shows("vllm/small")
        .shows("tab favourite")
        .key("down")
        .clear_effects()
        .key("tab")
        .expect_effects(&[
            ScreenEffect::SaveDraft { text: UserInput::default() },
            ScreenEffect::ToggleFavourite(ModelName::new("router", "large")),
        ])
        .shows("❯ router/large  ★")
        .clear_effects()
        .key("enter")
        .expect_effects(&[ScreenEffect::Agent(
            AGENT,
            AgentCommand::UseModel(ModelName::new("router", "large")),
        )]);
}

#[test]
fn how_hard_the_model_thinks_is_chosen() {
    screen(80, 24).types("/effort high").clear_effects().key("enter").expect_effects(&[
        ScreenEffect::Agent(AGENT, AgentCommand::SetEffort(Some(ReasoningEffort::High))),
    ]);
}

#[test]
fn models_are_listed_and_chosen() {
    let models = vec![ModelRow {
        name: ModelName::new("vllm", "small"),
        window: Some(32_000),
        mark: FavouriteMark::None,
    }];
    screen(80, 24)
        .types("/model ")
        .msg(ScreenMsg::ModelsListed { id: RequestId(1), models: Ok(models) })
        .shows("32k")
        .clear_effects()
        .key("enter")
        .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::SetModel("vllm/small".into()))]);
}

#[test]
fn the_list_of_models_begins_at_the_one_that_answers() {
    let row = |model: &str| ModelRow {
        name: ModelName::new("vllm", model),
        window: None,
        mark: FavouriteMark::None,
    };
    let models = vec![row("small"), row("qwen3"), row("large")];
    let model = ModelName::new("vllm", "qwen3");
    let changed = AgentEvent::ModelChanged {
        model,
        effort: None,
        window: ContextWindow::Served(1),
        local: true,
    };
    screen(80, 24)
        .event(changed)
        .types("/model")
        .key("enter")
        .msg(ScreenMsg::ModelsListed { id: RequestId(1), models: Ok(models) })
        .shows("❯ qwen3         current");
}

#[test]
fn a_question_mark_on_an_empty_input_shows_the_keys() {
    screen(80, 24).key("?").shows("all keys, to search").key("esc").hides("all keys, to search");
    screen(80, 24).types("why?").hides("all keys, to search");
}

#[test]
fn the_history_can_be_searched() {
    screen(80, 24).key("ctrl+r").types("tests").key("enter").shows("❯ run the tests");
}

/// A screen whose history continues in the file before these entries.
fn remembers(size: (u16, u16), sent: &[(&str, &str)]) -> TestScreen {
    let mut scene = screen(size.0, size.1);
    let prompts = sent.iter().map(|(folder, text)| {
        let line = json!({"timestamp": "2026-01-01T00:00:00Z", "folder": folder, "text": text});
        serde_json::from_value(line).unwrap()
    });
    let page = HistoryPage { prompts: prompts.collect(), earlier: Some(4096) };
    scene.model.conversation.composer.history.prepend(page, Path::new(HERE));
    scene
}

const HERE: &str = "/home/me/src/webshop";

#[test]
fn the_history_shows_the_whole_of_a_long_text() {
    let long =
        "fix the checkout\n\n- it panics when the cart is empty\n- add a test\n\nthanks\nbye";
    let scene = remembers((80, 24), &[(HERE, long), ("/home/me/src/pay", "fix the refunds")]);
    let scene = scene.key("ctrl+r").types("fix the");
    insta::assert_snapshot!("history", scene.readable_text());
    scene.types(" panics").shows("it panics when").hides("refunds").key("enter").shows("❯ fix the");
}

#[test]
fn the_history_is_read_further_back_while_its_list_is_open() {
    let scene = remembers((80, 24), &[(HERE, "one")]).key("ctrl+r");
    let id = RequestId(1);
    let scene =
        scene.expect_effects(&[ScreenEffect::ReadHistory { id, before: 4096 }]).types("old");
    let prompts = serde_json::from_value(json!([
        {"timestamp": "2026-01-01T00:00:00Z", "folder": HERE, "text": "an old one"}
    ]));
    let page = HistoryPage { prompts: prompts.unwrap(), earlier: Some(1024) };
    let scene = scene.hides("an old one").msg(ScreenMsg::HistoryRead { id, page: Ok(page) });
    let next = RequestId(2);
    let scene = scene
        .shows("an old one")
        .expect_effects(&[ScreenEffect::ReadHistory { id: next, before: 1024 }]);
    let scene = scene.key("esc").msg(ScreenMsg::HistoryRead {
        id: next,
        page: Ok(HistoryPage { earlier: Some(7), ..HistoryPage::default() }),
    });
    scene.expect_effects(&[]).key("ctrl+r").shows("an old one");
}

#[test]
fn the_next_mode_never_asks_nothing() {
    let mut scene = screen(80, 24);
    for want in [PermissionMode::AllowEdits, PermissionMode::Plan, PermissionMode::Ask] {
        scene = scene
            .key("shift+tab")
            .expect_effects(&[ScreenEffect::Agent(AGENT, AgentCommand::SetMode(want))]);
        scene = scene.event(AgentEvent::ModeChanged(want));
    }
}

#[test]
fn the_input_grows_to_a_third_and_keeps_the_caret_in_sight() {
    let scene =
        screen(80, 24).msg(ScreenMsg::Paste("l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\nl10".into()));
    scene.shows("l10").shows("l3").hides("l2 ");
}
