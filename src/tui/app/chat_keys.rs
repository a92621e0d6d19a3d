//! The keys of the chat: the input, the panes, the search and the caret. What a key asks of the rest
//! of the screen is returned as [`Intent`]s.

use std::time::Duration;

use crossterm::event::KeyCode;

use crate::agent::{AgentCommand, ReviewScope, RewindDestination};
use crate::commands::CopyArgument;
use crate::domain::{CallId, NoticeLevel};

use super::conversation::Conversation;
use super::conversation::block::{BlockBody, BlockId, ClosingLine};
use super::conversation::caret;
use super::conversation::completion_state::{self, CompletionFollowUp, CompletionInsertion};
use super::conversation::copying;
use super::conversation::fold_actions;
use super::conversation::fold_actions::FoldScope;
use super::conversation::image_input;
use super::conversation::images;
use super::conversation::navigation::{self, hold, hold_above_tail, scroll, step_pane, swap_focus};
use super::conversation::queue::Delivery;
use super::conversation::rewind_messages;
use super::conversation::search;
use super::conversation::sending::{self, stop_turn, submit};
use super::conversation::start_screen;
use super::editor::ChipExpansion;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::intent::{Intent, intents};
use super::keymap::EditAction;
use super::keymap::{
    self, AlwaysKey, ChatKey, CompletionKey, EmptyInputKey, InputKey, KeyContext, KeyPlace,
    KeyPress, PaneKey,
};
use super::shared::SharedState;
use super::vi;

/// The second Escape must come within this time.
const DOUBLE_ESCAPE_TIME: Duration = Duration::from_millis(1500);

/// The place that keys are looked up in, by what has the focus.
pub fn place(conversation: &Conversation) -> KeyPlace {
    if search::keys::is_typed(conversation) {
        return KeyPlace::Search;
    }
    match conversation.focus {
        KeyboardFocus::Pane(_) if conversation.search.is_some() => KeyPlace::Match,
        KeyboardFocus::Pane(_) => KeyPlace::Panes,
        KeyboardFocus::Caret(_) => KeyPlace::Caret,
        KeyboardFocus::Sidebar => KeyPlace::Sessions,
        KeyboardFocus::Input if has_list(conversation) => KeyPlace::InputList,
        KeyboardFocus::Input if conversation.composer.is_empty() => KeyPlace::EmptyInput,
        KeyboardFocus::Input => KeyPlace::Input,
    }
}

/// Whether there is a list under the input, or a shell command that one can be opened for.
fn has_list(conversation: &Conversation) -> bool {
    conversation
        .completion
        .as_ref()
        .is_some_and(|open| !open.list.is_empty() || open.list.unranked().is_some())
        || is_shell(conversation)
}

/// Whether a shell command is typed.
fn is_shell(conversation: &Conversation) -> bool {
    let composer = &conversation.composer;
    composer.is_inserting() && composer.editor.text().starts_with('!')
}

/// Handles a key for the part of the chat that has the focus.
pub fn key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: &KeyPress<'_>,
) -> Vec<Intent> {
    let place = place(conversation);
    let contexts = place.contexts().iter();
    contexts
        .copied()
        .find_map(|context| key_in(conversation, shared, place, context, key))
        .unwrap_or_default()
}

