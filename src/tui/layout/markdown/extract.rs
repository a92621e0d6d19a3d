//! Finds the code blocks of a text, as code: without fences, and without the indentation and quote
//! marks of the containers around them.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::events::parser;
use super::math::MaskedFormulas;

/// The place of a code block in the text, and of the code in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// The whole block in the source, fences included.
    pub range: Range<usize>,
    /// Ranges of the code in the source, in order.
    pub pieces: Vec<Range<usize>>,
}

impl CodeBlock {
    /// The code in `range` of the source.
    pub fn code(&self, source: &str, range: &Range<usize>) -> String {
        let parts = self.pieces.iter().filter_map(|piece| {
            let part = piece.start.max(range.start)..piece.end.min(range.end);
            source.get(part)
        });
        parts.collect()
    }

    /// Whether all of `range` is code of this block.
    pub fn contains(&self, range: &Range<usize>) -> bool {
        let first = self.pieces.first().map_or(usize::MAX, |piece| piece.start);
        let last = self.pieces.last().map_or(0, |piece| piece.end);
        first <= range.start && range.end <= last
    }
}

/// All code blocks of a text, in order.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut inside = false;
    let masked = MaskedFormulas::of(text);
    for (event, range) in parser(masked.text()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                inside = true;
                blocks.push(CodeBlock { range, pieces: Vec::new() });
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(_) if inside => {
                if let Some(block) = blocks.last_mut() {
                    block.pieces.push(range);
                }
            }
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_extracted_from_its_containers() {
        let text = "1. do\n\n   ```sh\n   ls\n     -l\n   ```\n\n> ```\n> a\n> b\n> ```\n";
        let blocks = code_blocks(text);
        let code = |index: usize| blocks[index].code(text, &(0..text.len()));
        assert_eq!((code(0).as_str(), code(1).as_str()), ("ls\n  -l\n", "a\nb\n"));
        let at = text.find("-l").unwrap();
        assert!(blocks[0].contains(&(at..at + 2)) && !blocks[1].contains(&(at..at + 2)));
        assert_eq!(blocks[0].code(text, &(at..at + 2)), "-l");
    }
}
