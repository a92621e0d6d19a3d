//! The one place where effects run. Slow work runs in tasks that the executor owns and that end
//! with the screen. Each answer comes back as a message, with the request's id where several can be
//! under way.
//!
//! Commands for an agent keep their order and are never dropped: while the agent's queue is full
//! they wait here. Stopping a turn does not wait for that queue.

mod services;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, select_all};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::agent::{AddressedCommand, AgentCommand, AgentDirectory};
use crate::domain::{AgentId, FileDiff, NoticeLevel, SessionId};

use super::app::path_ranking;
use super::app::request_id::RequestId;
use super::app::startup::StartupAnswer;
use super::app::{ScreenEffect, ScreenMsg};
use super::branch_page;
use super::dialogs::pager::plain_text;
use crate::services::connect::ConnectJob;
use crate::services::text_document::TextDocument;
use crate::tui::dialogs::pager::search;

pub use services::FrontEndServices;

/// How many sessions a search reports at once, and the least time between two reports.
const SEARCH_BATCH: usize = 256;
const SEARCH_INTERVAL: Duration = Duration::from_millis(30);

/// What the screen uses to reach its agents and the rest of slug.
#[derive(Clone)]
pub struct ExecutorHandles {
    /// The agents that have a conversation on the screen.
    pub agents: BTreeMap<AgentId, AgentConnection>,
    /// The agents that these have started.
    pub children: AgentDirectory,
    /// Everything else outside of the screen.
    pub services: Arc<dyn FrontEndServices>,
}

/// The way to one agent.
#[derive(Clone)]
pub struct AgentConnection {
    /// The agent's command queue.
    pub commands: mpsc::Sender<AddressedCommand>,
    /// Stops the running turn at once, past the command queue.
    pub cancel: Arc<dyn Fn() + Send + Sync>,
}

impl ExecutorHandles {
    /// The command queue of an agent, whoever has started it.
    fn commands_of(&self, agent: AgentId) -> Option<mpsc::Sender<AddressedCommand>> {
        let known = self.agents.get(&agent).map(|it| it.commands.clone());
        known.or_else(|| self.children.commands(agent))
    }
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
    /// Gives the terminal to the editor, which opens this file.
    EditFile(PathBuf),
    /// Calls the user with this text, as the terminal can: a bell or a notification.
    Notify(String),
    /// Gives the terminal to the pager.
    OpenPager(Arc<TextDocument>),
    /// Leaves a question before the chat.
    AnswerStartup(StartupAnswer),
}

