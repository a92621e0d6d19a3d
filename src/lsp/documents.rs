//! The files that are open in a server, with the text that it has of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The most files that are open in a server.
const MAX_OPEN: usize = 50;

/// When a file was last changed, and its length in bytes.
pub(super) type DocumentStamp = (SystemTime, u64);

/// A file as a server has it.
#[derive(Debug, Clone)]
pub(super) struct LspDocument {
    /// From 1, growing with each change.
    pub(super) version: i64,
    pub(super) text: Arc<str>,
    /// Of the file when it was last seen to have this text; `None`: it has to be read to know.
    pub(super) stamp: Option<DocumentStamp>,
    /// How many findings had come in the file before the server was sent this text.
    pub(super) serial: u64,
    last_use: u64,
}

/// How a server learns of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentStep {
    /// It has this text already.
    None,
    /// The file is opened, after these others have been closed.
    Open {
        close: Vec<PathBuf>,
    },
    Change,
}

/// The files that are open in a server.
#[derive(Debug, Default)]
pub(super) struct OpenDocuments {
    documents: HashMap<PathBuf, LspDocument>,
    clock: u64,
}

impl OpenDocuments {
    /// Takes the text for what the server has from now on; what has to be sent for that, and its version.
    /// `serial` is how many findings have come in the file so far.
    pub(super) fn set(&mut self, path: &Path, text: &str, serial: u64) -> (DocumentStep, i64) {
        self.clock += 1;
        if let Some(document) = self.documents.get_mut(path) {
            document.last_use = self.clock;
            if *document.text == *text {
                return (DocumentStep::None, document.version);
            }
            document.version += 1;
            (document.text, document.stamp) = (text.into(), None);
            document.serial = serial;
            return (DocumentStep::Change, document.version);
        }
        let mut close = Vec::new();
        while self.documents.len() >= MAX_OPEN {
            let oldest = self.documents.iter().min_by_key(|(_, it)| it.last_use);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { break };
            self.documents.remove(&oldest);
            close.push(oldest);
        }
        let document = LspDocument {
            version: 1,
            text: text.into(),
            stamp: None,
            serial,
            last_use: self.clock,
        };
        self.documents.insert(path.to_owned(), document);
        (DocumentStep::Open { close }, 1)
    }

    /// What the server has of a file; `None` where it is not open.
    pub(super) fn get(&self, path: &Path) -> Option<&LspDocument> {
        self.documents.get(path)
    }

    /// Notes when the file with this text was last changed.
    pub(super) fn set_stamp(&mut self, path: &Path, stamp: Option<DocumentStamp>) {
        if let Some(document) = self.documents.get_mut(path) {
            document.stamp = stamp;
        }
    }

    /// Forgets a file; whether it was open.
    pub(super) fn remove(&mut self, path: &Path) -> bool {
        self.documents.remove(path).is_some()
    }

    /// All open files, the last used first.
    pub(super) fn by_last_use(&self) -> Vec<PathBuf> {
        let mut all: Vec<_> = self.documents.iter().map(|(path, it)| (it.last_use, path)).collect();
        all.sort();
        all.into_iter().rev().map(|(_, path)| path.clone()).collect()
    }

    /// All open files with their stamps.
    pub(super) fn stamps(&self) -> Vec<(PathBuf, Option<DocumentStamp>)> {
        self.documents.iter().map(|(path, it)| (path.clone(), it.stamp)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow_and_the_same_text_is_not_sent_again() {
        let mut open = OpenDocuments::default();
        let path = Path::new("/a");
        assert_eq!(open.set(path, "x", 0), (DocumentStep::Open { close: vec![] }, 1));
        assert_eq!(open.set(path, "x", 0), (DocumentStep::None, 1));
        open.set_stamp(path, Some((SystemTime::UNIX_EPOCH, 1)));
        assert_eq!(open.set(path, "y", 7), (DocumentStep::Change, 2));
        assert_eq!(open.stamps(), [(path.to_owned(), None)]);
        open.set(path, "y", 9);
        assert_eq!(open.get(path).unwrap().serial, 7, "of the change");
        assert!(open.remove(path) && !open.remove(path));
    }

    #[test]
    fn beyond_fifty_the_least_used_is_closed() {
        let mut open = OpenDocuments::default();
        let path = |at: usize| PathBuf::from(format!("/{at}"));
        for at in 0..MAX_OPEN {
            open.set(&path(at), "", 0);
        }
        open.set(&path(0), "", 0);
        let (step, _) = open.set(&path(MAX_OPEN), "", 0);
        assert_eq!(step, DocumentStep::Open { close: vec![path(1)] });
        assert!(open.get(&path(0)).is_some() && open.stamps().len() == MAX_OPEN);
    }
}
