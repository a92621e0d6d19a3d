//! The permission question answered by a line, with the letters of the dialog.

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
    /// It came before the question could be read.
    #[error("That line came before the question could be read, and is no answer to it.")]
    TooSoon,
    /// It is none of the answers.
    #[error("That is none of the answers. Type one of the letters that the question names.")]
    NoAnswer,
    /// It is neither of the two answers.
    #[error("That is no answer. Type y or n.")]
    YesOrNo,
    /// The answer is not offered for this call.
    #[error("That answer is not offered for this call. Type one that the question names.")]
    NotOffered,
    /// A rule is named where there are several.
    #[error("This call needs several rules, which cannot be replaced by one. Answer s or a alone.")]
    SeveralRules,
    /// The rule lets more run than its words show.
    #[error("That rule {0}. Answer s or a alone to have it all the same.")]
    Wide(String),
    /// No row of the list has that number or name.
    #[error("No row has that number. Type one of the numbers, or an empty line to go back.")]
    NoRow,
}

impl ApprovalDialog {
    /// What the next line will be taken for.
    pub fn expected_line(&self) -> ExpectedLine {
        match self.stage {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => ExpectedLine::Answer,
            ApprovalStage::Command(_) => ExpectedLine::Command,
            ApprovalStage::Instruction(_) => ExpectedLine::Instruction,
        }
    }

    /// A line: a letter, or its word, and behind some of them a text (`t`: what to do instead;
    /// `e`: the command; `s`, `a` and `d`: another rule). All of the question has been read out.
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
