//! Files: inside and outside, links, protected places, and patterns.

use super::*;

#[test]
fn s39_inside_is_compared_by_component() {
    let env = test_env();
    for (path, outcome) in [
        ("src/x", Allow),
        ("../app-secrets/k", Ask),
        ("src/../../../etc/x", Ask),
        ("src/./..//..", Ask),
        ("~/x", Ask),
        ("/etc/passwd", Ask),
    ] {
        assert_eq!(env.read(path), outcome, "{path}");
    }
    let edits = env.mode(PermissionMode::AllowEdits);
    for path in ["../app-secrets/k", "src/../../x", "~/x", "/etc/passwd"] {
        assert_eq!(edits.write(path), Ask, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn s40_both_ends_of_a_link_are_tested() {
    use std::os::unix::fs::symlink;
    let env = deny(["Read(/etc/passwd)", "Read(/etc/ssl/**)", "Read(hidden)"]);
    symlink("/etc/passwd", env.path("a")).unwrap();
    symlink("/etc", env.path("d")).unwrap();
    symlink("src", env.path("hidden")).unwrap();
    for path in ["a", "d/passwd", "d/ssl/x", "hidden", "hidden/x", "/etc/passwd"] {
        assert_eq!(env.read(path), Deny, "{path}");
    }
    assert_eq!(env.read("d/hosts"), Ask);
    // A link out of the workspace is outside, and an allow rule on the link alone is not enough.
    let edits = allow(["Edit(**)", "Edit(e/**)"]).mode(PermissionMode::AllowEdits);
    symlink("/etc", edits.path("e")).unwrap();
    assert_eq!(edits.write("e/x"), Ask);
    assert_eq!(edits.write("src/x"), Allow);
}

/// Where a folder moves, the files in it that a rule names would be read under other names.
#[test]
fn no_folder_moves_in_which_a_deny_rule_names_files() {
    let env = allow(["Bash(mv *)"]).deny("Read(src/private/**)").deny("Edit(lib/*.pem)");
    for folder in ["src/private", "lib", "other"] {
        std::fs::create_dir_all(env.path(folder)).unwrap();
    }
    env.all(
        Deny,
        &["mv src s2", "mv src/private p", "mv ./src/ other", "mv lib x", "git mv src x"],
    );
    env.all(Allow, &["mv other another"]);
}

#[test]
fn s45_the_running_system_is_always_asked() {
    let env = allow(["Read", "Read(/**)", "Edit"]).mode(PermissionMode::Yolo);
    for path in [
        "/proc/self/environ",
        "/proc/1/root/etc/shadow",
        "/proc/self/fd/3",
        "/dev/fd/0",
        "/sys/x",
        "/proc/self/cwd/../x",
    ] {
        assert_eq!(env.read(path), Ask, "{path}");
        assert_eq!(env.write(path), Ask, "{path}");
    }
    assert_eq!(env.read("/etc/hosts"), Allow);
}

#[cfg(target_os = "linux")]
#[test]
fn s45_a_link_into_the_running_system_is_asked() {
    let env = allow(["Read(**)"]);
    std::os::unix::fs::symlink("/proc/self/environ", env.path("env")).unwrap();
    assert_eq!(env.read("env"), Ask);
}

#[test]
fn s46_s48_protected_places_are_always_asked_about() {
    let paths = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/info/attributes",
        ".gitmodules",
        "sub/.git",
        "~/.bashrc",
        "~/.zshenv",
        "~/.profile",
        "~/.gitconfig",
        "~/.ssh/config",
        ".vscode/tasks.json",
        ".idea/a/b",
        ".envrc",
        ".ripgreprc",
        ".npmrc",
        ".yarnrc.yml",
        ".cargo/config.toml",
        ".slug/settings.json",
        ".mcp.json",
        "~/.slug/settings.json",
        "~/.slug/trust.json",
        ".GIT/config",
    ];
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Yolo] {
        let env = allow(["Edit(**)", "Edit", "Edit(~/**)", "Write"]).mode(mode);
        for path in paths {
            let decision = env.decide("Write", &[ToolAccess::Write(env.path(path))]);
            assert_eq!(decision.outcome(), Ask, "{path} {mode}");
            assert!(decision.allow_rules().is_empty(), "{path}");
        }
        assert_eq!(env.write("src/x"), Allow);
        assert_eq!(env.write("~/.slug/memory/x.md"), Allow);
    }
    // Reading them is plain reading.
    assert_eq!(test_env().read(".git/config"), Allow);
}

/// A rule on a tool of its own holds for what that tool finds from further up, too.
#[test]
fn a_denied_search_leaves_its_paths_out() {
    let env = deny(["Grep(src/**)"]);
    assert_eq!(env.decide("Grep", &[ToolAccess::Read(env.path("src/a"))]).outcome(), Deny);
    assert!(env.rules.hides("Grep", &env.path("src/a")));
    assert!(!env.rules.hides("Grep", &env.path("docs/a")));
    assert!(!env.rules.hides("Glob", &env.path("src/a")));
}

#[test]
fn s49_a_denied_file_is_denied_by_every_way() {
    let env = deny(["Read(.env)"]);
    env.file(".env");
    env.file("sub/.env");
    for path in [".env", "sub/.env", "src/../.env"] {
        assert_eq!(env.read(path), Deny, "{path}");
    }
    for tool in ["Grep", "Glob"] {
        assert_eq!(env.decide(tool, &[ToolAccess::Read(env.path(".env"))]).outcome(), Deny);
    }
    assert_eq!(env.decide("Edit", &[ToolAccess::Write(env.path(".env"))]).outcome(), Deny);
    assert!(env.rules.hides("Glob", &env.path(".env")));
    assert!(env.rules.hides("Glob", &env.path("sub/.env")));
    assert!(!env.rules.hides("Glob", &env.path("src/env")));
    env.all(
        Deny,
        &[
            "cat .env",
            "cat ./.env",
            "cat 'sub/.env'",
            "git show HEAD:.env",
            "cat < .env",
            "grep -f.env x",
            "cp --target=.env x",
            "cd sub && cat .env",
            "env cat .env",
            "if true; then cat .env; fi",
        ],
    );
    env.all(Allow, &["echo env", "cat .environment"]);
    // What shows files that it is not given by name may show this one.
    env.all(Ask, &["grep -r KEY", "grep -r KEY .", "rg KEY", "diff -r a b"]);
    env.all(Allow, &["grep KEY src/x", "ls -la"]);
    let yolo = deny(["Read(.env)"]).mode(PermissionMode::Yolo);
    yolo.all(Deny, &["cat .env"]);
}

#[cfg(unix)]
#[test]
fn s49_a_link_to_a_denied_file_is_denied_to_commands() {
    let env = deny(["Read(.env)"]);
    env.file(".env");
    std::os::unix::fs::symlink(".env", env.path("link")).unwrap();
    env.all(Deny, &["cat link", "cat src/../link"]);
}

#[test]
fn path_patterns_stay_in_components() {
    for (pattern, path, fits) in [
        ("Edit(src/**)", "src/a", true),
        ("Edit(src/**)", "src/a/b", true),
        ("Edit(src/**)", "srcx/a", false),
        ("Edit(src/*)", "src/a", true),
        ("Edit(src/*)", "src/a/b", false),
        ("Edit(src/*.rs)", "src/a.rs", true),
        ("Edit(src/)", "src/a/b", true),
        ("Edit(**/*.rs)", "a.rs", true),
        ("Edit(**/*.rs)", "x/y/a.rs", true),
        ("Edit(*.rs)", "a.rs", true),
        ("Edit(*.rs)", "src/a.rs", false),
        ("Edit(./a)", "a", true),
        ("Edit(a)", "a", true),
        ("Edit(a)", "src/a", false),
        ("Edit(**)", "x/y", true),
        ("Edit(**)", "../x", false),
        ("Edit(*)", "a", true),
        ("Edit(*)", "x/a", false),
        ("Edit(~/notes/**)", "~/notes/x", true),
        ("Edit(~/notes/**)", "~/x", false),
        ("Edit(/tmp/x/**)", "/tmp/x/y", true),
        ("Edit(//tmp/x/**)", "/tmp/x/y", true),
        ("Edit(/tmp/x/**)", "/tmp/xy", false),
        ("Edit(src/[ab].rs)", "src/a.rs", true),
        ("Edit(src/*.{rs,toml})", "src/a.toml", true),
        ("Edit", "../anything", true),
        ("Write(a)", "a", true),
        ("MultiEdit(a)", "a", false),
        ("Read(a)", "a", false),
    ] {
        let outcome = allow([pattern]).write(path);
        assert_eq!(outcome, if fits { Allow } else { Ask }, "{pattern} {path}");
    }
}

#[test]
fn a_refusing_path_pattern_covers_more_than_an_allowing_one() {
    for (pattern, path, fits) in [
        ("Edit(secret)", "secret/a/b", true),
        ("Edit(secret)", "x/secret", true),
        ("Edit(./secret)", "x/secret", false),
        ("Edit(*.pem)", "x/y/a.pem", true),
        ("Edit(x/secret)", "x/secret/a", true),
        ("Edit(x/secret)", "y/x/secret", false),
        ("Write(a)", "a", true),
        ("Read(a)", "a", false),
    ] {
        let outcome = deny([pattern]).write(path);
        assert_eq!(outcome, if fits { Deny } else { Ask }, "{pattern} {path}");
    }
}

#[test]
fn offered_path_rules_allow_what_they_were_offered_for() {
    for path in ["src/a b.rs", "x", "src/[a]*.rs", "/tmp/slug-outside/f"] {
        let mut env = test_env();
        let decision = env.decide("Edit", &[ToolAccess::Write(env.path(path))]);
        let rule = decision.allow_rules()[0].clone();
        env.rules.add_session(RuleKind::Allow, &rule, &env.workspace).unwrap();
        assert_eq!(env.write(path), Allow, "{rule}");
        assert_eq!(env.write("src/other"), Ask, "{rule}");
    }
    let folder = test_env().decide("Grep", &[ToolAccess::Read("/usr".into())]);
    assert_eq!(folder.allow_rules(), ["Read(/usr/**)"]);
}

#[test]
fn a_name_that_a_later_command_recalls_is_a_name_of_its_own() {
    let env = test_env().mode(PermissionMode::Yolo);
    env.file(".git/config");
    env.all(
        Ask,
        &[
            "cat .git/config && cp cfg $_",
            "test -f .slug/settings.json; cp cfg \"${_}\"",
            "cd .git && cd .. && cp cfg $OLDPWD/config",
            "cd .git && cd .. && cp cfg ~-/config",
        ],
    );
    env.all(Allow, &["cat a && cp cfg $_", "cat .git/config && cp cfg $HOME/x", "cd src && cd -"]);
}
