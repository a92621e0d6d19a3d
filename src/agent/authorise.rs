//! Decides whether a call may run: hooks, rules, mode, and the user.
//!
//! An input that the user edits is decided again from the start. When a rule or the mode changes
//! while a question is open or the call waits for earlier calls, the call is decided again. How a
//! decision is made from rules and mode is in `permissions`; running the call is in `gate`.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, CallInput, FileDiff, NoticeLevel,
    PermissionOutcome, RuleKind, RuleSource, ToolAccess, ToolCall, ToolOutput,
};
use crate::permissions::{
    HookPermission, PermissionDecision, PermissionQuery, READ_RULE, ResolvedAccess, ToolCallTicket,
};
use crate::session::{LogEntry, PermissionEntry};
use crate::tools::Tool;

use super::AgentEvent;
use super::approvals::ApprovalWait;
use super::gate::{CallDependencies, Interactivity, ToolGate};
use super::hooks;
use super::partial_approval::{PartialApproval, narrow_to_part};
use super::repeats::RepeatAction;
use super::tool_messages::{denied, denied_by_user, not_json, repeated_call, stopped};

/// The result of the decision on a call.
pub(super) enum GateOutcome {
    Approved {
        approved: ToolCallTicket,
        tool: Arc<dyn Tool>,
        story: CallProvenance,
    },
    Stopped(ToolOutput),
    /// The call repeats itself without a new result in a headless run, so it is never run.
    Repeated(ToolOutput),
}

/// Who wrote the arguments that are run.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ArgumentsOrigin {
    Model,
    User,
    /// The model; the user accepted a part of the change.
    Partial(PartialApproval),
    /// A hook changed the model's arguments. Names the hook, at the beginning of a sentence.
    Hook(String),
}

/// Who wrote the arguments of a call, and what hooks say about the call.
#[derive(Clone)]
pub(super) struct CallProvenance {
    pub(super) origin: ArgumentsOrigin,
    /// The hooks' decision on the call.
    pub(super) word: HookPermission,
    /// What hooks tell the model together with the result.
    pub(super) notes: Vec<String>,
}

/// Why a headless turn of repeated calls ends.
const IN_CIRCLES: &str = "The model makes the same calls again and again, whatever it is told, so \
                          the turn was ended.";

/// Decides a call once the calls that it depends on are done. A stop withdraws its question.
pub(super) async fn authorise(
    gate: &ToolGate,
    call: &ToolCall,
    waits: CallDependencies,
) -> GateOutcome {
    let input = match &call.input {
        CallInput::Valid(input) => input.clone(),
        CallInput::Invalid(raw) => return GateOutcome::Stopped(not_json(raw)),
    };
    let tool = match gate.registry.get(&call.name) {
        Ok(tool) => tool,
        Err(error) => return GateOutcome::Stopped(ToolOutput::failed(error.to_string())),
    };
    let repeats = gate.repeats.repeat_count(call);
    if let (Some(times), Interactivity::Headless) = (repeats, gate.interactivity) {
        if gate.repeats.next_action() == RepeatAction::EndTurn {
            gate.events.notice(NoticeLevel::Error, IN_CIRCLES);
            gate.context.cancel.cancel();
        }
        return GateOutcome::Repeated(repeated_call(times));
    }
    let question = ApprovalWait::new(waits.asking);
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            if let Some(id) = question.end() {
                gate.events.send(AgentEvent::ApprovalWithdrawn(id));
            }
            GateOutcome::Stopped(stopped())
        }
        outcome = async {
            wait_for_all(&waits.before_deciding).await;
            let input = match repeats {
                Some(times) => match ask_to_go_on(gate, call, input, times, &question).await {
                    Ok(input) => input,
                    Err(output) => return GateOutcome::Stopped(output),
                },
                None => (input, ArgumentsOrigin::Model),
            };
            let checked = match hooks::before(gate, call, input).await {
                Ok(checked) => checked,
                Err(output) => return GateOutcome::Stopped(output),
            };
            let outcome = decide(gate, call, tool, checked, &question).await;
            question.let_others_ask();
            if waits.before_running.is_empty() {
                return outcome;
            }
            wait_for_all(&waits.before_running).await;
            recheck(gate, call, outcome, &question).await
        } => outcome,
    }
}

