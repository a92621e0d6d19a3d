//! Which model answers: the one that was named, else the only one that the server offers. When the
//! server offers several, the user chooses; a headless run takes the first.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::providers::retry::{self, ReceivedContent, RetryDecision, ServerHistory};
use crate::providers::{ModelInfo, Provider, ProviderError, ProviderFault};
use crate::session::{LastModels, LogEntry, ReplayedConversation, TurnOutcome};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::provider_set::AgentProvider;
use super::random_fraction::random_fraction;
use super::setup::{ModelPin, UnnamedModel};
use super::tool_gate::Interactivity;
use crate::domain::{
    ContextWindow, ModelName, NoticeLevel, ReasoningEffort, TurnId, format_tokens, nearest,
};

/// The name that stands for whatever model the server has.
pub const ANY_MODEL: &str = "default";

/// How long a turn waits for the list that it has read again. Without it the turn goes on with the last one.
const LIST_WAIT: Duration = Duration::from_millis(500);

type FetchedModelList = Result<Vec<ModelInfo>, ProviderError>;

/// The list for a turn that waits for it, or how that turn ends without it.
type TurnModelList = Result<Vec<ModelInfo>, TurnOutcome>;

/// The models that the server offers, as far as it has answered.
#[derive(Debug, Default)]
pub(super) struct OfferedModels {
    known: Vec<ModelInfo>,
    asking: Option<JoinHandle<FetchedModelList>>,
    /// The last answer was a failure that a later try may not meet.
    missed: bool,
    /// The models of which the user has been told that their tools are described.
    with_described_tools: HashSet<String>,
    /// The windows of models whose server has named another one since it was asked for its list.
    reread: HashMap<String, u64>,
    /// A turn has begun since slug was started, or since the provider was chosen.
    has_begun_turn: bool,
}

impl OfferedModels {
    /// Requests the list on its own task, unless a request is already running.
    pub(super) fn ask(&mut self, provider: &Arc<dyn Provider>) {
        if self.asking.is_none() {
            let provider = provider.clone();
            self.asking = Some(tokio::spawn(async move { provider.models().await }));
        }
    }

    /// Whether the server's answer has come and was not taken yet.
    fn has_answer(&self) -> bool {
        self.asking.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits for the server's answer; for ever when no request is running.
    pub(super) async fn answer(&mut self) -> FetchedModelList {
        let Some(asking) = &mut self.asking else { return pending().await };
        let answer = asking.await;
        self.asking = None;
        answer.unwrap_or_else(|error| {
            tracing::error!(%error, "listing the models ended abnormally");
            Ok(Vec::new())
        })
    }

    /// The window that the server serves this model with, as it has said last.
    fn window(&self, model: &str) -> Option<u64> {
        self.reread.get(model).copied().or_else(|| listed_window(&self.known, model))
    }

    /// Whether the server has said what it offers.
    pub(super) fn is_listed(&self) -> bool {
        !self.known.is_empty()
    }

    /// The names of the models that the server lists.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.id.as_str())
    }

    /// Whether the server lists this model.
    pub(super) fn has(&self, model: &str) -> bool {
        self.known.iter().any(|known| known.id == model)
    }

    /// The most tokens that the server lets this model write, if its list says so.
    pub(super) fn output(&self, model: &str) -> Option<u64> {
        self.known.iter().find(|known| known.id == model)?.max_output
    }
}

fn listed_window(list: &[ModelInfo], model: &str) -> Option<u64> {
    list.iter().find(|known| known.id == model)?.context_window
}

impl Drop for OfferedModels {
    fn drop(&mut self) {
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}

impl Agent {
    pub(super) async fn take_models(&mut self, listed: FetchedModelList) {
        let error = match listed {
            Ok(models) => return self.take_listed(models).await,
            // The turn that had the list read again meets the same failure and reports it.
            Err(error) if !self.models.known.is_empty() => {
                return tracing::info!(error = error.message, "the models are not listed again");
            }
            Err(error) => error,
        };
        self.tell_fault(error.fault());
        let known = (ReceivedContent::Nothing, ServerHistory::Unknown);
        if retry::next(1, &error, known, 0.0) == RetryDecision::Stop {
            return self.error(error.message);
        }
        let was_missed = std::mem::replace(&mut self.models.missed, true);
        match self.setup.interactivity {
            Interactivity::Interactive if !was_missed => {
                let text = format!("{} slug will retry when you send a message.", error.message);
                self.events.notice(NoticeLevel::Info, text);
            }
            // The message that is being sent meets the same failure and reports it.
            Interactivity::Interactive | Interactivity::Headless => {
                tracing::info!(error = error.message, "the models are not listed yet");
            }
        }
    }

