//! A name that a rule or plan mode allows means a program of the system: a program of the project
//! needs the user's approval for its own content.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use slug_code::domain::{PermissionMode, PermissionOutcome};
use slug_code::permissions::Workspace;

use super::test_project::TestProject;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, result_of};

/// Writes an executable program; its text leaves a trace when it runs.
fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The system's PATH with folders before and behind it.
fn path_with(before: &[&str], behind: &[&str]) -> OsString {
    let path = std::env::var("PATH").unwrap();
    let all: Vec<&str> =
        before.iter().copied().chain([path.as_str()]).chain(behind.iter().copied()).collect();
    all.join(":").into()
}

/// The project, with this PATH.
fn along(mut project: TestProject, path: &OsString) -> TestProject {
    project.workspace = project.workspace.with_search_path(path);
    project
}

#[test]
fn a_program_of_the_projects_own_is_covered_by_no_rule_on_its_name() {
    let root =
        |project: &TestProject, folder: &str| project.root().join(folder).display().to_string();
    for folder in ["node_modules/.bin", "bin", ".", "", "./bin", "src/../bin", "absolute", "linked"]
    {
        let project =
            TestProject::with_rules(&["Bash(eslint *)", "Bash(ls *)", "Bash(make *)"], &[]);
        let (entry, place) = match folder {
            "absolute" => (root(&project, "bin"), "bin"),
            "linked" => {
                // A folder outside that leads to one inside.
                fs::create_dir_all(project.root().join("bin")).unwrap();
                symlink(project.root().join("bin"), project.sibling_path("theirs")).unwrap();
                (project.sibling_path("theirs").display().to_string(), "bin")
            }
            "" => (String::new(), "."),
            folder => (folder.to_owned(), folder),
        };
        for name in ["eslint", "ls", "make", "git", "cat"] {
            program(&project.root().join(place).join(name), "touch trace");
        }
        let project = along(project, &path_with(&[&entry], &[]));
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
            project.assert_all(lines, mode, PermissionOutcome::Ask);
        }
        for line in lines {
            assert_ne!(
                project.outcome(line, PermissionMode::Plan),
                PermissionOutcome::Allow,
                "{line} by {folder:?}"
            );
        }
        // Programs that the project's folder does not hold are the system's.
        project.assert_all(
            ["wc a.txt", "head a.txt"],
            PermissionMode::Ask,
            PermissionOutcome::Allow,
        );
    }
}

#[test]
fn a_folder_of_the_project_at_the_end_of_the_path_counts_as_little() {
    let project = TestProject::with_rules(&["Bash(own-tool *)"], &[]);
    program(&project.root().join("bin/own-tool"), "touch trace");
    let folder = project.root().join("bin").display().to_string();
    let project = along(project, &path_with(&[], &[&folder]));
    project.assert_all(
        ["own-tool x", "cd src && own-tool x"],
        PermissionMode::Ask,
        PermissionOutcome::Ask,
    );
}

#[test]
fn a_program_of_the_repository_around_the_workspace_is_the_projects_own() {
    let mut project = TestProject::new();
    let top = project.root();
    for name in ["ls", "bash", "git"] {
        program(&top.join("bin").join(name), "touch trace");
    }
    let path = path_with(&[&top.join("bin").display().to_string()], &[]);
    let (home, slug) = (project.sibling_path("home"), project.sibling_path("slug"));
    let below = Workspace::new(top.join("src"), Vec::new(), Some(home), slug);
    project.workspace = below.trusted().with_search_path(&path);
    project.assert_all(["ls", "ls | cat"], PermissionMode::Ask, PermissionOutcome::Ask);
    project.assert_all(["ls"], PermissionMode::Plan, PermissionOutcome::Deny);
    project.assert_all(["wc a.rs"], PermissionMode::Ask, PermissionOutcome::Allow);
}

