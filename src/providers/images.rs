//! The bytes of a request's images, as all protocols send them: in base64.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::domain::ContentHash;

/// Images by the hash of their bytes.
#[derive(Clone, Default, PartialEq)]
pub struct EncodedImages(BTreeMap<ContentHash, Arc<str>>);

impl EncodedImages {
    /// Puts an image in that was encoded before.
    pub fn put(&mut self, hash: ContentHash, encoded: Arc<str>) {
        self.0.insert(hash, encoded);
    }

    /// An image, encoded.
    pub fn get(&self, hash: &ContentHash) -> Option<&str> {
        self.0.get(hash).map(|encoded| &**encoded)
    }

    /// Bytes as they are sent.
    pub fn encode(bytes: &[u8]) -> Arc<str> {
        STANDARD.encode(bytes).into()
    }
}

impl fmt::Debug for EncodedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
