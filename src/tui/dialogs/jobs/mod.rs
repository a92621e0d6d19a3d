//! The page of `/jobs`: the commands that run in the background or have ended not long ago, and what
//! the selected one prints, as it comes.
//!
//! The agent tells how the jobs stand and what the selected one prints for as long as the page says so
//! ([`Dialog::followed_jobs`]). Of an output the page keeps the last part, cut into lines once, so a
//! frame costs what is on screen however much a job prints. A job on a terminal shows its screen, which
//! the user can take over: then all keys but one go to its program (`terminal`).

mod linear_page;
pub mod output;
mod terminal;
mod terminal_view;
pub mod view;

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Position;

use crate::agent::AgentCommand;
use crate::domain::{
    FollowedJobs, FollowedOutput, JobId, JobReport, NoticeLevel, TerminalInput, TerminalSize,
};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, JobsKey, KeyPlace, KeyPress, Keymap, ScrollAction};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView,
};
use crate::tui::dialogs::line::ExpectedLine;
use crate::tui::dialogs::linear_page::LinearPage;

use output::OutputTail;
use terminal::TerminalPane;

/// The state of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsPage {
    /// In the order in which they were started; `None` until the agent tells.
    pub reports: Option<Vec<JobReport>>,
    /// The selected job; `None` while there is none.
    selected: Option<JobId>,
    /// What the selected job prints.
    pub output: OutputTail,
    /// The terminal of the selected job, if it has one.
    terminal: TerminalPane,
    /// The job of which it is asked whether to end it.
    ending: Option<JobId>,
    guard: QuestionGuard,
    /// A front end without a screen has read the page out, and shows nothing more of it.
    is_printed: bool,
}

/// Opens the page on the job that was started last.
pub fn open(conversation: &Conversation, shared: &mut SharedState) -> JobsPage {
    JobsPage::new(conversation.status.jobs.last().map(|job| job.id), shared.requests.issue())
}

impl JobsPage {
    /// A page on this job that knows nothing yet.
    pub fn new(selected: Option<JobId>, output: RequestId) -> Self {
        Self {
            reports: None,
            selected,
            output: OutputTail::new(output),
            terminal: TerminalPane::default(),
            ending: None,
            guard: QuestionGuard::default(),
            is_printed: false,
        }
    }

    /// All jobs that the page knows.
    pub fn jobs(&self) -> &[JobReport] {
        self.reports.as_deref().unwrap_or_default()
    }

    /// The selected job and its index.
    pub fn chosen(&self) -> Option<(usize, &JobReport)> {
        let is_it = |job: &JobReport| Some(job.job.id) == self.selected;
        self.jobs().iter().enumerate().find(|(_, job)| is_it(job))
    }

    /// The job of which it is asked whether to end it.
    pub fn asked(&self) -> Option<&JobReport> {
        self.jobs().iter().find(|job| Some(job.job.id) == self.ending)
    }

    /// Selects a job, and shows its output in place of that of the one before.
    fn select(&mut self, job: JobId, shared: &mut SharedState) {
        if self.selected != Some(job) {
            self.selected = Some(job);
            self.output = OutputTail::new(shared.requests.issue());
            self.terminal = TerminalPane::default();
        }
    }

    fn step(&mut self, by: isize, shared: &mut SharedState) {
        let at = self.chosen().map_or(0, |(at, _)| at);
        let last = self.jobs().len().saturating_sub(1);
        let to = at.saturating_add_signed(by).min(last);
        if let Some(job) = self.jobs().get(to).map(|it| it.job.id) {
            self.select(job, shared);
        }
    }

    /// Shows how the jobs stand now.
    fn reported(&mut self, reports: &[JobReport], shared: &mut SharedState) -> Vec<Intent> {
        self.reports = Some(reports.to_vec());
        if self.chosen().is_none()
            && let Some(newest) = reports.last().map(|it| it.job.id)
        {
            self.select(newest, shared);
        }
        if self.asked().is_none_or(|job| job.end.is_some()) {
            self.ending = None;
        }
        let runs = self.chosen().is_some_and(|(_, job)| job.end.is_none());
        if runs { Vec::new() } else { self.terminal.give_back() }
    }

    /// Asks whether to end the selected job; the same key again ends it.
    fn end(&mut self) -> Vec<Intent> {
        let Some((id, ended)) = self.chosen().map(|(_, it)| (it.job.id, it.end.is_some())) else {
            return Vec::new();
        };
        if ended {
            let text = format!("Job {} has ended already.", id.0);
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        }
        if self.ending != Some(id) {
            self.ending = Some(id);
            self.guard = QuestionGuard::default();
            return Vec::new();
        }
        if !self.guard.is_armed() {
            return Vec::new();
        }
        self.ending = None;
        vec![Intent::Command(AgentCommand::EndJob { job: id })]
    }

