//! The `slug` command.

use std::process::ExitCode;

use slug_code::platform;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == platform::child::COMMAND) {
        return platform::child::main(args);
    }
    ExitCode::SUCCESS
}
