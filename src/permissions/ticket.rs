//! The outcome of a decision, and the ticket that lets a call run.
//!
//! Invariant: a [`ToolCallTicket`] exists only for a call that the rules and the mode allow, that a
//! hook allowed where the mode alone would have asked, or that the user approved; never for a call
//! that is denied. A ticket holds for one call of one tool with these arguments on these targets,
//! in this folder and with this environment.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use crate::domain::{
    CallDanger, CallId, CallInput, CallPart, ContentHash, PermissionOutcome, RuleSource,
    TYPED_BY_USER, ToolCall,
};

use super::check::NO_RULE_REASONS;
use super::query::PermissionQuery;

/// The decision for one call, with everything that the approval dialog shows the user.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionDecision {
    outcome: PermissionOutcome,
    reason: String,
    rule: Option<RuleSource>,
    parts: Vec<CallPart>,
    allow_rules: Vec<String>,
    deny_rule: Option<String>,
    dangers: Vec<CallDanger>,
    run_as: Option<String>,
    search_path: Option<OsString>,
    tool: String,
    context_hash: ContentHash,
    targets: ContentHash,
}

/// Proof that a call may run. Only [`PermissionDecision`] makes one, and running the call consumes
/// it.
#[derive(Debug, PartialEq)]
pub struct ToolCallTicket {
    call: CallId,
    tool: String,
    input: Value,
    approved_by: String,
    authority: ApprovalAuthority,
    search_path: Option<OsString>,
    binding: ContentHash,
    targets: ContentHash,
}

/// Who approved the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApprovalAuthority {
    Rules,
    User,
}

impl PermissionDecision {
    pub(super) fn new(query: &PermissionQuery, outcome: PermissionOutcome, reason: String) -> Self {
        Self {
            outcome,
            reason,
            rule: None,
            parts: Vec::new(),
            allow_rules: Vec::new(),
            deny_rule: None,
            dangers: Vec::new(),
            run_as: None,
            search_path: None,
            tool: query.tool.clone(),
            context_hash: query.context_hash.clone(),
            targets: query.fingerprint(),
        }
    }

    pub(super) fn with_rule(self, rule: Option<RuleSource>) -> Self {
        Self { rule, ..self }
    }

    pub(super) fn with_parts(self, parts: Vec<CallPart>) -> Self {
        Self { parts, ..self }
    }

    pub(super) fn with_offers(self, allow_rules: Vec<String>, deny_rule: Option<String>) -> Self {
        Self { allow_rules, deny_rule, ..self }
    }

    pub(super) fn with_dangers(self, dangers: Vec<CallDanger>) -> Self {
        Self { dangers, ..self }
    }

    pub(super) fn with_run_as(self, run_as: Option<String>) -> Self {
        Self { run_as, ..self }
    }

    pub(super) fn with_search_path(self, search_path: Option<OsString>) -> Self {
        Self { search_path, ..self }
    }

    /// The same decision with the outcome that a hook wants; `reason` holds the hook's reason.
    pub(super) fn by_hook(self, outcome: PermissionOutcome, reason: &str) -> Self {
        let run_as = self.run_as.filter(|_| outcome == PermissionOutcome::Allow);
        Self { outcome, reason: reason.to_owned(), rule: None, run_as, ..self }
    }

    /// Allow, ask or deny.
    pub fn outcome(&self) -> PermissionOutcome {
        self.outcome
    }

    /// One sentence for the user.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The reason as a question gives it: empty where it is only that no rule allows the call, which
    /// the question itself says.
    pub fn question_reason(&self) -> &str {
        if NO_RULE_REASONS.contains(&&*self.reason) { "" } else { &self.reason }
    }

    /// The rule that decided, if one did.
    pub fn rule(&self) -> Option<&RuleSource> {
        self.rule.as_ref()
    }

    /// The simple commands, redirections and paths, each with the decision for it alone.
    pub fn parts(&self) -> &[CallPart] {
        &self.parts
    }

    /// The rules that the answer "always" would save, one for each part that has none. Empty where
    /// no rule can be offered.
    pub fn allow_rules(&self) -> &[String] {
        &self.allow_rules
    }

    /// What the call does that is hard to take back, the worst first; each once.
    pub fn dangers(&self) -> &[CallDanger] {
        &self.dangers
    }

    /// The rule that the answer "never" would save.
    pub fn deny_rule(&self) -> Option<&str> {
        self.deny_rule.as_deref()
    }

