//! Files whose word slug takes: settings, hooks and configuration.

use std::fs::Metadata;
use std::io::Read;
use std::iter;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::regular::{FileTextError, open_regular};

/// More than this is nothing that a user wrote.
const MAX_BYTES: u64 = 1 << 20;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserOwnedText {
    /// All of it, with a byte order mark where there is one.
    pub text: String,
    /// Whether the group or everybody may read it, as its mode says.
    pub is_open_to_others: bool,
}

/// Why a file is not obeyed. The messages follow the file's name.
#[derive(Debug, thiserror::Error)]
pub enum UserOwnedTextError {
    /// It gives no text.
    #[error("{0}. Put it right or remove it")]
    Text(#[from] FileTextError),
    /// It is too long.
    #[error("is larger than 1 MB, which no file of this kind is. Put it right or remove it")]
    TooLarge,
    /// It leads to a file that is not there, as on a disk that is not mounted.
    #[error("is a link that leads nowhere. Put back what it leads to, or remove it")]
    LeadsNowhere,
    /// It is another user's.
    #[error(
        "belongs to another user (number {0}), whose word slug does not take. Look at what is in \
         it, then take it over with `chown`, or remove it"
    )]
    Foreign(u32),
}

/// A file's text; `None` when there is no file. A link, or a link in the place of its folder, that
/// leads nowhere is a file that cannot be read: there was one, and nobody knows what it says. Where root works in a folder that is another user's,
/// as on a volume in a container, that user's files in `folder` are the folder's own; otherwise a
/// file is the user's or root's, or it is not obeyed.
pub fn read_user_owned(
    path: &Path,
    folder: Option<&Path>,
) -> Result<Option<UserOwnedText>, UserOwnedTextError> {
    let Some((file, metadata)) = open_regular(path)? else {
        return if leads_nowhere(path) { Err(UserOwnedTextError::LeadsNowhere) } else { Ok(None) };
    };
    let user = rustix::process::geteuid().as_raw();
    let of_folder = folder.filter(|_| user == 0).and_then(|folder| folder.metadata().ok());
    if !is_accepted_owner(metadata.uid(), user, of_folder.as_ref().map(Metadata::uid)) {
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

/// Whether a file that is not there is to be found behind a link, its own or its folder's.
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
    fn a_file_is_obeyed_by_its_owner() {
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
    fn what_is_no_text_of_ones_own_is_refused() {
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
        // Only root can give one away.
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
            let error = read_user_owned(&path, Some(folder.path())).unwrap_err();
            assert!(matches!(error, UserOwnedTextError::Foreign(12_345)), "{error}");
        }
    }
}
