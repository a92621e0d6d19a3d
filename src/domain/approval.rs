//! A question to the person before a call runs, and the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lookalike::{LookalikeWord, lookalikes};
use super::{CallId, DiffLineTag, ExcludedHunks, FileDiff, TurnId};

/// Names one question. Made by the agent; an answer with another id is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(pub u64);

/// What rules and mode say of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionOutcome {
    /// Runs with no question.
    Allow,
    /// The person is asked; without a person it is refused.
    Ask,
    /// Refused with no question.
    Deny,
}

/// Everything the dialog shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// To be named in the answer.
    pub id: ApprovalId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The call that waits.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The call's arguments.
    pub input: Value,
    /// The folder that the call works in.
    pub cwd: PathBuf,
    /// What the question is.
    pub kind: ApprovalKind,
    /// Why it is asked, in a sentence.
    pub reason: String,
    /// The simple commands of a shell command, or the paths touched, each with what was decided.
    pub parts: Vec<CallPart>,
    /// The rules an "always" would save: as narrow as they can be, one for each part that has
    /// none. Empty where no rule can be offered (the command cannot be analysed, or it changes
    /// slug's own powers), and then neither "always" nor "for this session" is offered.
    pub allow_rules: Vec<String>,
    /// The rule that a "never" would save.
    pub deny_rule: Option<String>,
    /// The file that an "always" or a "never" is written to.
    pub rule_file: RuleFile,
    /// What Edit or Write would change, against what is on disk now.
    pub preview: Option<FileDiff>,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalKind {
    /// Whether the call may run.
    Permission,
    /// Whether a command that failed in the sandbox may run again outside of it.
    SandboxEscalation,
    /// Whether the model may go on with a call that leads nowhere; a no ends the turn.
    RepeatedCall,
    /// Whether a turn may overdraw its budget or the session's; a no ends it.
    Budget,
}

impl ApprovalRequest {
    /// What in it looks like something else, a sentence each.
    pub fn lookalikes(&self) -> Vec<String> {
        let mut text = String::new();
        gather(&self.input, &mut text);
        if let Some(diff) = &self.preview {
            let added = diff.lines().filter(|(_, line)| line.tag == DiffLineTag::Added);
            let added = added.map(|(_, line)| line.text.as_str());
            text = std::iter::once(diff.path.to_string_lossy().as_ref())
                .chain(added)
                .collect::<Vec<_>>()
                .join("\n");
        }
        let told = lookalikes(&text).into_iter().map(|LookalikeWord { word, letter }| {
            let code = u32::from(letter);
            format!("Look twice: the {letter} in {word} is U+{code:04X} and no Latin letter.")
        });
        told.collect()
    }
}

/// All texts of a value, apart from each other.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallPart {
    /// The command or path as it will be used.
    pub text: String,
    /// What was decided for it alone.
    pub decision: PermissionOutcome,
    /// The rule that decided, if one did; where it is asked for, it may be one that allows this part
    /// alone, and that is not enough.
    pub rule: Option<RuleSource>,
}

/// A rule and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSource {
    /// The rule: `Bash(git status)`.
    pub rule: String,
    /// Which list it is in.
    pub kind: RuleKind,
    /// The settings file; `None` for a rule of this session alone and for built-in ones.
    pub file: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<usize>,
}

/// Which list a rule is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Refuses.
    Deny,
    /// Asks even where a later rule would allow.
    Ask,
    /// Allows.
    Allow,
}

impl RuleKind {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// Its list in a settings file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl PermissionOutcome {
    /// What it is called.
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
pub struct RuleFile(pub PathBuf);

/// What the person says.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalAnswer {
    /// Yes, this time.
    Once,
    /// Yes, this time, to a part of the change that was shown. At least one change is taken.
    Part {
        /// What is not to be done.
        left_out: ExcludedHunks,
    },
    /// Yes, and for the same rules until slug ends.
    Session {
        /// As offered or edited.
        rules: Vec<String>,
    },
    /// Yes, and save these rules.
    Always {
        /// As offered or edited.
        rules: Vec<String>,
    },
    /// No, and save this rule.
    Never {
        /// As offered or edited.
        rule: String,
    },
    /// Run this instead; it is decided again first.
    Edited {
        /// The new arguments.
        input: Value,
    },
    /// No, this time.
    Deny {
        /// What the model should do instead.
        instruction: Option<String>,
    },
}
