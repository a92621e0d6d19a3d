//! Which provider a host belongs to. Data only: a new provider is a new row.

/// A provider of models, and the hosts that belong to it.
#[derive(Debug)]
pub struct ProviderHosts {
    /// The provider's id at models.dev.
    pub provider: &'static str,
    /// Host names; one that begins with a dot stands for all its subdomains.
    pub names: &'static [&'static str],
    pub(super) role: ProviderRole,
}

/// Where a provider's models come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderRole {
    /// It makes its models: others use the same model names.
    Maker,
    /// It serves models of other makers.
    Gateway,
}

/// All known providers, sorted by provider. A test holds the order.
pub(super) const HOSTS: [ProviderHosts; 18] = [
    maker("alibaba", &["dashscope-intl.aliyuncs.com"]),
    maker("anthropic", &["api.anthropic.com"]),
    gateway("azure", &[".openai.azure.com", ".services.ai.azure.com"]),
    gateway("cerebras", &["api.cerebras.ai"]),
    maker("deepseek", &["api.deepseek.com"]),
    gateway("fireworks-ai", &["api.fireworks.ai"]),
    gateway("github-copilot", &["api.githubcopilot.com", ".githubcopilot.com"]),
    maker("google", &["generativelanguage.googleapis.com"]),
    gateway("groq", &["api.groq.com"]),
    maker("minimax", &["api.minimax.io"]),
    maker("mistral", &["api.mistral.ai", "codestral.mistral.ai"]),
    maker("moonshotai", &["api.moonshot.ai"]),
    maker("openai", &["api.openai.com"]),
    gateway("opencode", &["opencode.ai"]),
    gateway("openrouter", &["openrouter.ai"]),
    gateway("togetherai", &["api.together.xyz", "api.together.ai"]),
    maker("xai", &["api.x.ai"]),
    maker("zai", &["api.z.ai"]),
];

/// The provider that `host` belongs to.
pub fn provider_at(host: &str) -> Option<&'static str> {
    let is_named = |name: &&'static str| match name.strip_prefix('.') {
        Some(_) => host.ends_with(*name),
        None => host == *name,
    };
    HOSTS.iter().find(|it| it.names.iter().any(is_named)).map(|it| it.provider)
}

/// The providers that make models themselves.
pub(super) fn makers() -> impl Iterator<Item = &'static str> {
    HOSTS.iter().filter(|host| host.role == ProviderRole::Maker).map(|host| host.provider)
}

const fn maker(provider: &'static str, names: &'static [&'static str]) -> ProviderHosts {
    ProviderHosts { provider, names, role: ProviderRole::Maker }
}

const fn gateway(provider: &'static str, names: &'static [&'static str]) -> ProviderHosts {
    ProviderHosts { provider, names, role: ProviderRole::Gateway }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_providers_only_by_its_whole_name() {
        let table = [
            ("api.openai.com", Some("openai")),
            ("api.anthropic.com", Some("anthropic")),
            ("mine.openai.azure.com", Some("azure")),
            ("openai.azure.com", None),
            ("api.openai.com.example.org", None),
            ("evil-api.openai.com", None),
            ("openrouter.ai", Some("openrouter")),
            ("api.individual.githubcopilot.com", Some("github-copilot")),
            ("localhost", None),
            ("", None),
        ];
        for (host, provider) in table {
            assert_eq!(provider_at(host), provider, "{host}");
        }
    }

    #[test]
    fn the_table_is_sorted_by_provider() {
        assert!(HOSTS.is_sorted_by_key(|host| host.provider));
    }
}
