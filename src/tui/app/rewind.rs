//! Going back in the session, and forward again: the list of messages to go back before, and the
//! results of the dialog that shows what would happen.
//!
//! The agent plans and carries out the rewind. A key does only what the dialog shows.

mod dialog;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{self, RewindDestination, RewindError, RewindPlan};
use crate::commands::MessageArgument;
use crate::domain::{EntryId, NoticeLevel, UserInput, pluralise};

use super::block::{BlockBody, ToolCallContent};
use super::commands;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::keymap::ChatKey;
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::picker::{Picker, PickerChoice, PickerItem};
use super::title::first_line;
use super::transcript::BlockId;

pub use dialog::{RewindDialog, RewindFileOutcome, RewindFileQuestion, RewindRow, RewindStage};

const NOTHING_SAID: &str = "Nothing has been said in this session yet.";
/// The second Escape must come within this time.
const DOUBLE_ESCAPE_TIME: Duration = Duration::from_millis(1500);

/// Opens the dialog and asks the agent what going there would do.
pub fn open(model: &mut ScreenModel, to: RewindDestination) -> Vec<ScreenEffect> {
    if commands::is_busy(model) {
        let stop = model.shared.settings.keys.key(ChatKey::Back);
        model
            .shared
            .toast(NoticeLevel::Warning, format!("A turn is running. Stop it with {stop} first."));
        return Vec::new();
    }
    if model.conversation.status.session.is_none() {
        model.shared.toast(NoticeLevel::Info, NOTHING_SAID);
        return Vec::new();
    }
    let dialog = RewindDialog::new(RewindStage::Planning);
    model.overlays.push(Overlay::Rewind(Box::new(dialog)));
    vec![ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::PlanRewind(to))]
}

/// A user message that is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewindMessage<'a> {
    /// The message's line of the log.
    pub entry: EntryId,
    pub text: &'a str,
    /// Files changed after this message and before the next one.
    pub files: usize,
}

impl RewindMessage<'_> {
    /// The first line of the message.
    pub fn title(&self) -> String {
        first_line(self.text)
    }

    /// The number of changed files as a phrase; empty if there are none.
    pub fn files_changed(&self) -> String {
        if self.files == 0 { String::new() } else { pluralise(self.files, "file") }
    }
}

/// The user's messages, the newest first.
pub fn user_messages(model: &ScreenModel) -> Vec<RewindMessage<'_>> {
    let mut messages = Vec::new();
    let mut changed = BTreeSet::new();
    for block in model.conversation.transcript.blocks().iter().rev() {
        match &block.body {
            BlockBody::Tool(tool) => {
                if let ToolCallContent::Diff(diff) = &tool.content {
                    changed.insert(&diff.path);
                }
            }
            BlockBody::User(text) => {
                if let Some(entry) = block.entry {
                    messages.push(RewindMessage {
                        entry,
                        text,
                        files: std::mem::take(&mut changed).len(),
                    });
                }
            }
            BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => {}
        }
    }
    messages
}

/// The message that the argument of `/rewind` or `/fork` names.
///
/// # Errors
///
/// A sentence for the user, if the session has no user messages or none fits the argument.
pub fn find(model: &ScreenModel, which: &MessageArgument) -> Result<EntryId, String> {
    let messages = user_messages(model);
    if messages.is_empty() {
        return Err(NOTHING_SAID.to_owned());
    }
    match which {
        MessageArgument::Nth(number) => {
            let found = messages.get(number.saturating_sub(1)).map(|message| message.entry);
            let all = pluralise(messages.len(), "message");
            found.ok_or_else(|| format!("There is no such message: {all} of yours can be chosen."))
        }
        MessageArgument::Containing(words) => {
            let plain = |text: &str| {
                let words: Vec<&str> = text.split_whitespace().collect();
                words.join(" ").to_lowercase()
            };
            let wanted = plain(words);
            let found = messages.iter().find(|message| plain(message.text).contains(&wanted));
            let found = found.map(|message| message.entry);
            found.ok_or_else(|| format!("No message of yours has \"{words}\" in it."))
        }
    }
}

/// Opens the list of the user's messages, the newest first.
pub fn list(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let item = |message: &RewindMessage<'_>| PickerItem {
        label: message.title(),
        detail: String::new(),
        aside: message.files_changed(),
        choice: PickerChoice::Rewind(message.entry),
    };
    let items: Vec<PickerItem> = user_messages(model).iter().map(item).collect();
    if items.is_empty() {
        model.shared.toast(NoticeLevel::Info, NOTHING_SAID);
        return Vec::new();
    }
    model.overlays.push(Overlay::Picker(Box::new(Picker::ready("Go back before", items))));
    Vec::new()
}

/// Handles Escape when there is nothing to close or stop: the second one in a row opens the list.
pub fn escape(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let has_messages =
        model.conversation.transcript.blocks().iter().any(|block| block.entry.is_some());
    if model.conversation.focus != KeyboardFocus::Input || !has_messages {
        model.conversation.focus = KeyboardFocus::Input;
        return Vec::new();
    }
    if model.conversation.rewinding.take().is_some_and(|until| model.shared.now < until) {
        model.shared.toast = None;
        return list(model);
    }
    let key = model.shared.settings.keys.key(ChatKey::Back);
    model.shared.toast(NoticeLevel::Info, format!("{key} again: go back to an earlier message"));
    model.conversation.rewinding = Some(model.shared.now + DOUBLE_ESCAPE_TIME);
    Vec::new()
}

/// Goes back before the message that a block belongs to.
pub fn at(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let upto = model.conversation.transcript.index(block);
    let blocks = model.conversation.transcript.blocks().iter().take(upto + 1).rev();
    let mut messages = blocks.filter(|block| matches!(block.body, BlockBody::User(_)));
    match messages.find_map(|block| block.entry) {
        Some(entry) => open(model, RewindDestination::Before(entry)),
        None => {
            model
                .shared
                .toast(NoticeLevel::Info, "There is no message of yours to go back before.");
            Vec::new()
        }
    }
}

/// Shows the agent's plan in the dialog, or closes the dialog and shows why there is none.
pub fn on_plan(model: &mut ScreenModel, plan: Result<Arc<RewindPlan>, RewindError>) {
    let dialog = |overlay: &Overlay| matches!(overlay, Overlay::Rewind(_));
    let Some(at) = model.overlays.iter().position(dialog) else { return };
    match plan {
        Ok(plan) => {
            if let Some(Overlay::Rewind(dialog)) = model.overlays.get_mut(at) {
                **dialog = RewindDialog::new(RewindStage::Planned(plan));
            }
        }
        Err(reason) => {
            model.overlays.remove(at);
            model.shared.toast(NoticeLevel::Warning, reason.to_string());
        }
    }
}

/// The rewind is done, here or in a fork: the message that was taken back returns to the input. A
/// draft there goes to the history.
pub fn on_rewound(
    model: &mut ScreenModel,
    message: Option<UserInput>,
    notice: impl Into<String>,
) -> Vec<ScreenEffect> {
    model.shared.toast(NoticeLevel::Info, notice);
    let Some(message) = message else { return Vec::new() };
    let mut effects = Vec::new();
    if !model.conversation.composer.is_empty() {
        let draft = model.conversation.composer.take();
        effects.extend(commands::remember(model, &draft));
    }
    model.conversation.composer.load(message);
    effects
}
