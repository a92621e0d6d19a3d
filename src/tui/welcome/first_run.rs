//! The first run, with nothing configured: what was found on this machine, and what to type.
//!
//! Servers are looked for in the background and appear as they answer. Nothing is used, and no
//! key leaves, before it is chosen here. Writing the choice down is the caller's.

mod address;
mod picture;
mod search;

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
use crate::tui::view::Styles;

use super::{Input, Next, Page};

use address::Way;

pub use search::{found_keys, rank, work};

/// Rows of a page of models.
const PAGE: usize = 10;

/// The screen. Not `Debug`: a key is typed in it.
pub struct FirstRun {
    /// Where the choice will be written, as people like to read it.
    config_file: String,
    keys: Vec<FoundKey>,
    servers: Vec<Server>,
    looking: Looking,
    chosen: Option<Choice>,
    step: Step,
    /// The address of another server, as it is typed.
    address: TextEditor,
    /// The key for it.
    secret: TextEditor,
    error: Option<String>,
    checks: u64,
    /// Whether the step takes answers.
    guard: QuestionGuard,
}

/// A server that answers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What usually listens there.
    pub name: &'static str,
    /// Where chat completions are.
    pub endpoint: String,
    /// The models it serves.
    pub models: Vec<String>,
}

/// A key in the environment, and the service that it is for.
#[derive(Debug, Clone)]
pub struct FoundKey {
    /// The variable.
    pub variable: &'static str,
    /// Where its service is.
    pub service: &'static str,
    /// How that is spoken to.
    pub protocol: ProviderProtocol,
    /// The key.
    pub key: SecretString,
}

/// A server that was chosen.
#[derive(Debug, Clone)]
pub struct Target {
    /// How it is spoken to.
    pub protocol: ProviderProtocol,
    /// Where it is.
    pub endpoint: String,
    /// The key that goes there and nowhere else.
    pub key: Option<SecretString>,
    /// Where the key stays.
    pub kept: Kept,
}

/// Where a key stays, once its server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It goes into the configuration, with the address.
    InFile,
    /// It stays in the environment: the protocol alone is written down.
    InEnvironment,
}

/// What to begin with.
#[derive(Debug, Clone)]
pub enum FirstRunAnswer {
    /// The demo.
    Demo,
    /// This server. An address of another host that is not encrypted was agreed to.
    Use {
        /// Which.
        target: Target,
        /// The model, where there were several.
        model: Option<String>,
    },
    /// Nothing: slug ends.
    Quit,
}

/// What is done in the background.
#[derive(Debug, Clone)]
pub enum Job {
    /// Looks at the usual local ports.
    Look,
    /// Asks a server for its models.
    Check {
        /// Which check; an answer to an older one is stale.
        id: u64,
        /// Whom.
        target: Target,
    },
}

/// What a job tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A server answers.
    Found(Server),
    /// All ports have been looked at.
    Looked,
    /// A server has been asked for its models.
    Checked {
        /// Which check.
        id: u64,
        /// Its models, or why there are none.
        models: Result<Vec<String>, String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looking {
    Now,
    Over,
}

/// A row that can be chosen. Servers are named by their place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    Server(String),
    Key(&'static str),
    Other,
    Demo,
}

#[derive(Debug)]
enum Step {
    /// The list of what was found.
    Choose,
    /// The address of another server is typed.
    Address,
    /// Whether an address that is not encrypted may be used.
    Unencrypted,
    /// The key for it is typed.
    Key,
    /// A server is being asked for its models.
    Checking { id: u64, target: Target, back: Back },
    /// It has several.
    Models { target: Target, models: Vec<String>, selected: usize },
}

/// Where a check that fails leads back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    Choose,
    Address,
}

