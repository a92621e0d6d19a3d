//! Which formatter is for a file, when it runs, and what is made of what it prints.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::definition::SignWeight;
use super::project::{arguments, choose};
use super::*;
use crate::platform::server_program::ServerProgramSearch;
use crate::tools::{FormatRequest, FormatResult, TextFormatter};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

type Answer = dyn Fn(&FormatterCommand) -> Result<FormatterOutput, String> + Send + Sync;

/// Answers in the place of programs.
struct FakeRunner {
    answer: Box<Answer>,
    confinement: Result<(), String>,
    runs: Mutex<Vec<FormatterCommand>>,
}

#[async_trait]
impl FormatterRunner for FakeRunner {
    async fn confinement(&self) -> Result<(), String> {
        self.confinement.clone()
    }

    async fn run(&self, command: FormatterCommand) -> Result<FormatterOutput, String> {
        let output = (self.answer)(&command);
        self.runs.lock().unwrap().push(command);
        output
    }
}

fn printed(text: &str) -> Result<FormatterOutput, String> {
    let (text, complaint) = (text.to_owned(), String::new());
    Ok(FormatterOutput { end: FormatterEnd::Code(0), text, complaint })
}

/// A project, and a folder with programs outside of it.
struct FormatterTestEnv {
    _dir: TempDir,
    project: PathBuf,
    programs: PathBuf,
    user: Value,
    allowed: Vec<String>,
    runner: FakeRunner,
}

impl FormatterTestEnv {
    /// Formatters print what they get, in capitals.
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (project, programs) = (root.join("app"), root.join("bin"));
        for folder in [&project, &programs] {
            std::fs::create_dir(folder).unwrap();
        }
        let runner = FakeRunner {
            answer: Box::new(|command| printed(&command.input.to_uppercase())),
            confinement: Ok(()),
            runs: Mutex::default(),
        };
        Self { _dir: dir, project, programs, user: json!({}), allowed: Vec::new(), runner }
    }

    fn put(self, name: &str, text: &str) -> Self {
        put(&self.project.join(name), text);
        self
    }

    /// Installs a program outside of the project.
    fn install(self, name: &str) -> Self {
        make_program(&self.programs.join(name));
        self
    }

    fn answering(
        mut self,
        answer: impl Fn(&FormatterCommand) -> Result<FormatterOutput, String> + Send + Sync + 'static,
    ) -> Self {
        self.runner.answer = Box::new(answer);
        self
    }

    fn build(self) -> (ProjectFormatters, Arc<FakeRunner>, TempDir) {
        let found = FormatterDefinitions::read(self.user.as_object().unwrap());
        assert_eq!(found.problems, Vec::<String>::new());
        let runner = Arc::new(self.runner);
        let path = std::env::join_paths([&self.project.join("node_modules/.bin"), &self.programs]);
        let ports = FormatterPorts {
            runner: runner.clone(),
            programs: ServerProgramSearch { path: path.unwrap(), project: self.project.clone() },
            allowed: self.allowed,
            time_limit: Duration::from_secs(5),
        };
        (ProjectFormatters::new(found.formatters, self.project, ports), runner, self._dir)
    }

    /// The result for a file, and what was run for it.
    async fn format(
        self,
        file: &str,
        before: Option<&str>,
        after: &str,
    ) -> (FormatResult, Vec<FormatterCommand>) {
        let path = self.project.join(file);
        let (formatters, runner, _dir) = self.build();
        let result = formatters.format(request(path, before, after)).await;
        let runs = std::mem::take(&mut *runner.runs.lock().unwrap());
        (result, runs)
    }
}

