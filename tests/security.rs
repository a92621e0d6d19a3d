//! Each class of attack that slug has to withstand, tried against what its documentation promises:
//! tables of many cases, and combinations that a program generates.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "in a test, failing loudly is the point"
)]

mod support;

#[path = "security/commands.rs"]
mod commands;
#[path = "security/exports.rs"]
mod exports;
#[path = "security/folders.rs"]
mod folders;
#[path = "security/hook_files.rs"]
mod hook_files;
#[path = "security/keys.rs"]
mod keys;
#[path = "security/place_commands.rs"]
mod place_commands;
#[path = "security/places.rs"]
mod places;
#[path = "security/programs.rs"]
mod programs;
#[path = "security/questions.rs"]
mod questions;
#[path = "security/resources.rs"]
mod resources;
#[path = "security/run_for_real.rs"]
mod run_for_real;
#[path = "security/sessions.rs"]
mod sessions;
#[path = "security/settings.rs"]
mod settings;
#[path = "security/special_files.rs"]
mod special_files;
#[path = "security/test_project.rs"]
mod test_project;

use serde_json::{Value, json};
use support::model_server::{RecordedRequest, ServerReply};

/// A reply that runs one shell command.
fn bash(id: &str, command: &str) -> ServerReply {
    ServerReply::calls("", &[(id, "Bash", json!({"command": command}))])
}

/// The result of a call, as the model got it.
fn result_of(request: &RecordedRequest, id: &str) -> String {
    let is_result = |message: &&Value| message["tool_call_id"] == id;
    let result = request.messages().iter().find(is_result);
    let result = result.unwrap_or_else(|| panic!("no result of {id} in {}", request.body));
    result["content"].as_str().unwrap().to_owned()
}
