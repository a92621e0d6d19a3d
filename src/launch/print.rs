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

/// After the chat: what was said last, and how to go on with the session.
pub(super) fn farewell(ground: &Ground, left: &Left) {
    // Where nobody reads, the lines would hold up the end.
    if !takes_lines() {
        return;
    }
    let mut text = left.page.clone();
    let begun = |session| build::store(ground).is_begun(session).unwrap_or(false);
    if let Some(session) = left.session.filter(|session| begun(*session)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("To go on with this session: slug --resume {session}\n"));
    }
    // With standard output closed there is nobody to tell.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
