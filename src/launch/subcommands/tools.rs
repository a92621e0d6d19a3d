//! `slug tools`: lists the tools, and runs one call through the gate.

use std::io::Write;

use serde_json::json;

use crate::agent::run_call;
use crate::cli::{Cli, CliExitStatus, ToolsCommand};
use crate::domain::{CallId, CallInput, ToolCall, ToolOutput, ToolStatus};
use crate::launch::build::{self, RunParticipants, RunParts};
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::platform::redact::Redactor;
use crate::session::SessionStore;

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    command: &ToolsCommand,
) -> anyhow::Result<CliExitStatus> {
    match command {
        ToolsCommand::List { format } => {
            let registry = build::tool_registry()?;
            let tools = registry.tools().map(|tool| (tool.spec(), tool.descriptor().listing));
            let mut out = print::out();
            if format.json {
                let tools = tools.map(|(spec, listing)| {
                    json!({"name": spec.name, "description": spec.description,
                           "input_schema": spec.input_schema, "listing": listing})
                });
                writeln!(out, "{}", tools.collect::<serde_json::Value>())?;
            } else {
                for (tool, _) in tools {
                    let first = tool.description.lines().next().unwrap_or_default();
                    writeln!(out, "{:12} {first}", tool.name)?;
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
            call_one(cli, run_context, call, format.json).await
        }
    }
}

async fn call_one(
    cli: &Cli,
    run_context: &RunContext,
    call: ToolCall,
    json: bool,
) -> anyhow::Result<CliExitStatus> {
    let project = run_context.project(cli)?;
    let config = match run_context.config(cli, project) {
        Ok(config) => config,
        Err(errors) => return Ok(super::report_config_errors(&errors)),
    };
    let redactor = Redactor::default();
    let participants = RunParticipants::headless(cli, run_context, &config, &redactor)?;
    let RunParts { mut setup, processes, .. } =
        build::parts(run_context, &config, project, participants, &redactor)?;
    // A single call is no session to resume, so its log is in a folder that is removed afterwards.
    let scratch = tempfile::tempdir()?;
    let folder = |name: &str| scratch.path().join(name);
    setup.store = SessionStore::new(folder("sessions"), folder("trash"), folder("blobs"));
    setup.blobs = setup.store.blobs().clone();
    let output = run_call(setup, call).await;
    processes.end_all().await;
    let Some(output) = output else {
        print::complain("The call could not be logged, so it did not run.");
        return Ok(CliExitStatus::Failed);
    };
    if json {
        let ToolOutput { status, observation, display, output, .. } = &output;
        let result = json!({
            "status": status,
            "output": output,
            "observation": observation,
            "display": display,
        });
        writeln!(print::out(), "{result}")?;
    } else {
        writeln!(print::out(), "{}", output.observation)?;
    }
    Ok(match output.status {
        ToolStatus::Done => CliExitStatus::Answered,
        ToolStatus::Failed | ToolStatus::Cancelled => CliExitStatus::Failed,
        ToolStatus::Denied => CliExitStatus::Refused,
    })
}
