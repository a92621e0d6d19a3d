//! Commands inside each kind of sandbox that this machine can have, run by the real binary's
//! supervisor. A kind that it cannot have is skipped; with `SLUG_REQUIRE_SANDBOX=1` there is one.

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

/// What came of a script.
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

/// What works here, each with its name.
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

/// What starts commands with these variables.
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
    fn with(means: SandboxBackend) -> Self {
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
            backend: means,
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
        let means = self.backend.clone();
        SandboxRun { exit, printed: String::from_utf8_lossy(&printed).into_owned(), backend: means }
    }

    fn is_bubblewrap(&self) -> bool {
        matches!(self.backend, SandboxBackend::Bubblewrap(_))
    }

    /// Nothing stays behind of what kept names free, once the last supervisor has ended.
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
async fn inside_a_folder_of_the_sandbox_work_goes_on() {
    for scene in fixtures() {
        scene
            .run("echo new > src/new && mkdir src/a && mv src/new src/a/moved")
            .await
            .assert_works("a");
        assert_eq!(fs::read_to_string(scene.dir.join("src/a/moved")).unwrap(), "new\n");
        scene
            .run("cat /etc/passwd > /dev/null && ls /usr/bin > /dev/null")
            .await
            .assert_works("reads");
        scene.run("f=$(mktemp) && echo x > $f && cat $f").await.assert_works("temporary files");
        scene.run("rm src/a/moved && rmdir src/a").await.assert_works("removing");
        assert!(!scene.dir.join("src/a").exists());
        let ran = scene.run("exit 7").await;
        assert_eq!(ran.exit.unwrap().cause, ExitCause::Code(7));
    }
}

#[tokio::test]
async fn new_files_beside_the_protected_ones_need_a_view_of_ones_own() {
    for scene in fixtures() {
        let ran = scene.run("echo x > new").await;
        // Landlock cannot let names be made in a folder and keep some of them free.
        assert_eq!(ran.works(), scene.is_bubblewrap(), "{:?}: {}", scene.backend, ran.printed);
        assert_eq!(scene.dir.join("new").exists(), scene.is_bubblewrap());
    }
}

#[tokio::test]
async fn nothing_outside_can_be_changed() {
    for scene in fixtures() {
        let target = scene.outside("kept");
        for command in [
            format!("echo x > {target}"),
            format!("rm {target}"),
            format!("mv {target} src/"),
            format!("ln {target} src/hard && echo x > src/hard"),
            format!("chmod 777 {target}"),
            format!("truncate -s 0 {target}"),
            format!("echo x > {}", scene.outside("new")),
            format!("mkdir {}", scene.outside("folder")),
            "echo x > /etc/slug-was-here".to_owned(),
        ] {
            // Landlock does not hold back a change of modes.
            if !scene.is_bubblewrap() && command.starts_with("chmod") {
                continue;
            }
            scene.run(&command).await.assert_blocked(&command);
        }
        assert_eq!(fs::read_to_string(scene.outside.join("kept")).unwrap(), "as it was");
        assert_eq!(fs::read_dir(&scene.outside).unwrap().count(), 1);
        assert!(!Path::new("/etc/slug-was-here").exists());
    }
}