    async fn take_listed(&mut self, models: Vec<ModelInfo>) {
        let before = self.model.as_ref().and_then(|model| self.models.window(model));
        self.models.reread.retain(|model, _| listed_window(&models, model).is_none());
        self.models.known = models;
        self.models.missed = false;
        self.note_answer();
        self.choose().await;
        let Some(model) = self.model.clone() else { return };
        if let (Some(before), Some(now)) = (before, self.models.window(&model))
            && before != now
        {
            self.tell_window(&model, before, now);
        }
    }

    /// Tells the user that the server serves this model with another window than before.
    fn tell_window(&self, model: &str, before: u64, now: u64) {
        let mut text = format!(
            "The context window of {model} has {} tokens now, as its server says.",
            format_tokens(now)
        );
        if now < before {
            text.push_str(" slug sends no more than that from now on.");
        }
        self.events.notice(NoticeLevel::Warning, text);
    }

    /// The model for a turn that is about to begin. Waits for the server's list when no model was
    /// named.
    pub(super) async fn model_for_turn(
        &mut self,
        turn: TurnId,
        cancel: &CancellationToken,
    ) -> Result<String, TurnOutcome> {
        // A server on this machine may have been started anew since the last turn, with another window.
        let is_later = std::mem::replace(&mut self.models.has_begun_turn, true);
        let provider = &self.setup.providers.current().provider;
        if self.models.missed || is_later && provider.is_local() {
            self.models.ask(provider);
        }
        if is_later && provider.is_local() {
            self.wait_for_models(cancel).await;
        }
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        if self.models.known.is_empty() {
            let listing = self.list_for_turn(turn);
            let listed = cancel.run_until_cancelled(listing).await;
            self.models.known = listed.unwrap_or(Err(TurnOutcome::Interrupted))?;
        }
        self.choose().await;
        self.model.clone().ok_or_else(|| {
            TurnOutcome::Failed(if self.models.known.is_empty() {
                "The server offers no model. Load one there, or name one with --model.".into()
            } else {
                "Choose a model first, with /model, then ask again with /retry.".into()
            })
        })
    }

    /// Takes the server's list if it comes at once, as that of a server on this machine does, so that
    /// the first request already knows the window.
    pub(super) async fn wait_for_models(&mut self, cancel: &CancellationToken) {
        let answer = tokio::time::timeout(LIST_WAIT, self.models.answer());
        if let Some(Ok(listed)) = cancel.run_until_cancelled(answer).await {
            self.take_models(listed).await;
        }
    }

    /// Requests the server's list for a turn that waits for it. A failure is retried like that of a
    /// model request: a server that was just started needs time to load a model.
    async fn list_for_turn(&mut self, turn: TurnId) -> TurnModelList {
        let mut failures = 0;
        loop {
            self.models.ask(&self.current_provider().provider.clone());
            let error = match self.models.answer().await {
                Ok(models) => {
                    self.note_answer();
                    return Ok(models);
                }
                Err(error) => error,
            };
            failures += 1;
            let known = (ReceivedContent::Nothing, self.server_history());
            match retry::next(failures, &error, known, random_fraction()) {
                RetryDecision::Retry(again) => {
                    let reason = error.message;
                    let dropped = AgentEvent::ResponseDropped { turn, reason, again: Some(again) };
                    self.events.send(dropped);
                    tokio::time::sleep(again.pause).await;
                    self.events.send(AgentEvent::RequestSent { turn });
                }
                RetryDecision::Stop => {
                    self.tell_fault(error.fault());
                    return Err(TurnOutcome::Failed(error.message));
                }
            }
        }
    }

    /// Notes that the current provider's server has answered.
    pub(super) fn note_answer(&mut self) {
        self.answered_by = Some(self.current_provider().name.clone());
    }

