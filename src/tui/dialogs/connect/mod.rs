//! The page that connects a model: on the first run, with nothing configured, and at any time later
//! as `/connect`.
//!
//! Servers on this machine are searched for in the background and appear as they answer. Nothing is
//! used, and no key is sent anywhere, before the user chooses it here. On the first run the caller
//! writes the choice down; later the page has it saved, and the session goes on with the new model.

mod linear_page;
mod steps;
mod view;

use std::fmt;
use std::path::PathBuf;

use ratatui::layout::Position;
use secrecy::SecretString;

use crate::agent::AgentCommand;
use crate::config::ConfigEndpoint;
use crate::domain::sanitize::sanitize;
use crate::domain::{ModelName, NoticeLevel};
use crate::providers::ProviderFault;
use crate::services::connect::{
    ConnectEvent, ConnectFailure, ConnectJob, ConnectPlace, ConnectPreference, ConnectTarget,
    ConnectedProvider, DetectedApiKey, DetectedModelFile, DetectedServer, HostedService,
    ServerAccess, rank,
};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{KeyPlace, KeyPress};
use crate::tui::app::startup::{FirstRunAnswer, StartupAnswer};
use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogOpening, DialogView};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::LinearPage;

/// The page.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectDialog {
    purpose: ConnectPurpose,
    /// The file that the choice will be written to, with `~` for the home folder.
    config_file: String,
    keys: Vec<DetectedApiKey>,
    configured: Vec<ConnectedProvider>,
    servers: Vec<DetectedServer>,
    /// Offered where no server runs.
    files: Vec<DetectedModelFile>,
    looking: ServerSearch,
    chosen: Option<ConnectChoice>,
    step: ConnectStep,
    /// The address that the user types for another server.
    address: TextEditor,
    /// The key that the user types.
    secret: SecretField,
    error: Option<String>,
    /// What a test of a provider has found.
    news: Option<String>,
    /// The provider in use, if its key was rejected and the user has not been asked for another yet.
    rejected: Option<String>,
    /// The number of the last job.
    jobs: u64,
    /// Whether the current step takes answers.
    guard: QuestionGuard,
}

/// What the page is open for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectPurpose {
    /// To start with a first model.
    FirstRun,
    /// To add, test, change or remove a provider, beside the chat.
    Chat(ConnectPreference),
}

/// The field in which the user types a key, which no log shows.
#[derive(Clone, PartialEq)]
struct SecretField(TextEditor);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerSearch {
    Now,
    Over,
}

/// A row that can be chosen. A server is identified by its endpoint, a provider by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ConnectChoice {
    Configured(String),
    Server(String),
    File(PathBuf),
    Hosted(HostedService),
    Other,
    Demo,
}

/// What can be done with a configured provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProviderAction {
    Use,
    Test,
    ChangeKey,
    Remove,
}

#[derive(Debug, Clone, PartialEq)]
enum ConnectStep {
    /// The list of what can be chosen.
    Choose,
    /// The user types the address of another server.
    Address,
    /// Asks whether an unencrypted address may be used.
    Unencrypted(ConfigEndpoint),
    /// The user types the key for a server.
    Key { target: ConnectTarget, need: KeyNeed },
    /// What to do with a configured provider.
    Manage { provider: ConnectedProvider, selected: usize },
    /// Asks whether a provider is removed.
    Removing(ConnectedProvider),
    /// A server is being asked for its models.
    Checking { id: u64, subject: CheckSubject, back: ReturnStep },
    /// The server has several models.
    Models { subject: CheckSubject, models: Vec<String>, selected: usize },
    /// The choice is being written down. Then this model answers.
    Saving { id: u64, model: Option<String> },
}

/// Whether a server can do without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyNeed {
    Required,
    /// An empty field means none.
    Optional,
}

/// The server that is asked for its models, and what for.
#[derive(Debug, Clone, PartialEq)]
enum CheckSubject {
    /// One that is to be connected.
    Target(ConnectTarget),
    /// A configured one, to choose a model of it.
    Use(ConnectedProvider),
    /// A configured one, to see that it answers.
    Test(ConnectedProvider),
}

/// The step that a failed check returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReturnStep {
    Choose,
    Address,
    Key,
}

