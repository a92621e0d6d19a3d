//! Reads what a GGUF model file says about itself: its name, the window it was trained with, and how
//! much memory a token of context takes.
//!
//! Only the head of the file is read, and at most [`MAX_HEAD`] of it: the counts in it may say
//! anything. Layout: the GGUF specification of ggml, versions 2 and 3, little-endian.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// The most bytes of a head that are read. What slug needs comes before the vocabulary.
const MAX_HEAD: u64 = 4 << 20;

/// The most bytes of a text that is kept.
const MAX_TEXT: u64 = 4096;

/// How deep arrays may be nested.
const MAX_DEPTH: u8 = 2;

/// What a model file says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GgufFacts {
    /// The kind of model, such as `qwen2`, or `clip` for a file that only helps another one.
    pub architecture: String,
    /// The most tokens of context that the model was trained for.
    pub trained_window: Option<u64>,
    /// How many bytes of memory each token of context takes, at 16 bits a value.
    pub bytes_per_token: Option<u64>,
}

/// The numbers of a head that decide about the memory of a token.
#[derive(Debug, Default)]
struct AttentionShape {
    layers: Option<u64>,
    embedding: Option<u64>,
    heads: Option<u64>,
    /// One number for all layers, or the sum of one for each.
    key_value_heads: Option<(u64, bool)>,
    key_length: Option<u64>,
    value_length: Option<u64>,
}

/// A value of the head, as far as it is of use.
enum GgufValue {
    Number(u64),
    Text(String),
    /// The sum of an array of numbers.
    Sum(u64),
    Other,
}

/// Reads a model file's head.
///
/// # Errors
///
/// When the file cannot be read or is no GGUF file.
pub fn read_facts(path: &Path) -> io::Result<GgufFacts> {
    let mut head = BufReader::new(File::open(path)?.take(MAX_HEAD));
    let mut magic = [0; 4];
    head.read_exact(&mut magic)?;
    let version = u32_of(&mut head)?;
    if magic != *b"GGUF" || !(2..=3).contains(&version) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no GGUF file"));
    }
    let _tensors = u64_of(&mut head)?;
    let pairs = u64_of(&mut head)?;
    let mut facts = GgufFacts::default();
    let mut shape = AttentionShape::default();
    for _ in 0..pairs {
        // A head that is cut off or too long has said what it says.
        let Ok((key, value)) = pair(&mut head) else { break };
        if key.starts_with("tokenizer.") && !facts.architecture.is_empty() {
            break;
        }
        take(&mut facts, &mut shape, &key, value);
    }
    facts.bytes_per_token = shape.bytes_per_token();
    Ok(facts)
}

fn take(facts: &mut GgufFacts, shape: &mut AttentionShape, key: &str, value: GgufValue) {
    let of_model = key.strip_prefix(&format!("{}.", facts.architecture));
    match (key, of_model, value) {
        ("general.architecture", _, GgufValue::Text(text)) => facts.architecture = text,
        (_, Some("context_length"), GgufValue::Number(count)) => {
            facts.trained_window = Some(count).filter(|&count| count > 0);
        }
        (_, Some("block_count"), GgufValue::Number(count)) => shape.layers = Some(count),
        (_, Some("embedding_length"), GgufValue::Number(count)) => shape.embedding = Some(count),
        (_, Some("attention.head_count"), GgufValue::Number(count)) => shape.heads = Some(count),
        (_, Some("attention.head_count_kv"), GgufValue::Number(count)) => {
            shape.key_value_heads = Some((count, false));
        }
        (_, Some("attention.head_count_kv"), GgufValue::Sum(sum)) => {
            shape.key_value_heads = Some((sum, true));
        }
        (_, Some("attention.key_length"), GgufValue::Number(count)) => {
            shape.key_length = Some(count);
        }
        (_, Some("attention.value_length"), GgufValue::Number(count)) => {
            shape.value_length = Some(count);
        }
        (
            _,
            _,
            GgufValue::Number(_) | GgufValue::Text(_) | GgufValue::Sum(_) | GgufValue::Other,
        ) => {}
    }
}

impl AttentionShape {
    fn bytes_per_token(&self) -> Option<u64> {
        let heads = self.heads.filter(|&heads| heads > 0);
        let by_head = || self.embedding?.checked_div(heads?);
        let key = self.key_length.or_else(by_head)?;
        let value = self.value_length.or_else(by_head)?;
        let (count, is_sum) = self.key_value_heads.or(heads.map(|heads| (heads, false)))?;
        let all = if is_sum { count } else { count.checked_mul(self.layers?)? };
        all.checked_mul(key.checked_add(value)?)?.checked_mul(2).filter(|&bytes| bytes > 0)
    }
}

