//! Imports images in messages of other tools into the store of contents.
//!
//! An image that is only an address on some server is not fetched.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::domain::{ContentHash, MessageImage};
use crate::session::BlobStore;

/// Makes the bytes of an image fit for models, and returns the image with its new bytes; `None`
/// where the bytes are not an image.
pub type ImageFitter<'a> = &'a dyn Fn(Vec<u8>) -> Option<(MessageImage, Vec<u8>)>;

/// Imports images, each one once.
pub(super) struct ImageImporter<'a> {
    fit: ImageFitter<'a>,
    /// Where images are kept; `None` in a dry run.
    kept_in: Option<&'a BlobStore>,
    /// The images so far by the hash of their original bytes; `None` for bytes that are not an
    /// image.
    known: RefCell<HashMap<ContentHash, Option<MessageImage>>>,
}

impl<'a> ImageImporter<'a> {
    pub(super) fn new(fit: ImageFitter<'a>, kept_in: Option<&'a BlobStore>) -> Self {
        Self { fit, kept_in, known: RefCell::default() }
    }

    /// The image in a part of a message; `None` where it holds none.
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

/// The bytes of an image, from a part in the format of Anthropic's interface or of one of OpenAI's
/// two.
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
