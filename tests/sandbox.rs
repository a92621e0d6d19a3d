//! Commands in each kind of sandbox that this machine has, run by the real binary's supervisor. A
//! kind that is missing is skipped; `SLUG_REQUIRE_SANDBOX=1` makes that a failure.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slug_code::domain::{RuleKind, SandboxBackendKind, SandboxNetwork, SandboxProfile};
use slug_code::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use slug_code::permissions::{RuleSet, Workspace};
use slug_code::platform::environment::EnvironmentRules;
use slug_code::platform::process::ProcessHost;
use slug_code::platform::sandbox::{self, ProfileSource, SandboxBackend};
use slug_code::tools::{ExitCause, ProcessError, Processes, ScriptExit, ScriptSpec};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::process_host::process_host;
use crate::support::skip::{skip, skip_sandbox};

mod git_folders;
mod git_repositories;
mod hooks;
mod jobs;
mod kernel;
mod network;
mod protected_files;

/// A folder with a sandbox around it, a home with secrets, and a place outside.
struct SandboxFixture {
    _root: TempDir,
    dir: PathBuf,
    home: PathBuf,
    outside: PathBuf,
    host: ProcessHost,
    backend: SandboxBackend,
    network: SandboxNetwork,
    rules: RuleSet,
}

/// The result of a script.
struct SandboxRun {
    exit: Result<ScriptExit, ProcessError>,
    printed: String,
    backend: SandboxBackend,
}

impl SandboxRun {
    fn works(&self) -> bool {
        self.exit.as_ref().is_ok_and(|exit| exit.cause == ExitCause::Code(0))
    }

    fn refused(&self) -> Vec<String> {
        self.exit.as_ref().map_or_else(|_| Vec::new(), |exit| exit.refused.clone())
    }

    fn assert_blocked(self, what: &str) {
        assert!(!self.works(), "{what} got through {:?}: {}", self.backend, self.printed);
    }

    fn assert_works(self, what: &str) {
        assert!(self.works(), "{what} {:?}: {:?} {}", self.backend, self.exit, self.printed);
    }
}

/// The backends that work here.
fn available_backends() -> Vec<SandboxBackend> {
    let path = std::env::var_os("PATH").unwrap();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for method in [SandboxBackendKind::Bubblewrap, SandboxBackendKind::Landlock] {
        match sandbox::find(Some(method), &path, Path::new("/nowhere")) {
            Ok(means) => found.push(means),
            Err(why) => missing.push(why),
        }
    }
    let tell: fn(String) = if found.is_empty() { skip_sandbox } else { skip };
    missing.into_iter().for_each(|why| tell(why.to_string()));
    found
}

/// A process host with these variables.
fn host(variables: impl IntoIterator<Item = (OsString, OsString)>) -> ProcessHost {
    process_host(variables, &EnvironmentRules::default())
}

fn fixtures() -> Vec<SandboxFixture> {
    available_backends().into_iter().map(SandboxFixture::with).collect()
}

