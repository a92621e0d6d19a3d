//! A name that a rule or plan mode allows is a program of the system: one of the project's own needs a
//! yes of its own, for what is in it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use slug_code::domain::{PermissionMode, PermissionOutcome};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::test_project::TestProject;
use crate::{bash, result_of};

/// Writes a program that leaves a trace.
fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The system's PATH with folders before and behind.
fn path_with(before: &[&str], behind: &[&str]) -> OsString {
    let path = std::env::var("PATH").unwrap();
    let all: Vec<&str> =
        before.iter().copied().chain([path.as_str()]).chain(behind.iter().copied()).collect();
    all.join(":").into()
}

/// A ground with this PATH.
fn along(mut ground: TestProject, path: &OsString) -> TestProject {
    ground.workspace = ground.workspace.with_search_path(path);
    ground
}

#[test]
fn a_program_of_the_projects_own_is_covered_by_no_rule_on_its_name() {
    let root =
        |ground: &TestProject, folder: &str| ground.root().join(folder).display().to_string();
    for folder in ["node_modules/.bin", "bin", ".", "", "./bin", "src/../bin", "absolute", "linked"]
    {
        let ground =
            TestProject::with_rules(&["Bash(eslint *)", "Bash(ls *)", "Bash(make *)"], &[]);
        let (entry, place) = match folder {
            "absolute" => (root(&ground, "bin"), "bin"),
            "linked" => {
                // A folder outside that is one inside.
                fs::create_dir_all(ground.root().join("bin")).unwrap();
                symlink(ground.root().join("bin"), ground.sibling_path("theirs")).unwrap();
                (ground.sibling_path("theirs").display().to_string(), "bin")
            }
            "" => (String::new(), "."),
            folder => (folder.to_owned(), folder),
        };
        for name in ["eslint", "ls", "make", "git", "cat"] {
            program(&ground.root().join(place).join(name), "touch trace");
        }
        let ground = along(ground, &path_with(&[&entry], &[]));
        let lines = [
            "eslint src",
            "ls",
            "ls src",
            "make all",
            "git status",
            "cat a.txt",
            "ls | cat",
            "timeout 5 ls",
        ];
        for mode in [PermissionMode::Ask, PermissionMode::AllowEdits] {
            ground.assert_all(lines, mode, PermissionOutcome::Ask);
        }
        for line in lines {
            assert_ne!(
                ground.outcome(line, PermissionMode::Plan),
                PermissionOutcome::Allow,
                "{line} by {folder:?}"
            );
        }
        // What it does not have is the system's.
        ground.assert_all(
            ["wc a.txt", "head a.txt"],
            PermissionMode::Ask,
            PermissionOutcome::Allow,
        );
    }
}

#[test]
fn a_folder_of_the_project_at_the_end_of_the_path_counts_as_little() {
    let ground = TestProject::with_rules(&["Bash(own-tool *)"], &[]);
    program(&ground.root().join("bin/own-tool"), "touch trace");
    let folder = ground.root().join("bin").display().to_string();
    let ground = along(ground, &path_with(&[], &[&folder]));
    ground.assert_all(
        ["own-tool x", "cd src && own-tool x"],
        PermissionMode::Ask,
        PermissionOutcome::Ask,
    );
}

