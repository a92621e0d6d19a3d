//! Images within messages of other tools, kept among the contents as those of slug's own are.
//!
//! What is only an address on some server is not fetched.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::domain::{ContentHash, MessageImage};
use crate::session::BlobStore;

/// Makes bytes fit for models, and says what they are then; `None` where they are no image.
pub type ImageFitter<'a> = &'a dyn Fn(Vec<u8>) -> Option<(MessageImage, Vec<u8>)>;

/// Takes images over, each once.
pub(super) struct ImageImporter<'a> {
    fit: ImageFitter<'a>,
    /// Nowhere while an import is only tried.
    kept_in: Option<&'a BlobStore>,
    /// What became of those that were there before, by their hash there.
    known: RefCell<HashMap<ContentHash, Option<MessageImage>>>,
}

impl<'a> ImageImporter<'a> {
    pub(super) fn new(fit: ImageFitter<'a>, kept_in: Option<&'a BlobStore>) -> Self {
        Self { fit, kept_in, known: RefCell::default() }
    }

    /// The image that a part of a message is.
    pub(super) fn take(&self, part: &Value) -> io::Result<Option<MessageImage>> {
        let Some(bytes) = bytes_of(part) else { return Ok(None) };
        let hash = ContentHash::of(&bytes);
        if let Some(known) = self.known.borrow().get(&hash) {
            return Ok(known.clone());
        }
        let image = match ((self.fit)(bytes), self.kept_in) {
            (None, _) => None,
            (Some((image, _)), None) => Some(image),
            (Some((image, bytes)), Some(blobs)) => {
                blobs.put(&bytes).map_err(io::Error::other)?;
                Some(image)
            }
        };
        self.known.borrow_mut().insert(hash, image.clone());
        Ok(image)
    }
}

/// As Anthropic's interface has it, and the two of OpenAI's.
fn bytes_of(part: &Value) -> Option<Vec<u8>> {
    let base64 = match part["type"].as_str()? {
        "image" => part["source"]["data"].as_str()?,
        "image_url" | "input_image" => {
            let address = &part["image_url"];
            let address = address.as_str().or_else(|| address["url"].as_str())?;
            address.strip_prefix("data:")?.split_once(";base64,")?.1
        }
        _ => return None,
    };
    STANDARD.decode(base64).ok()
}
