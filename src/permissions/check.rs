//! The decision for a call: deny rules, plan mode, protected places ([`ProtectionReason`]), ask
//! rules, allow rules and the mode, in this order. Pure.
//!
//! A call is decided part by part (each path, each simple command, each redirection), and the whole
//! gets the strictest answer.

use crate::domain::{
    CallDanger, CallPart, PermissionMode, PermissionOutcome, RuleKind, RuleSource,
};

use super::bash;
use super::definition_rule::rule_on_definition;
use super::paths::{PathZone, ResolvedPath, Workspace};
use super::pattern::path_rule;
use super::places::{self, ProtectedPlaceKind, ProtectionReason};
use super::query::{PermissionQuery, ResolvedAccess};
use super::rules::{COMMAND_RULE, EDIT_RULE, FileEffect, READ_RULE, RuleSet};
use super::shell::AnalysisKind;
use super::ticket::PermissionDecision;

/// The reason for a question about a file that nothing else is to be said about.
pub(super) const NO_RULE_FOR_FILE: &str = "No rule allows writing this file.";
/// The reason for a question about a command that nothing else is to be said about.
pub(super) const NO_RULE_FOR_COMMAND: &str = "No rule allows this command.";
/// The same for a command that runs others.
pub(super) const NO_RULE_FOR_WRAPPER: &str = "No rule allows this command and what it runs.";
/// The reasons that only say that there is no rule.
pub(super) const NO_RULE_REASONS: [&str; 3] =
    [NO_RULE_FOR_FILE, NO_RULE_FOR_COMMAND, NO_RULE_FOR_WRAPPER];

/// What is the same for every part of one call.
pub(super) struct DecisionContext<'a> {
    pub tool: &'a str,
    /// Whether the call runs a command: then its accesses to files are redirections.
    pub runs_command: bool,
    pub rules: &'a RuleSet,
    pub mode: PermissionMode,
    pub workspace: &'a Workspace,
}

/// The decision for one part.
pub(super) struct PartVerdict {
    pub text: String,
    pub outcome: PermissionOutcome,
    pub reason: String,
    pub rule: Option<RuleSource>,
    pub offer: RuleOffer,
    /// The rule that would deny this part from now on.
    pub deny_rule: Option<String>,
    /// What the part does that is hard to take back.
    pub danger: Option<CallDanger>,
    /// Whether the part does something, and does not only prepare the shell for other parts.
    pub is_of_weight: bool,
    /// Whether the part is allowed because of the names of its programs. The command then runs with
    /// a PATH that finds no program of the project.
    pub is_by_name: bool,
}

/// The rule that would allow a part from now on, for the answer "always".
pub(super) enum RuleOffer {
    NotNeeded,
    Rule(String),
    /// No rule can be written, or none would help.
    Impossible,
}

