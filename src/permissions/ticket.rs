//! The outcome of a decision, and the ticket that lets a call run.
//!
//! Invariant: an [`ToolCallTicket`] exists only for a call that rules and mode allow, that a hook allowed
//! where the mode alone would have asked, or that a person said yes to; never for one that is
//! denied. It holds for one call of one tool with these arguments on these targets, in this folder
//! and with this environment.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use crate::domain::{
    CallId, CallInput, CallPart, ContentHash, PermissionOutcome, RuleSource, ToolCall,
};

use super::query::PermissionQuery;

/// What was decided for a call, and everything that the question to the person needs.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionDecision {
    outcome: PermissionOutcome,
    reason: String,
    rule: Option<RuleSource>,
    parts: Vec<CallPart>,
    allow_rules: Vec<String>,
    deny_rule: Option<String>,
    run_as: Option<String>,
    search_path: Option<OsString>,
    tool: String,
    context_hash: ContentHash,
    targets: ContentHash,
}

/// A call that may run.
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

/// Whose yes it is.
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

    pub(super) fn with_run_as(self, run_as: Option<String>) -> Self {
        Self { run_as, ..self }
    }

    pub(super) fn with_search_path(self, search_path: Option<OsString>) -> Self {
        Self { search_path, ..self }
    }

    /// The same, decided by a hook's word, which is in `reason`.
    pub(super) fn by_hook(self, outcome: PermissionOutcome, reason: &str) -> Self {
        let run_as = self.run_as.filter(|_| outcome == PermissionOutcome::Allow);
        Self { outcome, reason: reason.to_owned(), rule: None, run_as, ..self }
    }

    /// Allow, ask or deny.
    pub fn outcome(&self) -> PermissionOutcome {
        self.outcome
    }

    /// Why, in a sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The rule that decided, if one did.
    pub fn rule(&self) -> Option<&RuleSource> {
        self.rule.as_ref()
    }

    /// The simple commands, redirections and paths, each with what was decided for it alone.
    pub fn parts(&self) -> &[CallPart] {
        &self.parts
    }

    /// The rules that an "always" would save, one for each part that has none. Empty where no rule
    /// can be offered.
    pub fn allow_rules(&self) -> &[String] {
        &self.allow_rules
    }

    /// The rule that a "never" would save.
    pub fn deny_rule(&self) -> Option<&str> {
        self.deny_rule.as_deref()
    }

    /// The command in slug's own words, where one is allowed without a question.
    pub fn run_as(&self) -> Option<&str> {
        self.run_as.as_deref()
    }

    /// What approved it, for the log: a rule, or what the reason says.
    pub fn approved_by(&self) -> String {
        match &self.rule {
            Some(rule) => format!("rule {}", rule.rule),
            None => self.reason.trim_end_matches('.').to_owned(),
        }
    }

    /// The ticket for a call that needs no answer. A command then runs in slug's own words. Gives
    /// the decision back when it is not allow, or was made for something else.
    pub fn approve(self, call: &ToolCall) -> Result<ToolCallTicket, Box<Self>> {
        if self.outcome != PermissionOutcome::Allow {
            return Err(Box::new(self));
        }
        let approved_by = self.approved_by();
        let run_as = self.run_as.clone();
        self.ticket(call, approved_by, ApprovalAuthority::Rules, run_as)
    }

    /// The ticket for a call that a person said yes to, run as it stands; `answer` is the answer's
    /// name for the log. Gives the decision back when it is deny: there a yes does not help.
    pub fn approve_by_user(
        self,
        call: &ToolCall,
        answer: &str,
    ) -> Result<ToolCallTicket, Box<Self>> {
        match self.outcome {
            PermissionOutcome::Deny => Err(Box::new(self)),
            PermissionOutcome::Allow | PermissionOutcome::Ask => {
                self.ticket(call, format!("person ({answer})"), ApprovalAuthority::User, None)
            }
        }
    }

    /// The ticket for a command that the person typed: that is their yes, and what would be refused
    /// to a model, since it shows nothing of what it changes, they have seen.
    pub fn approve_typed_command(self, call: &ToolCall) -> Result<ToolCallTicket, Box<Self>> {
        self.ticket(call, "person (typed)".to_owned(), ApprovalAuthority::User, None)
    }

    fn ticket(
        self,
        call: &ToolCall,
        approved_by: String,
        by: ApprovalAuthority,
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
            authority: by,
            search_path: self.search_path.filter(|_| by == ApprovalAuthority::Rules),
            targets: self.targets,
        })
    }
}

impl ToolCallTicket {
    /// The call.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments to run it with.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// What approved it, for the log.
    pub fn approved_by(&self) -> &str {
        &self.approved_by
    }

    /// Whether a person said yes to this very call.
    pub fn is_by_user(&self) -> bool {
        self.authority == ApprovalAuthority::User
    }

    /// The value of PATH that its command gets, where it is not slug's own.
    pub fn search_path(&self) -> Option<&OsStr> {
        self.search_path.as_deref()
    }

    /// SHA-256 of the tool, its arguments with sorted keys, the folder and the environment.
    pub fn binding(&self) -> &ContentHash {
        &self.binding
    }

    /// Whether the call, resolved again just before it runs, still touches what was approved, in
    /// the same folder and environment.
    pub fn still_holds(&self, now: &PermissionQuery) -> bool {
        now.fingerprint() == self.targets
    }

    /// The arguments, when the call runs.
    pub fn into_input(self) -> Value {
        self.input
    }
}

fn binding(tool: &str, input: &Value, around: &ContentHash) -> ContentHash {
    let mut text = Value::String(tool.to_owned()).to_string();
    write_canonical(input, &mut text);
    text.push_str(&around.to_string());
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
