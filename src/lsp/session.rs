//! One running server: its start, the files that it knows, and what it finds in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::disk::read_text;
use crate::platform::server_program::ServerProgram;

use super::connection::{LspConnection, LspError, lsp_text};
use super::diagnostic::LspDiagnostic;
use super::documents::{DocumentStamp, DocumentStep, OpenDocuments};
use super::file_uri::file_uri;
use super::position::LspEncoding;
use super::server_state::{LspServerState, folder_name};

/// The largest file that servers are told of, in bytes.
pub(super) const MAX_TEXT: u64 = 2 << 20;

/// How long nothing more has to come after findings that do not say which text they are about.
const QUIET: Duration = Duration::from_millis(150);

/// The longest wait for that where files other than the changed ones are looked at.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);

/// In so many files besides the changed ones findings are compared, and the time for each.
const MAX_ELSEWHERE: usize = 10;

/// The most characters of the name and the version that a server tells.
const MAX_IMPLEMENTATION: usize = 80;
const ELSEWHERE_LIMIT: Duration = Duration::from_secs(2);

/// How long a server may take to say good-bye.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// How long a server may take for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// How long a request for findings may take.
const PULL_LIMIT: Duration = Duration::from_secs(30);

/// What a file's events are called in `workspace/didChangeWatchedFiles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LspFileEvent {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

/// A running server. Dropping it ends its program.
pub(super) struct LspSession {
    pub(super) connection: LspConnection,
    pub(super) state: Arc<LspServerState>,
    pub(super) capabilities: Value,
    /// The name and the version that the server has told of itself; empty for neither.
    pub(super) implementation: String,
    pub(super) encoding: LspEncoding,
    documents: tokio::sync::Mutex<OpenDocuments>,
    /// Held from a change until its findings are there, so that two changes are not mixed up.
    pub(super) checking: tokio::sync::Mutex<()>,
    is_warm: AtomicBool,
    last_use: Mutex<Instant>,
    _program: Option<ServerProgram>,
}

/// What a server is told at its start.
pub(super) struct LspStart<'a> {
    pub(super) root: &'a Path,
    pub(super) settings: Value,
    /// `initializationOptions`; null for none.
    pub(super) initialization: Value,
    pub(super) limit: Duration,
}

/// A text that a server has been told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LspSynced {
    version: i64,
    /// The serial of the findings in the file before the server was told.
    serial: u64,
    /// The server has had this text before.
    is_known: bool,
}

impl LspSession {
    /// Begins with a server that has just started.
    ///
    /// # Errors
    ///
    /// When it ends, refuses, or does not answer within the limit.
    pub(super) async fn start(
        start: LspStart<'_>,
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        program: Option<ServerProgram>,
    ) -> Result<Self, LspError> {
        let has_settings = !start.settings.is_null();
        let settings = start.settings.clone();
        let state = Arc::new(LspServerState::new(start.root, start.settings));
        let connection = LspConnection::new(output, input, state.clone());
        let params = initialize_params(start.root, &start.initialization);
        let answer = connection.request("initialize", Some(params), start.limit).await?;
        let capabilities = answer.get("capabilities").cloned().unwrap_or_default();
        connection.notify("initialized", json!({})).await?;
        if has_settings {
            let params = json!({"settings": settings});
            connection.notify("workspace/didChangeConfiguration", params).await?;
        }
        Ok(Self {
            connection,
            state,
            encoding: LspEncoding::of(&capabilities),
            capabilities,
            implementation: implementation(&answer),
            documents: tokio::sync::Mutex::default(),
            checking: tokio::sync::Mutex::default(),
            is_warm: AtomicBool::new(false),
            last_use: Mutex::new(Instant::now()),
            _program: program,
        })
    }

