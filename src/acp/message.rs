//! Takes a line of the client's apart: a request, a notification, an answer, or none of these.

use agent_client_protocol_schema::v1::{Error as ProtocolError, RequestId};
use serde_json::{Map, Value};

/// What a line of the client's is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientMessage {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// To a request of slug's.
    Answer {
        id: RequestId,
        result: Result<Value, ProtocolError>,
    },
    /// Neither; holds the id to answer with, which is null where none can be read.
    Invalid {
        id: RequestId,
        error: ProtocolError,
    },
}

impl ClientMessage {
    /// Reads a line; `None` for a blank one.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        Some(match serde_json::from_slice(line) {
            Ok(Value::Object(message)) => Self::of(message),
            Ok(_) => Self::invalid(ProtocolError::invalid_request().data(ONE_OBJECT.to_owned())),
            Err(error) => Self::invalid(ProtocolError::parse_error().data(error.to_string())),
        })
    }

    /// What stands for a line that was not read.
    pub(super) fn invalid(error: ProtocolError) -> Self {
        Self::Invalid { id: RequestId::Null, error }
    }

    fn of(mut message: Map<String, Value>) -> Self {
        let params = message.remove("params").unwrap_or(Value::Null);
        let id = message.remove("id").map(serde_json::from_value);
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(Ok(id))) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (None, Some(Ok(id))) => match (message.remove("result"), message.remove("error")) {
                (Some(result), None) => Self::Answer { id, result: Ok(result) },
                (None, Some(error)) => {
                    let error = serde_json::from_value(error);
                    let error = error.unwrap_or_else(|_| ProtocolError::internal_error());
                    Self::Answer { id, result: Err(error) }
                }
                (Some(_), Some(_)) | (None, None) => {
                    Self::Invalid { id, error: ProtocolError::invalid_request() }
                }
            },
            (Some(_), Some(Ok(id))) => {
                Self::Invalid { id, error: ProtocolError::invalid_request() }
            }
            (_, Some(Err(_)) | None) => Self::invalid(ProtocolError::invalid_request()),
        }
    }
}

/// Batches are no part of the protocol.
const ONE_OBJECT: &str = "a line must be one JSON object";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_an_answer_or_invalid() {
        let read = |line: &str| ClientMessage::read(line.as_bytes());
        let id = RequestId::Number(1);
        assert_eq!(read("  \r\n"), None);
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#),
            Some(ClientMessage::Request { id: id.clone(), method: "a".into(), params: json!({}) })
        );
        assert_eq!(
            read(r#"{"method":"a"}"#),
            Some(ClientMessage::Notification { method: "a".into(), params: Value::Null })
        );
        assert_eq!(
            read(r#"{"id":1,"result":null}"#),
            Some(ClientMessage::Answer { id: id.clone(), result: Ok(Value::Null) })
        );
        let refused = ProtocolError::new(-5, "no");
        assert_eq!(
            read(r#"{"id":1,"error":{"code":-5,"message":"no"}}"#),
            Some(ClientMessage::Answer { id, result: Err(refused) })
        );
        for line in ["[]", "1", "{}", r#"{"id":1.5,"method":"a"}"#, r#"{"id":1}"#, "{", "\u{0}"] {
            let read = read(line);
            assert!(matches!(read, Some(ClientMessage::Invalid { .. })), "{line}: {read:?}");
        }
    }
}
