//! The available themes: those that ship with slug, and the user's own, which win when names are
//! equal.
//!
//! A theme is put together when it is asked for: its own file, then the one it inherits from, and
//! so on; slug's own theme of its kind is the base of all.

use std::path::PathBuf;

use super::colour::ColorValue;
use super::file::{self, ColorReference, ColorSpec, ThemeColor, ThemeFile};
use super::{ColorDepth, RoleColors, Theme, ThemeDraft, ThemeKind};

/// The themes in the binary, in the order of the list: slug's own, then the others by name.
const SHIPPED: [(&str, &str); 32] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.toml")),
    ("ansi", include_str!("../../../assets/themes/ansi.toml")),
    ("ayu-dark", include_str!("../../../assets/themes/ayu-dark.toml")),
    ("ayu-light", include_str!("../../../assets/themes/ayu-light.toml")),
    ("catppuccin-frappe", include_str!("../../../assets/themes/catppuccin-frappe.toml")),
    ("catppuccin-latte", include_str!("../../../assets/themes/catppuccin-latte.toml")),
    ("catppuccin-macchiato", include_str!("../../../assets/themes/catppuccin-macchiato.toml")),
    ("catppuccin-mocha", include_str!("../../../assets/themes/catppuccin-mocha.toml")),
    ("dracula", include_str!("../../../assets/themes/dracula.toml")),
    ("everforest-dark", include_str!("../../../assets/themes/everforest-dark.toml")),
    ("everforest-light", include_str!("../../../assets/themes/everforest-light.toml")),
    ("github-dark", include_str!("../../../assets/themes/github-dark.toml")),
    ("github-light", include_str!("../../../assets/themes/github-light.toml")),
    ("gruvbox-dark", include_str!("../../../assets/themes/gruvbox-dark.toml")),
    ("gruvbox-light", include_str!("../../../assets/themes/gruvbox-light.toml")),
    ("kanagawa", include_str!("../../../assets/themes/kanagawa.toml")),
    ("kanagawa-lotus", include_str!("../../../assets/themes/kanagawa-lotus.toml")),
    ("monokai", include_str!("../../../assets/themes/monokai.toml")),
    ("night-owl", include_str!("../../../assets/themes/night-owl.toml")),
    ("nord", include_str!("../../../assets/themes/nord.toml")),
    ("one-dark", include_str!("../../../assets/themes/one-dark.toml")),
    ("one-light", include_str!("../../../assets/themes/one-light.toml")),
    ("rose-pine", include_str!("../../../assets/themes/rose-pine.toml")),
    ("rose-pine-dawn", include_str!("../../../assets/themes/rose-pine-dawn.toml")),
    ("rose-pine-moon", include_str!("../../../assets/themes/rose-pine-moon.toml")),
    ("solarized-dark", include_str!("../../../assets/themes/solarized-dark.toml")),
    ("solarized-light", include_str!("../../../assets/themes/solarized-light.toml")),
    ("tokyo-night", include_str!("../../../assets/themes/tokyo-night.toml")),
    ("tokyo-night-day", include_str!("../../../assets/themes/tokyo-night-day.toml")),
    ("tokyo-night-storm", include_str!("../../../assets/themes/tokyo-night-storm.toml")),
];

/// Most files that may inherit from one another, which also ends a cycle.
const DEEPEST: usize = 8;

/// All themes: shipped ones and the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThemeLibrary {
    user_themes: Vec<UserTheme>,
    unreadable_files: Vec<String>,
}

/// A theme file of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTheme {
    /// The file's name without `.toml`.
    pub name: String,
    pub path: PathBuf,
    /// The file's content.
    pub text: String,
}

/// A theme as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeListEntry {
    /// The name by which the user chooses it.
    pub name: String,
    /// The name that the file gives itself.
    pub label: Option<String>,
    pub kind: ThemeKind,
    /// The user's file; `None` for a shipped theme.
    pub path: Option<PathBuf>,
    /// How many remarks there are about its file.
    pub remarks: usize,
}

