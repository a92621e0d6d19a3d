//! A task: a folder with a repository, an instruction, and a check that says whether it was done.
//! The layout is that of Harbor; of its files, those that only containers need are not read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

/// The time limit in seconds where a task sets none: for the agent, and for the check.
const DEFAULT_AGENT_LIMIT: f64 = 1800.0;
const DEFAULT_CHECK_LIMIT: f64 = 300.0;

/// What a model is asked to do, with the folder that has its repository and its check.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalTask {
    /// The name of its folder.
    pub name: String,
    /// What the user asks for.
    pub instruction: String,
    /// What sort of work it is: "failing test", "rename".
    pub kind: Option<String>,
    pub language: Option<String>,
    /// How long the agent may work.
    pub agent_limit: Duration,
    /// How long the check may take.
    pub check_limit: Duration,
    folder: PathBuf,
}

/// Why a task cannot be read. Each message is a sentence.
#[derive(Debug, thiserror::Error)]
pub enum EvalTaskError {
    /// A file or folder of it cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    /// `task.toml` is wrong.
    #[error("{path}: {problem}.")]
    Format {
        path: PathBuf,
        /// The parser's description.
        problem: String,
    },
    /// The folder has no `task.toml`, nor has one of those in it.
    #[error(
        "{0} is not a task and contains none: a task is a folder with task.toml and \
        instruction.md."
    )]
    NoTask(PathBuf),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTask {
    metadata: RawMetadata,
    agent: RawLimit,
    verifier: RawLimit,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMetadata {
    kind: Option<String>,
    language: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLimit {
    timeout_sec: Option<f64>,
}

impl RawLimit {
    fn or(&self, default: f64) -> Duration {
        let given = self.timeout_sec.and_then(|it| Duration::try_from_secs_f64(it).ok());
        given.unwrap_or(Duration::from_secs_f64(default))
    }
}

impl EvalTask {
    /// The task in `folder`, or the tasks in the folders that it holds, by their names.
    ///
    /// # Errors
    ///
    /// When there is no task, or one of them cannot be read.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, EvalTaskError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| EvalTaskError::Read { path: folder.to_owned(), source })?;
        let is_task = |path: &Path| path.join("task.toml").is_file();
        if is_task(&folder) {
            return Ok(vec![Self::read(&folder)?]);
        }
        let unreadable = |source| EvalTaskError::Read { path: folder.clone(), source };
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if is_task(&path) {
                found.push(path);
            }
        }
        if found.is_empty() {
            return Err(EvalTaskError::NoTask(folder));
        }
        found.sort();
        found.iter().map(|path| Self::read(path)).collect()
    }

    fn read(folder: &Path) -> Result<Self, EvalTaskError> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|source| EvalTaskError::Read { path, source })
        };
        let raw: RawTask = toml::from_str(&text("task.toml")?).map_err(|error| {
            let problem = error.message().trim_end_matches('.').to_owned();
            EvalTaskError::Format { path: folder.join("task.toml"), problem }
        })?;
        Ok(Self {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            instruction: text("instruction.md")?,
            kind: raw.metadata.kind,
            language: raw.metadata.language,
            agent_limit: raw.agent.or(DEFAULT_AGENT_LIMIT),
            check_limit: raw.verifier.or(DEFAULT_CHECK_LIMIT),
            folder: folder.to_owned(),
        })
    }

    /// Copies the repository to the empty folder `to`.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or written.
    pub fn copy_environment(&self, to: &Path) -> io::Result<()> {
        copy_folder(&self.folder.join("environment"), to)
    }

    /// The script that says with status 0 that the task is done.
    pub fn check_script(&self) -> PathBuf {
        self.folder.join("tests/test.sh")
    }

    /// The recorded answers of a model, which a run can play; `None` where the task has none.
    pub fn transcript(&self) -> Option<PathBuf> {
        Some(self.folder.join("transcript.toml")).filter(|path| path.is_file())
    }
}

/// Copies a folder with its modes; links stay links.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn tasks_are_read_by_name_with_their_limits() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            write(&folder.path().join(name).join("instruction.md"), "Do it.");
            let text =
                "version = \"1.0\"\n[metadata]\nkind = \"rename\"\n[agent]\ntimeout_sec = 2.5\n";
            write(&folder.path().join(name).join("task.toml"), text);
        }
        write(&folder.path().join("no-task/readme.md"), "");
        let tasks = EvalTask::read_all(folder.path()).unwrap();
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(tasks[0].agent_limit, Duration::from_millis(2500));
        assert_eq!(tasks[0].check_limit, Duration::from_secs(300));
        assert_eq!((tasks[0].kind.as_deref(), tasks[0].transcript()), (Some("rename"), None));
        assert_eq!(EvalTask::read_all(&folder.path().join("b")).unwrap(), tasks[1..]);
    }

    #[test]
    fn what_is_no_task_is_said_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let error = EvalTask::read_all(folder.path()).unwrap_err();
        assert!(matches!(error, EvalTaskError::NoTask(_)), "{error}");
        write(&folder.path().join("x/task.toml"), "[agent\n");
        write(&folder.path().join("x/instruction.md"), "Do it.");
        let error = EvalTask::read_all(folder.path()).unwrap_err().to_string();
        assert!(error.contains("x/task.toml"), "{error}");
        assert!(EvalTask::read_all(&folder.path().join("gone")).is_err());
    }

    #[test]
    fn an_environment_is_copied_with_links_and_modes() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let task = folder.path().join("t");
        write(&task.join("task.toml"), "");
        write(&task.join("instruction.md"), "Do it.");
        let script = task.join("environment/bin/run.sh");
        write(&script, "#!/bin/sh\n");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("bin", task.join("environment/link")).unwrap();
        let to = folder.path().join("copy");
        EvalTask::read_all(&task).unwrap()[0].copy_environment(&to).unwrap();
        let mode = fs::metadata(to.join("link/run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("bin"));
    }
}
