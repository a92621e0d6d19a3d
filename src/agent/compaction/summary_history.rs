//! What of a conversation goes with the request for its summary: all of it where that fits, which a
//! server has read already; else without what the first stages leave out; else the newest part, with the
//! user's own messages and the note of the compaction before. Pure.

use crate::session::{CompactionEntry, CompactionNote, ReplayedConversation};

use super::limits::{MIN_PART, RequestLimits};
use super::note::last_note;
use super::plan::{CompactionTrigger, MeasuredConversation, SummaryExtent, SummaryPlan};
use super::summary_text;

/// What the model reads where the older part is missing.
const OLDER_PART: &str = "A note of slug's: an older part of the conversation is left out here, because the context \
                          window has no room for it.";

/// The conversation that a request for a summary is about, and how much of it that is. `None` where
/// there is no room for a useful part.
pub(in crate::agent) fn summary_history(
    measured: MeasuredConversation<'_>,
    plan: &SummaryPlan,
    trigger: CompactionTrigger,
) -> Option<(ReplayedConversation, SummaryExtent)> {
    let room = SummaryRoom { trigger, limits: measured.limits, summary: measured.summary_tokens() };
    // What the server has refused is not sent to it again.
    if trigger != CompactionTrigger::Refused && room.fits(measured.size()) {
        return Some((measured.conversation.clone(), SummaryExtent::All));
    }
    let lightened = measured.conversation.compacted(&plan.lightened);
    let measured = MeasuredConversation { conversation: &lightened, ..measured };
    if room.fits(measured.size()) {
        return Some((lightened, SummaryExtent::All));
    }
    newest(measured, room).map(|newest| (newest, SummaryExtent::Newest))
}

/// The room for a conversation beside the instruction and the summary.
#[derive(Clone, Copy)]
struct SummaryRoom<'a> {
    trigger: CompactionTrigger,
    limits: &'a RequestLimits,
    summary: u64,
}

impl SummaryRoom<'_> {
    fn fits(self, size: u64) -> bool {
        size <= self.tokens()
    }

    fn tokens(self) -> u64 {
        let answer = u64::from(summary_text::output_limit(self.summary));
        let has_refused = self.trigger == CompactionTrigger::Refused;
        self.limits.room_beside(answer + summary_text::INSTRUCTION_TOKENS, has_refused)
    }
}

/// The newest part that fits. At first it gets what the fixed part leaves, then less, since the user's
/// messages come on top.
fn newest(
    measured: MeasuredConversation<'_>,
    room: SummaryRoom<'_>,
) -> Option<ReplayedConversation> {
    let messages = &measured.conversation.messages;
    let own = measured.limits.shares(measured.size()).user_messages;
    let chars = measured.estimator.chars(room.summary);
    let earlier = last_note(messages.iter().map(|(_, message)| message)).unwrap_or_default();
    let earlier: String = earlier.chars().take(chars).collect();
    let text = format!("{OLDER_PART}\n\n{earlier}").trim_end().to_owned();
    let note = CompactionNote { text, ..CompactionNote::default() };
    let mut tokens = room.tokens().saturating_sub(measured.limits.fixed);
    while tokens >= MIN_PART {
        if let Some(start) = measured.last_rounds(tokens) {
            let entry = measured.kept_before(start, own);
            let entry = CompactionEntry { note: Some(note.clone()), ..entry };
            let entry = measured.fitted(&messages[start..], tokens, entry);
            let after = measured.conversation.compacted(&entry);
            if room.fits(MeasuredConversation { conversation: &after, ..measured }.size()) {
                return Some(after);
            }
        }
        tokens -= tokens / 4;
    }
    None
}
