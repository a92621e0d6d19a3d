//! What the keys of the page do, step by step, and what follows from its jobs.

use crossterm::event::KeyCode;

use super::*;
use crate::config::EndpointSecurity;
use crate::services::server_address;
use crate::tui::app::keymap::{self, ListKey};

/// Models that page up and page down move by.
const PAGE: usize = 10;

impl ConnectDialog {
    pub(super) fn step_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        if !self.guard.is_armed() && self.is_answer(key) {
            return Vec::new();
        }
        let list_key = keymap::find(keymap::LIST, key);
        match &mut self.step {
            ConnectStep::Choose => self.choose_key(key),
            ConnectStep::Address => self.address_key(key),
            ConnectStep::Unencrypted(_) => self.unencrypted_key(key),
            ConnectStep::Key { .. } => self.secret_key(key),
            ConnectStep::Removing(_) => self.removing_key(key),
            ConnectStep::Checking { back, .. } => {
                if list_key == Some(ListKey::Back) {
                    let back = *back;
                    self.return_to(back);
                }
                Vec::new()
            }
            ConnectStep::Saving { .. } => Vec::new(),
            ConnectStep::Manage { provider, selected } => {
                let count = ProviderAction::of(provider).len();
                match list_key {
                    Some(ListKey::Accept) => return self.act(),
                    Some(ListKey::Back) => self.back_to_list(),
                    Some(_) | None => moved(selected, count, list_key, key),
                }
                Vec::new()
            }
            ConnectStep::Models { models, selected, .. } => {
                let count = models.len();
                match list_key {
                    Some(ListKey::Accept) => return self.use_model(),
                    Some(ListKey::Back) => self.back_to_list(),
                    Some(_) | None => moved(selected, count, list_key, key),
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
            None => !self.is_typing(),
        }
    }

    fn choose_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        let found = keymap::find(keymap::LIST, key);
        match (found, key.event().map(|event| event.code)) {
            (Some(ListKey::Accept), _) => return self.take(self.selected()),
            (Some(ListKey::Back), _) | (None, Some(KeyCode::Char('q'))) => return self.leave(),
            (None, Some(KeyCode::Char('r'))) => {
                self.servers.clear();
                self.looking = ServerSearch::Now;
                self.error = None;
                return ask(ConnectJob::FindServers);
            }
            (Some(_) | None, _) => {}
        }
        let choices = self.choices();
        let selected = self.selected();
        let mut at = choices.iter().position(|choice| *choice == selected).unwrap_or(0);
        let before = at;
        moved(&mut at, choices.len(), found, key);
        if at != before {
            self.chosen = choices.into_iter().nth(at);
        }
        Vec::new()
    }

    /// Leaves the page without a choice.
    pub(super) fn leave(&self) -> Vec<Intent> {
        match self.purpose {
            ConnectPurpose::FirstRun => give(FirstRunAnswer::Quit),
            ConnectPurpose::Chat(_) => vec![Intent::Close],
        }
    }

    pub(super) fn back_to_list(&mut self) {
        self.error = None;
        self.secret = SecretField::default();
        self.step = ConnectStep::Choose;
    }

    /// Where a new connection is written: on the first run at the top of the file, later in a table
    /// of its own.
    fn place_for(&self, endpoint: &str) -> ConnectPlace {
        match self.purpose {
            ConnectPurpose::FirstRun => ConnectPlace::Top,
            ConnectPurpose::Chat(_) => ConnectPlace::Named(self.name_for(endpoint)),
        }
    }

    /// A name for the server at an address that no other provider has.
    fn name_for(&self, endpoint: &str) -> String {
        let known = self.servers.iter().find(|server| server.endpoint == endpoint);
        let words = match known {
            Some(server) => server.name.to_lowercase(),
            None => {
                let authority = endpoint.split("://").last().unwrap_or(endpoint);
                authority.split('/').next().unwrap_or(authority).to_lowercase()
            }
        };
        let name: String =
            words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name = name.trim_matches('-');
        let is_taken = |name: &str| self.configured.iter().any(|it| it.name == name);
        let mut numbers = 2..;
        let mut free = name.to_owned();
        while is_taken(&free) {
            free = format!("{name}-{}", numbers.next().unwrap_or_default());
        }
        free
    }

