//! The unsaved text of files that the editor has open, behind the same gate as the disk.

use serde_json::{Value, json};

use super::client::{EditorClient, choose, updates_of};
use super::{call, say};
use crate::support::test_env::TestEnv;

fn with_buffer(env: &TestEnv, responses: &[&str], text: &'static str) -> EditorClient {
    let capabilities = json!({"fs": {"readTextFile": true}});
    let mut editor = EditorClient::scripted_with(env, responses, capabilities);
    editor.answers = Box::new(move |method, params| {
        Some(match method {
            "fs/read_text_file" => json!({"content": text}),
            _ => choose(params, "allow_once"),
        })
    });
    editor
}

fn asked_for_buffer(editor: &EditorClient) -> usize {
    editor.seen.iter().filter(|it| it["method"] == "fs/read_text_file").count()
}

/// What the calls of a session have shown.
fn shown(editor: &EditorClient) -> String {
    updates_of(&editor.seen, "tool_call_update").map(Value::to_string).collect()
}

#[test]
fn the_unsaved_text_is_read() {
    let env = TestEnv::new();
    env.write("a.txt", "on disk\n");
    let read = call("Read", "{ file_path = 'a.txt' }");
    let mut editor = with_buffer(&env, &[&read, &say("Done.")], "not saved yet\r\n");
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    assert!(shown(&editor).contains("not saved yet"), "{}", shown(&editor));
    editor.ends_well();
}

#[test]
fn a_deny_rule_holds_for_the_editors_text_too() {
    let env = TestEnv::new();
    env.write("secret.txt", "on disk\n");
    env.write_home("settings.json", r#"{"permissions": {"deny": ["Read(secret.txt)"]}}"#);
    let read = call("Read", "{ file_path = 'secret.txt' }");
    let mut editor = with_buffer(&env, &[&read, &say("Done.")], "not saved yet\n");
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    assert_eq!(asked_for_buffer(&editor), 0);
    assert!(!shown(&editor).contains("not saved"), "{}", shown(&editor));
    editor.ends_well();
}

#[test]
fn a_file_with_unsaved_changes_is_not_overwritten() {
    let env = TestEnv::new();
    env.write("a.txt", "on disk\n");
    let read = call("Read", "{ file_path = 'a.txt' }");
    let edit = call("Edit", "{ file_path = 'a.txt', old_string = 'saved', new_string = 'kept' }");
    let mut editor = with_buffer(&env, &[&read, &edit, &say("Done.")], "not saved yet\n");
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    assert_eq!(env.read("a.txt"), "on disk\n");
    assert!(shown(&editor).contains("unsaved changes"), "{}", shown(&editor));
    editor.ends_well();
}

#[test]
fn a_file_whose_text_is_saved_is_edited() {
    let env = TestEnv::new();
    env.write("a.txt", "same\n");
    let edit = call("Edit", "{ file_path = 'a.txt', old_string = 'same', new_string = 'other' }");
    let mut editor = with_buffer(&env, &[&edit, &say("Done.")], "same\n");
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    assert_eq!(env.read("a.txt"), "other\n");
    editor.ends_well();
}
