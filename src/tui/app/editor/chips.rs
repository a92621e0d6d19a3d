//! Chips: a long paste, an image or a past session that stands in a text as one character and is
//! shown as a label.
//!
//! In the text, each chip is a character of a private-use plane, so that every motion and deletion
//! treats the chip as a whole. Text from outside never contains such a character:
//! [`ChipSet::foreign`] replaces them. When the text leaves the editor, a paste is replaced by its
//! text and a session by a mention with its id. An image is replaced by its label, by which it is
//! found when the text comes back.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::domain::sanitize::sanitize;
use crate::domain::{Attachment, MessageImage, SessionId, UserInput, grouped};
use crate::tui::app::request_id::RequestId;

/// The characters that stand for chips: the end of the last private plane, which no font uses.
const PLACES: RangeInclusive<char> = '\u{10f000}'..='\u{10fffd}';

/// The longest title of a session that a label shows, in characters.
const TITLE: usize = 40;

/// How the label of an image begins.
const IMAGE: &str = "Image ";

/// The chips of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChipSet {
    chips: Vec<InputChip>,
    /// How many chips there have been, so that no character is used twice.
    made: u32,
}

/// One chip of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct InputChip {
    /// The character that stands for the chip in the text.
    pub place: char,
    /// The label on screen, in brackets and unique among the chips.
    pub label: String,
    pub content: ChipContent,
}

/// What a chip stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum ChipContent {
    /// Text that replaces the chip when the text is expanded.
    Text(Arc<str>),
    /// An image that is sent with the text.
    Image(MessageImage),
    /// A past session, shown by its title.
    Session { id: SessionId, title: String },
    /// An image that is still being read.
    Reading {
        /// The request that reads it.
        id: RequestId,
        /// What was pasted, for the case that there is no image.
        fallback: String,
    },
}

/// Whether a character of a text stands for a chip.
pub fn is_chip(c: char) -> bool {
    PLACES.contains(&c)
}

impl ChipSet {
    /// Adds a chip and returns its character for the text; `None` if all characters are used up.
    pub fn add(&mut self, content: ChipContent) -> Option<char> {
        let label = self.label(&content);
        self.hold(label, content)
    }

    /// Adds the chip of an image that comes back with a text, of which `before` has been loaded
    /// already. The image keeps its label, unless another chip has taken that label.
    pub fn bring_back(&mut self, attached: &Attachment, before: &str) -> Option<char> {
        let content = ChipContent::Image(attached.image.clone());
        match self.chips.iter().find(|chip| chip.label == attached.label) {
            Some(chip) if chip.content == content && !before.contains(chip.place) => {
                Some(chip.place)
            }
            Some(_) => self.add(content),
            None => self.hold(attached.label.clone(), content),
        }
    }

    fn hold(&mut self, label: String, content: ChipContent) -> Option<char> {
        let place = PLACES.clone().nth(usize::try_from(self.made).ok()?)?;
        self.made += 1;
        self.chips.push(InputChip { place, label, content });
        Some(place)
    }

    /// The chip of a character of the text.
    pub fn get(&self, place: char) -> Option<&InputChip> {
        self.chips.iter().find(|chip| chip.place == place)
    }

    /// The chip of a grapheme of the text.
    pub fn of(&self, grapheme: &str) -> Option<&InputChip> {
        grapheme.chars().next().filter(|c| is_chip(*c)).and_then(|c| self.get(c))
    }

    /// Replaces the chip that waits for this request by an image. Returns whether there still is
    /// such a chip.
    pub fn settle(&mut self, id: RequestId, image: MessageImage) -> bool {
        let content = ChipContent::Image(image);
        let label = self.label(&content);
        let Some(chip) = self.chips.iter_mut().find(|chip| chip.content.is_read_by(id)) else {
            return false;
        };
        chip.label = label;
        chip.content = content;
        true
    }

    /// The chip that waits for this request.
    pub fn reading(&self, id: RequestId) -> Option<&InputChip> {
        self.chips.iter().find(|chip| chip.content.is_read_by(id))
    }

    /// A label that no other chip has: equal ones get a number.
    fn label(&self, content: &ChipContent) -> String {
        let plain = match content {
            ChipContent::Image(image) => {
                let number = |chip: &InputChip| match chip.content {
                    ChipContent::Image(_) => number_of(&chip.label),
                    ChipContent::Text(_)
                    | ChipContent::Session { .. }
                    | ChipContent::Reading { .. } => None,
                };
                let last = self.chips.iter().filter_map(number).max().unwrap_or(0);
                return format!("[{IMAGE}{} {image}]", last + 1);
            }
            ChipContent::Session { title, .. } => return session_label(title),
            ChipContent::Text(text) => paste_label(text),
            ChipContent::Reading { .. } => "reading an image".to_owned(),
        };
        let alike = |label: &str| label == plain || label.starts_with(&format!("{plain} #"));
        let same = self.chips.iter().filter(|chip| alike(&chip.label[1..chip.label.len() - 1]));
        match same.count() {
            0 => format!("[{plain}]"),
            more => format!("[{plain} #{}]", more + 1),
        }
    }

    /// The expanded text and its images.
    pub fn typed(&self, text: &str) -> UserInput {
        let mut images: Vec<Attachment> = Vec::new();
        for chip in text.chars().filter(|c| is_chip(*c)).filter_map(|place| self.get(place)) {
            if let ChipContent::Image(image) = &chip.content
                && !images.iter().any(|attached| attached.label == chip.label)
            {
                images.push(Attachment { label: chip.label.clone(), image: image.clone() });
            }
        }
        UserInput { text: self.expand(text), images }
    }

