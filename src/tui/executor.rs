//! The one place where effects run. What takes time runs in a task that is owned here and ends
//! with the screen; its answer comes back as a message that carries the request's id.
//!
//! Commands for the agent keep their order and are never dropped: while its queue is full they
//! wait here. Stopping a turn waits for nothing.

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

/// Sessions that a search hands on at once, and the least time before it does so again.
const SEARCH_BATCH: usize = 256;
const SEARCH_INTERVAL: Duration = Duration::from_millis(30);

/// The agent's side that the screen reaches.
#[derive(Clone)]
pub struct ExecutorHandles {
    /// What is asked of the agent.
    pub commands: mpsc::Sender<AgentCommand>,
    /// Stops the running turn, at once.
    pub cancel: Arc<dyn Fn() + Send + Sync>,
    /// Everything else outside of the screen.
    pub services: Arc<dyn FrontEndServices>,
}

/// What the screen needs from the rest of slug. All of it may take its time.
#[async_trait]
pub trait FrontEndServices: Send + Sync + 'static {
    /// Reads or changes past sessions, as `session_jobs::run` does on a thread that may block.
    async fn sessions(&self, job: SessionStoreRequest) -> Result<SessionStoreResponse, String>;
    /// Looks for a text in what was said in these sessions, as `session_jobs::search` does on a thread
    /// that may block, until nobody takes what is found any more.
    async fn search_sessions(
        &self,
        text: String,
        sessions: Arc<[SessionId]>,
        found: mpsc::Sender<SessionSearchResult>,
    );
    /// Reads for a page, as `page_jobs::run` does on a thread that may block.
    async fn pages(&self, job: StoreQuery) -> Result<StoreQueryResult, String>;
    /// Lists, switches or tries hooks.
    async fn hooks(&self, job: HookAdminRequest) -> Result<HookAdminResponse, String>;
    /// Keeps how the panes of a session are folded.
    async fn keep_folds(&self, session: SessionId, folds: SessionFolds) -> Result<(), String>;
    /// Keeps how kinds of panes are folded.
    async fn keep_kinds(&self, kinds: KindFolds) -> Result<(), String>;
    /// Marks a model as a favourite, or takes its mark off.
    async fn toggle_favourite(&self, name: ModelName) -> Result<(), String>;
    /// The models that the server offers.
    async fn models(&self) -> Result<Vec<ModelRow>, String>;
    /// The workspace's files and folders, relative to it, as git would list them and sorted by
    /// `paths::sort`; folders have a slash behind them.
    async fn files(&self) -> Vec<String>;
    /// How many lines a file has, whose path the person typed; `None` where that cannot be said.
    async fn count_lines(&self, path: String) -> Option<u64>;
    /// What is in a folder that the person typed; folders have a slash behind them.
    async fn list_folder(&self, folder: String) -> Vec<String>;
    /// Branch and changed files; `None` outside of git.
    async fn git(&self) -> Option<GitSummary>;
    /// Keeps what is being typed over a crash; empty text forgets it.
    async fn save_draft(&self, text: UserInput) -> Result<(), String>;
    /// Adds to the input's history.
    async fn add_history(&self, text: UserInput) -> Result<(), String>;
    /// Reads an image, makes it fit for a model, and keeps it.
    async fn take_image(&self, source: ImageSource) -> Result<ImageLoadResult, String>;
    /// The part of the input's history that ends at this place in its file.
    async fn history(&self, before: u64) -> Result<HistoryPage, String>;
    /// Makes what shows an image on the terminal, by this number and in so many cells.
    async fn picture(
        &self,
        canvas: GraphicsCanvas,
        number: u32,
        image: MessageImage,
        cells: SizeInCells,
    ) -> Result<TerminalPicture, String>;
    /// All themes, the person's own read anew.
    async fn themes(&self) -> ThemeLibrary;
    /// Writes the theme into the person's configuration.
    async fn keep_theme(&self, choice: ThemeChoice) -> Result<(), String>;
    /// Copies. What has to go through the terminal is written before this returns, since it is
    /// called between two frames; the future ends when the system's clipboard has answered, with
    /// a sentence that says what is known of it.
    fn copy(&self, text: String) -> BoxFuture<'static, Result<String, String>>;
    /// Runs the person's own command for the first line with `state` on its standard input; its
    /// first line of output, or what went wrong.
    async fn status_line(&self, state: String) -> Result<String, String>;
    /// Has the person edit a text in their own editor and waits for it; the terminal is theirs.
    fn edit(&self, text: &str) -> Result<String, String>;
    /// Shows the person a text in their own pager and waits for it; the terminal is theirs.
    fn show_in_pager(&self, text: &str) -> Result<(), String>;
}

/// What the runtime itself has to do, since it owns the terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalAction {
    /// Leave.
    Quit,
    /// Give the terminal to the shell.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Sets the terminal's modes again, and draws everything anew.
    Retake,
    /// Give the terminal to the editor.
    OpenEditor(String),
    /// Call the person.
    Notify(String),
    /// Give the terminal to the pager.
    OpenPager(Arc<PagerDocument>),
}

/// Runs effects.
pub struct EffectExecutor {
    handles: ExecutorHandles,
    answers: mpsc::Sender<ScreenMsg>,
    waiting: VecDeque<AgentCommand>,
    /// Questions; they end with the screen.
    asking: JoinSet<()>,
    /// The search of sessions that runs.
    searching: Option<AbortHandle>,
    /// What has to be kept, one after another: an older draft never overwrites a newer one.
    save_queue: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    save_task: JoinHandle<()>,
}

