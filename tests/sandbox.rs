//! Commands in each kind of sandbox that this machine has, run by the real binary's supervisor. A
//! kind that is missing is skipped; `SLUG_REQUIRE_SANDBOX=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "what helps a test may fail and tell")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slug_code::context::{ContextProvider, GitExecutable, GitStatus};
use slug_code::domain::{RuleKind, SandboxBackendKind, SandboxNetwork, SandboxProfile, ScanExtent};
use slug_code::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use slug_code::permissions::{RuleSet, Workspace};
use slug_code::platform::environment::{ChildEnvironment, EnvironmentRules};
use slug_code::platform::process::{HostPrograms, PipedCommand, ProcessHost};
use slug_code::platform::sandbox::{self, ProfileSource, SandboxBackend};
use slug_code::tools::{ExitCause, ProcessError, Processes, ScriptExit, ScriptSpec};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[path = "support/skip.rs"]
mod skip;

use skip::{skip, skip_sandbox};

#[path = "sandbox/network.rs"]
mod network;

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
fn host(variables: impl Iterator<Item = (OsString, OsString)>) -> ProcessHost {
    let path = std::env::var_os("PATH").unwrap();
    let programs = HostPrograms {
        slug: PathBuf::from(env!("CARGO_BIN_EXE_slug")),
        ..HostPrograms::find(&path, Path::new("/nowhere")).unwrap()
    };
    let environment = ChildEnvironment::from_variables(variables, &EnvironmentRules::default());
    ProcessHost::new(programs, environment).unwrap()
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
        let script =
            ScriptSpec { text: text.to_owned(), cwd: cwd.to_owned(), timeout, search_path: None };
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

#[tokio::test]
async fn s46_protected_files_can_be_read_and_not_changed() {
    for fixture in fixtures() {
        fs::create_dir_all(fixture.dir.join("sub/.git/hooks")).unwrap();
        fs::create_dir(fixture.dir.join(".cargo")).unwrap();
        fixture.run("cat .git/config").await.assert_works("reading it");
        for command in [
            "echo x > .git/hooks/pre-commit",
            "echo x >> .git/config",
            "mkdir .git/info && echo x > .git/info/attributes",
            "mv .git g && mkdir .git",
            "rm -r .git",
            "echo x > .gitmodules",
            "echo x > sub/.git/hooks/pre-commit",
            "echo x > .cargo/config.toml",
            "mv .cargo c && mkdir .cargo && echo x > .cargo/config.toml",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(fixture.dir.join(".git/config")).unwrap(), "[core]\n");
        assert_eq!(fs::read_dir(fixture.dir.join(".git/hooks")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn s46_protected_files_are_not_reached_by_moving_their_folder() {
    for fixture in fixtures() {
        fs::create_dir_all(fixture.dir.join("a/b/.git")).unwrap();
        fs::write(fixture.dir.join("a/b/.git/config"), "[core]\n").unwrap();
        for command in [
            "mv a x && mkdir a && cp -r x/b a/b && echo x >> a/b/.git/config",
            "mv a/b a/c",
            // `target` is not searched.
            "mkdir -p src/target && mv a src/target/",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(fixture.dir.join("a/b/.git/config")).unwrap(), "[core]\n");
    }
}

/// Skipped for root, who can read every folder.
#[tokio::test]
async fn s49_a_folder_that_a_command_closes_is_not_open_to_the_next_one() {
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)", "Read(src/b/exact)"]);
        for folder in ["src/a", "src/b", "src/c/.git", ".cargo"] {
            fs::create_dir_all(fixture.dir.join(folder)).unwrap();
        }
        for file in ["src/a/.env", "src/b/exact", "src/c/.git/config", ".cargo/config.toml"] {
            fs::write(fixture.dir.join(file), "CANARY").unwrap();
        }
        fixture.run("chmod 0 src/a src/b src/c .cargo; true").await.assert_works("closing them");
        let ran = fixture.run("chmod 755 src/a src/b .cargo; cat src/a/.env src/b/exact").await;
        assert!(!ran.printed.contains("CANARY"), "{:?}: {}", fixture.backend, ran.printed);
        for file in ["src/c/.git/config", ".cargo/config.toml"] {
            let command = format!("chmod 755 src/c .cargo; echo x >> {file}");
            fixture.run(&command).await.assert_blocked(&command);
        }
        for folder in ["src/a", "src/b", "src/c", ".cargo"] {
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(fixture.dir.join(folder), open).unwrap();
        }
    }
}

#[tokio::test]
async fn s48_protected_names_cannot_be_created() {
    for fixture in fixtures() {
        for command in [
            "echo '{}' > .mcp.json",
            "mkdir .vscode && echo '{}' > .vscode/tasks.json",
            "echo '{}' > .vscode/tasks.json",
            "mkdir .idea",
            "echo x > .envrc",
            "echo x > src/x && mv src/x .npmrc",
            "ln -s src .slug",
            "mkdir .cargo && echo x > .cargo/config.toml",
            "echo x > bunfig.toml",
            "echo x > .pnpmfile.mjs",
            "echo x > rust-toolchain.toml",
            "mkdir -p .mvn && echo x > .mvn/extensions.xml",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        fixture.assert_tidy();
    }
}

#[tokio::test]
async fn secrets_and_slugs_own_state_cannot_be_read() {
    for fixture in fixtures() {
        for file in [".ssh/id", ".slug/trust.json"] {
            let path = fixture.home.join(file);
            let ran = fixture.run(&format!("cat {0}; cp {0} src/stolen", path.display())).await;
            assert!(!ran.printed.contains("CANARY"), "{file}: {}", ran.printed);
            let stolen = fs::read_to_string(fixture.dir.join("src/stolen")).unwrap_or_default();
            assert!(!stolen.contains("CANARY"), "{file}");
        }
        let into =
            format!("ln -s {} src/link; cat src/link/id", fixture.home.join(".ssh").display());
        let ran = fixture.run(&into).await;
        assert!(!ran.printed.contains("CANARY"), "{}", ran.printed);
        // S112: the state is never writable, whatever the sandbox's folder is.
        let state = format!("echo x > {}", fixture.home.join(".slug/new").display());
        fixture.run(&state).await.assert_blocked("slug's state");
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
async fn s49_each_result_says_when_not_all_denied_files_were_found() {
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)"]);
        assert_eq!(fixture.run("true").await.exit.unwrap().denied, ScanExtent::Whole);
        let looking = fixture.profile_source();
        let part =
            move || looking().map(|view| SandboxProfile { denied: ScanExtent::Part, ..view });
        let port = fixture.host.with_sandbox(fixture.backend.clone(), Arc::new(part));
        let (text, timeout) = ("true".to_owned(), Duration::from_secs(60));
        let script = ScriptSpec { text, cwd: fixture.dir.clone(), timeout, search_path: None };
        let exit = port.run(script, &mut |_| {}, CancellationToken::new()).await;
        assert_eq!(exit.unwrap().denied, ScanExtent::Part);
    }
}

#[tokio::test]
async fn s49_no_command_reads_what_a_deny_rule_forbids() {
    for mut fixture in fixtures() {
        fixture.rules =
            denying(&fixture, &["Read(.env)", "Read(src/keys/**)", "Read(~/notes/*.txt)"]);
        for folder in ["src/deep/er", "src/keys"] {
            fs::create_dir_all(fixture.dir.join(folder)).unwrap();
        }
        fs::create_dir(fixture.home.join("notes")).unwrap();
        let denied = [
            fixture.dir.join(".env"),
            fixture.dir.join("src/deep/er/.env"),
            fixture.dir.join("src/keys/a"),
            fixture.home.join("notes/a.txt"),
        ];
        for path in &denied {
            fs::write(path, "CANARY").unwrap();
        }
        fs::write(fixture.dir.join("src/deep/er/.envelope"), "to be read").unwrap();
        for path in &denied {
            let path = path.display();
            for command in [
                format!("cat {path}"),
                format!("python3 -c 'print(open(\"{path}\").read())' || perl -ne print {path}"),
                format!("ln {path} src/other && cat src/other; cat < {path}"),
                format!("cp {path} src/copy; cat src/copy"),
                format!("chmod 777 {path}; mv {path} src/moved && cat src/moved"),
            ] {
                let ran = fixture.run(&command).await;
                assert!(!ran.printed.contains("CANARY"), "{command} {:?}", fixture.backend);
            }
        }
        fixture
            .run("cat src/deep/er/.envelope && ls . src")
            .await
            .assert_works("what lies beside it");
        // Nor by renaming the folders above, in this command or for the next one.
        for command in [
            "mv src/keys k2; mv src src2; cat k2/a src2/keys/a src2/deep/er/.env",
            "mv src/deep src/shallow; cat src/shallow/er/.env",
            "grep -r CANARY . --include=* -h",
            "cat k2/a src2/keys/a src/shallow/er/.env",
        ] {
            let ran = fixture.run(command).await;
            assert!(!ran.printed.contains("CANARY"), "{command} {:?}", fixture.backend);
        }
        assert_eq!(fs::read_to_string(&denied[2]).unwrap(), "CANARY");
    }
}

/// git with an invented author and without this machine's configuration.
const GIT: &str = "git -c user.name=a -c user.email=a@b.example -c commit.gpgsign=false \
                   -c core.hooksPath=/dev/null";

fn git(folder: &Path, line: &str) {
    let script = format!("{GIT} {line}");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script]).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test]
async fn s46_in_a_linked_worktree_commits_work_and_protected_files_hold() {
    for mut fixture in fixtures() {
        let main = fixture.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        let tree = fixture.dir.with_file_name("tree");
        git(&main, &format!("worktree add -q -b side {}", tree.display()));
        fixture.dir = tree.canonicalize().unwrap();
        fs::create_dir(fixture.dir.join("src")).unwrap();
        let commit = format!(
            "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; echo x > src/f && \
             {GIT} add -A && {GIT} commit -q -m second && {GIT} checkout -q -b other && \
             test -z \"$({GIT} status --porcelain)\""
        );
        let ran = fixture.run(&commit).await;
        // Landlock cannot take what git obeys out of a folder in which git makes its files.
        assert_eq!(ran.works(), fixture.is_bubblewrap(), "{:?}: {}", fixture.backend, ran.printed);
        if fixture.is_bubblewrap() {
            git(&main, "log --format=%s side | grep -qx second");
        }
        let (common, own) = (main.join(".git"), main.join(".git/worktrees/tree"));
        let config = fs::read(common.join("config")).unwrap();
        for (folder, names) in [
            (
                &common,
                &[
                    "config",
                    "hooks/pre-commit",
                    "info/attributes",
                    "HEAD",
                    "new",
                    "objects/info/alternates",
                ][..],
            ),
            (&own, &["commondir", "gitdir", "config.worktree", "modules/x/config"]),
        ] {
            for name in names {
                let path = folder.join(name);
                let path = path.display();
                for command in [
                    format!("mkdir -p $(dirname {path}) && echo x > {path}"),
                    format!("echo x > src/x && mv src/x {path} && exit 0; exit 1"),
                    format!("rm -r {path}"),
                ] {
                    fixture.run(&command).await.assert_blocked(&command);
                }
            }
        }
        fixture.run("echo gitdir: /nowhere > .git").await.assert_blocked("another repository");
        assert_eq!(fs::read(common.join("config")).unwrap(), config);
        git(&fixture.dir, "status --porcelain");
        // git would write through links that a command leaves behind.
        let links = [own.join("MERGE_MSG"), common.join("logs/x"), common.join("refs/heads/a/b")];
        for link in &links {
            let (target, link) = (fixture.outside("kept"), link.display());
            let command = format!("mkdir -p $(dirname {link}) && ln -s {target} {link}");
            let ran = fixture.run(&command).await;
            assert_eq!(
                ran.works(),
                fixture.is_bubblewrap(),
                "{:?}: {}",
                fixture.backend,
                ran.printed
            );
        }
        // The next command finds none of them, even while a process still runs.
        let link = common.join("refs/heads/c");
        fixture.run(&format!("ln -s main {}; sleep 2 &", link.display())).await;
        assert!(
            link.symlink_metadata().is_err(),
            "{:?} has a link when it returns",
            fixture.backend
        );
        // The names are free again once the last supervisor has ended.
        let by = Instant::now() + Duration::from_secs(60);
        let is_left = |path: &Path| path.symlink_metadata().is_ok();
        while is_left(&own.join("modules"))
            || is_left(&own.join("config.worktree"))
            || links.iter().any(|link| is_left(link))
        {
            assert!(Instant::now() < by, "{:?} leaves names behind", fixture.backend);
            std::thread::sleep(Duration::from_millis(10));
        }
        // A link of the user's stays, and keeps the repository closed.
        symlink("main", common.join("refs/heads/mine")).unwrap();
        let file = own.join("new");
        fixture
            .run(&format!("echo x > {}", file.display()))
            .await
            .assert_blocked("a repository with a link");
        assert!(is_left(&common.join("refs/heads/mine")));
    }
}

#[tokio::test]
async fn git_works_inside_as_outside() {
    for fixture in fixtures() {
        let sub = fixture.dir.join("sub");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("a"), "one").unwrap();
        git(&sub, "init -q -b it\\'s .");
        git(&sub, "add -A");
        git(&sub, "commit -q -m first");
        git(&sub, "config filter.x=y.clean 'touch made; cat'");
        fs::write(sub.join(".gitattributes"), "a filter=x=y\n").unwrap();
        fs::write(sub.join("a"), "two").unwrap();
        let git_program = GitExecutable::find(&std::env::var_os("PATH").unwrap(), &[]).unwrap();
        let git_program = git_program.inside(Arc::new(fixture.sandboxed_host()));
        let status = GitStatus::new(git_program, sub.clone()).collect().await.unwrap();
        let start = "branch: it's\nchanged files: 2\n M a\n?? .gitattributes\nrecent commits:\n";
        assert!(status.starts_with(start), "{status}");
        assert!(!sub.join("made").exists());
    }
}

/// A file that came with a folder opens no repository of the user's.
#[tokio::test]
async fn s46_a_repository_that_does_not_know_a_folder_is_closed_to_it() {
    for mut fixture in fixtures() {
        let main = fixture.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        git(
            &main,
            &format!("worktree add -q -b side {}", fixture.dir.with_file_name("t").display()),
        );
        let own = main.join(".git/worktrees/t");
        let dir = fixture.dir.with_file_name("stranger");
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fixture.dir = dir;
        for path in [own.join("HEAD"), main.join(".git/refs/heads/side")] {
            fixture
                .run(&format!("echo x > {}", path.display()))
                .await
                .assert_blocked("a repository");
        }
    }
}

#[tokio::test]
async fn no_file_gets_the_setuid_or_setgid_bit() {
    for fixture in fixtures() {
        let bits = |name: &str| fs::metadata(fixture.dir.join(name)).unwrap().permissions().mode();
        fixture
            .run("cp /bin/true src/it && chmod 755 src/it && mkdir src/d")
            .await
            .assert_works("a copy");
        for command in [
            "chmod u+s src/it",
            "chmod g+s src/it",
            "chmod 4755 src/it",
            "chmod 6755 src/d",
            "install -m 4755 /bin/true src/installed",
            "mkdir -m 2755 src/shared",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        fixture
            .run("chmod 1777 src/d && chmod 700 src/it && umask 077 && : > src/new")
            .await
            .assert_works("");
        let made = fs::read_dir(fixture.dir.join("src")).unwrap().map(|it| it.unwrap().path());
        for path in made {
            let mode = bits(path.strip_prefix(&fixture.dir).unwrap().to_str().unwrap());
            assert_eq!(mode & 0o6000, 0, "{} {:?}", path.display(), fixture.backend);
        }
        let opens = "use Fcntl; sysopen(F, 'src/opened', O_CREAT|O_WRONLY, 04755) or exit 3;";
        if let Some(ran) = perl(&fixture, opens).await {
            ran.assert_blocked("open with a mode");
        }
    }
}

/// Runs a Perl script that does what no shell can; `None` where there is no Perl.
async fn perl(fixture: &SandboxFixture, script: &str) -> Option<SandboxRun> {
    let has = fixture.run("perl -e 1").await.works();
    if !has {
        skip("there is no perl in the sandbox");
        return None;
    }
    fs::write(fixture.dir.join("src/try.pl"), script).unwrap();
    Some(fixture.run("perl src/try.pl").await)
}

#[tokio::test]
async fn s90_other_families_are_refused_by_the_kernel() {
    let families =
        [("AF_VSOCK", 40, 1), ("AF_NETLINK", 16, 3), ("AF_PACKET", 17, 3), ("AF_UNIX", 1, 1)];
    for fixture in fixtures() {
        for (name, family, kind) in families {
            let script =
                format!("socket(my $s, {family}, {kind}, 0) or die \"$!\\n\"; print 'made';");
            let Some(ran) = perl(&fixture, &script).await else { return };
            assert!(ran.printed.contains("not permitted"), "{name}: {}", ran.printed);
        }
        // io_uring_setup has this number on every processor.
        let script = "$! = 0; syscall(425, 1, my $p = \"\\0\" x 120); die \"$!\\n\" if $!;";
        let Some(ran) = perl(&fixture, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn memory_that_other_programs_share_is_out_of_reach() {
    for fixture in fixtures() {
        // A private segment, which is removed again.
        let script = "my $id = shmget(0, 4096, 0600); defined $id or die \"$!\\n\"; \
                      shmctl($id, 0, 0); print 'made';";
        let Some(ran) = perl(&fixture, script).await else { return };
        // In bubblewrap the command has an IPC namespace of its own.
        let expected = if fixture.is_bubblewrap() { "made" } else { "not permitted" };
        assert!(ran.printed.contains(expected), "{:?}: {}", fixture.backend, ran.printed);
    }
}

#[tokio::test]
async fn s91_no_socket_outside_is_reached_and_no_descriptor_inherited() {
    for fixture in fixtures() {
        let beside = fixture.outside.join("sock");
        let _beside = UnixListener::bind(&beside).unwrap();
        // The path of a socket can have about a hundred bytes.
        let inside = UnixListener::bind(fixture.dir.join("src/s"));
        for path in [&beside, &fixture.dir.join("src/s")] {
            let script = format!(
                "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"$!\\n\"; \
                 connect($s, pack_sockaddr_un('{}')) or die \"$!\\n\";",
                path.display()
            );
            let Some(ran) = perl(&fixture, &script).await else { return };
            ran.assert_blocked("a socket outside");
        }
        drop(inside);
        let ran = fixture.run("ls /proc/self/fd | tr '\\n' ' '").await;
        // The fourth is the listing's own.
        assert_eq!(ran.printed.trim(), "0 1 2 3", "{:?}", fixture.backend);
        for place in ["/run/docker.sock", "/var/run/docker.sock", "/run/user"] {
            fixture.run(&format!("cat {place} || ls {place}/*")).await.assert_blocked(place);
        }
    }
}

#[tokio::test]
async fn s75_there_is_no_terminal_to_type_into() {
    for fixture in fixtures() {
        fixture.run("exec 3<>/dev/tty").await.assert_blocked("the terminal");
        let script = "my $c = 'x'; open(my $t, '<', '/dev/null'); \
                      ioctl($t, 0x5412, $c) or die \"$!\\n\";";
        let Some(ran) = perl(&fixture, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn other_processes_and_new_namespaces_are_out_of_reach() {
    let me = std::process::id();
    for fixture in fixtures() {
        for command in [
            format!("cat /proc/{me}/environ"),
            format!("cat /proc/{me}/cwd/Cargo.toml"),
            "unshare -Ur true".to_owned(),
            "mount -t tmpfs none src".to_owned(),
            "umount /proc".to_owned(),
            "chroot /".to_owned(),
        ] {
            fixture.run(&command).await.assert_blocked(&command);
        }
        if fixture.is_bubblewrap() {
            fixture.run(&format!("kill -0 {me}")).await.assert_blocked("a signal");
        }
    }
}

/// Without any capability, the user root may change some settings, and each process some of its
/// own.
#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed() {
    for fixture in fixtures() {
        for file in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/comm"] {
            // Only opened: nothing is written to it.
            fixture.run(&format!("exec 3>> {file}")).await.assert_blocked(file);
        }
        fixture
            .run("cat /proc/sys/kernel/core_pattern /proc/self/stat")
            .await
            .assert_works("reading");
    }
}

/// The libraries that a program loads can lie where commands write.
#[tokio::test]
async fn loader_variables_reach_the_script_alone() {
    for mut fixture in fixtures() {
        let path = std::env::var_os("PATH").unwrap();
        let programs = HostPrograms {
            slug: PathBuf::from(env!("CARGO_BIN_EXE_slug")),
            ..HostPrograms::find(&path, Path::new("/nowhere")).unwrap()
        };
        // With LD_DEBUG the loader reports the programs that it was asked to start.
        let variables = [("PATH", path), ("LD_DEBUG", "files".into())];
        let variables = variables.map(|(name, value)| (name.into(), value));
        let environment = ChildEnvironment::from_variables(variables, &EnvironmentRules::default());
        fixture.host = ProcessHost::new(programs, environment).unwrap();
        let ran = fixture.run("echo \"[$LD_DEBUG]\"").await;
        assert!(ran.printed.contains("[files]"), "{}", ran.printed);
        let starts = ran.printed.lines().filter(|line| line.contains("transferring control: "));
        let others: Vec<&str> = starts.filter(|line| !line.ends_with("bash")).collect();
        assert!(others.is_empty(), "{:?}: {others:?}", fixture.backend);
    }
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
        let script = ScriptSpec { text, cwd: fixture.dir.clone(), timeout, search_path: None };
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
async fn s115_a_hook_runs_inside_with_its_input() {
    for fixture in fixtures() {
        let piped = |line: String| PipedCommand {
            line,
            cwd: fixture.dir.clone(),
            timeout: Duration::from_secs(60),
            input: "told".to_owned(),
            variables: Vec::new(),
        };
        let none = CancellationToken::new();
        let output = fixture
            .sandboxed_host()
            .run_piped(piped("cat; echo no >&2; exit 2".into()), &none)
            .await;
        let output = output.unwrap();
        let all = (output.exit.cause, output.stdout.as_str(), output.stderr.as_str());
        assert_eq!(all, (ExitCause::Code(2), "told", "no\n"), "{:?}", fixture.backend);
        let line = format!("echo x > {}", fixture.outside("kept"));
        let output = fixture.sandboxed_host().run_piped(piped(line), &none).await.unwrap();
        assert_ne!(output.exit.cause, ExitCause::Code(0));
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
    }
}

/// The sandbox of hooks in plan mode: narrowing it to read only opens nothing.
#[tokio::test]
async fn s106_a_read_only_sandbox_is_closed_where_the_other_is() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)"]);
        for path in
            [fixture.dir.join("note"), fixture.dir.join(".env"), fixture.dir.join("src/.env")]
        {
            fs::write(path, "CANARY").unwrap();
        }
        let scratch = tempfile::tempdir().unwrap();
        let scratch = scratch.path().canonicalize().unwrap();
        let host = fixture.sandboxed_host().read_only(scratch.clone()).unwrap();
        let run = async |line: &str| {
            let line = format!("cd '{}' && {line}", fixture.dir.display());
            let (timeout, input, variables) = (Duration::from_secs(60), String::new(), Vec::new());
            let piped = PipedCommand { line, cwd: scratch.clone(), timeout, input, variables };
            let output = host.run_piped(piped, &CancellationToken::new()).await.unwrap();
            (output.exit.cause == ExitCause::Code(0), output.stdout + &output.stderr)
        };
        for line in ["cat note", "ls . src", "echo x > $TMPDIR/o && cat $TMPDIR/o"] {
            let (works, printed) = run(line).await;
            assert!(works, "{line} {:?}: {printed}", fixture.backend);
        }
        let (id, trust) = (fixture.home.join(".ssh/id"), fixture.home.join(".slug/trust.json"));
        for line in [
            "cat .env",
            "cat src/.env",
            &format!("cat '{}'", id.display()),
            &format!("cat '{}'", trust.display()),
            "touch made",
            "touch src/made",
            "echo x >> .git/config",
            "touch .mcp.json",
            &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
        ] {
            let (works, printed) = run(line).await;
            let is_closed = !works && !printed.contains("CANARY");
            assert!(is_closed, "{line} {:?}: {printed}", fixture.backend);
        }
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
        let script = |text: &str, seconds| ScriptSpec {
            text: text.to_owned(),
            cwd: fixture.dir.clone(),
            timeout: Duration::from_secs(seconds),
            search_path: None,
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
