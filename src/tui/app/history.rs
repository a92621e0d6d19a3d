//! What the person sent before, to be called back with up and down.

use std::collections::HashSet;
use std::path::Path;

use crate::domain::UserInput;
use crate::session::{HistoryPage, SentPrompt};

/// The sent texts and where among them the input stands.
///
/// What was sent from elsewhere comes before what was sent from this folder, so that the way back
/// leads through this folder's first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputHistory {
    entries: Vec<InputHistoryEntry>,
    /// Where the file goes on towards its beginning, in it; `None` where all of it is here.
    pub earlier: Option<u64>,
    /// Where up has led, and what was typed before.
    visit: Option<HistoryCursor>,
}

/// Something that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputHistoryEntry {
    /// What it says.
    pub typed: UserInput,
    /// The folder it was sent from, where that is not this one.
    pub other_folder: Option<String>,
}

/// Whether something is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRetention {
    /// It is.
    Keep,
    /// It is not.
    Skip,
}

/// What comes back on the way down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecalledInput {
    /// A text that was sent.
    Sent(UserInput),
    /// What was being typed.
    Typed(String),
}

#[derive(Debug, Clone, PartialEq)]
struct HistoryCursor {
    at: usize,
    typed: String,
}

impl InputHistoryEntry {
    fn of(prompt: SentPrompt, folder: &Path) -> Self {
        let elsewhere = prompt.folder.filter(|from| Path::new(from) != folder);
        Self { typed: prompt.typed, other_folder: elsewhere }
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
        let mut history = Self { entries, earlier: None, visit: None };
        history.sort();
        history
    }

    /// All entries, the one that the way back leads to first last.
    pub fn entries(&self) -> &[InputHistoryEntry] {
        &self.entries
    }

    /// Takes in a page of the file, whose newest prompt is older than all that are here.
    pub fn prepend(&mut self, page: HistoryPage, folder: &Path) {
        self.visit = None;
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

    /// Adds what was sent, as the newest. Says whether it is worth keeping over sessions, too: a
    /// slash command is not, since `/` lists them all, and neither is what is there already.
    pub fn add(&mut self, text: &UserInput) -> HistoryRetention {
        self.visit = None;
        let is_command = matches!(crate::commands::parse(&text.text), Some(Ok(_)));
        if is_command || text.is_blank() || self.entries.last().is_some_and(|it| it.typed == *text)
        {
            return HistoryRetention::Skip;
        }
        self.entries.retain(|entry| entry.typed != *text);
        self.entries.push(text.clone().into());
        HistoryRetention::Keep
    }

    /// The newest entry before the present one that begins as what was typed does.
    pub fn older(&mut self, text: &str) -> Option<UserInput> {
        let (from, typed) = match &self.visit {
            Some(visit) => (visit.at, visit.typed.clone()),
            None => (self.entries.len(), text.to_owned()),
        };
        let at =
            self.entries[..from].iter().rposition(|entry| entry.typed.text.starts_with(&typed))?;
        self.visit = Some(HistoryCursor { at, typed });
        self.entries.get(at).map(|sent| sent.typed.clone())
    }

    /// The entry after the present one; after the newest, what was typed.
    pub fn newer(&mut self) -> Option<RecalledInput> {
        let visit = self.visit.as_mut()?;
        let later = self.entries.iter().enumerate().skip(visit.at + 1);
        match later.into_iter().find(|(_, entry)| entry.typed.text.starts_with(&visit.typed)) {
            Some((at, entry)) => {
                visit.at = at;
                Some(RecalledInput::Sent(entry.typed.clone()))
            }
            None => self.visit.take().map(|visit| RecalledInput::Typed(visit.typed)),
        }
    }

    /// Forgets where up has led: the text was changed by hand.
    pub fn leave(&mut self) {
        self.visit = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_repetitions_do_not_clutter_it() {
        let mut history = InputHistory::new(vec!["run".into(), "fix".into()]);
        for (text, worth) in [
            ("/quit", HistoryRetention::Skip),
            ("/mode plan", HistoryRetention::Skip),
            (" ", HistoryRetention::Skip),
            ("fix", HistoryRetention::Skip),
            ("run", HistoryRetention::Keep),
            ("/usr/bin is full", HistoryRetention::Keep),
            ("!ls", HistoryRetention::Keep),
        ] {
            assert_eq!(history.add(&text.into()), worth, "{text}");
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
    fn the_way_back_leads_through_this_folder_first() {
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