    /// The command rewritten by slug, every word quoted, where the command is allowed without a
    /// question.
    pub fn run_as(&self) -> Option<&str> {
        self.run_as.as_deref()
    }

    /// What approved the call, for the log: a rule, or else the reason.
    pub fn approved_by(&self) -> String {
        match &self.rule {
            Some(rule) => format!("rule {}", rule.rule),
            None => self.reason.trim_end_matches('.').to_owned(),
        }
    }

    /// The ticket for a call that needs no answer. A command then runs as slug rewrote it (see
    /// [`Self::run_as`]).
    ///
    /// # Errors
    ///
    /// Gives the decision back when the outcome is not allow, when it was made for another tool, or
    /// when the call's arguments are not valid.
    pub fn approve(self, call: &ToolCall) -> Result<ToolCallTicket, Box<Self>> {
        if self.outcome != PermissionOutcome::Allow {
            return Err(Box::new(self));
        }
        let approved_by = self.approved_by();
        let run_as = self.run_as.clone();
        self.ticket(call, approved_by, ApprovalAuthority::Rules, run_as)
    }

    /// The ticket for a call that the user approved. The command runs as the model wrote it.
    /// `answer` is the answer's name for the log.
    ///
    /// # Errors
    ///
    /// Gives the decision back when the outcome is deny, where the user's approval does not help,
    /// when it was made for another tool, or when the call's arguments are not valid.
    pub fn approve_by_user(
        self,
        call: &ToolCall,
        answer: &str,
    ) -> Result<ToolCallTicket, Box<Self>> {
        match self.outcome {
            PermissionOutcome::Deny => Err(Box::new(self)),
            PermissionOutcome::Allow | PermissionOutcome::Ask => {
                self.ticket(call, format!("user ({answer})"), ApprovalAuthority::User, None)
            }
        }
    }

    /// The ticket for a command that the user typed. Typing the command approves it, even one that
    /// is denied to a model because it does not show what it changes: the user has seen the
    /// command.
    ///
    /// # Errors
    ///
    /// Gives the decision back when it was made for another tool or when the call's arguments are
    /// not valid.
    pub fn approve_typed_command(self, call: &ToolCall) -> Result<ToolCallTicket, Box<Self>> {
        self.ticket(call, TYPED_BY_USER.to_owned(), ApprovalAuthority::User, None)
    }

    fn ticket(
        self,
        call: &ToolCall,
        approved_by: String,
        authority: ApprovalAuthority,
        run_as: Option<String>,
    ) -> Result<ToolCallTicket, Box<Self>> {
        let CallInput::Valid(input) = &call.input else { return Err(Box::new(self)) };
        if call.name != self.tool {
            return Err(Box::new(self));
        }
        let mut input = input.clone();
        if let (Some(text), Some(command)) = (run_as, input.get_mut("command")) {
            *command = Value::String(text);
        }
        Ok(ToolCallTicket {
            call: call.id.clone(),
            binding: binding(&call.name, &input, &self.context_hash),
            tool: self.tool,
            input,
            approved_by,
            authority,
            search_path: self.search_path.filter(|_| authority == ApprovalAuthority::Rules),
            targets: self.targets,
        })
    }
}

impl ToolCallTicket {
    /// The id of the call that the ticket is for.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The name of the tool that may run.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments to run it with.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// What approved the call, for the log.
    pub fn approved_by(&self) -> &str {
        &self.approved_by
    }

    /// Whether the user approved this very call.
    pub fn is_by_user(&self) -> bool {
        self.authority == ApprovalAuthority::User
    }

    /// The value of PATH for the command, where it differs from slug's own.
    pub fn search_path(&self) -> Option<&OsStr> {
        self.search_path.as_deref()
    }

    /// SHA-256 of the tool, its arguments with sorted keys, the folder and the environment.
    pub fn binding(&self) -> &ContentHash {
        &self.binding
    }

    /// Whether the call still touches what was approved, in the same folder and environment. `now`
    /// is the call resolved again just before it runs.
    pub fn still_holds(&self, now: &PermissionQuery) -> bool {
        now.fingerprint() == self.targets
    }

    /// Consumes the ticket when the call runs, and gives its arguments.
    pub fn into_input(self) -> Value {
        self.input
    }
}

fn binding(tool: &str, input: &Value, context_hash: &ContentHash) -> ContentHash {
    let mut text = Value::String(tool.to_owned()).to_string();
    write_canonical(input, &mut text);
    text.push_str(&context_hash.to_string());
    ContentHash::of(text.as_bytes())
}

/// JSON with the keys of objects sorted, so that their order does not matter.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}
