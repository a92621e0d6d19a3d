//! The list that opens under `@`, `/` and a command's argument while typing. It holds no text of
//! its own: what it filters by is the word at the caret.

use std::ops::Range;
use std::sync::Arc;

use crate::commands::{self, Argument, Copied, Spec};
use crate::domain::Mode;

use super::looks;
use super::model::Model;
use super::msg::ModelRow;
use super::picker::{Choice, Item, List, Source};

/// What is being typed at the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// A path, after `@`.
    File,
    /// A command's name, after `/`.
    Command,
    /// What follows this command's name.
    Argument(&'static Spec),
}

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

/// What is being typed before byte `caret` of `text`, and which bytes it is.
pub fn trigger(text: &str, caret: usize) -> Option<(Trigger, Range<usize>)> {
    let typed = text.get(..caret)?;
    if let Some(line) = typed.strip_prefix('/').filter(|line| !line.contains('\n')) {
        return match line.split_once(' ') {
            None if line.contains('/') => None,
            None => Some((Trigger::Command, 1..caret)),
            Some((name, argument)) => {
                let spec = commands::find(name).filter(|spec| spec.argument != Argument::None)?;
                let one = !argument.contains(' ');
                one.then_some((Trigger::Argument(spec), caret - argument.len()..caret))
            }
        };
    }
    let start = typed
        .rfind(char::is_whitespace)
        .map_or(0, |space| space + typed[space..].chars().next().map_or(1, char::len_utf8));
    let word = typed[start..].strip_prefix('@')?;
    Some((Trigger::File, caret - word.len()..caret))
}

/// The rows for a trigger.
pub fn source(trigger: Trigger, model: &Model) -> Source {
    match trigger {
        Trigger::File => Source::Paths(Arc::clone(&model.files)),
        Trigger::Command => Source::Items(commands().collect()),
        Trigger::Argument(spec) => match spec.argument {
            Argument::None => Source::Items(Vec::new()),
            Argument::Mode => Source::Items(modes().collect()),
            Argument::Copied => Source::Items(copied().collect()),
            Argument::OneOf(words) => Source::Items(words.iter().map(word).collect()),
            Argument::Fold => Source::Items(folds().collect()),
            Argument::Model => Source::Items(model.models.iter().map(self::model).collect()),
            Argument::Theme => Source::Items(looks::items(&model.looks)),
            Argument::File => Source::Paths(Arc::clone(&model.files)),
        },
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

/// All modes.
pub fn modes() -> impl Iterator<Item = Item> {
    Mode::ALL.into_iter().map(|mode| Item {
        label: mode.name().to_owned(),
        detail: mode.meaning().to_owned(),
        aside: String::new(),
        choice: Choice::Mode(mode),
    })
}

/// What can be copied.
fn copied() -> impl Iterator<Item = Item> {
    Copied::ALL.into_iter().map(|it| Item {
        label: it.name().to_owned(),
        detail: it.meaning().to_owned(),
        aside: String::new(),
        choice: Choice::Copied(it),
    })
}

/// The kinds of panes that can be folded together.
fn folds() -> impl Iterator<Item = Item> {
    let kinds = [
        ("thinking", "what the model thought"),
        ("messages", "long messages of yours"),
        ("images", "images that you showed"),
        ("tools", "all calls"),
        ("Bash", "calls of one tool, by its name"),
    ];
    kinds.into_iter().map(|(name, what)| Item {
        label: name.to_owned(),
        detail: what.to_owned(),
        aside: String::new(),
        choice: Choice::Text(name.to_owned()),
    })
}

fn word((name, meaning): &(&str, &str)) -> Item {
    Item {
        label: (*name).to_owned(),
        detail: (*meaning).to_owned(),
        aside: String::new(),
        choice: Choice::Text((*name).to_owned()),
    }
}

/// A model.
pub fn model(row: &ModelRow) -> Item {
    Item {
        label: row.name.clone(),
        detail: String::new(),
        aside: row.window.map(super::status::tokens).unwrap_or_default(),
        choice: Choice::Model(row.name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_at_the_caret_opens_a_list() {
        let mode = commands::find("mode").unwrap();
        type Opens = Option<(Trigger, Range<usize>)>;
        let rows: &[(&str, Opens)] = &[
            ("look at @src/ca", Some((Trigger::File, 9..15))),
            ("@", Some((Trigger::File, 1..1))),
            ("me@example", None),
            ("/mo", Some((Trigger::Command, 1..3))),
            ("/", Some((Trigger::Command, 1..1))),
            ("/usr/bin", None),
            ("/mode pl", Some((Trigger::Argument(mode), 6..8))),
            ("/mode ", Some((Trigger::Argument(mode), 6..6))),
            ("/help x", None),
            ("a /mo", None),
            ("plain", None),
        ];
        for (text, want) in rows {
            assert_eq!(trigger(text, text.len()), *want, "{text}");
        }
    }
}
