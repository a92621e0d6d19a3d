//! The rules of settings files: `Bash(npm *)`, `Edit(src/**)`, `Read`, `mcp__server__*`.
//!
//! What each tool name in a rule covers:
//! - `Bash`: every call. `Bash(…)`: the simple commands whose words fit.
//! - `Read`: reading by any tool, a redirection or a path argument of a command included. A deny
//!   rule covers Edit and MultiEdit, too, since what they report shows the file.
//! - `Edit`: writing by any tool, redirections included.
//! - `Write`: the Write tool; a deny or ask rule covers redirections, too.
//! - `WebFetch(domain:…)`: requests to that host by any tool.
//! - `Glob`, `Grep`, `MultiEdit`, `NotebookEdit`: that tool alone.
//! - any other name: that tool; `mcp__…` may end in `*`.
//!
//! A file that cannot be read as meant fails closed: the rules that can be read hold, and whatever
//! they would allow is asked about, because nobody can tell what the rest was to forbid. Other keys
//! of the file than `permissions` belong to other modules or other programs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::jsonc::{self, JsonPathStep, JsoncDocument};
use crate::domain::{ContentHash, HostRule, RuleKind, RuleSource, nearest};

use super::definition_rule::{NO_DEFINITION, definition_of};
use super::domain_rule::{FETCH_RULE, domain_of};
use super::file_family::{FileToolFamily, purpose};
use super::index::{RuleIndex, RuleSubject};
use super::paths::{ResolvedPath, Workspace};
use super::pattern::{BashPattern, PathPattern, RuleMatchKind};
use super::rule_advice;
use super::shell::{ShellWord, SimpleCommand};
use super::tool_names::{is_server, own_name, parts};

pub use super::file_family::FileEffect;

/// The name that rules on reading have, whichever tool reads.
pub const READ_RULE: &str = "Read";
/// The name that rules on commands have.
pub(super) const COMMAND_RULE: &str = "Bash";
/// The name that rules on writing have, whichever tool writes.
pub(super) const EDIT_RULE: &str = "Edit";

/// All rules in force, in the order of their files.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: Vec<PermissionRule>,
    index: RuleIndex,
    faults: Vec<RuleWarning>,
    warnings: Vec<RuleWarning>,
}

/// Something in a settings file that does not take effect, or not as it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[error("{}{}: {text}", file.display(), line.map_or(String::new(), |line| format!(":{line}")))]
pub struct RuleWarning {
    pub file: PathBuf,
    /// From 1; `None` where no single line is at fault.
    pub line: Option<usize>,
    /// What is wrong and what to write instead.
    pub text: String,
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[error("`{rule}` is not a rule: {why}. Write `Tool` or `Tool(pattern)`, as in `Bash(npm *)`.")]
pub struct RuleError {
    rule: String,
    why: String,
}

impl RuleError {
    /// Why, as a phrase without a full stop.
    pub fn why(&self) -> &str {
        &self.why
    }
}

#[derive(Debug, Clone)]
struct PermissionRule {
    source: RuleSource,
    covers: RuleCoverage,
}

#[derive(Debug, Clone)]
enum RuleCoverage {
    /// All calls of one tool; with the beginning of a hash, only as long as the tool's definition
    /// has that hash.
    Tool { name: String, definition: Option<String> },
    /// All tools whose names begin with `start`.
    Tools { start: String },
    /// Simple commands.
    Commands(BashPattern),
    /// Requests to hosts.
    Domain(HostRule),
    /// Accesses to files; without a pattern, all of them.
    Files { family: FileToolFamily, pattern: Option<PathPattern> },
}

/// The rule that matches a command, and how closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    pub source: RuleSource,
    pub fit: RuleMatchKind,
    /// Whether the rule's wildcards cover only the effects that the table of programs knows.
    pub is_limited: bool,
    pattern: BashPattern,
}

impl CommandRule {
    /// Whether `word` stands literally in the rule.
    pub fn contains_word(&self, word: &str) -> bool {
        self.pattern.contains_word(word)
    }
}

impl RuleSet {
    /// A set without rules: only the mode decides.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that was wrong in the files, faults included.
    pub fn warnings(&self) -> &[RuleWarning] {
        &self.warnings
    }