/// Decides a call by its parts. Where a settings file could not be read, a call that would be
/// allowed is asked about instead.
pub fn decide(
    query: &PermissionQuery,
    rules: &RuleSet,
    mode: PermissionMode,
    workspace: &Workspace,
) -> PermissionDecision {
    let context = DecisionContext {
        tool: &query.tool,
        runs_command: query.accesses.iter().any(|access| access.run().is_some()),
        rules,
        mode,
        workspace,
    };
    let mut verdicts: Vec<PartVerdict> = context.whole_tool().into_iter().collect();
    for access in &query.accesses {
        match access {
            ResolvedAccess::Read(path) => verdicts.push(context.file(FileEffect::Read, path)),
            ResolvedAccess::Write(path) => verdicts.push(context.file(FileEffect::Write, path)),
            ResolvedAccess::Run(run) => verdicts.extend(bash::decide_run(&context, run)),
            ResolvedAccess::Type(run, shown) => {
                // What is denied as a command is denied to be typed. Nothing that allows a command
                // says what another program than bash makes of the same text.
                let shell = DecisionContext { tool: COMMAND_RULE, ..context };
                let denied = shell.whole_tool().into_iter().chain(bash::decide_run(&shell, run));
                let is_denied =
                    |it: &PartVerdict| it.outcome == PermissionOutcome::Deny && it.rule.is_some();
                verdicts.extend(denied.filter(is_denied));
                let reason = "The program on the terminal may do anything with it.".to_owned();
                verdicts.push(context.beyond_sight(shown.clone(), false, reason));
            }
            ResolvedAccess::External { server, tool, rule_name, read_only, definition } => {
                let reason = format!("{server} runs it, and slug cannot see what it does.");
                let text = format!("{tool} of {server}");
                let named = DecisionContext { tool: rule_name, ..context };
                if rule_name != context.tool {
                    verdicts.extend(named.whole_tool());
                }
                let allowed = rules.allows_defined(rule_name, definition);
                let allowed = allowed.or_else(|| rules.on_tool(RuleKind::Allow, context.tool));
                verdicts.push(match (mode, allowed) {
                    // That it changes nothing is only the server's word, whatever a rule says.
                    (PermissionMode::Plan, _) if *read_only => {
                        named.asked_beyond_sight(text, reason)
                    }
                    (PermissionMode::Plan, _) | (_, None) => {
                        let rule = rule_on_definition(rule_name, definition);
                        named.beyond_sight(text, *read_only, reason).offering(rule)
                    }
                    (_, Some(rule)) => PartVerdict::allowed_by(text, rule),
                });
            }
            ResolvedAccess::Fetch { url } => verdicts.push(context.fetch(url)),
            ResolvedAccess::Search { query } => {
                let reason = "Sends these words to a search engine.".to_owned();
                verdicts.push(context.beyond_sight(query.clone(), true, reason));
            }
            ResolvedAccess::AskUser | ResolvedAccess::Nothing => {
                let reason = "Touches no file and runs no command.";
                verdicts.push(PartVerdict::new(context.tool, PermissionOutcome::Allow, reason));
            }
        }
    }
    if query.accesses.is_empty() {
        let reason = "slug cannot tell what this call touches.".to_owned();
        verdicts.push(context.beyond_sight(context.tool.to_owned(), false, reason));
    }
    let decision = combine(query, verdicts);
    match rules.fails_closed() {
        Some(why) if decision.outcome() == PermissionOutcome::Allow => {
            decision.by_hook(PermissionOutcome::Ask, &why)
        }
        Some(_) | None => decision,
    }
}

fn combine(query: &PermissionQuery, verdicts: Vec<PartVerdict>) -> PermissionDecision {
    let strictest = verdicts.iter().map(|verdict| verdict.outcome).max_by_key(|o| severity(*o));
    let outcome = strictest.unwrap_or(PermissionOutcome::Ask);
    // What only prepares for other commands, such as `set -euo pipefail`, is no reason beside them.
    let mut strict = verdicts.iter().filter(|verdict| verdict.outcome == outcome);
    let first = strict.clone().next();
    let decisive = strict.find(|it| it.is_of_weight || it.rule.is_some()).or(first);
    let reason = decisive.map_or_else(String::new, |v| v.reason.clone());
    let rule = decisive.and_then(|verdict| verdict.rule.clone());
    // An allow rule that is not enough has decided nothing.
    let rule =
        rule.filter(|rule| outcome == PermissionOutcome::Allow || rule.kind != RuleKind::Allow);
    let asked: Vec<&PartVerdict> =
        verdicts.iter().filter(|v| v.outcome == PermissionOutcome::Ask).collect();
    let offers: Option<Vec<String>> = asked
        .iter()
        .map(|verdict| match &verdict.offer {
            RuleOffer::NotNeeded | RuleOffer::Impossible => None,
            RuleOffer::Rule(rule) => Some(rule.clone()),
        })
        .collect();
    let mut allow_rules: Vec<String> = Vec::new();
    for rule in offers.filter(|_| outcome == PermissionOutcome::Ask).unwrap_or_default() {
        if !allow_rules.contains(&rule) {
            allow_rules.push(rule);
        }
    }
    let mut dangers: Vec<CallDanger> = verdicts.iter().filter_map(|it| it.danger).collect();
    dangers.sort_unstable_by(|a, b| b.cmp(a));
    dangers.dedup();
    // The part that is most worth a rule: of the worst, the first.
    let can_deny = asked.iter().filter(|verdict| verdict.deny_rule.is_some());
    let worst = can_deny.rev().max_by_key(|verdict| (verdict.danger, verdict.is_of_weight));
    let deny_rule = worst.and_then(|verdict| verdict.deny_rule.clone());
    let mut runs = query.accesses.iter().filter_map(ResolvedAccess::run);
    let run_as = runs.clone().find_map(|run| match &run.analysis.kind {
        AnalysisKind::Static { canonical } => Some(canonical.clone()),
        AnalysisKind::NotStatic { .. } | AnalysisKind::NotAnalysable { .. } => None,
    });
    // A part that is allowed by its name means the system's program, not one that lies in the
    // workspace.
    let by_name =
        outcome == PermissionOutcome::Allow && verdicts.iter().any(|verdict| verdict.is_by_name);
    let search_path = runs.find_map(|run| run.search_path.clone().filter(|_| by_name));
    let parts = verdicts
        .into_iter()
        .map(|v| CallPart { text: v.text, decision: v.outcome, rule: v.rule })
        .collect();
    PermissionDecision::new(query, outcome, reason)
        .with_rule(rule)
        .with_parts(parts)
        .with_offers(allow_rules, deny_rule)
        .with_dangers(dangers)
        .with_run_as(run_as.filter(|_| outcome == PermissionOutcome::Allow))
        .with_search_path(search_path)
}

