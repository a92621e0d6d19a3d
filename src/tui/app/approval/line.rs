//! The permission question answered by a typed line, with the letters that the dialog uses as keys.
//! This is for the line-based front end, which reads the whole question out first.

use crate::domain::ApprovalKind;
use crate::permissions::meaning;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::geometry::ScrollExtent;
use crate::tui::app::keymap::ApprovalKey;
use crate::tui::app::line_input::ExpectedLine;
use crate::tui::app::overlay::OverlayOutcome;

use super::{ApprovalDialog, ApprovalRequestExt, ApprovalStage};

/// Why a line is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineAnswerError {
    /// The line came before the question was read out.
    #[error("That line came before the question could be read, and is no answer to it.")]
    TooSoon,
    /// Choosing: a line that is none of the answers.
    #[error("That is none of the answers. Type one of the letters that the question names.")]
    NoAnswer,
    /// A yes-or-no question: a line that is neither.
    #[error("That is no answer. Type y or n.")]
    YesOrNo,
    /// For example a rule for a call that offers none.
    #[error("That answer is not offered for this call. Type one that the question names.")]
    NotOffered,
    /// One rule was typed, but the call needs several.
    #[error("This call needs several rules, which cannot be replaced by one. Answer s or a alone.")]
    SeveralRules,
    /// The typed rule allows more than its words show; holds what it means.
    #[error("That rule {0}. Answer s or a alone to have it all the same.")]
    Wide(String),
    /// A list was shown, and no row has that number or name.
    #[error("No row has that number. Type one of the numbers, or an empty line to go back.")]
    NoRow,
}

impl ApprovalDialog {
    /// What kind of text the next line has to be.
    pub fn expected_line(&self) -> ExpectedLine {
        match self.stage {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => ExpectedLine::Answer,
            ApprovalStage::Command(_) => ExpectedLine::Command,
            ApprovalStage::Instruction(_) => ExpectedLine::Instruction,
        }
    }

    /// Answers with a line: a letter or its word. Some take a text after it: `t` what to do
    /// instead, `e` the command, `s`, `a` and `d` another rule. The question counts as read to the
    /// end.
    ///
    /// # Errors
    ///
    /// Fails when the line is none of the answers, when the request does not offer that answer,
    /// when one rule is typed where several are needed, or when the typed rule is wider than it
    /// looks ([`LineAnswerError::Wide`], which still takes the rule over: a plain `s` or `a` then
    /// confirms it).
    pub fn line(&mut self, line: &str) -> Result<OverlayOutcome, LineAnswerError> {
        self.drawn(ScrollExtent { rows: 0, shown: 0 });
        match self.stage {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => self.answer_line(line.trim()),
            ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                if line.trim().is_empty() {
                    self.stage = ApprovalStage::Choosing;
                    return Ok(OverlayOutcome::Stay);
                }
                if let Some(field) = self.field() {
                    *field = TextEditor::with_text(EditorLines::Many, line);
                }
                Ok(self.accept())
            }
        }
    }

    fn answer_line(&mut self, line: &str) -> Result<OverlayOutcome, LineAnswerError> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let key = match word.to_lowercase().as_str() {
            "y" | "yes" => ApprovalKey::Once,
            "n" | "no" => ApprovalKey::No,
            "s" | "session" => ApprovalKey::Session,
            "a" | "always" => ApprovalKey::Always,
            "d" | "never" => ApprovalKey::Never,
            "e" | "edit" => ApprovalKey::EditCommand,
            "t" | "tell" => ApprovalKey::Instruct,
            _ => return Err(LineAnswerError::NoAnswer),
        };
        match key {
            ApprovalKey::Once | ApprovalKey::No if !rest.is_empty() => {
                return Err(LineAnswerError::NoAnswer);
            }
            ApprovalKey::Session if self.request.kind == ApprovalKind::Budget => {
                if !rest.is_empty() {
                    return Err(LineAnswerError::NoAnswer);
                }
            }
            ApprovalKey::Instruct if self.request.kind == ApprovalKind::Budget => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::Session | ApprovalKey::Always if !self.offers_rules() => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::Never if self.deny_rule.is_none() => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::EditCommand if self.request.command().is_none() => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::EditCommand if !rest.is_empty() => {
                self.stage = ApprovalStage::Command(TextEditor::with_text(EditorLines::Many, rest));
                return Ok(self.accept());
            }
            ApprovalKey::Instruct if !rest.is_empty() => {
                self.stage =
                    ApprovalStage::Instruction(TextEditor::with_text(EditorLines::Many, rest));
                return Ok(self.accept());
            }
            ApprovalKey::Session | ApprovalKey::Always if !rest.is_empty() => {
                let [rule] = &mut self.allow_rules[..] else {
                    return Err(LineAnswerError::SeveralRules);
                };
                rest.clone_into(rule);
                if let Some(means) = meaning(rest) {
                    return Err(LineAnswerError::Wide(means));
                }
            }
            ApprovalKey::Never if !rest.is_empty() => self.deny_rule = Some(rest.to_owned()),
            ApprovalKey::Once
            | ApprovalKey::Session
            | ApprovalKey::Always
            | ApprovalKey::No
            | ApprovalKey::Never
            | ApprovalKey::EditCommand
            | ApprovalKey::Instruct
            | ApprovalKey::EditRule
            | ApprovalKey::Pick
            | ApprovalKey::NextChange
            | ApprovalKey::PreviousChange
            | ApprovalKey::Scroll(_) => {}
        }
        Ok(self.choose(key, ScrollExtent::default(), &[]))
    }
}
