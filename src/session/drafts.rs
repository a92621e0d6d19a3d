//! Text that was typed and not sent, kept so that it survives a crash.
//!
//! A lock guards each draft as long as the slug that typed it lives, so that a second slug in the
//! same folder does not take the draft away.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::domain::{SessionId, UserInput};

use super::files::{self, Durability, missing_is_none};
use super::lock::{LockError, SessionLock};
use super::{SessionStore, StoreError};

/// The folder of drafts, one file for each session.
#[derive(Debug)]
pub struct DraftStore {
    dir: PathBuf,
    held: Mutex<HashMap<SessionId, SessionLock>>,
}

/// The text in a session's input that was not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDraft {
    /// The typed text with its images.
    #[serde(flatten)]
    pub text: UserInput,
    /// The folder that the session works in; [`DraftStore::adopt`] looks for it.
    #[serde(serialize_with = "files::serialize_path")]
    pub working_directory: PathBuf,
    pub session: SessionId,
}

/// Why a draft could not be saved, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The operating system refuses to lock, read or write a file.
    #[error("cannot {doing} the draft {}: {source}", path.display())]
    Io {
        /// "save", "read" or "remove".
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// It could not be found out whether the draft's session has a log.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DraftStore {
    /// The drafts in this folder, which does not have to exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, held: Mutex::new(HashMap::new()) }
    }

    /// Saves a draft in the place of the session's last one; it is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`DraftError::Io`] when another slug holds the draft's lock, or the lock or the draft cannot
    /// be written.
    pub fn save(&self, draft: &SessionDraft) -> Result<(), DraftError> {
        let path = self.path(draft.session);
        let saved = self.hold(draft.session).and_then(|()| {
            let bytes = serde_json::to_vec(draft)?;
            files::replace(&path, &[&bytes], Durability::Synced)
        });
        saved.map_err(failed("save", &path))
    }

    /// The draft of a session; `None` where it has none.
    ///
    /// # Errors
    ///
    /// [`DraftError::Io`] when the draft's file cannot be read, or is damaged.
    pub fn load(&self, session: SessionId) -> Result<Option<SessionDraft>, DraftError> {
        let path = self.path(session);
        read(&path).map_err(failed("read", &path))
    }

    /// Removes the draft of a session, which was sent or cleared, and releases its lock. A missing
    /// draft is no error.
    ///
    /// # Errors
    ///
    /// [`DraftError::Io`] when the draft's file cannot be removed.
    pub fn remove(&self, session: SessionId) -> Result<(), DraftError> {
        let path = self.path(session);
        files::remove(&path).map_err(failed("remove", &path))?;
        self.held().remove(&session);
        Ok(())
    }

    /// Takes over, for the new session `heir`, the newest draft of this folder whose session has no
    /// log and which no running slug holds. Drafts that cannot be read are passed over.
    ///
    /// # Errors
    ///
    /// [`DraftError::Io`] when the folder of drafts cannot be listed, or the adopted draft cannot
    /// be saved or its old file removed; [`DraftError::Store`] when it cannot be found out whether
    /// a draft's session has a log.
    pub fn adopt(
        &self,
        working_directory: &Path,
        store: &SessionStore,
        heir: SessionId,
    ) -> Result<Option<SessionDraft>, DraftError> {
        for path in self.newest_first().map_err(failed("read", &self.dir))? {
            let Some(draft) = readable(&path) else { continue };
            if draft.working_directory != working_directory
                || store.has_log(draft.session)?
                || self.held().contains_key(&draft.session)
                || self.hold(draft.session).is_err()
            {
                continue;
            }
            // Read it once more, now that no other slug can take it.
            match readable(&path) {
                Some(draft) => {
                    let adopted = SessionDraft { session: heir, ..draft };
                    self.save(&adopted)?;
                    self.remove(draft.session)?;
                    return Ok(Some(adopted));
                }
                None => drop(self.held().remove(&draft.session)),
            }
        }
        Ok(None)
    }

    /// Takes the lock of the session's draft, which shows that it is being typed here.
    fn hold(&self, session: SessionId) -> io::Result<()> {
        let mut held = self.held();
        if held.contains_key(&session) {
            return Ok(());
        }
        files::make_folder(&self.dir)?;
        let lock = SessionLock::take(&self.dir.join(format!("{session}.lock")));
        held.insert(
            session,
            lock.map_err(|error| match error {
                LockError::Held(_) => io::Error::new(io::ErrorKind::ResourceBusy, error),
                LockError::Io(error) => error,
            })?,
        );
        Ok(())
    }

    fn newest_first(&self) -> io::Result<Vec<PathBuf>> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in missing_is_none(std::fs::read_dir(&self.dir))?.into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "json")
                && let Some(metadata) = missing_is_none(std::fs::metadata(&path))?
            {
                found.push((metadata.modified()?, path));
            }
        }
        found.sort_by(|one, other| other.cmp(one));
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    fn path(&self, session: SessionId) -> PathBuf {
        self.dir.join(format!("{session}.json"))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, SessionLock>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<Option<SessionDraft>> {
    let bytes = files::read_cache(path).map_err(io::Error::other)?;
    Ok(bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
}

/// A draft that is damaged, or that is gone meanwhile, is only noted in the log file.
fn readable(path: &Path) -> Option<SessionDraft> {
    read(path).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "draft not readable");
        None
    })
}

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> DraftError + use<'a> {
    move |source| DraftError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{TestSessionStore, home};
    use super::*;

    impl TestSessionStore {
        /// The drafts as another running slug sees them.
        fn drafts(&self) -> DraftStore {
            DraftStore::new(self.dir.path().join("drafts"))
        }
    }

    fn draft(text: &str, folder: &str) -> SessionDraft {
        SessionDraft {
            text: text.into(),
            working_directory: folder.into(),
            session: SessionId::generate(),
        }
    }

    #[test]
    fn a_draft_is_there_until_it_is_removed() {
        let home = home();
        let drafts = home.drafts();
        let draft = draft("fix the", "/work");
        drafts.save(&SessionDraft { text: "fix".into(), ..draft.clone() }).unwrap();
        drafts.save(&draft).unwrap();
        assert_eq!(home.drafts().load(draft.session).unwrap(), Some(draft.clone()));
        drafts.remove(draft.session).unwrap();
        assert_eq!(drafts.load(draft.session).unwrap(), None);
        drafts.remove(draft.session).unwrap();
    }

    #[test]
    fn the_draft_of_a_slug_that_died_is_adopted_once() {
        let home = home();
        let left = draft("fix the cart", "/work");
        home.drafts().save(&left).unwrap();
        let (heir, second) = (SessionId::generate(), SessionId::generate());
        let drafts = home.drafts();
        let adopted = drafts.adopt(Path::new("/work"), &home.store, heir).unwrap();
        assert_eq!(adopted, Some(SessionDraft { session: heir, ..left.clone() }));
        assert_eq!(drafts.load(left.session).unwrap(), None);
        assert_eq!(drafts.load(heir).unwrap(), adopted);
        let other = home.drafts();
        assert_eq!(other.adopt(Path::new("/work"), &home.store, second).unwrap(), None);
    }

    #[test]
    fn a_draft_is_not_adopted_while_its_slug_lives_or_from_elsewhere() {
        let home = home();
        let living = home.drafts();
        living.save(&draft("still typing", "/work")).unwrap();
        home.drafts().save(&draft("elsewhere", "/other")).unwrap();
        let adopted =
            home.drafts().adopt(Path::new("/work"), &home.store, SessionId::generate()).unwrap();
        assert_eq!(adopted, None);
    }

    #[test]
    fn the_draft_of_a_session_with_a_log_stays_with_it() {
        let home = home();
        let left = draft("next question", "/work");
        home.drafts().save(&left).unwrap();
        let sessions = home.dir.path().join("sessions");
        std::fs::create_dir(&sessions).unwrap();
        std::fs::write(sessions.join(format!("{}.jsonl", left.session)), "").unwrap();
        let drafts = home.drafts();
        let adopted = drafts.adopt(Path::new("/work"), &home.store, SessionId::generate()).unwrap();
        assert_eq!(adopted, None);
        assert_eq!(drafts.load(left.session).unwrap(), Some(left));
    }
}
