//! What of a folder would become active with a yes, for the question to the person.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::domain::ContentHash;

/// More than this of a file is not looked at.
const MAX_BYTES: u64 = 1024 * 1024;

/// Files that give a folder powers.
const POWERS: [(&str, ItemKind); 3] = [
    (".slug/settings.json", ItemKind::Settings),
    (".slug/settings.local.json", ItemKind::Settings),
    (".slug/config.toml", ItemKind::Configuration),
];

/// One file that would become active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// The file, relative to the folder.
    pub path: PathBuf,
    /// What it is.
    pub kind: ItemKind,
    /// What it would do, a line for each rule or key.
    pub lines: Vec<String>,
}

/// What a file is to slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Permission rules.
    Settings,
    /// Keys of the configuration.
    Configuration,
    /// Text for the model.
    Instructions,
}

/// What is in `folder` that slug would read, in the order in which it would be read.
pub fn inventory(folder: &Path) -> Vec<Item> {
    let powers = POWERS.into_iter().filter_map(|(name, kind)| item(folder, name.into(), kind));
    let texts = instructions(folder)
        .into_iter()
        .filter_map(|path| item(folder, path, ItemKind::Instructions));
    powers.chain(texts).collect()
}

/// The files that give powers and are there, each with the hash of its content.
pub fn powers(folder: &Path) -> Vec<(PathBuf, ContentHash)> {
    POWERS
        .into_iter()
        .filter_map(|(name, _)| {
            let bytes = content(&folder.join(name))?;
            Some((PathBuf::from(name), ContentHash::of(&bytes)))
        })
        .collect()
}

/// The instruction files by name; that one of SLUG.md, AGENTS.md and CLAUDE.md that is read.
fn instructions(folder: &Path) -> Vec<PathBuf> {
    let is_file = |name: &&str| folder.join(name).is_file();
    let mut files: Vec<PathBuf> = ["SLUG.md", "AGENTS.md", "CLAUDE.md"]
        .into_iter()
        .find(is_file)
        .map(PathBuf::from)
        .into_iter()
        .collect();
    let rules = PathBuf::from(".slug/rules");
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder.join(&rules))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(rules.join(entry.ok()?.file_name())))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    names.sort();
    files.extend(names);
    files.push("SLUG.local.md".into());
    files
}

fn item(folder: &Path, path: PathBuf, kind: ItemKind) -> Option<Item> {
    let bytes = content(&folder.join(&path))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = match kind {
        ItemKind::Settings => rules(&text),
        ItemKind::Configuration => keys(&text),
        ItemKind::Instructions => {
            let count = text.lines().count();
            vec![format!("{count} line{} of instructions", if count == 1 { "" } else { "s" })]
        }
    };
    Some(Item { path, kind, lines })
}

fn rules(text: &str) -> Vec<String> {
    let settings: Value = match serde_json::from_str(text) {
        Ok(settings) => settings,
        Err(error) => return vec![format!("not readable: {error}")],
    };
    let mut lines = Vec::new();
    for kind in ["deny", "ask", "allow"] {
        let list = settings.pointer(&format!("/permissions/{kind}")).and_then(Value::as_array);
        let rules = list.into_iter().flatten().filter_map(Value::as_str);
        lines.extend(rules.map(|rule| format!("{kind} {rule}")));
    }
    if lines.is_empty() { vec!["no rules".into()] } else { lines }
}

fn keys(text: &str) -> Vec<String> {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![format!("not readable: {}", error.message())],
    };
    let mut lines = Vec::new();
    flatten("", &table, &mut lines);
    if lines.is_empty() { vec!["no keys".into()] } else { lines }
}

fn flatten(before: &str, table: &toml::Table, lines: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(table) => flatten(&format!("{before}{key}."), table, lines),
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => lines.push(format!("{before}{key} = {value}")),
        }
    }
}

/// A regular file's content, its first megabyte; a FIFO would block, a device might never end.
fn content(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
