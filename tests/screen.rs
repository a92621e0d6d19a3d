//! The full screen as a person has it: the real binary on a real pseudo-terminal, talking to the
//! scripted model server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

mod support;

#[path = "screen/announcing.rs"]
mod announcing;
#[path = "screen/approving.rs"]
mod approving;
#[path = "screen/chatting.rs"]
mod chatting;
#[path = "screen/demo.rs"]
mod demo;
#[path = "screen/foreign.rs"]
mod foreign;
#[path = "screen/images.rs"]
mod images;
#[path = "screen/leaving.rs"]
mod leaving;
#[path = "screen/linear.rs"]
mod linear;
#[path = "screen/looks.rs"]
mod looks;
#[path = "screen/moving.rs"]
mod moving;
#[path = "screen/questions.rs"]
mod questions;
#[path = "screen/robust.rs"]
mod robust;
#[path = "screen/sessions.rs"]
mod sessions;
#[path = "screen/starting.rs"]
mod starting;
#[path = "screen/stopping.rs"]
mod stopping;
#[path = "screen/working.rs"]
mod working;

use std::path::Path;

use rustix::process::Pid;
use serde_json::{Value, json};
use support::model_server::{Recorded, Reply, wait_until};

/// A reply that runs one shell command.
fn bash(id: &str, command: &str) -> Reply {
    Reply::calls("", &[(id, "Bash", json!({"command": command}))])
}

/// What the model was told of a call.
fn result_of(request: &Recorded, id: &str) -> String {
    let is_result = |message: &&Value| message["tool_call_id"] == id;
    let result = request.messages().iter().find(is_result);
    let result = result.unwrap_or_else(|| panic!("no result of {id} in {}", request.body));
    result["content"].as_str().unwrap().to_owned()
}

/// The text of the newest message of the person.
fn last_user_text(request: &Recorded) -> String {
    let is_user = |message: &&Value| message["role"] == "user";
    let message = request.messages().iter().rfind(is_user).unwrap();
    message["content"].as_str().unwrap().to_owned()
}

/// The process id that a command has written to a file.
fn pid(file: &Path) -> Pid {
    let mut pid = None;
    wait_until(|| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        pid = text.strip_suffix('\n').and_then(|text| Pid::from_raw(text.parse().ok()?));
        pid.is_some()
    });
    pid.unwrap_or_else(|| panic!("no process id in {}", file.display()))
}
