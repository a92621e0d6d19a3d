//! The forms in which models write calls, by what they begin and end with. How the calls in them are
//! read is in the parsers.

use super::{CallTerminator, read, special_tokens, tags};

/// One form in which models write calls.
pub(super) struct TextCallFormat {
    pub(super) opener: &'static str,
    pub(super) place: OpenerPlacement,
    pub(super) body: CallBodyStart,
    pub(super) end: CallTerminator,
    pub(super) read: read::CallReader,
}

/// Where a form may begin.
#[derive(PartialEq, Eq)]
pub(super) enum OpenerPlacement {
    Anywhere,
    LineStart,
}

/// Where the part begins that a reader parses.
pub(super) enum CallBodyStart {
    BehindOpener,
    WithOpener,
}

const fn family(
    opener: &'static str,
    end: CallTerminator,
    read: read::CallReader,
) -> TextCallFormat {
    TextCallFormat {
        opener,
        place: OpenerPlacement::Anywhere,
        body: CallBodyStart::BehindOpener,
        end,
        read,
    }
}

const fn whole(
    opener: &'static str,
    end: CallTerminator,
    read: read::CallReader,
) -> TextCallFormat {
    TextCallFormat { body: CallBodyStart::WithOpener, ..family(opener, end, read) }
}

/// No opener is a prefix of another; a test holds this.
pub(super) const FAMILIES: &[TextCallFormat] = &[
    // Hermes, Qwen, GLM; Qwen3-Coder, also if the first tag is missing.
    family("<tool_call>", CallTerminator::Closer("</tool_call>"), tags::any),
    whole("<function=", CallTerminator::Closer("</function>"), tags::functions),
    family("<seed:tool_call>", CallTerminator::Closer("</seed:tool_call>"), tags::any),
    family("<longcat_tool_call>", CallTerminator::Closer("</longcat_tool_call>"), tags::any),
    // MiniMax M2 and M3; DeepSeek V3.2 and V4.
    family("<minimax:tool_call>", CallTerminator::Closer("</minimax:tool_call>"), tags::any),
    family(
        "]<]minimax[>[<tool_call>",
        CallTerminator::Closer("]<]minimax[>[</tool_call>"),
        tags::minimax,
    ),
    family(
        "<｜DSML｜function_calls>",
        CallTerminator::Closer("</｜DSML｜function_calls>"),
        tags::any,
    ),
    family("<｜DSML｜tool_calls>", CallTerminator::Closer("</｜DSML｜tool_calls>"), tags::any),
    // Llama 3, Granite, Phi-4-mini, Mistral.
    family("<|python_tag|>", CallTerminator::Bracket, read::json),
    family("<|tool_call|>", CallTerminator::Bracket, read::json),
    TextCallFormat {
        place: OpenerPlacement::LineStart,
        ..whole("functools[", CallTerminator::Bracket, read::functools)
    },
    family("[TOOL_CALLS]", CallTerminator::Bracket, special_tokens::mistral),
    // LFM2; OLMo 3, and models that write Anthropic's tags.
    family("<|tool_call_start|>", CallTerminator::Closer("<|tool_call_end|>"), read::python),
    family("<function_calls>", CallTerminator::Closer("</function_calls>"), tags::any),
    // Kimi K2 and K3.
    family(
        "<|tool_calls_section_begin|>",
        CallTerminator::Closer("<|tool_calls_section_end|>"),
        special_tokens::kimi_k2,
    ),
    family(
        "<|tool_call_begin|>",
        CallTerminator::Closer("<|tool_call_end|>"),
        special_tokens::kimi_k2,
    ),
    family(
        "<|open|>tools<|sep|>",
        CallTerminator::Closer("<|close|>tools"),
        special_tokens::kimi_k3,
    ),
    whole("<|open|>call ", CallTerminator::Closer("<|close|>call"), special_tokens::kimi_k3),
    // DeepSeek V3 and V3.1.
    family(
        "<｜tool▁calls▁begin｜>",
        CallTerminator::Closer("<｜tool▁calls▁end｜>"),
        special_tokens::deepseek,
    ),
    family(
        "<｜tool▁call▁begin｜>",
        CallTerminator::Closer("<｜tool▁call▁end｜>"),
        special_tokens::deepseek,
    ),
    // Gemma 4, FunctionGemma.
    family("<|tool_call>", CallTerminator::Closer("<tool_call|>"), special_tokens::gemma),
    family(
        "<start_function_call>",
        CallTerminator::Closer("<end_function_call>"),
        special_tokens::gemma,
    ),
    // gpt-oss.
    family("<|channel|>commentary to=", CallTerminator::Bracket, special_tokens::harmony),
    family(
        "<|start|>assistant<|channel|>commentary to=",
        CallTerminator::Bracket,
        special_tokens::harmony,
    ),
    family("<|start|>assistant to=", CallTerminator::Bracket, special_tokens::harmony),
];

/// Marks that may follow a call and have no meaning.
pub(super) const TRAILERS: &[&str] = &[
    "<|call|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|sep|>",
    "<|close|>tools",
    "<|close|>message",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "</tool_call>",
    "</s>",
];
