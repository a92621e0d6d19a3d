//! Shell completions and the manual page, made from the parser itself.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;

/// Writes the completions for `shell`.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // The generator panics when a write fails, and a write to memory cannot fail.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "slug", &mut script);
    out.write_all(&script)
}

/// Writes the manual page, in roff.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn man(out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(Cli::command()).render(out)
}
