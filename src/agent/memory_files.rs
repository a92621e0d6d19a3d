//! What the agent does for `/memory` and the `#` line: looks at instruction files, and adds a line to one.
//! Each answer is of the files as they are on disk then, also while a turn runs: that turn goes on with
//! what it began with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::context::{self, InstructionReport, RememberError, RememberLevel};
use crate::domain::{ContentHash, NoticeLevel};
use crate::tools::FileState;

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::memory_request::{MemoryReply, MemoryRequest, MemoryText};
use super::nested_instructions::INSTRUCTION_NOTE;

/// A larger file is neither shown nor added to.
const MAX_BYTES: u64 = 256 << 10;

impl Agent {
    pub(super) async fn memory(&mut self, request: MemoryRequest) {
        let wanted = match request {
            MemoryRequest::Show => None,
            MemoryRequest::Read { path } => Some(path),
            MemoryRequest::Remember { level, typed } => {
                return match self.remember(level, &typed).await {
                    Ok(told) => self.events.notice(NoticeLevel::Info, told),
                    Err(error) => self.error(error),
                };
            }
        };
        let report = self.instruction_report().await;
        let text = match wanted {
            Some(path) if report.files.iter().any(|file| file.path == path) => {
                Some(self.text_of(path).await)
            }
            Some(_) | None => None,
        };
        self.events.send(AgentEvent::Memory(Box::new(MemoryReply { report, text })));
    }

    async fn instruction_report(&self) -> InstructionReport {
        let contexts = self.session.conversation.contexts.keys();
        let noted = contexts.filter_map(|name| name.strip_prefix(INSTRUCTION_NOTE));
        let noted: BTreeSet<String> = noted.map(str::to_owned).collect();
        match self.with_instruction_scope(move |scope| scope.report(&noted)).await {
            Ok(report) => report,
            Err(error) => InstructionReport {
                warnings: vec![format!("The instruction files could not be read: {error}.")],
                ..InstructionReport::default()
            },
        }
    }

    async fn text_of(&self, path: PathBuf) -> MemoryText {
        let text = match self.stored_text(&path).await {
            Ok(Some((text, _))) => Ok(text),
            Ok(None) => {
                Err(format!("{} does not exist yet. Edit the file to create it.", path.display()))
            }
            Err(error) => Err(error),
        };
        MemoryText { path, text }
    }

    /// The text of a file and its hash; `None` without a file. Links are the user's to follow.
    async fn stored_text(&self, path: &Path) -> Result<Option<(String, ContentHash)>, String> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match self.setup.files.read(&real, MAX_BYTES).await {
            Ok(FileState::File(bytes)) => {
                let hash = ContentHash::of(&bytes);
                let text = String::from_utf8(bytes)
                    .map_err(|_| RememberError::NotText(path.to_owned()).to_string())?;
                Ok(Some((text, hash)))
            }
            Ok(FileState::Missing) => Ok(None),
            Ok(FileState::TooBig(_)) => Err(RememberError::TooBig(path.to_owned()).to_string()),
            Ok(FileState::Folder | FileState::Special) => {
                Err(RememberError::NotText(path.to_owned()).to_string())
            }
            Err(error) => Err(format!("{} cannot be read: {error}.", path.display())),
        }
    }

    /// Adds a line to the instructions of a level, and tells where it is now.
    async fn remember(&self, level: RememberLevel, typed: &str) -> Result<String, String> {
        let line = context::remembered_line(typed).map_err(|error| error.to_string())?;
        let place = self.with_instruction_scope(move |scope| scope.remember_place(level)).await;
        let place = place.map_err(|error| format!("The file cannot be found: {error}."))?;
        let path = place.map_err(|error| error.to_string())?.path;
        let before = self.stored_text(&path).await?;
        let (text, hash) = before.map_or((String::new(), None), |(text, hash)| (text, Some(hash)));
        let after = context::with_line(&text, &line);
        let is_new = hash.is_none();
        let written = self.setup.files.write(&path, after.as_bytes(), Some(hash)).await;
        written.map_err(|error| format!("{line:?} is not remembered: {error}. Try it again."))?;
        let (permissions, file) = (self.permissions.clone(), path.clone());
        let kept = blocking(move || permissions.keep_own_text(&file, &after, is_new)).await;
        // The line is there: at worst the next start asks about the folder.
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the trust is not kept"),
            Err(error) => tracing::warn!(%error, "the trust is not kept"),
        }
        let goes_out = self.instructions().await.text.contains(&line);
        let when = match goes_out {
            true => "The model gets it with your next message. /memory shows the file.",
            false => "slug does not send this line to the model yet. /memory says why.",
        };
        Ok(format!("Remembered in {}: {line}\n{when}", self.setup.place.show(&path)))
    }
}
