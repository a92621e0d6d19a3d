//! The texts that the user sent before, which up and down bring back.

use std::collections::HashSet;
use std::path::Path;

use crate::commands::{CommandRegistry, SlashCommand};
use crate::domain::UserInput;
use crate::session::{HistoryPage, SentPrompt};

/// The sent texts, and the position that the input has reached among them.
///
/// Texts sent from other folders come before those from this folder, so that going back shows this
/// folder's texts first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputHistory {
    entries: Vec<InputHistoryEntry>,
    /// The offset in the history file up to which older texts remain to be read; `None` if none do.
    pub earlier: Option<u64>,
    /// Where up has led, and the text typed before that; `None` while the user types.
    cursor: Option<HistoryCursor>,
}

/// A text that was sent, and the folder it was sent from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputHistoryEntry {
    /// The text with its images.
    pub typed: UserInput,
    /// The folder it was sent from; `None` for this folder.
    pub other_folder: Option<String>,
}

/// Whether a text is saved across sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRetention {
    Keep,
    Skip,
}

/// What moving down brings back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecalledInput {
    /// A text of the history.
    Sent(UserInput),
    /// The text that was typed before moving up.
    Typed(String),
}

#[derive(Debug, Clone, PartialEq)]
struct HistoryCursor {
    at: usize,
    typed: String,
}

impl InputHistoryEntry {
    fn of(prompt: SentPrompt, folder: &Path) -> Self {
        let other_folder = prompt.folder.filter(|from| Path::new(from) != folder);
        Self { typed: prompt.typed, other_folder }
    }
}

impl<T: Into<UserInput>> From<T> for InputHistoryEntry {
    fn from(typed: T) -> Self {
        Self { typed: typed.into(), other_folder: None }
    }
}

impl InputHistory {
    /// A history of `entries`, oldest first.
    pub fn new(entries: Vec<InputHistoryEntry>) -> Self {
        let mut history = Self { entries, earlier: None, cursor: None };
        history.sort();
        history
    }

    /// All entries; moving up starts at the last one.
    pub fn entries(&self) -> &[InputHistoryEntry] {
        &self.entries
    }

    /// Adds a page of the file. Its texts are all older than the ones that are here; known ones are
    /// skipped.
    pub fn prepend(&mut self, page: HistoryPage, folder: &Path) {
        self.cursor = None;
        self.earlier = page.earlier;
        let mut known: HashSet<String> =
            self.entries.iter().map(|sent| sent.typed.text.clone()).collect();
        let new = page.prompts.into_iter().filter(|it| known.insert(it.typed.text.clone()));
        let mut new: Vec<InputHistoryEntry> =
            new.map(|prompt| InputHistoryEntry::of(prompt, folder)).collect();
        new.reverse();
        new.append(&mut self.entries);
        self.entries = new;
        self.sort();
    }

    fn sort(&mut self) {
        self.entries.sort_by_key(|sent| sent.other_folder.is_none());
    }

    /// Adds a sent text as the newest. Returns whether to save it across sessions: not if it is a
    /// slash command, since `/` lists them all (but for a prompt, which has arguments), nor if it
    /// repeats the newest one.
    pub fn add(&mut self, text: &UserInput, commands: &CommandRegistry) -> HistoryRetention {
        self.cursor = None;
        let is_command = match commands.parse(&text.text) {
            Some(Ok(parsed)) => !matches!(parsed.command, SlashCommand::Prompt { .. }),
            Some(Err(_)) | None => false,
        };
        if is_command || text.is_blank() || self.entries.last().is_some_and(|it| it.typed == *text)
        {
            return HistoryRetention::Skip;
        }
        self.entries.retain(|entry| entry.typed != *text);
        self.entries.push(text.clone().into());
        HistoryRetention::Keep
    }

    /// Moves to the previous entry that starts like the typed text.
    pub fn older(&mut self, text: &str) -> Option<UserInput> {
        let (from, typed) = match &self.cursor {
            Some(cursor) => (cursor.at, cursor.typed.clone()),
            None => (self.entries.len(), text.to_owned()),
        };
        let at =
            self.entries[..from].iter().rposition(|entry| entry.typed.text.starts_with(&typed))?;
        self.cursor = Some(HistoryCursor { at, typed });
        self.entries.get(at).map(|sent| sent.typed.clone())
    }

    /// Moves to the next entry that starts like the typed text; after the newest, returns the typed
    /// text.
    pub fn newer(&mut self) -> Option<RecalledInput> {
        let cursor = self.cursor.as_mut()?;
        let later = self.entries.iter().enumerate().skip(cursor.at + 1);
        match later.into_iter().find(|(_, entry)| entry.typed.text.starts_with(&cursor.typed)) {
            Some((at, entry)) => {
                cursor.at = at;
                Some(RecalledInput::Sent(entry.typed.clone()))
            }
            None => self.cursor.take().map(|cursor| RecalledInput::Typed(cursor.typed)),
        }
    }

    /// Forgets where up has led, since the text was edited.
    pub fn leave(&mut self) {
        self.cursor = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_commands_and_repetitions_are_not_kept() {
        let mut history = InputHistory::new(vec!["run".into(), "fix".into()]);
        for (text, retention) in [
            ("/quit", HistoryRetention::Skip),
            ("/mode plan", HistoryRetention::Skip),
            (" ", HistoryRetention::Skip),
            ("fix", HistoryRetention::Skip),
            ("run", HistoryRetention::Keep),
            ("/usr/bin is full", HistoryRetention::Keep),
            ("!ls", HistoryRetention::Keep),
        ] {
            assert_eq!(
                history.add(&text.into(), &CommandRegistry::built_in()),
                retention,
                "{text}"
            );
        }
        assert_eq!(
            history.entries(),
            ["fix", "run", "/usr/bin is full", "!ls"].map(InputHistoryEntry::from)
        );
    }

    #[test]
    fn up_and_down_walk_the_entries_that_begin_alike() {
        let mut history = InputHistory::new(vec!["fix a".into(), "run".into(), "fix b".into()]);
        assert_eq!(history.older("fix"), Some("fix b".into()));
        assert_eq!(history.older("fix b"), Some("fix a".into()));
        assert_eq!(history.older("fix a"), None);
        assert_eq!(history.newer(), Some(RecalledInput::Sent("fix b".into())));
        assert_eq!(history.newer(), Some(RecalledInput::Typed("fix".into())));
        assert_eq!(history.newer(), None);
    }

    fn prompt(text: &str, folder: &str) -> SentPrompt {
        let line = serde_json::json!({
            "timestamp": "2026-01-01T00:00:00Z", "folder": folder, "text": text,
        });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn texts_of_this_folder_come_back_first() {
        let mut history = InputHistory::new(vec!["newest".into()]);
        let prompts = vec![
            prompt("there", "/other"),
            prompt("here", "/w"),
            prompt("newest", "/w"),
            prompt("long ago there", "/other"),
        ];
        history.prepend(HistoryPage { prompts, earlier: Some(7) }, Path::new("/w"));
        let texts: Vec<&str> =
            history.entries().iter().map(|sent| sent.typed.text.as_str()).collect();
        assert_eq!(texts, ["long ago there", "there", "here", "newest"]);
        assert_eq!(history.entries()[0].other_folder.as_deref(), Some("/other"));
        assert_eq!(history.older(""), Some("newest".into()));
        assert_eq!(
            (history.older(""), history.older("")),
            (Some("here".into()), Some("there".into()))
        );
    }
}
