//! A server's tool as models and the gate see it.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::domain::{
    ContentHash, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolListing, ToolOutput,
    ToolPolling, ToolSpec,
};
use crate::tools::{Tool, ToolContext, ToolError, WorkingDirectory};

use super::lists::{McpToolDefinition, cut};
use super::names::model_tool_name;
use super::output::{failed, tool_output};
use super::server::McpServer;

/// A tool of a server.
pub(super) struct McpTool {
    server: Arc<McpServer>,
    definition: McpToolDefinition,
    descriptor: ToolDescriptor,
}

/// A tool of the server of this name as models are told of it.
pub(super) fn tool_spec(server: &str, definition: &McpToolDefinition) -> ToolSpec {
    ToolSpec {
        name: model_tool_name(server, &definition.name),
        description: definition.description.clone(),
        input_schema: definition.input_schema.clone(),
    }
}

impl McpTool {
    pub(super) fn new(server: Arc<McpServer>, definition: McpToolDefinition) -> Self {
        let descriptor = ToolDescriptor {
            name: Cow::Owned(model_tool_name(&server.definition.name, &definition.name)),
            title: Cow::Owned(format!("{} {}", server.definition.name, definition.name)),
            kind: ToolKind::Other,
            capability: ToolCapability::External,
            listing: ToolListing::Deferred,
            polling: ToolPolling::Never,
        };
        Self { server, definition, descriptor }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        tool_spec(&self.server.definition.name, &self.definition)
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &self.descriptor
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        arguments(input, &self.definition)?;
        Ok(vec![ToolAccess::External {
            server: self.server.definition.name.clone(),
            tool: self.definition.name.clone(),
            rule_name: self.descriptor.name.clone().into_owned(),
            // What a server claims widens nothing.
            read_only: false,
            definition: ContentHash::of(
                format!("{} {}", self.server.definition.hash(), self.definition.hash).as_bytes(),
            ),
        }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let name = &self.server.definition.name;
        let arguments = arguments(&input, &self.definition)?;
        let progress = |text: String| context.effects.progress(&text);
        let caller = (&context.cancel, &context.user);
        let called = self.server.call(&self.definition.name, arguments, caller, progress);
        match called.await {
            Ok(result) => {
                let redact = &self.server.surroundings.redactor;
                Ok(tool_output(context, redact, &self.definition.name, result).await)
            }
            Err(error) => failed(name, error),
        }
    }
}

/// The arguments of a call, which have to have what the schema requires.
fn arguments(
    input: &Value,
    definition: &McpToolDefinition,
) -> Result<Map<String, Value>, ToolError> {
    let arguments = match input {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(ToolError("The arguments have to be an object.".into()));
        }
    };
    let required = definition.input_schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = names.filter(|name| !arguments.contains_key(*name)).collect();
    if missing.is_empty() {
        return Ok(arguments);
    }
    let schema = serde_json::to_string(&definition.input_schema).unwrap_or_default();
    Err(ToolError(format!(
        "Missing: {}. The arguments have to match {}.",
        missing.join(", "),
        cut(&schema, 4000)
    )))
}
