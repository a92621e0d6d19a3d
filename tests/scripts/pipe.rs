//! `slug -p --input-format stream-json`: a conversation over standard input and output.

use serde_json::{Value, json};

use super::of_type;
use super::stream_client::{STREAM, StreamClient, user};
use crate::support::model_server::{ModelServer, ReplyGate, ServerReply};
use crate::support::test_env::TestEnv;
use crate::{bash, last_user_text, result_of};

/// A PNG of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

#[test]
fn each_message_is_a_turn_and_the_end_of_the_input_is_the_end() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::words(["The ", "first."]));
    server.reply(ServerReply::text("The second."));
    let content = json!([{"type": "text", "text": "two"}, {"type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]);
    let image = json!({"type": "user", "message": {"role": "user", "content": content}});
    let input = lines(&[user("one"), image]);
    let ran = env.ask_with_input(&server, &STREAM, &input).assert_exit_code(0);
    let lines = ran.lines();
    assert_eq!(lines[0]["type"], "session");
    let texts: Vec<&str> =
        of_type(&lines, "result").iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["The first.", "The second."]);
    let pieces: String =
        of_type(&lines, "text").iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(pieces, "The first.The second.");
    assert_eq!(of_type(&lines, "user").len(), 2);
    let second = server.chat_requests()[1].body.to_string();
    assert!(second.contains("two") && second.contains("image/png"), "{second}");
    server.assert_clean();
}

#[test]
fn the_text_after_p_comes_first_and_a_last_line_needs_no_end() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("One."));
    server.reply(ServerReply::text("Two."));
    let arguments: Vec<&str> = STREAM.into_iter().chain(["from the flag"]).collect();
    let input = user("from the input").to_string();
    env.ask_with_input(&server, &arguments, &input).assert_exit_code(0);
    let asked = server.chat_requests();
    assert!(last_user_text(&asked[0]).contains("from the flag"));
    assert!(last_user_text(&asked[1]).contains("from the input"));
}

#[test]
fn questions_wait_for_their_answers() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made.txt"));
    server.reply(bash("c2", "touch other.txt"));
    let asks = json!({"questions": [{"question": "Which?", "header": "Choice",
        "options": [{"label": "red"}, {"label": "blue"}]}]});
    server.reply(ServerReply::calls("", &[("c3", "AskUser", asks)]));
    server.reply(ServerReply::text("Done."));
    let (mut child, mut client) = StreamClient::piped(env.command_to(&server, &STREAM));
    client.say("go");
    let first = client.next_of("approval_asked");
    assert_eq!(
        (&first["tool"], &first["input"]["command"]),
        (&json!("Bash"), &json!("touch made.txt"))
    );
    client.send(json!({"type": "approval", "id": first["id"], "allow": true}));
    let second = client.next_of("approval_asked");
    assert!(env.path("made.txt").exists());
    let no = json!({"type": "approval", "id": second["id"], "allow": false, "message": "leave it"});
    client.send(no);
    let asked = client.next_of("questions_asked");
    assert_eq!(asked["questions"][0]["options"][1]["label"], "blue");
    client.send(json!({"type": "answers", "id": asked["id"], "answers": [{"chosen": [1]}]}));
    assert_eq!(client.next_of("result")["exit"], 0);
    client.close();
    assert!(client.rest().is_empty());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!env.path("other.txt").exists());
    let asked = server.chat_requests();
    assert!(result_of(&asked[2], "c2").contains("leave it"), "{}", result_of(&asked[2], "c2"));
    assert!(result_of(&asked[3], "c3").contains("blue"), "{}", result_of(&asked[3], "c3"));
    server.assert_clean();
}

#[test]
fn without_an_answer_at_the_end_a_question_is_refused() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made.txt"));
    server.reply(ServerReply::text("Not made."));
    let input = lines(&[user("go")]);
    let ran = env.ask_with_input(&server, &STREAM, &input).assert_exit_code(4);
    let lines = ran.lines();
    let asked = of_type(&lines, "approval_asked")[0]["id"].clone();
    assert_eq!(of_type(&lines, "question_closed")[0]["id"], asked);
    let result = lines.last().unwrap();
    assert_eq!(result["refused"][0]["call"]["name"], "Bash");
    assert!(ran.err.contains("Nobody is connected"), "{}", ran.describe());
    assert!(!env.path("made.txt").exists());
}

