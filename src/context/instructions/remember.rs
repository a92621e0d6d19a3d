//! Adding a line to an instruction file: which line, where it goes in the text, and which file is written.
//! Writing it is the agent's, through its files.

use std::fs;
use std::path::{Path, PathBuf};

use super::report::RememberPlace;
use super::{InstructionScope, RememberLevel, leads_outside};
use crate::domain::sanitize::sanitize_line;
use crate::domain::strip_invisible;

/// The most characters of a line.
const MAX_LINE: usize = 2000;

/// Why a line cannot be remembered. Each text is a sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum RememberError {
    #[error("No text after the #. Type what to remember.")]
    Empty,
    #[error(
        "The line has over {MAX_LINE} characters. Shorten it, or write it into the file with \
         /memory."
    )]
    TooLong,
    #[error(
        "This folder is not trusted, so slug does not read its instruction files. Choose your own \
         file."
    )]
    NotTrusted,
    #[error(
        "{0} is a symbolic link to a file outside the project, so slug does not write to it. Edit \
         the file with /memory."
    )]
    LinkOutside(PathBuf),
    #[error("{0} is a link that leads nowhere. Remove it, or make the file that it names.")]
    BrokenLink(PathBuf),
    #[error("{0} is not a file with text. Move it away, so that slug can make one.")]
    NotText(PathBuf),
    #[error("{0} is over 256 KB, which is too much for instructions. Shorten it first.")]
    TooBig(PathBuf),
}

/// The list item that a typed line with `#` in front becomes.
///
/// # Errors
///
/// When nothing is left of it, or it is too long.
pub fn remembered_line(typed: &str) -> Result<String, RememberError> {
    let text = strip_invisible(typed.trim_start().trim_start_matches('#')).text;
    let text = sanitize_line(text.trim());
    match text.chars().count() {
        0 => Err(RememberError::Empty),
        1..=MAX_LINE => Ok(format!("- {text}")),
        _ => Err(RememberError::TooLong),
    }
}

/// The text of a file with the line at its end: below the last item of a list, else as a list of its own.
pub fn with_line(text: &str, line: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let body = text.trim_end();
    let last = body.lines().next_back().unwrap_or_default().trim_start();
    let is_list = ["- ", "* ", "+ "].iter().any(|mark| last.starts_with(mark));
    let gap = match (body.is_empty(), is_list) {
        (true, _) => String::new(),
        (false, true) => end.to_owned(),
        (false, false) => end.repeat(2),
    };
    format!("{body}{gap}{line}{end}")
}

impl InstructionScope<'_> {
    /// The file of a level as a real path, where no link is left.
    ///
    /// # Errors
    ///
    /// When the project is not trusted, or a link leads nowhere or out of the project.
    pub fn remember_place(&self, level: RememberLevel) -> Result<RememberPlace, RememberError> {
        let mut places = self.remember_places().into_iter();
        let place = places.find(|it| it.level == level).ok_or(RememberError::NotTrusted)?;
        if let (RememberLevel::Project, Some(root)) = (level, self.project.first())
            && leads_outside(&place.path, root)
        {
            return Err(RememberError::LinkOutside(place.path));
        }
        let real = match fs::symlink_metadata(&place.path) {
            Ok(_) => fs::canonicalize(&place.path),
            // Only the folder can be a link.
            Err(_) => real_below(&place.path),
        };
        match real {
            Ok(path) => Ok(RememberPlace { path, ..place }),
            Err(_) => Err(RememberError::BrokenLink(place.path)),
        }
    }
}

fn real_below(path: &Path) -> std::io::Result<PathBuf> {
    let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    Ok(fs::canonicalize(folder)?.join(name))
}
