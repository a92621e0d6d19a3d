//! Faults that other agents had with this protocol, one test each. The number is that of the list in
//! docs/editors.md.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{EditorClient, choose, updates_of};
use super::{call, prompt, say};
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::{TestEnv, pid};

#[test]
fn f1_nothing_but_protocol_is_on_standard_output() {
    let env = TestEnv::new();
    env.write_home("config.toml", "[ui]\nthme = \"dark\"\n");
    env.write("AGENTS.md", "Say hello.\n");
    let mut command = env.command(&["--demo", &super::script(&env, &[&say("Hi.")]), "acp"]);
    command.env("RUST_LOG", "trace");
    let mut editor = EditorClient::start(command, json!({}));
    let session = editor.new_session(&env);
    editor.prompt(&session, "Hi");
    editor.ends_well();
}

#[test]
fn f2_commands_follow_the_answer_of_new_load_and_resume() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[&say("Hi.")]);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Hi");
    let listed = |seen: &[Value]| updates_of(seen, "available_commands_update").count();
    // Once behind the answer, and again with the skills once these are read.
    assert!((1..=2).contains(&listed(&editor.seen)));
    for method in ["session/load", "session/resume"] {
        editor.request("session/close", json!({"sessionId": session})).unwrap();
        let from = editor.seen.len();
        let opening = json!({"sessionId": session, "cwd": env.workspace(), "mcpServers": []});
        let id = editor.ask(method, opening);
        editor.answer_to(id).unwrap();
        assert_eq!(listed(&editor.seen[from..]), 0, "not before the answer");
        let is_list =
            |it: &Value| it["params"]["update"]["sessionUpdate"] == "available_commands_update";
        let kept = std::mem::take(&mut editor.seen);
        editor.wait_for("the commands", is_list);
        editor.seen.splice(0..0, kept);
    }
    editor.ends_well();
}

#[test]
fn f3_every_method_that_is_announced_is_there() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[]);
    let nothing = "00000000-0000-7000-8000-000000000000";
    let session = json!({
        "sessionId": nothing, "cwd": env.workspace(), "mcpServers": [], "modeId": "ask",
        "configId": "mode", "value": "ask", "prompt": [], "methodId": "setup",
    });
    for method in [
        "session/load",
        "session/resume",
        "session/close",
        "session/prompt",
        "session/set_mode",
        "session/set_config_option",
    ] {
        let error = editor.request(method, session.clone()).unwrap_err();
        assert_eq!(error["code"], -32002, "{method}: {error}");
    }
    for method in ["session/list", "session/delete", "authenticate"] {
        editor.request(method, session.clone()).unwrap();
    }
    for method in ["session/fork", "logout", "session/set_model", "x"] {
        let error = editor.request(method, session.clone()).unwrap_err();
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
    editor.ends_well();
}

#[test]
fn f4_a_question_reaches_the_client_and_deny_rules_hold() {
    let env = TestEnv::new();
    env.write_home("settings.json", r#"{"permissions": {"deny": ["Bash(touch denied)"]}}"#);
    let (denied, asked) =
        (call("Bash", "{ command = 'touch denied' }"), call("Bash", "{ command = 'touch asked' }"));
    let mut editor = EditorClient::scripted(&env, &[&denied, &asked, &say("Done.")]);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let questions: Vec<&Value> =
        editor.seen.iter().filter(|it| it["method"] == "session/request_permission").collect();
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert!(questions[0].to_string().contains("touch asked"));
    assert!(env.path("asked").exists() && !env.path("denied").exists());
    editor.ends_well();
}

#[test]
fn f4_an_answer_that_is_none_runs_nothing() {
    let env = TestEnv::new();
    let touch = call("Bash", "{ command = 'touch made' }");
    let calls = [touch.as_str(); 4];
    let mut editor = EditorClient::scripted(&env, &[calls[0], calls[1], calls[2], &say("Done.")]);
    let mut given = vec![
        json!({"outcome": {"outcome": "selected", "optionId": "always-7"}}),
        json!({"outcome": {"outcome": "cancelled"}}),
        json!("yes"),
    ];
    editor.answers = Box::new(move |_, params| {
        Some(match given.is_empty() {
            true => choose(params, "reject_once"),
            false => given.remove(0),
        })
    });
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    assert!(!env.path("made").exists());
    editor.ends_well();
}

#[test]
fn f5_a_call_is_told_once_before_its_question_and_has_an_end() {
    let env = TestEnv::new();
    env.write("a.txt", "one\n");
    let steps = [
        call("Read", "{ file_path = 'a.txt' }"),
        call("Edit", "{ file_path = 'a.txt', old_string = 'one', new_string = 'two' }"),
        call("Bash", "{ command = 'false' }"),
        say("Done."),
    ];
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut editor = EditorClient::scripted(&env, &steps);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let mut known = Vec::new();
    for message in &editor.seen {
        let update = &message["params"]["update"];
        let id = update["toolCallId"].clone();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                assert!(!known.contains(&id), "{id} twice");
                known.push(id);
            }
            Some("tool_call_update") => assert!(known.contains(&id), "{id} is not known"),
            _ => {}
        }
        if message["method"] == "session/request_permission" {
            assert!(known.contains(&message["params"]["toolCall"]["toolCallId"]));
        }
    }
    let ends: Vec<&Value> = updates_of(&editor.seen, "tool_call_update")
        .map(|it| &it["status"])
        .filter(|it| **it == "completed" || **it == "failed")
        .collect();
    assert_eq!(ends, ["completed", "completed", "failed"]);
    editor.ends_well();
}

