//! Whose host it is. Data only: a provider gets a row.

/// A provider of models and the hosts that are its own.
#[derive(Debug)]
pub struct ProviderHosts {
    /// Its name at models.dev.
    pub provider: &'static str,
    /// Its hosts; one that begins with a dot stands for all below it.
    pub names: &'static [&'static str],
    /// Whether the models are its own.
    pub(super) role: ProviderRole,
}

/// Where a provider's models come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderRole {
    /// From itself: their names are the ones that others use, too.
    Maker,
    /// From others.
    Gateway,
}

/// All of them, in the order of the file.
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

/// The provider whose host this is.
pub fn provider_at(host: &str) -> Option<&'static str> {
    let is_named = |name: &&'static str| match name.strip_prefix('.') {
        Some(_) => host.ends_with(*name),
        None => host == *name,
    };
    HOSTS.iter().find(|it| it.names.iter().any(is_named)).map(|it| it.provider)
}

/// Those who make models.
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
    fn the_table_is_in_the_order_of_the_file() {
        assert!(HOSTS.is_sorted_by_key(|host| host.provider));
    }
}
