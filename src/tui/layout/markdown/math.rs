//! Formulas as models write them: `\(…\)`, `\[…\]` and `$$…$$`. [`formula`] says how they are shown.
//!
//! Markdown does not know them: it takes `\(` for an escaped bracket, the stars and underscores of
//! a formula for emphasis, and a line of one that begins with `-` for a list. So the parser gets a
//! text in which letters replace the special characters of formulas, at the same bytes, and the
//! events get their text back from the source. (`$…$` is left to the parser.)
//!
//! Whether a line is part of a formula depends only on the lines above it, never on what follows:
//! otherwise streamed text would change its blocks. A formula that is never closed ends at the
//! first blank line, or at a line with less indentation. A formula inside a line has to end on that
//! line.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use super::events::SpannedEvent;
use super::formula;

/// A text in which the formulas are hidden from the parser.
#[derive(Debug)]
pub(super) struct MaskedFormulas<'s> {
    source: &'s str,
    /// The masked text, as long as the source.
    text: Cow<'s, str>,
    formulas: Vec<Range<usize>>,
    /// Places of dollars that begin a price or the name of a variable.
    dollars: Vec<usize>,
}

impl<'s> MaskedFormulas<'s> {
    /// Masks the formulas in `source`.
    pub(super) fn of(source: &'s str) -> Self {
        let (formulas, dollars) = find(source);
        if formulas.is_empty() && dollars.is_empty() {
            return Self { source, text: Cow::Borrowed(source), formulas, dollars };
        }
        let mut text = String::with_capacity(source.len());
        let mut at = 0;
        for formula in &formulas {
            text.push_str(&source[at..formula.start]);
            mask(&source[formula.clone()], &mut text);
            at = formula.end;
        }
        text.push_str(&source[at..]);
        for at in &dollars {
            text.replace_range(*at..*at + 1, "x");
        }
        Self { source, text: Cow::Owned(text), formulas, dollars }
    }

