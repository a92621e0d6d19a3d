//! Draws the page of jobs over the whole screen: the list on top, and beneath it what the selected job
//! prints.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::{ExitCause, JobEnd, JobReport, format_bytes, pluralise};
use crate::tui::app::conversation::status::clock;
use crate::tui::app::keymap::{ChatKey, JobsKey, Keymap, ScrollAction};
use crate::tui::app::page_position::PageEnd;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::page_rows;
use crate::tui::dialogs::pager::PagerFollow;
use crate::tui::layout::pager_lines::PagerWrap;
use crate::tui::layout::{StyleRole, StyledSpan, plain};
use crate::tui::view::ViewLayouts;
use crate::tui::view::blocks::harmless;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::{JobsPage, terminal_view};

/// Columns of a size, so that those of all rows end in line.
const SIZE: usize = 10;
/// On fewer columns a row has no size, and only the main word about the state.
const NARROW: u16 = 60;

/// Draws the page on all rows but the last one. Returns the cell of the cursor in a terminal that the
/// user has taken over.
pub fn draw(page: &JobsPage, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
    if page.terminal.is_taken_over() {
        return terminal_view::draw_taken_over(page, around, canvas);
    }
    let area = canvas.above_hints();
    let DialogCanvas { layouts, styles, buffer, measured, .. } = canvas;
    paint::clear(area, styles, buffer);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..inner };
    let rule = |at: u16| Rect { x: area.x, width: area.width, ..row(at) };
    let keys = &around.shared.settings.keys;
    let jobs = page.jobs();
    let left = [span("Jobs", StyleRole::Strong)];
    paint::both_edges(&left, &[span(count(jobs), StyleRole::Muted)], styles, row(0), buffer);
    paint::rule(rule(1), styles, buffer);
    if jobs.is_empty() {
        let text = if page.reports.is_some() { no_jobs(keys) } else { "One moment …".to_owned() };
        let lines = plain::render(&text, StyleRole::Muted, inner.width);
        for (at, line) in (2..area.height).zip(&lines) {
            paint::spans(&line.spans, styles, row(at), buffer);
        }
        return None;
    }
    let room = area.height.saturating_sub(2);
    let most = (room / 3).max(1);
    let height = u16::try_from(jobs.len()).unwrap_or(most).min(most).min(room);
    let list = Rect { y: area.y + 2, height, ..inner };
    let first = draw_list(page, styles, list, buffer);
    let below = 2 + height;
    paint::rule(rule(below), styles, buffer);
    let above = below + 2;
    let body = Rect {
        y: area.y + above.min(area.height),
        height: area.height.saturating_sub(above),
        ..inner
    };
    let shown = match page.terminal.frame.as_ref().filter(|_| page.shows_screen()) {
        Some(frame) => {
            let lines = page.output.document.len();
            terminal_view::draw_screen(frame, lines, styles, body, buffer)
        }
        None => draw_output(page, layouts, styles, body, buffer),
    };
    heading(page, &shown, keys, styles, row(below + 1), buffer);
    measured.page = PageGeometry { list: Some((list.into(), first)), ..shown };
    None
}

/// How many jobs run and how many have ended; empty without jobs.
pub fn count(jobs: &[JobReport]) -> String {
    let running = jobs.iter().filter(|job| job.end.is_none()).count();
    match (running, jobs.len() - running) {
        (0, 0) => String::new(),
        (running, 0) => format!("{running} running"),
        (0, ended) => format!("{ended} ended"),
        (running, ended) => format!("{running} running, {ended} ended"),
    }
}

/// What is shown in the place of jobs where there are none.
pub fn no_jobs(keys: &Keymap) -> String {
    let key = keys.key(ChatKey::Background);
    let by_key = match key.is_empty() {
        true => String::new(),
        false => format!(", and {key} sends a running command there"),
    };
    format!(
        "No jobs. A job is a command that runs in the background: the model starts one{by_key}."
    )
}

/// How a job stands.
pub fn state(job: &JobReport) -> String {
    let time = clock(job.elapsed);
    match job.end {
        None => format!("running {time}"),
        Some(JobEnd::Exited(ExitCause::Code(code))) => {
            format!("ended with status {code} after {time}")
        }
        Some(JobEnd::Exited(ExitCause::Signal(signal))) => {
            format!("killed by signal {signal} after {time}")
        }
        Some(JobEnd::Exited(ExitCause::TimedOut)) => format!("ended at its time limit, {time}"),
        Some(JobEnd::Exited(ExitCause::Cancelled)) => format!("killed after {time}"),
        Some(JobEnd::Lost) => format!("end unknown after {time}"),
    }
}

fn short_state(job: &JobReport) -> String {
    match job.end {
        None => clock(job.elapsed),
        Some(JobEnd::Exited(ExitCause::Code(code))) => format!("status {code}"),
        Some(JobEnd::Exited(ExitCause::Signal(signal))) => format!("signal {signal}"),
        Some(JobEnd::Exited(ExitCause::TimedOut)) => "time limit".to_owned(),
        Some(JobEnd::Exited(ExitCause::Cancelled)) => "killed".to_owned(),
        Some(JobEnd::Lost) => "lost".to_owned(),
    }
}

/// How much a job has printed.
pub fn size(job: &JobReport) -> String {
    match job.printed {
        0 => "no output".to_owned(),
        bytes => format_bytes(bytes),
    }
}

