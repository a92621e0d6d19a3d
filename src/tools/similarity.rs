//! The similarity of two short texts.

use std::collections::HashMap;

/// From 0 (nothing in common) to 1 (equal): the share of neighbouring character pairs that both
/// have (Dice's coefficient), which forgives typing errors and moved words.
///
/// `strsim::sorensen_dice` 0.11 divides the pairs of characters by lengths in bytes, which halves
/// the result for Greek or Cyrillic; the distances of strsim do not forgive moved words.
pub(super) fn similarity(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    let mut pairs: HashMap<(char, char), usize> = HashMap::new();
    let mut total = 0;
    for pair in a.chars().zip(a.chars().skip(1)) {
        *pairs.entry(pair).or_default() += 1;
        total += 1;
    }
    let mut shared = 0;
    for pair in b.chars().zip(b.chars().skip(1)) {
        total += 1;
        if let Some(left) = pairs.get_mut(&pair).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    if total == 0 { 0.0 } else { 2.0 * shared as f32 / total as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_alike_and_other_words_are_not() {
        assert_eq!(similarity("main.rs", "main.rs"), 1.0);
        assert!(similarity("mian.rs", "main.rs") >= 0.5);
        assert!(similarity("config.rs", "config.toml") >= 0.5);
        assert!(similarity("main.rs", "Cargo.toml") < 0.2);
        assert_eq!(similarity("", "a"), 0.0);
    }

    #[test]
    fn all_scripts_count_alike() {
        assert_eq!(similarity("каталог", "каталоги"), similarity("catalog", "catalogs"));
        assert!(similarity("каталог", "каталоги") > 0.9);
    }
}