    /// The text for the parser.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Puts the source's text back into the parser's events. A formula is an `Event::DisplayMath`
    /// of its readable form if it has one, else an `Event::InlineMath` of its source.
    pub(super) fn restore<'m>(
        &'m self,
        events: impl Iterator<Item = SpannedEvent<'m>>,
    ) -> Vec<SpannedEvent<'m>> {
        let mut out = Vec::new();
        let mut code = false;
        for (event, range) in events {
            match event {
                Event::Start(Tag::CodeBlock(_)) => code = true,
                Event::End(TagEnd::CodeBlock) => code = false,
                _ => {}
            }
            let shown = |range: &Range<usize>| CowStr::Borrowed(&self.source[range.clone()]);
            match event {
                Event::InlineMath(body) | Event::DisplayMath(body) => {
                    let event = if is_inside_a_word(self.source, &range) {
                        Event::Text(shown(&range))
                    } else if self.touches(&range) || is_words(&body) {
                        Event::InlineMath(shown(&range))
                    } else {
                        shown_formula(&body).unwrap_or_else(|| Event::InlineMath(shown(&range)))
                    };
                    out.push((event, range));
                }
                event if !self.touches(&range) => out.push((event, range)),
                // The rest of a tab stop has no place in the source.
                Event::Text(text) if code && text.trim().is_empty() => {
                    out.push((Event::Text(text), range));
                }
                Event::Text(_) if code => out.push((Event::Text(shown(&range)), range)),
                Event::Text(text) => self.split(&text, range, &mut out),
                Event::Code(_) => {
                    let text = self.source[range.clone()].trim_matches('`').trim();
                    out.push((Event::Code(CowStr::Borrowed(text)), range));
                }
                Event::Html(_) => out.push((Event::Html(shown(&range)), range)),
                Event::InlineHtml(_) => out.push((Event::InlineHtml(shown(&range)), range)),
                Event::SoftBreak => out.push((Event::HardBreak, range)),
                event => out.push((event, range)),
            }
        }
        if self.formulas.is_empty() { out } else { self.with_readable(&out) }
    }

    /// Replaces the events of each masked formula, one or more a line, with its readable form.
    fn with_readable<'m>(&self, events: &[SpannedEvent<'m>]) -> Vec<SpannedEvent<'m>> {
        let mut out = Vec::with_capacity(events.len());
        let mut next = 0;
        while let Some((event, range)) = events.get(next) {
            next += 1;
            let index = self.formulas.partition_point(|formula| formula.end <= range.start);
            let formula = self.formulas.get(index).filter(|formula| formula.start == range.start);
            if let (Event::InlineMath(_), Some(formula)) = (event, formula) {
                let rest = events[next..].iter().take_while(|(event, range)| {
                    let is_part = matches!(event, Event::InlineMath(_) | Event::HardBreak);
                    is_part && range.end <= formula.end
                });
                let end = next + rest.count();
                if let Some(event) = readable(formula, &events[next - 1..end]) {
                    out.push((event, formula.clone()));
                    next = end;
                    continue;
                }
            }
            out.push((event.clone(), range.clone()));
        }
        out
    }

    /// Splits an event's text into formulas and the text around them.
    fn split<'m>(
        &'m self,
        text: &CowStr<'_>,
        range: Range<usize>,
        out: &mut Vec<SpannedEvent<'m>>,
    ) {
        if text.len() != range.len() {
            // The text was decoded. The source is correct, although less pretty.
            out.push((Event::Text(CowStr::Borrowed(&self.source[range.clone()])), range));
            return;
        }
        let mut at = range.start;
        let mut push = |from: usize, to: usize, event: fn(CowStr<'m>) -> Event<'m>| {
            if from < to {
                out.push((event(CowStr::Borrowed(&self.source[from..to])), from..to));
            }
        };
        let first = self.formulas.partition_point(|formula| formula.end <= range.start);
        let inside = self.formulas[first..].iter().take_while(|it| it.start < range.end);
        for formula in inside {
            let (from, to) = (formula.start.max(at), formula.end.min(range.end));
            if from < to {
                push(at, from, Event::Text);
                push(from, to, Event::InlineMath);
                at = to;
            }
        }
        push(at, range.end, Event::Text);
    }

    fn touches(&self, range: &Range<usize>) -> bool {
        let next = self.formulas.partition_point(|formula| formula.end <= range.start);
        let dollar = self.dollars.partition_point(|at| *at < range.start);
        self.formulas.get(next).is_some_and(|formula| formula.start < range.end)
            || self.dollars.get(dollar).is_some_and(|at| *at < range.end)
    }
}

/// The readable form of a masked formula, whose lines are in `events`. An open one has none.
fn readable<'m>(formula: &Range<usize>, events: &[SpannedEvent<'m>]) -> Option<Event<'m>> {
    if events.last()?.1.end != formula.end {
        return None;
    }
    let lines = events.iter().map(|(event, _)| match event {
        Event::InlineMath(line) => line,
        _ => "\n",
    });
    let source: String = lines.collect();
    let pairs = [("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$")];
    let (open, body) = pairs
        .iter()
        .find_map(|(open, close)| Some((*open, source.strip_prefix(open)?.strip_suffix(close)?)))?;
    // In a line escaped brackets are more often a note, `\[1\]`, or a pattern, `\[a-z\]`.
    let is_text = match open {
        "\\(" => is_words(body) || body.bytes().all(|byte| byte.is_ascii_digit()),
        "\\[" => !body.contains('\n') && !body.contains(SIGNS),
        _ => false,
    };
    if is_text { None } else { shown_formula(body) }
}

fn shown_formula<'m>(body: &str) -> Option<Event<'m>> {
    formula::readable(body).map(|shown| Event::DisplayMath(shown.into()))
}

/// What hardly stands in text that is no formula.
const SIGNS: [char; 4] = ['\\', '^', '_', '='];

