//! How many tokens a request takes, before a server has counted them.
//!
//! The text is measured first, by its words, digits and signs. How many tokens of the model's own that comes
//! to is learned for each model: every answer says how many the server has counted for a request whose
//! measure is known, and the log of a session that is opened again has the last count. So the estimate is
//! exact for what was sent before, and nearly so for what has been added since.

use std::collections::HashMap;

use crate::domain::{CallInput, ContentBlock, Message, MessageImage, ToolSpec};
use crate::providers::ProviderRequest;

/// What the roles and marks around a message take.
const PER_MESSAGE: u64 = 4;
/// What the names and marks around a call or a result take.
const PER_CALL: u64 = 8;
/// The most that an image takes. Larger ones are scaled down by the servers (Anthropic's API docs,
/// "Vision": an image has width * height / 750 tokens, and at most about 1,600).
const MAX_IMAGE: u64 = 1_600;
const PIXELS_PER_TOKEN: u64 = 750;

/// A server whose count is this far from the measure counts something else.
const PLAUSIBLE_PER_MILLE: std::ops::RangeInclusive<u64> = 300..=4_000;

/// What has been learned about the tokens of each model.
#[derive(Debug, Default)]
pub(in crate::agent) struct TokenCalibration {
    per_mille: HashMap<String, u64>,
    /// The measure of the request whose response has not ended yet.
    sent: Option<u64>,
}

/// Turns measures into tokens of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct TokenEstimator {
    per_mille: u64,
}

impl TokenCalibration {
    /// Notes the measure of a request that is sent.
    pub(in crate::agent) fn sent(&mut self, measure: u64) {
        self.sent = Some(measure);
    }

    /// Learns from the input that the server has counted for the last request.
    pub(in crate::agent) fn answered(&mut self, model: &str, input: u64) {
        if let Some(measure) = self.sent.take() {
            self.learn(model, measure, input);
        }
    }

    /// Learns from the prompt that the server has counted in refusing the last request, which stays
    /// without an answer.
    pub(in crate::agent) fn refused(&mut self, model: &str, prompt: u64) {
        if let Some(measure) = self.sent {
            self.learn(model, measure, prompt);
        }
    }

    /// Whether a server has counted a request for this model.
    pub(in crate::agent) fn has_learned(&self, model: &str) -> bool {
        self.per_mille.contains_key(model)
    }

    /// Learns from the input that a server has counted for a request of this measure.
    pub(in crate::agent) fn learn(&mut self, model: &str, measure: u64, input: u64) {
        if is_plausible(input, measure) {
            let per_mille = input.saturating_mul(1_000) / measure;
            self.per_mille.insert(model.to_owned(), per_mille);
        }
    }

    /// The measure of the last request, where the server has not counted it.
    pub(in crate::agent) fn unanswered(&mut self) -> Option<u64> {
        self.sent.take()
    }

    /// The estimator for this model; it takes a measure for tokens while nothing is known.
    pub(in crate::agent) fn of(&self, model: &str) -> TokenEstimator {
        TokenEstimator { per_mille: self.per_mille.get(model).copied().unwrap_or(1_000) }
    }
}

impl TokenEstimator {
    /// The tokens that a measure comes to.
    pub(in crate::agent) fn tokens(self, measure: u64) -> u64 {
        measure.saturating_mul(self.per_mille).div_ceil(1_000)
    }

    /// The characters of plain text that so many tokens have room for.
    pub(in crate::agent) fn chars(self, tokens: u64) -> usize {
        usize::try_from(tokens.saturating_mul(4_000) / self.per_mille.max(1)).unwrap_or(usize::MAX)
    }

    pub(in crate::agent) fn message(self, message: &Message) -> u64 {
        self.tokens(measure_message(message))
    }

    pub(in crate::agent) fn messages<'a>(
        self,
        messages: impl IntoIterator<Item = &'a Message>,
    ) -> u64 {
        self.tokens(messages.into_iter().map(measure_message).sum())
    }
}

/// Whether so many tokens may be what a server has counted for this measure.
pub(in crate::agent) fn is_plausible(tokens: u64, measure: u64) -> bool {
    measure > 0 && PLAUSIBLE_PER_MILLE.contains(&(tokens.saturating_mul(1_000) / measure))
}

/// The measure of a whole request.
pub(in crate::agent) fn measure_request(request: &ProviderRequest) -> u64 {
    measure_fixed(&request.system, &request.tools)
        + request.messages.iter().map(measure_message).sum::<u64>()
}

/// The measure of what stands before the messages of each request.
pub(in crate::agent) fn measure_fixed(system: &str, tools: &[ToolSpec]) -> u64 {
    measure_text(system) + measure_tools(tools)
}

/// The measure of the tools' definitions.
pub(in crate::agent) fn measure_tools(tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| {
        let schema = tool.input_schema.to_string();
        PER_CALL
            + measure_text(&tool.description)
            + measure_text(&tool.name)
            + measure_text(&schema)
    };
    tools.iter().map(tool).sum()
}

/// What a message comes to with its calls, results and images.
pub(in crate::agent) fn measure_message(message: &Message) -> u64 {
    PER_MESSAGE + message.content.iter().map(measure_block).sum::<u64>()
}

