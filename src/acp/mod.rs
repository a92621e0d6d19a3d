//! Front end: `slug acp`, slug as an agent of the Agent Client Protocol, version 1, for editors.
//!
//! An editor starts slug, and both write one JSON-RPC message a line. `stdio` has the two streams,
//! `message` takes a line apart, `connection` is the way to the editor, `server` answers what belongs to no
//! session, and `session` is one open session with an agent of its own. `events` is the only place that
//! knows how what an agent tells becomes the protocol's; `transcript` uses it for a log. `approval` and
//! `questions` ask the user through the editor, `prompt` reads what the user sends, `settings` has modes
//! and configuration options, `commands` the slash commands, `buffers` the text of open files.
//!
//! Nothing but protocol reaches standard output. Nothing runs that the user has not answered: a question
//! without an answer is a no. How an agent is put together is `launch`'s ([`AcpHost`]).

mod approval;
mod buffers;
mod capabilities;
mod commands;
mod connection;
mod diffs;
mod events;
mod host;
mod message;
mod prompt;
mod questions;
mod server;
mod servers;
mod session;
mod settings;
mod stdio;
mod tool_calls;
mod transcript;

pub use buffers::EditorFiles;
pub use connection::EditorConnection;
pub use host::{AcpAgent, AcpHost, AcpOpenError, AcpOpening};
pub use server::serve;
pub use stdio::{AcpLine, AcpStreams};