#[tokio::test]
async fn s46_what_takes_orders_can_be_read_and_not_changed() {
    for scene in fixtures() {
        fs::create_dir_all(scene.dir.join("sub/.git/hooks")).unwrap();
        fs::create_dir(scene.dir.join(".cargo")).unwrap();
        scene.run("cat .git/config").await.assert_works("reading it");
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
            scene.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(scene.dir.join(".git/config")).unwrap(), "[core]\n");
        assert_eq!(fs::read_dir(scene.dir.join(".git/hooks")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn s46_what_takes_orders_is_not_reached_by_moving_what_it_lies_in() {
    for scene in fixtures() {
        fs::create_dir_all(scene.dir.join("a/b/.git")).unwrap();
        fs::write(scene.dir.join("a/b/.git/config"), "[core]\n").unwrap();
        for command in [
            "mv a x && mkdir a && cp -r x/b a/b && echo x >> a/b/.git/config",
            "mv a/b a/c",
            // `target` is not looked through.
            "mkdir -p src/target && mv a src/target/",
        ] {
            scene.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(scene.dir.join("a/b/.git/config")).unwrap(), "[core]\n");
    }
}

/// Not so for root, who looks into everything.
#[tokio::test]
async fn s49_a_folder_that_a_command_closes_is_not_open_to_the_next_one() {
    for mut scene in fixtures() {
        scene.rules = denying(&scene, &["Read(.env)", "Read(src/b/exact)"]);
        for folder in ["src/a", "src/b", "src/c/.git", ".cargo"] {
            fs::create_dir_all(scene.dir.join(folder)).unwrap();
        }
        for file in ["src/a/.env", "src/b/exact", "src/c/.git/config", ".cargo/config.toml"] {
            fs::write(scene.dir.join(file), "CANARY").unwrap();
        }
        scene.run("chmod 0 src/a src/b src/c .cargo; true").await.assert_works("closing them");
        let ran = scene.run("chmod 755 src/a src/b .cargo; cat src/a/.env src/b/exact").await;
        assert!(!ran.printed.contains("CANARY"), "{:?}: {}", scene.backend, ran.printed);
        for file in ["src/c/.git/config", ".cargo/config.toml"] {
            let command = format!("chmod 755 src/c .cargo; echo x >> {file}");
            scene.run(&command).await.assert_blocked(&command);
        }
        for folder in ["src/a", "src/b", "src/c", ".cargo"] {
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(scene.dir.join(folder), open).unwrap();
        }
    }
}

#[tokio::test]
async fn s48_names_that_take_orders_cannot_come_into_being() {
    for scene in fixtures() {
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
            scene.run(command).await.assert_blocked(command);
        }
        scene.assert_tidy();
    }
}

#[tokio::test]
async fn secrets_and_slugs_own_state_cannot_be_read() {
    for scene in fixtures() {
        for file in [".ssh/id", ".slug/trust.json"] {
            let path = scene.home.join(file);
            let ran = scene.run(&format!("cat {0}; cp {0} src/stolen", path.display())).await;
            assert!(!ran.printed.contains("CANARY"), "{file}: {}", ran.printed);
            let stolen = fs::read_to_string(scene.dir.join("src/stolen")).unwrap_or_default();
            assert!(!stolen.contains("CANARY"), "{file}");
        }
        let into = format!("ln -s {} src/link; cat src/link/id", scene.home.join(".ssh").display());
        let ran = scene.run(&into).await;
        assert!(!ran.printed.contains("CANARY"), "{}", ran.printed);
        // S112: whatever its folder, the state is never writable.
        let state = format!("echo x > {}", scene.home.join(".slug/new").display());
        scene.run(&state).await.assert_blocked("slug's state");
    }
}

fn denying(scene: &SandboxFixture, rules: &[&str]) -> RuleSet {
    let home = Some(scene.home.clone());
    let workspace = Workspace::new(&scene.dir, Vec::new(), home, scene.home.join(".slug"));
    let mut set = RuleSet::new();
    for rule in rules {
        set.add_session(RuleKind::Deny, rule, &workspace).unwrap();
    }
    set
}

#[tokio::test]
async fn s49_where_not_all_that_is_denied_was_found_each_result_tells() {
    for mut scene in fixtures() {
        scene.rules = denying(&scene, &["Read(.env)"]);
        assert_eq!(scene.run("true").await.exit.unwrap().denied, ScanExtent::Whole);
        let looking = scene.profile_source();
        let part =
            move || looking().map(|view| SandboxProfile { denied: ScanExtent::Part, ..view });
        let port = scene.host.with_sandbox(scene.backend.clone(), Arc::new(part));
        let (text, timeout) = ("true".to_owned(), Duration::from_secs(60));
        let script = ScriptSpec { text, cwd: scene.dir.clone(), timeout, search_path: None };
        let exit = port.run(script, &mut |_| {}, CancellationToken::new()).await;
        assert_eq!(exit.unwrap().denied, ScanExtent::Part);
    }
}

#[tokio::test]
async fn s49_what_a_deny_rule_keeps_from_reading_no_command_reads() {
    for mut scene in fixtures() {
        scene.rules = denying(&scene, &["Read(.env)", "Read(src/keys/**)", "Read(~/notes/*.txt)"]);
        for folder in ["src/deep/er", "src/keys"] {
            fs::create_dir_all(scene.dir.join(folder)).unwrap();
        }
        fs::create_dir(scene.home.join("notes")).unwrap();
        let denied = [
            scene.dir.join(".env"),
            scene.dir.join("src/deep/er/.env"),
            scene.dir.join("src/keys/a"),
            scene.home.join("notes/a.txt"),
        ];
        for path in &denied {
            fs::write(path, "CANARY").unwrap();
        }
        fs::write(scene.dir.join("src/deep/er/.envelope"), "to be read").unwrap();
        for path in &denied {
            let path = path.display();
            for command in [
                format!("cat {path}"),
                format!("python3 -c 'print(open(\"{path}\").read())' || perl -ne print {path}"),
                format!("ln {path} src/other && cat src/other; cat < {path}"),
                format!("cp {path} src/copy; cat src/copy"),
                format!("chmod 777 {path}; mv {path} src/moved && cat src/moved"),
            ] {
                let ran = scene.run(&command).await;
                assert!(!ran.printed.contains("CANARY"), "{command} {:?}", scene.backend);
            }
        }
        scene
            .run("cat src/deep/er/.envelope && ls . src")
            .await
            .assert_works("what lies beside it");
        // Nor by giving the folders above another name, in this command or for the next one.
        for command in [
            "mv src/keys k2; mv src src2; cat k2/a src2/keys/a src2/deep/er/.env",
            "mv src/deep src/shallow; cat src/shallow/er/.env",
            "grep -r CANARY . --include=* -h",
            "cat k2/a src2/keys/a src/shallow/er/.env",
        ] {
            let ran = scene.run(command).await;
            assert!(!ran.printed.contains("CANARY"), "{command} {:?}", scene.backend);
        }
        assert_eq!(fs::read_to_string(&denied[2]).unwrap(), "CANARY");
    }
}

/// Git as nobody in particular, with nothing of this machine's configuration.
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
async fn s46_in_a_linked_worktree_commits_are_made_and_orders_are_not() {
    for mut scene in fixtures() {
        let main = scene.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        let tree = scene.dir.with_file_name("tree");
        git(&main, &format!("worktree add -q -b side {}", tree.display()));
        scene.dir = tree.canonicalize().unwrap();
        fs::create_dir(scene.dir.join("src")).unwrap();
        let commit = format!(
            "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; echo x > src/f && \
             {GIT} add -A && {GIT} commit -q -m second && {GIT} checkout -q -b other && \
             test -z \"$({GIT} status --porcelain)\""
        );
        let ran = scene.run(&commit).await;
        // Landlock cannot take what git obeys out of a folder in which git makes its files.
        assert_eq!(ran.works(), scene.is_bubblewrap(), "{:?}: {}", scene.backend, ran.printed);
        if scene.is_bubblewrap() {
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
                    scene.run(&command).await.assert_blocked(&command);
                }
            }
        }
        scene.run("echo gitdir: /nowhere > .git").await.assert_blocked("another repository");
        assert_eq!(fs::read(common.join("config")).unwrap(), config);
        git(&scene.dir, "status --porcelain");
        // git would write through links that a command leaves.
        let links = [own.join("MERGE_MSG"), common.join("logs/x"), common.join("refs/heads/a/b")];
        for link in &links {
            let (target, link) = (scene.outside("kept"), link.display());
            let command = format!("mkdir -p $(dirname {link}) && ln -s {target} {link}");
            let ran = scene.run(&command).await;
            assert_eq!(ran.works(), scene.is_bubblewrap(), "{:?}: {}", scene.backend, ran.printed);
        }
        // The next command finds none of them, even while something still runs.
        let link = common.join("refs/heads/c");
        scene.run(&format!("ln -s main {}; sleep 2 &", link.display())).await;
        assert!(link.symlink_metadata().is_err(), "{:?} has a link when it returns", scene.backend);
        // As names in the folder, they are free again once the last supervisor has ended.
        let by = Instant::now() + Duration::from_secs(60);
        let is_left = |path: &Path| path.symlink_metadata().is_ok();
        while is_left(&own.join("modules"))
            || is_left(&own.join("config.worktree"))
            || links.iter().any(|link| is_left(link))
        {
            assert!(Instant::now() < by, "{:?} leaves names behind", scene.backend);
            std::thread::sleep(Duration::from_millis(10));
        }
        // One of the person's stays, and keeps the repository closed.
        symlink("main", common.join("refs/heads/mine")).unwrap();
        let file = own.join("new");
        scene
            .run(&format!("echo x > {}", file.display()))
            .await
            .assert_blocked("a repository with a link");
        assert!(is_left(&common.join("refs/heads/mine")));
    }
}

