//! `slug mcp`: the servers that are defined, and changes of the user's own. Also starts all of them for
//! `slug doctor`.

mod conformance;
pub(super) mod import;
mod login;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::cli::{Cli, CliExitStatus, McpAddArguments, McpCommand};
use crate::config::{self, ConfigChange, ResolvedConfig};
use crate::domain::pluralise;
use crate::domain::sanitize::sanitize_line;
use crate::launch::run_context::RunContext;
use crate::launch::{build, mcp, print};
use crate::mcp::{
    McpDefinitionSource, McpDefinitions, McpOffers, McpResource, McpServerDefinition,
    McpServerState, McpServerStatus, McpServers, McpStore, McpSurroundings,
};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::redact::Redactor;
use crate::tools::DeniedTools;

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    command: &McpCommand,
) -> anyhow::Result<CliExitStatus> {
    let project = run_context.project(cli)?;
    let config = match run_context.config(cli, project) {
        Ok(config) => config,
        Err(errors) => return Ok(super::report_config_errors(&errors)),
    };
    let found = mcp::definitions(run_context, &config, project);
    let file = run_context.config_file(cli);
    let store = McpStore::new(run_context.home.root());
    let state = |server: &McpServerDefinition| definition_state(run_context, &store, server);
    let row = |server: &McpServerDefinition, state: &str| row(server, state, &run_context.cwd);
    match command {
        McpCommand::List { format } => {
            let rows = found.servers.iter().map(|server| (server, state(server)));
            let rows: Vec<(&McpServerDefinition, &str)> = rows.collect();
            if format.json {
                let rows: Vec<Value> = rows.iter().map(|(server, it)| row(server, it)).collect();
                writeln!(print::out(), "{}", Value::from(rows))?;
            } else if !rows.is_empty() || found.problems.is_empty() {
                list(&rows)?;
            }
            tell_problems(run_context, project, &found);
            Ok(CliExitStatus::Answered)
        }
        McpCommand::Get { name, format } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            let row = row(server, state(server));
            let mut out = print::out();
            if format.json {
                writeln!(out, "{row}")?;
            } else {
                for (key, value) in row.as_object().into_iter().flatten() {
                    let texts = match value.as_array() {
                        Some(texts) => texts.iter().collect(),
                        None => vec![value],
                    };
                    for text in texts.into_iter().filter_map(Value::as_str) {
                        writeln!(out, "{key:10} {text}")?;
                    }
                }
            }
            Ok(CliExitStatus::Answered)
        }
        McpCommand::Add(arguments) => match definition(arguments) {
            Ok(keys) => add(&file, &arguments.name, keys),
            Err(mistake) => {
                print::complain(&mistake);
                Ok(CliExitStatus::Usage)
            }
        },
        McpCommand::AddJson { name, definition } => {
            let keys = definition.as_object().cloned().unwrap_or_default();
            add(&file, name, keys)
        }
        McpCommand::Import(arguments) => import::run(cli, run_context, &config, arguments),
        McpCommand::Remove { name } => {
            if own(&config, name) {
                config::save(&file, &[ConfigChange::McpServer(name.clone(), None)])?;
                writeln!(print::out(), "Removed {name} from {}.", file.display())?;
                return Ok(CliExitStatus::Answered);
            }
            Ok(CliExitStatus::Usage)
        }
        McpCommand::Enable { name } => enable(&file, &config, name, true),
        McpCommand::Disable { name } => enable(&file, &config, name, false),
        McpCommand::Allow { name } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            if server.source == McpDefinitionSource::User {
                print::complain(&format!("{name} is a server of your own, and needs no yes."));
                return Ok(CliExitStatus::Usage);
            }
            store.allow(&run_context.cwd, server)?;
            let mut out = print::out();
            writeln!(out, "{name} may start here, as it is now:")?;
            for line in server.particulars(&run_context.cwd) {
                writeln!(out, "  {line}")?;
            }
            Ok(CliExitStatus::Answered)
        }
        McpCommand::Login { name } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            login::log_in(run_context, &config, project, server.clone()).await
        }
        McpCommand::Conformance { url } => conformance::run(run_context, &config, url).await,
        McpCommand::Logout { name } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            let (servers, _processes) =
                unstarted(run_context, &config, project, vec![server.clone()])?;
            login::log_out(&servers, name).await
        }
        McpCommand::Test { name, format } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            let form = TestForm::List { json: format.json };
            test(run_context, &config, project, server.clone(), form).await
        }
        McpCommand::Accept { name } => {
            let Some(server) = find(&found, name) else { return Ok(CliExitStatus::Usage) };
            test(run_context, &config, project, server.clone(), TestForm::Accept).await
        }
    }
}

