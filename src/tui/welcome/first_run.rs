//! The first run, with nothing configured: what was found on this machine, and what to type.
//!
//! Servers are looked for in the background and appear as they answer. Nothing is used, and no
//! key leaves, before it is chosen here. Writing the choice down is the caller's.

mod picture;
mod search;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use reqwest::Url;
use secrecy::SecretString;

use crate::domain::sanitize::sanitize;
use crate::tui::app::editor::{Editor, Lines};
use crate::tui::app::keymap::{self, ListKey};
use crate::tui::view::Styles;

use super::{Input, Next, Page};

pub use search::{found_keys, work};

/// The screen.
#[derive(Debug)]
pub struct FirstRun {
    /// Where the choice will be written, as people like to read it.
    config_file: String,
    keys: Vec<FoundKey>,
    servers: Vec<Server>,
    looking: Looking,
    chosen: Option<Choice>,
    step: Step,
    error: Option<String>,
    checks: u64,
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

/// A key in the environment.
#[derive(Debug, Clone)]
pub struct FoundKey {
    /// The variable.
    pub variable: &'static str,
    /// What it is good for.
    pub serves: Serves,
}

/// What a key is good for.
#[derive(Debug, Clone)]
pub enum Serves {
    /// Chat completions at this address.
    ChatCompletions {
        /// The address.
        endpoint: &'static str,
        /// The key.
        key: SecretString,
    },
    /// A protocol that this version does not speak.
    AnotherProtocol,
}

/// What to begin with.
#[derive(Debug, Clone)]
pub enum FirstRunAnswer {
    /// The demo.
    Demo,
    /// This server. An address of another host that is not encrypted was agreed to.
    Use {
        /// Where chat completions are.
        endpoint: String,
        /// The key that goes there and nowhere else.
        key: Option<SecretString>,
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
        /// Where.
        endpoint: String,
        /// The key.
        key: Option<SecretString>,
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
    Address(Editor),
    /// Whether an address that is not encrypted may be used.
    Unencrypted { address: Editor },
    /// The key for it is typed.
    Key { address: Editor, key: Editor },
    /// The server is being asked for its models.
    Checking { id: u64, endpoint: String, key: Option<SecretString>, back: Back },
    /// It has several.
    Models { endpoint: String, key: Option<SecretString>, models: Vec<String>, selected: usize },
}

/// Where a check that fails leads back to.
#[derive(Debug, Clone)]
enum Back {
    Choose,
    Address(Editor),
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
            error: None,
            checks: 0,
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let servers = self.servers.iter().map(|server| Choice::Server(server.endpoint.clone()));
        let keys = self.keys.iter().filter_map(|key| match key.serves {
            Serves::ChatCompletions { .. } => Some(Choice::Key(key.variable)),
            Serves::AnotherProtocol => None,
        });
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
        match std::mem::replace(&mut self.step, Step::Choose) {
            Step::Choose => self.choose_key(key),
            Step::Address(editor) => self.address_key(editor, key),
            Step::Unencrypted { address } => self.unencrypted_key(address, key),
            Step::Key { address, key: typed } => self.secret_key(address, typed, key),
            Step::Checking { id, endpoint, key: secret, back } => {
                match keymap::find(keymap::LIST, key) {
                    Some(ListKey::Back) => self.go_back(back),
                    Some(_) | None => {
                        self.step = Step::Checking { id, endpoint, key: secret, back };
                        return Next::Wait;
                    }
                }
                redraw()
            }
            Step::Models { endpoint, key: secret, models, selected } => {
                self.model_key(endpoint, secret, models, selected, key)
            }
        }
    }

    fn choose_key(&mut self, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        let step = match (keymap::find(keymap::LIST, key), key.code) {
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
            Choice::Other => self.step = Step::Address(Editor::with_text(Lines::One, "")),
            Choice::Server(endpoint) => {
                let models = self.servers.iter().find(|server| server.endpoint == endpoint);
                let models = models.map(|server| server.models.clone()).unwrap_or_default();
                return self.use_server(endpoint, None, models);
            }
            Choice::Key(variable) => {
                let found = self.keys.iter().find(|key| key.variable == variable);
                if let Some(Serves::ChatCompletions { endpoint, key }) =
                    found.map(|found| found.serves.clone())
                {
                    return self.check(endpoint.to_owned(), Some(key), Back::Choose);
                }
            }
        }
        redraw()
    }

    fn address_key(&mut self, mut editor: Editor, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => {
                self.error = None;
                return redraw();
            }
            Some(ListKey::Accept) => {
                self.error = None;
                match address(&editor.text()) {
                    Ok(Way::Safe) => self.step = key_step(editor),
                    Ok(Way::Unencrypted) => self.step = Step::Unencrypted { address: editor },
                    Err(reason) => {
                        self.error = Some(reason);
                        self.step = Step::Address(editor);
                    }
                }
                return redraw();
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => editor.key(key),
        }
        self.step = Step::Address(editor);
        redraw()
    }

    /// Only `y` says yes.
    fn unencrypted_key(&mut self, address: Editor, key: KeyEvent) -> Next<Job, FirstRunAnswer> {
        self.step = match (key.code, key.modifiers.is_empty()) {
            (KeyCode::Char('y'), true) => key_step(address),
            (KeyCode::Char('n'), true) | (KeyCode::Esc | KeyCode::Enter, _) => {
                Step::Address(address)
            }
            _ => Step::Unencrypted { address },
        };
        redraw()
    }

