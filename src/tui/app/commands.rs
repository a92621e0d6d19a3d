//! What sending a text, running a slash command and choosing a row of a list do.

use std::sync::Arc;

use crate::agent::{self, ForkPosition, RewindDestination};
use crate::commands::{
    CopyArgument, EFFORT_WORDS, FoldSetting, OnOffArgument, ParsedCommand, SlashCommand,
};
use crate::config::ThemeChoice;
use crate::domain::{NoticeLevel, PermissionMode, ReasoningEffort, SessionId, UserInput};

use super::approval::{ApprovalDialog, EarlyKey};
use super::block::{BlockBody, PaneFold, ToolCallContent};
use super::changes;
use super::completion_items;
use super::composer::EditingMode;
use super::effect::ScreenEffect;
use super::folds::{self, PaneKind};
use super::history::HistoryRetention;
use super::hooks;
use super::keymap::{ChatKey, Keymap, KeymapRow};
use super::keys;
use super::model::ScreenModel;
use super::overlay::{Overlay, ReadingOverlay, ReadingPage};
use super::pager::{self, document::PagerDocument};
use super::picker::{Picker, PickerChoice, PickerItem};
use super::queue::Delivery;
use super::rewind;
use super::rules;
use super::sidebar;
use super::source;
use super::store_queries;
use super::theme_state;
use super::transcript::{BlockId, ToolCallOrigin};
use super::turn::TurnActivity;

/// Whether Escape would stop something: a turn, or a shell command of the user.
pub fn is_busy(model: &ScreenModel) -> bool {
    // A `!` command of the user is among the newest calls, so a look at the end is enough.
    let user_command = model.conversation.transcript.blocks().iter().rev().take(8).any(|block| {
        matches!(&block.body, BlockBody::Tool(tool) if tool.origin == ToolCallOrigin::User && !tool.is_over())
    });
    user_command || !model.conversation.turn.is_idle()
}

/// Takes the text out of the input and sends it or runs it as a slash command. An invalid slash
/// command stays in the input.
pub fn submit(model: &mut ScreenModel, delivery: Delivery) -> Vec<ScreenEffect> {
    let text = model.conversation.composer.expanded();
    if model.conversation.composer.editor.is_reading() {
        model.shared.toast(NoticeLevel::Info, "An image is still being read: send it in a moment.");
        return Vec::new();
    }
    if text.trim().is_empty() {
        if model.conversation.turn.is_idle() {
            return send_next(model);
        }
        return Vec::new();
    }
    let command = match model.shared.settings.commands.parse(&text) {
        Some(Err(error)) => {
            model.shared.toast(NoticeLevel::Error, error.to_string());
            return Vec::new();
        }
        Some(Ok(command)) => Some(command),
        None => None,
    };
    let text = model.conversation.composer.take();
    model.conversation.completion = None;
    let mut effects = remember(model, &text);
    effects.extend(match command {
        Some(command) => run(model, command),
        None => say(model, text, delivery),
    });
    effects
}

/// Adds a text that leaves the input to the history.
pub fn remember(model: &mut ScreenModel, text: &UserInput) -> Vec<ScreenEffect> {
    match model.conversation.composer.history.add(text, &model.shared.settings.commands) {
        HistoryRetention::Keep => vec![ScreenEffect::AddHistory(text.clone())],
        HistoryRetention::Skip => Vec::new(),
    }
}

/// Sends the first queued message.
pub fn send_next(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model
        .conversation
        .queue
        .take_next()
        .map_or_else(Vec::new, |text| say(model, text, Delivery::Queue))
}

