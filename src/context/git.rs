//! The note with the state of the repository, from git. Made only for a trusted folder.
//!
//! A repository can name programs in its configuration, so git is called in a way that runs none of
//! them: no file system monitor, hooks, pager, filters, signature checks, transports or submodules.
//! git itself is searched in absolute folders of PATH outside the workspace, and gets only a few
//! environment variables and no keys.
//!
//! The configuration can change between two calls of git. So when a sandbox is in force, git runs
//! inside it, and a program that it is made to run stays in the sandbox.

mod facts;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::ContextProvider;
use crate::domain::MaskedPathKind;
use crate::platform::process::{PIPED_OUTPUT_LIMIT, PipedCommand, ProcessHost};
use crate::platform::sandbox::is_placeholder;

/// A git program that is safe to run: it is not from the workspace.
#[derive(Debug, Clone)]
pub struct GitExecutable {
    program: PathBuf,
    /// Runs git inside the sandbox; `None` when no sandbox is in force.
    inside: Option<Arc<ProcessHost>>,
}

/// Provides branch, changed files and recent commits as a note.
#[derive(Debug, Clone)]
pub struct GitStatus {
    git: GitExecutable,
    cwd: PathBuf,
}

/// How long all git commands together may take; a huge or slow repository gets no note.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The most bytes of git's output that are read.
const MAX_OUTPUT: u64 = 64 * 1024;
/// The most changed files that are listed.
const MAX_FILES: usize = 20;
/// The most characters of a line.
const MAX_LINE: usize = 120;

/// Settings for every call: git runs no program that the repository names.
const HARDENED: [&str; 20] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "core.pager=cat",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "protocol.allow=never",
    "-c",
    "credential.helper=",
    "-c",
    "log.showSignature=false",
    "-c",
    "color.ui=false",
    "--no-pager",
    "--no-optional-locks",
];

impl GitExecutable {
    /// Searches git in `path`, the value of PATH. Skips relative folders and everything in the
    /// workspace.
    pub fn find(path: &OsStr, workspace: &[PathBuf]) -> Option<Self> {
        let workspace: Vec<PathBuf> =
            workspace.iter().map(|it| it.canonicalize().unwrap_or_else(|_| it.clone())).collect();
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .filter_map(|folder| folder.join("git").canonicalize().ok())
            .find(|program| {
                is_executable(program) && !workspace.iter().any(|it| program.starts_with(it))
            })
            .map(|program| Self { program, inside: None })
    }

    /// The same git, run by this host, which is in the sandbox.
    pub fn inside(self, host: Arc<ProcessHost>) -> Self {
        Self { inside: Some(host), ..self }
    }

    /// The absolute path of git, without symbolic links.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs git in `cwd` with these arguments. The settings in `quiet` are emptied. `None` when git
    /// cannot be run.
    async fn run(&self, cwd: &Path, quiet: &[OsString], arguments: &[&str]) -> Option<GitOutput> {
        match &self.inside {
            Some(host) => self.run_inside(host, cwd, quiet, arguments).await,
            None => self.run_itself(cwd, quiet, arguments).await,
        }
    }

    async fn run_itself(
        &self,
        cwd: &Path,
        quiet: &[OsString],
        arguments: &[&str],
    ) -> Option<GitOutput> {
        let mut command = Command::new(&self.program);
        command
            .args(HARDENED)
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .envs(environment(quiet))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().ok()?;
        let mut output = Vec::new();
        child.stdout.take()?.take(MAX_OUTPUT).read_to_end(&mut output).await.ok()?;
        if output.len() as u64 >= MAX_OUTPUT {
            // The rest stays in the pipe; dropping the handle kills git.
            return Some(GitOutput { bytes: output, end: GitExit::Cut });
        }
        let code = child.wait().await.ok()?.code()?;
        Some(GitOutput { bytes: output, end: GitExit::Code(code) })
    }

