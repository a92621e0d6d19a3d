//! The list of texts sent before. It shows the texts that contain every word of the filter, this
//! folder's first, with the selected text in full below. While it is open, it reads more of the
//! history file, page by page.

use super::effect::ScreenEffect;
use super::history::InputHistoryEntry;
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::picker::{Picker, PickerChoice, PickerItem, PickerList, PickerPreview, PickerSource};
use super::request::RequestId;
use crate::domain::NoticeLevel;
use crate::session::HistoryPage;

/// The most texts that are loaded; nobody looks further back.
const MOST: usize = 20_000;
/// The number of characters at the start of a text that the filter searches.
const SEARCHED: usize = 2_000;

/// Opens the list and reads the next page of the history file.
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let picker = Picker {
        list: PickerList::new(items(model)),
        beneath: PickerPreview::Whole,
        ..Picker::ready("Sent before", Vec::new())
    };
    model.overlays.push(Overlay::Picker(Box::new(picker)));
    more(model)
}

/// Adds a page of the history file, and requests the next one while the list is open.
pub fn on_history_read(
    model: &mut ScreenModel,
    id: RequestId,
    page: Result<HistoryPage, String>,
) -> Vec<ScreenEffect> {
    if model.shared.requests.history != Some(id) {
        return Vec::new();
    }
    model.shared.requests.history = None;
    match page {
        Ok(page) => model.conversation.composer.history.prepend(page, &model.shared.settings.cwd),
        Err(reason) => {
            model.conversation.composer.history.earlier = None;
            let text = format!("The history cannot be read: {reason}");
            model.shared.toast(NoticeLevel::Warning, text);
        }
    }
    let source = items(model);
    match list(model) {
        Some(list) => list.set_source(source),
        None => return Vec::new(),
    }
    more(model)
}

/// Requests the next older page, if there is one and the limit is not reached.
fn more(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let history = &model.conversation.composer.history;
    let Some(before) = history.earlier.filter(|_| history.entries().len() < MOST) else {
        return Vec::new();
    };
    let id = model.shared.requests.issue();
    model.shared.requests.history = Some(id);
    vec![ScreenEffect::ReadHistory { id, before }]
}

fn list(model: &mut ScreenModel) -> Option<&mut PickerList> {
    model.overlays.iter_mut().find_map(|overlay| match overlay {
        Overlay::Picker(picker) if picker.beneath == PickerPreview::Whole => Some(&mut picker.list),
        Overlay::Picker(_)
        | Overlay::Approval(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => None,
    })
}

fn items(model: &ScreenModel) -> PickerSource {
    let entries = model.conversation.composer.history.entries().iter().rev();
    PickerSource::Texts(entries.map(item).collect())
}

fn item(sent: &InputHistoryEntry) -> PickerItem {
    let text = &sent.typed.text;
    let beginning = text.char_indices().nth(SEARCHED).map_or(text.as_str(), |(at, _)| &text[..at]);
    let words: Vec<&str> = beginning.split_whitespace().collect();
    let folder = sent.other_folder.as_deref().unwrap_or_default();
    PickerItem {
        label: words.join(" "),
        detail: String::new(),
        aside: folder.rsplit('/').next().unwrap_or_default().to_owned(),
        choice: PickerChoice::Sent(sent.typed.clone()),
    }
}
