//! The client of the Model Context Protocol: servers whose tools slug offers to models.
//!
//! `definition` is what files say of a server, `connection` one that runs (`sse` reaches servers of
//! older revisions), `lists` and `call_result` read what servers send without trusting its form, `names`
//! makes the names that models use. `server` is one server of a session with its state, `servers` all of
//! them, `tool` a tool as the gate sees it. `offers` is what servers have besides tools, `requests` asks
//! for it, `resource_tools` and `prompts` give it to models and users, `elicitation` is what a server
//! asks during a call (`rounds`: in the place of an answer), `subscription` hears of changed lists.
//! `store` keeps what the user agreed to, `always_load` takes from it what is in the tools array, and
//! `particulars` is what the user sees before a yes; `secrets` says what of it nobody is shown. `import`
//! reads the definitions of other agents, and `login` logs in to servers that want it.

mod always_load;
mod call_result;
mod callers;
mod connection;
mod definition;
mod elicitation;
mod elicitation_field;
mod flood;
mod heard;
mod http;
mod import;
mod lists;
mod login;
mod names;
mod offers;
mod output;
mod particulars;
mod prompt_line;
mod prompts;
mod requests;
mod resource_tools;
mod rounds;
mod secrets;
mod server;
mod server_login;
mod server_offers;
mod server_pins;
mod servers;
mod sse;
mod store;
mod subscription;
mod tool;
mod value_limit;

pub use always_load::AlwaysLoadedTools;
pub use connection::{McpError, McpPorts};
pub use definition::{
    McpDefinitionSource, McpDefinitions, McpServerDefinition, McpTimeLimits, McpTransport,
};
pub use import::{ImportableServer, McpImportEntry, McpImportFormat, read_import};
pub use lists::McpToolDefinition;
pub use login::{LOGIN_LIMIT, McpLogin, McpLoginError, McpLoginSettings, McpLoginStore};
pub use names::{MCP_PREFIX, model_tool_name};
pub use offers::{McpOffers, McpPrompt, McpPromptArgument, McpResource};
pub use server::{McpServerState, McpServerStatus, McpStartQuestion, McpSurroundings};
pub use servers::McpServers;
pub use store::{McpStore, McpStoreError};
