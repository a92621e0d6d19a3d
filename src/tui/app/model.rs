//! All the state of the screen: one component each, and what they share.

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

/// The state of the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenModel {
    /// How long slug runs, as of the last message.
    pub now: Duration,
    /// What does not change.
    pub settings: ScreenSettings,
    /// How it looks.
    pub theme: ThemeState,
    /// What the first line tells.
    pub status: ScreenStatus,
    /// What was said and done.
    pub transcript: Transcript,
    /// Where in it the view stands.
    pub scroll: TranscriptScroll,
    /// What is selected in it.
    pub selection: Option<TranscriptSelection>,
    /// What is looked for in it.
    pub search: Option<Box<TranscriptSearch>>,
    /// The mouse button.
    pub clicks: ClickCounter,
    /// What the held button moves.
    pub drag: Option<MouseDrag>,
    /// The pane whose head the button went down on.
    pub pressed: Option<BlockId>,
    /// The cell at which the selection ends once the next frame has shown what is there.
    pub pending_drag_end: Option<(u16, u16)>,
    /// What changed after the last frame was drawn, and needs another one.
    pub needs_redraw: bool,
    /// How far the wheel has turned.
    pub wheel_remainder: WheelRemainder,
    /// The message or error that was gone to last.
    pub visited: Option<BlockId>,
    /// What is being typed.
    pub composer: ChatComposer,
    /// The list under the caret.
    pub completion: Option<CompletionList>,
    /// Where a list begins that was closed by hand, so that it stays closed.
    pub dismissed: Option<usize>,
    /// What the keys go to.
    pub focus: KeyboardFocus,
    /// The keys of a sequence that was begun.
    pub pending: Option<PendingKeys>,
    /// What was typed while a turn runs.
    pub queue: MessageQueue,
    /// What runs.
    pub turn: TurnActivity,
    /// The list of sessions.
    pub sidebar: Sidebar,
    /// A place in a session that is gone to once it is there.
    pub pending_jump: Option<PendingJump>,
    /// Which files the session changed.
    pub changes: SessionChanges,
    /// The calls that were refused in the session.
    pub denied_calls: Vec<DeniedCall>,
    /// The plan.
    pub todos: Vec<TodoItem>,
    /// What lies over the chat, the topmost last.
    pub overlays: Vec<Overlay>,
    /// Permission questions behind the one on screen.
    pub questions: VecDeque<ApprovalRequest>,
    /// A short word in the last line.
    pub toast: Option<Toast>,
    /// Until when another ctrl+c leaves.
    pub leaving: Option<Duration>,
    /// Until when another Escape lists the messages to go back before.
    pub rewinding: Option<Duration>,
    /// The screen as it was drawn last.
    pub geometry: ScreenGeometry,
    /// The workspace's files, for `@`.
    pub files: Arc<Vec<String>>,
    /// The folder that is typed in and what is in it.
    pub folder: Option<(String, Vec<String>)>,
    /// The file whose lines are named, and how many it has.
    pub line_count: Option<(String, Option<u64>)>,
    /// Past sessions, for `@session:`.
    pub sessions: Option<SessionList>,
    /// The input's revision in which a file was put in, with a space behind it.
    pub mentioned: Option<u64>,
    /// The server's models, for `/model`.
    pub models: Vec<ModelRow>,
    /// Requests that are under way.
    pub requests: PendingRequests,
    /// What is known of the person's attention.
    pub attention: UserAttention,
    /// What the person's own command says.
    pub status_line: StatusLine,
    /// Pictures of the images in the transcript.
    pub pictures: PictureCache,
}

