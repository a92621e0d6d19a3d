//! What all calls of a turn share. The steps that a call takes with it are in `pipeline`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use crate::context::GitExecutable;
use crate::domain::{
    ApprovalId, ApprovalKind, ApprovalRequest, CallId, CallInput, DangerFacts, PermissionOutcome,
    RuleSource, ToolAccess, ToolCall, TurnId,
};
use crate::permissions::{PermissionQuery, ResolvedAccess, Workspace};
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::platform::scratch::SessionScratch;
use crate::platform::watch::FolderWatcher;
use crate::session::{BlobStore, LogEntry, PermissionEntry};
use crate::tools::{
    AccessMode, Grant, ScopedFiles, SubagentStarter, ToolContext, ToolRegistry, WorkingDirectory,
};

use super::approvals::{PendingApprovals, PendingQuestions};
use super::children::fork_limits::ForkLimits;
use super::early_calls::EarlyCalls;
use super::event::AgentEvent;
use super::event_queue::AgentEventSender;
use super::hooks::SessionHooks;
use super::jobs::CallJobs;
use super::journal::SessionJournal;
use super::permission_state::PermissionState;
use super::repeats::RepeatedCalls;
use super::sandbox_in_force::SandboxInForce;
use super::tool_event_recorder::ToolEventRecorder;

/// Whether somebody can answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interactivity {
    /// A user is at the front end.
    Interactive,
    /// Nobody is there: a call that would need a question is refused.
    Headless,
}

/// Gives each call what it starts agents with.
pub(super) trait ChildStarters: Send + Sync {
    /// What the call with this id gets; the agents that it starts report to that call.
    fn for_call(&self, call: &CallId) -> Arc<dyn SubagentStarter>;
}

/// What all calls of a turn share.
pub(super) struct ToolGate {
    pub(super) turn: TurnId,
    /// When the turn began.
    pub(super) began: Instant,
    pub(super) registry: Arc<ToolRegistry>,
    pub(super) context: ToolContext,
    pub(super) jobs: CallJobs,
    pub(super) children: Arc<dyn ChildStarters>,
    pub(super) workspace: Arc<Workspace>,
    /// The session's scratch folder.
    pub(super) scratch: Option<Arc<SessionScratch>>,
    pub(super) escalation: Option<SandboxInForce>,
    pub(super) permissions: Arc<PermissionState>,
    /// What a fork may not do, whatever the rules say.
    pub(super) fork: Option<ForkLimits>,
    pub(super) approvals: Arc<PendingApprovals>,
    pub(super) questions: Arc<PendingQuestions>,
    pub(super) watch: Arc<FolderWatcher>,
    pub(super) repeats: RepeatedCalls,
    pub(super) early: EarlyCalls,
    pub(super) interactivity: Interactivity,
    pub(super) journal: Arc<SessionJournal>,
    pub(super) blobs: BlobStore,
    pub(super) events: AgentEventSender,
    /// Looks up what a dangerous call would touch; `None` without trust.
    pub(super) git: Option<GitExecutable>,
    pub(super) hooks: SessionHooks,
    pub(super) debug: DebugLog,
    pub(super) redactor: Redactor,
}

impl ToolGate {
    pub(super) fn place(&self) -> &WorkingDirectory {
        &self.context.place
    }

    /// The context for the call that `query` is about. It can open only the files that it names, at
    /// their real paths.
    pub(super) fn context_for(&self, query: &PermissionQuery) -> ToolContext {
        let granted = query.accesses.iter().filter_map(|access| {
            let (path, mode) = match access {
                ResolvedAccess::Read(path) => (path, AccessMode::Read),
                ResolvedAccess::Write(path) => (path, AccessMode::Write),
                ResolvedAccess::Run(_)
                | ResolvedAccess::External { .. }
                | ResolvedAccess::Fetch { .. }
                | ResolvedAccess::Search { .. }
                | ResolvedAccess::Type(..)
                | ResolvedAccess::AskUser
                | ResolvedAccess::Nothing => return None,
            };
            Some(Grant { named: path.path.clone(), real: path.real.clone(), mode })
        });
        let scoped_files = Arc::new(ScopedFiles::new(self.context.files.clone(), granted));
        let (permissions, places) = (self.permissions.clone(), scoped_files.clone());
        let tool = query.tool.clone();
        ToolContext {
            files: scoped_files,
            // A rule and a search may name the same file by different paths.
            is_hidden: Arc::new(move |path| {
                let elsewhere = || places.real(path).filter(|real| real != path);
                permissions.hides(&tool, path)
                    || elsewhere().is_some_and(|real| permissions.hides(&tool, &real))
            }),
            ..self.context.clone()
        }
    }

