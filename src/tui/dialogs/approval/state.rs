//! The state of a permission question, and how keys and clicks change it.

use std::ops::Range;

use crossterm::event::KeyCode;
use serde_json::Value;

use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, ToolKind};
use crate::tools;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::{AnswerFollowUp, Intent};
use crate::tui::app::keymap::{self, ApprovalKey, FieldKey, KeyPress, ScrollAction};
use crate::tui::dialogs::dialog::EarlyKey;
use crate::tui::dialogs::geometry::{DialogGeometry, ScrollExtent, scrolled};
use crate::tui::dialogs::review::QuestionReview;

use super::hunk_selection::{HunkDirection, HunkSelection};
use super::offers::{self, OfferedAnswer, SessionScope};

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
    /// The answer that Enter takes.
    pub mark: OfferedAnswer,
    /// What "yes, for this session" covers.
    pub session_scope: SessionScope,
    /// How many times the same call was allowed, where that is often enough to offer a rule.
    pub allowed_before: Option<usize>,
    /// The requests that were listed in the last frame, which a yes to all answers as well.
    pub(super) waiting: Vec<ApprovalId>,
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
    /// The question about a request that has not been drawn yet.
    pub fn new(request: ApprovalRequest, early_key: EarlyKey, session_scope: SessionScope) -> Self {
        Self {
            mark: offers::first_mark(&request),
            session_scope,
            allowed_before: None,
            waiting: Vec::new(),
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

    /// Whether the end of what would run has been on screen.
    pub fn is_seen(&self) -> bool {
        self.review == QuestionReview::Seen
    }

    /// Records a drawn frame: clamps the scroll position and updates the review.
    pub fn note_drawn(&mut self, measured: &DialogGeometry) {
        let extent = measured.extent;
        self.scroll = self.scroll.min(extent.rows.saturating_sub(extent.shown));
        self.review.drawn(self.scroll, measured);
    }

    /// Scrolls to a row. `hunk_rows` are the rows of each change of an edit; the focus follows.
    pub fn scroll_to(&mut self, row: usize, extent: ScrollExtent, hunk_rows: &[Range<usize>]) {
        self.scroll = row;
        if let Some(hunks) = &mut self.hunks {
            hunks.follow(row, hunk_rows, extent);
        }
    }

    /// Handles a key. Enter approves nothing that is hard to take back, even where the user binds it to
    /// an approval.
    pub(super) fn handle_key(
        &mut self,
        key: &KeyPress<'_>,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        match self.stage {
            ApprovalStage::Choosing => match keymap::find(keymap::APPROVAL, key) {
                Some(answer)
                    if key.event().is_some_and(|key| key.code == KeyCode::Enter)
                        && !self.enter_may_be(answer) =>
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

    pub(super) fn field(&mut self) -> Option<&mut TextEditor> {
        match &mut self.stage {
            ApprovalStage::Choosing => None,
            ApprovalStage::Rule(_, editor)
            | ApprovalStage::Command(editor)
            | ApprovalStage::Instruction(editor) => Some(editor),
        }
    }

    pub(super) fn choose(
        &mut self,
        key: ApprovalKey,
        extent: ScrollExtent,
        hunk_rows: &[Range<usize>],
    ) -> Vec<Intent> {
        let no = ApprovalAnswer::Deny { instruction: None };
        match key {
            ApprovalKey::Accept if self.takes_enter(self.mark) => {
                self.choose(self.mark.key(), extent, hunk_rows)
            }
            ApprovalKey::Accept => Vec::new(),
            ApprovalKey::PreviousAnswer | ApprovalKey::NextAnswer => {
                self.move_mark(if key == ApprovalKey::NextAnswer { 1 } else { -1 });
                Vec::new()
            }
            ApprovalKey::Once if self.can_approve() => self.answer(self.yes()),
            ApprovalKey::OnTerminal if self.can_approve() && self.offers_terminal() => {
                self.answer(ApprovalAnswer::OnTerminal)
            }
            ApprovalKey::AllWaiting if self.can_approve() && !self.waiting.is_empty() => {
                let waiting = self.waiting.clone();
                self.answer_and(self.yes(), AnswerFollowUp::AllowWaiting(waiting))
            }
            ApprovalKey::Session if self.request.kind == ApprovalKind::Budget => {
                self.answer(ApprovalAnswer::Session { rules: Vec::new() })
            }
            ApprovalKey::Session | ApprovalKey::AllowEdits
                if self.can_save_rules() && self.session_scope == SessionScope::AllEdits =>
            {
                self.answer_and(ApprovalAnswer::Once, AnswerFollowUp::AllowEdits)
            }
            ApprovalKey::Session if self.can_save_rules() => {
                self.answer(ApprovalAnswer::Session { rules: self.allow_rules.clone() })
            }
            ApprovalKey::Always if self.can_save_rules() && self.offers_always() => {
                self.edit_rule(ApprovalRuleSlot::Allow(0));
                Vec::new()
            }
            ApprovalKey::Once
            | ApprovalKey::OnTerminal
            | ApprovalKey::AllWaiting
            | ApprovalKey::Session
            | ApprovalKey::AllowEdits
            | ApprovalKey::Always => Vec::new(),
            ApprovalKey::No => self.answer(no),
            ApprovalKey::Stop => self.answer_and(no, AnswerFollowUp::StopTurn),
            ApprovalKey::Never => {
                self.edit_rule(ApprovalRuleSlot::Deny);
                Vec::new()
            }
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
            ApprovalKey::Chat(how) => vec![Intent::ScrollTranscript(how)],
            ApprovalKey::Scroll(how) if extent.rows <= extent.shown => {
                vec![Intent::ScrollTranscript(how)]
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
                    self.edit_rule(self.next_slot(slot).unwrap_or(match slot {
                        ApprovalRuleSlot::Allow(_) => ApprovalRuleSlot::Allow(0),
                        ApprovalRuleSlot::Deny => ApprovalRuleSlot::Deny,
                    }));
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

    pub(super) fn accept(&mut self) -> Vec<Intent> {
        self.keep_rule();
        match std::mem::replace(&mut self.stage, ApprovalStage::Choosing) {
            ApprovalStage::Choosing => Vec::new(),
            // Each rule is looked at before all are saved.
            ApprovalStage::Rule(slot, _) => match (self.next_slot(slot), slot) {
                (Some(next), _) => {
                    self.edit_rule(next);
                    Vec::new()
                }
                (None, ApprovalRuleSlot::Allow(_)) => self.allow_always(),
                (None, ApprovalRuleSlot::Deny) => self.deny_always(),
            },
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

    /// The next rule that a yes would save.
    fn next_slot(&self, slot: ApprovalRuleSlot) -> Option<ApprovalRuleSlot> {
        match slot {
            ApprovalRuleSlot::Allow(at) if at + 1 < self.allow_rules.len() => {
                Some(ApprovalRuleSlot::Allow(at + 1))
            }
            ApprovalRuleSlot::Allow(_) | ApprovalRuleSlot::Deny => None,
        }
    }

    /// Opens the editor with a rule, if there is one.
    fn edit_rule(&mut self, slot: ApprovalRuleSlot) {
        let rule = match slot {
            ApprovalRuleSlot::Allow(at) => self.allow_rules.get(at),
            ApprovalRuleSlot::Deny => self.deny_rule.as_ref(),
        };
        if let Some(rule) = rule {
            self.stage = ApprovalStage::Rule(slot, TextEditor::with_text(EditorLines::One, rule));
        }
    }

    pub(super) fn allow_always(&self) -> Vec<Intent> {
        self.answer(ApprovalAnswer::Always { rules: self.allow_rules.clone() })
    }

    pub(super) fn deny_always(&self) -> Vec<Intent> {
        let rule = self.deny_rule.clone();
        rule.map_or_else(Vec::new, |rule| self.answer(ApprovalAnswer::Never { rule }))
    }

    fn with_command(&self, command: String) -> Value {
        let mut input = self.request.input.clone();
        if let Some(slot) = input.get_mut("command") {
            *slot = Value::String(command);
        }
        input
    }

    fn answer(&self, answer: ApprovalAnswer) -> Vec<Intent> {
        self.answer_and(answer, AnswerFollowUp::Nothing)
    }

    fn answer_and(&self, answer: ApprovalAnswer, then: AnswerFollowUp) -> Vec<Intent> {
        vec![Intent::Close, Intent::Answer(self.request.id, answer, then)]
    }
}

/// What the dialog reads from a request's arguments.
pub trait ApprovalRequestExt {
    /// The shell command that would run; `None` for tools that run none, whatever their arguments are
    /// called.
    fn command(&self) -> Option<&str>;
}

impl ApprovalRequestExt for ApprovalRequest {
    fn command(&self) -> Option<&str> {
        let runs_commands = tools::kind_of(&self.tool) == ToolKind::Execute;
        self.input.get("command").and_then(Value::as_str).filter(|_| runs_commands)
    }
}
