//! `slug permissions`: the rules that hold, and what they say of a call.

use std::io::{Write, stdout};

use serde_json::json;

use crate::cli::{Cli, Exit, PermissionsCommand, PermissionsTest};
use crate::domain::{Access, Mode};
use crate::launch::ground::Ground;
use crate::launch::print;
use crate::permissions::{self, ListReport, Query, RuleSet, TestReport, store};
use crate::tools::{Place, Registry};

pub(super) fn run(
    cli: &Cli,
    ground: &Ground,
    command: &PermissionsCommand,
) -> anyhow::Result<Exit> {
    match command {
        PermissionsCommand::List { format } => {
            let rules = store::load(&ground.workspace(), ground.project(cli)?);
            let report = ListReport::from(&rules);
            let mut out = stdout().lock();
            if format.json {
                writeln!(out, "{}", json!(report))?;
                return Ok(Exit::Answered);
            }
            for rule in &report.rules {
                let file = rule.file.as_ref().map(|file| file.display().to_string());
                let file = file.unwrap_or_default();
                let kind = json!(rule.kind);
                writeln!(out, "{:5}  {}  {file}", kind.as_str().unwrap_or_default(), rule.rule)?;
            }
            for warning in &report.warnings {
                print::complain(&warning.to_string());
            }
            Ok(Exit::Answered)
        }
        PermissionsCommand::Test(test) => try_out(cli, ground, test),
    }
}

fn try_out(cli: &Cli, ground: &Ground, test: &PermissionsTest) -> anyhow::Result<Exit> {
    let (workspace, project) = (ground.workspace(), ground.project(cli)?);
    let rules = match &test.settings {
        Some(file) => {
            // A missing settings file is no fault elsewhere; one that is named here has to be there.
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
        None => match ground.config(cli, project) {
            Ok(config) => config.mode.value,
            Err(errors) => return Ok(super::wrong(&errors)),
        },
    };
    let workspace = match mode {
        // As if it were in force around the working folder.
        Mode::Sandbox => workspace.with_sandbox(&ground.cwd),
        Mode::Ask | Mode::AllowEdits | Mode::Plan | Mode::Yolo => workspace,
    };
    let place = Place { cwd: ground.cwd.clone(), home: ground.user_home.clone() };
    let query = Query::resolve(&test.tool, &accesses(test, &place)?, &workspace);
    let report = TestReport::from(&permissions::decide(&query, &rules, mode, &workspace));
    let mut out = stdout().lock();
    if test.format.json {
        writeln!(out, "{}", json!(report))?;
        return Ok(Exit::Answered);
    }
    writeln!(out, "{}: {}", json!(report.decision).as_str().unwrap_or_default(), report.reason)?;
    for part in &report.commands {
        let rule = part.rule.as_ref().map_or_else(|| "no rule".to_owned(), |it| it.rule.clone());
        let decision = json!(part.decision);
        writeln!(out, "  {:5}  {}  {rule}", decision.as_str().unwrap_or_default(), part.text)?;
    }
    Ok(Exit::Answered)
}

/// What a call with this command or path would touch, as its tool says.
fn accesses(test: &PermissionsTest, place: &Place) -> anyhow::Result<Vec<Access>> {
    let tool = Registry::standard().get(&test.tool)?;
    let input = json!({
        "command": test.input,
        "file_path": test.input,
        "path": test.input,
        "pattern": "*",
        "content": "",
        "old_string": "a",
        "new_string": "b",
        "todos": [],
    });
    Ok(tool.access(&input, place)?)
}
