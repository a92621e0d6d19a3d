//! Files whose unsaved text comes from the editor.
//!
//! A file is read from the disk first: the gate, the deny rules and every check of a read are about that.
//! Only a text that the editor has and that is not the one on disk takes its place. slug never writes to
//! a file with unsaved changes: the editor and slug would overwrite each other.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ReadTextFileRequest, ReadTextFileResponse, SessionId,
};
use async_trait::async_trait;

use crate::domain::ContentHash;
use crate::tools::{FileError, FileState, Files, FolderItem, WriteReport};

use super::connection::EditorConnection;

/// How long the editor may take; then the text on disk counts.
const EDITOR_LIMIT: Duration = Duration::from_secs(2);

/// The files on disk, with the editor's text of those that it has open.
pub struct EditorFiles {
    disk: Arc<dyn Files>,
    editor: EditorConnection,
    session: Arc<OnceLock<SessionId>>,
}

impl EditorFiles {
    pub(super) fn new(
        disk: Arc<dyn Files>,
        editor: EditorConnection,
        session: Arc<OnceLock<SessionId>>,
    ) -> Self {
        Self { disk, editor, session }
    }

    /// The editor's text of a file, where it is not the one on disk.
    async fn unsaved(&self, path: &Path, on_disk: &[u8]) -> Option<Vec<u8>> {
        let session = self.session.get()?.clone();
        let on_disk = std::str::from_utf8(on_disk).ok().filter(|text| !text.contains('\0'))?;
        let params = ReadTextFileRequest::new(session, path);
        let request = self.editor.request(CLIENT_METHOD_NAMES.fs_read_text_file, params).await;
        let reply = tokio::time::timeout(EDITOR_LIMIT, request.answer()).await.ok()?.ok()?;
        let text = serde_json::from_value::<ReadTextFileResponse>(reply).ok()?.content;
        // Editors differ in the line ends and the mark at the beginning that they give.
        (plain(&text) != plain(on_disk)).then(|| text.into_bytes())
    }
}

fn plain(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

#[async_trait]
impl Files for EditorFiles {
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError> {
        let state = self.disk.read(path, limit).await?;
        let FileState::File(bytes) = &state else { return Ok(state) };
        Ok(match self.unsaved(path, bytes).await {
            Some(text) if text.len() as u64 > limit => FileState::TooBig(text.len() as u64),
            Some(text) => FileState::File(text),
            None => state,
        })
    }

    async fn write(
        &self,
        file: &Path,
        content: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError> {
        let on_disk = self.disk.read(file, u64::MAX).await;
        if let Ok(FileState::File(on_disk)) = on_disk
            && self.unsaved(file, &on_disk).await.is_some()
        {
            let source = io::Error::other(
                "it has unsaved changes in the editor. Ask the user to save it, then repeat the call",
            );
            return Err(FileError::Io { doing: "write", path: file.to_owned(), source });
        }
        self.disk.write(file, content, expected).await
    }

    fn open(&self, file: &Path) -> Result<Option<File>, FileError> {
        self.disk.open(file)
    }

    async fn list(&self, path: &Path, limit: usize) -> Result<(Vec<FolderItem>, u64), FileError> {
        self.disk.list(path, limit).await
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        self.disk.modified(path)
    }
}
