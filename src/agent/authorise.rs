//! Decides whether a call may run: hooks, rules, mode, and the user.
//!
//! An input that the user edits is decided again from the start. When a rule or the mode changes
//! while a question is open or the call waits for earlier calls, the call is decided again. How a
//! decision is made from rules and mode is in `permissions`; running the call is in `run`.

use std::convert::Infallible;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, DangerFacts, FileDiff, NoticeLevel,
    PermissionMode, PermissionOutcome, RuleKind, RuleSource, ToolAccess, ToolCall, ToolDisplay,
    ToolOutput,
};
use crate::permissions::danger_targets::DangerTarget;
use crate::permissions::{
    HookPermission, PermissionDecision, PermissionQuery, READ_RULE, ResolvedAccess, ToolCallTicket,
};
use crate::tools::ToolError;

use super::approvals::{ApprovalOrder, ApprovalWait};
use super::call_hooks;
use super::call_plan::{ArgumentsOrigin, CallPlan, CallProvenance};
use super::danger_facts::danger_facts;
use super::event::AgentEvent;
use super::partial_approval::narrow_to_part;
use super::tool_gate::{Interactivity, ToolGate};
use super::tool_messages::{denied, denied_by_user, repeated_call, stopped};

mod repetition;
mod rule_answers;

use repetition::{ask_to_go_on, cannot_run, repetition};
use rule_answers::{check_rules, save};

/// What was decided about a call.
pub(super) enum CallAuthorisation {
    Granted(Box<GrantedCall>),
    /// The call does not run; this is its result.
    NotRun(ToolOutput),
    /// The call repeats itself without a new result, and nobody is asked about it.
    Repeated(ToolOutput),
}

/// A call that may run.
pub(super) struct GrantedCall {
    /// The call as it runs: with the arguments of the ticket.
    pub(super) plan: CallPlan,
    pub(super) ticket: ToolCallTicket,
    pub(super) provenance: CallProvenance,
}

impl CallAuthorisation {
    /// The permission to run a plan. What the ticket rewrote is planned anew, so that what is
    /// checked before the run is what runs.
    fn granted(
        gate: &ToolGate,
        plan: CallPlan,
        ticket: ToolCallTicket,
        provenance: CallProvenance,
    ) -> Self {
        match plan.with_input(ticket.input().clone(), gate.place()) {
            Ok(plan) => Self::Granted(Box::new(GrantedCall { plan, ticket, provenance })),
            Err(error) => Self::NotRun(error.into()),
        }
    }
}

/// The earlier calls that a call waits for; each token is cancelled when its call is done.
pub(super) struct CallDependencies {
    pub(super) before_deciding: Vec<CancellationToken>,
    pub(super) before_running: Vec<CancellationToken>,
    pub(super) asking: ApprovalOrder,
}

impl CallDependencies {
    /// For a call without earlier calls.
    pub(super) fn none() -> Self {
        Self {
            before_deciding: Vec::new(),
            before_running: Vec::new(),
            asking: ApprovalOrder::default(),
        }
    }
}

/// Decides a call once the calls that it depends on are done. A stop withdraws its question. A call
/// without a plan never runs; that it repeats itself is seen all the same.
pub(super) async fn authorise(
    gate: &ToolGate,
    call: &ToolCall,
    plan: Result<CallPlan, ToolError>,
    waits: CallDependencies,
) -> CallAuthorisation {
    let repeats = gate.repeats.repeat_count(call);
    // There is nobody to ask, or nothing to ask about.
    if let Some(times) = repeats
        && (gate.interactivity == Interactivity::Headless || cannot_run(gate, &plan).await)
    {
        gate.repeats.count_note();
        return CallAuthorisation::Repeated(repeated_call(times));
    }
    let question = ApprovalWait::new(waits.asking);
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            if let Some(id) = question.end() {
                gate.events.send(AgentEvent::ApprovalWithdrawn(id));
            }
            CallAuthorisation::NotRun(stopped())
        }
        outcome = async {
            wait_for_all(&waits.before_deciding).await;
            let (plan, origin) = match repetition(gate, call, repeats) {
                Some(reason) => match ask_to_go_on(gate, call, reason, &question).await {
                    Ok(None) => (plan, ArgumentsOrigin::Model),
                    Ok(Some(edited)) => (CallPlan::parse(&edited, &gate.registry, gate.place()), ArgumentsOrigin::User),
                    Err(output) => return CallAuthorisation::NotRun(output),
                },
                None => (plan, ArgumentsOrigin::Model),
            };
            let checked = match plan {
                Ok(plan) => check_by_hooks(gate, call, plan, origin).await,
                Err(error) => Err(error.into()),
            };
            let (plan, provenance) = match checked {
                Ok(checked) => checked,
                Err(output) => return CallAuthorisation::NotRun(output),
            };
            let mut outcome = ask_until_decided(gate, call, plan, provenance, &question).await;
            if let CallAuthorisation::Granted(granted) = outcome {
                outcome = if granted.plan.tool.has_changes_to_find(&granted.plan.input) {
                    // What it changes depends on what earlier calls leave.
                    wait_for_all(&waits.before_running).await;
                    decide_found_changes(gate, call, *granted, &question).await
                } else {
                    CallAuthorisation::Granted(granted)
                };
            }
            question.let_others_ask();
            if waits.before_running.is_empty() {
                return outcome;
            }
            wait_for_all(&waits.before_running).await;
            recheck(gate, call, outcome, &question).await
        } => outcome,
    }
}