    /// Runs git by the sandboxed host, which has the same limit of output. `None` for a name that
    /// is not UTF-8, because the command line is text.
    async fn run_inside(
        &self,
        host: &ProcessHost,
        cwd: &Path,
        quiet: &[OsString],
        arguments: &[&str],
    ) -> Option<GitOutput> {
        let mut line = "exec /usr/bin/env -i".to_owned();
        for (name, value) in environment(quiet) {
            line.push_str(&format!(" {name}={}", quoted(value.to_str()?)));
        }
        for word in [self.program.to_str()?].iter().chain(&HARDENED).chain(arguments) {
            line.push_str(&format!(" {}", quoted(word)));
        }
        let piped = PipedCommand {
            line,
            cwd: cwd.to_owned(),
            timeout: TIME_LIMIT,
            input: String::new(),
            output_limit: PIPED_OUTPUT_LIMIT,
            variables: Vec::new(),
        };
        let output = host.run_piped(piped, &CancellationToken::new()).await.ok()?;
        let end = match output.stdout.len() as u64 >= MAX_OUTPUT {
            true => GitExit::Cut,
            false => GitExit::Code(output.code()?),
        };
        Some(GitOutput { bytes: output.stdout.into_bytes(), end })
    }

    /// The keys of all configured filters, to empty them, because `git status` would run their
    /// programs. `None` when they cannot all be listed; then git must not be called any more.
    async fn filters(&self, cwd: &Path) -> Option<Vec<OsString>> {
        let arguments = ["config", "--name-only", "-z", "--get-regexp", r"^filter\."];
        let listed = self.run(cwd, &[], &arguments).await?;
        match listed.end {
            GitExit::Code(0) => {
                let keys = listed.bytes.split(|byte| *byte == 0).filter(|key| !key.is_empty());
                Some(keys.map(|key| OsStr::from_bytes(key).to_owned()).collect())
            }
            // The status for a pattern without a match: there are no filters.
            GitExit::Code(1) => Some(Vec::new()),
            GitExit::Code(_) | GitExit::Cut => None,
        }
    }
}

/// The whole environment of git. It empties the settings in `quiet`.
fn environment(quiet: &[OsString]) -> Vec<(String, OsString)> {
    let always = [
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        // A list of protocols; none has this name. Unlike `protocol.allow`, the configuration of
        // the repository cannot override it.
        ("GIT_ALLOW_PROTOCOL", "none"),
    ];
    let always = always.map(|(name, value)| (name.to_owned(), value.into()));
    let taken = ["HOME", "PATH", "XDG_CONFIG_HOME"].into_iter();
    let taken = taken.filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)));
    let emptied = quiet.iter().map(|key| {
        let is_required = key.as_encoded_bytes().ends_with(b".required");
        (key.clone(), if is_required { "false" } else { "" })
    });
    // A folder that only looks like a bare repository is not used as one.
    let settings = emptied.chain([("safe.bareRepository".into(), "explicit")]);
    let count = ("GIT_CONFIG_COUNT".to_owned(), (quiet.len() + 1).to_string().into());
    let settings = settings.enumerate().flat_map(|(index, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{index}"), key),
            (format!("GIT_CONFIG_VALUE_{index}"), value.into()),
        ]
    });
    always.into_iter().chain(taken).chain([count]).chain(settings).collect()
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

struct GitOutput {
    bytes: Vec<u8>,
    end: GitExit,
}

enum GitExit {
    /// git exited with this status.
    Code(i32),
    /// The output was larger than the limit.
    Cut,
}

impl GitOutput {
    /// The output of a git that succeeded and was not cut.
    fn whole(&self) -> Option<String> {
        match self.end {
            GitExit::Code(0) => self.text(),
            GitExit::Code(_) | GitExit::Cut => None,
        }
    }

    fn text(&self) -> Option<String> {
        match self.end {
            GitExit::Code(0) | GitExit::Cut => {
                Some(String::from_utf8_lossy(&self.bytes).into_owned())
            }
            GitExit::Code(_) => None,
        }
    }
}

impl GitStatus {
    /// The note for the repository that holds `cwd`. The folder must be trusted.
    pub fn new(git: GitExecutable, cwd: PathBuf) -> Self {
        Self { git, cwd }
    }

