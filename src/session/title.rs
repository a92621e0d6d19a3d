//! Short names made from long texts.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a title takes at most.
const TITLE_WIDTH: usize = 60;

/// A title from what was said first: its first line, cut at a word.
pub(super) fn title_of(text: &str) -> Option<String> {
    first_line(text, TITLE_WIDTH)
}

/// The first line that says something, with single spaces, in at most `width` columns.
pub(super) fn first_line(text: &str, width: usize) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let whole = words.join(" ");
    if whole.width() <= width {
        return Some(whole);
    }
    let mut cut = String::new();
    for word in words {
        let space = usize::from(!cut.is_empty());
        if cut.width() + space + word.width() >= width {
            break;
        }
        if space == 1 {
            cut.push(' ');
        }
        cut.push_str(word);
    }
    if cut.is_empty() {
        cut = fitting(&whole, width - 1);
    }
    cut.push('…');
    Some(cut)
}

/// The first characters of a long word.
fn fitting(word: &str, width: usize) -> String {
    let mut taken = 0;
    word.chars()
        .take_while(|character| {
            taken += character.width().unwrap_or(0);
            taken <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_cut_at_a_word() {
        let long = "word ".repeat(30);
        let cases = [
            ("Fix the cart", Some("Fix the cart".to_owned())),
            ("\n  Fix \t the cart \nand more", Some("Fix the cart".into())),
            (" \n\t\n", None),
            ("", None),
            (long.as_str(), Some(format!("{}word…", "word ".repeat(11)))),
        ];
        for (text, title) in cases {
            assert_eq!(title_of(text), title, "{text:?}");
        }
    }

    #[test]
    fn a_title_never_takes_more_than_its_columns() {
        for text in ["x".repeat(200), "漢字".repeat(60), "e\u{301}".repeat(200)] {
            let title = title_of(&text).unwrap();
            assert!(title.width() <= TITLE_WIDTH && title.width() >= TITLE_WIDTH - 2, "{title}");
            assert!(title.ends_with('…'));
        }
    }
}
