//! Words on standard error. What is printed comes from configuration and servers, too: it is made
//! harmless first.

use std::io::Write;

use crate::config::ConfigError;
use crate::domain::sanitize::sanitize;
use crate::platform::terminal::output::takes_lines;
use crate::tui::runtime::Left;

use super::build;
use super::ground::Ground;

/// One line on standard error.
pub(super) fn complain(text: &str) {
    // With standard error closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "slug: {}", sanitize(text));
}

/// What is wrong with the configuration, a line each.
pub(super) fn config_errors(errors: &[ConfigError]) {
    for error in errors {
        complain(&error.to_string());
    }
}

/// After the chat: how to go on with its session.
pub(super) fn how_to_resume(ground: &Ground, left: &Left) {
    let Some(session) = left.session else { return };
    // Where nobody reads, the line would hold up the end.
    if takes_lines() && build::store(ground).is_begun(session).unwrap_or(false) {
        // With standard output closed there is nobody to tell.
        let _ = writeln!(std::io::stdout(), "To go on with this session: slug --resume {session}");
    }
}
