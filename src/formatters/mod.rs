//! The project's formatters: what a tool writes goes through the one that is configured for the file,
//! before it is shown and written.
//!
//! `definition` is what the user's configuration says of a formatter, `table` those that slug knows by
//! itself, `project` finds out which one a project uses for a file, `checks` judges what came out, and
//! `service` puts these together. How the program runs is behind [`FormatterRunner`].
//!
//! A formatter runs only in a folder that the user trusts. It gets the text on standard input and
//! answers on standard output; it changes no file. In its sandbox it reads the project, writes nothing
//! and has no network. A program of the project itself, and any program where there is no sandbox, runs
//! only if the user's own configuration names it with its hash (cases S63 and S115). Whatever goes wrong
//! leaves the text as it was. Who applies the formatted text is in `tools::change`.

mod checks;
mod definition;
mod project;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use definition::{FormatterDefinition, FormatterDefinitions};
pub use service::{
    FormatterCommand, FormatterEnd, FormatterOutput, FormatterPorts, FormatterRunner,
    ProjectFormatters,
};
