//! The one place where effects run. Slow work runs in tasks that the executor owns and that end
//! with the screen; each answer comes back as a message that carries the request's id.
//!
//! Commands for the agent keep their order and are never dropped: while the agent's queue is full
//! they wait here. Stopping a turn does not wait for that queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::agent::AgentCommand;
use crate::config::ThemeChoice;
use crate::domain::{MessageImage, ModelName, NoticeLevel, SessionId, UserInput};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::session::{HistoryPage, KindFolds, SessionFolds, SessionSearchResult};

use super::app::effect::RequestId;
use super::app::hooks::{HookAdminRequest, HookAdminResponse};
use super::app::images::{ImageLoadResult, ImageSource};
use super::app::msg::ModelRow;
use super::app::pager::document::PagerDocument;
use super::app::pager::search;
use super::app::paths;
use super::app::sessions::{SessionStoreRequest, SessionStoreResponse};
use super::app::status::GitSummary;
use super::app::store_queries::{StoreQuery, StoreQueryResult};
use super::app::{ScreenEffect, ScreenMsg};
use super::picture_cells::TerminalPicture;
use super::theme::ThemeLibrary;

/// How many sessions a search reports at once, and the least time between two reports.
const SEARCH_BATCH: usize = 256;
const SEARCH_INTERVAL: Duration = Duration::from_millis(30);

/// What the screen uses to reach the agent and the rest of slug.
#[derive(Clone)]
pub struct ExecutorHandles {
    /// The agent's command queue.
    pub commands: mpsc::Sender<AgentCommand>,
    /// Stops the running turn at once, past the command queue.
    pub cancel: Arc<dyn Fn() + Send + Sync>,
    /// Everything else outside of the screen.
    pub services: Arc<dyn FrontEndServices>,
}

/// What the screen needs from the rest of slug. Any of these calls may be slow.
#[async_trait]
pub trait FrontEndServices: Send + Sync + 'static {
    /// Reads or changes past sessions, as `session_jobs::run` does on a thread that may block.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the store or a file cannot be read or written.
    async fn sessions(&self, job: SessionStoreRequest) -> Result<SessionStoreResponse, String>;
    /// Searches the text of these sessions, as `session_jobs::search` does on a thread that may
    /// block, until the receiver of `found` is dropped.
    async fn search_sessions(
        &self,
        text: String,
        sessions: Arc<[SessionId]>,
        found: mpsc::Sender<SessionSearchResult>,
    );
    /// Answers a query of a page, as `page_jobs::run` does on a thread that may block.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the store cannot be read, or no longer has the content.
    async fn pages(&self, job: StoreQuery) -> Result<StoreQueryResult, String>;
    /// Lists, switches, trusts or tries hooks.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the hook is gone, there is nothing to trust, or a settings file
    /// cannot be read or written.
    async fn hooks(&self, job: HookAdminRequest) -> Result<HookAdminResponse, String>;
    /// Saves the folds of a session's panes.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn keep_folds(&self, session: SessionId, folds: SessionFolds) -> Result<(), String>;
    /// Saves how each kind of pane is folded in every session.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn keep_kinds(&self, kinds: KindFolds) -> Result<(), String>;
    /// Adds a model to the favourites, or removes it.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn toggle_favourite(&self, name: ModelName) -> Result<(), String>;
    /// The models that the configured providers offer.
    ///
    /// # Errors
    ///
    /// The providers' failures as sentences, when no provider listed any model.
    async fn models(&self) -> Result<Vec<ModelRow>, String>;
    /// The workspace's files and folders, relative to it, as git would list them, sorted by
    /// `paths::sort`. Folders end in a slash.
    async fn files(&self) -> Vec<String>;
    /// How many lines the file has whose path the user typed; `None` when it cannot be read.
    async fn count_lines(&self, path: String) -> Option<u64>;
    /// The entries of a folder that the user typed; folders end in a slash.
    async fn list_folder(&self, folder: String) -> Vec<String>;
    /// Branch and changed files; `None` outside of a git repository.
    async fn git(&self) -> Option<GitSummary>;
    /// Saves the input's text so that it survives a crash; empty text removes the draft.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be written.
    async fn save_draft(&self, text: UserInput) -> Result<(), String>;
    /// Adds a text to the input's history.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the history cannot be written.
    async fn add_history(&self, text: UserInput) -> Result<(), String>;
    /// Reads an image, scales and encodes it for a model, and stores it.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the image cannot be read or stored, or the clipboard does not
    /// answer.
    async fn take_image(&self, source: ImageSource) -> Result<ImageLoadResult, String>;
    /// The page of the input's history that ends at byte `before` of its file.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the history cannot be read.
    async fn history(&self, before: u64) -> Result<HistoryPage, String>;
    /// Builds the sequence that shows an image on the terminal, with this picture number and size.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the image is no longer stored or cannot be encoded.
    async fn picture(
        &self,
        canvas: GraphicsCanvas,
        number: u32,
        image: MessageImage,
        cells: SizeInCells,
    ) -> Result<TerminalPicture, String>;
    /// All themes; the user's own theme files are read again.
    async fn themes(&self) -> ThemeLibrary;
    /// Writes the theme into the user's configuration.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the file cannot be read or written.
    async fn keep_theme(&self, choice: ThemeChoice) -> Result<(), String>;
    /// Copies a text to the clipboards. What goes through the terminal is written before this
    /// returns, since it is called between two frames; the future ends when the system's clipboard
    /// has answered, with a sentence that says where the text went.
    fn copy(&self, text: String) -> BoxFuture<'static, Result<String, String>>;
    /// Runs the user's own command for the first line, with `state` on its standard input, and
    /// returns its first line of output.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the command fails.
    async fn status_line(&self, state: String) -> Result<String, String>;
    /// Opens a text in the user's editor, waits, and returns the edited text. The caller has given
    /// the terminal away.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the editor cannot be run or fails.
    fn edit(&self, text: &str) -> Result<String, String>;
    /// Opens a text in the user's pager and waits. The caller has given the terminal away.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the pager cannot be run or fails.
    fn show_in_pager(&self, text: &str) -> Result<(), String>;
}

