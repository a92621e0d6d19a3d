//! Who can be asked while a server works on calls: the user of the newest call. Without a call nobody is
//! asked, and a server does not ask without end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use tokio_util::sync::CancellationToken;

use crate::tools::AskUser;

use super::elicitation;

/// How often a server may ask during one call.
const MAX_ASKED: usize = 10;

/// The calls that a server works on.
#[derive(Default)]
pub(super) struct McpCallers {
    calls: Mutex<Vec<RunningCaller>>,
    /// The number of questions that wait for the user.
    asking: AtomicUsize,
    /// One question at a time.
    turn: tokio::sync::Mutex<()>,
}

struct RunningCaller {
    user: Arc<dyn AskUser>,
    /// Cancelled when the call is over.
    over: CancellationToken,
    asked: usize,
}

/// A call that a server works on, until it is dropped.
pub(super) struct CallerGuard<'a> {
    callers: &'a McpCallers,
    over: CancellationToken,
}

/// Counts a question that waits for the user, until it is dropped.
struct AskingGuard<'a>(&'a AtomicUsize);

impl McpCallers {
    /// Adds the user of a call.
    pub(super) fn add(&self, user: Arc<dyn AskUser>) -> CallerGuard<'_> {
        let over = CancellationToken::new();
        self.calls().push(RunningCaller { user, over: over.clone(), asked: 0 });
        CallerGuard { callers: self, over }
    }

    /// Whether a question waits for the user.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    /// Puts what `server` asks to the user of the newest call.
    pub(super) async fn ask(&self, server: &str, request: &ElicitRequestParams) -> ElicitResult {
        let caller = self.calls().last_mut().map(|call| {
            call.asked += 1;
            (call.user.clone(), call.over.clone(), call.asked)
        });
        let Some((user, over, asked)) = caller.filter(|(_, _, asked)| *asked <= MAX_ASKED) else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        tracing::debug!(asked, "an MCP server asks the user");
        self.asking.fetch_add(1, Ordering::AcqRel);
        let _asking = AskingGuard(&self.asking);
        let answered = async {
            let _turn = self.turn.lock().await;
            elicitation::answer(server, request, &*user).await
        };
        let answered = over.run_until_cancelled(answered).await;
        answered.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel))
    }

    fn calls(&self) -> MutexGuard<'_, Vec<RunningCaller>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerGuard<'_> {
    fn drop(&mut self) {
        self.over.cancel();
        self.callers.calls().retain(|call| !call.over.is_cancelled());
    }
}

impl Drop for AskingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
