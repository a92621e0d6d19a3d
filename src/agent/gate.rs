//! The one gate: every execution of a tool goes through [`execute_with_permission`].
//!
//! Its order never changes: validate the input, resolve what it touches, rules and mode, the
//! person, the intent on disk, the run. An edited input starts again from the top; a rule or mode
//! that changes while a question is open or a call waits for its turn decides it anew; what was
//! approved must still be what is there when it runs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::{
    Answer, ApprovalRequest, Block, CallInput, ContentHash, Message, Mode, Outcome, Role, RuleKind,
    RuleSource, ToolCall, ToolOutput, ToolStatus, TurnId,
};
use crate::permissions::{self, Approved, Decision, Query, RuleSet, Workspace};
use crate::platform::debug_log::DebugLog;
use crate::session::{Blobs, Entry, MessageEntry, PermissionEntry, ResultInfo};
use crate::tools::{Place, Registry, Tool, ToolContext};

use super::Event;
use super::asks::{Asks, Waiting};
use super::events::Events;
use super::facts::Facts;
use super::journal::Journal;
use super::keeper::Keeper;
use super::powers::Powers;
use super::repeats::Repeats;
use crate::domain::NoticeLevel;

/// How long a cancelled tool may take to say what it had done, before it is left behind.
const GRACE: Duration = Duration::from_millis(75);

/// What the model is told of a call that the person stopped.
const CANCELLED: &str = "Cancelled by the user.";

/// Who can answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// Somebody sits at the screen.
    Present,
    /// Nobody does: what would ask is refused.
    Absent,
}

/// Everything a call needs on its way.
pub(super) struct Gate {
    pub(super) turn: TurnId,
    pub(super) registry: Arc<Registry>,
    pub(super) context: ToolContext,
    pub(super) workspace: Arc<Workspace>,
    pub(super) powers: Arc<Powers>,
    pub(super) asks: Arc<Asks>,
    pub(super) repeats: Repeats,
    pub(super) person: Person,
    pub(super) journal: Arc<Journal>,
    pub(super) blobs: Blobs,
    pub(super) events: Events,
    pub(super) debug: DebugLog,
}

impl Gate {
    pub(super) fn place(&self) -> &Place {
        &self.context.place
    }

    fn keeper(&self) -> Keeper {
        Keeper {
            turn: self.turn,
            journal: self.journal.clone(),
            blobs: self.blobs.clone(),
            events: self.events.clone(),
        }
    }
}

/// The earlier calls that a call waits for; each token is cancelled when its call is done.
pub(super) struct Waits {
    pub(super) before_asking: Vec<CancellationToken>,
    pub(super) before_running: Vec<CancellationToken>,
}

impl Waits {
    /// For a call that comes alone.
    pub(super) fn none() -> Self {
        Self { before_asking: Vec::new(), before_running: Vec::new() }
    }
}

/// Takes one call from its arguments to its result, which is in the log when this returns.
pub(super) async fn execute_with_permission(
    gate: &Gate,
    call: &ToolCall,
    waits: Waits,
) -> ToolOutput {
    let span = tracing::info_span!("call", call = %call.id, tool = call.name);
    go_through(gate, call, waits).instrument(span).await
}

async fn go_through(gate: &Gate, call: &ToolCall, waits: Waits) -> ToolOutput {
    let asked = Instant::now();
    // A tool that panics takes neither the result nor the calls beside it with it.
    let attempt = AssertUnwindSafe(attempt(gate, call, waits)).catch_unwind().await;
    let ended = attempt.unwrap_or_else(|_| Ended::new(crashed(), asked.elapsed()));
    let output = ended.output.clone();
    settle(gate, call, ended).await;
    output
}

/// What came of a call.
pub(super) struct Ended {
    pub(super) output: ToolOutput,
    /// Its whole output among the blobs, where the model gets only a part.
    pub(super) kept: Option<ContentHash>,
    /// How long it took; where it ran, without the wait for an answer.
    pub(super) elapsed: Duration,
}

impl Ended {
    fn new(output: ToolOutput, elapsed: Duration) -> Self {
        Self { output, kept: None, elapsed }
    }

