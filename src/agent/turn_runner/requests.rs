//! Sends the requests of a turn, within the budget, and records the complete responses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::agent::agent_loop::Agent;
use crate::agent::budget::BudgetVerdict;
use crate::agent::compaction::estimate::measure_request;
use crate::agent::compaction::plan::CompactionTrigger;
use crate::agent::compaction::summary;
use crate::agent::normalise::normalise;
use crate::agent::thinking_signatures::{self, RequestHashes};
use crate::agent::turn::{CompactionResult, TurnInput};
use crate::agent::{AgentEvent, model_limits, request};
use crate::domain::{
    ApprovalAnswer, ContentBlock, ContextWindow, Message, ModelName, RequestSource, StopReason,
    TokenUsage, ToolSpec, TurnId,
};
use crate::providers::{CapabilitySupport, ProviderRequest, ToolChoice};
use crate::session::{LogEntry, MessageEntry, ReplayedConversation, TurnOutcome};

use super::TurnRun;
use super::answer_stream::AnswerStream;

/// A request that is larger than the one before by more than this part of it is told by estimate: until
/// the response is there, the last count would be far too low.
const NOTABLE_SHARE: u64 = 8;

/// What the requests of a turn have in common, besides the conversation.
pub(super) struct RequestBase {
    pub(super) turn: TurnId,
    pub(super) model: String,
    pub(super) system: String,
    pub(super) tools: Arc<[ToolSpec]>,
    pub(super) tool_choice: ToolChoice,
}

impl TurnRun {
    pub(super) fn request_base(&self) -> RequestBase {
        RequestBase {
            turn: self.turn,
            model: self.model.clone(),
            system: self.system.clone(),
            tools: self.gate.registry.specs(),
            tool_choice: self.tool_choice,
        }
    }
}

impl Agent {
    /// Sends the next request, or says that it has to become shorter first.
    pub(super) async fn request_or_compact(&mut self, running: &mut TurnRun) -> Option<TurnInput> {
        if self.is_context_full(running.request_base()).await {
            // A user who was told that the window is too small may have started the server with a larger
            // one.
            self.reread_window(&running.model, None, &running.cancel).await;
            if self.is_context_full(running.request_base()).await {
                return Some(TurnInput::ContextFull);
            }
        }
        self.request_within_budget(running).await;
        None
    }

    pub(super) async fn request_within_budget(&mut self, running: &mut TurnRun) {
        match self.within_budget(&running.gate.clone(), &running.model).await {
            BudgetVerdict::Fits => self.request(running).await,
            BudgetVerdict::Asked(question) => running.over_budget = Some(question),
            BudgetVerdict::Stop(reason) => running.outcome = Some(TurnOutcome::Budget(reason)),
        }
    }

    pub(super) async fn take_budget(&mut self, running: &mut TurnRun, answer: &ApprovalAnswer) {
        let Some(question) = running.over_budget.take() else { return };
        match answer {
            ApprovalAnswer::Once
            | ApprovalAnswer::OnTerminal
            | ApprovalAnswer::Part { .. }
            | ApprovalAnswer::Edited { .. } => {}
            ApprovalAnswer::Session { .. } | ApprovalAnswer::Always { .. } => {
                self.allowance.double(running.turn, &question.overdraft);
            }
            ApprovalAnswer::Never { .. } | ApprovalAnswer::Deny { .. } => {
                let reason = question.overdraft.to_string();
                running.outcome = Some(TurnOutcome::Budget(reason));
                return;
            }
        }
        self.request(running).await;
    }

    /// Has a refused request that cannot become shorter go again with the least answer, once: there are
    /// servers that add the output limit to the prompt, and the estimate of the prompt may have been too
    /// low. Only where the window is known the limit was chosen to fit into it.
    pub(super) async fn with_least_answer(
        &mut self,
        running: &mut TurnRun,
        trigger: CompactionTrigger,
        result: CompactionResult,
    ) -> CompactionResult {
        let is_last_word =
            trigger == CompactionTrigger::Refused && result == CompactionResult::NothingLeft;
        let may_be_lowered = running.max_tokens.is_some() && !running.wants_least_answer;
        match self.window(&running.model).await {
            ContextWindow::Served(_) | ContextWindow::Known(_)
                if is_last_word && may_be_lowered =>
            {
                running.wants_least_answer = true;
                CompactionResult::Shorter
            }
            ContextWindow::Served(_) | ContextWindow::Known(_) | ContextWindow::Assumed(_) => {
                result
            }
        }
    }

