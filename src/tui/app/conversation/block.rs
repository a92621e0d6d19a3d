//! What the transcript is made of: one block for each message, tool call or notice.

use std::time::Duration;

use serde_json::Value;

use crate::domain::{
    CallId, ContentHash, EntryId, FileDiff, MessageImage, NoticeLevel, SubagentSummary, ToolKind,
};
use crate::tools::{EXIT_PLAN_MODE, kind_of};

pub use crate::tui::layout::PaneFold;

pub use super::closing_line::ClosingLine;
pub use super::pane_kind::PaneKind;

/// Identifies a block while the transcript is open. Later blocks have greater ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u64);

/// One message, tool call or notice in the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptBlock {
    pub id: BlockId,
    /// Changes whenever the body does, so that laid-out lines can be cached.
    pub revision: u32,
    /// The log record that the block comes from; `None` until it is written.
    pub entry: Option<EntryId>,
    pub body: BlockBody,
    /// How the user folded the pane; `None` if they have not.
    pub fold: Option<PaneFold>,
    /// The line of the run of lookups that the call belongs to.
    pub run: Option<BlockId>,
}

/// What a block shows; one variant for each kind of row group in the transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockBody {
    /// A message of the user.
    User(String),
    /// Text of the model, in Markdown.
    Assistant(AssistantText),
    Thinking(ThinkingText),
    Tool(Box<ToolCallBlock>),
    /// The line above a run of calls that only look something up.
    Lookups,
    /// An image that the user attached.
    Image(MessageImage),
    /// A sentence of slug's own.
    Notice(TranscriptNotice),
    /// The line that says what a turn took and changed.
    TurnEnd(ClosingLine),
    /// The blocks above are no longer sent to the model in full, or are again.
    Compacted(CompactionBlock),
}

/// Text that the model wrote, in Markdown.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantText {
    pub text: String,
    pub state: TextState,
}

/// How far a text of the model has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextState {
    /// More may come.
    Streaming,
    Done,
    /// The response failed and was requested again.
    Dropped,
}

/// The model's reasoning, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkingText {
    pub text: String,
    pub state: TextState,
    /// When it began; not known of a past session.
    pub since: Option<Duration>,
    /// How long it took; not known of a past session.
    pub elapsed: Option<Duration>,
}

/// A tool call, its arguments and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallBlock {
    pub call: CallId,
    pub name: String,
    /// The argument that matters most, such as a path or a command.
    pub title: String,
    /// The arguments, once they are complete and valid.
    pub input: Option<Value>,
    pub origin: ToolCallOrigin,
    pub state: ToolCallState,
    /// When it began to run.
    pub since: Option<Duration>,
    /// How long it ran.
    pub elapsed: Option<Duration>,
    /// A few words for the right edge.
    pub summary: Option<String>,
    /// What the pane shows below its head.
    pub content: ToolCallContent,
    /// The blob with the whole output, if the result holds only a part of it.
    pub full_output: Option<ContentHash>,
    /// Whether the user has taken its changes of files back.
    pub is_undone: bool,
    /// The agent that it has started.
    pub agent: Option<Box<SubagentSummary>>,
}

/// Who asked for a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallOrigin {
    Model,
    /// A shell command typed with `!`.
    User,
}

/// How far a tool call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallState {
    /// The model is writing the arguments; the number of bytes so far.
    Writing(usize),
    /// The call waits for other calls, or for an approval.
    Waiting,
    Running,
    Done,
    Failed,
    /// The user, a rule or a hook refused the call.
    Denied,
    /// The call was stopped, or never started.
    Cancelled,
}

/// What the pane of a tool call shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallContent {
    /// Nothing yet.
    Nothing,
    /// Output while the call runs.
    Live(LiveOutput),
    /// The result's text.
    Text(String),
    /// Output of a command, with colours.
    Terminal(String),
    /// A changed file.
    Diff(FileDiff),
}

/// The last part of the output while a call runs. The tool keeps the whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveOutput {
    /// The last lines, at most `LIVE_LIMIT` bytes.
    pub text: String,
    /// The number of lines dropped before them.
    pub hidden: usize,
}

/// A sentence of slug's own in the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptNotice {
    pub level: NoticeLevel,
    /// One sentence.
    pub text: String,
}

/// A change of what is sent to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionBlock {
    /// What was done, as a sentence.
    pub told: String,
    /// What the model reads in place of older messages; empty where these are only shortened.
    pub note: String,
}

/// Bytes of live output kept for the screen.
const LIVE_LIMIT: usize = 128 * 1024;
/// A user message with more lines than this, or more bytes, is folded to a preview.
const LONG_MESSAGE: (usize, usize) = (20, 4096);

