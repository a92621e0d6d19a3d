//! What Anthropic's models differ in, by their names. Other models behind the same protocol are
//! told nothing that only some understand.

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnthropicThinking {
    /// Not at all: an old model, or not one of Anthropic's.
    Unknown,
    /// Up to a number of tokens.
    Budget,
    /// As it sees fit; how much is a matter of effort.
    Adaptive,
    /// The same, and it cannot be told to do without.
    Always,
}

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnthropicModel {
    /// How it is told to think.
    pub(super) thinking: AnthropicThinking,
    /// Thinking between tool calls has to be asked for.
    interleaves_on_request: bool,
}

/// Those that think whatever they are told.
const ALWAYS: [(&str, ClaudeVersion); 2] =
    [("opus", ClaudeVersion(5, 5)), ("fable", ClaudeVersion(5, 1))];

/// The generation of a model: 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClaudeVersion(u32, u32);

impl AnthropicModel {
    /// Whether it takes a temperature while it does not think.
    pub(super) fn takes_temperature(self) -> bool {
        match self.thinking {
            AnthropicThinking::Unknown | AnthropicThinking::Budget => true,
            AnthropicThinking::Adaptive | AnthropicThinking::Always => false,
        }
    }

    /// The value of the header `anthropic-beta`.
    pub(super) fn beta(self) -> Option<&'static str> {
        self.interleaves_on_request.then_some("interleaved-thinking-2025-05-14")
    }
}

/// The model of this name, which may stand behind a prefix such as `anthropic/`.
pub(super) fn of(name: &str) -> AnthropicModel {
    let (thinking, interleaves_on_request) = match parse(name) {
        Some((family, version)) if ALWAYS.contains(&(family, version)) => {
            (AnthropicThinking::Always, false)
        }
        Some((_, version)) if version >= ClaudeVersion(4, 6) => {
            (AnthropicThinking::Adaptive, false)
        }
        Some((_, version)) if version >= ClaudeVersion(4, 0) => (AnthropicThinking::Budget, true),
        Some((_, version)) if version >= ClaudeVersion(3, 7) => (AnthropicThinking::Budget, false),
        Some(_) | None => (AnthropicThinking::Unknown, false),
    };
    AnthropicModel { thinking, interleaves_on_request }
}

/// Family and generation: `claude-opus-4-8`, `claude-sonnet-5`, and of old `claude-3-7-sonnet`,
/// each with or without a date.
fn parse(name: &str) -> Option<(&str, ClaudeVersion)> {
    let (_, name) = name.split_once("claude-")?;
    let mut family = "";
    let mut numbers = Vec::new();
    for part in name.split(['-', '.', '@', ':']) {
        match part.parse() {
            // What is longer is a date.
            Ok(number) if part.len() <= 2 => numbers.push(number),
            Ok(_) => break,
            Err(_) if family.is_empty() => family = part,
            Err(_) => break,
        }
    }
    let major = *numbers.first()?;
    Some((family, ClaudeVersion(major, numbers.get(1).copied().unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_how_a_model_thinks() {
        let table = [
            ("claude-3-5-haiku-20241022", AnthropicThinking::Unknown, None),
            ("claude-3-7-sonnet-20250219", AnthropicThinking::Budget, None),
            ("claude-sonnet-4-20250514", AnthropicThinking::Budget, Some("interleaved")),
            ("claude-haiku-4-5", AnthropicThinking::Budget, Some("interleaved")),
            ("anthropic/claude-sonnet-4.5", AnthropicThinking::Budget, Some("interleaved")),
            ("claude-opus-4-6", AnthropicThinking::Adaptive, None),
            ("claude-sonnet-5", AnthropicThinking::Adaptive, None),
            ("claude-sonnet-5-5", AnthropicThinking::Adaptive, None),
            ("claude-opus-5-5", AnthropicThinking::Always, None),
            ("claude-fable-5-1-20260801", AnthropicThinking::Always, None),
            ("qwen3-coder", AnthropicThinking::Unknown, None),
            ("claude-next", AnthropicThinking::Unknown, None),
        ];
        for (name, thinking, beta) in table {
            let model = of(name);
            assert_eq!(model.thinking, thinking, "{name}");
            let told = model.beta().map(|beta| beta.split('-').next().unwrap());
            assert_eq!(told, beta, "{name}");
        }
    }
}
