//! What stands in a text as one character: a long paste, an image or a past session, shown as a
//! label.
//!
//! The text itself holds a character of a private plane for each chip, so that every motion and
//! every deletion takes a chip as a whole and none can take it apart. Text from outside never
//! brings such a character in: [`ChipSet::foreign`] replaces them. Where the text leaves, a paste is
//! put in its place, a session is what a mention of it says, and an image keeps its label, by which
//! it is found when the text comes back.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::domain::sanitize::sanitize;
use crate::domain::{Attachment, MessageImage, SessionId, UserInput};
use crate::tui::app::effect::RequestId;

/// The characters that stand for chips: the end of the last private plane, which no font uses.
const PLACES: RangeInclusive<char> = '\u{10f000}'..='\u{10fffd}';

/// Characters of a session's title that are shown at most.
const TITLE: usize = 40;

/// What the label of an image begins with.
const IMAGE: &str = "Image ";

/// What a text's chips stand for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChipSet {
    chips: Vec<InputChip>,
    /// How many there have been, so that no character is used twice.
    made: u32,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct InputChip {
    /// The character in the text.
    pub place: char,
    /// What is shown.
    pub label: String,
    /// What it stands for.
    pub content: ChipContent,
}

/// What a chip stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum ChipContent {
    /// Text that is put in its place when the whole leaves.
    Text(Arc<str>),
    /// An image that goes with the text.
    Image(MessageImage),
    /// A past session, named by its title.
    Session {
        /// Which.
        id: SessionId,
        /// What it is called.
        title: String,
    },
    /// Something that is still being read.
    Reading {
        /// The request for it.
        id: RequestId,
        /// What was pasted, should nothing come of it.
        fallback: String,
    },
}

/// Whether a character stands for a chip.
pub fn is_chip(c: char) -> bool {
    PLACES.contains(&c)
}

impl ChipSet {
    /// Takes something in. The character goes into the text; `None` when all are used up.
    pub fn add(&mut self, content: ChipContent) -> Option<char> {
        let label = self.label(&content);
        self.hold(label, content)
    }

    /// Takes an image in that comes back with a text, of which `before` has been taken in: it keeps
    /// its label, unless another chip has that by now.
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

    /// What a character of the text stands for.
    pub fn get(&self, place: char) -> Option<&InputChip> {
        self.chips.iter().find(|chip| chip.place == place)
    }

    /// What a grapheme of the text stands for.
    pub fn of(&self, grapheme: &str) -> Option<&InputChip> {
        grapheme.chars().next().filter(|c| is_chip(*c)).and_then(|c| self.get(c))
    }

    /// Puts an image in the place of what was being read for it. Says whether that is still held.
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

    /// The chip of what is being read.
    pub fn reading(&self, id: RequestId) -> Option<&InputChip> {
        self.chips.iter().find(|chip| chip.content.is_read_by(id))
    }

    /// A label that no other chip has.
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
            ChipContent::Session { title, .. } => return of_session(title),
            ChipContent::Text(text) => of_paste(text),
            ChipContent::Reading { .. } => "reading an image".to_owned(),
        };
        let alike = |label: &str| label == plain || label.starts_with(&format!("{plain} #"));
        let same = self.chips.iter().filter(|chip| alike(&chip.label[1..chip.label.len() - 1]));
        match same.count() {
            0 => format!("[{plain}]"),
            more => format!("[{plain} #{}]", more + 1),
        }
    }

    /// The text with everything put back, and its images.
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

    /// The text with everything put back; images by their labels.
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
                Some((ChipContent::Reading { fallback: instead, .. }, _)) => {
                    whole.push_str(instead)
                }
                None => whole.push(c),
            }
        }
        whole
    }

    /// Lets go of what no text speaks of any more.
    pub fn keep_only(&mut self, spoken_of: impl Fn(char) -> bool) {
        self.chips.retain(|chip| spoken_of(chip.place));
        if self.chips.is_empty() {
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

impl ChipContent {
    fn is_read_by(&self, request: RequestId) -> bool {
        match self {
            Self::Reading { id, .. } => *id == request,
            Self::Text(_) | Self::Image(_) | Self::Session { .. } => false,
        }
    }
}

/// What a text says of a session, and the model is told.
pub(super) fn mention(id: SessionId) -> String {
    format!("@session:{id}")
}

fn of_session(title: &str) -> String {
    let title = sanitize(title).replace(['\n', '\t'], " ");
    match title.char_indices().nth(TITLE) {
        None => format!("@session \"{title}\""),
        Some((end, _)) => format!("@session \"{}…\"", title[..end].trim_end()),
    }
}

fn of_paste(text: &str) -> String {
    match text.lines().count() {
        0 | 1 => format!("pasted {} characters", thousands(text.chars().count())),
        lines => format!("pasted {} lines", thousands(lines)),
    }
}

/// The number in the label of an image.
fn number_of(label: &str) -> Option<u32> {
    label.get(1..)?.strip_prefix(IMAGE)?.split(' ').next()?.parse().ok()
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
    use crate::domain::MediaType;

    fn lines(count: usize) -> ChipContent {
        ChipContent::Text("x\n".repeat(count).into())
    }

    #[test]
    fn labels_say_how_much_it_is_and_tell_equals_apart() {
        let mut chips = ChipSet::default();
        let places = [lines(1204), lines(1204), ChipContent::Text("y".repeat(5000).into())]
            .map(|content| chips.add(content).unwrap());
        let labels = places.map(|place| chips.get(place).unwrap().label.clone());
        let wanted =
            ["[pasted 1,204 lines]", "[pasted 1,204 lines #2]", "[pasted 5,000 characters]"];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn what_is_let_go_does_not_come_back_as_something_else() {
        let mut chips = ChipSet::default();
        let first = chips.add(lines(2)).unwrap();
        let second = chips.add(lines(3)).unwrap();
        chips.keep_only(|place| place == second);
        let third = chips.add(lines(4)).unwrap();
        assert!(![first, second].contains(&third));
        assert_eq!(chips.expand(&format!("a{second}b")), "ax\nx\nx\nb");
    }

    #[test]
    fn an_image_leaves_by_its_label() {
        let image = MessageImage::new("a.png", MediaType::Png, (3, 2), b"x");
        let mut chips = ChipSet::default();
        let instead = "/tmp/a.png".to_owned();
        let first =
            chips.add(ChipContent::Reading { id: RequestId(1), fallback: instead }).unwrap();
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