fn request(path: PathBuf, before: Option<&str>, after: &str) -> FormatRequest {
    let (before, after) = (before.map(str::to_owned), after.to_owned());
    FormatRequest { path, before, after, is_changed_again: false }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn make_program(path: &Path) {
    put(path, "#!/bin/sh\n");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn formatted(by: &str, text: &str) -> FormatResult {
    FormatResult::Formatted { by: by.into(), text: text.into() }
}

fn failed(why: &str) -> FormatResult {
    FormatResult::Failed(Some(why.into()))
}

#[test]
fn the_nearest_sign_says_which_formatter_is_for_a_file() {
    let named = |files: &[(&str, &str)], file: &str| {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("app");
        for (name, text) in files {
            put(&root.join(name), text);
        }
        let all = FormatterDefinitions::read(&serde_json::Map::new()).formatters;
        let choice = choose(&all, &root.join(file), &root)?;
        let folder = choice.root.strip_prefix(&root).unwrap().display().to_string();
        let words = arguments(&choice, &root).unwrap().join(" ");
        let words = words.replace(root.to_str().unwrap(), "ROOT");
        Some((choice.definition.name, folder, choice.weight, words))
    };
    use SignWeight::{Configured, Usual};
    type Case<'a> =
        (&'a [(&'a str, &'a str)], &'a str, Option<(&'a str, &'a str, SignWeight, &'a str)>);
    let cases: &[Case<'_>] = &[
        (&[], "src/a.rs", None),
        (
            &[("Cargo.toml", "[package]\n")],
            "src/a.rs",
            Some(("rustfmt", "", Usual, "--edition 2015 --emit stdout")),
        ),
        (
            &[
                ("Cargo.toml", "[workspace.package]\nedition = \"2024\"\n"),
                ("m/Cargo.toml", "[package]\nedition.workspace = true\n"),
                ("rustfmt.toml", ""),
            ],
            "m/src/a.rs",
            Some(("rustfmt", "m", Configured, "--edition 2024 --emit stdout")),
        ),
        (
            &[("Cargo.toml", "[package]\nedition = '2021' # x\n")],
            "a.rs",
            Some(("rustfmt", "", Usual, "--edition 2021 --emit stdout")),
        ),
        (
            &[("Cargo.toml", "[package]\nedition=\"2021\"\n")],
            "a.RS",
            Some(("rustfmt", "", Usual, "--edition 2021 --emit stdout")),
        ),
        (&[("go.mod", "")], "a/b.go", Some(("gofmt", "", Usual, ""))),
        (&[("package.json", "{}")], "a.ts", None),
        (
            &[("package.json", "{\"devDependencies\": {\"prettier\": \"3\"}}")],
            "a.ts",
            Some(("prettier", "", Configured, "--stdin-filepath ROOT/a.ts")),
        ),
        (
            &[(".prettierrc", ""), ("p/biome.json", "{}")],
            "p/q/a.ts",
            Some(("biome", "p", Configured, "format --stdin-file-path=ROOT/p/q/a.ts")),
        ),
        (
            &[("pyproject.toml", "[tool.black]\n[tool.ruff]\n")],
            "a.py",
            Some(("black", "", Configured, "-q --stdin-filename ROOT/a.py -")),
        ),
        (
            &[("pyproject.toml", "[tool.ruff.lint]\n")],
            "a.py",
            Some(("ruff", "", Usual, "format --no-cache --stdin-filename ROOT/a.py -")),
        ),
        (
            &[("pyproject.toml", "[tool.ruff.format]\n")],
            "a.py",
            Some(("ruff", "", Configured, "format --no-cache --stdin-filename ROOT/a.py -")),
        ),
        (
            &[(".clang-format", "")],
            "x/y/a.hpp",
            Some(("clang-format", "", Configured, "--assume-filename=ROOT/x/y/a.hpp")),
        ),
        (&[("../.clang-format", "")], "a.c", None),
        (&[(".clang-format", "")], "../a.c", None),
        (&[(".clang-format", "")], "Makefile", None),
        (&[(".clang-format", "")], "a.rs", None),
    ];
    for (files, file, expected) in cases {
        let expected = expected.map(|(name, folder, weight, words)| {
            (name.to_owned(), folder.to_owned(), weight, words.to_owned())
        });
        assert_eq!(named(files, file), expected, "{file} with {files:?}");
    }
}

#[test]
fn the_users_tables_change_what_they_say_and_a_mistake_leaves_the_others() {
    let user = json!({
        "rustfmt": {"command": ["my-rustfmt", "-"]},
        "gofmt": {"disabled": true},
        "mine": {"command": ["mine", "{file}"], "extensions": [".Foo"]},
        "zig": {"command": "zig"},
        "a b": {},
        "none": {"extensions": ["x"]},
        "odd": {"command": ["x"], "extensions": ["x"], "stdin": true},
    });
    let found = FormatterDefinitions::read(user.as_object().unwrap());
    let named = |name: &str| found.formatters.iter().find(|it| it.name == name);
    assert_eq!(named("rustfmt").unwrap().command, ["my-rustfmt", "-"]);
    assert_eq!(named("rustfmt").unwrap().extensions, ["rs"]);
    assert_eq!(named("mine").unwrap().extensions, ["foo"]);
    assert!(named("gofmt").is_none() && named("prettier").is_some());
    assert_eq!(
        found.problems,
        [
            "config.toml: The formatter \"zig\" has a `command` that slug cannot use.",
            "config.toml: The formatter \"a b\" has a name that is not 1 to 64 letters, digits, `_`, `-` or `.`.",
            "config.toml: The formatter \"none\" needs a `command`.",
            "config.toml: The formatter \"odd\" has the unknown key `stdin`.",
        ]
    );
}

#[tokio::test]
async fn a_formatter_gets_the_text_and_its_answer_is_the_text() {
    let env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
    let (project, programs) = (env.project.clone(), env.programs.clone());
    let (result, runs) = env.format("src/a.c", Some("old\n"), "int a;\n").await;
    assert_eq!(result, formatted("clang-format", "INT A;\n"));
    let run = &runs[0];
    assert_eq!((runs.len(), &*run.input), (1, "int a;\n"));
    assert_eq!(run.program, programs.join("clang-format"));
    assert_eq!((&run.cwd, &*run.search_path), (&project, programs.as_os_str()));
}

#[tokio::test]
async fn a_language_alone_formats_only_what_was_formatted() {
    let go = || FormatterTestEnv::new().put("go.mod", "").install("gofmt");
    let cases = [
        (Some("UGLY before\n"), "x\n", FormatResult::NotConfigured, 1),
        (Some("NICE\n"), "x\n", formatted("gofmt", "X\n"), 2),
        (Some("NICE\r\n"), "x\n", formatted("gofmt", "X\n"), 2),
        (Some("\n"), "x\n", formatted("gofmt", "X\n"), 1),
        (None, "x\n", formatted("gofmt", "X\n"), 1),
    ];
    for (before, after, expected, count) in cases {
        let (result, runs) = go().format("a.go", before, after).await;
        assert_eq!((result, runs.len()), (expected, count), "{before:?}");
    }
    // What it has formatted is known to be so.
    let (formatters, runner, _dir) = go().build();
    let path = formatters_path(&formatters, "a.go");
    formatters.format(request(path.clone(), None, "x\n")).await;
    formatters.format(request(path, Some("X\n"), "xy\n")).await;
    assert_eq!(runner.runs.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_slug_could_not_format_yet_is_formatted_later() {
    let fails_on_braces = |command: &FormatterCommand| match command.input.contains('{') {
        true => Ok(FormatterOutput {
            end: FormatterEnd::Code(1),
            text: String::new(),
            complaint: "no brace".into(),
        }),
        false => printed(&command.input.to_uppercase()),
    };
    let env = FormatterTestEnv::new().put("go.mod", "").install("gofmt").answering(fails_on_braces);
    let (formatters, _runner, _dir) = env.build();
    let path = formatters_path(&formatters, "a.go");
    let again =
        FormatRequest { is_changed_again: true, ..request(path.clone(), Some("NICE\n"), "x\n") };
    assert_eq!(formatters.format(again).await, FormatResult::NotConfigured);
    let broken = request(path.clone(), Some("x\n"), "{x\n");
    assert_eq!(formatters.format(broken).await, failed("gofmt failed: no brace."));
    let mended = request(path.clone(), Some("{x\n"), "xy\n");
    assert_eq!(formatters.format(mended).await, formatted("gofmt", "XY\n"));
    // What somebody else has written there is theirs.
    let theirs = request(path, Some("theirs\n"), "xyz\n");
    assert_eq!(formatters.format(theirs).await, FormatResult::NotConfigured);
}

fn formatters_path(formatters: &ProjectFormatters, name: &str) -> PathBuf {
    formatters.workspace.join(name)
}

#[tokio::test]
async fn what_a_formatter_does_wrong_leaves_the_text_and_is_said_once() {
    let text = "fn main() { let a = 1; let b = 2; }\n";
    let ended = |end, text: &str, complaint: &str| {
        let (text, complaint) = (text.to_owned(), complaint.to_owned());
        Ok(FormatterOutput { end, text, complaint })
    };
    let cases: Vec<(Result<FormatterOutput, String>, &str)> = vec![
        (
            ended(FormatterEnd::Code(1), "", "\n\u{1b}[31mexpected `;`\n  --> a\n"),
            "clang-format failed: ␛[31mexpected `;`.",
        ),
        (ended(FormatterEnd::Code(3), "", ""), "clang-format failed: it ended with status 3."),
        (ended(FormatterEnd::Killed, text, ""), "clang-format was ended by a signal."),
        (ended(FormatterEnd::TimedOut, text, ""), "clang-format took more than 5 s."),
        (ended(FormatterEnd::Code(0), " \n", ""), "clang-format printed nothing."),
        (
            ended(FormatterEnd::Code(0), "fn main() {}\n", ""),
            "clang-format left out a part of the text.",
        ),
        (
            ended(FormatterEnd::Code(0), &text.repeat(20), ""),
            "clang-format added far more than a formatter does.",
        ),
        (
            ended(FormatterEnd::Code(0), &"x".repeat(200_000), ""),
            "clang-format printed far more than it was given.",
        ),
        (
            ended(FormatterEnd::Code(0), &format!("{text}\u{fffd}"), ""),
            "clang-format printed bytes that are no text.",
        ),
        (
            ended(FormatterEnd::Code(0), &format!("{text}\0"), ""),
            "clang-format printed bytes that are no text.",
        ),
        (Err("no such file".into()), "clang-format could not be started: no such file."),
    ];
    for (output, told) in cases {
        let env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
        let (formatters, _runner, _dir) = env.answering(move |_| output.clone()).build();
        let path = formatters_path(&formatters, "a.c");
        let first = formatters.format(request(path.clone(), None, text)).await;
        assert_eq!(first, failed(told));
        let second = formatters.format(request(path, None, text)).await;
        let is_fault = told.contains("took more") || told.contains("started");
        match is_fault {
            false => assert_eq!(second, FormatResult::Failed(None), "{told}"),
            true => assert_eq!(
                second,
                failed(&format!("{told} slug does not run it again in this session."))
            ),
        }
    }
}

#[tokio::test]
async fn a_formatter_that_hangs_is_left_alone_after_the_second_time() {
    let hangs = |_: &FormatterCommand| {
        Ok(FormatterOutput {
            end: FormatterEnd::TimedOut,
            text: String::new(),
            complaint: String::new(),
        })
    };
    let env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
    let (formatters, runner, _dir) = env.answering(hangs).build();
    let path = formatters_path(&formatters, "a.c");
    for _ in 0..4 {
        formatters.format(request(path.clone(), None, "int a;\n")).await;
    }
    assert_eq!(runner.runs.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_missing_program_is_told_once_and_only_where_it_is_configured() {
    let (result, _) = FormatterTestEnv::new().put("go.mod", "").format("a.go", None, "x").await;
    assert_eq!(result, FormatResult::NotConfigured);
    let env = FormatterTestEnv::new().put("biome.json", "");
    let (result, runs) = env.format("a.ts", None, "x").await;
    assert_eq!(result, failed("this project is set up for biome, which is not installed."));
    assert_eq!(runs, []);
}

#[tokio::test]
async fn s63_a_program_of_the_project_runs_only_by_its_hash() {
    let own = "node_modules/.bin/prettier";
    let env = || {
        let env = FormatterTestEnv::new().put(".prettierrc", "");
        put(&env.project.join("node_modules/prettier/bin/prettier.cjs"), "#!/usr/bin/env node\n");
        let program = env.project.join("node_modules/prettier/bin/prettier.cjs");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir_all(env.project.join("node_modules/.bin")).unwrap();
        symlink("../prettier/bin/prettier.cjs", env.project.join(own)).unwrap();
        env
    };
    let (result, runs) = env().format("a.ts", None, "x").await;
    let FormatResult::Failed(Some(told)) = result else { panic!("{result:?}") };
    assert!(
        told.starts_with(
            "prettier is here only as a program of this project, node_modules/.bin/prettier. The user \
             can let it run: `allow = [\"prettier@sha256:"
        ),
        "{told}"
    );
    assert_eq!(runs, []);
    let pin = told.split('"').nth(1).unwrap().to_owned();
    let mut allowed = env();
    allowed.allowed = vec![pin.clone()];
    let program = allowed.project.join(own);
    let (result, runs) = allowed.format("a.ts", None, "x").await;
    assert_eq!((result, &runs[0].program), (formatted("prettier", "X"), &program));
    // Other content is another program.
    let mut changed = env().put("node_modules/prettier/bin/prettier.cjs", "evil");
    changed.allowed = vec![pin];
    let (result, runs) = changed.format("a.ts", None, "x").await;
    assert!(matches!(result, FormatResult::Failed(Some(_))) && runs.is_empty());
    // One outside of the project needs no yes, and is not shadowed.
    let both = env().install("prettier");
    let outside = both.programs.join("prettier");
    let (result, runs) = both.format("a.ts", None, "x").await;
    assert_eq!((result, &runs[0].program), (formatted("prettier", "X"), &outside));
}

#[tokio::test]
async fn s63_a_link_or_a_path_into_the_project_is_the_projects_own() {
    let env = FormatterTestEnv::new().put(".clang-format", "");
    make_program(&env.project.join("tools/evil"));
    symlink(env.project.join("tools/evil"), env.programs.join("clang-format")).unwrap();
    let (result, runs) = env.format("a.c", None, "x").await;
    assert_eq!(
        (result, runs.len()),
        (failed("this project is set up for clang-format, which is not installed."), 0)
    );
    for command in ["tools/evil", "./tools/evil", "ABSOLUTE", "LINK"] {
        let mut env = FormatterTestEnv::new();
        make_program(&env.project.join("tools/evil"));
        symlink(env.project.join("tools/evil"), env.programs.join("link")).unwrap();
        let command = match command {
            "ABSOLUTE" => env.project.join("tools/evil").display().to_string(),
            "LINK" => env.programs.join("link").display().to_string(),
            relative => relative.to_owned(),
        };
        env.user = json!({"mine": {"command": [command], "extensions": ["c"]}});
        let (result, runs) = env.format("a.c", None, "x").await;
        assert!(matches!(result, FormatResult::Failed(Some(_))), "{command}: {result:?}");
        assert!(runs.is_empty(), "{command}");
    }
}

#[tokio::test]
async fn s115_without_a_sandbox_a_formatter_runs_only_by_its_hash() {
    let env = || {
        let mut env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
        env.runner.confinement = Err("there is none".into());
        env
    };
    let (result, runs) = env().format("a.c", None, "x").await;
    let FormatResult::Failed(Some(told)) = result else { panic!("{result:?}") };
    assert!(
        told.starts_with("clang-format would run without a sandbox (there is none). "),
        "{told}"
    );
    assert_eq!(runs, []);
    let mut allowed = env();
    allowed.allowed = vec![told.split('"').nth(1).unwrap().to_owned()];
    assert_eq!(allowed.format("a.c", None, "x").await.0, formatted("clang-format", "X"));
}

#[tokio::test]
async fn a_file_that_a_link_leads_out_of_the_project_to_is_not_formatted() {
    let env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
    put(&env.programs.join("a.c"), "x");
    symlink(env.programs.join("a.c"), env.project.join("a.c")).unwrap();
    symlink(&env.programs, env.project.join("out")).unwrap();
    let path = env.project.clone();
    let (formatters, runner, _dir) = env.build();
    for name in ["a.c", "out/b.c", "../bin/c.c"] {
        let result = formatters.format(request(path.join(name), None, "x")).await;
        assert_eq!(result, FormatResult::NotConfigured, "{name}");
    }
    assert!(runner.runs.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_huge_or_empty_text_is_left_as_it_is() {
    for text in [String::new(), " \n".into(), "x".repeat((1 << 20) + 1)] {
        let env = FormatterTestEnv::new().put(".clang-format", "").install("clang-format");
        let (result, runs) = env.format("a.c", None, &text).await;
        assert_eq!((result, runs.len()), (FormatResult::NotConfigured, 0));
    }
}
