//! Decides what the linear front end says: each thing of the model once, when it is final.
//!
//! The model's text is said line by line as it streams, a call when it is over, a question when it
//! is asked. The announcer remembers by block what was said, so that nothing is said twice however
//! often the model changes. When a session is opened, its end is read out. Every text is made
//! harmless.

use std::collections::HashSet;
use std::time::Duration;

use crate::domain::NoticeLevel;
use crate::domain::SessionId;
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::block::{
    AssistantText, BlockBody, BlockId, TextState, TranscriptBlock, TranscriptNotice,
};
use crate::tui::app::conversation::closing_line::TurnEnding;
use crate::tui::app::conversation::status::clock;
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::conversation::turn::RunningTurnPhase;
use crate::tui::app::shared::ToastMessage;
use crate::tui::app::tour_progress::shown_extent;
use crate::tui::view::{activity, closing_line};

use super::pages;
use crate::tui::dialogs::linear_page::{self, LabelledLine, LineLabel, lines};

/// How long a turn may be silent before the announcer says what it does.
const SILENCE: Duration = Duration::from_secs(20);

/// Turns changes of the model into lines, and remembers what was said.
#[derive(Debug, Default)]
pub(super) struct LinearAnnouncer {
    greeted: GreetingState,
    session: Option<SessionId>,
    /// All blocks up to and including this one were said.
    frontier: Option<BlockId>,
    /// Blocks after `frontier` that were said too.
    ahead: HashSet<BlockId>,
    /// The block that streams, and how many bytes of its text were said.
    streaming: Option<(BlockId, usize)>,
    /// The user's last line, which their terminal shows already.
    typed: Option<String>,
    /// The key of the page over the chat that was said last.
    page: Option<String>,
    /// The keys of what that page has and what was added to it.
    additions: Vec<String>,
    toast: Option<ToastMessage>,
    /// The mark of the tour that was said last.
    mark: Option<String>,
    waiting: usize,
    /// The end of the pause that was said last.
    pause: Option<Duration>,
    model: String,
    /// Whether a question was open at the last call.
    asked: bool,
    /// When something was said last, on the model's clock.
    announced_at: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum GreetingState {
    #[default]
    No,
    Yes,
    /// Nobody is greeted.
    Replay,
}

impl LinearAnnouncer {
    /// An announcer for whom nobody sits at the keyboard: no greeting, and no word about silence.
    pub(super) fn of_replay() -> Self {
        Self { greeted: GreetingState::Replay, ..Self::default() }
    }

    /// Notes that the user typed this text at a terminal that shows it.
    pub(super) fn typed(&mut self, text: &str) {
        self.typed = Some(text.to_owned());
    }

    /// Says the open page once more at the next call.
    pub(super) fn repeat(&mut self) {
        self.page = None;
    }

    /// The lines for everything that is new since the last call.
    pub(super) fn take_announcements(&mut self, model: &ScreenModel) -> Vec<LabelledLine> {
        // While a question was open, slug waited for the user: this is no silence of the turn.
        if std::mem::replace(&mut self.asked, model.has_question()) {
            self.announced_at = model.shared.now;
        }
        let mut out = Vec::new();
        self.greet(model, &mut out);
        self.open(model, &mut out);
        self.blocks(model, &mut out);
        self.changes(model, &mut out);
        self.page(model, &mut out);
        if out.is_empty() && self.greeted != GreetingState::Replay {
            self.silence(model, &mut out);
        }
        if !out.is_empty() || model.conversation.turn.is_idle() {
            self.announced_at = model.shared.now;
        }
        out
    }

    /// When it has something to say even if nothing happens.
    pub(super) fn wake_at(&self, model: &ScreenModel) -> Option<Duration> {
        (!model.conversation.turn.is_idle() && !model.has_question())
            .then(|| self.announced_at + SILENCE)
    }

    fn greet(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        if self.greeted != GreetingState::No {
            return;
        }
        self.greeted = GreetingState::Yes;
        let folder = home_path(&model.shared.settings.cwd, model.shared.settings.home.as_deref());
        out.push(LabelledLine::new(
            LineLabel::Note,
            format!(
                "slug {} in {}, mode {}. /help lists the commands, ctrl+c stops a turn, /quit \
                 quits.",
                env!("CARGO_PKG_VERSION"),
                linear_page::line(&folder),
                model.conversation.status.mode.name()
            ),
        ));
    }