/// An effect that only the owner of the terminal can carry out: the runtime.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalAction {
    /// Leaves the screen.
    Quit,
    /// Gives the terminal to the shell.
    Suspend,
    /// Draws everything anew.
    Redraw,
    /// Sets the terminal's modes again, and draws everything anew.
    Retake,
    /// Gives the terminal to the editor, which opens this text.
    OpenEditor(String),
    /// Calls the user with this text, as the terminal can: a bell or a notification.
    Notify(String),
    /// Gives the terminal to the pager.
    OpenPager(Arc<PagerDocument>),
}

/// Runs effects, and owns the tasks that they start.
pub struct EffectExecutor {
    handles: ExecutorHandles,
    answers: mpsc::Sender<ScreenMsg>,
    waiting: VecDeque<AgentCommand>,
    /// Tasks whose answers the screen waits for; they end with the screen.
    asking: JoinSet<()>,
    /// The running search of sessions.
    searching: Option<AbortHandle>,
    /// Writes to disk, run one after another so that an older draft never overwrites a newer one.
    save_queue: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    save_task: JoinHandle<()>,
}

impl EffectExecutor {
    /// An executor that sends its answers to `answers`.
    pub fn new(handles: ExecutorHandles, answers: mpsc::Sender<ScreenMsg>) -> Self {
        // Unbounded, since a user does not type faster than a disk writes.
        let (save_queue, mut saves) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
        let save_task = tokio::spawn(async move {
            while let Some(work) = saves.recv().await {
                work.await;
            }
        });
        let waiting = VecDeque::new();
        let asking = JoinSet::new();
        Self { handles, answers, waiting, asking, searching: None, save_queue, save_task }
    }

