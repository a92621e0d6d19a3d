//! Reads a theme file line by line. Shipped themes and the user's own are read by the same code. No
//! mistake makes a file unusable: what cannot be understood is skipped, with a remark that says
//! where it is and what was probably meant.

use std::collections::BTreeMap;
use std::ops::Range;

use ratatui::style::Modifier;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::ThemeKind;
use super::colour::{ANSI_NAMES, ColorValue};
use super::roles::{self, ROLES};
use crate::domain::nearest;

/// A parsed file whose references are not resolved yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ThemeFile {
    pub(super) name: Option<String>,
    pub(super) kind: Option<ThemeKind>,
    pub(super) inherits: Option<(String, usize)>,
    /// The colour of the screen; `Some` with an unset value gives the screen back to the terminal.
    pub(super) background: Option<ColorReference>,
    pub(super) palette: BTreeMap<String, ThemeColor>,
    /// By index in [`ROLES`].
    pub(super) looks: BTreeMap<usize, RoleLook>,
    pub(super) remarks: Vec<ThemeRemark>,
}

/// A remark about a line of a theme file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeRemark {
    /// Line number, from 1.
    pub line: usize,
    /// A sentence.
    pub text: String,
}

/// A colour, with substitutes for terminals that show fewer colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThemeColor {
    pub(super) full: ColorValue,
    /// Used with the palette of 256; `None` takes the nearest.
    pub(super) indexed: Option<ColorValue>,
    /// Used with the terminal's own 16; `None` takes the nearest.
    pub(super) ansi: Option<ColorValue>,
}

/// The colours and weight that a file gives a role.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RoleLook {
    pub(super) fg: Option<ColorReference>,
    pub(super) bg: Option<ColorReference>,
    pub(super) modifiers: Modifier,
}

/// A colour as a role refers to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColorReference {
    pub(super) spec: ColorSpec,
    pub(super) line: usize,
}

/// A role's colour as the file writes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColorSpec {
    /// A name from the palette, or one of the terminal's colours.
    Name(String),
    /// A colour written out.
    Literal(ThemeColor),
}

impl From<ColorValue> for ThemeColor {
    fn from(full: ColorValue) -> Self {
        Self { full, indexed: None, ansi: None }
    }
}

/// Parses the text of a theme file.
pub(super) fn parse(text: &str) -> ThemeFile {
    let mut reader = ThemeFileReader { text, source: ThemeFile::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.top(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            reader.remark(&span, format!("not valid TOML: {}", error.message()));
        }
    }
    reader.source.remarks.sort_by_key(|remark| remark.line);
    reader.source
}

/// A question to append to a sentence: the name in `known` nearest to `name`. Empty if none is
/// near.
pub(super) fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known.iter().copied())
        .map_or_else(String::new, |close| format!(" Did you mean `{close}`?"))
}

struct ThemeFileReader<'a> {
    text: &'a str,
    source: ThemeFile,
}

type ThemeTomlValue<'a> = Spanned<DeValue<'a>>;

