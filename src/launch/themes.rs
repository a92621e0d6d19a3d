//! Reads the person's themes.

use std::path::Path;

use crate::config::read_text;
use crate::tui::theme::Library;
use crate::tui::theme::library::OwnTheme;

/// A theme is a page of text; what is longer is something else.
const LONGEST: u64 = 64 << 10;

/// The themes in `folder`, which need not be there, with those that slug brings.
pub(super) fn library(folder: &Path) -> Library {
    let Ok(entries) = folder.read_dir() else { return Library::default() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    Library::new(paths.filter_map(|path| own(&path)).collect())
}

fn own(path: &Path) -> Option<OwnTheme> {
    if path.extension().is_none_or(|end| end != "toml") {
        return None;
    }
    let name = path.file_stem()?.to_str()?.to_owned();
    match read_text(path, LONGEST) {
        Ok(text) => Some(OwnTheme { name, path: path.to_owned(), text: text? }),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a theme was left out");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_toml_file_is_a_theme_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.toml"), "kind = \"light\"").unwrap();
        fs::write(folder.path().join("notes.md"), "no").unwrap();
        fs::write(folder.path().join("binary.toml"), b"\xff\0").unwrap();
        fs::create_dir(folder.path().join("folder.toml")).unwrap();
        let library = library(folder.path());
        assert!(library.check("mine").is_ok());
        assert_eq!(library.names().len(), Library::default().names().len() + 1);
        let nowhere = super::library(&folder.path().join("none"));
        assert_eq!(nowhere, Library::default());
    }
}
