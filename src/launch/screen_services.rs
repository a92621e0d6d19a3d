//! Implements the services that the front end uses: sessions, models, files, clipboard, images,
//! theme and git. Each runs its blocking work off the async threads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::config::{self, ConfigChange, ResolvedConfig, ThemeChoice};
use crate::context::{self, GitHead, GitStatus, git_head};
use crate::domain::{MessageImage, ModelName, PermissionMode, SessionId, UserInput};
use crate::hooks::{self, HookSet};
use crate::lsp::{LspServerStatus, LspServers};
use crate::mcp::{McpServerStatus, McpServers};
use crate::platform::clipboard::{self, Clipboard, ClipboardContent, CopyResults};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::platform::image::{self, PreparedImage};
use crate::platform::status_command::{self, StatusCommand};
use crate::platform::terminal::output::TerminalOutput;
use crate::platform::terminal_kind::TerminalInfo;
use crate::platform::{editor, which};
use crate::services::connect::{ConnectEvent, ConnectJob};
use crate::services::hook_admin::{HookAdminRequest, HookAdminResponse};
use crate::services::lsp_admin::LspAdminRequest;
use crate::services::mcp_admin::McpAdminRequest;
use crate::services::session_service::{self, SessionJobPaths};
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::services::store_query_service;
use crate::session::{
    DraftStore, FavouriteModels, HistoryPage, KindFolds, PromptHistoryFile, SessionDraft,
    SessionFolds, SessionSearchResult, SessionStore,
};
use crate::tools::WorkingDirectory;
use crate::trust::TrustQuestion;
use crate::tui::app::conversation::images::{ImageLoadResult, ImageSource};
use crate::tui::app::conversation::status::GitSummary;
use crate::tui::app::conversation::title;
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::pictures;
use crate::tui::app::setting_admin::SettingRequest;
use crate::tui::app::setting_response::SettingResponse;
use crate::tui::executor::FrontEndServices;
use crate::tui::picture_cells::TerminalPicture;
use crate::tui::theme::ThemeLibrary;

use super::connections::ProviderConnections;
use super::hook_trust::{self, ProjectHookTrust};
use super::run_context::RunContext;
use super::sandbox_setup;
use super::{completion_files, themes};

/// How long the system's clipboard may take to copy before slug says that it has not answered.
const COPY_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the system's clipboard may take to paste; longer, because it may hold a large image.
const PASTE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a provider may take to list its models, while the others already have.
const MODELS_TIMEOUT: Duration = Duration::from_secs(5);

/// The parts of slug that the front end uses, for one run.
pub(super) struct ScreenServices {
    cwd: PathBuf,
    home: PathBuf,
    user_home: Option<PathBuf>,
    connections: Arc<ProviderConnections>,
    store: SessionStore,
    hooks: Arc<HookSet>,
    mcp: Arc<McpServers>,
    /// `None` in a folder that the user does not trust.
    lsp: Option<Arc<LspServers>>,
    /// The changes that the list of hooks has shown; trusting them uses exactly these.
    hook_question: Mutex<Option<TrustQuestion>>,
    drafts: Arc<DraftStore>,
    /// The id under which this run's draft is saved.
    draft: SessionId,
    history: PromptHistoryFile,
    /// The file that remembers how the list of sessions is grouped, and the folder for exports.
    session_files: SessionJobPaths,
    /// The file that remembers how kinds of panes are folded.
    folds: PathBuf,
    /// The file with the models that the user has marked.
    favourites: PathBuf,
    clipboard: Mutex<Clipboard>,
    /// The user's own command for the status line.
    status_command: Option<StatusCommand>,
    git: Option<GitStatus>,
    themes: PathBuf,
    /// The user's configuration file.
    config: PathBuf,
}

impl ScreenServices {
    pub(super) fn new(
        connections: ProviderConnections,
        git: Option<context::GitExecutable>,
        (store, hooks): (SessionStore, Arc<HookSet>),
        (mcp, lsp): (Arc<McpServers>, Option<Arc<LspServers>>),
        status_command: Option<StatusCommand>,
        clipboard: Clipboard,
    ) -> Arc<Self> {
        let run_context = &connections.run_context;
        Arc::new(Self {
            cwd: run_context.cwd.clone(),
            home: run_context.home.root().to_owned(),
            user_home: run_context.user_home.clone(),
            store,
            hooks,
            mcp,
            lsp,
            hook_question: Mutex::default(),
            drafts: Arc::new(DraftStore::new(run_context.home.drafts())),
            draft: SessionId::generate(),
            history: PromptHistoryFile::new(run_context.home.history()),
            session_files: SessionJobPaths {
                grouping: run_context.home.grouping(),
                exports: run_context.home.exports(),
            },
            folds: run_context.home.folds(),
            favourites: run_context.home.favourites(),
            clipboard: Mutex::new(clipboard),
            status_command,
            git: git.map(|git| GitStatus::new(git, run_context.cwd.clone())),
            themes: run_context.home.themes(),
            config: run_context.config_file(&connections.cli),
            connections: Arc::new(connections),
        })
    }

