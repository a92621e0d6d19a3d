//! Newtypes for everything that has an identity.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Names one session; also the stem of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

/// Names one line of a session log. Version 7, so ids made later sort later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(Uuid);

/// Counts the turns of a session, from 1. Zero stands for what came before the first turn.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TurnId(pub u32);

/// The id that the provider, or slug where it gave none, put on a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(String);

/// SHA-256 of some content, as 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

/// Hashes a value piece by piece.
#[derive(Debug, Clone, Default)]
pub struct JsonHasher(Sha256);

impl SessionId {
    /// A new id, ordered by the time it was made.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl EntryId {
    /// A new id, ordered by the time it was made.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl TurnId {
    /// The turn after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CallId {
    /// Takes the id as the provider gave it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// An id of slug's own, for providers that give none.
    pub fn generate() -> Self {
        Self(format!("call_{}", Uuid::now_v7().simple()))
    }

    /// The id as sent back to the provider.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes that are gathered before they are hashed.
const HASHED_AT_ONCE: usize = 16 * 1024;

/// Hashes what is written.
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
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)))
    }

    /// The hash of what `value` is as JSON, which is never in memory as a whole.
    pub fn of_json(value: &impl Serialize) -> Self {
        let mut hasher = JsonHasher::default();
        hasher.json(value);
        hasher.hash()
    }

    /// The hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JsonHasher {
    /// Takes in what `value` is as JSON.
    pub fn json(&mut self, value: &impl Serialize) {
        let mut out = std::io::BufWriter::with_capacity(HASHED_AT_ONCE, HashWriter(&mut self.0));
        // A hasher takes everything; what cannot be serialised is hashed as far as it goes.
        let _ = serde_json::to_writer(&mut out, value);
    }

    /// Takes in some bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all that was taken in.
    pub fn hash(self) -> ContentHash {
        ContentHash(format!("{:x}", self.0.finalize()))
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
