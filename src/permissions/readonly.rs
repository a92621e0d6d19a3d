//! The fixed set of commands that plan mode runs: those that only read, with the options for which
//! that is so.
//!
//! An option that is not listed, an abbreviated one included, takes the command out of the set. No
//! git command is in it (any may run what the repository's configuration names), nor any that
//! sends something, runs a program, or writes where it is told to.

use super::shell::{Inner, SimpleCommand};

struct Reader {
    name: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value that is no path.
    valued: &'static str,
    /// Long options without a value.
    long: &'static [&'static str],
    /// Long options with a value that is no path, written `--name=value`.
    long_valued: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Paths to read; none means the working folder or standard input.
    Paths,
    /// One path at most: a second would be written.
    OnePath,
    /// A pattern, then paths.
    PatternAndPaths,
    /// Text that is only printed or compared.
    Text,
    /// A format that begins with `+`.
    Format,
    /// None.
    Nothing,
}

use Operands::{Format, Nothing, OnePath, Paths, PatternAndPaths, Text};

const READERS: &[Reader] = &[
    reader("basename", "az", "s", &[], &[], Text),
    reader("cat", "AbeEnstTuv", "", &["--number", "--show-all"], &[], Paths),
    reader("cmp", "bls", "n", &["--silent", "--quiet"], &[], Paths),
    reader("comm", "123", "", &[], &[], Paths),
    reader(
        "cut",
        "sz",
        "bcdf",
        &["--only-delimited", "--complement"],
        &["--delimiter", "--fields"],
        Paths,
    ),
    reader("date", "uR", "", &["--utc", "--rfc-email"], &["--iso-8601"], Format),
    reader("df", "ahiklTP", "", &["--human-readable"], &[], Paths),
    reader(
        "diff",
        "abBiqrsuwyN",
        "U",
        &["--brief", "--recursive", "--unified"],
        &["--unified"],
        Paths,
    ),
    reader("dirname", "z", "", &[], &[], Text),
    reader("du", "abchkmsx", "d", &["--human-readable", "--summarize"], &["--max-depth"], Paths),
    reader("echo", "neE", "", &[], &[], Text),
    reader("false", "", "", &[], &[], Nothing),
    reader("file", "bihL", "", &["--brief", "--mime", "--mime-type"], &[], Paths),
    reader(
        "grep",
        "EFGivwxcnHhlLoqsrabzZ",
        "ABCm",
        &[
            "--ignore-case",
            "--invert-match",
            "--word-regexp",
            "--line-regexp",
            "--count",
            "--line-number",
            "--files-with-matches",
            "--files-without-match",
            "--only-matching",
            "--quiet",
            "--recursive",
            "--extended-regexp",
            "--fixed-strings",
            "--no-messages",
        ],
        &["--include", "--exclude", "--exclude-dir", "--context", "--max-count", "--color"],
        PatternAndPaths,
    ),
    reader("head", "qvz", "nc", &["--quiet", "--verbose"], &["--lines", "--bytes"], Paths),
    reader("id", "Ggnru", "", &[], &[], Text),
    reader(
        "ls",
        "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ",
        "",
        &[
            "--all",
            "--almost-all",
            "--human-readable",
            "--reverse",
            "--recursive",
            "--directory",
            "--size",
        ],
        &["--color", "--sort", "--time-style", "--format"],
        Paths,
    ),
    reader("md5sum", "btz", "", &[], &[], Paths),
    reader("nl", "p", "bvw", &[], &[], Paths),
    reader("nproc", "", "", &["--all"], &[], Nothing),
    reader("pwd", "LP", "", &[], &[], Nothing),
    reader("readlink", "efmnz", "", &["--canonicalize"], &[], Paths),
    reader("realpath", "emsz", "", &[], &[], Paths),
    reader("sha256sum", "btz", "", &[], &[], Paths),
    reader(
        "sort",
        "bdfgiMhnRrVszuc",
        "kt",
        &[
            "--numeric-sort",
            "--reverse",
            "--unique",
            "--human-numeric-sort",
            "--version-sort",
            "--ignore-case",
        ],
        &["--key", "--field-separator"],
        Paths,
    ),
    reader("stat", "Lft", "c", &["--dereference", "--terse"], &["--format", "--printf"], Paths),
    reader("tac", "", "", &[], &[], Paths),
    reader("tail", "qvz", "nc", &["--quiet", "--verbose"], &["--lines", "--bytes"], Paths),
    reader("tr", "cCdst", "", &["--delete", "--squeeze-repeats", "--complement"], &[], Text),
    reader("true", "", "", &[], &[], Nothing),
    reader("uname", "asnrvmpio", "", &[], &[], Nothing),
    reader("uniq", "cdDiuz", "fsw", &["--count", "--repeated", "--unique"], &[], OnePath),
    reader("wc", "clmwL", "", &["--bytes", "--lines", "--words", "--chars"], &[], Paths),
    reader("which", "a", "", &[], &[], Text),
    reader("whoami", "", "", &[], &[], Nothing),
];

