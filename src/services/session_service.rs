//! Answers what the list of sessions asks of the store. These functions read and write files and
//! block until that is done: call them on a thread that may block.
//!
//! Texts in their answers are harmless to show, and times are in the user's time zone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, FixedOffset, Local, Utc};
use tokio::sync::mpsc;

use crate::domain::SessionId;
use crate::domain::sanitize::sanitize;
use crate::session::undo::RewindHistory;
use crate::session::{
    ExportForm, LogEntry, LogRecord, SearchText, SessionGrouping, SessionListing, SessionMeta,
    SessionSearchResult, SessionStore, StoreError, name_forks,
};

use super::branch_text;
use super::sessions::{
    PreviewMessage, SessionList, SessionLockState, SessionPreview, SessionRow, SessionStoreRequest,
    SessionStoreResponse,
};

/// Sessions that are listed at once: more than a screen has rows, and few enough to read without a
/// wait.
const FIRST_SESSIONS: usize = 200;
/// Nobody looks through more results than this; a longer search text finds fewer.
const MOST_SESSIONS: usize = 500;
/// Characters of a message in a preview.
const LONGEST: usize = 600;

/// Where session jobs keep files besides the store.
#[derive(Debug, Clone)]
pub struct SessionJobPaths {
    /// The file that remembers the grouping.
    pub grouping: PathBuf,
    /// The folder for exported sessions.
    pub exports: PathBuf,
}

/// Answers a request.
///
/// # Errors
///
/// A sentence for the user when the store, the grouping or an export cannot be read or written.
pub fn run(
    store: &SessionStore,
    paths: &SessionJobPaths,
    job: &SessionStoreRequest,
) -> Result<SessionStoreResponse, String> {
    let grouping = paths.grouping.as_path();
    let done = match job {
        SessionStoreRequest::Group(chosen) => {
            let kept = chosen.keep(grouping).map(|()| SessionStoreResponse::Changed);
            return kept.map_err(|error| format!("The grouping could not be saved: {error}."));
        }
        SessionStoreRequest::Compare { sessions } => {
            store.compare(*sessions).map(|it| SessionStoreResponse::Compared(Arc::new(it)))
        }
        SessionStoreRequest::Export { session } => {
            let exported = store.export_into(&paths.exports, *session, ExportForm::Html);
            return exported.map(SessionStoreResponse::Exported).map_err(|error| error.to_string());
        }
        SessionStoreRequest::SumUp { session, beside } => store
            .branch(*session, *beside)
            .map(|branch| SessionStoreResponse::SummedUp(branch_text::summarise(&branch))),
        SessionStoreRequest::Newest => Ok(SessionStoreResponse::Listed(newest(store, grouping))),
        SessionStoreRequest::Recent { folder, count } => store
            .recent_in(folder, *count)
            .map(|metas| SessionStoreResponse::Listed(unlocked_list(metas, grouping))),
        SessionStoreRequest::List => list(store, grouping).map(SessionStoreResponse::Listed),
        SessionStoreRequest::Rename { session, title } => {
            store.rename(*session, title).map(|()| SessionStoreResponse::Changed)
        }
        SessionStoreRequest::Trash { session } => {
            store.trash(*session).map(|()| SessionStoreResponse::Changed)
        }
        SessionStoreRequest::Restore { session } => {
            store.restore(*session).map(|()| SessionStoreResponse::Changed)
        }
        SessionStoreRequest::Preview { session } => store
            .read(*session)
            .map(|loaded| SessionStoreResponse::Previewed(preview(&loaded.records))),
    };
    done.map_err(|error| error.to_string())
}

/// Searches the text of these sessions and sends those that match, until there are
/// `MOST_SESSIONS` or the receiver is dropped.
pub fn search(
    store: &SessionStore,
    text: &str,
    sessions: &[SessionId],
    found: &mpsc::Sender<SessionSearchResult>,
) {
    let Some(text) = SearchText::new(text) else { return };
    let count = AtomicUsize::new(0);
    let stopped = || found.is_closed() || count.load(Ordering::Relaxed) >= MOST_SESSIONS;
    store.search(&text, sessions, &stopped, |one| {
        count.fetch_add(1, Ordering::Relaxed);
        // A failed send means that nobody waits: `stopped` then ends the search.
        let _ = found.blocking_send(one);
    });
}

fn list(store: &SessionStore, grouping: &Path) -> Result<SessionList, StoreError> {
    let SessionListing { sessions, locked } = store.listing()?;
    let held = |session| {
        if locked.contains(&session) { held(store, session) } else { SessionLockState::Unlocked }
    };
    let rows = rows(sessions, held);
    Ok(SessionList { rows, now: local(Utc::now()), grouping: SessionGrouping::load(grouping) })
}

fn newest(store: &SessionStore, grouping: &Path) -> SessionList {
    unlocked_list(store.newest_sessions(FIRST_SESSIONS), grouping)
}

/// A list that does not say which sessions are open elsewhere.
fn unlocked_list(metas: Vec<SessionMeta>, grouping: &Path) -> SessionList {
    let rows = rows(metas, |_| SessionLockState::Unlocked);
    SessionList { rows, now: local(Utc::now()), grouping: SessionGrouping::load(grouping) }
}

