//! Tests of the page of `/context`.

use crate::agent::{
    AgentCommand, AgentEvent, ContextEditError, ContextLedger, ContextReply, ContextRequest,
    ContextSource, LedgerItem, LedgerItemState, LedgerSource,
};
use crate::domain::{ContextWindow, EntryId};
use crate::providers::PrefillProgress;
use crate::session::{ContextAction, ContextItem, ContextPart};
use crate::tui::app::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::dialogs::OpenDialog;
use crate::tui::dialogs::context::lines;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, recorded, screen, user};

fn item(part: ContextPart, name: &str, about: &str, tokens: u64) -> LedgerItem {
    LedgerItem {
        item: Some(ContextItem { entry: EntryId::generate(), part }),
        name: name.into(),
        about: about.into(),
        tokens,
        behind: 20_000,
        turns_ago: Some(3),
        state: LedgerItemState::Full,
        can_fold: true,
        can_pin: true,
    }
}

fn fixed(name: &str, about: &str, tokens: u64) -> LedgerItem {
    LedgerItem {
        item: None,
        turns_ago: None,
        can_fold: false,
        can_pin: false,
        ..item(ContextPart::Text, name, about, tokens)
    }
}

fn source(kind: ContextSource, items: Vec<LedgerItem>) -> LedgerSource {
    let tokens = items.iter().map(|item| item.tokens).sum();
    LedgerSource { kind, path: None, tokens, items }
}

fn ledger() -> ContextLedger {
    let result = |name, about, tokens| item(ContextPart::Result, name, about, tokens);
    let folded = |it: LedgerItem, state| LedgerItem { state, ..it };
    let said = |text, tokens| item(ContextPart::Text, "", text, tokens);
    let sources = vec![
        LedgerSource {
            kind: ContextSource::SystemPrompt,
            path: None,
            tokens: 690,
            items: Vec::new(),
        },
        source(
            ContextSource::Tools,
            ["Read", "Edit", "Bash"].map(|name| fixed(name, "", 310)).to_vec(),
        ),
        LedgerSource {
            kind: ContextSource::Instructions,
            path: Some("/home/me/src/webshop/SLUG.md".into()),
            tokens: 1_200,
            items: Vec::new(),
        },
        source(ContextSource::Notes, vec![fixed("environment", "date: 2026-11-22", 90)]),
        source(
            ContextSource::Summary,
            vec![folded(
                LedgerItem {
                    can_pin: false,
                    ..item(
                        ContextPart::Compaction,
                        "",
                        "Compacted: 61k → 12k tokens; summary by qwen3-coder.",
                        1_900,
                    )
                },
                LedgerItemState::Compacted,
            )],
        ),
        source(
            ContextSource::UserMessages,
            vec![
                LedgerItem {
                    can_fold: false,
                    can_pin: false,
                    item: None,
                    ..said("Fix the cart", 40)
                },
                said("and the tax, too", 60),
            ],
        ),
        source(ContextSource::Answers, vec![said("The cart was empty because", 400)]),
        source(ContextSource::Thinking, vec![LedgerItem { can_pin: false, ..said("hm", 900) }]),
        source(ContextSource::ToolCalls, vec![fixed("Read", "src/cart.rs", 60)]),
        source(
            ContextSource::ToolResults,
            vec![
                folded(result("Read", "src/cart.rs", 4_100), LedgerItemState::Pinned),
                folded(result("Grep", "free_item", 24), LedgerItemState::FoldedOut),
                folded(result("Read", "src/tax.rs", 22), LedgerItemState::Compacted),
                result(
                    "Bash",
                    "cargo test 2>&1 | tail -n 40 | grep -v warning | sort | uniq -c",
                    9_200,
                ),
            ],
        ),
    ];
    let used = sources.iter().map(|source| source.tokens).sum();
    ContextLedger {
        used,
        is_estimate: true,
        window: ContextWindow::Served(64_000),
        compacts_at: 44_800,
        reserve: 8_000,
        sources,
    }
}

fn told(ledger: ContextLedger, failed: Option<ContextEditError>) -> AgentEvent {
    AgentEvent::Context(Box::new(ContextReply { ledger, failed }))
}

fn page(width: u16, height: u16, ledger: &ContextLedger) -> TestScreen {
    let mut scene = screen(width, height);
    scene.model.conversation.status.window = Some(ledger.window);
    scene
        .types("/context")
        .key("enter")
        .event(told(ledger.clone(), None))
        // The input is saved as a draft after a pause in typing.
        .after(5_000)
        .after(5_000)
        .clear_effects()
}

/// The page with the results open and the first of them selected.
fn results(width: u16, height: u16, ledger: &ContextLedger) -> TestScreen {
    page(width, height, ledger).key("end").key("enter").key("down")
}

#[test]
fn the_page_at_80x24() {
    insta::assert_snapshot!(results(80, 24, &ledger()).key("down").readable_text());
}

#[test]
fn the_page_at_120x40() {
    insta::assert_snapshot!(results(120, 40, &ledger()).key("end").readable_text());
}

#[test]
fn the_page_at_40x12() {
    insta::assert_snapshot!(page(40, 12, &ledger()).readable_text());
}

#[test]
fn opening_it_asks_for_the_ledger() {
    let show = AgentCommand::Context(ContextRequest::Show);
    let scene = screen(80, 24).types("/context").clear_effects().key("enter");
    assert!(scene.effects.contains(&ScreenEffect::Agent(AGENT, show)));
    scene.shows("One moment");
}