    async fn request(&mut self, running: &mut TurnRun) {
        self.session.catch_up();
        let conversation = std::mem::take(&mut self.session.conversation);
        let base = running.request_base();
        let (mut request, hashes) = self.build_request(&base, &conversation, None).await;
        self.session.conversation = conversation;
        let limits = self.request_limits(&base).await;
        let measure = measure_request(&request);
        self.room.tokens.sent(measure);
        running.measure = Some(measure);
        let size = self.room.tokens.of(&base.model).tokens(measure);
        request.max_tokens = request.max_tokens.map(|wanted| limits.answer(size, wanted));
        if running.wants_least_answer {
            let least = u32::try_from(limits.least_answer()).unwrap_or(u32::MAX);
            request.max_tokens = request.max_tokens.map(|wanted| wanted.min(least));
        }
        running.max_tokens = request.max_tokens;
        running.answered = Some(hashes.whole.clone());
        running.exchange = request::log(&self.setup.debug, RequestSource::Main, &request);
        let name = ModelName::new(self.current_provider().name.as_str(), request.model.as_str());
        self.prompt_cache.sent(name, hashes);
        running.first_token = None;
        running.streamed = 0;
        running.server = self.server_history();
        tracing::info!(model = running.model, messages = request.messages.len(), "request");
        self.events.send(AgentEvent::RequestSent { turn: running.turn });
        let cancel = running.cancel.child_token();
        let events = self.current_provider().provider.stream(request, cancel);
        running.stream = Some(AnswerStream::new(events, self.setup.redactor.clone()));
        // The next response adds to the count of the request before. A much larger one is told at once.
        let counted = self.session.conversation.counted_request.as_ref();
        if counted.is_none_or(|counted| size > counted.input + counted.input / NOTABLE_SHARE) {
            self.tell_uncounted().await;
        }
    }

    /// The next request of this conversation, with an instruction of slug's behind it, if there is
    /// one.
    pub(super) async fn build_request(
        &mut self,
        base: &RequestBase,
        conversation: &ReplayedConversation,
        instruction: Option<ContentBlock>,
    ) -> (ProviderRequest, RequestHashes) {
        let history = conversation.messages.iter().map(|(_, message)| message.clone());
        let mut messages = normalise(history, &conversation.not_begun);
        if let Some(instruction) = instruction {
            summary::append(&mut messages, instruction);
        }
        let facts = self.facts(&base.model).await;
        let can = self.current_provider().provider.capabilities(&base.model);
        self.heed_images(&base.model, can.images, facts.as_ref());
        if can.tools == CapabilitySupport::Unsupported {
            self.tell_of_described_tools(&base.model, None);
        }
        let images = self.images.fill(&mut messages, &base.model, &self.setup.blobs).await;
        let parts = request::RequestParameters {
            model: &base.model,
            system: &base.system,
            tools: base.tools.clone(),
            max_tokens: self.output_limit(&base.model, facts.as_ref()).await,
            tool_choice: base.tool_choice,
            temperature: self.setup.temperature,
            effort: model_limits::effort(self.effort, facts.as_ref())
                .filter(|_| can.thinking != CapabilitySupport::Unsupported),
        };
        let hashes = thinking_signatures::unseal(&parts, &mut messages, &conversation.seals);
        (request::build(&parts, request::RequestConversation { messages, images }), hashes)
    }

    pub(super) async fn record_response(
        &mut self,
        running: &mut TurnRun,
        message: Message,
        stop: StopReason,
        usage: Option<TokenUsage>,
    ) {
        let streamed_for = running.first_token.take().map_or(Duration::ZERO, |at| at.elapsed());
        if let Some(exchange) = running.exchange.take() {
            let response = json!({"message": message, "stop_reason": stop, "usage": usage});
            self.setup.debug.response(exchange, response);
        }
        let counted = usage;
        let usage = match stop {
            StopReason::Interrupted => {
                running.stream = None;
                self.usage_of_stopped(running, counted)
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Refusal
            | StopReason::Paused => counted,
        };
        let source = match message.content.is_empty() && stop == StopReason::Interrupted {
            true => RequestSource::Stopped,
            false => RequestSource::Main,
        };
        let entry = MessageEntry {
            source,
            stop_reason: Some(stop),
            usage,
            is_usage_estimated: usage != counted,
            cost: self.cost(&running.model, usage).await,
            model: Some(running.model.clone()),
            answered: running.answered.take(),
            measure: running.measure.take(),
            ..MessageEntry::new(message)
        };
        if let Some(usage) = counted {
            self.room.tokens.answered(&running.model, usage.input);
        }
        running.wants_least_answer = false;
        self.events.send(AgentEvent::ResponseTimed { turn: running.turn, streamed_for });
        running.gate.journal.write(running.turn, LogEntry::Message(entry)).await;
        let TokenUsage { input, output, cache_read, cache_write } = usage.unwrap_or_default();
        tracing::info!(input, output, cache_read, cache_write, ?streamed_for, "response");
        self.note_answer();
        self.tell_spent();
        self.tell_cache(counted);
        // The server has cut the answer before the limit in the request, as it does where its window ends.
        let is_cut_early = stop == StopReason::MaxTokens
            && running
                .max_tokens
                .is_some_and(|most| counted.is_some_and(|usage| usage.output < u64::from(most)));
        if is_cut_early || std::mem::take(&mut running.was_away) {
            self.reread_window(&running.model, None, &running.cancel).await;
        }
    }

    /// What a response took that was stopped: servers count at the end, and some of them nothing
    /// before it. What streamed was paid for all the same.
    fn usage_of_stopped(
        &mut self,
        running: &TurnRun,
        counted: Option<TokenUsage>,
    ) -> Option<TokenUsage> {
        let tokens = self.room.tokens.of(&running.model);
        let written = tokens.tokens((running.streamed as u64).div_ceil(4));
        let read = counted.map_or_else(
            || self.room.tokens.unanswered().map_or(0, |measure| tokens.tokens(measure)),
            |usage| usage.input,
        );
        let before = counted.unwrap_or_default();
        Some(TokenUsage { input: read, output: before.output.max(written), ..before })
    }
}