impl SandboxFixture {
    fn with(backend: SandboxBackend) -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = root.path().canonicalize().unwrap();
        let (dir, home, outside) = (at.join("app"), at.join("home"), at.join("outside"));
        for folder in [&dir.join("src"), &dir.join(".git/hooks"), &home.join(".ssh"), &outside] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::create_dir_all(home.join(".slug")).unwrap();
        fs::write(dir.join(".git/config"), "[core]\n").unwrap();
        fs::write(home.join(".ssh/id"), "CANARY").unwrap();
        fs::write(home.join(".slug/trust.json"), "CANARY").unwrap();
        fs::write(outside.join("kept"), "as it was").unwrap();
        Self {
            _root: root,
            dir,
            home,
            outside,
            host: host(std::env::vars_os()),
            backend,
            network: SandboxNetwork::Off,
            rules: RuleSet::new(),
        }
    }

    fn profile_source(&self) -> ProfileSource {
        let slug_home = self.home.join(".slug");
        let sandbox =
            SandboxPolicy::around(&self.dir, Some(&self.home), &slug_home, self.network.clone());
        let sandbox = sandbox.unwrap();
        let rules = self.rules.clone();
        Arc::new(move || {
            sandbox.profile(&HostSandboxDisk, &rules).map_err(|error| error.to_string())
        })
    }

    fn sandboxed_host(&self) -> ProcessHost {
        self.host.with_sandbox(self.backend.clone(), self.profile_source())
    }

    async fn run(&self, text: &str) -> SandboxRun {
        self.run_in(text, &self.dir).await
    }

    async fn run_in(&self, text: &str, cwd: &Path) -> SandboxRun {
        let timeout = Duration::from_secs(60);
        let script = ScriptSpec::new(text.to_owned(), cwd.to_owned(), timeout);
        let mut printed = Vec::new();
        let take = &mut |bytes: &[u8]| printed.extend(bytes);
        let exit = self.sandboxed_host().run(script, take, CancellationToken::new()).await;
        let backend = self.backend.clone();
        SandboxRun { exit, printed: String::from_utf8_lossy(&printed).into_owned(), backend }
    }

    fn is_bubblewrap(&self) -> bool {
        matches!(self.backend, SandboxBackend::Bubblewrap(_))
    }

    /// Asserts that no placeholder stays behind once the last supervisor has ended.
    fn assert_tidy(&self) {
        let by = Instant::now() + Duration::from_secs(60);
        loop {
            let left = fs::read_dir(&self.dir).unwrap().map(|it| it.unwrap().file_name());
            let left: BTreeSet<_> = left.collect();
            if left == BTreeSet::from([".git".into(), "src".into()]) {
                return;
            }
            assert!(Instant::now() < by, "{:?} leaves {left:?}", self.backend);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn outside(&self, name: &str) -> String {
        self.outside.join(name).display().to_string()
    }
}

#[tokio::test]
async fn commands_work_in_a_subfolder_of_the_sandbox() {
    for fixture in fixtures() {
        fixture
            .run("echo new > src/new && mkdir src/a && mv src/new src/a/moved")
            .await
            .assert_works("a");
        assert_eq!(fs::read_to_string(fixture.dir.join("src/a/moved")).unwrap(), "new\n");
        fixture
            .run("cat /etc/passwd > /dev/null && ls /usr/bin > /dev/null")
            .await
            .assert_works("reads");
        fixture.run("f=$(mktemp) && echo x > $f && cat $f").await.assert_works("temporary files");
        fixture.run("rm src/a/moved && rmdir src/a").await.assert_works("removing");
        assert!(!fixture.dir.join("src/a").exists());
        let ran = fixture.run("exit 7").await;
        assert_eq!(ran.exit.unwrap().cause, ExitCause::Code(7));
    }
}

#[tokio::test]
async fn new_files_beside_the_protected_ones_need_bubblewrap() {
    for fixture in fixtures() {
        let ran = fixture.run("echo x > new").await;
        // Landlock cannot allow new names in a folder and keep some of them free.
        assert_eq!(ran.works(), fixture.is_bubblewrap(), "{:?}: {}", fixture.backend, ran.printed);
        assert_eq!(fixture.dir.join("new").exists(), fixture.is_bubblewrap());
    }
}

#[tokio::test]
async fn nothing_outside_can_be_changed() {
    for fixture in fixtures() {
        let target = fixture.outside("kept");
        for command in [
            format!("echo x > {target}"),
            format!("rm {target}"),
            format!("mv {target} src/"),
            format!("ln {target} src/hard && echo x > src/hard"),
            format!("chmod 777 {target}"),
            format!("truncate -s 0 {target}"),
            format!("echo x > {}", fixture.outside("new")),
            format!("mkdir {}", fixture.outside("folder")),
            "echo x > /etc/slug-was-here".to_owned(),
        ] {
            // Landlock does not restrict changes of modes.
            if !fixture.is_bubblewrap() && command.starts_with("chmod") {
                continue;
            }
            fixture.run(&command).await.assert_blocked(&command);
        }
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
        assert_eq!(fs::read_dir(&fixture.outside).unwrap().count(), 1);
        assert!(!Path::new("/etc/slug-was-here").exists());
    }
}

fn denying(fixture: &SandboxFixture, rules: &[&str]) -> RuleSet {
    let home = Some(fixture.home.clone());
    let workspace = Workspace::new(&fixture.dir, Vec::new(), home, fixture.home.join(".slug"));
    let mut set = RuleSet::new();
    for rule in rules {
        set.add_session(RuleKind::Deny, rule, &workspace).unwrap();
    }
    set
}

#[tokio::test]
async fn s111_a_folder_outside_is_an_error_and_not_a_wider_sandbox() {
    for fixture in fixtures() {
        symlink(&fixture.outside, fixture.dir.join("src/link")).unwrap();
        let parent = fixture.dir.parent().unwrap().to_owned();
        let link = fixture.dir.join("src/link");
        for cwd in [PathBuf::from("/"), parent, fixture.dir.join(".."), link] {
            let ran = fixture.run_in("touch here", &cwd).await;
            let error = ran.exit.unwrap_err().to_string();
            assert!(error.contains("outside of the sandbox"), "{}: {error}", cwd.display());
        }
        fixture
            .run_in("touch here", &fixture.dir.join("src"))
            .await
            .assert_works("a folder inside");
    }
}

#[tokio::test]
async fn s114_a_link_that_leads_out_leads_nowhere() {
    for fixture in fixtures() {
        let target = fixture.outside("kept");
        fixture
            .run(&format!("ln -s {target} src/out && echo x > src/out"))
            .await
            .assert_blocked("the link");
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
    }
}

/// A command that still runs can put a link in a folder's place between the look and the start.
#[tokio::test]
async fn s114_a_folder_that_is_swapped_for_a_link_opens_nothing() {
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)"]);
        fs::create_dir(fixture.dir.join("src/a")).unwrap();
        fs::write(fixture.dir.join("src/a/.env"), "").unwrap();
        // The place outside has to be visible, even where all of this is in /tmp.
        let view = SandboxProfile { private: Vec::new(), ..fixture.profile_source()().unwrap() };
        let src = fixture.dir.join("src");
        let swapping = move || {
            fs::rename(src.join("a"), src.join("b")).map_err(|error| error.to_string())?;
            symlink("../../outside", src.join("a")).map_err(|error| error.to_string())?;
            Ok(view.clone())
        };
        let port = fixture.host.with_sandbox(fixture.backend.clone(), Arc::new(swapping));
        let text = format!("echo x > {}; touch src/ran", fixture.outside("kept"));
        let timeout = Duration::from_secs(60);
        let script = ScriptSpec::new(text, fixture.dir.clone(), timeout);
        let exit = port.run(script, &mut |_| {}, CancellationToken::new()).await;
        if fixture.is_bubblewrap() {
            let error = exit.unwrap_err().to_string();
            assert!(error.contains("changed meanwhile"), "{error}");
            assert!(!fixture.dir.join("src/ran").exists());
        }
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
    }
}

