//! The dialects of chat completions: servers and services differ in the fields that they accept.

use std::fmt;

/// A variant of the chat-completions protocol. What each one changes is in
/// `providers::chat::dialect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatDialect {
    /// The fields that nearly all servers accept.
    Common,
    /// OpenAI's own service.
    OpenAi,
    /// OpenAI's models on Microsoft Azure.
    Azure,
    /// vLLM's own server.
    Vllm,
    /// llama.cpp's server.
    LlamaCpp,
    /// A local or hosted Ollama server.
    Ollama,
    /// LM Studio's local server.
    LmStudio,
    /// SGLang's own server.
    Sglang,
    /// OpenRouter.
    OpenRouter,
    /// DeepSeek.
    DeepSeek,
    /// Groq's hosted service.
    Groq,
    /// Mistral's service, and any server that uses Mistral's own tokenizer.
    Mistral,
    /// xAI's service, which serves Grok.
    Xai,
    /// Moonshot's service, which serves Kimi.
    Moonshot,
    /// Z.AI's service, which serves GLM.
    Zai,
    /// MiniMax.
    MiniMax,
}

impl ChatDialect {
    /// All dialects, in the order of their declaration.
    pub const ALL: [Self; 16] = [
        Self::Common,
        Self::OpenAi,
        Self::Azure,
        Self::Vllm,
        Self::LlamaCpp,
        Self::Ollama,
        Self::LmStudio,
        Self::Sglang,
        Self::OpenRouter,
        Self::DeepSeek,
        Self::Groq,
        Self::Mistral,
        Self::Xai,
        Self::Moonshot,
        Self::Zai,
        Self::MiniMax,
    ];

    /// The dialect's name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "ollama",
            Self::LmStudio => "lm-studio",
            Self::Sglang => "sglang",
            Self::OpenRouter => "openrouter",
            Self::DeepSeek => "deepseek",
            Self::Groq => "groq",
            Self::Mistral => "mistral",
            Self::Xai => "xai",
            Self::Moonshot => "moonshot",
            Self::Zai => "zai",
            Self::MiniMax => "minimax",
        }
    }

    /// The dialect with this configuration name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for ChatDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
