//! Copying from the transcript: the selection, a pane, the last answer or code block, all of it.

use crate::commands::CopyArgument;

use super::Conversation;
use super::block::BlockId;
use super::sending::warn;
use super::source;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::shared::SharedState;

/// Copies the text of a block.
pub fn copy_block(conversation: &Conversation, block: BlockId) -> Vec<ScreenEffect> {
    let text = conversation.transcript.get(block).map(source::of_block).unwrap_or_default();
    if text.is_empty() { Vec::new() } else { vec![ScreenEffect::Copy { text, what: "the pane" }] }
}

/// Copies the last code block within a transcript block.
pub fn copy_code_of(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    block: BlockId,
) -> Vec<ScreenEffect> {
    match conversation.transcript.get(block).and_then(source::last_code) {
        Some(text) => vec![ScreenEffect::Copy { text, what: "the code block" }],
        None => warn(shared, "No code block here."),
    }
}

/// Copies the selected text.
pub fn copy_selection(conversation: &Conversation) -> Vec<ScreenEffect> {
    let text = conversation
        .selection
        .map(|selection| selection.text(&conversation.transcript))
        .unwrap_or_default();
    if text.is_empty() {
        Vec::new()
    } else {
        vec![ScreenEffect::Copy { text, what: "the selection" }]
    }
}

/// Copies the last answer, the last code block or the whole session.
pub fn copy(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    what: CopyArgument,
) -> Vec<ScreenEffect> {
    let blocks = conversation.transcript.blocks();
    let (text, what, none) = match what {
        CopyArgument::Answer => {
            let text = conversation.transcript.last_answer().map(str::to_owned);
            (text, "the last answer", "No answer to copy yet.")
        }
        CopyArgument::Code => {
            let text = blocks.iter().rev().find_map(source::last_code);
            (text, "the last code block", "No code block to copy yet.")
        }
        CopyArgument::All => {
            let text = source::whole(&conversation.transcript);
            let text = (!text.is_empty()).then_some(text);
            (text, "the whole session", "Nothing to copy yet.")
        }
    };
    match text {
        Some(text) => vec![ScreenEffect::Copy { text, what }],
        None => warn(shared, none),
    }
}
