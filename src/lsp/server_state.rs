//! What a running server has told unasked: findings, and whether it is busy. Also the answers to what it
//! asks.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::connection::LspHandler;
use super::diagnostic::{LspDiagnostic, LspSeverity};
use super::file_uri::{file_uri, path_of_uri};
use super::status::LspFileCounts;

/// The most tasks under way that are remembered.
const MAX_TASKS: usize = 256;

/// The findings that a server has last sent for a file.
#[derive(Debug, Clone, Default)]
pub(super) struct LspPublished {
    /// Of the text that they are about; `None` where the server does not say.
    pub(super) version: Option<i64>,
    /// Counts what the server has sent, for all files; 0 for nothing yet.
    pub(super) serial: u64,
    pub(super) items: Arc<[LspDiagnostic]>,
}

/// What is known of a running server.
pub(super) struct LspServerState {
    root: PathBuf,
    /// By section, as they stand in the definition.
    settings: Value,
    told: Mutex<ToldByServer>,
    /// The serial of the last findings.
    published: watch::Sender<u64>,
}

#[derive(Default)]
struct ToldByServer {
    /// Of the files that are open: those of a whole workspace could fill the memory.
    findings: HashMap<PathBuf, LspPublished>,
    serial: u64,
    /// The tokens of tasks that have begun and not ended.
    tasks: BTreeSet<String>,
    /// `false` while a server that tells it is still loading.
    is_quiescent: Option<bool>,
}

impl LspServerState {
    pub(super) fn new(root: &Path, settings: Value) -> Self {
        Self {
            root: root.to_owned(),
            settings,
            told: Mutex::default(),
            published: watch::Sender::new(0),
        }
    }

    /// Takes in the findings of this file from now on.
    pub(super) fn open(&self, path: &Path) {
        self.told().findings.entry(path.to_owned()).or_default();
    }

    /// Forgets a file.
    pub(super) fn close(&self, path: &Path) {
        self.told().findings.remove(path);
    }

    /// The last findings of an open file.
    pub(super) fn published(&self, path: &Path) -> LspPublished {
        self.told().findings.get(path).cloned().unwrap_or_default()
    }

    /// The number of findings that have come so far, and the way to wait for more.
    pub(super) fn follow(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// How many files are open, and how many errors and warnings the server has last found in them.
    pub(super) fn counts(&self) -> LspFileCounts {
        let told = self.told();
        let items = told.findings.values().flat_map(|it| &*it.items);
        let mut counts = LspFileCounts { files: told.findings.len(), ..LspFileCounts::default() };
        for item in items {
            match item.severity {
                LspSeverity::Error => counts.errors += 1,
                LspSeverity::Warning => counts.warnings += 1,
                LspSeverity::Information | LspSeverity::Hint => {}
            }
        }
        counts
    }

    /// Whether the server still loads or indexes, so that its answers may be incomplete.
    pub(super) fn is_busy(&self) -> bool {
        let told = self.told();
        told.is_quiescent.map_or(!told.tasks.is_empty(), |is_quiescent| !is_quiescent)
    }

    fn told(&self) -> MutexGuard<'_, ToldByServer> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_findings(&self, params: &Value) {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        let Some(path) = path_of_uri(uri) else { return };
        let items = LspDiagnostic::read_list(params.get("diagnostics").unwrap_or(&Value::Null));
        let serial = {
            let mut told = self.told();
            let told = &mut *told;
            let Some(published) = told.findings.get_mut(&path) else { return };
            told.serial += 1;
            *published = LspPublished {
                version: params.get("version").and_then(Value::as_i64),
                serial: told.serial,
                items: items.into(),
            };
            told.serial
        };
        self.published.send_replace(serial);
    }

    fn take_progress(&self, params: &Value) {
        let Some(token) = params.get("token") else { return };
        let kind = params.get("value").and_then(|it| it.get("kind")).and_then(Value::as_str);
        let mut told = self.told();
        match kind {
            Some("begin") if told.tasks.len() < MAX_TASKS => {
                _ = told.tasks.insert(token.to_string());
            }
            Some("end") => _ = told.tasks.remove(&token.to_string()),
            Some(_) | None => {}
        }
    }

    /// The settings of a section; its name has points between the keys.
    fn section(&self, name: &str) -> Value {
        let mut keys = name.split('.').filter(|key| !key.is_empty());
        keys.try_fold(&self.settings, |value, key| value.get(key)).cloned().unwrap_or_default()
    }
}

