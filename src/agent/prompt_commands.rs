//! Messages that begin with `/name`, where `name` is a skill or a custom command: its text goes with the
//! message, with its placeholders filled in.
//!
//! Commands in a text go through the gate like calls of the model, since the file may be a project's: what
//! no rule allows is asked about, and without a user refused. One that is refused stops the message. A file
//! is read where the model could read it without a question, inside the workspace; others are only named.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::context::escape_context_tags;
use crate::domain::sanitize::sanitize;
use crate::domain::{
    CallId, CallInput, ContentBlock, Message, MessageRole, NoticeLevel, PermissionOutcome,
    ToolAccess, ToolCall, ToolStatus, pluralise,
};
use crate::permissions::{HookPermission, PermissionQuery, READ_RULE};
use crate::session::{LogEntry, MessageEntry, SHELL_CONTEXT};
use crate::skills::{
    PromptFile, PromptFileKind, PromptFileOrigin, PromptLibrary, PromptPiece, expand,
};
use crate::tools::{FileState, SHELL_TOOL};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::mentions::{MentionAccess, MentionAuthor};
use super::pipeline::execute_beside;
use super::server_content::shown;
use super::session_skills::{PromptTiming, skill_note};

/// The largest file that is put into a text, in bytes.
const MAX_FILE: u64 = 100 << 10;
/// The most bytes of all files of one text.
const MAX_FILES: usize = 400 << 10;

/// How the context notes with the text of a command are named, before the command's own name.
const COMMAND_NOTE: &str = "command:";

impl Agent {
    /// Reads skills and commands, and tells the front end where they have changed.
    pub(super) async fn refresh_prompt_files(&mut self) {
        let places = self.setup.prompt_places.clone();
        let library = match blocking(move || PromptLibrary::read(&places)).await {
            Ok(library) => library,
            Err(error) => return tracing::error!(%error, "skills and commands cannot be read"),
        };
        if *self.skills.library() == library && self.has_told_prompt_files {
            return;
        }
        let library = Arc::new(library);
        let (report, faults) = (library.report(), library.faults());
        self.skills.set_library(library);
        self.has_told_prompt_files = true;
        let text = match &faults[..] {
            [] => None,
            [one] => Some(format!("{one}. /skills shows all skills and commands.")),
            [first, rest @ ..] => Some(format!(
                "{first}. {} about skills and commands: see /skills.",
                pluralise(rest.len(), "more warning")
            )),
        };
        if let Some(text) = text.filter(|text| self.warned.insert(text.clone())) {
            self.events.notice(NoticeLevel::Warning, text);
        }
        self.events.send(AgentEvent::PromptFiles(Box::new(report)));
    }

    /// What a message brings along that begins with `/name`: the text of a skill or command, or else the
    /// prompt of a server; nothing where it begins with none.
    ///
    /// # Errors
    ///
    /// Why the message is not sent; `None` when the user has stopped it.
    pub(super) async fn slash_blocks(
        &mut self,
        text: &str,
        timing: PromptTiming,
        cancel: &CancellationToken,
    ) -> Result<Vec<ContentBlock>, Option<String>> {
        let library = self.skills.library();
        let Some((file, typed)) = library.called(text) else {
            return self.prompt_blocks(text, cancel).await;
        };
        if file.origin == PromptFileOrigin::Project {
            // A project's command takes no name that a server has for a prompt.
            let prompt = self.prompt_blocks(text, cancel).await?;
            if !prompt.is_empty() {
                return Ok(prompt);
            }
        }
        self.called_prompt(file.clone(), typed, timing, cancel).await
    }

    /// The text of a skill or command with what was typed behind its name.
    async fn called_prompt(
        &mut self,
        file: Arc<PromptFile>,
        typed: &str,
        timing: PromptTiming,
        cancel: &CancellationToken,
    ) -> Result<Vec<ContentBlock>, Option<String>> {
        let pieces = expand(&file, typed, &self.skills.variables(&file));
        let runs = pieces.iter().any(|piece| matches!(piece, PromptPiece::Command(_)));
        if runs && timing == PromptTiming::InTurn {
            return Err(Some(format!(
                "/{} runs commands: send it again when this turn is over.",
                file.name
            )));
        }
        self.skills.allow(&file);
        let (mut body, mut named) = (String::new(), Vec::new());
        let mut room = MAX_FILES;
        for piece in pieces {
            match piece {
                PromptPiece::Text(text) => body.push_str(&text),
                PromptPiece::Command(command) => {
                    body.push_str(&self.output_of(&file, &command, cancel).await?);
                }
                PromptPiece::File(path) => match self.content_of(&path, room).await {
                    Some(content) => {
                        room = room.saturating_sub(content.len());
                        body.push_str(&content);
                    }
                    None => {
                        named.push(path.clone());
                        body.push_str(&format!("@{path}"));
                    }
                },
            }
        }
        let body = self.setup.redactor.redact_own(&body).into_owned();
        let source = self.skills.library().shown_source(&file);
        let notice = format!("/{} sends the text of {source}: {}", file.name, shown(&body));
        self.events.notice(NoticeLevel::Info, notice);
        let block = match file.kind {
            PromptFileKind::Skill => {
                let note = skill_note(&file, &body);
                self.skills.add_loaded(&note);
                note
            }
            PromptFileKind::Command(_) => {
                let text = format!("The user calls {source}. Do what it says:\n\n{body}");
                let name = format!("{COMMAND_NOTE}{}", file.name);
                ContentBlock::Context { name, text: escape_context_tags(&text) }
            }
        };
        self.model_of_turn = self.wanted_model(&file, cancel).await;
        let mentions: String = named.iter().map(|path| format!(" @{path}")).collect();
        let gate = self.tool_context(None, cancel.clone());
        let author = match file.origin {
            PromptFileOrigin::Project => MentionAuthor::Project,
            PromptFileOrigin::User | PromptFileOrigin::Shipped => MentionAuthor::User,
        };
        let notes = self.mention_blocks_of(author, &mentions, &gate).await;
        Ok(notes.into_iter().chain([block]).collect())
    }

