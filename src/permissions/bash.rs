//! The decision for a shell command: deny rules on everything that can be seen in it, and a yes
//! without a question only where it is static and each of its simple commands has one.

use std::path::Path;

use crate::domain::{Mode, Outcome, RuleKind, RuleSource};

use super::check::{Grounds, Offer, Verdict};
use super::globs::{Beginning, Ways};
use super::launchers;
use super::paths::{Protected, Zone};
use super::pattern::{Fit, exact_rule};
use super::query::{Argument, CommandFiles, ResolvedRun};
use super::readonly;
use super::rules::Effect;
use super::shell::{Direction, Inner, Kind, Redirect, SimpleCommand, Word};
use super::words::{RoughCommand, show};
use super::wrappers::{self, base_name, has_subcommands, needs_exact_rule, never_allowed};

/// The verdicts on all parts of a command, in the order of its text.
pub(super) fn decide_run(grounds: &Grounds<'_>, run: &ResolvedRun) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut files = run.files.as_slice();
    for command in &run.analysis.commands {
        let flat = command.flatten();
        let (own, rest) = files.split_at(flat.len().min(files.len()));
        files = rest;
        if !command.words.is_empty() || !command.assignments.is_empty() {
            verdicts.push(Judge { grounds, run, command, flat: &flat, files: own }.verdict());
        }
        for one in own {
            let reads = one.reads.iter().map(|path| grounds.file(Effect::Read, path));
            let writes = one.writes.iter().map(|path| grounds.file(Effect::Write, path));
            verdicts.extend(reads.chain(writes).map(|verdict| settle(grounds, run, verdict)));
        }
    }
    verdicts.extend(on_the_whole(grounds, run, &verdicts));
    verdicts
}

/// In a folder that is not known, a redirection is asked.
fn settle(grounds: &Grounds<'_>, run: &ResolvedRun, verdict: Verdict) -> Verdict {
    let trusting = trusts(grounds, run);
    if run.crowded && verdict.outcome == Outcome::Allow && !is_held(grounds, run) {
        return Verdict::new(verdict.text, Outcome::Ask, CROWDED);
    }
    if run.moves && verdict.outcome == Outcome::Allow && !trusting {
        let reason = "It changes its folder, so it cannot be said where this file is.";
        return Verdict::new(verdict.text, Outcome::Ask, reason);
    }
    verdict
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
    let is_asked = || parts.iter().any(|part| part.outcome != Outcome::Allow);
    if parts.is_empty() {
        verdicts.push(unknown_command(grounds, run));
    } else if !is_held(grounds, run) && !is_asked() {
        let unseen = !is_known(run) && grounds.mentions_own_powers(&run.command);
        let unseen = unseen.then_some(Protected::OwnPowers);
        if let Some(protected) = unseen.or_else(|| by_others(grounds, run)) {
            verdicts.push(may_change(run.command.trim(), protected));
        }
    }
    verdicts
}

/// What a script that an interpreter is given names of what is always asked.
fn by_others(grounds: &Grounds<'_>, run: &ResolvedRun) -> Option<Protected> {
    run.analysis.foreign.iter().find_map(|text| grounds.spells_protected(text))
}

/// Whether every word and every file of it is.
fn is_known(run: &ResolvedRun) -> bool {
    let mut commands = run.analysis.commands.iter().flat_map(SimpleCommand::flatten);
    commands.all(|command| {
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        command.words.iter().chain(targets).all(|word| word.known().is_some())
    })
}

fn may_change(text: &str, protected: Protected) -> Verdict {
    let reason = format!("It may change {}, which is always asked.", protected.what());
    Verdict::new(text, Outcome::Ask, reason)
}

