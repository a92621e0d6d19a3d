//! What the screen wants done outside of its model. Plain data, so that a test can compare it;
//! `executor` carries it out.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::AgentCommand;
use crate::config::ThemeChoice;
use crate::domain::{AgentId, MessageImage, ModelName, SessionId, UserInput};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::session::{KindFolds, SessionFolds};

use super::conversation::images::ImageSource;
use super::conversation::transcript::backfill::BackfillRequest;
use super::request_id::RequestId;
use super::setting_admin::SettingRequest;
use super::startup::StartupAnswer;
use super::text_query::TextQuery;
use crate::services::connect::ConnectJob;
use crate::services::hook_admin::HookAdminRequest;
use crate::services::lsp_admin::LspAdminRequest;
use crate::services::mcp_admin::McpAdminRequest;
use crate::services::sessions::SessionStoreRequest;
use crate::services::store_query::StoreQuery;
use crate::services::text_document::TextDocument;
use crate::session::BranchComparison;
use crate::tui::app::picker_list::PickerPaths;

/// An action that the update function asks `executor` for.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenEffect {
    /// A command for this agent.
    Agent(AgentId, AgentCommand),
    /// Searches the messages of these sessions for a text; ends the search before it.
    SearchSessions {
        id: RequestId,
        text: String,
        /// The sessions, in the order in which to search them.
        sessions: Arc<[SessionId]>,
    },
    /// Ends the running search of sessions.
    StopSearch,
    /// Stops this agent's running turn at once, past any queue of commands.
    CancelTurn(AgentId),
    Quit,
    /// Gives the terminal back to the shell until slug is continued.
    Suspend,
    /// Draws the whole screen again.
    Redraw,
    /// Sets the terminal's modes and draws the whole screen again, since a shell may have changed
    /// them.
    ReclaimTerminal,
    /// Puts text on the clipboard.
    Copy {
        text: String,
        /// What it is, for the notice: "the answer".
        what: &'static str,
    },
    /// Saves the typed text, so that it survives a crash.
    SaveDraft {
        /// All of the text; empty to remove the draft.
        text: UserInput,
    },
    AddHistory(UserInput),
    /// Reads an image for the input and stores it among the session's blobs.
    LoadImage {
        id: RequestId,
        source: ImageSource,
    },
    /// Prepares an image for the terminal's graphics protocol.
    DrawPicture {
        id: RequestId,
        /// What the image is drawn on.
        canvas: GraphicsCanvas,
        /// The number of the picture, which the terminal knows it by.
        number: u32,
        image: MessageImage,
        cells: SizeInCells,
    },
    /// Reads or changes past sessions.
    Sessions {
        id: RequestId,
        job: SessionStoreRequest,
    },
    /// Lays out the comparison of two branches for a width in columns, as a text with the
    /// request's id.
    LayOutBranches {
        id: RequestId,
        branches: Arc<BranchComparison>,
        width: u16,
    },
    /// Reads what a page or the panes need from the session store.
    QueryStore {
        id: RequestId,
        job: StoreQuery,
    },
    /// Lists or changes settings.
    Settings {
        id: RequestId,
        job: SettingRequest,
    },
    /// Lists, switches or tests hooks.
    Hooks {
        id: RequestId,
        job: HookAdminRequest,
    },
    /// Asks for the MCP servers, to be told once something has changed since `seen`. It takes the
    /// place of the request before.
    FollowMcp {
        id: RequestId,
        seen: Option<u64>,
    },
    /// Restarts an MCP server, or gives it the user's yes. What comes of it is told to who follows.
    ChangeMcp(McpAdminRequest),
    /// Asks for the language servers, to be told once something has changed since `seen`. It takes the
    /// place of the request before.
    FollowLsp {
        id: RequestId,
        seen: Option<u64>,
    },
    /// Restarts or stops a language server. What comes of it is told to who follows.
    ChangeLsp(LspAdminRequest),
    /// Searches a long text, off the UI task.
    Find {
        id: RequestId,
        document: Arc<TextDocument>,
        query: TextQuery,
    },
    /// Copies lines of a long text to the clipboard.
    CopyLines {
        document: Arc<TextDocument>,
        /// Line indexes from 0.
        lines: Range<usize>,
        /// What they are, for the notice.
        what: &'static str,
    },
    /// Opens a long text in the pager that the user has set (`$PAGER`, else `less`).
    OpenPager(Arc<TextDocument>),
    /// Asks for what MCP servers offer once something has changed since `seen`.
    FollowOffers {
        seen: Option<u64>,
    },
    /// Saves how the panes of a session are folded.
    KeepFolds {
        session: SessionId,
        /// The folds of all panes, not only of those that changed.
        folds: SessionFolds,
    },
    /// Marks a model as a favourite, or removes the mark.
    ToggleFavourite(ModelName),
    /// Saves how kinds of panes are folded in every session.
    KeepKinds(KindFolds),
    /// Replays the older part of a session into blocks, off the UI task.
    Backfill {
        id: RequestId,
        older: BackfillRequest,
    },
    /// Notifies the user, who looks elsewhere, with this text.
    Notify(String),
    /// Runs the user's status command, whose output goes into the first line of the screen.
    RunStatusCommand {
        id: RequestId,
        /// The state of the screen as JSON, for the command's standard input.
        state: String,
    },
    /// Looks for something that slug could start with.
    Connect(ConnectJob),
    /// Ends the screen of a question before the chat.
    AnswerStartup(StartupAnswer),
    /// Lists the models that the user can choose from.
    ListModels(RequestId),
    /// Reads older entries of the input history.
    ReadHistory {
        id: RequestId,
        /// The offset in the history file where the wanted part ends.
        before: u64,
    },
    /// Lists the workspace's files and folders.
    IndexFiles {
        id: RequestId,
        /// The MCP servers whose resources can be mentioned.
        servers: Vec<String>,
    },
    /// Ranks paths by how well they match, off the UI task.
    RankPaths {
        id: RequestId,
        /// The text that is typed.
        query: String,
        paths: PickerPaths,
    },
    /// Counts the lines of a file.
    CountLines {
        id: RequestId,
        /// The path as it was typed.
        path: String,
    },
    /// Lists the folder of a path that is being typed.
    ListFolder {
        id: RequestId,
        /// The folder as it was typed, with its final slash; empty for the working folder.
        folder: String,
    },
    /// Reads the branch and the changed files.
    ReadGit(RequestId),
    /// Reads the user's theme files.
    ReadThemes(RequestId),
    /// Writes the choice of a theme into the configuration.
    KeepTheme(ThemeChoice),
    /// Opens a file in the user's editor; the file is made where it is missing and the editor saves it.
    EditFile {
        path: PathBuf,
    },
    /// Opens the text in the user's editor.
    OpenEditor {
        /// The text typed so far.
        text: String,
    },
}
