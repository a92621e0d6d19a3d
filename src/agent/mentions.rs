//! What a message refers to with `@`, as a note that goes with it: the model is told that the
//! person means that file, those lines, that session.
//!
//! The note is made once, when the message is sent, and logged with it, so that a session sends
//! the same bytes ever after. It names and measures; contents are not here, because what the model
//! reads goes through the gate. What is outside of the workspace, or kept from the model by a deny
//! rule, is not read. What does not exist is passed over: not every `@` is a reference.

use std::path::PathBuf;

use crate::context;
use crate::domain::mention::{LineRange, MentionTarget, mentions};
use crate::domain::{ContentBlock, SessionId};
use crate::permissions::PathZone;
use crate::session::SessionMeta;
use crate::tools::FileState;

use super::agent_loop::Agent;

/// Names the note.
const NAME: &str = "mentions";
/// References of one message that are looked at; a pasted log has very many `@`.
const LOOKED_AT: usize = 200;
/// References that are told.
const TOLD: usize = 20;
/// The lines of a longer file are not counted, in bytes.
const COUNTED: u64 = 2 << 20;

/// Whether the note may say what takes a look inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MentionAccess {
    Inside,
    Outside,
    Denied,
}

impl Agent {
    /// The note on what a text refers to; `None` where it refers to nothing that there is.
    pub(super) async fn mention_note(&self, text: &str) -> Option<ContentBlock> {
        let mut named: Vec<MentionTarget> = Vec::new();
        for mention in mentions(text).into_iter().take(LOOKED_AT) {
            if !named.contains(&mention.target) {
                named.push(mention.target);
            }
        }
        let mut lines = Vec::new();
        for name in &named {
            let line = match name {
                MentionTarget::Path { path, lines } => self.mentioned_path_line(path, *lines).await,
                MentionTarget::Session(session) => self.mentioned_session_line(*session).await,
            };
            lines.extend(line);
            if lines.len() == TOLD {
                break;
            }
        }
        if lines.is_empty() {
            return None;
        }
        let text = format!("The user's message refers to:\n{}", lines.join("\n"));
        Some(ContentBlock::Context {
            name: NAME.to_owned(),
            text: context::escape_context_tags(&text),
        })
    }

    async fn mentioned_path_line(&self, path: &str, lines: Option<LineRange>) -> Option<String> {
        let place = &self.setup.place;
        let whole = place.resolve(path);
        let shown = place.show(&whole);
        let (look, real) = self.mention_access(whole).await;
        let limit = if look == MentionAccess::Inside { COUNTED } else { 0 };
        let found = match self.setup.files.read(&real, limit).await {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(%error, "a file that was named cannot be looked at");
                return None;
            }
        };
        let range = lines.map_or_else(String::new, |lines| format!(", {lines}"));
        Some(match (found, look) {
            (FileState::Missing, _) => return None,
            (FileState::Folder, _) => format!("- {shown} (a folder)"),
            (FileState::Special, _) => format!("- {shown} (not a regular file)"),
            (_, MentionAccess::Denied) => {
                format!("- {shown}{range} (a permission rule denies reading it)")
            }
            (FileState::File(_) | FileState::TooBig(_), MentionAccess::Outside) => {
                format!("- {shown}{range} (a file outside of the workspace)")
            }
            (FileState::TooBig(bytes), MentionAccess::Inside) => {
                format!("- {shown}{range} (a file of {bytes} bytes)")
            }
            (FileState::File(bytes), MentionAccess::Inside) => {
                let count = lines_in(&bytes);
                match lines.filter(|lines| lines.last > count) {
                    Some(_) => format!("- {shown}{range} (the file ends at line {count})"),
                    None => format!("- {shown}{range} (a file of {count} lines)"),
                }
            }
        })
    }

    /// Whether a path may be read for the note, and where it really is: links are followed here and
    /// nowhere else, so that none leads out.
    async fn mention_access(&self, path: PathBuf) -> (MentionAccess, PathBuf) {
        let (workspace, powers) = (self.setup.workspace.clone(), self.permissions.clone());
        let cwd = self.setup.place.cwd.clone();
        let named = path.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let resolved = workspace.resolve(&path, &cwd);
            let look = match resolved.zone {
                _ if powers.hides(&resolved.path) || powers.hides(&resolved.real) => {
                    MentionAccess::Denied
                }
                PathZone::Inside => MentionAccess::Inside,
                PathZone::Outside => MentionAccess::Outside,
            };
            (look, resolved.real)
        });
        looked.await.unwrap_or((MentionAccess::Denied, named))
    }

    async fn mentioned_session_line(&self, session: SessionId) -> Option<String> {
        let store = self.setup.store.clone();
        let listed = tokio::task::spawn_blocking(move || store.list()).await.ok()?;
        let metas = match listed {
            Ok(metas) => metas,
            Err(error) => {
                tracing::warn!(%error, "a session that was named cannot be looked up");
                return None;
            }
        };
        metas.into_iter().find(|meta| meta.session_id == session).map(|meta| told(&meta))
    }
}

fn told(meta: &SessionMeta) -> String {
    let session_id = meta.session_id;
    let count = meta.known_message_count();
    let count = count.map_or_else(|| "very many".to_owned(), |count| count.to_string());
    let title = meta.title.as_deref().unwrap_or("untitled");
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = meta.working_directory.display();
    format!(
        "- the past session {session_id}, \"{title}\", {count} messages, in {folder} \
         (`slug sessions show {session_id}` prints it)"
    )
}

fn lines_in(bytes: &[u8]) -> u64 {
    let ends: u64 = bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum();
    ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}
