//! Finds the data that a repository has of its submodules, checked out or not.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most files and folders that are looked at.
const LIMIT: usize = 10_000;

/// The folders with the data of submodules, and of those within them, below git's own folder. `None` where
/// they cannot be told: one cannot be read or is a link, or there are too many.
pub fn git_modules(git_dir: &Path) -> Option<Vec<PathBuf>> {
    let (mut left, mut found) = (LIMIT, Vec::new());
    let mut ahead = vec![git_dir.join("modules")];
    while let Some(folder) = ahead.pop() {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        // The name of a submodule may have slashes.
        for entry in entries {
            left = left.checked_sub(1)?;
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            let path = entry.path();
            if kind.is_symlink() {
                return None;
            }
            if !kind.is_dir() {
                continue;
            }
            if path.join("HEAD").symlink_metadata().is_ok() {
                ahead.push(path.join("modules"));
                found.push(path);
            } else {
                ahead.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn submodules_are_found_within_others_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path();
        assert_eq!(git_modules(git), Some(Vec::new()));
        let data = ["modules/a/b", "modules/a/b/modules/c"].map(|name| git.join(name));
        for path in &data {
            fs::create_dir_all(path).unwrap();
            fs::write(path.join("HEAD"), "").unwrap();
        }
        fs::write(git.join("modules/file"), "").unwrap();
        assert_eq!(git_modules(git), Some(data.to_vec()));
        symlink("a", git.join("modules/link")).unwrap();
        assert_eq!(git_modules(git), None);
    }
}
