//! What keys and the mouse do in the pager.

use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::tui::app::editor::{Editor, Lines};
use crate::tui::app::effect::{Effect, RequestId};
use crate::tui::app::find::QueryKind;
use crate::tui::app::geometry::PageGeometry;
use crate::tui::app::keymap::{self, FindKey, PagerKey, Press};
use crate::tui::app::model::Model;
use crate::tui::app::overlay::Overlay;
use crate::tui::app::reach::{AtEnd, Reach};

use super::search::{Search, Way};
use super::{Follow, Numbers, Pager, Prompt, Source, Wrap};

/// Columns that a text that is not wrapped moves sideways.
const SIDEWAYS: usize = 8;

/// What a key in a pager does to the stack of overlays.
enum After {
    Stay(Vec<Effect>),
    Close,
    Tell(&'static str),
}

/// A key for the pager at this place in the stack.
pub fn key(model: &mut Model, at: usize, key: &Press<'_>) -> Vec<Effect> {
    let page = model.geometry.page.clone().unwrap_or_default();
    // Issued though not every key asks for something: numbers cost nothing.
    let id = model.requests.issue();
    let Some(Overlay::Pager(pager)) = model.overlays.get_mut(at) else { return Vec::new() };
    let after = match pager.prompt {
        Some(_) => After::Stay(typed(pager, key, id, &page).into_iter().collect()),
        None => match keymap::find(keymap::PAGER, key) {
            Some(key) => pressed(pager, key, &page),
            None => After::Stay(Vec::new()),
        },
    };
    match after {
        After::Stay(effects) => effects,
        After::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
        After::Tell(text) => {
            model.toast(NoticeLevel::Info, text);
            Vec::new()
        }
    }
}

fn pressed(pager: &mut Pager, key: PagerKey, page: &PageGeometry) -> After {
    let document = Arc::clone(&pager.document);
    match key {
        PagerKey::Scroll(how) => pager.scroll(how, page),
        PagerKey::Left => sideways(pager, |left| left.saturating_sub(SIDEWAYS)),
        PagerKey::Right => sideways(pager, |left| left.saturating_add(SIDEWAYS)),
        PagerKey::Wrap => {
            pager.wrap = match pager.wrap {
                Wrap::On => Wrap::Off(0),
                Wrap::Off(_) => Wrap::On,
            };
        }
        PagerKey::Numbers => {
            pager.numbers = match pager.numbers {
                Numbers::Shown => Numbers::Hidden,
                Numbers::Hidden => Numbers::Shown,
            };
        }
        PagerKey::Follow => match &mut pager.source {
            Source::Running(_, follow) => {
                *follow = Follow::Tail;
                pager.reach = Reach::END;
            }
            Source::Whole | Source::Branches { .. } => {
                pager.reach = Reach::END;
                return After::Tell("Nothing runs: this is all there is");
            }
        },
        PagerKey::Search => {
            pager.prompt = Some(Prompt {
                editor: Editor::new(Lines::One),
                kind: pager.search.as_ref().map_or(QueryKind::Plain, |it| it.query.kind()),
                error: None,
                before: Reach { top: page.top, delta: 0 },
            });
        }
        PagerKey::Next => pager.step(Way::Next, page),
        PagerKey::Previous => pager.step(Way::Previous, page),
        PagerKey::Mark => {
            let first = page.rows.first().copied().unwrap_or(0);
            let found = pager.search.as_ref().and_then(Search::here).map(|(line, _)| line);
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
            return After::Stay(vec![Effect::CopyLines { document, lines, what }]);
        }
        PagerKey::OpenPager => return After::Stay(vec![Effect::OpenPager(document)]),
        PagerKey::Back if pager.marked.take().is_some() => {}
        PagerKey::Back => return After::Close,
    }
    After::Stay(Vec::new())
}

fn sideways(pager: &mut Pager, to: impl Fn(usize) -> usize) {
    if let Wrap::Off(left) = &mut pager.wrap {
        *left = to(*left).min(crate::tui::layout::ansi::MAX_COLUMNS);
    }
}

fn typed(pager: &mut Pager, key: &Press<'_>, id: RequestId, page: &PageGeometry) -> Option<Effect> {
    let prompt = pager.prompt.as_mut()?;
    match keymap::find(keymap::FIND, key) {
        Some(FindKey::Accept) => pager.prompt = None,
        Some(FindKey::Back) => {
            pager.reach = prompt.before;
            (pager.prompt, pager.search) = (None, None);
        }
        Some(FindKey::Regex) => {
            prompt.kind = match prompt.kind {
                QueryKind::Plain => QueryKind::Regex,
                QueryKind::Regex => QueryKind::Plain,
            };
            return pager.look(id, page);
        }
        Some(FindKey::Next) => pager.step(Way::Next, page),
        Some(FindKey::Previous) => pager.step(Way::Previous, page),
        None => {
            prompt.editor.key(key);
            return pager.look(id, page);
        }
    }
    None
}

/// Text in one piece, for the field.
pub fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    let page = model.geometry.page.clone().unwrap_or_default();
    let id = model.requests.issue();
    let Some(Overlay::Pager(pager)) = model.overlays.last_mut() else { return Vec::new() };
    if let Some(prompt) = &mut pager.prompt {
        prompt.editor.paste(text);
    }
    pager.look(id, &page).into_iter().collect()
}

/// Marks lines with the mouse, from where the button went down.
pub fn drag(model: &mut Model, column: u16, row: u16, from: Drag) {
    let page = model.geometry.page.clone().unwrap_or_default();
    let Some(Overlay::Pager(pager)) = model.overlays.last_mut() else { return };
    let row = row.clamp(page.area.y, (page.area.y + page.area.height).saturating_sub(1));
    let column = column.clamp(page.area.x, (page.area.x + page.area.width).saturating_sub(1));
    let inside = page.area.inside(column, row);
    let Some(line) = inside.and_then(|(_, row)| page.rows.get(usize::from(row)).copied()) else {
        return;
    };
    match (from, &mut pager.marked) {
        (Drag::Down, marked) => {
            *marked = None;
            pager.pressed = Some(line);
        }
        (Drag::Moved, Some((_, to))) => *to = line,
        (Drag::Moved, marked @ None) => *marked = pager.pressed.map(|from| (from, line)),
    }
    pager.hold_at(page.top);
}

/// The button is let go: what was marked with it is copied.
pub fn let_go(pager: &mut Pager) -> Vec<Effect> {
    let document = Arc::clone(&pager.document);
    let Some(lines) = pager.marked_lines() else { return Vec::new() };
    pager.marked = None;
    vec![Effect::CopyLines { document, lines, what: "the lines" }]
}

/// What the mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drag {
    /// The button went down.
    Down,
    /// It is held and moves.
    Moved,
}

/// The wheel over a pager.
pub fn wheel(pager: &mut Pager, rows: i32, page: Option<&PageGeometry>) {
    if let Some(page) = page.filter(|_| rows < 0) {
        pager.hold_at(page.top);
    }
    let at_end = page.is_some_and(|page| page.end == AtEnd::Yes);
    if rows < 0 || !at_end {
        pager.reach.by(isize::try_from(rows).unwrap_or(0));
    }
}
