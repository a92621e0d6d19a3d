//! The house has rooms, and the doors between them are listed here. Any other `use crate::` line,
//! and any cycle between rooms, fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use slug_code::tools::{ToolPart, ToolRegistry};
use source_tree::{NamedPath, SourceFile, parse_crate, rust_files};

mod doc_comments;
mod figures;
mod source_tree;

/// Each room and the rooms it may look into.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("acp", &["agent", "commands", "disk", "domain", "providers", "session", "skills", "tools"]),
    ("domain", &[]),
    ("disk", &[]),
    ("emulator", &["domain"]),
    ("formatters", &["disk", "domain", "platform", "tools"]),
    ("local", &["domain", "net", "platform", "providers", "tools"]),
    ("lsp", &["disk", "domain", "platform", "tools"]),
    ("mcp", &["disk", "domain", "hooks", "net", "platform", "tools"]),
    ("net", &["domain"]),
    ("providers", &["domain", "net"]),
    ("tools", &["disk", "domain"]),
    ("session", &["disk", "domain"]),
    ("skills", &["disk", "domain"]),
    ("catalogue", &["domain", "net", "providers"]),
    ("permissions", &["disk", "domain", "platform"]),
    ("hooks", &["disk", "domain", "platform"]),
    (
        "trust",
        &["context", "disk", "domain", "hooks", "lsp", "mcp", "platform", "skills", "subagents"],
    ),
    ("subagents", &["disk", "domain", "skills"]),
    ("platform", &["disk", "domain", "net", "tools"]),
    ("config", &["disk", "domain", "platform"]),
    ("cli", &["config", "domain"]),
    ("context", &["disk", "domain", "platform", "skills"]),
    (
        "agent",
        &[
            "catalogue",
            "context",
            "domain",
            "emulator",
            "hooks",
            "permissions",
            "platform",
            "providers",
            "session",
            "skills",
            "subagents",
            "tools",
            "trust",
        ],
    ),
    ("commands", &["domain"]),
    ("migration", &["domain", "hooks", "permissions"]),
    (
        "doctor",
        &["catalogue", "config", "context", "domain", "lsp", "mcp", "permissions", "providers"],
    ),
    ("eval", &["agent", "domain", "session"]),
    ("headless", &["agent", "cli", "domain", "platform", "session"]),
    ("services", &["config", "disk", "domain", "hooks", "mcp", "providers", "session"]),
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
            "lsp",
            "mcp",
            "permissions",
            "platform",
            "providers",
            "services",
            "session",
            "skills",
            "tools",
            "trust",
        ],
    ),
    (
        "launch",
        &[
            "acp",
            "agent",
            "catalogue",
            "cli",
            "commands",
            "config",
            "context",
            "disk",
            "doctor",
            "domain",
            "eval",
            "formatters",
            "headless",
            "hooks",
            "local",
            "lsp",
            "mcp",
            "migration",
            "net",
            "permissions",
            "platform",
            "providers",
            "services",
            "session",
            "skills",
            "subagents",
            "tools",
            "trust",
            "tui",
            "web",
        ],
    ),
    ("web", &["domain", "net", "platform", "tools"]),
];

const TASKS: &[&str] = &["tokio", "std::thread"];
const NETWORK: &[&str] = &["reqwest", "tokio::net", "TcpStream", "TcpListener", "UdpSocket"];
const DISK: &[&str] = &["std::fs", "tokio::fs"];
const PROGRAMS: &[&str] = &["std::process", "tokio::process"];
const TERMINAL: &[&str] = &["crossterm", "std::io::stdout", "std::io::stdin"];
/// What reads the time or draws on chance: the same input no longer gives the same output.
const CLOCKS: &[&str] = &[
    "Instant::now",
    "SystemTime::now",
    "Utc::now",
    "Local::now",
    "chrono::Local",
    "Uuid::now_v7",
    "Uuid::new_v4",
];

/// What may read a clock in a pure room, and why.
const CLOCK_READERS: &[(&str, &str, &str)] = &[
    ("src/domain/align.rs", "Instant::now", "a diff that takes too long ends with what it has"),
    ("src/domain/ids.rs", "Uuid::now_v7", "ids of sessions and entries sort by time"),
];

