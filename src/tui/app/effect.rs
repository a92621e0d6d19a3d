//! What is to happen outside. Plain data, so that a test can compare it; `executor` carries it
//! out.

use std::ops::Range;
use std::sync::Arc;

use crate::agent::AgentCommand;
use crate::config::ThemeChoice;
use crate::domain::{MessageImage, ModelName, SessionId, UserInput};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::session::{KindFolds, SessionFolds};

use super::backfill::BackfillRequest;
use super::hooks::HookAdminRequest;
use super::images::ImageSource;
use super::pager::document::PagerDocument;
use super::picker::PickerPaths;
use super::sessions::SessionStoreRequest;
use super::store_queries::StoreQuery;
use super::text_query::TextQuery;

/// Something wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenEffect {
    /// Tells the agent.
    Agent(AgentCommand),
    /// Looks for a text in what was said in these sessions; the search before it ends.
    SearchSessions {
        /// Which request.
        id: RequestId,
        /// The text.
        text: String,
        /// The sessions, those to be searched first before others.
        sessions: Arc<[SessionId]>,
    },
    /// Ends the search of sessions.
    StopSearch,
    /// Stops the running turn, behind no queue.
    CancelTurn,
    /// Leaves slug.
    Quit,
    /// Gives the terminal back to the shell until slug is continued.
    Suspend,
    /// Draws everything anew.
    Redraw,
    /// Sets the terminal's modes again, and draws everything anew: a shell may have had it.
    ReclaimTerminal,
    /// Puts text on the clipboard.
    Copy {
        /// The text.
        text: String,
        /// What it is, for the notice: "the answer".
        what: &'static str,
    },
    /// Keeps what is being typed, over a crash too.
    SaveDraft {
        /// All of it; empty when there is nothing to keep.
        text: UserInput,
    },
    /// Adds to the input's history.
    AddHistory(UserInput),
    /// Reads an image for the input and keeps it among the session's contents.
    LoadImage {
        /// Which request.
        id: RequestId,
        /// Where it is.
        source: ImageSource,
    },
    /// Makes what shows an image on the terminal.
    DrawPicture {
        /// Which request.
        id: RequestId,
        /// What it is painted on.
        canvas: GraphicsCanvas,
        /// The picture's number.
        number: u32,
        /// The image.
        image: MessageImage,
        /// How large.
        cells: SizeInCells,
    },
    /// Reads or changes past sessions.
    Sessions {
        /// Which request.
        id: RequestId,
        /// What is wanted.
        job: SessionStoreRequest,
    },
    /// Reads what a page or the panes need of the store.
    QueryStore {
        /// Which request.
        id: RequestId,
        /// What is wanted.
        job: StoreQuery,
    },
    /// Lists, switches or tries hooks.
    Hooks {
        /// Which request.
        id: RequestId,
        /// What is wanted.
        job: HookAdminRequest,
    },
    /// Searches a long text, off the UI task.
    Find {
        /// Which request.
        id: RequestId,
        /// The text.
        document: Arc<PagerDocument>,
        /// What is looked for.
        query: TextQuery,
    },
    /// Puts lines of a long text on the clipboard.
    CopyLines {
        /// The text.
        document: Arc<PagerDocument>,
        /// Which lines.
        lines: Range<usize>,
        /// What they are, for the notice.
        what: &'static str,
    },
    /// Opens a long text in the person's own pager.
    OpenPager(Arc<PagerDocument>),
    /// Keeps how the panes of a session are folded.
    KeepFolds {
        /// The session.
        session: SessionId,
        /// All of them.
        folds: SessionFolds,
    },
    /// Marks a model as a favourite, or takes its mark off.
    ToggleFavourite(ModelName),
    /// Keeps how kinds of panes are folded, in every session.
    KeepKinds(KindFolds),
    /// Makes blocks of the older part of a session.
    Backfill {
        /// Which request.
        id: RequestId,
        /// What is to be folded.
        older: BackfillRequest,
    },
    /// Calls the person, who looks elsewhere.
    Notify(String),
    /// Has the person's own command say what the first line shows of it.
    RunStatusCommand {
        /// Which request.
        id: RequestId,
        /// The state, as JSON.
        state: String,
    },
    /// Lists the server's models.
    ListModels(RequestId),
    /// Reads more of the input's history.
    ReadHistory {
        /// Which request.
        id: RequestId,
        /// Where the part that is wanted ends.
        before: u64,
    },
    /// Lists the workspace's files and folders.
    IndexFiles(RequestId),
    /// Finds the paths that match best, off the UI task.
    RankPaths {
        /// Which request.
        id: RequestId,
        /// What is typed.
        query: String,
        /// The paths.
        paths: PickerPaths,
    },
    /// Counts the lines of a file.
    CountLines {
        /// Which request.
        id: RequestId,
        /// The file as it was typed.
        path: String,
    },
    /// Lists a folder that is typed in.
    ListFolder {
        /// Which request.
        id: RequestId,
        /// The folder as it was typed, with the slash behind it; empty for the working folder.
        folder: String,
    },
    /// Reads branch and changed files.
    ReadGit(RequestId),
    /// Reads the person's themes.
    ReadThemes(RequestId),
    /// Writes the theme into the configuration.
    KeepTheme(ThemeChoice),
    /// Opens the text in the person's editor.
    OpenEditor {
        /// What is typed so far.
        text: String,
    },
}

/// Ties an answer to what was asked for; an answer to an older request is stale.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);
