//! The resolved keymap: the current keys of each action, and the names of the actions.
//!
//! It is made once, when slug starts: slug's default keys, then a preset, then the user's
//! `keys.toml`. Invariant: whatever these files say, no key has two meanings in one context.

use super::actions::{
    AgentsKey, AlwaysKey, ApprovalKey, CaretKey, ChangesKey, ChatKey, CompletionKey, EmptyInputKey,
    FieldKey, FindKey, InputKey, JobsKey, LedgerKey, ListKey, LspKey, McpKey, MemoryKey,
    ModelListKey, PagerKey, PaneKey, QuestionKey, RaceKey, ReadingKey, ReviewKey, RewindKey,
    RulesKey, SearchKey, SearchMatchKey, SidebarKey,
};
use super::chord::KeySequence;
use super::conflicts::{self, KeyConflict};
use super::context::{KeyAction, KeyContext};
use super::tables::{KeyBinding, KeySheetColumn};
use super::{file, presets};
use crate::config::{ConfigText, KeyPreset};
use crate::tui::app::keymap::actions::EditAction;

/// The keys of every action in every context.
#[derive(Debug, Clone, PartialEq)]
pub struct Keymap {
    /// In the order of [`KeyContext::ALL`]; the rows of each in the order of its table.
    contexts: Vec<Vec<KeymapRow>>,
    preset: KeyPreset,
}

/// An action with its current keys.
#[derive(Debug, Clone, PartialEq)]
pub struct KeymapRow {
    pub id: KeyActionId,
    /// The name within the context, as in `fold-all`.
    pub name: String,
    /// The bound keys; the first one is shown.
    pub keys: Vec<KeySequence>,
    /// How many of the keys the terminal cannot send, as far as slug knows; these come last.
    unsent: usize,
    /// The text in the help.
    pub help: &'static str,
    /// The word in the last line; `None` if the action is not mentioned there.
    pub hint: Option<&'static str>,
    /// The place on the sheet of keys, and the words there.
    pub sheet: Option<(KeySheetColumn, &'static str)>,
    /// The character that the key types into the input, for actions named by a sign.
    pub types: Option<char>,
    /// Where the keys were bound.
    pub origin: KeyOrigin,
}

/// Where an action's keys were bound; later variants override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyOrigin {
    /// In slug's default keys.
    Default,
    Preset,
    /// In the user's file, in this line, from 1.
    File(usize),
}

/// Identifies an action within its context, whichever keys it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyActionId {
    pub context: KeyContext,
    /// The index of the action in the context's table.
    pub(super) row: usize,
}

impl Default for Keymap {
    fn default() -> Self {
        let contexts = KeyContext::ALL.into_iter().map(built_in).collect();
        Self { contexts, preset: KeyPreset::Default }
    }
}

impl Keymap {
    /// The keymap of a preset with the user's own file, and the problems of that file, one sentence
    /// each.
    pub fn resolve(preset: KeyPreset, user_file: Option<&ConfigText>) -> (Self, Vec<String>) {
        let mut map = Self { preset, ..Self::default() };
        // A test checks that no preset has a problem.
        map.change(&file::parse(presets::text(preset), &map), |_| KeyOrigin::Preset);
        let mut remarks = Vec::new();
        if let Some(user_file) = user_file {
            let parsed = file::parse(&user_file.text, &map);
            map.change(&parsed, KeyOrigin::File);
            remarks.extend(parsed.remarks.into_iter().map(|remark| (remark.line, remark.text)));
        }
        let found = conflicts::settle(&mut map).into_iter().chain(conflicts::hidden(&map));
        remarks.extend(found.filter_map(|KeyConflict { origin, text }| match origin {
            KeyOrigin::File(line) => Some((line, text)),
            KeyOrigin::Default | KeyOrigin::Preset => None,
        }));
        remarks.sort_by_key(|(line, _)| *line);
        let path =
            user_file.map(|user_file| user_file.path.display().to_string()).unwrap_or_default();
        let problems = remarks.into_iter().map(|(line, text)| format!("{path}:{line}: {text}"));
        (map, problems.collect())
    }

    /// Shows only the keys that the terminal can send; all keep their meaning.
    pub fn show_only(&mut self, can_send: impl Fn(&KeySequence) -> bool) {
        for row in self.contexts.iter_mut().flatten() {
            row.keys.sort_by_key(|keys| !can_send(keys));
            row.unsent = row.keys.iter().filter(|keys| !can_send(keys)).count();
        }
    }

    /// The preset that the user's keys override.
    pub fn preset(&self) -> KeyPreset {
        self.preset
    }

