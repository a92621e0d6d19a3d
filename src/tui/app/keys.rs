//! What a key does: the keys that work everywhere come first, then the topmost dialog, then the list
//! of sessions, then the part of the chat with the focus. What they ask for elsewhere, their intents,
//! is carried out here, too.
//!
//! Key sequences are followed here. A key that starts a sequence waits for the next key. A key that
//! does not continue the sequence ends it and does nothing else, except for the keys that work
//! everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::agent;
use crate::domain::{AgentId, ApprovalAnswer, NoticeLevel, PermissionMode};
use crate::services::text_document::TextDocument;
use crate::tui::dialogs::key_sheet::{self, KeySheet};
use crate::tui::dialogs::pager::{self, Pager};
use crate::tui::dialogs::picker::history;
use crate::tui::dialogs::prompt_arguments::PromptArgumentDialog;
use crate::tui::dialogs::stack::DialogIntents;
use crate::tui::dialogs::{
    Dialog, DialogContext, EarlyKey, agents, changes, remember, rewind, turn_review,
};

use super::approval_events;
use super::chat_keys;
use super::commands;
use super::conversation::Conversation;
use super::conversation::completion_items;
use super::conversation::jump;
use super::conversation::navigation;
use super::conversation::queue::Delivery;
use super::conversation::rule_offers;
use super::conversation::search;
use super::conversation::sending;
use super::dialog_reply::DialogReply;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::intent::{AnswerFollowUp, Intent};
use super::keymap::{
    self, AlwaysKey, InputKey, KeyContext, KeyPlace, KeyPress, KeyPressProgress, PendingKeys,
    SEQUENCE_TIMEOUT,
};
use super::model::ScreenModel;
use super::race;
use super::saved_rules;
use super::shared::SharedState;
use super::sidebar::{self, SidebarVisibility};
use super::tour::{TOUR_KEYS, TourState};

/// Handles a key event. Starts, continues or ends a key sequence.
pub fn key(model: &mut ScreenModel, key: KeyEvent) -> Vec<ScreenEffect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    model.shared.end_seen_toast();
    if model.dialogs.takes_everything() {
        model.shared.pending = None;
        let top = model.dialogs.top_index();
        let taken = on_dialog(model, top, |dialog, around| Some(dialog.raw_key(key, around)));
        return taken.flatten().unwrap_or_default();
    }
    let keys = Arc::clone(&model.shared.settings.keys);
    let begun = model.shared.pending.take().map_or_else(Vec::new, |pending| pending.chords);
    let press = KeyPress::new(&keys, begun, key);
    let mut effects = pressed(model, &press);
    match (press.progress(), press.chords()) {
        (KeyPressProgress::Incomplete, chords) => {
            let until = model.shared.now + SEQUENCE_TIMEOUT;
            model.shared.pending = Some(PendingKeys { chords: chords.to_vec(), until });
        }
        (KeyPressProgress::Known, _) | (KeyPressProgress::Unknown, [] | [_]) => {}
        (KeyPressProgress::Unknown, chords) => {
            // The key ends the sequence and does nothing else, except for those that hold everywhere.
            let alone = KeyPress::new(&keys, Vec::new(), key);
            match keymap::find(keymap::ALWAYS, &alone) {
                Some(key) => effects.extend(always_key(model, key)),
                None if key.code == KeyCode::Esc => {}
                None => {
                    let text = format!("{} does nothing here", keymap::in_words(chords));
                    model.shared.toast(NoticeLevel::Info, text);
                }
            }
        }
    }
    effects
}

/// The place that a key is looked up in for the current focus.
pub fn place(model: &ScreenModel) -> KeyPlace {
    match model.dialogs.top() {
        Some(dialog) => dialog.place(),
        None if has_sessions(model) => model.sidebar.place(),
        None => chat_keys::place(&model.conversation),
    }
}

