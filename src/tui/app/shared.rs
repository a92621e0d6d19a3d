//! The state that all conversations on the screen share: the time, the settings, what was asked of
//! the outside, and lists that do not belong to one session.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::SteerId;
use crate::domain::{AgentId, FollowedJobs, ModelName, NoticeLevel};

use super::attention::UserAttention;
use super::geometry::ScreenGeometry;
use super::keymap::{ChatKey, KeymapRow, PendingKeys};
use super::msg::{FavouriteMark, ModelRow};
use super::pictures::PictureCache;
use super::request_id::{RequestCounter, RequestId};
use super::saved_rules::SavedRules;
use super::server_offers::ServerOffers;
use super::settings::{MotionPreference, REDUCED_MOTION_SECONDS, ScreenSettings, StartMode};
use super::started_agent::StartedAgent;
use super::status_line::StatusLine;
use super::theme_state::{self, ThemeState};
use super::tour::{TOUR_KEYS, TourForm, TourState};
use super::waiting_question::WaitingQuestion;
use super::wheel::WheelRemainder;
use crate::services::sessions::SessionList;
use crate::skills::PromptLibraryReport;

/// What every conversation on the screen shares.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedState {
    /// Time since slug started, as of the last message.
    pub now: Duration,
    pub settings: ScreenSettings,
    pub theme: ThemeState,
    /// Whether something changed after the last frame, so that another one is needed.
    pub needs_redraw: bool,
    /// Wheel movement that has not yet made a whole row.
    pub wheel_remainder: WheelRemainder,
    /// The keys so far of an unfinished key sequence.
    pub pending: Option<PendingKeys>,
    /// A short notice above the input, or in the last line under a dialog.
    pub toast: Option<ToastMessage>,
    /// The rules that an answer has saved last.
    pub saved_rules: Option<SavedRules>,
    /// Until then another ctrl+c leaves.
    pub leaving: Option<Duration>,
    /// Until when a second `/exit` leaves though jobs run; `None` before the first.
    pub exit_asked: Option<Duration>,
    /// The layout of the last frame.
    pub geometry: ScreenGeometry,
    /// The workspace's files and folders.
    pub files: Arc<Vec<String>>,
    /// The same with the servers whose resources can be mentioned, for `@`.
    pub mentionable: Arc<Vec<String>>,
    /// Past sessions, for `@session:`.
    pub sessions: Option<SessionList>,
    /// What MCP servers offer now, for `@server:` and `/server:prompt`.
    pub offers: Arc<[ServerOffers]>,
    /// The skills and custom commands that there are.
    pub prompt_files: Arc<PromptLibraryReport>,
    /// The server's models, for `/model`.
    pub models: Vec<ModelRow>,
    /// The agents that calls have started, in that order.
    pub started_agents: Vec<StartedAgent>,
    /// The race that runs.
    pub race: Option<RunningRace>,
    /// How many conversations are behind the one that is shown.
    pub behind: usize,
    /// Questions that wait behind the one on screen, each with the agent that asks.
    pub questions: VecDeque<(AgentId, WaitingQuestion)>,
    /// How many questions came up since none waited, the one on screen included.
    pub question_number: usize,
    /// The agent whose question is on screen.
    pub asker: Option<AskingAgent>,
    /// Requests without an answer yet.
    pub requests: PendingRequests,
    pub attention: UserAttention,
    /// The guided tour, while it is shown.
    pub tour: Option<TourState>,
    /// Output of the user's status command.
    pub status_line: StatusLine,
    pub pictures: PictureCache,
    /// The agent that tells about its jobs, and what of them; `None` while none does.
    pub followed_jobs: Option<(AgentId, FollowedJobs)>,
}

/// Two agents that answer the same message, until the user takes one of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningRace {
    /// The agent whose message it is.
    pub parent: AgentId,
    pub sides: [AgentId; 2],
}

/// The agent that asks a permission question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskingAgent {
    pub agent: AgentId,
    /// The name of its conversation; `None` where there is only one.
    pub name: Option<String>,
    /// The rules by which the answer is counted ([`RuleOffers`](super::conversation::rule_offers::RuleOffers)).
    pub counted_rules: Vec<String>,
}

