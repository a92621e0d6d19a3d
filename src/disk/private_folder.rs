//! Temporary folders that no other user of the machine can look into.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

/// A new folder for temporary files, which only this user can enter, and which is removed when the value
/// is dropped. Its name begins with `prefix`.
///
/// # Errors
///
/// When it cannot be made.
pub fn private_folder(prefix: &str) -> io::Result<TempDir> {
    private_folder_in(&std::env::temp_dir(), prefix)
}

/// Like [`private_folder`], in the folder `parent`.
///
/// # Errors
///
/// When it cannot be made.
pub fn private_folder_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter() {
        let folder = private_folder("slug-test-").unwrap();
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
