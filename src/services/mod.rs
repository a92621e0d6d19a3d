//! What an interactive front end needs besides the agent: past sessions, stored content, hooks, MCP
//! servers and the connecting of models. Requests and answers are plain data; the work reads files and
//! asks servers, so it runs on a thread that may block.

pub mod branch_text;
pub mod connect;
pub mod explanation;
pub mod hook_admin;
pub mod lsp_admin;
pub mod mcp_admin;
pub mod server_address;
pub mod server_search;
pub mod session_changes;
pub mod session_service;
pub mod sessions;
pub mod store_query;
pub mod store_query_service;
pub mod text_document;
