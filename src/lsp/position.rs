//! Columns as servers count them: in bytes of UTF-8, in units of UTF-16, or in characters.

use serde_json::Value;

/// How a server counts columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LspEncoding {
    Utf8,
    Utf16,
    Utf32,
}

/// A place in a text as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LspPosition {
    /// From 0.
    pub(super) line: u32,
    /// From 0, in the server's own units.
    pub(super) column: u32,
}

impl LspEncoding {
    /// The encoding that an answer to `initialize` names; without one it is UTF-16, as the protocol says.
    pub(super) fn of(capabilities: &Value) -> Self {
        match capabilities.get("positionEncoding").and_then(Value::as_str) {
            Some("utf-8") => Self::Utf8,
            Some("utf-32") => Self::Utf32,
            Some(_) | None => Self::Utf16,
        }
    }

    /// The column of the byte at `byte` in `line`. What is behind the end means the end.
    pub(super) fn column(self, line: &str, byte: usize) -> u32 {
        let before = &line[..line.floor_char_boundary(byte.min(line.len()))];
        let count = match self {
            Self::Utf8 => before.len(),
            Self::Utf16 => before.chars().map(char::len_utf16).sum(),
            Self::Utf32 => before.chars().count(),
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The byte in `line` that a column means: the reverse of [`Self::column`]. A column inside of a
    /// character means its start.
    pub(super) fn byte(self, line: &str, column: u32) -> usize {
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        if self == Self::Utf8 {
            return line.floor_char_boundary(column.min(line.len()));
        }
        let mut count = 0;
        for (byte, c) in line.char_indices() {
            count += if self == Self::Utf16 { c.len_utf16() } else { 1 };
            if count > column {
                return byte;
            }
        }
        line.len()
    }
}

impl LspPosition {
    /// Reads a position; `None` where it is none.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key)?.as_u64().and_then(|it| u32::try_from(it).ok());
        Some(Self { line: number("line")?, column: number("character")? })
    }

    pub(super) fn json(self) -> Value {
        serde_json::json!({"line": self.line, "character": self.column})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_counted_in_the_servers_units() {
        let line = "aä😀b";
        for (encoding, columns) in [
            (LspEncoding::Utf8, [0, 1, 3, 7, 8]),
            (LspEncoding::Utf16, [0, 1, 2, 4, 5]),
            (LspEncoding::Utf32, [0, 1, 2, 3, 4]),
        ] {
            for (byte, column) in [0, 1, 3, 7, 8].into_iter().zip(columns) {
                assert_eq!(encoding.column(line, byte), column, "{encoding:?} {byte}");
                assert_eq!(encoding.byte(line, column), byte, "{encoding:?} {column}");
            }
            assert_eq!(encoding.column(line, 99), columns[4], "clamped");
            assert_eq!(encoding.column(line, 2), columns[1], "inside of a character");
            assert_eq!(encoding.byte(line, 99), 8, "clamped");
        }
    }

    #[test]
    fn the_encoding_is_the_one_that_the_server_names() {
        for (capabilities, encoding) in [
            (json!({}), LspEncoding::Utf16),
            (json!({"positionEncoding": "utf-8"}), LspEncoding::Utf8),
            (json!({"positionEncoding": "utf-32"}), LspEncoding::Utf32),
            (json!({"positionEncoding": 8}), LspEncoding::Utf16),
        ] {
            assert_eq!(LspEncoding::of(&capabilities), encoding, "{capabilities}");
        }
        assert_eq!(LspPosition::read(&json!({"line": 1, "character": -1})), None);
    }
}
