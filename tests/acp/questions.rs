//! Questions: about calls, with the rules that an answer saves; and those of the model, as a form or as a
//! choice. Plus what a client with terminals sees of commands.

use serde_json::{Value, json};

use super::client::{EditorClient, choose, updates_of};
use super::{call, say};
use crate::support::test_env::TestEnv;

const ASK: &str = "{ questions = [\
    { question = 'Which colour?', header = 'Colour', options = [{ label = 'Red' }, { label = 'Blue' }] },\
    { question = 'Which sizes?', multiSelect = true, options = [{ label = 'S' }, { label = 'L' }] }] }";

/// What the model got for its question.
fn answer_shown(editor: &EditorClient) -> String {
    let ended =
        updates_of(&editor.seen, "tool_call_update").filter(|it| it["status"] == "completed");
    ended.map(|it| it["content"].to_string()).collect()
}

#[test]
fn a_question_of_the_model_is_a_form_where_there_are_forms() {
    let env = TestEnv::new();
    let capabilities = json!({"elicitation": {"form": {}}});
    let steps = [call("AskUser", ASK), say("Done.")];
    let mut editor = EditorClient::scripted_with(&env, &[&steps[0], &steps[1]], capabilities);
    editor.answers = Box::new(|method, params| {
        assert_eq!(method, "elicitation/create");
        let fields = &params["requestedSchema"]["properties"];
        assert_eq!(fields["choice1"]["oneOf"][1]["title"], "Blue");
        assert_eq!(fields["choice2"]["type"], "array");
        let content = json!({"choice1": "1", "choice2": ["0", "1"], "text2": "and M"});
        Some(json!({"action": "accept", "content": content}))
    });
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let shown = answer_shown(&editor);
    assert!(shown.contains("Blue") && shown.contains("S, L, and M"), "{shown}");
    editor.ends_well();
}

#[test]
fn without_forms_each_question_is_a_choice() {
    let env = TestEnv::new();
    let steps = [call("AskUser", ASK), say("Done.")];
    let mut editor = EditorClient::scripted(&env, &[&steps[0], &steps[1]]);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let asked = editor.seen.iter().filter(|it| it["method"] == "session/request_permission");
    assert_eq!(asked.count(), 2);
    let shown = answer_shown(&editor);
    assert!(shown.contains("Red") && shown.contains('S'), "{shown}");
    editor.ends_well();
}

#[test]
fn a_form_that_is_not_filled_in_leaves_the_questions_to_the_model() {
    let env = TestEnv::new();
    let capabilities = json!({"elicitation": {"form": {}}});
    let steps = [call("AskUser", ASK), say("Done.")];
    for answer in [json!({"action": "decline"}), json!({"action": "cancel"}), json!(7)] {
        let capabilities = capabilities.clone();
        let mut editor = EditorClient::scripted_with(&env, &[&steps[0], &steps[1]], capabilities);
        editor.answers = Box::new(move |_, _| Some(answer.clone()));
        let session = editor.new_session(&env);
        assert_eq!(editor.prompt(&session, "Go")["stopReason"], "end_turn");
        assert!(!answer_shown(&editor).contains("Red"));
        editor.ends_well();
    }
}

#[test]
fn each_rule_that_can_be_saved_is_an_option_and_holds() {
    let env = TestEnv::new();
    let run = call("Bash", "{ command = 'touch a && mkdir b' }");
    let again = call("Bash", "{ command = 'touch a' }");
    let mut editor = EditorClient::scripted(&env, &[&run, &again, &say("Done.")]);
    editor.answers = Box::new(|_, params| Some(choose(params, "allow_always")));
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let asked: Vec<&Value> =
        editor.seen.iter().filter(|it| it["method"] == "session/request_permission").collect();
    assert_eq!(asked.len(), 1, "the second call is allowed for the session");
    let options = asked[0]["params"]["options"].as_array().unwrap();
    let kinds: Vec<&str> = options.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "allow_once");
    assert_eq!(kinds.iter().filter(|kind| **kind == "allow_always").count(), 4, "{options:?}");
    assert!(kinds.contains(&"reject_once"), "{options:?}");
    let shown = asked[0]["params"]["toolCall"].to_string();
    assert!(shown.contains("touch a && mkdir b"), "the whole command is shown: {shown}");
    editor.ends_well();
}