impl ThemeFileReader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => self.source.name = self.text(value),
                "kind" => self.source.kind = self.kind(value),
                "inherits" => {
                    let line = self.line(&value.span());
                    self.source.inherits = self.text(value).map(|name| (name, line));
                }
                "background" => self.source.background = self.reference(value),
                "palette" => self.palette(value),
                "roles" => self.roles("", value),
                "syntax" => self.roles("syntax.", value),
                name => {
                    let known =
                        ["name", "kind", "inherits", "background", "palette", "roles", "syntax"];
                    let suggestion = did_you_mean(name, &known);
                    let text = format!("a theme has no `{}`.{suggestion}", name.escape_debug());
                    self.remark(&key.span(), text);
                }
            }
        }
    }

    fn kind(&mut self, value: &ThemeTomlValue<'_>) -> Option<ThemeKind> {
        let kind = self.text(value)?;
        let found = [ThemeKind::Dark, ThemeKind::Light].into_iter().find(|it| it.name() == kind);
        if found.is_none() {
            self.remark(&value.span(), "`kind` is \"dark\" or \"light\".".to_owned());
        }
        found
    }

    fn palette(&mut self, value: &ThemeTomlValue<'_>) {
        let Some(table) = self.table(value) else { return };
        for (key, value) in table {
            if let Some(color) = self.hue(value) {
                self.source.palette.insert(key.get_ref().to_string(), color);
            }
        }
    }

    fn roles(&mut self, prefix: &str, value: &ThemeTomlValue<'_>) {
        let Some(table) = self.table(value) else { return };
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let Some((slot, _)) = roles::find(&name) else {
                let known: Vec<&str> =
                    ROLES.iter().filter_map(|row| row.name.strip_prefix(prefix)).collect();
                let suggestion = did_you_mean(key.get_ref(), &known);
                let text =
                    format!("there is no role `{}`.{suggestion}", key.get_ref().escape_debug());
                self.remark(&key.span(), text);
                continue;
            };
            if let Some(look) = self.look(value) {
                self.source.looks.insert(slot, look);
            }
        }
    }

    fn look(&mut self, value: &ThemeTomlValue<'_>) -> Option<RoleLook> {
        let DeValue::Table(table) = value.get_ref() else {
            return Some(RoleLook { fg: Some(self.reference(value)?), ..RoleLook::default() });
        };
        let mut look = RoleLook::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "fg" => look.fg = self.reference(value),
                "bg" => look.bg = self.reference(value),
                _ => match MODIFIERS.iter().find(|(known, _)| *known == name) {
                    Some((_, modifier)) => {
                        look.modifiers.set(*modifier, self.flag(value).unwrap_or(false));
                    }
                    None => {
                        let modifiers = MODIFIERS.iter().map(|(known, _)| *known);
                        let known: Vec<&str> = ["fg", "bg"].into_iter().chain(modifiers).collect();
                        let suggestion = did_you_mean(name, &known);
                        let text = format!("a role has no `{}`.{suggestion}", name.escape_debug());
                        self.remark(&key.span(), text);
                    }
                },
            }
        }
        Some(look)
    }

    fn reference(&mut self, value: &ThemeTomlValue<'_>) -> Option<ColorReference> {
        let line = self.line(&value.span());
        let spec = match value.get_ref() {
            DeValue::String(text) if text.starts_with('#') => ColorSpec::Literal(self.hue(value)?),
            DeValue::String(text) => ColorSpec::Name(text.to_string()),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => ColorSpec::Literal(self.hue(value)?),
        };
        Some(ColorReference { spec, line })
    }

    /// Reads a colour, or a table of one for each kind of terminal.
    fn hue(&mut self, value: &ThemeTomlValue<'_>) -> Option<ThemeColor> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.shade(value).map(ThemeColor::from);
        };
        let mut color = ThemeColor::from(ColorValue::Unset);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "rgb" => color.full = self.shade(value)?,
                "indexed" => color.indexed = self.shade(value),
                "ansi" => color.ansi = self.shade(value),
                name => {
                    let suggestion = did_you_mean(name, &["rgb", "indexed", "ansi"]);
                    let text = format!("a colour has no `{}`.{suggestion}", name.escape_debug());
                    self.remark(&key.span(), text);
                }
            }
        }
        Some(color)
    }

    fn shade(&mut self, value: &ThemeTomlValue<'_>) -> Option<ColorValue> {
        let found = match value.get_ref() {
            DeValue::String(text) => ColorValue::parse(text),
            DeValue::Integer(number) => index(number).map(ColorValue::Indexed),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        if found.is_none() {
            let suggestion = value.get_ref().as_str().map_or_else(String::new, |name| {
                let known: Vec<&str> = ["none"].into_iter().chain(ANSI_NAMES).collect();
                did_you_mean(name, &known)
            });
            let text = format!(
                "not a colour: write \"#rrggbb\", 0 to 255, \"none\" or a name such as \
                 \"bright-red\".{suggestion}"
            );
            self.remark(&value.span(), text);
        }
        found
    }

    fn text(&mut self, value: &ThemeTomlValue<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.remark(&value.span(), "this must be text in quotes.".to_owned());
        }
        text
    }

    fn flag(&mut self, value: &ThemeTomlValue<'_>) -> Option<bool> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.remark(&value.span(), "this must be true or false.".to_owned());
        }
        flag
    }

    fn table<'t>(&mut self, value: &'t ThemeTomlValue<'_>) -> Option<&'t DeTable<'t>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.remark(&value.span(), "this must be a table.".to_owned());
        }
        table
    }

    fn remark(&mut self, span: &Range<usize>, text: String) {
        let line = self.line(span);
        self.source.remarks.push(ThemeRemark { line, text });
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
    ("strike", Modifier::CROSSED_OUT),
];

