//! The full screen as a user has it: the real binary on a real pseudo-terminal, talking to the
//! scripted model server.

mod announcements;
mod approvals;
mod chat;
mod demo;
mod everyday_use;
mod exit;
mod first_hour;
mod images;
mod interrupt;
mod job_terminals;
mod jobs;
mod linear;
mod mcp;
mod mouse;
mod picture;
mod questions;
mod replay;
mod robustness;
mod sessions;
mod settings;
mod startup;
mod terminals;
mod themes;
mod untrusted_text;
