//! Going back in the session: the messages to go back before, and what remains to be done here
//! afterwards. The dialog that shows what would happen is `dialogs::rewind`; the agent plans and
//! carries out the rewind.

use std::collections::BTreeSet;

use crate::commands::MessageArgument;
use crate::domain::{EntryId, NoticeLevel, UserInput, pluralise};

use super::block::{BlockBody, ToolCallContent};
use super::sending;
use super::transcript::{BlockId, Transcript};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::shared::SharedState;

/// The most characters of a message that a list shows and searches.
const TITLE_CHARS: usize = 2_000;

/// Said where there is no message of the user to go back before.
pub const NOTHING_SAID: &str = "This session has no messages yet.";

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
    /// The message on one line: what is typed to find it can be in any line of it.
    pub fn title(&self) -> String {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        words.join(" ").chars().take(TITLE_CHARS).collect()
    }

    /// The number of changed files as a phrase; empty if there are none.
    pub fn files_changed(&self) -> String {
        if self.files == 0 { String::new() } else { pluralise(self.files, "file") }
    }
}

/// The user's messages, the newest first.
pub fn user_messages(transcript: &Transcript) -> Vec<RewindMessage<'_>> {
    let mut messages = Vec::new();
    let mut changed = BTreeSet::new();
    for block in transcript.blocks().iter().rev() {
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
            | BlockBody::Lookups
            | BlockBody::TurnEnd(_)
            | BlockBody::Compacted(_) => {}
        }
    }
    messages
}

/// The message that the argument of `/rewind` or `/fork` names.
///
/// # Errors
///
/// A sentence for the user, if the session has no user messages or none fits the argument.
pub fn find(transcript: &Transcript, which: &MessageArgument) -> Result<EntryId, String> {
    let messages = user_messages(transcript);
    if messages.is_empty() {
        return Err(NOTHING_SAID.to_owned());
    }
    match which {
        MessageArgument::Nth(number) => {
            let found = messages.get(number.saturating_sub(1)).map(|message| message.entry);
            let all = pluralise(messages.len(), "message");
            found.ok_or_else(|| {
                format!("There is no such message: this session has {all} of yours.")
            })
        }
        MessageArgument::Containing(words) => {
            let plain = |text: &str| {
                let words: Vec<&str> = text.split_whitespace().collect();
                words.join(" ").to_lowercase()
            };
            let wanted = plain(words);
            let found = messages.iter().find(|message| plain(message.text).contains(&wanted));
            let found = found.map(|message| message.entry);
            found.ok_or_else(|| format!("None of your messages contains \"{words}\"."))
        }
    }
}

/// The message of the user that a block belongs to; `None` if there is none in the log.
pub fn message_of(transcript: &Transcript, block: BlockId) -> Option<EntryId> {
    let upto = transcript.index(block);
    let blocks = transcript.blocks().iter().take(upto + 1).rev();
    let mut messages = blocks.filter(|block| matches!(block.body, BlockBody::User(_)));
    messages.find_map(|block| block.entry)
}

/// The rewind is done, here or in a fork: the message that was taken back returns to the input. A
/// draft there goes to the history.
pub fn on_rewound(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    message: Option<UserInput>,
    notice: impl Into<String>,
) -> Vec<ScreenEffect> {
    shared.toast(NoticeLevel::Info, notice);
    let Some(mut message) = message else { return Vec::new() };
    // What was sent as a message comes back as one: an imported log may have any text.
    if message.text.starts_with(['!', '/']) {
        message.text.insert(0, ' ');
    }
    let mut effects = Vec::new();
    if !conversation.composer.is_empty() {
        let draft = conversation.composer.take();
        effects.extend(sending::remember(conversation, shared, &draft));
    }
    conversation.composer.load(message);
    effects
}
