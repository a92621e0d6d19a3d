//! The policy as tables, over a disk that is a list of names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::{fs, io};

use crate::domain::RuleKind;
use crate::permissions::Workspace;

use super::*;

/// A disk with these paths. A path that ends in `/` is a folder, in `@` a link, and in `!` a folder
/// that cannot be looked into.
struct FakeSandboxDisk(BTreeMap<PathBuf, SandboxDiskEntry>);

impl FakeSandboxDisk {
    fn with(paths: &[&str]) -> Self {
        let mut all = BTreeMap::new();
        for path in paths {
            let (path, found) = match (path.strip_suffix('/'), path.strip_suffix('@')) {
                (Some(folder), _) => (folder, SandboxDiskEntry::Folder),
                (None, None) if path.ends_with('!') => {
                    (&path[..path.len() - 1], SandboxDiskEntry::Closed)
                }
                (None, Some(link)) => (link, SandboxDiskEntry::Link),
                (None, None) => (*path, SandboxDiskEntry::File),
            };
            for above in Path::new(path).ancestors().skip(1) {
                all.insert(above.to_owned(), SandboxDiskEntry::Folder);
            }
            all.insert(PathBuf::from(path), found);
        }
        Self(all)
    }
}

impl SandboxDisk for FakeSandboxDisk {
    fn at(&self, path: &Path) -> SandboxDiskEntry {
        if path
            .ancestors()
            .skip(1)
            .any(|above| self.0.get(above) == Some(&SandboxDiskEntry::Closed))
        {
            return SandboxDiskEntry::Closed;
        }
        match self.0.get(path) {
            Some(SandboxDiskEntry::Closed) => SandboxDiskEntry::Folder,
            found => found.copied().unwrap_or(SandboxDiskEntry::Nothing),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
        if self.0.get(folder) == Some(&SandboxDiskEntry::Closed) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let inside = self.0.keys().filter(|path| path.parent() == Some(folder));
        let named = inside.map(|path| (path.file_name().unwrap().to_owned(), self.at(path)));
        Ok(named.collect())
    }

    fn real(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match self.at(path) {
            SandboxDiskEntry::Closed => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(self.0.contains_key(path).then(|| path.to_owned())),
        }
    }

    fn read(&self, _file: &Path) -> Option<String> {
        None
    }
}

fn around(dir: &str) -> SandboxPolicy {
    SandboxPolicy {
        dir: dir.into(),
        work: dir.into(),
        home: Some("/home/u".into()),
        slug_home: "/home/u/.slug".into(),
        linked: Vec::new(),
        network: SandboxNetwork::Off,
    }
}

fn profile(paths: &[&str]) -> SandboxProfile {
    around("/home/u/app").profile(&FakeSandboxDisk::with(paths), &RuleSet::new()).unwrap()
}

fn shown(paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn existing_protected_places_are_fixed_and_missing_ones_reserved() {
    let profile =
        profile(&["/home/u/app/.git/config", "/home/u/app/.npmrc", "/home/u/app/src/main.rs"]);
    assert_eq!(shown(profile.fixed), ["/home/u/app/.git", "/home/u/app/.npmrc"]);
    let absent: Vec<String> = shown(profile.absent.iter().map(|spot| spot.path.clone()));
    for name in [".slug", ".mcp.json", ".vscode", ".gitmodules", ".envrc", ".cargo", ".husky"] {
        assert!(absent.contains(&format!("/home/u/app/{name}")), "{name}: {absent:?}");
    }
    assert!(!absent.iter().any(|path| path.ends_with(".git")), "{absent:?}");
    let kind = |name: &str| profile.absent.iter().find(|it| it.path.ends_with(name)).unwrap().kind;
    assert_eq!((kind(".vscode"), kind(".envrc")), (MaskedPathKind::Folder, MaskedPathKind::File));
}

#[test]
fn files_that_tools_run_later_are_reserved() {
    let profile = profile(&["/home/u/app/gradle/libs.versions.toml"]);
    let absent: Vec<String> = shown(profile.absent.iter().map(|spot| spot.path.clone()));
    let names = "bunfig.toml .pnpmfile.mjs .mvn rust-toolchain rust-toolchain.toml gradle/wrapper";
    for name in names.split_whitespace() {
        assert!(absent.contains(&format!("/home/u/app/{name}")), "{name}: {absent:?}");
    }
    // Names that are common for something else are reserved only in their own folder.
    for name in ["gradle", ".yarn", ".github", ".config"] {
        assert!(!absent.contains(&format!("/home/u/app/{name}")), "{name}: {absent:?}");
    }
    assert_eq!(shown(profile.held), ["/home/u/app/gradle"]);
}

#[test]
fn data_of_browsers_and_key_stores_cannot_be_read() {
    let names = "\
        .var/app/org.mozilla.firefox/x .var/app/com.google.Chrome/x snap/firefox/common/x \
        .config/vivaldi/x .config/opera/x .config/microsoft-edge/x .librewolf/x .thunderbird/x \
        .local/share/kwalletd/x .config/Bitwarden/x .config/1Password/x .config/keepassxc/x \
        .purple/x .config/containers/auth.json .config/rclone/rclone.conf .s3cfg .boto .oci/config \
        .pulumi/credentials.json .fly/config.yml .config/doctl/x .m2/settings-security.xml \
        .gradle/gradle.properties .composer/auth.json .kaggle/x .cache/huggingface/token \
        .config/github-copilot/x .config/netlify/x .bitcoin/x .electrum/x .bash_history \
        .zsh_history .psql_history";
    let paths: Vec<String> =
        names.split_whitespace().map(|name| format!("/home/u/{name}")).collect();
    let covered = profile(&paths.iter().map(String::as_str).collect::<Vec<_>>()).covered;
    for path in &paths {
        assert!(covered.iter().any(|spot| Path::new(path).starts_with(&spot.path)), "{path}");
    }
}

#[test]
fn a_folder_with_something_to_protect_stays_where_it_is() {
    let profile = profile(&["/home/u/app/.cargo/config.toml", "/home/u/app/.cargo/bin/x"]);
    assert_eq!(shown(profile.held), ["/home/u/app/.cargo"]);
    assert_eq!(shown(profile.fixed), ["/home/u/app/.cargo/config.toml"]);
    assert!(profile.absent.iter().any(|spot| spot.path.ends_with(".cargo/config")));
}

#[test]
fn protected_places_further_down_are_fixed_too() {
    let profile = profile(&[
        "/home/u/app/a/.git/config",
        "/home/u/app/a/b/.vscode/tasks.json",
        "/home/u/app/a/b/.cargo/config.toml",
        "/home/u/app/a/b/c/.envrc",
        "/home/u/app/a/b/c/d/.envrc",
        "/home/u/app/a/linked/.envrc@",
        "/home/u/app/node_modules/x/.npmrc",
    ]);
    assert_eq!(
        shown(profile.fixed),
        [
            "/home/u/app/a/.git",
            "/home/u/app/a/b/.cargo/config.toml",
            "/home/u/app/a/b/.vscode",
            "/home/u/app/a/b/c/.envrc",
            "/home/u/app/a/b/c/d/.envrc",
        ]
    );
}

#[test]
fn folders_above_something_fixed_stay_where_they_are() {
    let profile = profile(&["/home/u/app/a/b/.git/config", "/home/u/app/c/x"]);
    assert_eq!(shown(profile.fixed), ["/home/u/app/a/b/.git"]);
    assert_eq!(shown(profile.held), ["/home/u/app/a", "/home/u/app/a/b"]);
}

#[test]
fn places_are_reserved_down_to_the_folder_that_slug_works_in() {
    let sandbox = around("/home/u/app").with_work_in("/home/u/app/a/b".into());
    let disk =
        FakeSandboxDisk::with(&["/home/u/app/.git/config", "/home/u/app/a/b/", "/home/u/app/a/c/"]);
    let profile = sandbox.profile(&disk, &RuleSet::new()).unwrap();
    let absent = shown(profile.absent.into_iter().map(|spot| spot.path));
    for path in ["/home/u/app/a/.git", "/home/u/app/a/b/.git", "/home/u/app/a/b/.mcp.json"] {
        assert!(absent.contains(&path.to_owned()), "{path}: {absent:?}");
    }
    assert!(!absent.iter().any(|path| path.starts_with("/home/u/app/a/c")), "{absent:?}");
    assert_eq!(shown(profile.held), ["/home/u/app/a", "/home/u/app/a/b"]);
}

#[test]
fn a_closed_folder_is_masked_as_a_whole() {
    let disk = FakeSandboxDisk::with(&[
        "/home/u/app/.cargo!",
        "/home/u/app/a/shut!",
        "/home/u/app/target/others!",
        "/home/u/.config!",
        "/home/u/private!",
    ]);
    let rules = denying(&["Read(a/shut/exact)", "Read(~/private/x)", "Read(~/private/**)"]);
    let profile = around("/home/u/app").profile(&disk, &rules).unwrap();
    let covered = shown(profile.covered.iter().map(|spot| spot.path.clone()));
    assert_eq!(
        covered,
        ["/home/u/.config", "/home/u/app/.cargo", "/home/u/app/a/shut", "/home/u/private"]
    );
    assert!(profile.covered.iter().all(|spot| spot.kind == MaskedPathKind::Folder));
    assert!(profile.held.contains(&"/home/u/app/a".into()), "{:?}", profile.held);
}

#[test]
fn a_disk_that_cannot_be_read_gives_no_profile() {
    for shut in ["/home/u/app!", "/home/u!"] {
        let disk = FakeSandboxDisk::with(&[shut]);
        let error = around("/home/u/app").profile(&disk, &RuleSet::new()).unwrap_err();
        assert!(error.to_string().contains("chmod u+rx"), "{error}");
    }
}

/// On the real disk. Skipped for root, who can look into everything.
#[test]
fn a_closed_folder_counts_only_where_it_is_the_users_own() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let shut = root.path().join("shut");
    fs::create_dir_all(shut.join("below")).unwrap();
    for mode in [0, 0o400, 0o100] {
        fs::set_permissions(&shut, fs::Permissions::from_mode(mode)).unwrap();
        assert!(HostSandboxDisk.list(&shut).is_err(), "{mode:o}");
        let is_entered = mode == 0o100;
        assert_eq!(
            HostSandboxDisk.at(&shut.join("below")) == SandboxDiskEntry::Closed,
            !is_entered,
            "{mode:o}"
        );
        assert_eq!(HostSandboxDisk.real(&shut.join("below")).is_err(), !is_entered, "{mode:o}");
    }
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
    let of_root = Path::new("/proc/1/cwd/x");
    assert_eq!(HostSandboxDisk.at(of_root), SandboxDiskEntry::Nothing);
    assert_eq!(HostSandboxDisk.real(of_root).unwrap(), None);
    assert_eq!(HostSandboxDisk.list(of_root).unwrap(), []);
}

#[test]
fn keys_and_slugs_own_state_are_covered() {
    let profile = profile(&[
        "/home/u/.ssh/id_ed25519",
        "/home/u/.slug/settings.json",
        "/home/u/.netrc",
        "/home/u/.bashrc",
        "/tmp/",
        "/run/user/",
    ]);
    let covered = shown(profile.covered.iter().map(|spot| spot.path.clone()));
    assert_eq!(covered, ["/home/u/.netrc", "/home/u/.slug", "/home/u/.ssh"]);
    assert_eq!(shown(profile.private), ["/tmp", "/run"]);
}

#[test]
fn s112_slugs_state_in_the_folder_is_covered_there() {
    let state = SandboxPolicy { slug_home: "/home/u/app/state".into(), ..around("/home/u/app") };
    state.check().unwrap();
    let profile = state
        .profile(&FakeSandboxDisk::with(&["/home/u/app/state/trust.json"]), &RuleSet::new())
        .unwrap();
    assert_eq!(shown(profile.covered.into_iter().map(|spot| spot.path)), ["/home/u/app/state"]);
}

#[test]
fn s112_folders_that_are_too_wide_or_protected_are_refused() {
    for (dir, words) in [
        ("/", "the whole machine"),
        ("/home/u", "your home folder"),
        ("/home", "your home folder"),
        ("/etc", "belongs to the system"),
        ("/tmp", "all programs share"),
        ("/var", "belongs to the system"),
        ("/run", "belongs to the system"),
        ("/home/u/.ssh", "slug, git or a shell use"),
        ("/home/u/.ssh/keys", "slug, git or a shell use"),
        ("/home/u/.slug/sessions", "slug, git or a shell use"),
        ("/home/u/bin", "slug, git or a shell use"),
        ("/home/u/app/.git", "slug, git or a shell use"),
        ("/home/u/app/.GIT/hooks", "slug, git or a shell use"),
        ("/proc/self", "slug, git or a shell use"),
    ] {
        let error = around(dir).check().unwrap_err().to_string();
        assert!(error.contains(words), "{dir}: {error}");
    }
    for dir in ["/home/u/app", "/w/app", "/work", "/tmp/x", "/usr/src/app", "/home/u/binary"] {
        around(dir).check().unwrap();
    }
}

#[test]
fn s112_a_link_is_followed_once_and_what_is_missing_refused() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let (app, link) = (root.join("app"), root.join("link"));
    fs::create_dir(&app).unwrap();
    std::os::unix::fs::symlink(&app, &link).unwrap();
    let around =
        |dir: &Path| SandboxPolicy::around(dir, None, &root.join("slug"), SandboxNetwork::Off);
    let sandbox = around(&link).unwrap();
    assert_eq!(sandbox.dir(), app);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/", &link).unwrap();
    assert_eq!(sandbox.profile(&HostSandboxDisk, &RuleSet::new()).unwrap().dir, app);
    let missing = around(&root.join("gone")).unwrap_err();
    assert!(matches!(missing, SandboxPolicyError::Unreachable { .. }), "{missing}");
    fs::write(root.join("file"), "").unwrap();
    let file = around(&root.join("file")).unwrap_err();
    assert!(matches!(file, SandboxPolicyError::NotFolder(_)), "{file}");
}