    /// Runs an effect. An action that only the runtime can do is returned.
    pub fn run(&mut self, effect: ScreenEffect) -> Option<TerminalAction> {
        // Finished tasks leave here, so that the set does not grow.
        while self.asking.try_join_next().is_some() {}
        let services = Arc::clone(&self.handles.services);
        match effect {
            ScreenEffect::Agent(command) => self.command(command),
            ScreenEffect::CancelTurn => (self.handles.cancel)(),
            ScreenEffect::Quit => return Some(TerminalAction::Quit),
            ScreenEffect::Suspend => return Some(TerminalAction::Suspend),
            ScreenEffect::Redraw => return Some(TerminalAction::Redraw),
            ScreenEffect::ReclaimTerminal => return Some(TerminalAction::Retake),
            ScreenEffect::OpenEditor { text } => return Some(TerminalAction::OpenEditor(text)),
            ScreenEffect::Notify(text) => return Some(TerminalAction::Notify(text)),
            ScreenEffect::RunStatusCommand { id, state } => self.answer(async move {
                ScreenMsg::StatusLine { id, line: services.status_line(state).await }
            }),
            ScreenEffect::Copy { text, what } => self.copy(text, what),
            ScreenEffect::SaveDraft { text } => {
                self.save("keep the draft", async move { services.save_draft(text).await });
            }
            ScreenEffect::AddHistory(text) => {
                self.save("add to the history", async move { services.add_history(text).await });
            }
            ScreenEffect::LoadImage { id, source } => self.answer(async move {
                ScreenMsg::ImageLoaded { id, taken: services.take_image(source).await }
            }),
            ScreenEffect::DrawPicture { id, canvas, number, image, cells } => {
                self.answer(async move {
                    let picture = services.picture(canvas, number, image, cells).await;
                    ScreenMsg::PictureMade { id, picture }
                });
            }
            ScreenEffect::Sessions { id, job } => self.answer(async move {
                ScreenMsg::Sessions { id, answer: services.sessions(job).await }
            }),
            ScreenEffect::SearchSessions { id, text, sessions } => {
                self.stop_search();
                self.search(id, text, sessions);
            }
            ScreenEffect::StopSearch => self.stop_search(),
            ScreenEffect::QueryStore { id, job } => {
                self.answer(async move {
                    ScreenMsg::StoreAnswered { id, answer: services.pages(job).await }
                });
            }
            ScreenEffect::Hooks { id, job } => {
                self.answer(
                    async move { ScreenMsg::Hooks { id, answer: services.hooks(job).await } },
                );
            }
            ScreenEffect::Find { id, document, query } => self.answer(async move {
                let searched = document.len();
                let find = move || search::hits(&document, &query, 0..searched);
                match tokio::task::spawn_blocking(find).await {
                    Ok(hits) => ScreenMsg::Found { id, hits, searched },
                    Err(error) => failed("search it", &error),
                }
            }),
            ScreenEffect::CopyLines { document, lines, what } => self.answer(async move {
                match tokio::task::spawn_blocking(move || document.read(lines)).await {
                    Ok(text) => ScreenMsg::LinesRead { text, what },
                    Err(error) => failed("copy it", &error),
                }
            }),
            ScreenEffect::OpenPager(document) => return Some(TerminalAction::OpenPager(document)),
            ScreenEffect::KeepFolds { session, folds } => {
                self.save("remember how panes are folded", async move {
                    services.keep_folds(session, folds).await
                });
            }
            ScreenEffect::ToggleFavourite(name) => {
                self.save(
                    "remember a favourite",
                    async move { services.toggle_favourite(name).await },
                );
            }
            ScreenEffect::KeepKinds(kinds) => {
                self.save("remember how panes are folded", async move {
                    services.keep_kinds(kinds).await
                });
            }
            ScreenEffect::Backfill { id, older } => {
                let answers = self.answers.clone();
                // Not in the set: a thread that replays a log cannot be stopped, and need not be.
                tokio::task::spawn_blocking(move || {
                    let folded = older.replay();
                    // A screen that is closing needs no blocks.
                    let _ = answers.blocking_send(ScreenMsg::Backfilled { id, folded });
                });
            }
            ScreenEffect::ListModels(id) => self.answer(async move {
                ScreenMsg::ModelsListed { id, models: services.models().await }
            }),
            ScreenEffect::IndexFiles(id) => self.answer(async move {
                ScreenMsg::FilesIndexed { id, files: Arc::new(services.files().await) }
            }),
            ScreenEffect::ReadHistory { id, before } => self.answer(async move {
                let page = services.history(before).await;
                ScreenMsg::HistoryRead { id, page }
            }),
            ScreenEffect::RankPaths { id, query, paths } => self.answer(async move {
                let typed = query.clone();
                let rank = move || paths::best(&paths.all, &paths.recent, &typed);
                match tokio::task::spawn_blocking(rank).await {
                    Ok(matches) => ScreenMsg::PathsRanked { id, query, matches },
                    Err(error) => failed("find files", &error),
                }
            }),
            ScreenEffect::CountLines { id, path } => self.answer(async move {
                let lines = services.count_lines(path.clone()).await;
                ScreenMsg::LinesCounted { id, path, lines }
            }),
            ScreenEffect::ListFolder { id, folder } => self.answer(async move {
                let names = services.list_folder(folder.clone()).await;
                ScreenMsg::FolderListed { id, folder, names }
            }),
            ScreenEffect::ReadThemes(id) => self.answer(async move {
                ScreenMsg::ThemesRead { id, library: Arc::new(services.themes().await) }
            }),
            ScreenEffect::KeepTheme(choice) => {
                self.save("keep the theme", async move { services.keep_theme(choice).await });
            }
            ScreenEffect::ReadGit(id) => {
                self.answer(async move { ScreenMsg::GitRead { id, git: services.git().await } });
            }
        }
        None
    }

