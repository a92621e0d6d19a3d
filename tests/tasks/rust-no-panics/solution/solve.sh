#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > src/error.rs <<'END'
use std::fmt;
use std::path::PathBuf;

/// Why a recipe cannot be read or scaled. Lines count from 1.
#[derive(Debug)]
pub enum RecipeError {
    Unreadable { file: PathBuf, source: std::io::Error },
    Empty,
    NoQuantity { line: usize },
    NotANumber { line: usize, text: String },
    UnknownUnit { line: usize, unit: String },
    Nobody,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, source } => write!(f, "cannot read {}: {source}", file.display()),
            Self::Empty => write!(f, "the file is empty"),
            Self::NoQuantity { line } => write!(f, "line {line}: a quantity is missing"),
            Self::NotANumber { line, text } => write!(f, "line {line}: {text:?} is not a number"),
            Self::UnknownUnit { line, unit } => write!(f, "line {line}: unknown unit {unit:?}"),
            Self::Nobody => write!(f, "the recipe is for 0 people"),
        }
    }
}

impl std::error::Error for RecipeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}
END
python3 - <<'END'
def edit(path, *pairs):
    text = open(path).read()
    for old, new in pairs:
        assert old in text, (path, old)
        text = text.replace(old, new)
    open(path, "w").write(text)
edit("src/lib.rs", ("pub mod load;", "pub mod error;\npub mod load;"))
edit("src/load.rs", ("use crate::parse", "use crate::error::RecipeError;\nuse crate::parse"), ("-> Recipe", "-> Result<Recipe, RecipeError>"),
     ("std::fs::read_to_string(path).unwrap()", "std::fs::read_to_string(path)\n        .map_err(|source| RecipeError::Unreadable { file: path.to_owned(), source })?"),
     ('    if text.trim().is_empty() {\n        panic!("empty");\n    }\n', ""))
edit("src/parse.rs", ("use crate::unit", "use crate::error::RecipeError;\nuse crate::unit"))
text = open("src/parse.rs").read()
start = text.index("pub fn parse")
open("src/parse.rs", "w").write(text[:start] + """pub fn parse(text: &str) -> Result<Recipe, RecipeError> {
    if text.trim().is_empty() {
        return Err(RecipeError::Empty);
    }
    let mut lines = text.lines().zip(1..);
    let (first, _) = lines.next().ok_or(RecipeError::Empty)?;
    let people = number(first.trim(), 1)?;
    let ingredients = lines
        .filter(|(text, _)| !text.trim().is_empty())
        .map(|(text, line)| ingredient(text, line))
        .collect::<Result<_, _>>()?;
    Ok(Recipe { people, ingredients })
}

fn ingredient(text: &str, line: usize) -> Result<Ingredient, RecipeError> {
    let mut words = text.split_whitespace();
    let quantity = words.next().ok_or(RecipeError::NoQuantity { line })?;
    let quantity = number(quantity, line)?;
    let unit = words.next().unwrap_or_default();
    let unit = Unit::named(unit)
        .ok_or_else(|| RecipeError::UnknownUnit { line, unit: unit.to_owned() })?;
    Ok(Ingredient { quantity, unit, name: words.collect::<Vec<_>>().join(" ") })
}

fn number<T: std::str::FromStr>(text: &str, line: usize) -> Result<T, RecipeError> {
    if text.is_empty() || text.starts_with(char::is_alphabetic) && Unit::named(text).is_some() {
        return Err(RecipeError::NoQuantity { line });
    }
    text.parse().map_err(|_| RecipeError::NotANumber { line, text: text.to_owned() })
}
""")
edit("src/scale.rs", ("use crate::parse", "use crate::error::RecipeError;\nuse crate::parse"), ("-> Recipe", "-> Result<Recipe, RecipeError>"),
     ('panic!("nobody")', "return Err(RecipeError::Nobody)"), ("    scaled\n}", "    Ok(scaled)\n}"))
edit("src/unit.rs", ("-> Self", "-> Option<Self>"), ("match name {", "Some(match name {"), ('other => panic!("unit {other}"),\n        }', "_ => return None,\n        })"))
edit("tests/recipes.rs", ('egg\\n")', 'egg\\n").unwrap()'), ("scale(&recipe, 4)", "scale(&recipe, 4).unwrap()"))
END
