//! The note on what a message refers to with `@`. It tells the model which file, lines or session
//! the user means.
//!
//! The note is made once, when the message is sent, and logged with it, so that later requests send
//! the same bytes. It holds names and sizes but no contents, because the model reads files only
//! through the gate; resources of servers that the user names are read (`server_content`), those that a
//! project's text names are not. Files outside of the workspace, and files that a deny rule hides, are not
//! read. A reference to nothing that exists is skipped: not every `@` is a reference.

use std::path::PathBuf;

use crate::context;
use crate::domain::mention::{LineRange, MentionTarget, mentions};
use crate::domain::{ContentBlock, SessionId};
use crate::permissions::{PathZone, READ_RULE};
use crate::session::SessionMeta;
use crate::tools::{FileState, READ_RESOURCE_TOOL, ToolContext};

use super::agent_loop::Agent;
use super::server_content::MentionedResources;

/// The name of the context block.
const NAME: &str = "mentions";
/// The most references of one message that are examined; a pasted log can hold thousands of `@`.
const MAX_EXAMINED: usize = 200;
/// The most references that the note lists.
const MAX_LISTED: usize = 20;
/// The largest file whose lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 2 << 20;

/// Who has written a text with references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MentionAuthor {
    User,
    Project,
}

/// Whether the note may hold facts that need a look into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MentionAccess {
    Inside,
    Outside,
    Denied,
}

impl Agent {
    /// What a message refers to: the note, and the resources of servers that it names; nothing when it
    /// refers to nothing that exists.
    pub(super) async fn mention_blocks(
        &self,
        text: &str,
        context: &ToolContext,
    ) -> Vec<ContentBlock> {
        self.mention_blocks_of(MentionAuthor::User, text, context).await
    }

    /// The same for a text of whoever it is.
    pub(super) async fn mention_blocks_of(
        &self,
        author: MentionAuthor,
        text: &str,
        context: &ToolContext,
    ) -> Vec<ContentBlock> {
        let mut named: Vec<MentionTarget> = Vec::new();
        for mention in mentions(text).into_iter().take(MAX_EXAMINED) {
            if !named.contains(&mention.target) {
                named.push(mention.target);
            }
        }
        let (mut lines, mut resources) = (Vec::new(), MentionedResources::default());
        for name in &named {
            let line = match name {
                MentionTarget::Path { path, lines } => self.mentioned_path_line(path, *lines).await,
                MentionTarget::Session(session) => self.mentioned_session_line(*session).await,
                MentionTarget::Resource { server, uri } if author == MentionAuthor::Project => {
                    let named = format!("{server}:{uri}");
                    let line = self.mentioned_path_line(&named, None).await;
                    Some(line.unwrap_or_else(|| {
                        format!(
                            "- {named}, as the text names it (not read, because the user has not named \
                             it; where it is a resource of an MCP server, {READ_RESOURCE_TOOL} reads it)"
                        )
                    }))
                }
                MentionTarget::Resource { server, uri } => {
                    match self.mentioned_resource(&mut resources, server, uri, context).await {
                        Some(line) => Some(line),
                        None => self.mentioned_path_line(&format!("{server}:{uri}"), None).await,
                    }
                }
            };
            lines.extend(line);
            if lines.len() == MAX_LISTED {
                break;
            }
        }
        if lines.is_empty() {
            return Vec::new();
        }
        let text = format!("The user's message refers to:\n{}", lines.join("\n"));
        let text = context::escape_context_tags(&text);
        let note = ContentBlock::Context { name: NAME.to_owned(), text };
        std::iter::once(note).chain(resources.blocks).collect()
    }

    async fn mentioned_path_line(&self, path: &str, lines: Option<LineRange>) -> Option<String> {
        let place = &self.setup.place;
        let whole = place.resolve(path);
        let shown = place.show(&whole);
        let (look, real) = self.mention_access(whole).await;
        let limit = if look == MentionAccess::Inside { MAX_COUNTED_BYTES } else { 0 };
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

    /// Whether a path may be read for the note, and its real path. Links are followed only here, so
    /// that a link cannot lead out of the workspace.
    pub(super) async fn mention_access(&self, path: PathBuf) -> (MentionAccess, PathBuf) {
        let (workspace, permissions) = (self.setup.workspace.clone(), self.permissions.clone());
        let cwd = self.setup.place.cwd.clone();
        let named = path.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let resolved = workspace.resolve(&path, &cwd);
            let look = match resolved.zone {
                _ if [&resolved.path, &resolved.real]
                    .iter()
                    .any(|it| permissions.hides(READ_RULE, it)) =>
                {
                    MentionAccess::Denied
                }
                PathZone::Inside | PathZone::Scratch | PathZone::Readable => MentionAccess::Inside,
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
        metas.into_iter().find(|meta| meta.session_id == session).map(|meta| session_line(&meta))
    }
}

fn session_line(meta: &SessionMeta) -> String {
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