    /// The newest page of the prompt history.
    pub(super) fn last_sent(&self) -> HistoryPage {
        self.history.page(None).unwrap_or_else(|error| {
            tracing::warn!(%error, "the history of prompts cannot be read");
            HistoryPage::default()
        })
    }

    fn trust(&self) -> ProjectHookTrust {
        ProjectHookTrust {
            cwd: self.cwd.clone(),
            home: self.home.clone(),
            user_home: self.user_home.clone(),
        }
    }

    /// Reads the system's clipboard.
    fn pasted(&self) -> oneshot::Receiver<Result<ClipboardContent, String>> {
        self.clipboard.lock().unwrap_or_else(PoisonError::into_inner).paste()
    }

    /// The folder that typed paths start from.
    fn place(&self) -> WorkingDirectory {
        WorkingDirectory { cwd: self.cwd.clone(), home: self.user_home.clone() }
    }

    /// The unfinished input in this folder from when slug last ended.
    pub(super) fn draft(&self) -> UserInput {
        match self.drafts.adopt(&self.cwd, &self.store, self.draft) {
            Ok(draft) => draft.map(|draft| draft.text).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "the draft cannot be read");
                UserInput::default()
            }
        }
    }
}

#[async_trait]
impl FrontEndServices for ScreenServices {
    async fn sessions(&self, job: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
        let (store, paths) = (self.store.clone(), self.session_files.clone());
        blocking(move || session_service::run(&store, &paths, &job)).await?
    }

    async fn search_sessions(
        &self,
        text: String,
        sessions: Arc<[SessionId]>,
        found: mpsc::Sender<SessionSearchResult>,
    ) {
        let store = self.store.clone();
        let searched =
            blocking(move || session_service::search(&store, &text, &sessions, &found)).await;
        if let Err(error) = searched {
            tracing::error!(%error, "the search of sessions has failed");
        }
    }

    async fn pages(&self, job: StoreQuery) -> Result<StoreQueryResult, String> {
        let (store, folds) = (self.store.clone(), self.folds.clone());
        blocking(move || store_query_service::run(&store, &folds, &job)).await?
    }

    async fn settings(&self, job: SettingRequest) -> Result<SettingResponse, String> {
        let connections = Arc::clone(&self.connections);
        blocking(move || connections.settings(&job)).await?
    }

    async fn hooks(&self, job: HookAdminRequest) -> Result<HookAdminResponse, String> {
        match job {
            HookAdminRequest::List => {}
            HookAdminRequest::Switch(id) => {
                let hooks = self.hooks.clone();
                let switched = blocking(move || hooks.switch(&id)).await?;
                switched.map_err(|error| error.to_string())?;
            }
            HookAdminRequest::Trust => {
                let question =
                    self.hook_question.lock().unwrap_or_else(PoisonError::into_inner).take();
                let question = question.ok_or("Nothing to trust. Open the list again.")?;
                let (project_trust, hooks) = (self.trust(), self.hooks.clone());
                let trusted = blocking(move || project_trust.take(question, &hooks)).await?;
                trusted.map_err(|error| error.to_string())?;
            }
            HookAdminRequest::Try(id) => {
                let context = hooks::HookContext {
                    session: self.draft,
                    transcript: self.store.log_path(self.draft),
                    cwd: self.cwd.clone(),
                    mode: PermissionMode::Ask,
                };
                let trial = self.hooks.try_out(&id, &context, &CancellationToken::new()).await;
                let trial = trial.ok_or("This hook no longer exists. Open the list again.")?;
                return Ok(HookAdminResponse::Tried(Box::new(trial)));
            }
        }
        let (hooks, trust) = (self.hooks.clone(), self.trust());
        let (rows, question) =
            blocking(move || (hooks.rows(), trust.question(&hooks.changed()))).await?;
        let question = question.map_err(|error| error.to_string())?;
        let news = question.as_ref().map(hook_trust::lines);
        *self.hook_question.lock().unwrap_or_else(PoisonError::into_inner) = question;
        Ok(match news {
            Some(news) => HookAdminResponse::Changed { rows, news: news.into() },
            None => HookAdminResponse::Listed(rows),
        })
    }

    async fn mcp_servers(&self, seen: Option<u64>) -> (u64, Vec<McpServerStatus>) {
        self.mcp.status_after(seen).await
    }

