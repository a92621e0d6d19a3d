//! What the model asks the user: one question after the other, each with the answers that the model
//! thinks of, and two that are always there: the user's own words, and leaving it to the model.
//!
//! The guard of every question holds here, too: what was typed before a question could be read answers
//! nothing. Escape stops the turn, as in a question about a permission.

mod line;
mod linear_page;
mod state;
mod view;

use crossterm::event::KeyCode;
use ratatui::layout::Position;

use crate::domain::ApprovalId;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{
    self, FieldKey, KeyContext, KeyPlace, KeyPress, Keymap, QuestionKey,
};
use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView, EarlyKey,
};
use crate::tui::dialogs::geometry::{scrolled, wheel_scrolled};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::dialogs::question_keys;
use crate::tui::view::ViewLayouts;

use state::QuestionField;
pub use state::QuestionsDialog;

impl Dialog for QuestionsDialog {
    fn place(&self) -> KeyPlace {
        match self.field {
            None => KeyPlace::Questions,
            Some(_) => KeyPlace::Field,
        }
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let Some(field) = &mut self.field else {
            let pressed = key.event().and_then(|event| event.code.as_char());
            return match keymap::find(keymap::QUESTIONS, key) {
                Some(QuestionKey::Scroll(how)) => {
                    self.scroll = scrolled(self.scroll, how, around.measured.extent);
                    Vec::new()
                }
                Some(key) => self.press(key, pressed),
                None => Vec::new(),
            };
        };
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) if !self.guard.is_armed() => {}
            Some(FieldKey::Accept) => {
                let text = field.editor().expanded();
                match field {
                    QuestionField::OwnWords(_) => return self.accept_words(&text),
                    QuestionField::Document(_) => self.accept_document(&text),
                }
            }
            Some(FieldKey::Back) => self.field = None,
            Some(FieldKey::Newline) => field.editor().insert_char('\n'),
            Some(FieldKey::Next) => {}
            None => field.editor().key(key),
        }
        Vec::new()
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(around, self, canvas)
    }

    fn docked_rows(
        &self,
        around: DialogView<'_>,
        layouts: &mut ViewLayouts,
        (width, room): (u16, u16),
    ) -> Option<u16> {
        Some(view::rows_wanted(around, self, layouts, (width, room)))
    }

    /// Keys that do nothing for this question are not named.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        if self.field.is_some() {
            return keys.hints(KeyContext::Field).collect();
        }
        let hidden = [
            keys.hint(QuestionKey::Toggle).filter(|_| !self.allows_several()),
            keys.hint(QuestionKey::Back).filter(|_| self.at == 0),
            keys.hint(QuestionKey::EditDocument).filter(|_| self.document().is_none()),
        ];
        let all = keys.hints(KeyContext::Questions);
        all.filter(|hint| !hidden.iter().flatten().any(|it| it == hint)).collect()
    }

    fn early_key(&self, key: &KeyPress<'_>) -> Option<EarlyKey> {
        let is_escape = key.event().is_some_and(|event| event.code == KeyCode::Esc);
        if self.field.is_some() || is_escape {
            return None;
        }
        let answers = keymap::find(keymap::QUESTIONS, key).is_some();
        question_keys::early_key(self.guard, self.early_key, key, answers)
    }

    fn paste(&mut self, text: &str, around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        if let Some(field) = &mut self.field {
            field.editor().paste(text);
            return Some(Vec::new());
        }
        question_keys::paste(&mut self.guard, self.early_key, around.shared.now)
    }

    fn cancel(&self) -> Vec<Intent> {
        vec![Intent::StopTurn]
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }

    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        if !self.guard.is_armed() || self.field.is_some() {
            return Vec::new();
        }
        let mut boxes = around.measured.boxes.iter();
        let under = boxes.find(|(area, _)| area.inside(column, row).is_some());
        let taken = under.and_then(|(_, at)| self.rows().get(*at).copied());
        taken.map_or_else(Vec::new, |row| self.take(row))
    }

    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if layer == DialogLayer::Top && self.field.is_none() {
            self.review.drawn(self.scroll, around.measured);
        }
        Vec::new()
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }

    fn screen_lost(&mut self) {
        self.guard.hidden();
        self.early_key = EarlyKey::Discard;
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn open_question(&self) -> Option<ApprovalId> {
        Some(self.request.id)
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(self))
    }

    fn expected_line(&self) -> ExpectedLine {
        ExpectedLine::Answer
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        self.answer_with(line)
    }
}