    /// The warnings that leave unknown what the files forbid. With one of them slug asks about
    /// every call.
    pub fn faults(&self) -> &[RuleWarning] {
        &self.faults
    }

    /// Why nothing runs without a question, where a fault leaves unknown what the files forbid.
    pub(super) fn fails_closed(&self) -> Option<String> {
        let fault = self.faults.first()?;
        Some(format!("{fault} Until that is fixed, slug asks about every call."))
    }

    /// All rules, in the order in which they were added.
    pub fn sources(&self) -> impl Iterator<Item = &RuleSource> {
        self.rules.iter().map(|rule| &rule.source)
    }

    /// Adds a warning that leaves unknown what a file forbids.
    pub(super) fn add_fault(&mut self, fault: RuleWarning) {
        self.warnings.push(fault.clone());
        self.faults.push(fault);
    }

    /// Adds the rules in the text of a settings file. What is wrong in it becomes a warning or a
    /// fault.
    pub fn add_settings(&mut self, text: &str, file: &Path, workspace: &Workspace) {
        let document = match jsonc::parse(text) {
            Ok(document) => document,
            Err(error) => {
                return self.fault(file, Some(error.line), format!("{}.", error.text));
            }
        };
        let Some(settings) = document.value.as_object() else {
            let text = "this is not an object: write `{\"permissions\":{}}`.";
            return self.fault(file, Some(1), text.into());
        };
        for (key, value) in settings {
            self.check_key(key, value, file, document.line(&[JsonPathStep::Key(key.clone())]));
        }
        let Some(permissions) = settings.get("permissions") else { return };
        let Some(permissions) = permissions.as_object() else {
            let line = document.line(&[JsonPathStep::Key("permissions".into())]);
            let text = "`permissions` is not an object: write `{\"allow\":[]}`.";
            return self.fault(file, line, text.into());
        };
        for (key, list) in permissions {
            self.add_list(key, list, &document, file, workspace);
        }
    }

    /// Checks a key at the top of a file. It may be another program's; a key that is spelled almost
    /// like one of slug's, or that has lists of rules below it, is a fault.
    fn check_key(&mut self, key: &str, value: &Value, file: &Path, line: Option<usize>) {
        let shown = key.escape_debug();
        let lower = key.trim().to_lowercase();
        let is_list = |name: &str| matches!(name, "allow" | "ask" | "deny");
        if is_list(&lower) {
            let text = format!("`{shown}` is outside `permissions`: move it inside.");
            return self.fault(file, line, text);
        }
        let mut names = value.as_object().into_iter().flat_map(Map::keys);
        let intended = match key {
            "hooks" if !value.is_array() && !value.is_object() => {
                let text = "`hooks` is neither a list nor an object: write `[]`.";
                return self.fault(file, line, text.into());
            }
            "permissions" | "hooks" => None,
            _ if lower.contains("permission") || names.any(|name| is_list(name)) => {
                Some("permissions")
            }
            _ => nearest(&lower, ["permissions", "hooks"]),
        };
        if let Some(intended) = intended {
            self.fault(file, line, format!("there is no key `{shown}`: write `{intended}`."));
        }
    }

    fn add_list(
        &mut self,
        key: &str,
        list: &Value,
        document: &JsoncDocument,
        file: &Path,
        workspace: &Workspace,
    ) {
        let path = [JsonPathStep::Key("permissions".into()), JsonPathStep::Key(key.to_owned())];
        let shown = key.escape_debug();
        let kind = match key {
            "deny" => RuleKind::Deny,
            "ask" => RuleKind::Ask,
            "allow" => RuleKind::Allow,
            _ => {
                let text = format!(
                    "there is no `permissions.{shown}`: its lists are `allow`, `ask` and \
                     `deny`. Rename or remove it."
                );
                return self.fault(file, document.line(&path), text);
            }
        };
        let Some(list) = list.as_array() else {
            let text = format!("`permissions.{shown}` is not a list: write `[\"Bash(npm *)\"]`.");
            return self.fault(file, document.line(&path), text);
        };
        for (index, rule) in list.iter().enumerate() {
            let [permissions, list] = path.clone();
            let line = document.line(&[permissions, list, JsonPathStep::Index(index)]);
            self.add_from_file(rule, kind, file, line, workspace);
        }
    }