/// Handles a key that has a meaning in this context; `None` if it has none.
fn key_in(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    place: KeyPlace,
    context: KeyContext,
    key: &KeyPress<'_>,
) -> Option<Vec<Intent>> {
    match (context, conversation.focus) {
        (KeyContext::Chat, _) => {
            keymap::find(keymap::CHAT, key).map(|key| action(conversation, shared, key))
        }
        // What is no key of the search is typed into it.
        (KeyContext::Search, _) => Some(search::keys::typing_key(conversation, key)),
        (KeyContext::Match, _) => search::keys::found_key(conversation, key),
        (KeyContext::Panes, KeyboardFocus::Pane(block)) => {
            keymap::find(keymap::PANES, key).map(|key| pane_key(conversation, shared, block, key))
        }
        (KeyContext::Caret, KeyboardFocus::Caret(caret)) => {
            caret::keys::key(conversation, shared, caret, key).map(intents)
        }
        (KeyContext::Completion, _) => completion_key(conversation, shared, key),
        (KeyContext::EmptyInput, _) => vi_key(conversation, shared, key).or_else(|| {
            let row = digit(key).map_or(0, |digit| digit.saturating_sub(1));
            keymap::find(keymap::EMPTY_INPUT, key).map(|key| match key {
                EmptyInputKey::Command => intents(type_in(conversation, shared, '/')),
                EmptyInputKey::Shell => intents(type_in(conversation, shared, '!')),
                EmptyInputKey::Help => vec![Intent::OpenHelp],
                EmptyInputKey::Recent => recent_session(conversation, shared, row),
            })
        }),
        (KeyContext::Input, _) => {
            // Vi's keys come before all but the list; on an empty input they were asked already.
            let is_new = place != KeyPlace::EmptyInput;
            let by_vi = is_new.then(|| vi_key(conversation, shared, key)).flatten();
            by_vi.or_else(|| {
                keymap::find(keymap::INPUT, key).map(|key| typing_key(conversation, shared, key))
            })
        }
        (KeyContext::Editing, KeyboardFocus::Input) => {
            let edit = keymap::find(keymap::EDITING, key);
            let edited = edit.map(|edit| edit_input(conversation, shared, edit));
            let typed = || keymap::typed(key).map(|c| type_in(conversation, shared, c));
            edited.or_else(typed).map(intents)
        }
        // The list of sessions has been asked before, and so have the keys that work everywhere.
        (
            KeyContext::Always
            | KeyContext::Sessions
            | KeyContext::Panes
            | KeyContext::Caret
            | KeyContext::Editing
            | KeyContext::Approval
            | KeyContext::Questions
            | KeyContext::Field
            | KeyContext::List
            | KeyContext::Models
            | KeyContext::Reading
            | KeyContext::Pager
            | KeyContext::Find
            | KeyContext::Changes
            | KeyContext::Context
            | KeyContext::Jobs
            | KeyContext::Agents
            | KeyContext::Race
            | KeyContext::Mcp
            | KeyContext::Lsp
            | KeyContext::Memory
            | KeyContext::Rules
            | KeyContext::Rewind
            | KeyContext::Review,
            _,
        ) => None,
    }
}

/// Does an action of the chat.
pub fn action(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: ChatKey,
) -> Vec<Intent> {
    let effects = match key {
        ChatKey::Help => return vec![Intent::OpenHelp],
        ChatKey::Palette => return vec![Intent::OpenPalette],
        ChatKey::Sessions => return vec![Intent::ToggleSessions],
        ChatKey::NextConversation => return vec![Intent::NextConversation],
        ChatKey::Back => return back(conversation, shared),
        ChatKey::FoldAll => {
            hold_above_tail(conversation);
            fold_actions::toggle_all(conversation)
        }
        ChatKey::Agents => return vec![Intent::OpenAgents],
        ChatKey::Background => sending::detach_command(conversation),
        ChatKey::UndoEdit => {
            let last = conversation.transcript.last_edit().cloned();
            return undo_call(shared, last, "No edit to undo.");
        }
        ChatKey::NextMode => sending::next_mode(conversation, shared),
        ChatKey::CopyAnswer => copying::copy(conversation, shared, CopyArgument::Answer),
        ChatKey::CopyCode => copying::copy(conversation, shared, CopyArgument::Code),
        ChatKey::Focus => {
            swap_focus(conversation);
            Vec::new()
        }
        ChatKey::Scroll(how) => {
            scroll(conversation, how);
            Vec::new()
        }
        ChatKey::Jump(to) => {
            navigation::jump(conversation, shared, to);
            Vec::new()
        }
        ChatKey::Search => {
            search::keys::open(conversation);
            Vec::new()
        }
    };
    intents(effects)
}

/// Folds or unfolds a pane; the rows above it keep their place.
fn toggle(conversation: &mut Conversation, block: BlockId) -> Vec<ScreenEffect> {
    hold(conversation);
    fold_actions::toggle(conversation, block)
}

/// Does what a click on a block is for: opens what the turn that it closes changed, else folds or
/// unfolds it.
pub fn activate(conversation: &mut Conversation, block: BlockId) -> Vec<Intent> {
    match conversation.transcript.get(block).map(|block| &block.body) {
        Some(BlockBody::TurnEnd(ClosingLine { changes: Some(_), .. })) => {
            vec![Intent::OpenChanges(None)]
        }
        Some(_) | None => intents(toggle(conversation, block)),
    }
}

/// Shows the conversation with the agent that the call of a block has started.
fn started_agent(conversation: &Conversation, block: BlockId) -> Option<Intent> {
    let agent = conversation.transcript.get(block)?.body.tool_call()?.agent.as_deref()?;
    Some(Intent::ShowAgent(agent.agent, agent.session))
}

/// Clears the input, else stops the turn, else asks once, then leaves.
pub fn cancel(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    if !conversation.composer.is_empty() {
        let text = conversation.composer.take();
        conversation.completion = None;
        conversation.dismissed = None;
        return sending::remember(conversation, shared, &text);
    }
    if sending::is_busy(conversation) {
        return stop_turn(conversation);
    }
    if shared.leaving.is_some_and(|until| shared.now < until) {
        return vec![ScreenEffect::Quit];
    }
    let key = shared.settings.keys.key(AlwaysKey::Cancel);
    let text = match conversation.status.jobs_phrase() {
        Some(jobs) => format!("{key} again to quit and end {jobs}"),
        None => format!("{key} again to quit"),
    };
    shared.toast(NoticeLevel::Info, text);
    shared.leaving = shared.toast.as_ref().map(|toast| toast.until);
    Vec::new()
}

