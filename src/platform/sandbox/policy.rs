//! The sandbox of a process host: a backend, and the profile for each command.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::{SandboxBackend, SandboxSpec};
use crate::domain::SandboxProfile;

/// Makes a command's profile from the current state of the disk; the error is a sentence.
pub type ProfileSource = Arc<dyn Fn() -> Result<SandboxProfile, String> + Send + Sync>;

/// A backend, and the source of a profile for each command that starts.
pub(in crate::platform) struct HostSandboxPolicy {
    backend: SandboxBackend,
    profile_source: ProfileSource,
}

impl HostSandboxPolicy {
    pub(in crate::platform) fn new(backend: SandboxBackend, profile_source: ProfileSource) -> Self {
        Self { backend, profile_source }
    }

    /// The same backend with profiles that `narrow` changes.
    pub(in crate::platform) fn narrowed(
        &self,
        narrow: impl Fn(SandboxProfile) -> SandboxProfile + Send + Sync + 'static,
    ) -> Self {
        let source = self.profile_source.clone();
        let narrowed = Arc::new(move || source().map(&narrow));
        Self { backend: self.backend.clone(), profile_source: narrowed }
    }

    /// The sandbox of a command that starts now.
    pub(in crate::platform) async fn current(&self) -> io::Result<SandboxSpec> {
        let source = self.profile_source.clone();
        let profile = tokio::task::spawn_blocking(move || source()).await;
        let view = profile.map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok(SandboxSpec { means: self.backend.clone(), view })
    }
}

impl fmt::Debug for HostSandboxPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSandboxPolicy").field("backend", &self.backend).finish_non_exhaustive()
    }
}
