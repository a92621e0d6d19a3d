//! The last part of a job's output, and which of its rows are on screen.
//!
//! The end stays in sight until the user scrolls up. What is kept is bounded: at most [`KEPT`] bytes,
//! and no line is longer than `LONGEST_LINE`, so that no line is costly to lay out.

use std::sync::Arc;

use crate::domain::format_bytes;
use crate::services::text_document::TextDocument;
use crate::tui::app::keymap::ScrollAction;
use crate::tui::app::page_position::{PageEnd, PagePosition, PageRow};
use crate::tui::app::request_id::RequestId;
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::pager::PagerFollow;

use super::is_up;

/// Most bytes of an output that are kept; beyond, its older half is dropped.
pub const KEPT: usize = 1 << 20;
/// A longer line goes on in the next one.
const LONGEST_LINE: usize = 64 << 10;

/// The last part of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputTail {
    pub document: Arc<TextDocument>,
    pub position: PagePosition,
    pub follow: PagerFollow,
    /// Why nothing more comes, as a sentence.
    pub lost: Option<String>,
    /// The length of the last line, while it is open.
    open_line: usize,
}

impl OutputTail {
    /// An output of which nothing is known. No two documents on screen have the same id.
    pub fn new(id: RequestId) -> Self {
        Self {
            document: Arc::new(TextDocument::new(id.0, "")),
            position: PagePosition::END,
            follow: PagerFollow::Tail,
            lost: None,
            open_line: 0,
        }
    }

    /// Adds the next part, and a line that says how many bytes were left out before it, if any were.
    pub fn push(&mut self, skipped: u64, text: &str) {
        let before = self.document.dropped_lines();
        if skipped > 0 {
            let begins = if self.open_line > 0 { "\n" } else { "" };
            let size = format_bytes(skipped);
            self.add(&format!("{begins}[{size} of the output not shown]\n"));
        }
        self.add(text);
        let gone = self.document.dropped_lines() - before;
        self.position.top.line = self.position.top.line.saturating_sub(gone);
    }

    fn add(&mut self, text: &str) {
        let document = Arc::make_mut(&mut self.document);
        for line in text.split_inclusive('\n') {
            let mut line = line;
            while self.open_line + line.len() > LONGEST_LINE {
                let cut = line.floor_char_boundary(LONGEST_LINE - self.open_line);
                document.push_within(&line[..cut], KEPT);
                document.push_within("\n", KEPT);
                (line, self.open_line) = (&line[cut..], 0);
            }
            document.push_within(line, KEPT);
            self.open_line = if line.ends_with('\n') { 0 } else { self.open_line + line.len() };
        }
    }

    /// Scrolls, of a page that was drawn like this. Upwards ends following, to the end begins it again.
    pub fn scroll(&mut self, how: ScrollAction, page: &PageGeometry) {
        if is_up(how) {
            self.hold_at(page.top);
        } else if how == ScrollAction::Bottom {
            self.follow = PagerFollow::Tail;
        }
        self.position.scroll(how, page.rows.len());
    }

    /// Shows its last page without following it, in the place of a screen that is below it.
    pub fn show_end(&mut self) {
        if !self.document.is_empty() {
            self.follow = PagerFollow::Paused;
            self.position = PagePosition::END;
        }
    }

    /// Turns the wheel by a number of rows; negative is up.
    pub fn wheel(&mut self, rows: i32, page: &PageGeometry) {
        if rows < 0 {
            self.hold_at(page.top);
        }
        if rows < 0 || page.end != PageEnd::Visible {
            self.position.by(isize::try_from(rows).unwrap_or(0));
        }
    }

    /// Takes over the row that the view found to be at the top.
    pub fn scrolled_to(&mut self, top: PageRow) {
        self.position = match self.follow {
            PagerFollow::Tail => PagePosition::END,
            PagerFollow::Paused => PagePosition { top, delta: 0 },
        };
    }

    fn hold_at(&mut self, top: PageRow) {
        if self.follow == PagerFollow::Tail {
            self.follow = PagerFollow::Paused;
            self.position = PagePosition { top, delta: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(tail: &OutputTail) -> Vec<String> {
        (0..tail.document.len()).map(|at| tail.document.line(at).to_owned()).collect()
    }

    #[test]
    fn what_is_left_out_is_told_on_a_line_of_its_own() {
        let mut tail = OutputTail::new(RequestId(1));
        tail.push(0, "one\ntw");
        tail.push(1_200_000, "nine\n");
        let expected = ["one", "tw", "[1.2 MB of the output not shown]", "nine"];
        assert_eq!(lines(&tail), expected);
    }

    #[test]
    fn a_line_without_end_goes_on_in_the_next() {
        let mut tail = OutputTail::new(RequestId(1));
        for _ in 0..40 {
            tail.push(0, &"é".repeat(1 << 10));
        }
        assert_eq!(lines(&tail).iter().map(String::len).collect::<Vec<_>>(), [64 << 10, 16 << 10]);
    }

    #[test]
    fn of_a_hundred_megabytes_little_is_kept() {
        let mut tail = OutputTail::new(RequestId(1));
        let text = format!("{:063}\n", 0).repeat(1 << 10);
        for _ in 0..1_600 {
            tail.push(0, &text);
            assert!(tail.document.bytes() <= KEPT);
        }
        assert_eq!(tail.document.len() + tail.document.dropped_lines(), 1_600 << 10);
        // Lines of one byte each cost the most beside their text: four bytes.
        for _ in 0..64 {
            tail.push(0, &"\n".repeat(64 << 10));
        }
        assert!(tail.document.len() <= KEPT);
    }

    #[test]
    fn what_is_read_stays_in_place_while_older_lines_go() {
        let mut tail = OutputTail::new(RequestId(1));
        let text: String = (0..16_000).map(|line| format!("{line:063}\n")).collect();
        tail.push(0, &text);
        tail.follow = PagerFollow::Paused;
        tail.position = PagePosition { top: PageRow { line: 15_000, row: 0 }, delta: 0 };
        tail.push(0, &text[..1 << 20 >> 1]);
        assert!(tail.document.dropped_lines() > 0);
        assert_eq!(tail.document.line(tail.position.top.line), format!("{:063}", 15_000));
    }
}
