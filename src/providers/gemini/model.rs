//! Differences between Gemini's models, derived from their names. A model with another name gets no
//! field that only some models accept.

/// How a request asks a model to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeminiThinking {
    /// Not at all: the model is old, or not Gemini's.
    Unknown,
    /// With a budget in tokens.
    Budget,
    Level,
}

/// What a request has to know about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeminiModel {
    pub(super) thinking: GeminiThinking,
    /// Whether thinking cannot be switched off.
    pub(super) always_thinks: bool,
}

impl GeminiModel {
    /// Whether it refuses calls in the history that have no thought signature.
    pub(super) fn wants_signatures(self) -> bool {
        self.thinking == GeminiThinking::Level
    }
}

/// What is known about the model with this name, which may have a prefix such as `models/`.
pub(super) fn of(name: &str) -> GeminiModel {
    let always_thinks = name.contains("pro");
    let thinking = match generation(name) {
        Some(generation) if generation >= (3, 0) => GeminiThinking::Level,
        Some(generation) if generation >= (2, 5) => GeminiThinking::Budget,
        Some(_) | None => GeminiThinking::Unknown,
    };
    GeminiModel { thinking, always_thinks }
}

/// The 2.5 of `gemini-2.5-flash`. A name like `gemini-flash-latest` follows the newest model.
fn generation(name: &str) -> Option<(u32, u32)> {
    let (_, name) = name.split_once("gemini-")?;
    if name.ends_with("-latest") && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((u32::MAX, 0));
    }
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_how_a_model_thinks() {
        let table = [
            ("gemini-1.5-flash", GeminiThinking::Unknown, false),
            ("gemini-2.0-flash-001", GeminiThinking::Unknown, false),
            ("gemini-2.5-flash", GeminiThinking::Budget, false),
            ("models/gemini-2.5-pro", GeminiThinking::Budget, true),
            ("gemini-3-flash-preview", GeminiThinking::Level, false),
            ("gemini-3.1-pro-preview", GeminiThinking::Level, true),
            ("gemini-flash-latest", GeminiThinking::Level, false),
            ("gemini-embedding-001", GeminiThinking::Unknown, false),
            ("gemma-3-27b-it", GeminiThinking::Unknown, false),
        ];
        for (name, thinking, always_thinks) in table {
            assert_eq!(of(name), GeminiModel { thinking, always_thinks }, "{name}");
        }
    }
}
