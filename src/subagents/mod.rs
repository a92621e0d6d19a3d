//! The types of agents that a model can start: those that are part of slug, and those that files of the
//! user and of a trusted project define.
//!
//! What an agent may do is decided in `agent::children` and by the gate; a type can only narrow it.

mod built_in;
mod codex_file;
mod definition;
mod files;
mod markdown_file;
mod opencode_permission;
#[cfg(test)]
mod tests;

pub use definition::{SubagentType, SubagentTypes, ToolSelection};
pub use files::{
    FoundSubagents, SubagentPlaces, project_agent_files, read_subagents, summary_line,
};
