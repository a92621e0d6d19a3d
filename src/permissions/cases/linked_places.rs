//! Links that lead from a protected place to a file or folder with a plain name.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::domain::SandboxNetwork;
use crate::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};

use super::*;

/// Workspaces of a slug that starts when these links are there, in the modes that ask least.
fn with_links(links: &[(&str, &str)]) -> [PermissionTestEnv; 2] {
    [PermissionMode::AllowEdits, PermissionMode::Yolo].map(|mode| {
        let env = test_env().mode(mode);
        for (link, target) in links {
            let link = env.path(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, link).unwrap();
        }
        env.started_again()
    })
}

impl PermissionTestEnv {
    pub(super) fn started_again(mut self) -> Self {
        let (root, home) = (self.workspace.root(), self.workspace.home().unwrap().to_owned());
        let slug_home = home.join(".slug");
        self.workspace = Workspace::new(root, Vec::new(), Some(home), slug_home).trusted();
        self
    }

    #[track_caller]
    pub(super) fn writes(&self, outcome: PermissionOutcome, paths: &[&str]) {
        for path in paths {
            let decision = self.decide("Write", &[ToolAccess::Write(self.path(path))]);
            assert_eq!(decision.outcome(), outcome, "{path}: {decision:#?}");
            assert!(outcome != Ask || decision.allow_rules().is_empty(), "{path}");
        }
    }
}

/// The workspace is where the user keeps the files that the home folder links to.
#[test]
fn what_the_home_folder_links_to_is_asked_about() {
    let links = [
        ("~/.bashrc", "app/bashrc"),
        ("~/.npmrc", "app/npmrc"),
        ("~/.slug/settings.json", "../app/slug/settings.json"),
        ("~/.ssh/config", "../app/ssh_config"),
        ("~/.config/git/config", "../../app/gitconfig"),
        ("~/.config/fish", "../app/fish"),
        ("~/.local/bin", "../app/programs"),
        // Through another link.
        ("~/.profile", "app/second"),
        ("second", "profile.sh"),
    ];
    for env in with_links(&links) {
        env.file("bashrc");
        env.file("slug/settings.json");
        env.writes(
            Ask,
            &[
                "bashrc",
                "Bashrc",
                "npmrc",
                "slug/settings.json",
                "ssh_config",
                "gitconfig",
                "fish/config.fish",
                "programs/ls",
                "second",
                "profile.sh",
            ],
        );
        env.writes(Allow, &["zshrc", "slug/other.json", "fishing/x", "bashrc2", "src/bashrc"]);
        assert_eq!(env.read("bashrc"), Allow);
    }
}

#[test]
fn what_the_projects_own_protected_places_link_to_is_asked_about() {
    let links = [
        (".vscode", "vs"),
        (".envrc", "env.rc"),
        (".slug/hooks.json", "../d/hooks.json"),
        (".claude/skills", "../skills"),
        (".github/workflows", "../ci"),
        (".cargo", "rust"),
    ];
    let [edits, yolo] = with_links(&links);
    for env in [&edits, &yolo] {
        env.file("d/hooks.json");
        env.writes(
            Ask,
            &[
                "vs/tasks.json",
                "env.rc",
                "d/hooks.json",
                "skills/x/SKILL.md",
                "ci/build.yml",
                "rust/config.toml",
            ],
        );
        // Of `.cargo`, only the configuration is protected.
        env.writes(Allow, &["d/other.json", "vsx/y", "src/vs/x", "rust/registry/x"]);
    }
    yolo.all(
        Ask,
        &[
            "cp src/x vs/tasks.json",
            "python3 src/x.py d/hooks.json",
            "rm -r d",
            "mv d e",
            "touch env.rc",
        ],
    );
    // A redirection shows no change, so it is denied.
    yolo.all(Deny, &["echo x > env.rc"]);
    yolo.all(Allow, &["cp src/x d/other.json", "python3 src/x.py d/other.json", "rm -r src"]);
}