    /// Adds a rule that holds until slug ends.
    ///
    /// # Errors
    ///
    /// Fails when `rule` is not a rule; the error says why and how one is written.
    pub fn add_session(
        &mut self,
        kind: RuleKind,
        rule: &str,
        workspace: &Workspace,
    ) -> Result<(), RuleError> {
        let covers = RuleCoverage::parse(rule, kind, workspace)?;
        let source = RuleSource { rule: rule.trim().to_owned(), kind, file: None, line: None };
        self.push(PermissionRule { source, covers });
        Ok(())
    }

    /// Checks that a text is a rule that could be saved.
    ///
    /// # Errors
    ///
    /// As for [`Self::add_session`].
    pub fn check(rule: &str, kind: RuleKind, workspace: &Workspace) -> Result<(), RuleError> {
        RuleCoverage::parse(rule, kind, workspace).map(|_| ())
    }

    /// Whether what `tool` finds leaves a path out, by its lexical name: a deny rule on reading with
    /// this tool matches it.
    pub fn hides(&self, tool: &str, path: &Path) -> bool {
        self.at(self.index.files(RuleKind::Deny)).any(|rule| match &rule.covers {
            RuleCoverage::Files { family, pattern } => {
                family.covers(tool, FileEffect::Read, RuleKind::Deny)
                    && pattern.as_ref().is_none_or(|pattern| pattern.covers(path))
            }
            RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Domain(_) => false,
        })
    }

    /// The patterns of the deny rules on reading.
    pub(super) fn denied_read_patterns(&self) -> impl Iterator<Item = &PathPattern> {
        self.at(self.index.files(RuleKind::Deny)).filter_map(|rule| match &rule.covers {
            RuleCoverage::Files { family: FileToolFamily::Read, pattern } => pattern.as_ref(),
            RuleCoverage::Files { .. }
            | RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Domain(_) => None,
        })
    }

    /// Whether a deny rule covers every call of a tool, whatever its arguments are.
    pub fn denies_tool(&self, tool: &str) -> bool {
        self.on_tool(RuleKind::Deny, tool).is_some()
    }

    /// The rule on all calls of a tool.
    pub(super) fn on_tool(&self, kind: RuleKind, tool: &str) -> Option<RuleSource> {
        self.first(self.index.tools(kind), |covers| match covers {
            RuleCoverage::Tool { name, definition: None } => name == tool,
            RuleCoverage::Tool { definition: Some(_), .. } => false,
            RuleCoverage::Tools { start } => tool.starts_with(start.as_str()),
            RuleCoverage::Commands(_) | RuleCoverage::Files { .. } | RuleCoverage::Domain(_) => {
                false
            }
        })
    }

    /// The rule that allows a tool of a server, all of it or as it is defined now.
    pub(super) fn allows_defined(
        &self,
        tool: &str,
        definition: &ContentHash,
    ) -> Option<RuleSource> {
        self.on_tool(RuleKind::Allow, tool).or_else(|| {
            self.first(self.index.tools(RuleKind::Allow), |covers| match covers {
                RuleCoverage::Tool { name, definition: Some(hash) } => {
                    name == tool && definition.as_str().starts_with(hash.as_str())
                }
                RuleCoverage::Tool { definition: None, .. }
                | RuleCoverage::Tools { .. }
                | RuleCoverage::Commands(_)
                | RuleCoverage::Files { .. }
                | RuleCoverage::Domain(_) => false,
            })
        })
    }

    /// The rule on requests to a host, whichever tool makes them.
    pub(super) fn on_host(
        &self,
        kind: RuleKind,
        fits: impl Fn(&HostRule) -> bool,
    ) -> Option<RuleSource> {
        self.first(self.index.domains(kind), |covers| match covers {
            RuleCoverage::Domain(rule) => fits(rule),
            RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Files { .. } => false,
        })
    }

    /// The rule on an access to a file by `tool`.
    pub(super) fn on_file(
        &self,
        kind: RuleKind,
        tool: &str,
        effect: FileEffect,
        path: &ResolvedPath,
    ) -> Option<RuleSource> {
        self.first(self.index.files(kind), |covers| match covers {
            RuleCoverage::Files { family, pattern } => {
                family.covers(tool, effect, kind)
                    && pattern.as_ref().is_none_or(|pattern| pattern.fits(path))
            }
            RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Domain(_) => false,
        })
    }