/// Inserts text in one piece into the query of the search, or else into the input.
pub fn paste(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    text: &str,
) -> Vec<ScreenEffect> {
    if search::keys::is_typed(conversation) {
        search::keys::paste(conversation, text);
        return Vec::new();
    }
    conversation.focus = KeyboardFocus::Input;
    let home = shared.settings.home.as_deref();
    if let Some(files) = images::dropped(text, &shared.settings.cwd, home) {
        return image_input::take_files(conversation, shared, files);
    }
    conversation.composer.paste(text);
    completion_state::refresh(conversation, shared)
}

fn back(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<Intent> {
    conversation.selection = None;
    if conversation.search.is_some() {
        return search::keys::close(conversation);
    }
    if sending::is_busy(conversation) {
        return intents(stop_turn(conversation));
    }
    escape(conversation, shared)
}

/// Handles Escape when there is nothing to close or stop: the second one in a row opens the list of
/// messages to go back to.
fn escape(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<Intent> {
    if start_screen::leave(conversation) {
        return Vec::new();
    }
    let has_messages = conversation.transcript.blocks().iter().any(|block| block.entry.is_some());
    if conversation.focus != KeyboardFocus::Input || !has_messages {
        conversation.focus = KeyboardFocus::Input;
        return Vec::new();
    }
    if conversation.rewinding.take().is_some_and(|until| shared.now < until) {
        shared.toast = None;
        return vec![Intent::ListMessages];
    }
    let key = shared.settings.keys.key(ChatKey::Back);
    shared.toast(NoticeLevel::Info, format!("{key} again to rewind"));
    conversation.rewinding = Some(shared.now + DOUBLE_ESCAPE_TIME);
    Vec::new()
}

/// Takes a call's changes back; says `otherwise` where there is none.
fn undo_call(shared: &mut SharedState, call: Option<CallId>, otherwise: &str) -> Vec<Intent> {
    match call {
        Some(call) => vec![Intent::WhenIdle(AgentCommand::UndoCall { call })],
        None => {
            shared.toast(NoticeLevel::Info, otherwise);
            Vec::new()
        }
    }
}

fn pane_key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    block: BlockId,
    key: PaneKey,
) -> Vec<Intent> {
    let block = conversation.transcript.shown(block);
    let effects = match key {
        PaneKey::Toggle => match search::keys::open_hidden(conversation) {
            Some(wanted) => return vec![wanted],
            None => match started_agent(conversation, block) {
                Some(agent) => return vec![agent],
                None => return activate(conversation, block),
            },
        },
        PaneKey::ToggleKind => {
            hold(conversation);
            fold_actions::toggle_like(conversation, shared, block, FoldScope::Kind)
        }
        PaneKey::ToggleTools => {
            hold(conversation);
            fold_actions::toggle_like(conversation, shared, block, FoldScope::AllCalls)
        }
        PaneKey::View => return vec![Intent::ViewBlock(block)],
        PaneKey::Explain => return vec![Intent::ExplainBlock(block)],
        PaneKey::Copy => copying::copy_block(conversation, block),
        PaneKey::CopyCode => copying::copy_code_of(conversation, shared, block),
        PaneKey::Fork => sending::fork_at(conversation, shared, block),
        PaneKey::Rewind => match rewind_messages::message_of(&conversation.transcript, block) {
            Some(entry) => return vec![Intent::OpenRewind(RewindDestination::Before(entry))],
            None => {
                let text = "No message to rewind to.";
                shared.toast(NoticeLevel::Info, text);
                Vec::new()
            }
        },
        PaneKey::Review => {
            let message = rewind_messages::message_of(&conversation.transcript, block);
            return vec![Intent::OpenReview(
                message.map_or(ReviewScope::Session, ReviewScope::Message),
            )];
        }
        PaneKey::Undo => {
            let block = conversation.transcript.get(block);
            let tool = block.and_then(|block| block.body.tool_call());
            let call = tool.filter(|tool| tool.is_edit()).map(|tool| tool.call.clone());
            return undo_call(shared, call, "This pane changed no file.");
        }
        PaneKey::Help => return vec![Intent::OpenHelp],
        PaneKey::Previous => {
            step_pane(conversation, block, -1);
            Vec::new()
        }
        PaneKey::Next => {
            step_pane(conversation, block, 1);
            Vec::new()
        }
        PaneKey::Scroll(how) => {
            scroll(conversation, how);
            Vec::new()
        }
        PaneKey::Jump(to) => {
            navigation::jump(conversation, shared, to);
            Vec::new()
        }
        PaneKey::Search => {
            search::keys::open(conversation);
            Vec::new()
        }
        PaneKey::Select => {
            caret::keys::enter(conversation, block);
            Vec::new()
        }
    };
    intents(effects)
}

fn completion_key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: &KeyPress<'_>,
) -> Option<Vec<Intent>> {
    let key = keymap::find(keymap::COMPLETION, key)?;
    if let Some(CompletionInsertion { effects, follow_up }) =
        completion_state::key(conversation, shared, key)
    {
        let mut wanted = intents(effects);
        if follow_up == CompletionFollowUp::Send {
            wanted.extend(submit(conversation, shared, Delivery::Queue));
        }
        return Some(wanted);
    }
    let opens = key == CompletionKey::Complete && is_shell(conversation);
    opens.then(|| intents(completion_state::open_shell(conversation, shared)))
}

