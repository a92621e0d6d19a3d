//! The list that opens under the caret while typing: its rows, and the line that says what is
//! expected. It holds no text of its own: what it filters by is the word at the caret. Opening
//! and choosing is `completing`'s.

use std::ops::Range;

use crate::commands::{
    self, CopyArgument, EFFORT_WORDS, EffortArgument, SlashArgumentKind, SlashCommandSpec,
};
use crate::domain::mention::LineRange;
use crate::domain::{PermissionMode, ReasoningEffort};

use super::looks;
use super::model::Model;
use super::msg::{Mark, ModelRow};
use super::paths;
use super::picker::{Choice, Item, List, Paths, Source};
use super::rewind::{self, Own};
use super::sessions::SessionRow;
use super::sidebar::age;
use super::trigger::Trigger;

/// An open list.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// What is being typed.
    pub trigger: Trigger,
    /// The bytes that choosing replaces, the sign before them left out.
    pub word: Range<usize>,
    /// What there is.
    pub list: List,
}

/// A line under the list that says what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// It is all right so far.
    Says(String),
    /// It is not.
    Warns(String),
}

/// The rows for a trigger, as far as they are there.
pub fn source(trigger: &Trigger, model: &Model) -> Source {
    match trigger {
        Trigger::Path => workspace(model),
        Trigger::Lines { .. } => Source::Items(Vec::new()),
        Trigger::Folder { folder, .. } => Source::Names(match &model.folder {
            Some((listed, names)) if listed == folder => {
                names.iter().map(|name| row(&format!("{folder}{name}"), "")).collect()
            }
            Some(_) | None => Vec::new(),
        }),
        Trigger::Session => Source::Items(sessions(model)),
        Trigger::Command => Source::Items(commands().collect()),
        Trigger::FoldHow => Source::Items(words(FOLD_HOW)),
        Trigger::Argument(spec) => match spec.argument {
            SlashArgumentKind::None => Source::Items(Vec::new()),
            SlashArgumentKind::Mode => Source::Items(modes(model).collect()),
            SlashArgumentKind::Copy => Source::Items(copied().collect()),
            SlashArgumentKind::OneOf(all) => Source::Items(words(all)),
            SlashArgumentKind::Fold => Source::Items(words(FOLD_KINDS)),
            SlashArgumentKind::Model => Source::Items(models(model)),
            SlashArgumentKind::Theme => Source::Items(looks::items(&model.looks)),
            SlashArgumentKind::Session => Source::Items(sessions(model)),
            SlashArgumentKind::Message => Source::Items(earlier(model)),
            SlashArgumentKind::File => workspace(model),
        },
    }
}

/// What the line under the list says.
pub fn hint(open: &Completion, model: &Model) -> Option<Hint> {
    let text = model.composer.editor.text();
    let typed = text.get(open.word.clone()).unwrap_or_default();
    let says = |text: &str| Some(Hint::Says(text.to_owned()));
    match &open.trigger {
        Trigger::Path if open.list.is_empty() && model.requests.files.is_some() => {
            says("Reading the list of files …")
        }
        Trigger::Path if open.list.is_empty() && open.list.unranked().is_none() => {
            says("No file of this folder matches. Begin with ../, ~/ or / for one elsewhere")
        }
        Trigger::Path => {
            says("tab goes into a folder   name:10-40 means lines   session: a past session")
        }
        Trigger::Lines { path } => {
            let (counted, lines) = model.line_count.as_ref()?;
            (counted == path).then(|| lines_hint(path, typed, *lines))
        }
        Trigger::Session
        | Trigger::Argument(SlashCommandSpec { argument: SlashArgumentKind::Session, .. })
            if open.list.is_empty() && model.requests.sessions.is_some() =>
        {
            says("Reading the list of sessions …")
        }
        Trigger::Session if open.list.is_empty() => says("No past session has such a title"),
        Trigger::Folder { folder, .. } if open.list.is_empty() => {
            let listed = model.folder.as_ref().is_some_and(|(listed, _)| listed == folder);
            let shown = if folder.is_empty() { "this folder" } else { folder };
            listed.then(|| Hint::Warns(format!("Nothing in {shown} matches")))
        }
        Trigger::Argument(spec) => {
            Some(Hint::Says(format!("/{} takes {}", spec.name, spec.argument.meaning())))
        }
        Trigger::FoldHow => says("/fold takes how the panes are to be from now on"),
        Trigger::Folder { .. } | Trigger::Session | Trigger::Command => None,
    }
}

/// All slash commands.
pub fn commands() -> impl Iterator<Item = Item> {
    commands::TABLE.iter().map(|spec| Item {
        label: format!("/{}", spec.name),
        detail: spec.help.to_owned(),
        aside: String::new(),
        choice: Choice::Command(spec.name),
    })
}

/// All modes; that of the sandbox where one is in force.
pub fn modes(model: &Model) -> impl Iterator<Item = Item> + use<> {
    let has_sandbox = model.settings.boundary.is_some();
    let modes = PermissionMode::ALL
        .into_iter()
        .filter(move |mode| *mode != PermissionMode::Sandbox || has_sandbox);
    modes.map(|mode| Item {
        label: mode.name().to_owned(),
        detail: mode.meaning().to_owned(),
        aside: String::new(),
        choice: Choice::Mode(mode),
    })
}

/// How hard the model can think.
pub fn thinking() -> Vec<Item> {
    let item = |&(word, meaning): &(&str, &str)| Item {
        label: word.to_owned(),
        detail: meaning.to_owned(),
        aside: String::new(),
        choice: Choice::Thinking(
            ReasoningEffort::parse(word).map_or(EffortArgument::Default, EffortArgument::Level),
        ),
    };
    EFFORT_WORDS.iter().map(item).collect()
}