/// Inserts text in one piece into whatever is being typed.
pub fn paste(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    let top = model.dialogs.top_index();
    let taken = on_dialog(model, top, |dialog, around| dialog.paste(text, around));
    if let Some(Some(effects)) = taken {
        return effects;
    }
    if model.dialogs.is_empty() && has_sessions(model) {
        return sidebar::paste(&mut model.sidebar, &mut model.shared, text);
    }
    chat_keys::paste(&mut model.conversation, &mut model.shared, text)
}

/// Handles a press: the keys that hold everywhere come first, then the topmost dialog, then the list
/// of sessions or the chat.
pub fn pressed(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    let always = keymap::find(keymap::ALWAYS, key);
    if let Some(key) = always.filter(|key| model.shared.tour.is_some() || !TOUR_KEYS.contains(key))
    {
        return always_key(model, key);
    }
    model.shared.leaving = None;
    if keymap::typed(key) == Some(saved_rules::UNDO_KEY) && can_undo_rules(model) {
        return saved_rules::undo(&mut model.shared);
    }
    if is_text_below_question(model) && is_for_text(key) {
        let now = model.shared.now;
        model.dialogs.on_guard(|guard| guard.text_typed(now));
        let wanted = chat_keys::key(&mut model.conversation, &mut model.shared, key);
        return carry_out(model, None, wanted);
    }
    // A dialog that does not take keys yet leaves them to what is under it.
    let depth = match model.dialogs.top().map(|dialog| dialog.early_key(key)) {
        None | Some(None) => 1,
        Some(Some(EarlyKey::PassThrough)) => 2,
        Some(Some(EarlyKey::Text)) if model.dialogs.len() == 1 => {
            let now = model.shared.now;
            model.dialogs.on_guard(|guard| guard.text_typed(now));
            2
        }
        Some(Some(EarlyKey::Text)) if model.dialogs.takes_answers() => 1,
        Some(Some(EarlyKey::Text)) => 2,
        Some(Some(EarlyKey::Discard)) => return Vec::new(),
    };
    let at = model.dialogs.len().checked_sub(depth);
    let taken = on_dialog(model, at, |dialog, around| Some(dialog.key(key, around)));
    if let Some(Some(effects)) = taken {
        return effects;
    }
    if has_sessions(model) {
        let open = model.conversation.status.session;
        if let Some(wanted) = sidebar::key(&mut model.sidebar, &mut model.shared, open, key) {
            return carry_out(model, None, wanted);
        }
    }
    let wanted = chat_keys::key(&mut model.conversation, &mut model.shared, key);
    carry_out(model, None, wanted)
}

/// Whether the user has typed text below a question that has no text field itself.
pub fn is_text_below_question(model: &ScreenModel) -> bool {
    let conversation = &model.conversation;
    model.dialogs.len() == 1
        && model.dialogs.top().is_some_and(|dialog| {
            dialog.guard().is_some() && !dialog.place().contexts().contains(&KeyContext::Editing)
        })
        && conversation.focus == KeyboardFocus::Input
        && !conversation.composer.is_empty()
}

/// Whether a key sends or deletes text that is being typed. Where there is such text below a question,
/// the key is never an answer.
fn is_for_text(key: &KeyPress<'_>) -> bool {
    let deletes = key.event().is_some_and(|event| {
        matches!(event.code, KeyCode::Backspace | KeyCode::Delete)
            || event.modifiers.contains(KeyModifiers::CONTROL)
    });
    let sends = [InputKey::Send, InputKey::Newline, InputKey::Steer].map(Some);
    sends.contains(&keymap::find(keymap::INPUT, key))
        || deletes
            && keymap::find(keymap::EDITING, key).is_some()
            && keymap::find(keymap::APPROVAL, key).is_none()
}

