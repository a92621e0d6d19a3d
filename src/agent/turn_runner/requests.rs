//! Sends the requests of a turn, within the budget, and records the complete responses.

use std::time::Duration;

use serde_json::json;

use crate::agent::agent_loop::Agent;
use crate::agent::budget::BudgetVerdict;
use crate::agent::normalise::normalise;
use crate::agent::{AgentEvent, model_limits, request, thinking_signatures};
use crate::domain::{ApprovalAnswer, Message, ModelName, RequestSource, StopReason, TokenUsage};
use crate::providers::CapabilitySupport;
use crate::session::{LogEntry, MessageEntry, TurnOutcome};

use super::TurnRun;
use super::answer_stream::AnswerStream;

impl Agent {
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
            ApprovalAnswer::Once | ApprovalAnswer::Part { .. } | ApprovalAnswer::Edited { .. } => {}
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

    async fn request(&mut self, running: &mut TurnRun) {
        self.session.catch_up();
        let history = self.session.conversation.messages.iter().map(|(_, message)| message.clone());
        let mut messages = normalise(history);
        let facts = self.facts(&running.model).await;
        let can = self.current_provider().provider.capabilities(&running.model);
        self.heed_images(&running.model, can.images, facts.as_ref());
        if can.tools == CapabilitySupport::Unsupported {
            self.tell_of_described_tools(&running.model, None);
        }
        let images = self.images.fill(&mut messages, &running.model, &self.setup.blobs).await;
        running.max_tokens = self.output_limit(&running.model, facts.as_ref()).await;
        let parts = request::RequestParameters {
            model: &running.model,
            system: &running.system,
            tools: running.gate.registry.specs(),
            max_tokens: running.max_tokens,
            tool_choice: running.tool_choice,
            temperature: self.setup.temperature,
            effort: model_limits::effort(self.effort, facts.as_ref())
                .filter(|_| can.thinking != CapabilitySupport::Unsupported),
        };
        let signatures = &self.session.conversation.seals;
        let hashes = thinking_signatures::unseal(&parts, &mut messages, signatures);
        running.answered = Some(hashes.whole.clone());
        let request = request::build(&parts, request::RequestConversation { messages, images });
        running.exchange = request::log(&self.setup.debug, RequestSource::Main, &request);
        let name = ModelName::new(self.current_provider().name.as_str(), request.model.as_str());
        self.prompt_cache.sent(name, hashes);
        running.first_token = None;
        tracing::info!(model = running.model, messages = request.messages.len(), "request");
        self.events.send(AgentEvent::RequestSent { turn: running.turn });
        let cancel = running.cancel.child_token();
        let events = self.current_provider().provider.stream(request, cancel);
        running.stream = Some(AnswerStream::new(events, self.setup.redactor.clone()));
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
        let entry = MessageEntry {
            stop_reason: Some(stop),
            usage,
            cost: self.cost(&running.model, usage).await,
            model: Some(running.model.clone()),
            answered: running.answered.take(),
            ..MessageEntry::new(message)
        };
        self.events.send(AgentEvent::ResponseTimed { turn: running.turn, streamed_for });
        running.gate.journal.write(running.turn, LogEntry::Message(entry)).await;
        let TokenUsage { input, output, cache_read, cache_write } = usage.unwrap_or_default();
        tracing::info!(input, output, cache_read, cache_write, ?streamed_for, "response");
        self.tell_spent();
        self.tell_cache(usage);
    }
}