impl LspHandler for LspServerState {
    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => {
                let items = params.get("items").and_then(Value::as_array);
                let section = |item: &Value| match item.get("section").and_then(Value::as_str) {
                    Some(name) => self.section(name),
                    None => self.settings.clone(),
                };
                Some(items.into_iter().flatten().map(section).collect())
            }
            "workspace/workspaceFolders" => {
                Some(json!([{"uri": file_uri(&self.root), "name": folder_name(&self.root)}]))
            }
            "workspace/applyEdit" => {
                Some(json!({"applied": false, "failureReason": "slug has not asked for it"}))
            }
            "window/showDocument" => Some(json!({"success": false})),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/codeLens/refresh"
            | "workspace/foldingRange/refresh" => Some(Value::Null),
            _ => None,
        }
    }

    fn notified(&self, method: &str, params: Value) {
        match method {
            "textDocument/publishDiagnostics" => self.take_findings(&params),
            "$/progress" => self.take_progress(&params),
            "experimental/serverStatus" => {
                let is_quiescent = params.get("quiescent").and_then(Value::as_bool);
                self.told().is_quiescent = is_quiescent;
            }
            _ => {}
        }
    }
}

/// The name of a folder, for servers that show it.
pub(super) fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> LspServerState {
        let settings = json!({"python": {"analysis": {"mode": "strict"}}, "x": 1});
        LspServerState::new(Path::new("/w/a b"), settings)
    }

    #[test]
    fn what_servers_ask_is_answered_in_their_form() {
        let state = state();
        let items = json!({"items": [
            {"section": "python.analysis"}, {"section": "none.at.all"}, {}, {"section": "x.y"},
        ]});
        let answer = state.answer("workspace/configuration", &items).unwrap();
        assert_eq!(answer[0], json!({"mode": "strict"}));
        assert_eq!((&answer[1], &answer[3]), (&Value::Null, &Value::Null));
        assert_eq!(answer[2], state.settings);
        assert_eq!(state.answer("workspace/configuration", &json!(3)), Some(json!([])));
        let folders = state.answer("workspace/workspaceFolders", &Value::Null).unwrap();
        assert_eq!(folders, json!([{"uri": "file:///w/a%20b", "name": "a b"}]));
        let edit = state.answer("workspace/applyEdit", &json!({"edit": {}})).unwrap();
        assert_eq!(edit["applied"], false);
        assert_eq!(state.answer("client/registerCapability", &json!({})), Some(Value::Null));
        assert_eq!(state.answer("slug/doEvil", &json!({})), None);
    }

    #[test]
    fn only_findings_of_open_files_are_kept() {
        let state = state();
        let path = Path::new("/w/a b/c.py");
        let send = |uri: &str| {
            let params = json!({"uri": uri, "version": 3, "diagnostics": [
                {"range": {"start": {"line": 1, "character": 2}}, "message": "m"}]});
            state.notified("textDocument/publishDiagnostics", params);
        };
        send("file:///w/a%20b/c.py");
        assert_eq!(state.published(path).serial, 0);
        state.open(path);
        send("file:///w/other.py");
        send("untitled:1");
        send("file:///w/a%20b/c%2Epy");
        let published = state.published(path);
        assert_eq!((published.version, published.serial, published.items.len()), (Some(3), 1, 1));
        assert_eq!(*state.follow().borrow(), 1);
        state.close(path);
        assert_eq!(state.published(path).items.len(), 0);
    }

    #[test]
    fn a_server_is_busy_while_its_tasks_run() {
        let state = state();
        let progress = |token: Value, kind: &str| {
            state.notified("$/progress", json!({"token": token, "value": {"kind": kind}}));
        };
        assert!(!state.is_busy());
        progress(json!(1), "begin");
        progress(json!("1"), "begin");
        progress(json!(1), "end");
        assert!(state.is_busy());
        progress(json!("1"), "end");
        assert!(!state.is_busy());
        progress(json!(2), "begin");
        state.notified("experimental/serverStatus", json!({"quiescent": true}));
        assert!(!state.is_busy(), "what a server says of itself counts more");
        state.notified("experimental/serverStatus", json!({"quiescent": false}));
        assert!(state.is_busy());
    }
}
