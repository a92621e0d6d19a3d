//! Makes the conversation shorter within a turn: when a request would not fit, when the server has
//! refused one, and when the user asks for it. What is left out is decided in `agent::compaction`.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use crate::agent::AgentEvent;
use crate::agent::agent_loop::Agent;
use crate::agent::compaction::estimate::{
    measure_fixed, measure_message, measure_request, measure_text, measure_tools,
};
use crate::agent::compaction::limits::RequestLimits;
use crate::agent::compaction::note::{
    NoteSources, WrittenSummary, notes_that_hold, skills_that_hold,
};
use crate::agent::compaction::plan::{
    CompactionPlan, CompactionTrigger, MeasuredConversation, SummaryExtent, plan,
};
use crate::agent::compaction::report::{LargeRequest, RequestFloor};
use crate::agent::compaction::summary::{
    CompactionAnswer, CompactionRun, CompletedCompaction, SummaryProgress, SummaryRequest,
    SummaryWriter, completed,
};
use crate::agent::compaction::summary_history::summary_history;
use crate::agent::compaction::summary_text;
use crate::agent::mode_note::MODE_NOTE;
use crate::agent::normalise::normalise;
use crate::agent::request;
use crate::context::ContextProvider;
use crate::domain::{NoticeLevel, RequestSource};
use crate::providers::{CapabilitySupport, DEFAULT_OUTPUT_LIMIT, RequestOverflow};
use crate::session::{
    CompactionEntry, CompactionTokens, LogEntry, MessageEntry, ReplayedConversation,
};

use super::requests::RequestBase;
use super::{TurnPurpose, TurnRun};
use crate::agent::turn::CompactionResult;

/// The notes that hold until they are told anew, besides those of the context providers.
const LASTING_NOTES: &[&str] = &[request::TODO, MODE_NOTE];

/// What the user reads where a request for a summary had no room for all of the conversation.
const NEWEST_PART: &str = "The conversation is too long for one request. The summary covers its newest part; the log \
                           has all of it.";

impl Agent {
    /// Whether the conversation has to become shorter before the next request.
    pub(super) async fn is_context_full(&mut self, base: RequestBase) -> bool {
        self.take_listed_models().await;
        self.session.catch_up();
        let limits = self.request_limits(&base).await;
        let size = self.measured(&base, &self.session.conversation, &limits).size();
        let may_compact = self.room.may_compact(self.session.id, size) || limits.is_too_large(size);
        size >= limits.trigger() && may_compact
    }

    pub(super) async fn request_limits(&mut self, base: &RequestBase) -> RequestLimits {
        self.limits_of(&base.model, measure_fixed(&base.system, &base.tools)).await
    }

    /// The limits for requests to this model that begin with so much.
    pub(in crate::agent) async fn limits_of(&mut self, model: &str, fixed: u64) -> RequestLimits {
        self.calibrate_from_log(model, fixed);
        let facts = self.facts(model).await;
        let wanted = self.output_limit(model, facts.as_ref()).await;
        let wanted = wanted.unwrap_or(DEFAULT_OUTPUT_LIMIT);
        let fixed = self.room.tokens.of(model).tokens(fixed);
        let window = self.window(model).await;
        self.room.limits((model, window), wanted.into(), fixed)
    }

    /// Learns the tokens of a model from the last count in the log, where nothing else has taught them
    /// since slug was started. `fixed` is the measure of what requests begin with.
    fn calibrate_from_log(&mut self, model: &str, fixed: u64) {
        if self.room.tokens.has_learned(model) {
            return;
        }
        let conversation = &self.session.conversation;
        let measured = conversation.measured_request.as_ref();
        if let Some(it) = measured.filter(|measured| measured.model == model) {
            return self.room.tokens.learn(model, it.measure, it.input);
        }
        // Older logs have no measure.
        let counted = conversation.counted_request.as_ref();
        let Some(counted) = counted.filter(|counted| counted.model == model) else { return };
        let sent = conversation.messages.iter().take_while(|(id, _)| *id != counted.response);
        let sent = normalise(sent.map(|(_, message)| message.clone()), &conversation.not_begun);
        let measure = fixed + sent.iter().map(measure_message).sum::<u64>();
        self.room.tokens.learn(model, measure, counted.input);
    }

