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

use crate::domain::{ApprovalRequest, FileDiff};
use crate::tui::app::conversation::title::{home_path, visible_path};
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalRequestExt, HunkSelection, words};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::rules::view::of_part;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, line, span};

/// On screens with fewer rows the question shows no verdicts of rules.
const ROOMY: u16 = 18;
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
        (width, is_named): (u16, bool),
        listed: &[&ApprovalRequest],
    ) -> Self {
        let request = &approval.request;
        let mut below = notes(around, approval, width);
        below.extend(waiting(around, listed, width));
        let has_subject = match request.input.as_object() {
            Some(fields) => request.preview.is_some() || !fields.is_empty(),
            None => true,
        };
        if has_subject && !below.is_empty() {
            below.insert(0, StyledLine::default());
        }
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
                let heading = |diff: &FileDiff| {
                    let counts = [
                        span(format!("  +{}", diff.added), StyleRole::Success),
                        span(format!(" -{}", diff.removed), StyleRole::Error),
                    ];
                    with_counts(path(around, &diff.path, width), counts, width)
                };
                let above = if is_named { Vec::new() } else { heading(diff) };
                let margin = if picks.is_some() { MARGIN } else { 0 };
                let room = width.saturating_sub(margin).max(1);
                let others = || {
                    let others = request.other_previews.iter();
                    others.map(|diff| (heading(diff), diff)).collect()
                };
                // The whole diff: nothing may be approved that cannot be seen.
                let (diff, changes) =
                    layouts.approval_diff(request.id, (diff, others), room, above.len());
                Self { above, diff, below, changes, picks }
            }
            (None, Some(command)) => {
                let lines = layouts.approval_command(request.id, command, width);
                Self { diff: lines, below, ..plain(Vec::new()) }
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
        let in_diff = self.picks.is_some()
            && row >= self.above.len()
            && row < self.above.len() + self.diff.len();
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
fn path(around: DialogView<'_>, path: &Path, width: u16) -> Vec<StyledLine> {
    let shown = words::shown_path(path, &around.shared.settings);
    plain::broken_anywhere(&shown, StyleRole::Strong, width)
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

/// What is to be known besides: letters that imitate others, another folder, the decision for each
/// of several parts, and why slug asks where that is not plain.
fn notes(around: DialogView<'_>, approval: &ApprovalDialog, width: u16) -> Vec<StyledLine> {
    let request = &approval.request;
    let settings = &around.shared.settings;
    let mut lines = Vec::new();
    for warning in &approval.lookalikes {
        lines.extend(plain::render(warning, StyleRole::Warning, width));
    }
    if request.command().is_some() && request.cwd != settings.cwd {
        let folder = visible_path(&home_path(&request.cwd, settings.home.as_deref()));
        let room = width.saturating_sub(4).max(1);
        let rows = plain::broken_anywhere(&folder, StyleRole::Text, room);
        for (row, mark) in rows.into_iter().zip(iter::once("in  ").chain(iter::repeat("    "))) {
            lines.push(line([vec![span(mark, StyleRole::Muted)], row.spans].concat()));
        }
    }
    if request.parts.len() > 1 && around.shared.geometry.height >= ROOMY {
        let widest = request.parts.iter().map(|part| paint::width(&harmless(&part.text))).max();
        let column = widest.unwrap_or(0).min(width / 2);
        lines.extend(request.parts.iter().map(|part| of_part(part, column, width, settings)));
    }
    if !request.reason.is_empty() {
        lines.extend(plain::render(&request.reason, StyleRole::Muted, width));
    }
    lines
}

/// The requests that a yes to all would answer as well, in full.
fn waiting(
    around: DialogView<'_>,
    listed: &[&ApprovalRequest],
    width: u16,
) -> impl Iterator<Item = StyledLine> {
    let heading = (!listed.is_empty()).then(|| line(vec![span("Waiting:", StyleRole::Muted)]));
    let rows = listed.iter().flat_map(move |request| {
        let text = words::waiting_row(request, &around.shared.settings);
        plain::broken_anywhere(&text, StyleRole::Text, width.saturating_sub(2).max(1))
    });
    let rows: Vec<StyledLine> =
        rows.map(|row| line([vec![span("  ", StyleRole::Text)], row.spans].concat())).collect();
    heading.into_iter().chain(rows)
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
