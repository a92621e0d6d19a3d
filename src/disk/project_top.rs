//! The folder of the project that a folder belongs to.

use std::path::{Path, PathBuf};

/// The top of the outermost git repository that holds `folder`, a real path; `folder` itself where
/// none does. What begins at the home folder or above it is the user's, and no project.
pub fn project_top(folder: &Path, home: Option<&Path>) -> PathBuf {
    let real_home = home.and_then(|home| home.canonicalize().ok());
    let homes = [home, real_home.as_deref()];
    let is_of_user = |top: &Path| homes.iter().flatten().any(|home| home.starts_with(top));
    let is_of_project = |top: &&Path| top.parent().is_some() && !is_of_user(top);
    let tops = folder.ancestors().take_while(is_of_project);
    let repositories = tops.filter(|top| top.join(".git").symlink_metadata().is_ok());
    repositories.last().unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_outermost_repository_below_the_home_folder_is_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let at = |path: &str| home.join(path);
        for path in ["plain/src", "app/.git", "app/part/src", "app/part/.git"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let top = |path: &str| project_top(&at(path), Some(&home));
        assert_eq!(top("plain/src"), at("plain/src"));
        assert_eq!(top("app"), at("app"));
        assert_eq!(top("app/part/src"), at("app"));
        // A repository of the user's own files makes no project of all that is in the home folder.
        fs::create_dir(at(".git")).unwrap();
        assert_eq!(top("plain/src"), at("plain/src"));
        assert_eq!(top("app/part/src"), at("app"));
    }
}
