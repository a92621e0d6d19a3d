//! A question to the user before a call runs, and the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lookalike::{LookalikeWord, lookalikes};
use super::{CallDanger, CallId, DangerFacts, DiffLineTag, ExcludedHunks, FileDiff, TurnId};

/// Identifies one question. The agent makes the id; an answer with another id is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApprovalId(pub u64);

/// What rules and mode decide for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PermissionOutcome {
    /// The call runs without a question.
    Allow,
    /// The user is asked; in a headless run the call is refused.
    Ask,
    /// The call is refused without a question.
    Deny,
}

/// Everything that the permission dialog shows.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    /// The id that the answer has to carry.
    pub id: ApprovalId,
    /// The turn that makes the call.
    pub turn: TurnId,
    /// The call that waits for the answer.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The call's arguments.
    pub input: Value,
    /// The folder that the call works in.
    pub cwd: PathBuf,
    /// What the user is asked about.
    pub kind: ApprovalKind,
    /// Why slug asks, in a sentence.
    pub reason: String,
    /// The simple commands of a shell command, or the paths touched, each with its own decision.
    pub parts: Vec<CallPart>,
    /// The rules that an "always" would save, as narrow as possible: one for each part that no rule
    /// allows yet. Empty if slug can offer no rule (it cannot analyse the command, or the command
    /// changes slug's own permissions); then the dialog offers neither "always" nor "for this
    /// session".
    pub allow_rules: Vec<String>,
    /// The rule that a "never" would save.
    pub deny_rule: Option<String>,
    /// The file that an "always" or a "never" is written to.
    pub rule_file: RuleFile,
    /// What Edit or Write would change, compared with the file on disk now.
    pub preview: Option<FileDiff>,
    /// The same for the other files of a call that changes more than one, such as a rename.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_previews: Vec<FileDiff>,
    /// What the call does that is hard to take back, the worst first; each once.
    pub dangers: Vec<CallDanger>,
    /// What such a call would touch, counted.
    #[serde(default)]
    pub facts: DangerFacts,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// Whether the call may run.
    Permission,
    /// Whether a command that failed in the sandbox may run again outside of it.
    SandboxInForce,
    /// Whether the model may repeat a call that leads nowhere; a no ends the turn.
    RepeatedCall,
    /// Whether a turn may exceed its budget or the session's; a no ends the turn.
    Budget,
}

impl ApprovalRequest {
    /// The changes of all files that the call would change, where it says them.
    pub fn previews(&self) -> impl Iterator<Item = &FileDiff> {
        self.preview.iter().chain(&self.other_previews)
    }

    /// One sentence for each word in the request that imitates another word with foreign letters.
    pub fn lookalikes(&self) -> Vec<String> {
        let mut text = String::new();
        gather(&self.input, &mut text);
        if self.preview.is_some() {
            text.clear();
        }
        for diff in self.previews() {
            text.push_str(&diff.path.to_string_lossy());
            let added = diff.lines().filter(|(_, line)| line.tag == DiffLineTag::Added);
            added.for_each(|(_, line)| text.extend(["\n", &line.text]));
            text.push('\n');
        }
        let warnings = lookalikes(&text).into_iter().map(|LookalikeWord { word, letter }| {
            let code = u32::from(letter);
            format!("Look twice: the {letter} in {word} is U+{code:04X} and no Latin letter.")
        });
        warnings.collect()
    }
}

/// Appends all texts in `value` to `into`, separated from each other.
fn gather(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| gather(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// One simple command, or one path, of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallPart {
    /// The command or path as it will be used.
    pub text: String,
    /// The decision for this part alone.
    pub decision: PermissionOutcome,
    /// The rule that decided, if one did. If `decision` is `Ask`, this may be a rule that allows
    /// the part alone, which is not enough to allow the call.
    pub rule: Option<RuleSource>,
}

/// A rule, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleSource {
    /// The rule as written: `Bash(git status)`.
    pub rule: String,
    /// The list that holds the rule.
    pub kind: RuleKind,
    /// The settings file; `None` for a rule of this session and for built-in rules.
    pub file: Option<PathBuf>,
    /// The line in that file, counted from 1.
    pub line: Option<usize>,
}

/// The list of rules that a rule is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Calls that match are refused.
    Deny,
    /// slug asks, even if a later rule would allow the call.
    Ask,
    /// Calls that match run without a question.
    Allow,
}

impl RuleKind {
    /// All lists, in the order in which they are consulted.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// The name of the list in a settings file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl PermissionOutcome {
    /// The outcome as one lowercase word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A settings file that a rule can be saved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleFile(pub PathBuf);

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Yes, this time.
    Once,
    /// Yes, this time, to a part of the shown change. At least one change is accepted.
    Part {
        /// The changes that the user leaves out.
        left_out: ExcludedHunks,
    },
    /// Yes, this time, on a terminal of its own: the command becomes a job that the user can type into.
    OnTerminal,
    /// Yes, and the same rules hold until slug ends.
    Session {
        /// The rules as slug offered them, or as the user edited them.
        rules: Vec<String>,
    },
    /// Yes, and save these rules.
    Always {
        /// The rules as slug offered them, or as the user edited them.
        rules: Vec<String>,
    },
    /// No, and save this rule.
    Never {
        /// The rule as slug offered it, or as the user edited it.
        rule: String,
    },
    /// Run these arguments instead; they go through the permission decision again.
    Edited {
        /// The arguments as the user edited them.
        input: Value,
    },
    /// No, this time.
    Deny {
        /// What the model should do instead; `None` if the user gave no instruction.
        instruction: Option<String>,
    },
}
