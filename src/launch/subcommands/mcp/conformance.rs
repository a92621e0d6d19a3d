//! `slug mcp conformance URL`, hidden from the help: what the conformance suite of the protocol runs for
//! each of its scenarios (npm, @modelcontextprotocol/conformance). slug reaches the scenario's server, logs
//! in where it has to, and makes the calls that the scenario names, or else calls each tool once.
//!
//! Nothing of it is kept: tokens and definitions go into a folder that is removed. The user in the browser
//! and in front of forms is played here, because the suite has neither.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::LOCATION;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::CliExitStatus;
use crate::config::ResolvedConfig;
use crate::disk::private_folder;
use crate::domain::{QuestionAnswer, UserQuestion};
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::mcp::{
    McpDefinitionSource, McpDefinitions, McpError, McpLoginStore, McpServerState, McpServers,
    McpStore, McpToolDefinition,
};
use crate::net::{HttpClient, HttpEndpoint, PlainHttp};
use crate::permissions::store::ProjectSettingsTrust;
use crate::tools::AskUser;

use super::surroundings;

/// The name of the server.
const NAME: &str = "conformance";

/// How often slug logs in again for what a call lacks.
const MAX_LOGINS: usize = 3;

const LIMIT: Duration = Duration::from_secs(30);

/// The variable in which the suite tells a client of its own for scenarios that need one.
const CONTEXT_VARIABLE: &str = "MCP_CONFORMANCE_CONTEXT";

/// Runs a scenario.
pub(super) async fn run(
    run_context: &RunContext,
    config: &ResolvedConfig,
    url: &str,
) -> anyhow::Result<CliExitStatus> {
    let context = std::env::var(CONTEXT_VARIABLE).unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let mut keys = json!({"url": url});
    if let Some(id) = context.get("client_id") {
        keys["oauth"] = json!({"client_id": id});
        if let Some(secret) = context.get("client_secret") {
            keys["oauth"]["client_secret"] = secret.clone();
        }
    }
    let table = Map::from_iter([(NAME.to_owned(), keys)]);
    let read = McpDefinitions::read_table(&table, McpDefinitionSource::User, "conformance");
    read.problems.iter().for_each(|problem| print::complain(problem));
    let home = private_folder("slug-conformance-")?;
    let (surroundings, processes) =
        surroundings(run_context, config, ProjectSettingsTrust::Untrusted)?;
    let surroundings = crate::mcp::McpSurroundings {
        store: McpStore::new(home.path()),
        logins: McpLoginStore::new(home.path()),
        ..surroundings
    };
    let servers = McpServers::new(read.servers, &surroundings, |_| {});
    let done = play(&servers, &context).await;
    drop(servers);
    processes.end_all().await;
    match done {
        Ok(()) => Ok(CliExitStatus::Answered),
        Err(why) => {
            print::complain(&why);
            Ok(CliExitStatus::Failed)
        }
    }
}

async fn play(servers: &Arc<McpServers>, context: &Value) -> Result<(), String> {
    servers.start();
    let mut logins = 0;
    reach(servers, &mut logins).await?;
    let Some(status) = servers.status().into_iter().next() else { return Ok(()) };
    for (tool, arguments) in calls(context, &status.tools) {
        loop {
            let user: Arc<dyn AskUser> = Arc::new(WillingUser);
            let never = CancellationToken::new();
            let called = servers.call(NAME, &tool, arguments.clone(), (&never, &user)).await;
            match called {
                // An error is an answer, too, and the suite knows whether it should come.
                Ok(()) | Err(McpError::Refused(_)) => break,
                // With the scopes that the server has just asked for.
                Err(McpError::NeedsLogin(_)) => reach(servers, &mut logins).await?,
                Err(error) => return Err(format!("{tool}: {error}")),
            }
        }
    }
    Ok(())
}

/// Waits until the server is ready, and logs in where it wants that.
async fn reach(servers: &Arc<McpServers>, logins: &mut usize) -> Result<(), String> {
    loop {
        servers.settle(LIMIT).await;
        match servers.status().first().map(|status| status.state.clone()) {
            Some(McpServerState::Ready) => return Ok(()),
            Some(McpServerState::NeedsLogin) if *logins < MAX_LOGINS => {
                *logins += 1;
                log_in(servers).await?;
                servers.restart(NAME).await?;
            }
            Some(state) => return Err(state.failure().unwrap_or_default()),
            None => return Err("There is no server.".into()),
        }
    }
}

/// Is the browser: takes the place that the address leads to, which has the code.
async fn log_in(servers: &Arc<McpServers>) -> Result<(), String> {
    let login = servers.begin_login(NAME).await?;
    let told = |error: &dyn std::error::Error| error.to_string();
    let endpoint = HttpEndpoint::parse(login.address(), PlainHttp::LoopbackOnly);
    let endpoint = endpoint.map_err(|error| told(&error))?;
    let http = HttpClient::new();
    let client = http.client(&endpoint).map_err(|error| told(&error))?;
    let answer = client.get(login.address()).send().await.map_err(|error| told(&error))?;
    let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
    let place = place.ok_or("The login page leads nowhere.")?;
    login.finish(place).await.map_err(|error| told(&error))
}

/// The calls of a scenario: a tool and its arguments.
fn calls(context: &Value, tools: &[McpToolDefinition]) -> Vec<(String, Map<String, Value>)> {
    let named = context.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
    let named = named.filter_map(|call| {
        let arguments = call.get("arguments").and_then(Value::as_object).cloned();
        Some((call.get("name")?.as_str()?.to_owned(), arguments.unwrap_or_default()))
    });
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let call = |tool: &McpToolDefinition| {
        let other = tools.iter().find(|other| other.name != tool.name);
        let other = other.map(|other| &other.input_schema);
        (tool.name.clone(), arguments(&tool.input_schema, other))
    };
    tools.iter().map(call).collect()
}

/// Arguments that a schema of a tool asks for. What wants a schema gets that of another tool as slug has it.
fn arguments(schema: &Value, other: Option<&Value>) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |name: &str, schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") if name == "schema" => other.cloned().unwrap_or_default(),
        Some("object") => json!({}),
        Some(_) | None => json!("test"),
    };
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), value(name, schema)))
        .collect()
}

/// Agrees to whatever a server asks, and leaves each field as the server proposes it.
struct WillingUser;

#[async_trait]
impl AskUser for WillingUser {
    async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
        let is_consent = |question: &UserQuestion| question.question.starts_with("The MCP server ");
        let answer = |question: &UserQuestion| QuestionAnswer {
            chosen: if is_consent(question) { vec![0] } else { Vec::new() },
            ..QuestionAnswer::default()
        };
        Some(questions.iter().map(answer).collect())
    }
}
