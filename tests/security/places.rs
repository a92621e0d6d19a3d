//! Protected places are asked about whatever rules and modes say: each file of the kind, links to
//! it, repositories, and places of the home folder and of the system.

use std::fs;

use slug_code::domain::{PermissionMode, PermissionOutcome, SandboxNetwork};
use slug_code::permissions::Workspace;
use slug_code::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};

use super::test_project::{TestProject, quoted};
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// Protected files of a project.
pub(super) const PROTECTED: [&str; 94] = [
    ".githooks/pre-commit",
    ".slug/settings.json",
    ".slug/settings.local.json",
    ".slug/hooks.json",
    ".slug/config.toml",
    ".slug/rules/x.md",
    ".slug/new",
    ".mcp.json",
    ".lsp.json",
    ".git/config",
    ".git/HEAD",
    ".git/hooks/pre-commit",
    ".git/hooks/post-checkout",
    ".git/info/attributes",
    ".git/modules/x/config",
    ".git/worktrees/x/gitdir",
    ".git/objects/info/alternates",
    ".gitmodules",
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".overcommit.yml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/commands/x.md",
    ".cursor/mcp.json",
    ".cursor/rules/x.mdc",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".opencode/opencode.json",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".idea/workspace.xml",
    ".idea/runConfigurations/x.xml",
    ".zed/settings.json",
    ".zed/tasks.json",
    "shop.code-workspace",
    "a b.code-workspace",
    ".devcontainer/devcontainer.json",
    ".devcontainer/Dockerfile",
    ".devcontainer.json",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".github/workflows/ci.yml",
    ".github/workflows/release.yaml",
    ".github/actions/x/action.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.0.0.cjs",
    ".yarn/plugins/x.cjs",
    "bunfig.toml",
    ".envrc",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    ".cargo/config",
    ".mvn/wrapper/maven-wrapper.properties",
    ".mvn/jvm.config",
    ".mvn/extensions.xml",
    "gradle/wrapper/gradle-wrapper.properties",
    "gradle/wrapper/gradle-wrapper.jar",
    // At any depth.
    "src/deep/.git/config",
    "src/.vscode/tasks.json",
    "src/deep/.envrc",
    "src/deep/rust-toolchain.toml",
    "packages/a/.npmrc",
    "packages/a/.husky/pre-push",
    "packages/a/.claude/settings.json",
    "src/.slug/settings.json",
    "src/.gdbinit",
    "src/x.code-workspace",
    // The same places, spelled differently.
    "./.git/config",
    "src/../.git/config",
    ".git/./hooks/../config",
    "src/deep/../../.envrc",
];

/// Names that only look like protected ones.
const PLAIN: [&str; 24] = [
    "git/config",
    "claude/settings.json",
    "src/vscode.rs",
    "docs/cursor.md",
    "src/gitignore.rs",
    ".gitignore",
    ".editorconfig",
    "workflows/ci.yml",
    "src/config.toml",
    "src/config",
    "src/hooks/use.ts",
    "npmrc.md",
    "code-workspace.txt",
    "src/toolchain.rs",
    "vimrc",
    "devcontainer.md",
    "package.json",
    "src/main.rs",
    "README.md",
    "src/deep/x.yml",
    "gradle/build.gradle",
    "yarn/releases/x",
    "src/slug/settings.json",
    "HEADER",
];

#[test]
fn a_file_that_something_takes_orders_from_is_asked_about_in_every_mode() {
    let mut project = TestProject::with_rules(&["Edit", "Write", "Bash", "Edit(**)"], &[]);
    for rules in [&["Edit", "Write"][..], &[]] {
        project.set_rules(rules, &[]);
        for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Yolo] {
            for file in PROTECTED {
                let decision = project.decide_write(file, mode);
                assert_eq!(decision.outcome(), PermissionOutcome::Ask, "{file} in {mode:?}");
                assert_eq!(decision.allow_rules(), [""; 0], "{file} in {mode:?}");
            }
        }
        for file in PROTECTED {
            assert_eq!(
                project.decide_write(file, PermissionMode::Plan).outcome(),
                PermissionOutcome::Deny,
                "{file}"
            );
        }
    }
}

#[test]
fn a_file_whose_name_only_looks_so_is_written_as_any() {
    let project = TestProject::new();
    for mode in [PermissionMode::AllowEdits, PermissionMode::Yolo] {
        for file in PLAIN {
            assert_eq!(
                project.decide_write(file, mode).outcome(),
                PermissionOutcome::Allow,
                "{file} in {mode:?}"
            );
        }
    }
}

#[test]
fn what_something_takes_orders_from_is_read_as_any_file_of_the_workspace() {
    let project = TestProject::new();
    for file in PROTECTED {
        project.write(file, "x\n");
        assert_eq!(
            project.decide_read(file, PermissionMode::Ask).outcome(),
            PermissionOutcome::Allow,
            "{file}"
        );
    }
    let readers = [
        "cat .git/config",
        "head -3 .github/workflows/ci.yml",
        "grep -n x .slug/settings.json",
        "wc -l .envrc .npmrc",
        "ls -la .git/hooks",
        "find .vscode -name '*.json'",
        "diff .vimrc .exrc",
        "sort .tool-versions",
        "cat .husky/pre-commit | head",
        "cd .git && cat config",
    ];
    project.assert_all(readers, PermissionMode::Ask, PermissionOutcome::Allow);
}

