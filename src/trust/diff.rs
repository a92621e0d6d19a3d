//! What is new in a folder, and what is gone, since the user trusted it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::inventory::{InventoryItem, InventoryItemKind};

/// The lines of each file that the question showed when the user trusted the folder.
pub(super) type ShownLines = BTreeMap<PathBuf, Vec<String>>;

/// A file in the question, compared with the last time the user trusted the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustQuestionFile {
    /// Relative to the folder.
    pub path: PathBuf,
    /// Empty where nothing in the file takes effect.
    pub kinds: Vec<InventoryItemKind>,
    /// The file's lines now, and those that are gone.
    pub lines: Vec<(TrustLineMark, String)>,
}

/// What happened to a line since the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustLineMark {
    /// The line is unchanged, or the folder was not trusted before.
    Same,
    /// Only in the file as it is now.
    New,
    /// Only in the file as the user trusted it.
    Gone,
}

impl TrustLineMark {
    /// The two characters that stand before the line on screen.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Same => "  ",
            Self::New => "+ ",
            Self::Gone => "- ",
        }
    }
}

impl TrustQuestionFile {
    /// What the file holds, as a phrase for the user.
    pub fn words(&self) -> String {
        match &*self.kinds {
            [] => "nothing that takes effect".to_owned(),
            kinds => kinds.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The lines of all files of a question.
pub(super) fn shown_lines(items: &[InventoryItem]) -> ShownLines {
    items.iter().map(|item| (item.path.clone(), item.lines.clone())).collect()
}

/// The files of a question. The lines of the `changed` ones are compared with those that were shown
/// before.
pub(super) fn question_files(
    items: &[InventoryItem],
    before: &ShownLines,
    changed: &[PathBuf],
) -> Vec<TrustQuestionFile> {
    let question_file = |item: &InventoryItem| {
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
    items.iter().map(question_file).collect()
}
