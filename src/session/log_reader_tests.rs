//! Tests of reading logs in all states.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::{CallInput, ContentBlock, Message, MessageRole, ToolCall, TurnId};

use super::super::samples::{assistant, call, calls, every_kind, lines, log, record, result, user};
use super::*;

/// Reads a log with a header and these lines of JSON after it.
fn after_header(values: &[Value]) -> LoadedLog {
    let mut bytes = lines(&log(1));
    for value in values {
        bytes.extend(format!("{value}\n").bytes());
    }
    load(&bytes)
}

fn messages(loaded: &LoadedLog) -> Vec<Message> {
    let messages = loaded.records.iter().filter_map(|record| match &record.entry {
        LogEntry::Message(message) => Some(message.message()),
        _ => None,
    });
    messages.collect()
}

#[test]
fn every_kind_of_entry_comes_back_as_it_was() {
    let records: Vec<LogRecord> = every_kind().into_iter().map(|entry| record(1, entry)).collect();
    let loaded = load(&lines(&records));
    assert_eq!(loaded.records, records);
    assert_eq!(loaded.notices, []);
    assert_eq!((loaded.tail, loaded.read_only), (LogTail::Whole, false));
}

#[test]
fn the_deepest_arguments_that_a_call_can_have_come_back() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let inputs = (90..130).map(|depth| CallInput::parse(&nested(depth)));
    let records: Vec<LogRecord> = inputs
        .map(|input| ToolCall { input, ..call("c1") })
        .map(|call| record(1, assistant(vec![ContentBlock::ToolUse(call)])))
        .collect();
    assert_eq!(load(&lines(&records)).records, records);
}

#[test]
fn a_message_has_its_role_and_content_at_the_top() {
    let bytes = lines(&[record(3, user("hello"))]);
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(value["type"], "message");
    assert_eq!(value["role"], "user");
    assert_eq!(value["content"], json!([{"type": "text", "text": "hello"}]));
    assert_eq!(value["turn"], 3);
}

#[test]
fn r1_a_log_cut_anywhere_keeps_all_whole_records() {
    let records = log(200);
    let whole = lines(&records);
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let mut cuts: Vec<usize> = vec![0, 1];
    for (start, end) in ends.iter().zip(&ends[1..]) {
        cuts.extend([*start, start + 1, start + 2, start + (end - start) / 2, end - 1]);
    }
    for cut in cuts {
        let loaded = load(&whole[..cut]);
        let before = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(loaded.records, records[..before], "cut at {cut}");
    }
}

#[test]
fn a_last_line_without_line_feed_is_whole() {
    let records = log(3);
    let bytes = lines(&records);
    let loaded = load(&bytes[..bytes.len() - 1]);
    assert_eq!(loaded.records, records);
    assert_eq!((loaded.tail, loaded.notices), (LogTail::NoLineFeed, vec![]));
    assert_eq!(loaded.good_len, bytes.len() - 1);
}

#[test]
fn a_last_line_that_was_cut_off_is_torn() {
    let records = log(3);
    let bytes = lines(&records);
    let loaded = load(&bytes[..bytes.len() - 2]);
    let start = lines(&records[..2]).len();
    assert_eq!(loaded.records, records[..2]);
    assert_eq!(loaded.tail, LogTail::Torn(start..bytes.len() - 2));
    assert_eq!(loaded.notices, [LogNotice::TornTail { bytes: start..bytes.len() - 2 }]);
    assert_eq!(loaded.good_len, start);
}

#[test]
fn r10_records_of_other_programs_and_newer_slugs() {
    let known = json!(record(1, user("hello")));
    let mut with_more = known.clone();
    with_more["id"] = json!("0190a000-0000-7000-8000-000000000001");
    with_more["colour"] = json!("green");
    let without_id = json!({"type": "title", "title": "T", "turn": 4});
    let loaded = after_header(&[
        known.clone(),
        json!({"type": "checkpoint", "id": "x", "files": []}),
        with_more,
        known,
        json!({}),
        without_id,
    ]);
    assert_eq!(messages(&loaded), [Message::user("hello"), Message::user("hello")]);
    let title = loaded.records.last().unwrap();
    assert_eq!((&title.entry, title.turn), (&LogEntry::Title { title: "T".into() }, TurnId(4)));
    let types = [("checkpoint".to_owned(), 1), ("no type".to_owned(), 1)].into();
    assert_eq!(
        loaded.notices,
        [LogNotice::NotUnderstood { types }, LogNotice::Duplicates { count: 1 }]
    );
}

