//! The order of calls of a session's agents where one may change what another was judged by: put links into
//! its paths, or change the program that it runs. Calls of one agent are decided one after the other; agents
//! run beside each other, so a command that may put links somewhere (`git checkout`, `cp -r`, `mv`), and a
//! change of a file, waits until no command runs that opens what its words name, and the other way round. A
//! program that can do anything waits for nobody: whatever allows it has said so. Commands in the
//! background are judged as if paths changed beside them.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::permissions::{PermissionQuery, ResolvedAccess};

/// One for all agents of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct PathOrder(Arc<RwLock<()>>);

/// Held while a call runs.
#[derive(Debug)]
pub(super) enum PathOrderGuard {
    Changes { _alone: OwnedRwLockWriteGuard<()> },
    Opens { _beside: OwnedRwLockReadGuard<()> },
    Free,
}

impl PathOrder {
    /// Waits until the call may run. What it was decided by has to be looked at again then.
    pub(super) async fn wait(&self, query: &PermissionQuery) -> PathOrderGuard {
        let runs = || query.accesses.iter().filter_map(ResolvedAccess::run);
        let writes = query.accesses.iter().any(|it| matches!(it, ResolvedAccess::Write(_)));
        if writes || runs().any(|run| run.moves_links()) {
            return PathOrderGuard::Changes { _alone: self.0.clone().write_owned().await };
        }
        if runs().any(|run| run.opens_named_paths()) {
            return PathOrderGuard::Opens { _beside: self.0.clone().read_owned().await };
        }
        PathOrderGuard::Free
    }
}
