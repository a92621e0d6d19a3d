//! What the tests of several rooms need.

use std::path::Path;
use std::process::Command;

/// Makes a FIFO. There is no call for it that every system has.
pub fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap();
    assert!(made.success(), "mkfifo {}", path.display());
}
