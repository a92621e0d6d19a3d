//! Decides what of a conversation is no longer sent. Pure: the conversation and its limits in, the
//! entry for the log out.
//!
//! Each stage is tried only where the one before it is not enough, because each loses more: older
//! results become stubs, then older calls lose their long arguments and runs of looking around become
//! a note each, and at last a summary takes the place of all but the user's own messages and the last
//! rounds. What is too long on its own is cut in any stage. Results are cleared in bulk, since each
//! change makes the server read all behind it anew. A call and its results stay or go together.

use std::path::Path;

use crate::domain::{CallInput, ContentBlock, EntryId, Message, MessageRole, ToolCall};
use crate::session::{
    COMPACTION_CONTEXT, CollapsedMessages, CompactionEntry, CutCalls, CutResults, NEXT_MESSAGE,
    ReplayedConversation, is_shell, users_own,
};
use crate::tools::{call_title, kind_of};

use super::estimate::{TokenEstimator, measure_block};
use super::limits::RequestLimits;

/// How many of the last results stay as they are.
const RESULTS_KEPT: usize = 5;
/// How many of the user's messages stay with all that follows them, where there is no summary.
const TURNS_KEPT: usize = 10;
/// So many rounds in a row that only look something up are sent as a note.
const LOOKUP_ROUNDS: usize = 3;
/// Text beside calls that is longer than this says more than that the model looks around, in bytes.
const LOOKUP_TEXT: usize = 300;
/// The most calls that the note about a run of them names.
const LOOKUPS_NAMED: usize = 40;
/// A summary of less than this is not worth its request, in tokens.
const WORTH_SUMMARY: u64 = 500;
/// A server that refuses a request is asked again once it is smaller by this much, in percent.
const WORTH_RETRY: u64 = 10;
/// One result that takes more than this part of the trigger is cut, and so are the calls of one
/// response.
const LONG_PART: u64 = 3;
/// The output of a command of the user's that takes more than this part of what stays of their messages
/// is cut.
const LONG_OUTPUT: u64 = 4;
/// Older calls of one response that take more than this have arguments to cut, in tokens.
const LONG_OLD_CALLS: u64 = 150;
/// So many characters stay of each text in the arguments of an older call.
const OLD_ARGUMENT: usize = 200;
/// What a call and its result take at least, however much of them is cut, in tokens.
const LEAST_CALL: u64 = 120;
/// The fewest calls that stay of the last response.
const LEAST_CALLS: u64 = 4;

/// Why a conversation is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum CompactionTrigger {
    /// The next request would leave too little room in the window.
    Full,
    /// The server has refused a request as too long.
    Refused,
    /// The user wants it.
    Asked,
}

impl CompactionTrigger {
    /// What hooks are told.
    pub(in crate::agent) fn hook_word(self) -> &'static str {
        match self {
            Self::Full | Self::Refused => "auto",
            Self::Asked => "manual",
        }
    }
}

/// What is to be done about a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::agent) enum CompactionPlan {
    /// Nothing can be left out.
    Nothing,
    /// This is enough.
    Shorten(Box<CompactionEntry>),
    /// A summary is needed.
    Summarise(Box<SummaryPlan>),
}

impl CompactionPlan {
    /// How much a summary would be about; `None` where none is needed.
    pub(in crate::agent) fn summary_extent(&self) -> Option<SummaryExtent> {
        match self {
            Self::Nothing | Self::Shorten(_) => None,
            Self::Summarise(plan) => Some(plan.extent),
        }
    }
}

/// What a summary takes the place of. Its entries lack the note.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::agent) struct SummaryPlan {
    /// The entry for a summary by the model.
    pub(in crate::agent) entry: CompactionEntry,
    /// The entry where no model can write one.
    pub(in crate::agent) without_model: CompactionEntry,
    /// Makes the conversation shorter for the request for the summary, where it is too long itself.
    pub(in crate::agent) lightened: CompactionEntry,
    /// How much the summary is about.
    pub(in crate::agent) extent: SummaryExtent,
}

/// How much of a conversation a request for a summary has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum SummaryExtent {
    All,
    Newest,
}

/// A conversation with what its size is measured by.
#[derive(Clone, Copy)]
pub(in crate::agent) struct MeasuredConversation<'a> {
    pub(in crate::agent) conversation: &'a ReplayedConversation,
    pub(in crate::agent) limits: &'a RequestLimits,
    pub(in crate::agent) estimator: TokenEstimator,
    /// The folder that paths are shown relative to.
    pub(in crate::agent) cwd: &'a Path,
}

