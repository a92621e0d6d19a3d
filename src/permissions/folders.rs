//! The folders that a command may run in. `cd` moves what follows it, and may fail.

use std::path::{Path, PathBuf};

use super::shell::{CommandOrder, ShellWord, SimpleCommand};

/// A command that may be in more folders than this is treated as one whose folder is unknown.
const MAX_FOLDERS: usize = 8;

/// The folders that a command may be in, updated from one part of the line to the next.
pub(super) struct PossibleFolders {
    /// Where the command in hand may run. Never empty, so that absolute paths are always looked up.
    pub(super) current: Vec<PathBuf>,
    /// Where any command so far may have run, since a `cd` may fail.
    pub(super) visited: Vec<PathBuf>,
    pub(super) has_unknown: bool,
}

impl PossibleFolders {
    pub(super) fn new(start: PathBuf) -> Self {
        Self { current: vec![start.clone()], visited: vec![start], has_unknown: false }
    }

    /// These folders, and perhaps unknown ones.
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Path>, has_unknown: bool) -> Self {
        let mut all = Vec::new();
        folders.for_each(|folder| add_all(&mut all, &[folder.to_owned()]));
        Self { current: all.clone(), visited: all, has_unknown }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add_all(&mut self.current, &other.visited);
        add_all(&mut self.visited, &other.visited);
        self.has_unknown |= other.has_unknown;
    }

    /// Each of the targets taken from each of the folders, and whether the result is incomplete. A
    /// `None` target is an unknown folder.
    pub(super) fn below(folders: &[PathBuf], targets: &[Option<PathBuf>]) -> (Vec<PathBuf>, bool) {
        let has_unknown = targets.iter().any(Option::is_none) || folders.len() > MAX_FOLDERS;
        let known = targets.iter().flatten();
        let all: Vec<PathBuf> =
            known.flat_map(|to| folders.iter().map(move |from| from.join(to))).collect();
        (all, has_unknown)
    }

    pub(super) fn go(&mut self, target: Option<PathBuf>, order: CommandOrder) {
        let (mut to, has_unknown) = Self::below(&self.current, &[target]);
        self.has_unknown |= has_unknown;
        if to.is_empty() {
            // Most of the time this is a way back to a folder visited before; for anywhere else
            // `has_unknown` makes slug ask.
            to.clone_from(&self.visited);
        }
        add_all(&mut self.visited, &to);
        if order == CommandOrder::Nested {
            // The nested command may run in a shell of its own.
            add_all(&mut to, &self.current);
        }
        self.has_unknown |= self.visited.len() > MAX_FOLDERS;
        self.visited.truncate(MAX_FOLDERS);
        self.current = to;
    }
}

pub(super) fn add_all(all: &mut Vec<PathBuf>, more: &[PathBuf]) {
    for folder in more {
        if !all.contains(folder) {
            all.push(folder.clone());
        }
    }
}

/// Whether a command only changes the shell's folder.
pub(super) fn changes_folder(command: &SimpleCommand) -> bool {
    matches!(command.words.first().and_then(ShellWord::known), Some("cd" | "pushd" | "popd"))
}

/// The folder that a command changes the shell to: the outer `None` where it changes none, the
/// inner one where the folder is not known.
pub(super) fn cd_target(command: &SimpleCommand, home: Option<&Path>) -> Option<Option<PathBuf>> {
    let (name, arguments) = command.words.split_first()?;
    match name.known()? {
        "cd" | "pushd" => {
            let target = arguments.iter().find(|word| !word.text.starts_with('-'));
            let is_back = arguments.iter().any(|word| word.text == "-");
            let bare = arguments.is_empty().then(|| home.map(Path::to_owned)).flatten();
            Some(target.and_then(|word| static_path(word, home)).or(bare).filter(|_| !is_back))
        }
        "popd" => Some(None),
        _ => None,
    }
}

/// The path that a word stands for: its text, or the expanded path where the home folder or the
/// working folder is its only expansion. Good enough to deny a command by, or to ask about it.
pub(super) fn static_path(word: &ShellWord, home: Option<&Path>) -> Option<PathBuf> {
    let text = match word.known() {
        Some(text) => return Some(PathBuf::from(text)),
        None => word.text.replace(['"', '\'', '\\'], ""),
    };
    let starts = [("~", true), ("$HOME", true), ("${HOME}", true)].into_iter().chain([
        ("~+", false),
        ("$PWD", false),
        ("${PWD}", false),
    ]);
    for (start, at_home) in starts {
        let Some(rest) =
            text.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            continue;
        };
        let rest = Path::new(rest.trim_start_matches('/'));
        let fixed = !has_expansion(&rest.to_string_lossy());
        return match at_home {
            true => home.filter(|_| fixed).map(|home| home.join(rest)),
            false => fixed.then(|| rest.to_owned()),
        };
    }
    None
}

fn has_expansion(text: &str) -> bool {
    text.contains(['$', '`', '*', '?', '[', '{', '(', '<', '>', '~'])
}
