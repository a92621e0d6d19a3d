//! Words that look like other words: letters of another script among Latin ones.
//!
//! `pаypal` with a Cyrillic а is another name than the one that is read. Only what a person is to
//! approve is looked at, and nothing is changed: honest text mixes scripts, too, so this is told and
//! not decided. A word that is foreign as a whole is not found here.

/// Characters that are looked at; what is longer is looked through anyway before it is approved.
const SCAN_LIMIT: usize = 1 << 20;

/// A word with a letter that is not what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookalikeWord<'a> {
    /// The whole word.
    pub word: &'a str,
    /// The first such letter in it.
    pub letter: char,
}

/// The first few different ones in a text.
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

/// Letters with marks, which are Latin, too.
fn is_latin(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && c.is_alphabetic()
}

/// All of Cyrillic, Armenian and Cherokee, Latin letters in other dress, and of Greek what has the
/// shape of a Latin letter: formulas and units mix the rest with Latin in good faith.
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
