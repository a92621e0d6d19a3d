//! The hint for the model when a file does not contain the old text. Pure.

use std::collections::HashMap;
use std::fmt::Write;

use super::lines::{key, split};
use super::matching::{line_number, with_line_ends};
use crate::tools::similarity::similarity;
use crate::tools::truncation;

/// The most lines of the closest place that are shown.
const SHOWN_LINES: usize = 20;
/// The most characters of each line that are shown.
const SHOWN_CHARS: usize = 200;
/// A place with a lower score is not worth showing.
const ALIKE: f32 = 0.5;
/// How much is compared in search of the closest place, in lines of the old text and bytes of lines: less
/// than a second.
const MAX_WORK: usize = 20_000_000;

/// A hint of some lines about the closest place, or that there is none.
pub(super) fn hint(text: &str, old: &str, new: &str) -> String {
    let mut hint = String::new();
    let written = with_line_ends(new, text, &(0..0));
    if let Some(at) = text.find(&written).filter(|_| !new.trim().is_empty()) {
        let line = line_number(text, at);
        let _ = writeln!(
            hint,
            "new_string is already there, at line {line}: the edit may have been made before."
        );
    }
    if has_line_numbers(old) {
        hint.push_str(
            "old_string seems to hold the line numbers that Read adds; leave them out.\n",
        );
    }
    let (old, there) = (split(old), split(text));
    let (start, compared) = closest(&old, &there);
    if compared < there.len() {
        let _ = writeln!(hint, "Only the first {compared} lines were compared with it.");
    }
    match start {
        Some(start) => describe(&mut hint, &old, &there, start),
        None if compared < there.len() => hint.push_str("Nothing there looks like it.\n"),
        None => hint.push_str("Nothing in the file looks like it. Read the file again.\n"),
    }
    hint
}

/// The place with most lines of `old`; failing that, the place that resembles its longest line. Also
/// how many lines of the file were compared: as many as [`MAX_WORK`] allows.
fn closest(old: &[&str], there: &[&str]) -> (Option<usize>, usize) {
    let wanted: Vec<String> = old.iter().map(|line| key(line)).collect();
    let keys: Vec<String> = there.iter().map(|line| key(line)).collect();
    let longest = wanted.iter().enumerate().max_by_key(|(_, line)| line.chars().count());
    let Some((longest, telling)) = longest.filter(|(_, line)| !line.is_empty()) else {
        return (None, there.len());
    };
    // A line with a brace alone is everywhere, so it has no number.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for line in wanted.iter().filter(|line| line.contains(char::is_alphanumeric)) {
        let next = numbers.len();
        numbers.entry(line).or_insert(next);
    }
    let number = |line: &String| numbers.get(line.as_str()).copied();
    let wanted_numbers: Vec<Option<usize>> = wanted.iter().map(number).collect();
    let key_numbers: Vec<Option<usize>> = keys.iter().map(number).collect();

    let mut best: Option<(f32, usize)> = None;
    let mut work = 0;
    for place in 0..keys.len() {
        let start = place.saturating_sub(longest);
        let line = keys.get(start + longest);
        work += wanted.len() + telling.len() + line.map_or(0, String::len);
        if work > MAX_WORK {
            return (best.filter(|best| best.0 >= ALIKE).map(|best| best.1), place);
        }
        let pairs = wanted_numbers.iter().zip(key_numbers.iter().skip(start));
        let equal = pairs.filter(|(old, there)| old.is_some() && old == there).count();
        let score = equal as f32 + line.map_or(0.0, |line| bounded(telling, line));
        if best.is_none_or(|best| score > best.0) {
            best = Some((score, start));
        }
    }
    (best.filter(|best| best.0 >= ALIKE).map(|best| best.1), keys.len())
}

/// The similarity of two lines; 0 for minified lines and for lines of too different length.
fn bounded(a: &str, b: &str) -> f32 {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    if long > 2000 || short * 4 < long { 0.0 } else { similarity(a, b) }
}

fn describe(hint: &mut String, old: &[&str], there: &[&str], start: usize) {
    let end = (start + old.len()).min(there.len());
    let shown = end.min(start + SHOWN_LINES);
    let _ = writeln!(hint, "The closest place (→ is a tab, · a space):");
    for (offset, line) in there[start..shown].iter().enumerate() {
        let _ = writeln!(hint, "{}\t{}", start + offset + 1, visible(line));
    }
    if shown < end {
        let _ = writeln!(hint, "[{} more lines]", end - shown);
    }
    let differs = old.iter().zip(&there[start..end]).position(|(old, file)| old != file);
    if let Some(offset) = differs {
        let _ = writeln!(hint, "The first difference is at line {}:", start + offset + 1);
        let _ = writeln!(hint, "file:       {}", visible(there[start + offset]));
        let _ = writeln!(hint, "old_string: {}", visible(old[offset]));
    }
    hint.push_str("Send old_string exactly as the file has it.\n");
}

/// A line in which white space at its ends can be seen: that is where it goes wrong.
pub(super) fn visible(line: &str) -> String {
    let mark = |text: &str| text.replace('\t', "→").replace(' ', "·");
    let core = line.trim_matches([' ', '\t']);
    let start = line.len() - line.trim_start_matches([' ', '\t']).len();
    if core.is_empty() {
        return mark(line);
    }
    let (before, after) = (&line[..start], &line[start + core.len()..]);
    let core = core.replace('\t', "→");
    format!("{}{}{}", mark(before), truncation::line(&core, SHOWN_CHARS), mark(after))
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &&str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.trim_start().len() && rest.starts_with(['\t', '→', '|'])
    };
    let lines = split(old);
    !lines.is_empty() && lines.iter().all(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_place_shows_tabs_and_spaces() {
        let text = "fn a() {\n\tlet x = 1;\n\tuse_it(x);\n}\n";
        let hint = hint(text, "    let x = 2;\n    use_it(x);\n", "    let y = 3;\n");
        assert_eq!(
            hint,
            "The closest place (→ is a tab, · a space):\n2\t→let x = 1;\n3\t→use_it(x);\n\
             The first difference is at line 2:\nfile:       →let x = 1;\n\
             old_string: ····let x = 2;\nSend old_string exactly as the file has it.\n"
        );
    }

    #[test]
    fn an_edit_that_was_made_before_is_reported() {
        let hint = hint("a\nnew line\nb\n", "old line", "new line");
        assert!(hint.starts_with("new_string is already there, at line 2:"), "{hint}");
    }

    #[test]
    fn line_numbers_in_the_old_text_are_reported() {
        let hint = hint("let a = 1;\n", "  12\tlet a = 1;\n  13\tlet b;\n", "x");
        assert!(hint.contains("line numbers that Read adds"), "{hint}");
    }

    #[test]
    fn a_file_with_nothing_similar_is_reported() {
        let hint = hint("abc\ndef\n", "zzz yyy", "x");
        assert_eq!(hint, "Nothing in the file looks like it. Read the file again.\n");
    }

    #[test]
    fn the_search_has_a_limit_which_the_hint_tells() {
        let (text, old) = ("a\n".repeat(100_000), "a\n".repeat(2_500) + "b\n");
        let hint = hint(&text, &old, "x");
        assert!(hint.starts_with("Only the first 79"), "{hint}");
        assert!(hint.contains("The closest place"), "{hint}");
    }
}
