//! Shows paths to the model, and reads those that the model writes.
//!
//! A name that is not UTF-8 or holds control characters is shown in the shell's `$'…'` quoting,
//! which `Bash` takes too, and is read back from it, so that every file can be named exactly.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::similarity::similarity;
use super::{ToolContext, ToolError};

/// The path as plain text, quoted only where it has to be.
pub(super) fn quoted(path: &Path) -> String {
    if let Some(text) = path.to_str()
        && !text.chars().any(char::is_control)
        && !text.starts_with("$'")
    {
        return text.to_owned();
    }
    let mut out = String::from("$'");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\\' | '\'' => out.extend(['\\', c]),
                c if c.is_control() => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        out.push_str(&format!("\\x{byte:02x}"));
                    }
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push('\'');
    out
}

/// Reads back what [`quoted`] made; any other text stays as it is.
pub(super) fn unquoted(text: &str) -> OsString {
    let Some(inner) = text.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\'')) else {
        return OsString::from(text);
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some((&escaped, after)) = rest.split_first() else { break };
        rest = after;
        match escaped {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'x' => {
                let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    bytes.push(byte);
                    rest = &rest[2..];
                }
            }
            other => bytes.push(other),
        }
    }
    OsString::from_vec(bytes)
}

/// The error for a path at which nothing is, with what the model may have meant: only what is there,
/// and inside the working folder. `otherwise` is the advice where nothing is near.
pub(super) async fn missing(context: &ToolContext, path: &Path, otherwise: &str) -> ToolError {
    let shown = context.place.show(path);
    let (searched, cwd) = (path.to_owned(), context.place.cwd.clone());
    let is_hidden = context.is_hidden.clone();
    let near = tokio::task::spawn_blocking(move || suggest(&searched, &cwd, &*is_hidden)).await;
    let advice = match near {
        Ok(PathSuggestion::Paths(paths)) if !paths.is_empty() => {
            let paths: Vec<String> = paths.iter().map(|path| context.place.show(path)).collect();
            format!("Did you mean {}?", paths.join(" or "))
        }
        Ok(PathSuggestion::Folder(folder)) => {
            let folder = context.place.show(&folder);
            format!("Its folder is not there either; `{folder}` is the nearest folder that is.")
        }
        Ok(PathSuggestion::Paths(_)) | Err(_) => otherwise.to_owned(),
    };
    ToolError(format!("There is no {shown}. {advice}"))
}

/// The advice about a file that is not there.
pub(super) const FIND_IT: &str = "Use Glob to search for it.";

enum PathSuggestion {
    /// Paths of which the model may mean one, the most similar first.
    Paths(Vec<PathBuf>),
    /// The folder is missing, too; this is the nearest existing one above it, below the working folder.
    Folder(PathBuf),
}

fn suggest(path: &Path, cwd: &Path, is_hidden: &dyn Fn(&Path) -> bool) -> PathSuggestion {
    let Ok(inside) = path.strip_prefix(cwd) else {
        return PathSuggestion::Paths(same_end_inside(path, cwd, is_hidden));
    };
    // The first part that is missing, and what stands behind it.
    let mut folder = cwd.to_owned();
    let mut parts = inside.components();
    let Some(missing) = parts.find_map(|part| {
        let next = folder.join(part);
        if next.is_dir() {
            folder = next;
            return None;
        }
        Some(part.as_os_str())
    }) else {
        return PathSuggestion::Paths(Vec::new());
    };
    let rest = parts.as_path();
    let mut paths = similar_names(&folder, missing, is_hidden);
    if !rest.as_os_str().is_empty() {
        paths = paths.iter().map(|path| path.join(rest)).filter(|path| path.exists()).collect();
        if paths.is_empty() && folder != cwd && !is_hidden(&folder) {
            return PathSuggestion::Folder(folder);
        }
    }
    paths.retain(|path| !is_hidden(path));
    PathSuggestion::Paths(paths)
}

/// The longest end of a path outside the working folder that names something inside: models make up
/// the folders above a file.
fn same_end_inside(path: &Path, cwd: &Path, is_hidden: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut rest = path.components();
    while rest.next().is_some() && !rest.as_path().as_os_str().is_empty() {
        let inside = cwd.join(rest.as_path());
        if inside.starts_with(cwd) && inside.exists() {
            return Some(inside).filter(|inside| !is_hidden(inside)).into_iter().collect();
        }
    }
    Vec::new()
}

/// What is in a folder under a similar name, the most similar first.
fn similar_names(folder: &Path, wanted: &OsStr, is_hidden: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let wanted = wanted.to_string_lossy().to_lowercase();
    let mut names: Vec<(f32, PathBuf)> = entries
        // A folder may hold a million files; a guess is not worth reading all names.
        .take(5000)
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            (similarity(&wanted, &name), entry.path())
        })
        .filter(|(score, path)| *score >= 0.5 && !is_hidden(path))
        .collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    names.into_iter().take(3).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_plain() {
        for name in ["src/a b.rs", "-x", "trailing ", "👩‍👩‍👧.txt", "con", "it's", "a\\b"]
        {
            assert_eq!(quoted(Path::new(name)), name);
        }
    }

    #[test]
    fn r52_other_names_are_shown_escaped() {
        let name = OsStr::from_bytes(b"caf\xe9\n\x1b\xc2\x85'\\");
        assert_eq!(quoted(Path::new(name)), r"$'caf\xe9\n\x1b\xc2\x85\'\\'");
    }

    proptest! {
        #[test]
        fn r52_every_name_comes_back(bytes: Vec<u8>) {
            let name = OsString::from_vec(bytes);
            prop_assert_eq!(unquoted(&quoted(Path::new(&name))), name);
        }

        #[test]
        fn any_text_can_be_unquoted(text in r"\$'[\\xn0a']{0,12}") {
            unquoted(&text);
        }
    }
}
