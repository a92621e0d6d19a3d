//! What the list of sessions asks of the store. These functions read and write files and return
//! when that is done: they are for a thread that may block.
//!
//! What they return has been made harmless to show, and has the person's own time.

use std::collections::VecDeque;

use chrono::{DateTime, FixedOffset, Local, Utc};

use crate::domain::Role;
use crate::domain::sanitize::sanitize;
use crate::session::{Entry, Meta, Record, Store, StoreError};

use super::app::sessions::{
    Held, Preview, Said, SessionAnswer, SessionJob, SessionList, SessionRow,
};

/// Messages of a preview: of the beginning, and of the end.
const FIRST: usize = 2;
const LAST: usize = 4;
/// Characters of each.
const LONGEST: usize = 600;

/// Does a job; what goes wrong is a sentence for the person.
pub fn run(store: &Store, job: &SessionJob) -> Result<SessionAnswer, String> {
    let done = match job {
        SessionJob::List => list(store).map(SessionAnswer::Listed),
        SessionJob::Rename { session, title } => {
            store.rename(*session, title).map(|()| SessionAnswer::Changed)
        }
        SessionJob::Trash { session } => store.trash(*session).map(|()| SessionAnswer::Changed),
        SessionJob::Restore { session } => store.restore(*session).map(|()| SessionAnswer::Changed),
        SessionJob::Preview { session } => {
            store.read(*session).map(|loaded| SessionAnswer::Previewed(preview(&loaded.records)))
        }
    };
    done.map_err(|error| error.to_string())
}

fn list(store: &Store) -> Result<SessionList, StoreError> {
    let rows = store.list()?.into_iter().map(|meta| row(store, meta)).collect();
    Ok(SessionList { rows, now: local(Utc::now()) })
}

fn row(store: &Store, meta: Meta) -> SessionRow {
    let ours = std::process::id();
    let held = match store.in_use(meta.session_id) {
        Ok(Some(holder)) if holder.pid != Some(ours) => Held::Elsewhere,
        Ok(_) => Held::Nowhere,
        Err(error) => {
            tracing::debug!(session = %meta.session_id, %error, "not known who has it open");
            Held::Nowhere
        }
    };
    SessionRow {
        id: meta.session_id,
        title: one_line(meta.title.as_deref().unwrap_or_default()),
        last_used_at: local(meta.last_used_at),
        working_directory: meta.working_directory,
        forked_from: meta.forked_from,
        message_count: meta.message_count,
        held,
    }
}

fn local(time: DateTime<Utc>) -> DateTime<FixedOffset> {
    time.with_timezone(&Local).fixed_offset()
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    sanitize(&words.join(" ")).into_owned()
}

fn preview(records: &[Record]) -> Preview {
    let mut all = records.iter().filter_map(said);
    let mut said: Vec<Said> = all.by_ref().take(FIRST).collect();
    let mut last = VecDeque::new();
    let mut left_out = 0;
    for one in all {
        if last.len() == LAST {
            last.pop_front();
            left_out += 1;
        }
        last.push_back(one);
    }
    if left_out > 0 {
        said.push(Said::LeftOut(left_out));
    }
    said.extend(last);
    Preview { said }
}

fn said(record: &Record) -> Option<Said> {
    let Entry::Message(message) = &record.entry else { return None };
    let text = message.message().text();
    let text = text.trim();
    if message.is_result() || text.is_empty() {
        return None;
    }
    let cut = text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end]);
    let mark = if cut.len() < text.len() { "…" } else { "" };
    let text = format!("{}{mark}", sanitize(cut));
    Some(match message.role {
        Role::User => Said::Person(text),
        Role::Assistant => Said::Model(text),
    })
}

#[cfg(test)]
mod tests {
    use crate::domain::{Block, Message, SessionId, TurnId};
    use crate::session::{MessageEntry, SessionHeader};

    use super::*;

    struct Home {
        folder: tempfile::TempDir,
        store: Store,
    }

