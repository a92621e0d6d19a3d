//! Addresses in running text: which text is one, and whether the text of a link tells where the
//! link leads.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::layout::link::host;
use crate::tui::layout::wrap::{StyledPiece, cluster_width};
use crate::tui::layout::{StyleRole, WebLink};

const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Makes links of the addresses in the text. An address that the parser split at characters that
/// turned out not to be markup (`a_b`) is still one address.
pub(super) fn autolink(pieces: Vec<StyledPiece<'_>>) -> Vec<StyledPiece<'_>> {
    if !pieces.iter().any(|piece| piece.text.contains("://")) {
        return pieces;
    }
    let mut out = Vec::with_capacity(pieces.len() + 2);
    let mut rest = pieces.as_slice();
    while let Some(first) = rest.first() {
        let alike = |piece: &&StyledPiece<'_>| piece.role == first.role && piece.link == first.link;
        let run = rest.iter().take_while(alike).count();
        let (run, after) = rest.split_at(run);
        rest = after;
        if first.link.is_some()
            || matches!(first.role, StyleRole::Link | StyleRole::Muted | StyleRole::Escaped)
        {
            out.extend_from_slice(run);
        } else {
            link_run(run, &mut out);
        }
    }
    out
}

/// The same for adjacent pieces of equal role.
fn link_run<'a>(run: &[StyledPiece<'a>], out: &mut Vec<StyledPiece<'a>>) {
    let text: String = run.iter().map(|piece| &*piece.text).collect();
    let found = addresses(&text);
    let (mut start, mut next) = (0, 0);
    for piece in run {
        let end = start + piece.text.len();
        let mut at = start;
        next += found[next..].iter().take_while(|(range, _)| range.end <= start).count();
        for (range, link) in found[next..].iter().take_while(|(range, _)| range.start < end) {
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from >= to {
                continue;
            }
            if at < from {
                out.push(part(piece, at - start..from - start));
            }
            let role =
                if piece.role == StyleRole::Code { StyleRole::Code } else { StyleRole::Link };
            let link = Some(link.clone());
            out.push(StyledPiece { role, link, ..part(piece, from - start..to - start) });
            at = to;
        }
        if at < end {
            out.push(part(piece, at - start..end - start));
        }
        start = end;
    }
}

fn part<'a>(piece: &StyledPiece<'a>, range: Range<usize>) -> StyledPiece<'a> {
    let text = match &piece.text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range.clone()]),
        Cow::Owned(text) => Cow::Owned(text[range.clone()].to_owned()),
    };
    let start = piece.source.start;
    // A piece that differs from its source (an entity) stands for all of it.
    let is_source = piece.source.len() == piece.text.len();
    let source =
        if is_source { start + range.start..start + range.end } else { piece.source.clone() };
    StyledPiece { text, source, ..piece.clone() }
}

/// The addresses in a text that can be links, with their byte ranges.
fn addresses(text: &str) -> Vec<(Range<usize>, WebLink)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("://").map(|colon| at + colon) {
        at = start + "://".len();
        let Some(scheme) = SCHEMES.iter().find(|scheme| {
            let before = text[..at].len().checked_sub(scheme.len());
            before
                .and_then(|from| text.get(from..at))
                .is_some_and(|t| t.eq_ignore_ascii_case(scheme))
        }) else {
            continue;
        };
        let from = at - scheme.len();
        if text[..from].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric()) {
            continue;
        }
        let end = at + length(&text[at..]);
        found.extend(WebLink::to(&text[from..end]).map(|link| (from..end, link)));
        // Text that is no link contains no other link, so it is skipped as a whole.
        at = end;
    }
    found
}