impl ConnectDialog {
    /// The page of the first run with the keys from the environment and the model files that slug could
    /// serve, which begins to search for servers.
    pub fn first_run(
        config_file: &str,
        keys: Vec<DetectedApiKey>,
        files: Vec<DetectedModelFile>,
    ) -> DialogOpening<Self> {
        let page = Self::new(ConnectPurpose::FirstRun, config_file, keys);
        Self { files, ..page }.opening()
    }

    /// The page beside the chat. `fault` is what is wrong with `provider`, which is in use; a connection
    /// that mends it is what slug starts with from then on. Where its key was rejected, the page begins
    /// with asking for another.
    pub fn in_chat(provider: &str, fault: Option<ProviderFault>) -> DialogOpening<Self> {
        let preference = match fault {
            Some(_) => ConnectPreference::Default,
            None => ConnectPreference::Additional,
        };
        let purpose = ConnectPurpose::Chat(preference);
        let page = Self::new(purpose, "config.toml in slug's folder", Vec::new());
        let rejected = (fault == Some(ProviderFault::KeyRefused)).then(|| provider.to_owned());
        Self { rejected, ..page }.opening()
    }

    fn opening(self) -> DialogOpening<Self> {
        DialogOpening::of(self, vec![ScreenEffect::Connect(ConnectJob::FindServers)])
    }

    fn new(purpose: ConnectPurpose, config_file: &str, keys: Vec<DetectedApiKey>) -> Self {
        Self {
            purpose,
            config_file: sanitize(config_file).into_owned(),
            keys,
            configured: Vec::new(),
            servers: Vec::new(),
            files: Vec::new(),
            looking: ServerSearch::Now,
            chosen: None,
            step: ConnectStep::Choose,
            address: TextEditor::new(EditorLines::One),
            secret: SecretField::default(),
            error: None,
            news: None,
            rejected: None,
            jobs: 0,
            guard: QuestionGuard::default(),
        }
    }

    /// The services that are not connected yet.
    fn offered_services(&self) -> impl Iterator<Item = HostedService> {
        let is_new = |service: &HostedService| {
            !self.configured.iter().any(|it| it.name == service.provider_name())
        };
        HostedService::ALL.into_iter().filter(is_new)
    }

    /// The servers of this machine that are not connected yet.
    fn offered_servers(&self) -> impl Iterator<Item = &DetectedServer> {
        let is_new = |server: &&DetectedServer| {
            !self.configured.iter().any(|it| it.endpoint == server.endpoint)
        };
        self.servers.iter().filter(is_new)
    }

    /// The model files, once no server has been found.
    fn offered_files(&self) -> impl Iterator<Item = &DetectedModelFile> {
        let is_wanted = self.looking == ServerSearch::Over && self.servers.is_empty();
        self.files.iter().filter(move |_| is_wanted)
    }

    fn choices(&self) -> Vec<ConnectChoice> {
        let configured =
            self.configured.iter().map(|it| ConnectChoice::Configured(it.name.clone()));
        let servers =
            self.offered_servers().map(|server| ConnectChoice::Server(server.endpoint.clone()));
        let files = self.offered_files().map(|file| ConnectChoice::File(file.path.clone()));
        let hosted = self.offered_services().map(ConnectChoice::Hosted);
        let demo = match self.purpose {
            ConnectPurpose::FirstRun => Some(ConnectChoice::Demo),
            ConnectPurpose::Chat(_) => None,
        };
        configured
            .chain(servers)
            .chain(files)
            .chain(hosted)
            .chain([ConnectChoice::Other])
            .chain(demo)
            .collect()
    }

    /// The row that enter takes: the first one until the user moves to another. A service with a key
    /// in the environment comes before one without.
    fn selected(&self) -> ConnectChoice {
        let choices = self.choices();
        let with_key = self.keys.first().map(|key| ConnectChoice::Hosted(key.service));
        let with_key = with_key.filter(|_| self.servers.is_empty());
        let chosen = self.chosen.as_ref().filter(|chosen| choices.contains(chosen));
        chosen.or(with_key.as_ref()).or(choices.first()).cloned().unwrap_or(ConnectChoice::Other)
    }

    /// Whether the user types a text.
    fn is_typing(&self) -> bool {
        matches!(self.step, ConnectStep::Address | ConnectStep::Key { .. })
    }

    fn next_job(&mut self) -> u64 {
        self.jobs += 1;
        self.jobs
    }