impl FirstRun {
    /// The screen, with the keys that the environment has.
    pub fn new(config_file: &str, keys: Vec<FoundKey>) -> Self {
        Self {
            config_file: sanitize(config_file).into_owned(),
            keys,
            servers: Vec::new(),
            looking: Looking::Now,
            chosen: None,
            step: Step::Choose,
            address: TextEditor::new(EditorLines::One),
            secret: TextEditor::new(EditorLines::One),
            error: None,
            checks: 0,
            guard: QuestionGuard::default(),
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let servers = self.servers.iter().map(|server| Choice::Server(server.endpoint.clone()));
        let keys = self.keys.iter().map(|key| Choice::Key(key.variable));
        servers.chain(keys).chain([Choice::Other, Choice::Demo]).collect()
    }

    /// The row that enter takes: the first, until another was gone to.
    fn selected(&self) -> Choice {
        let choices = self.choices();
        let chosen = self.chosen.as_ref().filter(|chosen| choices.contains(chosen));
        chosen.or(choices.first()).cloned().unwrap_or(Choice::Demo)
    }

    fn key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL {
            return Next::Done(FirstRunAnswer::Quit);
        }
        if !self.guard.is_armed() && self.is_answer(key) {
            return Next::Wait;
        }
        match &mut self.step {
            Step::Choose => self.choose_key(key),
            Step::Address => self.address_key(key),
            Step::Unencrypted => self.unencrypted_key(key),
            Step::Key => self.secret_key(key),
            Step::Checking { back, .. } => {
                match keymap::find(keymap::LIST, &KeyPress::built_in(key)) {
                    Some(ListKey::Back) => {
                        self.step = back.step();
                        redraw()
                    }
                    Some(_) | None => Next::Wait,
                }
            }
            Step::Models { models, selected, .. } => {
                let last = models.len().saturating_sub(1);
                match keymap::find(keymap::LIST, &KeyPress::built_in(key)) {
                    Some(ListKey::Accept) => return self.use_model(),
                    Some(ListKey::Back) => self.step = Step::Choose,
                    Some(ListKey::Previous) => *selected = selected.saturating_sub(1),
                    Some(ListKey::Next) => *selected = (*selected + 1).min(last),
                    Some(ListKey::PageUp) => *selected = selected.saturating_sub(PAGE),
                    Some(ListKey::PageDown) => *selected = (*selected + PAGE).min(last),
                    None => return Next::Wait,
                }
                redraw()
            }
        }
    }

