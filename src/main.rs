//! The `slug` command.

fn main() {}
