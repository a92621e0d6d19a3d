//! Skips a test that needs something that this machine lacks: the test says so and passes.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use slug_code::platform::sandbox::{self, SandboxBackend};

/// Prints why the running test is skipped, and adds a line to the file that `SLUG_SKIPPED_TESTS`
/// names, because the output of a passing test is not shown.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    let line = format!("{}: {}\n", thread.name().unwrap_or("a test"), why.to_string().trim());
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("SLUG_SKIPPED_TESTS") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// The sandbox of this machine; skips the test if there is none.
///
/// # Panics
///
/// If there is none and `SLUG_REQUIRE_SANDBOX=1`.
pub fn sandbox_or_skip(workspace: &Path) -> Option<SandboxBackend> {
    let path: OsString = std::env::var_os("PATH").unwrap();
    sandbox::find(None, &path, workspace).map_err(skip_sandbox).ok()
}

/// Calls [`skip`] because no sandbox works here.
///
/// # Panics
///
/// If `SLUG_REQUIRE_SANDBOX=1`.
pub fn skip_sandbox(why: impl Display) {
    let is_required = std::env::var_os("SLUG_REQUIRE_SANDBOX").is_some_and(|value| value == "1");
    assert!(!is_required, "SLUG_REQUIRE_SANDBOX=1: {why}");
    skip(why);
}