    /// The result as it goes on record.
    pub(super) fn info(&self, tool: &str) -> ResultInfo {
        ResultInfo {
            name: tool.to_owned(),
            status: self.output.status,
            summary: self.output.summary.clone(),
            display: self.output.display.clone(),
            elapsed_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            kept: self.kept.clone(),
        }
    }
}

async fn attempt(gate: &Gate, call: &ToolCall, waits: Waits) -> Ended {
    let asked = Instant::now();
    match pass(gate, call, waits).await {
        Passed::Approved { approved, tool, input } => {
            let ended = run(gate, call, &approved, &*tool).await;
            let accesses = tool.access(approved.input(), gate.place()).unwrap_or_default();
            gate.repeats.note(call, &accesses, &ended.output);
            Ended { output: with_change(ended.output, &approved, input), ..ended }
        }
        Passed::Stopped(output) => {
            gate.repeats.note(call, &[], &output);
            Ended::new(output, asked.elapsed())
        }
    }
}

/// Answers a call that came to no result of its own.
pub(super) async fn give_up(gate: &Gate, call: &ToolCall) {
    settle(gate, call, Ended::new(crashed(), Duration::ZERO)).await;
}

/// Answers a call without running it.
pub(super) async fn refuse(gate: &Gate, call: &ToolCall, reason: &str) {
    settle(gate, call, Ended::new(denied(reason), Duration::ZERO)).await;
}

/// Runs a command that the person typed. That is its approval, whatever the rules say of the
/// model; it goes the same way from there on.
pub(super) async fn execute_for_person(gate: &Gate, call: &ToolCall) -> Ended {
    let asked = Instant::now();
    let attempt = AssertUnwindSafe(attempt_for_person(gate, call)).catch_unwind().await;
    let output = match attempt {
        Ok(Ok(ended)) => return ended,
        Ok(Err(output)) => output,
        Err(_) => crashed(),
    };
    Ended::new(output, asked.elapsed())
}

async fn attempt_for_person(gate: &Gate, call: &ToolCall) -> Result<Ended, ToolOutput> {
    let CallInput::Valid(input) = &call.input else { return Err(not_json("")) };
    let tool = gate.registry.get(&call.name).map_err(|it| ToolOutput::failed(it.to_string()))?;
    let query = resolve(gate, &*tool, call, input).await?;
    let decision = permissions::decide(&query, &RuleSet::new(), Mode::Ask, &gate.workspace);
    match decision.approved_by_person(call, "typed") {
        Ok(approved) => Ok(run(gate, call, &approved, &*tool).await),
        Err(decision) => Err(denied(decision.reason())),
    }
}

enum Passed {
    Approved { approved: Approved, tool: Arc<dyn Tool>, input: Whose },
    Stopped(ToolOutput),
}

/// Who wrote the arguments that are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Models,
    Persons,
}

async fn pass(gate: &Gate, call: &ToolCall, waits: Waits) -> Passed {
    let input = match &call.input {
        CallInput::Valid(input) => input.clone(),
        CallInput::Invalid(raw) => return Passed::Stopped(not_json(raw)),
    };
    let tool = match gate.registry.get(&call.name) {
        Ok(tool) => tool,
        Err(error) => return Passed::Stopped(ToolOutput::failed(error.to_string())),
    };
    if let Some(advice) = gate.repeats.advice(call) {
        return Passed::Stopped(ToolOutput::failed(advice));
    }
    let question = Waiting::default();
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            if let Some(id) = question.end() {
                gate.events.tell(Event::ApprovalWithdrawn(id)).await;
            }
            Passed::Stopped(stopped())
        }
        passed = async {
            all(&waits.before_asking).await;
            let passed = decide(gate, call, tool, (input, Whose::Models), &question).await;
            if waits.before_running.is_empty() {
                return passed;
            }
            all(&waits.before_running).await;
            again(gate, call, passed, &question).await
        } => passed,
    }
}

