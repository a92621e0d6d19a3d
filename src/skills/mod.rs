//! Skills in the open SKILL.md format and custom commands: reading them leniently, who is called by a
//! name, the list for the model, and filling in placeholders.
//!
//! Nothing here runs or asks anything, and what a file wants allowed is only reported: whether it is
//! allowed, and what runs, is up to the agent and its gate.

mod expansion;
mod frontmatter;
mod library;
mod places;
mod prompt_file;
mod shipped;

#[cfg(test)]
mod tests;

pub use expansion::{PromptPiece, PromptVariables, commands_in, expand, split_arguments};
pub use frontmatter::{PromptFileProblem, PromptFrontmatter};
pub use library::{PromptFileRow, PromptLibrary, PromptLibraryReport};
pub use places::{PromptPlaces, project_prompt_files, skill_resources};
pub use prompt_file::{PromptDialect, PromptFile, PromptFileKind, PromptFileOrigin};