    /// The text with chips replaced by the text they stand for, and images by their labels.
    pub fn expand(&self, text: &str) -> String {
        if !text.contains(is_chip) {
            return text.to_owned();
        }
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            let chip = self.get(c);
            match chip.map(|chip| (&chip.content, &chip.label)) {
                Some((ChipContent::Text(content), _)) => whole.push_str(content),
                Some((ChipContent::Image(_), label)) => whole.push_str(label),
                Some((ChipContent::Session { id, .. }, _)) => whole.push_str(&mention(*id)),
                Some((ChipContent::Reading { fallback, .. }, _)) => whole.push_str(fallback),
                None => whole.push(c),
            }
        }
        whole
    }

    /// Drops the chips whose character is no longer used in any text.
    pub fn keep_only(&mut self, is_used: impl Fn(char) -> bool) {
        self.chips.retain(|chip| is_used(chip.place));
        if self.chips.is_empty() {
            self.made = 0;
        }
    }

    /// Text from outside, with characters that would be taken for chips replaced by U+FFFD.
    pub fn foreign(text: &str) -> Cow<'_, str> {
        if text.contains(is_chip) {
            Cow::Owned(text.replace(is_chip, "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl ChipContent {
    fn is_read_by(&self, request: RequestId) -> bool {
        match self {
            Self::Reading { id, .. } => *id == request,
            Self::Text(_) | Self::Image(_) | Self::Session { .. } => false,
        }
    }
}

/// The mention of a session, in the form that is sent to the model.
pub(super) fn mention(id: SessionId) -> String {
    format!("@session:{id}")
}

fn session_label(title: &str) -> String {
    let title = sanitize(title).replace(['\n', '\t'], " ");
    match title.char_indices().nth(TITLE) {
        None => format!("@session \"{title}\""),
        Some((end, _)) => format!("@session \"{}…\"", title[..end].trim_end()),
    }
}

fn paste_label(text: &str) -> String {
    match text.lines().count() {
        0 | 1 => format!("pasted {} characters", grouped(text.chars().count())),
        lines => format!("pasted {} lines", grouped(lines)),
    }
}

/// The number in an image's label.
fn number_of(label: &str) -> Option<u32> {
    label.get(1..)?.strip_prefix(IMAGE)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MediaType;

    fn lines(count: usize) -> ChipContent {
        ChipContent::Text("x\n".repeat(count).into())
    }

    #[test]
    fn labels_give_the_size_and_are_unique() {
        let mut chips = ChipSet::default();
        let places = [lines(1204), lines(1204), ChipContent::Text("y".repeat(5000).into())]
            .map(|content| chips.add(content).unwrap());
        let labels = places.map(|place| chips.get(place).unwrap().label.clone());
        let wanted =
            ["[pasted 1,204 lines]", "[pasted 1,204 lines #2]", "[pasted 5,000 characters]"];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn the_character_of_a_dropped_chip_is_not_reused() {
        let mut chips = ChipSet::default();
        let first = chips.add(lines(2)).unwrap();
        let second = chips.add(lines(3)).unwrap();
        chips.keep_only(|place| place == second);
        let third = chips.add(lines(4)).unwrap();
        assert!(![first, second].contains(&third));
        assert_eq!(chips.expand(&format!("a{second}b")), "ax\nx\nx\nb");
    }

    #[test]
    fn expanded_text_names_an_image_by_its_label() {
        let image = MessageImage::new("a.png", MediaType::Png, (3, 2), b"x");
        let mut chips = ChipSet::default();
        let fallback = "/tmp/a.png".to_owned();
        let first = chips.add(ChipContent::Reading { id: RequestId(1), fallback }).unwrap();
        let second = chips.add(ChipContent::Image(image.clone())).unwrap();
        let text = format!("{first} and {second}");
        assert_eq!(chips.typed(&text).text, "/tmp/a.png and [Image 1 a.png 3×2]");
        assert!(chips.settle(RequestId(1), image.clone()));
        assert!(!chips.settle(RequestId(1), image.clone()), "it is settled");
        let typed = chips.typed(&text);
        assert_eq!(typed.text, "[Image 2 a.png 3×2] and [Image 1 a.png 3×2]");
        let labels: Vec<&str> = typed.images.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["[Image 2 a.png 3×2]", "[Image 1 a.png 3×2]"]);
        assert!(typed.images.iter().all(|attached| attached.image == image));
    }

    #[test]
    fn a_session_is_shown_by_its_title_and_leaves_as_a_mention() {
        let id: SessionId = "0199f4a2-7b5e-7c3d-8e1f-000000000002".parse().unwrap();
        let mut chips = ChipSet::default();
        for (title, label) in [
            ("Fix empty cart", "@session \"Fix empty cart\""),
            ("a\u{1b}[2J\nb", "@session \"a␛[2J b\""),
            (&"word ".repeat(20), "@session \"word word word word word word word word…\""),
        ] {
            let title = title.to_owned();
            let place = chips.add(ChipContent::Session { id, title }).unwrap();
            assert_eq!(chips.get(place).unwrap().label, label);
            assert_eq!(chips.expand(&format!("see {place}")), format!("see @session:{id}"));
        }
    }

    #[test]
    fn text_from_outside_cannot_name_a_chip() {
        assert_eq!(ChipSet::foreign("a\u{10f000}b"), "a\u{fffd}b");
    }
}