/// A short notice above the input, shown for `TOAST_TIME` or until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToastMessage {
    pub text: String,
    pub level: NoticeLevel,
    /// When it disappears.
    pub until: Duration,
}

/// The last request of each kind that has no answer yet. Answers to other requests are dropped as
/// stale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingRequests {
    /// Gives out the ids of all requests.
    pub ids: RequestCounter,
    last_steer: SteerId,
    /// Index of the workspace's files, for `@`.
    pub files: Option<RequestId>,
    /// More of the input history.
    pub history: Option<RequestId>,
    /// The list of sessions, for `@session:` and `/sessions`.
    pub sessions: Option<RequestId>,
    /// The list of sessions, for the start screen.
    pub recent: Option<RequestId>,
    /// The list of models, for `/model`.
    pub models: Option<RequestId>,
    /// The themes, for `/theme`, and what to do with them.
    pub themes: Option<(RequestId, theme_state::ThemeReadPurpose)>,
}

const TOAST_TIME: Duration = Duration::from_secs(4);

/// How long a toast is shown at least, whatever is typed.
const TOAST_SEEN: Duration = Duration::from_millis(500);

impl PendingRequests {
    /// A new id, unique while slug runs.
    pub fn issue(&mut self) -> RequestId {
        self.ids.issue()
    }

    /// A new id for a message, for all agents of the screen.
    pub fn issue_steer(&mut self) -> SteerId {
        self.last_steer = SteerId(self.last_steer.0 + 1);
        self.last_steer
    }
}

impl SharedState {
    /// Marks a model as a favourite, or takes the mark away.
    pub fn toggle_favourite(&mut self, name: &ModelName) {
        for row in self.models.iter_mut().filter(|row| row.name == *name) {
            row.mark = match row.mark {
                FavouriteMark::Favourite => FavouriteMark::None,
                FavouriteMark::None => FavouriteMark::Favourite,
            };
        }
    }

    /// The state of a screen of this size (columns, rows) that has just begun.
    pub fn new(settings: ScreenSettings, size: (u16, u16)) -> Self {
        let tour = match settings.start.mode {
            StartMode::Tour => Some(TourState::new(TourForm::Screen)),
            StartMode::Chat | StartMode::Demo => None,
        };
        Self {
            now: Duration::ZERO,
            settings,
            theme: ThemeState::default(),
            needs_redraw: false,
            wheel_remainder: WheelRemainder::default(),
            pending: None,
            toast: None,
            saved_rules: None,
            leaving: None,
            exit_asked: None,
            geometry: ScreenGeometry::of_size(size.0, size.1),
            files: Arc::default(),
            mentionable: Arc::default(),
            sessions: None,
            offers: Arc::default(),
            prompt_files: Arc::default(),
            models: Vec::new(),
            started_agents: Vec::new(),
            race: None,
            behind: 0,
            questions: VecDeque::new(),
            question_number: 0,
            asker: None,
            requests: PendingRequests::default(),
            attention: UserAttention::default(),
            tour,
            status_line: StatusLine::default(),
            followed_jobs: None,
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

    /// Whether an action can do something now: going to the next conversation needs another one, and
    /// the keys of the tour a tour. Keys that cannot are not listed.
    pub fn can_do(&self, row: &KeymapRow) -> bool {
        let next = self.settings.keys.row(ChatKey::NextConversation);
        let is_of_tour = |key| self.settings.keys.row(key).is_some_and(|it| it.id == row.id);
        (self.behind > 0 || next.is_none_or(|next| next.id != row.id))
            && (self.tour.is_some() || !TOUR_KEYS.into_iter().any(is_of_tour))
    }

    /// Ends a toast that the user had time to see.
    pub fn end_seen_toast(&mut self) {
        let seen = |toast: &mut ToastMessage| toast.until <= self.now + TOAST_TIME - TOAST_SEEN;
        self.toast.take_if(seen);
    }

    /// Shows a short notice above the input, in place of the one before.
    pub fn toast(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.toast = Some(ToastMessage { text: text.into(), level, until: self.now + TOAST_TIME });
    }
}
