//! Tests against the real disk: commands that are allowed are run in a scratch folder, and what
//! they changed is compared with what was promised.
//!
//! Two invariants. What runs without a rule changes nothing. What a wildcard on a plain program
//! allows changes nothing outside the workspace and no protected place. More cases:
//! `PROPTEST_CASES=100000`.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::domain::{PermissionMode, PermissionOutcome, RuleKind, ToolAccess};
use crate::platform::environment::GIT_SETTINGS;

use super::{PermissionQuery, RuleSet, Workspace, decide};

/// Commands of the table of programs that exist here and end by themselves.
const PROGRAMS: &[&str] = &[
    "basename",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "file",
    "find",
    "grep",
    "head",
    "id",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "nl",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "rm",
    "rmdir",
    "sed",
    "sha256sum",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "[",
    "touch",
    "tr",
    "tree",
    "uname",
    "uniq",
    "wc",
    "which",
    "git",
    "env",
    "timeout 2",
    "nice",
    "xargs",
    "command",
    "git log",
    "git diff",
    "git show",
    "git status",
    "git branch",
    "git blame",
    "git add",
    "git config",
    "git mv",
    "git rm",
    "git checkout",
    "git restore",
    "git reset",
    "git stash",
    "git ls-files",
    "git rev-parse",
    "git tag",
];

const WORDS: &[&str] = &[
    "a",
    "b",
    "src",
    "src/a",
    "src/d",
    "out",
    ".",
    "..",
    "../outside",
    "../outside/f",
    "link",
    "link/f",
    "folder-link",
    "folder-link/config",
    ".git",
    ".git/config",
    ".git/hooks",
    ".slug/settings.json",
    ".vscode/tasks.json",
    ".envrc",
    "HEAD",
    "main",
    "--",
    "-",
    "-r",
    "-R",
    "-n",
    "-f",
    "-a",
    "-p",
    "-i",
    "-o",
    "-d",
    "-s",
    "-u",
    "-w",
    "-x",
    "-O",
    "-t",
    "-T",
    "-m",
    "-e",
    "-c",
    "-C",
    "-S10",
    "-D",
    "-l",
    "-v",
    "-exec",
    "-delete",
    "-name",
    "-fprint",
    "-fprintf",
    "--output",
    "--output=out",
    "--outp=.git/config",
    "--exec=touch",
    "--force",
    "--recursive",
    "--ext-diff",
    "--textconv",
    "--all",
    "--list",
    "--no-index",
    "--git-dir=x",
    "--help",
    "+x",
    "755",
    "s/x/y/",
    "w .git/config",
    "1w out",
    "1p",
    "p",
    "$p",
    "1e touch out",
    "w",
    "%n",
    "%s\\n",
    "{}",
    ";",
    "+",
    "=",
    "!",
    "-eq",
    "]",
    "touch",
    "rm",
    "cp",
    "user.name",
    "core.fsmonitor",
    "./evil",
    "evil",
    "PATH=.",
    "-I{}",
    "-J",
    "--pre=./evil",
    "--files0-from=a",
    "--compress-program=./evil",
    "--reference=a",
    "--target-directory=.git",
    "-t.git",
    "--backup",
    "--suffix=.git",
];

const JOINTS: &[&str] = &[" && ", "; ", " | ", " || ", "\n", " 2>/dev/null; ", " >out; ", " &"];

/// Prefixes and options that change the folder that the words after them count from; `{}` is the
/// folder.
const MOVES: &[&str] = &[
    "cd {} && ",
    "cd {}; ",
    "cd -P {} && ",
    "command cd {} && ",
    "pushd {} && ",
    "pushd {}; popd; ",
    "cd {} && cd - && ",
    "CDPATH=.. cd {} && ",
    "env -C {} ",
    "env --chdir={} ",
    "git -C {} --no-pager -c a.b=c ",
    "true | cd {}; ",
    "cd {} || ",
    "cd {} & ",
];

const FOLDERS: &[&str] = &[
    "src",
    "src/d",
    "..",
    "../outside",
    "link",
    "link/..",
    ".git",
    ".git/hooks",
    "folder-link",
    ".slug",
    ".vscode",
    "~",
    "-",
    "src/../..",
    "missing",
    "outside",
    "\"$HOME\"",
    "$OLDPWD",
    "''",
];

struct ScratchWorkspace {
    _folder: tempfile::TempDir,
    top: PathBuf,
    workspace: Workspace,
}

