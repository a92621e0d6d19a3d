//! The keys and the mouse of the pager.

use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::geometry::PageGeometry;
use crate::tui::app::keymap::{self, FindKey, KeyPress, PagerKey};
use crate::tui::app::model::ScreenModel;
use crate::tui::app::overlay::Overlay;
use crate::tui::app::page_position::{PageEnd, PagePosition};
use crate::tui::app::request::RequestId;
use crate::tui::app::text_query::TextQueryKind;

use super::search::{PagerSearch, PagerSearchDirection};
use super::{Pager, PagerFollow, PagerLineNumbers, PagerPrompt, PagerSource, PagerWrap};

/// Columns that an unwrapped text moves sideways for one key.
const SIDEWAYS: usize = 8;

/// What to do after a key in a pager: keep it open and run effects, close it, or show a notice.
enum PagerOutcome {
    Stay(Vec<ScreenEffect>),
    Close,
    Tell(&'static str),
}

/// Handles a key for the pager at index `at` of the overlays.
pub fn key(model: &mut ScreenModel, at: usize, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    let page = model.shared.geometry.page.clone().unwrap_or_default();
    // Not every key needs a request, but an unused id costs nothing.
    let id = model.shared.requests.issue();
    let Some(Overlay::Pager(pager)) = model.overlays.get_mut(at) else { return Vec::new() };
    let outcome = match pager.prompt {
        Some(_) => PagerOutcome::Stay(typed(pager, key, id, &page).into_iter().collect()),
        None => match keymap::find(keymap::PAGER, key) {
            Some(key) => pressed(pager, key, &page),
            None => PagerOutcome::Stay(Vec::new()),
        },
    };
    match outcome {
        PagerOutcome::Stay(effects) => effects,
        PagerOutcome::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
        PagerOutcome::Tell(text) => {
            model.shared.toast(NoticeLevel::Info, text);
            Vec::new()
        }
    }
}

fn pressed(pager: &mut Pager, key: PagerKey, page: &PageGeometry) -> PagerOutcome {
    let document = Arc::clone(&pager.document);
    match key {
        PagerKey::Scroll(how) => pager.scroll(how, page),
        PagerKey::Left => sideways(pager, |left| left.saturating_sub(SIDEWAYS)),
        PagerKey::Right => sideways(pager, |left| left.saturating_add(SIDEWAYS)),
        PagerKey::Wrap => {
            pager.wrap = match pager.wrap {
                PagerWrap::On => PagerWrap::Off(0),
                PagerWrap::Off(_) => PagerWrap::On,
            };
        }
        PagerKey::Numbers => {
            pager.numbers = match pager.numbers {
                PagerLineNumbers::Shown => PagerLineNumbers::Hidden,
                PagerLineNumbers::Hidden => PagerLineNumbers::Shown,
            };
        }
        PagerKey::Follow => match &mut pager.source {
            PagerSource::Running(_, follow) => {
                *follow = PagerFollow::Tail;
                pager.position = PagePosition::END;
            }
            PagerSource::Whole | PagerSource::Branches { .. } => {
                pager.position = PagePosition::END;
                return PagerOutcome::Tell("Nothing runs: this is all there is");
            }
        },
        PagerKey::Search => {
            pager.prompt = Some(PagerPrompt {
                editor: TextEditor::new(EditorLines::One),
                kind: pager.search.as_ref().map_or(TextQueryKind::Plain, |it| it.query.kind()),
                error: None,
                before: PagePosition { top: page.top, delta: 0 },
            });
        }
        PagerKey::Next => pager.step(PagerSearchDirection::Next, page),
        PagerKey::Previous => pager.step(PagerSearchDirection::Previous, page),
        PagerKey::Mark => {
            let first = page.rows.first().copied().unwrap_or(0);
            let found =
                pager.search.as_ref().and_then(PagerSearch::current_place).map(|(line, _)| line);
            let from = found.filter(|line| page.rows.contains(line)).unwrap_or(first);
            pager.marked = match pager.marked {
                None => Some((from, from)),
                Some(_) => None,
            };
            pager.hold_at(page.top);
        }
        PagerKey::Copy => {
            let (lines, what) = match pager.marked_lines() {
                Some(lines) => (lines, "the lines"),
                None => (0..document.len(), "all of it"),
            };
            pager.marked = None;
            return PagerOutcome::Stay(vec![ScreenEffect::CopyLines { document, lines, what }]);
        }
        PagerKey::OpenPager => return PagerOutcome::Stay(vec![ScreenEffect::OpenPager(document)]),
        PagerKey::Back if pager.marked.take().is_some() => {}
        PagerKey::Back => return PagerOutcome::Close,
    }
    PagerOutcome::Stay(Vec::new())
}

fn sideways(pager: &mut Pager, to: impl Fn(usize) -> usize) {
    if let PagerWrap::Off(left) = &mut pager.wrap {
        *left = to(*left).min(crate::tui::layout::ansi::MAX_COLUMNS);
    }
}

fn typed(
    pager: &mut Pager,
    key: &KeyPress<'_>,
    id: RequestId,
    page: &PageGeometry,
) -> Option<ScreenEffect> {
    let prompt = pager.prompt.as_mut()?;
    match keymap::find(keymap::FIND, key) {
        Some(FindKey::Accept) => pager.prompt = None,
        Some(FindKey::Back) => {
            pager.position = prompt.before;
            (pager.prompt, pager.search) = (None, None);
        }
        Some(FindKey::Regex) => {
            prompt.kind = match prompt.kind {
                TextQueryKind::Plain => TextQueryKind::Regex,
                TextQueryKind::Regex => TextQueryKind::Plain,
            };
            return pager.look(id, page);
        }
        Some(FindKey::Next) => pager.step(PagerSearchDirection::Next, page),
        Some(FindKey::Previous) => pager.step(PagerSearchDirection::Previous, page),
        None => {
            prompt.editor.key(key);
            return pager.look(id, page);
        }
    }
    None
}

/// Pastes text into the search field, if it is open.
pub fn paste(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    let page = model.shared.geometry.page.clone().unwrap_or_default();
    let id = model.shared.requests.issue();
    let Some(Overlay::Pager(pager)) = model.overlays.last_mut() else { return Vec::new() };
    if let Some(prompt) = &mut pager.prompt {
        prompt.editor.paste(text);
    }
    pager.look(id, &page).into_iter().collect()
}

/// Marks lines with the mouse, from where the button went down.
pub fn drag(model: &mut ScreenModel, column: u16, row: u16, from: PagerDrag) {
    let page = model.shared.geometry.page.clone().unwrap_or_default();
    let Some(Overlay::Pager(pager)) = model.overlays.last_mut() else { return };
    let row = row.clamp(page.area.y, (page.area.y + page.area.height).saturating_sub(1));
    let column = column.clamp(page.area.x, (page.area.x + page.area.width).saturating_sub(1));
    let inside = page.area.inside(column, row);
    let Some(line) = inside.and_then(|(_, row)| page.rows.get(usize::from(row)).copied()) else {
        return;
    };
    match (from, &mut pager.marked) {
        (PagerDrag::Down, marked) => {
            *marked = None;
            pager.pressed = Some(line);
        }
        (PagerDrag::Moved, Some((_, to))) => *to = line,
        (PagerDrag::Moved, marked @ None) => *marked = pager.pressed.map(|from| (from, line)),
    }
    pager.hold_at(page.top);
}

/// The mouse button is released: copies the lines that were marked with it.
pub fn on_button_up(pager: &mut Pager) -> Vec<ScreenEffect> {
    let document = Arc::clone(&pager.document);
    let Some(lines) = pager.marked_lines() else { return Vec::new() };
    pager.marked = None;
    vec![ScreenEffect::CopyLines { document, lines, what: "the lines" }]
}

/// The part of a drag that an event stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerDrag {
    /// The button went down.
    Down,
    /// The mouse moved with the button held.
    Moved,
}

/// Scrolls with the wheel; negative is up. Upwards ends following.
pub fn wheel(pager: &mut Pager, rows: i32, page: Option<&PageGeometry>) {
    if let Some(page) = page.filter(|_| rows < 0) {
        pager.hold_at(page.top);
    }
    let at_end = page.is_some_and(|page| page.end == PageEnd::Visible);
    if rows < 0 || !at_end {
        pager.position.by(isize::try_from(rows).unwrap_or(0));
    }
}