#[test]
fn an_interrupt_stops_the_turn_and_the_next_message_follows() {
    let (env, server, gate) = (TestEnv::new(), ModelServer::start(), ReplyGate::closed());
    server.reply(ServerReply::words(["Once ", "upon ", "a time"]).gated(&gate));
    server.reply(ServerReply::text("Yes?"));
    let (mut child, mut client) = StreamClient::piped(env.command_to(&server, &STREAM));
    client.say("tell me a story");
    gate.let_through(2);
    client.next_of("text");
    client.send(json!({"type": "interrupt"}));
    let result = client.next_of("result");
    assert_eq!((&result["error"]["kind"], &result["exit"]), (&json!("interrupted"), &json!(1)));
    client.send(json!({"type": "interrupt"}));
    assert!(client.next_of("error")["message"].as_str().unwrap().contains("No turn is running"));
    client.say("stop");
    assert_eq!(client.next_of("result")["text"], "Yes?");
    client.send(json!({"type": "end"}));
    assert!(client.rest().is_empty());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_message_that_steers_reaches_the_running_turn() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made.txt"));
    server.reply(ServerReply::text("As you wish."));
    let (mut child, mut client) = StreamClient::piped(env.command_to(&server, &STREAM));
    client.say("go");
    let asked = client.next_of("approval_asked");
    let mut steer = user("and quickly");
    steer["delivery"] = json!("steer");
    client.send(steer);
    client.next_of("waiting");
    client.send(json!({"type": "approval", "id": asked["id"], "allow": true}));
    assert_eq!(client.next_of("result")["turns"], 1);
    client.close();
    child.wait().unwrap();
    assert!(last_user_text(&server.chat_requests()[1]).contains("and quickly"));
}

#[test]
fn wrong_lines_are_told_with_their_number_and_end_nothing() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Still here."));
    let (mut child, mut client) = StreamClient::piped(env.command_to(&server, &STREAM));
    for (number, wrong) in [
        (1, &b"{\"type\":\"dance\"}\n"[..]),
        (2, b"no JSON\n"),
        (3, b"\xff\xfe\0\x01\n"),
        (4, b"{\"type\":\"approval\",\"id\":99,\"allow\":true}\n"),
        (5, b"{\"type\":\"mode\",\"mode\":\"yolo\"}\n"),
        (6, b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\"}}\n"),
    ] {
        client.send_bytes(wrong);
        let error = client.next_of("error");
        assert_eq!(error["line"], number, "{error}");
    }
    // Longer than a line may be, in pieces.
    (0..17).for_each(|_| client.send_bytes(&vec![b'x'; 1 << 20]));
    client.send_bytes(b"\n");
    let error = client.next_of("error");
    assert!(error["message"].as_str().unwrap().contains("longer than 16 MB"), "{error}");
    assert_eq!(error["line"], 7);
    client.say("hello");
    assert_eq!(client.next_of("result")["text"], "Still here.");
    client.close();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_session_that_cannot_be_opened_is_not_replaced_by_another() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Noted."));
    let ran = env.ask(&server, &["-p", "remember", "--output-format", "json"]).assert_exit_code(0);
    let id = ran.json()["session_id"].as_str().unwrap().to_owned();
    server.reply(ServerReply::text("I remember."));
    let resume: Vec<&str> = ["--resume", &id].into_iter().chain(STREAM).collect();
    let input = lines(&[user("do you?")]);
    let ran = env.ask_with_input(&server, &resume, &input).assert_exit_code(0);
    assert_eq!(ran.lines().last().unwrap()["turns"], 2);
    // Another slug has it.
    let (mut child, mut other) = StreamClient::piped(env.command_to(&server, &resume));
    other.next_of("session");
    let ran = env.ask_with_input(&server, &resume, &input).assert_exit_code(1);
    assert!(ran.err.contains("is open in process"), "{}", ran.describe());
    assert_eq!(server.chat_requests().len(), 2);
    other.close();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn of_several_models_a_conversation_takes_the_first_too() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let models = json!({"object": "list", "data": [
        {"id": "small-model", "object": "model"}, {"id": "large-model", "object": "model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &models));
    server.reply(ServerReply::text("Small it is."));
    let endpoint = server.endpoint();
    let arguments: Vec<&str> =
        ["--trust-workspace", "-e", &endpoint].into_iter().chain(STREAM).collect();
    let ran = env.run_with_input(&arguments, &lines(&[user("hello")])).assert_exit_code(0);
    assert_eq!(server.chat_requests()[0].body["model"], "small-model");
    assert!(ran.err.contains("slug uses small-model"), "{}", ran.describe());
}

#[test]
fn the_time_limit_ends_a_conversation_that_waits_for_an_answer() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made.txt"));
    let arguments: Vec<&str> = ["--timeout", "1s"].into_iter().chain(STREAM).collect();
    let (mut child, mut client) = StreamClient::piped(env.command_to(&server, &arguments));
    client.say("go");
    client.next_of("approval_asked");
    assert_eq!(client.next_of("result")["error"]["kind"], "timeout");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(!env.path("made.txt").exists());
}

#[test]
fn it_needs_lines_in_both_directions() {
    let env = TestEnv::new();
    let ran = env.run(&["--input-format", "stream-json", "-p"]).assert_exit_code(2);
    assert!(ran.err.contains("needs --output-format stream-json"), "{}", ran.describe());
}
