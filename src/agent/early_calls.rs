//! Calls that run while the response that holds them still streams, until their results count or are
//! dropped.
//!
//! A result counts only for the same call with the same arguments, and only as long as what was decided
//! about still is what the call touches. Until then nothing of it is in the log, on the screen or in the
//! ledger of what the model has read. Which calls start early is decided in `early_start`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::DropGuard;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{FileRead, ToolCall, ToolOutput};
use crate::permissions::PermissionQuery;
use crate::tools::{ReadLedger, ToolError};

/// The calls of one response that were started early.
#[derive(Default)]
pub(super) struct EarlyCalls {
    inner: Mutex<EarlyCallState>,
}

#[derive(Default)]
struct EarlyCallState {
    calls: Vec<EarlyCall>,
    /// How many calls of the response have been looked at.
    looked_at: usize,
    /// Whether no further call of the response starts early.
    is_closed: bool,
}

/// A call that was started early. Dropping it stops it.
pub(super) struct EarlyCall {
    /// With the tool's own name and arguments.
    pub(super) call: ToolCall,
    /// `None` of a call that may not run without a question after all.
    pub(super) running: AbortOnDropHandle<Option<EarlyResult>>,
    pub(super) _stop: DropGuard,
}

/// What an early call came to.
pub(super) struct EarlyResult {
    pub(super) output: Result<ToolOutput, ToolError>,
    pub(super) elapsed: Duration,
    /// What the call could touch when it ran.
    pub(super) query: PermissionQuery,
    /// Tells of each change of rules and mode since the decision.
    pub(super) changed: watch::Receiver<u64>,
}

impl EarlyCalls {
    /// The number of the call that is to be looked at next; `None` where no more calls start early.
    pub(super) fn next(&self) -> Option<usize> {
        let inner = self.lock();
        (!inner.is_closed).then_some(inner.looked_at)
    }

    /// Goes on to the next call, with this one started or not.
    pub(super) fn pass(&self, started: Option<EarlyCall>) {
        let mut inner = self.lock();
        inner.looked_at += 1;
        inner.calls.extend(started);
    }

    /// Starts no further call of this response.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Whether the same call was started.
    pub(super) fn has_same(&self, call: &ToolCall) -> bool {
        let same =
            |early: &EarlyCall| (&early.call.name, &early.call.input) == (&call.name, &call.input);
        self.lock().calls.iter().any(same)
    }

    /// How many calls of the response were started.
    pub(super) fn count(&self) -> usize {
        self.lock().calls.len()
    }

    /// Takes the call out, if exactly this one was started.
    pub(super) fn take(&self, call: &ToolCall) -> Option<EarlyCall> {
        let mut inner = self.lock();
        let at = inner.calls.iter().position(|early| early.call == *call)?;
        Some(inner.calls.swap_remove(at))
    }

    /// Stops and forgets all of them: the response is over, or void.
    pub(super) fn clear(&self) {
        *self.lock() = EarlyCallState::default();
    }

    fn lock(&self) -> MutexGuard<'_, EarlyCallState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EarlyCall {
    /// Its result, which from now on counts: `reads` gets what the model has read by it. `None` where
    /// the call has to run anew, because it touches something else `now` or was decided about by
    /// other rules.
    pub(super) async fn result(
        self,
        now: &PermissionQuery,
        reads: &ReadLedger,
    ) -> Option<(Result<ToolOutput, ToolError>, Duration)> {
        let done = self.running.await.ok().flatten()?;
        if done.query.fingerprint() != now.fingerprint()
            || !matches!(done.changed.has_changed(), Ok(false))
        {
            return None;
        }
        if let Ok(ToolOutput { read: Some(FileRead { path, hash }), .. }) = &done.output {
            reads.record_hash(path, hash.clone());
        }
        Some((done.output, done.elapsed))
    }
}