    /// Acts on a row of the list.
    pub(super) fn take(&mut self, choice: ConnectChoice) -> Vec<Intent> {
        self.error = None;
        self.news = None;
        match choice {
            ConnectChoice::Demo => return give(FirstRunAnswer::Demo),
            ConnectChoice::File(path) => return give(FirstRunAnswer::File(path)),
            ConnectChoice::Other => self.step = ConnectStep::Address,
            ConnectChoice::Configured(name) => {
                let provider = self.configured.iter().find(|it| it.name == name).cloned();
                if let Some(provider) = provider {
                    self.step = ConnectStep::Manage { provider, selected: 0 };
                }
            }
            ConnectChoice::Server(endpoint) => {
                let found = self.servers.iter().find(|server| server.endpoint == endpoint);
                let Some(DetectedServer { models, access, .. }) = found.cloned() else {
                    return Vec::new();
                };
                let place = self.place_for(&endpoint);
                let target = ConnectTarget { place, ..ConnectTarget::server(endpoint, None) };
                match access {
                    ServerAccess::Open => {
                        return self.connect(CheckSubject::Target(target), models);
                    }
                    ServerAccess::WantsKey => self.ask_for_key(target, KeyNeed::Required),
                }
            }
            ConnectChoice::Hosted(service) => {
                match self.keys.iter().find(|key| key.service == service) {
                    Some(key) => {
                        let target = key.target();
                        return self.check(target, ReturnStep::Choose);
                    }
                    None => {
                        let target = ConnectTarget::hosted(service, None);
                        self.ask_for_key(target, KeyNeed::Required);
                    }
                }
            }
        }
        Vec::new()
    }

    fn ask_for_key(&mut self, target: ConnectTarget, need: KeyNeed) {
        self.secret = SecretField::default();
        self.step = ConnectStep::Key { target, need };
    }