/// The length of the address at the start of `rest`. It ends at a space, a bracket of markup or a
/// wide character, since Chinese and Japanese continue without a space. Punctuation of the
/// surrounding sentence is not part of it.
fn length(rest: &str) -> usize {
    let ends = |cluster: &str| {
        cluster.contains(|c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`' | '|' | '…')
        }) || cluster_width(cluster) != 1
    };
    let end = rest.grapheme_indices(true).find(|(_, cluster)| ends(cluster));
    let mut address = &rest[..end.map_or(rest.len(), |(at, _)| at)];
    let count = |wanted: char| address.matches(wanted).count();
    let mut unopened = [('(', ')'), ('[', ']'), ('{', '}')]
        .map(|(open, close)| (close, count(close).saturating_sub(count(open))));
    while let Some(last) = address.chars().next_back() {
        let bracket = unopened.iter_mut().find(|(close, more)| *close == last && *more > 0);
        match (last, bracket) {
            (_, Some((_, more))) => *more -= 1,
            ('?' | '!' | '.' | ',' | ':' | ';' | '*' | '_' | '~' | '\'', None) => {}
            (_, None) => break,
        }
        address = &address[..address.len() - last.len_utf8()];
    }
    address.len()
}

/// Whether the text of a link states its address: equal except for the scheme and a final slash.
pub(super) fn states_address(shown: &str, address: &str) -> bool {
    let bare = |text: &'_ str| -> String {
        let rest = ["https://", "http://", "mailto:"].iter().find_map(|scheme| {
            let (start, rest) = text.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        });
        rest.unwrap_or(text).trim_end_matches('/').to_owned()
    };
    shown == address || bare(shown.trim()) == bare(address)
}

/// Whether the text of a link reads like an address on another server than the link's.
pub(super) fn misstates_host(shown: &str, address: &str) -> bool {
    let shown = shown.trim();
    let looks = host(shown).or_else(|| {
        let name = shown.split(['/', '?', '#']).next().unwrap_or_default();
        let (start, end) = name.rsplit_once('.')?;
        let letters = end.len() > 1 && end.chars().all(char::is_alphabetic);
        let whole = !start.is_empty() && !name.contains(char::is_whitespace);
        // `main.rs` may be the name of the file at the address.
        let file = address.split(['?', '#']).next().is_some_and(|path| path.ends_with(shown));
        (letters && whole && !file).then_some(name)
    });
    let bare = |name: &str| name.trim_start_matches("www.").to_ascii_lowercase();
    match (looks, host(address)) {
        (Some(looks), Some(host)) => bare(looks) != bare(host),
        (Some(_), None) | (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        addresses(text).into_iter().map(|(range, _)| &text[range]).collect()
    }

    #[test]
    fn addresses_end_where_the_sentence_goes_on() {
        for (text, expected) in [
            ("see https://a.example/x.", &["https://a.example/x"][..]),
            ("(https://a.example/x_(y))", &["https://a.example/x_(y)"]),
            ("https://a.example, http://b.example!", &["https://a.example", "http://b.example"]),
            ("请看https://a.example/x。谢谢", &["https://a.example/x"]),
            ("https://de.example/Käse?", &["https://de.example/Käse"]),
            ("<https://a.example>", &["https://a.example"]),
            ("HTTP://A.example/ x", &["HTTP://A.example/"]),
            ("xhttps://a.example ftp://b.example https:// http://", &[]),
            ("https://bank.example@evil.example", &[]),
            ("http://é.example/http://a.example http://b.example", &["http://b.example"]),
            ("(http://a.example/[x]}]))", &["http://a.example/[x]"]),
            ("no address", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_states_its_address_is_recognised() {
        for (shown, address) in [
            ("https://a.example", "https://a.example"),
            ("a.example/x", "https://a.example/x"),
            ("https://a.example", "https://a.example/"),
            ("m@a.example", "mailto:m@a.example"),
        ] {
            assert!(states_address(shown, address) && !misstates_host(shown, address), "{shown}");
        }
        assert!(!states_address("docs", "https://a.example"));
        assert!(!states_address("https://a.example/y", "https://a.example/x"));
    }

    #[test]
    fn a_text_that_reads_like_another_address_is_found_out() {
        for shown in ["https://bank.example", "bank.com", "www.bank.example", "bank.example/login"]
        {
            assert!(misstates_host(shown, "https://evil.example/"), "{shown}");
        }
        for (shown, address) in [
            ("docs", "https://a.example"),
            ("main.rs", "https://a.example/main.rs"),
            ("main.rs", "https://a.example/main.rs#L3"),
            ("e.g. this", "https://a.example"),
            ("www.a.example", "https://a.example/long"),
            ("bank.com", "src/bank.com"),
        ] {
            assert!(!misstates_host(shown, address), "{shown}");
        }
    }
}
