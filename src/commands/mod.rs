//! Slash commands: the table and the parser.