fn held(store: &SessionStore, session: SessionId) -> SessionLockState {
    match store.in_use(session) {
        Ok(Some(holder)) if holder.pid != Some(std::process::id()) => SessionLockState::Locked,
        Ok(_) => SessionLockState::Unlocked,
        Err(error) => {
            tracing::debug!(%session, %error, "unknown who has it open");
            SessionLockState::Unlocked
        }
    }
}

/// The rows of the list.
fn rows(
    mut metas: Vec<SessionMeta>,
    held: impl Fn(SessionId) -> SessionLockState,
) -> Vec<SessionRow> {
    name_forks(&mut metas);
    metas.into_iter().map(|meta| row(held(meta.session_id), meta)).collect()
}

fn row(held: SessionLockState, meta: SessionMeta) -> SessionRow {
    let message_count = meta.known_message_count();
    SessionRow {
        id: meta.session_id,
        title: one_line(meta.title.as_deref().unwrap_or_default()),
        last_used_at: local(meta.last_used_at),
        working_directory: meta.working_directory,
        model: meta.model,
        forked_from: meta.forked_from,
        last_shared_message: meta.parted.map(|parted| one_line(&parted.text)),
        message_count,
        lock: held,
    }
}

fn local(time: DateTime<Utc>) -> DateTime<FixedOffset> {
    time.with_timezone(&Local).fixed_offset()
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    sanitize(&words.join(" ")).into_owned()
}

fn preview(records: &[LogRecord]) -> SessionPreview {
    let rewinds = RewindHistory::of(records);
    let live = records.iter().enumerate().filter(|(at, _)| rewinds.is_live(*at));
    SessionPreview { messages: live.filter_map(|(_, record)| preview_message(record)).collect() }
}

fn preview_message(record: &LogRecord) -> Option<PreviewMessage> {
    let LogEntry::Message(message) = &record.entry else { return None };
    let text = message.message().text();
    let text = text.trim();
    if message.is_result() || text.is_empty() {
        return None;
    }
    let cut = text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end]);
    let mark = if cut.len() < text.len() { "…" } else { "" };
    let text = format!("{}{mark}", sanitize(cut));
    Some(PreviewMessage { entry: record.id, role: message.role, text })
}

#[cfg(test)]
mod tests {
    use crate::domain::{ContentBlock, Message, MessageRole, SessionId, TurnId};
    use crate::session::{MessageEntry, SessionHeader};

    use super::*;

    struct TestSessionJobStore {
        folder: tempfile::TempDir,
        store: SessionStore,
    }

    fn test_store() -> TestSessionJobStore {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = SessionStore::new(path("sessions"), path("trash"), path("blobs"));
        TestSessionJobStore { folder, store }
    }

    fn header(forked_from: Option<SessionId>) -> SessionHeader {
        SessionHeader {
            session_id: SessionId::generate(),
            version: SessionHeader::VERSION,
            cwd: "/w".into(),
            model: "m".into(),
            provider: "p".into(),
            forked_from,
            spawned_by: None,
            server_tools: Vec::new(),
        }
    }

    fn message(role: MessageRole, text: &str) -> LogEntry {
        let content = vec![ContentBlock::Text { text: text.to_owned() }];
        LogEntry::Message(MessageEntry::new(Message { role, content }))
    }

    /// A session in which the user and the model each wrote `exchanges` messages.
    async fn session(store: &SessionStore, exchanges: usize) -> SessionId {
        let header = header(None);
        let id = header.session_id;
        let log = store.create(header).unwrap();
        for number in 0..exchanges {
            let turn = TurnId(u32::try_from(number).unwrap() + 1);
            log.append(turn, message(MessageRole::User, &format!("ask\u{1b}[31m {number}")))
                .await
                .unwrap();
            log.append(turn, message(MessageRole::Assistant, &format!("answer {number}")))
                .await
                .unwrap();
        }
        log.close().await.unwrap();
        id
    }

    fn paths() -> SessionJobPaths {
        SessionJobPaths { grouping: "/none".into(), exports: "/none".into() }
    }

