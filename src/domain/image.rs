//! Images that the person shows to the model, without their bytes: those are kept once, by hash,
//! among the session's contents.
//!
//! A name comes from a file or a program and is foreign text: it is made harmless here, once.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sanitize::sanitize;
use super::{ContentBlock, ContentHash};

/// The most characters of a name that are kept.
const NAME: usize = 60;

/// An image as a message holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "UncheckedImage")]
pub struct MessageImage {
    /// What it is called: a file's name, or where it is from. One line, harmless.
    name: String,
    /// What the bytes are.
    pub media_type: MediaType,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// How many bytes are kept.
    pub bytes: u64,
    /// The bytes among the contents.
    pub hash: ContentHash,
    /// How large it was before it was scaled down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_from: Option<(u32, u32)>,
}

/// The kinds of images that servers of models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    /// PNG.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

/// What the person typed: a text, and the images that it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInput {
    /// The text.
    pub text: String,
    /// The images, in the order in which the text names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Attachment>,
}

/// An image that a text names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What stands for it in the text.
    pub label: String,
    /// The image.
    pub image: MessageImage,
}

/// An image as it is written down, perhaps by someone else.
#[derive(Deserialize)]
struct UncheckedImage {
    name: String,
    media_type: MediaType,
    width: u32,
    height: u32,
    bytes: u64,
    hash: ContentHash,
    #[serde(default)]
    scaled_from: Option<(u32, u32)>,
}

impl MessageImage {
    /// An image of these bytes.
    pub fn new(name: &str, media_type: MediaType, size: (u32, u32), bytes: &[u8]) -> Self {
        Self {
            name: harmless(name),
            media_type,
            width: size.0,
            height: size.1,
            bytes: bytes.len() as u64,
            hash: ContentHash::of(bytes),
            scaled_from: None,
        }
    }

    /// The same, made smaller than it was.
    pub fn scaled_from(self, size: (u32, u32)) -> Self {
        Self { scaled_from: Some(size), ..self }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size in pixels, and what it was before.
    pub fn size(&self) -> String {
        match self.scaled_from {
            Some((width, height)) => {
                format!("{width}×{height} scaled to {}×{}", self.width, self.height)
            }
            None => format!("{}×{}", self.width, self.height),
        }
    }
}

impl MediaType {
    /// As headers and data addresses name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// As people name it.
    pub fn short(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        }
    }

    /// The kind that some bytes begin as.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }
}

impl UserInput {
    /// Whether it says nothing.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// This and then another on the next line. Labels that both have are told apart when they are
    /// taken in, where each image is found behind the one before it.
    pub fn followed_by(self, next: Self) -> Self {
        let images = self.images.into_iter().chain(next.images).collect();
        Self { text: format!("{}\n{}", self.text, next.text), images }
    }

    /// What a message of these parts was typed as.
    pub fn from_blocks(blocks: &[ContentBlock]) -> Self {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                ContentBlock::Text { text } => texts.push(text.as_str()),
                ContentBlock::Image(image) => images.push(image.clone()),
                ContentBlock::Context { .. }
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. }
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult { .. } => {}
            }
        }
        let text = texts.join("\n");
        // The text names each image by a label that ends in its name and size.
        let mut from = 0;
        let named = images.into_iter().filter_map(|image| {
            let end = format!(" {image}]");
            let at = from + text[from..].find(&end)?;
            let start = text[..at].rfind("[Image ")?;
            from = at + end.len();
            Some(Attachment { label: text[start..from].to_owned(), image })
        });
        let images = named.collect();
        Self { text, images }
    }

    /// As the parts of a message.
    pub fn into_blocks(self) -> impl Iterator<Item = ContentBlock> {
        let images = self.images.into_iter().map(|attached| ContentBlock::Image(attached.image));
        std::iter::once(ContentBlock::Text { text: self.text }).chain(images)
    }
}

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

impl From<UncheckedImage> for MessageImage {
    fn from(written: UncheckedImage) -> Self {
        let UncheckedImage { name, media_type, width, height, bytes, hash, scaled_from } = written;
        Self { name: harmless(&name), media_type, width, height, bytes, hash, scaled_from }
    }
}

impl fmt::Display for MessageImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.size())
    }
}

/// A name on one line, without what would end a label.
fn harmless(name: &str) -> String {
    let name = sanitize(name).replace(['\n', '\t'], " ").replace('[', "(").replace(']', ")");
    match name.trim() {
        "" => "image".to_owned(),
        name => name.chars().take(NAME).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_one_harmless_line() {
        let image = MessageImage::new("a\n[b]\u{1b}[31m\u{202e}", MediaType::Png, (3, 2), b"x");
        assert_eq!(image.to_string(), "a (b)␛(31m‹U+202E› 3×2");
        let written = json!({
            "name": " \u{7}\n", "media_type": "image/gif", "width": 3, "height": 2, "bytes": 1,
            "hash": ContentHash::of(b"x"),
        });
        let read: MessageImage = serde_json::from_value(written).unwrap();
        assert_eq!(read.name(), "␇");
    }

    #[test]
    fn what_was_scaled_says_so() {
        let image = MessageImage::new("a.png", MediaType::Png, (2000, 1000), b"x");
        assert_eq!(
            image.scaled_from((4000, 2000)).to_string(),
            "a.png 4000×2000 scaled to 2000×1000"
        );
    }

    #[test]
    fn kinds_are_told_by_how_the_bytes_begin() {
        let rows: [(&[u8], Option<MediaType>); 6] = [
            (b"\x89PNG\r\n\x1a\n...", Some(MediaType::Png)),
            (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
            (b"GIF89a", Some(MediaType::Gif)),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some(MediaType::Webp)),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"", None),
        ];
        for (bytes, kind) in rows {
            assert_eq!(MediaType::of(bytes), kind, "{bytes:?}");
        }
    }
}
