//! The themes that there are: those that slug brings, and the person's own, which win where both
//! have a name.
//!
//! A theme is put together when it is asked for: its own file, then the one it inherits from, and
//! so on; below all of them stands slug's own for its kind.

use std::path::PathBuf;

use super::colour::ColorValue;
use super::file::{self, ColorReference, ColorSpec, ThemeColor, ThemeFile};
use super::{ColorDepth, RoleColors, Theme, ThemeDraft, ThemeKind};

/// The themes in the binary, in the order that lists show them.
const SHIPPED: [(&str, &str); 13] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.toml")),
    ("ansi", include_str!("../../../assets/themes/ansi.toml")),
    ("nord", include_str!("../../../assets/themes/nord.toml")),
    ("gruvbox-dark", include_str!("../../../assets/themes/gruvbox-dark.toml")),
    ("gruvbox-light", include_str!("../../../assets/themes/gruvbox-light.toml")),
    ("solarized-dark", include_str!("../../../assets/themes/solarized-dark.toml")),
    ("solarized-light", include_str!("../../../assets/themes/solarized-light.toml")),
    ("dracula", include_str!("../../../assets/themes/dracula.toml")),
    ("catppuccin-mocha", include_str!("../../../assets/themes/catppuccin-mocha.toml")),
    ("catppuccin-latte", include_str!("../../../assets/themes/catppuccin-latte.toml")),
    ("tokyo-night", include_str!("../../../assets/themes/tokyo-night.toml")),
];

/// As many files may inherit from one another.
const DEEPEST: usize = 8;

/// All themes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThemeLibrary {
    user_themes: Vec<UserTheme>,
    unreadable_files: Vec<String>,
}

/// A theme file of the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTheme {
    /// Its name: the file's, without `.toml`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A theme in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeListEntry {
    /// What it is chosen by.
    pub name: String,
    /// What it calls itself, if it does.
    pub label: Option<String>,
    /// What it is made for.
    pub kind: ThemeKind,
    /// The person's file; `None` for one that slug brings.
    pub path: Option<PathBuf>,
    /// How many remarks there are to its file.
    pub remarks: usize,
}

/// A theme with what was not understood of its files.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedTheme {
    /// The theme.
    pub theme: Theme,
    /// Sentences, each with file and line.
    pub remarks: Vec<String>,
}

/// No theme has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no theme `{name}`.{suggestion} Type /theme to see them all.")]
pub struct UnknownTheme {
    name: String,
    suggestion: String,
}

impl ThemeLibrary {
    /// With these of the person's, and those that slug brings.
    pub fn new(mut own: Vec<UserTheme>) -> Self {
        own.sort_by(|one, two| one.name.cmp(&two.name));
        Self { user_themes: own, unreadable_files: Vec::new() }
    }

    /// Sentences on files that could not be read.
    pub fn with_unreadable_files(self, left_out: Vec<String>) -> Self {
        Self { unreadable_files: left_out, ..self }
    }

    /// Sentences on files that could not be read.
    pub fn unreadable_files(&self) -> &[String] {
        &self.unreadable_files
    }

    /// The names, those that slug brings first.
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

    /// Whether there is one of this name.
    pub fn check(&self, name: &str) -> Result<(), UnknownTheme> {
        let names = self.names();
        if names.contains(&name) {
            return Ok(());
        }
        let name = name.to_owned();
        Err(UnknownTheme { suggestion: file::did_you_mean(&name, &names), name })
    }

    /// The theme of this name.
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
            Some(own) => Some(ThemeChainLink {
                place: own.path.display().to_string(),
                path: Some(own.path.clone()),
                source: file::parse(&own.text),
            }),
            None => ThemeChainLink::shipped(name),
        }
    }

    /// A theme's files, its own first. The last is slug's own for its kind, which sets all roles.
    fn chain(&self, name: &str, remarks: &mut Vec<String>) -> Vec<ThemeChainLink> {
        let mut chain: Vec<ThemeChainLink> = Vec::new();
        let (mut name, mut next) = (name.to_owned(), self.link(name));
        while let Some(link) = next.take() {
            remarks.extend(link.source.remarks.iter().map(|it| link.tell(it.line, &it.text)));
            if let Some((parent, line)) = &link.source.inherits {
                // A file of the person's may stand over the shipped one of its own name.
                let found = if *parent == name {
                    ThemeChainLink::shipped(parent)
                } else {
                    self.link(parent)
                };
                match (found, self.check(parent)) {
                    (Some(_), Ok(())) if chain.len() + 2 > DEEPEST => {
                        let text = format!("`{parent}` inherits from too many others, or itself.");
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

/// A file with what it is called in remarks.
#[derive(Debug)]
struct ThemeChainLink {
    place: String,
    /// The person's file; `None` for one that slug brings.
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

/// Looks all colours up.
fn resolve(name: &str, chain: &[ThemeChainLink], remarks: &mut Vec<String>) -> ThemeDraft {
    let mut draft = ThemeDraft::new(name, kind_of(chain));
    let mut look_up = |link: &ThemeChainLink, reference: &ColorReference| -> Option<ThemeColor> {
        let wanted = match &reference.spec {
            ColorSpec::Literal(hue) => return Some(*hue),
            ColorSpec::Name(name) => name,
        };
        let found = chain.iter().find_map(|link| link.source.palette.get(wanted).copied());
        let found = found.or_else(|| ColorValue::parse(wanted).map(ThemeColor::from));
        if found.is_none() {
            let known: Vec<&str> =
                chain.iter().flat_map(|it| it.source.palette.keys()).map(String::as_str).collect();
            let meant = file::did_you_mean(wanted, &known);
            let ColorReference { line, .. } = reference;
            let name = wanted.escape_debug();
            remarks.push(format!("{}:{line}: no colour is called `{name}`.{meant}", link.place));
        }
        found
    };
    draft.background =
        chain.iter().find_map(|link| look_up(link, link.source.background.as_ref()?));
    for (slot, resolved) in draft.looks.iter_mut().enumerate() {
        let found = chain.iter().find_map(|link| {
            let look = link.source.looks.get(&slot)?;
            let mut hue = |reference: &Option<ColorReference>| match reference {
                Some(reference) => look_up(link, reference).map(Some),
                None => Some(None),
            };
            let (fg, bg) = (hue(&look.fg)?, hue(&look.bg)?);
            Some(RoleColors { fg, bg, modifiers: look.modifiers })
        });
        *resolved = found.unwrap_or_default();
    }
    draft
}