    fn press(&mut self, key: JobsKey, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if key != JobsKey::End {
            self.ending = None;
        }
        self.terminal.give_back();
        let page = &around.measured.page;
        match key {
            JobsKey::Previous => self.step(-1, around.shared),
            JobsKey::Next => self.step(1, around.shared),
            JobsKey::Scroll(how) if self.shows_screen() && how != ScrollAction::Top => {
                if is_up(how) {
                    self.output.show_end();
                }
            }
            JobsKey::Scroll(how) => self.output.scroll(how, page),
            JobsKey::End => return self.end(),
            JobsKey::TakeOver => return self.take_over(),
            // It needs the key itself.
            JobsKey::GiveBack => {}
            JobsKey::Copy if self.shows_screen() => {
                let (text, what) = (self.terminal.text(), "the screen of the terminal");
                return vec![Intent::Effect(ScreenEffect::Copy { text, what })];
            }
            JobsKey::Open if self.terminal.frame.is_some() => return self.open_screen(),
            JobsKey::Copy => {
                let lines = match (page.rows.first(), page.rows.last()) {
                    (Some(first), Some(last)) => *first..last + 1,
                    (_, _) => {
                        let text = "Nothing to copy: this job has No output yet.";
                        return vec![Intent::Toast(NoticeLevel::Info, text.to_owned())];
                    }
                };
                let document = Arc::clone(&self.output.document);
                let what = "the output on screen";
                return vec![Intent::Effect(ScreenEffect::CopyLines { document, lines, what })];
            }
            JobsKey::Open => {
                let document = Arc::clone(&self.output.document);
                let job = self.chosen().filter(|_| !document.is_empty());
                let title =
                    job.map(|(_, job)| format!("Job {}  {}", job.job.id.0, job.job.command));
                return title
                    .map(|title| Intent::OpenDocument { title, document })
                    .into_iter()
                    .collect();
            }
            JobsKey::Back => return vec![Intent::Close],
        }
        Vec::new()
    }
}

impl Dialog for JobsPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Jobs
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::JOBS, key) {
            Some(JobsKey::GiveBack) => self.press_give_back(key.event()),
            Some(key) => self.press(key, around),
            None => {
                self.ending = None;
                self.terminal.give_back();
                Vec::new()
            }
        }
    }

    fn takes_everything(&self) -> bool {
        self.terminal.is_taken_over()
    }

    fn raw_key(&mut self, key: KeyEvent, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if terminal::gives_back(&around.shared.settings.keys, key) {
            return self.terminal.give_back();
        }
        self.type_in(terminal::typed(key).map(TerminalInput::Key))
    }

    fn raw_mouse(&mut self, event: MouseEvent, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let cell = around.measured.page.area.inside(event.column, event.row);
        self.type_in(cell.and_then(|cell| terminal::mouse(event, cell)).map(TerminalInput::Mouse))
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        let is_taken_over = self.terminal.is_taken_over();
        is_taken_over.then(|| self.type_in(Some(TerminalInput::Paste(text.to_owned()))))
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around, canvas)
    }

    /// Only what can be done with the selected job.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        if self.terminal.is_taken_over() {
            return vec![(terminal::give_back_key(keys), "give back")];
        }
        let mut hints = Vec::new();
        let mut add = |key, word| hints.push((keys.key(key), word));
        if let Some((_, job)) = self.chosen() {
            if job.end.is_none() {
                if job.has_terminal {
                    add(JobsKey::TakeOver, "take over");
                }
                add(JobsKey::End, "end job");
            }
            if !self.output.document.is_empty() || self.terminal.frame.is_some() {
                add(JobsKey::Copy, "copy");
                add(JobsKey::Open, "open");
            }
        }
        add(JobsKey::Back, "close");
        hints
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        if self.shows_screen() {
            if rows < 0 {
                self.output.show_end();
            }
            return;
        }
        self.output.wheel(rows, &around.measured.page);
    }

    /// Selects the job that was clicked.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let clicked = around.measured.page.list.and_then(|(list, first)| {
            list.inside(column, row).map(|(_, row)| first + usize::from(row))
        });
        if let Some(job) = clicked.and_then(|at| self.jobs().get(at)).map(|it| it.job.id) {
            self.ending = None;
            self.select(job, around.shared);
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::Jobs(reports) => return self.reported(reports, around.shared),
            DialogReply::JobOutput(FollowedOutput::Screen { job, frame, scrolled })
                if Some(*job) == self.selected =>
            {
                for line in scrolled {
                    self.output.push(0, &format!("{line}\n"));
                }
                self.terminal.frame = Some(frame.clone());
            }
            DialogReply::JobOutput(FollowedOutput::Printed { job, skipped, text })
                if Some(*job) == self.selected =>
            {
                self.output.push(*skipped, text);
            }
            DialogReply::JobOutput(FollowedOutput::Lost { job, reason })
                if Some(*job) == self.selected =>
            {
                self.output.lost = Some(reason.clone());
            }
            _ => {}
        }
        Vec::new()
    }

    /// Takes over the scroll position as the view clamped it, and gives a terminal the size of its
    /// pane.
    fn drawn(&mut self, _layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let page = &around.measured.page;
        self.output.scrolled_to(page.top);
        let running = self.chosen().filter(|(_, job)| job.has_terminal && job.end.is_none());
        let Some(job) = running.map(|(_, job)| job.job.id) else { return Vec::new() };
        let size = TerminalSize { columns: page.area.width, rows: page.area.height };
        if size.columns == 0 || size.rows == 0 || self.terminal.size == Some(size) {
            return Vec::new();
        }
        self.terminal.size = Some(size);
        vec![Intent::Command(AgentCommand::ResizeJob { job, size })]
    }

    fn followed_jobs(&self) -> Option<FollowedJobs> {
        (!self.is_printed).then_some(FollowedJobs { output_of: self.selected })
    }

    /// The guard of the question whether to end a job; `None` while it is not asked.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        self.ending.is_some().then_some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        self.ending.is_some().then_some(self.guard)
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around)
    }

    fn printed(&mut self, _shared: &SharedState) {
        self.is_printed = true;
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.reports.is_none() { ExpectedLine::Nothing } else { ExpectedLine::Message }
    }
}

/// Whether a scroll key goes away from the end.
fn is_up(how: ScrollAction) -> bool {
    match how {
        ScrollAction::LineUp | ScrollAction::HalfUp | ScrollAction::PageUp | ScrollAction::Top => {
            true
        }
        ScrollAction::LineDown
        | ScrollAction::HalfDown
        | ScrollAction::PageDown
        | ScrollAction::Bottom => false,
    }
}
