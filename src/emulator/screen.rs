//! The screen of a job's terminal, and the lines that have scrolled off it.
//!
//! The emulator itself keeps only the lines of a moment ([`HISTORY`]); they become text at once. What is
//! kept of them is bounded in lines and bytes. Replies to the program's questions wait here until they
//! are taken, and are bounded, too.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, TermMode};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor, Timeout};

use crate::domain::{
    TerminalColor, TerminalFrame, TerminalInput, TerminalRun, TerminalSize, TerminalStyle,
    TerminalText, is_invisible,
};

use super::input;
use super::string_filter::StringFilter;

/// The most lines that are kept of what has scrolled off the screen, and the most bytes of them.
const MOST_LINES: usize = 2_000;
const MOST_BYTES: usize = 1 << 20;
/// A longer line goes on in the next one.
const LONGEST_LINE: usize = 16 << 10;
/// So many bytes are parsed at once, and as many lines at most scroll meanwhile.
const HISTORY: usize = 256;
/// The most bytes of replies that wait for the program.
const MOST_REPLIES: usize = 1 << 10;
/// After so many characters beyond ASCII, cells with too many marks lose them.
const MARKS_CHECKED: usize = 16 << 10;
/// The most combining marks of a cell.
const MOST_MARKS: usize = 4;

/// A terminal that a program prints to.
pub struct TerminalEmulator {
    terminal: Term<ReplyQueue>,
    parser: Processor<UnsynchronizedUpdates>,
    strings: StringFilter,
    replies: ReplyQueue,
    scrolled: ScrolledLines,
    /// Characters beyond ASCII since the marks of all cells were looked at.
    unchecked: usize,
}

impl TerminalEmulator {
    /// An empty screen.
    pub fn new(size: TerminalSize) -> Self {
        let replies = ReplyQueue::default();
        let config = Config {
            scrolling_history: HISTORY,
            kitty_keyboard: false,
            osc52: Osc52::Disabled,
            ..Config::default()
        };
        Self {
            terminal: Term::new(config, &ScreenCells(size.clamped()), replies.clone()),
            parser: Processor::new(),
            strings: StringFilter::default(),
            replies,
            scrolled: ScrolledLines::default(),
            unchecked: 0,
        }
    }

    /// Takes what the program prints.
    pub fn print(&mut self, bytes: &[u8]) {
        let mut plain = Vec::with_capacity(bytes.len());
        self.strings.pass(bytes, &mut plain);
        for part in plain.chunks(HISTORY) {
            self.parser.advance(&mut self.terminal, part);
            self.keep_scrolled();
            self.unchecked += part.iter().filter(|byte| **byte >= 0xc0).count();
            if self.unchecked > MARKS_CHECKED {
                self.unchecked = 0;
                self.drop_marks();
            }
        }
    }

    /// What the terminal answers to the program's questions since the last time.
    pub fn take_replies(&self) -> Vec<u8> {
        std::mem::take(&mut *self.replies.lock())
    }

    /// Changes the size; lines that get wider or narrower are wrapped anew.
    pub fn resize(&mut self, size: TerminalSize) {
        self.terminal.resize(ScreenCells(size.clamped()));
        self.keep_scrolled();
    }

    /// Columns and rows, as the program was told last.
    pub fn size(&self) -> TerminalSize {
        let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let columns = cells(self.terminal.columns());
        TerminalSize { columns, rows: cells(self.terminal.screen_lines()) }
    }

    /// The bytes that the program gets for what is typed; none where it has not asked for this.
    pub fn bytes_for(&self, typed: &TerminalInput) -> Vec<u8> {
        input::bytes(typed, *self.terminal.mode())
    }

    /// What the screen shows.
    pub fn frame(&self, hides_input: bool) -> TerminalFrame {
        let grid = self.terminal.grid();
        let rows = (0..).map(Line).take(grid.screen_lines()).map(|line| runs(grid, line)).collect();
        let point = grid.cursor.point;
        let is_shown = self.terminal.mode().contains(TermMode::SHOW_CURSOR);
        let cursor = (u16::try_from(point.column.0).ok()).zip(u16::try_from(point.line.0).ok());
        let cursor = cursor.filter(|_| is_shown);
        TerminalFrame { size: self.size(), rows, cursor, hides_input }
    }

    /// The text on screen, and of what has scrolled off it since a place that [`TerminalText::next`] has
    /// named; 0 is the start.
    pub fn text(&self, since: u64) -> TerminalText {
        let grid = self.terminal.grid();
        let mut lines = LineJoiner { open: self.scrolled.open.clone(), lines: Vec::new() };
        for line in (0..).map(Line).take(grid.screen_lines()) {
            lines.add(&row_text(grid, line), wraps(grid, line));
        }
        let mut screen = lines.end();
        let used = screen.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
        screen.truncate(used);
        let next = self.scrolled.total;
        let wanted = usize::try_from(next.saturating_sub(since)).unwrap_or(usize::MAX);
        let kept = self.scrolled.lines.len();
        let scrolled: Vec<String> =
            self.scrolled.lines.iter().skip(kept.saturating_sub(wanted)).cloned().collect();
        let skipped = wanted.saturating_sub(kept) as u64;
        TerminalText { skipped, scrolled, screen, next }
    }

    fn keep_scrolled(&mut self) {
        let grid = self.terminal.grid_mut();
        let lines = i32::try_from(grid.history_size()).unwrap_or(0);
        for line in (-lines..0).map(Line) {
            self.scrolled.add(&row_text(grid, line), wraps(grid, line));
        }
        if lines > 0 {
            grid.clear_history();
        }
    }

