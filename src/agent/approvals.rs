//! Questions that wait for the user's answer, and the order in which calls may ask them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::domain::{ApprovalAnswer, ApprovalId, QuestionAnswer};

/// The id of the next question. Agents share it: an answer that reaches the wrong agent finds no
/// question there.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The open questions of an agent about permissions.
pub(super) type PendingApprovals = PendingAnswers<ApprovalAnswer>;
/// The open questions of the model's own.
pub(super) type PendingQuestions = PendingAnswers<Vec<QuestionAnswer>>;

/// Open questions of an agent, whose answers are of one type.
#[derive(Debug)]
pub(super) struct PendingAnswers<A> {
    waiting: Mutex<HashMap<ApprovalId, oneshot::Sender<A>>>,
}

/// When a call may ask: once each earlier call has asked, or will not ask. Without this, calls that
/// are decided faster would ask first, and the user answers in the order in which the calls are on
/// screen.
#[derive(Debug, Default)]
pub(super) struct ApprovalOrder {
    /// The earlier calls. Each token is cancelled when its call has asked, or will not ask.
    pub(super) earlier: Vec<CancellationToken>,
    /// Cancelled when this call has asked, or will not ask.
    pub(super) asked: CancellationToken,
}

/// The question that a call waits for, so that it can be withdrawn when the wait is cut short.
#[derive(Debug)]
pub(super) struct ApprovalWait {
    open: Mutex<Option<ApprovalId>>,
    order: ApprovalOrder,
}

impl ApprovalWait {
    /// A call that has asked nothing yet.
    pub(super) fn new(order: ApprovalOrder) -> Self {
        Self { open: Mutex::default(), order }
    }

    /// Waits until it is this call's turn to ask.
    pub(super) async fn turn(&self) {
        for earlier in &self.order.earlier {
            earlier.cancelled().await;
        }
    }

    /// Notes which question the call waits for.
    pub(super) fn begin(&self, id: ApprovalId) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    /// Lets later calls ask: this one has asked, or will not.
    pub(super) fn let_others_ask(&self) {
        self.order.asked.cancel();
    }

    /// Notes that the call waits no more. Returns the question it waited for, if any.
    pub(super) fn end(&self) -> Option<ApprovalId> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<A> Default for PendingAnswers<A> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<A> PendingAnswers<A> {
    /// Opens a question. Dropping the receiver closes it.
    pub(super) fn open(&self) -> (ApprovalId, oneshot::Receiver<A>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        waiting.retain(|_, waiting| !waiting.is_closed());
        let id = ApprovalId(NEXT_ID.fetch_add(1, Ordering::Relaxed));
        waiting.insert(id, sender);
        (id, receiver)
    }

    /// Hands the answer to the call that asked. An answer to a question that is no longer open does
    /// nothing.
    pub(super) fn answer(&self, id: ApprovalId, answer: A) {
        let waiting = self.lock().remove(&id);
        if let Some(sender) = waiting
            && sender.send(answer).is_err()
        {
            tracing::debug!(id = id.0, "the answer came after its question was withdrawn");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalId, oneshot::Sender<A>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_its_question_alone() {
        let approvals = PendingApprovals::default();
        let (first, mut one) = approvals.open();
        let (second, two) = approvals.open();
        assert_ne!(first, second);
        approvals.answer(second, ApprovalAnswer::Once);
        assert_eq!(two.await, Ok(ApprovalAnswer::Once));
        assert!(one.try_recv().is_err());
    }

    #[test]
    fn a_stale_answer_does_nothing() {
        let approvals = PendingApprovals::default();
        let (id, receiver) = approvals.open();
        drop(receiver);
        approvals.answer(id, ApprovalAnswer::Once);
        approvals.answer(id, ApprovalAnswer::Once);
    }
}
