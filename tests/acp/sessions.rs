//! Sessions: opened, shown again, listed, closed and deleted; more folders, and MCP servers of the editor.

use serde_json::{Value, json};

use super::client::{EditorClient, updates_of};
use super::{call, say};
use crate::support::test_env::TestEnv;

#[test]
fn a_session_is_listed_shown_again_and_deleted() {
    let env = TestEnv::new();
    env.write("a.txt", "one\n");
    let edit = call("Edit", "{ file_path = 'a.txt', old_string = 'one', new_string = 'two' }");
    let think = "[[response.step]]\nthink = \"A thought.\"\n".to_owned() + &say("An answer.");
    let mut editor = EditorClient::scripted(&env, &[&edit, &think]);
    let session = editor.new_session(&env);
    editor.prompt(&session, "A question");
    let list = |editor: &mut EditorClient, cwd: Value| -> Value {
        editor.request("session/list", json!({"cwd": cwd})).unwrap()["sessions"].clone()
    };
    let listed = list(&mut editor, json!(env.workspace()));
    assert_eq!(listed[0]["sessionId"], session.as_str());
    assert_eq!(listed[0]["title"], "A question");
    assert_eq!(list(&mut editor, json!("/nowhere")), json!([]));

    // It is open, and is opened anew.
    let from = editor.seen.len();
    let opening = json!({"sessionId": session, "cwd": env.workspace(), "mcpServers": []});
    editor.request("session/load", opening.clone()).unwrap();
    let shown = &editor.seen[from..editor.seen.len() - 1];
    let text = |kind| -> String {
        updates_of(shown, kind).map(|it| it["content"]["text"].as_str().unwrap()).collect()
    };
    assert_eq!(text("user_message_chunk"), "A question");
    assert_eq!(text("agent_thought_chunk"), "A thought.");
    assert_eq!(text("agent_message_chunk"), "An answer.");
    let diff = updates_of(shown, "tool_call_update")
        .filter_map(|it| it["content"].as_array()?.iter().find(|it| it["type"] == "diff"))
        .last()
        .unwrap();
    assert_eq!((&diff["oldText"], &diff["newText"]), (&json!("one\n"), &json!("two\n")));
    let ends = updates_of(shown, "tool_call_update").filter(|it| it["status"] == "completed");
    assert_eq!(ends.count(), 1);

    let elsewhere = json!({"sessionId": session, "cwd": env.home(), "mcpServers": []});
    assert_eq!(editor.request("session/load", elsewhere).unwrap_err()["code"], -32602);
    editor.request("session/delete", json!({"sessionId": session})).unwrap();
    assert_eq!(list(&mut editor, Value::Null), json!([]));
    assert_eq!(editor.request("session/load", opening).unwrap_err()["code"], -32002);
    editor.ends_well();
}

#[test]
fn long_lists_come_in_pages() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[]);
    let cursor = json!({"cursor": "of-nothing"});
    assert_eq!(editor.request("session/list", cursor).unwrap_err()["code"], -32602);
    editor.ends_well();
}

#[test]
fn folders_are_absolute_and_more_of_them_belong_to_the_workspace() {
    let env = TestEnv::new();
    let other = env.home().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("b.txt"), "in another folder\n").unwrap();
    let read = call("Read", &format!("{{ file_path = '{}' }}", other.join("b.txt").display()));
    let mut editor = EditorClient::scripted(&env, &[&read, &say("Done.")]);
    let relative = json!({"cwd": "shop", "mcpServers": []});
    assert_eq!(editor.request("session/new", relative).unwrap_err()["code"], -32602);
    let missing = json!({"cwd": "/no/such/folder", "mcpServers": []});
    assert_eq!(editor.request("session/new", missing).unwrap_err()["code"], -32602);
    let both = json!({
        "cwd": env.workspace(), "mcpServers": [], "additionalDirectories": [other],
    });
    let opened = editor.request("session/new", both).unwrap();
    editor.prompt(opened["sessionId"].as_str().unwrap(), "Go");
    let asked = editor.seen.iter().any(|it| it["method"] == "session/request_permission");
    assert!(!asked, "reading in the workspace needs no question");
    editor.ends_well();
}

#[test]
fn an_mcp_server_of_the_editor_has_its_tools_behind_the_gate() {
    let env = TestEnv::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.sh");
    let state = env.home().join("state");
    std::fs::create_dir(&state).unwrap();
    let echo = call("mcp__box__echo", "{ text = 'hello' }");
    let mut editor = EditorClient::scripted(&env, &[&echo, &say("Done.")]);
    let opening = json!({"cwd": env.workspace(), "mcpServers": [{
        "name": "box", "command": "/bin/bash", "args": [server, state],
        "env": [{"name": "PLAIN", "value": "${HOME}"}],
    }]});
    let opened = editor.request("session/new", opening).unwrap();
    editor.prompt(opened["sessionId"].as_str().unwrap(), "Go");
    let question = editor.seen.iter().find(|it| it["method"] == "session/request_permission");
    let question = question.unwrap_or_else(|| panic!("no question in {:#?}", editor.seen));
    assert!(question["params"].to_string().contains("hello"), "{question}");
    let shown = updates_of(&editor.seen, "tool_call_update").map(Value::to_string);
    assert!(shown.collect::<String>().contains("echo: hello"), "{:#?}", editor.seen);
    let environment = std::fs::read_to_string(state.join("environment")).unwrap();
    assert!(environment.contains("PLAIN=${HOME}\n"), "as the editor has sent it: {environment}");
    editor.ends_well();
}

#[test]
fn an_untrusted_folder_is_told_and_a_client_without_a_model_is_sent_to_sign_in() {
    let env = TestEnv::new();
    env.write("AGENTS.md", "Never say hello.\n");
    let notices = json!({"session": {"notices": {}}});
    let mut editor = EditorClient::scripted_with(&env, &[&say("Hello.")], notices);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Hi");
    let told = updates_of(&editor.seen, "notice")
        .any(|it| it["title"].as_str().unwrap().contains("not trusted"));
    assert!(told, "{:#?}", editor.seen);
    editor.ends_well();

    let mut editor =
        EditorClient::start(env.command(&["acp"]), json!({"auth": {"terminal": true}}));
    let opening = json!({"cwd": env.workspace(), "mcpServers": []});
    let error = editor.request("session/new", opening).unwrap_err();
    assert_eq!(error["code"], -32000, "{error}");
    assert!(error["data"].as_str().unwrap().contains("No model is set up"), "{error}");
    let method = json!({"methodId": "setup"});
    assert_eq!(editor.request("authenticate", method).unwrap_err()["code"], -32000);
    editor.ends_well();
}
