//! Decodes the bytes of files to text and encodes them again.
//!
//! [`encode`] gives back what [`decode`] accepted byte for byte, whatever part of the text was
//! changed in between: in no encoding here does a character depend on the one before it. Nothing is
//! ever replaced by U+FFFD. A file without a byte order mark that is not UTF-8 is read as
//! windows-1252, in which each byte is a character; a multi-byte encoding looks wrong that way but
//! survives.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// The largest file that is read whole, in bytes.
pub(super) const WHOLE_FILE: u64 = 16 << 20;

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEncoding {
    Utf8,
    Utf8WithMark,
    Utf16Le,
    Utf16Be,
    Windows1252,
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BE_MARK: &[u8] = b"\xfe\xff";

/// The text without its byte order mark; `None` for a binary file.
pub(super) fn decode(bytes: &[u8]) -> Option<(String, TextEncoding)> {
    if let Some(rest) = bytes.strip_prefix(UTF16_LE_MARK) {
        return Some((decode_utf16(rest, u16::from_le_bytes)?, TextEncoding::Utf16Le));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BE_MARK) {
        return Some((decode_utf16(rest, u16::from_be_bytes)?, TextEncoding::Utf16Be));
    }
    if binary_kind(bytes).is_some() {
        return None;
    }
    let (rest, encoding) = match bytes.strip_prefix(UTF8_MARK) {
        Some(rest) => (rest, TextEncoding::Utf8WithMark),
        None => (bytes, TextEncoding::Utf8),
    };
    if let Ok(text) = std::str::from_utf8(rest) {
        return Some((text.to_owned(), encoding));
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    Some((text.into_owned(), TextEncoding::Windows1252))
}

/// The bytes of `text` with the byte order mark; the error is the first character that the encoding
/// lacks.
pub(super) fn encode(text: &str, encoding: TextEncoding) -> Result<Vec<u8>, char> {
    match encoding {
        TextEncoding::Utf8 => Ok(text.as_bytes().to_owned()),
        TextEncoding::Utf8WithMark => Ok([UTF8_MARK, text.as_bytes()].concat()),
        TextEncoding::Utf16Le => Ok(encode_utf16(text, UTF16_LE_MARK, u16::to_le_bytes)),
        TextEncoding::Utf16Be => Ok(encode_utf16(text, UTF16_BE_MARK, u16::to_be_bytes)),
        TextEncoding::Windows1252 => {
            let lacks = |text: &str| WINDOWS_1252.encode(text).2;
            match text.chars().find(|c| !c.is_ascii() && lacks(c.encode_utf8(&mut [0; 4]))) {
                Some(c) => Err(c),
                None => Ok(WINDOWS_1252.encode(text).0.into_owned()),
            }
        }
    }
}

/// Uses CRLF if the old text has only CRLF and the new text has none.
pub(super) fn with_line_ends_of(old: &str, new: String) -> String {
    let crlf = old.matches("\r\n").count();
    if crlf > 0 && crlf == old.matches('\n').count() && !new.contains("\r\n") {
        new.replace('\n', "\r\n")
    } else {
        new
    }
}

/// Decodes one line of a file of unknown encoding, only to show it.
pub(super) fn line(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// The kind of a binary file that is of no known format.
pub(super) const UNKNOWN_BINARY: &str = "binary file";

/// Whether a byte is a control character that no text has.
pub(super) fn is_stray_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// The kind of a binary file; `None` for text.
pub(super) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(kind);
    }
    if bytes.starts_with(UTF16_LE_MARK) || bytes.starts_with(UTF16_BE_MARK) {
        return None;
    }
    let sample = &bytes[..bytes.len().min(8192)];
    let controls = sample.iter().filter(|byte| is_stray_control(**byte)).count();
    let is_utf8 = match std::str::from_utf8(sample) {
        Ok(_) => true,
        // A character that the end of the sample cuts is no error.
        Err(error) => error.error_len().is_none() && bytes.len() > sample.len(),
    };
    let is_binary = if is_utf8 {
        controls * 10 > sample.len()
    } else {
        sample.contains(&0) || controls * 50 > sample.len()
    };
    is_binary.then_some(UNKNOWN_BINARY)
}

const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF program"),
    (b"\0asm", "WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xff\xfe\0\0", "UTF-32 text"),
];

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() || pairs.first() == Some(&[0, 0]) {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()
}

fn encode_utf16(text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        let cases: [(&[u8], &str, TextEncoding); 6] = [
            (b"caf\xc3\xa9", "café", TextEncoding::Utf8),
            (b"\xef\xbb\xbfa", "a", TextEncoding::Utf8WithMark),
            (b"\xff\xfea\0\xe9\0", "aé", TextEncoding::Utf16Le),
            (b"\xfe\xff\0a\0\xe9", "aé", TextEncoding::Utf16Be),
            (b"caf\xe9 \x80", "café €", TextEncoding::Windows1252),
            (b"a few\0words, one NUL", "a few\0words, one NUL", TextEncoding::Utf8),
        ];
        for (bytes, text, encoding) in cases {
            assert_eq!(decode(bytes), Some((text.to_owned(), encoding)));
        }
    }

    #[test]
    fn binary_files_are_refused() {
        let cases: [&[u8]; 6] = [
            b"\x89PNG\r\n\x1a\n\0\0",
            b"\x7fELF\x02",
            b"\0\0\0\0\0\0",
            b"\xff\xfea",
            b"\xff\xfe\x00\xd8",
            b"ab\xe9\0cd",
        ];
        for bytes in cases {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_named() {
        assert_eq!(encode("é→", TextEncoding::Windows1252), Err('→'));
        assert_eq!(encode("é€", TextEncoding::Windows1252), Ok(b"\xe9\x80".to_vec()));
    }

    proptest! {
        #[test]
        fn r51_what_is_decoded_comes_back_byte_for_byte(bytes: Vec<u8>) {
            if let Some((text, encoding)) = decode(&bytes) {
                prop_assert_eq!(encode(&text, encoding), Ok(bytes));
            }
        }

        #[test]
        fn r51_every_encoding_of_a_text_comes_back(text: String) {
            for encoding in [TextEncoding::Utf8WithMark, TextEncoding::Utf16Le, TextEncoding::Utf16Be] {
                let bytes = encode(&text, encoding).unwrap();
                if let Some((again, found)) = decode(&bytes) {
                    prop_assert_eq!(&again, &text);
                    prop_assert_eq!(found, encoding);
                }
            }
        }

        #[test]
        fn r51_single_bytes_map_to_themselves(bytes in proptest::collection::vec(32_u8.., 1..200)) {
            let text = WINDOWS_1252.decode_without_bom_handling(&bytes).0;
            prop_assert_eq!(encode(&text, TextEncoding::Windows1252), Ok(bytes));
        }
    }
}