/// Runs the hooks on a plan, and plans the call with the arguments that the hooks leave it.
async fn check_by_hooks(
    gate: &ToolGate,
    call: &ToolCall,
    plan: CallPlan,
    origin: ArgumentsOrigin,
) -> Result<(CallPlan, CallProvenance), ToolOutput> {
    let (input, provenance) = call_hooks::before(gate, call, (plan.input.clone(), origin)).await?;
    let plan = plan.with_input(input, gate.place())?;
    match gate.fork.and_then(|fork| fork.refusal(&plan.call.name, &plan.accesses)) {
        Some(reason) => Err(denied(reason)),
        None => Ok((plan, provenance)),
    }
}

/// Plans a call with arguments that are not the model's, and runs the hooks on them.
async fn check_other_input(
    gate: &ToolGate,
    call: &ToolCall,
    plan: CallPlan,
    (input, origin): (Value, ArgumentsOrigin),
) -> Result<(CallPlan, CallProvenance), ToolOutput> {
    check_by_hooks(gate, call, plan.with_input(input, gate.place())?, origin).await
}

/// Decides about the changes of a call that finds them by asking: the hooks, rules, mode and the user are
/// asked again, now with each file that the call would write.
async fn decide_found_changes(
    gate: &ToolGate,
    call: &ToolCall,
    GrantedCall { plan, provenance, .. }: GrantedCall,
    question: &ApprovalWait,
) -> CallAuthorisation {
    let query = match plan.resolve(gate).await {
        Ok(query) => query,
        Err(output) => return CallAuthorisation::NotRun(output),
    };
    let found = plan.tool.find_changes(&gate.context_for(&query), &plan.input).await;
    let input = match found {
        Ok(input) => input,
        Err(error) => return CallAuthorisation::NotRun(error.into()),
    };
    let origin = provenance.origin;
    match check_other_input(gate, call, plan, (input, origin)).await {
        Ok((plan, mut checked)) => {
            checked.notes = [provenance.notes, checked.notes].concat();
            ask_until_decided(gate, call, plan, checked, question).await
        }
        Err(output) => CallAuthorisation::NotRun(output),
    }
}

/// Checks a decision again after the earlier calls have run, because rules and mode may be stricter
/// by then. What the user has allowed is not asked a second time, but it can be denied now.
async fn recheck(
    gate: &ToolGate,
    call: &ToolCall,
    outcome: CallAuthorisation,
    question: &ApprovalWait,
) -> CallAuthorisation {
    let CallAuthorisation::Granted(granted) = outcome else { return outcome };
    let query = match granted.plan.resolve(gate).await {
        Ok(query) => query,
        Err(output) => return CallAuthorisation::NotRun(output),
    };
    let (decision, _) = gate.permissions.decide(&query, &granted.provenance.word);
    match (decision.outcome(), granted.ticket.is_by_user()) {
        (PermissionOutcome::Deny, _) => {
            CallAuthorisation::NotRun(denied_by_rule(gate, call, &decision).await)
        }
        (PermissionOutcome::Ask, false) => {
            let GrantedCall { plan, provenance, .. } = *granted;
            ask_until_decided(gate, call, plan, provenance, question).await
        }
        (PermissionOutcome::Ask, true) | (PermissionOutcome::Allow, _) => {
            CallAuthorisation::Granted(granted)
        }
    }
}

async fn wait_for_all(done: &[CancellationToken]) {
    for done in done {
        done.cancelled().await;
    }
}