/// The models, favourites first. Whose one is stands before it where there is more than one
/// provider.
pub fn models(model: &Model) -> Vec<Item> {
    let (rows, status) = (&model.models, &model.status);
    let first = rows.first().map(|row| &row.name.provider);
    let several = rows.iter().any(|row| Some(&row.name.provider) != first);
    let item = |row: &ModelRow| Item {
        label: if several { row.name.to_string() } else { row.name.model.clone() },
        detail: match (row.mark, row.name.is(&status.provider, &status.model)) {
            (Mark::Favourite, true) => "★ answers now".to_owned(),
            (Mark::Favourite, false) => "★".to_owned(),
            (Mark::None, true) => "answers now".to_owned(),
            (Mark::None, false) => String::new(),
        },
        aside: row.window.map(super::status::tokens).unwrap_or_default(),
        choice: Choice::Model(row.name.clone()),
    };
    let mut rows: Vec<&ModelRow> = rows.iter().collect();
    rows.sort_by_key(|row| row.mark);
    rows.into_iter().map(item).collect()
}

/// The kinds of panes that can be folded together.
const FOLD_KINDS: &[(&str, &str)] = &[
    ("thinking", "what the model thought"),
    ("messages", "long messages of yours"),
    ("images", "images that you showed"),
    ("tools", "all calls"),
    ("Bash", "calls of one tool, by its name"),
];

const FOLD_HOW: &[(&str, &str)] = &[
    ("open", "all of each is shown"),
    ("closed", "the head of each alone is shown"),
    ("auto", "as suits what each shows"),
];

fn workspace(model: &Model) -> Source {
    Source::Paths(Paths { all: model.files.clone(), recent: paths::recent(model).into() })
}

/// What can be copied.
fn copied() -> impl Iterator<Item = Item> {
    CopyArgument::ALL.into_iter().map(|it| Item {
        label: it.name().to_owned(),
        detail: it.meaning().to_owned(),
        aside: String::new(),
        choice: Choice::Copied(it),
    })
}

fn words(words: &[(&str, &str)]) -> Vec<Item> {
    words.iter().map(|(word, meaning)| row(word, meaning)).collect()
}

fn row(word: &str, meaning: &str) -> Item {
    Item {
        label: word.to_owned(),
        detail: meaning.to_owned(),
        aside: String::new(),
        choice: Choice::Text(word.to_owned()),
    }
}

/// Past sessions, the newest first and this folder's before others'.
fn sessions(model: &Model) -> Vec<Item> {
    let Some(list) = &model.sessions else { return Vec::new() };
    let elsewhere = |row: &SessionRow| row.working_directory != model.settings.cwd;
    let mut rows: Vec<&SessionRow> =
        list.rows.iter().filter(|row| Some(row.id) != model.status.session).collect();
    rows.sort_by_key(|row| (elsewhere(row), std::cmp::Reverse(row.last_used_at)));
    let folder = |row: &SessionRow| match (elsewhere(row), row.working_directory.file_name()) {
        (true, Some(name)) => name.to_string_lossy().into_owned(),
        (true, None) | (false, _) => String::new(),
    };
    rows.into_iter()
        .map(|row| Item {
            label: row.name().to_owned(),
            detail: folder(row),
            aside: age(row.last_used_at, list.now),
            choice: Choice::Session(row.id),
        })
        .collect()
}

/// The person's messages, the newest first, by their numbers.
fn earlier(model: &Model) -> Vec<Item> {
    let item = |(at, message): (usize, Own<'_>)| Item {
        detail: message.files_changed(),
        aside: (at + 1).to_string(),
        choice: Choice::Text((at + 1).to_string()),
        label: message.title(),
    };
    rewind::own_messages(model).into_iter().enumerate().map(item).collect()
}

fn lines_hint(path: &str, typed: &str, lines: Option<u64>) -> Hint {
    let Some(count) = lines else {
        return Hint::Warns(format!("The lines of {path} cannot be counted"));
    };
    match LineRange::parse(typed) {
        _ if typed.is_empty() => {
            Hint::Says(format!("{path} has {count} lines: one, as 10, or some, as 10-40"))
        }
        Some(range) if range.last <= count => Hint::Says(format!("{range} of {count}")),
        Some(_) => Hint::Warns(format!("{path} has only {count} lines")),
        None if typed.contains('-') => Hint::Says(format!("up to which line of {count}?")),
        None => Hint::Warns("a line, as 10, or lines, as 10-40".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_held_against_the_length_of_the_file() {
        let says = |text: &str| Hint::Says(text.to_owned());
        let warns = |text: &str| Hint::Warns(text.to_owned());
        let rows = [
            ("", Some(220), says("a.rs has 220 lines: one, as 10, or some, as 10-40")),
            ("10", Some(220), says("line 10 of 220")),
            ("10-40", Some(220), says("lines 10 to 40 of 220")),
            ("10-", Some(220), says("up to which line of 220?")),
            ("10-400", Some(220), warns("a.rs has only 220 lines")),
            ("10-4", Some(220), says("up to which line of 220?")),
            ("0", Some(220), warns("a line, as 10, or lines, as 10-40")),
            ("", None, warns("The lines of a.rs cannot be counted")),
        ];
        for (typed, lines, want) in rows {
            assert_eq!(lines_hint("a.rs", typed, lines), want, "{typed}");
        }
    }
}
