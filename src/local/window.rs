//! Which window a model is served with, and what fits the machine's memory.
//!
//! A window costs memory for each token, so the file alone does not say what fits. The numbers count the
//! machine's main memory: what a graphics card adds is its server's business.

use crate::domain::{format_bytes, format_tokens};
use crate::platform::memory::MachineMemory;

use super::gguf::GgufFacts;

/// The window that slug asks for where nothing else is configured.
pub const USUAL_WINDOW: u64 = 32_768;

/// Below this window the user is warned: little is left beside the prompt, the tools and a file.
pub const SMALL_WINDOW: u64 = 16_384;

/// What has to be left for the conversation beside slug's own prompt and tools.
pub const LEAST_ROOM: u64 = 4_096;

/// What a server takes besides the model and its window.
const SERVER_BYTES: u64 = 400 << 20;

/// The bytes of a parameter at about four bits, with what quantised files have besides.
const BYTES_OF_PARAMETER: f64 = 0.6;

/// What of the memory is left for a window and the server where a size is only named.
const ROOM_BYTES: u64 = 2 << 30;

/// How well a model fits the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryFit {
    /// With this window.
    Fits(u64),
    /// Not while other programs have what they have now.
    TooLargeNow,
    TooLarge,
    /// The system does not say how much memory there is.
    Unknown,
}

/// The window for a model whose file has `size` bytes: the usual one, or what the model was trained for if
/// that is less, halved as long as it does not fit the memory and is not small.
pub fn usual_window(facts: &GgufFacts, size: u64, memory: Option<MachineMemory>) -> u64 {
    let mut window = facts.trained_window.unwrap_or(USUAL_WINDOW).min(USUAL_WINDOW);
    let Some(memory) = memory else { return window };
    while window / 2 >= SMALL_WINDOW / 2 && needed(facts, size, window) > memory.available {
        window /= 2;
    }
    window
}

/// How well a model fits, served with its usual window.
pub fn fit(facts: &GgufFacts, size: u64, memory: Option<MachineMemory>) -> MemoryFit {
    let Some(memory) = memory else { return MemoryFit::Unknown };
    let window = usual_window(facts, size, Some(memory));
    match needed(facts, size, window) {
        bytes if bytes <= memory.available => MemoryFit::Fits(window),
        bytes if bytes <= memory.total => MemoryFit::TooLargeNow,
        _ => MemoryFit::TooLarge,
    }
}

fn needed(facts: &GgufFacts, size: u64, window: u64) -> u64 {
    let of_window = facts.bytes_per_token.unwrap_or_default().saturating_mul(window);
    size.saturating_add(of_window).saturating_add(SERVER_BYTES)
}

impl MemoryFit {
    /// In words, for a list.
    pub fn words(self) -> String {
        match self {
            Self::Fits(window) => format!("fits, with a window of {}", format_tokens(window)),
            Self::TooLargeNow => "fits only when other programs are closed".to_owned(),
            Self::TooLarge => "too large for the memory".to_owned(),
            Self::Unknown => String::new(),
        }
    }
}

/// What the memory is enough for, in two sentences.
pub fn memory_words(memory: MachineMemory) -> String {
    let left = memory.available.saturating_sub(ROOM_BYTES);
    #[allow(clippy::cast_precision_loss, reason = "a rounded number is shown")]
    let billions = left as f64 / BYTES_OF_PARAMETER / 1e9;
    let size = match billions {
        ..0.5 => "That is too little for a model that can use tools".to_owned(),
        ..2.0 => {
            "That is enough for models below 2B parameters, which rarely use tools well".into()
        }
        _ => format!("That is enough for models up to about {billions:.0}B parameters at 4 bits"),
    };
    format!(
        "This machine has {} of memory, {} of it free. {size}.",
        format_bytes(memory.total),
        format_bytes(memory.available)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    fn memory(available: u64) -> Option<MachineMemory> {
        Some(MachineMemory { total: 16 * GB, available })
    }

    fn model(trained: u64, bytes: u64) -> GgufFacts {
        GgufFacts {
            architecture: "x".into(),
            trained_window: Some(trained),
            bytes_per_token: Some(bytes),
        }
    }

    #[test]
    fn a_window_shrinks_to_the_memory_but_not_below_half_of_a_small_one() {
        // 128 KB a token: 4 GB for 32k.
        let facts = model(131_072, 128 << 10);
        for (available, window) in
            [(16 * GB, 32_768), (7 * GB, 16_384), (6 * GB, 8_192), (GB, 8_192)]
        {
            assert_eq!(usual_window(&facts, 4 * GB, memory(available)), window, "{available}");
        }
        assert_eq!(usual_window(&model(8_192, 1), GB, memory(8 * GB)), 8_192);
        assert_eq!(usual_window(&GgufFacts::default(), GB, None), USUAL_WINDOW);
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        let facts = model(32_768, 1024);
        assert_eq!(fit(&facts, GB, memory(8 * GB)), MemoryFit::Fits(32_768));
        assert_eq!(fit(&facts, 9 * GB, memory(8 * GB)), MemoryFit::TooLargeNow);
        assert_eq!(fit(&facts, 40 * GB, memory(8 * GB)), MemoryFit::TooLarge);
        assert_eq!(fit(&facts, u64::MAX, memory(8 * GB)), MemoryFit::TooLarge);
        assert_eq!(fit(&facts, GB, None), MemoryFit::Unknown);
    }

    #[test]
    fn the_memory_is_told_in_model_sizes() {
        let words = memory_words(MachineMemory { total: 16 * GB, available: 11 * GB });
        assert!(words.ends_with("up to about 16B parameters at 4 bits."), "{words}");
        let words = memory_words(MachineMemory { total: 2 * GB, available: GB });
        assert!(words.contains("too little"), "{words}");
    }
}
