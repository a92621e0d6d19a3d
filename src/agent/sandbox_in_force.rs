//! The sandbox that an agent's commands run in, and the way out of it.

use std::fmt;
use std::sync::Arc;

use crate::domain::SandboxSummary;
use crate::permissions::sandbox::ReadRules;
use crate::tools::Processes;

/// The sandbox that is in force, and how to run commands outside of it once the user has approved.
#[derive(Clone)]
pub struct SandboxInForce {
    /// The backend, folder and network of the sandbox.
    pub boundary: SandboxSummary,
    /// Runs commands outside of the sandbox.
    pub processes: Arc<dyn Processes>,
    /// The rules that the sandbox uses to hide files from the commands inside.
    pub read_rules: Arc<ReadRules>,
}

impl fmt::Debug for SandboxInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxInForce").field("boundary", &self.boundary).finish_non_exhaustive()
    }
}
