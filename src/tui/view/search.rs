//! Draws the line in which the user types a search, and computes which cells of a row match.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::search::{
    TranscriptSearch, TranscriptSearchStage, TranscriptSearchStatus, is_shown,
};
use crate::tui::app::conversation::source::BlockPart;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::{ConversationGeometry, VisibleRow};
use crate::tui::app::keymap::{KeyContext, Keymap, PaneKey, SearchKey};
use crate::tui::app::text_query::TextQueryKind;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// Columns that the query gets, even on a narrow screen.
const QUERY: u16 = 12;

/// Draws the search in the last line, if it belongs there: the query, the result, the keys. Returns
/// the caret's cell while the user types.
pub fn draw(
    model: &ScreenModel,
    geometry: &ConversationGeometry,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Option<Position>> {
    let search = model.conversation.search.as_deref().filter(|_| model.dialogs.is_empty())?;
    let standing = search.stage == TranscriptSearchStage::Navigating;
    if standing && !matches!(model.conversation.focus, KeyboardFocus::Pane(_)) {
        return None;
    }
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let (mut found, role) = found(&search.found(&model.conversation.transcript));
    if let Some(hit) = search.current().filter(|hit| !is_shown(geometry, *hit)) {
        found.push_str(", not on screen");
        if hit.part == BlockPart::Body {
            let keys = &model.shared.settings.keys;
            let key = match search.stage {
                TranscriptSearchStage::Typing => keys.key(SearchKey::Stay),
                TranscriptSearchStage::Navigating => keys.key(PaneKey::Toggle),
            };
            found.push_str(&format!(": {key} opens it"));
        }
    }
    let query = harmless(&search.field.text());
    let mut left = vec![span("/ ", StyleRole::User)];
    let found_width = paint::width(&found) + 3;
    let room = area.width.saturating_sub(found_width + 2).max(QUERY);
    // A long query shows its end, where the user types.
    let shown = end_of(&query, room);
    left.push(span(shown.clone(), StyleRole::Text));
    left.push(span("   ", StyleRole::Text));
    left.push(span(found, role));
    let mut right = hints(search, &model.shared.settings.keys);
    while !right.is_empty() && spans_width(&left) + spans_width(&pairs(&right)) + 3 > area.width {
        right.remove(0);
    }
    paint::both_edges(&left, &pairs(&right), styles, area, buffer);
    if standing {
        return Some(None);
    }
    let typed = search.field.text();
    let before = typed.get(..search.field.caret()).map(harmless).unwrap_or_default();
    let hidden = paint::width(&query).saturating_sub(paint::width(&shown));
    let column = paint::width(&before).saturating_sub(hidden);
    Some(Some(Position { x: area.x + 2 + column.min(area.width.saturating_sub(3)), y: area.y }))
}

/// The matching columns of a row, and their roles: the current match differs from the others.
pub fn marks(
    model: &ScreenModel,
    row: &VisibleRow,
    styles: &dyn RoleStyles,
) -> Vec<(Range<u16>, Style)> {
    let (Some(search), Some(first), Some(last)) =
        (&model.conversation.search, row.runs.first(), row.runs.last())
    else {
        return Vec::new();
    };
    let others = styles.style(StyleRole::Match);
    let current = styles.style(StyleRole::CurrentMatch);
    let lowest = row.runs.iter().map(|run| run.source).min().unwrap_or(first.source);
    let highest = row.runs.iter().map(|run| run.range().end).max().unwrap_or(last.range().end);
    let hits = search.hits_in(row.block, row.kind.part(), lowest..highest);
    let marks = hits.flat_map(|hit| {
        let style = if search.current() == Some(hit) { current } else { others };
        let columns = row.columns(&(hit.from..hit.to));
        columns.into_iter().map(move |(from, to)| (from..to, style))
    });
    marks.collect()
}

fn found(found: &TranscriptSearchStatus) -> (String, StyleRole) {
    match found {
        TranscriptSearchStatus::Idle => ("type to search".to_owned(), StyleRole::Muted),
        TranscriptSearchStatus::Wrong(why) => (harmless(why), StyleRole::Warning),
        TranscriptSearchStatus::SoFar(count) => (format!("{count} so far"), StyleRole::Muted),
        TranscriptSearchStatus::None => ("no match".to_owned(), StyleRole::Warning),
        TranscriptSearchStatus::One(at, count) => (format!("{at} of {count}"), StyleRole::System),
        TranscriptSearchStatus::TooMany => ("over 10,000 matches".to_owned(), StyleRole::System),
    }
}

type SearchHints = Vec<(String, &'static str)>;

/// Hints for the keys, the least important first.
fn hints(search: &TranscriptSearch, keys: &Keymap) -> SearchHints {
    match search.stage {
        TranscriptSearchStage::Navigating => keys.hints(KeyContext::Match).collect(),
        TranscriptSearchStage::Typing => {
            let regex = match search.kind {
                TextQueryKind::Plain => "regex",
                TextQueryKind::Regex => "regex on",
            };
            let others = [SearchKey::Previous, SearchKey::Next].map(|key| keys.key(key));
            let own = [(others.join(" "), "others"), (keys.key(SearchKey::Regex), regex)];
            own.into_iter().chain(keys.hints(KeyContext::Search)).collect()
        }
    }
}

fn pairs(hints: &SearchHints) -> Vec<StyledSpan> {
    hints
        .iter()
        .flat_map(|(key, word)| {
            [span(format!("  {key}"), StyleRole::Text), span(format!(" {word}"), StyleRole::Muted)]
        })
        .collect()
}

/// The end of a text that fits, after an ellipsis if its beginning was cut.
fn end_of(text: &str, columns: u16) -> String {
    if paint::width(text) <= columns {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    truncate(&backwards, columns).chars().rev().collect()
}
