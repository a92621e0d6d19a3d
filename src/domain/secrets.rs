//! How the keys that are in wide use look, for whoever takes them out of a text.

/// How a key begins, how many characters of its kind follow at least, and what it is.
pub const SHAPES: [(&str, usize, &str); 21] = [
    ("sk-", 16, "API key"),
    ("sk_live_", 16, "API key"),
    ("sk_test_", 16, "API key"),
    ("github_pat_", 20, "GitHub token"),
    ("ghp_", 20, "GitHub token"),
    ("gho_", 20, "GitHub token"),
    ("ghu_", 20, "GitHub token"),
    ("ghs_", 20, "GitHub token"),
    ("ghr_", 20, "GitHub token"),
    ("glpat-", 16, "GitLab token"),
    ("AKIA", 16, "AWS key"),
    ("ASIA", 16, "AWS key"),
    ("AIza", 30, "Google key"),
    ("xoxb-", 10, "Slack token"),
    ("xoxp-", 10, "Slack token"),
    ("xoxa-", 10, "Slack token"),
    ("xoxr-", 10, "Slack token"),
    ("xoxs-", 10, "Slack token"),
    ("xapp-", 10, "Slack token"),
    ("hf_", 20, "Hugging Face token"),
    ("npm_", 30, "npm token"),
];

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Longer labels are none.
const LABEL: usize = 64;
/// The largest keys in use are half as long.
const LONGEST_KEY: usize = 32 << 10;
/// Lines of base64 have this many characters in a row at least, but for the last.
const RUN: usize = 16;
/// Names and paths are hardly longer.
const LONG_RUN: usize = 40;

/// The length of the private key at the start of `text`: from `-----BEGIN … PRIVATE KEY-----` to
/// its end. Where that was cut off, as far as the lines look like a key's: with none, the words
/// alone were mentioned. Public keys and certificates are none.
pub fn private_key(text: &str) -> Option<usize> {
    let begin = marker(text, BEGIN)?;
    Some(closed(text, begin).unwrap_or_else(|| cut_off(text, begin)))
}

/// The length of the marker of a private key that is at the start of `text`.
fn marker(text: &str, word: &str) -> Option<usize> {
    let label = text.strip_prefix(word)?;
    let close = label.as_bytes().windows(DASHES.len()).take(LABEL);
    let close = close.into_iter().position(|it| it == DASHES.as_bytes())?;
    label[..close].contains("PRIVATE KEY").then_some(word.len() + close + DASHES.len())
}

/// Where the key ends whose begin ends at `begin`. Another begin, or the end of something else,
/// is not within it.
fn closed(text: &str, begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        at += text[at..].find(DASHES)?;
        let rest = &text[at..];
        if at - begin > LONGEST_KEY {
            return None;
        }
        if rest.starts_with(BEGIN) || rest.starts_with(END) {
            return marker(rest, END).map(|length| at + length);
        }
        at += 1;
    }
}

fn cut_off(text: &str, begin: usize) -> usize {
    let (mut at, mut end) = (begin, begin);
    for (number, line) in text[begin..].split_inclusive('\n').enumerate() {
        at += line.len();
        let line = line.trim();
        if has_base64(line) {
            end = at - usize::from(text[..at].ends_with('\n'));
        } else if number > 0 && !(end == begin && may_precede(line)) {
            break;
        }
    }
    end
}

/// The headers of a key and the line behind them.
fn may_precede(line: &str) -> bool {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    line.is_empty() || line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// Whether something in a line is random, and no word and no path.
fn has_base64(line: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    line.split(|c| !is_base64(c)).any(|run| {
        let has = |kind: fn(&u8) -> bool| run.as_bytes().iter().any(kind);
        let is_random = || has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase);
        run.len() >= LONG_RUN || run.len() >= RUN && is_random()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    #[test]
    fn a_private_key_ends_with_its_last_dashes() {
        for label in ["", "RSA ", "OPENSSH "] {
            let (begin, end) = (format!("-----BEGIN {label}PRIVATE KEY-----"), "\nabc=\n-----END ");
            let key = format!("{begin}\n{LINE}{end}{label}PRIVATE KEY-----");
            assert_eq!(private_key(&format!("{key}\nmore -----END")), Some(key.len()));
        }
        for other in ["-----BEGIN CERTIFICATE-----\nMIIE", "BEGIN PRIVATE KEY", "-----BEGIN ééé"]
        {
            assert_eq!(private_key(other), None, "{other}");
        }
        assert_eq!(private_key(&format!("-----BEGIN {} PRIVATE KEY-----", "X".repeat(99))), None);
    }

    #[test]
    fn without_its_end_it_goes_as_far_as_it_looks_like_one() {
        let begin = "-----BEGIN PRIVATE KEY-----";
        let rest = "\nThe fix is in src/platform/redact/shapes.rs, and the internationalization";
        let certificate = "\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----";
        for (key, rest) in [
            (begin.to_owned(), rest),
            (begin.to_owned(), "` is how they begin"),
            (begin.to_owned(), "\n\nName: value\n\nand so on\n-----END CERTIFICATE-----"),
            (begin.to_owned(), "\n-----BEGIN PRIVATE KEY----- and another time"),
            (begin.to_owned(), ""),
            (format!("{begin}\n{LINE}\n{LINE}"), rest),
            (format!("{begin}\n{LINE}"), certificate),
            (format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{LINE}"), "\n"),
            (format!("{begin}\r\n   2\t{LINE}\r\n   3\tQ7VJTUt9Us8cKj9abc"), ""),
            (format!("{begin}\\n{LINE}\\n{LINE}"), "\nnext"),
        ] {
            assert_eq!(private_key(&format!("{key}{rest}")), Some(key.len()), "{key}{rest}");
        }
        let far = format!("{begin} {}-----END PRIVATE KEY-----", "word ".repeat(LONGEST_KEY));
        assert_eq!(private_key(&far), Some(begin.len()), "two mentions");
    }
}