/// A theme, and remarks about what its files got wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedTheme {
    pub theme: Theme,
    /// Sentences, each with file and line.
    pub remarks: Vec<String>,
}

/// No theme has this name. The message suggests the nearest one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no theme `{name}`.{suggestion} /theme lists them all.")]
pub struct UnknownTheme {
    name: String,
    suggestion: String,
}

impl ThemeLibrary {
    /// A library of the shipped themes and these of the user.
    pub fn new(mut user_themes: Vec<UserTheme>) -> Self {
        user_themes.sort_by(|one, two| one.name.cmp(&two.name));
        Self { user_themes, unreadable_files: Vec::new() }
    }

    /// Adds sentences about theme files that could not be read.
    pub fn with_unreadable_files(self, left_out: Vec<String>) -> Self {
        Self { unreadable_files: left_out, ..self }
    }

    /// Sentences about theme files that could not be read.
    pub fn unreadable_files(&self) -> &[String] {
        &self.unreadable_files
    }

    /// The names, shipped themes first.
    pub fn names(&self) -> Vec<&str> {
        let shipped = SHIPPED.iter().map(|(name, _)| *name);
        let own = self.user_themes.iter().map(|theme| theme.name.as_str());
        shipped.filter(|name| self.user_theme(name).is_none()).chain(own).collect()
    }

    /// All themes as a list shows them.
    pub fn list(&self) -> Vec<ThemeListEntry> {
        let listed = |name: &str| {
            let mut chain = self.chain(name, &mut Vec::new());
            let kind = kind_of(&chain);
            let ThemeChainLink { path, source, .. } = chain.swap_remove(0);
            let remarks = source.remarks.len();
            ThemeListEntry { name: name.to_owned(), label: source.name, kind, path, remarks }
        };
        self.names().into_iter().map(listed).collect()
    }

    /// Checks that there is a theme of this name.
    ///
    /// # Errors
    ///
    /// [`UnknownTheme`], with the nearest name.
    pub fn check(&self, name: &str) -> Result<(), UnknownTheme> {
        let names = self.names();
        if names.contains(&name) {
            return Ok(());
        }
        let name = name.to_owned();
        Err(UnknownTheme { suggestion: file::did_you_mean(&name, &names), name })
    }

    /// Resolves the theme of this name for a colour depth. Mistakes in its files become remarks.
    ///
    /// # Errors
    ///
    /// [`UnknownTheme`], with the nearest name.
    pub fn find(&self, name: &str, depth: ColorDepth) -> Result<LoadedTheme, UnknownTheme> {
        self.check(name)?;
        let mut remarks = Vec::new();
        let chain = self.chain(name, &mut remarks);
        let theme = resolve(name, &chain, &mut remarks).at(depth);
        Ok(LoadedTheme { theme, remarks })
    }

    /// slug's own theme for a kind of background.
    pub fn default_for(kind: ThemeKind, depth: ColorDepth) -> Theme {
        let chain: Vec<ThemeChainLink> = ThemeChainLink::shipped(kind.name()).into_iter().collect();
        resolve(kind.name(), &chain, &mut Vec::new()).at(depth)
    }

    fn user_theme(&self, name: &str) -> Option<&UserTheme> {
        self.user_themes.iter().find(|theme| theme.name == name)
    }

    fn link(&self, name: &str) -> Option<ThemeChainLink> {
        match self.user_theme(name) {
            Some(theme) => Some(ThemeChainLink {
                place: theme.path.display().to_string(),
                path: Some(theme.path.clone()),
                source: file::parse(&theme.text),
            }),
            None => ThemeChainLink::shipped(name),
        }
    }