#[test]
fn a_link_in_a_protected_place_is_refused() {
    let disk = FakeSandboxDisk::with(&["/home/u/app/.git@"]);
    let error = around("/home/u/app").profile(&disk, &RuleSet::new()).unwrap_err();
    assert!(matches!(&error, SandboxPolicyError::Link(path) if path.ends_with(".git")), "{error}");
}

#[test]
fn start_up_files_are_fixed_where_the_folder_holds_some() {
    let disk =
        FakeSandboxDisk::with(&["/home/u/.config/fish/config.fish", "/home/u/.config/app/x"]);
    let profile = around("/home/u/.config").profile(&disk, &RuleSet::new()).unwrap();
    assert_eq!(shown(profile.fixed), ["/home/u/.config/fish"]);
    assert!(profile.absent.iter().any(|spot| spot.path == Path::new("/home/u/.config/git")));
}

#[test]
fn with_the_network_names_can_be_looked_up() {
    let sandbox = SandboxPolicy { network: SandboxNetwork::On, ..around("/w") };
    let disk = FakeSandboxDisk::with(&["/run/x", "/etc/resolv.conf", "/w/a"]);
    assert!(sandbox.profile(&disk, &RuleSet::new()).unwrap().kept.is_empty());
    struct LinkedSandboxDisk(FakeSandboxDisk);
    impl SandboxDisk for LinkedSandboxDisk {
        fn at(&self, path: &Path) -> SandboxDiskEntry {
            self.0.at(path)
        }
        fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, SandboxDiskEntry)>> {
            self.0.list(folder)
        }
        fn real(&self, path: &Path) -> io::Result<Option<PathBuf>> {
            let is_list = path == Path::new("/etc/resolv.conf");
            Ok(is_list.then(|| "/run/resolve/resolv.conf".into()))
        }
        fn read(&self, _file: &Path) -> Option<String> {
            None
        }
    }
    assert_eq!(
        sandbox.profile(&LinkedSandboxDisk(disk), &RuleSet::new()).unwrap().kept,
        [PathBuf::from("/run/resolve/resolv.conf")]
    );
}

