//! The tasks of `tests/tasks/`: each fails as the model finds it, and passes once its own solution
//! has run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A task's repository in a folder of its own.
struct TaskCopy {
    task: PathBuf,
    folder: TempDir,
}

impl TaskCopy {
    fn new(task: &Path) -> Self {
        let copy = Self { task: task.to_owned(), folder: tempfile::tempdir().unwrap() };
        let environment = task.join("environment/.");
        let copied = Command::new("cp").arg("-r").args([&environment, copy.folder.path()]).output();
        assert!(copied.unwrap().status.success());
        if copy.folder.path().join("setup.sh").exists() {
            let set_up = copy.run(&copy.folder.path().join("setup.sh"));
            assert!(set_up.status.success(), "{}: {}", task.display(), text_of(&set_up));
        }
        copy
    }

    fn run(&self, script: &Path) -> Output {
        let script = fs::canonicalize(script).unwrap();
        Command::new("bash").arg(script).current_dir(self.folder.path()).output().unwrap()
    }

    fn check(&self) -> Output {
        self.run(&self.task.join("tests/test.sh"))
    }
}

fn text_of(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The tasks whose names begin so.
fn check_tasks(start: &str) {
    let mut tasks: Vec<PathBuf> = fs::read_dir("tests/tasks")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start))
        .collect();
    tasks.sort();
    assert!(!tasks.is_empty(), "no task begins with {start}");
    for task in tasks {
        let instruction = fs::read_to_string(task.join("instruction.md")).unwrap();
        assert!(instruction.len() > 60, "{} says too little", task.display());
        let about: toml::Table =
            fs::read_to_string(task.join("task.toml")).unwrap().parse().unwrap();
        assert!(about["metadata"]["long"].is_bool() && about["metadata"]["kind"].is_str());
        let copy = TaskCopy::new(&task);
        assert!(!copy.check().status.success(), "{} passes untouched", task.display());
        let copy = TaskCopy::new(&task);
        let solved = copy.run(&task.join("solution/solve.sh"));
        assert!(solved.status.success(), "{}: {}", task.display(), text_of(&solved));
        let checked = copy.check();
        assert!(checked.status.success(), "{}: {}", task.display(), text_of(&checked));
    }
}

/// What a strong model did in these tasks, with the tools as they are now.
#[test]
fn transcripts_solve_their_tasks() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out.json");
    let mut slug = Command::new(env!("CARGO_BIN_EXE_slug"));
    slug.env("SLUG_HOME", home.path().join("slug"));
    slug.args(["--yolo", "eval", "tests/tasks", "--transcripts", "--jobs", "2", "--out"]).arg(&out);
    let ran = slug.output().unwrap();
    assert!(ran.status.success(), "{}", text_of(&ran));
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert!(results.len() >= 10, "{report:#}");
    let long = results.iter().filter(|it| it["calls"].as_u64() > Some(15)).count();
    assert!(long >= 3, "{report:#}");
    for result in results {
        assert_eq!(result["refused_calls"], 0, "{result:#}");
    }
}

#[test]
fn tasks_in_python_fail_untouched_and_pass_solved() {
    check_tasks("python-");
}

#[test]
fn tasks_in_rust_fail_untouched_and_pass_solved() {
    check_tasks("rust-");
}

#[test]
fn tasks_in_c_fail_untouched_and_pass_solved() {
    check_tasks("c-");
}

#[test]
fn tasks_in_shell_fail_untouched_and_pass_solved() {
    check_tasks("shell-");
}

#[test]
fn tasks_about_git_data_and_docs_fail_untouched_and_pass_solved() {
    for start in ["git-", "data-", "docs-"] {
        check_tasks(start);
    }
}
