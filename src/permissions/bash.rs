//! The decision for a shell command: deny rules on everything that can be seen in it, and a yes
//! without a question only where it is static and each of its simple commands has one.
//!
//! What a command does is known for the programs of one table ([`super::programs`]); any other can do
//! anything. A command that names a protected place and is not known to leave it alone is asked in
//! every mode.

use std::path::Path;

use crate::domain::{Mode, Outcome, RuleKind, RuleSource};

use super::check::{Grounds, Offer, Verdict};
use super::paths::Zone;
use super::pattern::{Fit, exact_rule};
use super::places::{self, Protected, ProtectedKind};
use super::query::{Argument, ResolvedCommand, ResolvedRun};
use super::rules::{CommandRule, Effect};
use super::shell::{Inner, Kind, SimpleCommand, Word};
use super::words::{RoughCommand, show};
use super::wrappers::{
    base_name, has_subcommands, needs_exact_rule, never_allowed, runs_among_options,
};

/// The verdicts on all parts of a command, in the order of its text.
pub(super) fn decide_run(grounds: &Grounds<'_>, run: &ResolvedRun) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut resolved = run.commands.as_slice();
    for command in &run.analysis.commands {
        let flat = command.flatten();
        let (own, rest) = resolved.split_at(flat.len().min(resolved.len()));
        resolved = rest;
        let parts: Vec<Part<'_>> = flat.into_iter().zip(own).collect();
        if !command.words.is_empty() || !command.assignments.is_empty() {
            verdicts.push(Judge { grounds, run, command, parts: &parts }.verdict());
        }
        for one in own {
            let reads = one.reads.iter().map(|path| grounds.file(Effect::Read, path));
            let writes = one.writes.iter().map(|path| grounds.file(Effect::Write, path));
            let files = reads.chain(writes);
            verdicts.extend(files.map(|verdict| settle(grounds, run, one, verdict)));
        }
    }
    verdicts.extend(on_the_whole(grounds, run, &verdicts));
    verdicts
}

/// A simple command, and what it is on the disk.
type Part<'a> = (&'a SimpleCommand, &'a ResolvedCommand);

/// Where it cannot be said what it opens, a redirection is asked.
fn settle(
    grounds: &Grounds<'_>,
    run: &ResolvedRun,
    command: &ResolvedCommand,
    verdict: Verdict,
) -> Verdict {
    if run.crowded && verdict.outcome == Outcome::Allow && !is_held(grounds, run) {
        return Verdict::new(verdict.text, Outcome::Ask, CROWDED);
    }
    match command.uncertainty() {
        Some(why) if verdict.outcome == Outcome::Allow && !trusts(grounds, run) => {
            Verdict::new(verdict.text, Outcome::Ask, why)
        }
        _ => verdict,
    }
}

/// Whether the mode lets any command run: nothing is asked, or the sandbox holds it. One in a folder
/// outside is none that it could hold.
fn trusts(grounds: &Grounds<'_>, run: &ResolvedRun) -> bool {
    match grounds.mode {
        Mode::Yolo => true,
        Mode::Sandbox => grounds.workspace.is_in_sandbox(&run.cwd),
        Mode::Ask | Mode::AllowEdits | Mode::Plan => false,
    }
}

/// Whether it runs in the sandbox, where what slug takes its powers from cannot be changed, whatever
/// a command does.
fn is_held(grounds: &Grounds<'_>, run: &ResolvedRun) -> bool {
    grounds.mode == Mode::Sandbox && trusts(grounds, run)
}

/// What holds for the text as a whole: rules on what did not parse, and why it is asked.
fn on_the_whole(grounds: &Grounds<'_>, run: &ResolvedRun, parts: &[Verdict]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (kind, make) in [
        (RuleKind::Deny, Verdict::denied_by as fn(String, RuleSource) -> Verdict),
        (RuleKind::Ask, Verdict::asked_by),
    ] {
        let found = run
            .analysis
            .rough
            .iter()
            .flat_map(RoughCommand::candidates)
            .find_map(|words| grounds.rules.on_rough(kind, words).map(|rule| (words, rule)));
        if let Some((words, rule)) = found {
            let shown: Vec<String> = words.iter().take(12).map(|word| show(&word.text)).collect();
            verdicts.push(make(shown.join(" "), rule));
            break;
        }
    }
    if parts.is_empty() {
        verdicts.push(unknown_command(grounds, run));
    } else if !is_held(grounds, run)
        && parts.iter().all(|part| !matches!(part.offer, Offer::Impossible))
        && let Some(protected) = named_by_others(grounds, run)
    {
        verdicts.push(may_change(run.command.trim(), protected));
    }
    verdicts
}

