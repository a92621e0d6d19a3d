//! The environment of one test: a home folder and a workspace of its own, an empty environment, and
//! the real slug to start there.
//!
//! Nothing of this machine's configuration is visible: no keys, no `~/.slug`, no git identity.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::model_server::{ModelServer, wait_until};

/// The binary under test.
pub const SLUG: &str = env!("CARGO_BIN_EXE_slug");

/// The home folder and workspace of one test; removed when dropped.
pub struct TestEnv {
    root: TempDir,
}

/// The result of a run of slug without a screen.
pub struct HeadlessOutput {
    /// The exit status; `None` after a signal.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub out: String,
    /// Everything on standard error.
    pub err: String,
}

impl TestEnv {
    /// An empty home and an empty workspace.
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("slug-desk-").tempdir().unwrap();
        for folder in ["home", "shop", "tmp"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.real().join("home")
    }

    /// `~/.slug`, which need not exist.
    pub fn slug_home(&self) -> PathBuf {
        self.home().join(".slug")
    }

    /// The folder in which slug works.
    pub fn workspace(&self) -> PathBuf {
        self.real().join("shop")
    }

    /// The path of a file in the workspace.
    pub fn path(&self, file: &str) -> PathBuf {
        self.workspace().join(file)
    }

    /// Writes a file in the workspace, and creates its folders.
    pub fn write(&self, file: &str, text: &str) {
        write(&self.path(file), text);
    }

    /// Reads a file in the workspace.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// Writes a file below `~/.slug`.
    pub fn write_home(&self, file: &str, text: &str) {
        write(&self.slug_home().join(file), text);
    }

    /// The complete environment that slug gets.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let root = self.real();
        [
            ("PATH", path),
            ("HOME", root.join("home").into()),
            // The machine's own /etc/inputrc does not matter to tests.
            ("INPUTRC", root.join("home/.inputrc").into()),
            ("TMPDIR", root.join("tmp").into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("TERM", "xterm-256color".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    /// The command that starts slug in the workspace, with nothing on standard input.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SLUG);
        command.args(arguments).current_dir(self.workspace());
        command.env_clear().envs(self.environment());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The command that starts slug with this server, in a trusted workspace.
    pub fn command_to(&self, server: &ModelServer, arguments: &[&str]) -> Command {
        let mut command = self.command(&server_arguments(&server.endpoint()));
        command.args(arguments);
        command
    }

    /// Runs slug without a screen.
    pub fn run(&self, arguments: &[&str]) -> HeadlessOutput {
        HeadlessOutput::of(&self.command(arguments).output().unwrap())
    }

    /// Runs slug without a screen, with `input` on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> HeadlessOutput {
        run_with_input(self.command(arguments), input)
    }

    /// Runs slug, mostly `slug -p`, with a server, in a trusted workspace.
    pub fn ask(&self, server: &ModelServer, arguments: &[&str]) -> HeadlessOutput {
        HeadlessOutput::of(&self.command_to(server, arguments).output().unwrap())
    }

    /// Runs slug as in [`Self::ask`], with `input` on standard input.
    pub fn ask_with_input(
        &self,
        server: &ModelServer,
        arguments: &[&str],
        input: &str,
    ) -> HeadlessOutput {
        run_with_input(self.command_to(server, arguments), input)
    }

    /// Starts `slug -p` as in [`Self::ask`] and does not wait for it.
    pub fn ask_in_background(&self, server: &ModelServer, arguments: &[&str]) -> Child {
        self.command_to(server, arguments).spawn().unwrap()
    }

    /// The sessions in the store, as `slug sessions list --json` prints them.
    pub fn sessions(&self) -> Vec<Value> {
        self.run(&["sessions", "list", "--json"]).json().as_array().unwrap().clone()
    }

    // The test's root without symbolic links, as slug sees it.
    fn real(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }
}

/// The arguments that name a server, its model and a trusted workspace.
pub(super) fn server_arguments(endpoint: &str) -> [&str; 5] {
    ["--trust-workspace", "--model", "test-model", "--endpoint", endpoint]
}

impl HeadlessOutput {
    /// The result of a process that has ended.
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output as one JSON value; panics if slug failed.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in {}", self.describe()))
    }

    /// Standard output as JSON values, one per line.
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error} in {line:?} of {}", self.describe()))
        };
        self.out.lines().map(parse).collect()
    }

    /// Status and output, for the message of a failed assertion.
    pub fn describe(&self) -> String {
        format!("status {:?}\n--- out\n{}\n--- err\n{}", self.code, self.out, self.err)
    }

    /// Panics unless slug exited with this status.
    #[track_caller]
    pub fn assert_exit_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.describe());
        self
    }
}

fn run_with_input(mut command: Command, input: &str) -> HeadlessOutput {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    HeadlessOutput::of(&child.wait_with_output().unwrap())
}

/// The process id that a command has written to a file.
pub fn pid(file: &Path) -> Pid {
    let mut pid = None;
    wait_until(|| {
        let text = fs::read_to_string(file).unwrap_or_default();
        pid = text.strip_suffix('\n').and_then(|text| Pid::from_raw(text.parse().ok()?));
        pid.is_some()
    });
    pid.unwrap_or_else(|| panic!("no process id in {}", file.display()))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