/// Does one of the actions that hold everywhere.
pub fn always_key(model: &mut ScreenModel, key: AlwaysKey) -> Vec<ScreenEffect> {
    match key {
        AlwaysKey::Redraw => vec![ScreenEffect::Redraw],
        AlwaysKey::Suspend => vec![ScreenEffect::Suspend],
        AlwaysKey::SkipMark => {
            model.shared.tour.as_mut().into_iter().for_each(TourState::skip);
            Vec::new()
        }
        AlwaysKey::LeaveTour => {
            if model.shared.tour.take().is_some() {
                let text = "You left the tour. `slug --demo` starts it again.";
                model.shared.toast(NoticeLevel::Info, text);
            }
            Vec::new()
        }
        AlwaysKey::Cancel if is_text_below_question(model) => {
            chat_keys::cancel(&mut model.conversation, &mut model.shared)
        }
        AlwaysKey::Cancel => match model.dialogs.top().map(|dialog| dialog.cancel()) {
            Some(wanted) => {
                let top = model.dialogs.top_index();
                carry_out(model, top, wanted)
            }
            None if search::keys::is_typed(&model.conversation) => {
                search::keys::back(&mut model.conversation);
                Vec::new()
            }
            None => chat_keys::cancel(&mut model.conversation, &mut model.shared),
        },
    }
}

