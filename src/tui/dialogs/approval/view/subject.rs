//! The subject of an approval question: the command or the diff, and what the rules say about it.
//!
//! A diff of several changes shows before each change whether it is taken, and which change the
//! keys act on.

use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::Value;

use crate::tui::app::title::{home_path, visible_path};
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalRequestExt, HunkSelection};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::rules::view::of_part;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, line, span};

/// Columns before a diff that show which changes are taken.
pub(super) const MARGIN: u16 = 5;

/// The scrolling part of the dialog: a heading, the diff, and what the rules say.
pub(super) struct ApprovalSubject<'a> {
    above: Vec<StyledLine>,
    diff: Arc<[StyledLine]>,
    below: Vec<StyledLine>,
    /// The rows of each change.
    pub(super) changes: Arc<[Range<usize>]>,
    picks: Option<&'a HunkSelection>,
}

impl<'a> ApprovalSubject<'a> {
    /// Lays out what would run or change, and what the rules say about its parts.
    pub(super) fn new(
        around: DialogView<'_>,
        approval: &'a ApprovalDialog,
        layouts: &mut ViewLayouts,
        width: u16,
    ) -> Self {
        let request = &approval.request;
        let home = around.shared.settings.home.as_deref();
        let below = rules(around, approval, width);
        let picks = approval.hunks.as_ref();
        let plain = |above| Self {
            above,
            diff: Arc::default(),
            below: Vec::new(),
            changes: Arc::default(),
            picks: None,
        };
        match (&request.preview, request.command()) {
            (Some(diff), _) => {
                let counts = [
                    span(format!("  +{}", diff.added), StyleRole::Success),
                    span(format!(" -{}", diff.removed), StyleRole::Error),
                ];
                let above =
                    with_counts(path(&diff.path, home, StyleRole::Strong, width), counts, width);
                let margin = if picks.is_some() { MARGIN } else { 0 };
                let width = width.saturating_sub(margin).max(1);
                // The whole diff: nothing may be approved that cannot be seen.
                let (diff, changes) = layouts.approval_diff(request.id, diff, width, 1);
                Self { above, diff, below, changes, picks }
            }
            (None, Some(command)) => {
                Self { below, ..plain(plain::render(command, StyleRole::Code, width)) }
            }
            (None, None) => Self { below, ..plain(arguments(&request.input, width)) },
        }
    }

    pub(super) fn len(&self) -> usize {
        self.above.len() + self.diff.len() + self.below.len()
    }

    /// The change whose checkbox stands on this row.
    pub(super) fn box_at(&self, row: usize) -> Option<usize> {
        let change = self.changes.partition_point(|place| place.start < row);
        let is_here = self.changes.get(change).is_some_and(|place| place.start == row);
        (self.picks.is_some() && is_here).then_some(change)
    }

    /// Draws one row of the subject.
    pub(super) fn draw(
        &self,
        row: usize,
        styles: &dyn RoleStyles,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let mut lines = self.above.iter().chain(self.diff.iter()).chain(&self.below);
        let Some(line) = lines.nth(row) else { return };
        let in_diff = row >= self.above.len() && row < self.above.len() + self.diff.len();
        let Some(picks) = self.picks.filter(|_| in_diff) else {
            return paint::filled_line(line, styles, area, buffer);
        };
        let change = self.changes.partition_point(|place| place.end <= row);
        let place = self.changes.get(change).filter(|place| place.start <= row);
        let margin = Rect { width: MARGIN.min(area.width), ..area };
        let rest = Rect { x: area.x + margin.width, width: area.width - margin.width, ..area };
        let Some(place) = place else { return paint::filled_line(line, styles, rest, buffer) };
        let is_taken = !picks.left_out.has(change);
        let bar = if picks.focus == change { "▎" } else { " " };
        let (tick, role) = match (place.start == row, is_taken) {
            (false, _) => ("   ", StyleRole::Text),
            (true, true) => ("[x]", StyleRole::Success),
            (true, false) => ("[ ]", StyleRole::Warning),
        };
        paint::spans(&[span(bar, StyleRole::User), span(tick, role)], styles, margin, buffer);
        if is_taken {
            paint::filled_line(line, styles, rest, buffer);
        } else {
            let faded = line.spans.iter().map(|part| span(part.text.as_str(), StyleRole::Muted));
            paint::spans(&faded.collect::<Vec<_>>(), styles, rest, buffer);
        }
    }
}

/// The whole path, on as many rows as it takes: a cut path could be another file.
fn path(path: &Path, home: Option<&Path>, role: StyleRole, width: u16) -> Vec<StyledLine> {
    plain::broken_anywhere(&visible_path(&home_path(path, home)), role, width)
}

/// Puts the counts after a path, or below it where there is no room.
fn with_counts(mut path: Vec<StyledLine>, counts: [StyledSpan; 2], width: u16) -> Vec<StyledLine> {
    let taken = path.last().map_or(0, |last| paint::spans_width(&last.spans));
    match path.last_mut().filter(|_| taken + paint::spans_width(&counts) <= width) {
        Some(last) => last.spans.extend(counts),
        None => path.push(line(counts.into())),
    }
    path
}

/// The folder that the call would run in, and what the rules say about it.
fn rules(around: DialogView<'_>, approval: &ApprovalDialog, width: u16) -> Vec<StyledLine> {
    let request = &approval.request;
    let home = around.shared.settings.home.as_deref();
    let mut lines = vec![StyledLine::default()];
    for warning in &approval.lookalikes {
        lines.extend(plain::render(warning, StyleRole::Warning, width));
    }
    if request.command().is_some() {
        let rows = path(&request.cwd, home, StyleRole::Text, width.saturating_sub(4).max(1));
        for (row, mark) in rows.into_iter().zip(iter::once("in  ").chain(iter::repeat("    "))) {
            lines.push(line([vec![span(mark, StyleRole::Muted)], row.spans].concat()));
        }
    }
    let widest = request.parts.iter().map(|part| paint::width(&harmless(&part.text))).max();
    let column = widest.unwrap_or(0).min(width / 2);
    let settings = &around.shared.settings;
    lines.extend(request.parts.iter().map(|part| of_part(part, column, width, settings)));
    if !request.reason.is_empty() {
        lines.extend(plain::render(&request.reason, StyleRole::Muted, width));
    }
    lines
}

/// The arguments of a call that is neither a command nor an edit, one row each.
fn arguments(input: &Value, width: u16) -> Vec<StyledLine> {
    let Some(fields) = input.as_object() else {
        return plain::render(&input.to_string(), StyleRole::Code, width);
    };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        lines.extend(plain::render(&format!("{name}: {value}"), StyleRole::Code, width));
    }
    lines
}
