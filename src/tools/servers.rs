//! What servers offer besides tools, as far as the agent knows of it: the tool that reads a resource, and
//! prompts, which `mcp` implements and tests replace.

use async_trait::async_trait;
use serde_json::Value;

use super::ToolContext;
use crate::domain::ToolOutput;

/// The tool that reads a resource of a server: `{server, uri}`. There is none where no server has any.
pub const READ_RESOURCE_TOOL: &str = "ReadMcpResource";

/// What a call of [`READ_RESOURCE_TOOL`] is about, as a mention writes it.
pub fn resource_title(input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}:{}", text("server"), text("uri"))
}

/// Has servers fill in their prompts, which a message of the user's begins with.
#[async_trait]
pub trait ServerPrompts: Send + Sync {
    /// Has the server fill in the prompt that a line `/server:prompt arguments` names; `None` where the
    /// line begins with the name of no server.
    async fn fill(&self, line: &str, context: &ToolContext)
    -> Option<Result<FilledPrompt, String>>;
}

/// A prompt that its server has filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct FilledPrompt {
    /// The server's name.
    pub server: String,
    /// The prompt's name on the server.
    pub prompt: String,
    /// Its messages, bounded as a call's result is.
    pub output: ToolOutput,
}

/// For agents without servers: no line names a prompt.
#[derive(Debug)]
pub struct NoServerPrompts;

#[async_trait]
impl ServerPrompts for NoServerPrompts {
    async fn fill(&self, _: &str, _: &ToolContext) -> Option<Result<FilledPrompt, String>> {
        None
    }
}
