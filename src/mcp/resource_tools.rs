//! The tools with which models list and read the resources of servers.
//!
//! Listing tells what slug has already read, and asks no server. Reading is judged as a call of the
//! server's tools is: as access to something that slug cannot see into. Servers whose resources rules
//! deny are not named; the gate answers a call that names one all the same.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::domain::{
    ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolListing, ToolOutput, ToolPolling,
    ToolSpec, pluralise,
};
use crate::platform::redact::Redactor;
use crate::tools::{
    READ_RESOURCE_TOOL, Tool, ToolContext, ToolError, WorkingDirectory, resource_title,
};

use super::names::resources_name;
use super::offers::{McpOffers, McpResource};
use super::output::{failed, shortened, tool_output};
use super::server::{McpServer, McpServerState};

const LIST_RESOURCES_TOOL: &str = "ListMcpResources";

static READ: ToolDescriptor = ToolDescriptor {
    name: Cow::Borrowed(READ_RESOURCE_TOOL),
    title: Cow::Borrowed(READ_RESOURCE_TOOL),
    kind: ToolKind::Other,
    capability: ToolCapability::External,
    listing: ToolListing::Deferred,
    polling: ToolPolling::Never,
};

static LIST: ToolDescriptor = ToolDescriptor {
    name: Cow::Borrowed(LIST_RESOURCES_TOOL),
    title: Cow::Borrowed(LIST_RESOURCES_TOOL),
    kind: ToolKind::Other,
    capability: ToolCapability::Conversation,
    listing: ToolListing::Deferred,
    polling: ToolPolling::Never,
};

/// The tools for the resources of these servers; none where there are no servers.
pub(super) fn resource_tools(servers: Vec<Arc<McpServer>>) -> Vec<Arc<dyn Tool>> {
    if servers.is_empty() {
        return Vec::new();
    }
    let servers = ResourceServers(servers.into());
    vec![
        Arc::new(ListResourcesTool { servers: servers.clone() }),
        Arc::new(ReadResourceTool { servers }),
    ]
}

/// Servers that offer resources, by name.
#[derive(Clone)]
struct ResourceServers(Arc<[Arc<McpServer>]>);

impl ResourceServers {
    fn find(&self, name: &str) -> Result<&Arc<McpServer>, ToolError> {
        let found = self.0.iter().find(|server| server.definition.name == name);
        found.ok_or_else(|| self.unknown(name))
    }

    /// Those that models are told of.
    fn visible(&self) -> impl Iterator<Item = &Arc<McpServer>> {
        self.0.iter().filter(|server| server.has_visible_resources())
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.visible().map(|it| &*it.definition.name).collect();
        ToolError(match names.is_empty() {
            true => format!("No MCP server {name:?} has resources, nor has any other."),
            false => format!(
                "No MCP server {name:?} has resources. `server` is one of: {}.",
                names.join(", ")
            ),
        })
    }
}

/// Reads a resource of a server.
struct ReadResourceTool {
    servers: ResourceServers,
}

impl ReadResourceTool {
    fn arguments<'a>(&self, input: &'a Value) -> Result<(&Arc<McpServer>, &'a str), ToolError> {
        let text = |key: &str| {
            let text = input.get(key).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).ok_or_else(|| {
                ToolError(format!(
                    "`{key}` is missing. Send {{\"server\": \"name\", \"uri\": \"address of the \
                     resource\"}}. {LIST_RESOURCES_TOOL} lists them."
                ))
            })
        };
        Ok((self.servers.find(text("server")?)?, text("uri")?))
    }
}

#[async_trait]
impl Tool for ReadResourceTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: READ_RESOURCE_TOOL.into(),
            description: format!(
                "Reads a resource of an MCP server. {LIST_RESOURCES_TOOL} lists them."
            ),
            input_schema: json!({
                "type": "object",
                "properties": {"server": {"type": "string"}, "uri": {"type": "string"}},
                "required": ["server", "uri"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &READ
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        resource_title(input)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let (server, uri) = self.arguments(input)?;
        let name = &server.definition.name;
        Ok(vec![ToolAccess::External {
            server: name.clone(),
            tool: uri.to_owned(),
            rule_name: resources_name(name),
            // The protocol says so, and not only this server.
            read_only: true,
            definition: server.definition.hash(),
        }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let (server, uri) = self.arguments(&input)?;
        match server.read_resource(uri, &context.cancel).await {
            Ok(result) => {
                let redact = &server.surroundings.redactor;
                Ok(tool_output(context, redact, "resource", result).await)
            }
            Err(error) => failed(&server.definition.name, error),
        }
    }
}

/// Lists the resources of servers as they were read last.
struct ListResourcesTool {
    servers: ResourceServers,
}

impl ListResourcesTool {
    /// The servers that are listed: one, or all.
    fn chosen(&self, input: &Value) -> Result<Vec<Arc<McpServer>>, ToolError> {
        match input.get("server") {
            None | Some(Value::Null) => Ok(self.servers.visible().cloned().collect()),
            Some(Value::String(name)) if name.is_empty() => {
                Ok(self.servers.visible().cloned().collect())
            }
            Some(Value::String(name)) => {
                let found = self.servers.visible().find(|it| it.definition.name == *name);
                Ok(vec![found.ok_or_else(|| self.servers.unknown(name))?.clone()])
            }
            Some(_) => Err(ToolError("`server` is the name of a server, or left out.".into())),
        }
    }
}

#[async_trait]
impl Tool for ListResourcesTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: LIST_RESOURCES_TOOL.into(),
            description: "Lists the resources of MCP servers, of one or all.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"server": {"type": "string"}},
                "required": [],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &LIST
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        self.chosen(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let chosen = self.chosen(&input)?;
        let (mut text, mut count) = (String::new(), 0);
        if chosen.is_empty() {
            text.push_str("No MCP server has resources.");
        }
        for server in &chosen {
            let name = &server.definition.name;
            match (server.state(), server.offers(&context.cancel).await) {
                (McpServerState::Ready, Ok(offers)) => {
                    count += offers.resources.len() + offers.templates.len();
                    text.push_str(&listed(name, &offers));
                }
                (McpServerState::Ready, Err(error)) => return failed(name, error),
                (state, _) => {
                    let why = state.failure().unwrap_or_else(|| "It is not running.".into());
                    text.push_str(&format!("{name} cannot be used now. {why}\n"));
                }
            }
        }
        let redactor = Redactor::default();
        Ok(ToolOutput::text(shortened(context, &redactor, text.trim_end()))
            .with_summary(pluralise(count, "resource")))
    }
}

/// The resources of a server, a line each.
fn listed(name: &str, offers: &McpOffers) -> String {
    let line = |resource: &McpResource| {
        let McpResource { uri, title, description, mime_type } = resource;
        let title = if title == uri { String::new() } else { format!(": {title}") };
        let mime = if mime_type.is_empty() { String::new() } else { format!(" ({mime_type})") };
        let about = description.lines().next().unwrap_or_default();
        let about = if about.is_empty() { String::new() } else { format!(" {about}") };
        format!("- {uri}{title}{mime}{about}\n")
    };
    let mut text = match offers.resources.is_empty() {
        true => format!("{name} lists no resources.\n"),
        false => format!("{name}:\n"),
    };
    text.extend(offers.resources.iter().map(line));
    if !offers.templates.is_empty() {
        text.push_str(&format!("{name}, with places in braces to fill in:\n"));
        text.extend(offers.templates.iter().map(line));
    }
    text
}