#[test]
fn r10_a_newer_format_is_read_only() {
    let mut newer = json!(record(0, LogEntry::Session(super::super::samples::header("/work"))));
    newer["version"] = json!(SessionHeader::VERSION + 1);
    let mut reshaped = newer.clone();
    reshaped["cwd"] = json!({"bytes": [1, 2]});
    for first in [newer, reshaped] {
        let bytes = format!("{first}\n{}\n", json!(record(1, user("hello"))));
        let loaded = load(bytes.as_bytes());
        assert!(loaded.read_only);
        assert_eq!(loaded.notices, [LogNotice::NewerVersion { version: 2 }]);
        assert_eq!(messages(&loaded), [Message::user("hello")]);
    }
}

#[test]
fn r10_an_empty_file_is_an_empty_session() {
    for bytes in [b"".as_slice(), BYTE_ORDER_MARK, b"\n\r\n  \n"] {
        let loaded = load(bytes);
        assert_eq!(loaded.records, []);
        assert_eq!(loaded.notices, [LogNotice::NoHeader]);
        assert_eq!((loaded.tail, loaded.good_len), (LogTail::Whole, bytes.len()));
    }
}

#[test]
fn r10_byte_order_mark_and_crlf_do_not_matter() {
    let records = log(12);
    let text = String::from_utf8(lines(&records)).unwrap().replace('\n', "\r\n");
    let loaded = load(format!("\u{feff}{text}").as_bytes());
    assert_eq!(loaded.records, records);
    assert_eq!(loaded.notices, []);
}

#[test]
fn r12_damage_in_the_middle_costs_the_lines_it_hits() {
    let records = log(40);
    let bytes = lines(&records);
    let at = lines(&records[..20]).len();
    let hit = at..at + lines(&records[20..21]).len();
    let mut flipped = bytes.clone();
    flipped[at] ^= 0x80;
    let loaded = load(&flipped);
    assert_eq!(loaded.records, [&records[..20], &records[21..]].concat());
    assert_eq!(loaded.notices, [LogNotice::Damaged { lines: vec![hit] }]);

    let mut zeroed = bytes;
    zeroed[at..at + 1_000].fill(0);
    let loaded = load(&zeroed);
    assert_eq!(loaded.records[..20], records[..20]);
    assert_eq!(loaded.records.last(), records.last());
    assert_eq!(loaded.notices.len(), 1);
    assert_eq!(loaded.tail, LogTail::Whole);
}

#[test]
fn r12_a_damaged_first_line_costs_no_message() {
    let records = log(6);
    let mut bytes = lines(&records);
    bytes[0] = b'#';
    let loaded = load(&bytes);
    assert_eq!((loaded.header, &loaded.records[..]), (None, &records[1..]));
    assert!(loaded.notices.contains(&LogNotice::NoHeader));
}

#[test]
fn a_plain_chat_log_loads() {
    let text = concat!(
        "{\"role\": \"user\", \"content\": \"hello\"}\n",
        "{\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"hi\"}]}\n",
        "{\"role\": \"user\", \"content\": \"hello\"}\n",
        "{\"role\": \"system\", \"content\": \"be nice\"}\n",
    );
    let loaded = load(text.as_bytes());
    let hi = Message {
        role: MessageRole::Assistant,
        content: vec![ContentBlock::Text { text: "hi".into() }],
    };
    assert_eq!(messages(&loaded), [Message::user("hello"), hi, Message::user("hello")]);
    let turns: Vec<u32> = loaded.records.iter().map(|record| record.turn.0).collect();
    assert_eq!(turns, [1, 1, 2]);
    assert_ne!(loaded.records[0].id, loaded.records[2].id);
    let again = load(format!("\n{text}").as_bytes());
    assert_eq!(again.records, loaded.records, "made-up ids stay the same");
}

