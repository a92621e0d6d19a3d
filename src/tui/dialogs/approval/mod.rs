//! The permission dialog: the question whether a tool call may run, and the user's answer.
//!
//! Keys that come before the question can be read are not answers: until the guard is armed
//! ([`QuestionGuard`]), keys go where they went before. Escape always means "no", and Enter never
//! means "yes", whatever keys the user binds. A command, diff or arguments longer than the screen
//! can be approved only once the end has been on screen.

mod hunk_selection;
mod line;
mod linear_page;
pub mod view;

use std::ops::Range;

use crossterm::event::KeyCode;
use ratatui::layout::Position;
use serde_json::Value;

use crate::domain::{ApprovalAnswer, ApprovalKind, ApprovalRequest};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::geometry::CellRect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap;
use crate::tui::app::keymap::{
    ApprovalKey, FieldKey, KeyContext, KeyPlace, KeyPress, Keymap, ScrollAction,
};
use crate::tui::dialogs::linear_page::LinearPage;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView, EarlyKey,
};
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::geometry::{scrolled, wheel_scrolled};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::review::QuestionReview;

pub use hunk_selection::{HunkDirection, HunkSelection};

/// The state of the permission dialog for one request.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDialog {
    pub request: ApprovalRequest,
    /// The rules an "always" saves, as offered or edited.
    pub allow_rules: Vec<String>,
    /// The rule a "never" saves, as offered or edited.
    pub deny_rule: Option<String>,
    /// The parts of the request that look like something else (lookalike characters), a sentence
    /// each.
    pub lookalikes: Vec<String>,
    /// What keys do now: answer, or edit a text.
    pub stage: ApprovalStage,
    /// The separate changes of an edit, if there is more than one to choose from.
    pub hunks: Option<HunkSelection>,
    /// Rows scrolled past at the top of the command or diff.
    pub scroll: usize,
    /// Whether the end of the command, diff or arguments has been on screen.
    pub review: QuestionReview,
    /// Decides whether the dialog takes answers yet.
    pub guard: QuestionGuard,
    /// What happens to keys that come before the guard is armed.
    pub early_key: EarlyKey,
}

/// What keys do in the dialog.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalStage {
    /// Each key is an answer.
    Choosing,
    /// Keys edit the rule in this slot.
    Rule(ApprovalRuleSlot, TextEditor),
    /// Keys edit the command.
    Command(TextEditor),
    /// Keys type what the model should do instead.
    Instruction(TextEditor),
}

/// The rule that is being edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRuleSlot {
    /// An index into [`ApprovalDialog::allow_rules`].
    Allow(usize),
    /// [`ApprovalDialog::deny_rule`].
    Deny,
}

impl ApprovalDialog {
    /// The dialog of a request that has not been drawn yet.
    pub fn new(request: ApprovalRequest, early_key: EarlyKey) -> Self {
        Self {
            allow_rules: request.allow_rules.clone(),
            deny_rule: request.deny_rule.clone(),
            hunks: HunkSelection::of(&request),
            lookalikes: request.lookalikes(),
            request,
            stage: ApprovalStage::Choosing,
            scroll: 0,
            review: QuestionReview::Unseen,
            guard: QuestionGuard::default(),
            early_key,
        }
    }

    /// Whether a yes is accepted: the end of what would run has been on screen.
    pub fn can_approve(&self) -> bool {
        self.review == QuestionReview::Seen
    }

    /// Whether the request comes with rules that can be saved.
    pub fn offers_rules(&self) -> bool {
        !self.allow_rules.is_empty()
    }

    /// Whether a yes can also save rules. A partial approval of an edit saves none.
    pub fn can_save_rules(&self) -> bool {
        let is_whole =
            self.hunks.as_ref().is_none_or(|hunks| hunks.included_count() == hunks.count);
        self.can_approve() && self.offers_rules() && is_whole
    }

    /// Records a drawn frame: clamps the scroll position and updates the review.
    pub fn note_drawn(&mut self, extent: ScrollExtent) {
        self.scroll = self.scroll.min(extent.rows.saturating_sub(extent.shown));
        self.review.drawn(self.scroll, extent);
    }

    /// Scrolls to a row. `hunk_rows` are the rows of each change of an edit; the focus follows.
    pub fn scroll_to(&mut self, row: usize, extent: ScrollExtent, hunk_rows: &[Range<usize>]) {
        self.scroll = row;
        if let Some(hunks) = &mut self.hunks {
            hunks.follow(row, hunk_rows, extent);
        }
    }