/// What becomes of a server when slug starts.
fn definition_state(
    run_context: &RunContext,
    store: &McpStore,
    server: &McpServerDefinition,
) -> &'static str {
    if !server.is_enabled {
        return "disabled";
    }
    match server.source {
        McpDefinitionSource::User => "enabled",
        McpDefinitionSource::Project => match store.is_allowed(&run_context.cwd, server) {
            Ok(true) => "allowed",
            Ok(false) | Err(_) => "not allowed",
        },
    }
}

/// What is known of a server. The values that the user's own gets may be secrets, and are left out.
fn row(server: &McpServerDefinition, state: &str, folder: &Path) -> Value {
    let details = match server.source {
        McpDefinitionSource::User => Vec::new(),
        McpDefinitionSource::Project => server.particulars(folder),
    };
    let mut row = json!({
        "name": server.name,
        "state": state,
        "source": match server.source {
            McpDefinitionSource::User => "your configuration",
            McpDefinitionSource::Project => ".mcp.json",
        },
        "starts": server.summary(),
        "sends": server.sent_names(),
        "details": details,
    });
    if server.always_load {
        row["loads"] = json!("its tools into the tools array of each session");
    }
    row
}

fn list(rows: &[(&McpServerDefinition, &str)]) -> anyhow::Result<()> {
    let mut out = print::out();
    if rows.is_empty() {
        writeln!(
            out,
            "No MCP servers. Add one: slug mcp add NAME -- COMMAND, or slug mcp add NAME URL"
        )?;
    }
    let width = |texts: Vec<usize>| texts.into_iter().max().unwrap_or_default();
    let name = width(rows.iter().map(|(server, _)| server.name.chars().count()).collect());
    let state = width(rows.iter().map(|(_, state)| state.len()).collect());
    for (server, it) in rows {
        writeln!(out, "{:name$}  {it:state$}  {}", server.name, server.summary())?;
    }
    Ok(())
}

fn tell_problems(run_context: &RunContext, project: ProjectSettingsTrust, found: &McpDefinitions) {
    found.problems.iter().for_each(|problem| print::complain(problem));
    if project == ProjectSettingsTrust::Untrusted && mcp::project_file(run_context).exists() {
        print::complain("The servers in .mcp.json are left out: this folder is not trusted.");
    }
}

/// The server of this name; says so where there is none.
fn find<'a>(found: &'a McpDefinitions, name: &str) -> Option<&'a McpServerDefinition> {
    let server = found.servers.iter().find(|server| server.name == name);
    if server.is_none() {
        let about = |problem: &&String| problem.contains(&format!("{name:?}"));
        match found.problems.iter().find(about) {
            Some(problem) => print::complain(problem),
            None => {
                print::complain(&format!("No MCP server is named {name:?}. See: slug mcp list"));
            }
        }
    }
    server
}

/// Whether the user's configuration has this server; says so where it does not.
fn own(config: &ResolvedConfig, name: &str) -> bool {
    let has = config.mcp.contains_key(name);
    if !has {
        print::complain(&format!(
            "Your configuration has no MCP server {name:?}. See: slug mcp list"
        ));
    }
    has
}

/// The definition that `slug mcp add` describes.
fn definition(arguments: &McpAddArguments) -> Result<Map<String, Value>, String> {
    let McpAddArguments { env, header, target, sse, .. } = arguments;
    let is_address = |text: &String| text.starts_with("https://") || text.starts_with("http://");
    let pairs = |pairs: &[(String, String)]| {
        pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>()
    };
    let mut keys = Map::new();
    match &target[..] {
        [url, more @ ..] if is_address(url) => {
            if let Some(more) = more.first() {
                return Err(format!(
                    "{more:?} is too much: an address stands alone, with --header for headers."
                ));
            }
            keys.insert("url".into(), json!(url));
            if *sse {
                keys.insert("type".into(), json!("sse"));
            }
        }
        [command, ..] if *sse => {
            return Err(format!(
                "--sse needs an address, but {command:?} is a program. Leave out --sse, or give a \
                 URL."
            ));
        }
        [command, args @ ..] => {
            keys.insert("command".into(), json!(command));
            keys.insert("args".into(), json!(args));
        }
        [] => {}
    }
    for (key, values) in [("env", pairs(env)), ("headers", pairs(header))] {
        if !values.is_empty() {
            keys.insert(key.into(), Value::Object(values));
        }
    }
    Ok(keys)
}

