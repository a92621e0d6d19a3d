//! The permission dialog.
//!
//! It never opens under a typing hand: until its guard is armed ([`QuestionGuard`]) keys go where
//! they went before, so that nothing typed is taken for an answer. Escape is always a "no", and
//! Enter never a yes, whatever it is bound to. What is longer than the screen, command, diff or
//! arguments, can be approved only once its end has been seen.

mod hunk_selection;
mod line;

use std::ops::Range;

use crossterm::event::KeyCode;
use serde_json::Value;

use crate::domain::{ApprovalAnswer, ApprovalKind, ApprovalRequest};

use super::editor::{EditorLines, TextEditor};
use super::geometry::ScrollExtent;
use super::guard::QuestionGuard;
use super::keymap::{self, ApprovalKey, FieldKey, KeyPress, ScrollAction};
use super::overlay::{OverlayOutcome, scrolled};

pub use hunk_selection::{HunkDirection, HunkSelection};
pub use line::LineAnswerError;

/// A question on screen.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDialog {
    /// What is asked.
    pub request: ApprovalRequest,
    /// The rules an "always" saves, as offered or edited.
    pub allow_rules: Vec<String>,
    /// The rule a "never" saves, as offered or edited.
    pub deny_rule: Option<String>,
    /// What in it looks like something else, a sentence each.
    pub lookalikes: Vec<String>,
    /// What the keys mean now.
    pub stage: ApprovalStage,
    /// The changes of an edit, where they can be taken one by one.
    pub hunks: Option<HunkSelection>,
    /// Rows of the command or diff above the dialog.
    pub scroll: usize,
    /// Whether the end of what would run or change has been on screen.
    pub review: QuestionReview,
    /// Whether it takes answers.
    pub guard: QuestionGuard,
    /// Where keys go that come too early.
    pub early_key: EarlyKey,
}

/// What the keys mean.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalStage {
    /// Each is an answer.
    Choosing,
    /// They edit a rule.
    Rule(ApprovalRuleSlot, TextEditor),
    /// They edit the command.
    Command(TextEditor),
    /// They say what to do instead.
    Instruction(TextEditor),
}

/// Which rule is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRuleSlot {
    /// This one of those that allow.
    Allow(usize),
    /// The one that denies.
    Deny,
}

/// Whether the end of what is asked about has been on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionReview {
    /// It has.
    Seen,
    /// It has not.
    Unseen,
}

impl QuestionReview {
    /// What of it was drawn, with so many rows above.
    pub fn drawn(&mut self, scroll: usize, extent: ScrollExtent) {
        if scroll + extent.shown >= extent.rows {
            *self = Self::Seen;
        }
    }
}

/// Where keys go that come too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyKey {
    /// To what is under the dialog: the person was typing there.
    PassThrough,
    /// Nowhere: the person was answering the question before.
    Discard,
}

