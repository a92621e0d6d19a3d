//! What a server of revision 2026-07-28 asks during a call: in the place of an answer it says what it
//! needs, and the request is sent again with that (specification 2026-07-28, "multi round-trip requests").

use std::time::Duration;

use rmcp::model::{
    ClientRequest, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use serde_json::Value;

use super::connection::{McpConnection, McpError};

/// How often a request is sent again for a server that still needs something.
const MAX_ROUNDS: u32 = 10;

/// The pause before the next round of a server that asks nothing and only wants to be asked again; it
/// doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What goes along with a request that is sent again.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundInput {
    pub(super) responses: Option<InputResponses>,
    /// Whatever the server wants to have back, unread.
    pub(super) state: Option<String>,
}

/// The reply to a request.
pub(super) enum McpReply {
    Answer(Value),
    InputRequired(InputRequiredResult),
}

impl McpConnection {
    /// Sends a request, and again with what the server asks for in between. Dropping the future cancels it
    /// on the server.
    pub(super) async fn request_in_rounds(
        &self,
        request: impl Fn(RoundInput) -> ClientRequest,
        idle: Duration,
        mut progress: impl FnMut(String) + Send,
    ) -> Result<Value, McpError> {
        let (mut input, mut pause) = (RoundInput::default(), FIRST_PAUSE);
        for _ in 0..MAX_ROUNDS {
            let needed = match self.exchange(request(input), idle, &mut progress).await? {
                McpReply::Answer(answer) => return Ok(answer),
                McpReply::InputRequired(needed) => needed,
            };
            let asked = needed.input_requests.unwrap_or_default();
            if asked.is_empty() {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            let responses = (!asked.is_empty()).then_some(self.answer(asked).await?);
            input = RoundInput { responses, state: needed.request_state };
        }
        Err(McpError::Refused(format!("it asked for more input {MAX_ROUNDS} times in a row.")))
    }

    /// Puts one question after another to the user.
    async fn answer(&self, asked: InputRequests) -> Result<InputResponses, McpError> {
        let mut responses = InputResponses::new();
        for (key, request) in asked {
            let result = match request {
                InputRequest::Elicitation(request) => self.elicit(&request.params).await,
                // Servers are told that slug has neither.
                _ => {
                    let why = "it asks for sampling or roots, which slug does not support.";
                    return Err(McpError::Refused(why.into()));
                }
            };
            let result = serde_json::to_value(result);
            let result = result.map_err(|error| McpError::Unreadable(error.to_string()))?;
            responses.insert(key, result);
        }
        Ok(responses)
    }
}