/// What stays pure, and what it may not name.
const PURE: &[(&str, &[&[&str]])] = &[
    ("src/domain", &[TASKS, NETWORK, DISK, PROGRAMS, TERMINAL, CLOCKS]),
    ("src/services/connect.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/services/sessions.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/services/session_changes.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/tui/app", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/tui/dialogs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/tui/view", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS, &["crate::agent"]]),
    ("src/hooks/verdict.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/hooks/merge.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/hooks/read.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/agent/turn.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/agent/turn", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
    ("src/agent/normalise.rs", &[TASKS, NETWORK, DISK, PROGRAMS, CLOCKS]),
];

#[test]
fn rooms_use_only_the_doors_that_are_listed() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED_DEPENDENCIES
        .iter()
        .map(|(room, doors)| (*room, doors.iter().copied().collect()))
        .collect();
    let files = parse_crate();
    let rooms: BTreeSet<&str> = files.iter().filter_map(SourceFile::room).collect();
    assert_eq!(rooms, allowed.keys().copied().collect(), "the rooms, and those that are listed");
    let mut wrong = Vec::new();
    for file in &files {
        let Some(room) = file.room() else { continue };
        for path in file.crate_paths() {
            let used = path.segments.first().map_or("", String::as_str);
            if used != room && rooms.contains(used) && !allowed[room].contains(used) {
                wrong.push(format!("{}:{}: {room} uses {used}", file.path.display(), path.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_doors_lead_in_one_direction() {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = ALLOWED_DEPENDENCIES
        .iter()
        .map(|(room, doors)| (*room, doors.iter().copied().collect()))
        .collect();
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
    let files = parse_crate();
    let mut wrong = Vec::new();
    let mut used_exceptions = BTreeSet::new();
    for (folder, kinds) in PURE {
        let inside = files.iter().filter(|file| file.path.starts_with(folder));
        assert!(inside.clone().next().is_some(), "{folder} is gone");
        for file in inside {
            if file.tokens().contains(". elapsed (") {
                wrong.push(format!("{}: elapsed()", file.path.display()));
            }
            for path in file.named_paths() {
                let named = kinds.iter().copied().flatten().find(|word| path.names(word));
                let Some(word) = named else { continue };
                let is_listed = |(reader, clock, _): &&(_, _, _)| {
                    file.path == Path::new(reader) && word == clock
                };
                match CLOCK_READERS.iter().find(is_listed) {
                    Some((reader, ..)) => _ = used_exceptions.insert(*reader),
                    None => wrong.push(format!("{}:{}: {word}", file.path.display(), path.line)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(used_exceptions.len(), CLOCK_READERS.len(), "only {used_exceptions:?} are needed");
}

/// Tools run behind the gate, and only there.
#[test]
fn only_the_gate_runs_tools() {
    let files = parse_crate();
    let callers: BTreeSet<&Path> = files
        .iter()
        .filter(|file| file.room() != Some("tools"))
        .filter(|file| file.tokens().contains("tool . run ("))
        .map(|file| file.path.as_path())
        .collect();
    assert_eq!(callers, BTreeSet::from([Path::new("src/agent/run.rs")]));
}

/// Where tools are named all the same, and why.
const TOOL_NAMES: &[(&str, &str)] = &[
    ("src/cli/command.rs", "the default of a flag"),
    ("src/domain/inner_call.rs", "the tool that runs another one"),
    ("src/hooks/payload.rs", "the example that a hook is tried with"),
    ("src/migration/claude_code.rs", "the names of Claude Code's tools"),
    ("src/migration/codex.rs", "rules as they are written"),
    ("src/migration/opencode.rs", "rules as they are written"),
    ("src/permissions/domain_rule.rs", "rules as they are written"),
    ("src/permissions/file_family.rs", "rules as they are written"),
    ("src/permissions/meaning.rs", "rules as they are written"),
    ("src/permissions/pattern.rs", "the rule that is offered"),
    ("src/permissions/rules.rs", "rules as they are written"),
    ("src/permissions/tool_names.rs", "rules as they are written"),
    ("src/subagents/opencode_permission.rs", "the names of opencode's tools"),
];

/// Who shows, records or decides about a call goes by the kind of its tool and by what it touches.
#[test]
fn tools_are_named_only_where_they_are_made_or_configured() {
    let registry = ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap();
    let names: Vec<String> = registry.tools().map(|tool| tool.spec().name).collect();
    let is_name = |text: &str| {
        names.iter().any(|name| {
            text.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
        })
    };
    let files = parse_crate();
    let found: BTreeSet<&Path> = files
        .iter()
        .filter(|file| file.room() != Some("tools"))
        .filter(|file| file.texts().iter().any(|text| is_name(text)))
        .map(|file| file.path.as_path())
        .collect();
    assert_eq!(found, TOOL_NAMES.iter().map(|(file, _)| Path::new(*file)).collect());
}

/// Where programs are started, and which.
const STARTERS: &[(&str, &str)] = &[
    ("src/context/git.rs", "git, hardened, in a trusted folder"),
    ("src/doctor/package.rs", "rpm, to ask which package slug is of"),
    ("src/platform/reader_process.rs", "slug itself, to read what others made"),
    ("src/platform/supervisor.rs", "what passed the gate, below a supervisor"),
    ("src/platform/clipboard.rs", "the system's clipboard programs"),
    ("src/platform/editor.rs", "the user's editor and pager"),
    ("src/platform/user_command.rs", "the user's commands for keys and for the status line"),
    ("src/platform/sandbox/bubblewrap.rs", "bubblewrap, to see whether it works"),
    ("src/platform/sandbox/seatbelt.rs", "sandbox-exec, around what passed the gate"),
    ("src/platform/sandbox/start.rs", "bubblewrap or bash, around what passed the gate"),
    ("src/platform/signals.rs", "slug itself, to raise a signal"),
];

/// Every way out to a program is known, so that none goes past the gate.
#[test]
fn programs_are_started_in_the_files_that_are_listed() {
    let files = parse_crate();
    let starts =
        |path: &NamedPath| path.segments.ends_with(&["Command".to_owned(), "new".to_owned()]);
    let found: BTreeSet<&Path> = files
        .iter()
        .filter(|file| file.named_paths().iter().any(starts))
        .map(|file| file.path.as_path())
        .collect();
    let listed = STARTERS.iter().map(|(file, _)| Path::new(*file)).collect();
    assert_eq!(found, listed);
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<PathBuf> = rust_files(Path::new("src"))
        .into_iter()
        .filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "no //! at the head of {silent:?}");
}

/// With `autotests = false` a file of tests that no binary leads to is built by nobody.
#[test]
fn every_file_of_tests_belongs_to_a_binary() {
    let manifest: toml::Table = fs::read_to_string("Cargo.toml").unwrap().parse().unwrap();
    let targets = ["test", "bench"].iter().flat_map(|kind| manifest[*kind].as_array().unwrap());
    let mut reached = BTreeSet::new();
    for target in targets {
        add_modules(Path::new(target["path"].as_str().unwrap()), true, &mut reached);
    }
    let all: BTreeSet<PathBuf> = rust_files(Path::new("tests")).into_iter().collect();
    let lost: Vec<&PathBuf> = all.difference(&reached).collect();
    assert!(lost.is_empty(), "no `mod` and no line of Cargo.toml leads to {lost:?}");
}

/// Adds a file and all files of the modules that it declares.
fn add_modules(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    reached.insert(file.to_owned());
    let syntax = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    let folder = file.parent().unwrap();
    let below = if is_root { folder.to_owned() } else { file.with_extension("") };
    for item in &syntax.items {
        let syn::Item::Mod(syn::ItemMod { ident, attrs, content: None, .. }) = item else {
            continue;
        };
        let given = attrs.iter().find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(syn::MetaNameValue { path, value, .. })
                if path.is_ident("path") =>
            {
                Some(value.to_token_stream().to_string())
            }
            _ => None,
        });
        let module = match given {
            Some(path) => folder.join(path.trim_matches('"')),
            None => below.join(format!("{ident}.rs")),
        };
        add_modules(&module, false, reached);
    }
}
