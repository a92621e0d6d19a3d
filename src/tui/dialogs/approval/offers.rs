//! Which answers a question offers, which one is marked, and which of them Enter may take.

use std::path::Path;

use serde_json::Value;

use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, PermissionMode};
use crate::tools::SHELL_TOOL;
use crate::tui::app::keymap::ApprovalKey;
use crate::tui::app::shared::SharedState;

use super::{ApprovalDialog, ApprovalRequestExt, HunkSelection};

/// What "yes, for this session" covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// The rules of the request.
    Rules,
    /// All edits in the workspace: the mode becomes `allow-edits`.
    AllEdits,
}

impl SessionScope {
    /// The scope for a request in this mode and workspace. A stricter or wider mode than `ask` stays.
    pub fn of(request: &ApprovalRequest, mode: PermissionMode, workspace: &Path) -> Self {
        let is_inside = request.preview.is_some() && is_all_inside(request, workspace);
        let is_plain = request.kind == ApprovalKind::Permission && request.dangers.is_empty();
        match mode {
            PermissionMode::Ask if is_inside && is_plain => Self::AllEdits,
            PermissionMode::Ask
            | PermissionMode::AllowEdits
            | PermissionMode::Plan
            | PermissionMode::Sandbox
            | PermissionMode::Yolo => Self::Rules,
        }
    }
}

/// The requests that wait and that a yes to all would answer: nothing that is hard to take back, and
/// nothing but edits in the workspace and commands of one line, which the question can list.
pub fn answered_with_all<'a>(
    waiting: impl Iterator<Item = &'a ApprovalRequest>,
    workspace: &Path,
) -> Vec<&'a ApprovalRequest> {
    let is_plain = |request: &&ApprovalRequest| {
        request.kind == ApprovalKind::Permission
            && request.dangers.is_empty()
            && !request.allow_rules.is_empty()
            && request.lookalikes().is_empty()
    };
    let is_short = |request: &&ApprovalRequest| match (&request.preview, request.command()) {
        (Some(_), _) => is_all_inside(request, workspace),
        (None, Some(command)) => !command.trim().contains('\n') && command.len() <= LONGEST_LISTED,
        (None, None) => false,
    };
    waiting.filter(is_plain).filter(is_short).collect()
}

fn is_all_inside(request: &ApprovalRequest, workspace: &Path) -> bool {
    request.previews().all(|diff| diff.path.starts_with(workspace))
}

/// The requests of the agent whose question is open that a yes to all would answer as well.
pub(super) fn waiting_with(shared: &SharedState) -> Vec<&ApprovalRequest> {
    let asking = shared.asker.as_ref().map(|it| it.agent);
    let waiting = shared.questions.iter().filter(|(agent, _)| Some(*agent) == asking);
    answered_with_all(waiting.filter_map(|(_, question)| question.approval()), &shared.settings.cwd)
}

/// The longest command, in bytes, that is listed among those that wait.
const LONGEST_LISTED: usize = 200;

/// An answer with a row of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferedAnswer {
    Yes,
    YesToWaiting,
    Session,
    Always,
    OnTerminal,
    EditCommand,
    No,
    Never,
    Instruct,
}

impl OfferedAnswer {
    /// The key that gives the answer.
    pub fn key(self) -> ApprovalKey {
        match self {
            Self::Yes => ApprovalKey::Once,
            Self::YesToWaiting => ApprovalKey::AllWaiting,
            Self::Session => ApprovalKey::Session,
            Self::Always => ApprovalKey::Always,
            Self::OnTerminal => ApprovalKey::OnTerminal,
            Self::EditCommand => ApprovalKey::EditCommand,
            Self::No => ApprovalKey::No,
            Self::Never => ApprovalKey::Never,
            Self::Instruct => ApprovalKey::Instruct,
        }
    }

    /// Whether the call does not run, whatever follows.
    pub fn is_no(self) -> bool {
        match self {
            Self::No | Self::Never | Self::Instruct => true,
            Self::Yes
            | Self::YesToWaiting
            | Self::Session
            | Self::Always
            | Self::OnTerminal
            | Self::EditCommand => false,
        }
    }

    fn is_yes(self) -> bool {
        match self {
            Self::Yes | Self::YesToWaiting | Self::Session | Self::Always | Self::OnTerminal => {
                true
            }
            Self::EditCommand | Self::No | Self::Never | Self::Instruct => false,
        }
    }
}