/// Looks at a decision again after the calls before this one: rules and mode may have become
/// stricter meanwhile. What a person said yes to is not asked twice, but may be denied by now.
async fn again(gate: &Gate, call: &ToolCall, passed: Passed, question: &Waiting) -> Passed {
    let Passed::Approved { approved, tool, input } = passed else { return passed };
    let query = match resolve(gate, &*tool, call, approved.input()).await {
        Ok(query) => query,
        Err(output) => return Passed::Stopped(output),
    };
    let (decision, _) = gate.powers.decide(&query);
    match (decision.outcome(), approved.is_by_person()) {
        (Outcome::Deny, _) => Passed::Stopped(denied_by_rule(gate, call, &decision).await),
        (Outcome::Ask, false) => {
            decide(gate, call, tool, (approved.into_input(), input), question).await
        }
        (Outcome::Ask, true) | (Outcome::Allow, _) => Passed::Approved { approved, tool, input },
    }
}

async fn all(done: &[CancellationToken]) {
    for done in done {
        done.cancelled().await;
    }
}

/// Asks rules, mode and person until there is an answer.
async fn decide(
    gate: &Gate,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    (mut input, mut whose): (Value, Whose),
    question: &Waiting,
) -> Passed {
    loop {
        let asked = ToolCall { input: CallInput::Valid(input.clone()), ..call.clone() };
        let query = match resolve(gate, &*tool, &asked, &input).await {
            Ok(query) => query,
            Err(output) => return Passed::Stopped(output),
        };
        let (decision, changed) = gate.powers.decide(&query);
        match decision.outcome() {
            Outcome::Deny => return Passed::Stopped(denied_by_rule(gate, call, &decision).await),
            Outcome::Allow => {
                return match decision.approve(&asked) {
                    Ok(approved) => Passed::Approved { approved, tool, input: whose },
                    Err(decision) => Passed::Stopped(denied_by_rule(gate, call, &decision).await),
                };
            }
            Outcome::Ask if gate.person == Person::Absent => {
                return Passed::Stopped(refused_unasked(gate, &asked, &decision).await);
            }
            Outcome::Ask => {}
        }
        match ask(gate, &*tool, &asked, question, &decision, changed).await {
            Asked::Changed => {}
            Asked::Answered(Answer::Edited { input: edited }) => {
                record(gate, call, Outcome::Ask, "edited", None).await;
                input = edited;
                whose = Whose::Persons;
            }
            Asked::Answered(Answer::Deny { instruction }) => {
                record(gate, call, Outcome::Deny, "deny", None).await;
                return Passed::Stopped(denied_by_person(instruction));
            }
            Asked::Answered(Answer::Never { rule }) => {
                let rule = save(gate, RuleKind::Deny, vec![rule]).await;
                record(gate, call, Outcome::Deny, "never", rule).await;
                return Passed::Stopped(denied_by_person(None));
            }
            Asked::Answered(Answer::Once) => {
                record(gate, call, Outcome::Allow, "once", None).await;
                return by_person(decision, &asked, tool, whose, "once");
            }
            Asked::Answered(Answer::Session { rules }) => {
                record(gate, call, Outcome::Allow, "session", None).await;
                if let Err(error) = gate.powers.add_for_session(RuleKind::Allow, &rules) {
                    gate.events.notice(NoticeLevel::Error, error.to_string()).await;
                }
                return by_person(decision, &asked, tool, whose, "session");
            }
            Asked::Answered(Answer::Always { rules }) => {
                let rule = save(gate, RuleKind::Allow, rules).await;
                record(gate, call, Outcome::Allow, "always", rule).await;
                return by_person(decision, &asked, tool, whose, "always");
            }
        }
    }
}

fn by_person(
    decision: Decision,
    call: &ToolCall,
    tool: Arc<dyn Tool>,
    input: Whose,
    answer: &str,
) -> Passed {
    match decision.approved_by_person(call, answer) {
        Ok(approved) => Passed::Approved { approved, tool, input },
        Err(decision) => Passed::Stopped(denied(decision.reason())),
    }
}

/// What the call touches, with symbolic links resolved; off the async threads, since a network
/// file system may take its time.
async fn resolve(
    gate: &Gate,
    tool: &dyn Tool,
    call: &ToolCall,
    input: &Value,
) -> Result<Query, ToolOutput> {
    let accesses =
        tool.access(input, gate.place()).map_err(|error| ToolOutput::failed(error.to_string()))?;
    let (name, workspace) = (call.name.clone(), gate.workspace.clone());
    tokio::task::spawn_blocking(move || Query::resolve(&name, &accesses, &workspace))
        .await
        .map_err(|error| ToolOutput::failed(format!("The call could not be checked: {error}.")))
}

