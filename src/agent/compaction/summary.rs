//! Asks the model for the summary that takes the place of the older part of a conversation.
//!
//! The request is the next request of the conversation with an instruction behind it: the same model,
//! system text, tools and messages, so that a server reads only the instruction anew. What comes back is
//! data. Calls in it are not run, and no more of it is taken than there is room for.

use std::future::pending;
use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentBlock, Message, MessageRole, RequestSource, StopReason, TokenUsage};
use crate::hooks::{HookPayload, MergedHookDecision};
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::providers::retry::{self, ReceivedContent, RetryDecision};
use crate::providers::{Provider, ProviderError, ProviderRequest};
use crate::session::{COMPACTION_CONTEXT, ReplayedConversation};

use super::super::hooks::SessionHooks;
use super::super::request;
use super::super::response::ResponseAssembler;
use super::super::turn_runner::answer_stream::{AnswerStream, ended_early};
use super::plan::{CompactionPlan, CompactionTrigger};

/// The headings of a summary, in order, with what belongs below each.
const HEADINGS: &[(&str, &str)] = &[
    ("Task", "what the user wants, in their words where they matter"),
    ("Constraints", "what the user or the project rules out or insists on"),
    ("Decisions", "what was decided, and why"),
    ("Failed attempts", "what was tried and did not work, so that it is not tried again"),
    ("State", "what is done, what is known, what is half-done, with names of files and functions"),
    ("Next", "the next steps, in order"),
];
/// A text with so many of the headings is a summary.
const HEADINGS_FOUND: usize = 3;
/// A text without headings that is at least this long is taken at the second try, in bytes.
const LEAST_TEXT: usize = 120;
/// How often the model is asked before slug writes the note itself.
const TRIES: usize = 2;

/// What the model is told where it did not answer with a summary.
const ONCE_MORE: &str = "That was no summary. Tools do not run now. Answer with the summary as text, under \
                         the headings above, and with nothing else.";

