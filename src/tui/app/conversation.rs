//! All that belongs to one agent on the screen: its transcript with everything done in it, the input
//! and its queue, and what is known of its session.

pub mod block;
pub mod caret;
pub mod closing_line;
pub mod completion_items;
pub mod completion_list;
pub mod completion_state;
pub mod composer;
pub mod copying;
pub mod denied_calls;
pub mod fold_actions;
pub mod folds;
pub mod history;
pub mod image_input;
pub mod images;
pub mod jump;
pub mod navigation;
pub mod older_records;
pub mod pane_kind;
pub mod pending_jump;
pub mod queue;
pub mod recent_paths;
pub mod rewind_messages;
pub mod rule_offers;
pub mod scroll;
pub mod search;
pub mod select;
pub mod sending;
pub mod side_panel;
pub mod source;
pub mod start_screen;
pub mod status;
pub mod title;
pub mod transcript;
pub mod transcript_mouse;
pub mod trigger;
pub mod turn;
pub mod turn_end;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::agent::AgentCommand;
use crate::commands::SlashCommand;
use crate::domain::{AgentId, UserInput, WorkPlan};
use crate::providers::ProviderFault;

use self::block::BlockId;
use self::completion_list::CompletionList;
use self::composer::{CaretShape, ChatComposer};
use self::denied_calls::DeniedCall;
use self::pending_jump::PendingJump;
use self::queue::MessageQueue;
use self::rule_offers::RuleOffers;
use self::scroll::TranscriptScroll;
use self::search::TranscriptSearch;
use self::select::{ClickCounter, MouseDrag, TranscriptSelection};
use self::side_panel::ContextShares;
use self::start_screen::RecentSessions;
use self::status::ConversationStatus;
use self::transcript::Transcript;
use self::turn::TurnActivity;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::geometry::ConversationGeometry;
use super::request_id::RequestId;
use crate::services::session_changes::SessionChanges;

/// The conversation with one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The agent that is talked to.
    pub agent: AgentId,
    /// Facts for the first line of the screen.
    pub status: ConversationStatus,
    pub transcript: Transcript,
    /// Where its parts are on screen, as of its last frame.
    pub geometry: ConversationGeometry,
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
    /// A message from the command line, sent once the session is open and its model is known.
    pub first_message: Option<UserInput>,
    /// The sessions that the start screen lists.
    pub recent: RecentSessions,
    /// Messages typed while a turn runs.
    pub queue: MessageQueue,
    pub turn: TurnActivity,
    /// Whether the last turn failed, so that `/retry` would go on with it.
    pub turn_failed: bool,
    /// Whether the provider was connected again or changed since it failed.
    pub is_reconnected: bool,
    /// A jump to a place in a session that is not loaded yet.
    pub pending_jump: Option<PendingJump>,
    /// The files that the session changed.
    pub changes: SessionChanges,
    /// The tool calls that were denied in this session.
    pub denied_calls: Vec<DeniedCall>,
    /// The answers of this session that are counted.
    pub rule_offers: RuleOffers,
    /// The model's plan.
    pub plan: WorkPlan,
    /// What fills the context window, by kind.
    pub context_shares: ContextShares,
    /// Until then another Escape opens the list of messages to rewind to.
    pub rewinding: Option<Duration>,
    /// Requests without an answer yet.
    pub requests: ConversationRequests,
}

/// The last request of each kind for one conversation that has no answer yet. Answers to other
/// requests are dropped as stale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationRequests {
    /// Ranking of the paths for the text behind `@`.
    pub rank: Option<RequestId>,
    /// The number of lines of a file.
    pub lines: Option<RequestId>,
    /// The content of the folder that is being typed.
    pub folder: Option<RequestId>,
    /// The state of git, for the first line.
    pub git: Option<RequestId>,
    /// The saved folds of the open session's panes.
    pub folds: Option<RequestId>,
    /// The older part of a long session.
    pub backfill: Option<RequestId>,
}

/// The conversation whose requests meet a condition, in front or behind; `None` if no conversation
/// waits for such an answer any more.
pub fn waiting<'a>(
    front: &'a mut Conversation,
    background: &'a mut BTreeMap<AgentId, Conversation>,
    waits: impl Fn(&ConversationRequests) -> bool,
) -> Option<&'a mut Conversation> {
    let mut all = std::iter::once(front).chain(background.values_mut());
    all.find(|it| waits(&it.requests))
}

impl Conversation {
    /// All that is not sent yet: the messages that wait and what is in the input.
    pub fn unsent(&self) -> UserInput {
        self.queue.unsent(self.composer.typed())
    }

    /// A conversation in which nothing has been said, in the working folder `cwd`, on a screen of
    /// this size (columns, rows).
    pub fn new(
        agent: AgentId,
        cwd: PathBuf,
        status: ConversationStatus,
        composer: ChatComposer,
        size: (u16, u16),
    ) -> Self {
        Self {
            agent,
            geometry: ConversationGeometry::of_size(size.0, size.1),
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
            first_message: None,
            recent: RecentSessions::default(),
            queue: MessageQueue::default(),
            turn: TurnActivity::Idle,
            turn_failed: false,
            is_reconnected: false,
            pending_jump: None,
            changes: SessionChanges::default(),
            denied_calls: Vec::new(),
            rule_offers: RuleOffers::default(),
            plan: WorkPlan::default(),
            context_shares: ContextShares::default(),
            rewinding: None,
            requests: ConversationRequests::default(),
        }
    }

    /// What the conversation is called beside others: its title, or the number of its agent.
    pub fn name(&self) -> String {
        self.status.title.clone().unwrap_or_else(|| format!("agent {}", self.agent))
    }

    /// Keeps the name of a started agent as the title.
    pub fn keep_name(&mut self) {
        let ConversationStatus { title, started_as, .. } = &mut self.status;
        if started_as.is_some() && title != started_as {
            title.clone_from(started_as);
        }
    }

    /// Ends what the user holds or has begun with a key, before another conversation is shown.
    pub fn put_aside(mut self) -> Self {
        self.drag = None;
        self.pressed = None;
        self.pending_drag_end = None;
        self.rewinding = None;
        if self.focus == KeyboardFocus::Sidebar {
            self.focus = KeyboardFocus::Input;
        }
        self
    }

    /// What Enter runs in an empty input while something is wrong with the provider: where nobody listens
    /// a failed turn is tried again, since the server may be back, and so it is once the provider was
    /// connected again. `None` where nothing is wrong.
    pub fn remedy(&self) -> Option<SlashCommand> {
        match (self.status.fault, self.turn_failed) {
            (None, true) if self.is_reconnected => Some(SlashCommand::Retry),
            (None, _) => None,
            (Some(ProviderFault::NotListening), true) => Some(SlashCommand::Retry),
            (Some(_), _) => Some(SlashCommand::Connect),
        }
    }

    /// A command for the agent.
    pub fn command(&self, command: AgentCommand) -> ScreenEffect {
        ScreenEffect::Agent(self.agent, command)
    }

    /// The shape of the terminal's cursor, while no dialog has the keys.
    pub fn caret_shape(&self) -> CaretShape {
        match self.focus {
            KeyboardFocus::Input => self.composer.caret_shape(),
            KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_) | KeyboardFocus::Sidebar => {
                CaretShape::Bar
            }
        }
    }
}