    /// How many files differ from the last commit; `None` outside of a repository, or when git
    /// takes too long.
    pub async fn changes(&self) -> Option<GitChangeCounts> {
        let root = super::repository_root(&self.cwd)?;
        let ask = async {
            let filters = self.git.filters(&self.cwd).await?;
            self.status(&root, &filters).await
        };
        let status = tokio::time::timeout(TIME_LIMIT, ask).await.ok().flatten()?;
        Some(count(&status))
    }

    async fn status(&self, root: &Path, filters: &[OsString]) -> Option<String> {
        let status = self.git.run(&self.cwd, filters, &STATUS).await?.text()?;
        // While a sandbox is in force, empty placeholders stand for protected names in the folder.
        let is_there = |entry: &&str| {
            let untracked = entry.strip_prefix("?? ");
            !untracked.is_some_and(|path| is_placeholder(&root.join(path), MaskedPathKind::File))
        };
        Some(status.split('\0').filter(is_there).collect::<Vec<_>>().join("\0"))
    }

    async fn ask(&self, root: &Path) -> Option<String> {
        let filters = self.git.filters(&self.cwd).await?;
        let log = ["log", "-5", "--no-show-signature", "--format=%h %s"];
        let status = self.status(root, &filters).await?;
        // Fails when there is no commit yet; then the list is empty.
        let commits = self.git.run(&self.cwd, &filters, &log).await?.text().unwrap_or_default();
        Some(describe(&status, &commits))
    }
}

/// How many files of a working tree differ from the last commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GitChangeCounts {
    /// New files, including untracked ones.
    pub added: usize,
    /// Changed and renamed files.
    pub changed: usize,
    /// Removed files.
    pub removed: usize,
}

const STATUS: [&str; 5] = ["status", "--short", "--branch", "--ignore-submodules=all", "-z"];

#[async_trait]
impl ContextProvider for GitStatus {
    fn name(&self) -> &str {
        "git_status"
    }

    async fn collect(&self) -> Option<String> {
        let root = super::repository_root(&self.cwd)?;
        tokio::time::timeout(TIME_LIMIT, self.ask(&root)).await.ok().flatten()
    }
}

fn count(status: &str) -> GitChangeCounts {
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty()).skip(1);
    let mut changes = GitChangeCounts::default();
    while let Some(entry) = entries.next() {
        let state = entry.get(..2).unwrap_or_default();
        if state.contains(['R', 'C']) {
            // A renamed file is followed by its old name.
            entries.next();
        }
        match state {
            state if state.contains(['A', '?']) => changes.added += 1,
            state if state.contains('D') => changes.removed += 1,
            _ => changes.changed += 1,
        }
    }
    changes
}

fn describe(status: &str, commits: &str) -> String {
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
    let branch = entries.next().and_then(|line| line.strip_prefix("## ")).unwrap_or("unknown");
    let mut files = Vec::new();
    while let Some(entry) = entries.next() {
        // A renamed file is followed by its old name.
        let old = if entry.starts_with(['R', 'C']) { entries.next() } else { None };
        files.push(match old {
            Some(old) => format!("{entry} (was {old})"),
            None => entry.to_owned(),
        });
    }
    let mut lines = vec![format!("branch: {branch}")];
    lines.push(match files.len() {
        0 => "changed files: none".to_owned(),
        count => format!("changed files: {count}"),
    });
    lines.extend(files.iter().take(MAX_FILES).cloned());
    if files.len() > MAX_FILES {
        lines.push(format!("… {} more", files.len() - MAX_FILES));
    }
    if !commits.is_empty() {
        lines.push("recent commits:".to_owned());
        lines.extend(commits.lines().map(str::to_owned));
    }
    lines.iter().map(|line| one_line(line)).collect::<Vec<_>>().join("\n")
}

fn one_line(line: &str) -> String {
    let line = line.replace(['\n', '\t'], " ");
    crate::domain::strip_invisible(&line).text.chars().take(MAX_LINE).collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