impl LiveOutput {
    /// Appends output. Beyond `LIVE_LIMIT`, drops the oldest lines down to half of it.
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

impl BlockBody {
    /// The tool call that the block shows.
    pub fn tool_call(&self) -> Option<&ToolCallBlock> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }

    pub(super) fn tool_call_mut(&mut self) -> Option<&mut ToolCallBlock> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }

    /// The answer of the model that the block shows.
    pub fn answer(&self) -> Option<&AssistantText> {
        if let Self::Assistant(answer) = self { Some(answer) } else { None }
    }
}

impl ToolCallContent {
    /// The change of a file, if that is what is shown.
    pub fn diff(&self) -> Option<&FileDiff> {
        match self {
            Self::Diff(diff) => Some(diff),
            Self::Nothing | Self::Live(_) | Self::Text(_) | Self::Terminal(_) => None,
        }
    }
}

impl TranscriptBlock {
    /// Whether the block has a head that folds it.
    pub fn is_pane(&self) -> bool {
        match &self.body {
            BlockBody::Thinking(_) | BlockBody::Image(_) | BlockBody::Lookups => true,
            BlockBody::Tool(tool) => {
                tool.content != ToolCallContent::Nothing || tool.input.is_some()
            }
            BlockBody::User(text) => is_long(text),
            BlockBody::Compacted(compaction) => !compaction.note.is_empty(),
            BlockBody::Assistant(_) | BlockBody::Notice(_) | BlockBody::TurnEnd(_) => false,
        }
    }

    /// The kind that fold rules apply to; `None` if the block is not a pane.
    pub fn kind(&self) -> Option<PaneKind> {
        if !self.is_pane() {
            return None;
        }
        match &self.body {
            BlockBody::Thinking(_) => Some(PaneKind::Thinking),
            BlockBody::Tool(tool) => Some(PaneKind::Tool(tool.name.clone())),
            BlockBody::User(_) => Some(PaneKind::Messages),
            BlockBody::Image(_) => Some(PaneKind::Images),
            BlockBody::Compacted(_) => Some(PaneKind::Summaries),
            BlockBody::Lookups => Some(PaneKind::Lookups),
            BlockBody::Assistant(_) | BlockBody::Notice(_) | BlockBody::TurnEnd(_) => None,
        }
    }

    /// How much of the block is shown unless the user or a rule folds it.
    pub fn natural_fold(&self) -> PaneFold {
        match &self.body {
            BlockBody::User(text) if is_long(text) => PaneFold::Preview,
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::TurnEnd(_) => PaneFold::Open,
            BlockBody::Compacted(_) | BlockBody::Lookups => PaneFold::Closed,
            BlockBody::Thinking(thinking) => match thinking.state {
                TextState::Streaming => PaneFold::Open,
                TextState::Done | TextState::Dropped => PaneFold::Closed,
            },
            BlockBody::Tool(tool) => tool.natural_fold(),
        }
    }
}

impl ToolCallBlock {
    /// Whether it changed a file.
    pub fn is_edit(&self) -> bool {
        self.state == ToolCallState::Done && self.content.diff().is_some()
    }

    fn natural_fold(&self) -> PaneFold {
        let is_lookup = kind_of(&self.name).is_lookup();
        let is_plan = self.is_plan();
        match (&self.content, self.state) {
            (ToolCallContent::Nothing, _) if is_plan => PaneFold::Open,
            (ToolCallContent::Text(_), ToolCallState::Done) if is_plan => PaneFold::Open,
            (ToolCallContent::Text(_), ToolCallState::Done) if is_lookup => PaneFold::Closed,
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

    /// Whether the call is the model's plan, and not a change of a single task of it.
    pub fn is_plan(&self) -> bool {
        let has_steps = self.input.as_ref().is_none_or(|input| input.get("todos").is_some());
        kind_of(&self.name) == ToolKind::Think && has_steps
    }

    /// Whether the result is a plan that the user has approved, as the model wrote it.
    pub fn is_approved_plan(&self) -> bool {
        self.name == EXIT_PLAN_MODE && self.state == ToolCallState::Done
    }

    /// Whether the call runs a command.
    pub fn is_command(&self) -> bool {
        kind_of(&self.name) == ToolKind::Execute
    }

    /// Whether the call has ended, in whatever way.
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
    fn live_output_is_bounded_and_counts_dropped_lines() {
        let mut live = LiveOutput::default();
        for number in 0..40_000 {
            live.push(&format!("line {number}\n"));
        }
        assert!(live.text.len() <= LIVE_LIMIT);
        assert_eq!(live.hidden + live.text.lines().count(), 40_000);
        assert!(live.text.starts_with("line ") && live.text.ends_with("line 39999\n"));
    }
}
