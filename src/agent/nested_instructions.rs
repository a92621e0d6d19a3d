//! The notes with instructions for the part of the project that work has come to: each once, and again
//! after a compaction has taken it out and work touches that part again.

use std::path::{Path, PathBuf};

use crate::context::{self, InstructionScope, NestedInstructions};
use crate::domain::{
    CallInput, ContentBlock, Message, MessageRole, NoticeLevel, ToolAccess, TurnId,
};
use crate::permissions::READ_RULE;
use crate::session::{LogEntry, MessageEntry, StoreError};

use super::agent_loop::Agent;
use super::blocking::blocking;

/// How the notes are named, before the path of the file.
pub(super) const INSTRUCTION_NOTE: &str = "instructions:";

impl Agent {
    /// Tells the model what holds for the files that its last calls have touched.
    pub(super) async fn tell_nested_instructions(&mut self, turn: TurnId) {
        let touched = self.touched_last();
        if touched.is_empty() || self.setup.instruction_folders.is_empty() {
            return;
        }
        let found = match self.with_instruction_scope(move |scope| scope.nested(&touched)).await {
            Ok(found) => found,
            Err(error) => {
                return self.error(format!("Instructions of a folder cannot be read: {error}."));
            }
        };
        let mut content = Vec::new();
        for instructions in found {
            for warning in &instructions.warnings {
                if self.warned.insert(warning.clone()) {
                    self.events.notice(NoticeLevel::Warning, warning.clone());
                }
            }
            let (name, text) = note(&instructions);
            if !text.is_empty() && self.session.conversation.contexts.get(&name) != Some(&text) {
                content.push(ContentBlock::Context { name, text });
            }
        }
        if !content.is_empty() {
            let message = Message { role: MessageRole::User, content };
            self.session.write(turn, LogEntry::Message(MessageEntry::new(message))).await;
        }
    }

    /// Looks at the instruction files, off the async threads.
    ///
    /// # Errors
    ///
    /// When the work panics.
    pub(super) async fn with_instruction_scope<T: Send + 'static>(
        &self,
        look: impl FnOnce(&InstructionScope<'_>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (home, project) = (self.setup.home.clone(), self.setup.instruction_folders.clone());
        let permissions = self.permissions.clone();
        blocking(move || {
            let hides = |path: &Path| permissions.hides(READ_RULE, path);
            look(&InstructionScope { home: &home, project: &project, hides: &hides })
        })
        .await
    }

    /// The files and folders that the calls of the last answer read or changed.
    fn touched_last(&self) -> Vec<PathBuf> {
        let messages = self.session.conversation.messages.iter().rev();
        let mut answers = messages.filter(|(_, message)| message.role == MessageRole::Assistant);
        let calls = answers.next().into_iter().flat_map(|(_, message)| message.calls());
        let mut touched = Vec::new();
        for call in calls {
            let call = call.inner();
            let CallInput::Valid(input) = &call.input else { continue };
            let tool = self.setup.registry.get(&call.name);
            let accesses = tool.map(|tool| tool.access(input, &self.setup.place));
            let accesses = accesses.into_iter().flatten().flatten().collect::<Vec<_>>();
            let paths = accesses.iter().filter_map(ToolAccess::path);
            touched.extend(paths.map(Path::to_owned));
        }
        touched
    }
}

/// The note's name and text. A name of a folder cannot end the tag that the name stands in.
fn note(instructions: &NestedInstructions) -> (String, String) {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '-' | '_' | ' ');
    let file: String =
        instructions.file.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let text = context::escape_context_tags(&instructions.text);
    (format!("{INSTRUCTION_NOTE}{file}"), text)
}
