//! Tests of the search in logs on real folders.

use std::fs;

use serde_json::json;

use crate::domain::{ContentHash, Message, ToolCall};

use super::super::samples::{
    TestSessionStore, assistant, header, home, lines, log, record, result, rewind, says, user,
};
use super::super::{RewindEntry, RewindScope, SessionHeader};
use super::*;

impl TestSessionStore {
    fn session_with(&self, entries: Vec<LogEntry>) -> SessionId {
        let records: Vec<LogRecord> = entries.into_iter().map(|entry| record(1, entry)).collect();
        self.planted(&lines(&records))
    }

    /// All matches of a text, in the order of `sessions`.
    fn search(&self, text: &str, sessions: &[SessionId]) -> Vec<SessionSearchResult> {
        let mut all = Vec::new();
        let text = SearchText::new(text).unwrap();
        self.store.search(&text, sessions, &|| false, |found| all.push(found));
        all.sort_by_key(|found| sessions.iter().position(|it| *it == found.session));
        all
    }

    /// The first match of a text in a session with these entries.
    fn place(&self, text: &str, entries: Vec<LogEntry>) -> Option<SessionSearchHit> {
        let session = self.session_with(entries);
        self.search(text, &[session]).pop()?.places.into_iter().next()
    }
}

fn shown(place: &SessionSearchHit) -> String {
    format!("{}[{}]{}", place.before, place.found, place.behind)
}

#[test]
fn a_hit_has_the_match_with_the_text_around_it() {
    let home = home();
    let place = home.place("cart", vec![user("first line\nfix the empty cart\nplease")]).unwrap();
    assert_eq!(shown(&place), "fix the empty [cart] please");
    assert_eq!(place.who, SearchHitSource::User);
    let long = format!("{} needle {}", "ä".repeat(100), "b".repeat(500));
    let place = home.place("needle", vec![says(&long)]).unwrap();
    assert_eq!(place.before, format!("…{} ", "ä".repeat(BEFORE - 1)));
    assert_eq!(place.behind.chars().count(), BEHIND);
}

#[test]
fn small_letters_match_capitals_and_a_capital_makes_case_count() {
    let home = home();
    let cases = [
        ("cart", "The CART", true),
        ("Cart", "the cart", false),
        ("Cart", "the Cart", true),
        ("größe", "Die GRÖSSE", false),
        ("größe", "Die Größe", true),
        ("ÄRGER", "ärger", false),
        ("ärger", "ÄRGER", true),
        ("a b", "a\n  b", true),
        ("a b", "ab", false),
        ("a b", "a\u{a0}\u{202f}b", true),
        ("a b", "a\u{3000}b", true),
        ("a b", "a\u{c}\u{b}b", true),
        ("a\u{3000}b", "a b", true),
        ("c:\\dir", "in c:\\dir", true),
        ("say \"hi\"", "to say \"hi\" now", true),
        ("a/b.c", "a/b.c", true),
        ("a/b.c", "a/bxc", false),
        ("(x|y)*", "take (x|y)* all", true),
        ("日本", "漢字と日本語", true),
    ];
    for (text, said, is_found) in cases {
        assert_eq!(home.place(text, vec![user(said)]).is_some(), is_found, "{text} in {said}");
    }
}

#[test]
fn text_that_another_program_escaped_is_found() {
    let home = home();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let cases = [
        ("naïve", "na\\u00efve"),
        ("NAÏVE", "NA\\u00CFVE"),
        ("naïve", "NA\\u00CFVE"),
        ("😀", "\\ud83d\\ude00"),
        ("a/b", "a\\/b"),
        ("one two", "one\\ntwo"),
        ("one two", "one\\u00A0\\u202f\\u3000two"),
        ("one two", "one\\u000c\\u000b\\ftwo"),
    ];
    for (text, escaped) in cases {
        let session = home.planted(line(escaped).as_bytes());
        assert_eq!(home.search(text, &[session]).len(), 1, "{text} in {escaped}");
    }
}

#[test]
fn calls_and_results_are_found_with_their_tool() {
    let home = home();
    let input = json!({"command": "cargo test", "needle": 1});
    let call =
        ToolCall { id: CallId::new("c1"), name: "Bash".into(), input: CallInput::Valid(input) };
    let made = assistant(vec![ContentBlock::ToolUse(call)]);
    let place = home.place("cargo test", vec![made.clone()]).unwrap();
    assert_eq!(
        (place.who, place.call),
        (SearchHitSource::Call("Bash".into()), Some(CallId::new("c1")))
    );
    assert_eq!(home.place("needle", vec![made]), None, "the name of a field is nothing said");
    let place = home.place("passed", vec![result("c1", "3 tests passed")]).unwrap();
    assert_eq!((place.who, place.call), (SearchHitSource::Result(None), Some(CallId::new("c1"))));
    let thought = ContentBlock::Thinking { thinking: "hmm, the cart".into(), signature: None };
    let place = home.place("cart", vec![assistant(vec![thought])]).unwrap();
    assert_eq!(place.who, SearchHitSource::Thinking);
}

#[test]
fn text_that_nobody_sees_is_not_found() {
    let home = home();
    let seal = "c2lnbmF0dXJlCg";
    let sealed = ContentBlock::Thinking { thinking: "x".into(), signature: Some(seal.into()) };
    let context = ContentBlock::Context { name: "git".into(), text: "on branch main".into() };
    let mut message = MessageEntry::new(Message::user("hello"));
    message.content.push(context);
    let hashed =
        LogEntry::Message(MessageEntry { answered: Some(ContentHash::of(b"x")), ..message });
    let hash = ContentHash::of(b"x").to_string();
    let entries = vec![LogEntry::Session(header("/work")), hashed, assistant(vec![sealed])];
    for text in [seal, "branch", "timestamp", "session", hash.as_str(), "/work"] {
        assert_eq!(home.place(text, entries.clone()), None, "{text}");
    }
}

