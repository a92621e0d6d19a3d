//! What a process host needs to keep all that it runs inside a sandbox.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::{SandboxBackend, SandboxSpec};
use crate::domain::SandboxProfile;

/// Says what a command sees, as the disk is now; why it cannot be said is a sentence.
pub type ProfileSource = Arc<dyn Fn() -> Result<SandboxProfile, String> + Send + Sync>;

/// A sandbox by some means, in which each command sees what there is when it starts.
pub(in crate::platform) struct HostSandboxPolicy {
    backend: SandboxBackend,
    profile_source: ProfileSource,
}

impl HostSandboxPolicy {
    pub(in crate::platform) fn new(means: SandboxBackend, looking: ProfileSource) -> Self {
        Self { backend: means, profile_source: looking }
    }

    /// A sandbox by the same means that shows what `narrow` makes of each view.
    pub(in crate::platform) fn narrowed(
        &self,
        narrow: impl Fn(SandboxProfile) -> SandboxProfile + Send + Sync + 'static,
    ) -> Self {
        let looking = self.profile_source.clone();
        let narrowed = Arc::new(move || looking().map(&narrow));
        Self { backend: self.backend.clone(), profile_source: narrowed }
    }

    /// The sandbox of a command that starts now.
    pub(in crate::platform) async fn current(&self) -> io::Result<SandboxSpec> {
        let looking = self.profile_source.clone();
        let looked = tokio::task::spawn_blocking(move || looking()).await;
        let view = looked.map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok(SandboxSpec { means: self.backend.clone(), view })
    }
}

impl fmt::Debug for HostSandboxPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeping").field("means", &self.backend).finish_non_exhaustive()
    }
}
