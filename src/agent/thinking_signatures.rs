//! Removes signed thinking that is no longer valid. It is valid only after the exact bytes that it
//! answered.
//!
//! Newer models bind each signed thinking block to the model, tools, system text and messages
//! before it. A server refuses the whole request when one of them has changed, for example after an
//! edit of SLUG.md or a change of the model. Each response is logged with the hash of the request
//! that it answered. Here a request is hashed message by message, and a response that answered
//! something else loses its signed and sealed blocks.

use std::collections::HashMap;

use crate::domain::{ContentBlock, ContentHash, JsonHasher, Message, MessageRole};

use super::request::RequestParameters;

/// The text of a response that has no content left.
const NOTHING_SAID: &str = "(no words)";

/// The hashes of the parts of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestHashes {
    pub(super) tools: ContentHash,
    pub(super) system: ContentHash,
    pub(super) messages: Vec<ContentHash>,
    /// The hash of all parts together and the model.
    pub(super) whole: ContentHash,
}

/// Removes signed blocks that are no longer valid, and returns the hashes of the request with these
/// messages. `answered` maps the hash of each signature to the hash of the whole request that its
/// response answered.
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
            let mut signatures = message.content.iter().filter_map(ContentBlock::signature_hash);
            let holds = signatures
                .all(|signature| answered.get(&signature) == Some(&so_far.clone().hash()));
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
    use crate::providers::ToolChoice;

    fn parts<'a>(model: &'a str, system: &'a str) -> RequestParameters<'a> {
        RequestParameters {
            model,
            system,
            tools: Arc::from([]),
            max_tokens: Some(1),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            effort: None,
        }
    }

    fn thought(signature: &str) -> ContentBlock {
        ContentBlock::Thinking { thinking: "hm".into(), signature: Some(signature.to_owned()) }
    }

    fn response(content: Vec<ContentBlock>) -> Message {
        Message { role: MessageRole::Assistant, content }
    }

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text { text: text.into() }
    }

    /// A conversation of two turns under these parts, and what each response answered.
    fn conversation(
        parts: &RequestParameters<'_>,
    ) -> (Vec<Message>, HashMap<ContentHash, ContentHash>) {
        let mut answered = HashMap::new();
        let mut messages = vec![Message::user("one")];
        for (signature, words, next) in [("s1", "first", "two"), ("s2", "second", "three")] {
            let block = thought(signature);
            let hash = unseal(parts, &mut messages, &answered).whole;
            answered.insert(block.signature_hash().unwrap(), hash);
            messages.push(response(vec![block, text(words)]));
            messages.push(Message::user(next));
        }
        (messages, answered)
    }

    fn signatures(messages: &[Message]) -> usize {
        messages
            .iter()
            .flat_map(|message| &message.content)
            .filter_map(ContentBlock::signature_hash)
            .count()
    }

    #[test]
    fn an_unchanged_conversation_keeps_its_signatures() {
        let parts = parts("m", "s");
        let (mut messages, answered) = conversation(&parts);
        let before = messages.clone();
        unseal(&parts, &mut messages, &answered);
        assert_eq!(messages, before);
        assert_eq!(signatures(&messages), 2);
    }

    #[test]
    fn another_model_or_another_system_text_removes_signatures() {
        let (messages, answered) = conversation(&parts("m", "s"));
        for other in [parts("n", "s"), parts("m", "t")] {
            let mut messages = messages.clone();
            unseal(&other, &mut messages, &answered);
            assert_eq!(signatures(&messages), 0);
            assert_eq!(messages[1].content, [text("first")]);
        }
    }

    #[test]
    fn a_changed_message_removes_later_signatures() {
        let parts = parts("m", "s");
        let (mut messages, answered) = conversation(&parts);
        messages[2] = Message::user("two, otherwise");
        unseal(&parts, &mut messages, &answered);
        assert_eq!(messages[1].content.len(), 2);
        assert_eq!(messages[3].content, [text("second")]);
    }

    #[test]
    fn a_signature_made_after_the_change_stays() {
        let (mut messages, mut answered) = conversation(&parts("m", "s"));
        let now = parts("m", "t");
        let hash = unseal(&now, &mut messages.clone(), &answered).whole;
        answered.insert(thought("s3").signature_hash().unwrap(), hash);
        messages.push(response(vec![thought("s3"), text("third")]));
        messages.push(Message::user("four"));
        unseal(&now, &mut messages, &answered);
        assert_eq!(signatures(&messages), 1);
        assert_eq!(messages[5].content, [thought("s3"), text("third")]);
    }

    #[test]
    fn a_response_of_sealed_blocks_alone_is_not_left_empty() {
        let parts = parts("m", "s");
        let sealed =
            ContentBlock::Sealed { protocol: ProviderProtocol::Anthropic, data: "x".into() };
        let mut messages = vec![Message::user("one"), response(vec![sealed]), Message::user("two")];
        unseal(&parts, &mut messages, &HashMap::new());
        assert_eq!(messages[1].content, [text(NOTHING_SAID)]);
    }
}
