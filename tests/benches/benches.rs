//! Benchmarks of slug's parts: `cargo bench`, or `cargo bench -- view` for one of them.
//!
//! The whole process (start, memory, bytes written to the terminal) is measured from outside;
//! `docs/performance.md` explains how, and has the figures.

#![allow(clippy::unwrap_used, reason = "what a bench stands on may fail it")]

mod layout;
mod permissions;
mod picker;
mod processes;
mod providers;
mod samples;
mod screen;
mod session;
mod sessions;
mod skills;
mod tools;
mod view;
mod watch;

fn main() {
    divan::main();
}
