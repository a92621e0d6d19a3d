//! Files whose content slug obeys: settings, hooks and configuration. Such a file has to belong to
//! the user or to root, so that no other user can give slug orders.

use std::fs::Metadata;
use std::io::Read;
use std::iter;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::regular::{FileTextError, open_regular};

/// In bytes. A larger file is not one that a user wrote.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a file that slug may obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserOwnedText {
    /// The whole text, with its byte order mark where there is one.
    pub text: String,
    /// Whether the file's mode lets the group or everybody read it.
    pub is_open_to_others: bool,
}

/// Why slug does not obey a file. The messages follow the file's name.
#[derive(Debug, thiserror::Error)]
pub enum UserOwnedTextError {
    /// It is not a text file, or cannot be read.
    #[error("{0}. Repair or remove it")]
    Text(#[from] FileTextError),
    /// It is longer than `MAX_BYTES`.
    #[error("is larger than 1 MB, too large for a file of this kind. Repair or remove it")]
    TooLarge,
    /// It is a link to a file that does not exist, for example on a disk that is not mounted.
    #[error("is a broken link. Restore its target, or remove it")]
    LeadsNowhere,
    /// It belongs to another user; this is that user's number.
    #[error(
        "belongs to another user (uid {0}), so slug ignores it. Check its content, then take it \
         over with `chown`, or remove it"
    )]
    Foreign(u32),
}

/// The text of a file; `None` when there is no file. Where the path or its folder is a link that
/// leads nowhere, the file cannot be read: it existed, and its content is unknown.
///
/// The file has to belong to the user or to root. Where root works in a folder that belongs to
/// another user, such as a volume in a container, that user's files in `folder` are accepted, too.
///
/// # Errors
///
/// When the file is too large, is not a text file, cannot be read, belongs to another user, or is a
/// link that leads nowhere. The error says which.
pub fn read_user_owned(
    path: &Path,
    folder: Option<&Path>,
) -> Result<Option<UserOwnedText>, UserOwnedTextError> {
    let Some((file, metadata)) = open_regular(path)? else {
        return if leads_nowhere(path) { Err(UserOwnedTextError::LeadsNowhere) } else { Ok(None) };
    };
    let user = rustix::process::geteuid().as_raw();
    let folder_metadata = folder.filter(|_| user == 0).and_then(|folder| folder.metadata().ok());
    if !is_accepted_owner(metadata.uid(), user, folder_metadata.as_ref().map(Metadata::uid)) {
        return Err(UserOwnedTextError::Foreign(metadata.uid()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(FileTextError::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(UserOwnedTextError::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| FileTextError::NotText)?;
    if text.contains('\0') {
        return Err(FileTextError::NotText.into());
    }
    let is_open_to_others = metadata.permissions().mode() & 0o044 != 0;
    Ok(Some(UserOwnedText { text, is_open_to_others }))
}

/// Whether a missing file is the target of a dangling link, its own or its folder's.
fn leads_nowhere(path: &Path) -> bool {
    let mut places = iter::once(path).chain(path.parent());
    places.any(|place| place.is_symlink() && place.metadata().is_err())
}

fn is_accepted_owner(owner: u32, user: u32, folder: Option<u32>) -> bool {
    owner == user || owner == 0 || Some(owner) == folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_accepted_or_refused_by_its_owner() {
        for (owner, user, folder, expected) in [
            (1000, 1000, None, true),
            (0, 1000, None, true),
            (0, 0, None, true),
            (1001, 1000, None, false),
            (1001, 0, None, false),
            (1001, 0, Some(1001), true),
            (1002, 0, Some(1001), false),
        ] {
            assert_eq!(
                is_accepted_owner(owner, user, folder),
                expected,
                "{owner} {user} {folder:?}"
            );
        }
    }

    #[test]
    fn files_that_are_not_text_or_not_the_users_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        assert!(matches!(read_user_owned(&path, None), Ok(None)));
        let nowhere = folder.path().join("nowhere");
        for (link, path) in [("link", "link"), ("folder", "folder/f")] {
            std::os::unix::fs::symlink(&nowhere, folder.path().join(link)).unwrap();
            let error = read_user_owned(&folder.path().join(path), None).unwrap_err();
            assert!(matches!(error, UserOwnedTextError::LeadsNowhere), "{path}: {error}");
        }
        std::fs::create_dir(&nowhere).unwrap();
        assert!(matches!(read_user_owned(&folder.path().join("folder/f"), None), Ok(None)));
        std::fs::write(&path, "x".repeat(1 << 20)).unwrap();
        assert!(matches!(read_user_owned(&path, None), Ok(Some(_))));
        std::fs::write(&path, "x".repeat((1 << 20) + 1)).unwrap();
        assert!(matches!(read_user_owned(&path, None), Err(UserOwnedTextError::TooLarge)));
        std::fs::write(&path, "a\0b").unwrap();
        assert!(matches!(read_user_owned(&path, None), Err(UserOwnedTextError::Text(_))));
        std::fs::write(&path, "x").unwrap();
        for (mode, is_open) in [(0o600, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_user_owned(&path, None).unwrap().unwrap().is_open_to_others, is_open);
        }
        // Only root can give a file to another user.
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
            let error = read_user_owned(&path, Some(folder.path())).unwrap_err();
            assert!(matches!(error, UserOwnedTextError::Foreign(12_345)), "{error}");
        }
    }
}
