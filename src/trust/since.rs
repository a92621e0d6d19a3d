//! What of a folder is new, and what is gone, since the person said yes to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::inventory::{Item, ItemKind};

/// The lines that were shown of each file with a yes.
pub(super) type Shown = BTreeMap<PathBuf, Vec<String>>;

/// A file of the question, with what became of it since the last yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The file, relative to the folder.
    pub path: PathBuf,
    /// What it is.
    pub kind: ItemKind,
    /// Its lines now, and those that are gone.
    pub lines: Vec<(Mark, String)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing, or there was no yes before.
    Same,
    /// It came in.
    New,
    /// It went.
    Gone,
}

impl Mark {
    /// Before the line, where people read it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Same => "",
            Self::New => "+ ",
            Self::Gone => "- ",
        }
    }
}

/// All lines of a question.
pub(super) fn shown(items: &[Item]) -> Shown {
    let mut shown = Shown::new();
    for item in items {
        shown.entry(item.path.clone()).or_default().extend(item.lines.iter().cloned());
    }
    shown
}

/// The items with the files that `changed`, each against what was shown of it before.
pub(super) fn asked(items: &[Item], before: &Shown, changed: &[PathBuf]) -> Vec<Asked> {
    let now = shown(items);
    let mut told: Vec<&PathBuf> = Vec::new();
    let mut all = Vec::new();
    for item in items {
        let is_changed = changed.contains(&item.path);
        let (then, is_first) = (before.get(&item.path), !told.contains(&&item.path));
        told.push(&item.path);
        let mark = |line: &String| match then {
            _ if !is_changed => Mark::Same,
            Some(then) if then.contains(line) => Mark::Same,
            Some(_) | None => Mark::New,
        };
        let mut lines: Vec<_> = item.lines.iter().map(|it| (mark(it), it.clone())).collect();
        if is_changed && is_first {
            let gone = then.into_iter().flatten().filter(|line| !now[&item.path].contains(line));
            lines.extend(gone.map(|line| (Mark::Gone, line.clone())));
            if then == now.get(&item.path) {
                let text = "changed in ways that none of these lines shows".to_owned();
                lines.push((Mark::New, text));
            }
        }
        all.push(Asked { path: item.path.clone(), kind: item.kind, lines });
    }
    all
}