/// The protected place that is named where another command could take it up that can do anything: in
/// a pipeline before the last of those; in loops, functions and variables anywhere.
fn named_by_others(grounds: &Grounds<'_>, run: &ResolvedRun) -> Option<Protected> {
    let parts: Vec<(usize, Part<'_>)> = numbered(run).collect();
    let is_unknown = |(_, part): &&(usize, Part<'_>)| !is_known(part);
    if run.analysis.is_compound {
        let any = parts.iter().any(|part| is_unknown(&part));
        return any.then(|| grounds.named_in(&run.command)).flatten();
    }
    parts.iter().enumerate().find_map(|(at, (pipeline, (command, _)))| {
        let mut rest = parts[at + 1..].iter().take_while(|(number, _)| number == pipeline);
        let goes_on = rest.any(|part| is_unknown(&part));
        goes_on.then(|| texts(command).find_map(|text| grounds.named_in(text))).flatten()
    })
}

/// All commands with the number of their pipelines.
fn numbered(run: &ResolvedRun) -> impl Iterator<Item = (usize, Part<'_>)> {
    let commands = run.analysis.commands.iter();
    let flat = commands
        .flat_map(|outer| outer.flatten().into_iter().map(|command| (outer.pipeline, command)));
    flat.zip(&run.commands).map(|((number, command), resolved)| (number, (command, resolved)))
}

/// Whether all that it does is known: a wrapper does what the commands do that it runs.
fn is_known((command, resolved): &Part<'_>) -> bool {
    let is_wrapper = matches!(command.inner, Inner::Known(_));
    let mut targets = command.redirects.iter().map(|redirect| &redirect.target);
    (resolved.effects.is_some() || is_wrapper) && targets.all(|target| target.known().is_some())
}

/// Everything that a command is given.
fn texts(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let words = command.words.iter().chain(command.redirects.iter().map(|it| &it.target));
    let values = command.assignments.iter().map(|(_, value)| value);
    words.chain(values).map(|word| word.text.as_str()).chain(command.fed.iter().map(String::as_str))
}

fn may_change(text: &str, protected: Protected) -> Verdict {
    let reason = format!("It may change {}, which is always asked.", protected.what());
    Verdict::new(text, Outcome::Ask, reason)
}

/// A command in which no simple command was found.
fn unknown_command(grounds: &Grounds<'_>, run: &ResolvedRun) -> Verdict {
    let text = run.command.trim();
    let named = grounds.named_in(text).filter(|_| !is_held(grounds, run));
    match (not_certain(run), named) {
        (Some(_), _) if grounds.mode == Mode::Plan => plan_refuses(text),
        (Some(_), Some(protected)) => may_change(text, protected),
        (Some(_), None) if trusts(grounds, run) => grounds.by_mode(text),
        (Some(why), None) => Verdict::new(text, Outcome::Ask, why),
        (None, _) => Verdict::new(text, Outcome::Ask, "It runs no command."),
    }
}

/// Why it cannot be said for certain what a command runs.
fn not_certain(run: &ResolvedRun) -> Option<String> {
    match &run.analysis.kind {
        Kind::Static { .. } => None,
        Kind::NotStatic { why } => Some(format!("What it runs cannot be said for certain: {why}.")),
        Kind::NotAnalysable { why } => Some(format!("The command cannot be analysed: {why}.")),
    }
}

const CROWDED: &str = "It names more files than are looked up.";

const READS: &str = "It only reads, inside the workspace.";

/// Whether it is slug itself, other than to say what it is.
fn runs_slug(command: &SimpleCommand) -> bool {
    let name = command.words.first().and_then(Word::known).map(base_name);
    let mut rest = command.words[1.min(command.words.len())..].iter();
    name == Some("slug") && !rest.all(|word| matches!(&*word.text, "--version" | "--help"))
}

fn plan_refuses(text: &str) -> Verdict {
    let reason = "Plan mode runs only commands that are known to read: ls, cat, grep and the like, with plain options.";
    Verdict::new(text, Outcome::Deny, reason)
}

/// One simple command with what it wraps.
struct Judge<'a> {
    grounds: &'a Grounds<'a>,
    run: &'a ResolvedRun,
    command: &'a SimpleCommand,
    parts: &'a [Part<'a>],
}

