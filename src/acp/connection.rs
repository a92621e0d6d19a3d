//! The way to the editor: notifications, answers, and requests with the editor's answers. What is sent
//! through one clone stays in its order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    self as acp, CLIENT_METHOD_NAMES, CancelRequestNotification, Error as ProtocolError,
    JsonRpcMessage, Notification, PROTOCOL_LEVEL_METHOD_NAMES, Request, RequestId, Response,
    SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The answer of the editor to a request of slug's.
pub(super) type EditorReply = Result<Value, ProtocolError>;

/// Sends to the editor. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EditorConnection {
    lines: mpsc::Sender<String>,
    asked: Arc<Mutex<HashMap<i64, oneshot::Sender<EditorReply>>>>,
    next_id: Arc<AtomicI64>,
}

/// A request that the editor has not answered. Dropping it forgets the request.
#[derive(Debug)]
pub(super) struct EditorRequest {
    id: i64,
    answer: oneshot::Receiver<EditorReply>,
    connection: EditorConnection,
}

impl EditorConnection {
    /// A connection that writes its lines there.
    pub fn new(lines: mpsc::Sender<String>) -> Self {
        Self { lines, asked: Arc::default(), next_id: Arc::new(AtomicI64::new(1)) }
    }

    /// Sends an update of a session.
    pub(super) async fn update(&self, session: &acp::SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.notify(CLIENT_METHOD_NAMES.session_update, params).await;
    }

    /// Answers a request of the editor's.
    pub(super) async fn respond<T: Serialize>(
        &self,
        id: RequestId,
        result: Result<T, ProtocolError>,
    ) {
        self.send(Response::new(id, result)).await;
    }

    /// Sends a request; the answer comes from [`EditorRequest::answer`].
    pub(super) async fn request<T: Serialize>(&self, method: &str, params: T) -> EditorRequest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.asked().insert(id, sender);
        let request = EditorRequest { id, answer, connection: self.clone() };
        self.send(Request { id: id.into(), method: method.into(), params: Some(params) }).await;
        request
    }

    /// Tells the editor that slug no longer needs the answer to one of its requests.
    pub(super) async fn withdraw(&self, id: i64) {
        self.asked().remove(&id);
        let params = CancelRequestNotification::new(id);
        self.notify(PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, params).await;
    }

    /// Hands over the answer to a request. One to no open request does nothing.
    pub(super) fn settle(&self, id: &RequestId, answer: EditorReply) {
        let RequestId::Number(id) = id else { return };
        // Whoever asked may be gone.
        let _ = self.asked().remove(id).map(|asked| asked.send(answer));
    }

    async fn notify<T: Serialize>(&self, method: &str, params: T) {
        self.send(Notification { method: method.into(), params: Some(params) }).await;
    }

    async fn send<T: Serialize>(&self, message: T) {
        match serde_json::to_string(&JsonRpcMessage::wrap(message)) {
            // When nobody reads any more, slug is about to end.
            Ok(line) => _ = self.lines.send(line).await,
            Err(error) => tracing::error!(%error, "a message of the protocol is no JSON"),
        }
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<EditorReply>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EditorRequest {
    /// Its id, for [`EditorConnection::withdraw`].
    pub(super) fn id(&self) -> i64 {
        self.id
    }

    /// Waits for the answer.
    pub(super) async fn answer(mut self) -> EditorReply {
        (&mut self.answer).await.unwrap_or_else(|_| Err(ProtocolError::request_cancelled()))
    }
}

impl Drop for EditorRequest {
    fn drop(&mut self) {
        self.connection.asked().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_the_request_with_its_id_and_no_other() {
        let (lines, mut written) = mpsc::channel(8);
        let editor = EditorConnection::new(lines);
        let (first, second) = (editor.request("a", 1).await, editor.request("b", 2).await);
        assert_eq!(
            written.recv().await.unwrap(),
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":1}"#
        );
        editor.settle(&RequestId::Str("2".into()), Ok(json!("no")));
        editor.settle(&RequestId::Number(7), Ok(json!("no")));
        editor.settle(&RequestId::Number(second.id()), Ok(json!("yes")));
        assert_eq!(second.answer().await, Ok(json!("yes")));
        editor.withdraw(first.id()).await;
        assert_eq!(first.answer().await, Err(ProtocolError::request_cancelled()));
        assert!(editor.asked().is_empty());
    }
}