/// Moves the last queued message back into the input.
pub fn take_back(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    match model.conversation.queue.items().last().map(|item| (item.id, item.delivery)) {
        // The message may already be on its way: the agent reports whether it came back.
        Some((id, Delivery::Steer)) => {
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::WithdrawSteer { id },
            )]
        }
        Some((_, Delivery::Queue)) => {
            if let Some(item) = model.conversation.queue.take_last() {
                model.conversation.composer.load(item.text);
            }
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// Does what a row of a picker stands for.
pub fn choose(model: &mut ScreenModel, choice: PickerChoice) -> Vec<ScreenEffect> {
    match choice {
        PickerChoice::Key(action) => keys::perform(model, action),
        PickerChoice::Command(name) => {
            match model.shared.settings.commands.parse(&format!("/{name}")) {
                Some(Ok(command)) => run(model, command),
                Some(Err(_)) | None => Vec::new(),
            }
        }
        PickerChoice::Model(name) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::UseModel(name))]
        }
        PickerChoice::Thinking(how) => tell(model, agent::AgentCommand::SetEffort(how.effort())),
        PickerChoice::Mode(mode) => tell(model, agent::AgentCommand::SetMode(mode)),
        PickerChoice::Copied(what) => copy(model, what),
        PickerChoice::Theme(choice) => theme_state::change(model, choice),
        PickerChoice::Session(session) => when_idle(model, agent::AgentCommand::Resume { session }),
        PickerChoice::Hook(choice) => hooks::choose(model, choice),
        PickerChoice::Rewind(entry) => rewind::open(model, RewindDestination::Before(entry)),
        PickerChoice::Text(text) => {
            model.conversation.composer.load(text);
            Vec::new()
        }
        PickerChoice::Sent(text) => {
            model.conversation.composer.load(text);
            Vec::new()
        }
    }
}

/// Shows the next permission question, unless one is on screen already.
pub fn next_question(model: &mut ScreenModel, early_key: EarlyKey) {
    let open = model.overlays.iter().any(|overlay| matches!(overlay, Overlay::Approval(_)));
    if open {
        return;
    }
    if let Some(request) = model.conversation.questions.pop_front() {
        let approval = ApprovalDialog::new(request, early_key);
        model.overlays.push(Overlay::Approval(Box::new(approval)));
    }
}

/// Opens the list of every command and key.
pub fn open_palette(model: &mut ScreenModel) {
    let map = &model.shared.settings.keys;
    let commands = completion_items::commands(&model.shared.settings.commands)
        .map(|item| PickerItem { aside: key_of(&item, map), ..item });
    let actions = keys::contexts(model).iter().flat_map(|context| map.rows(*context));
    let actions = actions.filter(|row| is_offered(row, map)).map(|row| PickerItem {
        label: row.help.to_owned(),
        detail: String::new(),
        aside: row.shown(),
        choice: PickerChoice::Key(row.id),
    });
    let items = commands.chain(actions).collect();
    model.overlays.push(Overlay::Picker(Box::new(Picker::ready("Commands", items))));
}

/// The slash commands that do the same as a key of the chat.
const SAME: &[(&str, ChatKey)] = &[("help", ChatKey::Help), ("sessions", ChatKey::Sessions)];

/// The key that does the same as a slash command; empty if there is none.
fn key_of(command: &PickerItem, keys: &Keymap) -> String {
    let same =
        SAME.iter().find(|(name, _)| command.choice == PickerChoice::Command((*name).to_owned()));
    same.and_then(|(_, key)| keys.row(*key)).map(KeymapRow::shown).unwrap_or_default()
}

/// Whether the palette has a row for an action: not for the palette itself, nor for an action that
/// is listed as a slash command.
fn is_offered(row: &KeymapRow, keys: &Keymap) -> bool {
    let mut listed_elsewhere = SAME.iter().map(|(_, key)| *key).chain([ChatKey::Palette]);
    !listed_elsewhere.any(|key| keys.row(key).is_some_and(|other| other.id == row.id))
}