    /// Whether the current provider's server has answered this agent before.
    pub(super) fn server_history(&self) -> ServerHistory {
        match &self.answered_by {
            Some(name) if *name == self.current_provider().name => ServerHistory::HasAnswered,
            Some(_) | None => ServerHistory::Unknown,
        }
    }

    /// Tells the front end what is wrong with the current provider.
    pub(super) fn tell_fault(&self, fault: ProviderFault) {
        let provider = self.current_provider().name.clone();
        self.events.send(AgentEvent::ProviderFailed { provider, fault });
    }

    pub(super) async fn set_model(&mut self, typed: &str) {
        self.use_model(self.resolved_model(typed)).await;
        self.tell_unlisted();
    }

    /// The model that the user has typed, with its provider.
    pub(super) fn resolved_model(&self, typed: &str) -> ModelName {
        self.setup.providers.resolve_model(typed, self.models.ids())
    }

    /// Tells the user that the server's list does not have the model that they typed: it may serve it all
    /// the same, or the name is mistyped.
    fn tell_unlisted(&self) {
        let Some(model) = self.model.as_deref() else { return };
        if self.models.known.is_empty() || self.models.has(model) {
            return;
        }
        let guess = nearest(model, self.models.ids()).map(|id| format!(" Did you mean `{id}`?"));
        let text = format!(
            "The server does not list a model `{model}`; slug asks for it anyway.{} /model shows the list.",
            guess.unwrap_or_default()
        );
        self.events.notice(NoticeLevel::Warning, text);
    }

    /// Changes the model, and the provider with it, from the next message on.
    pub(super) async fn use_model(&mut self, ModelName { provider, model }: ModelName) {
        if !self.change_to(&provider) {
            let known: Vec<_> = self.setup.providers.all().into_iter().map(|it| it.name).collect();
            let text = format!(
                "There is no provider `{provider}`, only {}. Add [providers.{provider}] to \
                 ~/.slug/config.toml.",
                known.join(", ")
            );
            return self.error(text);
        }
        self.model = Some(model);
        self.note_model().await;
    }

    /// Changes the reasoning effort from the next message on.
    pub(super) async fn set_effort(&mut self, effort: Option<ReasoningEffort>) {
        self.effort = effort;
        self.note_model().await;
    }

    /// Takes the model and effort of the session that was just opened, unless they were named for
    /// this run. Of the provider the log has only the name; returns it where the user has none of that
    /// name, and all stays as it is.
    pub(super) async fn take_over_model(&mut self) -> Option<String> {
        let ReplayedConversation { model, provider, effort, .. } = &self.session.conversation;
        let effort = *effort;
        let (ModelPin::Default, Some(model), Some(provider)) =
            (self.setup.model_pin, model.clone(), provider.clone())
        else {
            return None;
        };
        // When no model is configured, the server's current list decides.
        let is_open = self.setup.model.is_none() && self.current_provider().name == provider;
        if is_open || model == ANY_MODEL {
            return None;
        }
        if !self.change_to(&provider) {
            return Some(provider);
        }
        (self.model, self.effort) = (Some(model), effort.or(self.current_provider().effort));
        self.tell_model().await;
        None
    }

    /// Changes the provider; `false` when there is none of this name.
    fn change_to(&mut self, provider: &str) -> bool {
        if self.current_provider().name != provider || self.setup.providers.is_outdated() {
            if !self.setup.providers.choose(provider) {
                return false;
            }
            self.effort = self.current_provider().effort;
            self.models = OfferedModels::default();
            self.models.ask(&self.current_provider().provider.clone());
        }
        true
    }

    async fn note_model(&mut self) {
        if let Some(model) = self.model.clone() {
            let (provider, effort) = (Some(self.current_provider().name.clone()), self.effort);
            self.keep_model(model.clone()).await;
            self.session.note(LogEntry::Model { model, provider, effort }).await;
        }
        self.tell_model().await;
    }

    /// Saves the user's choice, so that the next session in this folder begins with it.
    async fn keep_model(&self, model: String) {
        let Some(path) = self.setup.last_models.clone() else { return };
        let name = ModelName::new(self.current_provider().name.as_str(), model);
        let (folder, effort) = (self.setup.place.cwd.clone(), self.effort);
        let saved = blocking(move || LastModels::keep(&path, &folder, name, effort)).await;
        if let Err(error) = saved
            .map_err(|error| error.to_string())
            .and_then(|saved| saved.map_err(|error| error.to_string()))
        {
            tracing::warn!(error, "the model cannot be remembered for this folder");
        }
    }

