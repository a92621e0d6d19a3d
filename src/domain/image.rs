//! Images that the user attaches to a message, without their bytes: the session store keeps the
//! bytes once, by hash.
//!
//! An image's name comes from a file or a program and is untrusted text: it is made harmless here,
//! once.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sanitize::sanitize;
use super::{ContentBlock, ContentHash};

/// The most characters of a name that are kept.
const NAME: usize = 60;

/// An image in a message. Its bytes are in the session's content store, under `hash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "UncheckedImage")]
pub struct MessageImage {
    /// A file's name, or where the image comes from. One line without control characters.
    name: String,
    /// The format of the bytes.
    pub media_type: MediaType,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Size of the stored bytes.
    pub bytes: u64,
    /// The key of the bytes in the session's content store.
    pub hash: ContentHash,
    /// Width and height before slug scaled the image down; `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_from: Option<(u32, u32)>,
}

/// The image formats that model servers accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum MediaType {
    /// Bytes that begin with the PNG signature.
    #[serde(rename = "image/png")]
    Png,
    /// Bytes that begin with the JPEG start-of-image marker.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// Bytes that begin with `GIF87a` or `GIF89a`.
    #[serde(rename = "image/gif")]
    Gif,
    /// Bytes in a RIFF container of type `WEBP`.
    #[serde(rename = "image/webp")]
    Webp,
}

/// What the user typed: a text, and the images that its labels stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserInput {
    /// The text, with a label in the place of each image.
    pub text: String,
    /// The images, in the order of their labels in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Attachment>,
}

/// An image, and the label that stands for it in the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attachment {
    /// The label in the text; it ends with the image's name and size.
    pub label: String,
    /// The image that the label stands for.
    pub image: MessageImage,
}

/// An image as a log holds it. The log may come from someone else, so its name is checked.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Describes these bytes: hashes them and makes the name harmless. `size` is width and height.
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

    /// Records that the image was larger before slug scaled it down.
    pub fn scaled_from(self, size: (u32, u32)) -> Self {
        Self { scaled_from: Some(size), ..self }
    }

    /// The image's name: one harmless line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size in pixels, with the size before scaling if there was one.
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
    /// The media type, as headers and data URLs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The short name that users know.
    pub fn short(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        }
    }

    /// The format that the first bytes show; `None` for any other.
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
    /// Whether there is neither text nor image.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// This input, and then `next` on a new line. If both have the same label, `into_blocks` still
    /// tells the images apart, because it looks for each label behind the one before.
    pub fn followed_by(self, next: Self) -> Self {
        let images = self.images.into_iter().chain(next.images).collect();
        Self { text: format!("{}\n{}", self.text, next.text), images }
    }

    /// The input that a message with these blocks was typed as.
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
        // Each label in the text ends with the image's name and size.
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

    /// The input as the blocks of a message.
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

/// The name on one line, without the characters that would end a label.
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
    fn a_scaled_image_shows_both_sizes() {
        let image = MessageImage::new("a.png", MediaType::Png, (2000, 1000), b"x");
        assert_eq!(
            image.scaled_from((4000, 2000)).to_string(),
            "a.png 4000×2000 scaled to 2000×1000"
        );
    }

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
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
