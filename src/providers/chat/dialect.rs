//! The differences between servers of chat completions. Data only: each dialect has a row, and
//! nothing else in the provider asks which server it talks to.
//!
//! The dialect comes from the configuration, else from the host, else from what the server's list
//! of models shows. A few model families need changes of their own on every server, because their
//! templates or tokenizers require them.

use crate::domain::{ChatDialect, ReasoningEffort};
use crate::providers::history::ConversationKeyField;

/// What a dialect changes in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DialectQuirks {
    /// The field for the output limit.
    pub(super) limit: OutputLimitField,
    /// The field for the reasoning effort.
    pub(super) effort: EffortField,
    /// The field that switches thinking on and off.
    pub(super) switch: ThinkingSwitch,
    /// The fields of an assistant message that carry its reasoning back. Empty if the server
    /// refuses unknown fields.
    pub(super) reasoning: &'static [ReasoningField],
    /// Whether `reasoning_details` are kept and sent back.
    pub(super) details: ReasoningDetailsMode,
    /// The form of call ids.
    pub(super) ids: CallIdFormat,
    /// Which role may follow tool results directly.
    pub(super) after_results: RoleAfterResults,
    /// Whether images are sent.
    pub(super) pictures: ImagePartSupport,
    /// Whether marks say how much of the prompt is to be cached.
    pub(super) cache_marks: CacheMarkSupport,
    /// Whether the request names its conversation.
    pub(super) conversation_key: ConversationKeyField,
}

impl DialectQuirks {
    /// Whether only the server's responses can tell under which name reasoning goes back.
    pub(super) fn is_reasoning_name_open(self) -> bool {
        self.reasoning == BOTH
    }
}

/// The name of the field for the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputLimitField {
    /// `max_tokens`, which nearly all servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// The field for the effort, and the steps that are known there; the nearest step is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffortField {
    /// The effort is not sent.
    None,
    /// `reasoning_effort`, a string.
    Word(&'static [ReasoningEffort]),
    /// `reasoning.effort`, inside an object.
    Object(&'static [ReasoningEffort]),
    /// `chat_template_kwargs.reasoning_effort`
    Template(&'static [ReasoningEffort]),
}

/// The field that says whether to think, if the user set an effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingSwitch {
    /// It is not sent.
    None,
    /// `chat_template_kwargs.enable_thinking`
    Template,
    /// `thinking.type`
    Object,
}

/// A field of an assistant message that carries reasoning back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningField {
    /// `reasoning_content`: DeepSeek, Moonshot, llama.cpp, older vLLM.
    Content,
    /// `reasoning`: vLLM since 2026, Groq, OpenRouter, Ollama.
    Plain,
    /// Between `<think>` tags in front of the text: MiniMax.
    Tags,
}

/// What the decoder does with `reasoning_details`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ReasoningDetailsMode {
    /// Only their text is read, as reasoning.
    #[default]
    Read,
    /// They are kept and sent back unchanged.
    Kept,
}

/// The form of call ids that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIdFormat {
    /// Any form; ids go back unchanged.
    Any,
    /// Nine letters and digits (mistral-common's rule).
    Nine,
}

/// Which role may directly follow the results of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoleAfterResults {
    /// Any role.
    Anyone,
    /// Only the assistant; a bridging message is put before the user's.
    TheModel,
}

/// Whether image parts are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImagePartSupport {
    /// As parts of the message.
    Sent,
    /// Not sent, because such a part is an error: the message only names the image.
    Named,
}

/// Whether a server takes the cache marks of Anthropic's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheMarkSupport {
    /// It caches without them, or refuses them.
    None,
    /// With Claude, whose prompts are cached only up to a mark.
    WithClaude,
}

/// Both fields: a vLLM ignores the field that it does not know, and its field name has changed.
const BOTH: &[ReasoningField] = &[ReasoningField::Content, ReasoningField::Plain];
pub(super) const CONTENT: &[ReasoningField] = &[ReasoningField::Content];
pub(super) const PLAIN: &[ReasoningField] = &[ReasoningField::Plain];

const THREE: &[ReasoningEffort] =
    &[ReasoningEffort::Low, ReasoningEffort::Medium, ReasoningEffort::High];
const THREE_OR_NONE: &[ReasoningEffort] =
    &[ReasoningEffort::None, ReasoningEffort::Low, ReasoningEffort::Medium, ReasoningEffort::High];
const TWO: &[ReasoningEffort] = &[ReasoningEffort::Low, ReasoningEffort::High];

const COMMON: DialectQuirks = DialectQuirks {
    limit: OutputLimitField::MaxTokens,
    effort: EffortField::Word(&ReasoningEffort::ALL),
    switch: ThinkingSwitch::None,
    reasoning: BOTH,
    details: ReasoningDetailsMode::Read,
    ids: CallIdFormat::Any,
    after_results: RoleAfterResults::Anyone,
    pictures: ImagePartSupport::Sent,
    cache_marks: CacheMarkSupport::None,
    conversation_key: ConversationKeyField::None,
};

