//! Paths as `file:` addresses, and back.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The address of an absolute path.
pub(super) fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// The path that a `file:` address of this machine means; `None` for any other address.
pub(super) fn path_of_uri(uri: &str) -> Option<PathBuf> {
    let scheme = uri.get(..7).filter(|it| it.eq_ignore_ascii_case("file://"))?;
    let rest = &uri[scheme.len()..];
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(rest.len()), rest.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    (!bytes.contains(&0)).then(|| OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_as_they_went() {
        for path in ["/w/a.rs", "/w/ä b#?%41/\u{1f600}", "/", "/a\\b:c"] {
            let uri = file_uri(Path::new(path));
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(path_of_uri(&uri), Some(PathBuf::from(path)), "{uri}");
        }
        let bytes = PathBuf::from(OsString::from_vec(b"/w/\xff".to_vec()));
        assert_eq!(path_of_uri(&file_uri(&bytes)), Some(bytes));
    }

    #[test]
    fn only_files_of_this_machine_are_paths() {
        for (uri, path) in [
            ("file:///w/a%3Ab", Some("/w/a:b")),
            ("FILE://localhost/w", Some("/w")),
            ("file:///w/100%", Some("/w/100%")),
            ("file:///w/%zz", Some("/w/%zz")),
            ("file://host/w", None),
            ("file:///w/%00", None),
            ("jdt://contents/rt.jar", None),
            ("/w/a", None),
            ("", None),
        ] {
            assert_eq!(path_of_uri(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}
