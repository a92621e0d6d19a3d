//! The first run, with nothing configured: it shows what was found on this machine, and takes an
//! address and a key.
//!
//! Servers are searched for in the background and appear as they answer. Nothing is used, and no
//! key is sent anywhere, before the user chooses it here. The caller writes the choice down.

mod address;
mod search;
mod view;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use secrecy::SecretString;

use crate::config::services;
use crate::domain::ProviderProtocol;
use crate::domain::sanitize::sanitize;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::keymap::{self, KeyPress, ListKey};
use crate::tui::view::RoleStyles;

use super::{StartupInput, StartupPage, StartupTransition};

use address::AddressSecurity;

pub use search::{found_keys, rank, run_job};

/// Models that page up and page down move by.
const PAGE: usize = 10;

/// The page of the first run. Not `Debug`: the user types a key in it.
pub struct FirstRunPage {
    /// The file that the choice will be written to, with `~` for the home folder.
    config_file: String,
    keys: Vec<DetectedApiKey>,
    servers: Vec<DetectedServer>,
    looking: ServerSearch,
    chosen: Option<FirstRunChoice>,
    step: FirstRunStep,
    /// The address that the user types for another server.
    address: TextEditor,
    /// The key that the user types for it.
    secret: TextEditor,
    error: Option<String>,
    checks: u64,
    /// Whether the current step takes answers.
    guard: QuestionGuard,
}

/// A server that answers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedServer {
    /// The program that usually listens at this address.
    pub name: &'static str,
    /// Address for chat completions.
    pub endpoint: String,
    /// Ids of the models that it serves.
    pub models: Vec<String>,
}

/// A key in the environment, and the service that it is for.
#[derive(Debug, Clone)]
pub struct DetectedApiKey {
    /// Name of the environment variable.
    pub variable: &'static str,
    pub service: &'static str,
    pub protocol: ProviderProtocol,
    pub key: SecretString,
}

/// The server that the user chose.
#[derive(Debug, Clone)]
pub struct FirstRunEndpoint {
    pub protocol: ProviderProtocol,
    pub endpoint: String,
    /// Sent to this endpoint only; `None` for a server without a key.
    pub key: Option<SecretString>,
    pub key_storage: FirstRunKeyStorage,
}

/// Where a key is stored once its server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRunKeyStorage {
    /// In the configuration, with the address.
    InFile,
    /// In the environment, as before: only the protocol is written down.
    InEnvironment,
}

/// The user's choice of what to start with.
#[derive(Debug, Clone)]
pub enum FirstRunAnswer {
    Demo,
    /// Uses this server. For an unencrypted address of another host, the user has agreed.
    Use {
        target: FirstRunEndpoint,
        /// The model that the user chose; `None` if there was no choice.
        model: Option<String>,
    },
    /// slug ends.
    Quit,
}

/// Background work of the first run.
#[derive(Debug, Clone)]
pub enum FirstRunJob {
    /// Looks at the usual local ports.
    FindServers,
    /// Asks a server for its models.
    Check {
        /// Number of the check; an answer with an older one is stale.
        id: u64,
        target: FirstRunEndpoint,
    },
}

/// A result of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstRunEvent {
    Found(DetectedServer),
    /// All local ports have been tried.
    SearchFinished,
    /// The answer to [`FirstRunJob::Check`].
    Checked {
        /// Number of the check.
        id: u64,
        /// The server's models, or a sentence about why there are none.
        models: Result<Vec<String>, String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerSearch {
    Now,
    Over,
}

/// A row that can be chosen. A server is identified by its endpoint, a key by its variable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FirstRunChoice {
    Server(String),
    Key(&'static str),
    Other,
    Demo,
}

#[derive(Debug)]
enum FirstRunStep {
    /// The list of what was found.
    Choose,
    /// The user types the address of another server.
    Address,
    /// Asks whether an unencrypted address may be used.
    Unencrypted,
    /// The user types the key for that server.
    Key,
    /// A server is being asked for its models.
    Checking { id: u64, target: FirstRunEndpoint, back: ReturnStep },
    /// The server has several models.
    Models { target: FirstRunEndpoint, models: Vec<String>, selected: usize },
}

/// The step that a failed check returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReturnStep {
    Choose,
    Address,
}

