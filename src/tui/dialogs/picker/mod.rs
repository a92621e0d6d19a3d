//! A list over the chat, with a filter: the palette, models, modes, themes, the history, hooks.

pub mod history;
mod linear_page;
pub mod view;

use ratatui::layout::Position;

use crate::config::ThemeChoice;
use crate::tui::app::choice::{PickerChoice, SettingChoice};
use crate::tui::app::dialog_reply::{DialogReply, ListRows};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{
    self, KeyContext, KeyPlace, KeyPress, Keymap, ListKey, ModelListKey,
};
use crate::tui::app::picker_list::{PickerItem, PickerList, PickerPreview, PickerSource};
use crate::tui::app::request_id::RequestId;
use crate::tui::dialogs::linear_page::LinearPage;

use super::dialog::{Dialog, DialogCanvas, DialogContext, DialogView};
use super::line::{ExpectedLine, LineAnswerError};

/// A list over the chat, with its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    pub title: &'static str,
    pub filter: TextEditor,
    pub list: PickerList,
    pub state: PickerLoading,
    pub room: PickerPlacement,
    pub beneath: PickerPreview,
    /// Delays choosing in a list whose rows run or change something; `None` for other lists.
    pub guard: Option<QuestionGuard>,
    /// The request for more rows behind those that are there.
    pub more: Option<RequestId>,
}

/// Where a list opens over the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerPlacement {
    Middle,
    /// At the right edge, so that a part of the chat stays in sight.
    Side,
}

/// Whether the rows have been loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerLoading {
    /// The request for the rows has no answer yet.
    Waiting(RequestId),
    Ready,
    /// The rows could not be loaded, with the reason.
    Failed(String),
}

impl Picker {
    /// A list whose rows are loaded.
    pub fn ready(title: &'static str, items: Vec<PickerItem>) -> Self {
        let list = PickerList::new(PickerSource::Items(items));
        Self {
            title,
            filter: TextEditor::new(EditorLines::One),
            list,
            state: PickerLoading::Ready,
            room: PickerPlacement::Middle,
            beneath: PickerPreview::Nothing,
            guard: None,
            more: None,
        }
    }

    /// A list whose rows were requested with this id.
    pub fn waiting(title: &'static str, id: RequestId) -> Self {
        Self { state: PickerLoading::Waiting(id), ..Self::ready(title, Vec::new()) }
    }

    /// Takes over what the request for the rows came to. The row in use is selected; if a filter was
    /// typed meanwhile, its best match is.
    fn fill(&mut self, rows: &ListRows) -> Vec<Intent> {
        match rows {
            ListRows::Loaded { items, now, beneath } => {
                self.list.set_source(PickerSource::Items(items.clone()));
                if self.list.query().is_empty() {
                    self.list.select(*now);
                }
                self.beneath = *beneath;
                self.state = PickerLoading::Ready;
                Vec::new()
            }
            ListRows::Failed(reason) => {
                self.state = PickerLoading::Failed(reason.clone());
                Vec::new()
            }
            ListRows::Closed(level, text) => {
                vec![Intent::Close, Intent::Toast(*level, text.clone())]
            }
            ListRows::Report { title, text } => {
                let (title, text) = (title.clone(), text.clone());
                vec![Intent::Close, Intent::OpenText { title, text }]
            }
        }
    }

    /// Whether the selected row is a model.
    fn is_on_model(&self) -> bool {
        matches!(self.list.chosen(), Some(PickerChoice::Model(_)))
    }

    /// Whether the selected row is one of all settings, and not a value for one.
    fn is_on_setting(&self) -> bool {
        let chosen = self.list.chosen();
        matches!(
            chosen,
            Some(PickerChoice::Setting(SettingChoice::Open(_) | SettingChoice::Undo(_)))
        )
    }

    /// Handles a key; what is no key of the list is typed into the filter. `page` is the number of
    /// visible rows.
    fn handle_key(&mut self, key: &KeyPress<'_>, page: usize) -> Vec<Intent> {
        if let Some(PickerChoice::Model(name)) = self.list.chosen()
            && keymap::find(keymap::MODELS, key) == Some(ModelListKey::Mark)
        {
            return vec![Intent::MarkModel(name.clone())];
        }
        let page = isize::try_from(page.max(1)).unwrap_or(1);
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.list.step(-1),
            Some(ListKey::Next) => self.list.step(1),
            Some(ListKey::PageUp) => self.list.step(-page),
            Some(ListKey::PageDown) => self.list.step(page),
            Some(ListKey::Accept) => return self.choose(),
            Some(ListKey::Back) => return vec![Intent::Close],
            None => self.filter.key(key),
        }
        self.list.set_query(&self.filter.text());
        Vec::new()
    }

    /// Chooses the selected row, unless the guard still delays it.
    pub fn choose(&self) -> Vec<Intent> {
        if self.guard.is_some_and(|guard| !guard.is_armed()) {
            return Vec::new();
        }
        let Some(choice) = self.list.choice() else { return Vec::new() };
        let close = (!choice.keeps_list()).then_some(Intent::Close);
        close.into_iter().chain([Intent::Choose(choice)]).collect()
    }
}

