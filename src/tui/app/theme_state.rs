//! The theme of the screen: the chosen one, the one previewed in the list, and the list itself.
//!
//! The theme on screen follows from the state: the selected theme of an open list, else the chosen
//! one. So leaving the list in any way restores the theme from before.

use std::sync::Arc;

use crate::config::ThemeChoice;
use crate::domain::NoticeLevel;
use crate::platform::terminal_background::TerminalBackground;
use crate::tui::theme::library::{ThemeListEntry, UnknownTheme};
use crate::tui::theme::{ColorDepth, Theme, ThemeKind, ThemeLibrary};

use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::picker::{Picker, PickerChoice, PickerItem, PickerPlacement};
use super::request::RequestId;

/// The chosen theme, the available themes, and what the terminal can show.
#[derive(Debug, Clone, PartialEq)]
pub struct ThemeState {
    pub choice: ThemeChoice,
    /// The terminal's background; dark until the terminal reports it.
    pub background: TerminalBackground,
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
    pub library: Arc<ThemeLibrary>,
}

/// What to do once the themes have been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeReadPurpose {
    /// Open the list of themes.
    List,
    Change(ThemeChoice),
}

impl Default for ThemeState {
    fn default() -> Self {
        Self {
            choice: ThemeChoice::Auto,
            background: TerminalBackground::Dark,
            depth: ColorDepth::TrueColor,
            library: Arc::default(),
        }
    }
}

impl ThemeState {
    /// The name of the theme that a choice means on this terminal's background.
    pub fn name<'a>(&self, choice: &'a ThemeChoice) -> &'a str {
        match (choice, self.background) {
            (ThemeChoice::Named(name), _) => name,
            (ThemeChoice::Pair { dark, .. }, TerminalBackground::Dark) => dark,
            (ThemeChoice::Pair { light, .. }, TerminalBackground::Light) => light,
            (ThemeChoice::Auto, TerminalBackground::Dark) => ThemeKind::Dark.name(),
            (ThemeChoice::Auto, TerminalBackground::Light) => ThemeKind::Light.name(),
        }
    }

    /// The theme of this name; slug's own for the background if there is none.
    pub fn theme(&self, name: &str) -> Theme {
        let own = || match self.background {
            TerminalBackground::Dark => Theme::dark(self.depth),
            TerminalBackground::Light => Theme::light(self.depth),
        };
        self.library.find(name, self.depth).map_or_else(|_| own(), |found| found.theme)
    }

    /// Whether the theme depends on the terminal's background.
    pub fn follows_background(&self) -> bool {
        match (&self.choice, self.depth) {
            (_, ColorDepth::None) | (ThemeChoice::Named(_), _) => false,
            (
                ThemeChoice::Auto | ThemeChoice::Pair { .. },
                ColorDepth::Sixteen | ColorDepth::Palette | ColorDepth::TrueColor,
            ) => true,
        }
    }

    /// Problems in the files of the chosen theme or with its name, and theme files that could not
    /// be read.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = match self.library.find(self.name(&self.choice), self.depth) {
            Ok(found) => found.remarks,
            Err(unknown) => vec![unknown.to_string()],
        };
        remarks.extend_from_slice(self.library.unreadable_files());
        remarks
    }

    fn check(&self, choice: &ThemeChoice) -> Result<(), UnknownTheme> {
        match choice {
            ThemeChoice::Auto => Ok(()),
            ThemeChoice::Named(name) => self.library.check(name),
            ThemeChoice::Pair { dark, light } => {
                self.library.check(dark).and_then(|()| self.library.check(light))
            }
        }
    }
}

/// The name of the theme on screen.
pub fn shown(model: &ScreenModel) -> &str {
    let previewed = model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Picker(picker) => picker.list.chosen().and_then(PickerChoice::theme),
        Overlay::Approval(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => None,
    });
    model.shared.theme.name(previewed.unwrap_or(&model.shared.theme.choice))
}

/// Requests the themes from disk, since the user may have changed a file.
pub fn read(model: &mut ScreenModel, what_for: ThemeReadPurpose) -> Vec<ScreenEffect> {
    let id = model.shared.requests.issue();
    model.shared.requests.themes = Some((id, what_for));
    vec![ScreenEffect::ReadThemes(id)]
}

/// Takes over the themes, and opens the list or changes the theme. An answer to an older request is
/// ignored.
pub fn on_themes_read(
    model: &mut ScreenModel,
    id: RequestId,
    library: Arc<ThemeLibrary>,
) -> Vec<ScreenEffect> {
    let Some((wanted, what_for)) = model.shared.requests.themes.take() else { return Vec::new() };
    if wanted != id {
        model.shared.requests.themes = Some((wanted, what_for));
        return Vec::new();
    }
    model.shared.theme.library = library;
    match what_for {
        ThemeReadPurpose::List => {
            if let [first, ..] = model.shared.theme.library.unreadable_files() {
                model.shared.toast(NoticeLevel::Warning, first.clone());
            }
            open_list(model);
            Vec::new()
        }
        ThemeReadPurpose::Change(choice) => change(model, choice),
    }
}

/// Changes the theme and has the choice saved. Shows a notice, which names a problem of the theme
/// if there is one.
pub fn change(model: &mut ScreenModel, choice: ThemeChoice) -> Vec<ScreenEffect> {
    if let Err(unknown) = model.shared.theme.check(&choice) {
        model.shared.toast(NoticeLevel::Error, unknown.to_string());
        return Vec::new();
    }
    model.shared.theme.choice = choice.clone();
    match model.shared.theme.remarks().as_slice() {
        [] => model.shared.toast(NoticeLevel::Info, format!("From now on the theme is {choice}")),
        [remark, ..] => model.shared.toast(NoticeLevel::Warning, remark.clone()),
    }
    vec![ScreenEffect::KeepTheme(choice)]
}

/// The rows of the list of themes; the first one follows the terminal.
pub fn items(theme: &ThemeState) -> Vec<PickerItem> {
    let auto = PickerItem {
        label: ThemeChoice::Auto.to_string(),
        detail: "like your terminal".to_owned(),
        aside: String::new(),
        choice: PickerChoice::Theme(ThemeChoice::Auto),
    };
    let themes = theme.library.list();
    std::iter::once(auto).chain(themes.iter().map(item)).collect()
}

fn item(theme: &ThemeListEntry) -> PickerItem {
    let mut detail = theme.kind.name().to_owned();
    match theme.remarks {
        0 => {}
        1 => detail.push_str(", 1 mistake"),
        several => detail.push_str(&format!(", {several} mistakes")),
    }
    PickerItem {
        label: theme.name.clone(),
        detail,
        aside: if theme.path.is_some() { "yours".to_owned() } else { String::new() },
        choice: PickerChoice::Theme(ThemeChoice::Named(theme.name.clone())),
    }
}

/// Opens the list with the chosen theme selected.
fn open_list(model: &mut ScreenModel) {
    let items = items(&model.shared.theme);
    let is_chosen =
        |item: &PickerItem| item.choice == PickerChoice::Theme(model.shared.theme.choice.clone());
    let is_shown =
        |item: &PickerItem| item.label == model.shared.theme.name(&model.shared.theme.choice);
    let at = items.iter().position(is_chosen).or_else(|| items.iter().position(is_shown));
    let mut picker = Picker { room: PickerPlacement::Side, ..Picker::ready("Themes", items) };
    picker.list.select(at.unwrap_or(0));
    model.overlays.push(Overlay::Picker(Box::new(picker)));
}