/// Checks a decision again after the earlier calls have run, because rules and mode may be stricter
/// by then. What the user has allowed is not asked a second time, but it can be denied now.
async fn recheck(
    gate: &ToolGate,
    call: &ToolCall,
    outcome: GateOutcome,
    question: &ApprovalWait,
) -> GateOutcome {
    let GateOutcome::Approved { approved, tool, story } = outcome else { return outcome };
    let query = match resolve(gate, &*tool, call, approved.input()).await {
        Ok(query) => query,
        Err(output) => return GateOutcome::Stopped(output),
    };
    let (decision, _) = gate.permissions.decide(&query, &story.word);
    match (decision.outcome(), approved.is_by_user()) {
        (PermissionOutcome::Deny, _) => {
            GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await)
        }
        (PermissionOutcome::Ask, false) => {
            decide(gate, call, tool, (approved.into_input(), story), question).await
        }
        (PermissionOutcome::Ask, true) | (PermissionOutcome::Allow, _) => {
            GateOutcome::Approved { approved, tool, story }
        }
    }
}

async fn wait_for_all(done: &[CancellationToken]) {
    for done in done {
        done.cancelled().await;
    }
}

/// Decides by rules and mode, and asks the user where they say so, until there is an answer.
async fn decide(
    gate: &ToolGate,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    (mut input, mut story): (Value, CallProvenance),
    question: &ApprovalWait,
) -> GateOutcome {
    loop {
        let current_call = ToolCall { input: CallInput::Valid(input.clone()), ..call.clone() };
        let query = match resolve(gate, &*tool, &current_call, &input).await {
            Ok(query) => query,
            Err(output) => return GateOutcome::Stopped(output),
        };
        let (decision, changed) = gate.permissions.decide(&query, &story.word);
        match decision.outcome() {
            PermissionOutcome::Deny => {
                return GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await);
            }
            PermissionOutcome::Allow => {
                return match decision.approve(&current_call) {
                    Ok(approved) => GateOutcome::Approved { approved, tool, story },
                    Err(decision) => {
                        GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await)
                    }
                };
            }
            PermissionOutcome::Ask if gate.interactivity == Interactivity::Headless => {
                return GateOutcome::Stopped(refused_unasked(gate, &current_call, &decision).await);
            }
            PermissionOutcome::Ask => question.turn().await,
        }
        let context = gate.context_for(&query);
        let preview = match tool.preview(&context, &input).await {
            Ok(preview) => preview,
            // There is no point in asking about a call that cannot succeed.
            Err(error) if can_disclose(gate, &query).await => {
                return GateOutcome::Stopped(ToolOutput::failed(error.to_string()));
            }
            Err(_) => None,
        };
        let reason = match &story.origin {
            ArgumentsOrigin::Hook(who) => format!("{} {who} changed this call.", decision.reason()),
            ArgumentsOrigin::Model | ArgumentsOrigin::User | ArgumentsOrigin::Partial(_) => {
                decision.reason().to_owned()
            }
        };
        let why = DecisionExplanation { decision: &decision, reason };
        match ask(gate, &current_call, question, why, changed, preview.clone()).await {
            AskOutcome::Changed => {}
            AskOutcome::Answered(ApprovalAnswer::Part { left_out }) => {
                let part = narrow_to_part(&context, &*tool, &input, preview.as_ref(), &left_out);
                match part.await {
                    Ok((part, accepted)) => {
                        record(gate, call, PermissionOutcome::Allow, "part", None).await;
                        return decide_part(gate, call, tool, part, accepted).await;
                    }
                    Err(error) => gate.events.notice(NoticeLevel::Error, error.to_string()),
                }
            }
            AskOutcome::Answered(ApprovalAnswer::Edited { input: edited }) => {
                record(gate, call, PermissionOutcome::Ask, "edited", None).await;
                match hooks::before(gate, call, (edited, ArgumentsOrigin::User)).await {
                    Ok(checked) => (input, story) = checked,
                    Err(output) => return GateOutcome::Stopped(output),
                }
            }
            AskOutcome::Answered(ApprovalAnswer::Deny { instruction }) => {
                record(gate, call, PermissionOutcome::Deny, "deny", None).await;
                return GateOutcome::Stopped(denied_by_user(instruction));
            }
            AskOutcome::Answered(ApprovalAnswer::Never { rule }) => {
                let rule = save(gate, RuleKind::Deny, vec![rule]).await;
                record(gate, call, PermissionOutcome::Deny, "never", rule).await;
                return GateOutcome::Stopped(denied_by_user(None));
            }
            AskOutcome::Answered(ApprovalAnswer::Once) => {
                record(gate, call, PermissionOutcome::Allow, "once", None).await;
                return approve_by_user(decision, &current_call, tool, story, "once");
            }
            AskOutcome::Answered(ApprovalAnswer::Session { rules }) => {
                record(gate, call, PermissionOutcome::Allow, "session", None).await;
                if let Err(error) = gate.permissions.add_for_session(RuleKind::Allow, &rules) {
                    gate.events.notice(NoticeLevel::Error, error.to_string());
                }
                return approve_by_user(decision, &current_call, tool, story, "session");
            }
            AskOutcome::Answered(ApprovalAnswer::Always { rules }) => {
                let rule = save(gate, RuleKind::Allow, rules).await;
                record(gate, call, PermissionOutcome::Allow, "always", rule).await;
                return approve_by_user(decision, &current_call, tool, story, "always");
            }
        }
    }
}

