//! Asks the model for the summary that takes the place of the older part of a conversation.
//!
//! The request is the next request of the conversation with an instruction behind it: the same model,
//! system text, tools and messages, so that a server reads only the instruction anew. What comes back is
//! data: calls in it are not run, no more of it is taken than there is room for, and `summary_text`
//! decides whether it is a summary at all.

use std::future::pending;
use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    ContentBlock, Message, MessageRole, RequestSource, StopReason, TokenUsage, TurnId,
};
use crate::hooks::{HookPayload, MergedHookDecision};
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::providers::retry::{self, ReceivedContent, RetryAttempt, RetryDecision, ServerHistory};
use crate::providers::{
    PrefillProgress, Provider, ProviderError, ProviderRequest, RequestOverflow, StreamEvent,
    ToolChoice,
};
use crate::session::{COMPACTION_CONTEXT, ReplayedConversation};

use super::super::AgentEvent;
use super::super::event_queue::AgentEventSender;
use super::super::hooks::SessionHooks;
use super::super::normalise::is_silent;
use super::super::repeated_text::RepeatedText;
use super::super::request;
use super::super::response::ResponseAssembler;
use super::super::turn_runner::answer_stream::{AnswerStream, ended_early};
use super::plan::{CompactionPlan, CompactionTrigger};
use super::summary_text::{self, ConversationWords, SummaryTry};

/// How often the model is asked before slug writes the note itself.
const TRIES: usize = 2;

/// Why there is no summary of a conversation that does not fit into the window.
const TOO_LONG: &str = "The conversation is too long for it.";

/// Who writes the summary of a compaction.
pub(in crate::agent) enum SummaryWriter {
    /// The compaction needs none.
    NotNeeded,
    /// Nobody: the window has no room for the request.
    NoRoom,
    Model(Box<SummaryRequest>),
}

/// A request for a summary, and what sends it.
pub(in crate::agent) struct SummaryRequest {
    pub(in crate::agent) provider: Arc<dyn Provider>,
    /// The conversation with the instruction behind it.
    pub(in crate::agent) request: ProviderRequest,
    /// The output limit of other requests: for a model that has used up the one for a summary in
    /// thinking.
    pub(in crate::agent) ordinary_limit: Option<u32>,
    /// The most characters that are taken of the answer.
    pub(in crate::agent) chars: usize,
    pub(in crate::agent) progress: SummaryProgress,
    pub(in crate::agent) redactor: Redactor,
    pub(in crate::agent) debug: DebugLog,
}

/// Tells the front end how far a summary is.
pub(in crate::agent) struct SummaryProgress {
    events: AgentEventSender,
    turn: TurnId,
    read: Option<PrefillProgress>,
    written: u64,
}

/// A compaction that is being done. Dropping it stops it.
pub(in crate::agent) struct CompactionRun {
    pub(in crate::agent) trigger: CompactionTrigger,
    pub(in crate::agent) plan: CompactionPlan,
    /// The size of the request before, in tokens.
    pub(in crate::agent) before: u64,
    /// The conversation that was planned for.
    pub(in crate::agent) conversation: ReplayedConversation,
    running: JoinHandle<CompactionAnswer>,
}

/// What the hooks and the model have answered.
#[derive(Debug, Default)]
pub(in crate::agent) struct CompactionAnswer {
    /// Why a hook keeps the conversation as it is, as a sentence.
    pub(in crate::agent) refusal: Option<String>,
    /// The summary; `None` where there is none.
    pub(in crate::agent) summary: Option<String>,
    /// Why there is no summary, as a sentence of the server's or of slug's.
    pub(in crate::agent) failure: Option<String>,
    /// What the server has said, where it has refused the request as too long.
    pub(in crate::agent) overflow: Option<RequestOverflow>,
    /// What the model has written, each with what it took.
    pub(in crate::agent) responses: Vec<(Message, StopReason, Option<TokenUsage>)>,
}

/// A compaction with its answer.
pub(in crate::agent) struct CompletedCompaction {
    pub(in crate::agent) trigger: CompactionTrigger,
    pub(in crate::agent) plan: CompactionPlan,
    pub(in crate::agent) before: u64,
    pub(in crate::agent) conversation: ReplayedConversation,
    pub(in crate::agent) answer: CompactionAnswer,
}

/// Adds a block of slug's to the last message of a request, or behind it.
pub(in crate::agent) fn append(messages: &mut Vec<Message>, block: ContentBlock) {
    match messages.last_mut() {
        Some(last) if last.role == MessageRole::User => last.content.push(block),
        Some(_) | None => messages.push(Message { role: MessageRole::User, content: vec![block] }),
    }
}

impl CompactionRun {
    /// Begins: runs the `PreCompact` hooks and then asks for a summary.
    pub(in crate::agent) fn begin(
        (trigger, plan): (CompactionTrigger, CompactionPlan),
        before: u64,
        conversation: ReplayedConversation,
        hooks: SessionHooks,
        writer: SummaryWriter,
        cancel: CancellationToken,
    ) -> Self {
        let running = tokio::spawn(async move {
            let mut answer = CompactionAnswer::default();
            let payload = HookPayload::PreCompact { trigger: trigger.hook_word() };
            let merged = hooks.fire(&payload, &cancel).await;
            if let MergedHookDecision::Block(message) = &merged.decision {
                let who = hooks.hook_label(&message.origin);
                answer.refusal = Some(format!("{who} did not let this happen: {}", message.text));
                return answer;
            }
            match writer {
                SummaryWriter::NotNeeded => {}
                SummaryWriter::NoRoom => answer.failure = Some(TOO_LONG.to_owned()),
                // First the stop: the stream ends with it, and is no failure then.
                SummaryWriter::Model(request) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => {}
                    () = request.summarise(&mut answer, &cancel) => {}
                },
            }
            answer
        });
        Self { trigger, plan, before, conversation, running }
    }
}