/// The measure of a part of a message.
pub(in crate::agent) fn measure_block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text { text } => measure_text(text),
        ContentBlock::Context { name, text } => PER_CALL + measure_text(name) + measure_text(text),
        ContentBlock::Image(image) => measure_image(image),
        ContentBlock::Thinking { thinking, signature } => {
            measure_text(thinking) + signature.as_deref().map_or(0, measure_text)
        }
        ContentBlock::Sealed { data, .. } => measure_text(&data.to_string()),
        ContentBlock::ToolUse(call) => {
            let input = match &call.input {
                CallInput::Valid(value) => measure_text(&value.to_string()),
                CallInput::Invalid(text) => measure_text(text),
            };
            PER_CALL + measure_text(&call.name) + input
        }
        ContentBlock::ToolResult { content, .. } => PER_CALL + measure_text(content),
    }
}

/// The measures of parts of a text, in sixths of a token.
const WHOLE: u64 = 6;
const HALF: u64 = 3;
/// Some tokenizers take each digit alone (Qwen, Gemma), others up to three together (GPT-4, Llama 3).
const DIGIT: u64 = 4;

/// The tokens of a text by what it is made of: up to six letters of a word are one, signs in a row are one,
/// and so is each character that is not ASCII. The space before a word belongs to it. Logs, code and
/// prose come to within a fifth of what Qwen's tokenizer makes of them, which four bytes a token do not by
/// half.
pub(in crate::agent) fn measure_text(text: &str) -> u64 {
    let (mut sixths, mut letters, mut previous) = (0_u64, 0_usize, b'a');
    for byte in text.bytes() {
        let repeats = byte == previous;
        match byte {
            // An escaped line feed, as arguments have them, is one token with its backslash.
            b'a'..=b'z' if previous == b'\\' => {}
            b'a'..=b'z' | b'A'..=b'Z' => {
                sixths += if letters % 6 == 0 { WHOLE } else { 0 };
                letters += 1;
                previous = byte;
                continue;
            }
            b'0'..=b'9' => sixths += DIGIT,
            b'\n' => sixths += HALF,
            // An indentation is one token.
            b' ' | b'\t' if repeats => {}
            b' ' | b'\t' => sixths += if previous == b'\n' { HALF } else { 0 },
            // The first byte of a character.
            0xc0.. => sixths += WHOLE,
            0x80..=0xbf => {}
            _ if is_sign(previous) => {}
            _ => sixths += WHOLE,
        }
        letters = 0;
        previous = byte;
    }
    sixths.div_ceil(WHOLE)
}

fn is_sign(byte: u8) -> bool {
    byte.is_ascii_punctuation() || byte.is_ascii_control() && byte != b'\n' && byte != b'\t'
}

fn measure_image(image: &MessageImage) -> u64 {
    let pixels = u64::from(image.width) * u64::from(image.height);
    (pixels / PIXELS_PER_TOKEN).clamp(1, MAX_IMAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_has_counted_is_learned_for_its_model() {
        let mut tokens = TokenCalibration::default();
        assert_eq!(tokens.of("m").tokens(1_000), 1_000);
        tokens.sent(1_000);
        tokens.answered("m", 1_500);
        assert_eq!(tokens.of("m").tokens(1_000), 1_500, "exact for what was sent");
        assert_eq!(tokens.of("m").tokens(1_100), 1_650);
        assert_eq!(tokens.of("n").tokens(1_000), 1_000, "another model has other tokens");
    }

    #[test]
    fn a_count_of_something_else_teaches_nothing() {
        let mut tokens = TokenCalibration::default();
        for input in [0, 3, 1_000_000] {
            tokens.sent(1_000);
            tokens.answered("m", input);
            assert_eq!(tokens.of("m").tokens(1_000), 1_000, "{input}");
        }
        tokens.answered("m", 2_000);
        assert_eq!(tokens.of("m").tokens(1_000), 1_000, "nothing was sent");
    }

    /// Counted by Qwen2.5's tokenizer. Four bytes a token are between 0.6 and 1.2 times that.
    #[test]
    fn logs_prose_and_code_are_measured_alike() {
        for (text, counted) in [
            (
                "2026-11-26T19:42:01Z ERROR order 1003 failed after 3 retries: status=502 total=1250.00\n",
                48,
            ),
            (
                "The window of a model is what it can read at once. Where a conversation grows beyond it, \
                 older parts are left out and a summary takes their place.\n",
                32,
            ),
            (
                "fn total(prices: &[u64]) -> u64 {\n    let mut sum = 0;\n    for price in prices {\n        \
                 sum += price;\n    }\n    sum\n}\n",
                40,
            ),
            (
                r#"{"name": "Read", "input": {"file_path": "src/main.rs", "limit": 40, "offset": 120}}"#,
                33,
            ),
            ("-rw-r--r-- 1 root root  77526 Nov 26 17:12 orders.log\n", 29),
            (r"a plan\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 22),
        ] {
            let measure = measure_text(text);
            let share = measure * 100 / counted;
            assert!((75..=125).contains(&share), "{measure} for {counted} tokens: {text}");
        }
    }

    #[test]
    fn text_is_measured_by_its_letters() {
        assert_eq!(measure_text(""), 0);
        assert_eq!(measure_text("abcde"), 1);
        assert_eq!(measure_text("measured words, and more"), 6);
        assert_eq!(measure_text("fn a() {\n    b();\n}\n"), 9);
        assert_eq!(measure_text("2026-11-26"), 8);
        assert_eq!(measure_text("漢字かな"), 4);
        assert!(measure_message(&Message::user("abcd")) > measure_text("abcd"));
    }
}