/// Tests and actions of find that only read, each with how many words follow.
const FIND: &[(&str, usize)] = &[
    ("!", 0),
    ("(", 0),
    (")", 0),
    ("-a", 0),
    ("-and", 0),
    ("-not", 0),
    ("-o", 0),
    ("-or", 0),
    ("-amin", 1),
    ("-atime", 1),
    ("-cmin", 1),
    ("-ctime", 1),
    ("-empty", 0),
    ("-group", 1),
    ("-iname", 1),
    ("-ipath", 1),
    ("-iregex", 1),
    ("-links", 1),
    ("-ls", 0),
    ("-maxdepth", 1),
    ("-mindepth", 1),
    ("-mmin", 1),
    ("-mtime", 1),
    ("-name", 1),
    ("-path", 1),
    ("-perm", 1),
    ("-print", 0),
    ("-print0", 0),
    ("-prune", 0),
    ("-regex", 1),
    ("-size", 1),
    ("-type", 1),
    ("-user", 1),
    ("-xdev", 0),
];

const fn reader(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    long_valued: &'static [&'static str],
    operands: Operands,
) -> Reader {
    Reader { name, flags, valued, long, long_valued, operands }
}

/// The paths that a command of the set reads; `None` when it is not in the set. Its redirections
/// are not looked at.
pub fn paths_read(command: &SimpleCommand) -> Option<Vec<&str>> {
    if !command.assignments.is_empty() || command.inner != Inner::Nothing {
        return None;
    }
    let words: Option<Vec<&str>> =
        command.words.iter().map(|word| word.is_literal().then_some(word.text.as_str())).collect();
    let words = words?;
    let (name, arguments) = words.split_first()?;
    if *name == "find" {
        return find_paths(arguments);
    }
    READERS.iter().find(|reader| reader.name == *name)?.paths(arguments)
}

/// Whether a command of the set, given a folder, reads where the links in it lead.
pub fn follows_links_below(command: &SimpleCommand) -> bool {
    command.words.first().is_some_and(|name| name.text == "diff")
}

