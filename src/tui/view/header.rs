//! Draws the first line: where slug is and what it works with, in the order that the user
//! configured. On a narrow screen the least important items go first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::config::StatusItem;
use crate::domain::{ContextWindow, format_tokens, pluralise};
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::status::{ConversationStatus, GitSummary, ModelHost};
use crate::tui::dialogs::reading::status_page;
use crate::tui::layout::ansi::{self, AnsiExcerpt};
use crate::tui::layout::{StyleRole, StyledSpan};

use super::activity;
use super::blocks::harmless;
use super::mode_label;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// An item of the line. Items with a smaller weight are dropped first.
struct HeaderItem {
    weight: u8,
    side: HeaderSide,
    spans: Vec<StyledSpan>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderSide {
    Left,
    Right,
}

/// Draws the first line.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let mut parts = parts(model, area.width);
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    while parts.len() > 1 && taken(&parts) > area.width {
        let least = parts.iter().enumerate().min_by_key(|(_, part)| part.weight);
        if let Some(least) = least.map(|(at, _)| at) {
            parts.remove(least);
        }
    }
    let side = |side| {
        let mut spans = Vec::new();
        for part in parts.iter().filter(|part| part.side == side) {
            if !spans.is_empty() {
                spans.push(span("  ", StyleRole::Text));
            }
            spans.extend(part.spans.iter().cloned());
        }
        spans
    };
    paint::both_edges(&side(HeaderSide::Left), &side(HeaderSide::Right), styles, area, buffer);
}

fn taken(parts: &[HeaderItem]) -> u16 {
    parts.iter().map(|part| spans_width(&part.spans) + 2).sum()
}

fn parts(model: &ScreenModel, width: u16) -> Vec<HeaderItem> {
    let items = &model.shared.settings.status_items;
    let left = items.left.iter().map(|item| (HeaderSide::Left, *item));
    let right = items.right.iter().map(|item| (HeaderSide::Right, *item));
    left.chain(right)
        .filter_map(|(side, item)| {
            let spans = shown(model, item, width)?;
            Some(HeaderItem { weight: weight(item), side, spans })
        })
        .collect()
}

fn weight(item: StatusItem) -> u8 {
    match item {
        StatusItem::Rate => 0,
        StatusItem::Time => 1,
        StatusItem::Session => 2,
        StatusItem::Cached => 3,
        StatusItem::Title => 4,
        StatusItem::Command => 5,
        StatusItem::Branch => 6,
        StatusItem::Slug => 7,
        StatusItem::Model => 8,
        StatusItem::Jobs => 9,
        StatusItem::Folder => 10,
        StatusItem::Cost => 11,
        StatusItem::Context => 12,
        StatusItem::Mode => 13,
    }
}

/// The text of an item; `None` if it is not known.
fn shown(model: &ScreenModel, item: StatusItem, width: u16) -> Option<Vec<StyledSpan>> {
    let status = &model.conversation.status;
    let one = |text: String, role| (!text.is_empty()).then(|| vec![span(text, role)]);
    let cut = |text: &str, columns| truncate(&harmless(text), columns);
    match item {
        StatusItem::Slug => one("slug".to_owned(), StyleRole::Title),
        StatusItem::Folder => one(cut(&status.project, 24), StyleRole::Text),
        StatusItem::Branch => status.git.as_ref().map(of_git),
        StatusItem::Title => one(cut(status.title.as_deref()?, width / 4), StyleRole::Muted),
        StatusItem::Session => {
            let id = status.session?.to_string();
            // Ids of the same minute differ only at their end.
            one(id.rsplit('-').next().unwrap_or(&id).to_owned(), StyleRole::Muted)
        }
        StatusItem::Time => one(open_for(model), StyleRole::Muted),
        StatusItem::Command => command_output(model.shared.status_line.text.as_deref()?, width / 3),
        StatusItem::Jobs => match status.jobs.len() {
            0 => None,
            count => one(pluralise(count as u64, "job"), StyleRole::Muted),
        },
        StatusItem::Rate => {
            let rate = status.rate.filter(|_| status.host == ModelHost::Local)?;
            one(format!("{rate:.0} tok/s"), StyleRole::Muted)
        }
        StatusItem::Model => {
            let mut spans = one(cut(&status.model, 28), StyleRole::Assistant)?;
            spans.extend(status.effort.map(|effort| span(format!(" {effort}"), StyleRole::Muted)));
            Some(spans)
        }
        StatusItem::Mode => Some(mode_label::spans(model)),
        StatusItem::Context => match status.loading {
            Some(loading) => {
                one(activity::loading_words(loading).to_lowercase(), StyleRole::Warning)
            }
            None => meter(status).map(|(text, role)| vec![span(text, role)]),
        },
        StatusItem::Cached => one(cached(status)?, StyleRole::Muted),
        StatusItem::Cost => one(status_page::cost(&status.spending.total())?, StyleRole::Text),
    }
}