    /// Reports the results of a search: the first at once, later ones in batches, since the list is
    /// laid out anew for each report. Aborting the task ends the search too.
    fn search(&mut self, id: RequestId, text: String, sessions: Arc<[SessionId]>) {
        let (services, answers) = (Arc::clone(&self.handles.services), self.answers.clone());
        self.searching = Some(self.asking.spawn(async move {
            let (send, mut receive) = mpsc::channel(SEARCH_BATCH);
            let hand_on = async {
                let mut found = Vec::new();
                while receive.recv_many(&mut found, SEARCH_BATCH).await > 0 {
                    let found = std::mem::take(&mut found);
                    if answers.send(ScreenMsg::SessionsFound { id, found }).await.is_err() {
                        break;
                    }
                    tokio::time::sleep(SEARCH_INTERVAL).await;
                }
            };
            tokio::join!(services.search_sessions(text, sessions, send), hand_on);
            // A failed send means that the screen is closing, and nobody waits for the end.
            let _ = answers.send(ScreenMsg::SessionsFound { id, found: Vec::new() }).await;
        }));
    }

    fn stop_search(&mut self) {
        if let Some(searching) = self.searching.take() {
            searching.abort();
        }
    }

    /// Copies a text, and tells the user where it went.
    fn copy(&mut self, text: String, what: &'static str) {
        let copying = self.handles.services.copy(text);
        self.answer(async move {
            match copying.await {
                Ok(how) => {
                    ScreenMsg::Notice { level: NoticeLevel::Info, text: format!("{how}: {what}") }
                }
                Err(text) => ScreenMsg::Notice { level: NoticeLevel::Error, text },
            }
        });
    }

    /// Opens a text in the user's editor, which has the terminal meanwhile.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the editor cannot be run or fails.
    pub fn edit(&self, text: &str) -> Result<String, String> {
        self.handles.services.edit(text)
    }

    /// Sends one waiting command once the agent's queue has room. Returns at once when nothing
    /// waits, so await it only while [`Self::has_waiting`]. Returns false when the agent is gone.
    pub async fn send_pending_command(&mut self) -> bool {
        let Ok(permit) = self.handles.commands.reserve().await else { return false };
        if let Some(command) = self.waiting.pop_front() {
            permit.send(command);
        }
        true
    }

    /// Whether commands wait for room in the agent's queue.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Shows a long text in the user's pager, which has the terminal meanwhile.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the pager cannot be run or fails.
    pub fn show_in_pager(&self, document: &PagerDocument) -> Result<(), String> {
        self.handles.services.show_in_pager(&document.read(0..document.len()))
    }

    /// Waits until drafts, history and other files are written.
    pub async fn finish(self) {
        drop(self.save_queue);
        if let Err(error) = self.save_task.await {
            tracing::error!(%error, "what was typed could not be kept");
        }
    }

    fn command(&mut self, command: AgentCommand) {
        if self.has_waiting() {
            self.waiting.push_back(command);
            return;
        }
        match self.handles.commands.try_send(command) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(command)) => self.waiting.push_back(command),
            // The agent is gone; its event channel is closed too, and ends the screen.
            Err(mpsc::error::TrySendError::Closed(command)) => {
                tracing::error!(?command, "the agent is gone");
            }
        }
    }

    fn answer(&mut self, work: impl Future<Output = ScreenMsg> + Send + 'static) {
        let answers = self.answers.clone();
        self.asking.spawn(async move {
            let msg = work.await;
            // A failed send means that the screen is closing, and nobody waits for the answer.
            let _ = answers.send(msg).await;
        });
    }

    /// Queues a write to disk; the user is told only when it fails.
    fn save(
        &mut self,
        doing: &'static str,
        work: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        let answers = self.answers.clone();
        let work = Box::pin(async move {
            if let Err(reason) = work.await {
                let text = format!("Could not {doing}: {reason}");
                // A failed send means that the screen is closing, and nobody reads the notice.
                let _ = answers.send(ScreenMsg::Notice { level: NoticeLevel::Warning, text }).await;
            }
        });
        if self.save_queue.send(work).is_err() {
            tracing::error!("could not {doing}: the task that keeps things is gone");
        }
    }
}