#[test]
fn f6_updates_have_the_id_of_their_session() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &[&say("From one of them.")]);
    let sessions: Vec<String> = (0..3).map(|_| editor.new_session(&env)).collect();
    let asked: Vec<i64> =
        sessions.iter().map(|it| editor.ask("session/prompt", prompt(it, "Hi"))).collect();
    for id in asked {
        assert_eq!(editor.answer_to(id).unwrap()["stopReason"], "end_turn");
    }
    for session in &sessions {
        let of = editor.seen.iter().filter(|it| it["params"]["sessionId"] == session.as_str());
        let own: Vec<Value> = of.cloned().collect();
        let text: String = updates_of(&own, "agent_message_chunk")
            .map(|it| it["content"]["text"].as_str().unwrap())
            .collect();
        assert_eq!(text, "From one of them.");
    }
    let all = editor.seen.iter().filter(|it| it["method"] == "session/update");
    for update in all {
        let session = update["params"]["sessionId"].as_str().unwrap();
        assert!(sessions.iter().any(|it| it == session), "{update}");
    }
    editor.ends_well();
}

#[test]
fn f7_a_mode_set_at_once_holds_and_options_are_kept_on_resume() {
    let env = TestEnv::new();
    let server = ModelServer::start();
    let input = json!({"file_path": "a.txt", "content": "x"});
    server.reply(ServerReply::calls("", &[("c1", "Write", input)]));
    server.after_results(ServerReply::text("Done."));
    let own = format!("endpoint = \"{}\"\nmodel = \"test-model\"\n", server.endpoint());
    env.write_home("config.toml", &own);
    let mut editor = EditorClient::start(env.command(&["acp"]), json!({}));
    let session = editor.new_session(&env);
    let mode =
        editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "allow-edits"}));
    let effort = json!({"sessionId": session, "configId": "effort", "value": "high"});
    let effort = editor.ask("session/set_config_option", effort);
    let turn = editor.ask("session/prompt", prompt(&session, "Go"));
    editor.answer_to(mode).unwrap();
    let option = |options: &Value, id: &str| -> Value {
        let options = options["configOptions"].as_array().unwrap();
        options.iter().find(|it| it["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!(option(&editor.answer_to(effort).unwrap(), "effort"), "high");
    editor.answer_to(turn).unwrap();
    assert_eq!(env.read("a.txt"), "x");
    let asked = editor.seen.iter().any(|it| it["method"] == "session/request_permission");
    assert!(!asked, "the mode allows it");
    let effort = json!({"sessionId": session, "configId": "effort", "value": "low"});
    editor.request("session/set_config_option", effort).unwrap();
    editor.request("session/close", json!({"sessionId": session})).unwrap();
    let opening = json!({"sessionId": session, "cwd": env.workspace(), "mcpServers": []});
    let opened = editor.request("session/resume", opening).unwrap();
    assert_eq!(option(&opened, "effort"), "low");
    assert!(option(&opened, "model").as_str().unwrap().ends_with("test-model"));
    assert_eq!(opened["modes"]["currentModeId"], "ask", "a permission is not kept");
    editor.ends_well();
}

#[test]
fn f8_a_cancel_is_answered_by_cancelled_at_every_moment() {
    let env = TestEnv::new();
    let wait = "[[response.step]]\nwait = 600000\n";
    let mut editor = EditorClient::scripted(&env, &[wait, wait, wait]);
    let session = editor.new_session(&env);
    // Before its turn has begun, and while it waits for the model.
    let turn = editor.ask("session/prompt", prompt(&session, "Go"));
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer_to(turn).unwrap(), json!({"stopReason": "cancelled"}));
    let turn = editor.ask("session/prompt", prompt(&session, "Go on"));
    editor.wait_for("the title", |it| {
        it["params"]["update"]["sessionUpdate"] == "session_info_update"
    });
    editor.notify("$/cancel_request", json!({"requestId": turn}));
    assert_eq!(editor.answer_to(turn).unwrap(), json!({"stopReason": "cancelled"}));
    // With nothing to cancel.
    editor.notify("session/cancel", json!({"sessionId": session}));
    editor.notify("session/cancel", json!({"sessionId": "nonsense"}));
    editor.ends_well();
}

#[test]
fn f8_a_cancel_closes_the_open_question() {
    let env = TestEnv::new();
    let touch = call("Bash", "{ command = 'touch made' }");
    let mut editor = EditorClient::scripted(&env, &[&touch, &say("Done.")]);
    editor.answers = Box::new(|_, _| None);
    let session = editor.new_session(&env);
    let turn = editor.ask("session/prompt", prompt(&session, "Go"));
    let question =
        editor.wait_for("the question", |it| it["method"] == "session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let late = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}});
    editor.send_line(late.to_string().as_bytes());
    assert_eq!(editor.answer_to(turn).unwrap(), json!({"stopReason": "cancelled"}));
    let ended = updates_of(&editor.seen, "tool_call_update").any(|it| it["status"] == "failed");
    assert!(ended, "the call has an end");
    assert!(!env.path("made").exists());
    editor.ends_well();
}

#[test]
fn f8_a_turn_that_fails_or_says_nothing_is_answered() {
    let env = TestEnv::new();
    let fail = "[[response.step]]\nfail = \"bad-key\"\n";
    let mut editor = EditorClient::scripted(&env, &[fail, &say(" ")]);
    let session = editor.new_session(&env);
    let error = editor.request("session/prompt", prompt(&session, "Go")).unwrap_err();
    assert!(error["code"] == -32000 || error["code"] == -32603, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
    let _ = editor.request("session/prompt", prompt(&session, "Go"));
    editor.ends_well();
}

#[test]
fn f9_slug_and_its_commands_end_with_the_input() {
    let env = TestEnv::new();
    let sleep = call("Bash", "{ command = 'echo $$ > pid; sleep 600' }");
    let mut editor = EditorClient::scripted(&env, &[&sleep, &say("Done.")]);
    let session = editor.new_session(&env);
    editor.ask("session/prompt", prompt(&session, "Go"));
    editor.wait_for("the question", |it| it["method"] == "session/request_permission");
    let sleeping = pid(&env.path("pid"));
    let began = Instant::now();
    editor.ends_well();
    assert!(began.elapsed() < Duration::from_secs(20));
    let is_gone = || rustix::process::test_kill_process(sleeping).is_err();
    assert!(crate::support::model_server::wait_until(is_gone), "the command has ended");
}

#[test]
fn f10_a_second_prompt_of_a_session_is_refused_while_one_runs() {
    let env = TestEnv::new();
    let mut editor = EditorClient::scripted(&env, &["[[response.step]]\nwait = 600000\n"]);
    let session = editor.new_session(&env);
    let first = editor.ask("session/prompt", prompt(&session, "One"));
    let error = editor.request("session/prompt", prompt(&session, "Two")).unwrap_err();
    assert_eq!(error["code"], -32600);
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer_to(first).unwrap()["stopReason"], "cancelled");
    editor.ends_well();
}
