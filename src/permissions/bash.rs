//! The decision for a shell command. Deny rules apply to everything that can be seen in the
//! command; it is allowed without a question only where it is static and each of its simple
//! commands is allowed.
//!
//! What a command does is known for the programs of one table ([`super::programs`]); any other
//! program can do anything. A command that names a protected place and is not known to leave it
//! alone is asked about in every mode.

mod whole_line;

use std::path::Path;

use crate::domain::{PermissionMode, PermissionOutcome, RuleKind, RuleSource};

use super::check::{
    DecisionContext, NO_RULE_FOR_COMMAND, NO_RULE_FOR_WRAPPER, PartVerdict, RuleOffer,
};
use super::danger;
use super::paths::{PathZone, ResolvedPath};
use super::pattern::{RuleMatchKind, exact_rule, refusing_rule};
use super::place_patterns::named_by_pattern;
use super::places::{self, ProtectedPlaceKind, ProtectionReason};
use super::programs::GitUse;
use super::query::{PathArgument, ResolvedCommand, ResolvedRun};
use super::rules::{CommandRule, FileEffect};
use super::shell::{AnalysisKind, RedirectDirection, ShellWord, SimpleCommand, WrappedCommands};
use super::wrappers::{
    base_name, needs_exact_rule, never_allowed, passes_input_on, runs_among_options,
};

use whole_line::{
    is_known, is_path, may_change, texts, uncertainty_reason, whole_command_verdicts,
};

/// The verdicts on all parts of a command, in the order of its text.
pub(super) fn decide_run(context: &DecisionContext<'_>, run: &ResolvedRun) -> Vec<PartVerdict> {
    let mut verdicts = Vec::new();
    let mut resolved = run.commands.as_slice();
    for command in &run.analysis.commands {
        let flat = command.flatten();
        let (own, rest) = resolved.split_at(flat.len().min(resolved.len()));
        resolved = rest;
        let parts: Vec<CommandPart<'_>> = flat.into_iter().zip(own).collect();
        if !command.words.is_empty() || !command.assignments.is_empty() {
            verdicts.push(CommandEvaluator { context, run, command, parts: &parts }.verdict());
        }
        for one in own {
            let reads = one.reads.iter().map(|path| context.file(FileEffect::Read, path));
            let writes = one.writes.iter().map(|path| context.file(FileEffect::Write, path));
            let files = reads.chain(writes);
            verdicts.extend(files.map(|verdict| ask_if_uncertain(context, run, one, verdict)));
        }
    }
    verdicts.extend(whole_command_verdicts(context, run, &verdicts));
    verdicts
}

/// A simple command as parsed, and the same command resolved on the disk.
type CommandPart<'a> = (&'a SimpleCommand, &'a ResolvedCommand);

/// Turns an allowed redirection into a question where it is not certain which file it opens.
fn ask_if_uncertain(
    context: &DecisionContext<'_>,
    run: &ResolvedRun,
    command: &ResolvedCommand,
    verdict: PartVerdict,
) -> PartVerdict {
    if run.is_over_limit
        && verdict.outcome == PermissionOutcome::Allow
        && !is_sandboxed(context, run)
    {
        return PartVerdict::new(verdict.text, PermissionOutcome::Ask, TOO_MANY_FILES);
    }
    match command.uncertainty() {
        Some(why)
            if verdict.outcome == PermissionOutcome::Allow
                && !mode_allows_any_command(context, run) =>
        {
            PartVerdict::new(verdict.text, PermissionOutcome::Ask, why)
        }
        _ => verdict,
    }
}

/// Whether the mode lets any command run: yolo asks about nothing, and the sandbox confines the
/// command. A command in a folder outside the sandbox is not confined.
fn mode_allows_any_command(context: &DecisionContext<'_>, run: &ResolvedRun) -> bool {
    match context.mode {
        PermissionMode::Yolo => true,
        PermissionMode::Sandbox => context.workspace.is_in_sandbox(&run.cwd),
        PermissionMode::Ask | PermissionMode::AllowEdits | PermissionMode::Plan => false,
    }
}

/// Whether the command runs in the sandbox, which keeps slug's own settings unchanged whatever the
/// command does.
fn is_sandboxed(context: &DecisionContext<'_>, run: &ResolvedRun) -> bool {
    context.mode == PermissionMode::Sandbox && mode_allows_any_command(context, run)
}

const TOO_MANY_FILES: &str = "Too many files to check.";

const READS: &str = "Only reads files in the workspace.";

const WRITES_SCRATCH: &str = "Only changes files in the scratch folder.";