/// Has the dialog of an index do something, and carries out what it asks for. `None` if there is no
/// such dialog; the inner `None` if the dialog leaves it to what is under it.
pub fn on_dialog(
    model: &mut ScreenModel,
    at: Option<usize>,
    act: impl FnOnce(&mut dyn Dialog, &mut DialogContext<'_>) -> Option<Vec<Intent>>,
) -> Option<Option<Vec<ScreenEffect>>> {
    let at = at?;
    let wanted = model.dialogs.with(at, &model.conversation, &mut model.shared, act)?;
    Some(wanted.map(|wanted| carry_out(model, Some(at), wanted)))
}

/// Tells the open dialogs, and carries out what they ask for.
pub fn tell_dialogs(model: &mut ScreenModel, reply: &DialogReply) -> Vec<ScreenEffect> {
    let asked = model.dialogs.reply(reply, &model.conversation, &mut model.shared);
    carry_out_each(model, asked)
}

/// Carries out what dialogs ask for.
pub fn carry_out_each(model: &mut ScreenModel, asked: DialogIntents) -> Vec<ScreenEffect> {
    let each = asked.into_iter();
    each.flat_map(|(at, wanted)| carry_out(model, Some(at), wanted)).collect()
}

/// Carries out what a slice or dialog asks for; `from` is the index of the dialog, if it is one.
pub fn carry_out(
    model: &mut ScreenModel,
    mut from: Option<usize>,
    intents: Vec<Intent>,
) -> Vec<ScreenEffect> {
    let mut effects = Vec::new();
    for intent in intents {
        match intent {
            Intent::Effect(effect) => effects.push(effect),
            Intent::Command(command) => {
                effects.push(ScreenEffect::Agent(model.conversation.agent, command));
            }
            Intent::Toast(level, text) => model.shared.toast(level, text),
            Intent::Close => {
                if let Some(at) = from.take() {
                    model.dialogs.close(at);
                }
            }
            Intent::Answer(id, answer, then) => {
                let asker = model.shared.asker.take();
                let (agent, rules) = asker.map_or_else(
                    || (model.conversation.agent, Vec::new()),
                    |it| (it.agent, it.counted_rules),
                );
                let ScreenModel { conversation, background, .. } = &mut *model;
                count_answer(background.get_mut(&agent).unwrap_or(conversation), &rules, &answer);
                let command = agent::AgentCommand::Answer { id, answer };
                effects.push(ScreenEffect::Agent(agent, command));
                let ScreenModel { conversation, background, shared, .. } = &mut *model;
                effects.extend(follow_up(conversation, background, shared, (agent, then)));
                approval_events::show_next_question(model, EarlyKey::Discard);
            }
            Intent::AnswerQuestions(id, answers) => {
                if let Some(at) = from.take() {
                    model.dialogs.close(at);
                }
                let asker = model.shared.asker.take();
                let agent = asker.map_or(model.conversation.agent, |it| it.agent);
                let command = agent::AgentCommand::AnswerQuestions { id, answers };
                effects.push(ScreenEffect::Agent(agent, command));
                approval_events::show_next_question(model, EarlyKey::Discard);
            }
            Intent::ShowQuestion => {
                approval_events::show_next_question(model, EarlyKey::Discard);
            }
            Intent::ScrollTranscript(how) => navigation::scroll(&mut model.conversation, how),
            Intent::Choose(choice) => effects.extend(commands::choose(model, choice)),
            Intent::MarkModel(name) => {
                model.shared.toggle_favourite(&name);
                let items = completion_items::models(&model.conversation, &model.shared);
                effects.extend(tell_dialogs(model, &DialogReply::ModelRows(items)));
                effects.push(ScreenEffect::ToggleFavourite(name));
            }
            Intent::OpenChanges(file) => {
                let opening = changes::open(&model.conversation, &mut model.shared, file);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::Run(command) => effects.extend(commands::run(model, command)),
            Intent::WhenIdle(command) => {
                let (conversation, shared) = (&mut model.conversation, &mut model.shared);
                effects.extend(sending::when_idle(conversation, shared, command));
            }
            Intent::FocusInput => model.conversation.focus = KeyboardFocus::Input,
            Intent::FocusSessions => model.conversation.focus = KeyboardFocus::Sidebar,
            Intent::ReturnToSessions => {
                if model.sidebar.visibility == SidebarVisibility::Shown {
                    model.conversation.focus = KeyboardFocus::Sidebar;
                }
            }
            Intent::ToggleSessions => {
                let focus = model.conversation.focus;
                let wanted = sidebar::toggle(&mut model.sidebar, &mut model.shared, focus);
                effects.extend(carry_out(model, None, wanted));
            }
            Intent::NextConversation => {
                if let Some(next) = model.next_agent() {
                    let before = model.conversation.agent;
                    model.show(next);
                    race::show(&mut model.dialogs, &model.shared, (next, before));
                }
            }
            Intent::ShowAgent(agent, session) => {
                // An id in the log of another process may be that of another agent by now.
                let is_it =
                    |talk: &Conversation| session.is_none() || talk.status.session == session;
                if model.conversation_with(agent).is_some_and(is_it) {
                    let before = model.conversation.agent;
                    model.show(agent);
                    race::show(&mut model.dialogs, &model.shared, (agent, before));
                } else if let Some(session) = session {
                    let command = agent::AgentCommand::Resume { session };
                    let (conversation, shared) = (&mut model.conversation, &mut model.shared);
                    effects.extend(sending::when_idle(conversation, shared, command));
                }
            }
            Intent::StopAgent(agent) => {
                let ScreenModel { conversation, background, .. } = &mut *model;
                let of_agent = background.get_mut(&agent).unwrap_or(conversation);
                effects.extend(sending::stop_turn(of_agent));
            }
            Intent::OpenAgents => {
                model.dialogs.push(agents::open(model.conversation.agent, &model.shared));
            }
            Intent::OpenHelp => {
                let place = place(model);
                model.dialogs.push(KeySheet::new(place));
            }
            Intent::OpenAllKeys => {
                let place = place(model);
                model.dialogs.push(key_sheet::all_keys(&model.shared, place));
            }
            Intent::OpenPalette => {
                let place = place(model);
                commands::open_palette(&mut model.dialogs, &model.shared, place);
            }
            Intent::OpenHistory => {
                let opening = history::open(&model.conversation, &mut model.shared);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::ListMessages => {
                let opening = rewind::list(&model.conversation, &mut model.shared);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::OpenRewind(to) => {
                let opening = rewind::open(&model.conversation, &mut model.shared, to);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::OpenReview(scope) => {
                let opening = turn_review::open(&model.conversation, &mut model.shared, scope);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::ViewBlock(block) => {
                let (conversation, shared) = (&model.conversation, &mut model.shared);
                effects.extend(commands::view_block(
                    &mut model.dialogs,
                    conversation,
                    shared,
                    block,
                ));
            }
            Intent::ExplainBlock(block) => {
                let opening = pager::explain(&model.conversation, &mut model.shared, block);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::OpenPagerAt(hit, query) => {
                let opening = pager::open_at(&model.conversation, &mut model.shared, hit, query);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::OpenBranches(page) => model.dialogs.push(Pager::of_branches(page)),
            Intent::OpenText { title, text } => {
                let document = TextDocument::new(model.shared.requests.issue().0, &text);
                model.dialogs.push(Pager::new(title, Arc::new(document)));
            }
            Intent::OpenDocument { title, document } => {
                model.dialogs.push(Pager::new(title, document));
            }
            // The turn of the agent that asks.
            Intent::StopTurn => {
                let ScreenModel { conversation, background, shared, .. } = &mut *model;
                let asker = shared.asker.as_ref().map_or(conversation.agent, |it| it.agent);
                let asking = background.get_mut(&asker).unwrap_or(conversation);
                effects.extend(sending::stop_turn(asking));
            }
            Intent::TellDialogs(reply) => effects.extend(tell_dialogs(model, &reply)),
            Intent::GoTo(place) => {
                effects.extend(jump::go(&mut model.conversation, &mut model.shared, place));
            }
            Intent::AppendToInput(text) => model.conversation.composer.append(text),
            Intent::Send(text) => {
                let (conversation, shared) = (&mut model.conversation, &mut model.shared);
                effects.extend(sending::remember(conversation, shared, &text));
                effects.extend(sending::say(conversation, shared, text, Delivery::Queue));
            }
            Intent::AskWhereToRemember(typed) => {
                let opening = remember::open(model.conversation.agent, typed);
                effects.extend(model.dialogs.open(opening));
            }
            Intent::AskPromptArguments(prompt) => {
                model.dialogs.push(PromptArgumentDialog::new(prompt));
            }
        }
    }
    effects
}

/// Whether the key that takes saved rules back would type nothing and answer nothing now.
fn can_undo_rules(model: &ScreenModel) -> bool {
    let is_free = match model.dialogs.top() {
        Some(dialog) => dialog.place() == KeyPlace::Approval && model.dialogs.takes_answers(),
        None => {
            model.conversation.focus == KeyboardFocus::Input
                && model.conversation.composer.is_empty()
                && !search::keys::is_typed(&model.conversation)
        }
    };
    is_free && saved_rules::is_offered(&model.shared)
}

fn count_answer(asking: &mut Conversation, rules: &[String], answer: &ApprovalAnswer) {
    asking.rule_offers.note(asking.status.session, rules, answer);
}

/// What an answer to a question of `agent` brings with it.
fn follow_up(
    conversation: &mut Conversation,
    background: &mut BTreeMap<AgentId, Conversation>,
    shared: &mut SharedState,
    (agent, then): (AgentId, AnswerFollowUp),
) -> Vec<ScreenEffect> {
    match then {
        AnswerFollowUp::Nothing => Vec::new(),
        // The agent withdraws the other questions of the turn.
        AnswerFollowUp::StopTurn => {
            shared.questions.retain(|(asking, _)| *asking != agent);
            sending::stop_turn(background.get_mut(&agent).unwrap_or(conversation))
        }
        AnswerFollowUp::AllowEdits => {
            let mode = PermissionMode::AllowEdits;
            vec![ScreenEffect::Agent(agent, agent::AgentCommand::SetMode(mode))]
        }
        AnswerFollowUp::AllowWaiting(ids) => {
            let (allowed, rest) = std::mem::take(&mut shared.questions)
                .into_iter()
                .partition::<Vec<_>, _>(|(_, question)| ids.contains(&question.id()));
            shared.questions = rest.into();
            shared.question_number += allowed.len();
            let answers = allowed.into_iter().filter_map(|(agent, question)| {
                let (request, answer) = (question.approval()?, ApprovalAnswer::Once);
                let asking = background.get_mut(&agent).unwrap_or(&mut *conversation);
                count_answer(asking, rule_offers::counted_rules(request), &answer);
                let command = agent::AgentCommand::Answer { id: request.id, answer };
                Some(ScreenEffect::Agent(agent, command))
            });
            answers.collect()
        }
    }
}

/// Whether the list of sessions has the keys, where no dialog has them.
fn has_sessions(model: &ScreenModel) -> bool {
    model.conversation.focus == KeyboardFocus::Sidebar
        && !search::keys::is_typed(&model.conversation)
}

#[cfg(test)]
mod tests;