/// Runs effects, and owns the tasks that they start.
pub struct EffectExecutor {
    handles: ExecutorHandles,
    answers: mpsc::Sender<ScreenMsg>,
    /// The commands that wait for room in the queue of their agent.
    waiting: BTreeMap<AgentId, VecDeque<AgentCommand>>,
    /// Tasks whose answers the screen waits for; they end with the screen.
    asking: JoinSet<()>,
    /// The running search of sessions.
    searching: Option<AbortHandle>,
    /// The request that waits for a change of the MCP servers.
    following: Option<AbortHandle>,
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
        let waiting = BTreeMap::new();
        let asking = JoinSet::new();
        let (searching, following) = (None, None);
        Self { handles, answers, waiting, asking, searching, following, save_queue, save_task }
    }

    /// Runs an effect. An action that only the runtime can do is returned.
    pub fn run(&mut self, effect: ScreenEffect) -> Option<TerminalAction> {
        // Finished tasks leave here, so that the set does not grow.
        while self.asking.try_join_next().is_some() {}
        let services = Arc::clone(&self.handles.services);
        match effect {
            ScreenEffect::Agent(agent, command) => self.command(agent, command),
            ScreenEffect::CancelTurn(agent) => match self.handles.agents.get(&agent) {
                Some(connection) => (connection.cancel)(),
                None => drop(self.handles.children.stop_turn(agent)),
            },
            ScreenEffect::Connect(job) => self.connect(job),
            ScreenEffect::AnswerStartup(answer) => {
                return Some(TerminalAction::AnswerStartup(answer));
            }
            ScreenEffect::Quit => return Some(TerminalAction::Quit),
            ScreenEffect::Suspend => return Some(TerminalAction::Suspend),
            ScreenEffect::Redraw => return Some(TerminalAction::Redraw),
            ScreenEffect::ReclaimTerminal => return Some(TerminalAction::Retake),
            ScreenEffect::OpenEditor { text } => return Some(TerminalAction::OpenEditor(text)),
            ScreenEffect::EditFile { path } => return Some(TerminalAction::EditFile(path)),
            ScreenEffect::Notify(text) => return Some(TerminalAction::Notify(text)),
            ScreenEffect::RunStatusCommand { id, state } => self.answer(async move {
                ScreenMsg::StatusLine { id, line: services.status_line(state).await }
            }),
            ScreenEffect::Copy { text, what } => self.copy(text, what),
            ScreenEffect::SaveDraft { text } => {
                self.save("save the draft", async move { services.save_draft(text).await });
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
            ScreenEffect::LayOutBranches { id, branches, width } => self.answer(async move {
                let lay_out = move || branch_page::lay_out(branches, id.0, width);
                match tokio::task::spawn_blocking(lay_out).await {
                    Ok(page) => ScreenMsg::BranchesLaidOut { id, page },
                    Err(error) => failed("show the branches", &error),
                }
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
            ScreenEffect::Settings { id, job } => self.answer(async move {
                ScreenMsg::Settings { id, answer: services.settings(job).await }
            }),
            ScreenEffect::Hooks { id, job } => {
                self.answer(
                    async move { ScreenMsg::Hooks { id, answer: services.hooks(job).await } },
                );
            }
            ScreenEffect::FollowMcp { id, seen } => {
                let answers = self.answers.clone();
                let asked = self.asking.spawn(async move {
                    let (seen, servers) = services.mcp_servers(seen).await;
                    let _ = answers.send(ScreenMsg::McpServers { id, seen, servers }).await;
                });
                self.following.replace(asked).iter().for_each(AbortHandle::abort);
            }
            ScreenEffect::FollowLsp { id, seen } => {
                let answers = self.answers.clone();
                let asked = self.asking.spawn(async move {
                    let (seen, servers) = services.language_servers(seen).await;
                    let _ = answers.send(ScreenMsg::LspServers { id, seen, servers }).await;
                });
                self.following.replace(asked).iter().for_each(AbortHandle::abort);
            }
            ScreenEffect::FollowOffers { seen } => self.answer(async move {
                let (seen, servers) = services.mcp_servers(seen).await;
                ScreenMsg::ServerOffers { seen, servers }
            }),
            ScreenEffect::ChangeMcp(job) => {
                self.tell_failure(async move { services.change_mcp(job).await });
            }
            ScreenEffect::ChangeLsp(job) => {
                self.tell_failure(async move { services.change_language_server(job).await });
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
                match tokio::task::spawn_blocking(move || plain_text(&document, lines)).await {
                    Ok(text) => ScreenMsg::LinesRead { text, what },
                    Err(error) => failed("copy it", &error),
                }
            }),
            ScreenEffect::OpenPager(document) => return Some(TerminalAction::OpenPager(document)),
            ScreenEffect::KeepFolds { session, folds } => {
                self.save("save the fold state", async move {
                    services.keep_folds(session, folds).await
                });
            }
            ScreenEffect::ToggleFavourite(name) => {
                self.save(
                    "save the favourite",
                    async move { services.toggle_favourite(name).await },
                );
            }
            ScreenEffect::KeepKinds(kinds) => {
                self.save("save the fold state", async move { services.keep_kinds(kinds).await });
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
            ScreenEffect::IndexFiles { id, servers } => self.answer(async move {
                let files = Arc::new(services.files().await);
                let (paths, ids) = (files.clone(), servers);
                let add = move || path_ranking::with_servers(&paths, &ids);
                let mentionable = tokio::task::spawn_blocking(add).await;
                let mentionable = mentionable.unwrap_or_else(|_| files.clone());
                ScreenMsg::FilesIndexed { id, files, mentionable }
            }),
            ScreenEffect::ReadHistory { id, before } => self.answer(async move {
                let page = services.history(before).await;
                ScreenMsg::HistoryRead { id, page }
            }),
            ScreenEffect::RankPaths { id, query, paths } => self.answer(async move {
                let typed = query.clone();
                let rank = move || path_ranking::best(&paths.all, &paths.recent, &typed);
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
                self.save("save the theme", async move { services.keep_theme(choice).await });
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

    /// Hands on what a job of the page that connects models finds, as it comes.
    fn connect(&mut self, job: ConnectJob) {
        let (services, answers) = (Arc::clone(&self.handles.services), self.answers.clone());
        self.asking.spawn(async move {
            let (send, mut found) = mpsc::channel(1);
            let hand_on = async {
                while let Some(event) = found.recv().await {
                    if answers.send(ScreenMsg::Connect(event)).await.is_err() {
                        break;
                    }
                }
            };
            tokio::join!(services.connect(job, send), hand_on);
        });
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

    /// Opens a file in the user's editor, waits, and tells the screen what was changed.
    pub fn edit_file(&self, path: PathBuf) -> ScreenMsg {
        let texts = self.handles.services.edit_file(&path);
        let change = texts.map(|[before, after]| FileDiff::between(path, &before, &after));
        ScreenMsg::FileEdited(change)
    }

    /// Sends one waiting command once the queue of its agent has room; waits for ever when nothing
    /// waits. Returns false when the agent is gone.
    pub async fn send_pending_command(&mut self) -> bool {
        let handles = &self.handles;
        let waiting = self.waiting.iter_mut().filter_map(|(agent, commands)| {
            let queue = handles.commands_of(*agent)?;
            Some(Box::pin(async move { (queue.reserve_owned().await, *agent, commands) }))
        });
        let waiting: Vec<_> = waiting.collect();
        if waiting.is_empty() {
            return std::future::pending().await;
        }
        let ((permit, agent, commands), _, _) = select_all(waiting).await;
        let Ok(permit) = permit else { return false };
        if let Some(command) = commands.pop_front() {
            permit.send(command.to(agent));
        }
        if commands.is_empty() {
            self.waiting.remove(&agent);
        }
        true
    }

    /// Whether commands wait for room in the queue of their agent.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Shows a long text in the user's pager, which has the terminal meanwhile.
    ///
    /// # Errors
    ///
    /// A sentence for the user when the pager cannot be run or fails.
    pub fn show_in_pager(&self, document: &TextDocument) -> Result<(), String> {
        self.handles.services.show_in_pager(&plain_text(document, 0..document.len()))
    }

    /// Waits until drafts, history and other files are written.
    pub async fn finish(self) {
        drop(self.save_queue);
        if let Err(error) = self.save_task.await {
            tracing::error!(%error, "the draft could not be saved");
        }
    }

    fn command(&mut self, agent: AgentId, command: AgentCommand) {
        if let Some(waiting) = self.waiting.get_mut(&agent) {
            waiting.push_back(command);
            return;
        }
        let Some(commands) = self.handles.commands_of(agent) else {
            let text = "That agent has ended, and takes no more messages.".to_owned();
            return self
                .answer(async move { ScreenMsg::Notice { level: NoticeLevel::Warning, text } });
        };
        match commands.try_send(command.to(agent)) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(addressed)) => {
                self.waiting.insert(agent, VecDeque::from([addressed.command]));
            }
            // The agent is gone; its event channel is closed too, and ends the screen.
            Err(mpsc::error::TrySendError::Closed(command)) => {
                tracing::error!(?command, "the agent has ended");
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

    /// Tells the user when the work fails, and nothing else: what comes of it is told to who follows.
    fn tell_failure(&mut self, work: impl Future<Output = Result<(), String>> + Send + 'static) {
        let answers = self.answers.clone();
        self.asking.spawn(async move {
            if let Err(text) = work.await {
                let level = NoticeLevel::Error;
                let _ = answers.send(ScreenMsg::Notice { level, text }).await;
            }
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
            tracing::error!("could not {doing}: the task that saves settings has ended");
        }
    }
}

fn failed(doing: &str, error: &tokio::task::JoinError) -> ScreenMsg {
    ScreenMsg::Notice { level: NoticeLevel::Error, text: format!("Could not {doing}: {error}") }
}

#[cfg(test)]
mod tests;
