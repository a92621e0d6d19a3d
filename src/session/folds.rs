//! How panes are folded: the panes of one session in a small file beside its log, and kinds of
//! panes in one file for all sessions.
//!
//! Folds are not in the log, which holds only the conversation. A pane is named by the entry that
//! it shows, so that a fork, whose entries have the ids of its parent's, finds its panes again. A
//! file that cannot be read counts as missing: only the look of the screen is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::{EntryId, PaneFold, SessionId};

use super::files::{self, Durability};
use super::store::failed;
use super::{SessionStore, StoreError};

/// Which panes of a session the user opened or closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFolds {
    /// What the user asked of all panes at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<PaneFold>,
    /// What the user asked of single panes, which overrides `all`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub panes: BTreeMap<PaneName, PaneFold>,
}

/// What the user asked of all panes of a kind, in every session, by the screen's names of the
/// kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindFolds(pub BTreeMap<String, PaneFold>);

/// Names a pane of a session: the entry that it shows, and which part of that. Written as
/// `{entry}/{part}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PaneName {
    /// The id of the log's line.
    pub entry: EntryId,
    /// Counted from 0.
    pub part: u16,
}

/// A text that is not the name of a pane.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the name of a pane")]
pub struct PaneNameError(String);

impl SessionFolds {
    /// Whether the user folded and unfolded nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl KindFolds {
    /// Reads them from their file; empty where that is missing or damaged.
    pub fn load(path: &Path) -> Self {
        read(path).unwrap_or_default()
    }

    /// Writes them to the file at `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?;
        files::replace(path, &[&bytes, b"\n"], Durability::Cache)
    }
}

impl SessionStore {
    /// How a session's panes are folded: from its own file, or, where it has none yet, from that of
    /// the session it was forked from.
    pub fn folds(&self, session: SessionId, parent: Option<SessionId>) -> SessionFolds {
        let of = |session| read(&self.paths(session).folds());
        of(session).or_else(|| of(parent?)).unwrap_or_default()
    }

    /// Saves how a session's panes are folded. A session without a log has no panes, so nothing is
    /// saved for it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the log cannot be looked for, or the file cannot be written.
    pub fn save_folds(&self, session: SessionId, folds: &SessionFolds) -> Result<(), StoreError> {
        if !self.has_log(session)? {
            return Ok(());
        }
        let path = self.paths(session).folds();
        let bytes = serde_json::to_vec(folds).map_err(std::io::Error::from);
        let saved = bytes.and_then(|bytes| files::replace(&path, &[&bytes], Durability::Cache));
        saved.map_err(failed("write", &path))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = files::read_cache(path).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "folds not readable");
        None
    })?;
    serde_json::from_slice(&bytes).ok()
}

impl fmt::Display for PaneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.entry, self.part)
    }
}

impl From<PaneName> for String {
    fn from(name: PaneName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for PaneName {
    type Error = PaneNameError;

    fn try_from(text: String) -> Result<Self, PaneNameError> {
        let parsed = text
            .split_once('/')
            .and_then(|(entry, part)| Some((entry.parse().ok()?, part.parse().ok()?)));
        let (entry, part) = parsed.ok_or(PaneNameError(text))?;
        Ok(Self { entry, part })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{header, home};
    use super::*;

    fn folds(fold: PaneFold) -> SessionFolds {
        let name = PaneName { entry: EntryId::generate(), part: 2 };
        SessionFolds { all: None, panes: BTreeMap::from([(name, fold)]) }
    }

    #[tokio::test]
    async fn a_session_keeps_its_folds() {
        let home = home();
        let id = home.session(&["hello"]).await;
        assert!(home.store.folds(id, None).is_empty());
        let kept = folds(PaneFold::Open);
        home.store.save_folds(id, &kept).unwrap();
        assert_eq!(home.store.folds(id, None), kept);
    }

    #[tokio::test]
    async fn a_fork_begins_with_the_folds_of_its_parent() {
        let home = home();
        let parent = home.session(&["hello"]).await;
        let kept = folds(PaneFold::Closed);
        home.store.save_folds(parent, &kept).unwrap();
        let fork = header("/work");
        let id = fork.session_id;
        home.store.fork(parent, None, fork).unwrap();
        assert_eq!(home.store.folds(id, Some(parent)), kept);
        home.store.save_folds(id, &SessionFolds::default()).unwrap();
        assert!(home.store.folds(id, Some(parent)).is_empty());
        assert_eq!(home.store.folds(parent, None), kept);
    }

    #[tokio::test]
    async fn the_folds_of_a_deleted_session_go_and_come_back_with_it() {
        let home = home();
        let id = home.session(&["hello"]).await;
        let kept = folds(PaneFold::Open);
        home.store.save_folds(id, &kept).unwrap();
        home.store.trash(id).unwrap();
        assert!(home.store.folds(id, None).is_empty());
        home.store.restore(id).unwrap();
        assert_eq!(home.store.folds(id, None), kept);
    }

    #[test]
    fn a_session_that_has_no_log_leaves_nothing_behind() {
        let home = home();
        let id = SessionId::generate();
        home.store.save_folds(id, &folds(PaneFold::Open)).unwrap();
        assert!(home.store.folds(id, None).is_empty());
    }

    #[test]
    fn kinds_are_kept_in_a_file_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folds.json");
        let kinds = KindFolds(BTreeMap::from([("thinking".to_owned(), PaneFold::Open)]));
        kinds.save(&path).unwrap();
        assert_eq!(KindFolds::load(&path), kinds);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(KindFolds::load(&path), KindFolds::default());
    }
}