#[test]
fn an_edit_is_shown_with_its_whole_texts_before_the_question() {
    let env = TestEnv::new();
    let old: String = (0..100).map(|line| format!("line {line}\n")).collect();
    env.write("a.txt", &old);
    let edit =
        call("Edit", "{ file_path = 'a.txt', old_string = 'line 50', new_string = 'fifty' }");
    let write = call("Write", "{ file_path = 'new.txt', content = 'all new' }");
    let mut editor = EditorClient::scripted(&env, &[&edit, &write, &say("Done.")]);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let diffs: Vec<&Value> = editor
        .seen
        .iter()
        .filter(|it| it["method"] == "session/request_permission")
        .map(|it| it["params"]["toolCall"]["content"].as_array().unwrap())
        .map(|content| content.iter().find(|it| it["type"] == "diff").unwrap())
        .collect();
    assert_eq!(diffs[0]["oldText"], old);
    assert_eq!(diffs[0]["newText"], old.replace("line 50\n", "fifty\n"));
    assert_eq!(diffs[0]["path"], env.path("a.txt").to_str().unwrap());
    assert_eq!((&diffs[1]["oldText"], &diffs[1]["newText"]), (&Value::Null, &json!("all new")));
    editor.ends_well();
}

#[test]
fn a_plan_is_shown_and_approved_as_a_choice() {
    let env = TestEnv::new();
    let plan = call("ExitPlanMode", "{ plan = '1. Do it' }");
    let capabilities = json!({"elicitation": {"form": {}}});
    let mut editor = EditorClient::scripted_with(&env, &[&plan, &say("Done.")], capabilities);
    let session = editor.new_session(&env);
    let mode = json!({"sessionId": session, "modeId": "plan"});
    editor.request("session/set_mode", mode).unwrap();
    editor.prompt(&session, "Go");
    let asked = editor.seen.iter().find(|it| it["method"] == "session/request_permission");
    let asked = &asked.unwrap()["params"];
    assert!(asked["toolCall"].to_string().contains("1. Do it"), "{asked}");
    assert_eq!(asked["toolCall"]["kind"], "switch_mode");
    assert_eq!(asked["options"].as_array().unwrap().last().unwrap()["kind"], "reject_once");
    let left =
        updates_of(&editor.seen, "current_mode_update").any(|it| it["currentModeId"] != "plan");
    assert!(left, "{:#?}", editor.seen);
    editor.ends_well();
}

#[test]
fn a_command_prints_into_a_terminal_of_the_editor() {
    let env = TestEnv::new();
    let run = call("Bash", "{ command = 'printf \"a\\\\033[31mb\\\\n\"' }");
    let capabilities = json!({"_meta": {"terminal_output": true}});
    let mut editor = EditorClient::scripted_with(&env, &[&run, &say("Done.")], capabilities);
    let session = editor.new_session(&env);
    editor.prompt(&session, "Go");
    let told = updates_of(&editor.seen, "tool_call").next().unwrap().clone();
    let id = &told["toolCallId"];
    assert_eq!(told["content"], json!([{"type": "terminal", "terminalId": id}]));
    assert_eq!(&told["_meta"]["terminal_info"]["terminal_id"], id);
    let updates: Vec<&Value> = updates_of(&editor.seen, "tool_call_update").collect();
    let printed: String =
        updates.iter().filter_map(|it| it["_meta"]["terminal_output"]["data"].as_str()).collect();
    assert_eq!(printed, "ab\n", "without control sequences");
    let last = updates.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["_meta"]["terminal_exit"]["exit_code"], 0);
    assert!(last["_meta"].get("terminal_output").is_none());
    editor.ends_well();
}
