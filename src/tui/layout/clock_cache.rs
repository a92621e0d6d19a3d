//! A cache that is bounded in bytes. It evicts by the clock algorithm (entries that were not used
//! since the last sweep go first), so that a hit costs one look into a hash map.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Values by key. Each can be computed again, so any may be evicted.
#[derive(Debug)]
pub(super) struct ClockCache<K, V> {
    entries: HashMap<K, ClockCacheEntry<V>>,
    /// Every key once, the oldest first.
    ring: VecDeque<K>,
    bytes: usize,
    limit: usize,
}

#[derive(Debug)]
struct ClockCacheEntry<V> {
    value: V,
    bytes: usize,
    used: bool,
}

impl<K: Copy + Eq + Hash, V> ClockCache<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), ring: VecDeque::new(), bytes: 0, limit }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        entry.used = true;
        Some(&entry.value)
    }

    /// Stores a value of this many bytes. The newest value stays even if it alone exceeds the
    /// limit.
    pub(super) fn insert(&mut self, key: K, value: V, bytes: usize) {
        self.bytes += bytes;
        match self.entries.insert(key, ClockCacheEntry { value, bytes, used: true }) {
            Some(old) => self.bytes -= old.bytes,
            None => self.ring.push_back(key),
        }
        self.evict(&key);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn evict(&mut self, newest: &K) {
        while self.bytes > self.limit && self.ring.len() > 1 {
            let Some(key) = self.ring.pop_front() else { return };
            match self.entries.get_mut(&key) {
                Some(entry) if entry.used && key != *newest => {
                    entry.used = false;
                    self.ring.push_back(key);
                }
                Some(_) if key == *newest => self.ring.push_back(key),
                Some(_) | None => {
                    self.bytes -= self.entries.remove(&key).map_or(0, |entry| entry.bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_values_stay_and_others_are_evicted() {
        let mut cache = ClockCache::new(30);
        for key in 0..3 {
            cache.insert(key, key, 10);
        }
        cache.insert(3, 3, 10);
        assert_eq!((cache.get(&0).copied(), cache.bytes()), (None, 30));
        assert_eq!(cache.get(&1).copied(), Some(1));
        cache.insert(4, 4, 10);
        assert_eq!(cache.get(&1).copied(), Some(1));
        assert_eq!(cache.get(&2).copied(), None);
    }

    #[test]
    fn a_value_takes_the_place_of_the_one_before() {
        let mut cache = ClockCache::new(30);
        cache.insert(1, "a", 10);
        cache.insert(1, "b", 20);
        assert_eq!((cache.get(&1).copied(), cache.bytes()), (Some("b"), 20));
    }

    #[test]
    fn the_newest_is_kept_whatever_its_size() {
        let mut cache = ClockCache::new(30);
        cache.insert(1, 1, 10);
        cache.insert(2, 2, 100);
        assert_eq!((cache.get(&1).copied(), cache.get(&2).copied()), (None, Some(2)));
    }
}
