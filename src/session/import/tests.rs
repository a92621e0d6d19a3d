//! Tests of imports of sessions of other tools.

mod contents;

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use crate::domain::{ContentBlock, ContentHash, MediaType, MessageImage, MessageRole};
use crate::session::samples::{TestSessionStore, header, home, lines, record, user};
use crate::session::{ExportForm, LoadedLog, LogEntry, MessageEntry, SecretHandling, compression};

use super::*;

impl TestSessionStore {
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join("there").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn import(&self, path: &Path) -> Result<ImportedSession, ImportError> {
        let mut found = self.store.import(path, Path::new("/here"), &fit, ImportMode::Write);
        assert_eq!(found.len(), 1);
        found.remove(0).outcome
    }

    /// Imports the values, a line each, and reads the session from the store.
    fn imported(&self, values: &[Value]) -> (ImportedSession, LoadedLog) {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let imported = self.import(&self.file("session.jsonl", text)).unwrap();
        (imported, self.store.read(imported.session).unwrap())
    }
}

/// Accepts bytes that begin like a PNG, and makes them shorter.
fn fit(mut bytes: Vec<u8>) -> Option<(MessageImage, Vec<u8>)> {
    let kind = MediaType::of(&bytes)?;
    bytes.truncate(9);
    Some((MessageImage::new("image", kind, (3, 2), &bytes), bytes))
}

fn messages(loaded: &LoadedLog) -> Vec<&MessageEntry> {
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
    let message = |record: &'_ LogRecord| matches!(record.entry, LogEntry::Message(_));
    let messages = loaded.records.iter().filter(|record| message(record));
    messages
        .filter_map(|record| {
            if let LogEntry::Message(message) = &record.entry { Some(message) } else { None }
        })
        .collect()
}

/// Each message as a line: its role, and its blocks.
fn message_lines(loaded: &LoadedLog) -> Vec<String> {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Thinking { thinking, .. } => format!("({thinking})"),
        ContentBlock::ToolUse(call) => {
            let input = serde_json::to_value(call).unwrap()["input"].to_string();
            format!("{}:{}{input}", call.id, call.name)
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            format!("{tool_use_id}={content}{}", if *is_error { "!" } else { "" })
        }
        ContentBlock::Image(image) => image.hash.as_str()[..4].into(),
        ContentBlock::Context { .. } | ContentBlock::Sealed { .. } => "?".into(),
    };
    let line = |message: &&MessageEntry| {
        let who = match message.role {
            MessageRole::User => '>',
            MessageRole::Assistant => '<',
        };
        let blocks: Vec<String> = message.content.iter().map(block).collect();
        format!("{who} {}", blocks.join(" | "))
    };
    messages(loaded).iter().map(line).collect()
}

fn header_of(loaded: &LoadedLog) -> (&Path, &str) {
    let header = loaded.header.as_ref().unwrap();
    (&header.cwd, &header.model)
}

#[test]
fn openai_messages_become_a_session_with_calls_and_results() {
    let home = home();
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "ls", "arguments": "{\"path\":\".\"}"}});
    let (imported, loaded) = home.imported(&[
        json!({"role": "system", "content": "be good"}),
        json!({"role": "user", "content": "list"}),
        json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "a.txt"}),
        json!({"role": "tool", "tool_call_id": "c9", "content": "stray"}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "one file"}]}),
        json!({"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "thanks"}]}),
    ]);
    assert_eq!(
        message_lines(&loaded),
        ["> list", "< (hm) | c1:ls{\"path\":\".\"}", "> c1=a.txt", "< one file", "> thanks"]
    );
    assert_eq!(
        (imported.kind, imported.messages, imported.left_out),
        (ImportSourceKind::Chat, 5, 2)
    );
    assert_eq!(header_of(&loaded).0, Path::new("/here"));
    let turns: Vec<u32> = loaded.records.iter().map(|record| record.turn.0).collect();
    assert_eq!(turns, [0, 1, 1, 1, 1, 2]);
    assert!(loaded.records.windows(2).all(|two| two[0].id < two[1].id));
}

#[test]
fn calls_without_a_function_around_them_and_their_results_are_taken() {
    let home = home();
    let (imported, loaded) = home.imported(&[
        json!({"role": "user", "content": "list"}),
        json!({"role": "assistant", "content": "I look.",
            "tool_calls": [
                {"id": "c1", "name": "ls", "arguments": {"path": "."}},
                {"id": "c2", "name": "cat", "arguments": "{\"path\":\"b\"}"}],
            "tool_results": [{"tool_call_id": "c1", "content": "a.txt"}]}),
        json!({"role": "tool", "tool_results": [{"id": "c2", "error": "no such file"}]}),
        json!({"role": "assistant", "content": "one file"}),
    ]);
    assert_eq!(
        message_lines(&loaded),
        [
            "> list",
            "< I look. | c1:ls{\"path\":\".\"} | c2:cat{\"path\":\"b\"}",
            "> c1=a.txt",
            "> c2=no such file!",
            "< one file"
        ]
    );
    assert_eq!(imported.left_out, 0);
}