    /// Says, once for each model, that the server takes no tools with it. `reason` is what the
    /// server has said.
    pub(super) fn tell_of_described_tools(&mut self, model: &str, reason: Option<String>) {
        if self.models.with_described_tools.insert(model.to_owned()) {
            let reason = reason.unwrap_or_else(|| {
                format!(
                    "The server does not support tools with \
                    {model}."
                )
            });
            let text = format!(
                "{reason} slug describes the tools in the prompt instead and reads the calls \
                 from the answer's text."
            );
            self.events.notice(NoticeLevel::Warning, text);
        }
    }

    pub(super) async fn tell_model(&self) {
        if let Some(model) = &self.model {
            self.tell_named(model).await;
        }
    }

    /// Tells the front end that this model answers, with its window.
    pub(super) async fn tell_named(&self, model: &str) {
        let window = self.window(model).await;
        let AgentProvider { name, provider, .. } = self.current_provider();
        let (local, provider) = (provider.is_local(), name.clone());
        let model = ModelName { provider, model: model.to_owned() };
        let changed = AgentEvent::ModelChanged { model, effort: self.effort, window, local };
        self.events.send(changed);
    }

    /// The context window of a model, with where the number comes from.
    pub(super) async fn window(&self, model: &str) -> ContextWindow {
        match self.models.window(model) {
            Some(window) => ContextWindow::Served(window),
            None => self.window_unserved(model).await,
        }
    }

    /// Reads the window of a model again, whose server has refused a request as too long, cut an answer
    /// early or been away: a server on this machine may have been started anew with another one. `named` is
    /// the window in a refusal; without it the server's list is asked. Returns whether the window is
    /// smaller than it was.
    pub(super) async fn reread_window(
        &mut self,
        model: &str,
        named: Option<u64>,
        cancel: &CancellationToken,
    ) -> bool {
        let provider = self.current_provider().provider.clone();
        let now = match named {
            Some(window) => Some(window),
            None if provider.is_local() => {
                self.models.ask(&provider);
                let listed = cancel.run_until_cancelled(self.models.answer()).await;
                listed.and_then(Result::ok).and_then(|listed| listed_window(&listed, model))
            }
            None => None,
        };
        let before = self.window(model).await.tokens();
        // What refuses a request has no more room than was known.
        let Some(now) = now.filter(|now| *now < before || named.is_none() && *now != before) else {
            return false;
        };
        self.models.reread.insert(model.to_owned(), now);
        self.tell_window(model, before, now);
        self.tell_named(model).await;
        now < before
    }

    /// Takes the list of models that has arrived while a turn runs: it says how large the window is.
    pub(super) async fn take_listed_models(&mut self) {
        if self.models.has_answer() {
            let listed = self.models.answer().await;
            self.take_models(listed).await;
        }
    }

    /// Chooses a model if there is none yet: the session's own, or the only one that is offered.
    /// Otherwise the user has to choose, and a headless run takes the first.
    async fn choose(&mut self) {
        if self.model.is_none() {
            let of_session = self.session.conversation.model.clone();
            let known = &self.models.known;
            let offered = known.iter().find(|known| Some(&known.id) == of_session.as_ref());
            match (offered, known.as_slice(), self.setup.unnamed_model) {
                (Some(model), _, _) | (None, [model], _) => self.model = Some(model.id.clone()),
                (None, [], _) => self.tell_fault(ProviderFault::NoModels),
                (None, [first, ..], UnnamedModel::TakeFirst) => {
                    let first = first.id.clone();
                    let text = format!(
                        "The server offers several models; slug uses {first}. Choose another \
                         with --model."
                    );
                    self.events.notice(NoticeLevel::Info, text);
                    self.model = Some(first);
                }
                (None, [_, ..], UnnamedModel::Ask) => {
                    let (provider, models) = (self.current_provider().name.clone(), known.clone());
                    self.events.send(AgentEvent::ModelNeeded { provider, models });
                }
            }
        }
        self.tell_model().await;
    }
}
