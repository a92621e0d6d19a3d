//! Finds private keys as PEM blocks, complete or with their begin or end line cut off, as in a
//! truncated output. A part of a key with neither of these two lines is not recognised.
//!
//! The search is one pass: from a begin line forward to the next such line, from an end line back
//! to the last one.

use std::ops::Range;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// The longest label of a PEM block, in bytes; a longer one is no label.
const LABEL: usize = 64;
/// The most bytes of one key; the largest keys in use are half as long.
const LONGEST_KEY: usize = 32 << 10;
/// The least characters of base64 in a row in a line of a key, except the last line.
const RUN: usize = 16;
/// A run of base64 characters that is too long for a name or a path.
const LONG_RUN: usize = 40;

/// The ranges of private keys in a text: from `-----BEGIN … PRIVATE KEY-----` to the end line. If
/// one of these lines is missing, the range extends as far as lines look like a key's. If no such
/// lines follow, a begin line counts alone and an end line does not count. Public keys and
/// certificates are not included.
pub fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut at, mut floor) = (0, 0);
    while let Some(dashes) = text[at..].find(DASHES) {
        at += dashes;
        let rest = &text[at..];
        let place = if let Some(length) = marker(rest, BEGIN) {
            let behind = at + length;
            Some(at..behind + behind_begin(&text[behind..]))
        } else if let Some(length) = marker(rest, END) {
            let start = floor + before_end(&text[floor..at]);
            (start < at).then_some(start..at + length)
        } else {
            None
        };
        match place {
            Some(place) => {
                (at, floor) = (place.end, place.end);
                found.push(place);
            }
            // Text before another marker does not belong to a later end line.
            None if rest.starts_with(BEGIN) || rest.starts_with(END) => {
                at += BEGIN.len().min(END.len());
                floor = at;
            }
            None => at += 1,
        }
    }
    found
}

/// The length of a private key's marker at the start of `text`.
fn marker(text: &str, word: &str) -> Option<usize> {
    let label = text.strip_prefix(word)?;
    let close = label.as_bytes().windows(DASHES.len()).take(LABEL);
    let close = close.into_iter().position(|it| it == DASHES.as_bytes())?;
    label[..close].contains("PRIVATE KEY").then_some(word.len() + close + DASHES.len())
}

/// The length of the key's part behind a begin line. It stops at another begin line, or at the end
/// line of something else.
fn behind_begin(text: &str) -> usize {
    let text = &text[..text.floor_char_boundary(LONGEST_KEY)];
    let mut at = 0;
    while let Some(dashes) = text[at..].find(DASHES) {
        at += dashes;
        let rest = &text[at..];
        if rest.starts_with(BEGIN) || rest.starts_with(END) {
            return marker(rest, END).map_or_else(|| cut_off(&text[..at]), |length| at + length);
        }
        at += 1;
    }
    cut_off(text)
}

/// The length of a key's part whose end line is missing.
fn cut_off(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let (mut at, mut end) = (first.len(), 0);
    let feed = |line: &str| usize::from(line.ends_with('\n'));
    let mut has_body = has_base64(first);
    if has_body {
        end = at - feed(first);
    }
    // Other words behind the begin line mean that the text only mentions a key.
    let is_spoken_of = !has_body && !first.trim().is_empty();
    for line in lines {
        at += line.len();
        let is_body = has_base64(line);
        if !has_body && may_precede(line) {
            continue;
        }
        // The last line of a key is short, and so is a line that was cut.
        if is_body || is_short(line) && (has_body || !is_spoken_of) {
            end = at - feed(line);
        }
        if !is_body {
            break;
        }
        has_body = true;
    }
    end
}

/// The offset in `text` at which a key begins that ends behind `text` and has no begin line.
fn before_end(text: &str) -> usize {
    let first = text.rfind('\n').map_or(0, |feed| feed + 1);
    // In JSON that is embedded in text, the whole key is on one line.
    let own = &text[first..];
    let before = own.trim_end_matches(is_of_line);
    let mut start = text.len();
    if has_base64(&own[before.len()..]) {
        start = first + before.len();
    }
    if !numbered(before).is_empty() {
        return start;
    }
    let mut at = first;
    for line in text[..first].split_inclusive('\n').rev() {
        at -= line.len();
        if text.len() - at > LONGEST_KEY || !(has_base64(line) || is_short(line)) {
            break;
        }
        start = at;
    }
    start
}

/// Whether a line may precede the base64: a header of the key, or the blank line behind the
/// headers.
fn may_precede(line: &str) -> bool {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let line = numbered(line);
    line.is_empty() || line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// Whether a line consists of a few base64 characters and nothing else.
fn is_short(line: &str) -> bool {
    let line = line.trim();
    line.bytes().any(|byte| byte.is_ascii_alphanumeric()) && numbered(line).chars().all(is_of_line)
}

/// A line without a line number, diff sign or quote mark in front.
fn numbered(line: &str) -> &str {
    line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " \t→│|:>+-".contains(c))
}

/// Base64 characters, and those around them in a string literal.
fn is_of_line(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=\\\"',".contains(c)
}

