//! The themes that there are: those that slug brings, and the person's own, which win where both
//! have a name.
//!
//! A theme is put together when it is asked for: its own file, then the one it inherits from, and
//! so on; below all of them stands slug's own for its kind.

use std::path::PathBuf;

use super::colour::Shade;
use super::file::{self, Hue, Meant, Reference, Source};
use super::{ColorDepth, Draft, Kind, Resolved, Theme};

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
pub struct Library {
    own: Vec<OwnTheme>,
    left_out: Vec<String>,
}

/// A theme file of the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTheme {
    /// Its name: the file's, without `.toml`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A theme in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is chosen by.
    pub name: String,
    /// What it calls itself, if it does.
    pub label: Option<String>,
    /// What it is made for.
    pub kind: Kind,
    /// The person's file; `None` for one that slug brings.
    pub path: Option<PathBuf>,
    /// How many remarks there are to its file.
    pub remarks: usize,
}

/// A theme with what was not understood of its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The theme.
    pub theme: Theme,
    /// Sentences, each with file and line.
    pub remarks: Vec<String>,
}

/// No theme has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no theme `{name}`.{meant} Type /theme to see them all.")]
pub struct UnknownTheme {
    name: String,
    meant: String,
}

impl Library {
    /// With these of the person's, and those that slug brings.
    pub fn new(mut own: Vec<OwnTheme>) -> Self {
        own.sort_by(|one, two| one.name.cmp(&two.name));
        Self { own, left_out: Vec::new() }
    }

    /// Sentences on files that could not be read.
    pub fn leaving_out(self, left_out: Vec<String>) -> Self {
        Self { left_out, ..self }
    }

    /// Sentences on files that could not be read.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The names, those that slug brings first.
    pub fn names(&self) -> Vec<&str> {
        let shipped = SHIPPED.iter().map(|(name, _)| *name);
        let own = self.own.iter().map(|theme| theme.name.as_str());
        shipped.filter(|name| self.own(name).is_none()).chain(own).collect()
    }

    /// All themes as a list shows them.
    pub fn list(&self) -> Vec<Listed> {
        let listed = |name: &str| {
            let mut chain = self.chain(name, &mut Vec::new());
            let kind = kind_of(&chain);
            let Link { path, source, .. } = chain.swap_remove(0);
            let remarks = source.remarks.len();
            Listed { name: name.to_owned(), label: source.name, kind, path, remarks }
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
        Err(UnknownTheme { meant: file::did_you_mean(&name, &names), name })
    }

    /// The theme of this name.
    pub fn find(&self, name: &str, depth: ColorDepth) -> Result<Found, UnknownTheme> {
        self.check(name)?;
        let mut remarks = Vec::new();
        let chain = self.chain(name, &mut remarks);
        let theme = resolve(name, &chain, &mut remarks).at(depth);
        Ok(Found { theme, remarks })
    }

    /// slug's own theme for a kind of background.
    pub fn default_for(kind: Kind, depth: ColorDepth) -> Theme {
        let chain: Vec<Link> = Link::shipped(kind.name()).into_iter().collect();
        resolve(kind.name(), &chain, &mut Vec::new()).at(depth)
    }

    fn own(&self, name: &str) -> Option<&OwnTheme> {
        self.own.iter().find(|theme| theme.name == name)
    }

    fn link(&self, name: &str) -> Option<Link> {
        match self.own(name) {
            Some(own) => Some(Link {
                place: own.path.display().to_string(),
                path: Some(own.path.clone()),
                source: file::parse(&own.text),
            }),
            None => Link::shipped(name),
        }
    }

    /// A theme's files, its own first. The last is slug's own for its kind, which sets all roles.
    fn chain(&self, name: &str, remarks: &mut Vec<String>) -> Vec<Link> {
        let mut chain: Vec<Link> = Vec::new();
        let (mut name, mut next) = (name.to_owned(), self.link(name));
        while let Some(link) = next.take() {
            remarks.extend(link.source.remarks.iter().map(|it| link.tell(it.line, &it.text)));
            if let Some((parent, line)) = &link.source.inherits {
                // A file of the person's may stand over the shipped one of its own name.
                let found = if *parent == name { Link::shipped(parent) } else { self.link(parent) };
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
            chain.extend(Link::shipped(base));
        }
        chain
    }
}

/// A file with what it is called in remarks.
#[derive(Debug)]
struct Link {
    place: String,
    /// The person's file; `None` for one that slug brings.
    path: Option<PathBuf>,
    source: Source,
}

impl Link {
    fn shipped(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        Some(Self { place: (*name).to_owned(), path: None, source: file::parse(text) })
    }

    fn tell(&self, line: usize, text: &str) -> String {
        format!("{}:{line}: {text}", self.place)
    }
}

fn kind_of(chain: &[Link]) -> Kind {
    chain.iter().find_map(|link| link.source.kind).unwrap_or_default()
}

/// Looks all colours up.
fn resolve(name: &str, chain: &[Link], remarks: &mut Vec<String>) -> Draft {
    let mut draft = Draft::new(name, kind_of(chain));
    let mut look_up = |link: &Link, reference: &Reference| -> Option<Hue> {
        let wanted = match &reference.meant {
            Meant::Given(hue) => return Some(*hue),
            Meant::Named(name) => name,
        };
        let found = chain.iter().find_map(|link| link.source.palette.get(wanted).copied());
        let found = found.or_else(|| Shade::parse(wanted).map(Hue::from));
        if found.is_none() {
            let known: Vec<&str> =
                chain.iter().flat_map(|it| it.source.palette.keys()).map(String::as_str).collect();
            let meant = file::did_you_mean(wanted, &known);
            let Reference { line, .. } = reference;
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
            let mut hue = |reference: &Option<Reference>| match reference {
                Some(reference) => look_up(link, reference).map(Some),
                None => Some(None),
            };
            let (fg, bg) = (hue(&look.fg)?, hue(&look.bg)?);
            Some(Resolved { fg, bg, modifiers: look.modifiers })
        });
        *resolved = found.unwrap_or_default();
    }
    draft
}