    /// Takes the marks of cells that have too many.
    fn drop_marks(&mut self) {
        let grid = self.terminal.grid_mut();
        let (lines, columns) = (grid.screen_lines(), grid.columns());
        for line in (0..).map(Line).take(lines) {
            for column in (0..columns).map(Column) {
                let cell = &mut grid[line][column];
                if cell.zerowidth().is_some_and(|marks| marks.len() > MOST_MARKS) {
                    cell.extra = None;
                }
            }
        }
    }
}

/// Lines that have scrolled off the screen, the oldest first.
#[derive(Debug, Default)]
struct ScrolledLines {
    lines: VecDeque<String>,
    bytes: usize,
    /// A line that the screen's edge has cut, and whose rest is still on screen.
    open: String,
    /// All lines so far, with those that are gone.
    total: u64,
}

impl ScrolledLines {
    fn add(&mut self, row: &str, goes_on: bool) {
        self.open.push_str(row);
        if goes_on && self.open.len() < LONGEST_LINE {
            return;
        }
        let line = std::mem::take(&mut self.open);
        self.bytes += line.len();
        self.total += 1;
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(gone) = self.lines.pop_front() else { return };
            self.bytes -= gone.len();
        }
    }
}

/// Makes lines of rows.
struct LineJoiner {
    open: String,
    lines: Vec<String>,
}

impl LineJoiner {
    fn add(&mut self, row: &str, goes_on: bool) {
        self.open.push_str(row);
        if !goes_on {
            self.lines.push(std::mem::take(&mut self.open));
        }
    }

    fn end(mut self) -> Vec<String> {
        if !self.open.is_empty() {
            self.lines.push(self.open);
        }
        self.lines
    }
}

/// Whether the screen's edge has wrapped the text of a row into the next one.
fn wraps(grid: &Grid<Cell>, line: Line) -> bool {
    grid[line][grid.last_column()].flags.contains(Flags::WRAPLINE)
}

/// The text of a row, without the blanks at its end unless it goes on.
fn row_text(grid: &Grid<Cell>, line: Line) -> String {
    let mut text = String::new();
    for column in (0..grid.columns()).map(Column) {
        push_cell(&grid[line][column], &mut text);
    }
    if !wraps(grid, line) {
        text.truncate(text.trim_end_matches(' ').len());
    }
    text
}

/// Appends what a cell shows. The second cell of a wide character shows nothing of its own.
fn push_cell(cell: &Cell, text: &mut String) {
    if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
        return;
    }
    match cell.c {
        _ if cell.flags.contains(Flags::HIDDEN) => text.push(' '),
        // A tab that moves the cursor leaves itself in the cell.
        c if c.is_control() => text.push(' '),
        c if is_invisible(c) => text.push(char::REPLACEMENT_CHARACTER),
        c => text.push(c),
    }
    let marks = cell.zerowidth().unwrap_or_default().iter().take(MOST_MARKS);
    text.extend(marks.filter(|mark| !is_invisible(**mark)));
}

/// The runs of a row, without the blanks at its end.
fn runs(grid: &Grid<Cell>, line: Line) -> Vec<TerminalRun> {
    let mut runs: Vec<TerminalRun> = Vec::new();
    let columns = u16::try_from(grid.columns()).unwrap_or(u16::MAX);
    for column in 0..columns {
        let cell = &grid[line][Column(column.into())];
        let style = style(cell);
        match runs.last_mut().filter(|run| run.style == style) {
            Some(run) => push_cell(cell, &mut run.text),
            None => {
                let mut text = String::new();
                push_cell(cell, &mut text);
                runs.push(TerminalRun { column, text, style });
            }
        }
    }
    runs.retain(|run| {
        run.style != TerminalStyle::default() || !run.text.trim_matches(' ').is_empty()
    });
    if let Some(last) = runs.last_mut().filter(|run| run.style == TerminalStyle::default()) {
        last.text.truncate(last.text.trim_end_matches(' ').len());
    }
    runs
}

fn style(cell: &Cell) -> TerminalStyle {
    let has = |flags| cell.flags.intersects(flags);
    TerminalStyle {
        foreground: color(cell.fg),
        background: color(cell.bg),
        bold: has(Flags::BOLD),
        dim: has(Flags::DIM),
        italic: has(Flags::ITALIC),
        underline: has(Flags::ALL_UNDERLINES),
        reverse: has(Flags::INVERSE),
    }
}

fn color(color: Color) -> Option<TerminalColor> {
    match color {
        Color::Spec(rgb) => Some(TerminalColor::Rgb(rgb.r, rgb.g, rgb.b)),
        Color::Indexed(index) => Some(TerminalColor::Indexed(index)),
        Color::Named(name) => named(name).map(TerminalColor::Indexed),
    }
}

/// The index of one of the 16 colours with a name; the default colours have none.
fn named(name: NamedColor) -> Option<u8> {
    match name as usize {
        index @ 0..16 => u8::try_from(index).ok(),
        _ => None,
    }
}

/// A size as the emulator asks for it.
struct ScreenCells(TerminalSize);

impl Dimensions for ScreenCells {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.0.rows.into()
    }

    fn columns(&self) -> usize {
        self.0.columns.into()
    }
}

/// Replies that wait for the program. Everything else that the emulator would tell a real terminal is
/// dropped.
#[derive(Clone, Default)]
struct ReplyQueue(Arc<Mutex<Vec<u8>>>);

impl ReplyQueue {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventListener for ReplyQueue {
    fn send_event(&self, event: Event) {
        if let Event::PtyWrite(text) = event {
            let mut replies = self.lock();
            if replies.len() + text.len() <= MOST_REPLIES {
                replies.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Synchronized updates are drawn as they come: the parser holds nothing back.
#[derive(Default)]
struct UnsynchronizedUpdates;

impl Timeout for UnsynchronizedUpdates {
    fn set_timeout(&mut self, _: Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}