/// Whether the model may learn why a change would fail: only if it may read the files without a
/// question. Otherwise even the fact that a text is not in the file would reveal too much.
async fn can_disclose(gate: &ToolGate, query: &PermissionQuery) -> bool {
    let targets = query.accesses.iter().filter_map(|access| match access {
        ResolvedAccess::Write(path) => Some(ToolAccess::Read(path.path.clone())),
        _ => None,
    });
    let (targets, workspace) = (targets.collect::<Vec<_>>(), gate.workspace.clone());
    if targets.is_empty() {
        return true;
    }
    let reads =
        spawn_blocking(move || PermissionQuery::resolve(READ_RULE, &targets, &workspace)).await;
    reads.is_ok_and(|reads| {
        gate.permissions.decide(&reads, &HookPermission::Nothing).0.outcome()
            == PermissionOutcome::Allow
    })
}

/// Decides on the part of a change that the user accepted. The user has allowed exactly these
/// arguments and is not asked again; hooks, rules and mode can still refuse them.
async fn decide_part(
    gate: &ToolGate,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    part: Value,
    accepted: PartialApproval,
) -> GateOutcome {
    let (part, story) =
        match hooks::before(gate, call, (part, ArgumentsOrigin::Partial(accepted))).await {
            Ok(checked) => checked,
            Err(output) => return GateOutcome::Stopped(output),
        };
    let current_call = ToolCall { input: CallInput::Valid(part.clone()), ..call.clone() };
    let query = match resolve(gate, &*tool, &current_call, &part).await {
        Ok(query) => query,
        Err(output) => return GateOutcome::Stopped(output),
    };
    let (decision, _) = gate.permissions.decide(&query, &story.word);
    match decision.outcome() {
        PermissionOutcome::Deny => {
            GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await)
        }
        PermissionOutcome::Ask | PermissionOutcome::Allow => {
            approve_by_user(decision, &current_call, tool, story, "part")
        }
    }
}

fn approve_by_user(
    decision: PermissionDecision,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    story: CallProvenance,
    answer: &str,
) -> GateOutcome {
    match decision.approve_by_user(call, answer) {
        Ok(approved) => GateOutcome::Approved { approved, tool, story },
        Err(decision) => GateOutcome::Stopped(denied(decision.reason())),
    }
}

/// What the call touches, with symbolic links resolved. Runs off the async threads, because a
/// network file system may be slow.
pub(super) async fn resolve(
    gate: &ToolGate,
    tool: &dyn Tool,
    call: &ToolCall,
    input: &Value,
) -> Result<PermissionQuery, ToolOutput> {
    let accesses =
        tool.access(input, gate.place()).map_err(|error| ToolOutput::failed(error.to_string()))?;
    let (name, workspace) = (call.name.clone(), gate.workspace.clone());
    let (cwd, environment) = (gate.place().cwd.clone(), gate.context.processes.environment());
    spawn_blocking(move || {
        PermissionQuery::resolve(&name, &accesses, &workspace).within(&cwd, &environment)
    })
    .await
    .map_err(|error| ToolOutput::failed(format!("The call could not be checked: {error}.")))
}

/// The decision behind a question, and the reason that the question shows.
struct DecisionExplanation<'a> {
    decision: &'a PermissionDecision,
    reason: String,
}

enum AskOutcome {
    Answered(ApprovalAnswer),
    /// Rules or mode have changed: decide again.
    Changed,
}