impl Judge<'_> {
    fn verdict(&self) -> Verdict {
        let text = self.command.show();
        if let Some(rule) = self.refused() {
            return Verdict::denied_by(text, rule);
        }
        if self.grounds.mode == Mode::Plan {
            return self.plan(text);
        }
        self.answer(text).refusable(refusing_rule(self.command))
    }

    /// The deny rule on any command or path in it.
    fn refused(&self) -> Option<RuleSource> {
        let rules = self.grounds.rules;
        let on_command =
            |(command, _): &Part<'_>| Some(rules.on_command(RuleKind::Deny, command)?.source);
        self.parts.iter().find_map(on_command).or_else(|| {
            // A word that is not there and does not look like a path is taken for text.
            let arguments = self.parts.iter().flat_map(|(_, resolved)| {
                let read = resolved.arguments.iter().map(|it| (it, Effect::Read));
                let effects = resolved.effects.iter();
                read.chain(effects.flat_map(|it| &it.writes).map(|it| (it, Effect::Write)))
            });
            arguments
                .filter(|(argument, _)| {
                    argument.path.exists
                        || argument.text.contains('/')
                        || argument.text.starts_with('.')
                })
                .find_map(|(argument, effect)| rules.on_argument(&argument.path, effect))
        })
    }

    /// Whether the whole is static, and this part of it a program of the table that only reads.
    fn may_only_read(&self) -> bool {
        matches!(self.run.analysis.kind, Kind::Static { .. })
            && self.parts.iter().all(|(command, resolved)| {
                never_allowed(&command.words).is_none() && resolved.only_reads()
            })
    }

    /// Why it is not certain to read inside the workspace alone, though it only reads.
    fn reads_beyond(&self) -> Option<&'static str> {
        self.parts.iter().find_map(|(_, resolved)| {
            let effects = &resolved.effects.as_ref()?.by_words;
            let is_beyond = |it: &Argument| {
                it.path.zone == Zone::Outside
                    || (effects.follows_links_below && it.path.folder)
                    || it.path.protected.is_some_and(|it| it.kind == ProtectedKind::System)
            };
            if resolved.is_moved {
                return resolved.uncertainty();
            }
            let mut folders = resolved.folders.iter();
            if resolved.is_lost
                || folders.any(|folder| folder.zone == Zone::Outside)
                || resolved.known_reads().any(is_beyond)
            {
                return Some("It reads outside the workspace.");
            }
            let denies =
                effects.shows_contents_below && self.grounds.rules.unreadable().next().is_some();
            denies.then_some("It may show files that a rule denies to read.")
        })
    }

    fn plan(&self, text: String) -> Verdict {
        if !self.may_only_read() || self.project_program().is_some() {
            return plan_refuses(&text);
        }
        if let Some(rule) = self.asking_rule() {
            return Verdict::asked_by(text, rule);
        }
        match self.reads_beyond() {
            _ if self.run.crowded => Verdict::new(text, Outcome::Ask, CROWDED),
            Some(why) => Verdict::new(text, Outcome::Ask, why),
            None => Verdict::new(text, Outcome::Allow, READS).by_name(true),
        }
    }

    fn asking_rule(&self) -> Option<RuleSource> {
        let rules = self.grounds.rules;
        let mut parts = self.parts.iter();
        parts.find_map(|(command, _)| Some(rules.on_command(RuleKind::Ask, command)?.source))
    }

    fn answer(&self, text: String) -> Verdict {
        let grounds = self.grounds;
        let is_held = is_held(grounds, self.run);
        if let Some(protected) = self.changes_protected().filter(|_| !is_held) {
            return may_change(&text, protected);
        }
        if self.run.crowded && !is_held {
            return Verdict::new(text, Outcome::Ask, CROWDED);
        }
        if let Some(rule) = self.asking_rule() {
            return Verdict::asked_by(text, rule);
        }
        let only_reads = self.may_only_read() && self.project_program().is_none();
        let beyond = self.reads_beyond();
        let by_name = !trusts(grounds, self.run);
        let analysable = !matches!(self.run.analysis.kind, Kind::NotAnalysable { .. });
        let every_call = grounds.rules.on_tool(RuleKind::Allow, grounds.tool);
        let covered = self.covered(self.command);
        match (&covered, every_call, not_certain(self.run)) {
            (Ok(rule), _, None) => Verdict::allowed_by(text, rule.clone()).by_name(by_name),
            _ if only_reads && beyond.is_none() => {
                Verdict::new(text, Outcome::Allow, READS).by_name(by_name)
            }
            (_, Some(rule), _) if analysable => Verdict::allowed_by(text, rule),
            _ if trusts(grounds, self.run) => grounds.by_mode(text),
            (_, _, Some(why)) => {
                Verdict { rule: covered.ok(), ..Verdict::new(text, Outcome::Ask, why) }
            }
            (Err(why), _, None) => {
                let why = beyond.filter(|_| only_reads).map_or_else(|| why.clone(), str::to_owned);
                self.without_rule(text, why)
            }
        }
    }

    /// Asked for want of a rule, with the rule that would do.
    fn without_rule(&self, text: String, reason: String) -> Verdict {
        if let Some(why) = self.parts.iter().find_map(|(command, _)| never_allowed(&command.words))
        {
            return Verdict::new(text, Outcome::Ask, format!("It is always asked: {why}."));
        }
        let can_hold = self.parts.iter().all(|(_, resolved)| {
            let mut folders = resolved.folders.iter();
            let has_rule = resolved.program.as_ref().is_none_or(|program| program.has_rule());
            has_rule
                && resolved.uncertainty().is_none()
                && folders.all(|folder| folder.zone == Zone::Inside)
        });
        let rule = exact_rule(&self.named(self.command)).filter(|_| can_hold);
        let offer = rule.map_or(Offer::Impossible, Offer::Rule);
        Verdict { offer, ..Verdict::new(text, Outcome::Ask, reason) }
    }

    /// The project's own program that one of the names stands for.
    fn project_program(&self) -> Option<&str> {
        self.parts.iter().find_map(|(_, resolved)| Some(resolved.program.as_ref()?.shown()))
    }

    fn resolved(&self, command: &SimpleCommand) -> Option<&ResolvedCommand> {
        let is_it = |(other, _): &&Part<'_>| std::ptr::eq(*other, command);
        self.parts.iter().find(is_it).map(|(_, resolved)| *resolved)
    }

    /// The command by the name under which a rule may allow it.
    fn named(&self, command: &SimpleCommand) -> SimpleCommand {
        let mut named = command.clone();
        let program = self.resolved(command).and_then(|it| it.program.as_ref());
        if let (Some(program), Some(name)) = (program, named.words.first_mut()) {
            *name = Word::literal(program.rule_name());
        }
        named
    }

    /// The rule that allows a command and all that it runs, or why there is none.
    fn covered(&self, command: &SimpleCommand) -> Result<RuleSource, String> {
        let none =
            || match (self.resolved(command).and_then(|it| it.program.as_ref()), &command.inner) {
                (Some(program), _) => format!(
                    "Its name stands for a program of this project's own, {}. No rule allows that.",
                    program.shown()
                ),
                (None, Inner::Nothing) => "No rule allows this command.".to_owned(),
                (None, Inner::Known(_) | Inner::Unknown(_)) => {
                    "No rule allows this command and what it runs.".to_owned()
                }
            };
        if command.flatten().iter().any(|one| never_allowed(&one.words).is_some()) {
            return Err(none());
        }
        let named = self.named(command);
        let rule = self.grounds.rules.on_command(RuleKind::Allow, &named).ok_or_else(none)?;
        let resolved = self.resolved(command).ok_or_else(none)?;
        if resolved.is_lost || resolved.folders.iter().any(|it| it.zone == Zone::Outside) {
            return Err("It runs outside the workspace, where no rule with a pattern holds.".into());
        }
        if let Some(why) = resolved.uncertainty() {
            return Err(why.into());
        }
        match (&rule.fit, &command.inner) {
            (Fit::Exact, _) => Ok(rule.source),
            (Fit::Wildcard, _) if needs_exact_rule(&command.words) => Err(none()),
            (Fit::Wildcard, Inner::Nothing) => self.within_table(&rule, resolved),
            (Fit::Wildcard, Inner::Known(inner)) => {
                match inner.iter().find_map(|it| self.covered(it).err()) {
                    None => Ok(rule.source),
                    Some(_) => Err(none()),
                }
            }
            (Fit::Wildcard, Inner::Unknown(_)) => Err(none()),
        }
    }

    /// A wildcard on a program of the table covers what the table knows of it, inside the workspace.
    fn within_table(
        &self,
        rule: &CommandRule,
        resolved: &ResolvedCommand,
    ) -> Result<RuleSource, String> {
        if !rule.is_limited {
            // It may do anything, and is not to be told to do it elsewhere.
            let mut all = resolved.arguments.iter();
            return match all.find(|it| leads_out(it) && !rule.spells(&it.text)) {
                None => Ok(rule.source.clone()),
                Some(it) => Err(goes_outside(it)),
            };
        }
        let Some(effects) = &resolved.effects else {
            return Err(format!(
                "With these options it may do more than {} allows.",
                rule.source.rule
            ));
        };
        if effects.by_words.git.is_some() && !self.grounds.workspace.is_trusted() {
            return Err("git runs what a repository names, and this folder is not trusted.".into());
        }
        if let (Some(_), Some(why)) = (&effects.by_words.remote, effects.hindrance) {
            return Err(format!("It may lead to another address: {why}."));
        }
        if effects.is_too_large {
            let reason =
                "It changes a folder with more in it than is looked through for protected places.";
            return Err(reason.into());
        }
        let touched = resolved.known_reads().chain(&effects.writes);
        let mut beyond = touched.filter(|it| it.path.zone == Zone::Outside);
        match beyond.find(|it| !rule.spells(&it.text)) {
            None => Ok(rule.source.clone()),
            Some(it) => Err(goes_outside(it)),
        }
    }

    /// What it may change of what is always asked, if anything.
    fn changes_protected(&self) -> Option<Protected> {
        self.parts.iter().find_map(|(command, resolved)| {
            if runs_slug(command) {
                return Some(places::OWN);
            }
            let unknown = Some(command).filter(|_| !is_known(&(command, resolved)));
            let mut given = unknown.into_iter().flat_map(|command| texts(command));
            if let Some(named) = given.find_map(|text| self.grounds.named_in(text)) {
                return Some(named);
            }
            if resolved.changes_other_names() {
                return Some(places::OTHER_NAMES);
            }
            if let Some(effects) = &resolved.effects {
                let above =
                    effects.writes.iter().any(|it| self.grounds.workspace.is_above(&it.path));
                let mut writes =
                    effects.writes.iter().filter_map(|it| protected(&it.path.path, it));
                return writes.next().or_else(|| above.then_some(places::OWN));
            }
            let is_in_protected = resolved.folders.iter().find_map(|folder| folder.protected);
            let named = || {
                let all = resolved.arguments.iter();
                let mut all = all.filter_map(|it| protected(&it.path.path, it));
                // To git that is a commit.
                all.find(|it| it.kind != ProtectedKind::BareRepository || !runs_git(command))
            };
            match &command.inner {
                Inner::Known(_) if runs_among_options(&command.words) => {
                    let mut words = command.words.iter();
                    words.find_map(|word| self.grounds.named_in(&word.text))
                }
                Inner::Known(inner) => {
                    // What the wrapper itself is told to write.
                    let count = inner.first().map_or(0, |inner| inner.words.len());
                    let mut own = command.words.iter().rev().skip(count);
                    own.find_map(|word| self.grounds.named_in(&word.text))
                }
                Inner::Nothing | Inner::Unknown(_) => is_in_protected.or_else(named),
            }
        })
    }
}

