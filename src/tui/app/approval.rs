//! The permission dialog.
//!
//! It never opens under a typing hand: until its guard is armed ([`QuestionGuard`]) keys go where
//! they went before, so that nothing typed is taken for an answer. Escape is always a "no", and
//! Enter never a yes, whatever it is bound to. What is longer than the screen, command, diff or
//! arguments, can be approved only once its end has been seen.

mod line;
mod picks;

use std::ops::Range;

use crossterm::event::KeyCode;
use serde_json::Value;

use crate::domain::{ApprovalAnswer, ApprovalKind, ApprovalRequest};

use super::editor::{Editor, Lines};
use super::geometry::Extent;
use super::guard::QuestionGuard;
use super::keymap::{self, ApprovalKey, FieldKey, Press, Scrolling};
use super::overlay::{Step, scrolled};

pub use line::Misheard;
pub use picks::{Picks, Way};

/// A question on screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// What is asked.
    pub request: ApprovalRequest,
    /// The rules an "always" saves, as offered or edited.
    pub allow_rules: Vec<String>,
    /// The rule a "never" saves, as offered or edited.
    pub deny_rule: Option<String>,
    /// What in it looks like something else, a sentence each.
    pub lookalikes: Vec<String>,
    /// What the keys mean now.
    pub stage: Stage,
    /// The changes of an edit, where they can be taken one by one.
    pub picks: Option<Picks>,
    /// Rows of the command or diff above the dialog.
    pub scroll: usize,
    /// Whether the end of what would run or change has been on screen.
    pub end: End,
    /// Whether it takes answers.
    pub guard: QuestionGuard,
    /// Where keys go that come too early.
    pub stray: Stray,
}

/// What the keys mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Each is an answer.
    Choosing,
    /// They edit a rule.
    Rule(Slot, Editor),
    /// They edit the command.
    Command(Editor),
    /// They say what to do instead.
    Instruction(Editor),
}

/// Which rule is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// This one of those that allow.
    Allow(usize),
    /// The one that denies.
    Deny,
}

/// Whether the end of what is asked about has been on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has.
    Seen,
    /// It has not.
    Unseen,
}

impl End {
    /// What of it was drawn, with so many rows above.
    pub fn drawn(&mut self, scroll: usize, extent: Extent) {
        if scroll + extent.shown >= extent.rows {
            *self = Self::Seen;
        }
    }
}

/// Where keys go that come too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stray {
    /// To what is under the dialog: the person was typing there.
    Below,
    /// Nowhere: the person was answering the question before.
    Nowhere,
}

impl Approval {
    /// A question that nobody has seen yet.
    pub fn new(request: ApprovalRequest, stray: Stray) -> Self {
        Self {
            allow_rules: request.allow_rules.clone(),
            deny_rule: request.deny_rule.clone(),
            picks: Picks::of(&request),
            lookalikes: request.lookalikes(),
            request,
            stage: Stage::Choosing,
            scroll: 0,
            end: End::Unseen,
            guard: QuestionGuard::default(),
            stray,
        }
    }

    /// Whether what would run can be approved: its end has been seen.
    pub fn may_approve(&self) -> bool {
        self.end == End::Seen
    }

    /// Whether rules can be saved for it.
    pub fn offers_rules(&self) -> bool {
        !self.allow_rules.is_empty()
    }

    /// Whether a rule can be saved with the yes: only with one to all that was asked for.
    pub fn may_save(&self) -> bool {
        let is_whole = self.picks.as_ref().is_none_or(|picks| picks.taken() == picks.count);
        self.may_approve() && self.offers_rules() && is_whole
    }

    /// What was drawn of it.
    pub fn drawn(&mut self, extent: Extent) {
        self.scroll = self.scroll.min(extent.rows.saturating_sub(extent.shown));
        self.end.drawn(self.scroll, extent);
    }

    /// Moves through what would run; `places` are the rows of each change of an edit.
    pub fn scroll_to(&mut self, row: usize, extent: Extent, places: &[Range<usize>]) {
        self.scroll = row;
        if let Some(picks) = &mut self.picks {
            picks.follow(row, places, extent);
        }
    }

    /// A key.
    pub fn key(&mut self, key: &Press<'_>, extent: Extent, places: &[Range<usize>]) -> Step {
        match self.stage {
            Stage::Choosing => match keymap::find(keymap::APPROVAL, key) {
                Some(ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always)
                    if key.event().is_some_and(|key| key.code == KeyCode::Enter) =>
                {
                    Step::Stay
                }
                Some(key) => self.choose(key, extent, places),
                None => Step::Stay,
            },
            Stage::Rule(..) | Stage::Command(_) | Stage::Instruction(_) => self.type_in(key),
        }
    }

    /// A click on what a key stands for.
    pub fn press(&mut self, key: ApprovalKey, extent: Extent, places: &[Range<usize>]) -> Step {
        match self.stage {
            Stage::Choosing => self.choose(key, extent, places),
            Stage::Rule(..) | Stage::Command(_) | Stage::Instruction(_) => Step::Stay,
        }
    }

