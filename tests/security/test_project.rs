//! A project's folder, with a home and other folders beside it, in which commands and paths are
//! decided without being run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use slug_code::domain::{PermissionMode, PermissionOutcome, ToolAccess};
use slug_code::permissions::{PermissionDecision, PermissionQuery, RuleSet, Workspace, decide};
use tempfile::TempDir;

/// All modes in which commands run without a sandbox.
pub const MODES: [PermissionMode; 4] =
    [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Plan, PermissionMode::Yolo];

/// A trusted project with rules of its own.
pub struct TestProject {
    folder: TempDir,
    /// The workspace of each decision.
    pub workspace: Workspace,
    /// The rules of each decision.
    pub rules: RuleSet,
}

impl TestProject {
    /// A project of a few files, without rules.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("slug-security-").tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for part in ["project/.git", "project/src/deep", "home", "slug", "beside"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        for (file, text) in [
            ("project/a.txt", "alpha\nbeta\n"),
            ("project/b.txt", "gamma\n"),
            ("project/src/a.rs", "fn main() {}\n"),
            ("project/.git/HEAD", "ref: refs/heads/main\n"),
            ("project/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
            ("beside/x.txt", "theirs\n"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        for part in ["project/.git/objects", "project/.git/refs"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        let (home, slug) = (root.join("home"), root.join("slug"));
        let workspace =
            Workspace::new(root.join("project"), Vec::new(), Some(home), slug).trusted();
        Self { folder, workspace, rules: RuleSet::new() }
    }

    /// The same project with these rules.
    pub fn with_rules(allow: &[&str], deny: &[&str]) -> Self {
        let mut project = Self::new();
        project.set_rules(allow, deny);
        project
    }

    /// Replaces all rules.
    pub fn set_rules(&mut self, allow: &[&str], deny: &[&str]) {
        let text = json!({"permissions": {"allow": allow, "deny": deny}}).to_string();
        self.rules = RuleSet::new();
        self.rules.add_settings(&text, Path::new("settings.json"), &self.workspace);
        assert_eq!(self.rules.warnings(), [], "{text}");
        assert_eq!(self.rules.faults(), [], "{text}");
    }

    /// The project's folder.
    pub fn root(&self) -> PathBuf {
        self.workspace.root().to_owned()
    }

    /// A path beside the project; the home folder is `home`.
    pub fn sibling_path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Writes a file of the project, and creates its folders.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Decides a command.
    pub fn decide(&self, command: &str, mode: PermissionMode) -> PermissionDecision {
        let run = ToolAccess::foreground(command.to_owned(), self.root());
        let query = PermissionQuery::resolve("Bash", &[run], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// The outcome for a command.
    pub fn outcome(&self, command: &str, mode: PermissionMode) -> PermissionOutcome {
        self.decide(command, mode).outcome()
    }

    /// Decides a write of a file by the Write tool.
    pub fn decide_write(&self, file: impl AsRef<Path>, mode: PermissionMode) -> PermissionDecision {
        let path = self.root().join(file);
        let query = PermissionQuery::resolve("Write", &[ToolAccess::Write(path)], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// Decides a read of a file by the Read tool.
    pub fn decide_read(&self, file: impl AsRef<Path>, mode: PermissionMode) -> PermissionDecision {
        let path = self.root().join(file);
        let query = PermissionQuery::resolve("Read", &[ToolAccess::Read(path)], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// Fails with a list of the commands that have another outcome.
    #[track_caller]
    pub fn assert_all<S: AsRef<str>>(
        &self,
        commands: impl IntoIterator<Item = S>,
        mode: PermissionMode,
        wanted: PermissionOutcome,
    ) {
        let mut wrong = String::new();
        let mut count = 0;
        for command in commands {
            let command = command.as_ref();
            let decision = self.decide(command, mode);
            count += 1;
            if decision.outcome() != wanted {
                let (outcome, reason) = (decision.outcome(), decision.reason());
                let _ = writeln!(wrong, "{outcome:?}: {command}  ({reason})");
            }
        }
        assert!(count > 0, "nothing was tried");
        assert!(wrong.is_empty(), "not {wanted:?} in {mode:?}:\n{wrong}");
    }
}

/// A word, quoted so that a shell reads it back unchanged.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
