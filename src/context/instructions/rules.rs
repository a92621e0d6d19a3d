//! The files of `.slug/rules` and `.claude/rules`: where they are, and for which paths each holds.

use std::fs;
use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use crate::domain::parse_glob;
use crate::domain::sanitize::sanitize_line;
use crate::skills::PromptFrontmatter;

/// The folders, in the order in which they are read.
const FOLDERS: [&str; 2] = [".slug/rules", ".claude/rules"];
/// How far below them a rule is found.
const MAX_DEPTH: usize = 4;
/// The most patterns of one rule.
const MAX_PATTERNS: usize = 50;

/// A rule, taken apart.
pub(super) struct ScopedRuleFile {
    pub(super) body: String,
    patterns: Vec<String>,
    matchers: Vec<GlobMatcher>,
    /// Phrases without a full stop.
    pub(super) problems: Vec<String>,
}

impl ScopedRuleFile {
    pub(super) fn read(text: &str) -> Self {
        let head = PromptFrontmatter::read(text);
        let mut patterns = if head.fields.get("paths").is_some_and(serde_json::Value::is_array) {
            head.words("paths")
        } else {
            split(&head.text("paths").unwrap_or_default())
        };
        patterns.retain(|pattern| !pattern.is_empty());
        patterns.truncate(MAX_PATTERNS);
        let mut problems: Vec<String> = head
            .problems
            .iter()
            .map(|problem| format!("(line {}): {}", problem.line, problem.text))
            .collect();
        let mut matchers = Vec::new();
        for pattern in &patterns {
            match parse_glob(&anywhere(pattern)) {
                Ok(glob) => matchers.push(glob.compile_matcher()),
                Err(error) => {
                    let pattern = sanitize_line(pattern);
                    problems.push(format!(
                        "has a pattern in `paths` that is not valid ({pattern}): {error}"
                    ));
                }
            }
        }
        Self { body: head.body, patterns, matchers, problems }
    }

    /// Whether it names no paths.
    pub(super) fn is_for_all(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether it holds for a file, by its path in the project.
    pub(super) fn holds_for(&self, path: &Path) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// The paths as the user is told them.
    pub(super) fn told(&self) -> String {
        sanitize_line(&self.patterns.join(", "))
    }
}

/// A pattern without a folder means files of any folder.
fn anywhere(pattern: &str) -> String {
    let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
    match pattern {
        folder if folder.ends_with('/') => format!("{folder}**"),
        name if !name.contains('/') => format!("**/{name}"),
        _ => pattern.to_owned(),
    }
}

/// Splits at commas outside of braces.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && depth == 0 {
            words.push(std::mem::take(&mut word).trim().to_owned());
        } else {
            word.push(c);
        }
    }
    words.push(word.trim().to_owned());
    words
}

/// The rules of a project's folder, by name.
pub(super) fn rule_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for rules in FOLDERS {
        let mut found = Vec::new();
        list(&folder.join(rules), 0, &mut found);
        found.sort();
        all.extend(found);
    }
    all
}

fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < MAX_DEPTH {
                list(&path, depth + 1, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Whether a path lies in a folder of rules.
pub(super) fn is_rule(path: &Path) -> bool {
    path.ancestors().any(|folder| FOLDERS.iter().any(|rules| folder.ends_with(rules)))
}

/// The name of a rule below its folder of rules.
pub(super) fn name(folder: &Path, path: &Path) -> String {
    let below = FOLDERS.iter().find_map(|rules| path.strip_prefix(folder.join(rules)).ok());
    sanitize_line(&below.unwrap_or(path).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_a_list_or_a_text_with_commas() {
        for head in
            ["paths: src/**/*.{ts,tsx}, docs/", "paths:\n  - \"src/**/*.{ts,tsx}\"\n  - docs/"]
        {
            let rule = ScopedRuleFile::read(&format!("---\n{head}\n---\nbody"));
            let holds = |path: &str| rule.holds_for(Path::new(path));
            assert!(holds("src/a/b.ts") && holds("src/c.tsx") && holds("docs/x/y"), "{head}");
            assert!(!holds("src/a.rs") && !holds("lib/c.ts"), "{head}");
            assert_eq!(
                (rule.body.as_str(), rule.told().as_str()),
                ("body", "src/**/*.{ts,tsx}, docs/")
            );
        }
    }

    #[test]
    fn a_name_alone_means_files_of_any_folder() {
        let rule = ScopedRuleFile::read("---\npaths: *.rs\n---\nx");
        assert!(rule.holds_for(Path::new("a.rs")) && rule.holds_for(Path::new("b/a.rs")));
    }

    #[test]
    fn a_rule_with_no_usable_path_holds_for_nothing() {
        let rule = ScopedRuleFile::read("---\npaths: \"[z-a]\"\n---\nx");
        assert!(!rule.is_for_all() && !rule.holds_for(Path::new("z")));
        assert!(rule.problems[0].contains("is not valid"), "{:?}", rule.problems);
        assert!(ScopedRuleFile::read("no head").is_for_all());
    }
}
