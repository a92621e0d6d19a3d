//! The providers that a session can use. One of them answers; the user can change to another with
//! any message.

use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::{ModelName, ReasoningEffort};
use crate::providers::Provider;

/// A provider as it is configured. No request is made before it is used.
#[derive(Clone)]
pub struct AgentProvider {
    /// The name in the configuration.
    pub name: String,
    /// The connection to it.
    pub provider: Arc<dyn Provider>,
    /// The model to use when none is chosen; `None` takes what the server offers.
    pub model: Option<String>,
    /// The configured limit of one response, in tokens; `None` goes by the model and its window.
    pub max_tokens: Option<u32>,
    /// The context window to assume when neither server nor catalogue knows it, in tokens.
    pub window: u64,
    /// The reasoning effort; not sent when `None`.
    pub effort: Option<ReasoningEffort>,
}

/// All configured providers, one of which is current. Clones share the list, which changes when the
/// user connects another or removes one; each has a current provider of its own.
#[derive(Clone)]
pub struct AgentProviderSet {
    all: Arc<RwLock<Vec<AgentProvider>>>,
    current: AgentProvider,
}

impl AgentProviderSet {
    /// A set in which `first` is current until another is chosen.
    pub fn new(first: AgentProvider, others: impl IntoIterator<Item = AgentProvider>) -> Self {
        let all = std::iter::once(first.clone()).chain(others).collect();
        Self { all: Arc::new(RwLock::new(all)), current: first }
    }

    /// The provider that requests go to. It stays as it is until one is chosen.
    pub fn current(&self) -> &AgentProvider {
        &self.current
    }

    /// All providers as of now, in the order that [`Self::new`] got them.
    pub fn all(&self) -> Vec<AgentProvider> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts other providers in the place of all, for every clone.
    pub fn replace_all(&self, providers: Vec<AgentProvider>) {
        *self.all.write().unwrap_or_else(PoisonError::into_inner) = providers;
    }

    /// Makes the provider of this name current. Returns `false`, and changes nothing, when there is
    /// none.
    pub fn choose(&mut self, name: &str) -> bool {
        let found = self.all().into_iter().find(|it| it.name == name);
        let is_found = found.is_some();
        if let Some(found) = found {
            self.current = found;
        }
        is_found
    }

    /// Whether the list has another connection under the name of the current provider.
    pub fn is_outdated(&self) -> bool {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let mut same_name = all.iter().filter(|it| it.name == self.current.name);
        same_name.any(|it| !Arc::ptr_eq(&it.provider, &self.current.provider))
    }

    /// Resolves what the user typed: `PROVIDER/MODEL`, or a model of the current provider. Names of
    /// models can contain slashes, too, so a model that the current provider lists under exactly
    /// this name comes first.
    pub fn resolve_model<'a>(
        &self,
        typed: &str,
        mut listed: impl Iterator<Item = &'a str>,
    ) -> ModelName {
        let here = self.current().name.as_str();
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        match typed.split_once('/') {
            Some((provider, model))
                if !model.is_empty()
                    && all.iter().any(|it| it.name == provider)
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

    fn provider_set() -> AgentProviderSet {
        let provider: Arc<dyn Provider> =
            Arc::new(DemoProvider::new(built_in().unwrap(), DemoSpeed::AsWritten));
        let agent_provider = |name: &str| AgentProvider {
            name: name.to_owned(),
            provider: provider.clone(),
            model: None,
            max_tokens: None,
            window: 1,
            effort: None,
        };
        AgentProviderSet::new(
            agent_provider("router"),
            [agent_provider("openai"), agent_provider("local")],
        )
    }

    #[test]
    fn the_first_answers_until_another_is_chosen() {
        let mut provider_set = provider_set();
        assert_eq!(provider_set.current().name, "router");
        assert!(provider_set.choose("local"));
        assert_eq!(provider_set.current().name, "local");
        assert!(!provider_set.choose("nobody"));
        assert_eq!(provider_set.current().name, "local");
    }

    #[test]
    fn another_connection_is_used_once_it_is_chosen() {
        let mut provider_set = provider_set();
        let screen = provider_set.clone();
        let mut all = screen.all();
        all[0].provider = Arc::new(DemoProvider::new(built_in().unwrap(), DemoSpeed::AsWritten));
        all.retain(|it| it.name != "local");
        assert!(!provider_set.is_outdated());
        screen.replace_all(all.clone());
        assert!(provider_set.is_outdated() && !provider_set.choose("local"));
        assert!(provider_set.choose("router"));
        assert!(Arc::ptr_eq(&provider_set.current().provider, &all[0].provider));
        assert!(!provider_set.is_outdated());
    }

    #[test]
    fn a_provider_can_be_named_before_a_model() {
        let provider_set = provider_set();
        for (typed, listed, provider, model) in [
            ("qwen3", "", "router", "qwen3"),
            ("local/qwen3", "", "local", "qwen3"),
            ("local/org/qwen3", "", "local", "org/qwen3"),
            ("meta/llama", "", "router", "meta/llama"),
            ("openai/gpt", "", "openai", "gpt"),
            ("openai/gpt", "openai/gpt", "router", "openai/gpt"),
            ("openai/", "", "router", "openai/"),
        ] {
            let name = provider_set.resolve_model(typed, [listed].into_iter());
            assert_eq!((name.provider.as_str(), name.model.as_str()), (provider, model), "{typed}");
        }
    }
}
