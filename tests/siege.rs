//! Each class of attack that slug has to hold against, tried from what its documentation promises:
//! tables of many cases, and combinations that a program makes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "in a test, failing loudly is the point"
)]

mod support;

#[path = "siege/commands.rs"]
mod commands;
#[path = "siege/folders.rs"]
mod folders;
#[path = "siege/ground.rs"]
mod ground;
#[path = "siege/keys.rs"]
mod keys;
#[path = "siege/places.rs"]
mod places;
#[path = "siege/programs.rs"]
mod programs;
#[path = "siege/questions.rs"]
mod questions;
#[path = "siege/resources.rs"]
mod resources;
#[path = "siege/sessions.rs"]
mod sessions;
#[path = "siege/settings.rs"]
mod settings;

use serde_json::{Value, json};
use support::model_server::{Recorded, Reply};

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
