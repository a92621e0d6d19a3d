//! The context of a run: its working folder, slug's home, and the environment. Configuration, trust
//! and keymap are read through it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use crossterm::event::{KeyCode, KeyModifiers};

use crate::cli::Cli;
use crate::config::{
    self, ConfigEnvironment, ConfigError, ConfigFiles, ConfigText, ResolvedConfig, SettingChange,
    SettingOutcome, UserConfigFile,
};
use crate::disk;
use crate::permissions::Workspace;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::clipboard::TerminalMultiplexer;
use crate::platform::paths::SlugHome;
use crate::platform::process_privacy;
use crate::platform::terminal_kind::TerminalInfo;
use crate::trust::{TrustError, TrustStatus, TrustStore};
use crate::tui::app::keymap::{KeyChord, Keymap, TerminalKeys};

/// The largest `keys.toml` that is read, in bytes; far more than any needs.
const MAX_KEYS_BYTES: u64 = 1 << 20;

/// The folders and variables that all parts of a run share.
#[derive(Clone)]
pub(super) struct RunContext {
    /// The working folder, without symbolic links.
    pub(super) cwd: PathBuf,
    /// The folders that `--add-dir` names, without symbolic links.
    pub(super) added_folders: Vec<PathBuf>,
    /// The user's home folder; `None` when there is none.
    pub(super) user_home: Option<PathBuf>,
    /// slug's own folder: `SLUG_HOME`, or `~/.slug`.
    pub(super) home: SlugHome,
    /// Warnings for the user, as sentences.
    pub(super) notices: Vec<String>,
    /// The environment variables that count as configuration.
    pub(super) environment: ConfigEnvironment,
    /// The file that `--config` names, an absolute path.
    pub(super) named_config: Option<PathBuf>,
    /// The flag that stands for a yes to the question about the folder, in this run only.
    trusts_workspace: bool,
}

impl RunContext {
    pub(super) fn find(cli: &Cli) -> anyhow::Result<Self> {
        let cwd = match &cli.directory {
            Some(folder) => folder.clone(),
            None => std::env::current_dir().context("The current folder no longer exists")?,
        };
        let cwd = folder(&cwd)?;
        let added = cli.add_dir.iter().map(|path| folder(path)).collect::<anyhow::Result<_>>()?;
        let chosen = std::env::var_os("SLUG_HOME").map(PathBuf::from);
        let home = SlugHome::find(chosen.as_deref(), &cwd)?;
        let narrowed = home.ensure().with_context(|| {
            let root = home.root().display();
            format!("Cannot create slug's folder {root}. Set SLUG_HOME to another one")
        })?;
        Ok(Self {
            cwd,
            added_folders: added,
            user_home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            home,
            notices: narrowed.iter().map(ToString::to_string).collect(),
            environment: ConfigEnvironment::read(|name| process_privacy::variable(name))?,
            named_config: cli.config.as_deref().and_then(|file| std::path::absolute(file).ok()),
            trusts_workspace: cli.trust_workspace,
        })
    }

    /// The same context with another working folder, and no added folders.
    pub(super) fn moved_to(&self, cwd: PathBuf) -> Self {
        Self {
            cwd,
            added_folders: Vec::new(),
            user_home: self.user_home.clone(),
            home: self.home.clone(),
            notices: self.notices.clone(),
            environment: self.environment.clone(),
            named_config: self.named_config.clone(),
            trusts_workspace: self.trusts_workspace,
        }
    }

    /// The same context in the folder that an editor has opened, with its added folders.
    pub(super) fn opened_in(&self, cwd: &Path, added: &[PathBuf]) -> anyhow::Result<Self> {
        let added = added.iter().map(|path| folder(path)).collect::<anyhow::Result<_>>()?;
        Ok(Self { added_folders: added, ..self.moved_to(folder(cwd)?) })
    }

    /// Whether the settings files of the folder count: by the flag of this run, or because the user
    /// has trusted the folder.
    pub(super) fn project(&self, cli: &Cli) -> anyhow::Result<ProjectSettingsTrust> {
        if cli.trust_workspace {
            return Ok(ProjectSettingsTrust::Trusted);
        }
        Ok(match self.trust()?.status(&self.cwd) {
            TrustStatus::Trusted => ProjectSettingsTrust::Trusted,
            TrustStatus::Unknown | TrustStatus::Changed(_) | TrustStatus::TooWide => {
                ProjectSettingsTrust::Untrusted
            }
        })
    }

    /// Whether the user has said that the folder is trusted, by the flag or to the question. One that has
    /// nothing to ask about is not, though its settings would count.
    pub(super) fn is_trusted_by_user(&self) -> bool {
        let is_kept = |store: TrustStore| store.status(&self.cwd) == TrustStatus::Trusted;
        self.trusts_workspace || self.trust().is_ok_and(is_kept)
    }