/// Switches to the next mode. Never switches to the mode that asks nothing, so that nobody gets
/// there by accident.
pub fn next_mode(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let next = match model.conversation.status.mode {
        PermissionMode::Plan => PermissionMode::Ask,
        PermissionMode::Ask => PermissionMode::AllowEdits,
        PermissionMode::AllowEdits if model.shared.settings.boundary.is_some() => {
            PermissionMode::Sandbox
        }
        PermissionMode::AllowEdits | PermissionMode::Sandbox | PermissionMode::Yolo => {
            PermissionMode::Plan
        }
    };
    vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::SetMode(next))]
}

/// Copies the text of a block.
pub fn copy_block(model: &ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let text = model.conversation.transcript.get(block).map(source::of_block).unwrap_or_default();
    if text.is_empty() { Vec::new() } else { vec![ScreenEffect::Copy { text, what: "the pane" }] }
}

/// Copies the last code block within a transcript block.
pub fn copy_code_of(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    match model.conversation.transcript.get(block).and_then(source::last_code) {
        Some(text) => vec![ScreenEffect::Copy { text, what: "the code block" }],
        None => toast_info(model, "There is no code block in this one."),
    }
}

/// Copies the selected text.
pub fn copy_selection(model: &ScreenModel) -> Vec<ScreenEffect> {
    let text =
        model.conversation.selection.map(|selection| selection.text(model)).unwrap_or_default();
    if text.is_empty() {
        Vec::new()
    } else {
        vec![ScreenEffect::Copy { text, what: "the selection" }]
    }
}

/// Copies the last answer, the last code block or the whole session.
pub fn copy(model: &mut ScreenModel, what: CopyArgument) -> Vec<ScreenEffect> {
    let blocks = model.conversation.transcript.blocks();
    let (text, what, none) = match what {
        CopyArgument::Answer => {
            let text = model.conversation.transcript.last_answer().map(str::to_owned);
            (text, "the last answer", "There is no answer to copy yet.")
        }
        CopyArgument::Code => {
            let text = blocks.iter().rev().find_map(source::last_code);
            (text, "the last code block", "There is no code block to copy yet.")
        }
        CopyArgument::All => {
            let text = source::whole(&model.conversation.transcript);
            let text = (!text.is_empty()).then_some(text);
            (text, "the whole session", "There is nothing to copy yet.")
        }
    };
    match text {
        Some(text) => vec![ScreenEffect::Copy { text, what }],
        None => toast_info(model, none),
    }
}

/// Shows a block in full: a changed file on the changes page, anything else in the pager.
pub fn view_block(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let changed = model.conversation.transcript.get(block).and_then(|block| match &block.body {
        BlockBody::Tool(tool) => match &tool.content {
            ToolCallContent::Diff(diff) => Some(diff.path.to_string_lossy().into_owned()),
            ToolCallContent::Nothing
            | ToolCallContent::Live(_)
            | ToolCallContent::Text(_)
            | ToolCallContent::Terminal(_) => None,
        },
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Notice(_)
        | BlockBody::Interrupted
        | BlockBody::Compacted => None,
    });
    match changed {
        Some(path) if model.conversation.changes.has(&path) => changes::open(model, Some(path)),
        Some(_) | None => pager::open(model, block),
    }
}

/// Forks the session after the message that a block comes from.
pub fn fork_at(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let upto = model.conversation.transcript.get(block).and_then(|block| block.entry);
    match (model.conversation.status.session, upto) {
        (Some(session), Some(entry)) => fork(model, session, ForkPosition::After(entry)),
        (_, None) => toast_info(model, "Only messages that are in the log can be forked from."),
        (None, _) => toast_info(model, NO_SESSION),
    }
}

const NO_SESSION: &str = "No session is open yet. Send a message first.";