#[test]
fn anthropic_messages_become_a_session_with_calls_and_results() {
    let home = home();
    let (_, loaded) = home.imported(&[
        json!({"role": "user", "content": [{"type": "text", "text": "list"}]}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
            {"type": "tool_use", "id": "t2", "name": "ls", "input": {"a": 1}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "b"}]},
            {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": true}]}),
        json!({"role": "assistant", "content": "done"}),
    ]);
    assert_eq!(
        message_lines(&loaded),
        ["> list", "< (hm) | t1:ls{} | t2:ls{\"a\":1}", "> t2=b", "> t1=no!", "< done"]
    );
}

#[test]
fn the_main_chain_of_a_claude_code_file_is_imported() {
    let home = home();
    let line = |kind: &str, uuid: &str, parent: Option<&str>, message: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false,
            "sessionId": "s-1", "cwd": "/work/web", "timestamp": "2025-06-01T10:00:00.000Z",
            "message": message})
    };
    let response = |id: &str, block: Value| {
        json!({"id": id, "role": "assistant", "model": "claude-sonnet-4", "content": [block],
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}})
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
    let result = |id: &str| {
        json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "content": "out"}]})
    };
    let mut side = line("user", "x", None, json!({"role": "user", "content": "side"}));
    side["isSidechain"] = true.into();
    let (imported, loaded) = home.imported(&[
        json!({"type": "summary", "summary": "The web", "leafUuid": "f"}),
        line("user", "a", None, json!({"role": "user", "content": "begin"})),
        line("user", "b0", Some("a"), json!({"role": "user", "content": "taken back"})),
        side,
        line(
            "assistant",
            "b",
            Some("a"),
            response("m1", json!({"type": "text", "text": "two calls"})),
        ),
        line("assistant", "c", Some("b"), response("m1", call("t1"))),
        line("assistant", "d", Some("c"), response("m1", call("t2"))),
        line("user", "e1", Some("c"), result("t1")),
        line("user", "e2", Some("d"), result("t2")),
        json!({"type": "file-history-snapshot", "messageId": "x"}),
        json!({"type": "of tomorrow"}),
        line("assistant", "f", Some("e2"), response("m2", json!({"type": "text", "text": "end"}))),
    ]);
    let calls = "t1:Bash{\"command\":\"ls\"} | t2:Bash{\"command\":\"ls\"}";
    assert_eq!(
        message_lines(&loaded),
        ["> begin", &format!("< two calls | {calls}"), "> t1=out", "> t2=out", "< end"]
    );
    assert_eq!((imported.kind, imported.left_out), (ImportSourceKind::ClaudeCode, 1));
    assert_eq!(header_of(&loaded), (Path::new("/work/web"), "claude-sonnet-4"));
    assert_eq!(loaded.records[0].timestamp.to_rfc3339(), "2025-06-01T10:00:00+00:00");
    let usage = messages(&loaded)[1].usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (7, 4, 5));
    let titles = loaded.records.iter().filter(|it| matches!(it.entry, LogEntry::Title { .. }));
    assert_eq!(titles.count(), 1);
}

#[test]
fn a_codex_rollout_becomes_a_session() {
    let home = home();
    let item = |payload: Value| json!({"timestamp": "2025-10-01T08:00:00Z", "type": "response_item", "payload": payload});
    let text = |role: &str, kind: &str, text: &str| {
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let (imported, loaded) = home.imported(&[
        json!({"timestamp": "2025-10-01T07:00:00Z", "type": "session_meta", "payload": {"id": "r-1",
            "timestamp": "2025-10-01T07:00:00Z", "cwd": "/work/api", "model_provider": "openai"}}),
        json!({"type": "turn_context", "payload": {"model": "gpt-5-codex"}}),
        text("developer", "input_text", "rules"),
        text("user", "input_text", "<environment_context>x</environment_context>"),
        text("user", "input_text", "test it"),
        json!({"type": "event_msg", "payload": {"type": "user_message", "message": "test it"}}),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
        item(json!({"type": "function_call", "name": "shell", "call_id": "c1",
            "arguments": "{\"command\":[\"ls\"]}"})),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2",
            "input": "*** Begin Patch"})),
        item(json!({"type": "function_call_output", "call_id": "c1",
            "output": "{\"output\":\"no\",\"metadata\":{\"exit_code\":1}}"})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"})),
        text("assistant", "output_text", "done"),
    ]);
    assert_eq!(
        message_lines(&loaded),
        [
            "> test it",
            "< (hm) | c1:shell{\"command\":[\"ls\"]} | c2:apply_patch{\"input\":\"*** Begin Patch\"}",
            "> c1=no!",
            "> c2=ok",
            "< done",
        ]
    );
    assert_eq!((imported.kind, imported.left_out), (ImportSourceKind::Codex, 0));
    assert_eq!(header_of(&loaded), (Path::new("/work/api"), "gpt-5-codex"));
}

