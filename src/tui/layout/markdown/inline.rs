//! Running text: collects the pieces of one paragraph, heading or table cell.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use super::address;
use super::events::SpannedEvent;
use crate::tui::layout::wrap::{StyledPiece, escape};
use crate::tui::layout::{StyleRole, WebLink};

/// Precedes the description of an image.
const IMAGE: &str = "[image: ";

/// The text so far, and the markup that it is inside of.
#[derive(Debug)]
pub(super) struct InlineText<'e> {
    pieces: Vec<StyledPiece<'e>>,
    base: StyleRole,
    strong: u32,
    emphasis: u32,
    struck: u32,
    links: Vec<OpenLink<'e>>,
    images: Vec<&'e CowStr<'e>>,
}

/// A link whose end has not been read.
#[derive(Debug)]
struct OpenLink<'e> {
    address: &'e CowStr<'e>,
    link: Option<WebLink>,
    /// Index of the first piece of the link's text.
    from: usize,
}

impl<'e> InlineText<'e> {
    /// An empty text; `base` is the role of text without markup.
    pub(super) fn new(base: StyleRole) -> Self {
        Self {
            pieces: Vec::new(),
            base,
            strong: 0,
            emphasis: 0,
            struck: 0,
            links: Vec::new(),
            images: Vec::new(),
        }
    }

    /// All pieces. Plain addresses in the text become links.
    pub(super) fn finish(self) -> Vec<StyledPiece<'e>> {
        address::autolink(self.pieces)
    }

    /// Adds an inline event; block events are ignored.
    pub(super) fn event(&mut self, (event, range): &'e SpannedEvent<'e>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range),
            Event::Text(text) => self.text(text, self.role(), range),
            Event::Code(text) => {
                // The backticks, and a space inside of them, are equally long on both sides.
                let mark = range.len().saturating_sub(text.len()) / 2;
                self.text(text, StyleRole::Code, &(range.start + mark..range.end - mark));
            }
            Event::InlineHtml(html) if is_break(html) => self.mark("\n", self.role(), range),
            Event::InlineHtml(html) | Event::Html(html) => self.text(html, StyleRole::Muted, range),
            Event::SoftBreak => self.mark(" ", self.role(), range),
            Event::HardBreak => self.mark("\n", self.role(), range),
            Event::InlineMath(source) => self.text(source, StyleRole::Code, range),
            Event::DisplayMath(shown) => self.formula(shown, range),
            Event::FootnoteReference(label) => {
                self.mark("[", StyleRole::Link, &(range.start..range.start));
                self.text(label, StyleRole::Link, range);
                self.mark("]", StyleRole::Link, &(range.end..range.end));
            }
            Event::Rule | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &'e Tag<'e>, range: &Range<usize>) {
        match tag {
            Tag::Strong => self.strong += 1,
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url: address, .. } => {
                let (link, from) = (WebLink::to(address), self.pieces.len());
                self.links.push(OpenLink { address, link, from });
            }
            Tag::Image { dest_url, .. } => {
                self.images.push(dest_url);
                self.mark(IMAGE, StyleRole::Muted, &(range.start..range.start));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link => {
                if let Some(link) = self.links.pop() {
                    self.address(&link, range.end);
                }
            }
            TagEnd::Image => {
                if let Some(address) = self.images.pop() {
                    let end = range.end..range.end;
                    match self.pieces.last_mut() {
                        Some(last) if last.text == IMAGE => last.text = "[image]".into(),
                        Some(_) | None => self.mark("]", StyleRole::Muted, &end),
                    }
                    if !address.is_empty() {
                        self.mark(" ", self.role(), &end);
                        self.leading(address, StyleRole::Link, WebLink::to(address).as_ref(), &end);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the address of a link, unless its text states it already. If the text reads like the
    /// address of another server, the address is shown as a warning.
    fn address(&mut self, open: &OpenLink<'e>, end: usize) {
        let shown: String = self.pieces[open.from..].iter().map(|piece| &*piece.text).collect();
        let address: &str = open.address;
        if address.is_empty() || address::states_address(&shown, address) {
            return;
        }
        let role = if address::misstates_host(&shown, address) {
            StyleRole::Warning
        } else {
            StyleRole::Link
        };
        let end = end..end;
        self.mark(" (", StyleRole::Muted, &end);
        self.leading(address, role, open.link.as_ref(), &end);
        self.mark(")", StyleRole::Muted, &end);
    }

    /// Adds text from the source, or decoded from it: an entity can name any character.
    fn text(&mut self, text: &'e str, role: StyleRole, range: &Range<usize>) {
        let link = self.links.last().and_then(|open| open.link.clone());
        self.leading(text, role, link.as_ref(), range);
    }

    /// Adds a formula in its readable form. Each part of it stands for all of its source.
    fn formula(&mut self, shown: &'e str, range: &Range<usize>) {
        for (index, row) in shown.split('\n').enumerate() {
            if index > 0 {
                self.mark("\n", StyleRole::Code, &(range.start..range.start));
            }
            // A piece as long as its source would count as the source itself.
            let is_as_long = row.len() == range.len();
            let first = row.chars().next().filter(|_| is_as_long).map_or(0, char::len_utf8);
            let (first, rest) = row.split_at(first);
            self.text(first, StyleRole::Code, range);
            self.text(rest, StyleRole::Code, range);
        }
    }

    /// Adds text, with the link that a click on it opens.
    fn leading(
        &mut self,
        text: &'e str,
        role: StyleRole,
        link: Option<&WebLink>,
        range: &Range<usize>,
    ) {
        let from = self.pieces.len();
        escape(text, role, 0, &mut self.pieces);
        // An entity differs from its source, so its character stands for all of it.
        let is_source = text.len() == range.len();
        for piece in &mut self.pieces[from..] {
            let at = |at: usize| (range.start + at).min(range.end);
            piece.source = if is_source {
                at(piece.source.start)..at(piece.source.end)
            } else {
                range.clone()
            };
            piece.link = link.cloned();
            if piece.text.contains('\n') {
                piece.text = Cow::Owned(piece.text.replace('\n', " "));
            }
        }
    }

    fn mark(&mut self, text: &'static str, role: StyleRole, range: &Range<usize>) {
        self.pieces.push(StyledPiece::new(text, role, range.clone()));
    }

    fn role(&self) -> StyleRole {
        if !self.images.is_empty() {
            return StyleRole::Muted;
        }
        match (self.links.is_empty(), self.struck, self.strong, self.emphasis) {
            (false, ..) => StyleRole::Link,
            (true, 1.., ..) => StyleRole::Strikethrough,
            _ if matches!(self.base, StyleRole::Heading(_)) => self.base,
            (true, 0, 1.., 1..) => StyleRole::StrongEmphasis,
            (true, 0, 1.., 0) => StyleRole::Strong,
            (true, 0, 0, 1..) => StyleRole::Emphasis,
            (true, 0, 0, 0) => self.base,
        }
    }
}

/// Whether this is `<br>`, which models write since tables need it.
fn is_break(html: &str) -> bool {
    let name = html.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/').trim_end();
    name.eq_ignore_ascii_case("br")
}