/// The rules of a user who denies these.
fn denying(rules: &[&str]) -> RuleSet {
    let home = PathBuf::from("/home/u");
    let workspace =
        Workspace::new("/home/u/app", Vec::new(), Some(home.clone()), home.join(".slug"));
    let mut set = RuleSet::new();
    for rule in rules {
        set.add_session(RuleKind::Deny, rule, &workspace).unwrap();
    }
    set
}

#[test]
fn s49_files_of_deny_rules_on_reading_are_masked_wherever_they_are() {
    let disk = FakeSandboxDisk::with(&[
        "/home/u/app/.env",
        "/home/u/app/a/b/c/d/e/f/.env",
        "/home/u/app/a/.envelope",
        "/home/u/app/secret/deep/key",
        "/home/u/app/node_modules/x/.env",
        "/home/u/app/linked/.env@",
        "/home/u/private/x.pem",
        "/home/u/private/x.txt",
        "/srv/token",
        "/srv/token2",
    ]);
    let covered = |rules: &[&str]| {
        let profile = around("/home/u/app").profile(&disk, &denying(rules)).unwrap();
        (shown(profile.covered.into_iter().map(|spot| spot.path)), shown(profile.held))
    };
    let (dotenv, held) = covered(&["Read(.env)"]);
    let found = ["/home/u/app/.env", "/home/u/app/a/b/c/d/e/f/.env", "/home/u/app/linked/.env"];
    assert_eq!(dotenv, found);
    let modules = "/home/u/app/node_modules/x/.env";
    assert_eq!(covered(&["Read(node_modules/*/.env)"]).0, [modules]);
    assert_eq!(covered(&["Read(node_modules)"]).0, ["/home/u/app/node_modules"]);
    assert!(held.contains(&"/home/u/app/a/b/c/d/e/f".to_owned()), "{held:?}");
    assert_eq!(covered(&["Read(secret/**)"]).0, ["/home/u/app/secret"]);
    assert_eq!(covered(&["Read(secret/)"]).0, ["/home/u/app/secret"]);
    assert_eq!(covered(&["Read(~/private/*.pem)"]).0, ["/home/u/private/x.pem"]);
    assert_eq!(covered(&["Read(/srv/token)"]).0, ["/srv/token"]);
    assert_eq!(covered(&["Read(/nowhere/**)", "Edit(.env)", "Read"]).0, Vec::<String>::new());
}

