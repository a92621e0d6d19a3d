//! `slug tools`: the registry, and one call through the gate.

use std::io::Write;

use serde_json::json;

use crate::agent::{Interactivity, run_call};
use crate::cli::{Cli, CliExitStatus, ToolsCommand};
use crate::domain::{CallId, CallInput, ToolCall, ToolStatus};
use crate::launch::build::{self, RunParticipants, RunParts};
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::platform::redact::Redactor;
use crate::session::SessionStore;
use crate::tools::ToolRegistry;

pub(super) async fn run(
    cli: &Cli,
    ground: &RunContext,
    command: &ToolsCommand,
) -> anyhow::Result<CliExitStatus> {
    match command {
        ToolsCommand::List { format } => {
            let tools = ToolRegistry::standard().specs();
            let mut out = print::out();
            if format.json {
                writeln!(out, "{}", json!(&*tools))?;
            } else {
                for tool in &*tools {
                    let first = tool.description.lines().next().unwrap_or_default();
                    writeln!(out, "{:10} {first}", tool.name)?;
                }
            }
            Ok(CliExitStatus::Answered)
        }
        ToolsCommand::Run { name, input, format } => {
            let call = ToolCall {
                id: CallId::generate(),
                name: name.clone(),
                input: CallInput::Valid(input.clone()),
            };
            call_one(cli, ground, call, format.json).await
        }
    }
}

async fn call_one(
    cli: &Cli,
    ground: &RunContext,
    call: ToolCall,
    json: bool,
) -> anyhow::Result<CliExitStatus> {
    let project = ground.project(cli)?;
    let config = match ground.config(cli, project) {
        Ok(config) => config,
        Err(errors) => return Ok(super::report_config_errors(&errors)),
    };
    let redactor = Redactor::default();
    let services = build::services(ground, &config, cli.demo.as_ref(), &redactor)?;
    let sides = RunParticipants {
        providers: services,
        interactivity: Interactivity::Headless,
        last_models: None,
    };
    let RunParts { mut setup, processes, .. } =
        build::parts(cli, ground, &config, project, sides, &redactor)?;
    // A call by itself is no session to come back to; it is on record while it runs.
    let scratch = tempfile::tempdir()?;
    let folder = |name: &str| scratch.path().join(name);
    setup.store = SessionStore::new(folder("sessions"), folder("trash"), folder("blobs"));
    setup.blobs = setup.store.blobs().clone();
    let output = run_call(setup, call).await;
    processes.end_all().await;
    let Some(output) = output else {
        print::complain("The call could not be put on record, so it was not made.");
        return Ok(CliExitStatus::Failed);
    };
    if json {
        let status = output.status;
        writeln!(
            print::out(),
            "{}",
            json!({"status": status, "output": output.output, "text": output.observation})
        )?;
    } else {
        writeln!(print::out(), "{}", output.observation)?;
    }
    Ok(match output.status {
        ToolStatus::Done => CliExitStatus::Answered,
        ToolStatus::Failed | ToolStatus::Cancelled => CliExitStatus::Failed,
        ToolStatus::Denied => CliExitStatus::Refused,
    })
}
