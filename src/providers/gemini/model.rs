//! What Gemini's models differ in, by their names. Other models behind the same protocol are told
//! nothing that only some understand.

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeminiThinking {
    /// Not at all: an old model, or not one of Gemini's.
    Unknown,
    /// Up to a number of tokens.
    Budget,
    /// By a level.
    Level,
}

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeminiModel {
    /// How it is told to think.
    pub(super) thinking: GeminiThinking,
    /// It cannot be told to do without.
    pub(super) always_thinks: bool,
}

impl GeminiModel {
    /// Whether it refuses calls in a history that have no thought signature.
    pub(super) fn wants_signatures(self) -> bool {
        self.thinking == GeminiThinking::Level
    }
}

/// The model of this name, which may stand behind a prefix such as `models/`.
pub(super) fn of(name: &str) -> GeminiModel {
    let always_thinks = name.contains("pro");
    let thinking = match generation(name) {
        Some(generation) if generation >= (3, 0) => GeminiThinking::Level,
        Some(generation) if generation >= (2, 5) => GeminiThinking::Budget,
        Some(_) | None => GeminiThinking::Unknown,
    };
    GeminiModel { thinking, always_thinks }
}

/// The 2.5 of `gemini-2.5-flash`. A name like `gemini-flash-latest` moves with the newest.
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
