//! slug, a full-screen terminal coding agent. `docs/architecture.md` is the map of these rooms.

pub mod acp;
pub mod agent;
pub mod catalogue;
pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod disk;
pub mod doctor;
pub mod domain;
pub mod eval;
pub mod headless;
pub mod hooks;
pub mod launch;
pub mod lsp;
pub mod mcp;
pub mod net;
pub mod permissions;
pub mod platform;
pub mod providers;
pub mod services;
pub mod session;
pub mod tools;
pub mod trust;
pub mod tui;
pub mod web;