#[tokio::test]
async fn git_is_asked_inside_as_it_would_be_outside() {
    for scene in fixtures() {
        let sub = scene.dir.join("sub");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("a"), "one").unwrap();
        git(&sub, "init -q -b it\\'s .");
        git(&sub, "add -A");
        git(&sub, "commit -q -m first");
        git(&sub, "config filter.x=y.clean 'touch made; cat'");
        fs::write(sub.join(".gitattributes"), "a filter=x=y\n").unwrap();
        fs::write(sub.join("a"), "two").unwrap();
        let asked = GitExecutable::find(&std::env::var_os("PATH").unwrap(), &[]).unwrap();
        let asked = asked.inside(Arc::new(scene.sandboxed_host()));
        let told = GitStatus::new(asked, sub.clone()).collect().await.unwrap();
        let start = "branch: it's\nchanged files: 2\n M a\n?? .gitattributes\nrecent commits:\n";
        assert!(told.starts_with(start), "{told}");
        assert!(!sub.join("made").exists());
    }
}

/// A file that came with a folder opens no repository of the person's.
#[tokio::test]
async fn s46_a_repository_that_does_not_know_a_folder_is_closed_to_it() {
    for mut scene in fixtures() {
        let main = scene.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        git(&main, &format!("worktree add -q -b side {}", scene.dir.with_file_name("t").display()));
        let own = main.join(".git/worktrees/t");
        let dir = scene.dir.with_file_name("stranger");
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        scene.dir = dir;
        for path in [own.join("HEAD"), main.join(".git/refs/heads/side")] {
            scene.run(&format!("echo x > {}", path.display())).await.assert_blocked("a repository");
        }
    }
}