#[test]
fn unknown_parts_of_a_message_are_skipped() {
    let loaded = after_header(&[json!({
        "type": "message", "id": "msg_1", "role": "assistant", "stop_reason": "stop_sequence",
        "usage": {"input": "many"},
        "content": [{"type": "text", "text": "see"}, {"type": "image", "source": {}}],
    })]);
    let see = Message {
        role: MessageRole::Assistant,
        content: vec![ContentBlock::Text { text: "see".into() }],
    };
    assert_eq!(messages(&loaded), [see]);
    assert_eq!(loaded.notices, [LogNotice::PartsLeftOut { count: 1 }]);
}

#[test]
fn notices_are_sentences() {
    let few = LogNotice::Damaged { lines: vec![1..2, 5..9] };
    assert_eq!(
        few.to_string(),
        "The session log has 2 lines that cannot be read (bytes 1 to 2, 5 to 9). The rest is \
         here, and the file is unchanged."
    );
    let types = [("checkpoint".to_owned(), 1)].into();
    assert_eq!(
        LogNotice::NotUnderstood { types }.to_string(),
        "The session has 1 record from another program or a newer slug (checkpoint), not shown \
         here but kept in the file."
    );
}

proptest! {
    #[test]
    fn r1_any_cut_opens_keeps_the_prefix_and_is_mended_once(cut in 0.0..=1.0f64) {
        let records = log(30);
        let bytes = lines(&records);
        let bytes = &bytes[..(bytes.len() as f64 * cut) as usize];
        let loaded = load(bytes);
        prop_assert!(records.starts_with(&loaded.records));
        let mended = load(&bytes[..loaded.good_len]);
        prop_assert_eq!(&mended.records, &loaded.records);
        prop_assert!(!matches!(mended.tail, LogTail::Torn(_)));
    }

    #[test]
    fn r12_any_flipped_byte_opens(at in 0.0..1.0f64, byte: u8) {
        let records = log(30);
        let mut bytes = lines(&records);
        let at = (bytes.len() as f64 * at) as usize;
        let hit = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        bytes[at] = byte;
        let loaded = load(&bytes);
        prop_assert!(loaded.records.starts_with(&records[..hit]));
        // The line that was hit, and the next one where the line feed between them was hit.
        prop_assert!(loaded.records.len() + 2 >= records.len());
        prop_assert_eq!(load(&bytes), loaded);
    }

    #[test]
    fn any_bytes_open(bytes: Vec<u8>) {
        let loaded = load(&bytes);
        prop_assert!(loaded.good_len <= bytes.len());
        let whole = loaded.whole().body;
        prop_assert!(whole.start <= whole.end && whole.end <= bytes.len());
        for notice in &loaded.notices {
            prop_assert!(!notice.to_string().is_empty());
        }
    }
}

#[test]
fn the_newest_records_are_the_end_of_all_and_answer_no_call() {
    let long = "word ".repeat(200);
    let entries = (0..8_000).flat_map(|_| [user("read it"), calls(&["c1"]), result("c1", &long)]);
    let records: Vec<LogRecord> = entries.take(9_000).map(|entry| record(1, entry)).collect();
    let mut bytes = lines(&records);
    let found = newest(&bytes[bytes.len() - usize::try_from(END).unwrap()..]).unwrap();
    assert!(found.len() > NEWEST_RECORDS / 2 && found.len() <= NEWEST_RECORDS, "{}", found.len());
    assert_eq!(found, records[records.len() - found.len()..]);
    assert!(found[0].can_start_conversation());

    // A log that needs the lenient parser is read as a whole.
    bytes.extend(b"{\"role\":\"user\",\"content\":\"by hand\"}\n");
    assert_eq!(newest(&bytes), None);
    bytes.extend(b"{\"type\":\"mess");
    assert_eq!(newest(&bytes), None);
}