fn severity(outcome: PermissionOutcome) -> u8 {
    match outcome {
        PermissionOutcome::Allow => 0,
        PermissionOutcome::Ask => 1,
        PermissionOutcome::Deny => 2,
    }
}

impl DecisionContext<'_> {
    /// The deny or ask rule on the tool as a whole.
    fn whole_tool(&self) -> Option<PartVerdict> {
        let restricted = |kind| self.rules.on_tool(kind, self.tool);
        if let Some(rule) = restricted(RuleKind::Deny) {
            return Some(PartVerdict::denied_by(self.tool, rule));
        }
        restricted(RuleKind::Ask).map(|rule| PartVerdict::asked_by(self.tool, rule))
    }

    /// Decides something whose effects cannot be seen: it is asked about, unless a rule on the
    /// whole tool or the mode allows it. The sandbox does not confine it.
    pub(super) fn beyond_sight(
        &self,
        text: String,
        read_only: bool,
        reason: String,
    ) -> PartVerdict {
        if self.mode == PermissionMode::Plan && !read_only {
            let reason = "Plan mode only runs what changes nothing.";
            return PartVerdict::new(text, PermissionOutcome::Deny, reason);
        }
        if let Some(rule) = self.rules.on_tool(RuleKind::Allow, self.tool) {
            return PartVerdict::allowed_by(text, rule);
        }
        match self.mode {
            PermissionMode::Yolo => self.by_mode(text),
            PermissionMode::Ask
            | PermissionMode::AllowEdits
            | PermissionMode::Plan
            | PermissionMode::Sandbox => self.asked_beyond_sight(text, reason),
        }
    }

    fn asked_beyond_sight(&self, text: String, reason: String) -> PartVerdict {
        let offer = RuleOffer::Rule(self.tool.to_owned());
        PartVerdict { offer, ..PartVerdict::new(text, PermissionOutcome::Ask, reason) }
            .refusable(Some(self.tool.to_owned()))
    }

    /// Decides an access to a file.
    pub(super) fn file(&self, effect: FileEffect, path: &ResolvedPath) -> PartVerdict {
        let shown = self.workspace.show(&path.path);
        let text = match (effect, self.runs_command) {
            (FileEffect::Read, true) => format!("< {shown}"),
            (FileEffect::Write, true) => format!("> {shown}"),
            (FileEffect::Read | FileEffect::Write, false) => shown,
        };
        let rule = |kind| self.rules.on_file(kind, self.tool, effect, path);
        if let Some(rule) = rule(RuleKind::Deny) {
            return PartVerdict::denied_by(text, rule);
        }
        let (family, offer) = match effect {
            FileEffect::Read => (READ_RULE, self.offer(READ_RULE, path)),
            FileEffect::Write => (EDIT_RULE, self.offer(EDIT_RULE, path)),
        };
        let deny_rule = path_rule(family, path, self.workspace);
        if effect == FileEffect::Write && self.mode == PermissionMode::Plan {
            let reason = "Plan mode changes nothing. Describe the change instead.";
            return PartVerdict::new(text, PermissionOutcome::Deny, reason);
        }
        if let Some(protected) = path.protected
            && (effect == FileEffect::Write || protected.kind == ProtectedPlaceKind::System)
        {
            let matching_rule = rule(RuleKind::Ask).or_else(|| rule(RuleKind::Allow));
            return Self::protected(
                text,
                effect,
                protected,
                self.runs_command,
                matching_rule.as_ref(),
                deny_rule,
            );
        }
        if let Some(rule) = rule(RuleKind::Ask) {
            return PartVerdict::asked_by(text, rule).refusable(deny_rule);
        }
        if let Some(rule) = rule(RuleKind::Allow).or_else(|| self.rule_on_any_command(effect)) {
            return PartVerdict::allowed_by(text, rule);
        }
        let reason = match (effect, path.zone, self.mode) {
            (_, _, PermissionMode::Yolo) => return self.by_mode(text),
            // The sandbox confines what a command reads and writes in it.
            (_, _, PermissionMode::Sandbox)
                if self.workspace.is_in_sandbox(path)
                    || self.runs_command && self.workspace.sandbox().is_some() =>
            {
                return self.by_mode(text);
            }
            (
                FileEffect::Read,
                PathZone::Inside,
                PermissionMode::Ask
                | PermissionMode::AllowEdits
                | PermissionMode::Plan
                | PermissionMode::Sandbox,
            ) => {
                return PartVerdict::new(
                    text,
                    PermissionOutcome::Allow,
                    "Reading inside the workspace.",
                );
            }
            (FileEffect::Write, PathZone::Inside, PermissionMode::AllowEdits) => {
                return self.by_mode(text);
            }
            (FileEffect::Read, PathZone::Readable, _) => {
                let reason = "Reading a skill of yours.";
                return PartVerdict::new(text, PermissionOutcome::Allow, reason);
            }
            (FileEffect::Read, PathZone::Scratch, _) => {
                let reason = "Reading in the scratch folder.";
                return PartVerdict::new(text, PermissionOutcome::Allow, reason);
            }
            (
                FileEffect::Write,
                PathZone::Scratch,
                PermissionMode::Ask | PermissionMode::AllowEdits | PermissionMode::Sandbox,
            ) => {
                let reason = "Writing in the scratch folder.";
                return PartVerdict::new(text, PermissionOutcome::Allow, reason);
            }
            (
                FileEffect::Read,
                PathZone::Outside,
                PermissionMode::Ask
                | PermissionMode::AllowEdits
                | PermissionMode::Plan
                | PermissionMode::Sandbox,
            ) => {
                format!("Reads outside the workspace: {}.", path.real.display())
            }
            (
                FileEffect::Write,
                PathZone::Readable | PathZone::Outside,
                PermissionMode::Ask
                | PermissionMode::AllowEdits
                | PermissionMode::Plan
                | PermissionMode::Sandbox,
            ) => {
                format!("Writes outside the workspace: {}.", path.real.display())
            }
            (
                FileEffect::Write,
                PathZone::Inside,
                PermissionMode::Ask | PermissionMode::Plan | PermissionMode::Sandbox,
            )
            | (FileEffect::Write, PathZone::Scratch, PermissionMode::Plan) => {
                NO_RULE_FOR_FILE.into()
            }
        };
        PartVerdict { offer, ..PartVerdict::new(text, PermissionOutcome::Ask, reason) }
            .refusable(deny_rule)
    }

    /// The rule that allows every command, which could read the file as well. In plan mode such a
    /// rule allows nothing. Commands in a sandbox are confined and slug's own tools are not, so
    /// there it covers redirections alone.
    fn rule_on_any_command(&self, effect: FileEffect) -> Option<RuleSource> {
        let covers = self.runs_command || self.workspace.sandbox().is_none();
        let is_read = effect == FileEffect::Read && self.mode != PermissionMode::Plan;
        (is_read && covers).then(|| self.rules.on_tool(RuleKind::Allow, COMMAND_RULE)).flatten()
    }

    /// Decides an access to a protected place: it is asked about whatever the rules and the mode
    /// say. A redirection shows no diff, so it is denied there, unless `rule` names the file.
    fn protected(
        text: String,
        effect: FileEffect,
        protected: ProtectionReason,
        runs_command: bool,
        rule: Option<&RuleSource>,
        deny_rule: Option<String>,
    ) -> PartVerdict {
        let verb = match effect {
            FileEffect::Read => "Reads from",
            FileEffect::Write => "Changes",
        };
        let what = protected.description();
        let by_redirection = runs_command && effect == FileEffect::Write;
        if by_redirection && rule.is_none() && protected.kind != ProtectedPlaceKind::System {
            let reason = format!(
                "This redirection would change {what}. Use Edit or Write instead: the user then sees the change."
            );
            return PartVerdict::new(text, PermissionOutcome::Deny, reason);
        }
        let reason = format!("{verb} {what}, so slug always asks.");
        let danger = (effect == FileEffect::Write).then_some(CallDanger::ProtectedPlace);
        PartVerdict::new(text, PermissionOutcome::Ask, reason)
            .refusable(deny_rule)
            .dangerous(danger)
    }

    /// The protected place that a text names somewhere in it.
    pub(super) fn named_in(&self, text: &str) -> Option<ProtectionReason> {
        // The workspace itself may lie in a folder called `.slug`.
        places::named_in(&text.replace(&*self.workspace.root().to_string_lossy(), ""))
    }

    pub(super) fn by_mode(&self, text: impl Into<String>) -> PartVerdict {
        PartVerdict::new(
            text,
            PermissionOutcome::Allow,
            format!("Allowed by the mode {}.", self.mode),
        )
    }

    fn offer(&self, family: &str, path: &ResolvedPath) -> RuleOffer {
        // The rule has to match both names, so a rule for a link would never match.
        let direct = path.path == path.real || path.zone == PathZone::Inside;
        match path_rule(family, path, self.workspace) {
            Some(rule) if direct => RuleOffer::Rule(rule),
            Some(_) | None => RuleOffer::Impossible,
        }
    }
}