impl FirstRunPage {
    /// The page with the keys from the environment, before any server was found.
    pub fn new(config_file: &str, keys: Vec<DetectedApiKey>) -> Self {
        Self {
            config_file: sanitize(config_file).into_owned(),
            keys,
            servers: Vec::new(),
            looking: ServerSearch::Now,
            chosen: None,
            step: FirstRunStep::Choose,
            address: TextEditor::new(EditorLines::One),
            secret: TextEditor::new(EditorLines::One),
            error: None,
            checks: 0,
            guard: QuestionGuard::default(),
        }
    }

    fn choices(&self) -> Vec<FirstRunChoice> {
        let servers =
            self.servers.iter().map(|server| FirstRunChoice::Server(server.endpoint.clone()));
        let keys = self.keys.iter().map(|key| FirstRunChoice::Key(key.variable));
        servers.chain(keys).chain([FirstRunChoice::Other, FirstRunChoice::Demo]).collect()
    }

    /// The row that enter takes: the first one until the user moves to another.
    fn selected(&self) -> FirstRunChoice {
        let choices = self.choices();
        let chosen = self.chosen.as_ref().filter(|chosen| choices.contains(chosen));
        chosen.or(choices.first()).cloned().unwrap_or(FirstRunChoice::Demo)
    }

    fn key(&mut self, key: KeyEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL {
            return StartupTransition::Done(FirstRunAnswer::Quit);
        }
        if !self.guard.is_armed() && self.is_answer(key) {
            return StartupTransition::Wait;
        }
        match &mut self.step {
            FirstRunStep::Choose => self.choose_key(key),
            FirstRunStep::Address => self.address_key(key),
            FirstRunStep::Unencrypted => self.unencrypted_key(key),
            FirstRunStep::Key => self.secret_key(key),
            FirstRunStep::Checking { back, .. } => {
                match keymap::find(keymap::LIST, &KeyPress::built_in(key)) {
                    Some(ListKey::Back) => {
                        self.step = back.step();
                        redraw()
                    }
                    Some(_) | None => StartupTransition::Wait,
                }
            }
            FirstRunStep::Models { models, selected, .. } => {
                let last = models.len().saturating_sub(1);
                match keymap::find(keymap::LIST, &KeyPress::built_in(key)) {
                    Some(ListKey::Accept) => return self.use_model(),
                    Some(ListKey::Back) => self.step = FirstRunStep::Choose,
                    Some(ListKey::Previous) => *selected = selected.saturating_sub(1),
                    Some(ListKey::Next) => *selected = (*selected + 1).min(last),
                    Some(ListKey::PageUp) => *selected = selected.saturating_sub(PAGE),
                    Some(ListKey::PageDown) => *selected = (*selected + PAGE).min(last),
                    None => return StartupTransition::Wait,
                }
                redraw()
            }
        }
    }

    /// Whether a key would decide something. Moving around, going back and typing text do not.
    fn is_answer(&self, key: KeyEvent) -> bool {
        match keymap::find(keymap::LIST, &KeyPress::built_in(key)) {
            Some(ListKey::Accept) => true,
            Some(
                ListKey::Back
                | ListKey::Previous
                | ListKey::Next
                | ListKey::PageUp
                | ListKey::PageDown,
            ) => false,
            None => match self.step {
                FirstRunStep::Address | FirstRunStep::Key => false,
                FirstRunStep::Choose
                | FirstRunStep::Unencrypted
                | FirstRunStep::Checking { .. }
                | FirstRunStep::Models { .. } => true,
            },
        }
    }

    fn choose_key(&mut self, key: KeyEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        let step = match (keymap::find(keymap::LIST, &press), key.code) {
            (Some(ListKey::Accept), _) => return self.take(),
            (Some(ListKey::Back), _) | (None, KeyCode::Char('q')) => {
                return StartupTransition::Done(FirstRunAnswer::Quit);
            }
            (None, KeyCode::Char('r')) => {
                self.servers.clear();
                self.looking = ServerSearch::Now;
                self.error = None;
                return StartupTransition::Draw(vec![FirstRunJob::FindServers]);
            }
            (Some(ListKey::Previous | ListKey::PageUp), _) | (None, KeyCode::Char('k')) => -1,
            (Some(ListKey::Next | ListKey::PageDown), _) | (None, KeyCode::Char('j')) => 1,
            (None, _) => return StartupTransition::Wait,
        };
        let choices = self.choices();
        let selected = self.selected();
        let at = choices.iter().position(|choice| *choice == selected).unwrap_or(0);
        let to = at.saturating_add_signed(step).min(choices.len() - 1);
        self.chosen = choices.into_iter().nth(to);
        redraw()
    }

