//! A server's tool as models and the gate see it.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::domain::{
    ContentHash, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolListing, ToolOutput,
    ToolPolling, ToolSpec, ToolStatus,
};
use crate::tools::{Tool, ToolContext, ToolError, WorkingDirectory};

use super::call_result::{McpCallResult, McpResultFile};
use super::connection::McpError;
use super::lists::{McpToolDefinition, cut};
use super::names::model_tool_name;
use super::server::McpServer;

/// How much of a result models are shown: some 25,000 tokens at four bytes each.
const MAX_RESULT: usize = 100_000;

/// A tool of a server.
pub(super) struct McpTool {
    server: Arc<McpServer>,
    definition: McpToolDefinition,
    descriptor: ToolDescriptor,
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
        ToolSpec {
            name: self.descriptor.name.clone().into_owned(),
            description: self.definition.description.clone(),
            input_schema: self.definition.input_schema.clone(),
        }
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
            // What a server claims widens nothing.
            read_only: false,
            definition: ContentHash::of(
                format!("{} {}", self.server.definition.hash(), self.definition.hash).as_bytes(),
            ),
        }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let name = &self.server.definition.name;
        if self.server.is_changed(&self.definition.name) {
            return Err(ToolError(format!(
                "The server {name} has changed the definition of this tool. The user has to accept \
                 it first, in /mcp or with `slug mcp accept {name}`. Do not retry before."
            )));
        }
        let arguments = arguments(&input, &self.definition)?;
        let progress = |text: String| context.effects.progress(&text);
        let called = self.server.call(&self.definition.name, arguments, &context.cancel, progress);
        match called.await {
            Ok(result) => self.output(context, result).await,
            Err(McpError::Cancelled) => Ok(ToolOutput {
                status: ToolStatus::Cancelled,
                ..ToolOutput::text("Stopped by the user.")
            }),
            Err(error) => Err(ToolError(format!("The MCP server {name}: {error}"))),
        }
    }
}

impl McpTool {
    async fn output(
        &self,
        context: &ToolContext,
        result: McpCallResult,
    ) -> Result<ToolOutput, ToolError> {
        let mut text = self.shortened(context, &result.text);
        let mut image = None;
        for (at, bytes) in result.images.into_iter().enumerate() {
            let name = format!("{}-{}", self.definition.name, at + 1);
            if image.is_some() {
                let kind = "image".to_owned();
                text.push_str(&self.saved(context, &McpResultFile { kind, bytes }));
                continue;
            }
            match context.effects.keep_image(&name, bytes).await {
                Ok(kept) => image = Some(kept),
                Err(why) => text.push_str(&format!("\n[an image was left out: {why}]")),
            }
        }
        for file in &result.files {
            text.push_str(&self.saved(context, file));
        }
        if text.is_empty() && image.is_none() {
            text.push_str("[no content]");
        }
        let mut output = ToolOutput::text(text);
        if let Some(structured) = result.structured {
            output = output.with_output(structured);
        }
        if let Some(image) = image {
            output = output.with_image(image);
        }
        if result.is_error {
            output.status = ToolStatus::Failed;
        }
        Ok(output)
    }

    /// The text, or its beginning with the rest in a file.
    fn shortened(&self, context: &ToolContext, text: &str) -> String {
        if text.len() <= MAX_RESULT {
            return text.to_owned();
        }
        let shown = cut(text, MAX_RESULT);
        let whole = (self.server.surroundings.redact)(text);
        let rest = match self.write(context, whole.as_bytes()) {
            Some(path) => format!("the whole result is in {path}"),
            None => "the rest could not be kept".into(),
        };
        format!("{shown}\n[{} of {} bytes; {rest}]", shown.len(), text.len())
    }

    /// Keeps binary content, and says where.
    fn saved(&self, context: &ToolContext, file: &McpResultFile) -> String {
        let size = file.bytes.len();
        match self.write(context, &file.bytes) {
            Some(path) => format!("\n[{}, {size} bytes: {path}]", file.kind),
            None => format!("\n[{}, {size} bytes: could not be kept]", file.kind),
        }
    }

    fn write(&self, context: &ToolContext, bytes: &[u8]) -> Option<String> {
        let mut output = context.outputs.as_ref()?.create().ok()?;
        output.file.write_all(bytes).ok()?;
        Some(output.path.display().to_string())
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
