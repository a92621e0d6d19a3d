//! Private keys as PEM blocks, whole or with their beginning or their end cut off, as in an output
//! of which a part was left out. A part of one that has neither of its two lines is not known.
//!
//! One pass: a begin is looked behind up to the next such line, an end before up to the last one.

use std::ops::Range;

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

/// Where private keys are in a text: from `-----BEGIN … PRIVATE KEY-----` to its end. Where one of
/// the two was cut off, as far as the lines look like a key's: a begin with none is its words
/// alone, an end with none is nothing. Public keys and certificates are none.
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
            // What stands before any such line belongs to no end behind it.
            None if rest.starts_with(BEGIN) || rest.starts_with(END) => {
                at += BEGIN.len().min(END.len());
                floor = at;
            }
            None => at += 1,
        }
    }
    found
}

/// The length of the marker of a private key that is at the start of `text`.
fn marker(text: &str, word: &str) -> Option<usize> {
    let label = text.strip_prefix(word)?;
    let close = label.as_bytes().windows(DASHES.len()).take(LABEL);
    let close = close.into_iter().position(|it| it == DASHES.as_bytes())?;
    label[..close].contains("PRIVATE KEY").then_some(word.len() + close + DASHES.len())
}

/// How much of what is behind a begin belongs to the key. Another begin, or the end of something
/// else, is not within it.
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

/// How much belongs to a key whose end is missing.
fn cut_off(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let (mut at, mut end) = (first.len(), 0);
    let feed = |line: &str| usize::from(line.ends_with('\n'));
    let mut has_body = has_base64(first);
    if has_body {
        end = at - feed(first);
    }
    // Words behind the begin say that it is only spoken of.
    let is_spoken_of = !has_body && !first.trim().is_empty();
    for line in lines {
        at += line.len();
        let is_body = has_base64(line);
        if !has_body && may_precede(line) {
            continue;
        }
        // The last line is short, and so is one that was cut.
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

/// Where the key begins that ends behind `text`, and whose begin is missing.
fn before_end(text: &str) -> usize {
    let first = text.rfind('\n').map_or(0, |feed| feed + 1);
    // In JSON within a text all of it stands in one line.
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

/// The headers of a key and the line behind them.
fn may_precede(line: &str) -> bool {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let line = numbered(line);
    line.is_empty() || line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// Whether a line could be a few characters of base64 and nothing else.
fn is_short(line: &str) -> bool {
    let line = line.trim();
    line.bytes().any(|byte| byte.is_ascii_alphanumeric()) && numbered(line).chars().all(is_of_line)
}

/// A line without the number, the sign of a diff, or the mark of a quote before it.
fn numbered(line: &str) -> &str {
    line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " \t→│|:>+-".contains(c))
}

/// Base64, and what is around it where it is written as a string.
fn is_of_line(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=\\\"',".contains(c)
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
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    /// The text with a mark in the place of each key.
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
    fn without_its_end_it_goes_as_far_as_it_looks_like_one() {
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
    fn without_its_begin_it_goes_back_as_far_as_it_looks_like_one() {
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

    /// A block as it is printed in many ways.
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
        fn of_a_key_that_was_cut_anywhere_no_line_is_left(
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
                // Where other words stand in the same line it is no line of a key.
                if around.is_empty() && (text.starts_with("ls") || text.ends_with("so on")) {
                    continue;
                }
                let clean = clean(&text);
                for line in &lines {
                    // Fewer characters may stand in any text.
                    let parts = (0..line.len().saturating_sub(5)).map(|at| &line[at..at + 6]);
                    for part in parts {
                        let outside = !clean.contains(part);
                        prop_assert!(outside, "{part} of {text:?} in {clean:?}");
                    }
                }
            }
        }

        #[test]
        fn any_text_has_keys_in_order(
            text in "((-----BEGIN |-----END |PRIVATE KEY|-----|\n|[A-Z0-9]{40}|\\PC{0,5})){0,20}",
        ) {
            clean(&text);
        }
    }
}
