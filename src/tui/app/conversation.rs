//! All that belongs to one agent on the screen: its transcript with everything done in it, the input
//! and its queue, and what is known of its session.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::{AgentId, ApprovalRequest, TodoItem};

use super::block::BlockId;
use super::changes::SessionChanges;
use super::completion_items::CompletionList;
use super::composer::{CaretShape, ChatComposer};
use super::focus::KeyboardFocus;
use super::jump::PendingJump;
use super::mouse::MouseDrag;
use super::queue::MessageQueue;
use super::rules::DeniedCall;
use super::scroll::TranscriptScroll;
use super::search::TranscriptSearch;
use super::select::{ClickCounter, TranscriptSelection};
use super::status::ScreenStatus;
use super::transcript::Transcript;
use super::turn::TurnActivity;

/// The conversation with one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The agent that is talked to.
    pub agent: AgentId,
    /// Facts for the first line of the screen.
    pub status: ScreenStatus,
    pub transcript: Transcript,
    /// The scroll position of the transcript.
    pub scroll: TranscriptScroll,
    /// The selected text of the transcript.
    pub selection: Option<TranscriptSelection>,
    /// The search in the transcript, while it is open.
    pub search: Option<Box<TranscriptSearch>>,
    /// Counts clicks, to tell double and triple clicks.
    pub clicks: ClickCounter,
    /// What the held mouse button drags.
    pub drag: Option<MouseDrag>,
    /// The pane whose head the mouse button went down on; a click there folds it.
    pub pressed: Option<BlockId>,
    /// The screen cell (column, row) at which a selection ends. It is resolved after the next
    /// frame, when the rows under it are known.
    pub pending_drag_end: Option<(u16, u16)>,
    /// The target of the last jump to a message or error.
    pub visited: Option<BlockId>,
    pub composer: ChatComposer,
    /// The completion list at the caret.
    pub completion: Option<CompletionList>,
    /// Byte offset of the typed word whose completion list the user closed, so that it stays
    /// closed.
    pub dismissed: Option<usize>,
    /// The input's revision after a completion inserted a file and a space.
    pub mentioned: Option<u64>,
    /// The folder in the path that is being typed, and the names in it.
    pub folder: Option<(String, Vec<String>)>,
    /// A file whose line range was being typed, and its number of lines; `None` if that is unknown.
    pub line_count: Option<(String, Option<u64>)>,
    pub focus: KeyboardFocus,
    /// Messages typed while a turn runs.
    pub queue: MessageQueue,
    pub turn: TurnActivity,
    /// A jump to a place in a session that is not loaded yet.
    pub pending_jump: Option<PendingJump>,
    /// The files that the session changed.
    pub changes: SessionChanges,
    /// The tool calls that were denied in this session.
    pub denied_calls: Vec<DeniedCall>,
    /// The model's plan.
    pub todos: Vec<TodoItem>,
    /// Permission questions that wait behind the one on screen.
    pub questions: VecDeque<ApprovalRequest>,
    /// Until then another Escape opens the list of messages to rewind to.
    pub rewinding: Option<Duration>,
}

impl Conversation {
    /// A conversation in which nothing has been said, in the working folder `cwd`.
    pub fn new(agent: AgentId, cwd: PathBuf, status: ScreenStatus, composer: ChatComposer) -> Self {
        Self {
            agent,
            status,
            transcript: Transcript::new(cwd),
            scroll: TranscriptScroll::default(),
            selection: None,
            search: None,
            clicks: ClickCounter::default(),
            drag: None,
            pressed: None,
            pending_drag_end: None,
            visited: None,
            composer,
            completion: None,
            dismissed: None,
            mentioned: None,
            folder: None,
            line_count: None,
            focus: KeyboardFocus::Input,
            queue: MessageQueue::default(),
            turn: TurnActivity::Idle,
            pending_jump: None,
            changes: SessionChanges::default(),
            denied_calls: Vec::new(),
            todos: Vec::new(),
            questions: VecDeque::new(),
            rewinding: None,
        }
    }

    /// The shape of the terminal's cursor, while no overlay has the keys.
    pub fn caret_shape(&self) -> CaretShape {
        match self.focus {
            KeyboardFocus::Input => self.composer.caret_shape(),
            KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_) | KeyboardFocus::Sidebar => {
                CaretShape::Bar
            }
        }
    }
}