impl EffectExecutor {
    /// An executor whose answers go to `answers`.
    pub fn new(handles: ExecutorHandles, answers: mpsc::Sender<ScreenMsg>) -> Self {
        // Unbounded, since a person does not type faster than a disk writes.
        let (keep, mut kept) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
        let keeper = tokio::spawn(async move {
            while let Some(work) = kept.recv().await {
                work.await;
            }
        });
        let waiting = VecDeque::new();
        let asking = JoinSet::new();
        Self {
            handles,
            answers,
            waiting,
            asking,
            searching: None,
            save_queue: keep,
            save_task: keeper,
        }
    }

    /// Runs an effect. What only the runtime can do comes back.
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
                // Not in the set: a thread that folds cannot be stopped, and need not be.
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

    /// Hands on what a search of sessions finds: the first at once, and then what has gathered since,
    /// since the list is laid out anew each time. No more once the task is stopped, which ends the
    /// search, too.
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
            // Without a receiver the screen is closing, and nobody waits for the end.
            let _ = answers.send(ScreenMsg::SessionsFound { id, found: Vec::new() }).await;
        }));
    }

    fn stop_search(&mut self) {
        if let Some(searching) = self.searching.take() {
            searching.abort();
        }
    }

    /// Copies a text, and says what is known of it.
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

    /// Has the person edit a text; the terminal is theirs meanwhile.
    pub fn edit(&self, text: &str) -> Result<String, String> {
        self.handles.services.edit(text)
    }

    /// Hands over what waits for room in the agent's queue. Ends when there is nothing to do, so
    /// it is only to be awaited while [`Self::has_waiting`]. False when the agent is gone.
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

    /// Shows the person a long text in their own pager; the terminal is theirs meanwhile.
    pub fn show_in_pager(&self, document: &PagerDocument) -> Result<(), String> {
        self.handles.services.show_in_pager(&document.read(0..document.len()))
    }

    /// Waits for what has to be kept: drafts and history.
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
            // Without a receiver the screen is closing, and nobody waits for the answer.
            let _ = answers.send(msg).await;
        });
    }

    /// Work that is only spoken of when it fails.
    fn save(
        &mut self,
        doing: &'static str,
        work: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        let answers = self.answers.clone();
        let work = Box::pin(async move {
            if let Err(reason) = work.await {
                let text = format!("Could not {doing}: {reason}");
                // A message to a screen that is closing is heard by nobody.
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
        let mut rig = test_executor();
        let modes = [PermissionMode::Plan, PermissionMode::Ask, PermissionMode::AllowEdits];
        for mode in modes {
            assert_eq!(rig.executor.run(ScreenEffect::Agent(AgentCommand::SetMode(mode))), None);
        }
        let mut got = Vec::new();
        while got.len() < 3 {
            got.push(rig.commands.recv().await);
            if rig.executor.has_waiting() {
                assert!(rig.executor.send_pending_command().await);
            }
        }
        assert_eq!(got, modes.map(|mode| Some(AgentCommand::SetMode(mode))));
    }

    #[tokio::test]
    async fn stopping_waits_behind_no_queue() {
        let mut rig = test_executor();
        rig.executor.run(ScreenEffect::Agent(AgentCommand::Retry));
        rig.executor.run(ScreenEffect::Agent(AgentCommand::Compact));
        rig.executor.run(ScreenEffect::CancelTurn);
        assert!(rig.cancelled.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn answers_carry_the_id_of_what_was_asked() {
        let mut rig = test_executor();
        rig.executor.run(ScreenEffect::IndexFiles(RequestId(7)));
        let files = Arc::new(vec!["a.rs".to_owned()]);
        assert_eq!(
            rig.answers.recv().await,
            Some(ScreenMsg::FilesIndexed { id: RequestId(7), files })
        );
    }

    #[tokio::test]
    async fn what_fails_is_said() {
        let mut rig = test_executor();
        rig.executor.run(ScreenEffect::AddHistory("x".into()));
        let text = "Could not add to the history: the disk is full".to_owned();
        assert_eq!(
            rig.answers.recv().await,
            Some(ScreenMsg::Notice { level: NoticeLevel::Warning, text })
        );
    }

    #[tokio::test]
    async fn drafts_are_kept_before_the_screen_goes() {
        let mut rig = test_executor();
        rig.executor.run(ScreenEffect::SaveDraft { text: "half".into() });
        rig.executor.finish().await;
        assert_eq!(*rig.fakes.drafts.lock().unwrap(), ["half"]);
    }

    fn search(id: u64, text: &str, count: usize) -> ScreenEffect {
        let sessions = (0..count).map(|_| SessionId::generate()).collect();
        ScreenEffect::SearchSessions { id: RequestId(id), text: text.into(), sessions }
    }

    #[tokio::test]
    async fn what_a_search_finds_arrives_in_order_and_then_its_end() {
        let mut rig = test_executor();
        let effect = search(1, "word", 600);
        let ScreenEffect::SearchSessions { sessions, .. } = &effect else { panic!("{effect:?}") };
        let expected = sessions.to_vec();
        rig.executor.run(effect);
        let mut arrived = Vec::new();
        loop {
            match rig.answers.recv().await {
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
        let mut rig = test_executor();
        let stopped = |rig: &TestExecutor| rig.fakes.drafts.lock().unwrap().len();
        rig.executor.run(search(1, "endless", 0));
        tokio::task::yield_now().await;
        rig.executor.run(search(2, "endless", 0));
        tokio::task::yield_now().await;
        rig.executor.run(ScreenEffect::StopSearch);
        // An aborted task is dropped, and with it the search that it ran.
        rig.executor.asking.join_next().await;
        rig.executor.asking.join_next().await;
        assert!(rig.answers.try_recv().is_err(), "neither search tells of its end");
        assert_eq!(stopped(&rig), 0);
    }
}