    /// Whether a key answers more than where to go, or what is typed.
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
                Step::Address | Step::Key => false,
                Step::Choose | Step::Unencrypted | Step::Checking { .. } | Step::Models { .. } => {
                    true
                }
            },
        }
    }

    fn choose_key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        let step = match (keymap::find(keymap::LIST, &press), key.code) {
            (Some(ListKey::Accept), _) => return self.take(),
            (Some(ListKey::Back), _) | (None, KeyCode::Char('q')) => {
                return Next::Done(FirstRunAnswer::Quit);
            }
            (None, KeyCode::Char('r')) => {
                self.servers.clear();
                self.looking = Looking::Now;
                self.error = None;
                return Next::Draw(vec![Job::Look]);
            }
            (Some(ListKey::Previous | ListKey::PageUp), _) | (None, KeyCode::Char('k')) => -1,
            (Some(ListKey::Next | ListKey::PageDown), _) | (None, KeyCode::Char('j')) => 1,
            (None, _) => return Next::Wait,
        };
        let choices = self.choices();
        let selected = self.selected();
        let at = choices.iter().position(|choice| *choice == selected).unwrap_or(0);
        let to = at.saturating_add_signed(step).min(choices.len() - 1);
        self.chosen = choices.into_iter().nth(to);
        redraw()
    }

    /// Takes the selected row.
    fn take(&mut self) -> Next<Job, FirstRunAnswer> {
        self.error = None;
        match self.selected() {
            Choice::Demo => return Next::Done(FirstRunAnswer::Demo),
            Choice::Other => self.step = Step::Address,
            Choice::Server(endpoint) => {
                let models = self.servers.iter().find(|server| server.endpoint == endpoint);
                let models = models.map(|server| server.models.clone()).unwrap_or_default();
                return self.use_server(Target::local(endpoint, None), models);
            }
            Choice::Key(variable) => {
                let found = self.keys.iter().find(|key| key.variable == variable);
                if let Some(target) = found.map(FoundKey::target) {
                    return self.check(target, Back::Choose);
                }
            }
        }
        redraw()
    }

    fn address_key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        match keymap::find(keymap::LIST, &press) {
            Some(ListKey::Back) => {
                self.error = None;
                self.step = Step::Choose;
            }
            Some(ListKey::Accept) => match address::judge(&self.address.text()) {
                Ok(way) => {
                    self.error = None;
                    self.step = match way {
                        Way::Safe => Step::Key,
                        Way::Unencrypted => Step::Unencrypted,
                    };
                }
                Err(reason) => self.error = Some(reason),
            },
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.address.key(&press),
        }
        redraw()
    }

    /// Only `y` says yes.
    fn unencrypted_key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        self.step = match (key.code, key.modifiers.is_empty()) {
            (KeyCode::Char('y'), true) => Step::Key,
            (KeyCode::Char('n'), true) | (KeyCode::Esc | KeyCode::Enter, _) => Step::Address,
            _ => return Next::Wait,
        };
        redraw()
    }

    fn secret_key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        let press = KeyPress::built_in(key);
        match keymap::find(keymap::LIST, &press) {
            Some(ListKey::Back) => {
                self.secret = TextEditor::new(EditorLines::One);
                self.step = Step::Address;
            }
            Some(ListKey::Accept) => {
                let typed =
                    std::mem::replace(&mut self.secret, TextEditor::new(EditorLines::One)).text();
                let secret = Some(typed.trim()).filter(|typed| !typed.is_empty());
                let endpoint = self.address.text().trim().trim_end_matches('/').to_owned();
                let target = Target::local(endpoint, secret.map(SecretString::from));
                return self.check(target, Back::Address);
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.secret.key(&press),
        }
        redraw()
    }

    fn check(&mut self, target: Target, back: Back) -> Next<Job, FirstRunAnswer> {
        self.checks += 1;
        let id = self.checks;
        let job = Job::Check { id, target: target.clone() };
        self.step = Step::Checking { id, target, back };
        Next::Draw(vec![job])
    }

    fn checked(&mut self, models: Result<Vec<String>, String>) -> Next<Job, FirstRunAnswer> {
        let Step::Checking { target, back, .. } = std::mem::replace(&mut self.step, Step::Choose)
        else {
            return Next::Wait;
        };
        match models {
            Ok(models) => self.use_server(target, models),
            Err(reason) => {
                let hint = if back == Back::Choose || target.endpoint.ends_with("/v1") {
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

    /// Uses a server; which model is asked only where there is a choice. What its service is
    /// usually asked for is selected at first.
    fn use_server(&mut self, target: Target, models: Vec<String>) -> Next<Job, FirstRunAnswer> {
        if models.len() > 1 {
            let usual = services::of(target.protocol).model;
            let usual = models.iter().position(|model| Some(model.as_str()) == usual);
            self.step = Step::Models { target, models, selected: usual.unwrap_or(0) };
            return redraw();
        }
        Next::Done(FirstRunAnswer::Use { target, model: None })
    }

    /// Uses the model that is selected.
    fn use_model(&mut self) -> Next<Job, FirstRunAnswer> {
        match std::mem::replace(&mut self.step, Step::Choose) {
            Step::Models { target, models, selected } => {
                let model = models.into_iter().nth(selected);
                Next::Done(FirstRunAnswer::Use { target, model })
            }
            Step::Choose
            | Step::Address
            | Step::Unencrypted
            | Step::Key
            | Step::Checking { .. } => Next::Wait,
        }
    }

    fn note(&mut self, note: Note) -> Next<Job, FirstRunAnswer> {
        match note {
            Note::Found(server) => {
                if self.servers.iter().any(|known| known.endpoint == server.endpoint) {
                    return Next::Wait;
                }
                self.servers.push(server);
                self.servers.sort_by_key(|server| rank(&server.endpoint));
            }
            Note::Looked => self.looking = Looking::Over,
            Note::Checked { id, models } => {
                let is_awaited =
                    matches!(self.step, Step::Checking { id: awaited, .. } if awaited == id);
                return if is_awaited { self.checked(models) } else { Next::Wait };
            }
        }
        redraw()
    }
}

impl Page for FirstRun {
    type Note = Note;
    type Job = Job;
    type Answer = FirstRunAnswer;

    fn guard_mut(&mut self) -> &mut QuestionGuard {
        &mut self.guard
    }

    fn update(&mut self, input: Input<Note>) -> Next<Job, FirstRunAnswer> {
        let step = std::mem::discriminant(&self.step);
        // The row that enter takes may become another one by itself.
        let selected = matches!(input, Input::Note(_)).then(|| self.selected());
        let next = self.take_in(input);
        let is_other_row = selected.is_some_and(|selected| selected != self.selected());
        if is_other_row || step != std::mem::discriminant(&self.step) {
            self.guard.hidden();
        }
        next
    }

    fn draw(&self, styles: &dyn Styles, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        picture::draw(self, styles, area, buffer)
    }
}

impl FirstRun {
    fn take_in(&mut self, input: Input<Note>) -> Next<Job, FirstRunAnswer> {
        match input {
            Input::Opened => Next::Draw(vec![Job::Look]),
            Input::Key(key) => self.key(key),
            Input::Paste(text) => {
                match self.step {
                    Step::Address => self.address.insert(text.trim()),
                    Step::Key => self.secret.insert(text.trim()),
                    Step::Choose
                    | Step::Unencrypted
                    | Step::Checking { .. }
                    | Step::Models { .. } => return Next::Wait,
                }
                redraw()
            }
            Input::Size { .. } => redraw(),
            Input::Note(note) => self.note(note),
        }
    }
}

impl Target {
    /// A server of chat completions, whose address and key are written down.
    pub fn local(endpoint: String, key: Option<SecretString>) -> Self {
        Self { protocol: ProviderProtocol::ChatCompletions, endpoint, key, kept: Kept::InFile }
    }
}

impl FoundKey {
    /// The service that the key is for.
    pub fn target(&self) -> Target {
        let Self { service, protocol, key, .. } = self;
        Target {
            protocol: *protocol,
            endpoint: (*service).to_owned(),
            key: Some(key.clone()),
            kept: Kept::InEnvironment,
        }
    }
}

impl Back {
    fn step(self) -> Step {
        match self {
            Self::Choose => Step::Choose,
            Self::Address => Step::Address,
        }
    }
}

fn redraw() -> Next<Job, FirstRunAnswer> {
    Next::Draw(Vec::new())
}

#[cfg(test)]
mod tests;
