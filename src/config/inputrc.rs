//! readline's `set editing-mode`, which shells follow and slug too, where no keys are configured.
//!
//! See readline(3), "Variables" and "Conditional Init Constructs". Only what holds for every program
//! counts: lines inside `$if` are left out. `$include` is not followed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{ConfigOrigin, ConfigValue, KeyPreset};
use crate::disk::read_text;

/// The file for all users.
const SYSTEM_FILE: &str = "/etc/inputrc";

/// The most bytes that are read of a file; far more than any needs.
const MAX_BYTES: u64 = 256 << 10;

/// The files that may set the mode, in the order in which they are asked: the one that `variable`
/// (`INPUTRC`) names, or else the user's own and the one for all users.
pub fn inputrc_files(variable: Option<OsString>, user_home: Option<&Path>) -> Vec<PathBuf> {
    if let Some(named) = variable.filter(|it| !it.is_empty()) {
        return vec![PathBuf::from(named)];
    }
    let own = user_home.map(|home| home.join(".inputrc"));
    own.into_iter().chain([PathBuf::from(SYSTEM_FILE)]).collect()
}

/// The keys of the first file that names an editing mode. A file that is missing, unreadable or no
/// regular file names none.
pub(super) fn editing_mode(files: &[PathBuf]) -> Option<ConfigValue<KeyPreset>> {
    files.iter().find_map(|path| {
        let text = read_text(path, MAX_BYTES).ok().flatten()?;
        let (value, line) = parse(&text)?;
        Some(ConfigValue { value, origin: ConfigOrigin::File { path: path.clone(), line } })
    })
}

/// The last mode that a file sets, and its line from 1.
fn parse(text: &str) -> Option<(KeyPreset, usize)> {
    let (mut depth, mut found) = (0_usize, None);
    for (at, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("$if") => depth += 1,
            Some("$endif") => depth = depth.saturating_sub(1),
            Some("set")
                if depth == 0
                    && words.next().is_some_and(|it| it.eq_ignore_ascii_case("editing-mode")) =>
            {
                let value = words.next().unwrap_or_default().to_ascii_lowercase();
                let preset = match value.as_str() {
                    "vi" => Some(KeyPreset::Vi),
                    "emacs" => Some(KeyPreset::Emacs),
                    // readline leaves other values out, too.
                    _ => None,
                };
                found = preset.map(|preset| (preset, at + 1)).or(found);
            }
            Some(_) | None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::testing::make_fifo;

    #[test]
    fn the_last_line_that_holds_for_every_program_counts() {
        for (text, found) in [
            ("", None),
            ("set editing-mode vi", Some((KeyPreset::Vi, 1))),
            ("  set   Editing-Mode\tEMACS  ", Some((KeyPreset::Emacs, 1))),
            ("set editing-mode emacs\n\nset editing-mode vi\n", Some((KeyPreset::Vi, 3))),
            ("set editing-mode vi\nset editing-mode qwerty", Some((KeyPreset::Vi, 1))),
            ("# set editing-mode vi", None),
            ("\"\\C-x\": \"set editing-mode vi\"", None),
            ("set editing-mode", None),
            ("set bell-style none", None),
            ("$if Python\nset editing-mode vi\n$endif", None),
            (
                "$if a\n$if b\n$endif\nset editing-mode vi\n$endif\nset editing-mode emacs",
                Some((KeyPreset::Emacs, 6)),
            ),
            ("$endif\nset editing-mode vi", Some((KeyPreset::Vi, 2))),
        ] {
            assert_eq!(parse(text), found, "{text:?}");
        }
    }

    #[test]
    fn the_users_file_comes_first_and_only_regular_files_count() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join(".inputrc");
        assert_eq!(
            inputrc_files(None, Some(home.path())),
            [own.clone(), PathBuf::from("/etc/inputrc")]
        );
        let named = inputrc_files(Some("/x/rc".into()), Some(home.path()));
        assert_eq!(named, [PathBuf::from("/x/rc")]);
        assert_eq!(inputrc_files(Some("".into()), None), [PathBuf::from("/etc/inputrc")]);

        let system = home.path().join("system");
        fs::write(&system, "\nset editing-mode vi\n").unwrap();
        let files = [own.clone(), system.clone()];
        let of_system = ConfigValue {
            value: KeyPreset::Vi,
            origin: ConfigOrigin::File { path: system, line: 2 },
        };
        assert_eq!(editing_mode(&files), Some(of_system.clone()), "without a file of the user's");
        fs::create_dir(&own).unwrap();
        assert_eq!(editing_mode(&files), Some(of_system.clone()), "a folder in its place");
        fs::remove_dir(&own).unwrap();
        make_fifo(&own);
        assert_eq!(editing_mode(&files), Some(of_system), "a FIFO in its place, without waiting");
        fs::remove_file(&own).unwrap();
        fs::write(&own, "set editing-mode emacs\n").unwrap();
        assert_eq!(editing_mode(&files).map(|it| it.value), Some(KeyPreset::Emacs));
        assert_eq!(editing_mode(&[]), None);
    }
}
