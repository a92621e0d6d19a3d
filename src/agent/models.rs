//! Which model answers: the one that was named, else the only one that the server offers.

use std::future::pending;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::providers::{ModelInfo, Provider, ProviderError};
use crate::session::{Entry, TurnOutcome};

use super::Event;
use super::driver::Agent;
use super::gate::Person;
use crate::domain::{NoticeLevel, Window};

/// The name that stands for whatever model the server has.
pub const ANY_MODEL: &str = "default";

type Listed = Result<Vec<ModelInfo>, ProviderError>;

/// What the server said of its models.
#[derive(Debug, Default)]
pub(super) struct Models {
    known: Vec<ModelInfo>,
    asking: Option<JoinHandle<Listed>>,
}

impl Models {
    /// Asks the server, on a task of its own.
    pub(super) fn ask(&mut self, provider: &Arc<dyn Provider>) {
        if self.asking.is_none() {
            let provider = provider.clone();
            self.asking = Some(tokio::spawn(async move { provider.models().await }));
        }
    }

    /// The server's answer; never, when it was not asked.
    pub(super) async fn answer(&mut self) -> Listed {
        let Some(asking) = &mut self.asking else { return pending().await };
        let answer = asking.await;
        self.asking = None;
        answer.unwrap_or_else(|error| {
            tracing::error!(%error, "listing the models ended abnormally");
            Ok(Vec::new())
        })
    }

    fn window(&self, model: &str) -> Option<u64> {
        self.known.iter().find(|known| known.id == model)?.context_window
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}

impl Agent {
    pub(super) async fn take_models(&mut self, listed: Listed) {
        match listed {
            Ok(models) => {
                self.models.known = models;
                self.choose().await;
            }
            Err(error) => self.error(error.message).await,
        }
    }

    /// The model for a turn that is about to begin. Waits for the server's list where none was
    /// named, and asks again where the last try failed.
    pub(super) async fn model_for_turn(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<String, TurnOutcome> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        if self.models.known.is_empty() {
            self.models.ask(&self.setup.provider);
            let listed = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(TurnOutcome::Interrupted),
                listed = self.models.answer() => listed,
            };
            match listed {
                Ok(models) => self.models.known = models,
                Err(error) => return Err(TurnOutcome::Failed(error.message)),
            }
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

    pub(super) async fn set_model(&mut self, model: String) {
        self.open.note(Entry::Model { model: model.clone() }).await;
        self.model = Some(model);
        self.tell_model().await;
    }

    pub(super) async fn tell_model(&self) {
        let Some(model) = self.model.clone() else { return };
        let assumed = Window::Assumed(self.setup.window);
        let window = self.models.window(&model).map_or(assumed, Window::Served);
        let local = self.setup.provider.is_local();
        self.events.tell(Event::ModelChanged { model, window, local }).await;
    }

    /// Takes the session's own model or the only one there is; otherwise somebody has to choose.
    async fn choose(&mut self) {
        if self.model.is_none() {
            let of_session = self.open.conversation.model.clone();
            let known = &self.models.known;
            let offered = known.iter().find(|known| Some(&known.id) == of_session.as_ref());
            match (offered, known.as_slice(), self.setup.person) {
                (Some(model), _, _) | (None, [model], _) => self.model = Some(model.id.clone()),
                (None, [], _) => {}
                (None, [first, ..], Person::Absent) => {
                    let first = first.id.clone();
                    let text = format!(
                        "The server offers several models; {first} answers. Name another with \
                         --model."
                    );
                    self.events.notice(NoticeLevel::Info, text).await;
                    self.model = Some(first);
                }
                (None, [_, ..], Person::Present) => {
                    self.events.tell(Event::ModelNeeded { models: known.clone() }).await;
                }
            }
        }
        self.tell_model().await;
    }
}