impl Reader {
    fn paths<'a>(&self, arguments: &[&'a str]) -> Option<Vec<&'a str>> {
        let operands = self.operands_of(arguments)?;
        match self.operands {
            Paths => Some(operands),
            OnePath => (operands.len() <= 1).then_some(operands),
            PatternAndPaths => Some(operands.get(1..)?.to_vec()),
            Text => Some(Vec::new()),
            Format => operands.iter().all(|text| text.starts_with('+')).then(Vec::new),
            Nothing => operands.is_empty().then(Vec::new),
        }
    }

    /// What is left once the options are gone, if all of them are known.
    fn operands_of<'a>(&self, arguments: &[&'a str]) -> Option<Vec<&'a str>> {
        let mut operands = Vec::new();
        let mut arguments = arguments.iter().copied();
        while let Some(argument) = arguments.next() {
            if argument == "--" && self.name != "echo" {
                operands.extend(arguments);
                break;
            }
            if let Some(long) = argument.strip_prefix("--").filter(|long| !long.is_empty()) {
                let known = match long.split_once('=') {
                    Some((name, _)) => self.long_valued.iter().any(|known| known[2..] == *name),
                    None => self.long.contains(&argument),
                };
                if !known && self.name != "echo" {
                    return None;
                }
            } else if let Some(letters) = argument.strip_prefix('-').filter(|rest| !rest.is_empty())
            {
                if self.letters_take_next(letters)? {
                    arguments.next()?;
                }
            } else {
                operands.push(argument);
            }
        }
        Some(operands)
    }

    /// Whether a cluster of letters takes the next word as its value; `None` when one is not known.
    fn letters_take_next(&self, letters: &str) -> Option<bool> {
        if self.name == "echo" {
            return Some(false);
        }
        // `head -20`.
        if matches!(self.name, "head" | "tail") && letters.chars().all(|c| c.is_ascii_digit()) {
            return Some(false);
        }
        for (at, c) in letters.char_indices() {
            if self.valued.contains(c) {
                return Some(at + c.len_utf8() == letters.len());
            }
            if !self.flags.contains(c) {
                return None;
            }
        }
        Some(false)
    }
}

fn find_paths<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
    let starts = |text: &&str| !text.starts_with(['-', '!', '(']);
    let count = arguments.iter().take_while(|text| starts(text)).count();
    let mut rest = arguments[count..].iter();
    while let Some(word) = rest.next() {
        let (_, values) = FIND.iter().find(|(name, _)| name == word)?;
        for _ in 0..*values {
            rest.next()?;
        }
    }
    Some(arguments[..count].to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::shell::analyse;
    use super::*;

    fn paths(command: &str) -> Option<Vec<String>> {
        let analysis = analyse(command);
        let paths = paths_read(analysis.commands.first()?)?;
        Some(paths.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn reading_commands_say_what_they_read() {
        for (command, read) in [
            ("ls", ""),
            ("ls -la src", "src"),
            ("ls --color=always src", "src"),
            ("cat a b", "a b"),
            ("cat -- -a", "-a"),
            ("head -20 f", "f"),
            ("head -n 20 f", "f"),
            ("tail -n5 f", "f"),
            ("grep -rn 'fn main' src", "src"),
            ("grep -A 3 x f", "f"),
            ("grep --include=*.rs x f", ""),
            ("echo -e hi /etc/passwd", ""),
            ("sort -k 2 -rn f", "f"),
            ("uniq -c f", "f"),
            ("date +%F", ""),
            ("find src -name '*.rs' -type f", "src"),
            ("find . '(' -name a -o -name b ')'", "."),
            ("pwd", ""),
            ("wc -l f", "f"),
        ] {
            if command.contains("--include") {
                // The pattern is unquoted here, so the word is not literal.
                assert_eq!(paths(command), None);
                continue;
            }
            assert_eq!(paths(command).map(|p| p.join(" ")), Some(read.to_owned()), "{command}");
        }
    }

    #[test]
    fn unknown_and_abbreviated_options_are_not_in_the_set() {
        for command in [
            "ls --al",
            "ls --hyperlink",
            "sort -o f",
            "sort --compress-prog=x f",
            "sort -S10K f",
            "sort -T /tmp f",
            "sort --output=f",
            "sort -no f",
            "uniq a b",
            "date -s x",
            "date -f .env",
            "date 0101",
            "grep -f pats x",
            "grep -P x f",
            "tail -f x",
            "tail --pid=1 x",
            "find . -exec ls",
            "find . -delete",
            "find . -fprint f",
            "find -L .",
            "find . -newer",
            "cat --numb f",
            "git status",
            "file -m x y",
            "wc --files0-from=f",
            "pwd x",
            "A=1 ls",
            "env ls",
            "/tmp/ls",
            "awk x",
            "sed p f",
            "rg x",
            "curl x",
            "diff --to-file=x a",
            "hostname x",
            "tee f",
            "xargs ls",
            "du --files0-from=x",
        ] {
            assert_eq!(paths(command), None, "{command}");
        }
    }
}
