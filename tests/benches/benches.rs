//! What the parts of slug cost: `cargo bench`, or `cargo bench -- view` for one of them.
//!
//! The whole process, its start, its memory and what it writes to a terminal, is measured from
//! outside; `docs/performance.md` tells how, and has the figures.

#![allow(clippy::unwrap_used, reason = "what a bench stands on may fail it")]

mod layout;
mod permissions;
mod picker;
mod providers;
mod samples;
mod session;
mod sessions;
mod view;
mod watch;

fn main() {
    divan::main();
}
