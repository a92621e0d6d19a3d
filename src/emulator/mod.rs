//! The terminal of a job, emulated: what a program prints becomes a screen with lines that have scrolled
//! off it, and what is typed becomes the bytes that the program expects.
//!
//! Invariants: memory is bounded whatever is printed. Titles, links, clipboard contents, notifications
//! and every other string for a terminal are dropped before they are parsed (`string_filter`), so none
//! gets beyond this room. No I/O and no clock; who reads and writes the terminal is in `agent` and
//! `platform`.

mod input;
mod screen;
mod string_filter;

pub use screen::TerminalEmulator;

#[cfg(test)]
mod tests;
