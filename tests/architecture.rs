//! The house has rooms, and the doors between them are listed here. Any other `use crate::` line,
//! and any cycle between rooms, fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and the rooms it may look into.
const DOORS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("disk", &[]),
    ("providers", &["domain"]),
    ("tools", &["disk", "domain"]),
    ("session", &["disk", "domain"]),
    ("catalogue", &["domain", "providers"]),
    ("permissions", &["disk", "domain", "platform"]),
    ("hooks", &["disk", "domain", "platform"]),
    ("trust", &["disk", "domain", "hooks", "platform"]),
    ("platform", &["disk", "domain", "tools"]),
    ("config", &["disk", "domain", "platform"]),
    ("cli", &["config", "domain"]),
    ("context", &["disk", "domain", "platform"]),
    (
        "agent",
        &[
            "catalogue",
            "context",
            "domain",
            "hooks",
            "permissions",
            "platform",
            "providers",
            "session",
            "tools",
            "trust",
        ],
    ),
    ("commands", &["domain"]),
    ("doctor", &["catalogue", "config", "context", "domain", "providers"]),
    ("headless", &["agent", "cli", "domain", "session"]),
    (
        "tui",
        &[
            "agent",
            "commands",
            "config",
            "context",
            "disk",
            "domain",
            "hooks",
            "permissions",
            "platform",
            "providers",
            "session",
            "trust",
        ],
    ),
    (
        "launch",
        &[
            "agent",
            "catalogue",
            "cli",
            "config",
            "context",
            "disk",
            "doctor",
            "domain",
            "headless",
            "hooks",
            "permissions",
            "platform",
            "providers",
            "session",
            "tools",
            "trust",
            "tui",
        ],
    ),
];

/// What stays pure: no task, no terminal I/O, no clock, no network.
const PURE: &[(&str, &[&str])] = &[
    ("src/domain", &["tokio", "reqwest", "crossterm", "std::fs", "std::process"]),
    ("src/tui/app", &["tokio", "reqwest", "std::fs", "std::process", "Instant::now", "Utc::now"]),
    ("src/tui/view", &["tokio", "reqwest", "std::fs", "std::process", "crate::agent"]),
    ("src/hooks/verdict.rs", &["tokio", "Instant", "std::fs"]),
    ("src/hooks/merged.rs", &["tokio", "Instant", "std::fs"]),
    ("src/hooks/read.rs", &["tokio", "Instant", "std::fs"]),
    ("src/agent/turn.rs", &["tokio", "Instant", "std::fs"]),
    ("src/agent/normalise.rs", &["tokio", "Instant", "std::fs"]),
];

#[test]
fn rooms_use_only_the_doors_that_are_listed() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        DOORS.iter().map(|(room, doors)| (*room, doors.iter().copied().collect())).collect();
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let Some(room) = room_of(&file) else { continue };
        let doors = allowed.get(room.as_str()).unwrap_or_else(|| panic!("{room} is not listed"));
        for (line, used) in rooms_used(&file) {
            if used != room && !doors.contains(used.as_str()) {
                wrong.push(format!("{}:{line}: {room} uses {used}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_doors_lead_in_one_direction() {
    let mut left: BTreeMap<&str, BTreeSet<&str>> =
        DOORS.iter().map(|(room, doors)| (*room, doors.iter().copied().collect())).collect();
    while !left.is_empty() {
        let free: Vec<&str> =
            left.iter().filter(|(_, doors)| doors.is_empty()).map(|(room, _)| *room).collect();
        assert!(!free.is_empty(), "a cycle among {:?}", left.keys());
        left.retain(|room, _| !free.contains(room));
        for doors in left.values_mut() {
            doors.retain(|door| !free.contains(door));
        }
    }
}

#[test]
fn pure_rooms_do_not_act() {
    let mut wrong = Vec::new();
    for (folder, words) in PURE {
        for file in sources(Path::new(folder)) {
            for (number, line) in code_lines(&file) {
                if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                    wrong.push(format!("{}:{number}: {word}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tools run behind the gate, and only there.
#[test]
fn only_the_gate_runs_tools() {
    let mut callers = BTreeSet::new();
    for file in sources(Path::new("src")) {
        let inside = file.starts_with("src/tools");
        if !inside && code_lines(&file).any(|(_, line)| line.contains("tool.run(")) {
            callers.insert(file);
        }
    }
    assert_eq!(callers, BTreeSet::from([PathBuf::from("src/agent/gate.rs")]));
}

/// Where programs are started, and which.
const STARTERS: &[(&str, &str)] = &[
    ("src/context/git.rs", "git, hardened, in a trusted folder"),
    ("src/platform/child.rs", "what passed the gate, below a supervisor"),
    ("src/platform/clipboard.rs", "the system's clipboard programs"),
    ("src/platform/editor.rs", "the person's editor and pager"),
    ("src/platform/own_command.rs", "the person's commands for keys and for the first line"),
    ("src/platform/sandbox/bubblewrap.rs", "bubblewrap, to see whether it works"),
    ("src/platform/sandbox/seatbelt.rs", "sandbox-exec, around what passed the gate"),
    ("src/platform/sandbox/start.rs", "bubblewrap or bash, around what passed the gate"),
    ("src/platform/signals.rs", "slug itself, to raise a signal"),
];

/// Every way out to a program is known, so that none goes past the gate.
#[test]
fn programs_are_started_in_the_files_that_are_listed() {
    // Below a folder of tests, and the judges of property tests.
    let judges = ["permissions/disk_law.rs", "permissions/oracle.rs"];
    let is_of_tests = |file: &PathBuf| file.iter().any(|part| part == "tests");
    let starts = |line: &str| {
        line.match_indices("Command::new(")
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    let found: BTreeSet<PathBuf> = sources(Path::new("src"))
        .into_iter()
        .filter(|file| !judges.iter().any(|it| file.ends_with(it)) && !is_of_tests(file))
        .filter(|file| code_lines(file).any(|(_, line)| starts(&line)))
        .collect();
    let listed = STARTERS.iter().map(|(file, _)| PathBuf::from(file)).collect();
    assert_eq!(found, listed);
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<PathBuf> = sources(Path::new("src"))
        .into_iter()
        .filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "no //! at the head of {silent:?}");
}

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut files: Vec<PathBuf> = fs::read_dir(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .flat_map(|entry| sources(&entry.unwrap().path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

/// The top folder, or file, under `src` that `file` belongs to; none for `main` and `lib`.
fn room_of(file: &Path) -> Option<String> {
    let first = file.strip_prefix("src").unwrap().components().next()?;
    let name = first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
    (name != "main" && name != "lib").then_some(name)
}

/// The code of a file without its comments and its tests, which stand at the end.
fn code_lines(file: &Path) -> impl Iterator<Item = (usize, String)> + use<> {
    let name = file.file_stem().unwrap().to_string_lossy();
    let is_test = name.ends_with("tests") || name == "testing";
    let text = if is_test { String::new() } else { fs::read_to_string(file).unwrap() };
    let lines: Vec<(usize, String)> = text
        .lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (at + 1, line.to_owned()))
        .collect();
    lines.into_iter()
}

fn rooms_used(file: &Path) -> Vec<(usize, String)> {
    code_lines(file)
        .flat_map(|(number, line)| {
            line.match_indices("crate::")
                .map(|(at, found)| {
                    let rest = &line[at + found.len()..];
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                    (number, rest[..end.unwrap_or(rest.len())].to_owned())
                })
                .filter(|(_, room)| !room.is_empty())
                .collect::<Vec<_>>()
        })
        .collect()
}