enum Asked {
    Answered(Answer),
    /// Rules or mode changed: decide again.
    Changed,
}

async fn ask(
    gate: &Gate,
    tool: &dyn Tool,
    call: &ToolCall,
    question: &Waiting,
    decision: &Decision,
    mut changed: watch::Receiver<u64>,
) -> Asked {
    // What is asked was parsed before: it is always valid here.
    let CallInput::Valid(input) = &call.input else { return Asked::Answered(NO) };
    let preview = tool.preview(&gate.context, input).await;
    let (id, answer) = gate.asks.open();
    question.begin(id);
    let request = ApprovalRequest {
        id,
        turn: gate.turn,
        call: call.id.clone(),
        tool: call.name.clone(),
        input: input.clone(),
        cwd: gate.place().cwd.clone(),
        reason: decision.reason().to_owned(),
        parts: decision.parts().to_owned(),
        allow_rules: decision.allow_rules().to_owned(),
        deny_rule: decision.deny_rule().map(str::to_owned),
        rule_file: gate.powers.rule_file(),
        preview,
    };
    gate.events.tell(Event::ApprovalAsked(Box::new(request))).await;
    let asked = tokio::select! {
        answer = answer => Asked::Answered(answer.unwrap_or(NO)),
        _ = changed.changed() => Asked::Changed,
    };
    if question.end().is_some() && matches!(asked, Asked::Changed) {
        gate.events.tell(Event::ApprovalWithdrawn(id)).await;
    }
    asked
}

/// The answer where there is none.
const NO: Answer = Answer::Deny { instruction: None };