fn add(file: &Path, name: &str, keys: Map<String, Value>) -> anyhow::Result<CliExitStatus> {
    let table = Map::from_iter([(name.to_owned(), Value::Object(keys.clone()))]);
    let read = McpDefinitions::read_table(&table, McpDefinitionSource::User, "slug mcp add");
    read.problems.iter().for_each(|problem| print::complain(problem));
    let [server] = &read.servers[..] else { return Ok(CliExitStatus::Usage) };
    config::save(file, &[ConfigChange::McpServer(name.to_owned(), Some(keys))])?;
    let mut out = print::out();
    writeln!(out, "Added {name} to {}: {}", file.display(), server.summary())?;
    writeln!(out, "Try it: slug mcp test {name}")?;
    Ok(CliExitStatus::Answered)
}

fn enable(
    file: &Path,
    config: &ResolvedConfig,
    name: &str,
    enabled: bool,
) -> anyhow::Result<CliExitStatus> {
    if !own(config, name) {
        return Ok(CliExitStatus::Usage);
    }
    config::save(file, &[ConfigChange::McpEnabled(name.to_owned(), enabled)])?;
    let done = if enabled { "enabled" } else { "disabled" };
    writeln!(print::out(), "{name} is {done}.")?;
    Ok(CliExitStatus::Answered)
}

/// How many resources and prompts of a server are printed by name.
const MAX_NAMES: usize = 50;

/// What is done with a server that has started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TestForm {
    List { json: bool },
    Accept,
}

/// The servers that are defined here, once each has started or failed, and what is wrong with
/// definitions. They are ended before this returns.
pub(super) async fn probe(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
) -> anyhow::Result<(Vec<McpServerStatus>, Vec<String>)> {
    let McpDefinitions { servers, problems } = mcp::definitions(run_context, config, project);
    if servers.is_empty() {
        return Ok((Vec::new(), problems));
    }
    let (servers, processes) = started(run_context, config, project, servers).await?;
    let status = servers.status();
    drop(servers);
    processes.end_all().await;
    Ok((status, problems))
}

/// Starts these servers, and waits until each is ready or has failed, at most as long as they may take
/// for it.
async fn started(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    servers: Vec<McpServerDefinition>,
) -> anyhow::Result<(Arc<McpServers>, Arc<ProcessHost>)> {
    let limits = servers.iter().map(|server| server.limits.start);
    let limit = limits.max().unwrap_or_default() + Duration::from_secs(5);
    let (servers, processes) = unstarted(run_context, config, project, servers)?;
    servers.start();
    servers.settle(limit).await;
    Ok((servers, processes))
}

fn unstarted(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    servers: Vec<McpServerDefinition>,
) -> anyhow::Result<(Arc<McpServers>, Arc<ProcessHost>)> {
    let (surroundings, processes) = surroundings(run_context, config, project)?;
    Ok((McpServers::new(servers, &surroundings, |_| {}), processes))
}

/// What servers of a command share, which no model is told of.
fn surroundings(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
) -> anyhow::Result<(McpSurroundings, Arc<ProcessHost>)> {
    let redactor = Redactor::default();
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let changeable = crate::launch::sandbox_setup::changeable(run_context, config);
    let programs = HostPrograms::find(&search_path, &changeable)?;
    let environment = build::child_environment(config, &redactor);
    let processes = Arc::new(ProcessHost::new(programs, environment)?);
    let denied = DeniedTools::default();
    let surroundings =
        mcp::surroundings(run_context, config, processes.clone(), &redactor, project, denied);
    Ok((surroundings, processes))
}

