//! The sheet of keys: about 25 in three columns, those of the place it is opened from first. Its
//! rows and words are in the tables of the keymap. The same key again lists all keys, with a filter.

mod linear_page;
mod view;

use ratatui::layout::Position;

use crate::tui::app::choice::PickerChoice;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{
    self, EmptyInputKey, KeyContext, KeyPlace, KeyPress, KeySheetColumn, Keymap, KeymapRow,
    ReadingKey,
};
use crate::tui::app::picker_list::PickerItem;
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::dialogs::picker::Picker;

use super::dialog::{Dialog, DialogCanvas, DialogContext, DialogView};
use super::geometry::wheel_scrolled;
use super::reading::page_key;

/// Rows of a column. What the place has itself comes first, so the others are left out.
const MOST_ROWS: usize = 11;

/// What is done with the mouse, or typed, and so is in no table of keys.
const OTHERS: [(&str, &str, &str); 7] = [
    ("\\ enter", "new line, in every terminal", "Input"),
    ("wheel", "scroll", "Mouse"),
    ("click", "fold a pane, place the cursor, choose a row or an answer", "Mouse"),
    ("drag", "select and copy; drag past the edge to scroll", "Mouse"),
    ("double, triple click", "select a word, a line", "Mouse"),
    ("shift+click", "extend the selection", "Mouse"),
    ("shift+drag", "select with the terminal, in most terminals", "Mouse"),
];

/// What `?` shows, scrolled where the screen is too low for it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeySheet {
    /// The place whose keys come first.
    opened_from: KeyPlace,
    /// Rows above the visible part.
    scroll: usize,
}

impl KeySheet {
    /// The sheet for a place.
    pub fn new(opened_from: KeyPlace) -> Self {
        Self { opened_from, scroll: 0 }
    }

    /// The rows of a column, each with its key: those of the place, then those of the input. Keys that
    /// the terminal cannot send have no row.
    fn rows(&self, shared: &SharedState, column: KeySheetColumn) -> Vec<(String, &'static str)> {
        let contexts = self.opened_from.listed().filter(|it| *it != KeyContext::Always);
        let mut seen: Vec<KeyContext> = Vec::new();
        for context in contexts.chain(KeyPlace::EmptyInput.listed()) {
            if !seen.contains(&context) {
                seen.push(context);
            }
        }
        let mut rows: Vec<(String, &'static str)> = Vec::new();
        for row in seen.into_iter().flat_map(|context| shared.settings.keys.rows(context)) {
            let Some((_, words)) = row.sheet.filter(|(of, _)| *of == column) else { continue };
            let Some(key) = row.sent().first().filter(|_| shared.can_do(row)) else { continue };
            let key = key.to_string();
            // An earlier context takes the key, or does the same by a key of its own.
            if !rows.iter().any(|(other, said)| *other == key || *said == words) {
                rows.push((key, words));
            }
        }
        rows.truncate(MOST_ROWS);
        rows
    }
}

/// The list of all keys of all places, those of `place` first.
pub fn all_keys(shared: &SharedState, place: KeyPlace) -> Picker {
    let here = place.listed();
    let elsewhere = KeyContext::ALL.into_iter().filter(|it| !place.contexts().contains(it));
    let rows = here.chain(elsewhere).flat_map(|context| shared.settings.keys.rows(context));
    let keys = rows.filter(|row| shared.can_do(row)).map(item);
    let others = OTHERS.iter().map(|(does, help, place)| PickerItem {
        label: (*help).to_owned(),
        detail: (*place).to_owned(),
        aside: (*does).to_owned(),
        keywords: (*does).to_owned(),
        choice: PickerChoice::Nothing,
    });
    Picker::ready("All keys", keys.chain(others).collect())
}

/// The row of an action: it is found by what it does, where it works, its keys and its name.
fn item(row: &KeymapRow) -> PickerItem {
    let shown = row.shown();
    PickerItem {
        label: row.help.to_owned(),
        detail: row.id.context.title().to_owned(),
        keywords: format!("{shown} {}", row.full_name()),
        aside: if shown.is_empty() { "no key".to_owned() } else { shown },
        choice: PickerChoice::Key(row.id),
    }
}

impl Dialog for KeySheet {
    fn place(&self) -> KeyPlace {
        KeyPlace::Reading
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if keymap::is(EmptyInputKey::Help, key) {
            return vec![Intent::Close, Intent::OpenAllKeys];
        }
        page_key(&mut self.scroll, key, around.measured.extent)
    }

    fn draw(&self, around: DialogView<'_>, mut canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around.shared, &mut canvas);
        None
    }

    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let closes = (keys.key(ReadingKey::Back), "close");
        vec![(keys.key(EmptyInputKey::Help), "all keys"), closes]
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(&around.shared.settings.commands))
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }
}
