//! Past sessions as the screen knows them: plain data, made from the store by whoever carries
//! out a [`SessionJob`]. Nothing here reads a file or a clock.

use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};

use crate::domain::SessionId;

/// What is wanted of the sessions on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionJob {
    /// All of them, of every folder.
    List,
    /// Gives one a title that is not open here.
    Rename {
        /// Which.
        session: SessionId,
        /// Its title from now on.
        title: String,
    },
    /// Moves one to the trash.
    Trash {
        /// Which.
        session: SessionId,
    },
    /// Brings one back from the trash.
    Restore {
        /// Which.
        session: SessionId,
    },
    /// How one begins and ends.
    Preview {
        /// Which.
        session: SessionId,
    },
}

/// What a [`SessionJob`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAnswer {
    /// To `List`.
    Listed(SessionList),
    /// To `Rename`, `Trash` and `Restore`: it is done.
    Changed,
    /// To `Preview`.
    Previewed(Preview),
}

/// All sessions at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionList {
    /// The sessions, in any order.
    pub rows: Vec<SessionRow>,
    /// The moment, in the person's time.
    pub now: DateTime<FixedOffset>,
}

/// A session in a list. Its texts have been made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Which.
    pub id: SessionId,
    /// Its title, on one line; empty where nothing was said yet.
    pub title: String,
    /// When its last line was written, in the person's time.
    pub last_used_at: DateTime<FixedOffset>,
    /// The folder it works in; empty where its log does not say.
    pub working_directory: PathBuf,
    /// Where its first part comes from.
    pub forked_from: Option<SessionId>,
    /// What was said by person and model.
    pub message_count: u64,
    /// Whether another slug works with it.
    pub held: Held,
}

/// Whether another slug works with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// None does.
    Nowhere,
    /// One does, so it can be read and forked but not gone on with.
    Elsewhere,
}

/// How a session begins and ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// What was said, oldest first.
    pub said: Vec<Said>,
}

/// A part of a preview. Texts have been made harmless and are cut to a few lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The person said.
    Person(String),
    /// The model said.
    Model(String),
    /// So many messages are between the first and the last ones.
    LeftOut(usize),
}

impl SessionRow {
    /// What to call it.
    pub fn name(&self) -> &str {
        if self.title.is_empty() { "Untitled" } else { &self.title }
    }
}