    fn event(&mut self, event: &ConnectEvent) -> Vec<Intent> {
        match event {
            ConnectEvent::Configured { file, providers } => {
                self.config_file = sanitize(file).into_owned();
                self.configured.clone_from(providers);
                self.ask_for_rejected_key();
            }
            ConnectEvent::Found(server) => {
                if !self.servers.iter().any(|known| known.endpoint == server.endpoint) {
                    self.servers.push(server.clone());
                    self.servers.sort_by_key(|server| rank(&server.endpoint));
                }
            }
            ConnectEvent::SearchFinished => self.looking = ServerSearch::Over,
            ConnectEvent::Checked { id, models } => {
                if matches!(&self.step, ConnectStep::Checking { id: awaited, .. } if awaited == id)
                {
                    return self.checked(models.clone());
                }
            }
            ConnectEvent::Saved { id, outcome } => {
                if let ConnectStep::Saving { id: awaited, model } = &self.step
                    && awaited == id
                {
                    let model = model.clone();
                    return self.saved(outcome, model);
                }
            }
            ConnectEvent::Removed { id, outcome } => {
                if matches!(&self.step, ConnectStep::Saving { id: awaited, .. } if awaited == id) {
                    self.step = ConnectStep::Choose;
                    match outcome {
                        Ok(providers) => self.configured.clone_from(providers),
                        Err(reason) => self.error = Some(sanitize(reason).into_owned()),
                    }
                }
            }
        }
        Vec::new()
    }

    /// Has the page do something. The guard starts over if that leads to another question.
    fn guarded(&mut self, act: impl FnOnce(&mut Self) -> Vec<Intent>) -> Vec<Intent> {
        let step = std::mem::discriminant(&self.step);
        let wanted = act(self);
        if step != std::mem::discriminant(&self.step) {
            self.guard.hidden();
        }
        wanted
    }
}

impl Dialog for ConnectDialog {
    fn place(&self) -> KeyPlace {
        if self.is_typing() { KeyPlace::List } else { KeyPlace::Choice }
    }

    fn key(&mut self, key: &KeyPress<'_>, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.guarded(|page| page.step_key(key))
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, .. } = canvas;
        view::draw(self, &around.conversation.status.provider, styles, area, buffer)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        if let ConnectStep::Address = self.step {
            self.address.insert(text.trim());
        } else if self.is_typing() {
            self.secret.0.insert(text.trim());
        }
        Some(Vec::new())
    }

    fn cancel(&self) -> Vec<Intent> {
        self.leave()
    }

    /// On the first run this is asked as text before the conversation.
    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        match self.purpose {
            ConnectPurpose::FirstRun => None,
            ConnectPurpose::Chat(_) => linear_page::page(self),
        }
    }

    fn expected_line(&self) -> ExpectedLine {
        linear_page::expected_line(self)
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let mut outcome = Ok(Vec::new());
        let wanted = self.guarded(|page| {
            outcome = linear_page::take_line(page, line);
            outcome.clone().unwrap_or_default()
        });
        outcome.map(|_| wanted)
    }

    /// The list is short, and moving in it is for the keys.
    fn wheel(&mut self, _rows: i32, _around: &mut DialogContext<'_>) {}

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        let DialogReply::Connect(event) = reply else { return Vec::new() };
        let selected = self.selected();
        let wanted = self.guarded(|page| page.event(event));
        // An event can change which row enter takes.
        if selected != self.selected() {
            self.guard.hidden();
        }
        wanted
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }
}

fn give(answer: FirstRunAnswer) -> Vec<Intent> {
    vec![Intent::Effect(ScreenEffect::AnswerStartup(StartupAnswer::FirstRun(answer)))]
}

fn ask(job: ConnectJob) -> Vec<Intent> {
    vec![Intent::Effect(ScreenEffect::Connect(job))]
}

impl Default for SecretField {
    fn default() -> Self {
        Self(TextEditor::new(EditorLines::One))
    }
}

impl fmt::Debug for SecretField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretField(…)")
    }
}

impl ProviderAction {
    /// What can be done with a provider: a key in the environment is changed there.
    fn of(provider: &ConnectedProvider) -> &'static [Self] {
        match provider.place {
            ConnectPlace::Top | ConnectPlace::Named(_) => {
                &[Self::Use, Self::Test, Self::ChangeKey, Self::Remove]
            }
            ConnectPlace::Environment(_) => &[Self::Use, Self::Test],
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Use => "Use it: choose a model",
            Self::Test => "Test it",
            Self::ChangeKey => "Change the key",
            Self::Remove => "Remove it",
        }
    }
}

#[cfg(test)]
mod tests;