    /// Starts reading a session that was opened at the user's last message.
    fn open(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        if self.session == model.conversation.status.session {
            return;
        }
        let first = self.session.is_none();
        self.session = model.conversation.status.session;
        self.ahead.clear();
        self.streaming = None;
        let blocks = model.conversation.transcript.blocks();
        let title =
            model.conversation.status.title.as_deref().map(linear_page::line).unwrap_or_default();
        let Some(last) = blocks.iter().rposition(|block| matches!(block.body, BlockBody::User(_)))
        else {
            if !first {
                out.push(LabelledLine::new(LineLabel::Note, "New session."));
            }
            return;
        };
        self.frontier = last.checked_sub(1).and_then(|before| blocks.get(before)).map(|it| it.id);
        let earlier = match last {
            0 => String::new(),
            1 => ", after 1 earlier entry".to_owned(),
            more => format!(", after {more} earlier entries"),
        };
        out.push(LabelledLine::new(
            LineLabel::Note,
            format!("Session: {title}. Showing its end{earlier}."),
        ));
    }

    fn blocks(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        let blocks = model.conversation.transcript.blocks();
        self.rest(model, out);
        let from = self.frontier.map_or(0, |last| blocks.partition_point(|it| it.id <= last));
        for block in &blocks[from..] {
            if !self.ahead.contains(&block.id)
                && self.block(model, block, out) == BlockCompletion::Yes
            {
                self.ahead.insert(block.id);
            }
        }
        for block in &blocks[from..] {
            if !self.ahead.remove(&block.id) {
                break;
            }
            self.frontier = Some(block.id);
        }
    }

    /// Says what was added to an answer that was cut off and had been said.
    fn rest(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        let Some((id, at)) = self.streaming else { return };
        let is_said = self.frontier.is_some_and(|last| id <= last) || self.ahead.contains(&id);
        if let Some(TranscriptBlock { body: BlockBody::Assistant(prose), .. }) =
            model.conversation.transcript.get(id)
            && is_said
            && prose.text.len() > at
        {
            self.prose(id, prose, out);
        }
    }

    fn block(
        &mut self,
        model: &ScreenModel,
        block: &TranscriptBlock,
        out: &mut Vec<LabelledLine>,
    ) -> BlockCompletion {
        match &block.body {
            BlockBody::User(text) => {
                if self.typed.take().is_none_or(|typed| typed.trim() != text.trim()) {
                    out.extend(lines(LineLabel::User, text));
                }
            }
            BlockBody::Assistant(prose) => return self.prose(block.id, prose, out),
            BlockBody::Thinking(thinking) => match (thinking.state, thinking.elapsed) {
                (TextState::Streaming, _) => return BlockCompletion::No,
                (TextState::Done | TextState::Dropped, Some(time)) => {
                    let seconds = time.as_secs_f64();
                    out.push(LabelledLine::new(
                        LineLabel::Note,
                        format!("Thought for {seconds:.0} s."),
                    ));
                }
                (TextState::Done | TextState::Dropped, None) => {}
            },
            BlockBody::Tool(tool) if !tool.is_over() => return BlockCompletion::No,
            BlockBody::Tool(tool) => out.extend(pages::call(model, block, tool)),
            BlockBody::Image(image) => {
                out.push(LabelledLine::new(LineLabel::User, format!("An image: {image}.")));
            }
            BlockBody::Notice(TranscriptNotice { level, text }) => {
                out.extend(lines(label_of(*level), text));
            }
            // Each of the calls is said by itself.
            BlockBody::Lookups => {}
            // The figures of a turn that was stopped come later than this line.
            BlockBody::TurnEnd(closing) if closing.ending == TurnEnding::Stopped => {
                out.push(LabelledLine::new(LineLabel::Note, "You stopped the turn."));
            }
            BlockBody::TurnEnd(closing) => {
                let text = format!("Turn ended: {}.", closing_line::words(closing));
                out.push(LabelledLine::new(LineLabel::Note, text));
            }
            BlockBody::Compacted(compaction) => {
                out.extend(lines(LineLabel::Note, &compaction.told));
            }
        }
        BlockCompletion::Yes
    }

    /// The complete lines that were not said yet; the whole rest once the text is complete.
    fn prose(
        &mut self,
        id: BlockId,
        prose: &AssistantText,
        out: &mut Vec<LabelledLine>,
    ) -> BlockCompletion {
        let begun = self.streaming.filter(|(of, _)| *of == id).map(|(_, at)| at);
        let from = begun.unwrap_or(0).min(prose.text.len());
        let text = prose.text.get(from..).unwrap_or_default();
        let (whole, state) = match prose.state {
            TextState::Streaming => {
                (text.rfind('\n').map_or(0, |end| end + 1), BlockCompletion::No)
            }
            TextState::Done | TextState::Dropped => (text.len(), BlockCompletion::Yes),
        };
        let first = if from == 0 { LineLabel::Model } else { LineLabel::Continuation };
        if whole > 0 {
            let new = &text[..whole];
            let new = if state == BlockCompletion::Yes { new.trim_end_matches('\n') } else { new };
            if !new.is_empty() {
                out.extend(lines(first, new));
            }
        }
        self.streaming = Some((id, from + whole));
        if prose.state == TextState::Dropped {
            out.push(LabelledLine::new(LineLabel::Warning, "The answer broke off. Asking again."));
        }
        state
    }