#[tokio::test]
async fn no_file_gets_the_setuid_or_setgid_bit() {
    for scene in fixtures() {
        let bits = |name: &str| fs::metadata(scene.dir.join(name)).unwrap().permissions().mode();
        scene
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
            scene.run(command).await.assert_blocked(command);
        }
        scene
            .run("chmod 1777 src/d && chmod 700 src/it && umask 077 && : > src/new")
            .await
            .assert_works("");
        let made = fs::read_dir(scene.dir.join("src")).unwrap().map(|it| it.unwrap().path());
        for path in made {
            let mode = bits(path.strip_prefix(&scene.dir).unwrap().to_str().unwrap());
            assert_eq!(mode & 0o6000, 0, "{} {:?}", path.display(), scene.backend);
        }
        let opens = "use Fcntl; sysopen(F, 'src/opened', O_CREAT|O_WRONLY, 04755) or exit 3;";
        if let Some(ran) = perl(&scene, opens).await {
            ran.assert_blocked("open with a mode");
        }
    }
}

/// Tries what no shell can, where there is a Perl.
async fn perl(scene: &SandboxFixture, script: &str) -> Option<SandboxRun> {
    let has = scene.run("perl -e 1").await.works();
    if !has {
        skip("there is no perl in the sandbox");
        return None;
    }
    fs::write(scene.dir.join("src/try.pl"), script).unwrap();
    Some(scene.run("perl src/try.pl").await)
}