/// Starts a server, lists its tools or accepts their definitions, and ends it.
async fn test(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    server: McpServerDefinition,
    form: TestForm,
) -> anyhow::Result<CliExitStatus> {
    let (servers, processes) = started(run_context, config, project, vec![server]).await?;
    servers.settle_offers().await;
    let status = servers.status();
    let mut accepted = Vec::new();
    if let (TestForm::Accept, Some(server)) = (form, status.first()) {
        accepted = server.changed().cloned().collect();
        servers.accept(&server.name, accepted.clone()).await.map_err(anyhow::Error::msg)?;
    }
    drop(servers);
    processes.end_all().await;
    let Some(status) = status.first() else { return Ok(CliExitStatus::Failed) };
    let exit = match &status.state {
        McpServerState::Ready => CliExitStatus::Answered,
        McpServerState::NotAllowed => {
            print::complain(&format!(
                "{} has not been allowed to start here as it is now: {}\n\
                 See it, then let it: slug mcp get {}; slug mcp allow {}",
                status.name, status.summary, status.name, status.name
            ));
            CliExitStatus::Refused
        }
        McpServerState::Disabled => {
            print::complain(&format!("{} is disabled.", status.name));
            CliExitStatus::Failed
        }
        McpServerState::NeedsLogin => {
            print::complain(&format!("{0} needs a login: slug mcp login {0}", status.name));
            CliExitStatus::Failed
        }
        McpServerState::Starting => {
            print::complain(&format!("{} did not start in time.", status.name));
            CliExitStatus::Failed
        }
        McpServerState::Failed(why) => {
            print::complain(&format!("{}: {why}", status.name));
            CliExitStatus::Failed
        }
    };
    status.warnings.iter().for_each(|warning| print::complain(warning));
    if exit != CliExitStatus::Answered {
        let errors = status.error_output.trim_end();
        if !errors.is_empty() {
            print::complain(&format!("Its standard error ends with:\n{errors}"));
        }
        return Ok(exit);
    }
    let mut out = print::out();
    if form == TestForm::Accept {
        if accepted.is_empty() {
            writeln!(out, "No tool of {} has changed.", status.name)?;
        }
        for tool in &accepted {
            writeln!(out, "{} is accepted as it is now:", sanitize_line(&tool.name))?;
            for line in tool.description.lines() {
                writeln!(out, "  {line}")?;
            }
            writeln!(out, "  arguments: {:#}", tool.input_schema)?;
        }
        return Ok(exit);
    }
    if form == (TestForm::List { json: true }) {
        writeln!(out, "{}", tested(status))?;
        return Ok(exit);
    }
    let about = status.implementation.clone().unwrap_or_else(|| status.name.clone());
    writeln!(out, "{about}: {}", pluralise(status.tools.len(), "tool"))?;
    for tool in status.tools.iter() {
        let is_changed = status.changed_tools.contains(&tool.name);
        let changed = if is_changed { "  (its definition has changed)" } else { "" };
        writeln!(out, "  {}{changed}", sanitize_line(&tool.name))?;
    }
    let McpOffers { resources, templates, prompts, .. } = &*status.offers;
    let addresses = |found: &[McpResource]| -> Vec<String> {
        found.iter().map(|resource| resource.uri.clone()).collect()
    };
    let commands = prompts.iter().map(|it| format!("/{}", it.command(&status.name))).collect();
    for (noun, names) in [
        ("prompt", commands),
        ("resource", addresses(resources)),
        ("resource template", addresses(templates)),
    ] {
        write_names(&mut out, noun, &names)?;
    }
    Ok(exit)
}

/// What a server that was started has, as JSON.
fn tested(status: &McpServerStatus) -> Value {
    let McpOffers { resources, templates, prompts, .. } = &*status.offers;
    let tools: Vec<&str> = status.tools.iter().map(|tool| tool.name.as_str()).collect();
    let prompts: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    let addresses = |found: &[McpResource]| -> Vec<Value> {
        found.iter().map(|resource| json!(resource.uri)).collect()
    };
    json!({
        "name": status.name, "server": status.implementation, "tools": tools,
        "changed": status.changed_tools, "prompts": prompts,
        "resources": addresses(resources), "resource_templates": addresses(templates),
    })
}

/// How many there are, and the names of the first; nothing where there are none.
fn write_names(out: &mut impl Write, noun: &str, names: &[String]) -> anyhow::Result<()> {
    if !names.is_empty() {
        writeln!(out, "{}", pluralise(names.len(), noun))?;
    }
    for name in names.iter().take(MAX_NAMES) {
        writeln!(out, "  {}", sanitize_line(name))?;
    }
    if names.len() > MAX_NAMES {
        writeln!(out, "  and {} more", names.len() - MAX_NAMES)?;
    }
    Ok(())
}