    /// The model that a file wants, if the server has it; else the user is told.
    async fn wanted_model(
        &mut self,
        file: &PromptFile,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let wanted = file.model.as_ref()?;
        if self.model.as_ref() == Some(wanted) {
            return None;
        }
        if !self.models.has(wanted) {
            // Right after the start the list may be on its way.
            self.wait_for_models(cancel).await;
        }
        if self.models.has(wanted) {
            return Some(wanted.clone());
        }
        let text = format!(
            "/{} asks for the model {wanted}, which this provider does not list: the present one answers.",
            file.name
        );
        self.events.notice(NoticeLevel::Info, text);
        None
    }

    /// The output of a command in a text.
    async fn output_of(
        &mut self,
        file: &PromptFile,
        command: &str,
        cancel: &CancellationToken,
    ) -> Result<String, Option<String>> {
        let turn = self.session.last_turn();
        let gate = self.gate(turn).map_err(Some)?;
        let call = ToolCall {
            id: CallId::generate(),
            name: SHELL_TOOL.to_owned(),
            input: CallInput::Valid(json!({"command": command})),
        };
        let stopped = gate.context.cancel.clone();
        let ended = self.run_beside_commands(&gate, execute_beside(&gate, &call)).await;
        let has_run = !ended.elapsed.is_zero();
        if has_run {
            // Ends the pane; the output itself goes with the message.
            let text = format!("$ {command}\n(The output is in the text of /{}.)", file.name);
            let block = ContentBlock::Context {
                name: SHELL_CONTEXT.to_owned(),
                text: escape_context_tags(&text),
            };
            let entry = MessageEntry {
                result: Some(ended.info(SHELL_TOOL)),
                ..MessageEntry::new(Message { role: MessageRole::User, content: vec![block] })
            };
            gate.journal.write_end(turn, LogEntry::Message(entry)).await;
            self.session.catch_up();
        }
        if cancel.is_cancelled() || stopped.is_cancelled() {
            return Err(None);
        }
        let output = ended.output;
        match output.status {
            ToolStatus::Cancelled => Err(None),
            ToolStatus::Denied => Err(Some(format!(
                "/{} is not sent, since its command `{command}` was refused. {}",
                file.name, output.observation
            ))),
            ToolStatus::Failed if !has_run => Err(Some(format!(
                "/{} is not sent, since its command `{command}` could not be run. {}",
                file.name, output.observation
            ))),
            ToolStatus::Done | ToolStatus::Failed => {
                Ok(sanitize(output.observation.trim_end()).into_owned())
            }
        }
    }

    /// The content of a file that a text names; `None` where it is only named.
    async fn content_of(&self, path: &str, room: usize) -> Option<String> {
        let place = &self.setup.place;
        let (access, real) = self.mention_access(place.resolve(path)).await;
        if access != MentionAccess::Inside || !self.reads_unasked(place.resolve(path)).await {
            return None;
        }
        let FileState::File(bytes) = self.setup.files.read(&real, MAX_FILE).await.ok()? else {
            return None;
        };
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() <= room)?;
        (!text.contains('\0'))
            .then(|| format!("Content of {path}:\n{}\n", sanitize(text.trim_end())))
    }

    /// Whether the model could read this file without a question.
    async fn reads_unasked(&self, path: PathBuf) -> bool {
        let (workspace, permissions) = (self.setup.workspace.clone(), self.permissions.clone());
        let decided = blocking(move || {
            let query = PermissionQuery::resolve(READ_RULE, &[ToolAccess::Read(path)], &workspace);
            permissions.decide(&query, &HookPermission::Nothing).0.outcome()
        });
        decided.await.is_ok_and(|outcome| outcome == PermissionOutcome::Allow)
    }
}
