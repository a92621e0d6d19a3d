//! What Anthropic's models differ in, by their names. Other models behind the same protocol are
//! told nothing that only some understand.

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
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
pub(super) struct Model {
    /// How it is told to think.
    pub(super) thinking: Thinking,
    /// Thinking between tool calls has to be asked for.
    interleaves_on_request: bool,
}

/// Those that think whatever they are told.
const ALWAYS: [(&str, Version); 2] = [("opus", Version(5, 5)), ("fable", Version(5, 1))];

/// The generation of a model: 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

impl Model {
    /// Whether it takes a temperature while it does not think.
    pub(super) fn takes_temperature(self) -> bool {
        match self.thinking {
            Thinking::Unknown | Thinking::Budget => true,
            Thinking::Adaptive | Thinking::Always => false,
        }
    }

    /// The value of the header `anthropic-beta`.
    pub(super) fn beta(self) -> Option<&'static str> {
        self.interleaves_on_request.then_some("interleaved-thinking-2025-05-14")
    }
}

/// The model of this name, which may stand behind a prefix such as `anthropic/`.
pub(super) fn of(name: &str) -> Model {
    let (thinking, interleaves_on_request) = match parse(name) {
        Some((family, version)) if ALWAYS.contains(&(family, version)) => (Thinking::Always, false),
        Some((_, version)) if version >= Version(4, 6) => (Thinking::Adaptive, false),
        Some((_, version)) if version >= Version(4, 0) => (Thinking::Budget, true),
        Some((_, version)) if version >= Version(3, 7) => (Thinking::Budget, false),
        Some(_) | None => (Thinking::Unknown, false),
    };
    Model { thinking, interleaves_on_request }
}

/// Family and generation: `claude-opus-4-8`, `claude-sonnet-5`, and of old `claude-3-7-sonnet`,
/// each with or without a date.
fn parse(name: &str) -> Option<(&str, Version)> {
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
    Some((family, Version(major, numbers.get(1).copied().unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_how_a_model_thinks() {
        let table = [
            ("claude-3-5-haiku-20241022", Thinking::Unknown, None),
            ("claude-3-7-sonnet-20250219", Thinking::Budget, None),
            ("claude-sonnet-4-20250514", Thinking::Budget, Some("interleaved")),
            ("claude-haiku-4-5", Thinking::Budget, Some("interleaved")),
            ("anthropic/claude-sonnet-4.5", Thinking::Budget, Some("interleaved")),
            ("claude-opus-4-6", Thinking::Adaptive, None),
            ("claude-sonnet-5", Thinking::Adaptive, None),
            ("claude-sonnet-5-5", Thinking::Adaptive, None),
            ("claude-opus-5-5", Thinking::Always, None),
            ("claude-fable-5-1-20260801", Thinking::Always, None),
            ("qwen3-coder", Thinking::Unknown, None),
            ("claude-next", Thinking::Unknown, None),
        ];
        for (name, thinking, beta) in table {
            let model = of(name);
            assert_eq!(model.thinking, thinking, "{name}");
            let told = model.beta().map(|beta| beta.split('-').next().unwrap());
            assert_eq!(told, beta, "{name}");
        }
    }
}
