//! What stands in a text as one character: a long paste, shown as a label.
//!
//! The text itself holds a character of a private plane for each chip, so that every motion and
//! every deletion takes a chip as a whole and none can take it apart. Text from outside never
//! brings such a character in: [`Chips::foreign`] replaces them. What else than text may stand
//! for something (an image) becomes a variant of [`Content`].

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The characters that stand for chips: the end of the last private plane, which no font uses.
const PLACES: RangeInclusive<char> = '\u{10f000}'..='\u{10fffd}';

/// What a text's chips stand for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chips {
    held: Vec<Chip>,
    /// How many there have been, so that no character is used twice.
    made: u32,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Chip {
    /// The character in the text.
    pub place: char,
    /// What is shown.
    pub label: String,
    /// What it stands for.
    pub content: Content,
}

/// What a chip stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text that is put in its place when the whole leaves.
    Text(Arc<str>),
}

/// Whether a character stands for a chip.
pub fn is_chip(c: char) -> bool {
    PLACES.contains(&c)
}

impl Chips {
    /// Takes something in. The character goes into the text; `None` when all are used up.
    pub fn add(&mut self, content: Content) -> Option<char> {
        let place = PLACES.clone().nth(usize::try_from(self.made).ok()?)?;
        self.made += 1;
        let plain = content.label();
        let alike = self.held.iter().filter(|chip| chip.content.label() == plain).count();
        let label = match alike {
            0 => format!("[{plain}]"),
            more => format!("[{plain} #{}]", more + 1),
        };
        self.held.push(Chip { place, label, content });
        Some(place)
    }

    /// What a character of the text stands for.
    pub fn get(&self, place: char) -> Option<&Chip> {
        self.held.iter().find(|chip| chip.place == place)
    }

    /// What a grapheme of the text stands for.
    pub fn of(&self, grapheme: &str) -> Option<&Chip> {
        grapheme.chars().next().filter(|c| is_chip(*c)).and_then(|c| self.get(c))
    }

    /// The text with everything put back.
    pub fn expand(&self, text: &str) -> String {
        if !text.contains(is_chip) {
            return text.to_owned();
        }
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c).map(|chip| &chip.content) {
                Some(Content::Text(content)) => whole.push_str(content),
                None => whole.push(c),
            }
        }
        whole
    }

    /// Lets go of what no text speaks of any more.
    pub fn keep_only(&mut self, spoken_of: impl Fn(char) -> bool) {
        self.held.retain(|chip| spoken_of(chip.place));
        if self.held.is_empty() {
            self.made = 0;
        }
    }

    /// Text from outside, without characters that would be taken for chips.
    pub fn foreign(text: &str) -> Cow<'_, str> {
        if text.contains(is_chip) {
            Cow::Owned(text.replace(is_chip, "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl Content {
    fn label(&self) -> String {
        match self {
            Self::Text(text) => match text.lines().count() {
                0 | 1 => format!("pasted {} characters", thousands(text.chars().count())),
                lines => format!("pasted {} lines", thousands(lines)),
            },
        }
    }
}

fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Content {
        Content::Text("x\n".repeat(count).into())
    }

    #[test]
    fn labels_say_how_much_it_is_and_tell_equals_apart() {
        let mut chips = Chips::default();
        let places = [lines(1204), lines(1204), Content::Text("y".repeat(5000).into())]
            .map(|content| chips.add(content).unwrap());
        let labels = places.map(|place| chips.get(place).unwrap().label.clone());
        let wanted =
            ["[pasted 1,204 lines]", "[pasted 1,204 lines #2]", "[pasted 5,000 characters]"];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn what_is_let_go_does_not_come_back_as_something_else() {
        let mut chips = Chips::default();
        let first = chips.add(lines(2)).unwrap();
        let second = chips.add(lines(3)).unwrap();
        chips.keep_only(|place| place == second);
        let third = chips.add(lines(4)).unwrap();
        assert!(![first, second].contains(&third));
        assert_eq!(chips.expand(&format!("a{second}b")), "ax\nx\nx\nb");
    }

    #[test]
    fn text_from_outside_cannot_name_a_chip() {
        assert_eq!(Chips::foreign("a\u{10f000}b"), "a\u{fffd}b");
    }
}