    /// Whether the server offers what `provider` is the capability of.
    pub(super) fn offers(&self, provider: &str) -> bool {
        match self.capabilities.get(provider) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(_) => true,
        }
    }

    /// Asks the server.
    ///
    /// # Errors
    ///
    /// When the server has ended, refuses, or does not answer in time.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, LspError> {
        self.connection.request(method, Some(params), ANSWER_LIMIT).await
    }

    /// Whether the server has found something, or nothing, in any file so far.
    pub(super) fn is_warm(&self) -> bool {
        self.is_warm.load(Ordering::Acquire)
    }

    /// Notes that the server is used now.
    pub(super) fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When the server was last used.
    pub(super) fn last_use(&self) -> Instant {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text that the server has of an open file.
    pub(super) async fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.documents.lock().await.get(path).map(|it| it.text.clone())
    }

    /// The version and the text that the server has of an open file.
    pub(super) async fn document(&self, path: &Path) -> Option<(i64, Arc<str>)> {
        self.documents.lock().await.get(path).map(|it| (it.version, it.text.clone()))
    }

    /// Tells the server what is in a file. `event` is what has happened to it on the disk; `None` where
    /// nothing is known to have.
    ///
    /// # Errors
    ///
    /// When the server has ended.
    pub(super) async fn sync(
        &self,
        (path, language): (&Path, &str),
        text: &str,
        event: Option<LspFileEvent>,
    ) -> Result<LspSynced, LspError> {
        self.touch();
        let mut documents = self.documents.lock().await;
        let (step, version) = documents.set(path, text, self.state.published(path).serial);
        let serial = documents.get(path).map_or(0, |it| it.serial);
        let uri = file_uri(path);
        match &step {
            DocumentStep::None => return Ok(LspSynced { version, serial, is_known: true }),
            DocumentStep::Open { close } => {
                for path in close {
                    self.close(path).await?;
                }
                self.state.open(path);
                let document =
                    json!({"uri": uri, "languageId": language, "version": version, "text": text});
                self.notify("textDocument/didOpen", json!({"textDocument": document})).await?;
            }
            DocumentStep::Change => {
                let params = json!({
                    "textDocument": {"uri": uri, "version": version},
                    "contentChanges": [{"text": text}],
                });
                self.notify("textDocument/didChange", params).await?;
            }
        }
        if let Some(event) = event {
            self.watched(path, event).await?;
            let mut saved = json!({"textDocument": {"uri": uri}});
            let sync = self.capabilities.get("textDocumentSync");
            let save = sync.and_then(|it| it.get("save")).and_then(|it| it.get("includeText"));
            if save == Some(&Value::Bool(true)) {
                saved["text"] = text.into();
            }
            self.notify("textDocument/didSave", saved).await?;
        }
        Ok(LspSynced { version, serial, is_known: false })
    }

    /// Tells the server what commands have changed in the open files since it was told last.
    ///
    /// # Errors
    ///
    /// When the server has ended.
    pub(super) async fn sync_open(&self) -> Result<(), LspError> {
        let stamps = self.documents.lock().await.stamps();
        let looking = tokio::task::spawn_blocking(move || stamps.into_iter().filter_map(look));
        let Ok(changed) = looking.await else { return Ok(()) };
        for (path, found) in changed {
            if self.text(&path).await.is_none() {
                // Closed meanwhile.
                continue;
            }
            match found {
                Some((stamp, text)) => {
                    self.sync((&path, ""), &text, Some(LspFileEvent::Changed)).await?;
                    self.documents.lock().await.set_stamp(&path, Some(stamp));
                }
                None => {
                    if self.documents.lock().await.remove(&path) {
                        self.close(&path).await?;
                        self.watched(&path, LspFileEvent::Deleted).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What the server finds in a file whose text it has been told; `None` where it does not say within
    /// `limit`.
    pub(super) async fn findings(
        &self,
        path: &Path,
        synced: LspSynced,
        limit: Duration,
    ) -> Option<Arc<[LspDiagnostic]>> {
        let found = if self.offers("diagnosticProvider") {
            self.pulled(path, limit.min(PULL_LIMIT)).await
        } else {
            tokio::time::timeout(limit, self.pushed(path, synced)).await.ok()
        };
        self.touch();
        if found.is_some() {
            self.is_warm.store(true, Ordering::Release);
        }
        found
    }

    /// What the server finds now in the files that are open besides `except`, the last used first, at most
    /// [`MAX_ELSEWHERE`].
    pub(super) async fn findings_elsewhere(
        &self,
        except: &[&Path],
    ) -> BTreeMap<PathBuf, Arc<[LspDiagnostic]>> {
        let mut open = self.documents.lock().await.by_last_use();
        open.retain(|path| !except.contains(&path.as_path()));
        open.truncate(MAX_ELSEWHERE);
        let mut all = BTreeMap::new();
        for path in open {
            let found = match self.offers("diagnosticProvider") {
                true => self.pulled(&path, ELSEWHERE_LIMIT).await,
                false => {
                    Some(self.state.published(&path)).filter(|it| it.serial > 0).map(|it| it.items)
                }
            };
            all.extend(found.map(|found| (path, found)));
        }
        all
    }

    /// Waits until a server that tells its findings unasked has told nothing for a moment.
    pub(super) async fn settle(&self) {
        if self.offers("diagnosticProvider") {
            return;
        }
        let mut news = self.state.follow();
        let quiet =
            async { while let Ok(Ok(())) = tokio::time::timeout(QUIET, news.changed()).await {} };
        let _ = tokio::time::timeout(SETTLE_LIMIT, quiet).await;
    }

    async fn pulled(&self, path: &Path, limit: Duration) -> Option<Arc<[LspDiagnostic]>> {
        let mut params = json!({"textDocument": {"uri": file_uri(path)}});
        let provider = self.capabilities.get("diagnosticProvider");
        if let Some(identifier) =
            provider.and_then(|it| it.get("identifier")).filter(|it| it.is_string())
        {
            params["identifier"] = identifier.clone();
        }
        let asked = self.connection.request("textDocument/diagnostic", Some(params), limit).await;
        let answer = asked.ok()?;
        let mut items = LspDiagnostic::read_list(answer.get("items").unwrap_or(&Value::Null));
        // What such a server sends unasked comes from other programs, such as a build.
        for pushed in &*self.state.published(path).items {
            if !items.contains(pushed) {
                items.push(pushed.clone());
            }
        }
        Some(items.into())
    }

    /// Waits for the findings in a text.
    async fn pushed(&self, path: &Path, synced: LspSynced) -> Arc<[LspDiagnostic]> {
        let mut news = self.state.follow();
        loop {
            let published = self.state.published(path);
            let is_there = published.serial > 0;
            let is_of_text = match published.version {
                Some(version) => is_there && version >= synced.version,
                None => published.serial > synced.serial,
            };
            if is_of_text && (published.version.is_some() || synced.is_known) {
                return published.items;
            }
            if is_of_text {
                // More may come for the same text.
                while let Ok(Ok(())) = tokio::time::timeout(QUIET, news.changed()).await {}
                return self.state.published(path).items;
            }
            if news.changed().await.is_err() {
                return published.items;
            }
        }
    }

    /// Says good-bye to the server, which gets a moment to end by itself.
    pub(super) async fn stop(&self) {
        // A server that does not answer is ended all the same.
        let _ = self.connection.request("shutdown", None, SHUTDOWN_LIMIT).await;
        let exit = json!({"jsonrpc": "2.0", "method": "exit"});
        let _ = self.connection.send(&exit).await;
        let _ = tokio::time::timeout(SHUTDOWN_LIMIT, self.connection.closed()).await;
    }

    async fn close(&self, path: &Path) -> Result<(), LspError> {
        self.state.close(path);
        let params = json!({"textDocument": {"uri": file_uri(path)}});
        self.notify("textDocument/didClose", params).await
    }

    async fn watched(&self, path: &Path, event: LspFileEvent) -> Result<(), LspError> {
        let changes = json!({"changes": [{"uri": file_uri(path), "type": event as u8}]});
        self.notify("workspace/didChangeWatchedFiles", changes).await
    }

    async fn notify(&self, method: &str, params: Value) -> Result<(), LspError> {
        self.connection.notify(method, params).await
    }
}

/// What has become of an open file; `None` where it has not changed since `stamp`. The text is `None` where
/// there is no text file any more.
type FileLook = (PathBuf, Option<(DocumentStamp, String)>);

fn look((path, stamp): (PathBuf, Option<DocumentStamp>)) -> Option<FileLook> {
    let data = std::fs::metadata(&path).ok();
    let now = data.and_then(|data| Some((data.modified().ok()?, data.len())));
    if stamp.is_some() && now == stamp {
        return None;
    }
    let text = now.filter(|(_, length)| *length <= MAX_TEXT).and_then(|stamp| {
        let text = read_text(&path, MAX_TEXT).ok()??;
        Some((stamp, text))
    });
    Some((path, text))
}

fn implementation(answer: &Value) -> String {
    let text = |key: &str| answer.get("serverInfo")?.get(key)?.as_str();
    let words: Vec<&str> = ["name", "version"].into_iter().filter_map(text).collect();
    lsp_text(&words.join(" "), MAX_IMPLEMENTATION)
}

fn initialize_params(root: &Path, initialization: &Value) -> Value {
    let uri = file_uri(root);
    let mut params = json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "slug", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": root.to_string_lossy(),
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": folder_name(root)}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "window": {"workDoneProgress": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeConfiguration": {"dynamicRegistration": false},
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "symbol": {"dynamicRegistration": false},
                "workspaceEdit": {"documentChanges": true},
            },
            "textDocument": {
                "synchronization": {"didSave": true, "dynamicRegistration": false},
                "publishDiagnostics": {"versionSupport": true},
                "diagnostic": {"dynamicRegistration": false},
                "definition": {"linkSupport": true},
                "implementation": {"linkSupport": true},
                "references": {},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "callHierarchy": {},
                "rename": {"prepareSupport": true},
            },
            "experimental": {"serverStatusNotification": true},
        },
    });
    if !initialization.is_null() {
        params["initializationOptions"] = initialization.clone();
    }
    params
}