impl PartVerdict {
    pub(super) fn new(
        text: impl Into<String>,
        outcome: PermissionOutcome,
        reason: impl Into<String>,
    ) -> Self {
        let offer = match outcome {
            PermissionOutcome::Allow => RuleOffer::NotNeeded,
            PermissionOutcome::Ask | PermissionOutcome::Deny => RuleOffer::Impossible,
        };
        Self {
            text: text.into(),
            outcome,
            reason: reason.into(),
            rule: None,
            offer,
            deny_rule: None,
            danger: None,
            is_of_weight: true,
            is_by_name: false,
        }
    }

    pub(super) fn denied_by(text: impl Into<String>, rule: RuleSource) -> Self {
        let reason = format!("The rule {} denies it.", rule.rule);
        Self { rule: Some(rule), ..Self::new(text, PermissionOutcome::Deny, reason) }
    }

    pub(super) fn asked_by(text: impl Into<String>, rule: RuleSource) -> Self {
        let reason = format!("The rule {} asks.", rule.rule);
        Self { rule: Some(rule), ..Self::new(text, PermissionOutcome::Ask, reason) }
    }

    pub(super) fn allowed_by(text: impl Into<String>, rule: RuleSource) -> Self {
        let reason = format!("Allowed by the rule {}.", rule.rule);
        Self { rule: Some(rule), ..Self::new(text, PermissionOutcome::Allow, reason) }
    }

    pub(super) fn by_name(self, is_by_name: bool) -> Self {
        Self { is_by_name, ..self }
    }

    pub(super) fn dangerous(self, danger: Option<CallDanger>) -> Self {
        Self { danger: self.danger.max(danger), ..self }
    }

    /// Offers this rule in place of the one on every call, where one is offered.
    pub(super) fn offering(self, rule: String) -> Self {
        let offer = match self.offer {
            RuleOffer::Rule(_) => RuleOffer::Rule(rule),
            RuleOffer::NotNeeded | RuleOffer::Impossible => self.offer,
        };
        Self { offer, ..self }
    }

    pub(super) fn refusable(self, deny_rule: Option<String>) -> Self {
        Self { deny_rule, ..self }
    }
}
