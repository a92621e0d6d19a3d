//! Whose chat completions they are: servers and services differ in what they want to be told.

use std::fmt;

/// A way of speaking chat completions. What each differs in is the provider's to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatDialect {
    /// What nearly all servers understand.
    Common,
    /// OpenAI's own service.
    OpenAi,
    /// OpenAI's models at Microsoft's.
    Azure,
    /// vLLM.
    Vllm,
    /// llama.cpp's server.
    LlamaCpp,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// SGLang.
    Sglang,
    /// OpenRouter.
    OpenRouter,
    /// DeepSeek.
    DeepSeek,
    /// Groq.
    Groq,
    /// Mistral's service, and any server with Mistral's own tokenizer.
    Mistral,
    /// xAI.
    Xai,
    /// Moonshot, the house of Kimi.
    Moonshot,
    /// Z.AI, the house of GLM.
    Zai,
    /// MiniMax.
    MiniMax,
}

impl ChatDialect {
    /// All of them.
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

    /// Its name in the configuration.
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

    /// The one of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for ChatDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