    /// A question that offers no rules and shows no change.
    pub(super) fn question(
        &self,
        id: ApprovalId,
        call: &ToolCall,
        input: &Value,
        (kind, reason): (ApprovalKind, String),
    ) -> ApprovalRequest {
        ApprovalRequest {
            id,
            turn: self.turn,
            call: call.id.clone(),
            tool: call.name.clone(),
            input: input.clone(),
            cwd: self.working_folder(call, input),
            kind,
            reason,
            parts: Vec::new(),
            allow_rules: Vec::new(),
            deny_rule: None,
            rule_file: self.permissions.rule_file(),
            preview: None,
            other_previews: Vec::new(),
            dangers: Vec::new(),
            facts: DangerFacts::Unknown,
        }
    }

    /// The name of the tool that a call means; empty where no tool has it.
    pub(super) fn tool_name(&self, call: &ToolCall) -> String {
        let tool = self.registry.get(&call.name);
        tool.map_or(String::new(), |tool| tool.descriptor().name.to_string())
    }

    /// The real folder that a call with these arguments works in.
    fn working_folder(&self, call: &ToolCall, input: &Value) -> PathBuf {
        let tool = self.registry.get(&call.name).ok();
        let accesses = tool.and_then(|tool| tool.access(input, self.place()).ok());
        let folder = accesses.into_iter().flatten().find_map(|access| match access {
            ToolAccess::Run { cwd, .. } | ToolAccess::Type { cwd, .. } => Some(cwd),
            ToolAccess::Read(_)
            | ToolAccess::Write(_)
            | ToolAccess::External { .. }
            | ToolAccess::Fetch { .. }
            | ToolAccess::Search { .. }
            | ToolAccess::AskUser
            | ToolAccess::Nothing => None,
        });
        folder.map_or_else(|| self.place().cwd.clone(), |folder| self.workspace.real(&folder))
    }

    /// Asks the user, and runs the `Notification` hooks.
    pub(super) fn ask_user(&self, question: ApprovalRequest) {
        self.hooks.notify_of(&question);
        self.events.send(AgentEvent::ApprovalAsked(Box::new(question)));
    }

    /// Writes to the log what was decided about a call, and by what.
    pub(super) async fn record_decision(
        &self,
        call: &ToolCall,
        decision: PermissionOutcome,
        answer: &str,
        rule: Option<RuleSource>,
    ) {
        let entry = PermissionEntry {
            call: call.id.clone(),
            tool: call.name.clone(),
            about: about(call),
            decision,
            answer: answer.to_owned(),
            rule,
        };
        self.journal.write(self.turn, LogEntry::Permission(entry)).await;
    }

    pub(super) fn recorder(&self) -> ToolEventRecorder {
        ToolEventRecorder {
            turn: self.turn,
            journal: self.journal.clone(),
            blobs: self.blobs.clone(),
            events: self.events.clone(),
        }
    }
}

/// The most characters of a command in the log entry of its permission.
const MAX_SUBJECT_CHARACTERS: usize = 300;

/// The argument that says what a call is about, for the log.
fn about(call: &ToolCall) -> Option<String> {
    let CallInput::Valid(input) = &call.input else { return None };
    let known = ["command", "file_path", "path", "url", "pattern"];
    let text = known.iter().find_map(|key| input.get(key)?.as_str())?;
    Some(text.chars().take(MAX_SUBJECT_CHARACTERS).collect())
}
