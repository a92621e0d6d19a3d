//! All the state of the screen: one field for each component, and the state that components share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::StatusItems;
use crate::domain::{ApprovalRequest, NoticeLevel, SandboxSummary, TodoItem};
use crate::platform::graphics::GraphicsCanvas;

use super::attention::UserAttention;
use super::caret::TranscriptCaret;
use super::changes::SessionChanges;
use super::completion_items::CompletionList;
use super::composer::{CaretShape, ChatComposer, EditingMode};
use super::effect::RequestId;
use super::geometry::ScreenGeometry;
use super::jump::PendingJump;
use super::keymap::{Keymap, PendingKeys};
use super::mouse::MouseDrag;
use super::msg::ModelRow;
use super::overlay::Overlay;
use super::pictures::PictureCache;
use super::queue::MessageQueue;
use super::rules::DeniedCall;
use super::scroll::TranscriptScroll;
use super::search::TranscriptSearch;
use super::select::{ClickCounter, TranscriptSelection};
use super::sessions::SessionList;
use super::sidebar::Sidebar;
use super::status::ScreenStatus;
use super::status_line::StatusLine;
use super::theme_state::{self, ThemeState};
use super::transcript::{BlockId, Transcript};
use super::turn::TurnActivity;
use super::wheel::{WheelRemainder, WheelSettings};

/// The state of the screen. `update` changes it; the view only reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenModel {
    /// Time since slug started, as of the last message.
    pub now: Duration,
    pub settings: ScreenSettings,
    pub theme: ThemeState,
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
    /// Whether something changed after the last frame, so that another one is needed.
    pub needs_redraw: bool,
    /// Wheel movement that has not yet made a whole row.
    pub wheel_remainder: WheelRemainder,
    /// The target of the last jump to a message or error.
    pub visited: Option<BlockId>,
    pub composer: ChatComposer,
    /// The completion list at the caret.
    pub completion: Option<CompletionList>,
    /// Byte offset of the typed word whose completion list the user closed, so that it stays
    /// closed.
    pub dismissed: Option<usize>,
    pub focus: KeyboardFocus,
    /// The keys so far of an unfinished key sequence.
    pub pending: Option<PendingKeys>,
    /// Messages typed while a turn runs.
    pub queue: MessageQueue,
    pub turn: TurnActivity,
    pub sidebar: Sidebar,
    /// A jump to a place in a session that is not loaded yet.
    pub pending_jump: Option<PendingJump>,
    /// The files that the session changed.
    pub changes: SessionChanges,
    /// The tool calls that were denied in this session.
    pub denied_calls: Vec<DeniedCall>,
    /// The model's plan.
    pub todos: Vec<TodoItem>,
    /// Overlays over the chat, the topmost last.
    pub overlays: Vec<Overlay>,
    /// Permission questions that wait behind the one on screen.
    pub questions: VecDeque<ApprovalRequest>,
    /// A short notice in the last line.
    pub toast: Option<Toast>,
    /// Until then another ctrl+c leaves.
    pub leaving: Option<Duration>,
    /// Until then another Escape opens the list of messages to rewind to.
    pub rewinding: Option<Duration>,
    /// The layout of the last frame.
    pub geometry: ScreenGeometry,
    /// The workspace's files and folders, for `@`.
    pub files: Arc<Vec<String>>,
    /// The folder in the path that is being typed, and the names in it.
    pub folder: Option<(String, Vec<String>)>,
    /// A file whose line range was being typed, and its number of lines; `None` if that is unknown.
    pub line_count: Option<(String, Option<u64>)>,
    /// Past sessions, for `@session:`.
    pub sessions: Option<SessionList>,
    /// The input's revision after a completion inserted a file and a space.
    pub mentioned: Option<u64>,
    /// The server's models, for `/model`.
    pub models: Vec<ModelRow>,
    /// Requests without an answer yet.
    pub requests: PendingRequests,
    pub attention: UserAttention,
    /// Output of the user's status command.
    pub status_line: StatusLine,
    pub pictures: PictureCache,
}

/// What does not change while slug runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScreenSettings {
    /// The working folder.
    pub cwd: PathBuf,
    /// The user's home folder, shown as `~`.
    pub home: Option<PathBuf>,
    pub motion: MotionPreference,
    pub wheel: WheelSettings,
    pub keys: Arc<Keymap>,
    /// The end of a turn that took at least this long makes a notification.
    pub notify_after: Duration,
    /// The items of the first line.
    pub status_items: StatusItems,
    /// Whether the user configured a command for the first line.
    pub status_command: StatusCommandState,
    pub typing: EditingMode,
    /// Seconds by which the user's local time is ahead of UTC.
    pub clock: i32,
    /// How pictures are drawn, and the id of the first one; `None` if the terminal shows no
    /// pictures.
    pub canvas: Option<(GraphicsCanvas, u32)>,
    /// The active sandbox.
    pub boundary: Option<SandboxSummary>,
}

/// Whether the user configured a command whose output the first line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusCommandState {
    #[default]
    None,
    Given,
}

/// Whether the screen may animate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MotionPreference {
    /// The normal, small animations.
    #[default]
    Full,
    /// No animation; counters of seconds change every [`REDUCED_MOTION_SECONDS`].
    Reduced,
}

