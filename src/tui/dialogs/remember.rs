//! Asks where a typed line that begins with `#` is to be remembered: in the project's instructions or in the
//! user's own. The last row sends the line to the model instead, and Escape gives it back to the input.
//!
//! The row that is selected says which file gets which line; the agent writes it.

use ratatui::layout::{Position, Rect};

use crate::agent::{AgentCommand, MemoryRequest};
use crate::context::{InstructionReport, RememberLevel, RememberPlace, remembered_line};
use crate::domain::{AgentId, UserInput};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, ListKey};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::context::view::shown_path;
use crate::tui::layout::{StyleRole, StyledLine, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::paint::{self, span};

use super::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLifetime, DialogOpening, DialogView,
};
use super::line::{ExpectedLine, LineAnswerError, numbered_row};
use super::linear_page::{self, LabelledLine, LineLabel, LinearPage};

const TITLE: &str = "Remember this line";
const SEND: &str = "Send it to the model, as a message";
const NOT_TRUSTED: &str = "The project's own file is not offered: this folder is not trusted.";
/// Columns of what a row is called.
const LABEL: usize = 24;

/// The question where to remember a line.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberDialog {
    typed: UserInput,
    /// `None` until the agent has told the files.
    report: Option<InstructionReport>,
    selected: usize,
    guard: QuestionGuard,
}

/// What a row of the question stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RememberRow<'a> {
    Place(&'a RememberPlace),
    Send,
}

/// Opens the question about a line, and asks the agent for the files.
pub fn open(agent: AgentId, typed: UserInput) -> DialogOpening<RememberDialog> {
    let ask = ScreenEffect::Agent(agent, AgentCommand::Memory(MemoryRequest::Show));
    DialogOpening::of(RememberDialog::new(typed), vec![ask])
}

impl RememberDialog {
    /// The question about a line whose files are not known yet.
    pub fn new(typed: UserInput) -> Self {
        Self { typed, report: None, selected: 0, guard: QuestionGuard::default() }
    }

    fn rows(&self) -> Vec<RememberRow<'_>> {
        let Some(report) = &self.report else { return Vec::new() };
        report.places.iter().map(RememberRow::Place).chain([RememberRow::Send]).collect()
    }

    fn step(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    fn choose(&self) -> Vec<Intent> {
        let then = match self.rows().get(self.selected) {
            None => return Vec::new(),
            Some(RememberRow::Send) => Intent::Send(self.typed.clone()),
            Some(RememberRow::Place(place)) => {
                let (level, typed) = (place.level, self.typed.text.clone());
                Intent::Command(AgentCommand::Memory(MemoryRequest::Remember { level, typed }))
            }
        };
        vec![Intent::Close, then]
    }

    fn leave(&self) -> Vec<Intent> {
        vec![Intent::Close, Intent::AppendToInput(self.typed.clone())]
    }

    /// What the selected row would do, by lines.
    fn consequence(&self, settings: &ScreenSettings) -> Vec<String> {
        let mut told = match self.rows().get(self.selected) {
            None => Vec::new(),
            Some(RememberRow::Send) => vec!["Nothing is written.".to_owned()],
            Some(RememberRow::Place(place)) => {
                let path = path(place, settings);
                let how = if place.is_new { "Creates" } else { "Adds to" };
                let line = remembered_line(&self.typed.text);
                let line = line.unwrap_or_else(|error| error.to_string());
                vec![format!("{how} {path}, which goes to the model with every message:"), line]
            }
        };
        if self.report.as_ref().is_some_and(|report| !report.is_trusted) {
            told.push(NOT_TRUSTED.to_owned());
        }
        told
    }
}

fn path(place: &RememberPlace, settings: &ScreenSettings) -> String {
    shown_path(&place.path.display().to_string(), settings)
}

