//! Tests of forks, byte by byte.

use std::path::Path;

use super::super::samples::{TestSessionStore, header, home, lines, log, record, user};
use super::*;
use crate::domain::ToolSpec;

struct ForkFixture {
    home: TestSessionStore,
    parent: SessionId,
}

fn fixture(bytes: &[u8]) -> ForkFixture {
    let home = home();
    let parent = home.planted(bytes);
    ForkFixture { home, parent }
}

impl ForkFixture {
    /// The fork's first line and the bytes after it.
    fn fork(&self, upto: Option<EntryId>) -> (SessionHeader, Vec<u8>) {
        let header = header("/elsewhere");
        let session = header.session_id;
        self.home.store.fork(self.parent, upto, header).unwrap();
        let loaded = self.home.store.read(session).unwrap();
        let bytes = self.home.store.bytes(session).unwrap();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        (loaded.header.unwrap(), bytes[first..].to_vec())
    }
}

#[test]
fn a_fork_has_its_own_first_line_and_the_parents_bytes() {
    let records = log(9);
    let fixture = fixture(&lines(&records));
    for (upto, kept) in [(None, 9), (Some(8), 9), (Some(4), 5), (Some(1), 2)] {
        let (header, body) = fixture.fork(upto.map(|at: usize| records[at].id));
        assert_eq!(body, lines(&records[1..kept]), "up to {upto:?}");
        assert_eq!(header.forked_from, Some(fixture.parent));
        assert_eq!(header.cwd, Path::new("/elsewhere"));
    }
}

#[test]
fn a_fork_has_the_parents_title() {
    let mut records = log(6);
    records.push(record(1, LogEntry::Title { title: "The cart".into() }));
    let fixture = fixture(&lines(&records));
    for upto in [None, Some(records[2].id), Some(records[0].id)] {
        let (_, body) = fixture.fork(upto);
        assert_eq!(
            title_after(&load(&body).records).as_deref(),
            Some("The cart"),
            "up to {upto:?}"
        );
    }
}

#[test]
fn a_fork_keeps_unknown_lines_and_drops_a_torn_tail() {
    let records = log(3);
    let foreign = b"{\"type\":\"checkpoint\"}\nnot json\n";
    let bytes = [lines(&records).as_slice(), foreign].concat();
    let fixture = fixture(&[bytes.as_slice(), b"{\"type\":\"mess"].concat());
    let (_, body) = fixture.fork(None);
    assert_eq!(body, bytes[lines(&records[..1]).len()..]);
}

#[test]
fn a_last_line_without_line_feed_gets_one() {
    let records = log(3);
    let bytes = lines(&records);
    let fixture = fixture(&bytes[..bytes.len() - 1]);
    assert_eq!(fixture.fork(None).1, lines(&records[1..]));
}

#[test]
fn a_plain_chat_log_can_be_forked_at_a_line_and_keeps_its_ids() {
    let bytes = b"{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n";
    let fixture = fixture(bytes);
    let parent = fixture.home.store.read(fixture.parent).unwrap();
    let (_, body) = fixture.fork(Some(parent.records[0].id));
    assert_eq!(body, bytes[..bytes.len() / 2]);
    let (_, body) = fixture.fork(None);
    assert_eq!(load(&body).records, parent.records);
}

#[test]
fn an_entry_of_another_session_is_refused() {
    let fixture = fixture(&lines(&log(3)));
    let entry = record(1, user("other")).id;
    let refused = fixture.home.store.fork(fixture.parent, Some(entry), header("/work"));
    assert!(matches!(refused, Err(StoreError::NoSuchEntry { .. })), "{refused:?}");
    let missing = fixture.home.store.fork(SessionId::generate(), None, header("/work"));
    assert!(matches!(missing, Err(StoreError::Missing(_))), "{missing:?}");
}

#[test]
fn a_fork_never_replaces_a_session() {
    let fixture = fixture(&lines(&log(3)));
    let onto = SessionHeader { session_id: fixture.parent, ..header("/work") };
    let refused = fixture.home.store.fork(fixture.parent, None, onto);
    assert!(matches!(refused, Err(StoreError::Exists(_))), "{refused:?}");
}