async fn run(gate: &Gate, call: &ToolCall, approved: &Approved, tool: &dyn Tool) -> Ended {
    let started = Instant::now();
    if let Err(output) = check_and_record_intent(gate, call, approved, tool).await {
        return Ended::new(output, started.elapsed());
    }
    if gate.context.cancel.is_cancelled() {
        return Ended::new(stopped(), started.elapsed());
    }
    let mut shown = call.clone();
    shown.input = CallInput::Valid(approved.input().clone());
    gate.events.tell(Event::ToolStarted { turn: gate.turn, call: shown }).await;

    let facts = Arc::new(Facts::new(gate.blobs.clone()));
    let keeper = gate.keeper();
    let context = ToolContext { effects: Arc::new(facts.teller()), ..gate.context.clone() };
    let cancelled = gate.context.cancel.clone();
    let out_of_time = async {
        cancelled.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::pin!(out_of_time);
    let running = tool.run(&context, approved.input().clone());
    tokio::pin!(running);
    let logged = gate.debug.tool_call(&json!({"name": call.name, "input": approved.input()}));
    let output = loop {
        tokio::select! {
            output = &mut running => break output,
            () = facts.news() => keeper.pass_on(&call.id, &facts).await,
            () = &mut out_of_time => {
                gate.journal.look_after(keeper.clone().pass_on_late(facts.clone()));
                break Ok(stopped());
            }
        }
    };
    keeper.pass_on(&call.id, &facts).await;
    let output = output.unwrap_or_else(|error| ToolOutput::failed(error.to_string()));
    gate.debug.tool_result(logged, &json!({"status": output.status, "text": output.observation}));
    Ended { output, kept: facts.kept(), elapsed: started.elapsed() }
}

/// The last look before a call acts: what was approved is still what is there, and the log says
/// that it is about to run.
async fn check_and_record_intent(
    gate: &Gate,
    call: &ToolCall,
    approved: &Approved,
    tool: &dyn Tool,
) -> Result<(), ToolOutput> {
    let now = resolve(gate, tool, call, approved.input()).await?;
    if !approved.still_holds(&now) {
        return Err(ToolOutput::failed(
            "Not run: what the call would touch changed after it was approved. Look again, then \
             repeat the call.",
        ));
    }
    let intent = Entry::ToolStarted {
        call: call.id.clone(),
        arguments: ContentHash::of(approved.input().to_string().as_bytes()),
        approved_by: approved.approved_by().to_owned(),
    };
    gate.journal.intent(gate.turn, intent).await.map_err(|error| {
        ToolOutput::failed(format!("Not run, since nothing runs that is not on record. {error}"))
    })
}

/// Writes the result to the log and tells the front end.
async fn settle(gate: &Gate, call: &ToolCall, ended: Ended) {
    let info = ended.info(&call.name);
    let Ended { output, elapsed, .. } = ended;
    let block = Block::ToolResult {
        tool_use_id: call.id.clone(),
        content: output.observation,
        is_error: output.status.is_error(),
    };
    let entry = MessageEntry {
        result: Some(info),
        ..MessageEntry::new(Message { role: Role::User, content: vec![block] })
    };
    gate.journal.write(gate.turn, Entry::Message(entry)).await;
    gate.events
        .tell(Event::ToolEnded {
            turn: gate.turn,
            call: call.id.clone(),
            status: output.status,
            display: output.display,
            summary: output.summary,
            elapsed,
        })
        .await;
}

async fn denied_by_rule(gate: &Gate, call: &ToolCall, decision: &Decision) -> ToolOutput {
    let why = if decision.rule().is_some() { "rule" } else { "mode" };
    record(gate, call, Outcome::Deny, why, decision.rule().cloned()).await;
    denied(&format!("Denied: {} Do not try another way around this.", decision.reason()))
}

async fn refused_unasked(gate: &Gate, call: &ToolCall, decision: &Decision) -> ToolOutput {
    record(gate, call, Outcome::Deny, "headless", decision.rule().cloned()).await;
    let reason = decision.reason().to_owned();
    gate.events.tell(Event::CallRefused { call: call.clone(), reason: reason.clone() }).await;
    denied(&format!(
        "Refused: {reason} Nobody is there to ask. Go on without it, and say in your answer what \
         you could not do."
    ))
}

fn denied_by_person(instruction: Option<String>) -> ToolOutput {
    match instruction {
        Some(instruction) => {
            denied(&format!("The user said no, and to do this instead: {instruction}"))
        }
        None => denied(
            "The user said no. Do not repeat the call or work around it; ask what they want instead.",
        ),
    }
}

/// Tells the model when something else ran than it asked for.
fn with_change(output: ToolOutput, approved: &Approved, input: Whose) -> ToolOutput {
    match input {
        Whose::Models => output,
        Whose::Persons => {
            let note = format!("The user changed this call. What ran: {}\n\n", approved.input());
            ToolOutput { observation: note + &output.observation, ..output }
        }
    }
}

fn denied(observation: &str) -> ToolOutput {
    ToolOutput { status: ToolStatus::Denied, ..ToolOutput::text(observation) }
}

fn stopped() -> ToolOutput {
    ToolOutput { status: ToolStatus::Cancelled, ..ToolOutput::text(CANCELLED) }
}

fn crashed() -> ToolOutput {
    ToolOutput::failed(
        "The tool itself failed, and what it had done by then is not known. Look before you go on, \
         and do not repeat the call as it was.",
    )
}

fn not_json(raw: &str) -> ToolOutput {
    let end = raw.floor_char_boundary(200);
    ToolOutput::failed(format!(
        "Not run: the arguments are not a JSON object, perhaps because they were cut off. They \
         began with: {} Send the whole call again.",
        &raw[..end]
    ))
}

async fn record(
    gate: &Gate,
    call: &ToolCall,
    decision: Outcome,
    answer: &str,
    rule: Option<RuleSource>,
) {
    let entry = PermissionEntry {
        call: call.id.clone(),
        tool: call.name.clone(),
        decision,
        answer: answer.to_owned(),
        rule,
    };
    gate.journal.write(gate.turn, Entry::Permission(entry)).await;
}

/// Saves rules to the settings file. What cannot be saved holds for this session where it can, and
/// the person is told.
async fn save(gate: &Gate, kind: RuleKind, rules: Vec<String>) -> Option<RuleSource> {
    let first = rules.first().cloned();
    if let Err(error) = gate.powers.save(kind, rules).await {
        gate.events.notice(NoticeLevel::Error, error.to_string()).await;
        return None;
    }
    let rule = first?;
    let file = gate.powers.rule_file().0;
    Some(RuleSource { rule, kind, file: Some(file), line: None })
}