fn label(row: RememberRow<'_>) -> &'static str {
    match row {
        RememberRow::Place(place) => match place.level {
            RememberLevel::Project => "In this project",
            RememberLevel::User => "In all your projects",
        },
        RememberRow::Send => SEND,
    }
}

impl Dialog for RememberDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::List
    }

    fn key(&mut self, key: &KeyPress<'_>, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.step(-1),
            Some(ListKey::Next) => self.step(1),
            Some(ListKey::PageUp) => self.step(isize::MIN),
            Some(ListKey::PageDown) => self.step(isize::MAX),
            // The second of two quick presses of enter is no answer.
            Some(ListKey::Accept) if self.guard.is_armed() => return self.choose(),
            Some(ListKey::Back) => return self.leave(),
            Some(ListKey::Accept) | None => {}
        }
        Vec::new()
    }

    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let accept = match self.rows().get(self.selected) {
            Some(RememberRow::Place(_)) => "remember",
            Some(RememberRow::Send) | None => "send",
        };
        vec![(keys.key(ListKey::Accept), accept), (keys.key(ListKey::Back), "back to the line")]
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, measured, .. } = canvas;
        let settings = &around.shared.settings;
        let width = area.width.saturating_sub(4).min(90);
        let inside = width.saturating_sub(6);
        let rows = self.rows();
        let mut below: Vec<StyledLine> = Vec::new();
        for (nth, text) in self.consequence(settings).iter().enumerate() {
            let role = if nth == 1 { StyleRole::Added } else { StyleRole::Muted };
            below.extend(plain::render(&harmless(text), role, inside));
        }
        let listed = u16::try_from(rows.len()).unwrap_or(1).max(1);
        let wanted =
            listed.saturating_add(u16::try_from(below.len()).unwrap_or(0)).saturating_add(3);
        let outer = paint::centred(area, width, wanted.min(area.height));
        let inner = paint::frame(TITLE, "", styles, outer, buffer);
        measured.is_cramped = inner.height < listed.saturating_add(2);
        if rows.is_empty() && inner.height > 0 {
            let text = [span("One moment …", StyleRole::Muted)];
            paint::spans(&text, styles, Rect { height: 1, ..inner }, buffer);
        }
        let list = Rect { height: listed.min(inner.height), ..inner };
        measured.list = Some(list.into());
        for (y, (at, row)) in (list.y..list.y + list.height).zip(rows.iter().enumerate()) {
            let spot = Rect { y, height: 1, ..list };
            let is_selected = at == self.selected;
            if is_selected {
                paint::selected(spot, styles, buffer);
            }
            let mut left = vec![
                span(if is_selected { "❯ " } else { "  " }, StyleRole::User),
                span(format!("{:LABEL$}", label(*row)), StyleRole::Text),
            ];
            if let RememberRow::Place(place) = row {
                left.push(span(harmless(&path(place, settings)), StyleRole::Muted));
            }
            paint::spans(&left, styles, spot, buffer);
        }
        let first = list.y + list.height + 1;
        for (y, line) in (first..inner.y + inner.height).zip(&below) {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
        }
        None
    }

    /// Pasted text is no answer, and would mix with the line in the input.
    fn paste(&mut self, _text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        Some(Vec::new())
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }

    fn cancel(&self) -> Vec<Intent> {
        self.leave()
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.step(rows.signum() as isize);
    }

    /// Selects the row that was clicked; enter chooses it.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let list = around.measured.list;
        if let Some((_, row)) = list.and_then(|list| list.inside(column, row))
            && usize::from(row) < self.rows().len()
        {
            self.selected = row.into();
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let DialogReply::Memory(reply) = reply {
            self.report = Some(reply.report.clone());
            self.step(0);
        }
        Vec::new()
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        self.report.as_ref()?;
        let settings = &around.shared.settings;
        let line = remembered_line(&self.typed.text).unwrap_or_else(|error| error.to_string());
        let mut lines = vec![LabelledLine::new(
            LineLabel::Note,
            linear_page::line(&format!("{TITLE}: {line}")),
        )];
        for (number, row) in (1..).zip(self.rows()) {
            let place = match row {
                RememberRow::Place(place) => format!(": {}", path(place, settings)),
                RememberRow::Send => String::new(),
            };
            let text = format!("{number}. {}{place}", label(row));
            lines.push(LabelledLine::new(LineLabel::Continuation, linear_page::line(&text)));
        }
        let end = "Type a number, or an empty line to cancel without saving.";
        lines.push(LabelledLine::new(LineLabel::Continuation, end));
        Some(LinearPage { key: format!("remember {line}"), lines })
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.report.is_none() { ExpectedLine::Nothing } else { ExpectedLine::Row }
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(vec![Intent::Close]);
        }
        self.selected = numbered_row(line, self.rows().len())?;
        Ok(self.choose())
    }
}
