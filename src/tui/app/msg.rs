//! Everything that reaches the screen: keys, time, the agent's events, answers to effects.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::agent;
use crate::domain::{AgentId, FileDiff, ModelName, NoticeLevel};
use crate::lsp::LspServerStatus;
use crate::mcp::McpServerStatus;
use crate::platform::terminal_background::TerminalBackground;
use crate::session::{HistoryPage, SessionSearchResult};
use crate::tui::branch_page::BranchPage;
use crate::tui::picture_cells::TerminalPicture;
use crate::tui::theme::ThemeLibrary;

use super::attention::TerminalFocus;
use super::conversation::images::ImageLoadResult;
use super::conversation::status::GitSummary;
use super::conversation::transcript::backfill::BackfillResult;
use super::geometry::FrameGeometry;
use super::request_id::RequestId;
use super::setting_response::SettingResponse;
use crate::services::connect::ConnectEvent;
use crate::services::hook_admin::HookAdminResponse;
use crate::services::sessions::SessionStoreResponse;
use crate::services::store_query::StoreQueryResult;
use crate::tui::dialogs::pager::search::PagerMatch;

/// Job control signals from the shell, or from a program that acts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobControl {
    /// slug is asked to stop, as by ctrl+z (SIGTSTP).
    StopRequested,
    /// slug continues after a stop (SIGCONT). After SIGSTOP, which cannot be caught, the terminal
    /// was not restored before the stop.
    Continued,
}

