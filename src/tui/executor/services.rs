//! What the screen needs from the rest of slug, as a trait that the launcher implements.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::config::ThemeChoice;
use crate::domain::{MessageImage, ModelName, SessionId, UserInput};
use crate::lsp::LspServerStatus;
use crate::mcp::McpServerStatus;
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::services::connect::{ConnectEvent, ConnectJob};
use crate::services::hook_admin::{HookAdminRequest, HookAdminResponse};
use crate::services::lsp_admin::LspAdminRequest;
use crate::services::mcp_admin::McpAdminRequest;
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::session::{HistoryPage, KindFolds, SessionFolds, SessionSearchResult};
use crate::tui::app::conversation::images::{ImageLoadResult, ImageSource};
use crate::tui::app::conversation::status::GitSummary;
use crate::tui::app::msg::ModelRow;
use crate::tui::app::setting_admin::SettingRequest;
use crate::tui::app::setting_response::SettingResponse;
use crate::tui::picture_cells::TerminalPicture;
use crate::tui::theme::ThemeLibrary;

/// What a service that is not implemented answers.
const UNAVAILABLE: &str = "Not available here.";

/// What the screen needs from the rest of slug. Any of these calls may be slow. A service that is
/// not implemented finds and saves nothing.
#[async_trait]
pub trait FrontEndServices: Send + Sync + 'static {
    /// Reads or changes past sessions, as `services::session_service::run` does on a thread that may block.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the store or a file cannot be read or written.
    async fn sessions(&self, _job: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Searches the text of these sessions, as `services::session_service::search` does on a thread
    /// that may block, until the receiver of `found` is dropped.
    async fn search_sessions(
        &self,
        _text: String,
        _sessions: Arc<[SessionId]>,
        _found: mpsc::Sender<SessionSearchResult>,
    ) {
    }
    /// Answers a query of a page, as `services::store_query_service::run` does on a thread that
    /// may block.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the store cannot be read, or no longer has the content.
    async fn pages(&self, _job: StoreQuery) -> Result<StoreQueryResult, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Lists, switches, trusts or tries hooks.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the hook is gone, there is nothing to trust, or a settings file
    /// cannot be read or written.
    async fn hooks(&self, _job: HookAdminRequest) -> Result<HookAdminResponse, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// What is known of the MCP servers, by name, once something has changed since `seen`, with what to
    /// wait from next; at once where nothing was seen yet.
    async fn mcp_servers(&self, seen: Option<u64>) -> (u64, Vec<McpServerStatus>) {
        match seen {
            None => (0, Vec::new()),
            Some(_) => std::future::pending().await,
        }
    }
    /// Restarts an MCP server, lets it start, or accepts its definitions.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the server has changed since it was shown, or the answer cannot be
    /// kept.
    async fn change_mcp(&self, _job: McpAdminRequest) -> Result<(), String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// What is known of the language servers, as [`Self::mcp_servers`] has it; none in a folder that the
    /// user does not trust.
    async fn language_servers(&self, seen: Option<u64>) -> (u64, Vec<LspServerStatus>) {
        match seen {
            None => (0, Vec::new()),
            Some(_) => std::future::pending().await,
        }
    }
    /// Restarts or stops a language server.
    ///
    /// # Errors
    ///
    /// A sentence for the user when there is no such server, or it cannot start.
    async fn change_language_server(&self, _job: LspAdminRequest) -> Result<(), String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Lists the settings, or writes one into the user's configuration first.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the value is not allowed, or a file cannot be read or written.
    async fn settings(&self, _job: SettingRequest) -> Result<SettingResponse, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Does a job of the page that connects models, until the receiver of `events` is dropped.
    async fn connect(&self, _job: ConnectJob, _events: mpsc::Sender<ConnectEvent>) {}
    /// Saves the folds of a session's panes.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn keep_folds(&self, _session: SessionId, _folds: SessionFolds) -> Result<(), String> {
        Ok(())
    }
    /// Saves how each kind of pane is folded in every session.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn keep_kinds(&self, _kinds: KindFolds) -> Result<(), String> {
        Ok(())
    }
    /// Adds a model to the favourites, or removes it.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn toggle_favourite(&self, _name: ModelName) -> Result<(), String> {
        Ok(())
    }
    /// The models that the configured providers offer.
    ///
    /// # Errors
    ///
    /// The providers' failures as sentences, when no provider listed any model.
    async fn models(&self) -> Result<Vec<ModelRow>, String> {
        Ok(Vec::new())
    }
    /// The workspace's files and folders, relative to it, as git would list them, sorted by
    /// `paths::sort`. Folders end in a slash.
    async fn files(&self) -> Vec<String> {
        Vec::new()
    }
    /// How many lines the file has whose path the user typed; `None` when it cannot be read.
    async fn count_lines(&self, _path: String) -> Option<u64> {
        None
    }
    /// The entries of a folder that the user typed; folders end in a slash.
    async fn list_folder(&self, _folder: String) -> Vec<String> {
        Vec::new()
    }
    /// Branch and changed files; `None` outside of a git repository.
    async fn git(&self) -> Option<GitSummary> {
        None
    }
    /// Saves the input's text so that it survives a crash; empty text removes the draft.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn save_draft(&self, _text: UserInput) -> Result<(), String> {
        Ok(())
    }
    /// Adds a text to the input's history.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the history cannot be written.
    async fn add_history(&self, _text: UserInput) -> Result<(), String> {
        Ok(())
    }
    /// Reads an image, scales and encodes it for a model, and stores it.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the image cannot be read or stored, or the clipboard does not
    /// answer.
    async fn take_image(&self, _source: ImageSource) -> Result<ImageLoadResult, String> {
        Ok(ImageLoadResult::Nothing)
    }
    /// The page of the input's history that ends at byte `before` of its file.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the history cannot be read.
    async fn history(&self, _before: u64) -> Result<HistoryPage, String> {
        Ok(HistoryPage::default())
    }
    /// Builds the sequence that shows an image on the terminal, with this picture number and size.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the image is no longer stored or cannot be encoded.
    async fn picture(
        &self,
        _canvas: GraphicsCanvas,
        _number: u32,
        _image: MessageImage,
        _cells: SizeInCells,
    ) -> Result<TerminalPicture, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// All themes; the user's own theme files are read again.
    async fn themes(&self) -> ThemeLibrary {
        ThemeLibrary::default()
    }
    /// Writes the theme into the user's configuration.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be read or written.
    async fn keep_theme(&self, _choice: ThemeChoice) -> Result<(), String> {
        Ok(())
    }
    /// Copies a text to the clipboards. What goes through the terminal is written before this
    /// returns, since it is called between two frames; the future ends when the system's clipboard
    /// has answered, with a sentence that says where the text went.
    fn copy(&self, _text: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::ready(Err(UNAVAILABLE.to_owned())))
    }
    /// Runs the user's own command for the first line, with `state` on its standard input, and
    /// returns its first line of output.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the command fails.
    async fn status_line(&self, _state: String) -> Result<String, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Opens a text in the user's editor, waits, and returns the edited text. The caller has given
    /// the terminal away.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the editor cannot be run or fails.
    fn edit(&self, _text: &str) -> Result<String, String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Opens a file in the user's editor, waits, and returns its text before and after; empty without
    /// a file. The caller has given the terminal away.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the editor cannot be run or fails.
    fn edit_file(&self, _path: &Path) -> Result<[String; 2], String> {
        Err(UNAVAILABLE.to_owned())
    }
    /// Opens a text in the user's pager and waits. The caller has given the terminal away.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the pager cannot be run or fails.
    fn show_in_pager(&self, _text: &str) -> Result<(), String> {
        Err(UNAVAILABLE.to_owned())
    }
}
