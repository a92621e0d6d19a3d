//! All the state of the screen: one component each, and what they share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::StatusItems;
use crate::domain::{ApprovalRequest, NoticeLevel, SandboxSummary, TodoItem};
use crate::platform::graphics::GraphicsCanvas;

use super::attention::Attention;
use super::caret::Caret;
use super::changes::Changes;
use super::complete::Completion;
use super::composer::{CaretShape, Composer, Typing};
use super::effect::RequestId;
use super::geometry::Geometry;
use super::jump::Goal;
use super::keymap::{Keymap, Pending};
use super::looks::{self, Looks};
use super::mouse::Held;
use super::msg::ModelRow;
use super::overlay::Overlay;
use super::pictures::Pictures;
use super::queue::Queue;
use super::rules::Refused;
use super::scroll::Scroll;
use super::search::Search;
use super::select::{Clicks, Selection};
use super::sessions::SessionList;
use super::sidebar::Sidebar;
use super::status::Status;
use super::status_line::StatusLine;
use super::transcript::{BlockId, Transcript};
use super::turn::Turn;
use super::wheel::{Turned, Wheel};

/// The state of the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// How long slug runs, as of the last message.
    pub now: Duration,
    /// What does not change.
    pub settings: Settings,
    /// How it looks.
    pub looks: Looks,
    /// What the first line tells.
    pub status: Status,
    /// What was said and done.
    pub transcript: Transcript,
    /// Where in it the view stands.
    pub scroll: Scroll,
    /// What is selected in it.
    pub selection: Option<Selection>,
    /// What is looked for in it.
    pub search: Option<Box<Search>>,
    /// The mouse button.
    pub clicks: Clicks,
    /// What the held button moves.
    pub held: Option<Held>,
    /// The pane whose head the button went down on.
    pub pressed: Option<BlockId>,
    /// The cell at which the selection ends once the next frame has shown what is there.
    pub pointed: Option<(u16, u16)>,
    /// What changed after the last frame was drawn, and needs another one.
    pub restless: bool,
    /// How far the wheel has turned.
    pub turned: Turned,
    /// The message or error that was gone to last.
    pub visited: Option<BlockId>,
    /// What is being typed.
    pub composer: Composer,
    /// The list under the caret.
    pub completion: Option<Completion>,
    /// Where a list begins that was closed by hand, so that it stays closed.
    pub dismissed: Option<usize>,
    /// What the keys go to.
    pub focus: Focus,
    /// The keys of a sequence that was begun.
    pub pending: Option<Pending>,
    /// What was typed while a turn runs.
    pub queue: Queue,
    /// What runs.
    pub turn: Turn,
    /// The list of sessions.
    pub sidebar: Sidebar,
    /// A place in a session that is gone to once it is there.
    pub goal: Option<Goal>,
    /// Which files the session changed.
    pub changes: Changes,
    /// The calls that were refused in the session.
    pub refused: Vec<Refused>,
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
    pub geometry: Geometry,
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
    pub requests: Requests,
    /// What is known of the person's attention.
    pub attention: Attention,
    /// What the person's own command says.
    pub status_line: StatusLine,
    /// Pictures of the images in the transcript.
    pub pictures: Pictures,
}

/// What does not change while slug runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The working folder.
    pub cwd: PathBuf,
    /// The person's home, shown as `~`.
    pub home: Option<PathBuf>,
    /// Whether things may move.
    pub motion: Motion,
    /// How far the wheel goes.
    pub wheel: Wheel,
    /// What the keys do.
    pub keys: Arc<Keymap>,
    /// How long a turn has to take for its end to be told.
    pub notify_after: Duration,
    /// What the first line shows.
    pub status_items: StatusItems,
    /// Whether the person has a command for it.
    pub status_command: StatusCommand,
    /// How texts are typed.
    pub typing: Typing,
    /// Seconds by which the person's clock is ahead of UTC.
    pub clock: i32,
    /// What pictures are painted on, and the number of the first; `None` where there are none.
    pub canvas: Option<(GraphicsCanvas, u32)>,
    /// The sandbox that is in force.
    pub boundary: Option<SandboxSummary>,
}

/// Whether there is a command whose output the first line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusCommand {
    /// There is none.
    #[default]
    None,
    /// There is one, and it has not run yet or has run well.
    Given,
}

/// Whether things may move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Motion {
    /// A little.
    #[default]
    Full,
    /// Not at all, but for what counts seconds.
    Reduced,
}

/// What the keys go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    /// The input.
    #[default]
    Input,
    /// A block of the transcript.
    Pane(BlockId),
    /// The text of the transcript, to select from.
    Caret(Caret),
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
pub struct Requests {
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
    pub older: Option<RequestId>,
    /// For `/theme`, and what is to be done then.
    pub themes: Option<(RequestId, looks::Reading)>,
}

/// Seconds between two changes of what counts seconds, where nothing is to move.
pub const CALM: u64 = 5;
const TOAST_TIME: Duration = Duration::from_secs(4);

impl Requests {
    /// A new request's name.
    pub fn issue(&mut self) -> RequestId {
        self.last = RequestId(self.last.0 + 1);
        self.last
    }
}

impl Model {
    /// A screen of this size with nothing on it yet.
    pub fn new(
        settings: Settings,
        status: Status,
        mut composer: Composer,
        size: (u16, u16),
    ) -> Self {
        composer.set_typing(settings.typing);
        Self {
            now: Duration::ZERO,
            transcript: Transcript::new(settings.cwd.clone()),
            sidebar: Sidebar::new(settings.cwd.clone()),
            goal: None,
            settings,
            looks: Looks::default(),
            status,
            scroll: Scroll::default(),
            selection: None,
            search: None,
            clicks: Clicks::default(),
            held: None,
            pressed: None,
            pointed: None,
            restless: false,
            turned: Turned::default(),
            visited: None,
            composer,
            completion: None,
            dismissed: None,
            focus: Focus::Input,
            pending: None,
            queue: Queue::default(),
            turn: Turn::Idle,
            changes: Changes::default(),
            refused: Vec::new(),
            todos: Vec::new(),
            overlays: Vec::new(),
            questions: VecDeque::new(),
            toast: None,
            leaving: None,
            rewinding: None,
            geometry: Geometry::of_size(size.0, size.1),
            files: Arc::default(),
            folder: None,
            line_count: None,
            sessions: None,
            mentioned: None,
            models: Vec::new(),
            requests: Requests::default(),
            attention: Attention::default(),
            status_line: StatusLine::default(),
            pictures: Pictures::default(),
        }
    }

    /// What counts seconds counts from here: where nothing is to move, in steps.
    pub fn shown_now(&self) -> Duration {
        match self.settings.motion {
            Motion::Full => self.now,
            Motion::Reduced => Duration::from_secs(self.now.as_secs() / CALM * CALM),
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
            Focus::Input if self.overlays.is_empty() => self.composer.caret_shape(),
            Focus::Input | Focus::Pane(_) | Focus::Caret(_) | Focus::Sidebar => CaretShape::Bar,
        }
    }

    /// Says a short word in the last line.
    pub fn toast(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.toast = Some(Toast { text: text.into(), level, until: self.now + TOAST_TIME });
    }
}