    /// Acts on the selected row.
    fn take(&mut self) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        self.error = None;
        match self.selected() {
            FirstRunChoice::Demo => return StartupTransition::Done(FirstRunAnswer::Demo),
            FirstRunChoice::Other => self.step = FirstRunStep::Address,
            FirstRunChoice::Server(endpoint) => {
                let models = self.servers.iter().find(|server| server.endpoint == endpoint);
                let models = models.map(|server| server.models.clone()).unwrap_or_default();
                return self.use_server(FirstRunEndpoint::local(endpoint, None), models);
            }
            FirstRunChoice::Key(variable) => {
                let found = self.keys.iter().find(|key| key.variable == variable);
                if let Some(target) = found.map(DetectedApiKey::target) {
                    return self.check(target, ReturnStep::Choose);
                }
            }
        }
        redraw()
    }

    fn address_key(&mut self, key: KeyEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        match keymap::find(keymap::LIST, &press) {
            Some(ListKey::Back) => {
                self.error = None;
                self.step = FirstRunStep::Choose;
            }
            Some(ListKey::Accept) => match address::judge(&self.address.text()) {
                Ok(way) => {
                    self.error = None;
                    self.step = match way {
                        AddressSecurity::Safe => FirstRunStep::Key,
                        AddressSecurity::Unencrypted => FirstRunStep::Unencrypted,
                    };
                }
                Err(reason) => self.error = Some(reason),
            },
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.address.key(&press),
        }
        redraw()
    }

    /// Only `y` is a yes.
    fn unencrypted_key(&mut self, key: KeyEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        self.step = match (key.code, key.modifiers.is_empty()) {
            (KeyCode::Char('y'), true) => FirstRunStep::Key,
            (KeyCode::Char('n'), true) | (KeyCode::Esc | KeyCode::Enter, _) => {
                FirstRunStep::Address
            }
            _ => return StartupTransition::Wait,
        };
        redraw()
    }

    fn secret_key(&mut self, key: KeyEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        match keymap::find(keymap::LIST, &press) {
            Some(ListKey::Back) => {
                self.secret = TextEditor::new(EditorLines::One);
                self.step = FirstRunStep::Address;
            }
            Some(ListKey::Accept) => {
                let typed =
                    std::mem::replace(&mut self.secret, TextEditor::new(EditorLines::One)).text();
                let secret = Some(typed.trim()).filter(|typed| !typed.is_empty());
                let endpoint = self.address.text().trim().trim_end_matches('/').to_owned();
                let target = FirstRunEndpoint::local(endpoint, secret.map(SecretString::from));
                return self.check(target, ReturnStep::Address);
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.secret.key(&press),
        }
        redraw()
    }

    fn check(
        &mut self,
        target: FirstRunEndpoint,
        back: ReturnStep,
    ) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        self.checks += 1;
        let id = self.checks;
        let job = FirstRunJob::Check { id, target: target.clone() };
        self.step = FirstRunStep::Checking { id, target, back };
        StartupTransition::Draw(vec![job])
    }

    fn checked(
        &mut self,
        models: Result<Vec<String>, String>,
    ) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        let FirstRunStep::Checking { target, back, .. } =
            std::mem::replace(&mut self.step, FirstRunStep::Choose)
        else {
            return StartupTransition::Wait;
        };
        match models {
            Ok(models) => self.use_server(target, models),
            Err(reason) => {
                let hint = if back == ReturnStep::Choose || target.endpoint.ends_with("/v1") {
                    ""
                } else {
                    " The address of chat completions usually ends in /v1."
                };
                self.error = Some(format!("{}{hint}", sanitize(&reason)));
                self.step = back.step();
                redraw()
            }
        }
    }

    /// Uses a server. The model is asked for only if there are several; the usual model of its
    /// service is selected at first.
    fn use_server(
        &mut self,
        target: FirstRunEndpoint,
        models: Vec<String>,
    ) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        if models.len() > 1 {
            let usual = services::of(target.protocol).model;
            let usual = models.iter().position(|model| Some(model.as_str()) == usual);
            self.step = FirstRunStep::Models { target, models, selected: usual.unwrap_or(0) };
            return redraw();
        }
        StartupTransition::Done(FirstRunAnswer::Use { target, model: None })
    }

    /// Uses the selected model.
    fn use_model(&mut self) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        match std::mem::replace(&mut self.step, FirstRunStep::Choose) {
            FirstRunStep::Models { target, models, selected } => {
                let model = models.into_iter().nth(selected);
                StartupTransition::Done(FirstRunAnswer::Use { target, model })
            }
            FirstRunStep::Choose
            | FirstRunStep::Address
            | FirstRunStep::Unencrypted
            | FirstRunStep::Key
            | FirstRunStep::Checking { .. } => StartupTransition::Wait,
        }
    }

    fn note(&mut self, note: FirstRunEvent) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        match note {
            FirstRunEvent::Found(server) => {
                if self.servers.iter().any(|known| known.endpoint == server.endpoint) {
                    return StartupTransition::Wait;
                }
                self.servers.push(server);
                self.servers.sort_by_key(|server| rank(&server.endpoint));
            }
            FirstRunEvent::SearchFinished => self.looking = ServerSearch::Over,
            FirstRunEvent::Checked { id, models } => {
                let is_awaited = matches!(self.step, FirstRunStep::Checking { id: awaited, .. } if awaited == id);
                return if is_awaited { self.checked(models) } else { StartupTransition::Wait };
            }
        }
        redraw()
    }
}