/// Something that happened, for `update`.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenMsg {
    /// Time since slug started. Comes before every other message.
    Tick(Duration),
    Key(KeyEvent),
    /// A whole line, from a front end without keys.
    Line(String),
    /// ctrl+c, from a front end without keys.
    Interrupt,
    /// Pasted text.
    Paste(String),
    Mouse(MouseEvent),
    JobControl(JobControl),
    /// The terminal reports that it gained or lost the focus.
    FocusChanged(TerminalFocus),
    Resized {
        /// In columns.
        width: u16,
        /// In rows.
        height: u16,
    },
    /// A frame was composed, with this layout.
    Drawn(Box<FrameGeometry>),
    /// The terminal has accepted every frame so far, at this time since the start.
    Painted(Duration),
    /// A front end without frames has printed everything, at this time since the start.
    Printed(Duration),
    /// No typed input waits to be read, at this time since the start.
    InputIdle(Duration),
    /// Another program used the terminal: the screen has lost its content, and unread input was not
    /// meant for slug.
    ScreenLost,
    /// An event of this agent.
    Agent(AgentId, Box<agent::AgentEvent>),
    /// A part of the answer to `Connect`.
    Connect(ConnectEvent),
    /// Answer to `IndexFiles`.
    FilesIndexed {
        id: RequestId,
        /// Paths relative to the workspace, folders with a slash at the end, sorted by
        /// `paths::sort`.
        files: Arc<Vec<String>>,
        /// The same with a row `name:` for each server whose resources can be mentioned.
        mentionable: Arc<Vec<String>>,
    },
    /// Answer to `ReadHistory`.
    HistoryRead {
        id: RequestId,
        /// `Err` says why it failed.
        page: Result<HistoryPage, String>,
    },
    /// Answer to `RankPaths`.
    PathsRanked {
        id: RequestId,
        /// The text that the paths were ranked for.
        query: String,
        /// Indices of the best paths, the best first.
        matches: Vec<usize>,
    },
    /// Answer to `CountLines`.
    LinesCounted {
        id: RequestId,
        /// The file, as the user typed it.
        path: String,
        /// The number of lines; `None` if it is not known.
        lines: Option<u64>,
    },
    /// Answer to `ListFolder`.
    FolderListed {
        id: RequestId,
        /// The folder, as the user typed it.
        folder: String,
        /// The names in it, folders with a slash at the end.
        names: Vec<String>,
    },
    /// Answer to `Sessions`.
    Sessions {
        id: RequestId,
        /// `Err` says why it failed.
        answer: Result<SessionStoreResponse, String>,
    },
    /// Answer to `LayOutBranches`.
    BranchesLaidOut {
        id: RequestId,
        page: BranchPage,
    },
    /// Answer to `QueryStore`.
    StoreAnswered {
        id: RequestId,
        /// `Err` says why it failed.
        answer: Result<StoreQueryResult, String>,
    },
    /// Answer to `Settings`.
    Settings {
        id: RequestId,
        /// `Err` says why it failed.
        answer: Result<SettingResponse, String>,
    },
    /// Answer to `Hooks`.
    Hooks {
        id: RequestId,
        /// `Err` says why it failed.
        answer: Result<HookAdminResponse, String>,
    },
    /// Answer to `FollowMcp`.
    McpServers {
        id: RequestId,
        /// What to wait from next.
        seen: u64,
        servers: Vec<McpServerStatus>,
    },
    /// Answer to `FollowLsp`.
    LspServers {
        id: RequestId,
        /// What to wait from next.
        seen: u64,
        servers: Vec<LspServerStatus>,
    },
    /// Answer to `FollowOffers`.
    ServerOffers {
        /// What to wait from next.
        seen: u64,
        servers: Vec<McpServerStatus>,
    },
    /// Answer to `Backfill`.
    Backfilled {
        id: RequestId,
        /// The blocks that go before those in the transcript.
        folded: BackfillResult,
    },
    /// Answer to `Find`.
    Found {
        id: RequestId,
        /// The lines with matches.
        hits: Vec<PagerMatch>,
        /// The number of lines that were searched.
        searched: usize,
    },
    /// Answer to `CopyLines`: the text to copy.
    LinesRead {
        text: String,
        /// Names the text in the notice, as "the lines".
        what: &'static str,
    },
    /// The user's pager was closed, or could not be opened.
    PagerClosed(Result<(), String>),
    /// Answer to `ListModels`.
    ModelsListed {
        id: RequestId,
        /// `Err` says why there are none.
        models: Result<Vec<ModelRow>, String>,
    },
    /// Answer to `ReadGit`.
    GitRead {
        id: RequestId,
        /// `None` outside a git repository.
        git: Option<GitSummary>,
    },
    /// Answer to `LoadImage`.
    ImageLoaded {
        id: RequestId,
        /// `Err` says why the image cannot be used.
        taken: Result<ImageLoadResult, String>,
    },
    /// Answer to `DrawPicture`.
    PictureMade {
        id: RequestId,
        /// `Err` says why there is none.
        picture: Result<TerminalPicture, String>,
    },
    /// Answer to `RunStatusCommand`.
    StatusLine {
        id: RequestId,
        /// The first line of the command's output, or what went wrong.
        line: Result<String, String>,
    },
    /// A part of the answer to `SearchSessions`.
    SessionsFound {
        id: RequestId,
        /// The next sessions that contain the text; empty when the search is over.
        found: Vec<SessionSearchResult>,
    },
    /// Answer to `ReadThemes`.
    ThemesRead {
        id: RequestId,
        library: Arc<ThemeLibrary>,
    },
    /// The terminal reports its background colour.
    Background(TerminalBackground),
    /// Syntax colours are ready for code that was shown plain.
    CodeColoured,
    /// The user's editor was closed: the text, or why there is none.
    EditorClosed(Result<String, String>),
    /// The user's editor has closed a file: what was changed in it, or why that is not known.
    FileEdited(Result<FileDiff, String>),
    /// An effect reports something to the user.
    Notice {
        level: NoticeLevel,
        /// A whole sentence.
        text: String,
    },
}

/// Whether the user marked a model as a favourite, so that it is listed first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FavouriteMark {
    Favourite,
    #[default]
    None,
}

/// A model in the list of `/model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    pub name: ModelName,
    /// The context window that the server offers, in tokens; `None` if unknown.
    pub window: Option<u64>,
    pub mark: FavouriteMark,
}
