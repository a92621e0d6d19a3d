//! What goes back with a part of a response beside what the person sees of it.
//!
//! A seal stands before the part that it belongs to, and holds its thought signature and the
//! server's own id of a call. One that holds a whole part stands for itself. One that holds nothing
//! keeps apart two texts, of which the first is signed: together they would not be what was signed.

use serde_json::{Map, Value};

use crate::domain::ProviderProtocol;
use crate::providers::StreamEvent;

const SIGNATURE: &str = "thoughtSignature";
const ID: &str = "id";
const PART: &str = "part";

/// A seal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GeminiPartMetadata<'a> {
    /// The signature of the part behind it.
    pub(super) signature: Option<&'a str>,
    /// The id that the server gave to the call behind it.
    pub(super) id: Option<&'a str>,
    /// A part that goes back as it is.
    pub(super) part: Option<&'a Value>,
}

impl<'a> GeminiPartMetadata<'a> {
    /// The seal over a part.
    pub(super) fn over(signature: Option<&'a str>, id: Option<&'a str>) -> Self {
        Self { signature, id, part: None }
    }

    /// The seal that a block holds.
    pub(super) fn read(data: &'a Value) -> Self {
        Self {
            signature: data.get(SIGNATURE).and_then(Value::as_str),
            id: data.get(ID).and_then(Value::as_str),
            part: data.get(PART),
        }
    }

    /// The event that hands it on.
    pub(super) fn event(self) -> StreamEvent {
        let mut data = Map::new();
        let text = |text: &str| Value::String(text.to_owned());
        data.extend(self.signature.map(|it| (SIGNATURE.to_owned(), text(it))));
        data.extend(self.id.map(|it| (ID.to_owned(), text(it))));
        data.extend(self.part.map(|it| (PART.to_owned(), it.clone())));
        StreamEvent::Sealed { protocol: ProviderProtocol::Gemini, data: Value::Object(data) }
    }
}
