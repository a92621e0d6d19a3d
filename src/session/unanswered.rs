//! Finds out whether slug ended in the midst of a session's last turn or of a command of the user's, as it
//! does when it is killed.

use crate::domain::{MessageRole, TYPED_BY_USER};

use super::undo::RewindHistory;
use super::{LogEntry, LogRecord};

/// Whether the last turn of a log has no end, and its last word asks for an answer: a message of the
/// user's, a call, or the result of one. `records` are the end of a log, or all of it.
pub fn ends_unanswered(records: &[LogRecord]) -> bool {
    let rewinds = RewindHistory::of(records);
    let header = records.iter().find(|it| matches!(it.entry, LogEntry::Session(_)));
    // A fork begins with records of another session, which went on without them.
    let is_own = |record: &LogRecord| header.is_none_or(|header| record.id > header.id);
    let live =
        records.iter().enumerate().filter(|(at, record)| rewinds.is_live(*at) && is_own(record));
    let mut is_open = false;
    for (_, record) in live {
        if let LogEntry::Message(message) = &record.entry {
            if message.source.is_main() && !is_typed_command(record) {
                is_open =
                    message.role == MessageRole::User || message.message().calls().next().is_some();
            }
        } else if let LogEntry::TurnEnd(_) | LogEntry::Interrupted | LogEntry::Rewind(_) =
            &record.entry
        {
            is_open = false;
        }
    }
    is_open
}

/// Whether slug ended while a command of the user's ran: it is on record that it began, and neither its
/// output nor anything that was said later. `records` are the end of a log, or all of it.
pub fn ends_in_command(records: &[LogRecord]) -> bool {
    let rewinds = RewindHistory::of(records);
    let live = records.iter().enumerate().filter(|(at, _)| rewinds.is_live(*at));
    live.fold(false, |runs, (_, record)| match &record.entry {
        LogEntry::ToolStarted { approved_by, .. } => approved_by == TYPED_BY_USER,
        LogEntry::Message(_) | LogEntry::Rewind(_) => false,
        _ => runs,
    })
}

/// Whether a record is a command that the user ran: nobody has to answer it.
fn is_typed_command(record: &LogRecord) -> bool {
    let message = record.entry.as_message();
    message.is_some_and(|it| it.result.is_some() && !it.is_result())
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::super::samples;
    use super::*;
    use crate::domain::{CallId, ContentHash, EntryId, Message, TurnId};
    use crate::session::MessageEntry;

    fn log(entries: impl IntoIterator<Item = LogEntry>) -> Vec<LogRecord> {
        let record = |entry| LogRecord {
            id: EntryId::generate(),
            timestamp: Utc::now(),
            turn: TurnId(1),
            entry,
        };
        entries.into_iter().map(record).collect()
    }

    fn message(role: MessageRole) -> LogEntry {
        LogEntry::Message(MessageEntry::new(Message { role, ..Message::user("text") }))
    }

    #[test]
    fn a_turn_without_an_end_is_unanswered() {
        let (asked, answered) = (|| message(MessageRole::User), || message(MessageRole::Assistant));
        for (entries, expected) in [
            (vec![], false),
            (vec![asked()], true),
            (vec![asked(), answered()], false),
            (vec![asked(), answered(), samples::turn_end()], false),
            (vec![asked(), LogEntry::Interrupted], false),
            (vec![asked(), samples::turn_end(), asked()], true),
            (vec![asked(), samples::turn_end(), LogEntry::Title { title: "t".into() }], false),
        ] {
            assert_eq!(ends_unanswered(&log(entries.clone())), expected, "{entries:?}");
        }
    }

    #[test]
    fn a_command_of_the_users_that_has_no_output_was_running() {
        let began = |approved_by: &str| LogEntry::ToolStarted {
            call: CallId::new("c"),
            arguments: ContentHash::of(b"{}"),
            approved_by: approved_by.to_owned(),
        };
        let (asked, typed) = (|| message(MessageRole::User), || began(TYPED_BY_USER));
        for (entries, expected) in [
            (vec![asked()], false),
            (vec![asked(), began("user")], false),
            (vec![asked(), typed()], true),
            (vec![typed(), LogEntry::Title { title: "t".into() }], true),
            (vec![typed(), asked()], false),
        ] {
            assert_eq!(ends_in_command(&log(entries.clone())), expected, "{entries:?}");
        }
    }

    #[test]
    fn what_a_fork_copied_waits_for_no_answer() {
        let copied = log([message(MessageRole::User)]);
        let header =
            samples::every_kind().into_iter().find(|it| matches!(it, LogEntry::Session(_)));
        let mut fork = log(header);
        fork.extend(copied);
        assert!(!ends_unanswered(&fork), "copied lines are older than the first line");
        fork.extend(log([message(MessageRole::User)]));
        assert!(ends_unanswered(&fork));
    }
}
