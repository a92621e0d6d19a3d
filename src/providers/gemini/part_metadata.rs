//! The metadata of a response part that goes back to the server beside what the user sees.
//!
//! Metadata precedes the part that it belongs to, and holds its thought signature and the server's
//! own id of a call. Metadata that holds a whole part stands for that part. Empty metadata
//! separates two texts of which the first is signed: joined they would differ from what was signed.

use serde_json::{Map, Value};

use crate::domain::ProviderProtocol;
use crate::providers::StreamEvent;

const SIGNATURE: &str = "thoughtSignature";
const ID: &str = "id";
const PART: &str = "part";

/// The content of a sealed block of this protocol.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GeminiPartMetadata<'a> {
    /// The signature of the next part.
    pub(super) signature: Option<&'a str>,
    /// The id that the server gave to the call in the next part.
    pub(super) id: Option<&'a str>,
    /// A whole part that goes back unchanged.
    pub(super) part: Option<&'a Value>,
}

impl<'a> GeminiPartMetadata<'a> {
    /// The metadata of the next part.
    pub(super) fn over(signature: Option<&'a str>, id: Option<&'a str>) -> Self {
        Self { signature, id, part: None }
    }

    /// Reads the metadata in a sealed block.
    pub(super) fn read(data: &'a Value) -> Self {
        Self {
            signature: data.get(SIGNATURE).and_then(Value::as_str),
            id: data.get(ID).and_then(Value::as_str),
            part: data.get(PART),
        }
    }

    /// The event that carries the metadata.
    pub(super) fn event(self) -> StreamEvent {
        let mut data = Map::new();
        let text = |text: &str| Value::String(text.to_owned());
        data.extend(self.signature.map(|it| (SIGNATURE.to_owned(), text(it))));
        data.extend(self.id.map(|it| (ID.to_owned(), text(it))));
        data.extend(self.part.map(|it| (PART.to_owned(), it.clone())));
        StreamEvent::Sealed { protocol: ProviderProtocol::Gemini, data: Value::Object(data) }
    }
}