fn runs_git(command: &SimpleCommand) -> bool {
    command.words.first().and_then(Word::known).map(base_name) == Some("git")
}

/// Whether an argument is a path that leaves the workspace for something that is there.
fn leads_out(argument: &Argument) -> bool {
    // What begins so is a comment, or a path that some server has.
    !argument.text.starts_with("//")
        && argument.path.exists
        && argument.path.zone == Zone::Outside
        && !is_harmless_device(&argument.path.path)
}

fn goes_outside(argument: &Argument) -> String {
    format!("It goes outside the workspace: {}.", argument.path.real.display())
}

/// Whether it is a device that programs read from and write to all the time.
fn is_harmless_device(path: &Path) -> bool {
    let names = [
        "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "fd",
        "shm",
    ];
    path.strip_prefix("/dev").is_ok_and(|name| names.iter().any(|it| name.starts_with(it)))
}

/// Why a path is protected, but for such devices.
fn protected(path: &Path, argument: &Argument) -> Option<Protected> {
    argument.path.protected.filter(|_| !is_harmless_device(path))
}

/// The rule that a "never" would save: the command with any arguments, its subcommand named; of a
/// wrapper, what it runs.
fn refusing_rule(command: &SimpleCommand) -> Option<String> {
    match &command.inner {
        Inner::Nothing => {}
        Inner::Known(inner) => return inner.first().and_then(refusing_rule),
        Inner::Unknown(_) => return exact_rule(command),
    }
    let name = command.words.first().and_then(Word::known)?;
    if name.is_empty() || name.contains('=') {
        return None;
    }
    let subcommand = command.words.get(1).and_then(Word::known);
    Some(match subcommand.filter(|word| has_subcommands(name) && !word.starts_with('-')) {
        Some(subcommand) => format!("Bash({} {} *)", show(base_name(name)), show(subcommand)),
        None => format!("Bash({} *)", show(base_name(name))),
    })
}
