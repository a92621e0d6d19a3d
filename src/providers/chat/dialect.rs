//! In what servers of chat completions differ from each other. Data only: a dialect has a row, and
//! nothing else in the provider asks whose server it is.
//!
//! Which dialect is spoken is told by the configuration, else by the host, else by what the server
//! shows of itself in its list of models. A few families of models bring habits of their own along,
//! whoever serves them, because their templates or tokenizers insist.

use crate::domain::{ChatDialect, ReasoningEffort};

/// What is written for a server, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DialectQuirks {
    /// The name of the output limit.
    pub(super) limit: OutputLimitField,
    /// How hard to think.
    pub(super) effort: EffortField,
    /// Whether to think at all.
    pub(super) switch: ThinkingSwitch,
    /// The fields of an assistant message that take its reasoning back. None where unknown
    /// fields are an error.
    pub(super) reasoning: &'static [ReasoningField],
    /// What becomes of `reasoning_details`.
    pub(super) details: ReasoningDetailsMode,
    /// What ids of calls look like.
    pub(super) ids: CallIdFormat,
    /// Who may speak right after the results of calls.
    pub(super) after_results: RoleAfterResults,
    /// Whether pictures go along.
    pub(super) pictures: ImagePartSupport,
}

/// The name of the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputLimitField {
    /// `max_tokens`, which nearly all servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// Where the effort is written, and which steps are known there; the nearest is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffortField {
    /// Nowhere.
    None,
    /// `reasoning_effort`
    Word(&'static [ReasoningEffort]),
    /// `reasoning.effort`
    Object(&'static [ReasoningEffort]),
    /// `chat_template_kwargs.reasoning_effort`
    Template(&'static [ReasoningEffort]),
}

/// Where it is written whether to think, when an effort is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingSwitch {
    /// Nowhere.
    None,
    /// `chat_template_kwargs.enable_thinking`
    Template,
    /// `thinking.type`
    Object,
}

/// A place for reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningField {
    /// `reasoning_content`: DeepSeek, Moonshot, llama.cpp, older vLLM.
    Content,
    /// `reasoning`: vLLM since 2026, Groq, OpenRouter, Ollama.
    Plain,
    /// Between `<think>` tags before the text: MiniMax.
    Tags,
}

/// What becomes of the parts that reasoning is sent in beside its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ReasoningDetailsMode {
    /// They are read for their text alone.
    #[default]
    Read,
    /// They are kept, and sent back as they came.
    Kept,
}

/// What ids of calls look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIdFormat {
    /// As they came.
    Any,
    /// Nine letters and digits.
    Nine,
}

/// Who may speak right after the results of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoleAfterResults {
    /// Anybody.
    Anyone,
    /// The model, before the person does.
    TheModel,
}

/// Whether pictures go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImagePartSupport {
    /// As parts of the message.
    Sent,
    /// No: such a part is an error.
    Named,
}

/// Both fields, because a vLLM ignores the one it does not know, and which one that is has changed.
const BOTH: &[ReasoningField] = &[ReasoningField::Content, ReasoningField::Plain];
const CONTENT: &[ReasoningField] = &[ReasoningField::Content];
const PLAIN: &[ReasoningField] = &[ReasoningField::Plain];

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
};

/// What a dialect differs in.
pub(super) const fn quirks(dialect: ChatDialect) -> DialectQuirks {
    match dialect {
        ChatDialect::Common => COMMON,
        ChatDialect::OpenAi | ChatDialect::Azure => {
            DialectQuirks { limit: OutputLimitField::MaxCompletionTokens, reasoning: &[], ..COMMON }
        }
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

/// A host, or everything below a domain that begins with a dot.
const HOSTS: [(&str, ChatDialect); 14] = [
    ("api.openai.com", ChatDialect::OpenAi),
    (".openai.azure.com", ChatDialect::Azure),
    (".services.ai.azure.com", ChatDialect::Azure),
    ("openrouter.ai", ChatDialect::OpenRouter),
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

/// Parts of the names of models that Mistral's tokenizer or template reads.
const MISTRALS: [&str; 7] =
    ["mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral"];

/// The dialect that is known from the host alone.
pub(super) fn at(host: &str) -> Option<ChatDialect> {
    let matches = |pattern: &str| match pattern.starts_with('.') {
        true => host.ends_with(pattern),
        false => host == pattern,
    };
    HOSTS.iter().find(|(pattern, _)| matches(pattern)).map(|(_, dialect)| *dialect)
}

/// How to speak to `model` in a dialect.
pub(super) fn of(dialect: ChatDialect, model: &str) -> DialectQuirks {
    let model = model.to_ascii_lowercase();
    let quirks = quirks(dialect);
    if MISTRALS.iter().any(|part| model.contains(part)) {
        return DialectQuirks {
            ids: CallIdFormat::Nine,
            after_results: RoleAfterResults::TheModel,
            ..quirks
        };
    }
    quirks
}

/// The step nearest to what is wanted, the lesser of two; none where there are none.
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
