//! The theme of the screen: the chosen one, and those that there are.
//!
//! The theme on screen follows from the state: the selected theme of an open list, else the chosen
//! one. So leaving the list in any way restores the theme from before.

use std::sync::Arc;

use crate::config::ThemeChoice;
use crate::platform::terminal_background::TerminalBackground;
use crate::tui::theme::library::UnknownTheme;
use crate::tui::theme::{ColorDepth, Theme, ThemeKind, ThemeLibrary};

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

    /// Whether the theme that a choice names exists.
    ///
    /// # Errors
    ///
    /// Names the first theme that does not exist.
    pub fn check(&self, choice: &ThemeChoice) -> Result<(), UnknownTheme> {
        match choice {
            ThemeChoice::Auto => Ok(()),
            ThemeChoice::Named(name) => self.library.check(name),
            ThemeChoice::Pair { dark, light } => {
                self.library.check(dark).and_then(|()| self.library.check(light))
            }
        }
    }
}
