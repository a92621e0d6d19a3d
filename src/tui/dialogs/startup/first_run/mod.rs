//! The first run, with nothing configured: it shows what was found on this machine, and takes an
//! address and a key.
//!
//! Servers are searched for in the background and appear as they answer. Nothing is used, and no
//! key is sent anywhere, before the user chooses it here. The caller writes the choice down.

mod view;

use std::fmt;

use crossterm::event::KeyCode;
use ratatui::layout::Position;
use secrecy::SecretString;

use crate::config::services;
use crate::domain::sanitize::sanitize;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, ListKey};
use crate::tui::app::startup::{
    DetectedApiKey, DetectedServer, FirstRunAnswer, FirstRunEndpoint, FirstRunEvent, FirstRunJob,
    StartupAnswer, rank,
};
use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogOpening, DialogView};
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::server_address::{self, AddressSecurity};

/// Models that page up and page down move by.
const PAGE: usize = 10;

/// The first run, on a page of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstRunDialog {
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
    secret: SecretField,
    error: Option<String>,
    checks: u64,
    /// Whether the current step takes answers.
    guard: QuestionGuard,
}

/// The field in which the user types a key, which no log shows.
#[derive(Clone, PartialEq)]
struct SecretField(TextEditor);

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

#[derive(Debug, Clone, PartialEq)]
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

impl FirstRunDialog {
    /// The page with the keys from the environment, which begins to search for servers.
    pub fn open(config_file: &str, keys: Vec<DetectedApiKey>) -> DialogOpening<Self> {
        let search = ScreenEffect::FirstRun(FirstRunJob::FindServers);
        DialogOpening::of(Self::new(config_file, keys), vec![search])
    }

    fn new(config_file: &str, keys: Vec<DetectedApiKey>) -> Self {
        Self {
            config_file: sanitize(config_file).into_owned(),
            keys,
            servers: Vec::new(),
            looking: ServerSearch::Now,
            chosen: None,
            step: FirstRunStep::Choose,
            address: TextEditor::new(EditorLines::One),
            secret: SecretField::default(),
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

    fn step_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        if !self.guard.is_armed() && self.is_answer(key) {
            return Vec::new();
        }
        match &mut self.step {
            FirstRunStep::Choose => self.choose_key(key),
            FirstRunStep::Address => self.address_key(key),
            FirstRunStep::Unencrypted => self.unencrypted_key(key),
            FirstRunStep::Key => self.secret_key(key),
            FirstRunStep::Checking { back, .. } => {
                if keymap::find(keymap::LIST, key) == Some(ListKey::Back) {
                    self.step = back.step();
                }
                Vec::new()
            }
            FirstRunStep::Models { models, selected, .. } => {
                let last = models.len().saturating_sub(1);
                match keymap::find(keymap::LIST, key) {
                    Some(ListKey::Accept) => return self.use_model(),
                    Some(ListKey::Back) => self.step = FirstRunStep::Choose,
                    Some(ListKey::Previous) => *selected = selected.saturating_sub(1),
                    Some(ListKey::Next) => *selected = (*selected + 1).min(last),
                    Some(ListKey::PageUp) => *selected = selected.saturating_sub(PAGE),
                    Some(ListKey::PageDown) => *selected = (*selected + PAGE).min(last),
                    None => {}
                }
                Vec::new()
            }
        }
    }

    /// Whether a key would decide something. Moving around, going back and typing text do not.
    fn is_answer(&self, key: &KeyPress<'_>) -> bool {
        match keymap::find(keymap::LIST, key) {
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

    fn choose_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        let found = keymap::find(keymap::LIST, key);
        let step = match (found, key.event().map(|event| event.code)) {
            (Some(ListKey::Accept), _) => return self.take(),
            (Some(ListKey::Back), _) | (None, Some(KeyCode::Char('q'))) => {
                return give(FirstRunAnswer::Quit);
            }
            (None, Some(KeyCode::Char('r'))) => {
                self.servers.clear();
                self.looking = ServerSearch::Now;
                self.error = None;
                return ask(FirstRunJob::FindServers);
            }
            (Some(ListKey::Previous | ListKey::PageUp), _) | (None, Some(KeyCode::Char('k'))) => -1,
            (Some(ListKey::Next | ListKey::PageDown), _) | (None, Some(KeyCode::Char('j'))) => 1,
            (None, _) => return Vec::new(),
        };
        let choices = self.choices();
        let selected = self.selected();
        let at = choices.iter().position(|choice| *choice == selected).unwrap_or(0);
        let to = at.saturating_add_signed(step).min(choices.len() - 1);
        self.chosen = choices.into_iter().nth(to);
        Vec::new()
    }

    /// Acts on the selected row.
    fn take(&mut self) -> Vec<Intent> {
        self.error = None;
        match self.selected() {
            FirstRunChoice::Demo => return give(FirstRunAnswer::Demo),
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
        Vec::new()
    }

    fn address_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => {
                self.error = None;
                self.step = FirstRunStep::Choose;
            }
            Some(ListKey::Accept) => match server_address::judge(&self.address.text()) {
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
            None => self.address.key(key),
        }
        Vec::new()
    }

    /// Only `y` is a yes.
    fn unencrypted_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        let typed = key.event().filter(|event| event.modifiers.is_empty()).map(|event| event.code);
        self.step = match (keymap::find(keymap::LIST, key), typed) {
            (None, Some(KeyCode::Char('y'))) => FirstRunStep::Key,
            (None, Some(KeyCode::Char('n'))) | (Some(ListKey::Back | ListKey::Accept), _) => {
                FirstRunStep::Address
            }
            (Some(_) | None, _) => return Vec::new(),
        };
        Vec::new()
    }

    fn secret_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => {
                self.secret = SecretField::default();
                self.step = FirstRunStep::Address;
            }
            Some(ListKey::Accept) => {
                let typed = std::mem::take(&mut self.secret).0.text();
                let secret = Some(typed.trim()).filter(|typed| !typed.is_empty());
                let endpoint = self.address.text().trim().trim_end_matches('/').to_owned();
                let target = FirstRunEndpoint::local(endpoint, secret.map(SecretString::from));
                return self.check(target, ReturnStep::Address);
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.secret.0.key(key),
        }
        Vec::new()
    }

