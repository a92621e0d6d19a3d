//! The paths that the user or the model used lately.

use crate::domain::mention::{MentionTarget, mentions};

use super::Conversation;
use super::block::BlockBody;
use crate::tui::app::shared::SharedState;

/// How many recent paths count.
const REMEMBERED: usize = 50;
/// How many blocks at the transcript's end, and entries of the input history, are searched for
/// recent paths.
const BLOCKS: usize = 300;

/// Paths that the user mentioned or that tools worked on, the newest first.
pub fn recent(conversation: &Conversation, shared: &SharedState) -> Vec<String> {
    let mut recent: Vec<String> = Vec::new();
    let mut add = |path: String| {
        if recent.len() < REMEMBERED && !recent.contains(&path) {
            recent.push(path);
        }
    };
    for block in conversation.transcript.blocks().iter().rev().take(BLOCKS) {
        match &block.body {
            BlockBody::User(text) => named_in(text).for_each(&mut add),
            BlockBody::Tool(tool) => {
                let input = tool.input.as_ref();
                let path = input.and_then(|input| input.get("file_path")?.as_str());
                let inside = path.and_then(|path| {
                    let path = std::path::Path::new(path);
                    path.strip_prefix(&shared.settings.cwd).unwrap_or(path).to_str()
                });
                if let Some(path) = inside {
                    add(path.to_owned());
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
    for sent in conversation.composer.history.entries().iter().rev().take(BLOCKS) {
        named_in(&sent.typed.text).for_each(&mut add);
    }
    recent
}

/// The paths mentioned in a text. A text over 20,000 bytes is skipped, so that a huge message costs
/// nothing.
fn named_in(text: &str) -> impl Iterator<Item = String> {
    let text = if text.len() > 20_000 { "" } else { text };
    mentions(text).into_iter().filter_map(|mention| match mention.target {
        MentionTarget::Path { path, .. } => Some(path),
        MentionTarget::Session(_) | MentionTarget::Resource { .. } => None,
    })
}
