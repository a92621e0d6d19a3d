//! Reads the user's themes. A theme that cannot be read is left out with a sentence.

use std::path::Path;

use crate::disk::read_text;
use crate::tui::theme::ThemeLibrary;
use crate::tui::theme::library::UserTheme;

/// The largest theme file that is read, in bytes; a theme is a page of text.
const MAX_THEME_BYTES: u64 = 64 << 10;

/// slug's own themes and those in `folder`, which may be missing.
pub(super) fn library(folder: &Path) -> ThemeLibrary {
    let Ok(entries) = folder.read_dir() else { return ThemeLibrary::default() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let (mut own, mut left_out) = (Vec::new(), Vec::new());
    for path in paths {
        match read(&path) {
            Ok(theme) => own.extend(theme),
            Err(why) => left_out.push(why),
        }
    }
    left_out.sort();
    ThemeLibrary::new(own).with_unreadable_files(left_out)
}

/// The theme in a file. `None` when the file is not a theme; a sentence when it cannot be read.
fn read(path: &Path) -> Result<Option<UserTheme>, String> {
    if path.extension().is_none_or(|end| end != "toml") {
        return Ok(None);
    }
    let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { return Ok(None) };
    let text = read_text(path, MAX_THEME_BYTES).map_err(|error| {
        tracing::warn!(path = %path.display(), %error, "a theme was left out");
        format!("{}: this theme was left out: {error}", path.display())
    })?;
    Ok(text.map(|text| UserTheme { name: name.to_owned(), path: path.to_owned(), text }))
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
        assert_eq!(library.names().len(), ThemeLibrary::default().names().len() + 1);
        let left_out: Vec<_> =
            library.unreadable_files().iter().map(|why| why.rsplit('/').next().unwrap()).collect();
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        assert!(left_out[0].starts_with("binary.toml: this theme was left out: "), "{left_out:?}");
        let nowhere = super::library(&folder.path().join("none"));
        assert_eq!(nowhere, ThemeLibrary::default());
    }
}
