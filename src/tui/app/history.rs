//! What the person sent before, to be called back with up and down.

use crate::domain::Typed;

/// The sent texts and where among them the input stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    entries: Vec<Typed>,
    /// Where up has led, and what was typed before.
    visit: Option<Visit>,
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
    Sent(Typed),
    /// What was being typed.
    Typed(String),
}

#[derive(Debug, Clone, PartialEq)]
struct Visit {
    at: usize,
    typed: String,
}

impl History {
    /// A history of `entries`, oldest first.
    pub fn new(entries: Vec<Typed>) -> Self {
        Self { entries, visit: None }
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Typed] {
        &self.entries
    }

    /// Adds what was sent, as the newest. Says whether it is worth keeping over sessions, too: a
    /// slash command is not, since `/` lists them all, and neither is what is there already.
    pub fn add(&mut self, text: &Typed) -> Worth {
        self.visit = None;
        let is_command = matches!(crate::commands::parse(&text.text), Some(Ok(_)));
        if is_command || text.is_blank() || self.entries.last().is_some_and(|it| it == text) {
            return Worth::Nothing;
        }
        self.entries.retain(|entry| entry != text);
        self.entries.push(text.clone());
        Worth::Keeping
    }

    /// The newest entry before the present one that begins as what was typed does.
    pub fn older(&mut self, text: &str) -> Option<Typed> {
        let (from, typed) = match &self.visit {
            Some(visit) => (visit.at, visit.typed.clone()),
            None => (self.entries.len(), text.to_owned()),
        };
        let at = self.entries[..from].iter().rposition(|entry| entry.text.starts_with(&typed))?;
        self.visit = Some(Visit { at, typed });
        self.entries.get(at).cloned()
    }

    /// The entry after the present one; after the newest, what was typed.
    pub fn newer(&mut self) -> Option<Recalled> {
        let visit = self.visit.as_mut()?;
        let later = self.entries.iter().enumerate().skip(visit.at + 1);
        match later.into_iter().find(|(_, entry)| entry.text.starts_with(&visit.typed)) {
            Some((at, entry)) => {
                visit.at = at;
                Some(Recalled::Sent(entry.clone()))
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
        assert_eq!(history.entries(), ["fix", "run", "/usr/bin is full", "!ls"].map(Typed::from));
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
}