/// Whether a line holds random characters rather than words or a path.
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
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    /// The text with each key replaced by a mark.
    fn clean(text: &str) -> String {
        let mut clean = String::new();
        let mut at = 0;
        for place in private_keys(text) {
            assert!(place.start >= at, "in order, and none within another");
            clean.extend([&text[at..place.start], "[key]"]);
            at = place.end;
        }
        clean + &text[at..]
    }

    #[test]
    fn a_private_key_ends_with_its_last_dashes() {
        for label in ["", "RSA ", "OPENSSH "] {
            let (begin, end) = (format!("-----BEGIN {label}PRIVATE KEY-----"), "\nabc=\n-----END ");
            let key = format!("{begin}\n{LINE}{end}{label}PRIVATE KEY-----");
            assert_eq!(clean(&format!("{key}\nmore -----END")), "[key]\nmore -----END");
        }
        let long = format!("-----BEGIN {} PRIVATE KEY-----", "X".repeat(99));
        for other in ["-----BEGIN CERTIFICATE-----\nMIIE", "BEGIN PRIVATE KEY", "-----BEGIN ééé"]
            .into_iter()
            .chain([long.as_str()])
        {
            assert_eq!(clean(other), other);
        }
    }

    #[test]
    fn without_an_end_a_key_extends_over_lines_that_look_like_base64() {
        let begin = "-----BEGIN PRIVATE KEY-----";
        let rest = "\nThe fix is in src/platform/redact/shapes.rs, and the internationalization";
        let certificate = "\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----";
        let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17F5316E2BAC89FF0A1B2C";
        for (key, rest) in [
            (begin.to_owned(), rest),
            (begin.to_owned(), "` is how they begin\nand"),
            (begin.to_owned(), "\n\nName: value\n\nand so on\n-----END CERTIFICATE-----"),
            (begin.to_owned(), ""),
            (format!("{begin}\n{LINE}\n{LINE}"), rest),
            (format!("{begin}\n{LINE}"), certificate),
            (format!("{begin}\n{headers}\n\n{LINE}"), "\n"),
            (format!("{begin}\r\n   2\t{LINE}\r\n   3\tQ7VJTUt9Us8cKj9abc"), ""),
            (format!("{begin}\\n{LINE}\\n{LINE}"), "\nnext to it"),
            (format!("{begin}\n{LINE}\n   3\tQ7V"), "\nnext"),
            (format!("{begin}\nMI"), ""),
        ] {
            assert_eq!(clean(&format!("{key}{rest}")), format!("[key]{rest}"));
        }
        let twice = clean("-----BEGIN PRIVATE KEY-----\n-----BEGIN PRIVATE KEY----- and so on");
        assert_eq!(twice, "[key]\n[key] and so on");
        let far = format!("{begin} {}-----END PRIVATE KEY-----", "word ".repeat(LONGEST_KEY));
        assert_eq!(clean(&far), format!("[key]{}", &far[begin.len()..]), "two mentions");
    }

    #[test]
    fn without_a_begin_a_key_extends_back_over_lines_that_look_like_base64() {
        let end = "-----END RSA PRIVATE KEY-----";
        for (rest, key) in [
            ("… 12 lines hidden\n", format!("{LINE}\nabc=\n{end}")),
            ("it said:\n\n", format!("  > {LINE}\n  > abc=\n  > {end}")),
            ("a line\n", format!("   3\t{LINE}\r\n   4\tab=\r\n   5\t{end}")),
            ("-----END CERTIFICATE-----\n", format!("{LINE}\n{end}")),
            ("{\"key\": ", format!("\"{LINE}\\nabc=\\n{end}")),
            ("", format!("KCBK\n{end}")),
        ] {
            assert_eq!(clean(&format!("{rest}{key} on")), format!("{rest}[key] on"));
        }
        for text in
            ["the line -----END PRIVATE KEY----- is its last", "\n-----END PRIVATE KEY-----"]
        {
            assert_eq!(clean(text), text);
        }
    }

    /// A PEM block in one of the ways in which it is printed.
    fn block(bytes: &[u8], before: &str) -> (String, Vec<String>) {
        let body = STANDARD.encode(bytes);
        let lines = body.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into());
        let lines: Vec<String> = lines.collect();
        let number = |at: usize| before.replace('N', &at.to_string());
        let printed = lines.iter().enumerate().map(|(at, line)| format!("{}{line}\n", number(at)));
        let begin = format!("{}-----BEGIN EC PRIVATE KEY-----\n", number(0));
        let end = format!("{}-----END EC PRIVATE KEY-----\n", number(9));
        (begin + &printed.collect::<String>() + &end, lines)
    }

    proptest! {
        #[test]
        fn no_line_of_a_truncated_key_is_left(
            bytes in prop::collection::vec(any::<u8>(), 20..400),
            before in prop::sample::select(vec!["", "   N\t", "+", "> ", "N: ", "N│ "]),
            cut in any::<prop::sample::Index>(),
            around in prop::sample::select(vec!["\n… 9 lines were cut …\n", "\n", ""]),
        ) {
            let (block, lines) = block(&bytes, before);
            let cut = block.floor_char_boundary(cut.index(block.len()));
            for text in [
                format!("ls -l{around}{}", &block[cut..]),
                format!("{}{around}", &block[..cut]),
                format!("{}{around}and so on", &block[..cut]),
            ] {
                // A line with other words is not a line of a key.
                if around.is_empty() && (text.starts_with("ls") || text.ends_with("so on")) {
                    continue;
                }
                let clean = clean(&text);
                for line in &lines {
                    // Any text may contain shorter parts.
                    let parts = (0..line.len().saturating_sub(5)).map(|at| &line[at..at + 6]);
                    for part in parts {
                        let outside = !clean.contains(part);
                        prop_assert!(outside, "{part} of {text:?} in {clean:?}");
                    }
                }
            }
        }

        #[test]
        fn key_ranges_are_in_order_in_any_text(
            text in "((-----BEGIN |-----END |PRIVATE KEY|-----|\n|[A-Z0-9]{40}|\\PC{0,5})){0,20}",
        ) {
            clean(&text);
        }
    }
}
