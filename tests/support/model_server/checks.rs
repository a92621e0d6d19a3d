//! What a strict server and a prefix cache would say of a chat request.

use std::collections::HashSet;

use serde_json::Value;

use super::RecordedRequest;

/// Everything that is wrong with a chat request, given the earlier ones.
pub(super) fn check(request: &RecordedRequest, history: &mut Vec<Value>) -> Vec<String> {
    let number = history.len() + 1;
    let mut wrong = Vec::new();
    let messages = request.messages();
    if messages.is_empty() {
        wrong.push("it has no messages".to_owned());
    }
    if request.body["tools"].as_array().is_some_and(Vec::is_empty) {
        wrong.push("its tools are empty, not left out".to_owned());
    }
    check_roles(messages, &mut wrong);
    check_calls(messages, &mut wrong);
    check_prefix(&request.body, history, &mut wrong);
    history.push(request.body.clone());
    wrong.into_iter().map(|wrong| format!("chat request {number}: {wrong}")).collect()
}

fn check_roles(messages: &[Value], wrong: &mut Vec<String>) {
    let mut last = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "system" if at > 0 => wrong.push(format!("message {at} is a second system message")),
            "user" | "assistant" if role == last => {
                wrong.push(format!("message {at}: two {role} messages in a row"));
            }
            "system" | "user" | "assistant" | "tool" => {}
            other => wrong.push(format!("message {at} has the role `{other}`")),
        }
        let content = &message["content"];
        let has_parts = content.as_array().is_some_and(|parts| !parts.is_empty());
        let is_empty = content.as_str().is_none_or(str::is_empty) && !has_parts;
        if role != "assistant" && is_empty {
            wrong.push(format!("message {at} ({role}) has no text"));
        }
        last = role;
    }
    if last == "assistant" {
        wrong.push("the last message is the assistant's".to_owned());
    }
}

fn check_calls(messages: &[Value], wrong: &mut Vec<String>) {
    let mut open: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                wrong.push(format!("message {at} answers `{id}`, which is no open call"));
            }
            continue;
        }
        if !open.is_empty() {
            wrong.push(format!("message {at}: the calls {open:?} have no result"));
            open.clear();
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || !open.insert(id) {
                wrong.push(format!("message {at}: the call id `{id}` is empty or used twice"));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|json| json.is_object()) {
                wrong.push(format!("message {at}: the arguments `{arguments}` are no object"));
            }
        }
    }
    if !open.is_empty() {
        wrong.push(format!("the calls {open:?} have no result"));
    }
}

fn check_prefix(body: &Value, history: &[Value], wrong: &mut Vec<String>) {
    let same: Vec<&Value> =
        history.iter().filter(|old| first_user_message(old) == first_user_message(body)).collect();
    let Some(last) = same.last() else { return };
    // Compared as text, because the order of keys counts.
    let tools = |body: &Value| body["tools"].to_string();
    if tools(last) != tools(body) {
        wrong.push("its tools are not those of the request before it".to_owned());
    }
    let written = |body: &Value| body["messages"].to_string();
    let now = written(body);
    let begins = |old: &&Value| {
        let old = written(old);
        now.starts_with(old.trim_end_matches(']'))
    };
    if !same.iter().any(begins) {
        let before = written(last);
        let agree = now.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        let around = |text: &str| {
            let from = (0..=agree.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
            text[from.unwrap_or(0)..].chars().take(80).collect::<String>()
        };
        wrong.push(format!(
            "no earlier request is its beginning; after {agree} bytes `{}` became `{}`",
            around(&before),
            around(&now)
        ));
    }
}

fn first_user_message(body: &Value) -> Option<&Value> {
    body["messages"].as_array()?.iter().find(|message| message["role"] == "user")
}
