//! The rules that come with an answer to a question: whether they are rules, and saving them.

use crate::agent::event::AgentEvent;
use crate::agent::rule_request::RuleReply;
use crate::agent::tool_gate::ToolGate;
use crate::domain::{ApprovalAnswer, NoticeLevel, RuleKind, RuleSource};
use crate::permissions::RuleError;

use super::AskOutcome;

/// Checks the rules that come with an answer.
pub(super) fn check_rules(gate: &ToolGate, outcome: &AskOutcome) -> Result<(), RuleError> {
    match outcome {
        AskOutcome::Answered(
            ApprovalAnswer::Session { rules } | ApprovalAnswer::Always { rules },
        ) => gate.permissions.check(RuleKind::Allow, rules),
        AskOutcome::Answered(ApprovalAnswer::Never { rule }) => {
            gate.permissions.check(RuleKind::Deny, std::slice::from_ref(rule))
        }
        AskOutcome::Answered(
            ApprovalAnswer::Once
            | ApprovalAnswer::Part { .. }
            | ApprovalAnswer::OnTerminal
            | ApprovalAnswer::Edited { .. }
            | ApprovalAnswer::Deny { .. },
        )
        | AskOutcome::Changed => Ok(()),
    }
}

/// Saves rules to the settings file, and returns the first of them. When they cannot be saved, they
/// hold for this session if possible, and the user is told.
pub(super) async fn save(
    gate: &ToolGate,
    kind: RuleKind,
    rules: Vec<String>,
) -> Option<RuleSource> {
    let first = rules.first().cloned();
    let saved = match gate.permissions.save(kind, rules).await {
        Ok(saved) => saved,
        Err(error) => {
            gate.events.notice(NoticeLevel::Error, error.to_string());
            return None;
        }
    };
    let rule = first?;
    let file = gate.permissions.rule_file().0;
    if !saved.is_empty() {
        let reply = RuleReply::Saved { file: file.clone(), rules: saved };
        gate.events.send(AgentEvent::Rules(Box::new(reply)));
    }
    Some(RuleSource { rule, kind, file: Some(file), line: None })
}
