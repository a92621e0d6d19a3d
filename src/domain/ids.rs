//! Newtypes for everything that has an identity.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Identifies one agent of this process. An agent keeps its id while it opens one session after
/// another, so the id says who speaks and a [`SessionId`] says about what. It is in no log: after a
/// restart, the same session has an agent with another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct AgentId(pub u64);

/// Identifies one session; also the stem of its file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SessionId(Uuid);

/// Identifies one line of a session log. A version 7 UUID, so later ids sort later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct EntryId(Uuid);

/// Counts the turns of a session from 1, as in its log. Zero stands for everything before the first
/// turn. Among several agents, a turn is known by its agent and this number together.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TurnId(pub u32);

/// The id of a tool call: the provider's, or one that slug made if the provider gave none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CallId(String);

/// SHA-256 of some content, as 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ContentHash(String);

/// Hashes several values one after another into one [`ContentHash`].
#[derive(Debug, Clone, Default)]
pub struct JsonHasher(Sha256);

/// The id of the next agent.
static NEXT_AGENT: AtomicU64 = AtomicU64::new(1);

impl AgentId {
    /// A new id, higher than all earlier ones of this process.
    pub fn generate() -> Self {
        Self(NEXT_AGENT.fetch_add(1, Ordering::Relaxed))
    }
}

impl SessionId {
    /// A new id that sorts after all earlier ones.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl EntryId {
    /// A new id that sorts after all earlier ones.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl EntryId {
    /// The id that sorts directly behind this one: before all that are generated later.
    pub fn directly_behind(self) -> Self {
        Self(Uuid::from_u128(self.0.as_u128().saturating_add(1)))
    }
}

impl TurnId {
    /// The turn after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CallId {
    /// Wraps the id that the provider gave.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// A new id of slug's own, for providers that give none.
    pub fn generate() -> Self {
        Self(format!("call_{}", Uuid::now_v7().simple()))
    }

    /// The id as it is sent back to the provider.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Size of the write buffer in front of the hasher, in bytes.
const HASHED_AT_ONCE: usize = 16 * 1024;

/// Feeds everything that is written into the hasher.
struct HashWriter<'h>(&'h mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl ContentHash {
    /// The SHA-256 hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)))
    }

    /// The hash of `value` as JSON. The JSON text is never in memory as a whole.
    pub fn of_json(value: &impl Serialize) -> Self {
        let mut hasher = JsonHasher::default();
        hasher.json(value);
        hasher.hash()
    }

    /// The hash as 64 lowercase hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JsonHasher {
    /// Adds `value`, as JSON, to what is hashed.
    pub fn json(&mut self, value: &impl Serialize) {
        let mut out = std::io::BufWriter::with_capacity(HASHED_AT_ONCE, HashWriter(&mut self.0));
        // Writing to a hasher cannot fail. A value that cannot be serialised is hashed up to that
        // point.
        let _ = serde_json::to_writer(&mut out, value);
    }

    /// Adds `bytes` to what is hashed.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of everything that was added.
    pub fn hash(self) -> ContentHash {
        ContentHash(format!("{:x}", self.0.finalize()))
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Uuid> for SessionId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl From<Uuid> for EntryId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::from_str(text).map(Self)
    }
}

impl FromStr for EntryId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::from_str(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_hash_of_its_json() {
        let value = serde_json::json!({"a": ["x".repeat(HASHED_AT_ONCE), "é"], "b": 1.5});
        assert_eq!(ContentHash::of_json(&value), ContentHash::of(value.to_string().as_bytes()));
    }
}