#[test]
fn a_link_to_such_a_place_is_that_place() {
    let project = TestProject::new();
    let root = project.root();
    std::os::unix::fs::symlink(root.join(".git"), root.join("g")).unwrap();
    std::os::unix::fs::symlink(root.join(".git/config"), root.join("plain.txt")).unwrap();
    std::os::unix::fs::symlink("g", root.join("h")).unwrap();
    for file in ["g/config", "plain.txt", "h/hooks/pre-commit", "src/../h/config"] {
        assert_eq!(
            project.decide_write(file, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{file}"
        );
    }
    let lines = [
        "cp a.txt plain.txt",
        "cp a.txt g/config",
        "tee plain.txt",
        "touch h/hooks/x",
        "cd g && touch config",
        "cd h/hooks && cp ../../a.txt pre-commit",
        "mv a.txt g/",
        "chmod +x h/hooks/pre-commit",
        "python3 x.py g/config",
        "sort -o plain.txt a.txt",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
}

#[test]
fn hooks_and_configuration_that_git_is_told_of_are_asked_about() {
    let mut project = TestProject::new();
    let config = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.gitconfig\n";
    project.write(".git/config", config);
    project.write("tools/hooks/pre-commit", "#!/bin/sh\n");
    let (home, slug) = (project.sibling_path("home"), project.sibling_path("slug"));
    project.workspace = Workspace::new(project.root(), Vec::new(), Some(home), slug).trusted();
    for file in ["tools/hooks/pre-commit", "shared.gitconfig", ".githooks/pre-push"] {
        for mode in [PermissionMode::AllowEdits, PermissionMode::Yolo] {
            let outcome = project.decide_write(file, mode).outcome();
            assert_eq!(outcome, PermissionOutcome::Ask, "{file}");
        }
    }
    let lines = ["cp a.txt tools/hooks/pre-commit", "tee shared.gitconfig", "mv a.txt tools/hooks"];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
    let beside = project.decide_write("tools/other", PermissionMode::AllowEdits).outcome();
    assert_eq!(beside, PermissionOutcome::Allow);
    // Nor where slug works in a folder of the repository.
    let (home, slug) = (project.sibling_path("home"), project.sibling_path("slug"));
    let below = Workspace::new(project.root().join("tools"), Vec::new(), Some(home), slug);
    let whole = std::mem::replace(&mut project.workspace, below);
    let hook = project.decide_write("hooks/pre-commit", PermissionMode::AllowEdits).outcome();
    assert_eq!(hook, PermissionOutcome::Ask);
    project.workspace = whole;
    // A sandbox around the project holds them.
    let held = project.workspace.real(&project.root()).join("tools/hooks");
    let policy = SandboxPolicy::around(
        &project.root(),
        project.workspace.home(),
        project.workspace.slug_home(),
        SandboxNetwork::Off,
    );
    let profile = policy.unwrap().profile(&HostSandboxDisk, &project.rules).unwrap();
    assert!(format!("{profile:?}").contains(&held.display().to_string()), "{profile:?}");
}

#[test]
fn a_folder_that_the_same_command_makes_hides_no_place() {
    let mut project =
        TestProject::with_rules(&["Bash(mkdir *)", "Bash(cp *)", "Bash(mv *)", "Bash(git *)"], &[]);
    project.write("mi/config.toml", "x");
    project.write("gr/wrapper/gradle-wrapper.properties", "x");
    let lines = [
        "mkdir mise && cp mi/config.toml mise",
        "mkdir mise && mv mi/config.toml mise",
        "mkdir mise & cp mi/config.toml mise",
        "mkdir mise && git mv mi/config.toml mise",
        "git mv gr gradle",
        "mkdir gradle && git mv gr/wrapper gradle",
        "git mv gr sub/gradle",
        "git mv mi mise",
        "mkdir gradle && cp -r gr/wrapper gradle",
    ];
    project.assert_all(lines, PermissionMode::AllowEdits, PermissionOutcome::Ask);
    let harmless = ["mkdir out && cp mi/config.toml out", "mv a.txt c.txt", "git mv a.txt c.txt"];
    project.assert_all(harmless, PermissionMode::AllowEdits, PermissionOutcome::Allow);

    project.set_rules(&["Bash(mkdir *)", "Bash(cp *)", "Bash(mv *)"], &["Edit(gen/x.txt)"]);
    project.write("t/x.txt", "x");
    let denied = [
        "mkdir gen && cp t/x.txt gen",
        "mkdir gen & cp t/x.txt gen",
        "mkdir gen && mv t/x.txt gen",
        "mkdir t/gen && mv t/gen . && cp t/x.txt gen/x.txt",
    ];
    project.assert_all(denied, PermissionMode::AllowEdits, PermissionOutcome::Deny);
}

#[test]
fn what_is_beside_a_head_makes_a_repository_and_is_asked_about() {
    let project = TestProject::new();
    for file in ["sub/HEAD", "HEAD", "a/b/HEAD"] {
        assert_eq!(
            project.decide_write(file, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{file}"
        );
    }
    assert_eq!(
        project.decide_write("sub/config", PermissionMode::Yolo).outcome(),
        PermissionOutcome::Allow
    );
    project.write("sub/HEAD", "ref: refs/heads/main\n");
    for file in ["sub/config", "sub/hooks/pre-commit", "sub/./config", "src/../sub/config"] {
        assert_eq!(
            project.decide_write(file, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{file}"
        );
    }
    let lines = [
        "touch src/HEAD",
        "cp a.txt sub/config",
        "mv a.txt src/deep/HEAD",
        "tee sub/hooks/pre-commit",
        "cd sub && cp ../a.txt config",
        "cd src && cp a.rs HEAD",
        "dd if=a.txt of=src/HEAD",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
}

#[test]
fn places_of_the_home_folder_and_of_the_system_are_asked_about() {
    let project = TestProject::with_rules(&["Bash", "Edit", "Write", "Read"], &[]);
    let home = project.sibling_path("home");
    for file in [
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".ssh/authorized_keys",
        ".ssh/config",
        ".gnupg/gpg.conf",
        "bin/ls",
        ".local/bin/ls",
        ".config/systemd/user/x.service",
        ".config/autostart/x.desktop",
        ".gitconfig",
        ".config/git/config",
        ".config/fish/config.fish",
    ] {
        let path = home.join(file);
        assert_eq!(
            project.decide_write(&path, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{file}"
        );
        let path = quoted(&path.display().to_string());
        let lines = [format!("cp a.txt {path}"), format!("python3 x.py {path}")];
        project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
        let tilde = format!("cp a.txt ~/{file}");
        assert_ne!(
            project.outcome(&tilde, PermissionMode::Ask),
            PermissionOutcome::Deny,
            "{tilde}"
        );
    }
    let slug = project.sibling_path("slug");
    for path in [
        slug.join("settings.json"),
        slug.join("config.toml"),
        slug.join("trust.json"),
        slug.join("sessions/x.jsonl"),
        "/proc/self/mem".into(),
        "/proc/sys/kernel/core_pattern".into(),
        "/sys/power/state".into(),
        "/dev/sda".into(),
    ] {
        assert_eq!(
            project.decide_write(&path, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{path:?}"
        );
        let line = format!("python3 x.py {}", path.display());
        project.assert_all([line], PermissionMode::Yolo, PermissionOutcome::Ask);
    }
    for path in ["/proc/self/environ", "/proc/1/environ", "/dev/mem", "/sys/kernel/debug/x"] {
        assert_eq!(
            project.decide_read(path, PermissionMode::Yolo).outcome(),
            PermissionOutcome::Ask,
            "{path}"
        );
        project.assert_all([format!("cat < {path}")], PermissionMode::Yolo, PermissionOutcome::Ask);
    }
}

#[test]
fn what_runs_slug_is_asked_in_every_mode() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    let lines = [
        "slug --yolo -p x",
        "slug permissions list",
        "env slug -p x",
        "sh -c 'slug -p x'",
        "/usr/local/bin/slug -p x",
        "timeout 5 slug config",
        "ls | xargs slug -p",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
}

/// A folder with the layout of a bare repository, whose configuration runs a program.
fn bare_repository(env: &TestEnv, folder: &str) {
    env.write(&format!("{folder}/HEAD"), "ref: refs/heads/main\n");
    let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\
                  \tfsmonitor = touch pwned; false\n\tpager = touch pwned\n";
    env.write(&format!("{folder}/config"), config);
    fs::create_dir_all(env.path(&format!("{folder}/objects"))).unwrap();
    fs::create_dir_all(env.path(&format!("{folder}/refs"))).unwrap();
}

#[test]
fn git_of_a_command_takes_no_folder_for_a_bare_repository() {
    if std::process::Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git here");
        return;
    }
    let (env, server) = (TestEnv::new(), ModelServer::start());
    bare_repository(&env, "assets");
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    let lines = [
        "cd assets && git status; find .. -name pwned",
        "git -C assets status; find . -name pwned",
        "git config --get safe.bareRepository",
        "sh -c 'cd assets; git log; git diff; git branch'; find . -name pwned",
    ];
    for line in lines {
        server.reply(bash("c1", line));
        server.reply(ServerReply::text("Done."));
        server.forget();
        env.ask(&server, &["-p", "go"]).assert_exit_code(0);
        let result = result_of(server.chat_requests().last().unwrap(), "c1");
        assert!(!result.contains("/pwned"), "{line}: {result}");
        if line.contains("--get") {
            assert!(result.starts_with("explicit"), "{result}");
        } else {
            assert!(result.contains("safe.bareRepository"), "{line}: {result}");
        }
    }
}
