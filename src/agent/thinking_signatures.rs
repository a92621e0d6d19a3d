//! Sealed thinking, which holds only under the very bytes that it answered.
//!
//! Newer models bind each sealed thought to the model, tools, system text and messages before it,
//! and a server refuses the whole request where one of them has changed since: another SLUG.md,
//! another model. Each response is on record with the hash of what it answered. Here a request is
//! hashed message by message, and a response that answered something else goes without its seals.

use std::collections::HashMap;

use crate::domain::{ContentBlock, ContentHash, JsonHasher, Message, MessageRole};

use super::request::RequestParameters;

/// What stands for a response of which nothing but sealed thinking was there.
const NOTHING_SAID: &str = "(no words)";

/// The parts of a request, as hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestHashes {
    pub(super) tools: ContentHash,
    pub(super) system: ContentHash,
    pub(super) messages: Vec<ContentHash>,
    /// Of all of them, and the model.
    pub(super) whole: ContentHash,
}

/// Takes out what no longer holds, and returns the hashes of the request with these messages.
/// `answered` has for each seal the hash of the whole that its response answered.
pub(super) fn unseal(
    parts: &RequestParameters<'_>,
    messages: &mut [Message],
    answered: &HashMap<ContentHash, ContentHash>,
) -> RequestHashes {
    let tools = ContentHash::of_json(&parts.tools);
    let system = ContentHash::of(parts.system.as_bytes());
    let mut so_far = JsonHasher::default();
    so_far.json(&(parts.model, &tools, &system));
    let mut hashes = Vec::with_capacity(messages.len());
    for message in messages {
        if message.role == MessageRole::Assistant {
            let mut seals = message.content.iter().filter_map(ContentBlock::signature_hash);
            let holds = seals.all(|seal| answered.get(&seal) == Some(&so_far.clone().hash()));
            if !holds {
                message.content.retain(|block| block.signature_hash().is_none());
                if message.content.is_empty() {
                    message.content.push(ContentBlock::Text { text: NOTHING_SAID.to_owned() });
                }
            }
        }
        let hash = ContentHash::of_json(message);
        so_far.bytes(hash.as_str().as_bytes());
        hashes.push(hash);
    }
    RequestHashes { tools, system, messages: hashes, whole: so_far.hash() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::ProviderProtocol;

    fn parts<'a>(model: &'a str, system: &'a str) -> RequestParameters<'a> {
        RequestParameters {
            model,
            system,
            tools: Arc::from([]),
            max_tokens: 1,
            temperature: None,
            effort: None,
        }
    }

    fn thought(seal: &str) -> ContentBlock {
        ContentBlock::Thinking { thinking: "hm".into(), signature: Some(seal.to_owned()) }
    }

    fn said(content: Vec<ContentBlock>) -> Message {
        Message { role: MessageRole::Assistant, content }
    }

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text { text: text.into() }
    }

    /// Two turns, and what each answered, under these parts.
    fn conversation(
        parts: &RequestParameters<'_>,
    ) -> (Vec<Message>, HashMap<ContentHash, ContentHash>) {
        let mut answered = HashMap::new();
        let mut messages = vec![Message::user("one")];
        for (seal, words, next) in [("s1", "first", "two"), ("s2", "second", "three")] {
            let block = thought(seal);
            let hash = unseal(parts, &mut messages, &answered).whole;
            answered.insert(block.signature_hash().unwrap(), hash);
            messages.push(said(vec![block, text(words)]));
            messages.push(Message::user(next));
        }
        (messages, answered)
    }

    fn seals(messages: &[Message]) -> usize {
        messages
            .iter()
            .flat_map(|message| &message.content)
            .filter_map(ContentBlock::signature_hash)
            .count()
    }

    #[test]
    fn what_has_not_changed_keeps_its_seals() {
        let parts = parts("m", "s");
        let (mut messages, answered) = conversation(&parts);
        let before = messages.clone();
        unseal(&parts, &mut messages, &answered);
        assert_eq!(messages, before);
        assert_eq!(seals(&messages), 2);
    }

    #[test]
    fn another_model_or_another_system_text_opens_them() {
        let (messages, answered) = conversation(&parts("m", "s"));
        for other in [parts("n", "s"), parts("m", "t")] {
            let mut messages = messages.clone();
            unseal(&other, &mut messages, &answered);
            assert_eq!(seals(&messages), 0);
            assert_eq!(messages[1].content, [text("first")]);
        }
    }

    #[test]
    fn a_message_that_changed_opens_those_behind_it() {
        let parts = parts("m", "s");
        let (mut messages, answered) = conversation(&parts);
        messages[2] = Message::user("two, otherwise");
        unseal(&parts, &mut messages, &answered);
        assert_eq!(messages[1].content.len(), 2);
        assert_eq!(messages[3].content, [text("second")]);
    }

    #[test]
    fn what_was_sealed_after_the_change_holds() {
        let (mut messages, mut answered) = conversation(&parts("m", "s"));
        let now = parts("m", "t");
        let hash = unseal(&now, &mut messages.clone(), &answered).whole;
        answered.insert(thought("s3").signature_hash().unwrap(), hash);
        messages.push(said(vec![thought("s3"), text("third")]));
        messages.push(Message::user("four"));
        unseal(&now, &mut messages, &answered);
        assert_eq!(seals(&messages), 1);
        assert_eq!(messages[5].content, [thought("s3"), text("third")]);
    }

    #[test]
    fn a_response_of_seals_alone_is_not_left_empty() {
        let parts = parts("m", "s");
        let sealed =
            ContentBlock::Sealed { protocol: ProviderProtocol::Anthropic, data: "x".into() };
        let mut messages = vec![Message::user("one"), said(vec![sealed]), Message::user("two")];
        unseal(&parts, &mut messages, &HashMap::new());
        assert_eq!(messages[1].content, [text(NOTHING_SAID)]);
    }
}
