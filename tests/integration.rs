//! All tests that need slug as a whole: the real binary, or the library across its rooms. They are
//! one binary, because each binary costs a minute of linking; every module is one subject, and
//! `cargo test --test integration screen::` runs the tests of one.
//!
//! `tests/README.md` says where which test goes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "in a test, failing loudly is the point"
)]

mod support;

mod acp;
mod agent;
mod commands;
mod docs;
mod formatters;
mod fuzz;
mod headless;
mod hooks;
mod local;
mod lsp;
mod mcp;
mod migrate;
mod pdf;
mod process;
mod providers;
mod sandbox;
mod screen;
mod scripts;
mod security;
mod skill_packages;
mod tasks;
mod terminal;
mod web;

use support::model_server::{bash, last_user_text, result_of};
use support::test_env::pid;
