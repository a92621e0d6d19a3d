//! Compares two branches of a session: the messages that they share, and what each of them said and
//! changed by itself.
//!
//! A fork begins with its parent's lines, ids included. So a record that is in both logs is shared,
//! and every other record belongs to one of them. That holds for any two sessions of a family; two
//! sessions of different families share nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::domain::{ContentHash, DiffContextSize, EntryId, FileDiff, MessageRole, SessionId};

use super::title::title_after;
use super::undo::RewindHistory;
use super::{FileVersion, LoadedLog, LogEntry, LogRecord, SessionStore, StoreError};

/// Two sessions of one family, compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchComparison {
    /// How many messages with text they share.
    pub shared: usize,
    /// The last shared message; `None` where they share none.
    pub last_shared: Option<BranchMessage>,
    /// What each of them has alone, in the order in which the sessions were given.
    pub branches: [SessionBranch; 2],
}

/// What a session has that another one lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBranch {
    pub title: Option<String>,
    /// The messages with text, from the user and from the model.
    pub said: Vec<BranchMessage>,
    /// The changed files, in the order of their first change. Files that ended as they began are
    /// left out.
    pub files: Vec<FileDelta>,
}

/// A message of the user or the model that holds text; tool results are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMessage {
    pub role: MessageRole,
    pub text: String,
}

/// How a file changed over a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDelta {
    /// The path: relative to the working folder where the file lies below it.
    pub name: String,
    /// Lines added and removed; `None` where a content is no longer kept or is not text.
    pub lines: Option<(usize, usize)>,
}

/// A file before the first change of a branch and after its last one.
struct BranchFileChange<'a> {
    path: &'a Path,
    before: Option<FileVersion>,
    after: Option<FileVersion>,
}

impl SessionStore {
    /// Compares two sessions, message by message and file by file.
    ///
    /// # Errors
    ///
    /// When one of the two logs is missing or cannot be read.
    pub fn compare(&self, sessions: [SessionId; 2]) -> Result<BranchComparison, StoreError> {
        let [one, two] = sessions;
        let (one, two) = (self.read(one)?, self.read(two)?);
        let in_two = ids(&two);
        let shared = in_force(&one).filter(|record| in_two.contains(&record.id));
        let shared: Vec<BranchMessage> = shared.filter_map(branch_message).collect();
        let branches = [self.branch_of(&one, &in_two), self.branch_of(&two, &ids(&one))];
        Ok(BranchComparison {
            shared: shared.len(),
            last_shared: shared.into_iter().last(),
            branches,
        })
    }

    /// What a session has that `beside` lacks; all of it where `beside` is `None` or has no log.
    ///
    /// # Errors
    ///
    /// When the log of `session` is missing, or one of the logs cannot be read.
    pub fn branch(
        &self,
        session: SessionId,
        beside: Option<SessionId>,
    ) -> Result<SessionBranch, StoreError> {
        let known = match beside {
            Some(beside) if self.has_log(beside)? => ids(&self.read(beside)?),
            Some(_) | None => HashSet::new(),
        };
        Ok(self.branch_of(&self.read(session)?, &known))
    }

    fn branch_of(&self, loaded: &LoadedLog, known: &HashSet<EntryId>) -> SessionBranch {
        let own_records = loaded.records.iter().filter(|record| !known.contains(&record.id));
        let cwd = loaded.header.as_ref().map_or(Path::new(""), |header| &header.cwd);
        SessionBranch {
            title: title_after(&loaded.records),
            said: in_force(loaded)
                .filter(|record| !known.contains(&record.id))
                .filter_map(branch_message)
                .collect(),
            files: self.file_deltas(own_records, cwd),
        }
    }

    /// The files that these records changed, in the order of their first change, each from its first
    /// state to its last. Files that ended as they began are left out. Reads the stored contents.
    pub fn file_deltas<'a>(
        &self,
        records: impl Iterator<Item = &'a LogRecord>,
        cwd: &Path,
    ) -> Vec<FileDelta> {
        let mut changes: Vec<BranchFileChange<'_>> = Vec::new();
        let mut places = HashMap::new();
        for record in records {
            let LogEntry::FileChange(change) = &record.entry else { continue };
            let path = change.path.as_path();
            let at = *places.entry(path).or_insert(changes.len());
            match changes.get_mut(at) {
                Some(known) => known.after = change.version_after(),
                None => {
                    let (before, after) = (change.version_before(), change.version_after());
                    changes.push(BranchFileChange { path, before, after });
                }
            }
        }
        // A file that was put back is not changed.
        changes.retain(|change| change.before != change.after);
        changes.iter().map(|change| self.delta(change, cwd)).collect()
    }

    fn delta(&self, change: &BranchFileChange<'_>, cwd: &Path) -> FileDelta {
        let name = change.path.strip_prefix(cwd).unwrap_or(change.path);
        let text = |version: &Option<FileVersion>| match version {
            Some(version) => self.text(&version.hash),
            None => Some(String::new()),
        };
        let lines = || {
            let (before, after) = (text(&change.before)?, text(&change.after)?);
            let diff =
                FileDiff::with(PathBuf::from(name), &before, &after, DiffContextSize::Lines(0));
            Some((diff.added, diff.removed))
        };
        FileDelta { name: name.to_string_lossy().into_owned(), lines: lines() }
    }

    fn text(&self, hash: &ContentHash) -> Option<String> {
        let bytes = self.blobs().get(hash).unwrap_or_else(|error| {
            tracing::debug!(%hash, %error, "not compared");
            None
        })?;
        String::from_utf8(bytes).ok()
    }
}