    /// Whether an allow rule covers what `command_tool` reads at a path: the file, or all that is or
    /// could be below a folder. An ask rule on it comes first.
    pub(super) fn allows_reading(&self, command_tool: &str, path: &ResolvedPath) -> bool {
        let rule = |kind| self.on_file(kind, command_tool, FileEffect::Read, path);
        if rule(RuleKind::Ask).is_some() {
            return false;
        }
        if !path.folder {
            return rule(RuleKind::Allow).is_some();
        }
        self.at(self.index.files(RuleKind::Allow)).any(|rule| match &rule.covers {
            RuleCoverage::Files { family: FileToolFamily::Read, pattern } => pattern
                .as_ref()
                .is_none_or(|it| [&path.path, &path.real].iter().all(|at| it.covers_below(at))),
            RuleCoverage::Files { .. }
            | RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Domain(_) => false,
        })
    }

    /// The deny or ask rule on a path argument of a command. Only rules with a pattern apply, because
    /// an argument may be no path at all.
    pub(super) fn on_argument(
        &self,
        kind: RuleKind,
        path: &ResolvedPath,
        effect: FileEffect,
    ) -> Option<RuleSource> {
        self.first(self.index.files(kind), |covers| match (covers, effect) {
            (
                RuleCoverage::Files { family: FileToolFamily::Read, pattern: Some(pattern) },
                FileEffect::Read,
            )
            | (
                RuleCoverage::Files { family: FileToolFamily::Edit, pattern: Some(pattern) },
                FileEffect::Write,
            ) => pattern.fits(path),
            (
                RuleCoverage::Files { .. }
                | RuleCoverage::Tool { .. }
                | RuleCoverage::Tools { .. }
                | RuleCoverage::Commands(_)
                | RuleCoverage::Domain(_),
                _,
            ) => false,
        })
    }

    /// The deny rule on files in a folder that moves: it would not mean them any more.
    pub(super) fn on_moved(&self, folder: &ResolvedPath) -> Option<RuleSource> {
        let names = [&folder.path, &folder.real];
        self.first(self.index.files(RuleKind::Deny), |covers| match covers {
            RuleCoverage::Files { pattern: Some(pattern), .. } => pattern
                .starts()
                .any(|start| names.iter().any(|name| start.starts_with(name.as_path()))),
            RuleCoverage::Files { pattern: None, .. }
            | RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Commands(_)
            | RuleCoverage::Domain(_) => false,
        })
    }

    /// The rule on a simple command; an exact match is preferred to a wildcard.
    pub(super) fn on_command(
        &self,
        kind: RuleKind,
        command: &SimpleCommand,
    ) -> Option<CommandRule> {
        let purpose = purpose(kind);
        let mut best: Option<CommandRule> = None;
        let name = command.words.first().and_then(ShellWord::known);
        for rule in self.at(&self.index.commands(kind, name)) {
            let RuleCoverage::Commands(pattern) = &rule.covers else { continue };
            match pattern.fits(command, purpose) {
                Some(RuleMatchKind::Wildcard) if best.is_some() => {}
                Some(fit) => {
                    let (source, pattern) = (rule.source.clone(), pattern.clone());
                    let is_limited = pattern.is_limited();
                    best = Some(CommandRule { source, fit, is_limited, pattern });
                    if fit == RuleMatchKind::Exact {
                        break;
                    }
                }
                None => {}
            }
        }
        best
    }

    /// The deny or ask rule on words from text that did not parse.
    pub(super) fn on_rough(&self, kind: RuleKind, words: &[ShellWord]) -> Option<RuleSource> {
        let name = words.first().and_then(ShellWord::known);
        self.first(&self.index.commands(kind, name), |covers| match covers {
            RuleCoverage::Commands(pattern) => pattern.fits_rough(words),
            RuleCoverage::Tool { .. }
            | RuleCoverage::Tools { .. }
            | RuleCoverage::Files { .. }
            | RuleCoverage::Domain(_) => false,
        })
    }

