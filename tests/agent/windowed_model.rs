//! A model with a context window: it counts the tokens of each request, and refuses what does not fit.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use slug_code::domain::{ContentBlock, Message, TokenUsage};
use slug_code::providers::{
    ErrorRecovery, ModelInfo, Provider, ProviderError, ProviderRequest, RequestOverflow,
    StreamEvent,
};
use tokio_util::sync::CancellationToken;

use super::fakes::{ScriptedEvent, ScriptedStream, play, words};

/// A summary as the instruction asks for it.
pub const SUMMARY: &str = "## Task\nPort the parser of tessera to the new grammar, and keep its tests.\n## Constraints\nNone.\n## Decisions\nOne by \
                           one.\n## Failed attempts\nNone.\n## State\nSome steps are done.\n## \
                           Next\nThe next step.";

type Answer = Box<dyn Fn(&ProviderRequest) -> ScriptedStream + Send + Sync>;

/// Answers each request by a function, and requests for a summary by [`SUMMARY`] or what the test sets.
pub struct WindowedModel {
    window: Mutex<u64>,
    /// Whether refusals name the window.
    names_window: bool,
    /// Whether refusals name the tokens that were counted.
    names_prompt: bool,
    count: fn(&ProviderRequest) -> u64,
    /// Whether a request with its limit for the answer has to fit.
    counts_limit: Mutex<bool>,
    answer: Answer,
    summary: Mutex<Option<ScriptedStream>>,
    /// The answer to the next request for a summary, in place of `summary`.
    next_summary: Mutex<Option<ScriptedStream>>,
    requests: Mutex<Vec<ProviderRequest>>,
    refused: Mutex<usize>,
    /// Whether the connection of the next request breaks.
    breaks: Mutex<bool>,
    served: bool,
}

impl WindowedModel {
    pub fn new(
        window: u64,
        answer: impl Fn(&ProviderRequest) -> ScriptedStream + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self::of(window, Box::new(answer), true))
    }

    /// A model whose server does not say how large its window is.
    pub fn silent(
        window: u64,
        answer: impl Fn(&ProviderRequest) -> ScriptedStream + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self::of(window, Box::new(answer), false))
    }

    fn of(window: u64, answer: Answer, served: bool) -> Self {
        let summary = Mutex::new(Some(words(SUMMARY)));
        let (requests, refused, breaks) = (Mutex::default(), Mutex::default(), Mutex::default());
        let window = Mutex::new(window);
        let counts_limit = Mutex::new(true);
        Self {
            window,
            names_window: false,
            names_prompt: false,
            count: count_tokens,
            counts_limit,
            answer,
            summary,
            next_summary: Mutex::default(),
            requests,
            refused,
            breaks,
            served,
        }
    }

    /// A model whose server says how large its window is when it refuses a request.
    pub fn naming_its_window(
        window: u64,
        answer: impl Fn(&ProviderRequest) -> ScriptedStream + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { names_window: true, ..Self::of(window, Box::new(answer), true) })
    }

    /// A model to which a digit is a token, and whose server says in a refusal how many it has counted.
    pub fn of_digits(
        window: u64,
        answer: impl Fn(&ProviderRequest) -> ScriptedStream + Send + Sync + 'static,
    ) -> Arc<Self> {
        let model = Self::of(window, Box::new(answer), true);
        Arc::new(Self { names_prompt: true, count: count_with_digits, ..model })
    }

    /// Serves the model with another window from now on.
    pub fn restart_with(&self, window: u64) {
        *self.window.lock().unwrap() = window;
    }

    /// Breaks the connection of the next request.
    pub fn break_next(&self) {
        *self.breaks.lock().unwrap() = true;
    }

    /// Refuses only requests that are too long themselves, whatever limit they have for the answer.
    pub fn accept_long_limits(&self) {
        *self.counts_limit.lock().unwrap() = false;
    }

    fn window(&self) -> u64 {
        *self.window.lock().unwrap()
    }

    /// Has requests for a summary answered like this; without an answer they go on for ever.
    pub fn summarise(&self, reply: Option<ScriptedStream>) {
        *self.summary.lock().unwrap() = reply;
    }

    /// Has the next request for a summary alone answered like this.
    pub fn summarise_next(&self, reply: ScriptedStream) {
        *self.next_summary.lock().unwrap() = Some(reply);
    }

    /// The requests of the conversation itself.
    pub fn requests(&self) -> Vec<ProviderRequest> {
        self.all_requests().into_iter().filter(|request| !asks_for_summary(request)).collect()
    }

    /// The requests for a summary.
    pub fn summaries(&self) -> Vec<ProviderRequest> {
        self.all_requests().into_iter().filter(asks_for_summary).collect()
    }

    fn all_requests(&self) -> Vec<ProviderRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// How many requests were too long.
    pub fn refused(&self) -> usize {
        *self.refused.lock().unwrap()
    }
}

