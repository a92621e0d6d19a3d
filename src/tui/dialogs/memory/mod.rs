//! The page of `/memory`: the instruction files by level, with their sizes, whether each goes to the model,
//! and why it does not. Here the user reads a file, or edits it in an editor.
//!
//! The agent looks at the files; the page shows its reply. After an edit the page says what has changed and
//! when the model hears of it, and asks again.

mod linear_page;
pub mod lines;
pub mod view;

use ratatui::layout::Position;

use crate::agent::{AgentCommand, MemoryReply, MemoryRequest};
use crate::context::{InstructionReport, InstructionRow};
use crate::domain::{AgentId, FileDiff, NoticeLevel};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, MemoryKey, ScrollAction};

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLifetime, DialogOpening, DialogView,
};
use crate::tui::dialogs::geometry::selected_row;
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError, numbered_row};
use crate::tui::dialogs::linear_page::LinearPage;

/// The state of the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryPage {
    /// `None` until the agent replies.
    pub report: Option<InstructionReport>,
    /// The index of the selected file.
    pub selected: usize,
    /// What came of the last edit.
    pub told: Option<(NoticeLevel, String)>,
    /// How many replies came: a front end without keys reads the page out again.
    pub version: usize,
}

/// Opens the page and asks for the files.
pub fn open(agent: AgentId) -> DialogOpening<MemoryPage> {
    let ask = ScreenEffect::Agent(agent, AgentCommand::Memory(MemoryRequest::Show));
    DialogOpening::of(MemoryPage::default(), vec![ask])
}

fn ask(request: MemoryRequest) -> Intent {
    Intent::Command(AgentCommand::Memory(request))
}

impl MemoryPage {
    /// All files that the page knows.
    pub fn files(&self) -> &[InstructionRow] {
        self.report.as_ref().map_or(&[], |report| &report.files)
    }

    /// The selected file.
    pub fn chosen(&self) -> Option<&InstructionRow> {
        self.files().get(self.selected)
    }

    fn select(&mut self, how: ScrollAction, rows: usize) {
        self.selected = selected_row(self.selected, how, rows, self.files().len());
        self.told = None;
    }

    fn act(&mut self, key: MemoryKey) -> Vec<Intent> {
        let Some(path) = self.chosen().map(|file| file.path.clone()) else { return Vec::new() };
        self.told = None;
        match key {
            MemoryKey::Open => vec![ask(MemoryRequest::Read { path })],
            MemoryKey::Edit => vec![Intent::Effect(ScreenEffect::EditFile { path })],
            MemoryKey::Scroll(_) | MemoryKey::Back => Vec::new(),
        }
    }

    /// Shows the agent's reply, with the same file selected; opens the text that was asked for.
    fn replied(&mut self, reply: &MemoryReply) -> Vec<Intent> {
        let selected = self.chosen().map(|file| file.path.clone());
        self.report = Some(reply.report.clone());
        self.version += 1;
        let same = self.files().iter().position(|file| Some(&file.path) == selected.as_ref());
        self.selected = same.unwrap_or(self.selected).min(self.files().len().saturating_sub(1));
        let Some(told) = &reply.text else { return Vec::new() };
        match &told.text {
            Ok(text) => {
                let title = told.path.file_name().unwrap_or_default().to_string_lossy();
                vec![Intent::OpenText { title: title.into_owned(), text: text.clone() }]
            }
            Err(error) => {
                self.told = Some((NoticeLevel::Error, error.clone()));
                Vec::new()
            }
        }
    }

    fn edited(&mut self, change: &Result<FileDiff, String>) -> Vec<Intent> {
        let level = match change {
            Ok(_) => NoticeLevel::Info,
            Err(_) => NoticeLevel::Error,
        };
        let text = match change {
            Ok(diff) => {
                let file = self.files().iter().find(|file| file.path == diff.path);
                lines::after_edit(diff, file)
            }
            Err(error) => error.clone(),
        };
        self.told = Some((level, text));
        vec![ask(MemoryRequest::Show)]
    }
}

impl Dialog for MemoryPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Memory
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::MEMORY, key) {
            None => Vec::new(),
            Some(MemoryKey::Back) => vec![Intent::Close],
            Some(MemoryKey::Scroll(how)) => {
                self.select(how, around.measured.list_rows());
                Vec::new()
            }
            Some(key @ (MemoryKey::Open | MemoryKey::Edit)) => self.act(key),
        }
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, &around.shared.settings, canvas);
        None
    }

    /// Only what can be done with the selected file.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let file = self.chosen();
        let show = file.filter(|file| lines::exists(file)).map(|_| (MemoryKey::Open, "show"));
        let edit = file.map(|file| (MemoryKey::Edit, lines::edit_word(file)));
        let offered = [show, edit, Some((MemoryKey::Back, "close"))].into_iter().flatten();
        offered.map(|(key, word)| (keys.key(key), word)).collect()
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.select(if rows < 0 { ScrollAction::LineUp } else { ScrollAction::LineDown }, 1);
    }

    /// Selects the file that was clicked.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let Some((list, first)) = around.measured.page.list
            && let Some((_, row)) = list.inside(column, row)
            && let Some(Some(file)) = lines::rows(self).get(first + usize::from(row))
        {
            self.selected = *file;
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::Memory(reply) => self.replied(reply),
            DialogReply::FileEdited(change) => self.edited(change),
            _ => Vec::new(),
        }
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, &around.shared.settings)
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.report.is_none() { ExpectedLine::Nothing } else { ExpectedLine::Row }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    /// A number shows the file, `edit 2` opens it in the editor, an empty line closes the page.
    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(vec![Intent::Close]);
        }
        let (key, number) = match line.strip_prefix("edit") {
            Some(number) => (MemoryKey::Edit, number.trim()),
            None => (MemoryKey::Open, line),
        };
        self.selected = numbered_row(number, self.files().len())?;
        Ok(self.act(key))
    }
}
