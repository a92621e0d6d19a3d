//! Everything that reaches the screen: keys, time, the agent's events, answers to effects.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::agent;
use crate::domain::{ModelName, NoticeLevel};
use crate::platform::terminal_background::TerminalBackground;
use crate::session::{HistoryPage, SessionSearchResult};
use crate::tui::picture_cells::TerminalPicture;
use crate::tui::theme::ThemeLibrary;

use super::attention::TerminalFocus;
use super::backfill::BackfillResult;
use super::effect::RequestId;
use super::geometry::ScreenGeometry;
use super::hooks::HookAdminResponse;
use super::images::ImageLoadResult;
use super::pager::search::PagerMatch;
use super::sessions::SessionStoreResponse;
use super::status::GitSummary;
use super::store_queries::StoreQueryResult;

/// What the shell, or who acts for it, does with slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobControl {
    /// It is asked to stop, as by ctrl+z (SIGTSTP).
    StopRequested,
    /// It goes on after a stop (SIGCONT), perhaps one that gave nothing back (SIGSTOP).
    Continued,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenMsg {
    /// It is this long since slug started. Comes before every other message.
    Tick(Duration),
    /// A key.
    Key(KeyEvent),
    /// A whole line, from a front end without keys.
    Line(String),
    /// ctrl+c, from there.
    Interrupt,
    /// Text in one piece.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// The shell, or who acts for it, does something with slug.
    JobControl(JobControl),
    /// The terminal says where the person looks.
    FocusChanged(TerminalFocus),
    /// The screen has another size.
    Resized {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A frame was made; this is what is where.
    Drawn(Box<ScreenGeometry>),
    /// The terminal has taken every frame that was made.
    Painted(Duration),
    /// All there is to say has been printed, by a front end without frames.
    Printed(Duration),
    /// Nothing that was typed waits to be read.
    InputIdle(Duration),
    /// Somebody else had the terminal: what was on screen is gone, and what waits to be read was
    /// not typed at slug.
    ScreenLost,
    /// The agent says.
    Agent(Box<agent::AgentEvent>),
    /// Answer to `IndexFiles`.
    FilesIndexed {
        /// Which request.
        id: RequestId,
        /// Paths relative to the workspace, folders with a slash behind them, sorted by
        /// `paths::sort`.
        files: Arc<Vec<String>>,
    },
    /// Answer to `ReadHistory`.
    HistoryRead {
        /// Which request.
        id: RequestId,
        /// What it came to, or why not.
        page: Result<HistoryPage, String>,
    },
    /// Answer to `RankPaths`.
    PathsRanked {
        /// Which request.
        id: RequestId,
        /// What was typed.
        query: String,
        /// The best ones, by their place.
        matches: Vec<usize>,
    },
    /// Answer to `CountLines`.
    LinesCounted {
        /// Which request.
        id: RequestId,
        /// The file as it was typed.
        path: String,
        /// How many lines it has; `None` where that cannot be said.
        lines: Option<u64>,
    },
    /// Answer to `ListFolder`.
    FolderListed {
        /// Which request.
        id: RequestId,
        /// The folder as it was typed.
        folder: String,
        /// What is in it, folders with a slash behind them.
        names: Vec<String>,
    },
    /// Answer to `Sessions`.
    Sessions {
        /// Which request.
        id: RequestId,
        /// What it came to, or why not.
        answer: Result<SessionStoreResponse, String>,
    },
    /// Answer to `StoreAnswered`.
    StoreAnswered {
        /// Which request.
        id: RequestId,
        /// What it came to, or why not.
        answer: Result<StoreQueryResult, String>,
    },
    /// Answer to `Hooks`.
    Hooks {
        /// Which request.
        id: RequestId,
        /// What it came to, or why not.
        answer: Result<HookAdminResponse, String>,
    },
    /// Answer to `Backfill`.
    Backfilled {
        /// Which request.
        id: RequestId,
        /// What goes before what is shown.
        folded: BackfillResult,
    },
    /// Answer to `ViCharSearch`.
    Found {
        /// Which request.
        id: RequestId,
        /// The lines with matches.
        hits: Vec<PagerMatch>,
        /// How many lines were searched.
        searched: usize,
    },
    /// Answer to `CopyLines`: the text to copy.
    LinesRead {
        /// The text.
        text: String,
        /// What it is, for the notice.
        what: &'static str,
    },
    /// The person's pager was closed, or could not be opened.
    PagerClosed(Result<(), String>),
    /// Answer to `ListModels`.
    ModelsListed {
        /// Which request.
        id: RequestId,
        /// The models, or why there are none.
        models: Result<Vec<ModelRow>, String>,
    },
    /// Answer to `ReadGit`.
    GitRead {
        /// Which request.
        id: RequestId,
        /// The state; `None` outside of git.
        git: Option<GitSummary>,
    },
    /// Answer to `LoadImage`: what was found, or why it cannot be taken.
    ImageLoaded {
        /// Which request.
        id: RequestId,
        /// What it came to.
        taken: Result<ImageLoadResult, String>,
    },
    /// Answer to `DrawPicture`.
    PictureMade {
        /// Which request.
        id: RequestId,
        /// The picture, or why there is none.
        picture: Result<TerminalPicture, String>,
    },
    /// Answer to `RunStatusCommand`: the first line of its output, or what went wrong.
    StatusLine {
        /// Which request.
        id: RequestId,
        /// What it came to.
        line: Result<String, String>,
    },
    /// A part of the answer to `SearchSessions`.
    SessionsFound {
        /// Which request.
        id: RequestId,
        /// The next sessions that have the text; none where no more come.
        found: Vec<SessionSearchResult>,
    },
    /// Answer to `ReadThemes`.
    ThemesRead {
        /// Which request.
        id: RequestId,
        /// All themes.
        library: Arc<ThemeLibrary>,
    },
    /// The terminal says what its background is like.
    Background(TerminalBackground),
    /// Code that was shown plain has its colours now.
    CodeColoured,
    /// The person's editor was closed; its text, or why there is none.
    EditorClosed(Result<String, String>),
    /// An effect has come to something that the person should know.
    Notice {
        /// How bad it is.
        level: NoticeLevel,
        /// A sentence.
        text: String,
    },
}

/// Whether the person wants a model at hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FavouriteMark {
    /// They marked it.
    Favourite,
    /// They did not.
    #[default]
    None,
}

/// A model in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// Which, and whose.
    pub name: ModelName,
    /// The served window in tokens.
    pub window: Option<u64>,
    /// Whether the person marked it.
    pub mark: FavouriteMark,
}