/// The part of the screen that gets the keys, below any overlay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyboardFocus {
    #[default]
    Input,
    /// A block of the transcript.
    Pane(BlockId),
    /// The caret in the transcript, to select text.
    Caret(TranscriptCaret),
    /// The list of sessions.
    Sidebar,
}

/// A short notice in the last line, shown for `TOAST_TIME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    pub level: NoticeLevel,
    /// When it disappears.
    pub until: Duration,
}

/// The last request of each kind that has no answer yet. Answers to other requests are dropped as
/// stale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingRequests {
    last: RequestId,
    /// Index of the workspace's files, for `@`.
    pub files: Option<RequestId>,
    /// Ranking of the paths for the text behind `@`.
    pub rank: Option<RequestId>,
    /// More of the input history.
    pub history: Option<RequestId>,
    /// The number of lines of a file.
    pub lines: Option<RequestId>,
    /// The content of the folder that is being typed.
    pub folder: Option<RequestId>,
    /// The list of sessions, for `@session:` and `/sessions`.
    pub sessions: Option<RequestId>,
    /// The state of git, for the first line.
    pub git: Option<RequestId>,
    /// The list of models, for `/model`.
    pub models: Option<RequestId>,
    /// The saved folds of the open session's panes.
    pub folds: Option<RequestId>,
    /// The older part of a long session.
    pub backfill: Option<RequestId>,
    /// The themes, for `/theme`, and what to do with them.
    pub themes: Option<(RequestId, theme_state::ThemeReadPurpose)>,
}

/// Seconds between two changes of a counter of seconds under [`MotionPreference::Reduced`].
pub const REDUCED_MOTION_SECONDS: u64 = 5;
const TOAST_TIME: Duration = Duration::from_secs(4);

impl PendingRequests {
    /// A new id, unique while slug runs.
    pub fn issue(&mut self) -> RequestId {
        self.last = RequestId(self.last.0 + 1);
        self.last
    }
}

impl ScreenModel {
    /// An empty screen of this size (columns, rows).
    pub fn new(
        settings: ScreenSettings,
        status: ScreenStatus,
        mut composer: ChatComposer,
        size: (u16, u16),
    ) -> Self {
        composer.set_typing(settings.typing);
        Self {
            now: Duration::ZERO,
            transcript: Transcript::new(settings.cwd.clone()),
            sidebar: Sidebar::new(settings.cwd.clone()),
            pending_jump: None,
            settings,
            theme: ThemeState::default(),
            status,
            scroll: TranscriptScroll::default(),
            selection: None,
            search: None,
            clicks: ClickCounter::default(),
            drag: None,
            pressed: None,
            pending_drag_end: None,
            needs_redraw: false,
            wheel_remainder: WheelRemainder::default(),
            visited: None,
            composer,
            completion: None,
            dismissed: None,
            focus: KeyboardFocus::Input,
            pending: None,
            queue: MessageQueue::default(),
            turn: TurnActivity::Idle,
            changes: SessionChanges::default(),
            denied_calls: Vec::new(),
            todos: Vec::new(),
            overlays: Vec::new(),
            questions: VecDeque::new(),
            toast: None,
            leaving: None,
            rewinding: None,
            geometry: ScreenGeometry::of_size(size.0, size.1),
            files: Arc::default(),
            folder: None,
            line_count: None,
            sessions: None,
            mentioned: None,
            models: Vec::new(),
            requests: PendingRequests::default(),
            attention: UserAttention::default(),
            status_line: StatusLine::default(),
            pictures: PictureCache::default(),
        }
    }

    /// The time that counters of seconds use: [`Self::now`], in steps of [`REDUCED_MOTION_SECONDS`]
    /// under [`MotionPreference::Reduced`].
    pub fn shown_now(&self) -> Duration {
        match self.settings.motion {
            MotionPreference::Full => self.now,
            MotionPreference::Reduced => Duration::from_secs(
                self.now.as_secs() / REDUCED_MOTION_SECONDS * REDUCED_MOTION_SECONDS,
            ),
        }
    }

    /// The permission question on screen; more may wait in [`Self::questions`].
    pub fn question(&self) -> Option<&ApprovalRequest> {
        self.overlays.iter().find_map(|overlay| match overlay {
            Overlay::Approval(approval) => Some(&approval.request),
            Overlay::Picker(_)
            | Overlay::Reading(_)
            | Overlay::Pager(_)
            | Overlay::Changes(_)
            | Overlay::Rules(_)
            | Overlay::Rewind(_) => None,
        })
    }

    /// Whether slug waits for an answer to a permission question.
    pub fn has_question(&self) -> bool {
        self.question().is_some()
    }

    /// The shape of the terminal's cursor.
    pub fn caret_shape(&self) -> CaretShape {
        match self.focus {
            KeyboardFocus::Input if self.overlays.is_empty() => self.composer.caret_shape(),
            KeyboardFocus::Input
            | KeyboardFocus::Pane(_)
            | KeyboardFocus::Caret(_)
            | KeyboardFocus::Sidebar => CaretShape::Bar,
        }
    }

    /// Shows a short notice in the last line, in place of the one before.
    pub fn toast(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.toast = Some(Toast { text: text.into(), level, until: self.now + TOAST_TIME });
    }
}
