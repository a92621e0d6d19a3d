//! The sandbox of a process host: a backend, and the profile for each command; and what protected places
//! are new once a command has ended.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{SandboxBackend, SandboxSpec};
use crate::domain::SandboxProfile;
use crate::domain::sanitize::sanitize_line;

/// Makes a command's profile from the current state of the disk; the error is a sentence.
pub type ProfileSource = Arc<dyn Fn() -> Result<SandboxProfile, String> + Send + Sync>;

/// A backend, and the source of a profile for each command that starts.
pub(in crate::platform) struct HostSandboxPolicy {
    backend: SandboxBackend,
    profile_source: ProfileSource,
    /// The protected places that existed at the last look, before the first command; `None` inside where
    /// nobody has looked, and outside where no command can make any.
    known: Option<Arc<Mutex<Option<BTreeSet<PathBuf>>>>>,
}

impl HostSandboxPolicy {
    pub(in crate::platform) fn new(backend: SandboxBackend, profile_source: ProfileSource) -> Self {
        Self { backend, profile_source, known: Some(Arc::default()) }
    }

    /// The same backend with profiles that `narrow` changes.
    pub(in crate::platform) fn narrowed(
        &self,
        narrow: impl Fn(SandboxProfile) -> SandboxProfile + Send + Sync + 'static,
    ) -> Self {
        let source = self.profile_source.clone();
        let narrowed = Arc::new(move || source().map(&narrow));
        Self { backend: self.backend.clone(), profile_source: narrowed, known: None }
    }

    /// The sandbox of a command that starts now.
    pub(in crate::platform) async fn current(&self) -> io::Result<SandboxSpec> {
        let source = self.profile_source.clone();
        let profile = tokio::task::spawn_blocking(move || source()).await;
        let view = profile.map_err(io::Error::other)?.map_err(io::Error::other)?;
        if let Some(known) = &self.known {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert_with(|| view.fixed.iter().cloned().collect());
        }
        Ok(SandboxSpec { means: self.backend.clone(), view })
    }

    /// The protected places that are there now and were not at the last look, by their paths in the
    /// sandbox's folder. Of a disk that cannot be looked at, the next command says why it does not start.
    pub(in crate::platform) async fn made(&self) -> Vec<String> {
        let Some(known) = &self.known else { return Vec::new() };
        let source = self.profile_source.clone();
        let Ok(Ok(view)) = tokio::task::spawn_blocking(move || source()).await else {
            return Vec::new();
        };
        let now: BTreeSet<PathBuf> = view.fixed.into_iter().collect();
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.replace(now.clone()).unwrap_or_else(|| now.clone());
        let new = now.difference(&before).map(|path| path.strip_prefix(&view.dir).unwrap_or(path));
        new.map(|path| sanitize_line(&path.display().to_string())).collect()
    }
}

impl fmt::Debug for HostSandboxPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSandboxPolicy").field("backend", &self.backend).finish_non_exhaustive()
    }
}
