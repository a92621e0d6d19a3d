//! Ids that tie answers to requests.

/// Ties an answer to its request. An answer to an older request is stale and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Gives out ids, each once while slug runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounter {
    last: u64,
}

impl RequestCounter {
    /// A new id.
    pub fn issue(&mut self) -> RequestId {
        self.last += 1;
        RequestId(self.last)
    }
}