async fn ask(
    gate: &ToolGate,
    call: &ToolCall,
    question: &ApprovalWait,
    DecisionExplanation { decision, reason }: DecisionExplanation<'_>,
    mut changed: watch::Receiver<u64>,
    preview: Option<FileDiff>,
) -> AskOutcome {
    // The input was parsed before, so it is always valid here.
    let CallInput::Valid(input) = &call.input else { return AskOutcome::Answered(NO) };
    let (id, answer) = gate.approvals.open();
    question.begin(id);
    let request = ApprovalRequest {
        parts: decision.parts().to_owned(),
        allow_rules: decision.allow_rules().to_owned(),
        deny_rule: decision.deny_rule().map(str::to_owned),
        preview,
        ..gate.question(id, call, input, (ApprovalKind::Permission, reason))
    };
    gate.ask_user(request);
    question.let_others_ask();
    let outcome = tokio::select! {
        answer = answer => AskOutcome::Answered(answer.unwrap_or(NO)),
        _ = changed.changed() => AskOutcome::Changed,
    };
    if question.end().is_some() && matches!(outcome, AskOutcome::Changed) {
        gate.events.send(AgentEvent::ApprovalWithdrawn(id));
    }
    outcome
}

/// Asks whether a repeated call may run again. A no ends the turn, unless it comes with an
/// instruction for the model.
async fn ask_to_go_on(
    gate: &ToolGate,
    call: &ToolCall,
    input: Value,
    times: u32,
    question: &ApprovalWait,
) -> Result<(Value, ArgumentsOrigin), ToolOutput> {
    question.turn().await;
    let (id, answer) = gate.approvals.open();
    question.begin(id);
    let reason = format!(
        "The model made this exact call {times} times in this turn, and the result was the same \
         each time."
    );
    gate.ask_user(gate.question(id, call, &input, (ApprovalKind::RepeatedCall, reason)));
    question.let_others_ask();
    let answer = answer.await.unwrap_or(NO);
    question.end();
    match answer {
        ApprovalAnswer::Once
        | ApprovalAnswer::Part { .. }
        | ApprovalAnswer::Session { .. }
        | ApprovalAnswer::Always { .. } => {
            gate.repeats.forget(call);
            Ok((input, ArgumentsOrigin::Model))
        }
        ApprovalAnswer::Edited { input } => Ok((input, ArgumentsOrigin::User)),
        ApprovalAnswer::Deny { instruction: Some(instruction) } => {
            Err(denied_by_user(Some(instruction)))
        }
        ApprovalAnswer::Deny { instruction: None } | ApprovalAnswer::Never { .. } => {
            gate.context.cancel.cancel();
            Err(stopped())
        }
    }
}

/// The answer that counts when a question is closed without one.
pub(super) const NO: ApprovalAnswer = ApprovalAnswer::Deny { instruction: None };

async fn denied_by_rule(
    gate: &ToolGate,
    call: &ToolCall,
    decision: &PermissionDecision,
) -> ToolOutput {
    let why = if decision.rule().is_some() { "rule" } else { "mode" };
    record(gate, call, PermissionOutcome::Deny, why, decision.rule().cloned()).await;
    if gate.interactivity == Interactivity::Headless {
        let reason = decision.reason().to_owned();
        gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason });
    }
    denied(&format!("Denied: {} Do not try another way around this.", decision.reason()))
}

async fn refused_unasked(
    gate: &ToolGate,
    call: &ToolCall,
    decision: &PermissionDecision,
) -> ToolOutput {
    record(gate, call, PermissionOutcome::Deny, "headless", decision.rule().cloned()).await;
    let reason = decision.reason().to_owned();
    gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason: reason.clone() });
    denied(&format!(
        "Refused: {reason} Nobody is there to ask. Go on without it, and say in your answer what \
         you could not do."
    ))
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

pub(super) async fn record(
    gate: &ToolGate,
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
    gate.journal.write(gate.turn, LogEntry::Permission(entry)).await;
}

/// Saves rules to the settings file, and returns the first of them. When they cannot be saved, they
/// hold for this session if possible, and the user is told.
async fn save(gate: &ToolGate, kind: RuleKind, rules: Vec<String>) -> Option<RuleSource> {
    let first = rules.first().cloned();
    if let Err(error) = gate.permissions.save(kind, rules).await {
        gate.events.notice(NoticeLevel::Error, error.to_string());
        return None;
    }
    let rule = first?;
    let file = gate.permissions.rule_file().0;
    Some(RuleSource { rule, kind, file: Some(file), line: None })
}
