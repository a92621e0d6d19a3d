//! Hands a text to the person's editor and takes it back, or to their pager.
//!
//! The caller has given the terminal back before (`TerminalGuard::lend`) and nobody reads keys meanwhile.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::{env, fs};

/// Why there is no edited text. The old one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The file to edit could not be made or read.
    #[error("cannot keep the text in a file for the editor: {0}")]
    File(#[from] io::Error),
    /// The editor could not be started.
    #[error("cannot start the editor: {0}. Set $VISUAL or $EDITOR to one that is installed.")]
    NotStarted(io::Error),
    /// The pager could not be started.
    #[error("cannot start the pager: {0}. Set $PAGER to one that is installed.")]
    PagerNotStarted(io::Error),
    /// The pager says that it failed.
    #[error("the pager `{pager}` ended with {status}. Set $PAGER to one that is installed.")]
    PagerFailed {
        /// As in the environment.
        pager: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It says that it failed; what was saved is dropped, as other programs do.
    #[error("the editor `{editor}` ended with {status}; the text is as it was before")]
    Failed {
        /// As in the environment.
        editor: String,
        /// How it ended.
        status: ExitStatus,
    },
}

/// The person's editor: `$VISUAL`, else `$EDITOR`, else vi. May hold arguments (`code --wait`).
pub fn command() -> OsString {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| "vi".into())
}

/// The person's pager: `$PAGER`, else less. May hold arguments.
pub fn pager() -> OsString {
    env::var_os("PAGER").filter(|value| !value.is_empty()).unwrap_or_else(|| "less".into())
}

/// Shows `text` in `pager` and waits for it. The file lies in `folder` (private), for as long.
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

/// Runs a program of the person's on a file.
fn run(program: &OsStr, file: &Path) -> io::Result<ExitStatus> {
    // The shell splits the program's arguments, as it does for git.
    let mut line = program.to_owned();
    line.push(" \"$@\"");
    Command::new("/bin/sh").arg("-c").arg(line).arg("program").arg(file).status()
}

/// Runs `editor` on `text` and waits for it. The file lies in `folder` (private), for as long.
pub fn edit(editor: &OsStr, text: &str, folder: &Path) -> Result<String, EditorError> {
    let mut file = tempfile::Builder::new().prefix("slug-").suffix(".md").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let status = run(editor, file.path()).map_err(EditorError::NotStarted)?;
    if !status.success() {
        return Err(EditorError::Failed { editor: editor.to_string_lossy().into_owned(), status });
    }
    // By its name, since many editors save by renaming. Editors end a file with a newline.
    let edited = fs::read(file.path())?;
    let edited = String::from_utf8_lossy(&edited);
    Ok(edited.strip_suffix('\n').unwrap_or(&edited).replace("\r\n", "\n"))
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
}