/// Whether these are words, no formula, as between two dollars: `$HOME and bin$`.
fn is_words(body: &str) -> bool {
    !body.contains(SIGNS) && long_words(body).next().is_some()
}

/// Replaces everything that could be markup with letters, except the start of a line.
fn mask(formula: &str, out: &mut String) {
    for (index, line) in formula.split_inclusive(['\n', '\r']).enumerate() {
        let margin = if index > 0 { margin(line) } else { 0 };
        out.push_str(&line[..margin]);
        out.extend(line[margin..].chars().map(|c| if c.is_ascii_punctuation() { 'x' } else { c }));
    }
}

/// Bytes of the spaces and quote marks at the start of a line.
fn margin(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '>']).len()
}

/// Columns of the start of a line; a tab reaches to the next multiple of four.
fn columns(start: &str) -> usize {
    start.chars().fold(0, |at, c| if c == '\t' { (at / 4 + 1) * 4 } else { at + 1 })
}

/// A formula whose end has not been found yet.
struct OpenFormula {
    start: usize,
    close: &'static str,
    /// Its indentation in columns, and the number of quotes around it.
    indent: usize,
    quotes: usize,
}

/// The formulas, and the dollars that are none.
fn find(source: &str) -> (Vec<Range<usize>>, Vec<usize>) {
    let (mut formulas, mut dollars) = (Vec::new(), Vec::new());
    if !["\\(", "\\[", "$"].iter().any(|sign| source.contains(sign)) {
        return (formulas, dollars);
    }
    let mut open: Option<OpenFormula> = None;
    let mut at = 0;
    // To the parser a lone carriage return ends a line, too.
    for line in source.split_inclusive(['\n', '\r']) {
        let start = at;
        at += line.len();
        if line == "\n" && source[..start].ends_with('\r') {
            continue;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(formula) = &open {
            if formula.can_contain(line) {
                if let Some(close) = line.find(formula.close) {
                    formulas.push(formula.start..start + close + formula.close.len());
                    open = None;
                }
                continue;
            }
            formulas.push(formula.start..start);
        }
        let known = formulas.len();
        open = display(line, start, &mut formulas);
        if open.is_none() && formulas.len() == known {
            in_line(line, start, &mut formulas);
            dollars.extend(lone_dollars(line).into_iter().map(|at| start + at));
        }
    }
    if let Some(formula) = open {
        formulas.push(formula.start..source.len());
    }
    let is_inside = |at: &usize| {
        let next = formulas.partition_point(|formula| formula.end <= *at);
        formulas.get(next).is_some_and(|formula| formula.start <= *at)
    };
    dollars.retain(|at| !is_inside(at));
    (formulas, dollars)
}

/// Two prices are no formula: `$5-$10`, and neither are two variables: `$HOME/${USER}`.
fn is_inside_a_word(text: &str, range: &Range<usize>) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '{' | '(' | '_');
    text[range.end..].starts_with(is_word)
        || text[..range.start].ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Places of the dollars after a blank that the parser would take for the start of a formula, although
/// what it would end is none. It would take the markup between the two for a part of it.
fn lone_dollars(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let is_blank =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(u8::is_ascii_whitespace);
    let dollars: Vec<usize> = line.match_indices('$').map(|(at, _)| at).collect();
    if dollars.len() < 2 {
        return Vec::new();
    }
    let closing: Vec<usize> =
        dollars.iter().copied().filter(|at| !is_blank(at.checked_sub(1))).collect();
    let signs: Vec<usize> = line.match_indices(SIGNS).map(|(at, _)| at).collect();
    let words: Vec<usize> = long_words(line).collect();
    // Whether one of these places is between the two.
    let has_any = |places: &[usize], from: usize, to: usize| {
        places.get(places.partition_point(|at| *at < from)).is_some_and(|at| *at < to)
    };
    let mut lone = Vec::new();
    let mut after = 0;
    for at in dollars {
        let begins = bytes.get(at + 1).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'{');
        if at < after || !is_blank(at.checked_sub(1)) || !begins {
            continue;
        }
        let next = closing.partition_point(|close| *close <= at);
        let Some(close) = closing.get(next).copied() else { break };
        let is_words = !has_any(&signs, at, close) && has_any(&words, at, close);
        if is_words || is_inside_a_word(line, &(at..close + 1)) {
            lone.push(at);
        } else {
            after = close + 1;
        }
    }
    lone
}

