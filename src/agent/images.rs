//! The images of a conversation, for the requests to the model. Each is read from the blob store
//! once. An image that is missing there, or that the model does not take, is replaced by a note.
//!
//! A note depends only on its image, so what is sent for a message stays the same from request to
//! request, and the server's prompt cache keeps working.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::{ContentBlock, ContentHash, Message, MessageImage};
use crate::providers::EncodedImages;
use crate::session::BlobStore;

use super::blocking::blocking;

/// The images read so far, and the models that take none.
#[derive(Debug, Default)]
pub(super) struct ConversationImages {
    /// In base64; `None` when the content is missing or damaged.
    read: HashMap<ContentHash, Option<Arc<str>>>,
    /// The models whose servers refused an image.
    refusing_models: HashSet<String>,
}

impl ConversationImages {
    /// Sends no images to this model from now on.
    pub(super) fn leave_out(&mut self, model: &str) {
        self.refusing_models.insert(model.to_owned());
    }

    /// The bytes of all images in `messages`. An image that cannot be sent becomes a note there.
    pub(super) async fn fill(
        &mut self,
        messages: &mut [Message],
        model: &str,
        blobs: &BlobStore,
    ) -> EncodedImages {
        if !self.refusing_models.contains(model) {
            self.read_new(messages, blobs).await;
        }
        self.sent(messages, model)
    }

    async fn read_new(&mut self, messages: &[Message], blobs: &BlobStore) {
        let new: Vec<ContentHash> = images(messages)
            .map(|image| image.hash.clone())
            .filter(|hash| !self.read.contains_key(hash))
            .collect();
        if new.is_empty() {
            return;
        }
        let blobs = blobs.clone();
        let read = blocking(move || {
            let encoded = |hash: &ContentHash| match blobs.get(hash) {
                Ok(bytes) => bytes.map(|bytes| EncodedImages::encode(&bytes)),
                Err(error) => {
                    tracing::warn!(%error, "an image cannot be read");
                    None
                }
            };
            new.into_iter().map(|hash| (encoded(&hash), hash)).collect::<Vec<_>>()
        });
        match read.await {
            Ok(read) => self.read.extend(read.into_iter().map(|(encoded, hash)| (hash, encoded))),
            Err(error) => tracing::warn!(%error, "images cannot be read"),
        }
    }

    fn sent(&self, messages: &mut [Message], model: &str) -> EncodedImages {
        let mut sent = EncodedImages::default();
        let is_blind = self.refusing_models.contains(model);
        for block in messages.iter_mut().flat_map(|message| &mut message.content) {
            let ContentBlock::Image(image) = block else { continue };
            match self.read.get(&image.hash).cloned().flatten() {
                Some(encoded) if !is_blind => sent.put(image.hash.clone(), encoded),
                Some(_) | None => *block = ContentBlock::Text { text: note(image, is_blind) },
            }
        }
        sent
    }
}

fn images(messages: &[Message]) -> impl Iterator<Item = &MessageImage> {
    messages.iter().flat_map(|message| &message.content).filter_map(|block| match block {
        ContentBlock::Image(image) => Some(image),
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => None,
    })
}

fn note(image: &MessageImage, is_blind: bool) -> String {
    if is_blind {
        format!("[An image was here, {image}. You cannot see it: this model takes no images.]")
    } else {
        format!("[An image was here, {image}. Its content is lost.]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MediaType, MessageRole};

    fn shown(bytes: &[u8]) -> Vec<Message> {
        let image = MessageImage::new("a.png", MediaType::Png, (3, 2), bytes);
        vec![Message { role: MessageRole::User, content: vec![ContentBlock::Image(image)] }]
    }

    #[tokio::test]
    async fn a_stored_image_is_sent() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        let hash = blobs.put(b"abc").unwrap();
        let mut messages = shown(b"abc");
        let sent = ConversationImages::default().fill(&mut messages, "m", &blobs).await;
        assert_eq!(sent.get(&hash), Some("YWJj"));
        assert_eq!(messages, shown(b"abc"));
    }

    #[tokio::test]
    async fn a_missing_or_damaged_image_becomes_a_note() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        let note = "[An image was here, a.png 3×2. Its content is lost.]";
        for damaged in [false, true] {
            if damaged {
                let hash = blobs.put(b"abc").unwrap();
                let (folder, name) = hash.as_str().split_at(2);
                std::fs::write(home.path().join(folder).join(name), "other").unwrap();
            }
            let mut messages = shown(b"abc");
            let sent = ConversationImages::default().fill(&mut messages, "m", &blobs).await;
            assert_eq!(sent, EncodedImages::default());
            assert_eq!(messages[0].text(), note);
        }
    }

    #[tokio::test]
    async fn a_model_that_takes_none_gets_a_note_and_another_the_image() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(home.path().to_owned());
        blobs.put(b"abc").unwrap();
        let mut images = ConversationImages::default();
        images.leave_out("blind");
        let mut messages = shown(b"abc");
        images.fill(&mut messages, "blind", &blobs).await;
        assert!(messages[0].text().contains("takes no images"));
        let mut messages = shown(b"abc");
        images.fill(&mut messages, "seeing", &blobs).await;
        assert_eq!(messages, shown(b"abc"));
    }
}
