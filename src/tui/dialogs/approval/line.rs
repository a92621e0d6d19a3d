//! The permission question answered by a typed line, with the letters that the dialog uses as keys.
//! This is for the line-based front end, which reads the whole question out first.

use crate::domain::ApprovalKind;
use crate::permissions::meaning;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::ApprovalKey;
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::line::LineAnswerError;

use crate::tui::dialogs::approval::{
    ApprovalDialog, ApprovalRequestExt, ApprovalStage, SessionScope,
};

impl ApprovalDialog {
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
    pub(super) fn answer_with(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        self.note_drawn(ScrollExtent { rows: 0, shown: 0 });
        match self.stage {
            ApprovalStage::Choosing | ApprovalStage::Rule(..) => self.answer_line(line.trim()),
            ApprovalStage::Command(_) | ApprovalStage::Instruction(_) => {
                if line.trim().is_empty() {
                    self.stage = ApprovalStage::Choosing;
                    return Ok(Vec::new());
                }
                if let Some(field) = self.field() {
                    *field = TextEditor::with_text(EditorLines::Many, line);
                }
                Ok(self.accept())
            }
        }
    }

    fn answer_line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
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
            "stop" => ApprovalKey::Stop,
            _ => return Err(LineAnswerError::NoAnswer),
        };
        match key {
            ApprovalKey::Once | ApprovalKey::No | ApprovalKey::Stop if !rest.is_empty() => {
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
            ApprovalKey::Session if !self.offers_rules() => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::Always if !self.offers_always() => {
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
                self.session_scope = SessionScope::Rules;
                if let Some(means) = meaning(rest) {
                    return Err(LineAnswerError::Wide(means));
                }
            }
            ApprovalKey::Never if !rest.is_empty() => self.deny_rule = Some(rest.to_owned()),
            ApprovalKey::Once
            | ApprovalKey::AllWaiting
            | ApprovalKey::Session
            | ApprovalKey::AllowEdits
            | ApprovalKey::Always
            | ApprovalKey::No
            | ApprovalKey::Stop
            | ApprovalKey::Never
            | ApprovalKey::EditCommand
            | ApprovalKey::Instruct
            | ApprovalKey::Accept
            | ApprovalKey::PreviousAnswer
            | ApprovalKey::NextAnswer
            | ApprovalKey::Pick
            | ApprovalKey::NextChange
            | ApprovalKey::PreviousChange
            | ApprovalKey::Scroll(_)
            | ApprovalKey::Chat(_) => {}
        }
        // The rule was read out with the question, so it needs no second look.
        Ok(match key {
            ApprovalKey::Always => self.allow_always(),
            ApprovalKey::Never => self.deny_always(),
            key => self.choose(key, ScrollExtent::default(), &[]),
        })
    }
}
