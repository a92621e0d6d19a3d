//! Which scripts have left something running.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The texts of scripts, each for as long as something that it started still runs.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftRunning(Arc<Mutex<NumberedScripts>>);

#[derive(Debug, Default)]
struct NumberedScripts {
    next: u64,
    texts: BTreeMap<u64, String>,
}

/// Keeps a script in the list until it is dropped.
pub(super) struct LeftRunningGuard {
    list: LeftRunning,
    number: u64,
}

impl LeftRunning {
    pub(super) fn add(&self, text: String) -> LeftRunningGuard {
        let mut scripts = self.lock();
        let number = scripts.next;
        scripts.next += 1;
        scripts.texts.insert(number, text);
        LeftRunningGuard { list: self.clone(), number }
    }

    pub(super) fn texts(&self) -> Vec<String> {
        self.lock().texts.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, NumberedScripts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeftRunningGuard {
    fn drop(&mut self) {
        self.list.lock().texts.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_listed_until_its_guard_is_dropped() {
        let list = LeftRunning::default();
        let first = list.add("one".to_owned());
        let second = list.add("two".to_owned());
        assert_eq!(list.texts(), ["one", "two"]);
        drop(first);
        assert_eq!(list.texts(), ["two"]);
        drop(second);
        assert!(list.texts().is_empty());
    }
}
