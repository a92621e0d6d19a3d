//! Runs the calls of one response: reads side by side, everything else one after another in order.
//!
//! A call that changes something runs after every call before it; a read waits only for earlier
//! calls that write what it reads, so that an open question to the user delays no more calls than
//! necessary. A call whose effects are unknown runs alone.
//!
//! Questions are asked at once and in the order of the calls, and queue up on the user's side. A
//! question waits only when what it shows depends on an earlier call: one that changes the same
//! file, or the read that an edit requires before there is a diff to show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::domain::{CallInput, ToolAccess, ToolCall};
use crate::tools::{ToolRegistry, WorkingDirectory};

use super::approvals::ApprovalOrder;
use super::gate::{CallDependencies, ToolGate, execute_with_permission};

/// Runs `calls` to their results. All results are in the log when this returns.
pub(super) async fn run(gate: Arc<ToolGate>, calls: Vec<ToolCall>) {
    let footprints: Vec<CallFootprint> =
        calls.iter().map(|call| CallFootprint::of(call, &gate.registry, gate.place())).collect();
    let done: Vec<CancellationToken> = calls.iter().map(|_| CancellationToken::new()).collect();
    let asked: Vec<CancellationToken> = calls.iter().map(|_| CancellationToken::new()).collect();
    let running = calls.iter().enumerate().map(|(at, call)| {
        let earlier_that = |matters: fn(&CallFootprint, &CallFootprint) -> bool| {
            let earlier = footprints[..at].iter().zip(&done);
            earlier
                .filter(|(earlier, _)| matters(&footprints[at], earlier))
                .map(|(_, done)| done.clone())
                .collect()
        };
        let waits = CallDependencies {
            before_deciding: earlier_that(CallFootprint::is_asked_after),
            before_running: earlier_that(CallFootprint::waits_for),
            asking: ApprovalOrder { earlier: asked[..at].to_vec(), asked: asked[at].clone() },
        };
        let (gate, done, asked) = (&gate, &done[at], &asked[at]);
        async move {
            let _done = done.clone().drop_guard();
            let _asked = asked.clone().drop_guard();
            execute_with_permission(gate, call, waits).await;
        }
    });
    join_all(running).await;
}

/// What a call touches, as far as its order among other calls matters.
#[derive(Debug, PartialEq, Eq)]
enum CallFootprint {
    /// Changes nothing.
    Reads(Vec<PathBuf>),
    /// Changes these paths; with no path, it may change anything.
    Changes(Vec<PathBuf>),
    /// The effects of the call are unknown: it runs alone.
    Unknown,
}

impl CallFootprint {
    fn of(call: &ToolCall, registry: &ToolRegistry, place: &WorkingDirectory) -> Self {
        // A call that does not parse or names no tool fails in the gate without touching anything.
        let CallInput::Valid(input) = &call.input else { return Self::Reads(Vec::new()) };
        let Ok(accesses) = registry.get(&call.name).and_then(|tool| tool.access(input, place))
        else {
            return Self::Reads(Vec::new());
        };
        if accesses.is_empty() {
            Self::Unknown
        } else if accesses.iter().all(ToolAccess::is_read) {
            Self::Reads(accesses.iter().filter_map(path).map(Path::to_owned).collect())
        } else {
            Self::Changes(
                accesses
                    .iter()
                    .filter(|access| !access.is_read())
                    .filter_map(path)
                    .map(Path::to_owned)
                    .collect(),
            )
        }
    }

    fn waits_for(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Unknown | Self::Changes(_), _) | (_, Self::Unknown) => true,
            (Self::Reads(_), Self::Reads(_)) => false,
            (Self::Reads(_), Self::Changes(_)) => self.overlaps(earlier),
        }
    }

    fn is_asked_after(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Reads(_), Self::Reads(_)) | (Self::Unknown, _) | (_, Self::Unknown) => false,
            (Self::Reads(_), Self::Changes(_))
            | (Self::Changes(_), Self::Reads(_) | Self::Changes(_)) => self.overlaps(earlier),
        }
    }

    fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Reads(paths) | Self::Changes(paths) => paths,
            Self::Unknown => &[],
        }
    }

    /// Whether both touch the same path, or one touches a folder that holds the other's.
    fn overlaps(&self, earlier: &Self) -> bool {
        let (mine, theirs) = (self.paths(), earlier.paths());
        mine.iter().any(|mine| {
            theirs.iter().any(|theirs| mine.starts_with(theirs) || theirs.starts_with(mine))
        })
    }
}

fn path(access: &ToolAccess) -> Option<&Path> {
    match access {
        ToolAccess::Read(path) | ToolAccess::Write(path) => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(path: &str) -> CallFootprint {
        CallFootprint::Reads(vec![path.into()])
    }

    fn writes(path: &str) -> CallFootprint {
        CallFootprint::Changes(vec![path.into()])
    }

    #[test]
    fn a_call_waits_only_for_calls_it_depends_on() {
        let command = CallFootprint::Changes(Vec::new());
        for (later, earlier, waits) in [
            (reads("/w/a"), reads("/w/a"), false),
            (reads("/w/a"), writes("/w/a"), true),
            (reads("/w"), writes("/w/a"), true),
            (reads("/w/ab"), writes("/w/a"), false),
            (reads("/w/a"), CallFootprint::Changes(Vec::new()), false),
            (writes("/w/a"), reads("/w/b"), true),
            (writes("/w/a"), writes("/w/b"), true),
            (CallFootprint::Changes(Vec::new()), command, true),
            (CallFootprint::Unknown, reads("/w/a"), true),
            (reads("/w/a"), CallFootprint::Unknown, true),
        ] {
            assert_eq!(later.waits_for(&earlier), waits, "{later:?} after {earlier:?}");
        }
    }

    #[test]
    fn a_question_waits_for_what_it_shows() {
        let command = || CallFootprint::Changes(Vec::new());
        for (later, earlier, waits) in [
            (writes("/w/a"), reads("/w/a"), true),
            (writes("/w/a"), writes("/w/a"), true),
            (writes("/w/a"), reads("/w/b"), false),
            (writes("/w/a"), command(), false),
            (reads("/w/a"), reads("/w/a"), false),
            (command(), reads("/w/a"), false),
        ] {
            assert_eq!(later.is_asked_after(&earlier), waits, "{later:?} after {earlier:?}");
        }
    }
}
