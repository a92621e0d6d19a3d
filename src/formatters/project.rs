//! Which formatter a project uses for a file, and what of the project its command needs. Blocks.

use std::path::{Path, PathBuf};

use crate::disk::read_text;

use super::definition::{ConfigurationSign, FormatterDefinition, SignWeight};

/// The most bytes that are read of a file that may configure a formatter.
const MAX_CONFIGURATION: u64 = 256 << 10;

/// Where a project has programs of its own, from the folder of its configuration upwards.
const PROJECT_PROGRAMS: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];

/// A formatter for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormatterChoice {
    pub(super) definition: FormatterDefinition,
    /// The folder with the sign: the formatter runs there.
    pub(super) root: PathBuf,
    pub(super) weight: SignWeight,
    /// The file's real path.
    pub(super) file: PathBuf,
}

/// The formatter for a file in `workspace`, which has no links; `None` where the project has none.
pub(super) fn choose(
    definitions: &[FormatterDefinition],
    file: &Path,
    workspace: &Path,
) -> Option<FormatterChoice> {
    let extension = file.extension()?.to_str()?.to_ascii_lowercase();
    let fitting: Vec<&FormatterDefinition> =
        definitions.iter().filter(|it| it.extensions.contains(&extension)).collect();
    if fitting.is_empty() {
        return None;
    }
    let file = real_path(file)?;
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace)).collect();
    let workspace_folder = folders.last()?;
    let chosen = folders.iter().find_map(|folder| {
        let mut fitting = fitting.iter().copied();
        let definition = fitting.find(|it| weight_in(folder, &it.signs).is_some())?;
        Some((definition, *folder))
    });
    // The user's own, for every project.
    let for_all = || {
        let definition = fitting.iter().copied().find(|it| it.signs.is_empty())?;
        Some((definition, *workspace_folder))
    };
    let (definition, root) = chosen.or_else(for_all)?;
    let is_configured = definition.signs.is_empty()
        || folders
            .iter()
            .any(|folder| weight_in(folder, &definition.signs) == Some(SignWeight::Configured));
    let weight = if is_configured { SignWeight::Configured } else { SignWeight::Usual };
    Some(FormatterChoice { definition: definition.clone(), root: existing(root), weight, file })
}

/// The most that the signs in a folder say.
fn weight_in(folder: &Path, signs: &[ConfigurationSign]) -> Option<SignWeight> {
    let mut there = signs.iter().filter(|sign| has_sign(folder, sign)).map(|sign| sign.weight);
    let first = there.next()?;
    let is_configured = |weight| weight == SignWeight::Configured;
    Some(if is_configured(first) || there.any(is_configured) {
        SignWeight::Configured
    } else {
        first
    })
}

fn has_sign(folder: &Path, sign: &ConfigurationSign) -> bool {
    let path = folder.join(&sign.file);
    if sign.text.is_empty() {
        return path.is_file();
    }
    let text = read_text(&path, MAX_CONFIGURATION).ok().flatten();
    text.is_some_and(|text| text.contains(&sign.text))
}

/// The path with all links followed; of a file that is not there yet, as far as there is something.
fn real_path(file: &Path) -> Option<PathBuf> {
    let (there, real) =
        file.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let rest = file.strip_prefix(there).ok()?;
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

/// The nearest folder that exists.
fn existing(folder: &Path) -> PathBuf {
    folder.ancestors().find(|it| it.is_dir()).unwrap_or(folder).to_owned()
}

/// The command's arguments for the file.
pub(super) fn arguments(choice: &FormatterChoice, workspace: &Path) -> Option<Vec<String>> {
    let file = choice.file.to_str()?;
    let mut words = Vec::new();
    for word in choice.definition.command.iter().skip(1) {
        if word == "{edition}" {
            if let Some(edition) = rust_edition(&choice.file, workspace) {
                words.extend(["--edition".to_owned(), edition]);
            }
        } else {
            words.push(word.replace("{file}", file));
        }
    }
    Some(words)
}

/// The edition of the package that a file belongs to; `None` where there is no package. Without a word
/// about it an edition is 2015, as for cargo.
fn rust_edition(file: &Path, workspace: &Path) -> Option<String> {
    let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace));
    let mut has_package = false;
    for folder in folders {
        let text = read_text(&folder.join("Cargo.toml"), MAX_CONFIGURATION).ok().flatten();
        let Some(text) = text else { continue };
        let named = text.lines().find_map(|line| {
            let value = line.trim().strip_prefix("edition")?.trim_start().strip_prefix('=')?;
            let value = value.trim().trim_start_matches(['"', '\'']);
            let year: String = value.chars().take_while(char::is_ascii_digit).collect();
            (year.len() == 4).then_some(year)
        });
        if named.is_some() {
            return named;
        }
        has_package |= text.lines().any(|line| line.trim() == "[package]");
        // It may be the workspace's, further up.
        if has_package && !text.contains("workspace") {
            break;
        }
    }
    has_package.then(|| "2015".to_owned())
}

/// The project's own programs by this name, the nearest first.
pub(super) fn own_programs(name: &str, root: &Path, workspace: &Path) -> Vec<PathBuf> {
    let folders = root.ancestors().take_while(|folder| folder.starts_with(workspace));
    let candidates =
        folders.flat_map(|folder| PROJECT_PROGRAMS.map(|it| folder.join(it).join(name)));
    candidates.filter(|path| path.is_file()).collect()
}
