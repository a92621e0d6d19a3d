//! Tests of skills and commands.