#[test]
fn a_folder_with_history_and_metadata_is_one_session() {
    let home = home();
    home.file("s/history.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    let metadata = json!({"id": "7", "title": "Greeting", "model": "m", "created": 1_700_000_000});
    let metadata = home.file("s/metadata.json", metadata.to_string());
    let imported = home.import(metadata.parent().unwrap()).unwrap();
    let loaded = home.store.read(imported.session).unwrap();
    assert_eq!(message_lines(&loaded), ["> hi"]);
    assert_eq!(header_of(&loaded).1, "m");
    assert_eq!(loaded.records[0].timestamp.timestamp(), 1_700_000_000);
    assert!(matches!(&loaded.records[2].entry, LogEntry::Title { title } if title == "Greeting"));
}

#[test]
fn provider_and_last_use_are_kept() {
    for title in [json!("T"), json!(null)] {
        let home = home();
        home.file("s/history.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
        let metadata = json!({"id": "7", "title": title, "model": "m", "model_provider": "vllm",
            "created_at": "2025-03-01T00:00:00Z", "updated_at": "2025-03-04T05:06:07Z"});
        let metadata = home.file("s/metadata.json", metadata.to_string());
        let session = home.import(metadata.parent().unwrap()).unwrap().session;
        let loaded = home.store.read(session).unwrap();
        assert_eq!(loaded.header.as_ref().unwrap().provider, "vllm");
        let meta = home.store.list().unwrap().into_iter().find(|it| it.session_id == session);
        let meta = meta.unwrap();
        assert_eq!(meta.created_at, "2025-03-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap());
        assert_eq!(meta.last_used_at, "2025-03-04T05:06:07Z".parse::<DateTime<Utc>>().unwrap());
        assert!(loaded.records.windows(2).all(|two| two[0].id < two[1].id));
    }
}

#[test]
fn a_session_in_one_json_file_is_taken_over() {
    let value = json!({"id": "8", "title": "T", "messages": [{"role": "user", "content": "hi"}]});
    for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
        let home = home();
        let imported = home.import(&home.file("s.json", text)).unwrap();
        assert_eq!(message_lines(&home.store.read(imported.session).unwrap()), ["> hi"]);
    }
    let other = home();
    assert!(matches!(
        other.import(&other.file("package.json", "{\"name\": \"x\"}")),
        Err(ImportError::NotASession)
    ));
}

#[test]
fn a_log_of_slugs_is_copied_byte_by_byte_and_once() {
    let home = home();
    let records = [record(0, LogEntry::Session(header("/w"))), record(1, user("hi"))];
    let bytes = lines(&records);
    let file = home.file("log.jsonl", &bytes);
    let imported = home.import(&file).unwrap();
    assert_eq!(fs::read(home.store.log_path(imported.session)).unwrap(), bytes);
    assert!(matches!(home.import(&file), Err(ImportError::Store(StoreError::Exists(_)))));
}

#[test]
fn a_session_is_not_imported_twice_and_a_dry_run_writes_nothing() {
    let home = home();
    let file = home.file("a.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\nnot json\n");
    let tried = home.store.import(&file, Path::new("/here"), &fit, ImportMode::DryRun);
    let tried = *tried[0].outcome.as_ref().unwrap();
    assert!(home.store.list().unwrap().is_empty());
    assert_eq!(home.import(&file).unwrap(), tried);
    assert_eq!(tried.left_out, 1);
    let copy = home.file("b.jsonl", fs::read(&file).unwrap());
    assert!(matches!(home.import(&copy), Err(ImportError::Store(StoreError::Exists(_)))));
}

#[test]
fn a_folder_is_searched_and_other_files_are_passed_over() {
    let home = home();
    home.file("x/a.jsonl", "{\"role\":\"user\",\"content\":\"a\"}\n");
    home.file("x/y/b.jsonl", "{\"role\":\"user\",\"content\":\"b\"}\n");
    home.file("x/package.json", "{}");
    home.file("x/notes.jsonl", "[1]\n");
    let there = home.dir.path().join("there");
    let found = home.store.import(&there, Path::new("/here"), &fit, ImportMode::Write);
    assert_eq!(found.iter().filter(|file| file.outcome.is_ok()).count(), 2);
    assert_eq!(found.len(), 2);
}

#[test]
fn a_json_export_can_be_imported() {
    let home = home();
    let records = [record(0, LogEntry::Session(header("/w"))), record(1, user("hi"))];
    let exported =
        crate::session::export(&records, ExportForm::Json, SecretHandling::Redacted, &|_| None);
    let imported = home.import(&home.file("e.json", exported.unwrap().text)).unwrap();
    let loaded = home.store.read(imported.session).unwrap();
    assert_eq!(
        (message_lines(&loaded), header_of(&loaded).0),
        (vec!["> hi".to_owned()], Path::new("/w"))
    );
}

fn some_value() -> impl Strategy<Value = Value> {
    let words = vec![
        "user",
        "assistant",
        "tool",
        "text",
        "tool_use",
        "tool_result",
        "response_item",
        "session",
        "session_meta",
        "message",
        "function_call",
        "c1",
        "",
    ];
    let leaf = prop_oneof![
        prop::sample::select(words).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let names = vec![
        "type",
        "role",
        "content",
        "message",
        "payload",
        "uuid",
        "parentUuid",
        "sessionId",
        "id",
        "name",
        "input",
        "text",
        "tool_calls",
        "tool_call_id",
        "tool_use_id",
        "call_id",
        "output",
        "timestamp",
        "messages",
        "summary",
        "session_id",
        "version",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names.clone()), inner), 0..6).prop_map(
                |fields| {
                    Value::Object(fields.into_iter().map(|(name, it)| (name.into(), it)).collect())
                }
            ),
        ]
    })
}