/// The records that no rewind took back.
fn in_force(loaded: &LoadedLog) -> impl Iterator<Item = &LogRecord> {
    let rewinds = RewindHistory::of(&loaded.records);
    let records = loaded.records.iter().enumerate();
    records.filter(move |(at, _)| rewinds.is_live(*at)).map(|(_, record)| record)
}

fn ids(loaded: &LoadedLog) -> HashSet<EntryId> {
    loaded.records.iter().map(|record| record.id).collect()
}

fn branch_message(record: &LogRecord) -> Option<BranchMessage> {
    let LogEntry::Message(message) = &record.entry else { return None };
    let text = message.message().text();
    let has_text = !message.is_result() && !text.trim().is_empty();
    has_text.then_some(BranchMessage { role: message.role, text })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{TestSessionStore, header, home, lines, log, record, says, user};
    use super::super::{FileChangeEntry, FileChangeSource, FileKind, SessionHeader};
    use super::*;

    impl TestSessionStore {
        /// Forks `parent` up to and including an entry, and appends these entries.
        fn fork(&self, parent: SessionId, upto: EntryId, more: Vec<LogEntry>) -> SessionId {
            let header = SessionHeader { session_id: SessionId::generate(), ..header("/work") };
            let fork = header.session_id;
            self.store.fork(parent, Some(upto), header).unwrap();
            let more: Vec<LogRecord> = more.into_iter().map(|entry| record(9, entry)).collect();
            let path = self.store.paths(fork).log();
            let bytes = [std::fs::read(&path).unwrap(), lines(&more)].concat();
            std::fs::write(&path, bytes).unwrap();
            fork
        }

        fn change(&self, path: &str, before: Option<&str>, after: &str) -> LogEntry {
            let keep = |text: &str| self.store.blobs().put(text.as_bytes()).unwrap();
            let version = |text| FileVersion { kind: FileKind::File, hash: keep(text), mode: None };
            let (before, after) = (before.map(version), Some(version(after)));
            LogEntry::FileChange(FileChangeEntry::new(
                path.into(),
                before,
                after,
                FileChangeSource::Tool,
            ))
        }
    }

    fn texts(messages: &[BranchMessage]) -> Vec<&str> {
        messages.iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn two_forks_part_at_the_last_message_that_both_have() {
        let home = home();
        let records = log(16);
        let parent = home.planted(&lines(&records));
        let one = home.fork(parent, records[9].id, vec![user("one way"), says("done")]);
        let two = home.fork(parent, records[5].id, vec![user("another")]);
        let compared = home.store.compare([one, two]).unwrap();
        assert_eq!(compared.last_shared.unwrap().text, "an answer");
        assert_eq!(compared.shared, 2);
        let [one_way, another] = &compared.branches;
        assert_eq!(texts(&one_way.said), ["question 5", "an answer", "one way", "done"]);
        assert_eq!(texts(&another.said), ["another"]);
        let [_, fork] = home.store.compare([parent, two]).unwrap().branches;
        assert_eq!(texts(&fork.said), ["another"], "a fork beside its parent");
        assert_eq!(texts(&home.store.branch(two, Some(one)).unwrap().said), ["another"]);
        assert_eq!(home.store.branch(two, None).unwrap().said.len(), 3);
    }

    #[test]
    fn files_are_counted_from_before_the_branch_to_its_end() {
        let home = home();
        let records = log(6);
        let parent = home.planted(&lines(&records));
        let hash = ContentHash::of(b"not kept");
        let version = Some(FileVersion { kind: FileKind::File, hash, mode: None });
        let path = "/elsewhere/b".into();
        let gone =
            LogEntry::FileChange(FileChangeEntry::new(path, None, version, FileChangeSource::Tool));
        let fork = home.fork(
            parent,
            records[4].id,
            vec![
                home.change("/work/src/a.rs", Some("1\n2\n"), "1\nx\n"),
                gone,
                home.change("/work/src/a.rs", Some("1\nx\n"), "1\nx\ny\n"),
            ],
        );
        let files = home.store.branch(fork, Some(parent)).unwrap().files;
        let files: Vec<_> = files.iter().map(|it| (it.name.as_str(), it.lines)).collect();
        assert_eq!(files, [("src/a.rs", Some((2, 1))), ("/elsewhere/b", None)]);
    }

    #[test]
    fn a_file_that_was_put_back_is_not_changed() {
        let home = home();
        let records = log(6);
        let parent = home.planted(&lines(&records));
        let version = |mode| {
            let hash = ContentHash::of(b"x");
            Some(FileVersion { kind: FileKind::File, hash, mode: Some(mode) })
        };
        let change_mode = |from, to| {
            let path = "/work/run.sh".into();
            LogEntry::FileChange(FileChangeEntry::new(
                path,
                version(from),
                version(to),
                FileChangeSource::Tool,
            ))
        };
        let make_or_remove = |before, after| {
            let path = "/work/new".into();
            LogEntry::FileChange(FileChangeEntry::new(path, before, after, FileChangeSource::Tool))
        };
        let changes = vec![
            home.change("/work/a", Some("1\n"), "2\n"),
            make_or_remove(None, version(0o600)),
            change_mode(0o600, 0o700),
            home.change("/work/a", Some("2\n"), "1\n"),
            make_or_remove(version(0o600), None),
        ];
        let fork = home.fork(parent, records[4].id, changes);
        let files = home.store.branch(fork, Some(parent)).unwrap().files;
        let names: Vec<_> = files.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["run.sh"], "whose permissions are others");
    }

    #[test]
    fn sessions_of_two_families_share_nothing() {
        let home = home();
        let (one, two) = (home.planted(&lines(&log(6))), home.planted(&lines(&log(6))));
        let compared = home.store.compare([one, two]).unwrap();
        assert_eq!((compared.shared, compared.last_shared), (0, None));
    }
}
