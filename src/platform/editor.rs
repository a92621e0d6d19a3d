//! Hands a text to the person's editor and takes it back.
//!
//! The caller has given the terminal back before (`Screen::lend`) and nobody reads keys meanwhile.

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

/// Runs `editor` on `text` and waits for it. The file lies in `folder` (private), for as long.
pub fn edit(editor: &OsStr, text: &str, folder: &Path) -> Result<String, EditorError> {
    let mut file = tempfile::Builder::new().prefix("slug-").suffix(".md").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    // The shell splits the editor's arguments, as it does for git.
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    let status = Command::new("sh")
        .arg("-c")
        .arg(line)
        .arg("editor")
        .arg(file.path())
        .status()
        .map_err(EditorError::NotStarted)?;
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
    fn a_failed_editor_leaves_the_text_alone() {
        let error = edit_with("sh -c 'echo lost > \"$1\"; exit 1' it", "kept").unwrap_err();
        assert!(matches!(error, EditorError::Failed { .. }), "{error}");
        let error = edit_with("no-such-editor-anywhere", "kept").unwrap_err();
        assert!(error.to_string().contains("no-such-editor-anywhere"), "{error}");
    }
}
