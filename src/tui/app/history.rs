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
pub struct History {
    entries: Vec<Sent>,
    /// Where the file goes on towards its beginning, in it; `None` where all of it is here.
    pub earlier: Option<u64>,
    /// Where up has led, and what was typed before.
    visit: Option<Visit>,
}

/// Something that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What it says.
    pub typed: UserInput,
    /// The folder it was sent from, where that is not this one.
    pub elsewhere: Option<String>,
}

/// Whether something is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// It is.
    Keeping,
    /// It is not.
    Nothing,
}

/// What comes back on the way down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recalled {
    /// A text that was sent.
    Sent(UserInput),
    /// What was being typed.
    Typed(String),
}

#[derive(Debug, Clone, PartialEq)]
struct Visit {
    at: usize,
    typed: String,
}

impl Sent {
    fn of(prompt: SentPrompt, folder: &Path) -> Self {
        let elsewhere = prompt.folder.filter(|from| Path::new(from) != folder);
        Self { typed: prompt.typed, elsewhere }
    }
}

impl<T: Into<UserInput>> From<T> for Sent {
    fn from(typed: T) -> Self {
        Self { typed: typed.into(), elsewhere: None }
    }
}

impl History {
    /// A history of `entries`, oldest first.
    pub fn new(entries: Vec<Sent>) -> Self {
        let mut history = Self { entries, earlier: None, visit: None };
        history.sort();
        history
    }

    /// All entries, the one that the way back leads to first last.
    pub fn entries(&self) -> &[Sent] {
        &self.entries
    }

    /// Takes in a page of the file, whose newest prompt is older than all that are here.
    pub fn prepend(&mut self, page: HistoryPage, folder: &Path) {
        self.visit = None;
        self.earlier = page.earlier;
        let mut known: HashSet<String> =
            self.entries.iter().map(|sent| sent.typed.text.clone()).collect();
        let new = page.prompts.into_iter().filter(|it| known.insert(it.typed.text.clone()));
        let mut new: Vec<Sent> = new.map(|prompt| Sent::of(prompt, folder)).collect();
        new.reverse();
        new.append(&mut self.entries);
        self.entries = new;
        self.sort();
    }

    fn sort(&mut self) {
        self.entries.sort_by_key(|sent| sent.elsewhere.is_none());
    }

    /// Adds what was sent, as the newest. Says whether it is worth keeping over sessions, too: a
    /// slash command is not, since `/` lists them all, and neither is what is there already.
    pub fn add(&mut self, text: &UserInput) -> Worth {
        self.visit = None;
        let is_command = matches!(crate::commands::parse(&text.text), Some(Ok(_)));
        if is_command || text.is_blank() || self.entries.last().is_some_and(|it| it.typed == *text)
        {
            return Worth::Nothing;
        }
        self.entries.retain(|entry| entry.typed != *text);
        self.entries.push(text.clone().into());
        Worth::Keeping
    }

    /// The newest entry before the present one that begins as what was typed does.
    pub fn older(&mut self, text: &str) -> Option<UserInput> {
        let (from, typed) = match &self.visit {
            Some(visit) => (visit.at, visit.typed.clone()),
            None => (self.entries.len(), text.to_owned()),
        };
        let at =
            self.entries[..from].iter().rposition(|entry| entry.typed.text.starts_with(&typed))?;
        self.visit = Some(Visit { at, typed });
        self.entries.get(at).map(|sent| sent.typed.clone())
    }

    /// The entry after the present one; after the newest, what was typed.
    pub fn newer(&mut self) -> Option<Recalled> {
        let visit = self.visit.as_mut()?;
        let later = self.entries.iter().enumerate().skip(visit.at + 1);
        match later.into_iter().find(|(_, entry)| entry.typed.text.starts_with(&visit.typed)) {
            Some((at, entry)) => {
                visit.at = at;
                Some(Recalled::Sent(entry.typed.clone()))
            }
            None => self.visit.take().map(|visit| Recalled::Typed(visit.typed)),
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
        let mut history = History::new(vec!["run".into(), "fix".into()]);
        for (text, worth) in [
            ("/quit", Worth::Nothing),
            ("/mode plan", Worth::Nothing),
            (" ", Worth::Nothing),
            ("fix", Worth::Nothing),
            ("run", Worth::Keeping),
            ("/usr/bin is full", Worth::Keeping),
            ("!ls", Worth::Keeping),
        ] {
            assert_eq!(history.add(&text.into()), worth, "{text}");
        }
        assert_eq!(history.entries(), ["fix", "run", "/usr/bin is full", "!ls"].map(Sent::from));
    }

    #[test]
    fn up_and_down_walk_the_entries_that_begin_alike() {
        let mut history = History::new(vec!["fix a".into(), "run".into(), "fix b".into()]);
        assert_eq!(history.older("fix"), Some("fix b".into()));
        assert_eq!(history.older("fix b"), Some("fix a".into()));
        assert_eq!(history.older("fix a"), None);
        assert_eq!(history.newer(), Some(Recalled::Sent("fix b".into())));
        assert_eq!(history.newer(), Some(Recalled::Typed("fix".into())));
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
        let mut history = History::new(vec!["newest".into()]);
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
        assert_eq!(history.entries()[0].elsewhere.as_deref(), Some("/other"));
        assert_eq!(history.older(""), Some("newest".into()));
        assert_eq!(
            (history.older(""), history.older("")),
            (Some("here".into()), Some("there".into()))
        );
    }
}
