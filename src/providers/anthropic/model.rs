//! Differences between Anthropic's models, derived from their names. A model with another name gets
//! no field that only some models accept.

/// How a request asks a model to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnthropicThinking {
    /// Not at all: the model is old, or not Anthropic's.
    Unknown,
    /// With a budget in tokens.
    Budget,
    /// Adaptively; the effort sets how much.
    Adaptive,
    /// Adaptively, and thinking cannot be switched off.
    Always,
}

/// What a request has to know about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnthropicModel {
    pub(super) thinking: AnthropicThinking,
    /// Whether thinking between tool calls needs a beta header.
    interleaves_on_request: bool,
}

/// Models that always think: the family, and the first version that does.
const ALWAYS: [(&str, ClaudeVersion); 2] =
    [("opus", ClaudeVersion(5, 5)), ("fable", ClaudeVersion(5, 1))];

/// Major and minor version of a model: 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClaudeVersion(u32, u32);

impl AnthropicModel {
    /// Whether it accepts a temperature while it does not think.
    pub(super) fn takes_temperature(self) -> bool {
        match self.thinking {
            AnthropicThinking::Unknown | AnthropicThinking::Budget => true,
            AnthropicThinking::Adaptive | AnthropicThinking::Always => false,
        }
    }

    /// The value of the header `anthropic-beta`; `None` to send no such header.
    pub(super) fn beta(self) -> Option<&'static str> {
        self.interleaves_on_request.then_some("interleaved-thinking-2025-05-14")
    }
}

/// What is known about the model with this name, which may have a prefix such as `anthropic/`.
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

/// Family and version, with or without a date: `claude-opus-4-8`, `claude-sonnet-5`, and the older
/// form `claude-3-7-sonnet`.
fn parse(name: &str) -> Option<(&str, ClaudeVersion)> {
    let (_, name) = name.split_once("claude-")?;
    let mut family = "";
    let mut numbers = Vec::new();
    for part in name.split(['-', '.', '@', ':']) {
        match part.parse() {
            // A longer number is a date.
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
            let header = model.beta().map(|beta| beta.split('-').next().unwrap());
            assert_eq!(header, beta, "{name}");
        }
    }
}
