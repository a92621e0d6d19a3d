//! The providers that a session can use: one of them answers, and the person may change to another
//! at any message.

use std::sync::Arc;

use crate::domain::{ModelName, ReasoningEffort};
use crate::providers::Provider;

/// A provider as it was configured. Nothing is asked of it before it is used.
#[derive(Clone)]
pub struct AgentProvider {
    /// Its name in the configuration.
    pub name: String,
    /// How it is asked.
    pub provider: Arc<dyn Provider>,
    /// The model that is asked where none is chosen; `None` takes what the server offers.
    pub model: Option<String>,
    /// Limit of one response, in tokens.
    pub max_tokens: u32,
    /// The window to assume where the server does not say, in tokens.
    pub window: u64,
    /// How hard the model is to think; sent only when set.
    pub effort: Option<ReasoningEffort>,
}

/// All configured providers.
#[derive(Clone)]
pub struct AgentProviderSet {
    all: Vec<AgentProvider>,
    current: usize,
}

impl AgentProviderSet {
    /// `first` answers until another is chosen.
    pub fn new(first: AgentProvider, others: impl IntoIterator<Item = AgentProvider>) -> Self {
        Self { all: std::iter::once(first).chain(others).collect(), current: 0 }
    }

    /// The one that answers.
    pub fn current(&self) -> &AgentProvider {
        &self.all[self.current]
    }

    /// All of them, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &AgentProvider> {
        self.all.iter()
    }

    /// Has the one of this name answer from now on; false, with nothing changed, where there is
    /// none.
    pub fn choose(&mut self, name: &str) -> bool {
        let found = self.all.iter().position(|it| it.name == name);
        self.current = found.unwrap_or(self.current);
        found.is_some()
    }

    /// What a person means by `typed`: `PROVIDER/MODEL`, or a model of the provider that answers.
    /// Models have slashes in their names, too, so that one that the provider lists as it was
    /// typed is meant first.
    pub fn resolve_model<'a>(
        &self,
        typed: &str,
        mut listed: impl Iterator<Item = &'a str>,
    ) -> ModelName {
        let here = self.current().name.as_str();
        match typed.split_once('/') {
            Some((provider, model))
                if !model.is_empty()
                    && self.all.iter().any(|it| it.name == provider)
                    && !listed.any(|listed| listed == typed) =>
            {
                ModelName::new(provider, model)
            }
            Some(_) | None => ModelName::new(here, typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::demo::{DemoProvider, DemoSpeed, built_in};

    fn services() -> AgentProviderSet {
        let provider: Arc<dyn Provider> =
            Arc::new(DemoProvider::new(built_in().unwrap(), DemoSpeed::AsWritten));
        let service = |name: &str| AgentProvider {
            name: name.to_owned(),
            provider: provider.clone(),
            model: None,
            max_tokens: 1,
            window: 1,
            effort: None,
        };
        AgentProviderSet::new(service("router"), [service("openai"), service("local")])
    }

    #[test]
    fn the_first_answers_until_another_is_chosen() {
        let mut services = services();
        assert_eq!(services.current().name, "router");
        assert!(services.choose("local"));
        assert_eq!(services.current().name, "local");
        assert!(!services.choose("nobody"));
        assert_eq!(services.current().name, "local");
    }

    #[test]
    fn a_provider_can_be_named_before_a_model() {
        let services = services();
        for (typed, listed, provider, model) in [
            ("qwen3", "", "router", "qwen3"),
            ("local/qwen3", "", "local", "qwen3"),
            ("local/org/qwen3", "", "local", "org/qwen3"),
            ("meta/llama", "", "router", "meta/llama"),
            ("openai/gpt", "", "openai", "gpt"),
            ("openai/gpt", "openai/gpt", "router", "openai/gpt"),
            ("openai/", "", "router", "openai/"),
        ] {
            let meant = services.resolve_model(typed, [listed].into_iter());
            assert_eq!(
                (meant.provider.as_str(), meant.model.as_str()),
                (provider, model),
                "{typed}"
            );
        }
    }
}