/// Whether the command runs slug for more than `--version` or `--help`.
fn runs_slug(command: &SimpleCommand) -> bool {
    let name = command.words.first().and_then(ShellWord::known).map(base_name);
    let mut rest = command.words[1.min(command.words.len())..].iter();
    name == Some("slug")
        && (rest.len() == 0 || !rest.all(|word| matches!(&*word.text, "--version" | "--help")))
}

fn plan_refuses(text: &str) -> PartVerdict {
    let reason = "Plan mode only runs read-only commands.";
    PartVerdict::new(text, PermissionOutcome::Deny, reason)
}

/// Decides one simple command together with the commands that it wraps.
struct CommandEvaluator<'a> {
    context: &'a DecisionContext<'a>,
    run: &'a ResolvedRun,
    command: &'a SimpleCommand,
    parts: &'a [CommandPart<'a>],
}

impl CommandEvaluator<'_> {
    fn verdict(&self) -> PartVerdict {
        let text = self.command.show();
        if let Some(rule) = self.denying_rule() {
            return PartVerdict::denied_by(text, rule);
        }
        if self.context.mode == PermissionMode::Plan {
            return self.plan(text);
        }
        let verdict = self.answer(text).refusable(refusing_rule(self.command));
        let danger = danger::danger_of(self.command, &self.run.analysis.commands);
        PartVerdict { is_of_weight: !danger::only_prepares(self.command), ..verdict }
            .dangerous(danger)
    }

    /// The deny rule on any command or path in this part.
    fn denying_rule(&self) -> Option<RuleSource> {
        self.rule_on_part(RuleKind::Deny).or_else(|| {
            let mut moved = self.parts.iter().flat_map(|(_, resolved)| resolved.moved_folders());
            moved.find_map(|folder| self.context.rules.on_moved(folder))
        })
    }

    /// The deny or ask rule on any command or path argument in this part.
    fn rule_on_part(&self, kind: RuleKind) -> Option<RuleSource> {
        let rules = self.context.rules;
        let on_command =
            |(command, _): &CommandPart<'_>| Some(rules.on_command(kind, command)?.source);
        self.parts.iter().find_map(on_command).or_else(|| {
            let mut arguments = self.parts.iter().flat_map(|(_, resolved)| {
                let read = resolved.arguments.iter().filter(|it| is_path(it));
                let written = resolved.effects.iter().flat_map(move |effects| {
                    let may_be_revision = effects.by_words.git.is_some();
                    effects.writes.iter().filter(move |it| !may_be_revision || is_path(it))
                });
                let read = read.map(|it| (it, FileEffect::Read));
                read.chain(written.map(|it| (it, FileEffect::Write)))
            });
            arguments.find_map(|(argument, effect)| rules.on_argument(kind, &argument.path, effect))
        })
    }

    /// Whether the whole line is static and every command in this part is a program of the table
    /// that only reads.
    fn may_only_read(&self) -> bool {
        matches!(self.run.analysis.kind, AnalysisKind::Static { .. })
            && self.parts.iter().all(|(command, resolved)| {
                never_allowed(&command.words).is_none() && resolved.only_reads()
            })
    }

    /// Whether the whole line is static, and every command in this part is a program of the table
    /// that changes nothing but files in the scratch folder. What they read is not considered.
    fn may_only_write_scratch(&self) -> bool {
        matches!(self.run.analysis.kind, AnalysisKind::Static { .. })
            && self.parts.iter().all(|(command, resolved)| {
                let writes_scratch = resolved.effects.as_ref().is_some_and(|effects| {
                    effects.by_words.git.is_none()
                        && !effects.is_too_large
                        && !effects.writes.is_empty()
                        && effects.writes.iter().all(|it| it.path.zone == PathZone::Scratch)
                });
                never_allowed(&command.words).is_none()
                    && resolved.uncertainty().is_none()
                    && (writes_scratch || resolved.only_reads())
            })
    }

    /// Why a command of the table is not certain to read only inside the workspace, in the scratch
    /// folder and where a rule allows it.
    fn reads_beyond(&self) -> Option<&'static str> {
        self.parts.iter().find_map(|(_, resolved)| {
            let effects = &resolved.effects.as_ref()?.by_words;
            let is_outside = |path: &ResolvedPath| {
                path.zone == PathZone::Outside
                    && !self.context.rules.allows_reading(self.context.tool, path)
            };
            let is_beyond = |it: &PathArgument| {
                is_outside(&it.path)
                    || (effects.follows_links_below && it.path.folder)
                    || it.path.protected.is_some_and(|it| it.kind == ProtectedPlaceKind::System)
            };
            if resolved.path_doubt.is_some() {
                return resolved.path_doubt;
            }
            let mut folders = resolved.folders.iter();
            if resolved.has_unknown_folder
                || folders.any(is_outside)
                || resolved.known_reads().any(is_beyond)
            {
                return Some("Reads outside the workspace.");
            }
            let denies = effects.shows_contents_below
                && self.context.rules.denied_read_patterns().next().is_some();
            denies.then_some("May show files that a deny rule hides.")
        })
    }

    fn plan(&self, text: String) -> PartVerdict {
        if !self.may_only_read() || self.project_program().is_some() {
            return plan_refuses(&text);
        }
        if let Some(rule) = self.rule_on_part(RuleKind::Ask) {
            return PartVerdict::asked_by(text, rule);
        }
        match self.reads_beyond() {
            _ if self.run.is_over_limit => {
                PartVerdict::new(text, PermissionOutcome::Ask, TOO_MANY_FILES)
            }
            Some(why) => PartVerdict::new(text, PermissionOutcome::Ask, why),
            None => PartVerdict::new(text, PermissionOutcome::Allow, READS).by_name(true),
        }
    }

    fn answer(&self, text: String) -> PartVerdict {
        let context = self.context;
        let is_sandboxed_run = is_sandboxed(context, self.run);
        if let Some(protected) = self.changes_protected().filter(|_| !is_sandboxed_run) {
            return may_change(&text, protected);
        }
        if self.run.is_over_limit && !is_sandboxed_run {
            return PartVerdict::new(text, PermissionOutcome::Ask, TOO_MANY_FILES);
        }
        if let Some(rule) = self.rule_on_part(RuleKind::Ask) {
            return PartVerdict::asked_by(text, rule);
        }
        let only_reads = self.may_only_read() && self.project_program().is_none();
        let only_scratch = self.may_only_write_scratch() && self.project_program().is_none();
        let beyond = self.reads_beyond();
        let by_name = !mode_allows_any_command(context, self.run);
        let analysable = !matches!(self.run.analysis.kind, AnalysisKind::NotAnalysable { .. });
        let every_call = context.rules.on_tool(RuleKind::Allow, context.tool);
        let allowing = self.allowing_rule(self.command);
        match (&allowing, every_call, uncertainty_reason(self.run)) {
            (Ok(rule), _, None) => PartVerdict::allowed_by(text, rule.clone()).by_name(by_name),
            _ if only_reads && beyond.is_none() => {
                PartVerdict::new(text, PermissionOutcome::Allow, READS).by_name(by_name)
            }
            _ if only_scratch && beyond.is_none() => {
                PartVerdict::new(text, PermissionOutcome::Allow, WRITES_SCRATCH).by_name(by_name)
            }
            (_, Some(rule), _) if analysable => PartVerdict::allowed_by(text, rule),
            _ if mode_allows_any_command(context, self.run) => context.by_mode(text),
            (_, _, Some(why)) => PartVerdict {
                rule: allowing.ok(),
                ..PartVerdict::new(text, PermissionOutcome::Ask, why)
            },
            (Err(why), _, None) => {
                let why = beyond.filter(|_| only_reads).map_or_else(|| why.clone(), str::to_owned);
                self.without_rule(text, why)
            }
        }
    }

    /// Asks because no rule allows the command, and offers the rule that would.
    fn without_rule(&self, text: String, reason: String) -> PartVerdict {
        if let Some(why) = self.parts.iter().find_map(|(command, _)| never_allowed(&command.words))
        {
            return PartVerdict::new(
                text,
                PermissionOutcome::Ask,
                format!("{why}, so slug always asks."),
            );
        }
        let rule_can_match = self.parts.iter().all(|(_, resolved)| {
            let mut folders = resolved.folders.iter();
            let has_rule = resolved.program.as_ref().is_none_or(|program| program.has_rule());
            has_rule
                && resolved.uncertainty().is_none()
                && folders.all(|folder| folder.zone == PathZone::Inside)
        });
        let rule_can_match = rule_can_match && !self.may_run_its_input();
        let rule = exact_rule(&self.named(self.command)).filter(|_| rule_can_match);
        let offer = rule.map_or(RuleOffer::Impossible, RuleOffer::Rule);
        PartVerdict { offer, ..PartVerdict::new(text, PermissionOutcome::Ask, reason) }
    }

    /// Whether the command may run what comes through its input, or pass it on to a program, which no
    /// rule on its words covers: a shell or the like, or a program that can do anything and is given
    /// nothing to work on.
    fn may_run_its_input(&self) -> bool {
        let before = self.run.analysis.commands.iter();
        let is_piped = before
            .take_while(|it| !std::ptr::eq(*it, self.command))
            .any(|it| it.pipeline == self.command.pipeline);
        self.parts.iter().any(|(command, resolved)| {
            let has_input = is_piped
                || !command.here_texts.is_empty()
                || command.redirects.iter().any(|it| it.direction == RedirectDirection::Read);
            let is_given_nothing = command.words.iter().skip(1).all(|it| it.text.starts_with('-'));
            has_input
                && (passes_input_on(&command.words)
                    || resolved.effects.is_none()
                        && (is_given_nothing || needs_exact_rule(&command.words)))
        })
    }

    /// The project's own program that one of the commands' names finds.
    fn project_program(&self) -> Option<&str> {
        self.parts.iter().find_map(|(_, resolved)| Some(resolved.program.as_ref()?.display_path()))
    }

    fn resolved(&self, command: &SimpleCommand) -> Option<&ResolvedCommand> {
        let is_it = |(other, _): &&CommandPart<'_>| std::ptr::eq(*other, command);
        self.parts.iter().find(is_it).map(|(_, resolved)| *resolved)
    }

    /// The command under the name by which a rule may allow it.
    fn named(&self, command: &SimpleCommand) -> SimpleCommand {
        let mut named = command.clone();
        let program = self.resolved(command).and_then(|it| it.program.as_ref());
        if let (Some(program), Some(name)) = (program, named.words.first_mut()) {
            *name = ShellWord::literal(program.rule_name());
        }
        named
    }

    /// Why a command that only reads cannot be known to do no more here.
    fn hindered_reader(&self, command: &SimpleCommand) -> Option<&'static str> {
        let effects = self.resolved(command)?.effects.as_ref()?;
        effects.hindrance.filter(|_| effects.by_words.is_reader)
    }

    /// The rule that allows a command and all that it runs, or else why there is none.
    fn allowing_rule(&self, command: &SimpleCommand) -> Result<RuleSource, String> {
        let none =
            || match (self.resolved(command).and_then(|it| it.program.as_ref()), &command.inner) {
                (Some(program), _) => format!(
                    "Runs this project's own program {}, which no rule allows.",
                    program.display_path()
                ),
                (None, WrappedCommands::Nothing) => match self.hindered_reader(command) {
                    Some(why) => format!("Only reads, but {why}."),
                    None => NO_RULE_FOR_COMMAND.to_owned(),
                },
                (None, WrappedCommands::Known(_) | WrappedCommands::Unknown(_)) => {
                    NO_RULE_FOR_WRAPPER.to_owned()
                }
            };
        if command.flatten().iter().any(|one| never_allowed(&one.words).is_some()) {
            return Err(none());
        }
        let named = self.named(command);
        let rule = self.context.rules.on_command(RuleKind::Allow, &named).ok_or_else(none)?;
        let resolved = self.resolved(command).ok_or_else(none)?;
        if resolved.has_unknown_folder
            || resolved.folders.iter().any(|it| it.zone != PathZone::Inside)
        {
            return Err("Runs outside the workspace, where no rule with a pattern applies.".into());
        }
        if let Some(why) = resolved.uncertainty() {
            return Err(why.into());
        }
        match (&rule.fit, &command.inner) {
            (RuleMatchKind::Exact, _) => Ok(rule.source),
            (RuleMatchKind::Wildcard, _) if needs_exact_rule(&command.words) => Err(none()),
            (RuleMatchKind::Wildcard, WrappedCommands::Nothing) => {
                self.within_table(&rule, resolved)
            }
            (RuleMatchKind::Wildcard, WrappedCommands::Known(inner)) => {
                match inner.iter().find_map(|it| self.allowing_rule(it).err()) {
                    None => Ok(rule.source),
                    Some(_) => Err(none()),
                }
            }
            (RuleMatchKind::Wildcard, WrappedCommands::Unknown(_)) => Err(none()),
        }
    }

    /// Checks a wildcard rule: on a program of the table it covers only the known effects, inside
    /// the workspace.
    fn within_table(
        &self,
        rule: &CommandRule,
        resolved: &ResolvedCommand,
    ) -> Result<RuleSource, String> {
        if !rule.is_limited {
            // The program may do anything, but the arguments must not send it outside.
            let mut all = resolved.arguments.iter();
            return match all.find(|it| is_outside_workspace(it) && !rule.contains_word(&it.text)) {
                None => Ok(rule.source.clone()),
                Some(it) => Err(outside_reason(it)),
            };
        }
        let Some(effects) = &resolved.effects else {
            return Err(format!(
                "May do more than {} allows, with these options.",
                rule.source.rule
            ));
        };
        if effects.by_words.git.is_some() && !self.context.workspace.is_trusted() {
            return Err(
                "git runs programs that a repository names, and this folder is not trusted.".into(),
            );
        }
        if let Some(why) = effects.beyond_rules {
            return Err(format!("May run other programs: {why}."));
        }
        if let (Some(GitUse::Changes), Some(why)) = (effects.by_words.git, effects.hindrance) {
            return Err(match effects.by_words.remote {
                Some(_) => format!("May lead to another address: {why}."),
                None => format!("May run other programs: {why}."),
            });
        }
        if effects.is_too_large {
            let reason = "Changes a folder with too many files to check for protected places.";
            return Err(reason.into());
        }
        let reads = resolved.known_reads().filter(|it| it.path.zone == PathZone::Outside);
        let writes = effects.writes.iter().filter(|it| it.path.zone.is_outside());
        let mut beyond = reads.chain(writes);
        match beyond.find(|it| !rule.contains_word(&it.text)) {
            None => Ok(rule.source.clone()),
            Some(it) => Err(outside_reason(it)),
        }
    }

    /// The protected place that this part may change, if there is one.
    fn changes_protected(&self) -> Option<ProtectionReason> {
        self.parts.iter().find_map(|(command, resolved)| {
            if runs_slug(command) {
                return Some(places::SLUG_SETTINGS);
            }
            if let Some(named) = named_by_pattern(command, self.context.workspace.home()) {
                return Some(named);
            }
            let unknown = Some(command).filter(|_| !is_known(&(command, resolved)));
            let mut given = unknown.into_iter().flat_map(|command| texts(command));
            if let Some(named) = given.find_map(|text| self.context.named_in(text)) {
                return Some(named);
            }
            if resolved.changes_other_names() {
                return Some(places::OTHER_NAMES);
            }
            if let Some(usual) = resolved.usual_change {
                return Some(usual);
            }
            if let Some(effects) = &resolved.effects {
                let above =
                    effects.writes.iter().any(|it| self.context.workspace.is_above(&it.path));
                let mut writes =
                    effects.writes.iter().filter_map(|it| protected(&it.path.path, it));
                return above.then_some(places::WHOLE_HOME).or_else(|| writes.next());
            }
            let is_in_protected = resolved.folders.iter().find_map(|folder| folder.protected);
            let named = || {
                let all = resolved.arguments.iter();
                let mut all = all.filter_map(|it| protected(&it.path.path, it));
                // git takes this name for a commit.
                all.find(|it| it.kind != ProtectedPlaceKind::BareRepository || !runs_git(command))
            };
            match &command.inner {
                WrappedCommands::Known(_) if runs_among_options(&command.words) => {
                    let mut words = command.words.iter();
                    words.find_map(|word| self.context.named_in(&word.text))
                }
                WrappedCommands::Known(inner) => {
                    // What the wrapper itself is told to write.
                    let count = inner.first().map_or(0, |inner| inner.words.len());
                    let mut own = command.words.iter().rev().skip(count);
                    own.find_map(|word| self.context.named_in(&word.text))
                }
                WrappedCommands::Nothing | WrappedCommands::Unknown(_) => {
                    is_in_protected.or_else(named)
                }
            }
        })
    }
}

