//! What a front end asks of the MCP servers.

use crate::domain::ContentHash;
use crate::mcp::McpToolDefinition;

/// A request to the service of the MCP servers, with the name of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpAdminRequest {
    /// End the server and start it anew.
    Restart(String),
    /// Begin a login to the server: its status then has the address for the user.
    LogIn(String),
    /// Let a server of the project start as it was shown, which this is the hash of.
    Allow(String, ContentHash),
    /// Accept these changed definitions, which were shown.
    Accept(String, Vec<McpToolDefinition>),
}