/// Plans a compaction of this conversation.
pub(in crate::agent) fn plan(
    measured: MeasuredConversation<'_>,
    trigger: CompactionTrigger,
) -> CompactionPlan {
    let now = measured.size();
    let results = measured.without_results();
    let mut lightened =
        CompactionEntry { collapsed: measured.lookups(&results), ..results.clone() };
    lightened.cut_calls.extend(measured.old_calls(&results));
    let (floor, light) = (measured.limits.floor(), measured.size_after(&lightened));
    let cleared = measured.size_after(&results);
    match trigger {
        CompactionTrigger::Full if cleared <= floor && cleared < now => return shorten(results),
        CompactionTrigger::Full if light <= floor && light < now => return shorten(lightened),
        CompactionTrigger::Refused
            if light <= now - now * WORTH_RETRY / 100 && measured.limits.fits(light) =>
        {
            return shorten(lightened);
        }
        CompactionTrigger::Full | CompactionTrigger::Refused | CompactionTrigger::Asked => {}
    }
    if let Some(summary) = measured.summary(now, &lightened) {
        return CompactionPlan::Summarise(Box::new(summary));
    }
    let last = if now > floor { measured.cut_to_fit(now, lightened) } else { lightened };
    if measured.size_after(&last) < now { shorten(last) } else { CompactionPlan::Nothing }
}

fn shorten(entry: CompactionEntry) -> CompactionPlan {
    CompactionPlan::Shorten(Box::new(entry))
}