    fn check(&mut self, target: FirstRunEndpoint, back: ReturnStep) -> Vec<Intent> {
        self.checks += 1;
        let id = self.checks;
        let job = FirstRunJob::Check { id, target: target.clone() };
        self.step = FirstRunStep::Checking { id, target, back };
        ask(job)
    }

    fn checked(&mut self, models: Result<Vec<String>, String>) -> Vec<Intent> {
        let FirstRunStep::Checking { target, back, .. } =
            std::mem::replace(&mut self.step, FirstRunStep::Choose)
        else {
            return Vec::new();
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
                Vec::new()
            }
        }
    }

    /// Uses a server. The model is asked for only if there are several; the usual model of its
    /// service is selected at first.
    fn use_server(&mut self, target: FirstRunEndpoint, models: Vec<String>) -> Vec<Intent> {
        if models.len() > 1 {
            let usual = services::of(target.protocol).model;
            let usual = models.iter().position(|model| Some(model.as_str()) == usual);
            self.step = FirstRunStep::Models { target, models, selected: usual.unwrap_or(0) };
            return Vec::new();
        }
        give(FirstRunAnswer::Use { target, model: None })
    }

    /// Uses the selected model.
    fn use_model(&mut self) -> Vec<Intent> {
        match std::mem::replace(&mut self.step, FirstRunStep::Choose) {
            FirstRunStep::Models { target, models, selected } => {
                let model = models.into_iter().nth(selected);
                give(FirstRunAnswer::Use { target, model })
            }
            FirstRunStep::Choose
            | FirstRunStep::Address
            | FirstRunStep::Unencrypted
            | FirstRunStep::Key
            | FirstRunStep::Checking { .. } => Vec::new(),
        }
    }

    fn event(&mut self, event: &FirstRunEvent) -> Vec<Intent> {
        match event {
            FirstRunEvent::Found(server) => {
                if !self.servers.iter().any(|known| known.endpoint == server.endpoint) {
                    self.servers.push(server.clone());
                    self.servers.sort_by_key(|server| rank(&server.endpoint));
                }
            }
            FirstRunEvent::SearchFinished => self.looking = ServerSearch::Over,
            FirstRunEvent::Checked { id, models } => {
                if matches!(&self.step, FirstRunStep::Checking { id: awaited, .. } if awaited == id)
                {
                    return self.checked(models.clone());
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

impl Dialog for FirstRunDialog {
    fn place(&self) -> KeyPlace {
        match self.step {
            FirstRunStep::Address | FirstRunStep::Key => KeyPlace::List,
            FirstRunStep::Choose
            | FirstRunStep::Unencrypted
            | FirstRunStep::Checking { .. }
            | FirstRunStep::Models { .. } => KeyPlace::Choice,
        }
    }

    fn key(&mut self, key: &KeyPress<'_>, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.guarded(|page| page.step_key(key))
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, .. } = canvas;
        view::draw(self, styles, area, buffer)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        match self.step {
            FirstRunStep::Address => self.address.insert(text.trim()),
            FirstRunStep::Key => self.secret.0.insert(text.trim()),
            FirstRunStep::Choose
            | FirstRunStep::Unencrypted
            | FirstRunStep::Checking { .. }
            | FirstRunStep::Models { .. } => {}
        }
        Some(Vec::new())
    }

    fn cancel(&self) -> Vec<Intent> {
        give(FirstRunAnswer::Quit)
    }

    /// Without a screen this is asked as text before the conversation.
    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        None
    }

    /// The list is short, and moving in it is for the keys.
    fn wheel(&mut self, _rows: i32, _around: &mut DialogContext<'_>) {}

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        let DialogReply::FirstRun(event) = reply else { return Vec::new() };
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

fn ask(job: FirstRunJob) -> Vec<Intent> {
    vec![Intent::Effect(ScreenEffect::FirstRun(job))]
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

impl ReturnStep {
    fn step(self) -> FirstRunStep {
        match self {
            Self::Choose => FirstRunStep::Choose,
            Self::Address => FirstRunStep::Address,
        }
    }
}

#[cfg(test)]
mod tests;
