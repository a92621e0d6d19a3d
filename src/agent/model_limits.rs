//! What the catalogue knows of the model that answers, and what a request heeds of it.

use crate::catalogue::{ImageSupport, ModelFacts, ReasoningSetting};
use crate::domain::{ContextWindow, Money, ReasoningEffort, TokenUsage};

use super::agent_loop::Agent;

impl Agent {
    /// The facts about a model where the provider's host is known; never of one on this machine.
    pub(super) async fn facts(&self, model: &str) -> Option<ModelFacts> {
        let host = self.current_provider().provider.host()?.to_owned();
        let (shelf, model) = (self.setup.catalogue.clone(), model.to_owned());
        // The first time this reads the catalogue.
        let found =
            tokio::task::spawn_blocking(move || shelf.catalogue().find(&host, &model).cloned());
        found.await.ok().flatten()
    }

    /// How much a model reads at once where its server does not say.
    pub(super) async fn window_unserved(&self, model: &str) -> ContextWindow {
        let assumed = ContextWindow::Assumed(self.current_provider().window);
        let Some(host) = self.current_provider().provider.host().map(str::to_owned) else {
            return assumed;
        };
        let (shelf, model) = (self.setup.catalogue.clone(), model.to_owned());
        // The first time this reads the catalogue.
        let found =
            tokio::task::spawn_blocking(move || shelf.catalogue().fallback_window(&host, &model));
        found.await.ok().flatten().map_or(assumed, ContextWindow::Known)
    }

    /// What a response of this model cost, where that is known.
    pub(super) async fn cost(&self, model: &str, usage: Option<TokenUsage>) -> Option<Money> {
        Some(self.facts(model).await?.price?.of(usage?))
    }

    /// Leaves images out of what a model is sent that takes none.
    pub(super) fn heed_images(&mut self, model: &str, facts: Option<&ModelFacts>) {
        match facts.map(|facts| facts.images) {
            Some(ImageSupport::Unsupported) => self.images.leave_out(model),
            Some(ImageSupport::Supported) | None => {}
        }
    }
}

/// The limit of a response: the configured one, within what the model can do.
pub(super) fn max_tokens(wanted: u32, facts: Option<&ModelFacts>) -> u32 {
    let most = facts.and_then(|facts| facts.output).and_then(|most| u32::try_from(most).ok());
    most.map_or(wanted, |most| wanted.min(most))
}

/// How hard a model is to think: the configured step, or the nearest one that it knows, the lower
/// of two; nothing for one that does not reason.
pub(super) fn effort(
    wanted: Option<ReasoningEffort>,
    facts: Option<&ModelFacts>,
) -> Option<ReasoningEffort> {
    let (wanted, Some(facts)) = (wanted?, facts) else { return wanted };
    let reasoning = facts.reasoning.as_ref()?;
    let off =
        wanted == ReasoningEffort::None && reasoning.settings.contains(&ReasoningSetting::Switch);
    if reasoning.efforts.is_empty() || off {
        return Some(wanted);
    }
    let place = |step: ReasoningEffort| {
        ReasoningEffort::ALL.iter().position(|it| *it == step).unwrap_or_default()
    };
    let distance = |step: &&ReasoningEffort| place(**step).abs_diff(place(wanted));
    reasoning.efforts.iter().min_by_key(distance).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::ReasoningCapability;

    fn facts(reasoning: Option<ReasoningCapability>) -> ModelFacts {
        ModelFacts {
            released: chrono::NaiveDate::default(),
            window: 100_000,
            output: Some(8_192),
            images: ImageSupport::Unsupported,
            reasoning,
            price: None,
        }
    }

    #[test]
    fn a_response_is_asked_to_be_no_longer_than_it_can_be() {
        let known = facts(None);
        assert_eq!(max_tokens(16_000, Some(&known)), 8_192);
        assert_eq!(max_tokens(4_096, Some(&known)), 4_096);
        assert_eq!(max_tokens(16_000, None), 16_000);
    }

    #[test]
    fn effort_is_a_step_that_the_model_knows() {
        let steps = |efforts: &[ReasoningEffort], settings: &[ReasoningSetting]| {
            Some(ReasoningCapability { efforts: efforts.to_vec(), settings: settings.to_vec() })
        };
        let three = &[ReasoningEffort::Low, ReasoningEffort::Medium, ReasoningEffort::High];
        let table = [
            (None, ReasoningEffort::High, None),
            (steps(&[], &[]), ReasoningEffort::High, Some(ReasoningEffort::High)),
            (steps(three, &[]), ReasoningEffort::Medium, Some(ReasoningEffort::Medium)),
            (steps(three, &[]), ReasoningEffort::Max, Some(ReasoningEffort::High)),
            (steps(three, &[]), ReasoningEffort::None, Some(ReasoningEffort::Low)),
            (
                steps(three, &[ReasoningSetting::Switch]),
                ReasoningEffort::None,
                Some(ReasoningEffort::None),
            ),
            (
                steps(&[ReasoningEffort::Low, ReasoningEffort::High], &[]),
                ReasoningEffort::Medium,
                Some(ReasoningEffort::Low),
            ),
        ];
        for (reasoning, wanted, sent) in table {
            let known = facts(reasoning);
            assert_eq!(effort(Some(wanted), Some(&known)), sent, "{known:?} {wanted}");
            assert_eq!(effort(None, Some(&known)), None);
        }
        assert_eq!(effort(Some(ReasoningEffort::Max), None), Some(ReasoningEffort::Max));
    }
}
