//! A folder of a project, with a home and a place beside it, on which commands and paths are decided
//! without being run.

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

/// The project, trusted, with rules of its own.
pub struct TestProject {
    folder: TempDir,
    /// What is decided in.
    pub workspace: Workspace,
    /// What is decided by.
    pub rules: RuleSet,
}

impl TestProject {
    /// A project of a few files, and no rules.
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

    /// The same with rules of these kinds.
    pub fn with_rules(allow: &[&str], deny: &[&str]) -> Self {
        let mut ground = Self::new();
        ground.set_rules(allow, deny);
        ground
    }

    /// Puts these rules in the place of those that hold.
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

    /// A path beside the project, its home among them.
    pub fn sibling_path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Writes a file of the project, with the folders it needs.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What is decided of a command.
    pub fn decide(&self, command: &str, mode: PermissionMode) -> PermissionDecision {
        let run = ToolAccess::Run { command: command.to_owned(), cwd: self.root() };
        let query = PermissionQuery::resolve("Bash", &[run], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// Allow, ask or deny.
    pub fn outcome(&self, command: &str, mode: PermissionMode) -> PermissionOutcome {
        self.decide(command, mode).outcome()
    }

    /// What is decided of a file that a tool of files writes.
    pub fn decide_write(&self, file: impl AsRef<Path>, mode: PermissionMode) -> PermissionDecision {
        let path = self.root().join(file);
        let query = PermissionQuery::resolve("Write", &[ToolAccess::Write(path)], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// What is decided of a file that a tool of files reads.
    pub fn decide_read(&self, file: impl AsRef<Path>, mode: PermissionMode) -> PermissionDecision {
        let path = self.root().join(file);
        let query = PermissionQuery::resolve("Read", &[ToolAccess::Read(path)], &self.workspace);
        decide(&query, &self.rules, mode, &self.workspace)
    }

    /// Fails with all those of the commands that are decided otherwise.
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

/// A word as a shell reads it back.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
