//! Ids that tie answers to requests.

/// Ties an answer to its request. An answer to an older request is stale and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);
