//! Plays a timeline: which changes are due at a time, and where the step keys lead.
//!
//! Pure: time comes from outside. The player knows the log and how far it is; the screen's model
//! belongs to whoever draws it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::AgentEvent;
use crate::domain::{AgentId, ModelName, SessionId};
use crate::session::{LogEntry, ReplayedConversation};
use crate::tui::app::conversation::composer::ChatComposer;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::shared::SharedState;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::app::{ScreenModel, ScreenMsg};

use super::steps::{self, ReplayChange, ReplayStep, StepDetail};
use super::timeline::ReplayTimeline;

/// The agent of a replay: there is none, and the ids of agents begin with 1.
const NO_AGENT: AgentId = AgentId(0);

/// What a replay is shown with.
#[derive(Debug, Clone)]
pub struct ReplaySetup {
    /// The session, as it was asked for.
    pub session: SessionId,
    /// As for a chat. The folder is that of the session.
    pub settings: ScreenSettings,
    pub theme: ThemeState,
}

/// Where a replay is in its timeline.
#[derive(Debug)]
pub struct ReplayPlayer {
    timeline: Arc<ReplayTimeline>,
    session: SessionId,
    /// How many records have begun to be shown.
    begun: usize,
    /// What is still to be done for the records that have begun.
    pending: VecDeque<ReplayStep>,
    totals: ReplayedConversation,
}

impl ReplaySetup {
    /// An empty screen of this size (columns, rows) for the session of a timeline.
    pub fn screen(&self, timeline: &ReplayTimeline, size: (u16, u16)) -> ScreenModel {
        let header = timeline.header();
        let cwd = header.map_or_else(PathBuf::new, |header| header.cwd.clone());
        let name = cwd.file_name().map(|name| name.to_string_lossy().into_owned());
        let status = ConversationStatus {
            project: name.unwrap_or_default(),
            model: header.map(|header| header.model.clone()).unwrap_or_default(),
            provider: header.map(|header| header.provider.clone()).unwrap_or_default(),
            ..ConversationStatus::default()
        };
        let settings = ScreenSettings { cwd, ..self.settings.clone() };
        let composer = ChatComposer::new(Vec::new(), "");
        let mut model = ScreenModel::new(NO_AGENT, settings, status, composer, size);
        model.shared.theme = self.theme.clone();
        model
    }
}

impl ReplayPlayer {
    /// A replay that has not begun.
    pub fn new(timeline: Arc<ReplayTimeline>, session: SessionId) -> Self {
        let mut player = Self {
            timeline,
            session,
            begun: 0,
            pending: VecDeque::new(),
            totals: ReplayedConversation::default(),
        };
        player.restart();
        player
    }

    /// The timeline that is played.
    pub fn timeline(&self) -> &ReplayTimeline {
        &self.timeline
    }

    /// Begins anew, for a screen on which nothing is shown.
    pub fn restart(&mut self) {
        self.begun = 0;
        self.totals = ReplayedConversation::default();
        self.pending.clear();
        if self.timeline.session().is_none() {
            let change = steps::opening(self.session);
            self.pending.push_back(ReplayStep { at: Duration::ZERO, change });
        }
    }

    /// When the next change is due; `None` at the end.
    pub fn next_due(&mut self) -> Option<Duration> {
        self.fill(StepDetail::Live);
        self.pending.front().map(|step| step.at)
    }

    /// Whether nothing is left to be shown.
    pub fn is_over(&self) -> bool {
        self.pending.is_empty() && self.begun == self.timeline.records().len()
    }

    /// The next change, if it is due at this time.
    pub fn next_change(&mut self, at: Duration) -> Option<ReplayStep> {
        self.next_due().filter(|due| *due <= at)?;
        self.pending.pop_front()
    }

    /// Where the next step ends: how many records are shown, and when.
    pub fn step_forward(&self) -> (usize, Duration) {
        self.stop_at(self.timeline.next_stop(self.finished()))
    }

    /// Where the step before ends: what is being shown, or was shown last, is gone there.
    pub fn step_back(&self) -> (usize, Duration) {
        let last = self.timeline.last_stop(self.finished());
        let is_between = !self.pending.is_empty();
        self.stop_at(if is_between {
            last
        } else {
            self.timeline.last_stop(last.saturating_sub(1))
        })
    }

    /// The next change on the way to so many shown records, without what leads to each.
    pub fn change_towards(&mut self, records: usize) -> Option<ReplayStep> {
        if self.pending.is_empty() && self.begun < records {
            self.begin(StepDetail::Final);
            // A record without a change of its own.
            while self.pending.is_empty() && self.begun < records {
                self.begin(StepDetail::Final);
            }
        }
        self.pending.pop_front()
    }

    /// How many records are shown entirely.
    fn finished(&self) -> usize {
        if self.pending.is_empty() { self.begun } else { self.begun.saturating_sub(1) }
    }

    fn stop_at(&self, records: usize) -> (usize, Duration) {
        let at = records.checked_sub(1).map(|last| self.timeline.start(last));
        (records, at.unwrap_or_default())
    }

    fn fill(&mut self, detail: StepDetail) {
        while self.pending.is_empty() && self.begun < self.timeline.records().len() {
            self.begin(detail);
        }
    }

    fn begin(&mut self, detail: StepDetail) {
        let (index, records) = (self.begun, self.timeline.records());
        let Some(record) = records.get(index) else { return };
        self.begun += 1;
        match &record.entry {
            // These change what records before them mean.
            LogEntry::Rewind(_) | LogEntry::Compaction(_) | LogEntry::ContextEdit(_) => {
                self.totals = ReplayedConversation::of(&records[..=index]);
            }
            _ => self.totals.apply(record),
        }
        let steps = steps::steps(&self.timeline, index, &self.totals, detail);
        self.pending.extend(steps);
    }
}

impl ReplayChange {
    /// The change as a message for the screen; what is no event is done here.
    pub fn into_msg(
        self,
        status: &mut ConversationStatus,
        shared: &mut SharedState,
    ) -> Option<ScreenMsg> {
        match self {
            Self::Event(event) => {
                // A rewind opens the session again, and its log says which model answers.
                if let AgentEvent::SessionOpened { .. } = *event {
                    shared.questions.clear();
                }
                Some(ScreenMsg::Agent(NO_AGENT, event))
            }
            Self::Model(ModelName { provider, model }) => {
                (status.provider, status.model) = (provider, model);
                None
            }
            Self::Toast(level, text) => {
                shared.toast(level, text);
                None
            }
        }
    }
}