/// A command in which no simple command was found.
fn unknown_command(grounds: &Grounds<'_>, run: &ResolvedRun) -> Verdict {
    let text = run.command.trim();
    match not_certain(run) {
        Some(_) if grounds.mode == Mode::Plan => plan_refuses(text),
        Some(_)
            if !is_held(grounds, run)
                && (grounds.may_spell_own_powers(text)
                    || text.contains('$') && grounds.mentions_own_powers(text)) =>
        {
            may_change(text, Protected::OwnPowers)
        }
        Some(_) if trusts(grounds, run) => grounds.by_mode(text),
        Some(why) => Verdict::new(text, Outcome::Ask, why),
        None => Verdict::new(text, Outcome::Ask, "It runs no command."),
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

/// Whether it is slug itself, other than to list or explain.
fn runs_slug(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let Some((name, arguments)) = texts.split_first() else { return false };
    let only_tells = |word: &str| {
        matches!(
            word,
            "--help"
                | "--version"
                | "-h"
                | "-V"
                | "completions"
                | "config"
                | "doctor"
                | "keys"
                | "man"
                | "models"
                | "permissions"
                | "prompt"
                | "sessions"
        )
    };
    base_name(name) == "slug" && !arguments.first().copied().is_some_and(only_tells)
}

/// Whether it is one of the common programs that make, change or remove the files they are given.
fn writes_arguments(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::known).map(base_name) else { return false };
    let texts = || words[1..].iter().map(|word| word.text.as_str());
    let short = |letter: char| {
        move |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
    };
    let any = |options: &[&str]| texts().any(|text| options.iter().any(|it| text.starts_with(it)));
    match name {
        "7z" | "chattr" | "chgrp" | "chmod" | "chown" | "cp" | "cpio" | "csplit" | "dd" | "ed"
        | "ex" | "gunzip" | "gzip" | "install" | "link" | "ln" | "mkdir" | "mkfifo" | "mknod"
        | "mv" | "patch" | "rename" | "rm" | "rmdir" | "rsync" | "scp" | "setfacl" | "setfattr"
        | "shred" | "split" | "sponge" | "tee" | "touch" | "truncate" | "unlink" | "unzip"
        | "vi" | "vim" | "wget" => true,
        "sed" | "perl" | "ruby" => texts().any(short('i')) || any(&["--in-place"]),
        "awk" | "gawk" => texts().any(short('i')),
        "curl" => texts().any(short('o')) || texts().any(short('O')) || any(&["--output", "--rem"]),
        "sort" => texts().any(short('o')) || any(&["--o"]),
        "find" => any(&["-delete", "-exec", "-ok", "-fprint", "-fls"]),
        "bsdtar" | "tar" => {
            let letters = texts().next().filter(|text| !text.starts_with('-'));
            letters.is_some_and(|text| text.contains('x'))
                || texts().any(short('x'))
                || any(&["--ex", "--get"])
        }
        _ => false,
    }
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
    flat: &'a [&'a SimpleCommand],
    files: &'a [CommandFiles],
}

