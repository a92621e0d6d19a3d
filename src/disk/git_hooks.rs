//! Whether a repository has hooks, which git runs.

use std::io::ErrorKind;
use std::path::Path;

/// Whether the folder of git's data holds hooks other than the samples that git puts there, which do not
/// run. A folder that cannot be read may hold some.
pub fn has_git_hooks(git_dir: &Path) -> bool {
    let is_sample = |name: &std::ffi::OsStr| name.as_encoded_bytes().ends_with(b".sample");
    match git_dir.join("hooks").read_dir() {
        Ok(mut entries) => !entries.all(|entry| entry.is_ok_and(|it| is_sample(&it.file_name()))),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_no_hooks() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_git_hooks(folder.path()));
        let hooks = folder.path().join("hooks");
        std::fs::create_dir(&hooks).unwrap();
        std::fs::write(hooks.join("pre-commit.sample"), "").unwrap();
        assert!(!has_git_hooks(folder.path()));
        std::fs::write(hooks.join("pre-commit"), "").unwrap();
        assert!(has_git_hooks(folder.path()));
    }
}
