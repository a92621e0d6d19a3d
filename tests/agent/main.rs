//! The agent from its commands to its events, with the real tools, gate and session store, and a
//! model that says what a test tells it to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test, failing loudly is the point"
)]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod calls;
mod commands;
mod fakes;
mod faults;
mod hooks;
mod images;
mod models;
mod modes;
mod outside;
mod places;
mod prefix;
mod rewinding;
mod rig;
mod rules;
mod sessions;
mod spending;
mod stopping;
mod told;
mod turns;
