//! Where hosted services are stricter than, or different from, the servers that people run
//! themselves. Data only: a service that differs gets a row.

/// What a server wants to be told differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The name of the output limit.
    pub(super) limit: Limit,
    /// The fields of an assistant message that take its reasoning back. None where unknown
    /// fields are an error.
    pub(super) reasoning: &'static [Reasoning],
}

/// The name of the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// `max_tokens`, which nearly all servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// A field for reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// `reasoning_content`: DeepSeek, Moonshot, llama.cpp, older vLLM.
    Content,
    /// `reasoning`: vLLM since 2026, Groq, OpenRouter, Ollama.
    Plain,
}

/// Both fields, because a vLLM ignores the one it does not know, and which one that is has changed.
const COMMON: Dialect =
    Dialect { limit: Limit::MaxTokens, reasoning: &[Reasoning::Content, Reasoning::Plain] };

/// A host, or everything below a domain that begins with a dot.
const DIALECTS: &[(&str, Dialect)] = &[
    ("api.openai.com", OPENAI),
    (".openai.azure.com", OPENAI),
    ("api.mistral.ai", Dialect { reasoning: &[], ..COMMON }),
    ("api.groq.com", Dialect { reasoning: &[Reasoning::Plain], ..COMMON }),
    ("openrouter.ai", Dialect { reasoning: &[Reasoning::Plain], ..COMMON }),
    ("api.deepseek.com", Dialect { reasoning: &[Reasoning::Content], ..COMMON }),
    (".moonshot.ai", Dialect { reasoning: &[Reasoning::Content], ..COMMON }),
];

const OPENAI: Dialect = Dialect { limit: Limit::MaxCompletionTokens, reasoning: &[] };

/// How to speak to `host`.
pub(super) fn of(host: &str) -> Dialect {
    let matches = |pattern: &str| match pattern.starts_with('.') {
        true => host.ends_with(pattern),
        false => host == pattern,
    };
    DIALECTS.iter().find(|(pattern, _)| matches(pattern)).map_or(COMMON, |(_, dialect)| *dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_matched_whole_or_by_domain() {
        assert_eq!(of("localhost"), COMMON);
        assert_eq!(of("api.openai.com"), OPENAI);
        assert_eq!(of("mine.openai.azure.com"), OPENAI);
        assert_eq!(of("api.openai.com.example"), COMMON);
        assert!(of("api.mistral.ai").reasoning.is_empty());
    }
}