    /// Other changes: model, pauses, queued messages, toasts.
    fn changes(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        let status = &model.conversation.status;
        if self.model != status.model {
            self.model.clone_from(&status.model);
            let name = linear_page::line(&status.model);
            out.push(LabelledLine::new(LineLabel::Note, format!("Model: {name}.")));
        }
        let pause = pause_of(model);
        if pause.is_some() && self.pause != pause {
            out.push(LabelledLine::new(
                LineLabel::Warning,
                format!("{}. ctrl+c stops.", activity::what(model)),
            ));
        }
        self.pause = pause;
        let waiting = model.conversation.queue.items().len();
        if waiting > self.waiting {
            out.push(LabelledLine::new(LineLabel::Note, "Queued until this turn ends."));
        }
        self.waiting = waiting;
        let mark = model.shared.tour.as_ref().map(|tour| {
            let ((number, of), keys) = (tour.number(), &model.shared.settings.keys);
            format!("Tour {number} of {of}: {}", tour.text(keys, shown_extent(&model.dialogs)))
        });
        if self.mark != mark {
            out.extend(mark.iter().map(|text| LabelledLine::new(LineLabel::Note, text)));
            self.mark = mark;
        }
        if let Some(toast) = &model.shared.toast
            && self.toast.as_ref() != Some(toast)
        {
            out.extend(lines(label_of(toast.level), &toast.text));
        }
        self.toast.clone_from(&model.shared.toast);
    }

    /// The page over the chat and what was added to it, once for each key.
    fn page(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        let page = pages::open_page(model);
        let key = page.as_ref().map(|page| page.key.clone());
        let additions = pages::additions(model);
        let keys = additions.iter().map(|page| page.key.clone()).collect();
        let said = std::mem::replace(&mut self.additions, keys);
        if self.page == key {
            let new = additions.into_iter().filter(|page| !said.contains(&page.key));
            out.extend(new.flat_map(|page| page.lines));
            return;
        }
        self.page = key;
        out.extend(page.into_iter().flat_map(|page| page.lines));
    }

    fn silence(&mut self, model: &ScreenModel, out: &mut Vec<LabelledLine>) {
        let silent = model.shared.now.saturating_sub(self.announced_at) >= SILENCE;
        if let (true, Some(since)) =
            (silent && !model.has_question(), model.conversation.turn.since())
        {
            let words = activity::words(model);
            let time = clock(model.shared.now.saturating_sub(since));
            out.push(LabelledLine::new(LineLabel::Note, format!("{words}, {time} so far.")));
        }
    }
}

/// Whether a block is final and was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockCompletion {
    Yes,
    No,
}

/// When the pause before a request is over.
fn pause_of(model: &ScreenModel) -> Option<Duration> {
    match model.conversation.turn.running()?.phase {
        RunningTurnPhase::Retrying { at, .. } | RunningTurnPhase::RateLimited { at, .. } => {
            Some(at)
        }
        RunningTurnPhase::Waiting
        | RunningTurnPhase::Compacting(_)
        | RunningTurnPhase::Prefill(_)
        | RunningTurnPhase::Thinking
        | RunningTurnPhase::Answering
        | RunningTurnPhase::Calling(_)
        | RunningTurnPhase::Tool(_)
        | RunningTurnPhase::Stopping => None,
    }
}

fn label_of(level: NoticeLevel) -> LineLabel {
    match level {
        NoticeLevel::Info => LineLabel::Note,
        NoticeLevel::Warning => LineLabel::Warning,
        NoticeLevel::Error => LineLabel::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentEvent;
    use crate::tui::test_screen::{TURN, question, screen};

    #[test]
    fn the_time_that_a_question_waited_is_no_silence() {
        let mut announcer = LinearAnnouncer::default();
        let scene =
            screen(80, 24).event(AgentEvent::TurnStarted { turn: TURN }).event(question(1, "ls"));
        assert!(!announcer.take_announcements(&scene.model).is_empty());
        let scene = scene.after(60_000).key("y");
        assert!(!scene.model.has_question());
        assert!(announcer.take_announcements(&scene.model).is_empty());
        let scene = scene.after(21_000);
        assert_eq!(announcer.take_announcements(&scene.model).len(), 1);
    }
}
