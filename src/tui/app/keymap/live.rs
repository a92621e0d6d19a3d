//! The map that holds: what each action's keys are now, and what they are called.

use super::chord::Sequence;
use super::context::{Action, Context};
use super::tables::{
    AlwaysKey, ApprovalKey, Binding, ChatKey, CompletionKey, EmptyInputKey, FieldKey, InputKey,
    ListKey, PaneKey, ReadingKey, SidebarKey,
};
use crate::tui::app::editor::Edit;

/// What each key does in each context.
#[derive(Debug, Clone, PartialEq)]
pub struct Keymap {
    /// In the order of [`Context::ALL`]; the rows of each in the order of its table.
    contexts: Vec<Vec<Row>>,
}

/// An action with its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which.
    pub id: ActionId,
    /// Its name in the context: `fold-all`.
    pub name: String,
    /// Its keys; the first one is shown.
    pub keys: Vec<Sequence>,
    /// What the help says.
    pub help: &'static str,
    /// What the last line says, if it is mentioned there.
    pub hint: Option<&'static str>,
    /// What it types, if it is a sign.
    pub types: Option<char>,
}

/// An action of a context, whichever keys it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActionId {
    /// Where.
    pub context: Context,
    /// The row of the context's table.
    pub(super) row: usize,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { contexts: Context::ALL.into_iter().map(built_in).collect() }
    }
}

impl Keymap {
    /// The actions of a context.
    pub fn rows(&self, context: Context) -> &[Row] {
        let at = Context::ALL.iter().position(|other| *other == context);
        at.and_then(|at| self.contexts.get(at)).map_or(&[], Vec::as_slice)
    }

    /// An action's row.
    pub fn row<A: Action>(&self, action: A) -> Option<&Row> {
        let at = A::TABLE.iter().position(|row| row.action == action)?;
        self.rows(A::CONTEXT).get(at)
    }

    /// The key to tell people of, or the action's name where it has none.
    pub fn key<A: Action>(&self, action: A) -> String {
        let key = self.row(action).and_then(|row| row.keys.first());
        let name = || format!("({}.{})", A::CONTEXT.name(), name(action));
        key.map_or_else(name, Sequence::to_string)
    }

    /// What the last line says of a context: key and word.
    pub fn hints(&self, context: Context) -> impl Iterator<Item = (String, &'static str)> {
        self.rows(context).iter().filter_map(Row::hinted)
    }

    /// What the last line says of an action: key and word.
    pub fn hint<A: Action>(&self, action: A) -> Option<(String, &'static str)> {
        self.row(action).and_then(Row::hinted)
    }
}

impl Row {
    /// Its name with its context: `chat.fold-all`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.id.context.name(), self.name)
    }

    /// Its first keys, as they are shown in a list.
    pub fn shown(&self) -> String {
        let keys: Vec<String> = self.keys.iter().take(2).map(Sequence::to_string).collect();
        keys.join("  ")
    }

    fn hinted(&self) -> Option<(String, &'static str)> {
        Some((self.keys.first()?.to_string(), self.hint?))
    }
}

/// What slug's own table says of a context.
fn built_in(context: Context) -> Vec<Row> {
    match context {
        Context::Always => rows::<AlwaysKey>(),
        Context::Chat => rows::<ChatKey>(),
        Context::Input => rows::<InputKey>(),
        Context::EmptyInput => rows::<EmptyInputKey>(),
        Context::Editing => rows::<Edit>(),
        Context::Completion => rows::<CompletionKey>(),
        Context::Panes => rows::<PaneKey>(),
        Context::Approval => rows::<ApprovalKey>(),
        Context::Field => rows::<FieldKey>(),
        Context::List => rows::<ListKey>(),
        Context::Sessions => rows::<SidebarKey>(),
        Context::Reading => rows::<ReadingKey>(),
    }
}

fn rows<A: Action>() -> Vec<Row> {
    let row = |(row, binding): (usize, &Binding<A>)| Row {
        id: ActionId { context: A::CONTEXT, row },
        name: name(binding.action),
        keys: binding.keys.iter().copied().map(Sequence::from).collect(),
        help: binding.help,
        hint: binding.hint,
        types: binding.action.types(),
    };
    A::TABLE.iter().enumerate().map(row).collect()
}

/// An action's name: its variant's, in small letters with hyphens.
fn name<A: Action>(action: A) -> String {
    let mut name = String::new();
    for c in format!("{action:?}").chars() {
        if c.is_ascii_uppercase() && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        match c {
            '(' => name.push('-'),
            ')' => {}
            c => name.push(c.to_ascii_lowercase()),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tui::app::keymap::{ChatKey, PaneKey, Scrolling};

    #[test]
    fn an_action_is_named_after_its_variant() {
        assert_eq!(name(ChatKey::FoldAll), "fold-all");
        assert_eq!(name(PaneKey::Scroll(Scrolling::PageUp)), "scroll-page-up");
        let keys = Keymap::default();
        assert_eq!(keys.row(ChatKey::FoldAll).unwrap().full_name(), "chat.fold-all");
        assert_eq!(keys.key(ChatKey::Sessions), "ctrl+b");
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        let map = Keymap::default();
        for (place, contexts) in Context::TOGETHER {
            let rows = contexts.iter().flat_map(|context| map.rows(*context));
            let mut seen: Vec<(&Sequence, &Row)> = Vec::new();
            for (keys, row) in rows.flat_map(|row| row.keys.iter().map(move |keys| (keys, row))) {
                if let Some((_, other)) = seen.iter().find(|(other, _)| other.collides(keys)) {
                    let names = (row.full_name(), other.full_name());
                    panic!("{place}: {keys} is both {} and {}", names.0, names.1);
                }
                seen.push((keys, row));
            }
        }
    }

    #[test]
    fn every_action_has_one_row_a_plain_name_and_a_word_of_help() {
        let keys = Keymap::default();
        let mut seen = HashSet::new();
        for row in Context::ALL.into_iter().flat_map(|context| keys.rows(context)) {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(row.name.chars().all(plain), "{}", row.full_name());
            assert!(!row.keys.is_empty() && !row.help.is_empty(), "{}", row.full_name());
            assert!(seen.insert(row.full_name()), "{} has two rows", row.full_name());
        }
    }
}