impl Dialog for Picker {
    fn place(&self) -> KeyPlace {
        if self.is_on_model() { KeyPlace::Models } else { KeyPlace::List }
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.handle_key(key, around.measured.list_rows())
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, measured, .. } = canvas;
        view::draw(self, styles, area, buffer, measured)
    }

    /// The keys of every list come first.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let marks = keys.hints(KeyContext::Models).filter(|_| self.is_on_model());
        keys.hints(KeyContext::List).chain(marks).collect()
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        self.filter.paste(text);
        self.list.set_query(&self.filter.text());
        Some(Vec::new())
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self)
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.list.step(rows.signum() as isize);
    }

    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let list = around.measured.list;
        let Some((_, row)) = list.and_then(|list| list.inside(column, row)) else {
            return Vec::new();
        };
        let first = (self.list.selected() + 1).saturating_sub(around.measured.list_rows());
        self.list.select(first + usize::from(row));
        self.choose()
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::Rows { id, rows } if self.is_waiting_for(*id) => return self.fill(rows),
            DialogReply::MoreRows { id, source, next } if self.is_waiting_for(*id) => {
                self.list.set_source(source.clone());
                self.more = *next;
            }
            DialogReply::Settings { id, answer } if self.is_waiting_for(*id) => {
                let beneath = PickerPreview::Lines;
                return self.fill(&match answer {
                    Ok(items) => ListRows::Loaded { items: items.clone(), now: 0, beneath },
                    Err(reason) => ListRows::Failed(reason.clone()),
                });
            }
            DialogReply::Settings { answer: Ok(items), .. } if self.is_on_setting() => {
                self.list.replace(items.clone());
            }
            DialogReply::ModelRows(items) if self.is_on_model() => self.list.replace(items.clone()),
            _ => {}
        }
        Vec::new()
    }

    fn is_waiting_for(&self, id: RequestId) -> bool {
        self.state == PickerLoading::Waiting(id) || self.more == Some(id)
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        self.guard.as_mut()
    }

    fn guard(&self) -> Option<QuestionGuard> {
        self.guard
    }

    fn theme_preview(&self) -> Option<&ThemeChoice> {
        self.list.chosen().and_then(PickerChoice::theme)
    }

    fn expected_line(&self) -> ExpectedLine {
        match self.state {
            PickerLoading::Ready => ExpectedLine::Row,
            PickerLoading::Waiting(_) => ExpectedLine::Nothing,
            PickerLoading::Failed(_) => ExpectedLine::Message,
        }
    }

    fn is_over_once_printed(&self) -> bool {
        matches!(self.state, PickerLoading::Failed(_))
    }

    /// Chooses the row that a line names, by number from 1 or by label. An empty line closes the list.
    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let text = line.trim();
        if text.is_empty() {
            return Ok(vec![Intent::Close]);
        }
        let number: Option<usize> = text.parse().ok();
        let by_number = number.and_then(|number| number.checked_sub(1));
        let by_name = || {
            let label = |at: &usize| self.list.row(*at).is_some_and(|(label, ..)| label == text);
            (0..self.list.len()).find(label)
        };
        let at = by_number.filter(|at| *at < self.list.len()).or_else(by_name);
        self.list.select(at.ok_or(LineAnswerError::NoRow)?);
        // A list that stayed open would be read out again.
        Ok(match self.choose() {
            intents if intents.contains(&Intent::Close) || intents.is_empty() => intents,
            intents => [Intent::Close].into_iter().chain(intents).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_an_older_request_is_stale() {
        let picker = Picker::waiting("Models", RequestId(2));
        assert!(!picker.is_waiting_for(RequestId(1)) && picker.is_waiting_for(RequestId(2)));
        let mut filled = picker;
        let failed = ListRows::Failed("no".into());
        assert_eq!(filled.fill(&failed), []);
        assert_eq!(filled.state, PickerLoading::Failed("no".into()));
        let loaded =
            ListRows::Loaded { items: Vec::new(), now: 0, beneath: PickerPreview::Nothing };
        filled.fill(&loaded);
        assert_eq!(filled.state, PickerLoading::Ready);
    }
}