#[test]
fn s49_more_than_can_be_masked_is_refused() {
    let many: Vec<String> = (0..1100).map(|at| format!("/home/u/app/k/{at}.pem")).collect();
    let disk = FakeSandboxDisk::with(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let error = around("/home/u/app").profile(&disk, &denying(&["Read(*.pem)"])).unwrap_err();
    assert!(matches!(error, SandboxPolicyError::TooManyHidden { .. }), "{error}");
    around("/home/u/app").profile(&disk, &denying(&["Read(k/)"])).unwrap();
}

#[test]
fn a_search_that_ends_early_is_reported() {
    let many: Vec<String> = (0..places::ENTRIES).map(|at| format!("/home/u/app/d/{at}")).collect();
    let mut paths: Vec<&str> = many.iter().map(String::as_str).collect();
    let survey = |paths: &[&str], rules: &[&str]| {
        around("/home/u/app").survey(&FakeSandboxDisk::with(paths), &denying(rules)).unwrap().1
    };
    assert_eq!(survey(&paths[1..], &["Read(.env)"]), ScanExtent::Whole);
    assert_eq!(survey(&paths, &[]), ScanExtent::Part);
    let again = |first| {
        around("/home/u/app").later_profile(&FakeSandboxDisk::with(&paths), &RuleSet::new(), first)
    };
    assert!(matches!(again(ScanExtent::Whole), Err(SandboxPolicyError::Grown { .. })));
    assert!(again(ScanExtent::Part).is_ok());
    // What is denied is searched for separately.
    let denied_extent = |rules: &[&str]| {
        around("/home/u/app")
            .profile(&FakeSandboxDisk::with(&paths), &denying(rules))
            .unwrap()
            .denied
    };
    assert_eq!(denied_extent(&[]), ScanExtent::Whole);
    assert_eq!(denied_extent(&["Read(/home/u/app/d/1)"]), ScanExtent::Whole);
    assert_eq!(denied_extent(&["Read(.env)"]), ScanExtent::Part);
    // Other people's programs are not searched.
    let modules: Vec<String> =
        many.iter().map(|path| path.replace("/d/", "/node_modules/")).collect();
    paths = modules.iter().map(String::as_str).collect();
    assert_eq!(survey(&paths, &["Read(.env)"]), ScanExtent::Whole);
}