    /// Handles a key. Enter never approves, even where the user binds it to an approval.
    fn handle_key(
        &mut self,
        key: &KeyPress<'_>,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        match self.stage {
            ApprovalStage::Choosing => match keymap::find(keymap::APPROVAL, key) {
                Some(ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always)
                    if key.event().is_some_and(|key| key.code == KeyCode::Enter) =>
                {
                    Vec::new()
                }
                Some(key) => self.choose(key, extent, hunk_rows),
                None => Vec::new(),
            },
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                self.type_in(key)
            }
        }
    }

    /// Handles a click on an answer, given as the key that the answer stands for.
    pub fn press(
        &mut self,
        key: ApprovalKey,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        match self.stage {
            ApprovalStage::Choosing => self.choose(key, extent, hunk_rows),
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                Vec::new()
            }
        }
    }

    /// Handles a click on the checkbox of a change: moves the focus there and toggles the change.
    pub fn pick(&mut self, change: usize) {
        if let (ApprovalStage::Choosing, Some(hunks)) = (&self.stage, &mut self.hunks) {
            hunks.focus = change;
            hunks.toggle();
        }
    }

    fn field(&mut self) -> Option<&mut TextEditor> {
        match &mut self.stage {
            ApprovalStage::Choosing => None,
            ApprovalStage::Rule(_, editor)
            | ApprovalStage::Command(editor)
            | ApprovalStage::Instruction(editor) => Some(editor),
        }
    }

    fn choose(
        &mut self,
        key: ApprovalKey,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        let rules = || self.allow_rules.clone();
        match key {
            ApprovalKey::Once if self.can_approve() => {
                self.answer(self.hunks.as_ref().map_or(ApprovalAnswer::Once, HunkSelection::answer))
            }
            ApprovalKey::Session if self.request.kind == ApprovalKind::Budget => {
                self.answer(ApprovalAnswer::Session { rules: Vec::new() })
            }
            ApprovalKey::Session if self.can_save_rules() => {
                self.answer(ApprovalAnswer::Session { rules: rules() })
            }
            ApprovalKey::Always if self.can_save_rules() => {
                self.answer(ApprovalAnswer::Always { rules: rules() })
            }
            ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always => Vec::new(),
            ApprovalKey::No => self.answer(ApprovalAnswer::Deny { instruction: None }),
            ApprovalKey::Never => match self.deny_rule.clone() {
                Some(rule) => self.answer(ApprovalAnswer::Never { rule }),
                None => Vec::new(),
            },
            ApprovalKey::EditCommand => {
                if let Some(command) = self.request.command() {
                    self.stage =
                        ApprovalStage::Command(TextEditor::with_text(EditorLines::Many, command));
                }
                Vec::new()
            }
            // A budget question has no tool call that could be done differently.
            ApprovalKey::Instruct if self.request.kind == ApprovalKind::Budget => Vec::new(),
            ApprovalKey::Instruct => {
                self.stage = ApprovalStage::Instruction(TextEditor::new(EditorLines::Many));
                Vec::new()
            }
            ApprovalKey::EditRule => {
                self.edit_slot(self.first_slot());
                Vec::new()
            }
            ApprovalKey::Pick => {
                match &mut self.hunks {
                    Some(hunks) if hunks.is_in_sight(self.scroll, hunk_rows, extent) => {
                        hunks.toggle();
                    }
                    Some(hunks) => self.scroll = hunks.reveal(self.scroll, hunk_rows, extent),
                    None => self.scroll = scrolled(self.scroll, ScrollAction::PageDown, extent),
                }
                Vec::new()
            }
            ApprovalKey::NextChange => self.step_change(HunkDirection::Next, extent, hunk_rows),
            ApprovalKey::PreviousChange => {
                self.step_change(HunkDirection::Previous, extent, hunk_rows)
            }
            ApprovalKey::Scroll(how) => {
                self.scroll_to(scrolled(self.scroll, how, extent), extent, hunk_rows);
                Vec::new()
            }
        }
    }

    fn step_change(
        &mut self,
        direction: HunkDirection,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        if let Some(hunks) = &mut self.hunks {
            hunks.step(direction);
            self.scroll = hunks.reveal(self.scroll, hunk_rows, extent);
        }
        Vec::new()
    }

    fn type_in(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) if !self.guard.is_armed() => {}
            Some(FieldKey::Accept) => return self.accept(),
            Some(FieldKey::Back) => self.stage = ApprovalStage::Choosing,
            Some(FieldKey::Next) => {
                if let ApprovalStage::Rule(slot, _) = self.stage {
                    self.keep_rule();
                    self.edit_slot(self.slot_after(slot));
                }
            }
            Some(FieldKey::Newline) => {
                if let Some(editor) = self.field() {
                    editor.insert_char('\n');
                }
            }
            None => {
                if let Some(editor) = self.field() {
                    editor.key(key);
                }
            }
        }
        Vec::new()
    }

    fn accept(&mut self) -> Vec<Intent> {
        self.keep_rule();
        match std::mem::replace(&mut self.stage, ApprovalStage::Choosing) {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => Vec::new(),
            ApprovalStage::Command(editor) => {
                self.answer(ApprovalAnswer::Edited { input: self.with_command(editor.expanded()) })
            }
            ApprovalStage::Instruction(editor) => {
                let text = editor.expanded();
                let instruction = (!text.trim().is_empty()).then_some(text);
                self.answer(ApprovalAnswer::Deny { instruction })
            }
        }
    }

    /// Takes over the edited rule. An empty text leaves the rule as it was.
    fn keep_rule(&mut self) {
        let ApprovalStage::Rule(slot, editor) = &self.stage else { return };
        let text = editor.text().trim().to_owned();
        if text.is_empty() {
            return;
        }
        match slot {
            ApprovalRuleSlot::Allow(at) => {
                if let Some(rule) = self.allow_rules.get_mut(*at) {
                    *rule = text;
                }
            }
            ApprovalRuleSlot::Deny => self.deny_rule = Some(text),
        }
    }

    fn first_slot(&self) -> Option<ApprovalRuleSlot> {
        if self.offers_rules() {
            Some(ApprovalRuleSlot::Allow(0))
        } else {
            self.deny_rule.as_ref().map(|_| ApprovalRuleSlot::Deny)
        }
    }

    fn slot_after(&self, slot: ApprovalRuleSlot) -> Option<ApprovalRuleSlot> {
        match slot {
            ApprovalRuleSlot::Allow(at) if at + 1 < self.allow_rules.len() => {
                Some(ApprovalRuleSlot::Allow(at + 1))
            }
            ApprovalRuleSlot::Allow(_) if self.deny_rule.is_some() => Some(ApprovalRuleSlot::Deny),
            ApprovalRuleSlot::Allow(_) | ApprovalRuleSlot::Deny => self.first_slot(),
        }
    }

    fn edit_slot(&mut self, slot: Option<ApprovalRuleSlot>) {
        let Some(slot) = slot else { return };
        let rule = match slot {
            ApprovalRuleSlot::Allow(at) => self.allow_rules.get(at),
            ApprovalRuleSlot::Deny => self.deny_rule.as_ref(),
        };
        if let Some(rule) = rule {
            self.stage = ApprovalStage::Rule(slot, TextEditor::with_text(EditorLines::One, rule));
        }
    }

    fn with_command(&self, command: String) -> Value {
        let mut input = self.request.input.clone();
        if let Some(slot) = input.get_mut("command") {
            *slot = Value::String(command);
        }
        input
    }

    fn answer(&self, answer: ApprovalAnswer) -> Vec<Intent> {
        vec![Intent::Close, Intent::Answer(self.request.id, answer)]
    }
}

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
        let DialogCanvas { layouts, styles, area, buffer, measured } = canvas;
        view::draw(around, self, layouts, styles, area, buffer, measured)
    }

    /// Hints about changes are shown only where each can be left out.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        if self.stage != ApprovalStage::Choosing {
            return keys.hints(KeyContext::Field).collect();
        }
        let about_changes =
            [ApprovalKey::Pick, ApprovalKey::NextChange, ApprovalKey::PreviousChange];
        let about_changes: Vec<_> = about_changes.iter().flat_map(|key| keys.hint(*key)).collect();
        let all = keys.hints(KeyContext::Approval);
        all.filter(|hint| self.hunks.is_some() || !about_changes.contains(hint)).collect()
    }

    /// Text typed into a field of the dialog is no answer, and Escape is a "no" that needs no guard,
    /// since nobody types it by accident.
    fn early_key(&self, key: &KeyPress<'_>) -> Option<EarlyKey> {
        let is_no = key.event().is_some_and(|key| key.code == KeyCode::Esc);
        let is_early = self.stage == ApprovalStage::Choosing && !self.guard.is_armed() && !is_no;
        is_early.then_some(self.early_key)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        let (is_armed, early_key) = (self.guard.is_armed(), self.early_key);
        match (self.field(), early_key) {
            (Some(field), _) => field.paste(text),
            (None, EarlyKey::PassThrough) if !is_armed => return None,
            (None, EarlyKey::PassThrough | EarlyKey::Discard) => {}
        }
        Some(Vec::new())
    }

    fn cancel(&self) -> Vec<Intent> {
        vec![Intent::StopTurn]
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(self, around))
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
            self.note_drawn(around.measured.extent);
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
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => ExpectedLine::Answer,
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

/// What the dialog reads from a request's arguments.
pub trait ApprovalRequestExt {
    /// The shell command that would run; `None` for tools without a `command` argument.
    fn command(&self) -> Option<&str>;
}

impl ApprovalRequestExt for ApprovalRequest {
    fn command(&self) -> Option<&str> {
        self.input.get("command").and_then(Value::as_str)
    }
}
