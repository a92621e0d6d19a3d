//! Flags, subcommands and exit statuses.