fn role(job: &JobReport) -> StyleRole {
    match job.end {
        None => StyleRole::Warning,
        Some(JobEnd::Exited(ExitCause::Code(0))) => StyleRole::Success,
        Some(JobEnd::Exited(ExitCause::Cancelled)) => StyleRole::Muted,
        Some(
            JobEnd::Exited(ExitCause::Code(_) | ExitCause::Signal(_) | ExitCause::TimedOut)
            | JobEnd::Lost,
        ) => StyleRole::Error,
    }
}

/// Draws the list with the selected job in view. Returns the index of the first visible one.
fn draw_list(page: &JobsPage, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> usize {
    let jobs = page.jobs();
    let selected = page.chosen().map_or(0, |(at, _)| at);
    let height = usize::from(area.height).max(1);
    let first = (selected + 1).saturating_sub(height);
    let digits = jobs.iter().map(|job| job.job.id.0.to_string().len()).max().unwrap_or(1);
    for (y, (at, job)) in (area.y..area.y + area.height).zip(jobs.iter().enumerate().skip(first)) {
        let place = Rect { y, height: 1, ..area };
        let is_selected = at == selected;
        if is_selected {
            paint::selected(place, styles, buffer);
        }
        let mark = if is_selected { "❯ " } else { "  " };
        let sign = if job.end.is_none() { "◐ " } else { "● " };
        let left = vec![
            span(mark, StyleRole::User),
            span(format!("{:>digits$}  ", job.job.id.0), StyleRole::Muted),
            span(sign, role(job)),
            span(harmless(&job.job.command), StyleRole::Text),
        ];
        let right = if area.width < NARROW {
            vec![span(short_state(job), role(job))]
        } else {
            let size = format!("{:>SIZE$}", size(job));
            vec![span(state(job), role(job)), span(size, StyleRole::Muted)]
        };
        let room = area.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
    first
}

/// The row above the output: whose it is and whether it is followed, or the question whether to end
/// the job.
fn heading(
    page: &JobsPage,
    shown: &PageGeometry,
    keys: &Keymap,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    if let Some(job) = page.asked() {
        let key = keys.key(JobsKey::End);
        let rest = if area.width < NARROW { "" } else { "; any other key lets it run." };
        let text = format!("{key} again ends job {}{rest}", job.job.id.0);
        paint::spans(&[span(text, StyleRole::Warning)], styles, area, buffer);
        return;
    }
    let Some((_, job)) = page.chosen() else { return };
    let right = follow_state(page, job, shown, keys);
    let room = area.width.saturating_sub(spans_width(&right) + 2);
    let what = if job.has_terminal { "Terminal" } else { "Output" };
    let number = span(format!("{what} of job {}", job.job.id.0), StyleRole::Strong);
    let command = span(format!("  {}", harmless(&job.job.command)), StyleRole::Muted);
    let left = list_rows::fit(vec![number, command], room);
    paint::both_edges(&left, &right, styles, area, buffer);
}

/// Whether the end is followed, or how much lies below.
fn follow_state(
    page: &JobsPage,
    job: &JobReport,
    shown: &PageGeometry,
    keys: &Keymap,
) -> Vec<StyledSpan> {
    let is_running = job.end.is_none();
    if page.output.follow == PagerFollow::Tail {
        let word = if is_running { "following" } else { "" };
        return vec![span(word, StyleRole::Muted)];
    }
    let mut spans = Vec::new();
    if shown.end == PageEnd::Below {
        let last = shown.rows.last().map_or(0, |line| line + 1);
        let below = page.output.document.len().saturating_sub(last);
        spans.push(span(format!("{} below", pluralise(below as u64, "line")), StyleRole::System));
    }
    if is_running {
        let comma = if spans.is_empty() { "" } else { ", " };
        let key = keys.key(JobsKey::Scroll(ScrollAction::Bottom));
        spans.push(span(format!("{comma}press {key} to follow"), StyleRole::Muted));
    }
    spans
}

/// Draws the visible rows of the output, and returns which they are.
fn draw_output(
    page: &JobsPage,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> PageGeometry {
    let document = &page.output.document;
    let notes = match (&page.output.lost, page.chosen()) {
        (Some(reason), _) => plain::render(reason, StyleRole::Error, area.width),
        (None, Some((_, job))) if document.is_empty() => {
            let text = match (job.printed, job.end) {
                (0, None) => "No output yet.",
                (0, Some(_)) => "No output.",
                (_, _) => "One moment …",
            };
            plain::render(text, StyleRole::Muted, area.width)
        }
        (None, _) => Vec::new(),
    };
    let beneath = u16::try_from(notes.len()).unwrap_or(0).min(area.height);
    let body = Rect { height: area.height - beneath, ..area };
    let mut lay = |line: usize| layouts.pager_line(document, line, body.width, PagerWrap::On);
    let height = usize::from(body.height);
    let (top, end, shown) =
        page_rows::visible(page.output.position, height, document.len(), &mut lay);
    for (y, (_, line)) in (body.y..body.y + body.height).zip(&shown) {
        paint::filled_line(line, styles, Rect { y, height: 1, ..body }, buffer);
    }
    // Behind the last line, which may be far from the end of the screen.
    let y = body.y + u16::try_from(shown.len()).unwrap_or(body.height).min(body.height);
    for (y, line) in (y..area.y + area.height).zip(&notes) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
    let rows = shown.into_iter().map(|(line, _)| line).collect();
    PageGeometry { area: body.into(), rows, top, end, list: None }
}