    fn at(&self, places: &[usize]) -> impl Iterator<Item = &PermissionRule> {
        places.iter().map(|place| &self.rules[*place])
    }

    fn first(&self, places: &[usize], fits: impl Fn(&RuleCoverage) -> bool) -> Option<RuleSource> {
        self.at(places).find(|rule| fits(&rule.covers)).map(|rule| rule.source.clone())
    }

    fn add_from_file(
        &mut self,
        rule: &Value,
        kind: RuleKind,
        file: &Path,
        line: Option<usize>,
        workspace: &Workspace,
    ) {
        let Some(rule) = rule.as_str() else {
            return self.fault(file, line, "a rule is a string, as in \"Bash(npm *)\".".into());
        };
        let covers = match RuleCoverage::parse(rule, kind, workspace) {
            Ok(covers) => covers,
            Err(error) => return self.fault(file, line, error.to_string()),
        };
        if let RuleCoverage::Commands(pattern) = &covers
            && let Some(word) = pattern.glued()
        {
            let start = word.trim_end_matches('*');
            let text = format!(
                "the `*` in `{word}` matches the rest of that word only. For `{start}` with any \
                    arguments write `{start} *`"
            );
            self.warn(file, line, text);
        }
        if let Some(text) = rule_advice::advice(rule) {
            self.warn(file, line, text);
        }
        let file = Some(file.to_owned());
        let source = RuleSource { rule: rule.trim().to_owned(), kind, file, line };
        self.push(PermissionRule { source, covers });
    }

    fn push(&mut self, rule: PermissionRule) {
        let subject = match &rule.covers {
            RuleCoverage::Tool { .. } | RuleCoverage::Tools { .. } => RuleSubject::Tools,
            RuleCoverage::Files { .. } => RuleSubject::Files,
            RuleCoverage::Commands(pattern) => RuleSubject::Commands(pattern.name()),
            RuleCoverage::Domain(_) => RuleSubject::Domains,
        };
        self.index.add(self.rules.len(), rule.source.kind, subject);
        self.rules.push(rule);
    }

    fn fault(&mut self, file: &Path, line: Option<usize>, text: String) {
        self.add_fault(RuleWarning { file: file.to_owned(), line, text });
    }

    fn warn(&mut self, file: &Path, line: Option<usize>, text: String) {
        self.warnings.push(RuleWarning { file: file.to_owned(), line, text });
    }
}

impl RuleCoverage {
    fn parse(rule: &str, kind: RuleKind, workspace: &Workspace) -> Result<Self, RuleError> {
        let rule = rule.trim();
        let fail = |why: String| RuleError { rule: rule.to_owned(), why };
        let (tool, pattern) =
            parts(rule).ok_or_else(|| fail("its closing parenthesis is missing".into()))?;
        let name = tool.strip_suffix('*').filter(|_| tool.starts_with("mcp__")).unwrap_or(tool);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(fail(format!("`{tool}` is not a tool's name")));
        }
        let tool = own_name(tool).unwrap_or(tool);
        if let Some(family) = FileToolFamily::of(tool) {
            let parse = |text| PathPattern::parse(text, purpose(kind), workspace).map_err(fail);
            let pattern = pattern.map(parse).transpose()?;
            return Ok(Self::Files { family, pattern });
        }
        match (tool, pattern) {
            (FETCH_RULE, Some(text)) => domain_of(text).map(Self::Domain).map_err(fail),
            ("Bash", Some(text)) => BashPattern::parse(text).map(Self::Commands).map_err(fail),
            (_, None) if tool.ends_with('*') => Ok(Self::Tools { start: name.to_owned() }),
            (_, None) if is_server(tool) => Ok(Self::Tools { start: format!("{tool}__") }),
            (_, None) => Ok(Self::Tool { name: tool.to_owned(), definition: None }),
            (_, Some(text)) if tool.starts_with("mcp__") && !tool.ends_with('*') => {
                let hash = definition_of(text).filter(|_| kind == RuleKind::Allow);
                let definition = Some(hash.ok_or_else(|| fail(NO_DEFINITION.into()))?.to_owned());
                Ok(Self::Tool { name: tool.to_owned(), definition })
            }
            (_, Some(_)) => Err(fail(format!("{tool} takes no pattern"))),
        }
    }
}
