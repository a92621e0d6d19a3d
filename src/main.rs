//! The `slug` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    slug_code::launch::main()
}
