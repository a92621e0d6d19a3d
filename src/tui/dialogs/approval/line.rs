//! The permission question answered by a typed line, with the letters that the dialog uses as keys.
//! This is for the line-based front end, which reads the whole question out first.

use crate::domain::ApprovalKind;
use crate::permissions::meaning;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::ApprovalKey;
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::dialogs::review::QuestionReview;

use crate::tui::dialogs::approval::{
    ApprovalDialog, ApprovalRequestExt, ApprovalRuleSlot, ApprovalStage, SessionScope,
};

impl ApprovalDialog {
    /// Answers with a line: a letter or its word; `Y` is a yes to all that wait and were read out.
    /// Some take a text after it: `t` what to do instead, `e` the command, `s`, `a` and `d` another
    /// rule; `a` and `d` alone show the rule before it is saved. The question counts as read to the
    /// end.
    ///
    /// # Errors
    ///
    /// Fails when the line is none of the answers, when the request does not offer that answer,
    /// when one rule is typed where several are needed, or when the typed rule is wider than it
    /// looks ([`LineAnswerError::Wide`], which still takes the rule over: a plain `s` or `a` then
    /// confirms it).
    pub(super) fn answer_with(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        self.review = QuestionReview::Seen;
        match self.stage {
            ApprovalStage::Choosing => self.answer_line(line.trim()),
            ApprovalStage::Rule(slot, _) => self.rule_line(slot, line.trim()),
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

    /// Takes over a rule that was typed in place of the one in the editor, or the one that is there.
    fn rule_line(
        &mut self,
        slot: ApprovalRuleSlot,
        line: &str,
    ) -> Result<Vec<Intent>, LineAnswerError> {
        match line.to_lowercase().as_str() {
            "" => {
                self.stage = ApprovalStage::Choosing;
                return Ok(Vec::new());
            }
            "y" | "yes" => return Ok(self.accept()),
            // This is meant as an answer, or as a command of slug's.
            _ if !line.starts_with(|c: char| c.is_ascii_uppercase())
                && !line.starts_with("mcp__") =>
            {
                return Err(LineAnswerError::NoRule);
            }
            _ => {}
        }
        self.stage = ApprovalStage::Rule(slot, TextEditor::with_text(EditorLines::One, line));
        match (slot, meaning(line)) {
            (ApprovalRuleSlot::Allow(_), Some(means)) => Err(LineAnswerError::WideRule(means)),
            (ApprovalRuleSlot::Allow(_) | ApprovalRuleSlot::Deny, _) => Ok(self.accept()),
        }
    }

    fn answer_line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        // Where no other call waits, a capital letter is a yes like any other.
        let word = match word {
            "Y" if !self.waiting.is_empty() => "all".to_owned(),
            word => word.to_lowercase(),
        };
        let key = match word.as_str() {
            "all" => ApprovalKey::AllWaiting,
            "y" | "yes" => ApprovalKey::Once,
            "n" | "no" => ApprovalKey::No,
            "s" | "session" => ApprovalKey::Session,
            "a" | "always" => ApprovalKey::Always,
            "d" | "never" => ApprovalKey::Never,
            "p" | "terminal" => ApprovalKey::OnTerminal,
            "e" | "edit" => ApprovalKey::EditCommand,
            "t" | "tell" => ApprovalKey::Instruct,
            "stop" => ApprovalKey::Stop,
            _ => return Err(LineAnswerError::NoAnswer),
        };
        match key {
            ApprovalKey::Once
            | ApprovalKey::AllWaiting
            | ApprovalKey::OnTerminal
            | ApprovalKey::No
            | ApprovalKey::Stop
                if !rest.is_empty() =>
            {
                return Err(LineAnswerError::NoAnswer);
            }
            ApprovalKey::OnTerminal if !self.offers_terminal() => {
                return Err(LineAnswerError::NotOffered);
            }
            ApprovalKey::AllWaiting if self.waiting.is_empty() => {
                return Err(LineAnswerError::NotOffered);
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
            | ApprovalKey::OnTerminal
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
        // A rule that was typed needs no second look; the one that is offered is shown first.
        Ok(match key {
            ApprovalKey::Always if !rest.is_empty() => self.allow_always(),
            ApprovalKey::Never if !rest.is_empty() => self.deny_always(),
            key => self.choose(key, ScrollExtent::default(), &[]),
        })
    }
}