impl StartupPage for FirstRunPage {
    type Note = FirstRunEvent;
    type Job = FirstRunJob;
    type Answer = FirstRunAnswer;

    fn guard_mut(&mut self) -> &mut QuestionGuard {
        &mut self.guard
    }

    fn update(
        &mut self,
        input: StartupInput<FirstRunEvent>,
    ) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        let step = std::mem::discriminant(&self.step);
        // An event can change which row enter takes.
        let selected = matches!(input, StartupInput::Note(_)).then(|| self.selected());
        let next = self.take_in(input);
        let is_other_row = selected.is_some_and(|selected| selected != self.selected());
        if is_other_row || step != std::mem::discriminant(&self.step) {
            self.guard.hidden();
        }
        next
    }

    fn draw(&self, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        view::draw(self, styles, area, buffer)
    }
}

impl FirstRunPage {
    fn take_in(
        &mut self,
        input: StartupInput<FirstRunEvent>,
    ) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
        match input {
            StartupInput::Opened => StartupTransition::Draw(vec![FirstRunJob::FindServers]),
            StartupInput::Key(key) => self.key(key),
            StartupInput::Paste(text) => {
                match self.step {
                    FirstRunStep::Address => self.address.insert(text.trim()),
                    FirstRunStep::Key => self.secret.insert(text.trim()),
                    FirstRunStep::Choose
                    | FirstRunStep::Unencrypted
                    | FirstRunStep::Checking { .. }
                    | FirstRunStep::Models { .. } => return StartupTransition::Wait,
                }
                redraw()
            }
            StartupInput::Size { .. } => redraw(),
            StartupInput::Note(note) => self.note(note),
        }
    }
}

impl FirstRunEndpoint {
    /// A server for chat completions whose address and key are written to the configuration.
    pub fn local(endpoint: String, key: Option<SecretString>) -> Self {
        Self {
            protocol: ProviderProtocol::ChatCompletions,
            endpoint,
            key,
            key_storage: FirstRunKeyStorage::InFile,
        }
    }
}

impl DetectedApiKey {
    /// The endpoint of the service that the key is for.
    pub fn target(&self) -> FirstRunEndpoint {
        let Self { service, protocol, key, .. } = self;
        FirstRunEndpoint {
            protocol: *protocol,
            endpoint: (*service).to_owned(),
            key: Some(key.clone()),
            key_storage: FirstRunKeyStorage::InEnvironment,
        }
    }
}

impl ReturnStep {
    fn step(self) -> FirstRunStep {
        match self {
            Self::Choose => FirstRunStep::Choose,
            Self::Address => FirstRunStep::Address,
        }
    }
}

fn redraw() -> StartupTransition<FirstRunJob, FirstRunAnswer> {
    StartupTransition::Draw(Vec::new())
}

#[cfg(test)]
mod tests;