impl ScratchWorkspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let root = top.join("in/app");
        for part in ["src/d", ".git/hooks", ".git/objects", ".git/refs", ".slug", ".vscode"] {
            std::fs::create_dir_all(root.join(part)).unwrap();
        }
        std::fs::create_dir_all(top.join("in/outside")).unwrap();
        for (path, text) in [
            ("a", "one\ntwo\nx\n"),
            ("b", "two\none\n"),
            ("src/a", "x\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
            (".slug/settings.json", "{}"),
            (".vscode/tasks.json", "{}"),
            (".envrc", "x\n"),
            ("../outside/a", "a\n"),
            ("../outside/f", "f\n"),
        ] {
            std::fs::write(root.join(path), text).unwrap();
        }
        let evil = root.join("evil");
        std::fs::write(&evil, "#!/bin/sh\necho ran >> evil-ran\n").unwrap();
        std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../outside", root.join("link")).unwrap();
        symlink(".git", root.join("folder-link")).unwrap();
        let home = top.join("home");
        std::fs::create_dir(&home).unwrap();
        let workspace = Workspace::new(&root, Vec::new(), Some(home.clone()), home.join(".slug"));
        Self { _folder: folder, top, workspace: workspace.trusted() }
    }

    /// The text to run; `None` where the user would be asked.
    fn allowed(&self, command: &str, rules: &RuleSet) -> Option<String> {
        let access = ToolAccess::foreground(command, self.workspace.root().to_owned());
        let query = PermissionQuery::resolve("Bash", &[access], &self.workspace);
        let decision = decide(&query, rules, PermissionMode::Ask, &self.workspace);
        (decision.outcome() == PermissionOutcome::Allow)
            .then(|| decision.run_as().map(str::to_owned))?
    }

    fn run(&self, command: &str) {
        // The environment that slug gives its child processes.
        let run = Command::new("timeout")
            .args(["5", "bash", "--noprofile", "--norc", "-c", command])
            .current_dir(self.workspace.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.top.join("home"))
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_CONFIG_COUNT", GIT_SETTINGS.len().to_string())
            .envs(GIT_SETTINGS.iter().enumerate().flat_map(|(at, (key, value))| {
                [(format!("GIT_CONFIG_KEY_{at}"), *key), (format!("GIT_CONFIG_VALUE_{at}"), *value)]
            }))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.unwrap();
    }

    /// Every file below the top with its contents, except those that are free to change.
    fn files(&self, is_free: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.top.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if is_free(&path) {
                    continue;
                }
                let metadata = path.symlink_metadata().unwrap();
                let content = if metadata.is_file() {
                    std::fs::read(&path).unwrap()
                } else if metadata.is_dir() {
                    folders.push(path.clone());
                    Vec::new()
                } else {
                    std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                };
                found.insert(path, content);
            }
        }
        found
    }
}

fn command() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS).prop_map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./=-+,".contains(c);
        if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
    });
    let moved = (prop::sample::select(MOVES), prop::sample::select(FOLDERS))
        .prop_map(|(text, folder)| text.replace("{}", folder));
    let before = prop_oneof![3 => Just(String::new()), 1 => moved];
    let one = (before, prop::sample::select(PROGRAMS), prop::collection::vec(word, 0..5))
        .prop_map(|(before, program, words)| format!("{before}{program} {}", words.join(" ")));
    let joint = prop::sample::select(JOINTS);
    let line =
        (one.clone(), prop::collection::vec((joint, one), 0..3)).prop_map(|(first, more)| {
            more.into_iter().fold(first, |text, (joint, next)| text + joint + &next)
        });
    let frame =
        prop::sample::select(&["{}", "{}", "{}", "({})", "(cd src; {}); {}", "{ {}; }"][..]);
    (line, frame).prop_map(|(line, frame)| frame.replace("{}", &line))
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn commands_without_a_rule_change_nothing(command in command()) {
        let scratch = ScratchWorkspace::new();
        if let Some(text) = scratch.allowed(&command, &RuleSet::new()) {
            let before = scratch.files(|_| false);
            scratch.run(&text);
            prop_assert_eq!(before, scratch.files(|_| false), "{}", text);
        }
    }

    #[test]
    fn what_a_wildcard_allows_leaves_protected_places_and_the_rest_of_the_disk_alone(command in command()) {
        let scratch = ScratchWorkspace::new();
        let mut rules = RuleSet::new();
        for program in PROGRAMS {
            let name = program.split(' ').next().unwrap();
            let rule = format!("Bash({name} *)");
            rules.add_session(RuleKind::Allow, &rule, &scratch.workspace).unwrap();
        }
        rules.add_session(RuleKind::Allow, "Edit(out)", &scratch.workspace).unwrap();
        if let Some(text) = scratch.allowed(&command, &rules) {
            let root = scratch.workspace.root().to_owned();
            // Files of the project may change; of `.git`, everything except what git runs.
            let is_free = |path: &Path| {
                path.strip_prefix(&root).is_ok_and(|inside| {
                    let takes_orders = [".git/config", ".git/hooks", ".slug", ".vscode", ".envrc", "evil-ran"];
                    let above = inside == Path::new(".git") || inside == Path::new("");
                    !above && !takes_orders.iter().any(|it| inside.starts_with(it))
                })
            };
            let before = scratch.files(is_free);
            scratch.run(&text);
            prop_assert_eq!(before, scratch.files(is_free), "{}", text);
        }
    }
}