/// The differences of one dialect.
pub(super) const fn quirks(dialect: ChatDialect) -> DialectQuirks {
    match dialect {
        ChatDialect::Common => COMMON,
        ChatDialect::OpenAi | ChatDialect::Azure => DialectQuirks {
            limit: OutputLimitField::MaxCompletionTokens,
            reasoning: &[],
            conversation_key: ConversationKeyField::PromptCacheKey,
            ..COMMON
        },
        ChatDialect::Vllm | ChatDialect::Sglang => DialectQuirks {
            effort: EffortField::Word(THREE),
            switch: ThinkingSwitch::Template,
            ..COMMON
        },
        ChatDialect::LlamaCpp => DialectQuirks {
            effort: EffortField::Template(THREE),
            switch: ThinkingSwitch::Template,
            ..COMMON
        },
        ChatDialect::Ollama => DialectQuirks { effort: EffortField::Word(THREE_OR_NONE), ..COMMON },
        ChatDialect::LmStudio => DialectQuirks { effort: EffortField::Word(THREE), ..COMMON },
        ChatDialect::OpenRouter => DialectQuirks {
            effort: EffortField::Object(&ReasoningEffort::ALL),
            reasoning: PLAIN,
            details: ReasoningDetailsMode::Kept,
            cache_marks: CacheMarkSupport::WithClaude,
            ..COMMON
        },
        ChatDialect::DeepSeek => DialectQuirks {
            effort: EffortField::None,
            switch: ThinkingSwitch::Object,
            reasoning: CONTENT,
            pictures: ImagePartSupport::Named,
            ..COMMON
        },
        ChatDialect::Groq => {
            DialectQuirks { effort: EffortField::Word(THREE_OR_NONE), reasoning: PLAIN, ..COMMON }
        }
        ChatDialect::Mistral => DialectQuirks {
            effort: EffortField::None,
            reasoning: &[],
            ids: CallIdFormat::Nine,
            after_results: RoleAfterResults::TheModel,
            ..COMMON
        },
        ChatDialect::Xai => {
            DialectQuirks { effort: EffortField::Word(TWO), reasoning: CONTENT, ..COMMON }
        }
        ChatDialect::Moonshot | ChatDialect::Zai => DialectQuirks {
            effort: EffortField::None,
            switch: ThinkingSwitch::Object,
            reasoning: CONTENT,
            ..COMMON
        },
        ChatDialect::MiniMax => DialectQuirks {
            effort: EffortField::None,
            reasoning: &[ReasoningField::Tags],
            ..COMMON
        },
    }
}

/// Hosts and their dialects; a name that begins with a dot stands for all subdomains.
const HOSTS: [(&str, ChatDialect); 15] = [
    ("api.openai.com", ChatDialect::OpenAi),
    (".openai.azure.com", ChatDialect::Azure),
    (".services.ai.azure.com", ChatDialect::Azure),
    ("openrouter.ai", ChatDialect::OpenRouter),
    ("ai-gateway.vercel.sh", ChatDialect::OpenRouter),
    ("api.deepseek.com", ChatDialect::DeepSeek),
    ("api.groq.com", ChatDialect::Groq),
    (".mistral.ai", ChatDialect::Mistral),
    (".x.ai", ChatDialect::Xai),
    (".moonshot.ai", ChatDialect::Moonshot),
    (".moonshot.cn", ChatDialect::Moonshot),
    (".z.ai", ChatDialect::Zai),
    (".bigmodel.cn", ChatDialect::Zai),
    (".minimax.io", ChatDialect::MiniMax),
    (".minimaxi.com", ChatDialect::MiniMax),
];

/// Name parts of the models that Mistral's tokenizer or template reads.
const MISTRALS: [&str; 7] =
    ["mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral"];

/// The dialect that the host alone implies.
pub(super) fn at(host: &str) -> Option<ChatDialect> {
    let matches = |pattern: &str| match pattern.starts_with('.') {
        true => host.ends_with(pattern),
        false => host == pattern,
    };
    HOSTS.iter().find(|(pattern, _)| matches(pattern)).map(|(_, dialect)| *dialect)
}

/// The differences for `model` on a server of this dialect.
pub(super) fn of(dialect: ChatDialect, model: &str) -> DialectQuirks {
    let model = model.to_ascii_lowercase();
    let mut quirks = quirks(dialect);
    if !model.contains("claude") {
        quirks.cache_marks = CacheMarkSupport::None;
    }
    if MISTRALS.iter().any(|part| model.contains(part)) {
        return DialectQuirks {
            ids: CallIdFormat::Nine,
            after_results: RoleAfterResults::TheModel,
            ..quirks
        };
    }
    quirks
}

/// The step nearest to the wanted one, the lower of two; `None` if there are no steps.
pub(super) fn nearest(
    wanted: ReasoningEffort,
    steps: &[ReasoningEffort],
) -> Option<ReasoningEffort> {
    let place = |effort: ReasoningEffort| {
        ReasoningEffort::ALL.iter().position(|it| *it == effort).unwrap_or(0)
    };
    steps.iter().copied().min_by_key(|step| place(*step).abs_diff(place(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_matched_whole_or_by_domain() {
        assert_eq!(at("localhost"), None);
        assert_eq!(at("api.openai.com"), Some(ChatDialect::OpenAi));
        assert_eq!(at("mine.openai.azure.com"), Some(ChatDialect::Azure));
        assert_eq!(at("api.openai.com.example"), None);
        assert_eq!(at("api.mistral.ai"), Some(ChatDialect::Mistral));
        assert_eq!(at("evil-mistral.ai"), None);
    }

    #[test]
    fn the_nearest_step_is_taken() {
        for (wanted, steps, taken) in [
            (ReasoningEffort::Max, THREE, Some(ReasoningEffort::High)),
            (ReasoningEffort::Minimal, THREE, Some(ReasoningEffort::Low)),
            (ReasoningEffort::Medium, TWO, Some(ReasoningEffort::Low)),
            (ReasoningEffort::None, THREE_OR_NONE, Some(ReasoningEffort::None)),
            (ReasoningEffort::Low, &[], None),
        ] {
            assert_eq!(nearest(wanted, steps), taken, "{wanted}");
        }
    }
}
