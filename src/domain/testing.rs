//! Helpers for the tests of several rooms.

use std::path::Path;
use std::process::Command;

/// Makes a FIFO with the `mkfifo` program: no system call for it exists on every system.
pub fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap();
    assert!(made.success(), "mkfifo {}", path.display());
}
