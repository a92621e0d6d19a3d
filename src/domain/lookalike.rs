//! Finds words that imitate other words: Latin words with letters of another script.
//!
//! `pаypal` with a Cyrillic а is a different name from the one that is read. Only text that the
//! user is to approve is checked. Nothing is changed or decided, because honest text mixes scripts
//! too: the dialog shows a warning. A word that is entirely in another script is not found here.

/// The most bytes that are checked. The user has to look through longer text before approving it
/// anyway.
const SCAN_LIMIT: usize = 1 << 20;

/// A word with a letter that imitates another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookalikeWord<'a> {
    /// The whole word.
    pub word: &'a str,
    /// The first imitating letter in it.
    pub letter: char,
}

/// The first few such words in a text, each once.
pub fn lookalikes(text: &str) -> Vec<LookalikeWord<'_>> {
    let text = &text[..text.floor_char_boundary(SCAN_LIMIT)];
    let mut found: Vec<LookalikeWord<'_>> = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_ascii()) {
        let Some(letter) = word.chars().find(|c| passes_for_latin(*c)) else { continue };
        let is_mixed = word.chars().any(|c| c.is_ascii_alphabetic() || is_latin(c));
        if is_mixed && found.iter().all(|known| known.word != word) {
            found.push(LookalikeWord { word, letter });
            if found.len() == 3 {
                break;
            }
        }
    }
    found
}

/// Latin letters include those with diacritics.
fn is_latin(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && c.is_alphabetic()
}

/// Letters that look like Latin ones: all of Cyrillic, Armenian and Cherokee, Latin letters in
/// other forms, and the Greek letters with a Latin shape. Formulas and units mix in the other Greek
/// letters in good faith.
fn passes_for_latin(c: char) -> bool {
    matches!(c,
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}'
        | '\u{531}'..='\u{587}' | '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}'
        | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d6a5}'
        | 'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ' | 'Τ' | 'Υ' | 'Χ'
        | 'ο' | 'ν' | 'ι' | 'ρ' | 'υ' | 'α' | 'ϲ' | 'ϳ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s79_letters_of_another_script_among_latin_ones_are_found() {
        let cases: [(&str, &[(&str, char)]); 8] = [
            ("curl https://pаypal.com", &[("pаypal", 'а')]),
            ("gіt push && lѕ", &[("gіt", 'і'), ("lѕ", 'ѕ')]),
            ("οpen", &[("οpen", 'ο')]),
            ("ｒm -rf", &[("ｒm", 'ｒ')]),
            ("rm pаypal pаypal", &[("pаypal", 'а')]),
            ("echo привет мир", &[]),
            ("naïve café Ελλάδα 日本 µs Δx", &[]),
            ("ls -la", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<_> = lookalikes(text).iter().map(|it| (it.word, it.letter)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