#[test]
fn the_bar_is_as_wide_as_the_window_and_marks_where_compaction_comes() {
    let text = page(80, 24, &ledger()).text();
    let bar = text.lines().find(|line| line.contains('█')).expect("no bar");
    let bar = bar.trim_matches('"').trim().to_owned();
    assert_eq!(bar.chars().count(), 78, "{bar}");
    let mark = bar.chars().position(|it| it == '│').expect("no mark");
    assert_eq!(mark, 78 * 448 / 640, "{bar}");
    let reserve = bar.chars().filter(|it| *it == '░').count();
    assert!((9..=10).contains(&reserve), "{bar}");
}

#[test]
fn the_same_key_folds_and_brings_back_and_the_same_pins_and_unpins() {
    let ledger = ledger();
    let items = &ledger.sources.last().unwrap().items;
    let order = |at: usize, action| {
        let item = items[at].item.unwrap();
        let command = AgentCommand::Context(ContextRequest::Edit { item, action });
        [ScreenEffect::Agent(AGENT, command)]
    };
    let pinned = || results(80, 24, &ledger).shows("x leave out").shows("p unpin");
    pinned().key("x").expect_effects(&order(0, ContextAction::FoldOut));
    pinned().key("p").expect_effects(&order(0, ContextAction::Unpin));
    let folded = results(80, 24, &ledger).key("down").shows("x restore");
    folded.key("space").expect_effects(&order(1, ContextAction::BringBack));
    let stubbed = results(80, 24, &ledger).key("down").key("down");
    stubbed.key("x").expect_effects(&order(2, ContextAction::BringBack));
    let full = results(80, 24, &ledger).key("end").shows("p pin");
    full.key("p").expect_effects(&order(3, ContextAction::Pin));
}

#[test]
fn what_folding_costs_is_said_before() {
    results(80, 24, &ledger()).key("end").shows("Leaves a short stub in its place").shows("~20k");
}

#[test]
fn what_cannot_be_folded_offers_nothing_and_says_why() {
    let scene = page(80, 24, &ledger()).key("down").key("enter").key("down");
    let scene = scene.hides("x fold").shows("it stays the same");
    scene.key("x").expect_effects(&[]).shows("Every request begins with this");
}

#[test]
fn the_selected_item_stays_selected_when_the_ledger_changes() {
    let mut ledger = ledger();
    let scene = results(80, 24, &ledger).key("end").key("x");
    let last = ledger.sources.len() - 1;
    ledger.sources.remove(3);
    ledger.sources[last - 1].items[3].state = LedgerItemState::FoldedOut;
    let scene = scene.event(told(ledger, Some(ContextEditError::Log("The disk is full.".into()))));
    let scene = scene.shows("The disk is full.").shows("x restore");
    assert!(scene.text().lines().any(|line| line.contains("❯") && line.contains("cargo test")));
}

#[test]
fn the_first_line_agrees_with_the_page() {
    let ledger = ledger();
    let used = crate::domain::format_tokens(ledger.used);
    let scene = page(120, 40, &ledger).shows(&format!("~{used} of 64k tokens"));
    scene.key("esc").shows(&format!("~{used}/64k"));
}

#[test]
fn a_long_list_draws_what_is_on_screen() {
    let mut ledger = ledger();
    let last = ledger.sources.len() - 1;
    let many = (0..5_000).map(|at| item(ContextPart::Result, "Read", &format!("f{at}"), 1));
    ledger.sources[last].items = many.collect();
    results(80, 24, &ledger).key("end").shows("f4999").hides("f4900").key("pgup").shows("f4984");
}

/// What a front end without keys prints, and the lines that it takes.
#[test]
fn the_ledger_is_read_out_and_edited_by_lines() {
    let ledger = ledger();
    let mut scene = page(80, 24, &ledger);
    let Some(OpenDialog::Context(page)) = scene.model.dialogs.top() else { panic!("no page") };
    insta::assert_snapshot!(lines::all(page, str::to_owned).join("\n"));
    let page = scene.model.dialogs.top_mut().expect("no page");
    let edits = [
        ("fold 8", ContextAction::FoldOut),
        ("pin 5", ContextAction::Unpin),
        ("fold 7", ContextAction::BringBack),
    ];
    for (line, action) in edits {
        let intents = page.line(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let [Intent::Command(AgentCommand::Context(ContextRequest::Edit { action: asked, .. }))] =
            intents.as_slice()
        else {
            panic!("{line}: {intents:?}")
        };
        assert_eq!(*asked, action, "{line}");
    }
    for line in ["fold", "fold 0", "fold 99", "drop 1", "pin 1"] {
        assert_eq!(page.line(line), Err(LineAnswerError::NoEdit), "{line}");
    }
    assert_eq!(page.line(""), Ok(vec![Intent::Close]));
}

#[test]
fn a_compaction_shows_how_far_it_is() {
    let progress = |read: Option<u64>, written| AgentEvent::CompactionProgress {
        turn: TURN,
        read: read.map(|processed| PrefillProgress { processed, total: 200, cached: 0 }),
        written,
    };
    let scene = screen(100, 30)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&user("a question")))
        .event(AgentEvent::CompactionStarted { turn: TURN })
        .shows("Compacting · summarising the older part");
    let scene = scene.event(progress(Some(80), 0)).shows("reading the conversation, 40%");
    let scene = scene.event(progress(Some(200), 0)).shows("waiting for the summary");
    scene
        .event(progress(Some(200), 880))
        .shows("writing the summary")
        .shows("~220 tokens")
        .event(AgentEvent::RequestSent { turn: TURN })
        .hides("Compacting");
}