/// A request for a summary, and what sends it.
pub(in crate::agent) struct SummaryRequest {
    pub(in crate::agent) provider: Arc<dyn Provider>,
    /// The conversation with the instruction behind it.
    pub(in crate::agent) request: ProviderRequest,
    /// The most characters that are taken of the answer.
    pub(in crate::agent) chars: usize,
    pub(in crate::agent) redactor: Redactor,
    pub(in crate::agent) debug: DebugLog,
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

/// The instruction that asks for a summary of at most so many tokens.
pub(in crate::agent) fn instruction(tokens: u64, focus: Option<&str>) -> ContentBlock {
    let mut text = format!(
        "The conversation above is about to be shortened: what you write now takes the place of its older \
         part, for you to go on with. Write a summary of it, as text, of at most {} words, under exactly \
         these headings:\n",
        tokens * 6 / 10
    );
    for (heading, what) in HEADINGS {
        text.push_str(&format!("\n## {heading}\n({what})\n"));
    }
    text.push_str(
        "\nBe exact: names, numbers, commands and messages of errors as they were. slug adds the lists of \
         the files that were read and changed, and the user's messages and the plan stay; do not repeat \
         them. Call no tools, and answer nothing else: this note is not from the user.",
    );
    if let Some(focus) = focus {
        text.push_str(&format!("\n\nThe user asks you to keep this above all: {focus}"));
    }
    ContentBlock::Context { name: COMPACTION_CONTEXT.to_owned(), text }
}

/// Adds a block of slug's to the last message of a request, or behind it.
pub(in crate::agent) fn append(messages: &mut Vec<Message>, block: ContentBlock) {
    match messages.last_mut() {
        Some(last) if last.role == MessageRole::User => last.content.push(block),
        Some(_) | None => messages.push(Message { role: MessageRole::User, content: vec![block] }),
    }
}

impl CompactionRun {
    /// Begins: runs the `PreCompact` hooks and then asks for a summary, if that is `wanted`.
    pub(in crate::agent) fn begin(
        (trigger, plan): (CompactionTrigger, CompactionPlan),
        before: u64,
        conversation: ReplayedConversation,
        hooks: SessionHooks,
        wanted: Option<SummaryRequest>,
        cancel: CancellationToken,
    ) -> Self {
        let running = tokio::spawn(async move {
            let mut answer = CompactionAnswer::default();
            let payload = HookPayload::PreCompact { trigger: trigger.hook_word() };
            let merged = hooks.fire(&payload, &cancel).await;
            if let MergedHookDecision::Block(message) = &merged.decision {
                let who = hooks.hook_label(&message.origin);
                answer.refusal = Some(format!("{who} did not let this happen: {}", message.text));
            } else if let Some(wanted) = wanted {
                let stop = cancel.clone();
                stop.run_until_cancelled(wanted.summarise(&mut answer, cancel)).await;
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
    async fn summarise(mut self, answer: &mut CompactionAnswer, cancel: CancellationToken) {
        for number in 1..=TRIES {
            let (message, stop, usage) = match self.ask(&cancel).await {
                Ok(response) => response,
                Err(error) => {
                    answer.failure = Some(error.message);
                    return;
                }
            };
            let text = message.text();
            answer.responses.push((message, stop, usage));
            if is_summary(&text) || (number == TRIES && text.trim().len() >= LEAST_TEXT) {
                answer.summary = Some(shortened(text.trim(), self.chars));
                return;
            }
            let once_more = ContentBlock::Context {
                name: COMPACTION_CONTEXT.to_owned(),
                text: ONCE_MORE.to_owned(),
            };
            append(&mut self.request.messages, once_more);
        }
        answer.failure = Some("The model wrote no summary.".to_owned());
    }

    /// Sends the request; again where the failure may pass.
    async fn ask(
        &self,
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
            failures += 1;
            match retry::next(failures, &error, ReceivedContent::Nothing, 0.5) {
                RetryDecision::Retry(again) => tokio::time::sleep(again.pause).await,
                RetryDecision::Stop => return Err(error),
            }
        }
    }

    async fn stream(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Message, StopReason, Option<TokenUsage>), ProviderError> {
        let events = self.provider.stream(self.request.clone(), cancel.child_token());
        let mut events = AnswerStream::new(events, self.redactor.clone());
        let mut response = ResponseAssembler::default();
        while let Some(event) = events.next().await {
            if let Some(stop) = response.take(event?) {
                let usage = response.usage;
                return Ok((response.finish(), stop, usage));
            }
        }
        Err(ended_early())
    }
}

/// Whether a text is under the headings that were asked for.
fn is_summary(text: &str) -> bool {
    let lines: Vec<String> =
        text.lines().map(|line| line.trim_matches(['#', '*', ':', ' ']).to_lowercase()).collect();
    let found = HEADINGS.iter().filter(|(heading, _)| {
        let heading = heading.to_lowercase();
        lines.iter().any(|line| line.starts_with(&heading))
    });
    found.count() >= HEADINGS_FOUND
}

/// As much of a text as there is room for, up to the end of a line.
fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            let end = text[..end].rfind('\n').unwrap_or(end);
            format!(
                "{}\n[The summary was longer; the rest of it is left out.]",
                text[..end].trim_end()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_under_the_headings_is_a_summary() {
        assert!(is_summary("## Task\nx\n## State\ny\n**Next:**\nz"));
        assert!(!is_summary("I will now go on with the task."));
        assert!(!is_summary("## Task\nonly this"));
    }

    #[test]
    fn a_summary_is_cut_at_the_end_of_a_line() {
        assert_eq!(shortened("one\ntwo", 7), "one\ntwo");
        let cut = shortened("one\ntwo\nthree", 9);
        assert!(cut.starts_with("one\ntwo\n[The summary was longer"), "{cut}");
        assert!(shortened(&"ä".repeat(100), 10).starts_with("ääääääääää\n["));
    }

    #[test]
    fn the_instruction_names_each_heading_and_what_to_keep() {
        let block = instruction(1_000, Some("the API"));
        let (_, text) = block.as_context().unwrap();
        for (heading, _) in HEADINGS {
            assert!(text.contains(&format!("## {heading}\n")), "{heading}");
        }
        assert!(text.ends_with("above all: the API"), "{text}");
        assert!(text.contains("at most 600 words"));
    }
}
