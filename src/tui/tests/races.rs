//! Tests of races: the page with both sides on narrow and wide screens, its keys, and what `/race` asks of
//! the agent.

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    AgentId, CallId, ContentBlock, Message, MessageRole, Money, RequestSource, SubagentState,
    SubagentSummary, TurnId,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, TurnOutcome};
use crate::tui::app::ScreenEffect;
use crate::tui::app::settings::InputSource;
use crate::tui::test_screen::{
    AGENT, TestScreen, assistant, call, done, record, recorded, result, screen, session, turn_end,
    user,
};

const OWN: AgentId = AgentId(8);
const RIVAL: AgentId = AgentId(9);

fn summary(agent: AgentId, model: &str, state: SubagentState) -> SubagentSummary {
    SubagentSummary {
        agent,
        call: CallId::new(model),
        session: Some(session()),
        kind: "race".into(),
        task: model.into(),
        model: Some(model.into()),
        state,
        in_background: false,
        tool_calls: 1,
        refused_calls: 0,
        tokens: 0,
        cost: None,
        elapsed_ms: 4_000,
    }
}

fn stands(agent: AgentId, model: &str, state: SubagentState) -> AgentEvent {
    AgentEvent::Subagent(Box::new(summary(agent, model, state)))
}

fn ended(agent: AgentId, model: &str) -> AgentEvent {
    let cost = Some(Money::from_nanos(12_300_000));
    let summary = summary(agent, model, SubagentState::Done);
    AgentEvent::Subagent(Box::new(SubagentSummary { tokens: 5_300, cost, ..summary }))
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

fn question() -> AgentEvent {
    recorded(&user("Why is the total wrong?"))
}

/// What the log has of both sides when they start.
fn started() -> LogRecord {
    let nothing = Message { role: MessageRole::User, content: Vec::new() };
    let running = SubagentState::Running;
    let agents = vec![summary(OWN, "qwen3-coder", running), summary(RIVAL, "big-model", running)];
    let source = RequestSource::Agent;
    record(LogEntry::Message(MessageEntry { source, agents, ..MessageEntry::new(nothing) }))
}

/// A race that has just begun.
fn begun(width: u16, height: u16) -> TestScreen {
    screen(width, height)
        .event(AgentEvent::TurnStarted { turn: TurnId(1) })
        .event(question())
        .event(recorded(&started()))
        .event(stands(OWN, "qwen3-coder", SubagentState::Running))
        .event(stands(RIVAL, "big-model", SubagentState::Running))
        .event(AgentEvent::RaceStarted { sides: [OWN, RIVAL] })
        .event_of(OWN, question())
        .event_of(RIVAL, question())
        .event_of(OWN, AgentEvent::TurnStarted { turn: TurnId(2) })
        .event_of(RIVAL, AgentEvent::TurnStarted { turn: TurnId(2) })
}

/// The first side writes, the second one has read a file and is done.
fn running(width: u16, height: u16) -> TestScreen {
    let read = call("r", "Read", json!({"file_path": "/home/me/src/webshop/price.py"}));
    let answer =
        "It rounds **each item**.\n\nRound once, at the end:\n\n```python\nround(sum(x), 2)\n```\n";
    begun(width, height)
        .event_of(OWN, AgentEvent::Text { turn: TurnId(2), text: "The sum is rounded ".into() })
        .event_of(RIVAL, recorded(&assistant(vec![ContentBlock::ToolUse(read)])))
        .event_of(RIVAL, recorded(&result("r", "def price(): …", done("Read", 3))))
        .event_of(RIVAL, recorded(&assistant(vec![text(answer)])))
        .event(ended(RIVAL, "big-model"))
        .event_of(RIVAL, recorded(&turn_end(TurnOutcome::Answered)))
}

fn takes(scene: &TestScreen) -> Vec<AgentId> {
    let taken = |effect: &ScreenEffect| match effect {
        ScreenEffect::Agent(AGENT, AgentCommand::TakeAnswer { agent }) => Some(*agent),
        _ => None,
    };
    scene.effects.iter().filter_map(taken).collect()
}

fn stops(scene: &TestScreen) -> usize {
    scene.effects.iter().filter(|it| **it == ScreenEffect::CancelTurn(AGENT)).count()
}

#[test]
fn both_sides_are_shown_where_there_is_room_and_one_at_a_time_where_there_is_not() {
    let narrow = running(80, 24);
    insta::assert_snapshot!("a_race_at_80_columns", narrow.text());
    insta::assert_snapshot!("a_race_at_80_columns_other_side", narrow.key("tab").text());
    insta::assert_snapshot!("a_race_at_120_columns", running(120, 40).text());
    insta::assert_snapshot!("a_race_at_200_columns", running(200, 60).text());
}

#[test]
fn what_streams_is_seen_on_both_sides() {
    let scene = begun(120, 40)
        .shows("waiting for the model")
        .event_of(OWN, AgentEvent::Thinking { turn: TurnId(2), text: "Hm.".into() })
        .shows("thinking")
        .event_of(RIVAL, AgentEvent::Text { turn: TurnId(2), text: "Since it rounds".into() })
        .shows("answering")
        .shows("Since it rounds");
    let scene = scene.resized(80, 24).hides("Since it rounds").shows("big-model");
    scene.key("tab").shows("Since it rounds").resized(140, 40).shows("Hm.");
}

#[test]
fn a_side_is_taken_once_it_has_an_answer() {
    let scene = running(120, 40).clear_effects().key("t").shows("This model is still answering.");
    assert_eq!(takes(&scene), []);
    let scene = scene.key("right").key("t");
    assert_eq!(takes(&scene), [RIVAL]);
    let scene = scene.event(AgentEvent::RaceEnded { taken: Some(RIVAL) });
    assert!(scene.model.dialogs.is_empty() && scene.model.shared.race.is_none());
}

#[test]
fn what_is_typed_when_an_answer_comes_takes_none() {
    let scene = begun(120, 40).clear_effects().key("2").event(ended(RIVAL, "big-model"));
    let scene = scene.key_at_once("t").key_at_once("t");
    assert_eq!(takes(&scene), []);
    assert_eq!(takes(&scene.key("t")), [RIVAL]);
}

#[test]
fn the_error_of_a_side_is_in_its_pane_and_the_other_can_be_taken() {
    let failed = turn_end(TurnOutcome::Failed("The key is not valid. Set another one.".into()));
    let scene = running(120, 40)
        .event(stands(OWN, "qwen3-coder", SubagentState::Failed))
        .event_of(OWN, recorded(&failed))
        .clear_effects()
        .shows("● failed")
        .shows("The key is not valid.");
    let scene = scene.key("t").shows("no answer to take").key("tab").key("t");
    assert_eq!(takes(&scene), [RIVAL]);
}

#[test]
fn escape_stops_at_once_while_both_answer_and_asks_once_an_answer_is_there() {
    let scene = begun(120, 40).clear_effects().key("esc");
    assert_eq!(stops(&scene), 1);
    let scene = running(120, 40).clear_effects().key("esc").shows("esc again takes neither answer");
    assert_eq!(stops(&scene), 0);
    let scene = scene.key("tab").hides("esc again").key("esc");
    assert_eq!(stops(&scene), 0);
    assert_eq!(stops(&scene.key("esc")), 1);
    assert_eq!(stops(&running(120, 40).clear_effects().key("ctrl+c")), 1);
}

#[test]
fn each_side_scrolls_by_itself() {
    let long: Vec<String> = (1..80).map(|at| format!("line {at}\n")).collect();
    let said = |it: &str| recorded(&assistant(vec![text(&format!("{it}\n\n{}", long.join("\n")))]));
    let scene = begun(120, 30).event_of(OWN, said("The first.")).event_of(RIVAL, said("Second."));
    let scene = scene.hides("The first.").hides("Second.").key("home").shows("The first.");
    let scene = scene.hides("Second.").key("tab").key("g").shows("Second.").key("end");
    let scene = scene.hides("Second.").shows("The first.").key("1").key("G").hides("The first.");
    let scene = scene.hides("line 60").key("pgup").shows("line 60").key("pgdn").hides("line 60");
    scene.click("2 big-model").key("home").shows("Second.").hides("The first.");
}

#[test]
fn a_side_opens_whole_and_the_race_is_there_again_with_its_conversation() {
    let scene = running(120, 40).key("2").key("enter");
    assert!(scene.model.dialogs.is_empty());
    assert_eq!(scene.model.conversation.agent, RIVAL);
    let scene = scene.shows("It rounds").hides("take this answer").key("f6");
    assert_eq!(scene.model.conversation.agent, AGENT);
    let scene = scene.shows("take this answer").shows("❯ 2 big-model");
    // A race that is over while its conversation is behind is not shown again.
    let scene = scene.key("enter").event(AgentEvent::RaceEnded { taken: None }).key("f6");
    assert_eq!(scene.model.conversation.agent, AGENT);
    scene.hides("take this answer");
}

#[test]
fn the_command_begins_a_race_and_says_what_is_missing() {
    let scene = screen(80, 24).clear_effects().types("/race big-model why so").key("enter");
    let race = AgentCommand::Race { typed: "big-model why so".into() };
    assert!(scene.effects.contains(&ScreenEffect::Agent(AGENT, race)), "{:?}", scene.effects);
    assert!(!scene.model.conversation.turn.is_idle());
    let scene = screen(80, 24).clear_effects().types("/race big-model").key("esc").key("enter");
    let scene = scene.shows("Type a model and the message after /race").shows("/race big-model");
    assert!(!scene.effects.iter().any(|it| matches!(it, ScreenEffect::Agent(..))));
    // From the palette it is typed, for the rest to follow.
    let scene = screen(80, 24).key("ctrl+p").types("two models").key("enter");
    assert_eq!(scene.shows("Type a model").model.conversation.composer.typed().text, "/race ");
}

#[test]
fn in_lines_there_is_no_race() {
    let mut scene = screen(80, 24);
    scene.model.shared.settings.input = InputSource::Lines;
    let scene = scene.clear_effects().types("/race big-model why").key("enter");
    let scene = scene.shows("/race needs the full screen");
    assert!(!scene.effects.iter().any(|it| matches!(it, ScreenEffect::Agent(..))));
}

#[test]
fn a_taken_answer_is_in_the_conversation_and_both_lines_say_how_they_stand() {
    let scene = running(80, 24).event(recorded(&assistant(vec![text("It rounds each item.")])));
    let both = [
        summary(OWN, "qwen3-coder", SubagentState::Stopped),
        SubagentSummary {
            task: "big-model, taken".into(),
            ..summary(RIVAL, "big-model", SubagentState::Done)
        },
    ];
    let scene = scene.events(both.map(|it| AgentEvent::Subagent(Box::new(it))));
    let scene = scene
        .event(AgentEvent::RaceEnded { taken: Some(RIVAL) })
        .event(recorded(&turn_end(TurnOutcome::Answered)));
    insta::assert_snapshot!("after_a_race_at_80_columns", scene.text());
}
