//! Which tools the rules of the user deny wholly, for those who tell models what tools there are.
//!
//! This hides a tool and decides nothing: a call of it goes to the gate like any other.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

type DeniedToolTest = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The tools that are denied now, whatever their arguments are. Clones see the same; nothing is denied
/// until [`DeniedTools::set`].
#[derive(Clone, Default)]
pub struct DeniedTools(Arc<RwLock<Option<DeniedToolTest>>>);

impl DeniedTools {
    /// Asks `is_denied` from now on, with the name under which models call a tool.
    pub fn set(&self, is_denied: impl Fn(&str) -> bool + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(is_denied));
    }

    /// Whether every call of this tool is denied.
    pub fn has(&self, name: &str) -> bool {
        let is_denied = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        is_denied.is_some_and(|is_denied| is_denied(name))
    }
}

impl fmt::Debug for DeniedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeniedTools")
    }
}