/// Decides by rules and mode, and asks the user where they say so, until there is an answer.
async fn ask_until_decided(
    gate: &ToolGate,
    call: &ToolCall,
    mut plan: CallPlan,
    mut provenance: CallProvenance,
    question: &ApprovalWait,
) -> CallAuthorisation {
    loop {
        let query = match plan.resolve(gate).await {
            Ok(query) => query,
            Err(output) => return CallAuthorisation::NotRun(output),
        };
        let (decision, changed) = gate.permissions.decide(&query, &provenance.word);
        match decision.outcome() {
            PermissionOutcome::Deny => {
                let output = match unreadable_command(&query, &decision) {
                    Some(mistake) => mistake,
                    None => denied_by_rule(gate, call, &decision).await,
                };
                return CallAuthorisation::NotRun(output);
            }
            PermissionOutcome::Allow if asks_nobody(gate, &plan) => {
                let output = refused_unasked(gate, &plan.call, ASKS_THE_USER, None).await;
                return CallAuthorisation::NotRun(output);
            }
            PermissionOutcome::Allow => {
                return match decision.approve(&plan.call) {
                    Ok(ticket) => CallAuthorisation::granted(gate, plan, ticket, provenance),
                    Err(decision) => {
                        CallAuthorisation::NotRun(denied_by_rule(gate, call, &decision).await)
                    }
                };
            }
            PermissionOutcome::Ask if gate.interactivity == Interactivity::Headless => {
                let output = match unreadable_command(&query, &decision) {
                    Some(mistake) => mistake,
                    None => {
                        let (reason, rule) = (decision.reason(), decision.rule().cloned());
                        refused_unasked(gate, &plan.call, reason, rule).await
                    }
                };
                return CallAuthorisation::NotRun(output);
            }
            PermissionOutcome::Ask => question.turn().await,
        }
        let context = gate.context_for(&query);
        let preview = match plan.tool.preview(&context, &plan.input).await {
            Ok(preview) => preview,
            // There is no point in asking about a call that cannot succeed.
            Err(error) if can_disclose(gate, &query).await => {
                return CallAuthorisation::NotRun(ToolOutput::failed(error.to_string()));
            }
            Err(_) => None,
        };
        let others = plan.tool.other_previews(&context, &plan.input).await.unwrap_or_default();
        let reason = match &provenance.origin {
            ArgumentsOrigin::Hook(who) => {
                format!("{} {who} changed this call.", decision.question_reason()).trim().to_owned()
            }
            ArgumentsOrigin::Model | ArgumentsOrigin::User | ArgumentsOrigin::Partial(_) => {
                decision.question_reason().to_owned()
            }
        };
        let targets = match decision.dangers() {
            [] => Vec::new(),
            [_, ..] => query.danger_targets(),
        };
        let why = DecisionExplanation { decision: &decision, reason, targets };
        let previews = (preview.clone(), others);
        let outcome = ask(gate, &plan, question, why, changed, previews).await;
        // A text that is no rule is a slip of the hand, and no yes: the user is asked again.
        if let Err(error) = check_rules(gate, &outcome) {
            gate.events.notice(NoticeLevel::Error, error.to_string());
            continue;
        }
        match outcome {
            AskOutcome::Changed => {}
            AskOutcome::Answered(ApprovalAnswer::Part { left_out }) => {
                let part =
                    narrow_to_part(&context, &*plan.tool, &plan.input, preview.as_ref(), &left_out);
                match part.await {
                    Ok((part, accepted)) => {
                        let part = (part, ArgumentsOrigin::Partial(accepted));
                        return authorise_variant(gate, call, plan, part, "part").await;
                    }
                    Err(error) => gate.events.notice(NoticeLevel::Error, error.to_string()),
                }
            }
            AskOutcome::Answered(ApprovalAnswer::OnTerminal) => {
                match plan.tool.on_terminal(&plan.input) {
                    Some(input) => {
                        let input = (input, ArgumentsOrigin::User);
                        return authorise_variant(gate, call, plan, input, "terminal").await;
                    }
                    None => gate.events.notice(NoticeLevel::Error, NO_TERMINAL),
                }
            }
            AskOutcome::Answered(ApprovalAnswer::Edited { input: edited }) => {
                gate.record_decision(call, PermissionOutcome::Ask, "edited", None).await;
                let edited = (edited, ArgumentsOrigin::User);
                match check_other_input(gate, call, plan, edited).await {
                    Ok(checked) => (plan, provenance) = checked,
                    Err(output) => return CallAuthorisation::NotRun(output),
                }
            }
            AskOutcome::Answered(ApprovalAnswer::Deny { instruction }) => {
                gate.record_decision(call, PermissionOutcome::Deny, "deny", None).await;
                return CallAuthorisation::NotRun(denied_by_user(instruction));
            }
            AskOutcome::Answered(ApprovalAnswer::Never { rule }) => {
                let rule = save(gate, RuleKind::Deny, vec![rule]).await;
                gate.record_decision(call, PermissionOutcome::Deny, "never", rule).await;
                return CallAuthorisation::NotRun(denied_by_user(None));
            }
            AskOutcome::Answered(ApprovalAnswer::Once) => {
                gate.record_decision(call, PermissionOutcome::Allow, "once", None).await;
                return approve_by_user(gate, decision, plan, provenance, "once");
            }
            AskOutcome::Answered(ApprovalAnswer::Session { rules }) => {
                gate.record_decision(call, PermissionOutcome::Allow, "session", None).await;
                if let Err(error) = gate.permissions.add_for_session(RuleKind::Allow, &rules) {
                    gate.events.notice(NoticeLevel::Error, error.to_string());
                }
                return approve_by_user(gate, decision, plan, provenance, "session");
            }
            AskOutcome::Answered(ApprovalAnswer::Always { rules }) => {
                let rule = save(gate, RuleKind::Allow, rules).await;
                gate.record_decision(call, PermissionOutcome::Allow, "always", rule).await;
                return approve_by_user(gate, decision, plan, provenance, "always");
            }
        }
    }
}