    fn home() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = Store::new(path("sessions"), path("trash"), path("blobs"));
        Home { folder, store }
    }

    fn header(forked_from: Option<SessionId>) -> SessionHeader {
        SessionHeader {
            session_id: SessionId::generate(),
            version: SessionHeader::VERSION,
            cwd: "/w".into(),
            model: "m".into(),
            provider: "p".into(),
            forked_from,
        }
    }

    fn message(role: Role, text: &str) -> Entry {
        let content = vec![Block::Text { text: text.to_owned() }];
        Entry::Message(MessageEntry::new(Message { role, content }))
    }

    /// A session in which the person and the model each said so many things.
    async fn session(store: &Store, exchanges: usize) -> SessionId {
        let header = header(None);
        let id = header.session_id;
        let log = store.create(header).unwrap();
        for number in 0..exchanges {
            let turn = TurnId(u32::try_from(number).unwrap() + 1);
            log.append(turn, message(Role::User, &format!("ask\u{1b}[31m {number}")))
                .await
                .unwrap();
            log.append(turn, message(Role::Assistant, &format!("answer {number}"))).await.unwrap();
        }
        log.close().await.unwrap();
        id
    }

    fn listed(store: &Store) -> Vec<SessionRow> {
        match run(store, &SessionJob::List) {
            Ok(SessionAnswer::Listed(list)) => list.rows,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_list_says_what_the_screen_shows() {
        let home = home();
        let parent = session(&home.store, 2).await;
        let fork = header(None);
        let fork_id = fork.session_id;
        home.store.fork(parent, None, fork).unwrap();
        let rows = listed(&home.store);
        let row = rows.iter().find(|row| row.id == parent).unwrap();
        assert_eq!((row.title.as_str(), row.message_count), ("ask␛[31m 0", 4));
        assert_eq!((row.held, row.working_directory.to_str()), (Held::Nowhere, Some("/w")));
        let fork = rows.iter().find(|row| row.id == fork_id).unwrap();
        assert_eq!(fork.forked_from, Some(parent));
    }

    #[tokio::test]
    async fn what_we_have_open_is_not_held_elsewhere() {
        let home = home();
        let id = session(&home.store, 1).await;
        let _open = home.store.open(id).unwrap();
        assert_eq!(listed(&home.store)[0].held, Held::Nowhere);
        let refused = run(&home.store, &SessionJob::Trash { session: id }).unwrap_err();
        assert!(refused.contains("is open in process"), "{refused}");
    }

    #[tokio::test]
    async fn renaming_deleting_and_undoing_reach_the_disk() {
        let home = home();
        let session = session(&home.store, 1).await;
        let job = SessionJob::Rename { session, title: "The cart".into() };
        assert_eq!(run(&home.store, &job), Ok(SessionAnswer::Changed));
        assert_eq!(listed(&home.store)[0].title, "The cart");
        assert_eq!(run(&home.store, &SessionJob::Trash { session }), Ok(SessionAnswer::Changed));
        assert!(listed(&home.store).is_empty());
        assert!(home.folder.path().join("trash").join(format!("{session}.jsonl")).exists());
        assert_eq!(run(&home.store, &SessionJob::Restore { session }), Ok(SessionAnswer::Changed));
        assert_eq!(listed(&home.store)[0].title, "The cart");
    }

    #[tokio::test]
    async fn a_preview_has_the_beginning_and_the_end() {
        let home = home();
        let session = session(&home.store, 5).await;
        let preview = match run(&home.store, &SessionJob::Preview { session }) {
            Ok(SessionAnswer::Previewed(preview)) => preview,
            other => panic!("{other:?}"),
        };
        let person = |number: usize| Said::Person(format!("ask␛[31m {number}"));
        let model = |number: usize| Said::Model(format!("answer {number}"));
        let expected =
            vec![person(0), model(0), Said::LeftOut(4), person(3), model(3), person(4), model(4)];
        assert_eq!(preview.said, expected);
    }

    #[tokio::test]
    async fn long_messages_are_cut() {
        let home = home();
        let header = header(None);
        let id = header.session_id;
        let log = home.store.create(header).unwrap();
        log.append(TurnId(1), message(Role::User, &"ä".repeat(10_000))).await.unwrap();
        log.close().await.unwrap();
        match run(&home.store, &SessionJob::Preview { session: id }) {
            Ok(SessionAnswer::Previewed(preview)) => match preview.said.as_slice() {
                [Said::Person(text)] => assert_eq!(text.chars().count(), LONGEST + 1),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}
