//! What two branches of a session have in common, and what each said and changed by itself.
//!
//! A fork's lines are its parent's, ids included, up to where it parts; so what is in both logs is
//! shared, and all else is of one of them. That holds for any two of a family, and two sessions
//! that are not of one share nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::domain::{ContentHash, DiffContextSize, EntryId, FileDiff, MessageRole, SessionId};

use super::title::title_after;
use super::undo::RewindHistory;
use super::{FileVersion, LoadedLog, LogEntry, LogRecord, SessionStore, StoreError};

/// Two branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchComparison {
    /// How many messages they share.
    pub shared: usize,
    /// The last one of them.
    pub last_shared: Option<BranchMessage>,
    /// What each has by itself.
    pub branches: [SessionBranch; 2],
}

/// What a session has that another one lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBranch {
    /// Its title.
    pub title: Option<String>,
    /// What was said.
    pub said: Vec<BranchMessage>,
    /// The files that were changed, in the order of their first change.
    pub files: Vec<FileDelta>,
}

/// A message with text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMessage {
    /// Who said it.
    pub role: MessageRole,
    /// All of its text.
    pub text: String,
}

/// What became of a file over a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDelta {
    /// Its name, from the working folder where it is below that.
    pub name: String,
    /// Lines added and removed; `None` where the contents are not kept, or no text.
    pub lines: Option<(usize, usize)>,
}

/// A file before a branch and at its end.
struct BranchFileChange<'a> {
    path: &'a Path,
    before: Option<FileVersion>,
    after: Option<FileVersion>,
}

impl SessionStore {
    /// Compares two sessions.
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

    /// What a session has that `beside` lacks, or all of it.
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
        let own = || loaded.records.iter().filter(|record| !known.contains(&record.id));
        let mut changes: Vec<BranchFileChange<'_>> = Vec::new();
        let mut places = HashMap::new();
        for record in own() {
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
        // What was put back is as it was.
        changes.retain(|change| change.before != change.after);
        let cwd = loaded.header.as_ref().map_or(Path::new(""), |header| &header.cwd);
        SessionBranch {
            title: title_after(&loaded.records),
            said: in_force(loaded)
                .filter(|record| !known.contains(&record.id))
                .filter_map(branch_message)
                .collect(),
            files: changes.iter().map(|change| self.delta(change, cwd)).collect(),
        }
    }

    fn delta(&self, change: &BranchFileChange<'_>, cwd: &Path) -> FileDelta {
        let name = change.path.strip_prefix(cwd).unwrap_or(change.path);
        let text = |image: &Option<FileVersion>| match image {
            Some(image) => self.text(&image.hash),
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

/// The records that nobody went back before.
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
    let is_said = !message.is_result() && !text.trim().is_empty();
    is_said.then_some(BranchMessage { role: message.role, text })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{TestSessionStore, header, home, lines, log, record, says, user};
    use super::super::{FileChangeEntry, FileChangeSource, FileKind, SessionHeader};
    use super::*;

    impl TestSessionStore {
        /// A fork up to an entry, in which these entries follow.
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
            let image = |text| FileVersion { kind: FileKind::File, hash: keep(text), mode: None };
            let (before, after) = (before.map(image), Some(image(after)));
            LogEntry::FileChange(FileChangeEntry::new(
                path.into(),
                before,
                after,
                FileChangeSource::Tool,
            ))
        }
    }

    fn texts(said: &[BranchMessage]) -> Vec<&str> {
        said.iter().map(|it| it.text.as_str()).collect()
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
        let image = Some(FileVersion { kind: FileKind::File, hash, mode: None });
        let path = "/elsewhere/b".into();
        let gone =
            LogEntry::FileChange(FileChangeEntry::new(path, None, image, FileChangeSource::Tool));
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
        let image = |mode| {
            let hash = ContentHash::of(b"x");
            Some(FileVersion { kind: FileKind::File, hash, mode: Some(mode) })
        };
        let moded = |from, to| {
            let path = "/work/run.sh".into();
            LogEntry::FileChange(FileChangeEntry::new(
                path,
                image(from),
                image(to),
                FileChangeSource::Tool,
            ))
        };
        let made = |before, after| {
            let path = "/work/new".into();
            LogEntry::FileChange(FileChangeEntry::new(path, before, after, FileChangeSource::Tool))
        };
        let changes = vec![
            home.change("/work/a", Some("1\n"), "2\n"),
            made(None, image(0o600)),
            moded(0o600, 0o700),
            home.change("/work/a", Some("2\n"), "1\n"),
            made(image(0o600), None),
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
