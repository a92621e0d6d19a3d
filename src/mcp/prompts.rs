//! Filling in the prompts of a session's servers.

use std::sync::Arc;

use async_trait::async_trait;

use crate::tools::{FilledPrompt, ServerPrompts, ToolContext};

use super::connection::McpError;
use super::names::model_server_name;
use super::output::tool_output;
use super::server::McpServer;
use super::servers::McpServers;

/// The most names of prompts in a sentence.
const MAX_NAMED: usize = 20;

#[async_trait]
impl ServerPrompts for McpServers {
    async fn fill(
        &self,
        line: &str,
        context: &ToolContext,
    ) -> Option<Result<FilledPrompt, String>> {
        let line = line.strip_prefix('/')?;
        let (command, written) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (server, prompt) = command.split_once(':')?;
        let server =
            self.all().iter().find(|it| model_server_name(&it.definition.name) == server)?;
        Some(fill(server, prompt, written, context).await)
    }
}

async fn fill(
    server: &Arc<McpServer>,
    typed: &str,
    written: &str,
    context: &ToolContext,
) -> Result<FilledPrompt, String> {
    let name = &server.definition.name;
    let said = |error: McpError| format!("The MCP server {name}: {error}");
    // It may just be starting, so its state says nothing yet.
    server.connected().await.map_err(said)?;
    let offers = server.offers(&context.cancel).await.map_err(said)?;
    let Some(prompt) = offers.prompts.iter().find(|it| it.typed == typed) else {
        let named = offers.prompts.iter().take(MAX_NAMED).map(|it| it.command(name));
        let named: Vec<String> = named.map(|command| format!("/{command}")).collect();
        return Err(match named.is_empty() {
            true => format!("The MCP server {name} has no prompts."),
            false => format!(
                "The MCP server {name} has no prompt {typed:?}. It has {}.",
                named.join(", ")
            ),
        });
    };
    let values = prompt.read_arguments(written);
    let values = values.map_err(|why| format!("/{}: {why}", prompt.command(name)))?;
    if let Some(complaint) = prompt.complaint(name, &values) {
        return Err(complaint);
    }
    let filled = server.prompt(&prompt.name, &values, &context.cancel).await.map_err(said)?;
    let redact = &server.surroundings.redactor;
    let output = tool_output(context, redact, &prompt.typed, filled).await;
    Ok(FilledPrompt { server: name.clone(), prompt: prompt.name.clone(), output })
}