    async fn change_mcp(&self, job: McpAdminRequest) -> Result<(), String> {
        match job {
            McpAdminRequest::Restart(name) => self.mcp.restart(&name).await,
            McpAdminRequest::LogIn(name) => self.mcp.log_in(&name).await,
            McpAdminRequest::Allow(name, shown) => self.mcp.allow(&name, shown).await,
            McpAdminRequest::Accept(name, shown) => self.mcp.accept(&name, shown).await,
        }
    }

    async fn language_servers(&self, seen: Option<u64>) -> (u64, Vec<LspServerStatus>) {
        match (&self.lsp, seen) {
            (Some(servers), _) => servers.status_after(seen).await,
            (None, None) => (0, Vec::new()),
            (None, Some(_)) => std::future::pending().await,
        }
    }

    async fn change_language_server(&self, job: LspAdminRequest) -> Result<(), String> {
        let servers = self.lsp.as_ref().ok_or("No language servers run in this folder.")?;
        match job {
            LspAdminRequest::Restart { name, root } => servers.restart(&name, &root).await,
            LspAdminRequest::Stop { name, root } => servers.stop(&name, &root).await,
        }
    }

    async fn connect(&self, job: ConnectJob, events: mpsc::Sender<ConnectEvent>) {
        self.connections.run(job, events).await;
    }

    async fn keep_folds(&self, session: SessionId, folds: SessionFolds) -> Result<(), String> {
        let store = self.store.clone();
        let kept = blocking(move || store.save_folds(session, &folds)).await?;
        kept.map_err(|error| error.to_string())
    }

    async fn keep_kinds(&self, kinds: KindFolds) -> Result<(), String> {
        let path = self.folds.clone();
        blocking(move || kinds.save(&path)).await?.map_err(|error| error.to_string())
    }

    async fn toggle_favourite(&self, name: ModelName) -> Result<(), String> {
        let path = self.favourites.clone();
        let kept = blocking(move || FavouriteModels::toggle(&path, &name)).await?;
        kept.map_err(|error| error.to_string())
    }

    async fn models(&self) -> Result<Vec<ModelRow>, String> {
        let favourites = self.favourites.clone();
        let favourites = blocking(move || FavouriteModels::load(&favourites)).await?;
        let mark = |name: &ModelName| {
            if favourites.0.contains(name) { FavouriteMark::Favourite } else { FavouriteMark::None }
        };
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        let asked = self.connections.providers.all().into_iter().map(|provider| async move {
            let listed = tokio::time::timeout(MODELS_TIMEOUT, provider.provider.models()).await;
            (provider.name, listed)
        });
        for (provider, listed) in join_all(asked).await {
            match listed {
                Ok(Ok(models)) => rows.extend(models.into_iter().map(|it| {
                    let name = ModelName::new(provider.as_str(), it.id);
                    ModelRow { mark: mark(&name), name, window: it.context_window }
                })),
                Ok(Err(error)) => failures.push(error.message),
                Err(_) => failures.push(format!("{provider} does not list its models.")),
            }
        }
        // A server that does not answer must not hide the models of the others.
        if rows.is_empty() && !failures.is_empty() { Err(failures.join(" ")) } else { Ok(rows) }
    }

    async fn files(&self) -> Vec<String> {
        let cwd = self.cwd.clone();
        blocking(move || completion_files::paths_of(&cwd)).await.unwrap_or_default()
    }

    async fn history(&self, before: u64) -> Result<HistoryPage, String> {
        let history = self.history.clone();
        blocking(move || history.page(Some(before))).await?.map_err(|error| error.to_string())
    }

    async fn count_lines(&self, path: String) -> Option<u64> {
        let path = self.place().resolve(&path);
        blocking(move || completion_files::lines_of(&path)).await.ok().flatten()
    }

    async fn list_folder(&self, folder: String) -> Vec<String> {
        let folder = self.place().resolve(&folder);
        blocking(move || completion_files::names_in(&folder)).await.unwrap_or_default()
    }

    async fn git(&self) -> Option<GitSummary> {
        let branch = match git_head(&self.cwd)? {
            GitHead::Branch(name) | GitHead::Detached(name) => name,
        };
        let changes = match &self.git {
            Some(git) => git.changes().await.unwrap_or_default(),
            None => context::GitChangeCounts::default(),
        };
        let context::GitChangeCounts { added, changed, removed } = changes;
        Some(GitSummary { branch, added, changed, removed })
    }

    async fn save_draft(&self, text: UserInput) -> Result<(), String> {
        let (drafts, session) = (self.drafts.clone(), self.draft);
        let working_directory = self.cwd.clone();
        blocking(move || {
            if text.is_blank() {
                drafts.remove(session)
            } else {
                drafts.save(&SessionDraft { text, working_directory, session })
            }
        })
        .await?
        .map_err(|error| error.to_string())
    }