fn vi_key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: &KeyPress<'_>,
) -> Option<Vec<Intent>> {
    let width = conversation.geometry.input.width;
    match conversation.composer.vi_key(key.event()?, width)? {
        vi::ViOutcome::Done => Some(intents(completion_state::refresh(conversation, shared))),
        vi::ViOutcome::Older => Some(intents(older(conversation))),
        vi::ViOutcome::Newer => {
            conversation.composer.newer();
            Some(Vec::new())
        }
        vi::ViOutcome::Pass => None,
    }
}

/// Opens the recent session of this row, from 0.
fn recent_session(
    conversation: &Conversation,
    shared: &mut SharedState,
    row: usize,
) -> Vec<Intent> {
    start_screen::open_numbered(conversation, shared, row).unwrap_or_else(|| {
        intents(sending::warn(shared, "There is no recent session with this number here."))
    })
}

/// The digit of a key; `None` for any other.
fn digit(key: &KeyPress<'_>) -> Option<usize> {
    let KeyCode::Char(typed) = key.event()?.code else { return None };
    usize::try_from(typed.to_digit(10)?).ok()
}

fn typing_key(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    key: InputKey,
) -> Vec<Intent> {
    let width = conversation.geometry.input.width;
    let effects = match key {
        InputKey::Send if conversation.composer.continue_line() => {
            completion_state::refresh(conversation, shared)
        }
        InputKey::Send => {
            let opened = start_screen::open_selected(conversation);
            return opened.unwrap_or_else(|| submit(conversation, shared, Delivery::Queue));
        }
        InputKey::Steer => return submit(conversation, shared, Delivery::Steer),
        InputKey::History => return vec![Intent::OpenHistory],
        InputKey::Newline => type_in(conversation, shared, '\n'),
        InputKey::File => type_in(conversation, shared, '@'),
        InputKey::Up
            if conversation.composer.is_empty() && !conversation.queue.items().is_empty() =>
        {
            sending::take_back(conversation)
        }
        InputKey::Up => {
            if !start_screen::up(conversation, shared) {
                conversation.composer.up(width);
            }
            Vec::new()
        }
        InputKey::Down => {
            if !start_screen::down(conversation, shared) {
                conversation.composer.down(width);
            }
            Vec::new()
        }
        InputKey::OpenEditor => {
            vec![ScreenEffect::OpenEditor { text: conversation.composer.expanded() }]
        }
        InputKey::PasteImage => image_input::take_clipboard(conversation, shared),
        InputKey::Unfold => unfold(conversation, shared),
    };
    intents(effects)
}

/// Puts the text of the paste at the caret in the place of its chip.
fn unfold(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    match conversation.composer.editor.expand_chip() {
        ChipExpansion::Done => return completion_state::refresh(conversation, shared),
        ChipExpansion::TooLong => {
            let key = shared.settings.keys.key(InputKey::OpenEditor);
            let text =
                format!("This paste is too long to edit here. {key} opens it in your editor.");
            shared.toast(NoticeLevel::Warning, text);
        }
        ChipExpansion::NoChip => {
            shared.toast(NoticeLevel::Info, "Place the cursor next to a paste to unfold it.");
        }
    }
    Vec::new()
}

/// Brings back the last queued message, or else an older text of the history.
fn older(conversation: &mut Conversation) -> Vec<ScreenEffect> {
    if conversation.composer.is_empty() && !conversation.queue.items().is_empty() {
        return sending::take_back(conversation);
    }
    conversation.composer.older();
    Vec::new()
}

fn edit_input(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    edit: EditAction,
) -> Vec<ScreenEffect> {
    conversation.composer.edit(edit, conversation.geometry.input.width);
    completion_state::refresh(conversation, shared)
}

fn type_in(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    c: char,
) -> Vec<ScreenEffect> {
    if c == ':' {
        return completion_state::colon(conversation, shared);
    }
    conversation.composer.type_char(c);
    completion_state::refresh(conversation, shared)
}
