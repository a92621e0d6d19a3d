//! The permission dialog: the question whether a tool call may run, and the user's answer.
//!
//! Keys that come before the question can be read are not answers: until the guard is armed
//! ([`QuestionGuard`]), keys go where they went before. Escape always means "no", and stops the turn.
//! Enter takes the marked answer, but never says yes to what is hard to take back, whatever keys the
//! user binds. A command, diff or arguments longer than the screen can be approved only once the end
//! has been on screen.

mod hunk_selection;
mod line;
mod linear_page;
pub mod offers;
mod state;
pub mod view;
mod words;

use crossterm::event::KeyCode;
use ratatui::layout::Position;

use crate::domain::{ApprovalRequest, DangerFacts};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::geometry::CellRect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, ApprovalKey, KeyContext, KeyPlace, KeyPress, Keymap};
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::geometry::wheel_scrolled;
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::dialogs::question_keys;
use crate::tui::view::ViewLayouts;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView, EarlyKey,
};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};

pub use hunk_selection::{HunkDirection, HunkSelection};
pub use offers::SessionScope;
pub use state::{ApprovalDialog, ApprovalRequestExt, ApprovalRuleSlot, ApprovalStage};

impl Dialog for ApprovalDialog {
    fn place(&self) -> KeyPlace {
        match self.stage {
            ApprovalStage::Choosing => KeyPlace::Approval,
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                KeyPlace::Field
            }
        }
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.handle_key(key, around.measured.extent, &around.measured.hunk_rows)
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { layouts, styles, dock, buffer, measured, .. } = canvas;
        view::draw(around, self, layouts, styles, dock, buffer, measured)
    }

    fn docked_rows(
        &self,
        around: DialogView<'_>,
        layouts: &mut ViewLayouts,
        size: (u16, u16),
    ) -> Option<u16> {
        Some(view::rows_wanted(around, self, layouts, size))
    }

    /// Hints about changes are shown only where each can be left out.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        if self.stage != ApprovalStage::Choosing {
            return keys.hints(KeyContext::Field).collect();
        }
        let about_changes =
            [ApprovalKey::Pick, ApprovalKey::NextChange, ApprovalKey::PreviousChange];
        let about_changes: Vec<_> = about_changes.iter().flat_map(|key| keys.hint(*key)).collect();
        let all_edits = keys.hint(ApprovalKey::AllowEdits);
        let has_all_edits = self.session_scope == SessionScope::AllEdits;
        let terminal = keys.hint(ApprovalKey::OnTerminal);
        let all = keys.hints(KeyContext::Approval).filter(|hint| {
            (self.offers_terminal() || Some(hint) != terminal.as_ref())
                && (self.hunks.is_some() || !about_changes.contains(hint))
                && (has_all_edits || Some(hint) != all_edits.as_ref())
        });
        all.collect()
    }

    /// Text typed into a field of the dialog is no answer, and Escape is a "no" that needs no guard,
    /// since nobody types it by accident. A letter that answers nothing begins a text for the input.
    fn early_key(&self, key: &KeyPress<'_>) -> Option<EarlyKey> {
        let event = key.event();
        if self.stage != ApprovalStage::Choosing || event.is_some_and(|it| it.code == KeyCode::Esc)
        {
            return None;
        }
        let answer = keymap::find(keymap::APPROVAL, key);
        // In the chat it allows all edits, too, and nothing of this one is on screen.
        if answer == Some(ApprovalKey::AllowEdits) && self.guard.is_hidden() {
            return Some(EarlyKey::Discard);
        }
        question_keys::early_key(self.guard, self.early_key, key, answer.is_some())
    }

    fn paste(&mut self, text: &str, around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        if let Some(field) = self.field() {
            field.paste(text);
            return Some(Vec::new());
        }
        question_keys::paste(&mut self.guard, self.early_key, around.shared.now)
    }

    fn cancel(&self) -> Vec<Intent> {
        vec![Intent::StopTurn]
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(self, around))
    }

    fn linear_additions(&self, around: DialogView<'_>) -> Vec<LinearPage> {
        linear_page::additions(self, around)
    }

    /// A yes to all is to those that were read out. Where they are others than before, the question
    /// is a new one.
    fn printed(&mut self, shared: &SharedState) {
        let waiting: Vec<_> = offers::waiting_with(shared).iter().map(|it| it.id).collect();
        if self.waiting != waiting && self.stage == ApprovalStage::Choosing {
            self.waiting = waiting;
            self.guard.hidden();
        }
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        let extent = around.measured.extent;
        let row = wheel_scrolled(self.scroll, rows, extent);
        self.scroll_to(row, extent, &around.measured.hunk_rows);
    }

    /// A click on an answer, or on the box of a change. The guard delays clicks as it delays keys: the
    /// user may have aimed at something else.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        if !self.guard.is_armed() {
            return Vec::new();
        }
        let measured = around.measured;
        let is_under = |area: &CellRect| area.inside(column, row).is_some();
        let key = measured.answers.iter().find(|(area, _)| is_under(area)).map(|(_, key)| *key);
        let change = measured.boxes.iter().find(|(area, _)| is_under(area)).map(|(_, at)| *at);
        if let Some(change) = change {
            self.pick(change);
        }
        key.map_or_else(Vec::new, |key| self.press(key, measured.extent, &measured.hunk_rows))
    }

    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if layer == DialogLayer::Top {
            self.note_drawn(around.measured);
            self.waiting.clone_from(&around.measured.listed);
        }
        Vec::new()
    }

    /// What is shown has changed, so keys wait until that is read. Those that come before belong to
    /// the question by now.
    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let DialogReply::ApprovalFacts { id, facts } = reply
            && *id == self.request.id
        {
            self.request.facts = DangerFacts::Found(facts.clone());
            if self.guard.is_armed() {
                self.early_key = EarlyKey::Discard;
            }
            self.guard.hidden();
        }
        Vec::new()
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }

    /// Keys are dropped until the question is armed again.
    fn screen_lost(&mut self) {
        self.guard.hidden();
        self.early_key = EarlyKey::Discard;
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn approval(&self) -> Option<&ApprovalRequest> {
        Some(&self.request)
    }

    fn expected_line(&self) -> ExpectedLine {
        match self.stage {
            ApprovalStage::Choosing => ExpectedLine::Answer,
            ApprovalStage::Rule(..) => ExpectedLine::Rule,
            ApprovalStage::Command(_) => ExpectedLine::Command,
            ApprovalStage::Instruction(_) => ExpectedLine::Instruction,
        }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        self.answer_with(line)
    }
}