    fn address_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => self.back_to_list(),
            Some(ListKey::Accept) => {
                let typed = self.address.text();
                return self.take_address(&typed);
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.address.key(key),
        }
        Vec::new()
    }

    /// Completes an address, and asks its server, or first the user where others could read along.
    pub(super) fn take_address(&mut self, typed: &str) -> Vec<Intent> {
        self.error = None;
        match server_address::complete(typed) {
            Ok(endpoint) => {
                if let Some(service) = HostedService::at(&endpoint) {
                    return self.take(ConnectChoice::Hosted(service));
                }
                match endpoint.security() {
                    EndpointSecurity::PlainRemote => {
                        self.step = ConnectStep::Unencrypted(endpoint);
                        Vec::new()
                    }
                    EndpointSecurity::Loopback | EndpointSecurity::Encrypted => {
                        self.try_address(&endpoint)
                    }
                }
            }
            Err(reason) => {
                self.error = Some(reason);
                Vec::new()
            }
        }
    }

    /// Asks a server without a key. One that wants a key says so.
    pub(super) fn try_address(&mut self, endpoint: &ConfigEndpoint) -> Vec<Intent> {
        let endpoint = endpoint.as_str().to_owned();
        let place = self.place_for(&endpoint);
        self.check(
            ConnectTarget { place, ..ConnectTarget::server(endpoint, None) },
            ReturnStep::Address,
        )
    }

    /// Only `y` is a yes.
    fn unencrypted_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        let ConnectStep::Unencrypted(endpoint) = &self.step else { return Vec::new() };
        let endpoint = endpoint.clone();
        match yes_or_no(key) {
            Some(true) => return self.try_address(&endpoint),
            Some(false) => self.step = ConnectStep::Address,
            None => {}
        }
        Vec::new()
    }

    fn removing_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match yes_or_no(key) {
            Some(answer) => self.answer_removal(answer),
            None => Vec::new(),
        }
    }

    /// Removes the provider that the page asks about, or keeps it.
    pub(super) fn answer_removal(&mut self, is_yes: bool) -> Vec<Intent> {
        let ConnectStep::Removing(provider) = &self.step else { return Vec::new() };
        let place = provider.place.clone();
        if !is_yes {
            self.back_to_list();
            return Vec::new();
        }
        let id = self.next_job();
        self.step = ConnectStep::Saving { id, model: None };
        ask(ConnectJob::Remove { id, place })
    }

    fn secret_key(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Back) => self.back_to_list(),
            Some(ListKey::Accept) => {
                let typed = std::mem::take(&mut self.secret).0.text();
                return self.take_key(typed.trim());
            }
            Some(ListKey::Previous | ListKey::Next | ListKey::PageUp | ListKey::PageDown) => {}
            None => self.secret.0.key(key),
        }
        Vec::new()
    }

    /// Tries the key that was typed.
    pub(super) fn take_key(&mut self, typed: &str) -> Vec<Intent> {
        let ConnectStep::Key { target, need } = &self.step else { return Vec::new() };
        if typed.is_empty() && *need == KeyNeed::Required {
            self.error = Some("Type or paste the key.".to_owned());
            return Vec::new();
        }
        self.error = None;
        let key = Some(typed).filter(|typed| !typed.is_empty()).map(SecretString::from);
        let target = ConnectTarget { key, ..target.clone() };
        self.check(target, ReturnStep::Key)
    }

    fn check(&mut self, target: ConnectTarget, back: ReturnStep) -> Vec<Intent> {
        let id = self.next_job();
        let job = ConnectJob::Check { id, target: target.clone() };
        self.step = ConnectStep::Checking { id, subject: CheckSubject::Target(target), back };
        ask(job)
    }

    /// Does what is selected with the configured provider.
    pub(super) fn act(&mut self) -> Vec<Intent> {
        let ConnectStep::Manage { provider, selected } = &self.step else { return Vec::new() };
        let Some(action) = ProviderAction::of(provider).get(*selected) else { return Vec::new() };
        let provider = provider.clone();
        let subject = match action {
            ProviderAction::Use => CheckSubject::Use(provider),
            ProviderAction::Test => CheckSubject::Test(provider),
            ProviderAction::ChangeKey => {
                self.ask_for_another_key(provider);
                return Vec::new();
            }
            ProviderAction::Remove => {
                self.step = ConnectStep::Removing(provider);
                return Vec::new();
            }
        };
        let (CheckSubject::Use(it) | CheckSubject::Test(it)) = &subject else { return Vec::new() };
        let provider = it.name.clone();
        let id = self.next_job();
        self.step = ConnectStep::Checking { id, subject, back: ReturnStep::Choose };
        ask(ConnectJob::Test { id, provider })
    }

    fn ask_for_another_key(&mut self, provider: ConnectedProvider) {
        let ConnectedProvider { protocol, endpoint, place, .. } = provider;
        let need = match HostedService::ALL.iter().any(|it| it.endpoint() == endpoint) {
            true => KeyNeed::Required,
            false => KeyNeed::Optional,
        };
        self.ask_for_key(ConnectTarget { protocol, endpoint, key: None, place }, need);
    }

    /// Asks for the key of the provider that has rejected the one it got, if it is saved in the
    /// configuration and the user has not chosen anything else yet.
    pub(super) fn ask_for_rejected_key(&mut self) {
        let Some(name) = self.rejected.take() else { return };
        let provider = self.configured.iter().find(|it| it.name == name).cloned();
        let provider =
            provider.filter(|it| ProviderAction::of(it).contains(&ProviderAction::ChangeKey));
        if let (ConnectStep::Choose, Some(provider)) = (&self.step, provider) {
            self.error = Some("The server rejected the key. Enter another one.".to_owned());
            self.ask_for_another_key(provider);
        }
    }

    pub(super) fn checked(&mut self, models: Result<Vec<String>, ConnectFailure>) -> Vec<Intent> {
        let ConnectStep::Checking { subject, back, .. } =
            std::mem::replace(&mut self.step, ConnectStep::Choose)
        else {
            return Vec::new();
        };
        let failure = match models {
            Ok(models) => return self.connect(subject, models),
            Err(failure) => failure,
        };
        self.error = Some(sanitize(&failure.message).into_owned());
        match (subject, failure.fault) {
            (CheckSubject::Target(target), ProviderFault::KeyRefused) => {
                if back == ReturnStep::Address {
                    // That a key is wanted is no mistake of the user's.
                    self.error = None;
                }
                let place = match target.place {
                    ConnectPlace::Environment(_) => HostedService::ALL
                        .into_iter()
                        .find(|it| it.endpoint() == target.endpoint)
                        .map_or(ConnectPlace::Top, |it| {
                            ConnectPlace::Named(it.provider_name().to_owned())
                        }),
                    place @ (ConnectPlace::Top | ConnectPlace::Named(_)) => place,
                };
                self.ask_for_key(ConnectTarget { key: None, place, ..target }, KeyNeed::Required);
            }
            (CheckSubject::Target(target), _) if back == ReturnStep::Key => {
                self.ask_for_key(ConnectTarget { key: None, ..target }, KeyNeed::Required);
            }
            (CheckSubject::Target(_) | CheckSubject::Use(_) | CheckSubject::Test(_), _) => {
                self.return_to(back);
            }
        }
        Vec::new()
    }

    fn return_to(&mut self, back: ReturnStep) {
        self.step = match back {
            ReturnStep::Choose | ReturnStep::Key => ConnectStep::Choose,
            ReturnStep::Address => ConnectStep::Address,
        };
    }

    /// Goes on with a server that has answered. The model is asked for only if there are several, and
    /// none of them is the service's usual one.
    fn connect(&mut self, subject: CheckSubject, models: Vec<String>) -> Vec<Intent> {
        match &subject {
            CheckSubject::Test(provider) => {
                let models = crate::domain::pluralise(models.len() as u64, "model");
                self.news = Some(format!("{} answers: {models}.", provider.name));
                self.step = ConnectStep::Choose;
                return Vec::new();
            }
            CheckSubject::Target(target) => {
                let service =
                    HostedService::ALL.into_iter().find(|it| it.endpoint() == target.endpoint);
                if let Some(model) = service.and_then(|service| service.usual_model(&models)) {
                    return self.finish(subject, Some(model), None);
                }
            }
            CheckSubject::Use(_) => {}
        }
        match models.as_slice() {
            [] => self.finish(subject, None, None),
            // The only model is not written down: the server may have another one later.
            [model] => {
                let model = model.clone();
                self.finish(subject, None, Some(model))
            }
            [_, ..] => {
                self.step = ConnectStep::Models { subject, models, selected: 0 };
                Vec::new()
            }
        }
    }

    /// Uses the selected model.
    pub(super) fn use_model(&mut self) -> Vec<Intent> {
        let step = std::mem::replace(&mut self.step, ConnectStep::Choose);
        let ConnectStep::Models { subject, models, selected } = step else { return Vec::new() };
        self.finish(subject, models.into_iter().nth(selected), None)
    }

    /// Has the choice used: written down first, unless it is in the configuration already. `only` is
    /// the model of a server that has no other.
    fn finish(
        &mut self,
        subject: CheckSubject,
        model: Option<String>,
        only: Option<String>,
    ) -> Vec<Intent> {
        let target = match (subject, self.purpose) {
            (CheckSubject::Target(target), ConnectPurpose::FirstRun) => {
                return give(FirstRunAnswer::Use { target, model });
            }
            (CheckSubject::Target(target), ConnectPurpose::Chat(preference)) => {
                (target, preference)
            }
            (CheckSubject::Use(provider) | CheckSubject::Test(provider), _) => {
                self.step = ConnectStep::Choose;
                return self.go_on_with(&provider.name, model.or(only));
            }
        };
        let (target, preference) = target;
        let id = self.next_job();
        self.step = ConnectStep::Saving { id, model: model.clone().or(only) };
        ask(ConnectJob::Save { id, target, model, preference })
    }

    pub(super) fn saved(
        &mut self,
        outcome: &Result<String, String>,
        model: Option<String>,
    ) -> Vec<Intent> {
        self.step = ConnectStep::Choose;
        match outcome {
            Ok(provider) => self.go_on_with(provider, model),
            Err(reason) => {
                self.error = Some(sanitize(reason).into_owned());
                Vec::new()
            }
        }
    }

    /// Closes the page, and goes on with a model of this provider.
    fn go_on_with(&mut self, provider: &str, model: Option<String>) -> Vec<Intent> {
        let Some(model) = model else {
            self.error = Some(format!("{} offers no model.", sanitize(provider)));
            return Vec::new();
        };
        let model = ModelName::new(provider, model);
        let told = format!("Connected: {model}");
        vec![
            Intent::Close,
            Intent::Command(AgentCommand::UseModel(model)),
            Intent::Toast(NoticeLevel::Info, told),
        ]
    }
}

