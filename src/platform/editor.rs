//! Opens a text in the user's editor and reads it back, or shows a text in the user's pager.
//!
//! The caller gives the terminal back first (`TerminalGuard::lend`) and reads no keys meanwhile.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::{env, fs};

use crate::disk::read_regular;

/// How much of a file is compared with what it was before.
const MAX_COMPARED: u64 = 1 << 20;

/// Why there is no edited text. The old text is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    #[error("cannot save the text for the editor: {0}")]
    File(#[from] io::Error),
    #[error("cannot start the editor: {0}. Set $VISUAL or $EDITOR to one that is installed.")]
    NotStarted(io::Error),
    #[error("cannot start the pager: {0}. Set $PAGER to one that is installed.")]
    PagerNotStarted(io::Error),
    #[error("the pager `{pager}` ended with {status}. Set $PAGER to one that is installed.")]
    PagerFailed {
        /// The command line from the environment.
        pager: String,
        status: ExitStatus,
    },
    /// The editor ended with an error. The text that it saved is dropped, as other programs do.
    #[error("the editor `{editor}` ended with {status}; the text is unchanged")]
    Failed {
        /// The command line from the environment.
        editor: String,
        status: ExitStatus,
    },
}

/// The user's editor: `$VISUAL`, else `$EDITOR`, else vi. May hold arguments (`code --wait`).
pub fn command() -> OsString {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| "vi".into())
}

/// The user's pager: `$PAGER`, else less. May hold arguments.
pub fn pager() -> OsString {
    env::var_os("PAGER").filter(|value| !value.is_empty()).unwrap_or_else(|| "less".into())
}

/// Shows `text` in `pager` and waits for it. The text is in a file in `folder` (private) meanwhile.
///
/// # Errors
///
/// When the file cannot be written, or the pager cannot be started or ends with a failure.
pub fn page(pager: &OsStr, text: &str, folder: &Path) -> Result<(), EditorError> {
    let mut file = tempfile::Builder::new().prefix("slug-").suffix(".txt").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let status = run(pager, file.path()).map_err(EditorError::PagerNotStarted)?;
    if !status.success() {
        let pager = pager.to_string_lossy().into_owned();
        return Err(EditorError::PagerFailed { pager, status });
    }
    Ok(())
}

/// Runs the editor or the pager on a file.
fn run(program: &OsStr, file: &Path) -> io::Result<ExitStatus> {
    // The shell splits the program's arguments, as it does for git.
    let mut line = program.to_owned();
    line.push(" \"$@\"");
    Command::new("/bin/sh").arg("-c").arg(line).arg("program").arg(file).status()
}

/// Runs `editor` on `text` and returns the saved text. It is in a file in `folder` (private)
/// meanwhile. The newline that editors add at the end is removed.
///
/// # Errors
///
/// When the file cannot be written or read, or the editor cannot be started or ends with a failure.
pub fn edit(editor: &OsStr, text: &str, folder: &Path) -> Result<String, EditorError> {
    let mut file = tempfile::Builder::new().prefix("slug-").suffix(".md").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let status = run(editor, file.path()).map_err(EditorError::NotStarted)?;
    if !status.success() {
        return Err(EditorError::Failed { editor: editor.to_string_lossy().into_owned(), status });
    }
    // Opened by name again, since many editors save by renaming. Editors end a file with a newline.
    let edited = fs::read(file.path())?;
    let edited = String::from_utf8_lossy(&edited);
    Ok(edited.strip_suffix('\n').unwrap_or(&edited).replace("\r\n", "\n"))
}

/// Runs `editor` on a file of the user's and returns its text before and after, each as far as it can be
/// read; empty without a file.
///
/// # Errors
///
/// When the editor cannot be started or ends with a failure.
pub fn edit_file(editor: &OsStr, path: &Path) -> Result<[String; 2], EditorError> {
    let text = || {
        let bytes = read_regular(path, MAX_COMPARED).ok().flatten();
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let before = text();
    let status = run(editor, path).map_err(EditorError::NotStarted)?;
    if !status.success() {
        return Err(EditorError::Failed { editor: editor.to_string_lossy().into_owned(), status });
    }
    Ok([before, text()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit_with(editor: &str, text: &str) -> Result<String, EditorError> {
        edit(editor.as_ref(), text, tempfile::tempdir().unwrap().path())
    }

    #[test]
    fn the_saved_text_comes_back() {
        let editor =
            "sh -c 'cat \"$1\" > \"$1.new\"; echo more >> \"$1.new\"; mv \"$1.new\" \"$1\"' it";
        assert_eq!(edit_with(editor, "one ").unwrap(), "one more");
    }

    #[test]
    fn the_pager_gets_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let got = folder.path().join("got");
        let pager = format!("sh -c 'cat \"$1\" > \"{}\"' it", got.display());
        page(pager.as_ref(), "all of it", folder.path()).unwrap();
        assert_eq!(fs::read_to_string(got).unwrap(), "all of it");
        let error = page("no-such-pager".as_ref(), "", folder.path()).unwrap_err();
        assert!(error.to_string().contains("no-such-pager"), "{error}");
    }

    #[test]
    fn a_failed_editor_leaves_the_text_alone() {
        let error = edit_with("sh -c 'echo lost > \"$1\"; exit 1' it", "kept").unwrap_err();
        assert!(matches!(error, EditorError::Failed { .. }), "{error}");
        let error = edit_with("no-such-editor-anywhere", "kept").unwrap_err();
        assert!(error.to_string().contains("no-such-editor-anywhere"), "{error}");
    }

    #[test]
    fn a_file_is_edited_where_it_is_and_may_be_new() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("SLUG.md");
        let editor = "sh -c 'echo more >> \"$1\"' it";
        let texts = |editor: &str| edit_file(editor.as_ref(), &file);
        assert_eq!(texts(editor).unwrap(), ["", "more\n"]);
        assert_eq!(texts(editor).unwrap(), ["more\n", "more\nmore\n"]);
        assert!(matches!(texts("false"), Err(EditorError::Failed { .. })));
        assert!(texts("no-such-editor-anywhere").is_err());
    }
}
