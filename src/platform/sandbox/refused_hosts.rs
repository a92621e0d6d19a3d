//! Collects the hosts that the sandbox kept a command from reaching, for the command's result.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most hosts that are listed.
const MOST: usize = 8;

/// The hosts that were refused so far; all clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::platform) struct RefusedHosts(Arc<Mutex<BTreeSet<String>>>);

impl RefusedHosts {
    /// Adds a refused host. Hosts beyond the limit are not kept.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn note(&self, host: String) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() <= MOST {
            hosts.insert(host);
        }
    }

    /// The hosts that were refused since the last call; more than the limit end with "others".
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
    fn each_host_is_listed_once_up_to_a_limit() {
        let refused = RefusedHosts::default();
        for host in ["b:80", "a:80", "b:80"] {
            refused.note(host.to_owned());
        }
        assert_eq!(refused.take(), ["a:80", "b:80"]);
        assert_eq!(refused.take(), Vec::<String>::new());
        (100..200).for_each(|port| refused.note(format!("a:{port}")));
        let hosts = refused.take();
        assert_eq!((hosts.len(), hosts.last().unwrap().as_str()), (MOST + 1, "others"));
    }
}
