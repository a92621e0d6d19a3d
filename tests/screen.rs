//! The full screen as a user has it: the real binary on a real pseudo-terminal, talking to the
//! scripted model server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

mod support;

#[path = "screen/announcements.rs"]
mod announcements;
#[path = "screen/approvals.rs"]
mod approvals;
#[path = "screen/chat.rs"]
mod chat;
#[path = "screen/demo.rs"]
mod demo;
#[path = "screen/everyday_use.rs"]
mod everyday_use;
#[path = "screen/exit.rs"]
mod exit;
#[path = "screen/images.rs"]
mod images;
#[path = "screen/interrupt.rs"]
mod interrupt;
#[path = "screen/linear.rs"]
mod linear;
#[path = "screen/mouse.rs"]
mod mouse;
#[path = "screen/questions.rs"]
mod questions;
#[path = "screen/robustness.rs"]
mod robustness;
#[path = "screen/sessions.rs"]
mod sessions;
#[path = "screen/startup.rs"]
mod startup;
#[path = "screen/themes.rs"]
mod themes;
#[path = "screen/untrusted_text.rs"]
mod untrusted_text;

use std::path::Path;

use rustix::process::Pid;
use serde_json::{Value, json};
use support::model_server::{RecordedRequest, ServerReply, wait_until};

/// A reply that runs one shell command.
fn bash(id: &str, command: &str) -> ServerReply {
    ServerReply::calls("", &[(id, "Bash", json!({"command": command}))])
}

/// The content of the result that the model got for a call.
fn result_of(request: &RecordedRequest, id: &str) -> String {
    let is_result = |message: &&Value| message["tool_call_id"] == id;
    let result = request.messages().iter().find(is_result);
    let result = result.unwrap_or_else(|| panic!("no result of {id} in {}", request.body));
    result["content"].as_str().unwrap().to_owned()
}

/// The text of the user's newest message.
fn last_user_text(request: &RecordedRequest) -> String {
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
