//! What the transcript is made of: one block for each thing said or done.

use std::time::Duration;

use serde_json::Value;

use crate::domain::{CallId, ContentHash, EntryId, FileDiff, MessageImage, NoticeLevel};

pub use crate::tui::layout::PaneFold;

pub use super::folds::PaneKind;

/// Names a block for as long as the transcript is open. Later blocks have greater ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u64);

/// One thing said or done.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptBlock {
    /// Its name.
    pub id: BlockId,
    /// Changes whenever the body does, so that laid-out lines can be kept.
    pub revision: u32,
    /// The log's line that it comes from, once there is one.
    pub entry: Option<EntryId>,
    /// What it is.
    pub body: BlockBody,
    /// How the person folded it, if they did.
    pub fold: Option<PaneFold>,
}

/// What a block is.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockBody {
    /// The person said this.
    User(String),
    /// The model said this, in Markdown.
    Assistant(AssistantText),
    /// The model's reasoning.
    Thinking(ThinkingText),
    /// A call.
    Tool(Box<ToolCallBlock>),
    /// An image that the person shows.
    Image(MessageImage),
    /// slug says this.
    Notice(TranscriptNotice),
    /// The person stopped the turn here.
    Interrupted,
    /// What is above is no longer sent in full.
    Compacted,
}

/// Text of the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantText {
    /// The text.
    pub text: String,
    /// How far it is.
    pub state: TextState,
}

/// How far a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextState {
    /// More may come.
    Streaming,
    /// It is complete.
    Done,
    /// Its response failed, and was asked for again.
    Dropped,
}

/// The model's reasoning.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkingText {
    /// The text.
    pub text: String,
    /// How far it is.
    pub state: TextState,
    /// When it began; not known of a past session.
    pub since: Option<Duration>,
    /// How long it took; not known of a past session.
    pub elapsed: Option<Duration>,
}

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallBlock {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What it is about: a path, a command.
    pub title: String,
    /// The arguments, once they are complete and valid.
    pub input: Option<Value>,
    /// Who asked for it.
    pub origin: ToolCallOrigin,
    /// How far it is.
    pub state: ToolCallState,
    /// When it began to run.
    pub since: Option<Duration>,
    /// How long it ran.
    pub elapsed: Option<Duration>,
    /// A few words for the right edge.
    pub summary: Option<String>,
    /// What it shows.
    pub content: ToolCallContent,
    /// Its whole output among the blobs, where the result has only a part of it.
    pub full_output: Option<ContentHash>,
}

/// Who asked for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallOrigin {
    /// The model.
    Model,
    /// The person, with `!`.
    User,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallState {
    /// The model writes its arguments; so many bytes are there.
    Writing(usize),
    /// It waits for its turn, or for an answer.
    Waiting,
    /// It runs.
    Running,
    /// It did what was asked.
    Done,
    /// It failed.
    Failed,
    /// It was refused.
    Denied,
    /// It was stopped, or never came to run.
    Cancelled,
}

/// What a call shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallContent {
    /// Nothing yet.
    Nothing,
    /// Output as it comes.
    Live(LiveOutput),
    /// The result's text.
    Text(String),
    /// Output of a command, with colours.
    Terminal(String),
    /// A changed file.
    Diff(FileDiff),
}

/// Output as it comes: the last part of it. The whole is kept by the tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveOutput {
    /// The last lines.
    pub text: String,
    /// How many lines before them were let go.
    pub hidden: usize,
}

/// Something slug says.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptNotice {
    /// How bad it is.
    pub level: NoticeLevel,
    /// A sentence.
    pub text: String,
}

const LIVE_LIMIT: usize = 128 * 1024;
/// A message of the person's with more lines than this, or more bytes, is folded.
const LONG_MESSAGE: (usize, usize) = (20, 4096);

impl LiveOutput {
    /// Adds output, and lets the oldest go beyond 128 KiB.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() <= LIVE_LIMIT {
            return;
        }
        let mut half = self.text.len() - LIVE_LIMIT / 2;
        while !self.text.is_char_boundary(half) {
            half += 1;
        }
        let cut = self.text[half..].find('\n').map_or(half, |end| half + end + 1);
        self.hidden += self.text[..cut].matches('\n').count();
        self.text.drain(..cut);
    }
}

impl TranscriptBlock {
    /// Whether it has a head that folds it.
    pub fn is_pane(&self) -> bool {
        match &self.body {
            BlockBody::Thinking(_) | BlockBody::Image(_) => true,
            BlockBody::Tool(tool) => {
                tool.content != ToolCallContent::Nothing || tool.input.is_some()
            }
            BlockBody::User(text) => is_long(text),
            BlockBody::Assistant(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => false,
        }
    }

    /// What kind of pane it is, if it is one.
    pub fn kind(&self) -> Option<PaneKind> {
        if !self.is_pane() {
            return None;
        }
        match &self.body {
            BlockBody::Thinking(_) => Some(PaneKind::Thinking),
            BlockBody::Tool(tool) => Some(PaneKind::Tool(tool.name.clone())),
            BlockBody::User(_) => Some(PaneKind::Messages),
            BlockBody::Image(_) => Some(PaneKind::Images),
            BlockBody::Assistant(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => None,
        }
    }

    /// How much of it is shown when nobody has folded it.
    pub fn natural_fold(&self) -> PaneFold {
        match &self.body {
            BlockBody::User(text) if is_long(text) => PaneFold::Preview,
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => PaneFold::Open,
            BlockBody::Thinking(thinking) => match thinking.state {
                TextState::Streaming => PaneFold::Open,
                TextState::Done | TextState::Dropped => PaneFold::Closed,
            },
            BlockBody::Tool(tool) => tool.natural_fold(),
        }
    }
}

impl ToolCallBlock {
    fn natural_fold(&self) -> PaneFold {
        let looks = matches!(self.name.as_str(), "Read" | "Glob" | "Grep");
        let plan = self.name == "TodoWrite";
        match (&self.content, self.state) {
            (ToolCallContent::Nothing, _) if plan => PaneFold::Open,
            (ToolCallContent::Text(_), ToolCallState::Done) if plan => PaneFold::Open,
            (ToolCallContent::Text(_), ToolCallState::Done) if looks => PaneFold::Closed,
            (ToolCallContent::Text(_), ToolCallState::Denied | ToolCallState::Cancelled) => {
                PaneFold::Closed
            }
            (ToolCallContent::Nothing, _) => PaneFold::Closed,
            (ToolCallContent::Diff(_), _) => PaneFold::Open,
            (
                ToolCallContent::Live(_) | ToolCallContent::Text(_) | ToolCallContent::Terminal(_),
                _,
            ) => PaneFold::Preview,
        }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        match self.state {
            ToolCallState::Writing(_) | ToolCallState::Waiting | ToolCallState::Running => false,
            ToolCallState::Done
            | ToolCallState::Failed
            | ToolCallState::Denied
            | ToolCallState::Cancelled => true,
        }
    }
}

fn is_long(text: &str) -> bool {
    text.len() > LONG_MESSAGE.1 || text.lines().nth(LONG_MESSAGE.0).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_output_is_bounded_and_counts_what_it_lets_go() {
        let mut live = LiveOutput::default();
        for number in 0..40_000 {
            live.push(&format!("line {number}\n"));
        }
        assert!(live.text.len() <= LIVE_LIMIT);
        assert_eq!(live.hidden + live.text.lines().count(), 40_000);
        assert!(live.text.starts_with("line ") && live.text.ends_with("line 39999\n"));
    }
}