/// The tools array of a fork is that of its parent, whatever is in that of the session that forks it.
#[test]
fn a_fork_has_the_tools_array_of_its_parent() {
    for mut records in [log(4), long()] {
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: "Finds.".into(),
            input_schema: serde_json::json!({"type": "object"}),
        };
        let LogEntry::Session(first) = &mut records[0].entry else { panic!() };
        first.server_tools = vec![spec("mcp__x__a"), spec("mcp__x__b")];
        let expected = first.server_tools.clone();
        let fixture = fixture(&lines(&records));
        for upto in [None, Some(records[2].id)] {
            let server_tools = vec![spec("mcp__y__c")];
            let other = SessionHeader { server_tools, ..header("/elsewhere") };
            let fork = other.session_id;
            fixture.home.store.fork(fixture.parent, upto, other).unwrap();
            let forked = fixture.home.store.read(fork).unwrap().header.unwrap();
            assert_eq!(forked.server_tools, expected);
        }
    }
}

/// A log that is too long to be read at once, with titles before and after a message.
fn long() -> Vec<LogRecord> {
    let mut records = log(40);
    let filler = "x".repeat(100_000);
    records.push(record(9, LogEntry::Title { title: "first".into() }));
    records.extend((0..60).map(|n| record(10, user(&format!("{n} {filler}")))));
    records.push(record(11, LogEntry::Title { title: "second".into() }));
    records.push(record(11, user("the \"type\":\"title\" is only quoted")));
    records
}

#[test]
fn the_previous_record_is_found_in_short_and_long_logs() {
    for records in [log(4), long()] {
        let fixture = fixture(&lines(&records));
        for at in (1..records.len()).step_by(7) {
            let found =
                fixture.home.store.record_and_previous(fixture.parent, records[at].id).unwrap();
            assert_eq!(found, (records[at - 1].id, records[at].clone()));
        }
        for nowhere in [records[0].id, record(1, user("other")).id] {
            let refused = fixture.home.store.record_and_previous(fixture.parent, nowhere);
            assert!(matches!(refused, Err(StoreError::NoSuchEntry { .. })), "{refused:?}");
        }
    }
    let records = long();
    let fixture = fixture(&lines(&records));
    let file = File::open(fixture.home.store.paths(fixture.parent).log()).unwrap();
    assert!(
        range::record_and_previous(&file, records[70].id).unwrap().is_some(),
        "it is found by its bytes"
    );
}

#[test]
fn long_and_short_logs_are_forked_alike() {
    let records = long();
    let bytes = lines(&records);
    let fixture = fixture(&bytes);
    let path = fixture.home.store.paths(fixture.parent).log();
    for upto in [1, 5, 39, 40, 41, 70, 100, 101, 102] {
        let cut = range::find(&File::open(&path).unwrap(), Some(records[upto].id)).unwrap();
        assert!(cut.is_some(), "{upto} is found by its bytes");
        let (header, body) = fixture.fork(Some(records[upto].id));
        assert_eq!(header.forked_from, Some(fixture.parent));
        let kept = lines(&records[1..=upto]);
        assert!(body.starts_with(&kept), "up to {upto}");
        let loaded = load(&body);
        assert_eq!(title_after(&loaded.records).as_deref(), Some("second"), "up to {upto}");
        assert_eq!(body.len() > kept.len(), upto < 101, "a title is added where it is missing");
    }
    let (_, whole) = fixture.fork(None);
    assert!(whole == lines(&records[1..]));
}

#[test]
fn a_long_log_in_another_form_is_read_leniently() {
    let records = long();
    let mut torn = lines(&records);
    torn.extend_from_slice(b"{\"torn");
    let cases = [
        ("a torn tail", torn),
        ("no first line", lines(&records[1..])),
        ("a byte order mark", [b"\xef\xbb\xbf", lines(&records).as_slice()].concat()),
    ];
    for (case, bytes) in cases {
        let fixture = fixture(&bytes);
        let file = File::open(fixture.home.store.paths(fixture.parent).log()).unwrap();
        assert_eq!(range::find(&file, None).unwrap(), None, "{case}");
        let (_, body) = fixture.fork(None);
        assert_eq!(load(&body).records.last(), records.last(), "{case}");
    }
}

#[test]
fn an_id_that_a_long_log_only_mentions_is_not_found() {
    let mut records = long();
    let other = EntryId::generate();
    records.push(record(12, user(&format!("\"id\":\"{other}\""))));
    let fixture = fixture(&lines(&records));
    let header = header("/elsewhere");
    let forked = fixture.home.store.fork(fixture.parent, Some(other), header);
    assert!(matches!(forked, Err(StoreError::NoSuchEntry { entry, .. }) if entry == other));
}
