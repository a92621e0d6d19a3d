//! What of a folder is new, and what is gone, since the person said yes to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::inventory::{InventoryItem, InventoryItemKind};

/// The lines that were shown of each file with a yes.
pub(super) type ShownLines = BTreeMap<PathBuf, Vec<String>>;

/// A file of the question, with what became of it since the last yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustQuestionFile {
    /// The file, relative to the folder.
    pub path: PathBuf,
    /// What is in it; nothing where nothing in it takes effect.
    pub kinds: Vec<InventoryItemKind>,
    /// Its lines now, and those that are gone.
    pub lines: Vec<(TrustLineMark, String)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustLineMark {
    /// Nothing, or there was no yes before.
    Same,
    /// It came in.
    New,
    /// It went.
    Gone,
}

impl TrustLineMark {
    /// Before the line, where people read it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Same => "  ",
            Self::New => "+ ",
            Self::Gone => "- ",
        }
    }
}

impl TrustQuestionFile {
    /// What is in the file.
    pub fn words(&self) -> String {
        match &*self.kinds {
            [] => "nothing that takes effect".to_owned(),
            kinds => kinds.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(", "),
        }
    }
}

/// All lines of a question.
pub(super) fn shown_lines(items: &[InventoryItem]) -> ShownLines {
    items.iter().map(|item| (item.path.clone(), item.lines.clone())).collect()
}

/// The items with the files that `changed`, each against what was shown of it before.
pub(super) fn question_files(
    items: &[InventoryItem],
    before: &ShownLines,
    changed: &[PathBuf],
) -> Vec<TrustQuestionFile> {
    let asked = |item: &InventoryItem| {
        let is_changed = changed.contains(&item.path);
        let then = before.get(&item.path).filter(|_| is_changed);
        let mark = |line: &String| match then {
            _ if !is_changed => TrustLineMark::Same,
            Some(then) if then.contains(line) => TrustLineMark::Same,
            Some(_) | None => TrustLineMark::New,
        };
        let mut lines: Vec<_> = item.lines.iter().map(|it| (mark(it), it.clone())).collect();
        let gone = then.into_iter().flatten().filter(|line| !item.lines.contains(line));
        lines.extend(gone.map(|line| (TrustLineMark::Gone, line.clone())));
        if then.is_some() && lines.iter().all(|(mark, _)| *mark == TrustLineMark::Same) {
            let text = "changed in ways that none of these lines shows".to_owned();
            lines.push((TrustLineMark::New, text));
        }
        TrustQuestionFile { path: item.path.clone(), kinds: item.kinds.clone(), lines }
    };
    items.iter().map(asked).collect()
}
