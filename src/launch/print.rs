//! Words on standard error. What is printed comes from configuration and servers, too: it is made
//! harmless first.

use std::io::Write;

use crate::config::ConfigError;
use crate::domain::sanitize::sanitize;

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