/// The answer that a key gives to a question in which only `y` is a yes.
fn yes_or_no(key: &KeyPress<'_>) -> Option<bool> {
    let typed = key.event().filter(|event| event.modifiers.is_empty()).map(|event| event.code);
    match (keymap::find(keymap::LIST, key), typed) {
        (None, Some(KeyCode::Char('y'))) => Some(true),
        (None, Some(KeyCode::Char('n'))) | (Some(ListKey::Back | ListKey::Accept), _) => {
            Some(false)
        }
        (Some(_) | None, _) => None,
    }
}

/// Moves a selection by a key: `j` and `k` as well, where nothing is typed.
fn moved(selected: &mut usize, count: usize, found: Option<ListKey>, key: &KeyPress<'_>) {
    let last = count.saturating_sub(1);
    *selected = match (found, key.event().map(|event| event.code)) {
        (Some(ListKey::Previous), _) | (None, Some(KeyCode::Char('k'))) => {
            selected.saturating_sub(1)
        }
        (Some(ListKey::Next), _) | (None, Some(KeyCode::Char('j'))) => (*selected + 1).min(last),
        (Some(ListKey::PageUp), _) => selected.saturating_sub(PAGE),
        (Some(ListKey::PageDown), _) => (*selected + PAGE).min(last),
        (Some(ListKey::Accept | ListKey::Back) | None, _) => *selected,
    };
}
