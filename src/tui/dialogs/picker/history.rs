//! The list of texts sent before. It shows the texts that contain every word of the filter, this
//! folder's first, with the selected text in full below. While it is open, it reads more of the
//! history file, page by page.

use crate::domain::NoticeLevel;
use crate::session::HistoryPage;
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::history::InputHistoryEntry;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::picker_list::{PickerItem, PickerList, PickerPreview, PickerSource};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::dialog::DialogOpening;

use crate::tui::dialogs::picker::Picker;

/// The most texts that are loaded; nobody looks further back.
const MOST: usize = 20_000;
/// The number of characters at the start of a text that the filter searches.
const SEARCHED: usize = 2_000;

/// Opens the list and reads the next page of the history file.
pub fn open(conversation: &Conversation, shared: &mut SharedState) -> DialogOpening<Picker> {
    let next = more(conversation, shared);
    let picker = Picker {
        list: PickerList::new(items(conversation)),
        beneath: PickerPreview::Whole,
        more: shared.requests.history,
        ..Picker::ready("Prompt history", Vec::new())
    };
    DialogOpening::of(picker, next.into_iter().collect())
}

/// Adds a page of the history file. If a list waits for it, `is_shown`, its rows are returned, and the
/// effect that reads the next page.
pub fn on_history_read(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    page: Result<HistoryPage, String>,
    is_shown: bool,
) -> Option<(DialogReply, Option<ScreenEffect>)> {
    if shared.requests.history != Some(id) {
        return None;
    }
    shared.requests.history = None;
    match page {
        Ok(page) => conversation.composer.history.prepend(page, &shared.settings.cwd),
        Err(reason) => {
            conversation.composer.history.earlier = None;
            let text = format!("Cannot read the history: {reason}");
            shared.toast(NoticeLevel::Warning, text);
        }
    }
    if !is_shown {
        return None;
    }
    let source = items(conversation);
    let effect = more(conversation, shared);
    Some((DialogReply::MoreRows { id, source, next: shared.requests.history }, effect))
}

/// Requests the next older page, if there is one and the limit is not reached.
fn more(conversation: &Conversation, shared: &mut SharedState) -> Option<ScreenEffect> {
    let history = &conversation.composer.history;
    let before = history.earlier.filter(|_| history.entries().len() < MOST)?;
    let id = shared.requests.issue();
    shared.requests.history = Some(id);
    Some(ScreenEffect::ReadHistory { id, before })
}

fn items(conversation: &Conversation) -> PickerSource {
    let entries = conversation.composer.history.entries().iter().rev();
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
        keywords: String::new(),
        choice: PickerChoice::Sent(sent.typed.clone()),
    }
}
