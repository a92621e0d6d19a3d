//! The bytes of a request's images in base64, which all protocols send.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::domain::ContentHash;

/// Base64 texts by the hash of the image's bytes.
#[derive(Clone, Default, PartialEq)]
pub struct EncodedImages(BTreeMap<ContentHash, Arc<str>>);

impl EncodedImages {
    /// Adds an image that is already encoded.
    pub fn put(&mut self, hash: ContentHash, encoded: Arc<str>) {
        self.0.insert(hash, encoded);
    }

    /// The base64 text of an image; `None` if it was not added.
    pub fn get(&self, hash: &ContentHash) -> Option<&str> {
        self.0.get(hash).map(|encoded| &**encoded)
    }

    /// The base64 text of an image's bytes.
    pub fn encode(bytes: &[u8]) -> Arc<str> {
        STANDARD.encode(bytes).into()
    }
}

impl fmt::Debug for EncodedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
