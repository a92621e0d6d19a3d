//! The definitions of a server's tools as the user has accepted them: what has changed since waits, and
//! the tools of a server that is always loaded are known before it has started.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::connection::McpError;
use super::definition::{McpDefinitionSource, McpServerDefinition};
use super::lists::McpToolDefinition;
use super::secrets;
use super::server::{McpServer, McpSurroundings, ServerFacts};

impl McpServer {
    /// Keeps the definitions of tools that are seen for the first time, and returns the names of those
    /// that have changed since.
    ///
    /// # Errors
    ///
    /// When they cannot be compared with what was seen first; a sentence.
    pub(super) async fn pin(&self, tools: &[McpToolDefinition]) -> Result<Vec<String>, String> {
        let (store, definition) = (self.surroundings.store.clone(), self.definition.clone());
        let tools = tools.to_vec();
        let pinned = spawn_blocking(move || store.pin(&definition, &tools)).await;
        pinned.map_err(|it| it.to_string())?.map_err(|it| it.to_string())
    }

    /// Accepts the definitions of tools as they were shown.
    pub(super) async fn accept(&self, shown: Vec<McpToolDefinition>) -> Result<(), String> {
        let (store, definition) = (self.surroundings.store.clone(), self.definition.clone());
        let tools = shown.clone();
        let accepted = spawn_blocking(move || store.accept(&definition, &tools)).await;
        accepted.map_err(|it| it.to_string())?.map_err(|it| it.to_string())?;
        {
            let mut facts = self.facts();
            // What the server has changed again in the meantime was not shown.
            let ServerFacts { tools, changed_tools, .. } = &mut *facts;
            changed_tools.retain(|name| {
                let now = tools.iter().find(|tool| tool.name == *name);
                !now.is_some_and(|tool| shown.contains(tool))
            });
        }
        (self.on_change)();
        Ok(())
    }

    /// Fails where the definition of a tool has changed since the user last saw it.
    pub(super) fn check_unchanged(&self, tool: &str) -> Result<(), McpError> {
        match self.facts().changed_tools.iter().any(|changed| changed == tool) {
            true => Err(McpError::DefinitionChanged(self.definition.name.clone())),
            false => Ok(()),
        }
    }

    /// The tools that can be called: those of an earlier run until the server has told its own.
    pub(super) fn callable_tools(&self) -> Arc<[McpToolDefinition]> {
        let facts = self.facts();
        match &self.earlier {
            Some(earlier) if !facts.has_listed => earlier.clone(),
            Some(_) | None => facts.tools.clone(),
        }
    }
}

/// The definitions that were accepted in an earlier run, of a server that is always loaded and may start;
/// `None` of others. Without definitions its tools are deferred, so an error, which the start of the server
/// tells, leaves none. Blocks.
pub(super) fn earlier_pins(
    definition: &McpServerDefinition,
    surroundings: &McpSurroundings,
) -> Option<Arc<[McpToolDefinition]>> {
    let McpSurroundings { store, folder, redactor, lookup, .. } = surroundings;
    if !definition.always_load || !definition.is_enabled {
        return None;
    }
    let may_start = match definition.source {
        McpDefinitionSource::User => true,
        McpDefinitionSource::Project => matches!(store.is_allowed(folder, definition), Ok(true)),
    };
    may_start.then(|| {
        // Older versions kept definitions as the server sent them.
        secrets::learn(redactor, definition, &**lookup);
        let mut tools = store.pinned(definition).unwrap_or_default();
        for tool in &mut tools {
            tool.description = redactor.redact_own(&tool.description).into_owned();
            tool.input_schema = redactor.redact_own_json(tool.input_schema.take());
        }
        tools.into()
    })
}
