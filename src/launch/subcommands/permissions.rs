//! `slug permissions`: lists the rules that hold, and tests them on a call.

use std::io::Write;

use serde_json::{Value, json};

use crate::agent::accesses_of;
use crate::cli::{
    Cli, CliExitStatus, PermissionsArguments, PermissionsCommand, PermissionsTest, PrintFormat,
};
use crate::domain::{PermissionMode, PermissionOutcome, RuleKind, RuleSource};
use crate::launch::run_context::RunContext;
use crate::launch::{build, print};
use crate::permissions::{
    self, PermissionQuery, PermissionTestReport, RuleListReport, RuleSet, store,
};
use crate::tools::{WorkingDirectory, own_name};

pub(super) fn run(
    cli: &Cli,
    run_context: &RunContext,
    arguments: &PermissionsArguments,
) -> anyhow::Result<CliExitStatus> {
    let list = PermissionsCommand::List { format: PrintFormat { json: false } };
    match arguments.command.as_ref().unwrap_or(&list) {
        PermissionsCommand::List { format } => {
            let project = run_context.project(cli)?;
            let rules = store::load(&run_context.workspace(project), project);
            let report = RuleListReport::from(&rules);
            let mut out = print::out();
            if format.json {
                let mut report = json!(report);
                for rule in report["rules"].as_array_mut().into_iter().flatten() {
                    explain(rule);
                }
                writeln!(out, "{report}")?;
                return Ok(CliExitStatus::Answered);
            }
            if report.rules.is_empty() && !rules.faults().is_empty() {
                writeln!(out, "slug asks about every call until the settings can be read.")?;
            } else if report.rules.is_empty() {
                writeln!(out, "No rule applies here. Add rules with /permissions in a chat.")?;
            }
            for rule in &report.rules {
                writeln!(out, "{:5}  {}  {}", rule.kind.word(), rule.rule, location(rule))?;
                if let Some(means) = means(rule) {
                    writeln!(out, "       it {means}")?;
                }
            }
            for warning in &report.warnings {
                print::complain(&warning.to_string());
            }
            Ok(CliExitStatus::Answered)
        }
        PermissionsCommand::Test(test) => try_out(cli, run_context, test),
    }
}

fn try_out(
    cli: &Cli,
    run_context: &RunContext,
    test: &PermissionsTest,
) -> anyhow::Result<CliExitStatus> {
    let project = run_context.project(cli)?;
    let workspace = run_context.workspace(project);
    let rules = match &test.settings {
        Some(file) => {
            // Elsewhere a settings file may be missing; one that is named here must exist.
            std::fs::metadata(file)
                .map_err(|error| anyhow::anyhow!("Cannot read {}: {error}", file.display()))?;
            let mut rules = RuleSet::new();
            store::load_file(&mut rules, file, &workspace);
            rules
        }
        None => store::load(&workspace, project),
    };
    for warning in rules.warnings() {
        print::complain(&warning.to_string());
    }
    let mode = match test.mode {
        Some(mode) => mode,
        None => match run_context.config(cli, project) {
            Ok(config) => config.mode.value,
            Err(errors) => return Ok(super::report_config_errors(&errors)),
        },
    };
    let workspace = match mode {
        // Decides as if a sandbox around the working folder were in force.
        PermissionMode::Sandbox => workspace.with_sandbox(&run_context.cwd),
        PermissionMode::Ask
        | PermissionMode::AllowEdits
        | PermissionMode::Plan
        | PermissionMode::Yolo => workspace,
    };
    let place =
        WorkingDirectory { cwd: run_context.cwd.clone(), home: run_context.user_home.clone() };
    let accesses = accesses_of(&build::tool_registry()?, &test.tool, &test.input, &place)?;
    let query = PermissionQuery::resolve(own_name(&test.tool), &accesses, &workspace);
    let report = PermissionTestReport::from(&permissions::decide(&query, &rules, mode, &workspace));
    let mut out = print::out();
    if test.format.json {
        let mut report = json!(report);
        explain(&mut report["rule"]);
        for part in report["commands"].as_array_mut().into_iter().flatten() {
            explain(&mut part["rule"]);
        }
        writeln!(out, "{report}")?;
        return Ok(CliExitStatus::Answered);
    }
    writeln!(out, "{}: {}", report.decision.word(), report.reason)?;
    for part in &report.commands {
        let allows = |rule: &RuleSource| rule.kind == RuleKind::Allow;
        let is_enough =
            part.decision == PermissionOutcome::Allow || !part.rule.as_ref().is_some_and(allows);
        let prefix = if is_enough { "" } else { "may not be covered by " };
        let rule = part.rule.as_ref().map_or_else(
            || "no rule".to_owned(),
            |rule| format!("{prefix}{}  {}", rule.rule, location(rule)),
        );
        writeln!(out, "  {:5}  {}  {rule}", part.decision.word(), part.text)?;
        if let Some(means) = part.rule.as_ref().and_then(means) {
            writeln!(out, "         {} {means}", part.rule.as_ref().map_or("", |rule| &rule.rule))?;
        }
    }
    Ok(CliExitStatus::Answered)
}

/// The file and line of a rule; empty for a rule without a file.
fn location(rule: &RuleSource) -> String {
    let file = rule.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    rule.line.map_or(file.clone(), |line| format!("{file}:{line}"))
}

/// What an allow rule allows besides the command it names; `None` for other rules.
fn means(rule: &RuleSource) -> Option<String> {
    (rule.kind == RuleKind::Allow).then(|| permissions::meaning(&rule.rule)).flatten()
}

/// Adds the meaning of an allow rule to its JSON.
fn explain(rule: &mut Value) {
    let means =
        rule["rule"].as_str().filter(|_| rule["kind"] == "allow").and_then(permissions::meaning);
    if let Some(means) = means {
        rule["means"] = means.into();
    }
}