impl ApprovalDialog {
    /// A question that nobody has seen yet.
    pub fn new(request: ApprovalRequest, stray: EarlyKey) -> Self {
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
            early_key: stray,
        }
    }

    /// Whether what would run can be approved: its end has been seen.
    pub fn can_approve(&self) -> bool {
        self.review == QuestionReview::Seen
    }

    /// Whether rules can be saved for it.
    pub fn offers_rules(&self) -> bool {
        !self.allow_rules.is_empty()
    }

    /// Whether a rule can be saved with the yes: only with one to all that was asked for.
    pub fn can_save_rules(&self) -> bool {
        let is_whole =
            self.hunks.as_ref().is_none_or(|picks| picks.included_count() == picks.count);
        self.can_approve() && self.offers_rules() && is_whole
    }

    /// What was drawn of it.
    pub fn drawn(&mut self, extent: ScrollExtent) {
        self.scroll = self.scroll.min(extent.rows.saturating_sub(extent.shown));
        self.review.drawn(self.scroll, extent);
    }

    /// Moves through what would run; `places` are the rows of each change of an edit.
    pub fn scroll_to(&mut self, row: usize, extent: ScrollExtent, places: &[Range<usize>]) {
        self.scroll = row;
        if let Some(picks) = &mut self.hunks {
            picks.follow(row, places, extent);
        }
    }

    /// A key.
    pub fn key(
        &mut self,
        key: &KeyPress<'_>,
        extent: ScrollExtent,
        places: &[Range<usize>],
    ) -> OverlayOutcome {
        match self.stage {
            ApprovalStage::Choosing => match keymap::find(keymap::APPROVAL, key) {
                Some(ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always)
                    if key.event().is_some_and(|key| key.code == KeyCode::Enter) =>
                {
                    OverlayOutcome::Stay
                }
                Some(key) => self.choose(key, extent, places),
                None => OverlayOutcome::Stay,
            },
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                self.type_in(key)
            }
        }
    }

    /// A click on what a key stands for.
    pub fn press(
        &mut self,
        key: ApprovalKey,
        extent: ScrollExtent,
        places: &[Range<usize>],
    ) -> OverlayOutcome {
        match self.stage {
            ApprovalStage::Choosing => self.choose(key, extent, places),
            ApprovalStage::Rule(..) | ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                OverlayOutcome::Stay
            }
        }
    }

    /// A click on the box of a change.
    pub fn pick(&mut self, change: usize) {
        if let (ApprovalStage::Choosing, Some(picks)) = (&self.stage, &mut self.hunks) {
            picks.focus = change;
            picks.toggle();
        }
    }

    /// Text in one piece; only a field takes it.
    pub fn paste(&mut self, text: &str) {
        if let Some(editor) = self.field() {
            editor.paste(text);
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
        places: &[Range<usize>],
    ) -> OverlayOutcome {
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
            ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always => OverlayOutcome::Stay,
            ApprovalKey::No => self.answer(ApprovalAnswer::Deny { instruction: None }),
            ApprovalKey::Never => match self.deny_rule.clone() {
                Some(rule) => self.answer(ApprovalAnswer::Never { rule }),
                None => OverlayOutcome::Stay,
            },
            ApprovalKey::EditCommand => {
                if let Some(command) = self.request.command() {
                    self.stage =
                        ApprovalStage::Command(TextEditor::with_text(EditorLines::Many, command));
                }
                OverlayOutcome::Stay
            }
            // No call waits that could be done otherwise.
            ApprovalKey::Instruct if self.request.kind == ApprovalKind::Budget => {
                OverlayOutcome::Stay
            }
            ApprovalKey::Instruct => {
                self.stage = ApprovalStage::Instruction(TextEditor::new(EditorLines::Many));
                OverlayOutcome::Stay
            }
            ApprovalKey::EditRule => {
                self.edit_slot(self.first_slot());
                OverlayOutcome::Stay
            }
            ApprovalKey::Pick => {
                match &mut self.hunks {
                    Some(picks) if picks.is_in_sight(self.scroll, places, extent) => picks.toggle(),
                    Some(picks) => self.scroll = picks.reveal(self.scroll, places, extent),
                    None => self.scroll = scrolled(self.scroll, ScrollAction::PageDown, extent),
                }
                OverlayOutcome::Stay
            }
            ApprovalKey::NextChange => self.step_change(HunkDirection::Next, extent, places),
            ApprovalKey::PreviousChange => {
                self.step_change(HunkDirection::Previous, extent, places)
            }
            ApprovalKey::Scroll(how) => {
                self.scroll_to(scrolled(self.scroll, how, extent), extent, places);
                OverlayOutcome::Stay
            }
        }
    }

    fn step_change(
        &mut self,
        way: HunkDirection,
        extent: ScrollExtent,
        places: &[Range<usize>],
    ) -> OverlayOutcome {
        if let Some(picks) = &mut self.hunks {
            picks.step(way);
            self.scroll = picks.reveal(self.scroll, places, extent);
        }
        OverlayOutcome::Stay
    }

    fn type_in(&mut self, key: &KeyPress<'_>) -> OverlayOutcome {
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
        OverlayOutcome::Stay
    }

    fn accept(&mut self) -> OverlayOutcome {
        self.keep_rule();
        match std::mem::replace(&mut self.stage, ApprovalStage::Choosing) {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => OverlayOutcome::Stay,
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

    /// Takes over the rule that is being edited. An empty one leaves what was there.
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

    fn answer(&self, answer: ApprovalAnswer) -> OverlayOutcome {
        OverlayOutcome::Answer(self.request.id, answer)
    }
}

/// What the dialog reads from a request.
pub trait ApprovalRequestExt {
    /// The shell command that would run, if it is one.
    fn command(&self) -> Option<&str>;
}

impl ApprovalRequestExt for ApprovalRequest {
    fn command(&self) -> Option<&str> {
        self.input.get("command").and_then(Value::as_str)
    }
}