/// Runs a slash command; warns where it has to wait for the end of a turn.
fn run(model: &mut ScreenModel, parsed: ParsedCommand) -> Vec<ScreenEffect> {
    if !(parsed.may_run_in_turn || model.conversation.turn.is_idle()) {
        return toast_info(model, &turn_is_running(model));
    }
    match parsed.command {
        SlashCommand::Help => keys::chat_action(model, ChatKey::Help),
        SlashCommand::New | SlashCommand::Clear => tell(model, agent::AgentCommand::NewSession),
        SlashCommand::Sessions(None) => sidebar::open(model),
        SlashCommand::Sessions(Some(session)) => {
            tell(model, agent::AgentCommand::Resume { session })
        }
        SlashCommand::Fork(which) => {
            let at = which.map_or(Ok(ForkPosition::End), |which| {
                rewind::find(model, &which).map(ForkPosition::Before)
            });
            match (model.conversation.status.session, at) {
                (Some(session), Ok(at)) => fork(model, session, at),
                (Some(_), Err(reason)) => toast_info(model, &reason),
                (None, _) => toast_info(model, NO_SESSION),
            }
        }
        SlashCommand::Model(Some(name)) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::SetModel(name))]
        }
        SlashCommand::Model(None) => {
            let id = model.shared.requests.issue();
            model.overlays.push(Overlay::Picker(Box::new(Picker::waiting("Models", id))));
            vec![ScreenEffect::ListModels(id)]
        }
        SlashCommand::Effort(Some(how)) => {
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::SetEffort(how.effort()),
            )]
        }
        SlashCommand::Effort(None) => {
            let mut picker = Picker::ready("Thinking", completion_items::thinking());
            let now = model.conversation.status.effort;
            let at = EFFORT_WORDS.iter().position(|(word, _)| ReasoningEffort::parse(word) == now);
            picker.list.select(at.unwrap_or_default());
            model.overlays.push(Overlay::Picker(Box::new(picker)));
            Vec::new()
        }
        SlashCommand::Mode(Some(mode)) => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::SetMode(mode))]
        }
        SlashCommand::Mode(None) => {
            let mut picker = Picker::ready("Modes", completion_items::modes(model).collect());
            let is_now = |item: &PickerItem| {
                item.choice == PickerChoice::Mode(model.conversation.status.mode)
            };
            let now = completion_items::modes(model).position(|item| is_now(&item));
            picker.list.select(now.unwrap_or_default());
            model.overlays.push(Overlay::Picker(Box::new(picker)));
            Vec::new()
        }
        SlashCommand::Permissions => rules::open(model),
        SlashCommand::Hooks => hooks::open(model),
        SlashCommand::Undo => rewind::open(model, RewindDestination::Last),
        SlashCommand::Redo => rewind::open(model, RewindDestination::Redo),
        SlashCommand::Rewind(None) => rewind::list(model),
        SlashCommand::Rewind(Some(which)) => match rewind::find(model, &which) {
            Ok(entry) => rewind::open(model, RewindDestination::Before(entry)),
            Err(reason) => toast_info(model, &reason),
        },
        SlashCommand::Compact => tell(model, agent::AgentCommand::Compact),
        SlashCommand::Copy(what) => copy(model, what),
        SlashCommand::Diff(path) => changes::open(model, path),
        SlashCommand::Pager => {
            let id = model.shared.requests.issue();
            let text = source::whole(&model.conversation.transcript);
            vec![ScreenEffect::OpenPager(Arc::new(PagerDocument::new(id.0, &text)))]
        }
        SlashCommand::Fold(None) => keys::chat_action(model, ChatKey::FoldAll),
        SlashCommand::Fold(Some(order)) => {
            keys::hold(model);
            let kind = PaneKind::named(&order.kind);
            match order.how {
                None => folds::cycle_kind(model, &kind),
                Some(FoldSetting::Open) => folds::set_kind(model, &kind, Some(PaneFold::Open)),
                Some(FoldSetting::Closed) => folds::set_kind(model, &kind, Some(PaneFold::Closed)),
                Some(FoldSetting::Auto) => folds::set_kind(model, &kind, None),
            }
        }
        SlashCommand::Todos => read(model, ReadingPage::Todos),
        SlashCommand::Status => {
            read(model, ReadingPage::Status);
            vec![store_queries::ask_for_size(model)]
        }
        SlashCommand::Theme(None) => theme_state::read(model, theme_state::ThemeReadPurpose::List),
        SlashCommand::Theme(Some(name)) => theme_state::read(
            model,
            theme_state::ThemeReadPurpose::Change(ThemeChoice::parse(&name)),
        ),
        SlashCommand::Retry => {
            let effects = tell(model, agent::AgentCommand::Retry);
            start(model, &effects);
            effects
        }
        SlashCommand::Vi(switch) => {
            let (typing, word) = match (switch, &model.conversation.composer.vi) {
                (Some(OnOffArgument::Off), _) | (None, Some(_)) => {
                    (EditingMode::Plain, "Vi keys are off.")
                }
                (Some(OnOffArgument::On), _) | (None, None) => {
                    (EditingMode::Vi, "Vi keys are on: esc leaves insert mode.")
                }
            };
            model.conversation.composer.set_typing(typing);
            model.shared.toast(NoticeLevel::Info, word);
            Vec::new()
        }
        SlashCommand::Save => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::Save)]
        }
        SlashCommand::Quit => vec![ScreenEffect::Quit],
    }
}