#[tokio::test]
async fn s115_what_was_written_inside_runs_inside() {
    for fixture in fixtures() {
        let target = fixture.outside("kept");
        let program = format!(
            "mkdir -p src/.venv/bin && printf '#!/bin/sh\\necho x > {target}\\n' > \
             src/.venv/bin/python && chmod +x src/.venv/bin/python"
        );
        fixture.run(&program).await.assert_works("writing the program");
        // A later run uses the same process host.
        fixture.run("src/.venv/bin/python").await.assert_blocked("the program");
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
    }
}

#[tokio::test]
async fn what_runs_in_the_background_goes_on_and_ends_with_slug() {
    for fixture in fixtures() {
        let ran = fixture.run("sleep 987 & echo $!; exit 0").await;
        assert!(ran.exit.as_ref().unwrap().left_running, "{:?} {:?}", fixture.backend, ran.exit);
        let runs = || {
            let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let lines = all.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
            lines.filter(|line| line.starts_with(b"sleep\0987")).count()
        };
        assert!(runs() > 0);
        fixture.host.end_all().await;
        fixture.assert_tidy();
    }
}

#[tokio::test]
async fn a_command_in_the_sandbox_is_stopped_and_timed_out_like_any() {
    for fixture in fixtures() {
        let cancel = CancellationToken::new();
        let script = |text: &str, seconds| {
            ScriptSpec::new(text.to_owned(), fixture.dir.clone(), Duration::from_secs(seconds))
        };
        let port = fixture.sandboxed_host();
        let stop = cancel.clone();
        let mut started = move |_: &[u8]| stop.cancel();
        let exit = port.run(script("echo on; sleep 986", 60), &mut started, cancel).await;
        assert_eq!(exit.unwrap().cause, ExitCause::Cancelled);
        let exit = port.run(script("sleep 985", 1), &mut |_| {}, CancellationToken::new()).await;
        assert_eq!(exit.unwrap().cause, ExitCause::TimedOut);
    }
}

#[tokio::test]
async fn two_commands_at_once_keep_the_same_names_free() {
    for fixture in fixtures() {
        let script = "for i in 1 2 3 4 5 6 7 8; do echo x > .mcp.json && exit 9; sleep 0.02; done";
        let short = "echo x > .mcp.json && exit 9; true";
        let (first, _, _, last) = tokio::join!(
            fixture.run(script),
            fixture.run(short),
            fixture.run(short),
            fixture.run(script)
        );
        for ran in [first, last] {
            assert_ne!(ran.exit.unwrap().cause, ExitCause::Code(9), "{}", ran.printed);
        }
        fixture.assert_tidy();
    }
}