impl ApprovalDialog {
    /// The answers that the question offers, in the order in which they stand on screen.
    pub fn offered(&self) -> Vec<OfferedAnswer> {
        if self.request.kind == ApprovalKind::Budget {
            return vec![OfferedAnswer::Yes, OfferedAnswer::Session, OfferedAnswer::No];
        }
        let all = [
            (OfferedAnswer::Yes, true),
            (OfferedAnswer::YesToWaiting, !self.waiting.is_empty()),
            (OfferedAnswer::Session, self.offers_rules()),
            (OfferedAnswer::Always, self.offers_always()),
            (OfferedAnswer::OnTerminal, self.offers_terminal()),
            (OfferedAnswer::EditCommand, self.request.command().is_some()),
            (OfferedAnswer::No, true),
            (OfferedAnswer::Never, self.deny_rule.is_some()),
            (OfferedAnswer::Instruct, true),
        ];
        all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(answer, _)| answer).collect()
    }

    /// The answers that have a row. A terminal is wanted seldom, and its key is named at the bottom.
    pub fn rows(&self) -> Vec<OfferedAnswer> {
        let mut rows = self.offered();
        rows.retain(|answer| *answer != OfferedAnswer::OnTerminal);
        rows
    }

    /// Whether the request comes with rules that can be saved.
    pub fn offers_rules(&self) -> bool {
        !self.allow_rules.is_empty()
    }

    /// Whether the command can be started on a terminal instead.
    pub fn offers_terminal(&self) -> bool {
        let request = &self.request;
        request.kind == ApprovalKind::Permission
            && request.tool == SHELL_TOOL
            && request.command().is_some()
            && request.input.get("tty").and_then(Value::as_bool) != Some(true)
    }

    /// Whether a rule can be saved for good: never one for a call that is hard to take back.
    pub fn offers_always(&self) -> bool {
        self.offers_rules() && self.request.dangers.is_empty()
    }

    /// Whether a yes is accepted: the end of what would run has been on screen, and something of it
    /// is included.
    pub fn can_approve(&self) -> bool {
        let is_empty = self.hunks.as_ref().is_some_and(|hunks| hunks.included_count() == 0);
        self.is_seen() && !is_empty
    }

    /// Whether a yes can also cover other calls. A partial approval of an edit is for itself alone.
    pub fn can_save_rules(&self) -> bool {
        let is_whole =
            self.hunks.as_ref().is_none_or(|hunks| hunks.included_count() == hunks.count);
        self.can_approve() && self.offers_rules() && is_whole
    }

    /// Whether Enter may take an answer: any no, and a yes only to what can be taken back.
    pub fn takes_enter(&self, answer: OfferedAnswer) -> bool {
        !answer.is_yes() || is_harmless(&self.request)
    }

    /// Whether Enter may stand for a key that the user has bound it to.
    pub(super) fn enter_may_be(&self, key: ApprovalKey) -> bool {
        let is_yes = self.offered().into_iter().any(|it| it.key() == key && it.is_yes());
        (!is_yes && key != ApprovalKey::AllowEdits) || is_harmless(&self.request)
    }

    /// Moves the mark among the answers that Enter may take; stops at the ends.
    pub(super) fn move_mark(&mut self, by: isize) {
        let answers: Vec<OfferedAnswer> =
            self.rows().into_iter().filter(|it| self.takes_enter(*it)).collect();
        let at = answers.iter().position(|it| *it == self.mark).unwrap_or_default();
        let to = at.saturating_add_signed(by).min(answers.len().saturating_sub(1));
        if let Some(answer) = answers.get(to) {
            self.mark = *answer;
        }
    }

    /// The yes to what is included of the call.
    pub(super) fn yes(&self) -> ApprovalAnswer {
        self.hunks.as_ref().map_or(ApprovalAnswer::Once, HunkSelection::answer)
    }

    /// The requests that wait and were listed in the last frame.
    pub fn waiting(&self) -> &[ApprovalId] {
        &self.waiting
    }
}

/// The answer that is marked first: the yes, where Enter may take it.
pub(super) fn first_mark(request: &ApprovalRequest) -> OfferedAnswer {
    if is_harmless(request) { OfferedAnswer::Yes } else { OfferedAnswer::No }
}

/// Whether a yes to the request may be given with Enter.
fn is_harmless(request: &ApprovalRequest) -> bool {
    match request.kind {
        ApprovalKind::Permission => request.dangers.is_empty() && request.lookalikes().is_empty(),
        ApprovalKind::RepeatedCall => true,
        ApprovalKind::SandboxInForce | ApprovalKind::Budget => false,
    }
}