    async fn add_history(&self, text: UserInput) -> Result<(), String> {
        self.history.add(&text, &self.cwd).map_err(|error| error.to_string())
    }

    async fn take_image(&self, source: ImageSource) -> Result<ImageLoadResult, String> {
        let prepared = match source {
            ImageSource::File(path) => {
                let read = blocking(move || image::read(&path)).await?;
                match read.map_err(|error| error.to_string())? {
                    Some(prepared) => prepared,
                    None => return Ok(ImageLoadResult::Nothing),
                }
            }
            ImageSource::Clipboard => {
                match tokio::time::timeout(PASTE_TIMEOUT, self.pasted()).await {
                    Ok(Ok(Ok(ClipboardContent::Image(prepared)))) => prepared,
                    Ok(Ok(Ok(ClipboardContent::Text(text)))) => {
                        return Ok(ImageLoadResult::Text(text));
                    }
                    Ok(Ok(Err(reason))) => return Err(reason),
                    Ok(Err(_)) | Err(_) => return Err("The clipboard does not respond.".to_owned()),
                }
            }
        };
        let blobs = self.store.blobs().clone();
        let PreparedImage { image, bytes } = prepared;
        blocking(move || blobs.put(&bytes)).await?.map_err(|error| error.to_string())?;
        Ok(ImageLoadResult::Image(image))
    }

    async fn picture(
        &self,
        canvas: GraphicsCanvas,
        number: u32,
        image: MessageImage,
        cells: SizeInCells,
    ) -> Result<TerminalPicture, String> {
        let blobs = self.store.blobs().clone();
        blocking(move || {
            let stored = blobs.get(&image.hash).map_err(|error| error.to_string())?;
            let bytes = stored.ok_or_else(|| format!("{image} is no longer stored"))?;
            canvas
                .picture(number, cells, image.name(), image.media_type, &bytes)
                .map(|sequence| pictures::picture(canvas, number, cells, sequence))
                .map_err(|error| error.to_string())
        })
        .await?
    }

    async fn status_line(&self, state: String) -> Result<String, String> {
        match &self.status_command {
            Some(command) => {
                let line = status_command::run(command, &state, &self.cwd).await;
                line.map_err(|error| error.to_string())
            }
            None => Ok(String::new()),
        }
    }

    async fn themes(&self) -> ThemeLibrary {
        let folder = self.themes.clone();
        blocking(move || themes::library(&folder)).await.unwrap_or_default()
    }

    async fn keep_theme(&self, choice: ThemeChoice) -> Result<(), String> {
        let file = self.config.clone();
        let saved = blocking(move || config::save(&file, &[ConfigChange::Theme(choice)])).await?;
        saved.map_err(|error| error.to_string())
    }

    fn copy(&self, text: String) -> BoxFuture<'static, Result<String, String>> {
        let mut clipboard = self.clipboard.lock().unwrap_or_else(PoisonError::into_inner);
        let copied = clipboard.copy(&text, &mut TerminalOutput);
        let file = clipboard.file().to_owned();
        drop(clipboard);
        let shown = title::home_path(&file, self.user_home.as_deref());
        Box::pin(async move {
            let copied = copied.map_err(|error| format!("Cannot copy: {error}."))?;
            let results = match tokio::time::timeout(COPY_TIMEOUT, copied.results).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => CopyResults::unknown(),
            };
            let in_file = if results.has_any() {
                Err("it was not needed".to_owned())
            } else {
                let written = blocking(move || clipboard::keep_in_file(&file, &text)).await?;
                written.map(|()| shown).map_err(|error| error.to_string())
            };
            clipboard::describe(copied.terminal, &results, &in_file)
        })
    }

    fn edit(&self, text: &str) -> Result<String, String> {
        editor::edit(&editor::command(), text, &self.home).map_err(|error| error.to_string())
    }

    fn edit_file(&self, path: &Path) -> Result<[String; 2], String> {
        editor::edit_file(&editor::command(), path).map_err(|error| error.to_string())
    }

    fn show_in_pager(&self, text: &str) -> Result<(), String> {
        editor::page(&editor::pager(), text, &self.home).map_err(|error| error.to_string())
    }
}

/// The clipboard of a run, with tmux if it is in between.
pub(super) fn clipboard(run_context: &RunContext, config: &ResolvedConfig) -> Clipboard {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tmux = which::find("tmux", &path, &sandbox_setup::changeable(run_context, config));
    Clipboard::new(TerminalInfo::from_environment(), tmux, run_context.home.clipboard())
}

/// Runs work on files off the async threads. The error is a sentence.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}