#[test]
fn slug_runs_no_bash_of_the_repository_around_its_folder() {
    let env = TestEnv::new();
    for folder in ["top/.git", "top/src"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    let trace = env.path("top/trace");
    for name in ["bash", "git"] {
        program(&env.path("top/bin").join(name), &format!("touch {}", trace.display()));
    }
    let path = path_with(&[&env.path("top/bin").display().to_string()], &[]);
    let result = run_for_model_in(&env, "top/src", "", &path, &["--yolo"], "echo hello");
    assert!(result.contains("hello"), "{result}");
    assert!(!trace.exists());
}

#[test]
fn a_program_of_the_projects_own_is_asked_about_by_its_path_and_allowed_by_its_content() {
    let project = TestProject::with_rules(&["Bash(eslint *)"], &[]);
    let file = project.root().join("node_modules/.bin/eslint");
    program(&file, "echo linted");
    let folder = file.parent().unwrap().display().to_string();
    let mut project = along(project, &path_with(&[&folder], &[]));
    let decision = project.decide("eslint src", PermissionMode::Ask);
    assert_eq!(decision.outcome(), PermissionOutcome::Ask);
    let reason = decision.reason();
    assert!(
        reason.contains("project's own") && reason.contains("node_modules/.bin/eslint"),
        "{reason}"
    );
    let [rule] = decision.allow_rules() else { panic!("{:?}", decision.allow_rules()) };
    assert!(rule.contains("node_modules/.bin/eslint@sha256:"), "{rule}");
    let rule = rule.clone();
    project.set_rules(&[&rule], &[]);
    project.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Allow);
    project.assert_all(
        ["eslint other", "eslint src --fix"],
        PermissionMode::Ask,
        PermissionOutcome::Ask,
    );
    program(&file, "touch trace");
    project.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Ask);
    // A link to another file in its place.
    fs::remove_file(&file).unwrap();
    program(&project.root().join("other"), "touch trace");
    symlink(project.root().join("other"), &file).unwrap();
    project.assert_all(["eslint src"], PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn a_program_by_its_path_is_not_the_one_of_that_name() {
    let project = TestProject::with_rules(&["Bash(ls *)", "Bash(eslint *)", "Bash(git *)"], &[]);
    for name in ["ls", "eslint", "git"] {
        program(&project.root().join("bin").join(name), "touch trace");
    }
    let root = project.root().display().to_string();
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
    project.assert_all(&lines, PermissionMode::Ask, PermissionOutcome::Ask);
    for line in &lines {
        assert_ne!(project.outcome(line, PermissionMode::Plan), PermissionOutcome::Allow, "{line}");
    }
}

/// Runs one command for a model under these rules with this PATH, and gives the call's result.
fn run_for_model(
    env: &TestEnv,
    allow: &str,
    path: &OsString,
    flags: &[&str],
    line: &str,
) -> String {
    run_for_model_in(env, ".", allow, path, flags, line)
}

/// The same in a folder of the workspace.
fn run_for_model_in(
    env: &TestEnv,
    folder: &str,
    allow: &str,
    path: &OsString,
    flags: &[&str],
    line: &str,
) -> String {
    let server = ModelServer::start();
    env.write_home("settings.json", &format!(r#"{{"permissions":{{"allow":[{allow}]}}}}"#));
    server.reply(bash("c1", line));
    server.reply(ServerReply::text("Done."));
    let endpoint = server.endpoint();
    let arguments =
        [&["--trust-workspace", "-m", "test-model", "-e", &endpoint], flags, &["-p", "go"]];
    let mut command = env.command(&arguments.concat());
    let output = command.env("PATH", path).current_dir(env.path(folder)).output().unwrap();
    assert!(output.status.code().is_some(), "{output:?}");
    result_of(&server.chat_requests()[1], "c1")
}

#[test]
fn what_is_allowed_by_name_runs_the_systems_program() {
    for entry in ["bin", ".", "", "absolute"] {
        let env = TestEnv::new();
        for place in ["bin", "."] {
            program(&env.path(place).join("own-tool"), "touch pwned; echo own");
        }
        let theirs = env.home().join("theirs");
        program(&theirs.join("own-tool"), "echo the system has it");
        let entry = if entry == "absolute" {
            env.path("bin").display().to_string()
        } else {
            entry.to_owned()
        };
        let path = path_with(&[&entry, &theirs.display().to_string()], &[]);
        let result = run_for_model(&env, r#""Bash(own-tool *)""#, &path, &[], "own-tool x");
        assert!(!env.path("pwned").exists(), "{entry:?}: {result}");
    }
}

/// A command that is allowed by its name creates a program that the next command's name would find.
#[test]
fn a_program_that_an_allowed_command_makes_is_not_run_in_place_of_another() {
    let env = TestEnv::new();
    program(&env.path("evil"), "touch pwned");
    fs::create_dir_all(env.path("bin")).unwrap();
    for entry in
        ["bin".to_owned(), ".".into(), String::new(), env.path("bin").display().to_string()]
    {
        let path = path_with(&[&entry], &[]);
        let lines = [
            "cp evil bin/ls && ls",
            "cp evil ls && ls",
            "cp evil bin/wc; wc a",
            "cp evil head; head a",
        ];
        for line in lines {
            run_for_model(&env, r#""Bash(cp *)""#, &path, &[], line);
            assert!(!env.path("pwned").exists(), "{line} with {entry:?}");
            for made in ["bin/ls", "ls", "bin/wc", "head"] {
                let _ = fs::remove_file(env.path(made));
            }
        }
    }
}

#[test]
fn plan_mode_runs_no_program_of_the_projects_own() {
    for entry in ["bin", ".", ""] {
        let env = TestEnv::new();
        for name in ["ls", "cat", "git", "grep", "wc"] {
            program(&env.path("bin").join(name), "touch pwned");
            program(&env.path(name), "touch pwned");
        }
        let path = path_with(&[entry], &[]);
        for line in ["ls", "cat a | wc", "git status", "grep x a"] {
            let result = run_for_model(&env, "", &path, &["--plan"], line);
            assert!(!env.path("pwned").exists(), "{line} with {entry:?}: {result}");
        }
    }
}
