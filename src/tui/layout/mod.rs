//! Lays text out as lines that fit a width: wrapping, Markdown, highlighting, diffs, terminal
//! output.
//!
//! Lines hold roles, not colours: they get their colours when painted, so that a change of theme
//! lays nothing out again. Every function here makes its text harmless with `domain::sanitize` as
//! it cuts it into spans, even if its caller did so before.

pub mod ansi;
pub mod cache;
mod clock_cache;
pub mod code;
pub mod diff;
pub mod highlight;
mod language_detection;
mod link;
pub mod markdown;
pub mod one_line;
pub mod pager_lines;
pub mod plain;
mod runs;
mod styled;
pub mod two_columns;
pub mod wrap;

pub use cache::{LayoutCache, LayoutKey, MAX_LAYOUT_BYTES, PaneFold};
pub use highlight::SyntaxHighlighter;
pub use link::WebLink;
pub use runs::SourceRun;
pub use styled::{
    AnsiColor, AnsiStyle, BlockLayout, HighlightState, LineJoin, StyleRole, StyledLine, StyledSpan,
    SyntaxTokenKind,
};
