//! Language servers: programs that know what is in code and what is wrong with it.
//!
//! `definition` is what configurations say of a server, `table` the servers that slug knows by itself,
//! `root` the folder that one works in. `framing` and `connection` are the protocol, `session` is a running
//! server with the files that it has (`documents`) and what it says unasked (`server_state`, `diagnostic`).
//! `slot` starts one for a root and ends it when it is idle, `servers` are all of a session, `status` is
//! what is known of them, `survey` what a folder would have. `queries` asks
//! about code, `edits` reads what a rename would change, `changes` what is new after a change.
//!
//! Servers start only in a folder that the user trusts, when they are first needed, through slug's
//! supervisor and inside the sandbox where one is in force. Nothing is downloaded, and no program of the
//! folder itself is started. No server changes a file: what it would change the tool shows and applies.

mod changes;
mod connection;
mod definition;
mod diagnostic;
mod documents;
mod edits;
mod file_uri;
mod framing;
mod position;
mod queries;
mod root;
mod server_state;
mod servers;
#[cfg(test)]
mod servers_tests;
mod session;
mod slot;
mod status;
mod survey;
mod table;
#[cfg(test)]
mod testing;

pub use definition::{
    LspDefinitionSource, LspDefinitions, LspServerDefinition, lsp_project_particulars,
};
pub use servers::LspServers;
pub use slot::LspPorts;
pub use status::{LspFileCounts, LspServerPhase, LspServerStatus};
pub use survey::{LspInstallState, LspSurveyRow, survey_servers};
