//! The keys and the mouse of the pager.

use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap;
use crate::tui::app::keymap::{FindKey, KeyPress, PagerKey};
use crate::tui::app::page_position::{PageEnd, PagePosition};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::text_query::TextQueryKind;
use crate::tui::dialogs::dialog::DialogContext;
use crate::tui::dialogs::geometry::PageGeometry;

use crate::tui::dialogs::pager::search::{PagerSearch, PagerSearchDirection};
use crate::tui::dialogs::pager::{Pager, PagerFollow, PagerLineNumbers, PagerPrompt, PagerSource};
use crate::tui::layout::pager_lines::PagerWrap;

/// Columns that an unwrapped text moves sideways for one key.
const SIDEWAYS: usize = 8;

/// Handles a key.
pub fn key(pager: &mut Pager, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
    let page = &around.measured.page;
    match pager.prompt {
        Some(_) => {
            // Not every key needs a request, but an unused id costs nothing.
            let id = around.shared.requests.issue();
            typed(pager, key, id, page).map(Intent::Effect).into_iter().collect()
        }
        None => match keymap::find(keymap::PAGER, key) {
            Some(key) => pressed(pager, key, page),
            None => Vec::new(),
        },
    }
}

fn pressed(pager: &mut Pager, key: PagerKey, page: &PageGeometry) -> Vec<Intent> {
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
                let text = "The command has ended: no more output to follow";
                return vec![Intent::Toast(NoticeLevel::Info, text.to_owned())];
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
            return vec![Intent::Effect(ScreenEffect::CopyLines { document, lines, what })];
        }
        PagerKey::OpenPager => return vec![Intent::Effect(ScreenEffect::OpenPager(document))],
        PagerKey::Back if pager.marked.take().is_some() => {}
        PagerKey::Back => return vec![Intent::Close],
    }
    Vec::new()
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

/// Marks lines with the mouse, from where the button went down.
pub fn drag(pager: &mut Pager, (column, row): (u16, u16), from: PagerDrag, page: &PageGeometry) {
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
pub fn button_up(pager: &mut Pager) -> Vec<Intent> {
    let document = Arc::clone(&pager.document);
    let Some(lines) = pager.marked_lines() else { return Vec::new() };
    pager.marked = None;
    vec![Intent::Effect(ScreenEffect::CopyLines { document, lines, what: "the lines" })]
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
pub fn wheel(pager: &mut Pager, rows: i32, page: &PageGeometry) {
    if rows < 0 {
        pager.hold_at(page.top);
    }
    if rows < 0 || page.end != PageEnd::Visible {
        pager.position.by(isize::try_from(rows).unwrap_or(0));
    }
}