    /// A click on the box of a change.
    pub fn pick(&mut self, change: usize) {
        if let (Stage::Choosing, Some(picks)) = (&self.stage, &mut self.picks) {
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

    fn field(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            Stage::Choosing => None,
            Stage::Rule(_, editor) | Stage::Command(editor) | Stage::Instruction(editor) => {
                Some(editor)
            }
        }
    }

    fn choose(&mut self, key: ApprovalKey, extent: Extent, places: &[Range<usize>]) -> Step {
        let rules = || self.allow_rules.clone();
        match key {
            ApprovalKey::Once if self.may_approve() => {
                self.answer(self.picks.as_ref().map_or(ApprovalAnswer::Once, Picks::yes))
            }
            ApprovalKey::Session if self.request.kind == ApprovalKind::Budget => {
                self.answer(ApprovalAnswer::Session { rules: Vec::new() })
            }
            ApprovalKey::Session if self.may_save() => {
                self.answer(ApprovalAnswer::Session { rules: rules() })
            }
            ApprovalKey::Always if self.may_save() => {
                self.answer(ApprovalAnswer::Always { rules: rules() })
            }
            ApprovalKey::Once | ApprovalKey::Session | ApprovalKey::Always => Step::Stay,
            ApprovalKey::No => self.answer(ApprovalAnswer::Deny { instruction: None }),
            ApprovalKey::Never => match self.deny_rule.clone() {
                Some(rule) => self.answer(ApprovalAnswer::Never { rule }),
                None => Step::Stay,
            },
            ApprovalKey::EditCommand => {
                if let Some(command) = self.request.command() {
                    self.stage = Stage::Command(Editor::with_text(Lines::Many, command));
                }
                Step::Stay
            }
            // No call waits that could be done otherwise.
            ApprovalKey::Instruct if self.request.kind == ApprovalKind::Budget => Step::Stay,
            ApprovalKey::Instruct => {
                self.stage = Stage::Instruction(Editor::new(Lines::Many));
                Step::Stay
            }
            ApprovalKey::EditRule => {
                self.edit_slot(self.first_slot());
                Step::Stay
            }
            ApprovalKey::Pick => {
                match &mut self.picks {
                    Some(picks) if picks.is_in_sight(self.scroll, places, extent) => picks.toggle(),
                    Some(picks) => self.scroll = picks.reveal(self.scroll, places, extent),
                    None => self.scroll = scrolled(self.scroll, Scrolling::PageDown, extent),
                }
                Step::Stay
            }
            ApprovalKey::NextChange => self.step_change(Way::Next, extent, places),
            ApprovalKey::PreviousChange => self.step_change(Way::Previous, extent, places),
            ApprovalKey::Scroll(how) => {
                self.scroll_to(scrolled(self.scroll, how, extent), extent, places);
                Step::Stay
            }
        }
    }

    fn step_change(&mut self, way: Way, extent: Extent, places: &[Range<usize>]) -> Step {
        if let Some(picks) = &mut self.picks {
            picks.step(way);
            self.scroll = picks.reveal(self.scroll, places, extent);
        }
        Step::Stay
    }

    fn type_in(&mut self, key: &Press<'_>) -> Step {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) if !self.guard.is_armed() => {}
            Some(FieldKey::Accept) => return self.accept(),
            Some(FieldKey::Back) => self.stage = Stage::Choosing,
            Some(FieldKey::Next) => {
                if let Stage::Rule(slot, _) = self.stage {
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
        Step::Stay
    }

    fn accept(&mut self) -> Step {
        self.keep_rule();
        match std::mem::replace(&mut self.stage, Stage::Choosing) {
            Stage::Choosing | Stage::Rule(..) => Step::Stay,
            Stage::Command(editor) => {
                self.answer(ApprovalAnswer::Edited { input: self.with_command(editor.expanded()) })
            }
            Stage::Instruction(editor) => {
                let text = editor.expanded();
                let instruction = (!text.trim().is_empty()).then_some(text);
                self.answer(ApprovalAnswer::Deny { instruction })
            }
        }
    }

    /// Takes over the rule that is being edited. An empty one leaves what was there.
    fn keep_rule(&mut self) {
        let Stage::Rule(slot, editor) = &self.stage else { return };
        let text = editor.text().trim().to_owned();
        if text.is_empty() {
            return;
        }
        match slot {
            Slot::Allow(at) => {
                if let Some(rule) = self.allow_rules.get_mut(*at) {
                    *rule = text;
                }
            }
            Slot::Deny => self.deny_rule = Some(text),
        }
    }

    fn first_slot(&self) -> Option<Slot> {
        if self.offers_rules() {
            Some(Slot::Allow(0))
        } else {
            self.deny_rule.as_ref().map(|_| Slot::Deny)
        }
    }

    fn slot_after(&self, slot: Slot) -> Option<Slot> {
        match slot {
            Slot::Allow(at) if at + 1 < self.allow_rules.len() => Some(Slot::Allow(at + 1)),
            Slot::Allow(_) if self.deny_rule.is_some() => Some(Slot::Deny),
            Slot::Allow(_) | Slot::Deny => self.first_slot(),
        }
    }

    fn edit_slot(&mut self, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        let rule = match slot {
            Slot::Allow(at) => self.allow_rules.get(at),
            Slot::Deny => self.deny_rule.as_ref(),
        };
        if let Some(rule) = rule {
            self.stage = Stage::Rule(slot, Editor::with_text(Lines::One, rule));
        }
    }

    fn with_command(&self, command: String) -> Value {
        let mut input = self.request.input.clone();
        if let Some(slot) = input.get_mut("command") {
            *slot = Value::String(command);
        }
        input
    }

    fn answer(&self, answer: ApprovalAnswer) -> Step {
        Step::Answer(self.request.id, answer)
    }
}

/// What the dialog reads from a request.
pub trait Asked {
    /// The shell command that would run, if it is one.
    fn command(&self) -> Option<&str>;
}

impl Asked for ApprovalRequest {
    fn command(&self) -> Option<&str> {
        self.input.get("command").and_then(Value::as_str)
    }
}
