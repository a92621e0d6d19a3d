//! What the parser gives, with its place in the source.

use pulldown_cmark::{Event, Options, Parser};

/// An event, and the byte range of the source that it stands for.
pub(super) type SpannedEvent<'e> = (Event<'e>, std::ops::Range<usize>);

pub(super) fn parser(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH;
    Parser::new_ext(text, options)
}
