//! Paths as text: nothing here accesses the disk.

use std::path::{Component, Path, PathBuf};

/// The variable that tells commands where the session's scratch folder is.
pub const SCRATCH_VARIABLE: &str = "SLUG_SCRATCH";

/// The folders in which the kernel shows the running system and its devices.
pub const SYSTEM_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// `path` without `.` and `..`. Purely lexical: symbolic links are not resolved.
pub fn clean_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::with_capacity(path.as_os_str().len());
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component);
            }
        }
    }
    clean
}
