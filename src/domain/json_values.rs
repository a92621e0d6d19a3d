//! Counts the values of a JSON text before it is parsed.
//!
//! A value takes far more memory than bytes: ten megabytes of `0,` become hundreds in a tree. So what
//! others write is counted first, by the signs between its values, and refused where they are too many.

use serde::de::DeserializeOwned;

/// The most values of a text that slug reads as JSON; no real call or message comes near.
pub const MAX_JSON_VALUES: usize = 200_000;

/// Counts values in bytes that may come in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonValueCount {
    signs: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonValueCount {
    /// Adds the next bytes of a text.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                b',' | b'[' | b'{' if !self.in_string => self.signs += 1,
                _ => {}
            }
        }
    }

    /// Whether there are more values than `limit`; never where a valid text has fewer.
    pub fn is_over(self, limit: usize) -> bool {
        // Each value but the first follows one of the signs.
        self.signs > limit
    }
}

/// Whether a JSON text has more values than `limit`.
pub fn has_more_values(text: &[u8], limit: usize) -> bool {
    // Each has a byte of its own at least.
    text.len() > limit && {
        let mut count = JsonValueCount::default();
        count.add(text);
        count.is_over(limit)
    }
}

/// Reads a JSON text of others; `None` where it is not one, has another form, or too many values.
pub fn read_counted<T: DeserializeOwned>(text: &str) -> Option<T> {
    match has_more_values(text.as_bytes(), MAX_JSON_VALUES) {
        true => None,
        false => serde_json::from_str(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn many_small_values_are_counted_and_long_texts_are_not() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(has_more_values(zeros(MAX_JSON_VALUES).as_bytes(), MAX_JSON_VALUES));
        assert!(!has_more_values(zeros(1000).as_bytes(), MAX_JSON_VALUES));
        for hostile in ["[[],", "{\"a\":{},", "[null,", "[\"\\\"\\\\\","] {
            let text = hostile.repeat(MAX_JSON_VALUES / 2 + 1);
            assert!(has_more_values(text.as_bytes(), MAX_JSON_VALUES), "{hostile}");
        }
        // A file of many columns that is written is one value.
        let file = serde_json::json!({"content": "a,\"b\",{[\\".repeat(MAX_JSON_VALUES)});
        assert!(!has_more_values(file.to_string().as_bytes(), MAX_JSON_VALUES));
        assert_eq!(read_counted::<Value>(&file.to_string()), Some(file));
        assert_eq!(read_counted::<Value>(&zeros(MAX_JSON_VALUES)), None);
    }

    fn values(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(values).sum(),
            Value::Object(fields) => fields.values().map(values).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn pieces_count_as_the_whole(text in "[\\[\\]{}:,\"\\\\a0 ]{0,40}", at in 0_usize..40) {
            let (mut whole, mut parts) = (JsonValueCount::default(), JsonValueCount::default());
            whole.add(text.as_bytes());
            let at = at.min(text.len());
            parts.add(&text.as_bytes()[..at]);
            parts.add(&text.as_bytes()[at..]);
            prop_assert_eq!(whole.signs, parts.signs);
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                // Repeated keys are one value in the tree, and an empty list has a sign.
                prop_assert!(whole.signs + 1 >= values(&value));
            }
        }
    }
}