/// Where words of more than two letters begin.
fn long_words(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    text.split(|c: char| !c.is_ascii_alphabetic()).filter_map(move |word| {
        let start = at;
        at = start
            + word.len()
            + text[start + word.len()..].chars().next().map_or(0, char::len_utf8);
        (word.len() > 2).then_some(start)
    })
}

impl OpenFormula {
    /// Whether a line can be part of the formula.
    fn can_contain(&self, line: &str) -> bool {
        let margin = margin(line);
        let text = &line[margin..];
        let quotes = line[..margin].matches('>').count();
        !text.trim().is_empty()
            && !text.starts_with("```")
            && !text.starts_with("~~~")
            && quotes == self.quotes
            && columns(&line[..margin]) >= self.indent
    }
}

/// Finds a formula at the start of a line. Returns it if it continues on the next line.
fn display(line: &str, start: usize, formulas: &mut Vec<Range<usize>>) -> Option<OpenFormula> {
    let mut indent = margin(line);
    let quotes = line[..indent].matches('>').count();
    indent += item(&line[indent..]);
    let text = &line[indent..];
    let close = if text.starts_with("\\[") {
        "\\]"
    } else if text.starts_with("$$") {
        "$$"
    } else {
        return None;
    };
    let rest = &text[2..];
    match rest.find(close) {
        Some(end) if rest[end + 2..].trim_matches(['.', ',', ';', ' ']).is_empty() => {
            formulas.push(start + indent..start + indent + 2 + end + 2);
            None
        }
        None if close == "\\]" || rest.trim().is_empty() => {
            let start = start + indent;
            Some(OpenFormula { start, close, indent: columns(&line[..indent]), quotes })
        }
        Some(_) | None => None,
    }
}

/// Bytes of a list item's marker.
fn item(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = if digits > 0 { ['.', ')'].as_slice() } else { ['-', '*', '+'].as_slice() };
    match text[digits..].strip_prefix(sign) {
        Some(rest) if rest.starts_with(' ') => text.len() - rest.trim_start_matches(' ').len(),
        Some(_) | None => 0,
    }
}

/// Finds `\(…\)` and `\[…\]` inside a line. After a letter it is an escaped bracket, as in
/// addresses; around a backtick it is code about formulas.
fn in_line(line: &str, start: usize, formulas: &mut Vec<Range<usize>>) {
    let mut at = 0;
    let (mut round, mut square, mut tick) =
        (SignFinder::of("\\)"), SignFinder::of("\\]"), SignFinder::of("`"));
    while let Some(found) = line[at..].find('\\').map(|found| at + found) {
        at = found + 1;
        let close = match line.as_bytes().get(at) {
            Some(b'(') => &mut round,
            Some(b'[') => &mut square,
            // An escaped character, perhaps a backslash.
            Some(byte) if byte.is_ascii() => {
                at += 1;
                continue;
            }
            Some(_) | None => continue,
        };
        let before = line[..found].chars().next_back();
        let apart = before.is_none_or(|c| {
            !c.is_ascii_graphic()
                || matches!(c, '(' | '[' | '"' | '\'' | '*' | '|' | '>' | ':' | ',' | ';')
        });
        let Some(end) = close.from(line, at).map(|end| end + close.sign.len()) else { continue };
        if apart && tick.from(line, found).is_none_or(|tick| tick >= end) {
            formulas.push(start + found..start + end);
            at = end;
        }
    }
}

/// Finds the next occurrence of a sign in a line, and remembers it for later calls.
struct SignFinder {
    sign: &'static str,
    /// A start and the first occurrence from there on: there is none between the two.
    known: Option<(usize, Option<usize>)>,
}