fn runs_git(command: &SimpleCommand) -> bool {
    command.words.first().and_then(ShellWord::known).map(base_name) == Some("git")
}

/// Whether an argument is a path that leaves the workspace and names something that exists or could be made. What
/// the model puts into the scratch folder nobody has looked at, and another part of the line may
/// put it there first.
fn is_outside_workspace(argument: &PathArgument) -> bool {
    let leaves = match argument.path.zone {
        PathZone::Inside => false,
        PathZone::Scratch => true,
        PathZone::Readable | PathZone::Outside => argument.can_be_made,
    };
    // A text that begins so is a comment, or a path on some server.
    leaves && !argument.text.starts_with("//") && !is_harmless_device(&argument.path.path)
}

fn outside_reason(argument: &PathArgument) -> String {
    format!("Goes outside the workspace: {}.", argument.path.real.display())
}

/// Whether a path is a device that ordinary programs read and write all the time.
fn is_harmless_device(path: &Path) -> bool {
    let names = [
        "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "fd",
        "shm",
    ];
    path.strip_prefix("/dev").is_ok_and(|name| names.iter().any(|it| name.starts_with(it)))
}

/// Why a path is protected; nothing for a harmless device.
fn protected(path: &Path, argument: &PathArgument) -> Option<ProtectionReason> {
    argument.path.protected.filter(|_| !is_harmless_device(path))
}