impl MeasuredConversation<'_> {
    /// The size of the next request, in tokens.
    pub(in crate::agent) fn size(&self) -> u64 {
        self.size_of(&self.conversation.messages)
    }

    /// The size of the next request after this compaction, in tokens.
    pub(in crate::agent) fn size_after(&self, entry: &CompactionEntry) -> u64 {
        self.size_of(&self.conversation.compacted(entry).messages)
    }

    /// The longest summary of it, in tokens.
    pub(in crate::agent) fn summary_tokens(&self) -> u64 {
        self.limits.shares(self.size()).summary
    }

    fn size_of(&self, messages: &[(EntryId, Message)]) -> u64 {
        self.limits.fixed + self.estimator.messages(messages.iter().map(|(_, message)| message))
    }

    /// The first stage: stubs for all but the last results, and both ends of those that are too long.
    fn without_results(&self) -> CompactionEntry {
        let messages = &self.conversation.messages;
        let last = messages.iter().rev().filter(|(_, message)| is_result(message));
        let last: Vec<&(EntryId, Message)> = last.take(RESULTS_KEPT).collect();
        let kept_from = last.last().map(|(id, _)| *id);
        let long = self.limits.trigger() / LONG_PART;
        let is_long = |it: &&&(EntryId, Message)| self.estimator.message(&it.1) > long;
        let results: Vec<EntryId> = last.iter().filter(is_long).map(|(id, _)| *id).collect();
        let chars = self.estimator.chars(long / 2);
        let responses = self.with_long_calls(messages, long);
        let long_calls =
            (!responses.is_empty()).then_some(CutCalls { responses, chars, most: None });
        CompactionEntry {
            results_kept_from: kept_from,
            cut_results: (!results.is_empty()).then_some(CutResults { results, chars }),
            cut_outputs: self.long_outputs(messages, long, None),
            cut_calls: long_calls.into_iter().collect(),
            ..CompactionEntry::default()
        }
    }

    /// Cuts the outputs of the user's commands that take more than so many tokens, besides those that
    /// are cut already.
    fn long_outputs(
        &self,
        messages: &[(EntryId, Message)],
        tokens: u64,
        known: Option<CutResults>,
    ) -> Option<CutResults> {
        let is_long =
            |it: &&(EntryId, Message)| is_output(&it.1) && self.estimator.message(&it.1) > tokens;
        let long: Vec<EntryId> = messages.iter().filter(is_long).map(|(id, _)| *id).collect();
        if long.is_empty() {
            return known;
        }
        let chars = self.estimator.chars(tokens);
        let known = known.unwrap_or(CutResults { results: Vec::new(), chars });
        let chars = known.chars.min(chars);
        let mut results = known.results;
        results.extend(long.into_iter().filter(|id| !results.contains(id)).collect::<Vec<_>>());
        Some(CutResults { results, chars })
    }

    /// The second stage: the arguments of the calls before the results that stay.
    fn old_calls(&self, results: &CompactionEntry) -> Option<CutCalls> {
        let messages = &self.conversation.messages;
        let kept_from = results.results_kept_from?;
        let end = messages.iter().position(|(id, _)| *id == kept_from)?;
        let is_call = |at: &usize| !is_result(&messages[*at].1);
        let end = (0..end).rev().find(is_call)?;
        let responses = self.with_long_calls(&messages[..end], LONG_OLD_CALLS);
        let chars = OLD_ARGUMENT;
        (!responses.is_empty()).then_some(CutCalls { responses, chars, most: None })
    }

    /// The responses whose calls take more than so many tokens.
    fn with_long_calls(&self, messages: &[(EntryId, Message)], tokens: u64) -> Vec<EntryId> {
        let long = messages.iter().filter(|(_, message)| self.calls_size(message) > tokens);
        long.map(|(id, _)| *id).collect()
    }

    fn calls_size(&self, message: &Message) -> u64 {
        let calls = message.content.iter().filter(|it| matches!(it, ContentBlock::ToolUse(_)));
        self.estimator.tokens(calls.map(measure_block).sum())
    }

    /// The second stage, too: runs of rounds that only looked something up, before the results that stay.
    fn lookups(&self, results: &CompactionEntry) -> Vec<CollapsedMessages> {
        let messages = &self.conversation.messages;
        let end = results.results_kept_from;
        let end = messages.iter().position(|(id, _)| Some(*id) == end).unwrap_or(0);
        let mut runs: Vec<CollapsedMessages> = Vec::new();
        let mut run: Vec<std::ops::Range<usize>> = Vec::new();
        let mut at = 0;
        while at < end {
            let next = end_of_round(messages, at);
            let round = &messages[at..next];
            let is_pinned = round.iter().any(|(id, _)| self.conversation.edits.has_pinned(*id));
            if next <= end && !is_pinned && is_lookup_round(round) {
                run.push(at..next);
            } else {
                runs.extend(self.collapsed(&std::mem::take(&mut run)));
            }
            at = next;
        }
        runs.extend(self.collapsed(&run));
        runs
    }

    fn collapsed(&self, run: &[std::ops::Range<usize>]) -> Option<CollapsedMessages> {
        let (first, last) = (run.first()?, run.last()?);
        if run.len() < LOOKUP_ROUNDS {
            return None;
        }
        let messages = &self.conversation.messages;
        let inside = &messages[first.start..last.end];
        let failed: Vec<&str> =
            inside.iter().flat_map(|(_, message)| failed_calls(message)).collect();
        let calls: Vec<String> = inside
            .iter()
            .flat_map(|(_, message)| message.calls())
            .map(|call| {
                let how = if failed.contains(&call.id.as_str()) { " (failed)" } else { "" };
                format!("- {}{how}", shown_call(call, self.cwd))
            })
            .collect();
        let mut note = String::from(
            "You looked around here. The results are left out to save space; make a call again if you \
             need one:\n",
        );
        note.push_str(&calls[..calls.len().min(LOOKUPS_NAMED)].join("\n"));
        if let Some(more) = calls.len().checked_sub(LOOKUPS_NAMED).filter(|more| *more > 0) {
            note.push_str(&format!("\n- and {more} more calls"));
        }
        Some(CollapsedMessages {
            first: messages.get(first.start)?.0,
            last: messages.get(last.end.checked_sub(1)?)?.0,
            note,
        })
    }

    /// The third stage; `None` where there is next to nothing to summarise.
    fn summary(&self, now: u64, lightened: &CompactionEntry) -> Option<SummaryPlan> {
        let messages = &self.conversation.messages;
        let shares = self.limits.shares(now);
        // A long answer that nothing follows is worth a summary, where nothing else is.
        let all = messages.last().filter(|(_, message)| is_answer(message));
        let starts = self.last_rounds(shares.last_rounds).into_iter();
        let mut starts = starts.chain(all.map(|_| messages.len()));
        let (start, entry) = starts.find_map(|start| {
            let entry = self.kept_before(start, shares.user_messages);
            let is_dropped = |(id, message): &&(EntryId, Message)| {
                !entry.kept.contains(id) || !is_the_users(message) && !is_output(message)
            };
            let dropped = messages[..start].iter().filter(is_dropped).map(|(_, message)| message);
            let is_worth_it = self.estimator.messages(dropped) >= WORTH_SUMMARY;
            is_worth_it.then_some((start, entry))
        })?;
        let entry = self.fitted(&messages[start..], shares.last_rounds, entry);
        let without_model = self.last_turns(&entry, lightened, shares.summary);
        let lightened = lightened.clone();
        Some(SummaryPlan { entry, without_model, lightened, extent: SummaryExtent::All })
    }

    /// The entry that cuts the last rounds, where there is nothing else to leave out.
    fn cut_to_fit(&self, now: u64, mut entry: CompactionEntry) -> CompactionEntry {
        let (messages, shares) = (&self.conversation.messages, self.limits.shares(now));
        let output = shares.user_messages / LONG_OUTPUT;
        entry.cut_outputs = self.long_outputs(messages, output, entry.cut_outputs.take());
        match self.last_rounds(shares.last_rounds) {
            Some(start) => self.fitted(&messages[start..], shares.last_rounds, entry),
            None => entry,
        }
    }

    /// Has an entry cut the last rounds where they take more than so many tokens: calls and results to the
    /// same length, outputs of the user's commands, and of a response with more calls than there is room
    /// for the first.
    pub(super) fn fitted(
        &self,
        last: &[(EntryId, Message)],
        tokens: u64,
        mut entry: CompactionEntry,
    ) -> CompactionEntry {
        let results = last.iter().filter(|(_, message)| is_result(message));
        let results: Vec<EntryId> = results.map(|(id, _)| *id).collect();
        let size = self.estimator.messages(last.iter().map(|(_, message)| message));
        if size <= tokens {
            return entry;
        }
        entry.cut_outputs = self.long_outputs(last, tokens / LONG_OUTPUT, entry.cut_outputs.take());
        if results.is_empty() {
            return entry;
        }
        let most = (tokens / LEAST_CALL).max(LEAST_CALLS);
        let calls = results.len() as u64;
        let each = tokens / calls.min(most);
        let responses = self.with_long_calls(last, each / 2);
        let most = (calls > most).then(|| usize::try_from(most).unwrap_or(usize::MAX));
        let cut_calls = CutCalls { responses, chars: self.estimator.chars(each / 2), most };
        entry.cut_results = Some(CutResults { results, chars: self.estimator.chars(each / 2) });
        entry.cut_calls.extend(Some(cut_calls).filter(|cut| !cut.responses.is_empty()));
        entry
    }

    /// Where the last rounds begin that fit into so many tokens; at least one round stays.
    pub(super) fn last_rounds(&self, tokens: u64) -> Option<usize> {
        let messages = &self.conversation.messages;
        let (mut start, mut size) = (None, 0);
        for (at, (_, message)) in messages.iter().enumerate().rev() {
            size += self.estimator.message(message);
            if start.is_some() && size > tokens {
                break;
            }
            if !is_result(message) {
                start = Some(at);
            }
        }
        start.filter(|start| *start > 0)
    }

    /// The entry that leaves out what is before `start`, except what is the user's own: their first
    /// message, the last of all, unless that stands behind `start` anyway, and as many of the newest
    /// others as fit, with what they have shown the model by commands of their own.
    pub(super) fn kept_before(&self, start: usize, tokens: u64) -> CompactionEntry {
        let messages = &self.conversation.messages;
        let is_said = |it: &&(EntryId, Message)| is_the_users(&it.1);
        let first = messages[..start].iter().find(is_said);
        let last = messages.iter().rposition(|it| is_said(&it)).map(|at| messages[at].0);
        let output = tokens / LONG_OUTPUT;
        let mut size = first.map_or(0, |(_, message)| self.own_size(message, output));
        let mut kept: Vec<EntryId> = Vec::new();
        for it in messages[..start].iter().rev() {
            let (id, message) = it;
            if first.is_some_and(|(first, _)| first == id)
                || !is_the_users(message) && !is_output(message)
            {
                continue;
            }
            let own = self.own_size(message, output);
            if size + own <= tokens || Some(*id) == last {
                size += own;
                kept.push(*id);
            }
        }
        kept.extend(first.map(|(id, _)| *id));
        kept.reverse();
        let behind_all = || messages.last().map(|(id, _)| id.directly_behind());
        let first_kept = messages.get(start).map(|(id, _)| *id).or_else(behind_all);
        let cut_outputs = self.long_outputs(&messages[..start], output, None);
        CompactionEntry { first_kept, kept, cut_outputs, ..CompactionEntry::default() }
    }

    /// The size of what the user wrote themself, with the mark that stands before it, or of what is
    /// left of the output of their command.
    fn own_size(&self, message: &Message, output: u64) -> u64 {
        if is_output(message) {
            return self.estimator.message(message).min(output);
        }
        let own = users_own(message).cloned();
        let name = COMPACTION_CONTEXT.to_owned();
        let mark = ContentBlock::Context { name, text: NEXT_MESSAGE.to_owned() };
        let content = std::iter::once(mark).chain(own).collect();
        self.estimator.message(&Message { role: message.role, content })
    }

    /// The entry that leaves the last turns, as many of ten as fit and leave something out; else that
    /// of the summary.
    fn last_turns(
        &self,
        summary: &CompactionEntry,
        lightened: &CompactionEntry,
        note: u64,
    ) -> CompactionEntry {
        let messages = &self.conversation.messages;
        let begins: Vec<usize> = messages
            .iter()
            .enumerate()
            .filter(|(_, (_, message))| is_the_users(message))
            .map(|(at, _)| at)
            .collect();
        let room = self.limits.floor().saturating_sub(note);
        // Whole turns come first: older messages get no more than the turns themselves.
        let shares = self.limits.shares(self.size());
        let tokens = shares.user_messages.min(shares.last_rounds);
        let newest = begins.iter().skip(begins.len().saturating_sub(TURNS_KEPT));
        let candidates = newest.filter(|start| **start > 0).map(|start| {
            let entry = self.kept_before(*start, tokens);
            let long = self.limits.trigger() / LONG_PART;
            CompactionEntry {
                results_kept_from: lightened.results_kept_from,
                cut_results: lightened.cut_results.clone(),
                cut_outputs: self.long_outputs(&messages[*start..], long, entry.cut_outputs),
                cut_calls: lightened.cut_calls.clone(),
                ..entry
            }
        });
        let now = self.size();
        let fits = |entry: &CompactionEntry| {
            let after = self.size_after(entry);
            after <= room && after + WORTH_SUMMARY <= now
        };
        candidates.into_iter().find(fits).unwrap_or_else(|| summary.clone())
    }
}