#[test]
fn a_session_is_left_after_a_few_hits() {
    let home = home();
    let many = home.session_with((0..10).map(|n| user(&format!("word {n}"))).collect());
    let few = home.session_with(vec![user("word"), says("nothing"), says("word")]);
    let found = home.search("word", &[many, few]);
    let counts: Vec<_> = found.iter().map(|it| (it.places.len(), it.more)).collect();
    assert_eq!(counts, [(MOST_PLACES, true), (2, false)]);
    assert_eq!(found[0].places[1].before, "");
    assert_eq!(found[0].places[1].behind, " 1");
}

#[test]
fn a_copy_is_found_once() {
    let home = home();
    let parent = home.session_with(vec![user("the word"), says("an answer")]);
    let fork = SessionHeader { session_id: SessionId::generate(), ..header("/work") };
    let id = fork.session_id;
    home.store.fork(parent, None, fork).unwrap();
    let found = home.search("word", &[id, parent]);
    assert_eq!(found.len(), 2);
    let forked_from = |session| (session == id).then_some(parent);
    let kept = without_copies(found, forked_from);
    assert_eq!(kept.iter().map(|it| it.session).collect::<Vec<_>>(), [id]);
}

#[test]
fn hits_in_plain_chat_logs_name_their_records() {
    let home = home();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let text = [line("tea"), line("the cart"), line("tea"), line("the cart")].concat();
    let plain = [home.planted(text.as_bytes()), home.planted(line("the cart").as_bytes())];
    let found = home.search("cart", &plain);
    let records = home.store.read(plain[0]).unwrap().records;
    assert_eq!(records.len(), 4, "what is said twice is there twice");
    assert_eq!(found[0].places[0].entry, records[1].id);
    assert_eq!(found[1].places[0].entry, home.store.read(plain[1]).unwrap().records[0].id);
    assert_eq!(without_copies(found, |_| None).len(), 2, "neither is a fork");
}

#[test]
fn rewound_messages_are_not_found_until_a_redo() {
    let home = home();
    let mut records: Vec<LogRecord> =
        (0..9).map(|n| record(1, user(&format!("word {n}")))).collect();
    let back = record(1, LogEntry::Rewind(rewind(records[1].id, RewindScope::Conversation)));
    records.push(back.clone());
    let session = home.planted(&lines(&records));
    let places = || home.search("word", &[session]).pop().map(|it| (it.places, it.more));
    assert_eq!(
        places().map(|(places, more)| (shown(&places[0]), places.len(), more)),
        Some(("[word] 0".into(), 1, false))
    );
    assert!(home.search("word 5", &[session]).is_empty());
    let forth =
        RewindEntry { redoes: Some(back.id), ..rewind(records[1].id, RewindScope::Conversation) };
    records.push(record(1, LogEntry::Rewind(forth)));
    fs::write(home.store.log_path(session), lines(&records)).unwrap();
    assert_eq!(home.search("word 5", &[session]).len(), 1);
    records.truncate(9);
    records.push(record(1, user("\"type\":\"rewind\"")));
    fs::write(home.store.log_path(session), lines(&records)).unwrap();
    assert_eq!(places().map(|(places, more)| (places.len(), more)), Some((MOST_PLACES, true)));
}

#[test]
fn the_users_own_commands_are_found_with_their_output() {
    let home = home();
    let text = "$ cargo test --lib\n3 tests passed".into();
    let mut message = MessageEntry::new(Message::user(""));
    message.content = vec![ContentBlock::Context { name: "shell".into(), text }];
    let place = |text: &str| home.place(text, vec![LogEntry::Message(message.clone())]);
    assert_eq!(shown(&place("cargo").unwrap()), "[cargo] test --lib");
    assert_eq!(place("cargo").unwrap().who, SearchHitSource::User);
    assert_eq!(shown(&place("passed").unwrap()), "3 tests [passed]");
    assert_eq!(place("passed").unwrap().who, SearchHitSource::Result(None));
}

#[test]
fn a_search_that_is_stopped_ends() {
    let home = home();
    let sessions: Vec<SessionId> = (0..20).map(|_| home.planted(&lines(&log(50)))).collect();
    let text = SearchText::new("question").unwrap();
    let count = AtomicUsize::new(0);
    let stopped = || count.fetch_add(1, Ordering::Relaxed) > 0;
    let mut found = 0;
    home.store.search(&text, &sessions, &stopped, |_| found += 1);
    assert_eq!(found, 0);
    assert!(count.load(Ordering::Relaxed) < 3 * (THREADS + 1), "nobody went on");
}

#[test]
fn a_log_that_is_damaged_or_gone_hides_no_other() {
    let home = home();
    let mut bytes = lines(&log(11));
    bytes.extend_from_slice(b"\xff\xfe question { torn");
    let damaged = home.planted(&bytes);
    let gone = SessionId::generate();
    let found = home.search("question", &[gone, damaged]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].places.len(), 2, "those in whole lines");
    drop(home.dir);
}

#[test]
fn blank_text_is_none() {
    assert!(SearchText::new(" \t").is_none());
}
