//! Which protected place a pattern of a command could match: `.gi*`, `.vsc*/tasks.json`, `~/.b*`.
//!
//! What a pattern matches is known only when the command runs, so the disk is not looked at: a pattern
//! that could match a name of the table counts as that name. Not so `*`, `*.yml` and the like, which say
//! nothing of a name, and stand in every second command. A pattern counts only where it may be a target:
//! not as an operand that a plain program reads.

use std::path::Path;

use super::places::{self, ANYWHERE, AT_HOME, ProtectionReason};
use super::programs;
use super::shell::{RedirectDirection, ShellWord, ShellWordKind, SimpleCommand};

/// The most words that braces are taken apart into.
const MAX_BRACES: usize = 64;

/// The fewest letters of a visible name that a pattern has to have: at its start, or anywhere if it begins
/// with a wildcard.
const FIRST_LETTERS: usize = 3;
const FEWEST_LETTERS: usize = 4;

/// What stands for one byte of a name, or for any number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternSign {
    Letter(u8),
    One,
    Many,
}

use PatternSign::{Letter, Many, One};

/// The protected place that a pattern of the command could match, where the command may change it.
pub(super) fn named_by_pattern(
    command: &SimpleCommand,
    home: Option<&Path>,
) -> Option<ProtectionReason> {
    let words = command.words.iter().enumerate();
    let operands = words.filter(|(at, word)| is_pattern(word) && may_be_changed(command, *at));
    let redirects = command.redirects.iter();
    let redirects = redirects.filter(|it| it.direction == RedirectDirection::Write);
    let targets = redirects.map(|it| &it.target).filter(|target| is_pattern(target));
    let texts = operands.map(|(_, word)| word).chain(targets).map(|word| word.text.as_str());
    texts.flat_map(without_braces).find_map(|text| could_match(&text, home))
}

fn is_pattern(word: &ShellWord) -> bool {
    word.kind == ShellWordKind::Dynamic && word.text.contains(['*', '?', '[', '{'])
}

/// Whether what stands at this word may be changed. Known only for plain programs all of whose other
/// words are known or patterns.
fn may_be_changed(command: &SimpleCommand, at: usize) -> bool {
    const MARK: &str = "pattern-that-is-looked-at";
    let mut tried = command.clone();
    for (index, word) in tried.words.iter_mut().enumerate() {
        if index == at || is_pattern(word) {
            *word = ShellWord::literal(if index == at { MARK } else { "another-pattern" });
        }
    }
    match programs::effects(&tried) {
        Some(effects) => effects.writes.iter().any(|it| it.contains(MARK)),
        None => true,
    }
}

/// The words that braces without others in them stand for.
fn without_braces(text: &str) -> Vec<String> {
    let mut words = vec![text.replace(['"', '\'', '\\'], "")];
    loop {
        let group = |word: &String| {
            let end = word.find('}')?;
            let start = word[..end].rfind('{').filter(|at| !word[..*at].ends_with('$'))?;
            word[start..end].contains(',').then_some((start, end))
        };
        let found = words.iter().enumerate().find_map(|(at, word)| Some((at, group(word)?)));
        let Some((at, (start, end))) = found.filter(|_| words.len() < MAX_BRACES) else {
            return words;
        };
        let word = words.swap_remove(at);
        let choices = word[start + 1..end].split(',');
        words.extend(choices.map(|it| format!("{}{it}{}", &word[..start], &word[end + 1..])));
    }
}

fn could_match(text: &str, home: Option<&Path>) -> Option<ProtectionReason> {
    let home = home.map(|home| format!("{}/", home.display()));
    let starts = ["~/", "$HOME/", "${HOME}/"].into_iter().chain(home.as_deref());
    let at_home = starts.filter_map(|start| text.strip_prefix(start)).next();
    let names: Vec<&str> = at_home.unwrap_or(text).split('/').filter(|it| !it.is_empty()).collect();
    if let Some(found) = at_home.and_then(|_| {
        let is_hidden = matches!(names[..], [name] if name.starts_with('.') && is_wild(name));
        let row = AT_HOME.iter().find(|row| fits(row.text(), &names)).map(|row| row.protected);
        row.or_else(|| is_hidden.then(|| places::at_home(Path::new(".x"))).flatten())
    }) {
        return Some(found);
    }
    (0..names.len()).find_map(|at| {
        let row = ANYWHERE.iter().find(|row| fits(row.text(), &names[at..]));
        row.map(|row| row.protected)
    })
}

/// Whether names, one of which is a pattern, could begin with those of a row, as in
/// [`places::by_name`].
fn fits(row: &str, names: &[&str]) -> bool {
    let mut rest = names.iter();
    let matches_folder = row.starts_with('.');
    let mut has_pattern = false;
    let all_fit = row.split('/').enumerate().all(|(at, part)| match rest.next() {
        None => at > 0 && matches_folder,
        Some(name) if is_wild(name) => {
            has_pattern = true;
            (at > 0 || tells_a_name(name)) && could_be(name, part)
        }
        Some(name) => could_be(name, part),
    });
    all_fit && has_pattern
}

fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Whether a pattern says enough of a name.
fn tells_a_name(pattern: &str) -> bool {
    let is_letter = |it: &&PatternSign| matches!(it, Letter(_));
    let signs = signs(pattern);
    let is_suffix = pattern.starts_with("*.") && !is_wild(&pattern[1..]);
    pattern.starts_with('.')
        || signs.iter().take_while(is_letter).count() >= FIRST_LETTERS
        || !matches!(signs.first(), Some(Letter(_)))
            && !is_suffix
            && signs.iter().filter(is_letter).count() >= FEWEST_LETTERS
}

/// Whether some name matches both a pattern of the shell and a name of the table. bash matches no hidden
/// file with a wildcard at the start.
fn could_be(pattern: &str, part: &str) -> bool {
    // What a variable holds is not guessed.
    if pattern.contains(['$', '`']) {
        return false;
    }
    let is_hidden = part.starts_with('.') && pattern.starts_with(['*', '?', '[']);
    // Nearly every pattern overlaps with `*.code-workspace`.
    let is_other = part.strip_prefix('*').is_some_and(|end| {
        let fixed = end.get(..FEWEST_LETTERS).unwrap_or(end);
        !pattern.to_ascii_lowercase().contains(fixed)
    });
    !is_hidden && !is_other && overlap(&signs(pattern), &signs(part))
}

/// The signs of a pattern in lower case; a set of letters stands for any one.
fn signs(pattern: &str) -> Vec<PatternSign> {
    let mut signs = Vec::new();
    let mut rest = pattern.bytes();
    while let Some(byte) = rest.next() {
        signs.push(match byte {
            b'*' => Many,
            b'?' => One,
            b'[' if rest.clone().skip(1).any(|it| it == b']') => {
                // A bracket that comes first is one of the set.
                let _ = rest.next();
                rest.by_ref().take_while(|it| *it != b']').for_each(drop);
                One
            }
            letter => Letter(letter.to_ascii_lowercase()),
        });
    }
    signs
}

/// Whether some text matches both.
fn overlap(one: &[PatternSign], other: &[PatternSign]) -> bool {
    // `reached[j]`: the first `i` signs of one and the first `j` of the other match a common text.
    let mut reached = vec![false; other.len() + 1];
    for i in 0..=one.len() {
        let mut next = vec![false; other.len() + 1];
        for j in 0..=other.len() {
            let (last, last_other) = (
                i.checked_sub(1).and_then(|at| one.get(at)),
                j.checked_sub(1).and_then(|at| other.get(at)),
            );
            next[j] = match (last, last_other) {
                (None, None) => true,
                (Some(Many), None) => reached[j],
                (None, Some(Many)) => next[j - 1],
                (Some(Many), Some(_)) | (Some(_), Some(Many)) => {
                    let many_is_empty = (last == Some(&Many) && reached[j])
                        || (last_other == Some(&Many) && next[j - 1]);
                    let many_takes_one = match last == Some(&Many) {
                        true => next[j - 1],
                        false => reached[j],
                    };
                    many_is_empty || many_takes_one
                }
                (Some(Letter(a)), Some(Letter(b))) => a == b && reached[j - 1],
                (Some(_), Some(_)) => reached[j - 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matched(text: &str) -> bool {
        let home = Path::new("/home/me");
        without_braces(text).iter().any(|it| could_match(it, Some(home)).is_some())
    }

    #[test]
    fn a_pattern_counts_as_each_name_that_it_could_match() {
        for text in [
            ".gi*",
            ".g?t/config",
            ".[g]it",
            ".*",
            ".[!.]*",
            "sub/.GI*/x",
            ".vsc*/tasks.json",
            ".github/work*/x.yml",
            ".gi*/workflows/x",
            "Jenk*",
            "*kinsfile",
            "lefth*.yml",
            "my.code-work*",
            ".\"gi\"*",
            "{.g,x}it*",
            ".vs{c,x}ode*",
            "rust-t*",
            "~/.b*",
            "$HOME/.ss*/config",
            "/home/me/.config/fi*/x",
            ".gi[]t]",
            ".github/*",
            "gradle/*/x",
        ] {
            assert!(matched(text), "{text}");
        }
        for text in [
            "*",
            "*.yml",
            "*.json",
            "src/*",
            "?",
            "[a-z]*",
            "src/*.rs",
            "target/debug/*",
            ".x*",
            "docs/g*",
            "node_modules/.cache/*",
            "test*",
            "a*.o",
            "li*",
            "*.code",
            "lib/*.code-x/y",
            "~/Downloads/*",
            "{a,b}/*.txt",
            "$x*",
        ] {
            assert!(!matched(text), "{text}");
        }
    }

    #[test]
    fn braces_end() {
        assert!(without_braces(&"{a,b}".repeat(100)).len() <= 2 * MAX_BRACES);
        assert_eq!(without_braces("{}${x,y}{a}"), ["{}${x,y}{a}"]);
    }

    proptest! {
        /// A name that matches the pattern makes the two overlap.
        #[test]
        fn what_matches_overlaps(name in "[a-c]{0,6}", cuts in prop::collection::vec(0usize..3, 6)) {
            let mut pattern = String::new();
            for (c, cut) in name.chars().zip(&cuts) {
                match cut {
                    0 => pattern.push(c),
                    1 => pattern.push('?'),
                    _ => pattern.push('*'),
                }
            }
            prop_assert!(overlap(&signs(&pattern), &signs(&name)), "{} {}", pattern, name);
            prop_assert!(overlap(&signs(&name), &signs(&pattern)));
        }
    }
}
