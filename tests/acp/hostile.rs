//! Clients that send anything at all: slug answers with protocol or not at all, and goes on.

use std::sync::Arc;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use slug_code::acp::{AcpAgent, AcpHost, AcpOpenError, AcpOpening, AcpStreams, serve};
use slug_code::domain::MessageImage;
use slug_code::session::SessionStore;
use tokio_util::sync::CancellationToken;

use super::client::EditorClient;
use super::say;
use crate::support::test_env::TestEnv;

/// A host without agents.
struct NoAgents(SessionStore);

#[async_trait]
impl AcpHost for NoAgents {
    async fn open(&self, _: AcpOpening) -> Result<AcpAgent, AcpOpenError> {
        Err(AcpOpenError::Other("None today.".into()))
    }

    async fn check_model(&self) -> Result<(), AcpOpenError> {
        Ok(())
    }

    fn store(&self) -> &SessionStore {
        &self.0
    }

    fn keep_image(&self, _: &str, _: Vec<u8>) -> Result<MessageImage, String> {
        Err("No images.".into())
    }
}

/// What slug writes for this input, until it ends by itself.
fn written(input: Vec<u8>) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let host = Arc::new(NoAgents(SessionStore::new(at("sessions"), at("trash"), at("blobs"))));
    let (reader, writer) = std::io::pipe().unwrap();
    let streams = AcpStreams::start(std::io::Cursor::new(input), writer);
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut { reader }, &mut all).unwrap();
        all
    });
    runtime.block_on(serve(host, streams, None, CancellationToken::new()));
    drop(runtime);
    reading.join().unwrap()
}

fn methods() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("initialize"),
        json!("session/new"),
        json!("session/load"),
        json!("session/resume"),
        json!("session/list"),
        json!("session/prompt"),
        json!("session/cancel"),
        json!("session/close"),
        json!("session/delete"),
        json!("session/set_mode"),
        json!("session/set_config_option"),
        json!("authenticate"),
        json!("logout"),
        json!("$/cancel_request"),
        json!(7),
        Value::Null,
    ])
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("/")),
        Just(json!("00000000-0000-7000-8000-000000000000")),
    ];
    let names = prop::sample::select(vec![
        "sessionId",
        "cwd",
        "mcpServers",
        "prompt",
        "protocolVersion",
        "clientCapabilities",
        "type",
        "text",
        "name",
        "command",
        "modeId",
        "configId",
        "value",
        "requestId",
        "cursor",
        "methodId",
    ]);
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

fn messages() -> impl Strategy<Value = Vec<u8>> {
    let whole = (methods(), values(), values(), 0..4_u8).prop_map(|(method, params, id, kind)| {
        let message = match kind {
            0 => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
            1 => json!({"jsonrpc": "2.0", "method": method, "params": params}),
            2 => json!({"jsonrpc": "2.0", "id": id, "result": params}),
            _ => json!({"id": id, "error": params}),
        };
        message.to_string().into_bytes()
    });
    let whole = whole.boxed();
    prop_oneof![
        4 => whole.clone(),
        1 => (whole, any::<prop::sample::Index>()).prop_map(|(line, at)| {
            let at = at.index(line.len());
            line[..at].to_vec()
        }),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn whatever_a_client_sends_is_answered_with_protocol(lines in prop::collection::vec(messages(), 0..12)) {
        let hello = json!({"id": 0, "method": "initialize", "params": {"protocolVersion": 1}});
        let mut input = hello.to_string().into_bytes();
        for line in &lines {
            input.push(b'\n');
            input.extend(line);
        }
        let written = written(input);
        let text = String::from_utf8(written).unwrap();
        prop_assert!(text.is_empty() || text.ends_with('\n'));
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!(&message["jsonrpc"], "2.0");
            prop_assert!(message.get("result").is_some() != message.get("error").is_some(), "{}", line);
        }
    }
}

#[test]
fn requests_before_initialize_are_refused() {
    let line = br#"{"jsonrpc":"2.0","id":"a","method":"session/list","params":{}}"#;
    let text = String::from_utf8(written(line.to_vec())).unwrap();
    let answer: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32600)));
}

#[test]
fn nonsense_in_between_disturbs_no_session() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[&say("Hello.")]);
    let session = editor.new_session(&env);
    for line in [&b"{"[..], b"[]", b"\xff\xfe", b"null", b"{\"id\":5,\"result\":1}", b"  "] {
        editor.send_line(line);
    }
    let answer = editor.prompt(&session, "Hi");
    assert_eq!(answer["stopReason"], "end_turn");
    let errors = editor.seen.iter().filter(|it| it["id"].is_null() && it["error"].is_object());
    assert_eq!(errors.count(), 4);
    editor.ends_well();
}
