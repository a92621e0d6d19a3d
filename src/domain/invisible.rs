//! Removes characters from a text that the user cannot see but a model reads: tag characters, bidi
//! controls, zero-width characters, runs of variation selectors, control characters.
//!
//! Characters that ordinary text needs stay: a single joiner between two visible non-ASCII
//! characters (emoji, Persian, Indic scripts) and a single variation selector after a visible
//! character.

use std::borrow::Cow;

/// A text without invisible characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrippedText<'a> {
    /// The text that is left.
    pub text: Cow<'a, str>,
    /// How many characters were removed.
    pub removed: usize,
}

/// Removes invisible characters. A second run changes nothing.
pub fn strip_invisible(text: &str) -> StrippedText<'_> {
    if text.chars().all(|character| kind(character) == CharacterVisibility::Visible) {
        return StrippedText { text: Cow::Borrowed(text), removed: 0 };
    }
    let mut kept = String::with_capacity(text.len());
    let mut removed = 0;
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_kept = match kind(character) {
            CharacterVisibility::Visible => true,
            CharacterVisibility::Invisible => false,
            CharacterVisibility::Joiner => {
                let after = rest.peek().copied();
                before.is_some_and(joins) && after.is_some_and(joins)
            }
            CharacterVisibility::Selector => before.is_some_and(|before| {
                kind(before) == CharacterVisibility::Visible && !is_space(before)
            }),
        };
        if is_kept {
            kept.push(character);
            before = Some(character);
        } else {
            removed += 1;
        }
    }
    StrippedText { text: Cow::Owned(kept), removed }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum CharacterVisibility {
    Visible,
    Invisible,
    Joiner,
    Selector,
}

fn kind(character: char) -> CharacterVisibility {
    match character {
        '\n' | '\t' => CharacterVisibility::Visible,
        '\u{200c}' | '\u{200d}' => CharacterVisibility::Joiner,
        '\u{fe00}'..='\u{fe0f}' => CharacterVisibility::Selector,
        character if character.is_control() || is_invisible(character) => {
            CharacterVisibility::Invisible
        }
        _ => CharacterVisibility::Visible,
    }
}

/// Whether a character has no shape of its own or changes the direction of others, wherever it is: what
/// Unicode calls default ignorable or a format character, apart from the format characters that are
/// drawn, and its line ends. Joiners and variation selectors are among them.
pub fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn joins(character: char) -> bool {
    let is_part =
        matches!(kind(character), CharacterVisibility::Visible | CharacterVisibility::Selector);
    is_part && !character.is_ascii() && !is_space(character)
}

fn is_space(character: char) -> bool {
    character.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With the tables of Unicode that the regular expressions have, so that no range is forgotten.
    #[test]
    fn s69_all_that_unicode_calls_invisible_is() {
        let property = r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}--\p{Prepended_Concatenation_Mark}]";
        let matcher = crate::domain::compile_regex(property, |_| {}).unwrap();
        let all = String::from_iter('\0'..=char::MAX);
        let mut found = String::new();
        let collect = |it: grep_matcher::Match| {
            found.push_str(&all[it.start()..it.end()]);
            true
        };
        grep_matcher::Matcher::find_iter(&matcher, all.as_bytes(), collect).unwrap();
        let ours: String = all.chars().filter(|c| is_invisible(*c)).collect();
        assert_eq!(ours.escape_unicode().to_string(), found.escape_unicode().to_string());
        for c in ours.chars() {
            let seen = strip_invisible(&format!(" {c}b")).text.into_owned();
            assert_eq!(seen, " b", "{c:?}");
            let shown = crate::domain::sanitize::sanitize(&format!(" {c}b")).into_owned();
            assert_eq!(shown, format!(" ‹U+{:04X}›b", c as u32));
        }
    }

    #[test]
    fn hidden_characters_are_taken_out() {
        for (text, left, removed) in [
            ("plain\ttext\n", "plain\ttext\n", 0),
            ("a\u{e0041}\u{e0042}b", "ab", 2),
            ("a\u{202e}b\u{2066}c", "abc", 2),
            ("a\u{200b}b\u{feff}", "ab", 2),
            ("run\u{200d}this", "runthis", 1),
            ("esc\u{1b}[31m", "esc[31m", 1),
            ("x\u{fe01}\u{fe02}\u{fe03}", "x\u{fe01}", 2),
            ("x\u{e0100}", "x", 1),
        ] {
            let visible = strip_invisible(text);
            assert_eq!((visible.text.as_ref(), visible.removed), (left, removed), "{text:?}");
        }
    }

    #[test]
    fn honest_text_is_kept() {
        for text in ["👩\u{200d}💻 ok", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "naïve 日本語 ✓"]
        {
            assert_eq!(strip_invisible(text).text, text);
        }
    }

    proptest! {
        #[test]
        fn what_is_left_holds_nothing_hidden_and_stays(text in any::<String>()) {
            let once = strip_invisible(&text);
            prop_assert!(!once.text.chars().any(|it| kind(it) == CharacterVisibility::Invisible));
            let twice = strip_invisible(&once.text);
            prop_assert_eq!(twice.text.as_ref(), once.text.as_ref());
            prop_assert_eq!(twice.removed, 0);
        }
    }
}