/// A call as a line of a note shows it.
pub(super) fn shown_call(call: &ToolCall, cwd: &Path) -> String {
    let call = call.inner();
    let title = match &call.input {
        CallInput::Valid(input) => call_title(&call.name, input, cwd),
        CallInput::Invalid(_) => String::new(),
    };
    let title: String = title.lines().next().unwrap_or_default().chars().take(160).collect();
    format!("{} {title}", call.name).trim_end().to_owned()
}

/// Whether a message has something that the user wrote or attached.
pub(super) fn is_the_users(message: &Message) -> bool {
    users_own(message).next().is_some()
}

/// Whether a message is what the model says at the end of a turn.
fn is_answer(message: &Message) -> bool {
    message.role == MessageRole::Assistant && message.calls().next().is_none()
}

/// Whether a message holds the output of a command that the user ran.
pub(super) fn is_output(message: &Message) -> bool {
    message.content.iter().any(is_shell)
}

/// Whether a message holds the result of a call.
pub(super) fn is_result(message: &Message) -> bool {
    message.answers().next().is_some()
}

/// The ids of the calls that failed, as the message's results say.
fn failed_calls(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult { tool_use_id, is_error: true, .. } => Some(tool_use_id.as_str()),
        ContentBlock::ToolResult { .. }
        | ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_) => None,
    })
}

/// Where the results end that follow this message.
fn end_of_round(messages: &[(EntryId, Message)], at: usize) -> usize {
    let results = messages[at + 1..].iter().take_while(|(_, message)| is_result(message));
    at + 1 + results.count()
}

/// Whether a response and its results do nothing but look something up.
fn is_lookup_round(round: &[(EntryId, Message)]) -> bool {
    let Some(((_, response), results)) = round.split_first() else { return false };
    let calls: Vec<&ToolCall> = response.calls().collect();
    let answered = results.iter().flat_map(|(_, message)| message.answers());
    !calls.is_empty()
        && calls.iter().all(|call| kind_of(&call.inner().name).is_lookup())
        && response.text().len() <= LOOKUP_TEXT
        && answered.count() == calls.len()
        && !results.iter().any(|(_, message)| is_the_users(message))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