fn index(number: &DeInteger<'_>) -> Option<u8> {
    u8::from_str_radix(number.as_str(), number.radix()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::colour::RgbColor;
    use super::*;

    fn remarks_of(text: &str) -> Vec<(usize, String)> {
        parse(text).remarks.into_iter().map(|remark| (remark.line, remark.text)).collect()
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let source = parse(
            r##"
name = "Mine"
kind = "light"
inherits = "nord"
background = "paper"
[palette]
paper = "#fdf6e3"
ink = { rgb = "#222", indexed = 235, ansi = "none" }
[roles]
user = "ink"
error = { fg = "#f00", bold = true, underline = false }
[syntax]
comment = { fg = 245, italic = true }
"##,
        );
        assert_eq!(source.remarks, []);
        assert_eq!(source.name.as_deref(), Some("Mine"));
        assert_eq!(source.kind, Some(ThemeKind::Light));
        assert_eq!(source.inherits, Some(("nord".to_owned(), 4)));
        let named =
            |name: &str, line| ColorReference { spec: ColorSpec::Name(name.to_owned()), line };
        assert_eq!(source.background, Some(named("paper", 5)));
        let ink = ThemeColor {
            full: ColorValue::Rgb(RgbColor(0x22, 0x22, 0x22)),
            indexed: Some(ColorValue::Indexed(235)),
            ansi: Some(ColorValue::Unset),
        };
        assert_eq!(source.palette["ink"], ink);
        let look = |name: &str| source.looks[&roles::find(name).unwrap().0].clone();
        assert_eq!(look("user"), RoleLook { fg: Some(named("ink", 10)), ..RoleLook::default() });
        assert_eq!(look("error").modifiers, Modifier::BOLD);
        let grey = ColorSpec::Literal(ColorValue::Indexed(245).into());
        assert_eq!(look("syntax.comment").fg, Some(ColorReference { spec: grey, line: 13 }));
    }

    #[test]
    fn mistakes_are_reported_with_line_and_suggestion() {
        let rows = [
            ("\nknid = \"dark\"", 2, "a theme has no `knid`. Did you mean `kind`?"),
            ("kind = \"dusk\"", 1, "`kind` is \"dark\" or \"light\"."),
            ("[roles]\nsucess = \"red\"", 2, "there is no role `sucess`. Did you mean `success`?"),
            ("[syntax]\nkeywrd = 1", 2, "there is no role `keywrd`. Did you mean `keyword`?"),
            ("[roles]\nuser = { fg = 1, blod = true }", 2, "Did you mean `bold`?"),
            ("[roles]\nuser = { bold = 1 }", 2, "this must be true or false."),
            ("[palette]\na = \"briht-red\"", 2, "Did you mean `bright-red`?"),
            ("[palette]\na = \"#12\"", 2, "not a colour"),
            ("[palette]\na = 256", 2, "not a colour"),
            ("[palette]\na = { rbg = 1 }", 2, "Did you mean `rgb`?"),
            ("roles = 1", 1, "this must be a table."),
            ("name = 1", 1, "this must be text in quotes."),
            ("a\n", 1, "not valid TOML"),
        ];
        for (text, line, words) in rows {
            let remarks = remarks_of(text);
            assert_eq!(remarks.len(), 1, "{text}: {remarks:?}");
            assert_eq!(remarks[0].0, line, "{text}");
            assert!(remarks[0].1.contains(words), "{text}: {}", remarks[0].1);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[\\PC\n]{0,200}") {
            let lines = text.matches('\n').count() + 1;
            for remark in parse(&text).remarks {
                prop_assert!((1..=lines).contains(&remark.line));
            }
        }
    }
}