fn pair(head: &mut impl Read) -> io::Result<(String, GgufValue)> {
    let key = text_of(head)?;
    let kind = u32_of(head)?;
    Ok((key, value_of(head, kind, 0)?))
}

fn value_of(head: &mut impl Read, kind: u32, depth: u8) -> io::Result<GgufValue> {
    Ok(match kind {
        0 | 1 | 7 => GgufValue::Number(bytes_of::<1>(head)?[0].into()),
        2 | 3 => GgufValue::Number(u16::from_le_bytes(bytes_of(head)?).into()),
        4 | 5 => GgufValue::Number(u32_of(head)?.into()),
        6 => {
            let _float: [u8; 4] = bytes_of(head)?;
            GgufValue::Other
        }
        8 => GgufValue::Text(text_of(head)?),
        9 if depth < MAX_DEPTH => {
            let (kind, count) = (u32_of(head)?, u64_of(head)?);
            let mut sum = Some(0_u64);
            for _ in 0..count {
                sum = match (sum, value_of(head, kind, depth + 1)?) {
                    (Some(sum), GgufValue::Number(number)) => sum.checked_add(number),
                    (_, _) => None,
                };
            }
            sum.map_or(GgufValue::Other, GgufValue::Sum)
        }
        10 | 11 => GgufValue::Number(u64_of(head)?),
        12 => {
            let _double: [u8; 8] = bytes_of(head)?;
            GgufValue::Other
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    })
}

/// A text; of a long one only the beginning is kept.
fn text_of(head: &mut impl Read) -> io::Result<String> {
    let length = u64_of(head)?;
    let mut text = Vec::new();
    head.take(length.min(MAX_TEXT)).read_to_end(&mut text)?;
    let rest = length - length.min(MAX_TEXT);
    let skipped = io::copy(&mut head.take(rest), &mut io::sink())?;
    if (text.len() as u64) < length.min(MAX_TEXT) || skipped < rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn bytes_of<const COUNT: usize>(head: &mut impl Read) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    head.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u32_of(head: &mut impl Read) -> io::Result<u32> {
    Ok(u32::from_le_bytes(bytes_of(head)?))
}

fn u64_of(head: &mut impl Read) -> io::Result<u64> {
    Ok(u64::from_le_bytes(bytes_of(head)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::GgufText;
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<GgufFacts> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        read_facts(file.path())
    }

    #[test]
    fn a_model_says_its_window_and_what_a_token_takes() {
        let file = GgufText::new("qwen2")
            .number("qwen2.block_count", 24)
            .number("qwen2.context_length", 32_768)
            .number("qwen2.embedding_length", 896)
            .number("qwen2.attention.head_count", 14)
            .number("qwen2.attention.head_count_kv", 2)
            .text("tokenizer.ggml.model", "gpt2");
        // 24 layers, 2 heads of 64 values for keys and as many for values, 2 bytes each.
        let facts = read(&file.bytes()).unwrap();
        assert_eq!(facts.trained_window, Some(32_768));
        assert_eq!(facts.bytes_per_token, Some(24 * 2 * (64 + 64) * 2));
    }

    #[test]
    fn layers_may_differ() {
        let file = GgufText::new("x")
            .number("x.attention.head_count", 8)
            .numbers("x.attention.head_count_kv", &[4, 2, 0])
            .number("x.attention.key_length", 32)
            .number("x.attention.value_length", 16);
        assert_eq!(read(&file.bytes()).unwrap().bytes_per_token, Some(6 * 48 * 2));
    }

    #[test]
    fn what_is_no_model_is_an_error() {
        for bytes in [&b""[..], b"GGUF", b"PK\x03\x04 and more than twenty-four bytes"] {
            read(bytes).unwrap_err();
        }
        let file = GgufText::new("x").number("x.context_length", 5).bytes();
        // Says no more than it has.
        let cut = read(&file[..file.len() - 2]).unwrap();
        assert_eq!((cut.architecture.as_str(), cut.trained_window), ("x", None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_head_is_read_to_an_end(rest in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = b"GGUF\x03\0\0\0".to_vec();
            bytes.extend(rest);
            let _ = read(&bytes);
        }

        #[test]
        fn numbers_of_any_size_overflow_nothing(numbers in prop::array::uniform4(any::<u64>())) {
            let [layers, embedding, heads, of_values] = numbers;
            let file = GgufText::new("x")
                .number("x.block_count", layers)
                .number("x.embedding_length", embedding)
                .number("x.attention.head_count", heads)
                .number("x.attention.head_count_kv", of_values);
            read(&file.bytes()).unwrap();
        }
    }
}
