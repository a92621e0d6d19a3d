//! What a process host needs to keep all that it runs inside a sandbox.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::{Confinement, Means};
use crate::domain::View;

/// Says what a command sees, as the disk is now; why it cannot be said is a sentence.
pub type Looking = Arc<dyn Fn() -> Result<View, String> + Send + Sync>;

/// A sandbox by some means, in which each command sees what there is when it starts.
pub(in crate::platform) struct Keeping {
    means: Means,
    looking: Looking,
}

impl Keeping {
    pub(in crate::platform) fn new(means: Means, looking: Looking) -> Self {
        Self { means, looking }
    }

    /// A sandbox by the same means that shows what `narrow` makes of each view.
    pub(in crate::platform) fn narrowed(
        &self,
        narrow: impl Fn(View) -> View + Send + Sync + 'static,
    ) -> Self {
        let looking = self.looking.clone();
        let narrowed = Arc::new(move || looking().map(&narrow));
        Self { means: self.means.clone(), looking: narrowed }
    }

    /// The sandbox of a command that starts now.
    pub(in crate::platform) async fn now(&self) -> io::Result<Confinement> {
        let looking = self.looking.clone();
        let looked = tokio::task::spawn_blocking(move || looking()).await;
        let view = looked.map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok(Confinement { means: self.means.clone(), view })
    }
}

impl fmt::Debug for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeping").field("means", &self.means).finish_non_exhaustive()
    }
}