/// In whole minutes, so that it rarely changes.
fn open_for(model: &ScreenModel) -> String {
    let minutes = model.shared.now.as_secs() / 60;
    match minutes / 60 {
        0 => format!("{minutes} min"),
        hours => format!("{hours} h {:02} min", minutes % 60),
    }
}

/// The output of the user's own command: its text and colours, and nothing else.
fn command_output(text: &str, columns: u16) -> Option<Vec<StyledSpan>> {
    let line = ansi::render(text, AnsiExcerpt::All, u16::MAX).into_iter().next()?;
    let mut left = columns;
    let mut spans = Vec::new();
    for piece in line.spans {
        let text = truncate(&piece.text, left);
        let wide = paint::width(&text);
        left -= wide.min(left);
        let is_cut = text.len() < piece.text.len();
        spans.push(StyledSpan::new(text, piece.role));
        if is_cut {
            break;
        }
    }
    (!spans.is_empty()).then_some(spans)
}

fn of_git(git: &GitSummary) -> Vec<StyledSpan> {
    let mut spans = vec![span(truncate(&harmless(&git.branch), 24), StyleRole::Text)];
    let counts = [
        ('+', git.added, StyleRole::Success),
        ('~', git.changed, StyleRole::Warning),
        ('-', git.removed, StyleRole::Error),
    ];
    for (sign, count, role) in counts.into_iter().filter(|(_, count, _)| *count > 0) {
        spans.push(span(format!(" {sign}{count}"), role));
    }
    spans
}

/// From how many percent on the meter warns: a compaction comes soon, and then at once.
const FILLED: [(u64, StyleRole); 2] = [(90, StyleRole::Error), (75, StyleRole::Warning)];

/// How full the context window is: by the provider's count, or by the agent's estimate, with a tilde.
fn meter(status: &ConversationStatus) -> Option<(String, StyleRole)> {
    let counted = status.usage.map(|usage| (usage.input + usage.output, ""));
    let used = counted.or_else(|| status.estimate.map(|estimate| (estimate, "~")));
    // An estimated window size is marked with a tilde.
    let (window, mark) = match status.window {
        Some(ContextWindow::Served(window) | ContextWindow::Known(window)) => (Some(window), ""),
        Some(ContextWindow::Assumed(window)) => (Some(window), "~"),
        None => (None, ""),
    };
    let plain = |text| Some((text, StyleRole::Text));
    match (used, window) {
        (Some((used, about)), Some(window)) if window > 0 => {
            let share = (used * 100 + window / 2) / window;
            let role = FILLED.iter().find(|(least, _)| share >= *least);
            let (used, window) = (format_tokens(used), format_tokens(window));
            let text = format!("{about}{used}/{mark}{window} {mark}{share}% full");
            Some((text, role.map_or(StyleRole::Text, |(_, role)| *role)))
        }
        (Some((used, about)), _) => plain(format!("{about}{}", format_tokens(used))),
        (None, Some(window)) => plain(format!("0/{mark}{}", format_tokens(window))),
        (None, None) => None,
    }
}

fn cached(status: &ConversationStatus) -> Option<String> {
    let usage = status.usage.filter(|usage| usage.cache_read > 0)?;
    Some(format!("{} from cache", format_tokens(usage.cache_read)))
}