/// What does not change while slug runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScreenSettings {
    /// The working folder.
    pub cwd: PathBuf,
    /// The person's home, shown as `~`.
    pub home: Option<PathBuf>,
    /// Whether things may move.
    pub motion: MotionPreference,
    /// How far the wheel goes.
    pub wheel: WheelSettings,
    /// What the keys do.
    pub keys: Arc<Keymap>,
    /// How long a turn has to take for its end to be told.
    pub notify_after: Duration,
    /// What the first line shows.
    pub status_items: StatusItems,
    /// Whether the person has a command for it.
    pub status_command: StatusCommandState,
    /// How texts are typed.
    pub typing: EditingMode,
    /// Seconds by which the person's clock is ahead of UTC.
    pub clock: i32,
    /// What pictures are painted on, and the number of the first; `None` where there are none.
    pub canvas: Option<(GraphicsCanvas, u32)>,
    /// The sandbox that is in force.
    pub boundary: Option<SandboxSummary>,
}

/// Whether there is a command whose output the first line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusCommandState {
    /// There is none.
    #[default]
    None,
    /// There is one, and it has not run yet or has run well.
    Given,
}

/// Whether things may move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MotionPreference {
    /// A little.
    #[default]
    Full,
    /// Not at all, but for what counts seconds.
    Reduced,
}

/// What the keys go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyboardFocus {
    /// The input.
    #[default]
    Input,
    /// A block of the transcript.
    Pane(BlockId),
    /// The text of the transcript, to select from.
    Caret(TranscriptCaret),
    /// The list of sessions.
    Sidebar,
}

/// A short word in the last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// What it says.
    pub text: String,
    /// How bad it is.
    pub level: NoticeLevel,
    /// When it goes.
    pub until: Duration,
}

/// Requests that are under way: only their answers are taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingRequests {
    last: RequestId,
    /// For `@`.
    pub files: Option<RequestId>,
    /// For what is typed behind it.
    pub rank: Option<RequestId>,
    /// For more of the history.
    pub history: Option<RequestId>,
    /// For the lines of a file.
    pub lines: Option<RequestId>,
    /// For a folder that is typed in.
    pub folder: Option<RequestId>,
    /// For `@session:` and `/sessions`.
    pub sessions: Option<RequestId>,
    /// For the first line.
    pub git: Option<RequestId>,
    /// For `/model`.
    pub models: Option<RequestId>,
    /// For how the open session's panes are folded.
    pub folds: Option<RequestId>,
    /// For the older part of a long session.
    pub backfill: Option<RequestId>,
    /// For `/theme`, and what is to be done then.
    pub themes: Option<(RequestId, theme_state::ThemeReadPurpose)>,
}

/// Seconds between two changes of what counts seconds, where nothing is to move.
pub const REDUCED_MOTION_SECONDS: u64 = 5;
const TOAST_TIME: Duration = Duration::from_secs(4);

impl PendingRequests {
    /// A new request's name.
    pub fn issue(&mut self) -> RequestId {
        self.last = RequestId(self.last.0 + 1);
        self.last
    }
}

impl ScreenModel {
    /// A screen of this size with nothing on it yet.
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

    /// What counts seconds counts from here: where nothing is to move, in steps.
    pub fn shown_now(&self) -> Duration {
        match self.settings.motion {
            MotionPreference::Full => self.now,
            MotionPreference::Reduced => Duration::from_secs(
                self.now.as_secs() / REDUCED_MOTION_SECONDS * REDUCED_MOTION_SECONDS,
            ),
        }
    }

    /// The question that is on screen.
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

    /// Whether slug waits for an answer.
    pub fn has_question(&self) -> bool {
        self.question().is_some()
    }

    /// How the cursor looks.
    pub fn caret_shape(&self) -> CaretShape {
        match self.focus {
            KeyboardFocus::Input if self.overlays.is_empty() => self.composer.caret_shape(),
            KeyboardFocus::Input
            | KeyboardFocus::Pane(_)
            | KeyboardFocus::Caret(_)
            | KeyboardFocus::Sidebar => CaretShape::Bar,
        }
    }

    /// Says a short word in the last line.
    pub fn toast(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.toast = Some(Toast { text: text.into(), level, until: self.now + TOAST_TIME });
    }
}