    /// A theme's files, its own first. The last is slug's own theme of its kind, which sets all
    /// roles.
    fn chain(&self, name: &str, remarks: &mut Vec<String>) -> Vec<ThemeChainLink> {
        let mut chain: Vec<ThemeChainLink> = Vec::new();
        let (mut name, mut next) = (name.to_owned(), self.link(name));
        while let Some(link) = next.take() {
            remarks.extend(link.source.remarks.iter().map(|it| link.tell(it.line, &it.text)));
            if let Some((parent, line)) = &link.source.inherits {
                // A user's file may inherit from the shipped theme of the same name.
                let found = if *parent == name {
                    ThemeChainLink::shipped(parent)
                } else {
                    self.link(parent)
                };
                match (found, self.check(parent)) {
                    (Some(_), Ok(())) if chain.len() + 2 > DEEPEST => {
                        let text = format!(
                            "`{parent}` inherits from itself, or through too \
                            many themes."
                        );
                        remarks.push(link.tell(*line, &text));
                    }
                    (found @ Some(_), _) => (name, next) = (parent.clone(), found),
                    (None, Err(unknown)) => remarks.push(link.tell(*line, &unknown.to_string())),
                    (None, Ok(())) => {
                        let text = format!("`{parent}` cannot inherit from itself.");
                        remarks.push(link.tell(*line, &text));
                    }
                }
            }
            chain.push(link);
        }
        let base = kind_of(&chain).name();
        if chain.last().is_none_or(|last| last.path.is_some() || last.place != base) {
            chain.extend(ThemeChainLink::shipped(base));
        }
        chain
    }
}

/// A file, and its name in remarks.
#[derive(Debug)]
struct ThemeChainLink {
    place: String,
    /// The user's file; `None` for a shipped theme.
    path: Option<PathBuf>,
    source: ThemeFile,
}

impl ThemeChainLink {
    fn shipped(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        Some(Self { place: (*name).to_owned(), path: None, source: file::parse(text) })
    }

    fn tell(&self, line: usize, text: &str) -> String {
        format!("{}:{line}: {text}", self.place)
    }
}

fn kind_of(chain: &[ThemeChainLink]) -> ThemeKind {
    chain.iter().find_map(|link| link.source.kind).unwrap_or_default()
}

/// Resolves all colours of a chain of files.
fn resolve(name: &str, chain: &[ThemeChainLink], remarks: &mut Vec<String>) -> ThemeDraft {
    let mut draft = ThemeDraft::new(name, kind_of(chain));
    let mut look_up = |link: &ThemeChainLink, reference: &ColorReference| -> Option<ThemeColor> {
        let wanted = match &reference.spec {
            ColorSpec::Literal(color) => return Some(*color),
            ColorSpec::Name(name) => name,
        };
        let found = chain.iter().find_map(|link| link.source.palette.get(wanted).copied());
        let found = found.or_else(|| ColorValue::parse(wanted).map(ThemeColor::from));
        if found.is_none() {
            let known: Vec<&str> =
                chain.iter().flat_map(|it| it.source.palette.keys()).map(String::as_str).collect();
            let suggestion = file::did_you_mean(wanted, &known);
            let ColorReference { line, .. } = reference;
            let name = wanted.escape_debug();
            remarks
                .push(format!("{}:{line}: there is no colour `{name}`.{suggestion}", link.place));
        }
        found
    };
    draft.background =
        chain.iter().find_map(|link| look_up(link, link.source.background.as_ref()?));
    for (slot, resolved) in draft.looks.iter_mut().enumerate() {
        let found = chain.iter().find_map(|link| {
            let look = link.source.looks.get(&slot)?;
            let mut color = |reference: &Option<ColorReference>| match reference {
                Some(reference) => look_up(link, reference).map(Some),
                None => Some(None),
            };
            let (fg, bg) = (color(&look.fg)?, color(&look.bg)?);
            Some(RoleColors { fg, bg, modifiers: look.modifiers })
        });
        *resolved = found.unwrap_or_default();
    }
    draft
}
