//! Feeds damaged input to the readers of foreign bytes: the result may be wrong, but no reader
//! panics, hangs or breaks its law.
//!
//! Each run has a fixed number of cases and starts from `tests/corpora`, so that it costs the same
//! each time. Readers whose law needs their internals are tested beside their code: shell commands
//! against bash itself, the decoders of the protocols, edits, patches, keys and themes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use slug_code::config::{ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts};
use slug_code::domain::RuleKind;
use slug_code::domain::sanitize::{sanitize, strip_ansi};
use slug_code::permissions::{PathZone, RuleSet, Workspace};
use slug_code::tui::layout::ansi::{self, AnsiExcerpt};
use slug_code::tui::layout::{StyleRole, StyledLine, SyntaxHighlighter, markdown, plain};

/// The number of cases per law.
const CASES: u32 = 200;

/// The contents of all files in a corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora").join(name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// One mutation of a text; places are fractions of its length.
#[derive(Debug, Clone)]
enum CorpusMutation {
    Cut(f64),
    Drop(f64, usize),
    Double(f64, usize),
    Put(f64, &'static str),
    Byte(f64, u8),
    Splice(f64, usize),
}

/// Pieces that have a meaning for one reader or another.
const PIECES: [&str; 28] = [
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}]0;",
    "\u{7}",
    "\u{9b}",
    "\u{202e}",
    "\u{200d}",
    "\u{e0041}",
    "\r",
    "\n",
    "\0",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[[",
    "]",
    "(",
    ")",
    "*",
    "**/",
    "../",
    "~",
    "```",
    "\n> ",
    "| ",
    "é",
];

fn damage() -> impl Strategy<Value = CorpusMutation> {
    let at = || 0.0..=1.0_f64;
    prop_oneof![
        at().prop_map(CorpusMutation::Cut),
        (at(), 1..40_usize).prop_map(|(at, length)| CorpusMutation::Drop(at, length)),
        (at(), 1..40_usize).prop_map(|(at, length)| CorpusMutation::Double(at, length)),
        (at(), prop::sample::select(PIECES.to_vec()))
            .prop_map(|(at, it)| CorpusMutation::Put(at, it)),
        (at(), any::<u8>()).prop_map(|(at, byte)| CorpusMutation::Byte(at, byte)),
        (at(), any::<usize>()).prop_map(|(at, other)| CorpusMutation::Splice(at, other)),
    ]
}

/// Damaged files of a corpus.
fn damaged(name: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let files = corpus(name);
    (prop::sample::select(files.clone()), prop::collection::vec(damage(), 0..8)).prop_map(
        move |(mut bytes, damages)| {
            for damage in damages {
                apply(&mut bytes, &damage, &files);
            }
            bytes
        },
    )
}

fn apply(bytes: &mut Vec<u8>, damage: &CorpusMutation, files: &[Vec<u8>]) {
    let place = |at: &f64| ((bytes.len() as f64 * at) as usize).min(bytes.len());
    match damage {
        CorpusMutation::Cut(at) => bytes.truncate(place(at)),
        CorpusMutation::Drop(at, length) => {
            let at = place(at);
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        CorpusMutation::Double(at, length) => {
            let at = place(at);
            let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        CorpusMutation::Put(at, piece) => {
            let at = place(at);
            bytes.splice(at..at, piece.bytes());
        }
        CorpusMutation::Byte(at, byte) => {
            let at = place(at);
            if let Some(place) = bytes.get_mut(at) {
                *place = *byte;
            }
        }
        CorpusMutation::Splice(at, other) => {
            let at = place(at);
            let other = &files[other % files.len()];
            bytes.truncate(at);
            bytes.extend(&other[at.min(other.len())..]);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that the lines hold nothing that a terminal would obey or a reader could not see.
fn assert_harmless(lines: &[StyledLine]) {
    for span in lines.iter().flat_map(|line| &line.spans) {
        assert!(!span.text.chars().any(is_harmful), "{span:?}");
    }
}

/// Joiners and variation selectors are harmless: the character that they belong to may be in the
/// row above.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A workspace that no test writes to.
static WORKSPACE: LazyLock<(tempfile::TempDir, Workspace)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let workspace =
        Workspace::new(home.join("app"), Vec::new(), Some(home.clone()), home.join("slug"));
    (folder, workspace)
});

/// Names for paths and links.
fn path_text() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "d", "..", ".", "a/b", "/"]);
    prop::collection::vec(name, 1..5).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn s73_any_output_is_drawn_harmless(bytes in damaged("terminal"), width in 1..60_u16) {
        let text = text(&bytes);
        let clean = sanitize(&text);
        prop_assert!(clean.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        prop_assert!(strip_ansi(&text).chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        assert_harmless(&plain::render(&text, StyleRole::Text, width));
        assert_harmless(&ansi::render(&text, AnsiExcerpt::All, width));
        assert_harmless(&ansi::render(&text, AnsiExcerpt::Ends { head: 1, tail: 1 }, width));
    }

    #[test]
    fn s73_any_answer_is_drawn_harmless(
        answer in prop_oneof![damaged("markdown"), damaged("terminal")],
        width in 1..60_u16,
    ) {
        assert_harmless(&markdown::render(&text(&answer), width, &SyntaxHighlighter::off()).lines);
    }

    #[test]
    fn any_log_opens_and_opens_the_same_after_repair(bytes in damaged("session")) {
        let loaded = slug_code::session::load(&bytes);
        prop_assert!(loaded.good_len <= bytes.len());
        let mended = slug_code::session::load(&bytes[..loaded.good_len]);
        prop_assert_eq!(mended.records, loaded.records);
    }

    #[test]
    fn s102_no_mistake_in_a_configuration_repeats_its_keys(bytes in damaged("config")) {
        let text = text(&bytes);
        let file = ConfigText { path: "/home/u/.slug/config.toml".into(), text };
        let shown = format!("{file:?}");
        prop_assert!(!shown.contains("CANARY"), "{}", shown);
        let read = |user, project| {
            let texts = ConfigTexts { user, project, is_open_to_others: false, editing_mode: None };
            match slug_code::config::resolve(&texts, &ConfigEnvironment::default(), &ConfigFlags::default()) {
                // A warning may show a header's name and the like, but never a value that is a key.
                Ok(config) => config.warnings,
                Err(errors) => errors.iter().map(ToString::to_string).collect(),
            }
        };
        let mut warnings = read(Some(file.clone()), None);
        warnings.extend(read(None, Some(file)));
        prop_assert!(!warnings.join("\n").contains("CANARY-"), "{warnings:?}");
    }

    #[test]
    fn any_settings_are_read_rule_by_rule(bytes in damaged("settings")) {
        let workspace = &WORKSPACE.1;
        let mut rules = RuleSet::new();
        rules.add_settings(&text(&bytes), Path::new("/w/settings.json"), workspace);
        for source in rules.sources() {
            prop_assert!(RuleSet::check(&source.rule, source.kind, workspace).is_ok(), "{source:?}");
        }
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(bytes in damaged("rules")) {
        let workspace = &WORKSPACE.1;
        for line in text(&bytes).lines().take(5) {
            for kind in [RuleKind::Allow, RuleKind::Deny] {
                let checked = RuleSet::check(line, kind, workspace);
                let added = RuleSet::new().add_session(kind, line, workspace);
                prop_assert_eq!(checked.is_ok(), added.is_ok(), "{}", line);
            }
        }
    }

    #[test]
    fn s39_s40_a_path_leads_where_the_system_says(
        links in prop::collection::vec((prop::sample::select(vec!["b", "d", "a/d", "a/b/d"]), path_text()), 0..5),
        path in path_text(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::create_dir_all(root.join("c/a")).unwrap();
        for (name, target) in links {
            // If the name is taken, the entry stays what it is.
            let _ = symlink(target.trim_start_matches('/'), root.join(name));
        }
        let workspace = Workspace::new(&root, Vec::new(), None, root.join("slug"));
        let path = path.trim_start_matches('/');
        let resolved = workspace.resolve(Path::new(path), &root);
        if let Ok(real) = root.join(path).canonicalize() {
            prop_assert_eq!(&resolved.real, &real);
            prop_assert!(resolved.zone == PathZone::Outside || real.starts_with(&root));
        }
    }
}
