//! Titles and other short texts, made from the beginnings of long ones.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::domain::{ContentBlock, MessageRole};

use super::undo::RewindHistory;
use super::{LogEntry, LogRecord};

/// How long a model's answer may be to be taken for a title, in columns.
const LONGEST_ANSWER: usize = 100;

/// How long a title may be, in columns.
const TITLE_WIDTH: usize = 60;

/// The title after these records: the last one that was given, else one made from the user's first
/// message.
pub fn title_after(records: &[LogRecord]) -> Option<String> {
    let mut title = None;
    for record in records {
        note_title(&mut title, &record.entry);
    }
    title
}

/// The title once these rewinds are in force, as [`LogEntry::Title`] has it. One that the user gave
/// stays; one made from a message that was taken back goes.
pub fn title_in_force(records: &[LogRecord], rewinds: &RewindHistory) -> String {
    let messages =
        || records.iter().enumerate().filter_map(|(at, it)| Some((at, title_from(&it.entry)?)));
    let last = records.iter().rev().find_map(|record| match &record.entry {
        LogEntry::Title { title } => Some(title),
        _ => None,
    });
    let given = last.filter(|last| messages().all(|(_, made)| made != **last));
    given.filter(|it| !it.is_empty()).cloned().unwrap_or_else(|| {
        messages().find(|(at, _)| rewinds.is_live(*at)).map(|(_, made)| made).unwrap_or_default()
    })
}

/// Updates `title` by one more entry. A title that is given counts; without one, the first line of
/// the user's first message becomes the title, cut at a word. An empty one takes the title away.
pub fn note_title(title: &mut Option<String>, entry: &LogEntry) {
    if let LogEntry::Title { title: given } = entry {
        *title = Some(given.clone()).filter(|given| !given.is_empty());
    } else if title.is_none() {
        *title = title_from(entry);
    }
}

/// The title that a session gets from a message of the user's; `None` where it has no text.
pub fn title_of_message(role: MessageRole, content: &[ContentBlock]) -> Option<String> {
    match role {
        MessageRole::User => beginning(content, TITLE_WIDTH),
        MessageRole::Assistant => None,
    }
}

/// The title that a model has written: its first line, without quotes and a full stop. `None` where it
/// is too long for a title, or nothing.
pub fn title_of_answer(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let bare = line.trim_matches(|c: char| "\"'`*_#“”„«»".contains(c) || c.is_whitespace());
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    (bare.width() <= LONGEST_ANSWER).then(|| first_line(bare, TITLE_WIDTH)).flatten()
}

fn title_from(entry: &LogEntry) -> Option<String> {
    entry
        .as_message()
        .filter(|it| it.source.is_main())
        .and_then(|it| title_of_message(it.role, &it.content))
}

/// The first line of text in `content`, cut to at most `width` columns. The labels of images are
/// left out where the text says more than those.
pub(super) fn beginning(content: &[ContentBlock], width: usize) -> Option<String> {
    content.iter().filter_map(ContentBlock::as_text).find_map(|text| {
        first_line(&without_labels(text, content), width).or_else(|| first_line(text, width))
    })
}

/// `text` without labels such as `[Image 1 shot.png 800×600]`, for the images in `content`.
fn without_labels<'a>(text: &'a str, content: &[ContentBlock]) -> Cow<'a, str> {
    let mut rest = Cow::Borrowed(text);
    for block in content {
        if let ContentBlock::Image(image) = block
            && let end = format!(" {image}]")
            && let Some(at) = rest.find(&end)
            && let Some(start) = rest[..at].rfind("[Image ")
        {
            rest = Cow::Owned([&rest[..start], &rest[at + end.len()..]].concat());
        }
    }
    rest
}

/// The first line that is not blank, with single spaces, cut to at most `width` columns.
fn first_line(text: &str, width: usize) -> Option<String> {
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

/// The beginning of a long word, in at most `width` columns.
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
    use crate::domain::{MediaType, MessageImage};

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
            assert_eq!(first_line(text, TITLE_WIDTH), title, "{text:?}");
        }
    }

    #[test]
    fn a_models_title_is_taken_without_its_dress_and_only_if_it_is_one() {
        for (answer, title) in [
            ("Fix the cart's total", Some("Fix the cart's total")),
            ("\n**\"Fix the cart.\"**\n\nAnything else?", Some("Fix the cart")),
            ("# Fix the cart.", Some("Fix the cart")),
            ("`\u{1b}]0;x\u{7}`", Some("]0;x")),
            ("", None),
            ("\"\"", None),
        ] {
            assert_eq!(title_of_answer(answer).as_deref(), title, "{answer:?}");
        }
        assert_eq!(title_of_answer(&"I have looked at your code. ".repeat(9)), None);
    }

    #[test]
    fn a_title_never_takes_more_than_its_columns() {
        for text in ["x".repeat(200), "漢字".repeat(60), "e\u{301}".repeat(200)] {
            let title = first_line(&text, TITLE_WIDTH).unwrap();
            assert!(title.width() <= TITLE_WIDTH && title.width() >= TITLE_WIDTH - 2, "{title}");
            assert!(title.ends_with('…'));
        }
    }

    #[test]
    fn images_are_named_only_where_nothing_else_is_said() {
        let image = MessageImage::new("shot.png", MediaType::Png, (2, 1), b"png");
        let shown = |text: &str| {
            let text =
                ContentBlock::Text { text: text.replace("IMAGE", &format!("[Image 1 {image}]")) };
            beginning(&[text, ContentBlock::Image(image.clone())], 60)
        };
        assert_eq!(shown("IMAGE what is wrong?").as_deref(), Some("what is wrong?"));
        assert_eq!(shown("look: IMAGE there").as_deref(), Some("look: there"));
        assert_eq!(shown("IMAGE").as_deref(), Some("[Image 1 shot.png 2×1]"));
    }
}