/// Tokens of three bytes: more than slug assumes before it has learned better.
pub fn count_tokens(request: &ProviderRequest) -> u64 {
    let messages = serde_json::to_string(&request.messages).unwrap();
    let tools = serde_json::to_string(&*request.tools).unwrap();
    ((messages.len() + tools.len() + request.system.len()) / 3) as u64
}

/// The same with each digit as a token of its own, as newer models have them.
pub fn count_with_digits(request: &ProviderRequest) -> u64 {
    let messages = serde_json::to_string(&request.messages).unwrap();
    let digits = messages.bytes().filter(u8::is_ascii_digit).count() as u64;
    count_tokens(request) + digits * 2 / 3
}

pub fn asks_for_summary(request: &ProviderRequest) -> bool {
    let last = request.messages.last().unwrap();
    let mut notes = last.content.iter().filter_map(ContentBlock::as_context);
    notes.any(|(_, text)| text.starts_with("The conversation above is about to be shortened"))
}

/// All text of a request's messages, with notes and results.
pub fn whole_text(messages: &[Message]) -> String {
    serde_json::to_string(messages).unwrap()
}

#[async_trait]
impl Provider for WindowedModel {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let tokens = (self.count)(&request);
        let limit = request.max_tokens.filter(|_| *self.counts_limit.lock().unwrap());
        let answer = u64::from(limit.unwrap_or(0));
        let reply = if std::mem::take(&mut *self.breaks.lock().unwrap()) {
            let message = "The connection broke.".to_owned();
            vec![ScriptedEvent::Fail(ProviderError {
                message,
                status: None,
                recovery: ErrorRecovery::RetryBriefly,
            })]
        } else if tokens + answer > self.window() {
            *self.refused.lock().unwrap() += 1;
            let message = format!("It has {tokens} of {} tokens.", self.window());
            let overflow = RequestOverflow {
                window: self.names_window.then(|| self.window()),
                prompt: self.names_prompt.then_some(tokens),
            };
            let (status, recovery) = (Some(400), ErrorRecovery::Compact(overflow));
            vec![ScriptedEvent::Fail(ProviderError { message, status, recovery })]
        } else {
            let mut reply = if asks_for_summary(&request) {
                let next = self.next_summary.lock().unwrap().take();
                let summary = next.or_else(|| self.summary.lock().unwrap().clone());
                summary.unwrap_or_else(|| vec![ScriptedEvent::Hang])
            } else {
                (self.answer)(&request)
            };
            let usage = TokenUsage { input: tokens, output: 10, cache_read: 0, cache_write: 0 };
            reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(usage)));
            reply
        };
        self.requests.lock().unwrap().push(request);
        // As the real ones do: a stop ends the stream without a word.
        play(reply).take_until(cancel.cancelled_owned()).boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let context_window = self.served.then(|| self.window());
        Ok(vec![ModelInfo { id: "test-model".into(), context_window, ..ModelInfo::default() }])
    }

    fn is_local(&self) -> bool {
        true
    }

    fn host(&self) -> Option<&str> {
        None
    }
}