#[test]
fn below_a_linked_folder_the_same_is_protected_as_below_its_link() {
    let links = [("~/.config", "app/config"), ("config/nvim", "../vim")];
    for env in with_links(&links) {
        env.writes(Ask, &["config/fish/config.fish", "config/git/config", "vim/init.lua"]);
        env.writes(Allow, &["config/app/x", "vi/x"]);
    }
    let whole = [("~/.ssh", "app/ssh"), ("ssh/config", "../ssh_config")];
    for env in with_links(&whole) {
        env.writes(Ask, &["ssh/authorized_keys", "ssh/config", "ssh_config"]);
    }
}

#[test]
fn links_that_are_not_protected_protect_nothing() {
    let links = [
        ("notes", "src"),
        ("~/code", "app/src"),
        ("~/bin/tool", "../app/tool.sh"),
        ("~/.slug/memory", "../app/memory"),
        (".envrc", ".envrc"),
    ];
    for env in with_links(&links) {
        env.writes(Allow, &["src/x", "tool.sh", "memory/x.md"]);
    }
}

#[test]
fn in_a_sandbox_what_protected_links_lead_to_stays_unchanged() {
    let links = [
        ("~/.bashrc", "app/bashrc"),
        ("~/.slug/settings.json", "../app/slug/settings.json"),
        ("~/.config", "app/config"),
        (".claude/skills", "../skills"),
    ];
    let [env, _] = with_links(&links);
    let linked = ["bashrc", "slug/settings.json", "config/fish", "skills"];
    let files = ["config/fish/config.fish", "config/app/x", "skills/x", "src/x"];
    for file in linked[..2].iter().chain(&files) {
        env.file(file);
    }
    let (root, home) = (env.workspace.root(), env.workspace.home().unwrap());
    let around = |dir: &Path| {
        SandboxPolicy::around(dir, Some(home), &home.join(".slug"), SandboxNetwork::Off)
    };
    let profile = around(root).unwrap().profile(&HostSandboxDisk, &RuleSet::new()).unwrap();
    for path in linked {
        assert!(profile.fixed.contains(&root.join(path)), "{path}: {:?}", profile.fixed);
    }
    for path in ["config", "config/app", "src", "slug"] {
        assert!(!profile.fixed.contains(&root.join(path)), "{path}: {:?}", profile.fixed);
    }
    assert!(around(&root.join("config/fish")).is_err());
}

#[test]
fn what_the_projects_git_configuration_names_is_protected_as_its_own_files_are() {
    let names = "[core]\n\thooksPath = ci/hooks\n\tfsmonitor = tools/watch --fast\n\
                 [includeIf \"gitdir:**\"]\n\tpath = ../shared.gitconfig\n\
                 [filter \"x\"]\n\tclean = sh clean.sh %f\n[commit]\n\ttemplate = message\n";
    let [edits, yolo] = with_links(&[]).map(|env| {
        env.file(".git/config");
        std::fs::write(env.path(".git/config"), names).unwrap();
        ["clean.sh", "message", "src/x"].into_iter().for_each(|file| env.file(file));
        env.started_again()
    });
    for env in [&edits, &yolo] {
        env.writes(
            Ask,
            &["ci/hooks/pre-commit", "tools/watch", "shared.gitconfig", "clean.sh", "message"],
        );
        env.writes(Allow, &["ci/x", "tools/other", "x/clean.sh", "src/x"]);
    }
    yolo.all(
        Ask,
        &[
            "cp src/x clean.sh",
            "mv src/x tools/watch",
            "tee shared.gitconfig",
            "mkdir -p ci/hooks",
            "rm message",
        ],
    );
    let (root, home) = (edits.workspace.root(), edits.workspace.home().unwrap());
    let policy =
        SandboxPolicy::around(root, Some(home), &home.join(".slug"), SandboxNetwork::Off).unwrap();
    let profile = policy.profile(&HostSandboxDisk, &RuleSet::new()).unwrap();
    for file in ["clean.sh", "message"] {
        assert!(profile.fixed.contains(&root.join(file)), "{file}: {:?}", profile.fixed);
    }
    // What is not there cannot be made: not the topmost folder of it.
    for missing in ["ci", "tools", "shared.gitconfig"] {
        let absent = |it: &crate::domain::MaskedPath| it.path == root.join(missing);
        assert!(profile.absent.iter().any(absent), "{missing}: {:?}", profile.absent);
    }
}