/// What the model is told about a command that no rule is about and that cannot be analysed: that is
/// a mistake of the model, which it can mend, and not a refusal. `None` for all other calls.
fn unreadable_command(
    query: &PermissionQuery,
    decision: &PermissionDecision,
) -> Option<ToolOutput> {
    if decision.rule().is_some() {
        return None;
    }
    let obstacle = query.unreadable_command()?;
    let text = format!("Not run: the command cannot be read: {obstacle}. {}", obstacle.remedy());
    Some(ToolOutput::failed(text))
}

/// Whether the model may learn why a change would fail: only if it may read the files without a
/// question. Otherwise even the fact that a text is not in the file would reveal too much.
async fn can_disclose(gate: &ToolGate, query: &PermissionQuery) -> bool {
    let targets = query.accesses.iter().filter_map(|access| match access {
        ResolvedAccess::Write(path) => Some(ToolAccess::Read(path.path.clone())),
        ResolvedAccess::Read(_)
        | ResolvedAccess::Run(_)
        | ResolvedAccess::External { .. }
        | ResolvedAccess::Fetch { .. }
        | ResolvedAccess::Search { .. }
        | ResolvedAccess::Type(..)
        | ResolvedAccess::AskUser
        | ResolvedAccess::Nothing => None,
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

/// What the user is told who wants a call on a terminal that runs no command.
const NO_TERMINAL: &str = "Only a command can be started on a terminal: choose another answer.";

/// Decides on the form of a call that the user chose: the accepted part of a change, or a command on a
/// terminal. The user has allowed exactly these arguments and is not asked again; hooks, rules and
/// mode can still refuse them.
async fn authorise_variant(
    gate: &ToolGate,
    call: &ToolCall,
    plan: CallPlan,
    input: (Value, ArgumentsOrigin),
    answer: &str,
) -> CallAuthorisation {
    gate.record_decision(call, PermissionOutcome::Allow, answer, None).await;
    let (plan, provenance) = match check_other_input(gate, call, plan, input).await {
        Ok(checked) => checked,
        Err(output) => return CallAuthorisation::NotRun(output),
    };
    let query = match plan.resolve(gate).await {
        Ok(query) => query,
        Err(output) => return CallAuthorisation::NotRun(output),
    };
    let (decision, _) = gate.permissions.decide(&query, &provenance.word);
    match decision.outcome() {
        PermissionOutcome::Deny => {
            CallAuthorisation::NotRun(denied_by_rule(gate, call, &decision).await)
        }
        PermissionOutcome::Ask | PermissionOutcome::Allow => {
            approve_by_user(gate, decision, plan, provenance, answer)
        }
    }
}

fn approve_by_user(
    gate: &ToolGate,
    decision: PermissionDecision,
    plan: CallPlan,
    provenance: CallProvenance,
    answer: &str,
) -> CallAuthorisation {
    match decision.approve_by_user(&plan.call, answer) {
        Ok(ticket) => CallAuthorisation::granted(gate, plan, ticket, provenance),
        Err(decision) => CallAuthorisation::NotRun(denied(decision.reason())),
    }
}

/// The decision behind a question, and the reason that the question shows.
struct DecisionExplanation<'a> {
    decision: &'a PermissionDecision,
    reason: String,
    /// What can be counted about the call.
    targets: Vec<DangerTarget>,
}

enum AskOutcome {
    Answered(ApprovalAnswer),
    /// Rules or mode have changed: decide again.
    Changed,
}

async fn ask(
    gate: &ToolGate,
    plan: &CallPlan,
    question: &ApprovalWait,
    DecisionExplanation { decision, reason, targets }: DecisionExplanation<'_>,
    mut changed: watch::Receiver<u64>,
    (preview, other_previews): (Option<FileDiff>, Vec<FileDiff>),
) -> AskOutcome {
    let facts = match targets[..] {
        [] => DangerFacts::Unknown,
        // The question does not wait for them.
        [_, ..] => DangerFacts::Pending,
    };
    let (id, answer) = gate.approvals.open();
    question.begin(id);
    let request = ApprovalRequest {
        facts,
        parts: decision.parts().to_owned(),
        allow_rules: decision.allow_rules().to_owned(),
        deny_rule: decision.deny_rule().map(str::to_owned),
        dangers: decision.dangers().to_owned(),
        preview,
        other_previews,
        ..gate.question(id, &plan.call, &plan.input, (ApprovalKind::Permission, reason))
    };
    gate.ask_user(request);
    question.let_others_ask();
    let tell_facts = async {
        if !targets.is_empty() {
            let facts = danger_facts(gate.git.as_ref(), &gate.place().cwd, &targets).await;
            gate.events.send(AgentEvent::ApprovalFacts { id, facts });
        }
        std::future::pending::<Infallible>().await
    };
    let outcome = tokio::select! {
        // An answer that changes the mode as well comes before that change.
        biased;
        answer = answer => AskOutcome::Answered(answer.unwrap_or(NO)),
        _ = changed.changed() => AskOutcome::Changed,
        never = tell_facts => match never {},
    };
    if question.end().is_some() && matches!(outcome, AskOutcome::Changed) {
        gate.events.send(AgentEvent::ApprovalWithdrawn(id));
    }
    outcome
}

/// The answer that counts when a question is closed without one.
pub(super) const NO: ApprovalAnswer = ApprovalAnswer::Deny { instruction: None };

async fn denied_by_rule(
    gate: &ToolGate,
    call: &ToolCall,
    decision: &PermissionDecision,
) -> ToolOutput {
    let why = if decision.rule().is_some() { "rule" } else { "mode" };
    gate.record_decision(call, PermissionOutcome::Deny, why, decision.rule().cloned()).await;
    if gate.interactivity == Interactivity::Headless {
        let reason = decision.reason().to_owned();
        gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason });
    }
    let shown = match (decision.rule(), gate.permissions.mode()) {
        (Some(rule), _) => format!("Denied by the rule {}", rule.rule),
        (None, PermissionMode::Plan) => "Not in plan mode".to_owned(),
        (None, _) => decision.reason().to_owned(),
    };
    // Where neither a rule nor plan mode is the reason, the reason says what to do instead.
    let is_final = decision.rule().is_some() || gate.permissions.mode() == PermissionMode::Plan;
    let advice = if is_final { " Do not try another way around this." } else { "" };
    denied(&format!("Denied: {}{advice}", decision.reason()))
        .with_display(ToolDisplay::Terminal { text: shown })
}

/// The reason for refusing a question of the model's where nobody can answer.
const ASKS_THE_USER: &str = "It asks the user.";

/// Whether a call asks the user something where nobody can answer.
fn asks_nobody(gate: &ToolGate, plan: &CallPlan) -> bool {
    gate.interactivity == Interactivity::Headless && plan.accesses.contains(&ToolAccess::AskUser)
}

async fn refused_unasked(
    gate: &ToolGate,
    call: &ToolCall,
    reason: &str,
    rule: Option<RuleSource>,
) -> ToolOutput {
    gate.record_decision(call, PermissionOutcome::Deny, "headless", rule).await;
    gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason: reason.to_owned() });
    denied(&format!(
        "Refused: {reason} Nobody is there to ask. Go on without it, and say in your answer what \
         you could not do."
    ))
}