    fn secret_key(
        &mut self,
        address: Editor,
        mut typed: Editor,
        key: KeyEvent,
    ) -> Next<Job, FirstRunAnswer> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => {
                self.step = Step::Address(address);
                return redraw();
            }
            Some(ListKey::Accept) => {
                let secret = typed.text().trim().to_owned();
                let secret = (!secret.is_empty()).then(|| SecretString::from(secret));
                let endpoint = address.text().trim().trim_end_matches('/').to_owned();
                return self.check(endpoint, secret, Back::Address(address));
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => typed.key(key),
        }
        self.step = Step::Key { address, key: typed };
        redraw()
    }

    fn model_key(
        &mut self,
        endpoint: String,
        key: Option<SecretString>,
        models: Vec<String>,
        selected: usize,
        pressed: KeyEvent,
    ) -> Next<Job, FirstRunAnswer> {
        let last = models.len().saturating_sub(1);
        let to = match keymap::find(keymap::LIST, pressed) {
            Some(ListKey::Accept) => {
                let model = models.into_iter().nth(selected);
                return Next::Done(FirstRunAnswer::Use { endpoint, key, model });
            }
            Some(ListKey::Back) => return redraw(),
            Some(ListKey::Previous) => selected.saturating_sub(1),
            Some(ListKey::Next) => selected + 1,
            Some(ListKey::PageUp) => selected.saturating_sub(10),
            Some(ListKey::PageDown) => selected + 10,
            None => selected,
        };
        self.step = Step::Models { endpoint, key, models, selected: to.min(last) };
        redraw()
    }

    fn check(
        &mut self,
        endpoint: String,
        key: Option<SecretString>,
        back: Back,
    ) -> Next<Job, FirstRunAnswer> {
        self.checks += 1;
        let id = self.checks;
        let job = Job::Check { id, endpoint: endpoint.clone(), key: key.clone() };
        self.step = Step::Checking { id, endpoint, key, back };
        Next::Draw(vec![job])
    }

    fn checked(&mut self, models: Result<Vec<String>, String>) -> Next<Job, FirstRunAnswer> {
        let Step::Checking { endpoint, key, back, .. } =
            std::mem::replace(&mut self.step, Step::Choose)
        else {
            return Next::Wait;
        };
        match models {
            Ok(models) => self.use_server(endpoint, key, models),
            Err(reason) => {
                let hint = if endpoint.ends_with("/v1") {
                    ""
                } else {
                    " The address of chat completions usually ends in /v1."
                };
                self.error = Some(format!("{}{hint}", sanitize(&reason)));
                self.go_back(back);
                redraw()
            }
        }
    }

    /// Uses a server; which model is asked only where there is a choice.
    fn use_server(
        &mut self,
        endpoint: String,
        key: Option<SecretString>,
        models: Vec<String>,
    ) -> Next<Job, FirstRunAnswer> {
        if models.len() > 1 {
            self.step = Step::Models { endpoint, key, models, selected: 0 };
            return redraw();
        }
        Next::Done(FirstRunAnswer::Use { endpoint, key, model: None })
    }

    fn go_back(&mut self, back: Back) {
        self.step = match back {
            Back::Choose => Step::Choose,
            Back::Address(editor) => Step::Address(editor),
        };
    }

    fn note(&mut self, note: Note) -> Next<Job, FirstRunAnswer> {
        match note {
            Note::Found(server) => {
                if self.servers.iter().any(|known| known.endpoint == server.endpoint) {
                    return Next::Wait;
                }
                self.servers.push(server);
                self.servers.sort_by_key(|server| search::rank(&server.endpoint));
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

    fn update(&mut self, input: Input<Note>) -> Next<Job, FirstRunAnswer> {
        match input {
            Input::Opened => Next::Draw(vec![Job::Look]),
            Input::Key(key) => self.key(key),
            Input::Paste(text) => {
                match &mut self.step {
                    Step::Address(editor) | Step::Key { key: editor, .. } => {
                        editor.insert(text.trim());
                    }
                    Step::Choose
                    | Step::Unencrypted { .. }
                    | Step::Checking { .. }
                    | Step::Models { .. } => return Next::Wait,
                }
                redraw()
            }
            Input::Size { .. } => redraw(),
            Input::Note(note) => self.note(note),
        }
    }

    fn draw(&self, styles: &dyn Styles, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        picture::draw(self, styles, area, buffer)
    }
}

/// How an address is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Encrypted, or without leaving this machine.
    Safe,
    /// Over a network, readable on the way.
    Unencrypted,
}

fn redraw() -> Next<Job, FirstRunAnswer> {
    Next::Draw(Vec::new())
}

fn key_step(address: Editor) -> Step {
    Step::Key { address, key: Editor::new(Lines::One) }
}

/// What is to be said to an address.
fn address(text: &str) -> Result<Way, String> {
    let hint = "Write it like https://host/v1 or http://localhost:8000/v1.";
    let url = Url::parse(text.trim()).map_err(|_| format!("This is not an address. {hint}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("Leave user and password out of the address; the key is asked for next.".into());
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        _ if host.is_empty() => Err(format!("The address has no host. {hint}")),
        "https" => Ok(Way::Safe),
        "http" if is_local => Ok(Way::Safe),
        "http" => Ok(Way::Unencrypted),
        scheme => Err(format!("slug does not speak {scheme}. {hint}")),
    }
}

#[cfg(test)]
mod tests;