    /// The notice for a folder that cannot be trusted, such as the home folder, and so is not asked
    /// about; `None` for all others.
    pub(super) fn too_wide_notice(
        &self,
        project: ProjectSettingsTrust,
    ) -> anyhow::Result<Option<String>> {
        let is_too_wide = project == ProjectSettingsTrust::Untrusted
            && self.trust()?.status(&self.cwd) == TrustStatus::TooWide;
        let why = || TrustError::TooWide(self.cwd.clone());
        Ok(is_too_wide.then(|| format!("{} Its settings and instructions are left out.", why())))
    }

    pub(super) fn trust(&self) -> anyhow::Result<TrustStore> {
        Ok(TrustStore::open(self.home.root(), self.user_home.as_deref())?)
    }

    pub(super) fn config(
        &self,
        cli: &Cli,
        project: ProjectSettingsTrust,
    ) -> Result<ResolvedConfig, Vec<ConfigError>> {
        let inputrc = self.inputrc_files();
        config::load(self.config_files(cli, project, &inputrc), &self.environment, &cli.flags())
    }

    /// Writes a setting into the user's configuration.
    pub(super) fn change_setting(
        &self,
        cli: &Cli,
        project: ProjectSettingsTrust,
        change: &SettingChange,
    ) -> Result<SettingOutcome, String> {
        let inputrc = self.inputrc_files();
        let files = self.config_files(cli, project, &inputrc);
        let path = self.config_file(cli);
        config::change_setting(files, &self.environment, &cli.flags(), &path, change)
    }

    /// A path as written, with `~` replaced.
    pub(super) fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.user_home) {
            (Ok(rest), Some(home)) => home.join(rest),
            (Ok(_) | Err(_), _) => path.to_owned(),
        }
    }

    fn inputrc_files(&self) -> Vec<PathBuf> {
        config::inputrc_files(std::env::var_os("INPUTRC"), self.user_home.as_deref())
    }

    fn config_files<'a>(
        &'a self,
        cli: &'a Cli,
        project: ProjectSettingsTrust,
        inputrc: &'a [PathBuf],
    ) -> ConfigFiles<'a> {
        let user = match &cli.config {
            Some(file) => UserConfigFile::Named(file),
            None => UserConfigFile::Home(self.home.root()),
        };
        let project = match project {
            ProjectSettingsTrust::Trusted => Some(self.cwd.as_path()),
            ProjectSettingsTrust::Untrusted => None,
        };
        ConfigFiles { user, project, inputrc }
    }

    /// The user's own configuration file.
    pub(super) fn config_file(&self, cli: &Cli) -> PathBuf {
        cli.config.clone().unwrap_or_else(|| self.home.config())
    }

    /// The keymap, and what is wrong in the user's `keys.toml`, as sentences.
    pub(super) fn keys(&self, config: &ResolvedConfig) -> (Keymap, Vec<String>) {
        let path = self.home.root().join("keys.toml");
        let (own, unreadable) = match disk::read_text(&path, MAX_KEYS_BYTES) {
            Ok(text) => (text.map(|text| ConfigText { path, text }), None),
            Err(error) => {
                let text = format!("{} {error}. Its keys do not apply.", path.display());
                (None, Some(text))
            }
        };
        let (mut map, warnings) = Keymap::resolve(config.keys.value, own.as_ref());
        let terminal = terminal_keys(&TerminalInfo::from_environment());
        map.show_only(|keys| keys.is_sent_by(&terminal));
        (map, unreadable.into_iter().chain(warnings).collect())
    }

    pub(super) fn workspace(&self, project: ProjectSettingsTrust) -> Workspace {
        let (home, slug_home) = (self.user_home.clone(), self.home.root().to_owned());
        let workspace =
            Workspace::new(self.cwd.clone(), self.added_folders.clone(), home, slug_home);
        let workspace = match &self.named_config {
            Some(file) => workspace.with_config_file(file),
            None => workspace,
        };
        let workspace = workspace.with_search_path(&std::env::var_os("PATH").unwrap_or_default());
        match project {
            ProjectSettingsTrust::Trusted => workspace.trusted(),
            ProjectSettingsTrust::Untrusted => workspace,
        }
    }
}

/// Multiplexers keep a key for themselves: tmux ctrl+b, screen ctrl+a, unless their user changed it;
/// some terminals keep alt+enter.
fn terminal_keys(terminal: &TerminalInfo) -> TerminalKeys {
    let prefix = match terminal.multiplexer {
        TerminalMultiplexer::None => None,
        TerminalMultiplexer::Tmux => Some('b'),
        TerminalMultiplexer::Screen => Some('a'),
    };
    TerminalKeys {
        extended: terminal.sends_extended_keys(),
        prefix: prefix.map(|key| KeyChord::new(KeyCode::Char(key), KeyModifiers::CONTROL)),
        taken: terminal
            .kind
            .takes_alt_enter()
            .then(|| KeyChord::new(KeyCode::Enter, KeyModifiers::ALT)),
    }
}

fn folder(path: &Path) -> anyhow::Result<PathBuf> {
    let real = path.canonicalize().with_context(|| format!("Cannot open {}", path.display()))?;
    if !real.is_dir() {
        bail!("{} is not a folder.", path.display());
    }
    Ok(real)
}