fn fork(model: &mut ScreenModel, session: SessionId, at: ForkPosition) -> Vec<ScreenEffect> {
    when_idle(model, agent::AgentCommand::Fork { session, at })
}

fn read(model: &mut ScreenModel, page: ReadingPage) -> Vec<ScreenEffect> {
    model.overlays.push(Overlay::Reading(ReadingOverlay::new(page)));
    Vec::new()
}

fn toast_info(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    model.shared.toast(NoticeLevel::Warning, text);
    Vec::new()
}

/// Sends the agent a command that is allowed only between turns; warns while a turn runs.
pub fn when_idle(model: &mut ScreenModel, command: agent::AgentCommand) -> Vec<ScreenEffect> {
    if model.conversation.turn.is_idle() {
        return tell(model, command);
    }
    toast_info(model, &turn_is_running(model))
}

fn tell(model: &ScreenModel, command: agent::AgentCommand) -> Vec<ScreenEffect> {
    vec![ScreenEffect::Agent(model.conversation.agent, command)]
}

fn turn_is_running(model: &ScreenModel) -> String {
    let stop = model.shared.settings.keys.key(ChatKey::Back);
    format!("A turn is running. Stop it with {stop} first.")
}

/// Sends a message or a `!` command to the agent, or queues it while a turn runs.
fn say(model: &mut ScreenModel, text: UserInput, delivery: Delivery) -> Vec<ScreenEffect> {
    model.conversation.scroll.to_tail();
    let command = text.text.strip_prefix('!').map(|command| command.trim().to_owned());
    if !model.conversation.turn.is_idle() {
        // A shell command cannot join a running turn: it waits for the end of the turn.
        let delivery = if command.is_some() { Delivery::Queue } else { delivery };
        let id = model.shared.requests.issue_steer();
        model.conversation.queue.push(id, text.clone(), delivery);
        return match delivery {
            Delivery::Queue => Vec::new(),
            Delivery::Steer => vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::Steer { id, text },
            )],
        };
    }
    let effects = match command {
        Some(command) if command.is_empty() => Vec::new(),
        Some(command) => vec![ScreenEffect::Agent(
            model.conversation.agent,
            agent::AgentCommand::Shell { command },
        )],
        None => {
            vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::Send { text })]
        }
    };
    start(model, &effects);
    effects
}

/// Marks a turn as starting if the effects start one, so that the next message waits for it.
fn start(model: &mut ScreenModel, effects: &[ScreenEffect]) {
    let begins = effects.iter().any(|effect| {
        matches!(
            effect,
            ScreenEffect::Agent(_, agent::AgentCommand::Send { .. } | agent::AgentCommand::Retry)
        )
    });
    if begins {
        model.conversation.turn = TurnActivity::Starting { since: model.shared.now };
    }
}