#[test]
fn packed_logs_of_another_slug_are_taken_over() {
    let home = home();
    let log = |text: &str| {
        let first = header("/there");
        let session = first.session_id;
        let records = [record(0, LogEntry::Session(first)), record(1, user(text))];
        (home.file(&format!("{session}.jsonl"), lines(&records)), session, records)
    };
    let packed = |path: &Path| {
        let plain = fs::read(path).unwrap();
        compression::pack(path).unwrap();
        plain
    };
    let (one, two, three) = (log("one"), log("two"), log("three"));
    packed(&one.0);
    // While a log is being packed both files exist.
    let plain = packed(&two.0);
    fs::write(&two.0, plain).unwrap();
    let found =
        home.store.import(one.0.parent().unwrap(), Path::new("/here"), &fit, ImportMode::Write);
    let outcomes: Vec<_> = found.iter().map(|it| it.outcome.as_ref().unwrap().session).collect();
    assert_eq!(outcomes.len(), 3, "{found:?}");
    for (_, session, records) in [one, two, three] {
        assert!(outcomes.contains(&session));
        assert_eq!(home.store.read(session).unwrap().records, records);
    }
}

#[test]
fn an_imported_session_was_not_used_just_now() {
    let home = home();
    let records = [record(0, LogEntry::Session(header("/there"))), record(1, user("hello"))];
    let slugs = home.import(&home.file("a.jsonl", lines(&records))).unwrap().session;
    let (chat, loaded) = home.imported(&[
        json!({"role": "user", "content": "hello", "timestamp": "2025-03-04T05:06:07Z"}),
    ]);
    let last = loaded.records.last().unwrap().timestamp;
    assert_eq!(last, "2025-03-04T05:06:07Z".parse::<DateTime<Utc>>().unwrap());
    for (session, time) in [(slugs, records[1].timestamp), (chat.session, last)] {
        let modified = fs::metadata(home.store.log_path(session)).unwrap().modified().unwrap();
        assert_eq!(DateTime::<Utc>::from(modified), time);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_imported_or_give_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let home = home();
        let _ = home.import(&home.file("a.jsonl", &bytes));
        prop_assert!(home.dir.path().join("there/a.jsonl").is_file());
    }

    #[test]
    fn every_imported_log_can_be_read(
        values in prop::collection::vec(some_value(), 1..12),
    ) {
        let home = home();
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let hash = ContentHash::of(text.as_bytes());
        let path = home.file(&format!("{}.jsonl", hash.as_str()), text);
        if let Ok(imported) = home.import(&path) {
            let loaded = home.store.read(imported.session).unwrap();
            if imported.kind != ImportSourceKind::Slug {
                prop_assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
                prop_assert_eq!(messages(&loaded).len(), imported.messages);
            }
        }
    }
}
