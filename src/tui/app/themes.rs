//! Choosing the theme: reading the themes from disk, the list of them, and changing the theme.

use std::sync::Arc;

use crate::config::ThemeChoice;
use crate::domain::NoticeLevel;
use crate::tui::theme::ThemeLibrary;
use crate::tui::theme::library::ThemeListEntry;

use super::choice::PickerChoice;
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::picker_list::PickerItem;
use super::request_id::RequestId;
use super::shared::SharedState;
use super::theme_state::{ThemeReadPurpose, ThemeState};
use crate::tui::dialogs::DialogStack;
use crate::tui::dialogs::picker::{Picker, PickerPlacement};

/// The name of the theme on screen.
pub fn shown(model: &ScreenModel) -> &str {
    let previewed = model.dialogs.theme_preview();
    model.shared.theme.name(previewed.unwrap_or(&model.shared.theme.choice))
}

/// Requests the themes from disk, since the user may have changed a file.
pub fn read(shared: &mut SharedState, what_for: ThemeReadPurpose) -> Vec<ScreenEffect> {
    let id = shared.requests.issue();
    shared.requests.themes = Some((id, what_for));
    vec![ScreenEffect::ReadThemes(id)]
}

/// Takes over the themes, and opens the list or changes the theme. An answer to an older request is
/// ignored.
pub fn on_themes_read(
    dialogs: &mut DialogStack,
    shared: &mut SharedState,
    id: RequestId,
    library: Arc<ThemeLibrary>,
) -> Vec<ScreenEffect> {
    let Some((wanted, what_for)) = shared.requests.themes.take() else { return Vec::new() };
    if wanted != id {
        shared.requests.themes = Some((wanted, what_for));
        return Vec::new();
    }
    shared.theme.library = library;
    match what_for {
        ThemeReadPurpose::List => {
            if let [first, ..] = shared.theme.library.unreadable_files() {
                shared.toast(NoticeLevel::Warning, first.clone());
            }
            open_list(dialogs, shared);
            Vec::new()
        }
        ThemeReadPurpose::Change(choice) => change(shared, choice),
    }
}

/// Changes the theme and has the choice saved. Shows a notice, which names a problem of the theme
/// if there is one.
pub fn change(shared: &mut SharedState, choice: ThemeChoice) -> Vec<ScreenEffect> {
    if let Err(unknown) = shared.theme.check(&choice) {
        shared.toast(NoticeLevel::Error, unknown.to_string());
        return Vec::new();
    }
    shared.theme.choice = choice.clone();
    match shared.theme.remarks().as_slice() {
        [] => shared.toast(NoticeLevel::Info, format!("Theme: {choice}")),
        [remark, ..] => shared.toast(NoticeLevel::Warning, remark.clone()),
    }
    vec![ScreenEffect::KeepTheme(choice)]
}

/// The rows of the list of themes; the first one follows the terminal.
pub fn items(theme: &ThemeState) -> Vec<PickerItem> {
    let auto = PickerItem {
        label: ThemeChoice::Auto.to_string(),
        detail: "as your terminal".to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Theme(ThemeChoice::Auto),
    };
    let themes = theme.library.list();
    std::iter::once(auto).chain(themes.iter().map(item)).collect()
}

fn item(theme: &ThemeListEntry) -> PickerItem {
    let mut detail = theme.kind.name().to_owned();
    match theme.remarks {
        0 => {}
        1 => detail.push_str(", 1 error"),
        several => detail.push_str(&format!(", {several} errors")),
    }
    PickerItem {
        label: theme.name.clone(),
        detail,
        aside: if theme.path.is_some() { "yours".to_owned() } else { String::new() },
        keywords: String::new(),
        choice: PickerChoice::Theme(ThemeChoice::Named(theme.name.clone())),
    }
}

/// Opens the list with the chosen theme selected.
fn open_list(dialogs: &mut DialogStack, shared: &SharedState) {
    let items = items(&shared.theme);
    let is_chosen =
        |item: &PickerItem| item.choice == PickerChoice::Theme(shared.theme.choice.clone());
    let is_shown = |item: &PickerItem| item.label == shared.theme.name(&shared.theme.choice);
    let at = items.iter().position(is_chosen).or_else(|| items.iter().position(is_shown));
    let mut picker = Picker { room: PickerPlacement::Side, ..Picker::ready("Themes", items) };
    picker.list.select(at.unwrap_or(0));
    dialogs.push(picker);
}
