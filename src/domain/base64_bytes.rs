//! Bytes as a base64 text in JSON, for `#[serde(with = "base64_bytes")]`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes the bytes as base64 with padding (RFC 4648, section 4).
///
/// # Errors
///
/// Only those of the serializer.
pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

/// Reads base64 with padding.
///
/// # Errors
///
/// A text that is not base64, and those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
}
