//! The hosts that a command asked for and did not get, for its result to tell.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// As many are told.
const MOST: usize = 8;

/// What was refused so far; all clones are the same.
#[derive(Debug, Clone, Default)]
pub(in crate::platform) struct RefusedHosts(Arc<Mutex<BTreeSet<String>>>);

impl RefusedHosts {
    /// `host` is refused. What cannot be told any more is not kept.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn note(&self, host: String) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() <= MOST {
            hosts.insert(host);
        }
    }

    /// What was refused since this was last asked.
    pub(in crate::platform) fn take(&self) -> Vec<String> {
        let hosts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let more = (hosts.len() > MOST).then(|| "others".to_owned());
        hosts.into_iter().take(MOST).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_told_once_and_no_flood_of_them() {
        let refused = RefusedHosts::default();
        for host in ["b:80", "a:80", "b:80"] {
            refused.note(host.to_owned());
        }
        assert_eq!(refused.take(), ["a:80", "b:80"]);
        assert_eq!(refused.take(), Vec::<String>::new());
        (100..200).for_each(|port| refused.note(format!("a:{port}")));
        let told = refused.take();
        assert_eq!((told.len(), told.last().unwrap().as_str()), (MOST + 1, "others"));
    }
}
