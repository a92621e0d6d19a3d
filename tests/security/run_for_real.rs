//! Commands that are allowed without a question are really run, and the disk is compared before and
//! after.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use slug_code::domain::{PermissionMode, PermissionOutcome};

use super::test_project::{TestProject, quoted};

/// The whole content of a folder: the bytes of each file, and the target of each link.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(path) = folders.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            let content = if kind.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_file() {
                fs::read(&path).unwrap()
            } else {
                b"special".to_vec()
            };
            found.insert(path, content);
        }
    }
    found
}

/// Runs lines in the project, for ten seconds at most.
fn run(project: &TestProject, line: &str) {
    let home = project.sibling_path("home");
    let path = std::env::var_os("PATH").unwrap();
    let _ = Command::new("timeout")
        .args(["-k", "1", "10", "bash", "-c", line])
        .current_dir(project.root())
        .env_clear()
        .envs([("PATH", path.as_os_str()), ("HOME", home.as_os_str())])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
}

/// The options that a program's own help lists.
fn options_of(program: &str) -> Vec<String> {
    let Ok(output) = Command::new(program).arg("--help").stdin(Stdio::null()).output() else {
        eprintln!("skipped: there is no {program} here");
        return Vec::new();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1;
    let cut = |word: &str| {
        let end =
            word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(word.len());
        word[..end].to_owned()
    };
    let mut words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || "[](),|".contains(c))
        .filter(is_option)
        .map(cut)
        .filter(|word| !word.trim_matches('-').is_empty())
        .collect();
    let short = ('a'..='z').chain('A'..='Z').map(|letter| format!("-{letter}"));
    words.extend(short);
    words.sort();
    words.dedup();
    words
}

/// Runs these programs with each of their own options, as far as that is allowed without a
/// question.
fn try_options(programs: &[&str]) {
    let project = TestProject::new();
    let before = snapshot(&project.sibling_path(""));
    let mut allowed = Vec::new();
    for program in programs {
        for option in options_of(program) {
            let glued = if option.starts_with("--") { "=" } else { "" };
            let lines = [
                format!("{program} {option} out a.txt"),
                format!("{program} {option}{glued}out a.txt"),
                format!("{program} {option} a.txt"),
            ];
            let is_allowed = |line: &String| {
                project.outcome(line, PermissionMode::Ask) == PermissionOutcome::Allow
            };
            allowed.extend(lines.into_iter().filter(is_allowed));
        }
    }
    assert!(allowed.len() > 10, "{} lines are allowed", allowed.len());
    // These follow a file without end.
    let waits = |line: &String| line.starts_with("tail ") && line.contains("-f");
    allowed.retain(|line| !waits(line) && !line.contains("-F"));
    run(&project, &allowed.join("\n"));
    let after = snapshot(&project.sibling_path(""));
    let changed: Vec<&PathBuf> = after
        .iter()
        .filter(|(path, content)| before.get(*path) != Some(content))
        .map(|(path, _)| path)
        .chain(before.keys().filter(|path| !after.contains_key(*path)))
        .collect();
    assert!(changed.is_empty(), "{changed:?} by one of {allowed:#?}");
}

#[test]
fn no_option_of_what_shows_files_changes_anything() {
    try_options(&["cat", "head", "tail", "wc", "cut", "nl", "od", "tr"]);
}

#[test]
fn no_option_of_what_sorts_and_compares_changes_anything() {
    try_options(&["sort", "uniq", "comm", "cmp", "diff", "sed"]);
}

#[test]
fn no_option_of_what_looks_for_files_changes_anything() {
    try_options(&["find", "ls", "tree", "du", "stat", "file", "realpath"]);
}

#[test]
fn no_option_of_what_searches_changes_anything() {
    try_options(&["grep", "rg", "date"]);
}

/// Words for lines that may or may not write.
fn word() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "a.txt",
        "out",
        "src",
        ".",
        "-o",
        "-oout",
        "-n",
        "-i",
        "-e",
        "p",
        "w out",
        "1w out",
        "-delete",
        "-print",
        "-name",
        "-exec",
        "touch",
        ";",
        "--output=out",
        "--output",
        "-fprint",
        "--",
        "-",
        "-u",
        "-uo",
        "s/a/b/w out",
        "-f",
        "--in-place",
        "-ni",
        "1,2p",
        "-r",
        "-k1",
        "-type",
        "f",
        "-newer",
        "--files0-from=a.txt",
        "-C",
        "-s",
        "+",
        "{}",
        "!",
        "-fls",
        "-O",
        "--pre=touch",
    ]);
    fixed.prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Generated lines that are allowed without a question are run, and change nothing.
    #[test]
    fn a_line_that_runs_unasked_changes_nothing(
        program in prop::sample::select(vec!["find", "sort", "sed", "grep", "cat", "tail", "file", "du",
            "diff", "uniq", "head", "ls", "wc", "cut", "stat", "tree"]),
        words in prop::collection::vec(word(), 0..5),
    ) {
        thread_local! {
            static PROJECT: (TestProject, BTreeMap<PathBuf, Vec<u8>>) = {
                let project = TestProject::new();
                let before = snapshot(&project.sibling_path(""));
                (project, before)
            };
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = format!("{program} {}", words.join(" "));
        let waits = program == "tail" && words.iter().any(|word| word.contains('f'));
        PROJECT.with(|(project, before)| {
            if !waits && project.outcome(&line, PermissionMode::Ask) == PermissionOutcome::Allow {
                run(project, &line);
                prop_assert_eq!(&snapshot(&project.sibling_path("")), before, "{}", line);
            }
            Ok(())
        })?;
    }
}