impl Judge<'_> {
    fn verdict(&self) -> Verdict {
        let text = self.command.show();
        if let Some(rule) = self.refused() {
            return Verdict::denied_by(text, rule);
        }
        let reads = self.paths_read();
        if self.grounds.mode == Mode::Plan {
            return self.plan(text, reads.is_some());
        }
        let deny_rule = refusing_rule(self.command);
        self.answer(text, reads.is_some() && !self.writes_somewhere()).refusable(deny_rule)
    }

    /// The deny rule on any command or path in it.
    fn refused(&self) -> Option<RuleSource> {
        let rules = self.grounds.rules;
        let on_commands = self
            .flat
            .iter()
            .find_map(|command| rules.on_command(RuleKind::Deny, command).map(|rule| rule.source));
        on_commands.or_else(|| self.disguised(RuleKind::Deny)).or_else(|| {
            // A word that is not there and does not look like a path is taken for text.
            let arguments = self.files.iter().flat_map(CommandFiles::named);
            arguments
                .filter(|argument| {
                    argument.path.exists
                        || argument.text.contains('/')
                        || argument.text.starts_with('.')
                })
                .find_map(|argument| rules.on_argument(&argument.path))
        })
    }

    /// The paths it reads, if it is one of the commands that only read.
    fn paths_read(&self) -> Option<Vec<&str>> {
        readonly::paths_read(self.command)
    }

    fn plan(&self, text: String, reads_only: bool) -> Verdict {
        let is_static = matches!(self.run.analysis.kind, Kind::Static { .. });
        let Some(paths) = self.paths_read().filter(|_| is_static && reads_only) else {
            return plan_refuses(&text);
        };
        if let Some(rule) = self.asking_rule() {
            return Verdict::asked_by(text, rule);
        }
        if self.run.crowded {
            return Verdict::new(text, Outcome::Ask, CROWDED);
        }
        let follows = readonly::follows_links_below(self.command);
        let beyond = self.files.iter().flat_map(|files| &files.arguments).any(|argument| {
            paths.contains(&argument.text.as_str())
                && (argument.path.zone == Zone::Outside
                    || (follows && argument.path.folder)
                    || argument.path.protected == Some(Protected::System))
        });
        if beyond || self.run.cwd.zone == Zone::Outside {
            return Verdict::new(text, Outcome::Ask, "It reads outside the workspace.");
        }
        Verdict::new(text, Outcome::Allow, "It only reads, inside the workspace.")
    }

    fn asking_rule(&self) -> Option<RuleSource> {
        let rules = self.grounds.rules;
        self.flat
            .iter()
            .find_map(|command| rules.on_command(RuleKind::Ask, command).map(|rule| rule.source))
            .or_else(|| self.disguised(RuleKind::Ask))
    }

    /// The rule on a command whose name a pattern or braces may stand for: `/bin/r? -f x`.
    fn disguised(&self, kind: RuleKind) -> Option<RuleSource> {
        let rules = self.grounds.rules;
        self.flat.iter().find_map(|command| {
            let (name, arguments) = command.words.split_first()?;
            let ways = name.known().is_none().then(|| Ways::read(&name.text, Beginning::Open))?;
            rules.names(kind).filter(|name| ways.may_run(base_name(name))).find_map(|name| {
                let words = std::iter::once(Word::literal(name)).chain(arguments.iter().cloned());
                let command = SimpleCommand { words: words.collect(), ..SimpleCommand::default() };
                rules.on_command(kind, &command).map(|rule| rule.source)
            })
        })
    }

    fn answer(&self, text: String, reads_only: bool) -> Verdict {
        let grounds = self.grounds;
        let is_held = is_held(grounds, self.run);
        if let Some(protected) = self.changes_protected().filter(|_| !reads_only && !is_held) {
            return may_change(&text, protected);
        }
        if self.run.crowded && !is_held {
            return Verdict::new(text, Outcome::Ask, CROWDED);
        }
        if let Some(rule) = self.asking_rule() {
            return Verdict::asked_by(text, rule);
        }
        let analysable = !matches!(self.run.analysis.kind, Kind::NotAnalysable { .. });
        let every_call = grounds.rules.on_tool(RuleKind::Allow, grounds.tool);
        let uncertain = not_certain(self.run);
        let covered = self.covered(self.command);
        match (&covered, every_call, uncertain) {
            (Some(rule), _, None) if self.run.cwd.zone == Zone::Inside => {
                Verdict::allowed_by(text, rule.clone())
            }
            (_, Some(rule), _) if analysable => Verdict::allowed_by(text, rule),
            _ if trusts(grounds, self.run) => grounds.by_mode(text),
            (_, _, Some(why)) => Verdict { rule: covered, ..Verdict::new(text, Outcome::Ask, why) },
            (_, _, None) if self.run.cwd.zone == Zone::Outside => {
                Verdict::new(text, Outcome::Ask, "It runs outside the workspace.")
            }
            (_, _, None) => self.without_rule(text),
        }
    }

    /// Asked for want of a rule, with the rule that would do.
    fn without_rule(&self, text: String) -> Verdict {
        if let Some(why) = self.flat.iter().find_map(|command| never_allowed(&command.words)) {
            return Verdict::new(text, Outcome::Ask, format!("It is always asked: {why}."));
        }
        let reason = match &self.command.inner {
            Inner::Nothing => "No rule allows this command.",
            Inner::Known(_) | Inner::Unknown(_) => "No rule allows this command and what it runs.",
        };
        let offer = exact_rule(self.command).map_or(Offer::Impossible, Offer::Rule);
        Verdict { offer, ..Verdict::new(text, Outcome::Ask, reason) }
    }

    /// The rule that allows a command and all that it runs.
    fn covered(&self, command: &SimpleCommand) -> Option<RuleSource> {
        if command.flatten().iter().any(|one| never_allowed(&one.words).is_some()) {
            return None;
        }
        let rule = self.grounds.rules.on_command(RuleKind::Allow, command)?;
        let wraps_allowed = match (&rule.fit, &command.inner) {
            (Fit::Exact, _) => true,
            (Fit::Wildcard, _) if needs_exact_rule(&command.words) => false,
            (Fit::Wildcard, Inner::Nothing) => true,
            (Fit::Wildcard, Inner::Known(inner)) => {
                inner.iter().all(|command| self.covered(command).is_some())
            }
            (Fit::Wildcard, Inner::Unknown(_)) => false,
        };
        wraps_allowed.then_some(rule.source)
    }

    /// Whether a redirection writes to a file that is known only when it runs.
    fn writes_somewhere(&self) -> bool {
        let is_unknown =
            |it: &Redirect| it.direction == Direction::Write && it.target.known().is_none();
        self.flat.iter().any(|one| one.redirects.iter().any(is_unknown))
    }

    /// Whether links are made in the same command, through which later parts of it may go: where
    /// they lead is not there to be looked at yet.
    fn links(&self) -> bool {
        let mut all = self.run.analysis.commands.iter().flat_map(SimpleCommand::flatten);
        all.any(|one| runs(one, "ln") || runs(one, "link"))
    }

    /// Whether it names slug's memory, which lies beside its settings, where links are made.
    fn leads_to_own_powers(&self) -> bool {
        let mut named = self.files.iter().flat_map(CommandFiles::named);
        named.any(|it| self.grounds.workspace.is_in_slug_home(&it.path)) && self.links()
    }

    /// Whether it makes a link to the home folder or one above it, and more is done behind that.
    fn makes_way_home(&self) -> bool {
        let mut named = self.files.iter().flat_map(CommandFiles::named);
        let is_alone = self.run.analysis.commands.len() == 1;
        !is_alone
            && self.flat.iter().any(|one| runs(one, "ln"))
            && named.any(|it| self.grounds.workspace.is_above_home(&it.path))
    }

    /// What it may change of what is always asked, if anything.
    fn changes_protected(&self) -> Option<Protected> {
        let arguments = || self.files.iter().flat_map(CommandFiles::named);
        let names = |kind| arguments().any(|argument| argument.path.protected == Some(kind));
        let grounds = self.grounds;
        let own = |one: &&SimpleCommand| {
            runs_slug(&one.words)
                || one.words.iter().any(|word| grounds.spells_own_powers(&word.text))
        };
        // A folder can be reached through the processes in it.
        let by_process = || {
            arguments().any(|it| {
                it.path.protected == Some(Protected::System)
                    && grounds.spells_own_powers(&it.path.path.to_string_lossy())
            })
        };
        if names(Protected::OwnPowers)
            || by_process()
            || self.flat.iter().any(own)
            || self.leads_to_own_powers()
        {
            return Some(Protected::OwnPowers);
        }
        let configures =
            |one: &&SimpleCommand| runs(one, "git") && launchers::configures_git(&one.words[1..]);
        if self.flat.iter().any(configures) {
            return Some(Protected::Git);
        }
        if self.makes_way_home() {
            return Some(Protected::StartUp);
        }
        let writes =
            self.writes_somewhere() || self.flat.iter().any(|one| writes_arguments(&one.words));
        let named = [Protected::Git, Protected::StartUp, Protected::Tooling];
        let named = named.into_iter().find(|kind| writes && names(*kind));
        let in_scripts = || {
            let mut scripts =
                self.flat.iter().filter_map(|one| wrappers::script_in_arguments(&one.words));
            scripts.find_map(|text| grounds.spells_protected(&text))
        };
        let into_system = || {
            let system = |it: &Argument| {
                it.path.protected == Some(Protected::System) && !is_harmless_device(&it.path.path)
            };
            (writes && arguments().any(system)).then_some(Protected::System)
        };
        named.or_else(in_scripts).or_else(into_system)
    }
}

/// Whether it is one that programs read from and write to all the time.
fn is_harmless_device(path: &Path) -> bool {
    let names = [
        "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "fd",
        "shm",
    ];
    path.strip_prefix("/dev").is_ok_and(|name| names.iter().any(|it| name.starts_with(it)))
}

fn runs(command: &SimpleCommand, program: &str) -> bool {
    command.words.first().and_then(Word::known).is_some_and(|name| base_name(name) == program)
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