#[tokio::test]
async fn s90_other_families_are_refused_by_the_kernel() {
    let families =
        [("AF_VSOCK", 40, 1), ("AF_NETLINK", 16, 3), ("AF_PACKET", 17, 3), ("AF_UNIX", 1, 1)];
    for scene in fixtures() {
        for (name, family, kind) in families {
            let script =
                format!("socket(my $s, {family}, {kind}, 0) or die \"$!\\n\"; print 'made';");
            let Some(ran) = perl(&scene, &script).await else { return };
            assert!(ran.printed.contains("not permitted"), "{name}: {}", ran.printed);
        }
        // io_uring_setup has this number on every processor.
        let script = "$! = 0; syscall(425, 1, my $p = \"\\0\" x 120); die \"$!\\n\" if $!;";
        let Some(ran) = perl(&scene, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn memory_that_other_programs_share_is_out_of_reach() {
    for scene in fixtures() {
        // A private segment, which is removed again.
        let script = "my $id = shmget(0, 4096, 0600); defined $id or die \"$!\\n\"; \
                      shmctl($id, 0, 0); print 'made';";
        let Some(ran) = perl(&scene, script).await else { return };
        // bubblewrap has a room for it that is the command's own.
        let said = if scene.is_bubblewrap() { "made" } else { "not permitted" };
        assert!(ran.printed.contains(said), "{:?}: {}", scene.backend, ran.printed);
    }
}

#[tokio::test]
async fn s91_no_socket_outside_is_reached_and_no_descriptor_inherited() {
    for scene in fixtures() {
        let beside = scene.outside.join("sock");
        let _beside = UnixListener::bind(&beside).unwrap();
        // A path of a socket has room for a hundred bytes or so.
        let inside = UnixListener::bind(scene.dir.join("src/s"));
        for path in [&beside, &scene.dir.join("src/s")] {
            let script = format!(
                "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"$!\\n\"; \
                 connect($s, pack_sockaddr_un('{}')) or die \"$!\\n\";",
                path.display()
            );
            let Some(ran) = perl(&scene, &script).await else { return };
            ran.assert_blocked("a socket outside");
        }
        drop(inside);
        let ran = scene.run("ls /proc/self/fd | tr '\\n' ' '").await;
        // The fourth is the listing's own.
        assert_eq!(ran.printed.trim(), "0 1 2 3", "{:?}", scene.backend);
        for place in ["/run/docker.sock", "/var/run/docker.sock", "/run/user"] {
            scene.run(&format!("cat {place} || ls {place}/*")).await.assert_blocked(place);
        }
    }
}

#[tokio::test]
async fn s75_there_is_no_terminal_to_type_into() {
    for scene in fixtures() {
        scene.run("exec 3<>/dev/tty").await.assert_blocked("the terminal");
        let script = "my $c = 'x'; open(my $t, '<', '/dev/null'); \
                      ioctl($t, 0x5412, $c) or die \"$!\\n\";";
        let Some(ran) = perl(&scene, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn other_processes_and_new_namespaces_are_out_of_reach() {
    let me = std::process::id();
    for scene in fixtures() {
        for command in [
            format!("cat /proc/{me}/environ"),
            format!("cat /proc/{me}/cwd/Cargo.toml"),
            "unshare -Ur true".to_owned(),
            "mount -t tmpfs none src".to_owned(),
            "umount /proc".to_owned(),
            "chroot /".to_owned(),
        ] {
            scene.run(&command).await.assert_blocked(&command);
        }
        if scene.is_bubblewrap() {
            scene.run(&format!("kill -0 {me}")).await.assert_blocked("a signal");
        }
    }
}

/// The user root may change them without any capability, and each process something of its own.
#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed() {
    for scene in fixtures() {
        for file in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/comm"] {
            // Opened, and nothing written to it.
            scene.run(&format!("exec 3>> {file}")).await.assert_blocked(file);
        }
        scene
            .run("cat /proc/sys/kernel/core_pattern /proc/self/stat")
            .await
            .assert_works("reading");
    }
}

/// What a program loads can lie where commands write.
#[tokio::test]
async fn only_the_script_itself_is_told_what_to_load() {
    for mut scene in fixtures() {
        let path = std::env::var_os("PATH").unwrap();
        let programs = HostPrograms {
            slug: PathBuf::from(env!("CARGO_BIN_EXE_slug")),
            ..HostPrograms::find(&path, Path::new("/nowhere")).unwrap()
        };
        // It has the loader itself tell which programs it was asked to start.
        let told = [("PATH", path), ("LD_DEBUG", "files".into())];
        let told = told.map(|(name, value)| (name.into(), value));
        let environment = ChildEnvironment::from_variables(told, &EnvironmentRules::default());
        scene.host = ProcessHost::new(programs, environment).unwrap();
        let ran = scene.run("echo \"[$LD_DEBUG]\"").await;
        assert!(ran.printed.contains("[files]"), "{}", ran.printed);
        let starts = ran.printed.lines().filter(|line| line.contains("transferring control: "));
        let others: Vec<&str> = starts.filter(|line| !line.ends_with("bash")).collect();
        assert!(others.is_empty(), "{:?}: {others:?}", scene.backend);
    }
}

#[tokio::test]
async fn s111_a_folder_outside_is_an_error_and_not_a_wider_sandbox() {
    for scene in fixtures() {
        symlink(&scene.outside, scene.dir.join("src/link")).unwrap();
        let parent = scene.dir.parent().unwrap().to_owned();
        let link = scene.dir.join("src/link");
        for cwd in [PathBuf::from("/"), parent, scene.dir.join(".."), link] {
            let ran = scene.run_in("touch here", &cwd).await;
            let error = ran.exit.unwrap_err().to_string();
            assert!(error.contains("outside of the sandbox"), "{}: {error}", cwd.display());
        }
        scene.run_in("touch here", &scene.dir.join("src")).await.assert_works("a folder inside");
    }
}

#[tokio::test]
async fn s114_a_link_that_leads_out_leads_nowhere() {
    for scene in fixtures() {
        let target = scene.outside("kept");
        scene
            .run(&format!("ln -s {target} src/out && echo x > src/out"))
            .await
            .assert_blocked("the link");
        assert_eq!(fs::read_to_string(scene.outside.join("kept")).unwrap(), "as it was");
    }
}

/// Between the look and the start a command that still runs can put a link in its place.
#[tokio::test]
async fn s114_a_folder_that_is_swapped_for_a_link_opens_nothing() {
    for mut scene in fixtures() {
        scene.rules = denying(&scene, &["Read(.env)"]);
        fs::create_dir(scene.dir.join("src/a")).unwrap();
        fs::write(scene.dir.join("src/a/.env"), "").unwrap();
        // What is outside is to be there, also where all of this lies in /tmp.
        let view = SandboxProfile { private: Vec::new(), ..scene.profile_source()().unwrap() };
        let src = scene.dir.join("src");
        let swapping = move || {
            fs::rename(src.join("a"), src.join("b")).map_err(|error| error.to_string())?;
            symlink("../../outside", src.join("a")).map_err(|error| error.to_string())?;
            Ok(view.clone())
        };
        let port = scene.host.with_sandbox(scene.backend.clone(), Arc::new(swapping));
        let text = format!("echo x > {}; touch src/ran", scene.outside("kept"));
        let timeout = Duration::from_secs(60);
        let script = ScriptSpec { text, cwd: scene.dir.clone(), timeout, search_path: None };
        let exit = port.run(script, &mut |_| {}, CancellationToken::new()).await;
        if scene.is_bubblewrap() {
            let error = exit.unwrap_err().to_string();
            assert!(error.contains("changed meanwhile"), "{error}");
            assert!(!scene.dir.join("src/ran").exists());
        }
        assert_eq!(fs::read_to_string(scene.outside.join("kept")).unwrap(), "as it was");
    }
}

#[tokio::test]
async fn s115_what_was_written_inside_runs_inside() {
    for scene in fixtures() {
        let target = scene.outside("kept");
        let program = format!(
            "mkdir -p src/.venv/bin && printf '#!/bin/sh\\necho x > {target}\\n' > \
             src/.venv/bin/python && chmod +x src/.venv/bin/python"
        );
        scene.run(&program).await.assert_works("writing the program");
        // Whoever runs it later has the same port.
        scene.run("src/.venv/bin/python").await.assert_blocked("the program");
        assert_eq!(fs::read_to_string(scene.outside.join("kept")).unwrap(), "as it was");
    }
}

#[tokio::test]
async fn s115_a_hook_runs_inside_with_its_input() {
    for scene in fixtures() {
        let piped = |line: String| PipedCommand {
            line,
            cwd: scene.dir.clone(),
            timeout: Duration::from_secs(60),
            input: "told".to_owned(),
            variables: Vec::new(),
        };
        let none = CancellationToken::new();
        let said =
            scene.sandboxed_host().run_piped(piped("cat; echo no >&2; exit 2".into()), &none).await;
        let said = said.unwrap();
        let all = (said.exit.cause, said.stdout.as_str(), said.stderr.as_str());
        assert_eq!(all, (ExitCause::Code(2), "told", "no\n"), "{:?}", scene.backend);
        let line = format!("echo x > {}", scene.outside("kept"));
        let said = scene.sandboxed_host().run_piped(piped(line), &none).await.unwrap();
        assert_ne!(said.exit.cause, ExitCause::Code(0));
        assert_eq!(fs::read_to_string(scene.outside.join("kept")).unwrap(), "as it was");
    }
}

/// What hooks run in, in plan mode: nothing opens by the way that closes.
#[tokio::test]
async fn s106_a_sandbox_that_only_reads_is_closed_where_the_other_is() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    for mut scene in fixtures() {
        scene.rules = denying(&scene, &["Read(.env)"]);
        for path in [scene.dir.join("note"), scene.dir.join(".env"), scene.dir.join("src/.env")] {
            fs::write(path, "CANARY").unwrap();
        }
        let scratch = tempfile::tempdir().unwrap();
        let scratch = scratch.path().canonicalize().unwrap();
        let host = scene.sandboxed_host().read_only(scratch.clone()).unwrap();
        let run = async |line: &str| {
            let line = format!("cd '{}' && {line}", scene.dir.display());
            let (timeout, input, variables) = (Duration::from_secs(60), String::new(), Vec::new());
            let piped = PipedCommand { line, cwd: scratch.clone(), timeout, input, variables };
            let said = host.run_piped(piped, &CancellationToken::new()).await.unwrap();
            (said.exit.cause == ExitCause::Code(0), said.stdout + &said.stderr)
        };
        for line in ["cat note", "ls . src", "echo x > $TMPDIR/o && cat $TMPDIR/o"] {
            let (works, printed) = run(line).await;
            assert!(works, "{line} {:?}: {printed}", scene.backend);
        }
        let (id, trust) = (scene.home.join(".ssh/id"), scene.home.join(".slug/trust.json"));
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
            assert!(is_closed, "{line} {:?}: {printed}", scene.backend);
        }
    }
}

#[tokio::test]
async fn what_runs_in_the_background_goes_on_and_ends_with_slug() {
    for scene in fixtures() {
        let ran = scene.run("sleep 987 & echo $!; exit 0").await;
        assert!(ran.exit.as_ref().unwrap().left_running, "{:?} {:?}", scene.backend, ran.exit);
        let runs = || {
            let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let lines = all.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
            lines.filter(|line| line.starts_with(b"sleep\0987")).count()
        };
        assert!(runs() > 0);
        scene.host.end_all().await;
        scene.assert_tidy();
    }
}

#[tokio::test]
async fn a_command_in_the_sandbox_is_stopped_and_timed_out_like_any() {
    for scene in fixtures() {
        let cancel = CancellationToken::new();
        let script = |text: &str, seconds| ScriptSpec {
            text: text.to_owned(),
            cwd: scene.dir.clone(),
            timeout: Duration::from_secs(seconds),
            search_path: None,
        };
        let port = scene.sandboxed_host();
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
    for scene in fixtures() {
        let script = "for i in 1 2 3 4 5 6 7 8; do echo x > .mcp.json && exit 9; sleep 0.02; done";
        let short = "echo x > .mcp.json && exit 9; true";
        let (first, _, _, last) =
            tokio::join!(scene.run(script), scene.run(short), scene.run(short), scene.run(script));
        for ran in [first, last] {
            assert_ne!(ran.exit.unwrap().cause, ExitCause::Code(9), "{}", ran.printed);
        }
        scene.assert_tidy();
    }
}
