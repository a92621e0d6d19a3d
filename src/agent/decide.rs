//! Whether a call may run: rules, mode, and the person.
//!
//! An edited input starts again from the top; a rule or mode that changes while a question is open
//! or a call waits for its turn decides it anew.

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
    HookPermission, PermissionDecision, PermissionQuery, ResolvedAccess, ToolCallTicket,
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

/// What came of the decision.
pub(super) enum GateOutcome {
    Approved {
        approved: ToolCallTicket,
        tool: Arc<dyn Tool>,
        story: CallProvenance,
    },
    Stopped(ToolOutput),
    /// It leads nowhere, and nobody can be asked: however often it comes, it is not run.
    Repeated(ToolOutput),
}

/// Who wrote the arguments that are run.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ArgumentsOrigin {
    Model,
    User,
    /// The model, and the person took a part of them.
    Partial(PartialApproval),
    /// The model, and a hook changed them; which one.
    Hook(String),
}

/// How the arguments of a call came about.
#[derive(Clone)]
pub(super) struct CallProvenance {
    pub(super) origin: ArgumentsOrigin,
    /// What hooks say of the call.
    pub(super) word: HookPermission,
    /// What hooks tell the model with its result.
    pub(super) notes: Vec<String>,
}

/// Why a turn ends that leads nowhere.
const IN_CIRCLES: &str = "The model makes the same calls again and again, whatever it is told, so \
                          the turn was ended.";

/// Takes a call to its decision, in its turn.
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
            gate.events.notice(NoticeLevel::Error, IN_CIRCLES).await;
            gate.context.cancel.cancel();
        }
        return GateOutcome::Repeated(repeated_call(times));
    }
    let question = ApprovalWait::new(waits.asking);
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            if let Some(id) = question.end() {
                gate.events.tell(AgentEvent::ApprovalWithdrawn(id)).await;
            }
            GateOutcome::Stopped(stopped())
        }
        passed = async {
            wait_for_all(&waits.before_deciding).await;
            let input = match repeats {
                Some(times) => match ask_to_go_on(gate, call, input, times, &question).await {
                    Ok(input) => input,
                    Err(output) => return GateOutcome::Stopped(output),
                },
                None => (input, ArgumentsOrigin::Model),
            };
            let heard = match hooks::before(gate, call, input).await {
                Ok(heard) => heard,
                Err(output) => return GateOutcome::Stopped(output),
            };
            let passed = decide(gate, call, tool, heard, &question).await;
            question.let_others_ask();
            if waits.before_running.is_empty() {
                return passed;
            }
            wait_for_all(&waits.before_running).await;
            recheck(gate, call, passed, &question).await
        } => passed,
    }
}

/// Looks at a decision again after the calls before this one: rules and mode may have become
/// stricter meanwhile. What a person said yes to is not asked twice, but may be denied by now.
async fn recheck(
    gate: &ToolGate,
    call: &ToolCall,
    passed: GateOutcome,
    question: &ApprovalWait,
) -> GateOutcome {
    let GateOutcome::Approved { approved, tool, story } = passed else { return passed };
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

/// Asks rules, mode and person until there is an answer.
async fn decide(
    gate: &ToolGate,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    (mut input, mut story): (Value, CallProvenance),
    question: &ApprovalWait,
) -> GateOutcome {
    loop {
        let asked = ToolCall { input: CallInput::Valid(input.clone()), ..call.clone() };
        let query = match resolve(gate, &*tool, &asked, &input).await {
            Ok(query) => query,
            Err(output) => return GateOutcome::Stopped(output),
        };
        let (decision, changed) = gate.permissions.decide(&query, &story.word);
        match decision.outcome() {
            PermissionOutcome::Deny => {
                return GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await);
            }
            PermissionOutcome::Allow => {
                return match decision.approve(&asked) {
                    Ok(approved) => GateOutcome::Approved { approved, tool, story },
                    Err(decision) => {
                        GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await)
                    }
                };
            }
            PermissionOutcome::Ask if gate.interactivity == Interactivity::Headless => {
                return GateOutcome::Stopped(refused_unasked(gate, &asked, &decision).await);
            }
            PermissionOutcome::Ask => question.turn().await,
        }
        let context = gate.context_for(&query);
        let preview = match tool.preview(&context, &input).await {
            Ok(preview) => preview,
            // A question about a call that cannot succeed would be for nothing.
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
        match ask(gate, &asked, question, why, changed, preview.clone()).await {
            AskOutcome::Changed => {}
            AskOutcome::Answered(ApprovalAnswer::Part { left_out }) => {
                let part = narrow_to_part(&context, &*tool, &input, preview.as_ref(), &left_out);
                match part.await {
                    Ok((part, taken)) => {
                        record(gate, call, PermissionOutcome::Allow, "part", None).await;
                        return decide_part(gate, call, tool, part, taken).await;
                    }
                    Err(error) => gate.events.notice(NoticeLevel::Error, error.to_string()).await,
                }
            }
            AskOutcome::Answered(ApprovalAnswer::Edited { input: edited }) => {
                record(gate, call, PermissionOutcome::Ask, "edited", None).await;
                match hooks::before(gate, call, (edited, ArgumentsOrigin::User)).await {
                    Ok(heard) => (input, story) = heard,
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
                return approve_by_user(decision, &asked, tool, story, "once");
            }
            AskOutcome::Answered(ApprovalAnswer::Session { rules }) => {
                record(gate, call, PermissionOutcome::Allow, "session", None).await;
                if let Err(error) = gate.permissions.add_for_session(RuleKind::Allow, &rules) {
                    gate.events.notice(NoticeLevel::Error, error.to_string()).await;
                }
                return approve_by_user(decision, &asked, tool, story, "session");
            }
            AskOutcome::Answered(ApprovalAnswer::Always { rules }) => {
                let rule = save(gate, RuleKind::Allow, rules).await;
                record(gate, call, PermissionOutcome::Allow, "always", rule).await;
                return approve_by_user(decision, &asked, tool, story, "always");
            }
        }
    }
}

/// What a call would say of the files that it does not get to change may be told where the model
/// could read them unasked. Elsewhere even that a text is not there says too much.
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
        spawn_blocking(move || PermissionQuery::resolve("Read", &targets, &workspace)).await;
    reads.is_ok_and(|reads| {
        gate.permissions.decide(&reads, &HookPermission::Nothing).0.outcome()
            == PermissionOutcome::Allow
    })
}

