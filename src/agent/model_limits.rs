//! What the catalogue knows about the current model, and the limits that requests take from it.

use crate::catalogue::{ImageSupport, ModelFacts, ReasoningSetting};
use crate::domain::{ContextWindow, Money, ReasoningEffort, TokenUsage};
use crate::providers::{CapabilitySupport, DEFAULT_OUTPUT_LIMIT};

use super::agent_loop::Agent;

impl Agent {
    /// The catalogue's facts about a model. `None` when the catalogue does not know the model, and
    /// always for a server on this machine.
    pub(super) async fn facts(&self, model: &str) -> Option<ModelFacts> {
        let host = self.current_provider().provider.host()?.to_owned();
        let (cache, model) = (self.setup.catalogue.clone(), model.to_owned());
        // The first call reads the catalogue from disk.
        let found =
            tokio::task::spawn_blocking(move || cache.catalogue().find(&host, &model).cloned());
        found.await.ok().flatten()
    }

    /// The model that answers for the rest of a turn when the server stays overloaded: the
    /// configured one, else the catalogue's next smaller one of the same provider.
    pub(super) async fn fallback_model(&self, model: &str) -> Option<String> {
        if let Some(configured) = &self.setup.fallback_model {
            return Some(configured.clone()).filter(|other| other != model);
        }
        let host = self.current_provider().provider.host()?.to_owned();
        let (cache, model) = (self.setup.catalogue.clone(), model.to_owned());
        // The first call reads the catalogue from disk.
        let found = tokio::task::spawn_blocking(move || {
            cache.catalogue().next_smaller(&host, &model).map(str::to_owned)
        });
        found.await.ok().flatten()
    }

    /// The context window of a model whose server does not report one.
    pub(super) async fn window_unserved(&self, model: &str) -> ContextWindow {
        let assumed = ContextWindow::Assumed(self.current_provider().window);
        let Some(host) = self.current_provider().provider.host().map(str::to_owned) else {
            return assumed;
        };
        let (cache, model) = (self.setup.catalogue.clone(), model.to_owned());
        // The first call reads the catalogue from disk.
        let found =
            tokio::task::spawn_blocking(move || cache.catalogue().fallback_window(&host, &model));
        found.await.ok().flatten().map_or(assumed, ContextWindow::Known)
    }

    /// The output limit of a request to this model; `None` leaves it to the server.
    pub(super) async fn output_limit(
        &self,
        model: &str,
        facts: Option<&ModelFacts>,
    ) -> Option<u32> {
        let by_catalogue = facts.and_then(|facts| facts.output);
        let most = self.models.output(model).or(by_catalogue);
        max_tokens(self.current_provider().max_tokens, most, self.window(model).await)
    }

    /// The cost of a response; `None` when the price or the usage is not known.
    pub(super) async fn cost(&self, model: &str, usage: Option<TokenUsage>) -> Option<Money> {
        Some(self.facts(model).await?.price?.of(usage?))
    }

    /// Sends no images to a model that is known to take none.
    pub(super) fn heed_images(
        &mut self,
        model: &str,
        by_provider: CapabilitySupport,
        facts: Option<&ModelFacts>,
    ) {
        let by_catalogue = facts.map(|facts| facts.images);
        match (by_provider, by_catalogue) {
            (CapabilitySupport::Unsupported, _)
            | (CapabilitySupport::Unknown, Some(ImageSupport::Unsupported)) => {
                self.images.leave_out(model);
            }
            (CapabilitySupport::Supported, _)
            | (CapabilitySupport::Unknown, Some(ImageSupport::Supported) | None) => {}
        }
    }
}

/// The limit of a response in tokens: the configured one, but no more than `most`, which is what the
/// model can write. Where none is configured, it is [`DEFAULT_OUTPUT_LIMIT`], at most a third of the
/// window; `None` leaves it to the server, because neither `most` nor the window is known.
fn max_tokens(configured: Option<u32>, most: Option<u64>, window: ContextWindow) -> Option<u32> {
    let most = most.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
    if let Some(configured) = configured {
        return Some(most.map_or(configured, |most| configured.min(most)));
    }
    let third = |window: u64| u32::try_from(window / 3).unwrap_or(u32::MAX).max(1);
    let third = match window {
        ContextWindow::Served(window) | ContextWindow::Known(window) => Some(third(window)),
        // Says something only where it was configured, and then to be small.
        ContextWindow::Assumed(window) => {
            Some(third(window)).filter(|third| *third < DEFAULT_OUTPUT_LIMIT)
        }
    };
    most.into_iter().chain(third).min().map(|limit| limit.min(DEFAULT_OUTPUT_LIMIT))
}

/// The reasoning effort to request: the configured one, or the nearest that the model knows (the
/// lower of two). `None` for a model that does not reason.
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
    fn the_output_limit_is_what_the_model_can_write_and_at_most_a_third_of_the_window() {
        use ContextWindow::{Assumed, Known, Served};
        for (configured, most, window, limit) in [
            // Configured: as it is, but no more than the model can write.
            (Some(16_000), Some(8_192), Known(200_000), Some(8_192)),
            (Some(4_096), Some(8_192), Known(200_000), Some(4_096)),
            (Some(64_000), None, Served(16_000), Some(64_000)),
            (None, Some(8_192), Known(200_000), Some(8_192)),
            (None, Some(128_000), Known(400_000), Some(32_000)),
            (None, Some(8_192), Served(16_384), Some(5_461)),
            (None, None, Served(16_384), Some(5_461)),
            (None, None, Known(1_000_000), Some(32_000)),
            (None, Some(8_192), Assumed(200_000), Some(8_192)),
            // Nothing is known.
            (None, None, Assumed(200_000), None),
            // Nobody but the user says that the window is small.
            (None, None, Assumed(9_000), Some(3_000)),
        ] {
            let case = format!("{configured:?} {most:?} {window:?}");
            assert_eq!(max_tokens(configured, most, window), limit, "{case}");
        }
    }

    #[test]
    fn effort_is_one_that_the_model_knows() {
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
