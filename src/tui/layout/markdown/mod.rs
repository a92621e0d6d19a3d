//! Markdown (CommonMark with GitHub's tables, strikethrough, task lists, alerts and footnotes, and
//! formulas) as lines that fit a width.
//!
//! Blocks stand one blank line apart; inside list items the source decides, so that tight lists
//! stay tight and the layout of an item depends on nothing below it. Code has a bar on its left and
//! its language above; tables shrink, then wrap, then become records. Links show the whole address
//! and images their description and address, nothing is ever fetched, HTML is text, and footnotes
//! stand where they were written.
//!
//! [`render`] lays out a whole text, [`StreamingMarkdown`] one that grows. For every prefix both
//! give the same lines.

mod address;
mod blocks;
mod code;
mod events;
mod extract;
mod formula;
mod html;
mod inline;
mod math;
mod stream;
mod table;

pub use extract::{CodeBlock, code_blocks};
pub use stream::StreamingMarkdown;

use self::events::parser;
use self::math::MaskedFormulas;
use super::{BlockLayout, SyntaxHighlighter};

/// The longest text that is laid out as Markdown, in bytes. Its lines take up to some hundred times as much
/// memory, and have to fit into what `cache` keeps, or each frame would lay them out again.
pub const MAX_MARKDOWN: usize = 128 * 1024;

/// Lays out a whole text at once. The caller bounds it, by [`MAX_MARKDOWN`].
pub fn render(text: &str, width: u16, highlighter: &SyntaxHighlighter) -> BlockLayout {
    let masked = MaskedFormulas::of(text);
    let events = masked.restore(parser(masked.text()).into_offset_iter());
    let mut renderer = blocks::BlockRenderer::new(text, width, highlighter);
    renderer.events(&events);
    renderer.finish()
}

#[cfg(test)]
mod tests;