    fn measured<'a>(
        &'a self,
        base: &RequestBase,
        conversation: &'a ReplayedConversation,
        limits: &'a RequestLimits,
    ) -> MeasuredConversation<'a> {
        let estimator = self.room.tokens.of(&base.model);
        MeasuredConversation { conversation, limits, estimator, cwd: &self.setup.place.cwd }
    }

    /// Plans a compaction, and has the hooks and the model asked about it.
    pub(super) async fn begin_compaction(
        &mut self,
        running: &mut TurnRun,
        trigger: CompactionTrigger,
    ) {
        self.session.catch_up();
        let base = running.request_base();
        if trigger == CompactionTrigger::Refused {
            let RequestOverflow { window, prompt } = running.overflow.take().unwrap_or_default();
            if let Some(prompt) = prompt {
                self.room.tokens.refused(&base.model, prompt);
            }
            if !self.reread_window(&base.model, window, &running.cancel).await {
                self.room.note_refusal(&base.model);
            }
        }
        // One that nobody asked for follows a look at the window.
        if trigger == CompactionTrigger::Asked {
            self.reread_window(&base.model, None, &running.cancel).await;
        }
        self.events.send(AgentEvent::CompactionStarted { turn: running.turn });
        self.tell_uncounted().await;
        let focus = match &running.purpose {
            TurnPurpose::Compaction { focus } => focus.clone(),
            TurnPurpose::Answer | TurnPurpose::Reports => None,
        };
        let limits = self.request_limits(&base).await;
        let conversation = self.session.conversation.clone();
        let measured = self.measured(&base, &conversation, &limits);
        let before = measured.size();
        let mut planned = plan(measured, trigger);
        let writer = match &mut planned {
            CompactionPlan::Summarise(summary) => {
                let tokens = measured.summary_tokens();
                match summary_history(measured, summary, trigger) {
                    Some((history, extent)) => {
                        summary.extent = extent;
                        let request =
                            self.summary_request(&base, &limits, (&history, tokens), focus);
                        SummaryWriter::Model(Box::new(request.await))
                    }
                    None => SummaryWriter::NoRoom,
                }
            }
            CompactionPlan::Nothing | CompactionPlan::Shorten(_) => SummaryWriter::NotNeeded,
        };
        let (hooks, cancel) = (running.gate.hooks.clone(), running.cancel.clone());
        let run = (trigger, planned);
        let run = CompactionRun::begin(run, before, conversation, hooks, writer, cancel);
        running.compaction = Some(run);
    }

    async fn summary_request(
        &mut self,
        base: &RequestBase,
        limits: &RequestLimits,
        (history, tokens): (&ReplayedConversation, u64),
        focus: Option<String>,
    ) -> SummaryRequest {
        let instruction = summary_text::instruction(tokens, focus.as_deref());
        let (mut request, _) = self.build_request(base, history, Some(instruction)).await;
        let estimator = self.room.tokens.of(&base.model);
        let size = estimator.tokens(measure_request(&request));
        let ordinary = request.max_tokens.map(|wanted| limits.answer(size, wanted));
        let cap = summary_text::output_limit(tokens);
        let can = self.current_provider().provider.capabilities(&base.model);
        // A model that is known to think does so within the same limit, and is not kept from it.
        request.max_tokens = match can.thinking {
            CapabilitySupport::Supported => ordinary,
            CapabilitySupport::Unsupported | CapabilitySupport::Unknown => {
                Some(ordinary.map_or(cap, |ordinary| ordinary.min(cap)))
            }
        };
        SummaryRequest {
            provider: self.current_provider().provider.clone(),
            request,
            ordinary_limit: ordinary,
            chars: estimator.chars(tokens),
            progress: SummaryProgress::new(self.events.clone(), base.turn),
            redactor: self.setup.redactor.clone(),
            debug: self.setup.debug.clone(),
        }
    }

    /// Writes the compaction to the log, and tells the user where it was not enough.
    pub(super) async fn end_compaction(
        &mut self,
        base: RequestBase,
        done: CompletedCompaction,
        cancel: &CancellationToken,
    ) -> CompactionResult {
        let CompletedCompaction { trigger, plan, before, conversation, answer } = done;
        self.record_side_responses(&base, &answer).await;
        // The plan was made for a window that is smaller by now: the next request is measured anew.
        if let Some(overflow) = answer.overflow
            && self.reread_window(&base.model, overflow.window, cancel).await
            && trigger != CompactionTrigger::Asked
        {
            return CompactionResult::Shorter;
        }
        let limits = self.request_limits(&base).await;
        if let Some(refusal) = answer.refusal {
            self.room.hold(self.session.id, before, limits.next_size(before));
            match trigger {
                CompactionTrigger::Asked => self.error(refusal),
                CompactionTrigger::Full | CompactionTrigger::Refused => self.warn(refusal),
            }
            if !limits.fits(before) {
                let floor = self.floor(&base, &conversation);
                return CompactionResult::TooLarge(
                    self.large(&base, before, &limits, &floor).too_large(),
                );
            }
            return CompactionResult::NothingLeft;
        }
        let extent = plan.summary_extent().filter(|_| answer.summary.is_some());
        let failure = answer.failure.clone().filter(|_| plan.summary_extent().is_some());
        let entry = self.entry_for(&base, plan, &conversation, answer);
        let after = |entry: &CompactionEntry| {
            let after = conversation.compacted(entry);
            (self.measured(&base, &after, &limits).size(), after)
        };
        let entry = entry.map(|entry| (after(&entry), entry));
        let shorter = entry.filter(|((size, _), _)| *size < before);
        let is_shorter = shorter.is_some();
        self.tell_summary(&base.model, is_shorter, extent, failure.as_deref());
        let (after, conversation) = match shorter {
            Some(((size, conversation), entry)) => {
                let tokens = Some(CompactionTokens { before, after: size });
                let entry = LogEntry::Compaction(CompactionEntry { tokens, ..entry });
                self.session.write(base.turn, entry).await;
                self.note_loaded_skills();
                (size, conversation)
            }
            None => (before, conversation),
        };
        self.room.hold(self.session.id, after, limits.next_size(after));
        let floor = self.floor(&base, &conversation);
        let large = self.large(&base, after, &limits, &floor);
        match trigger {
            CompactionTrigger::Full if limits.is_too_large(after) => {
                return CompactionResult::TooLarge(large.too_large());
            }
            CompactionTrigger::Refused if !limits.fits(after) => {
                return CompactionResult::TooLarge(large.too_large());
            }
            CompactionTrigger::Asked if !limits.fits(after) => self.warn(large.too_large()),
            CompactionTrigger::Full if after > limits.floor() => {
                self.warn(large.high_floor(is_shorter, true));
            }
            // What the user has asked for is done, unless the next request would begin another.
            CompactionTrigger::Asked if after > limits.trigger() => {
                self.warn(large.high_floor(is_shorter, false));
            }
            // The server's own words follow: it counts more than slug, or has another window.
            CompactionTrigger::Refused if !is_shorter => {
                self.warn(large.high_floor(false, false));
            }
            CompactionTrigger::Asked if !is_shorter && failure.is_none() => {
                self.events.notice(NoticeLevel::Info, large.short_enough());
            }
            CompactionTrigger::Full | CompactionTrigger::Refused | CompactionTrigger::Asked => {}
        }
        if is_shorter { CompactionResult::Shorter } else { CompactionResult::NothingLeft }
    }

    /// Tells the user what a summary does not cover, or why there is none and what follows from that.
    fn tell_summary(
        &self,
        model: &str,
        is_shorter: bool,
        extent: Option<SummaryExtent>,
        failure: Option<&str>,
    ) {
        if let Some(failure) = failure {
            let then = match is_shorter {
                true => "slug made a note from the log instead.",
                false => "Nothing was compacted: a note from the log would save nothing.",
            };
            self.warn(format!("{model} could not write a summary: {failure} {then}"));
        } else if is_shorter && extent == Some(SummaryExtent::Newest) {
            self.events.notice(NoticeLevel::Info, NEWEST_PART);
        }
    }

    fn large<'a>(
        &self,
        base: &'a RequestBase,
        size: u64,
        limits: &'a RequestLimits,
        floor: &'a RequestFloor,
    ) -> LargeRequest<'a> {
        let is_local = self.current_provider().provider.is_local();
        LargeRequest { model: &base.model, size, limits, floor, is_local }
    }

    fn floor(&self, base: &RequestBase, conversation: &ReplayedConversation) -> RequestFloor {
        let fixed = (measure_text(&base.system), measure_tools(&base.tools));
        RequestFloor::of(conversation, fixed, self.room.tokens.of(&base.model))
    }

    /// Ends a compaction that was stopped. It ends with the stop, so this waits for nobody else.
    pub(super) async fn record_stopped_compaction(&mut self, running: &mut TurnRun) {
        if running.compaction.is_some() && running.cancel.is_cancelled() {
            let base = running.request_base();
            let stopped = completed(&mut running.compaction).await;
            self.record_side_responses(&base, &stopped.answer).await;
        }
    }

    /// Puts on record what the model has written for a summary: it was paid for.
    async fn record_side_responses(&mut self, base: &RequestBase, answer: &CompactionAnswer) {
        for (message, stop, usage) in &answer.responses {
            let entry = MessageEntry {
                stop_reason: Some(*stop),
                usage: *usage,
                cost: self.cost(&base.model, *usage).await,
                model: Some(base.model.clone()),
                source: RequestSource::Compaction,
                ..MessageEntry::new(message.clone())
            };
            self.session.write(base.turn, LogEntry::Message(entry)).await;
        }
        if !answer.responses.is_empty() {
            self.tell_spent();
        }
    }

    /// The entry of a plan, with its note and the files that were read.
    fn entry_for(
        &self,
        base: &RequestBase,
        plan: CompactionPlan,
        conversation: &ReplayedConversation,
        answer: CompactionAnswer,
    ) -> Option<CompactionEntry> {
        let (entry, summary) = match (plan, answer.summary) {
            (CompactionPlan::Nothing, _) => return None,
            (CompactionPlan::Shorten(entry), _) => {
                let sources = self.note_sources(conversation, &entry);
                return Some(CompactionEntry { files_read: sources.files_read(), ..*entry });
            }
            (CompactionPlan::Summarise(plan), Some(text)) => {
                let (model, extent) = (base.model.clone(), plan.extent);
                (plan.entry, Some(WrittenSummary { text, model, extent }))
            }
            (CompactionPlan::Summarise(plan), None) => (plan.without_model, None),
        };
        let names = self.setup.contexts.iter().map(|it| ContextProvider::name(it.as_ref()));
        let names: BTreeSet<String> =
            names.chain(LASTING_NOTES.iter().copied()).map(str::to_owned).collect();
        let after = conversation.compacted(&entry);
        let plan = request::plan(&conversation.plan);
        let mut contexts = notes_that_hold(conversation, &after, &names, plan.as_ref());
        contexts.extend(skills_that_hold(conversation, &after));
        let sources = self.note_sources(conversation, &entry);
        let (note, files_read) = (sources.note(summary, contexts), sources.files_read());
        Some(CompactionEntry { note: Some(note), files_read, ..entry })
    }

    fn note_sources<'a>(
        &'a self,
        conversation: &'a ReplayedConversation,
        entry: &CompactionEntry,
    ) -> NoteSources<'a> {
        NoteSources {
            conversation,
            first_kept: entry.first_kept,
            registry: &self.setup.registry,
            place: &self.setup.place,
        }
    }
}