fn failed(doing: &str, error: &tokio::task::JoinError) -> ScreenMsg {
    ScreenMsg::Notice { level: NoticeLevel::Error, text: format!("Could not {doing}: {error}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::domain::PermissionMode;

    #[derive(Default)]
    struct FakeExecutorServices {
        drafts: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl FrontEndServices for FakeExecutorServices {
        async fn sessions(&self, _: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
            Ok(SessionStoreResponse::Changed)
        }
        async fn search_sessions(
            &self,
            text: String,
            sessions: Arc<[SessionId]>,
            found: mpsc::Sender<SessionSearchResult>,
        ) {
            for session in sessions.iter().copied() {
                let one = SessionSearchResult { session, places: Vec::new(), more: false };
                if found.send(one).await.is_err() {
                    return;
                }
            }
            if text == "endless" {
                found.closed().await;
                self.drafts.lock().unwrap().push("stopped".into());
            }
        }
        async fn pages(&self, _: StoreQuery) -> Result<StoreQueryResult, String> {
            Err("not in this test".into())
        }
        async fn hooks(&self, _: HookAdminRequest) -> Result<HookAdminResponse, String> {
            Err("not in this test".into())
        }
        async fn keep_folds(&self, _: SessionId, _: SessionFolds) -> Result<(), String> {
            Ok(())
        }
        async fn toggle_favourite(&self, _: ModelName) -> Result<(), String> {
            Ok(())
        }

        async fn keep_kinds(&self, _: KindFolds) -> Result<(), String> {
            Ok(())
        }
        async fn models(&self) -> Result<Vec<ModelRow>, String> {
            Err("No server answers.".into())
        }
        async fn files(&self) -> Vec<String> {
            vec!["a.rs".into()]
        }
        async fn history(&self, _: u64) -> Result<HistoryPage, String> {
            Ok(HistoryPage::default())
        }
        async fn count_lines(&self, _: String) -> Option<u64> {
            None
        }
        async fn list_folder(&self, _: String) -> Vec<String> {
            Vec::new()
        }
        async fn git(&self) -> Option<GitSummary> {
            None
        }
        async fn picture(
            &self,
            _: GraphicsCanvas,
            _: u32,
            _: MessageImage,
            _: SizeInCells,
        ) -> Result<TerminalPicture, String> {
            Err("not in this test".into())
        }
        async fn take_image(&self, _: ImageSource) -> Result<ImageLoadResult, String> {
            Ok(ImageLoadResult::Nothing)
        }
        async fn save_draft(&self, text: UserInput) -> Result<(), String> {
            self.drafts.lock().unwrap().push(text.text);
            Ok(())
        }
        async fn add_history(&self, _: UserInput) -> Result<(), String> {
            Err("the disk is full".into())
        }
        async fn status_line(&self, state: String) -> Result<String, String> {
            Ok(state)
        }
        async fn themes(&self) -> ThemeLibrary {
            ThemeLibrary::default()
        }
        async fn keep_theme(&self, _: ThemeChoice) -> Result<(), String> {
            Ok(())
        }
        fn copy(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
            Box::pin(async { Ok("Copied".into()) })
        }
        fn edit(&self, text: &str) -> Result<String, String> {
            Ok(text.to_uppercase())
        }
        fn show_in_pager(&self, _: &str) -> Result<(), String> {
            Ok(())
        }
    }

    struct TestExecutor {
        executor: EffectExecutor,
        commands: mpsc::Receiver<AgentCommand>,
        answers: mpsc::Receiver<ScreenMsg>,
        fakes: Arc<FakeExecutorServices>,
        cancelled: Arc<AtomicBool>,
    }

    fn test_executor() -> TestExecutor {
        let (commands_in, commands) = mpsc::channel(1);
        let (answers_in, answers) = mpsc::channel(8);
        let fakes = Arc::new(FakeExecutorServices::default());
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let handles = ExecutorHandles {
            commands: commands_in,
            cancel: Arc::new(move || flag.store(true, Ordering::SeqCst)),
            services: Arc::clone(&fakes) as Arc<dyn FrontEndServices>,
        };
        let executor = EffectExecutor::new(handles, answers_in);
        TestExecutor { executor, commands, answers, fakes, cancelled }
    }

    #[tokio::test]
    async fn commands_keep_their_order_when_the_queue_is_full() {
        let mut test = test_executor();
        let modes = [PermissionMode::Plan, PermissionMode::Ask, PermissionMode::AllowEdits];
        for mode in modes {
            assert_eq!(test.executor.run(ScreenEffect::Agent(AgentCommand::SetMode(mode))), None);
        }
        let mut got = Vec::new();
        while got.len() < 3 {
            got.push(test.commands.recv().await);
            if test.executor.has_waiting() {
                assert!(test.executor.send_pending_command().await);
            }
        }
        assert_eq!(got, modes.map(|mode| Some(AgentCommand::SetMode(mode))));
    }

    #[tokio::test]
    async fn stopping_waits_behind_no_queue() {
        let mut test = test_executor();
        test.executor.run(ScreenEffect::Agent(AgentCommand::Retry));
        test.executor.run(ScreenEffect::Agent(AgentCommand::Compact));
        test.executor.run(ScreenEffect::CancelTurn);
        assert!(test.cancelled.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn answers_carry_the_id_of_the_request() {
        let mut test = test_executor();
        test.executor.run(ScreenEffect::IndexFiles(RequestId(7)));
        let files = Arc::new(vec!["a.rs".to_owned()]);
        assert_eq!(
            test.answers.recv().await,
            Some(ScreenMsg::FilesIndexed { id: RequestId(7), files })
        );
    }

    #[tokio::test]
    async fn failures_are_reported() {
        let mut test = test_executor();
        test.executor.run(ScreenEffect::AddHistory("x".into()));
        let text = "Could not add to the history: the disk is full".to_owned();
        assert_eq!(
            test.answers.recv().await,
            Some(ScreenMsg::Notice { level: NoticeLevel::Warning, text })
        );
    }

    #[tokio::test]
    async fn drafts_are_saved_before_the_screen_closes() {
        let mut test = test_executor();
        test.executor.run(ScreenEffect::SaveDraft { text: "half".into() });
        test.executor.finish().await;
        assert_eq!(*test.fakes.drafts.lock().unwrap(), ["half"]);
    }

    fn search(id: u64, text: &str, count: usize) -> ScreenEffect {
        let sessions = (0..count).map(|_| SessionId::generate()).collect();
        ScreenEffect::SearchSessions { id: RequestId(id), text: text.into(), sessions }
    }

    #[tokio::test]
    async fn search_results_arrive_in_order_and_then_the_end() {
        let mut test = test_executor();
        let effect = search(1, "word", 600);
        let ScreenEffect::SearchSessions { sessions, .. } = &effect else { panic!("{effect:?}") };
        let expected = sessions.to_vec();
        test.executor.run(effect);
        let mut arrived = Vec::new();
        loop {
            match test.answers.recv().await {
                Some(ScreenMsg::SessionsFound { id: RequestId(1), found }) if found.is_empty() => {
                    break;
                }
                Some(ScreenMsg::SessionsFound { id: RequestId(1), found }) => {
                    arrived.extend(found.into_iter().map(|it| it.session));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(arrived, expected);
    }

    #[tokio::test]
    async fn a_search_ends_when_the_next_one_begins_or_it_is_stopped() {
        let mut test = test_executor();
        let stopped = |test: &TestExecutor| test.fakes.drafts.lock().unwrap().len();
        test.executor.run(search(1, "endless", 0));
        tokio::task::yield_now().await;
        test.executor.run(search(2, "endless", 0));
        tokio::task::yield_now().await;
        test.executor.run(ScreenEffect::StopSearch);
        // An aborted task is dropped, and with it the search that it ran.
        test.executor.asking.join_next().await;
        test.executor.asking.join_next().await;
        assert!(test.answers.try_recv().is_err(), "neither search tells of its end");
        assert_eq!(stopped(&test), 0);
    }
}