impl Drop for CompactionRun {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Waits for the compaction that runs; for ever where none does.
pub(in crate::agent) async fn completed(run: &mut Option<CompactionRun>) -> CompletedCompaction {
    let Some(running) = run else { return pending().await };
    let answer = (&mut running.running).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a compaction ended abnormally");
        CompactionAnswer { failure: Some(format!("{error}.")), ..CompactionAnswer::default() }
    });
    let Some(mut running) = run.take() else { return pending().await };
    CompletedCompaction {
        trigger: running.trigger,
        plan: std::mem::replace(&mut running.plan, CompactionPlan::Nothing),
        before: running.before,
        conversation: std::mem::take(&mut running.conversation),
        answer,
    }
}

impl SummaryRequest {
    async fn summarise(mut self, answer: &mut CompactionAnswer, cancel: &CancellationToken) {
        let conversation = ConversationWords::of(&self.request.messages);
        for number in 1..=TRIES {
            let (message, stop, usage) = match self.ask(cancel).await {
                Ok(response) => response,
                Err(error) => {
                    answer.overflow = error.overflow();
                    let is_too_long = answer.overflow.is_some();
                    answer.failure =
                        Some(if is_too_long { TOO_LONG.to_owned() } else { error.message });
                    return;
                }
            };
            let which = if number == TRIES { SummaryTry::Last } else { SummaryTry::First };
            let summary = summary_text::summary_of(&message, &conversation, which);
            let has_thought_too_long = stop == StopReason::MaxTokens && is_silent(&message);
            let has_called = message.calls().next().is_some();
            answer.responses.push((message, stop, usage));
            if let Some(summary) = summary {
                let is_cut = stop == StopReason::MaxTokens;
                answer.summary = Some(summary_text::shortened(&summary, self.chars, is_cut));
                return;
            }
            if has_thought_too_long {
                self.request.max_tokens = self.ordinary_limit;
            }
            if has_called {
                self.request.tool_choice = ToolChoice::None;
            }
            let once_more = ContentBlock::Context {
                name: COMPACTION_CONTEXT.to_owned(),
                text: summary_text::ONCE_MORE.to_owned(),
            };
            append(&mut self.request.messages, once_more);
        }
        answer.failure = Some("two answers were no summary.".to_owned());
    }

    /// Sends the request; again where the failure may pass.
    async fn ask(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(Message, StopReason, Option<TokenUsage>), ProviderError> {
        let mut failures = 0;
        loop {
            let exchange = request::log(&self.debug, RequestSource::Compaction, &self.request);
            let result = self.stream(cancel).await;
            if let Some(exchange) = exchange {
                let response = match &result {
                    Ok((message, stop, usage)) => {
                        json!({"message": message, "stop_reason": stop, "usage": usage})
                    }
                    Err(error) => json!({"error": error.message, "status": error.status}),
                };
                self.debug.response(exchange, response);
            }
            let error = match result {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if cancel.is_cancelled() {
                return Err(error);
            }
            failures += 1;
            let known = (ReceivedContent::Nothing, ServerHistory::HasAnswered);
            match retry::next(failures, &error, known, 0.5) {
                RetryDecision::Retry(again) => {
                    self.progress.pause(&error, again);
                    tokio::time::sleep(again.pause).await;
                }
                RetryDecision::Stop => return Err(error),
            }
        }
    }

    async fn stream(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(Message, StopReason, Option<TokenUsage>), ProviderError> {
        self.progress.begin();
        let mut repeated = RepeatedText::default();
        let events = self.provider.stream(self.request.clone(), cancel.child_token());
        let mut events = AnswerStream::new(events, self.redactor.clone());
        let mut response = ResponseAssembler::default();
        while let Some(event) = events.next().await {
            let event = event?;
            self.progress.tell(&event);
            let repeats = repeated.in_event(&event);
            let stop = response.take(event);
            let usage = response.usage;
            if let Some(period) = repeats {
                response.cut_repetitions(period);
                return Ok((response.cut(), StopReason::Interrupted, usage));
            }
            if let Some(stop) = stop {
                return Ok((response.finish(), stop, usage));
            }
        }
        Err(ended_early())
    }
}

impl SummaryProgress {
    pub(in crate::agent) fn new(events: AgentEventSender, turn: TurnId) -> Self {
        Self { events, turn, read: None, written: 0 }
    }

    /// Counts from zero for another try.
    fn begin(&mut self) {
        (self.read, self.written) = (None, 0);
        self.send();
    }

    /// Says that the request failed and is sent again.
    fn pause(&self, error: &ProviderError, again: RetryAttempt) {
        let (turn, reason) = (self.turn, error.message.clone());
        self.events.send(AgentEvent::ResponseDropped { turn, reason, again: Some(again) });
    }

    fn tell(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Prefill(progress) => self.read = Some(*progress),
            StreamEvent::Text(text) | StreamEvent::Thinking(text) => {
                self.written += text.len() as u64;
            }
            StreamEvent::ToolInputDelta { json, .. } => self.written += json.len() as u64,
            StreamEvent::Started
            | StreamEvent::RateLimited(_)
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. }
            | StreamEvent::ToolUseStarted { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_) => return,
        }
        self.send();
    }

    fn send(&self) {
        let (turn, read, written) = (self.turn, self.read, self.written);
        self.events.send(AgentEvent::CompactionProgress { turn, read, written });
    }
}