/// Decides what the person took of a change. They have said yes to these very arguments, so that
/// they are not asked again; hooks, rules and mode may refuse them.
async fn decide_part(
    gate: &ToolGate,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    part: Value,
    taken: PartialApproval,
) -> GateOutcome {
    let (part, story) =
        match hooks::before(gate, call, (part, ArgumentsOrigin::Partial(taken))).await {
            Ok(heard) => heard,
            Err(output) => return GateOutcome::Stopped(output),
        };
    let asked = ToolCall { input: CallInput::Valid(part.clone()), ..call.clone() };
    let query = match resolve(gate, &*tool, &asked, &part).await {
        Ok(query) => query,
        Err(output) => return GateOutcome::Stopped(output),
    };
    let (decision, _) = gate.permissions.decide(&query, &story.word);
    match decision.outcome() {
        PermissionOutcome::Deny => {
            GateOutcome::Stopped(denied_by_rule(gate, call, &decision).await)
        }
        PermissionOutcome::Ask | PermissionOutcome::Allow => {
            approve_by_user(decision, &asked, tool, story, "part")
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

/// What the call touches, with symbolic links resolved; off the async threads, since a network
/// file system may take its time.
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

/// What a question shows of a decision.
struct DecisionExplanation<'a> {
    decision: &'a PermissionDecision,
    reason: String,
}

enum AskOutcome {
    Answered(ApprovalAnswer),
    /// Rules or mode changed: decide again.
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
    // What is asked was parsed before: it is always valid here.
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
    gate.ask_user(request).await;
    question.let_others_ask();
    let asked = tokio::select! {
        answer = answer => AskOutcome::Answered(answer.unwrap_or(NO)),
        _ = changed.changed() => AskOutcome::Changed,
    };
    if question.end().is_some() && matches!(asked, AskOutcome::Changed) {
        gate.events.tell(AgentEvent::ApprovalWithdrawn(id)).await;
    }
    asked
}

/// Asks what is to become of a call that has led nowhere. A yes lets it go its way, and a no ends
/// the turn, unless it says what to do instead.
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
    gate.ask_user(gate.question(id, call, &input, (ApprovalKind::RepeatedCall, reason))).await;
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

/// The answer where there is none.
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
        gate.events.tell(AgentEvent::CallRefused { call: call.clone(), reason }).await;
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
    gate.events.tell(AgentEvent::CallRefused { call: call.clone(), reason: reason.clone() }).await;
    denied(&format!(
        "Refused: {reason} Nobody is there to ask. Go on without it, and say in your answer what \
         you could not do."
    ))
}

/// Characters of a command in the log's line about its permission.
const ABOUT: usize = 300;

/// What a call is about, in a line.
fn about(call: &ToolCall) -> Option<String> {
    let CallInput::Valid(input) = &call.input else { return None };
    let known = ["command", "file_path", "path", "url", "pattern"];
    let text = known.iter().find_map(|key| input.get(key)?.as_str())?;
    Some(text.chars().take(ABOUT).collect())
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

/// Saves rules to the settings file. What cannot be saved holds for this session where it can, and
/// the person is told.
async fn save(gate: &ToolGate, kind: RuleKind, rules: Vec<String>) -> Option<RuleSource> {
    let first = rules.first().cloned();
    if let Err(error) = gate.permissions.save(kind, rules).await {
        gate.events.notice(NoticeLevel::Error, error.to_string()).await;
        return None;
    }
    let rule = first?;
    let file = gate.permissions.rule_file().0;
    Some(RuleSource { rule, kind, file: Some(file), line: None })
}
