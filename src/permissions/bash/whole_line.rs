//! The verdicts on a command line as a whole: rules on what did not parse, names of protected places
//! that one part may pass on to another, and text in which no command was found.

use crate::domain::{CallDanger, PermissionMode, PermissionOutcome, RuleKind, RuleSource};
use crate::permissions::check::{DecisionContext, PartVerdict, RuleOffer};
use crate::permissions::places::ProtectionReason;
use crate::permissions::query::{PathArgument, ResolvedRun};
use crate::permissions::rules::FileEffect;
use crate::permissions::shell::{AnalysisKind, SimpleCommand, WrappedCommands};
use crate::permissions::words::{RoughCommand, show};

use super::{CommandPart, is_sandboxed, plan_refuses};

/// The verdicts on the text as a whole: rules on what did not parse, and why the whole is asked
/// about.
pub(super) fn whole_command_verdicts(
    context: &DecisionContext<'_>,
    run: &ResolvedRun,
    parts: &[PartVerdict],
) -> Vec<PartVerdict> {
    let mut verdicts = Vec::new();
    for (kind, make) in [
        (RuleKind::Deny, PartVerdict::denied_by as fn(String, RuleSource) -> PartVerdict),
        (RuleKind::Ask, PartVerdict::asked_by),
    ] {
        let found = run
            .analysis
            .rough
            .iter()
            .flat_map(RoughCommand::candidates)
            .find_map(|words| context.rules.on_rough(kind, words).map(|rule| (words, rule)));
        if let Some((words, rule)) = found {
            let shown: Vec<String> = words.iter().take(12).map(|word| show(&word.text)).collect();
            verdicts.push(make(shown.join(" "), rule));
            break;
        }
        if let Some((text, rule)) = rule_on_rough_path(context, run, kind) {
            verdicts.push(make(text, rule));
            break;
        }
    }
    if parts.is_empty() {
        verdicts.push(unknown_command(context, run));
    } else if !is_sandboxed(context, run)
        && parts.iter().all(|part| !matches!(part.offer, RuleOffer::Impossible))
        && let Some(protected) = protected_name_passed_on(context, run)
    {
        verdicts.push(may_change(run.command.trim(), protected));
    }
    verdicts
}

/// The rule on a path in what did not parse, where nobody knows whether it is read or written.
fn rule_on_rough_path(
    context: &DecisionContext<'_>,
    run: &ResolvedRun,
    kind: RuleKind,
) -> Option<(String, RuleSource)> {
    run.rough_paths.iter().filter(|it| is_path(it)).find_map(|it| {
        let on = |effect| context.rules.on_argument(kind, &it.path, effect);
        let rule = on(FileEffect::Read).or_else(|| on(FileEffect::Write))?;
        Some((it.text.clone(), rule))
    })
}

/// Whether an argument is taken for a path: a word that names nothing on the disk and does not look
/// like one is taken for text, or for a revision.
pub(super) fn is_path(argument: &PathArgument) -> bool {
    argument.path.exists || argument.text.contains('/') || argument.text.starts_with('.')
}

/// Words that stand for something of an earlier command: its last word, the folder before.
const RECALLED: [&str; 6] = ["$_", "${_}", "${_:", "$OLDPWD", "${OLDPWD", "~-"];

/// The protected place whose name may reach a later command that can do anything: one behind it in
/// the same pipeline, or anywhere in a line with loops, functions, variables or words that recall an
/// earlier command.
fn protected_name_passed_on(
    context: &DecisionContext<'_>,
    run: &ResolvedRun,
) -> Option<ProtectionReason> {
    let parts: Vec<(usize, CommandPart<'_>)> = numbered(run).collect();
    let is_unknown = |(_, part): &&(usize, CommandPart<'_>)| !is_known(part);
    let recalls = |part: &(usize, CommandPart<'_>)| {
        let (_, (command, _)) = part;
        is_unknown(&part) && texts(command).any(|text| RECALLED.iter().any(|it| text.contains(it)))
    };
    if run.analysis.is_compound || parts.iter().any(recalls) {
        let any = parts.iter().any(|part| is_unknown(&part));
        return any.then(|| context.named_in(&run.command)).flatten();
    }
    parts.iter().enumerate().find_map(|(at, (pipeline, (command, _)))| {
        let mut rest = parts[at + 1..].iter().take_while(|(number, _)| number == pipeline);
        let reaches_unknown = rest.any(|part| is_unknown(&part));
        reaches_unknown.then(|| texts(command).find_map(|text| context.named_in(text))).flatten()
    })
}

/// All commands, each with the number of its pipeline.
fn numbered(run: &ResolvedRun) -> impl Iterator<Item = (usize, CommandPart<'_>)> {
    let commands = run.analysis.commands.iter();
    let flat = commands
        .flat_map(|outer| outer.flatten().into_iter().map(|command| (outer.pipeline, command)));
    flat.zip(&run.commands).map(|((number, command), resolved)| (number, (command, resolved)))
}

/// Whether all effects of the command are known. A wrapper has the effects of the commands that it
/// runs.
pub(super) fn is_known((command, resolved): &CommandPart<'_>) -> bool {
    let is_wrapper = matches!(command.inner, WrappedCommands::Known(_));
    let mut targets = command.redirects.iter().map(|redirect| &redirect.target);
    (resolved.effects.is_some() || is_wrapper) && targets.all(|target| target.known().is_some())
}

/// Every text that a command gets: words, redirection targets, values of assignments and
/// here-documents.
pub(super) fn texts(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let words = command.words.iter().chain(command.redirects.iter().map(|it| &it.target));
    let values = command.assignments.iter().map(|(_, value)| value);
    words
        .chain(values)
        .map(|word| word.text.as_str())
        .chain(command.here_texts.iter().map(String::as_str))
}

pub(super) fn may_change(text: &str, protected: ProtectionReason) -> PartVerdict {
    let reason = format!("May change {}, so slug always asks.", protected.description());
    PartVerdict::new(text, PermissionOutcome::Ask, reason)
        .dangerous(Some(CallDanger::ProtectedPlace))
}

/// The verdict on text in which no simple command was found.
fn unknown_command(context: &DecisionContext<'_>, run: &ResolvedRun) -> PartVerdict {
    let text = run.command.trim();
    let named = context.named_in(text).filter(|_| !is_sandboxed(context, run));
    match (uncertainty_reason(run), named) {
        (Some(_), _) if context.mode == PermissionMode::Plan => plan_refuses(text),
        (Some(_), Some(protected)) => may_change(text, protected),
        // What slug cannot read at all may also change what is protected in every mode.
        (Some(_), None) if is_sandboxed(context, run) => context.by_mode(text),
        (Some(why), None) => PartVerdict::new(text, PermissionOutcome::Ask, why),
        (None, _) => PartVerdict::new(text, PermissionOutcome::Ask, "Runs no command."),
    }
}

/// Why it is not certain what the command runs, if it is not.
pub(super) fn uncertainty_reason(run: &ResolvedRun) -> Option<String> {
    match &run.analysis.kind {
        AnalysisKind::Static { .. } => None,
        AnalysisKind::NotStatic { why } => {
            Some(format!("{why}, so slug cannot tell what it will run."))
        }
        AnalysisKind::NotAnalysable { why } => {
            Some(format!("slug could not parse this command: {why}."))
        }
    }
}