    fn listed(store: &SessionStore) -> Vec<SessionRow> {
        match run(store, &paths(), &SessionStoreRequest::List) {
            Ok(SessionStoreResponse::Listed(list)) => list.rows,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_list_says_what_the_screen_shows() {
        let home = test_store();
        let parent = session(&home.store, 2).await;
        let fork = header(None);
        let fork_id = fork.session_id;
        home.store.fork(parent, None, fork).unwrap();
        let rows = listed(&home.store);
        let row = rows.iter().find(|row| row.id == parent).unwrap();
        assert_eq!((row.title.as_str(), row.message_count), ("ask␛[31m 0", Some(4)));
        assert_eq!(
            (row.lock, row.working_directory.to_str()),
            (SessionLockState::Unlocked, Some("/w"))
        );
        let fork = rows.iter().find(|row| row.id == fork_id).unwrap();
        assert_eq!(fork.forked_from, Some(parent));
    }

    #[tokio::test]
    async fn a_fork_is_named_after_its_own_first_words() {
        let home = test_store();
        let parent = session(&home.store, 1).await;
        let fork = header(None);
        let id = fork.session_id;
        home.store.fork(parent, None, fork).unwrap();
        let title = |rows: Vec<SessionRow>| {
            rows.into_iter().find(|row| row.id == id).map(|row| row.title).unwrap()
        };
        assert_eq!(title(listed(&home.store)), "ask␛[31m 0", "no output yet");
        let (log, _) = home.store.open(id).unwrap();
        log.append(TurnId(2), message(MessageRole::User, "another way")).await.unwrap();
        log.close().await.unwrap();
        assert_eq!(title(listed(&home.store)), "another way");
        home.store.rename(id, "My fork").unwrap();
        assert_eq!(title(listed(&home.store)), "My fork");
    }

    #[tokio::test]
    async fn a_session_open_here_is_not_locked_elsewhere() {
        let home = test_store();
        let id = session(&home.store, 1).await;
        let _open = home.store.open(id).unwrap();
        assert_eq!(listed(&home.store)[0].lock, SessionLockState::Unlocked);
        let refused =
            run(&home.store, &paths(), &SessionStoreRequest::Trash { session: id }).unwrap_err();
        assert!(refused.contains("is open in process"), "{refused}");
    }

    #[tokio::test]
    async fn renaming_deleting_and_undoing_reach_the_disk() {
        let home = test_store();
        let session = session(&home.store, 1).await;
        let job = SessionStoreRequest::Rename { session, title: "The cart".into() };
        assert_eq!(run(&home.store, &paths(), &job), Ok(SessionStoreResponse::Changed));
        assert_eq!(listed(&home.store)[0].title, "The cart");
        assert_eq!(
            run(&home.store, &paths(), &SessionStoreRequest::Trash { session }),
            Ok(SessionStoreResponse::Changed)
        );
        assert!(listed(&home.store).is_empty());
        assert!(home.folder.path().join("trash").join(format!("{session}.jsonl")).exists());
        assert_eq!(
            run(&home.store, &paths(), &SessionStoreRequest::Restore { session }),
            Ok(SessionStoreResponse::Changed)
        );
        assert_eq!(listed(&home.store)[0].title, "The cart");
    }

    #[tokio::test]
    async fn a_preview_holds_the_messages() {
        let home = test_store();
        let session = session(&home.store, 2).await;
        let job = SessionStoreRequest::Preview { session };
        let preview = match run(&home.store, &paths(), &job) {
            Ok(SessionStoreResponse::Previewed(preview)) => preview,
            other => panic!("{other:?}"),
        };
        let messages: Vec<_> =
            preview.messages.iter().map(|it| (it.role, it.text.as_str())).collect();
        let (user, model) = (MessageRole::User, MessageRole::Assistant);
        let expected =
            [(user, "ask␛[31m 0"), (model, "answer 0"), (user, "ask␛[31m 1"), (model, "answer 1")];
        assert_eq!(messages, expected);
    }

    #[tokio::test]
    async fn exporting_a_session_writes_a_file_or_says_why_not() {
        let home = test_store();
        let session = session(&home.store, 1).await;
        let exports = home.folder.path().join("exports");
        let export = |exports: &Path| {
            let paths = SessionJobPaths { exports: exports.to_owned(), ..paths() };
            run(&home.store, &paths, &SessionStoreRequest::Export { session })
        };
        match export(&exports) {
            Ok(SessionStoreResponse::Exported(file)) => {
                let page = std::fs::read_to_string(file.path).unwrap();
                assert!(page.contains("answer 0"), "{page}");
            }
            other => panic!("{other:?}"),
        }
        std::fs::write(home.folder.path().join("file"), "").unwrap();
        let refused = export(&home.folder.path().join("file")).unwrap_err();
        assert!(refused.starts_with("cannot write "), "{refused}");
    }

    #[test]
    fn the_grouping_is_remembered() {
        let home = test_store();
        let paths =
            SessionJobPaths { grouping: home.folder.path().join("grouping.json"), ..paths() };
        let listed = || match run(&home.store, &paths, &SessionStoreRequest::List) {
            Ok(SessionStoreResponse::Listed(list)) => list.grouping,
            other => panic!("{other:?}"),
        };
        assert_eq!(listed(), SessionGrouping::Project);
        run(&home.store, &paths, &SessionStoreRequest::Group(SessionGrouping::Forks)).unwrap();
        assert_eq!(listed(), SessionGrouping::Forks);
    }

    #[tokio::test]
    async fn long_messages_are_cut() {
        let home = test_store();
        let header = header(None);
        let id = header.session_id;
        let log = home.store.create(header).unwrap();
        log.append(TurnId(1), message(MessageRole::User, &"ä".repeat(10_000))).await.unwrap();
        log.close().await.unwrap();
        match run(&home.store, &paths(), &SessionStoreRequest::Preview { session: id }) {
            Ok(SessionStoreResponse::Previewed(preview)) => match preview.messages.as_slice() {
                [PreviewMessage { text, .. }] => assert_eq!(text.chars().count(), LONGEST + 1),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}