    /// The actions of a context, in the order of its table.
    pub fn rows(&self, context: KeyContext) -> &[KeymapRow] {
        let at = KeyContext::ALL.iter().position(|other| *other == context);
        at.and_then(|at| self.contexts.get(at)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn rows_mut(&mut self, context: KeyContext) -> &mut [KeymapRow] {
        let at = KeyContext::ALL.iter().position(|other| *other == context);
        at.and_then(|at| self.contexts.get_mut(at)).map_or(&mut [], Vec::as_mut_slice)
    }

    fn change(&mut self, parsed: &file::ParsedKeymap, origin: impl Fn(usize) -> KeyOrigin) {
        for change in &parsed.changes {
            if let Some(row) = self.rows_mut(change.action.context).get_mut(change.action.row) {
                row.keys.clone_from(&change.keys);
                row.origin = origin(change.line);
            }
        }
    }

    /// The row of an action with its current keys.
    pub fn row<A: KeyAction>(&self, action: A) -> Option<&KeymapRow> {
        let at = A::TABLE.iter().position(|row| row.action == action)?;
        self.rows(A::CONTEXT).get(at)
    }

    /// The key to show for an action, or the action's name in parentheses if it has no key.
    pub fn key<A: KeyAction>(&self, action: A) -> String {
        let name = || format!("({}.{})", A::CONTEXT.name(), name(action));
        self.bound(action).map_or_else(name, KeySequence::to_string)
    }

    /// The keys that stand for an action on this terminal; `None` if it has none.
    pub fn bound<A: KeyAction>(&self, action: A) -> Option<&KeySequence> {
        self.row(action).and_then(|row| row.sent().first())
    }

    /// The hints of a context for the last line: key and word.
    pub fn hints(&self, context: KeyContext) -> impl Iterator<Item = (String, &'static str)> {
        self.rows(context).iter().filter_map(KeymapRow::hinted)
    }

    /// The hint of an action for the last line: key and word; `None` if it has no key or no word.
    pub fn hint<A: KeyAction>(&self, action: A) -> Option<(String, &'static str)> {
        self.row(action).and_then(KeymapRow::hinted)
    }
}

impl KeymapRow {
    /// The name with its context, as in `chat.fold-all`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.id.context.name(), self.name)
    }

    /// The keys that the terminal can send, the one to show first.
    pub fn sent(&self) -> &[KeySequence] {
        &self.keys[..self.keys.len().saturating_sub(self.unsent)]
    }

    /// The first two keys that the terminal can send, as lists show them.
    pub fn shown(&self) -> String {
        let keys: Vec<String> = self.sent().iter().take(2).map(KeySequence::to_string).collect();
        keys.join("  ")
    }

    fn hinted(&self) -> Option<(String, &'static str)> {
        Some((self.sent().first()?.to_string(), self.hint?))
    }
}

/// The rows of a context with slug's default keys.
fn built_in(context: KeyContext) -> Vec<KeymapRow> {
    match context {
        KeyContext::Always => rows::<AlwaysKey>(),
        KeyContext::Chat => rows::<ChatKey>(),
        KeyContext::Input => rows::<InputKey>(),
        KeyContext::EmptyInput => rows::<EmptyInputKey>(),
        KeyContext::Editing => rows::<EditAction>(),
        KeyContext::Completion => rows::<CompletionKey>(),
        KeyContext::Panes => rows::<PaneKey>(),
        KeyContext::Search => rows::<SearchKey>(),
        KeyContext::Match => rows::<SearchMatchKey>(),
        KeyContext::Caret => rows::<CaretKey>(),
        KeyContext::Approval => rows::<ApprovalKey>(),
        KeyContext::Questions => rows::<QuestionKey>(),
        KeyContext::Field => rows::<FieldKey>(),
        KeyContext::List => rows::<ListKey>(),
        KeyContext::Models => rows::<ModelListKey>(),
        KeyContext::Sessions => rows::<SidebarKey>(),
        KeyContext::Reading => rows::<ReadingKey>(),
        KeyContext::Pager => rows::<PagerKey>(),
        KeyContext::Find => rows::<FindKey>(),
        KeyContext::Changes => rows::<ChangesKey>(),
        KeyContext::Context => rows::<LedgerKey>(),
        KeyContext::Jobs => rows::<JobsKey>(),
        KeyContext::Agents => rows::<AgentsKey>(),
        KeyContext::Race => rows::<RaceKey>(),
        KeyContext::Mcp => rows::<McpKey>(),
        KeyContext::Lsp => rows::<LspKey>(),
        KeyContext::Memory => rows::<MemoryKey>(),
        KeyContext::Rules => rows::<RulesKey>(),
        KeyContext::Rewind => rows::<RewindKey>(),
        KeyContext::Review => rows::<ReviewKey>(),
    }
}

fn rows<A: KeyAction>() -> Vec<KeymapRow> {
    let row = |(row, binding): (usize, &KeyBinding<A>)| KeymapRow {
        id: KeyActionId { context: A::CONTEXT, row },
        name: name(binding.action),
        keys: binding.keys.iter().copied().map(KeySequence::from).collect(),
        unsent: 0,
        help: binding.help,
        hint: binding.hint,
        sheet: binding.sheet,
        types: binding.action.types(),
        origin: KeyOrigin::Default,
    };
    A::TABLE.iter().enumerate().map(row).collect()
}

/// The name of an action: that of its variant, in lower case with hyphens.
fn name<A: KeyAction>(action: A) -> String {
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
    use crate::tui::app::keymap::{ChatKey, PaneKey, ScrollAction};

    #[test]
    fn an_action_is_named_after_its_variant() {
        assert_eq!(name(ChatKey::FoldAll), "fold-all");
        assert_eq!(name(PaneKey::Scroll(ScrollAction::PageUp)), "scroll-page-up");
        let keys = Keymap::default();
        assert_eq!(keys.row(ChatKey::FoldAll).unwrap().full_name(), "chat.fold-all");
        assert_eq!(keys.key(ChatKey::Sessions), "ctrl+b");
    }

    fn conflicts(preset: KeyPreset) -> Vec<KeyConflict> {
        let mut map = Keymap { preset, ..Keymap::default() };
        let parsed = file::parse(presets::text(preset), &map);
        assert_eq!(parsed.remarks, [], "{preset}");
        map.change(&parsed, |_| KeyOrigin::Preset);
        [conflicts::settle(&mut map), conflicts::hidden(&map)].concat()
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for preset in KeyPreset::ALL {
            assert_eq!(conflicts(preset), [], "assets/keys/{preset}.toml has to solve this");
        }
    }

    #[test]
    fn keys_that_a_multiplexer_takes_have_a_second_key() {
        // The prefixes of tmux and screen.
        let prefixes = ["ctrl+b", "ctrl+a"].map(|key| key.parse::<KeySequence>().unwrap());
        for preset in KeyPreset::ALL {
            let (map, _) = Keymap::resolve(preset, None);
            for row in KeyContext::ALL.into_iter().flat_map(|context| map.rows(context)) {
                let taken =
                    row.keys.iter().filter(|keys| prefixes.iter().any(|it| it.collides(keys)));
                let taken = taken.count();
                let second = taken == 0 || taken < row.keys.len();
                assert!(second, "{preset}: {} has no other key", row.full_name());
            }
        }
    }

    #[test]
    fn every_action_has_one_row_a_plain_name_and_a_word_of_help() {
        let keys = Keymap::default();
        let mut seen = HashSet::new();
        for row in KeyContext::ALL.into_iter().flat_map(|context| keys.rows(context)) {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(row.name.chars().all(plain), "{}", row.full_name());
            assert!(!row.help.is_empty(), "{}", row.full_name());
            assert!(seen.insert(row.full_name()), "{} has two rows", row.full_name());
        }
    }

    fn with_user_file(text: &str) -> (Keymap, Vec<String>) {
        let user_file = ConfigText { path: "keys.toml".into(), text: text.to_owned() };
        Keymap::resolve(KeyPreset::Default, Some(&user_file))
    }

    #[test]
    fn the_users_keys_replace_slugs() {
        let (map, problems) = with_user_file("[chat]\nsessions = \"f2\"\nfold-all = []\n");
        assert_eq!(problems, [""; 0]);
        let row = map.row(ChatKey::Sessions).unwrap();
        assert_eq!((row.shown().as_str(), row.origin), ("f2", KeyOrigin::File(2)));
        assert_eq!(map.key(ChatKey::FoldAll), "(chat.fold-all)");
        assert_eq!(map.row(ChatKey::Palette).unwrap().origin, KeyOrigin::Default);
    }

    #[test]
    fn two_actions_can_change_places() {
        let (map, problems) =
            with_user_file("[chat]\nsessions = \"ctrl+p\"\npalette = \"ctrl+b\"\n");
        assert_eq!(problems, [""; 0]);
        assert_eq!(map.key(ChatKey::Palette), "ctrl+b");
    }

    #[test]
    fn in_a_conflict_the_earlier_binding_is_kept() {
        let rows = [
            (
                "[chat]\nsessions = [\"ctrl+p\", \"f2\"]",
                "keys.toml:2: `ctrl+p` is already chat.palette, so it is not bound to \
                 chat.sessions: first bind chat.palette to other keys, or to []",
            ),
            (
                "[panes]\ncopy = \"g g\"",
                "keys.toml:2: terminals send `g g` and `g` alike, and `g` is panes.scroll-top, so it \
                 is not bound to panes.copy: first bind panes.scroll-top to other keys, or to []",
            ),
            (
                "[input]\nhistory = \"h\"",
                "keys.toml:2: `h` types text, so it is not bound to input.history: add ctrl or \
                 alt",
            ),
            (
                "[chat]\npalette = \"ctrl+k\"",
                "keys.toml:2: in the input, `ctrl+k` is bound to editing.kill-end, so it cannot do \
                 chat.palette",
            ),
        ];
        for (text, sentence) in rows {
            assert_eq!(with_user_file(text).1, [sentence], "{text}");
        }
        let (map, _) = with_user_file(rows[0].0);
        assert_eq!(map.key(ChatKey::Sessions), "f2");
        assert_eq!(map.key(ChatKey::Palette), "ctrl+p");
        let (map, _) = with_user_file(rows[3].0);
        assert_eq!(map.key(ChatKey::Palette), "ctrl+k", "it works on the panes");
    }
}