impl SignFinder {
    fn of(sign: &'static str) -> Self {
        Self { sign, known: None }
    }

    /// The first occurrence at `at` or after it. Calls must not go backwards.
    fn from(&mut self, line: &str, at: usize) -> Option<usize> {
        match self.known {
            Some((from, next)) if from <= at && next.is_none_or(|next| at <= next) => next,
            Some(_) | None => {
                let next = line[at..].find(self.sign).map(|next| at + next);
                self.known = Some((at, next));
                next
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<&str> {
        find(source).0.into_iter().map(|range| &source[range]).collect()
    }

    #[test]
    fn formulas_are_found() {
        for (source, expected) in [
            (r"a \(x_1 * y_2\) b \[z\] c", &[r"\(x_1 * y_2\)", r"\[z\]"][..]),
            ("\\[\nx = 1\n- y\n\\]\nz", &["\\[\nx = 1\n- y\n\\]"]),
            ("$$\na\n\\$$$\n", &["$$\na\n\\$$"]),
            ("$$x$$.", &["$$x$$"]),
            ("1. \\[\n   x\n   \\]\n2. b", &["\\[\n   x\n   \\]"]),
            ("> $$\n> a\n> $$\n> b", &["$$\n> a\n> $$"]),
            ("\\[\nx\n\ny", &["\\[\nx\n"]),
            ("- \\[\nout", &["\\[\n"]),
            ("設\\(x\\)為", &["\\(x\\)"]),
        ] {
            assert_eq!(found(source), expected, "{source}");
        }
    }

    #[test]
    fn text_without_formulas_is_unchanged() {
        for source in [
            r"https://a.example/b_\(c\)",
            r"`\(` and `\)`",
            r"a \\(b\\) c",
            r"open \( only",
            "$$ is the process",
            r"\[1\] a note",
        ] {
            let notes: &[&str] = if source.starts_with(r"\[") { &[r"\[1\]"] } else { &[] };
            assert_eq!(found(source), notes, "{source}");
        }
    }

    #[test]
    fn prices_and_variables_take_no_markup_with_them() {
        for (line, expected) in [
            ("$5 or $10, and `$HOME`", &[0, 6][..]),
            ("use $HOME and `$PATH`", &[4]),
            ("pay $10 and $x$ for", &[4]),
            ("$x$ and $y$ are", &[]),
            ("$x_1 and y$, $5", &[]),
            ("a$b$c $", &[]),
            ("${A}/${B}", &[0]),
        ] {
            assert_eq!(lone_dollars(line), expected, "{line}");
        }
        assert_eq!(lone_dollars(&"$a ".repeat(300_000)).len(), 0);
        assert_eq!(lone_dollars(&("$a ".repeat(300_000) + "b$c")).len(), 300_000);
    }

    #[test]
    fn the_end_of_a_formula_is_looked_for_once() {
        let line = "\\(".repeat(500);
        let mut next = SignFinder::of("\\)");
        for at in 0..line.len() {
            assert_eq!(next.from(&line, at), None);
            assert_eq!(next.known, Some((0, None)), "it was looked for once");
        }
        let line = "a`b`c";
        let mut next = SignFinder::of("`");
        let places: Vec<_> = (0..line.len()).map(|at| next.from(line, at)).collect();
        assert_eq!(places, [Some(1), Some(1), Some(3), Some(3), None]);
    }

    #[test]
    fn a_line_is_masked_whatever_follows_it() {
        let text = "a\n\\[\nx_1\n- y\n\n- z \\(b\\)\n$$\nc\n```\n$$\nd\n```\n> $$\n> e\nf\n";
        let whole = MaskedFormulas::of(text).text().to_owned();
        for (end, _) in text.match_indices('\n') {
            let masked = MaskedFormulas::of(&text[..=end]);
            assert_eq!(masked.text(), &whole[..=end]);
            assert_eq!(masked.text().len(), end + 1);
        }
    }
}