#[test]
fn a_program_of_the_projects_own_is_asked_about_by_its_path_and_allowed_by_its_content() {
    let ground = TestProject::with_rules(&["Bash(eslint *)"], &[]);
    let file = ground.root().join("node_modules/.bin/eslint");
    program(&file, "echo linted");
    let folder = file.parent().unwrap().display().to_string();
    let mut ground = along(ground, &path_with(&[&folder], &[]));
    let decision = ground.decide("eslint src", PermissionMode::Ask);
    assert_eq!(decision.outcome(), PermissionOutcome::Ask);
    let reason = decision.reason();
    assert!(
        reason.contains("project's own") && reason.contains("node_modules/.bin/eslint"),
        "{reason}"
    );
    let [rule] = decision.allow_rules() else { panic!("{:?}", decision.allow_rules()) };
    assert!(rule.contains("node_modules/.bin/eslint@sha256:"), "{rule}");
    let rule = rule.clone();
    ground.set_rules(&[&rule], &[]);
    ground.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Allow);
    ground.assert_all(
        ["eslint other", "eslint src --fix"],
        PermissionMode::Ask,
        PermissionOutcome::Ask,
    );
    program(&file, "touch trace");
    ground.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Ask);
    // In its place a link to something else.
    fs::remove_file(&file).unwrap();
    program(&ground.root().join("other"), "touch trace");
    symlink(ground.root().join("other"), &file).unwrap();
    ground.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn a_program_by_its_path_is_not_the_one_of_that_name() {
    let ground = TestProject::with_rules(&["Bash(ls *)", "Bash(eslint *)", "Bash(git *)"], &[]);
    for name in ["ls", "eslint", "git"] {
        program(&ground.root().join("bin").join(name), "touch trace");
    }
    let root = ground.root().display().to_string();
    let lines = [
        "./bin/ls".to_owned(),
        "bin/ls src".into(),
        "./bin/eslint src".into(),
        "bin/git status".into(),
        format!("{root}/bin/ls"),
        "cd bin && ./ls".into(),
        "src/../bin/ls".into(),
        "/tmp/ls".into(),
        "../ls".into(),
        "env ./bin/ls".into(),
        "xargs ./bin/ls".into(),
    ];
    ground.assert_all(&lines, PermissionMode::Ask, PermissionOutcome::Ask);
    for line in &lines {
        assert_ne!(ground.outcome(line, PermissionMode::Plan), PermissionOutcome::Allow, "{line}");
    }
}

/// Runs one command for a model under these rules with this PATH, and says what it was told.
fn told(desk: &TestEnv, allow: &str, path: &OsString, flags: &[&str], line: &str) -> String {
    let server = ModelServer::start();
    desk.write_home("settings.json", &format!(r#"{{"permissions":{{"allow":[{allow}]}}}}"#));
    server.reply(bash("c1", line));
    server.reply(ServerReply::text("Done."));
    let endpoint = server.endpoint();
    let arguments =
        [&["--trust-workspace", "-m", "test-model", "-e", &endpoint], flags, &["-p", "go"]];
    let output = desk.command(&arguments.concat()).env("PATH", path).output().unwrap();
    assert!(output.status.code().is_some(), "{output:?}");
    result_of(&server.chat_requests()[1], "c1")
}

#[test]
fn what_is_allowed_by_name_runs_the_systems_program() {
    for entry in ["bin", ".", "", "absolute"] {
        let desk = TestEnv::new();
        for place in ["bin", "."] {
            program(&desk.path(place).join("own-tool"), "touch pwned; echo own");
        }
        let theirs = desk.home().join("theirs");
        program(&theirs.join("own-tool"), "echo the system has it");
        let entry = if entry == "absolute" {
            desk.path("bin").display().to_string()
        } else {
            entry.to_owned()
        };
        let path = path_with(&[&entry, &theirs.display().to_string()], &[]);
        let said = told(&desk, r#""Bash(own-tool *)""#, &path, &[], "own-tool x");
        assert!(!desk.path("pwned").exists(), "{entry:?}: {said}");
    }
}

/// A command that runs because of its name makes a program, and what comes behind it would run that.
#[test]
fn a_program_that_an_allowed_command_makes_is_not_run_in_place_of_another() {
    let desk = TestEnv::new();
    program(&desk.path("evil"), "touch pwned");
    fs::create_dir_all(desk.path("bin")).unwrap();
    for entry in
        ["bin".to_owned(), ".".into(), String::new(), desk.path("bin").display().to_string()]
    {
        let path = path_with(&[&entry], &[]);
        let lines = [
            "cp evil bin/ls && ls",
            "cp evil ls && ls",
            "cp evil bin/wc; wc a",
            "cp evil head; head a",
        ];
        for line in lines {
            told(&desk, r#""Bash(cp *)""#, &path, &[], line);
            assert!(!desk.path("pwned").exists(), "{line} with {entry:?}");
            for made in ["bin/ls", "ls", "bin/wc", "head"] {
                let _ = fs::remove_file(desk.path(made));
            }
        }
    }
}

#[test]
fn plan_mode_runs_no_program_of_the_projects_own() {
    for entry in ["bin", ".", ""] {
        let desk = TestEnv::new();
        for name in ["ls", "cat", "git", "grep", "wc"] {
            program(&desk.path("bin").join(name), "touch pwned");
            program(&desk.path(name), "touch pwned");
        }
        let path = path_with(&[entry], &[]);
        for line in ["ls", "cat a | wc", "git status", "grep x a"] {
            let said = told(&desk, "", &path, &["--plan"], line);
            assert!(!desk.path("pwned").exists(), "{line} with {entry:?}: {said}");
        }
    }
}
