//! What the person sent before, to be called back with up and down.

/// The sent texts and where among them the input stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    entries: Vec<String>,
    /// Where up has led, and what was typed before.
    visit: Option<Visit>,
}

#[derive(Debug, Clone, PartialEq)]
struct Visit {
    at: usize,
    typed: String,
}

impl History {
    /// A history of `entries`, oldest first.
    pub fn new(entries: Vec<String>) -> Self {
        Self { entries, visit: None }
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds what was sent. The same text twice in a row is one entry.
    pub fn add(&mut self, text: &str) {
        self.visit = None;
        if self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
    }

    /// The newest entry before the present one that begins as what was typed does.
    pub fn older(&mut self, text: &str) -> Option<String> {
        let (from, typed) = match &self.visit {
            Some(visit) => (visit.at, visit.typed.clone()),
            None => (self.entries.len(), text.to_owned()),
        };
        let at = self.entries[..from].iter().rposition(|entry| entry.starts_with(&typed))?;
        self.visit = Some(Visit { at, typed });
        self.entries.get(at).cloned()
    }

    /// The entry after the present one; after the newest, what was typed.
    pub fn newer(&mut self) -> Option<String> {
        let visit = self.visit.as_mut()?;
        let later = self.entries.iter().enumerate().skip(visit.at + 1);
        match later.into_iter().find(|(_, entry)| entry.starts_with(&visit.typed)) {
            Some((at, entry)) => {
                visit.at = at;
                Some(entry.clone())
            }
            None => self.visit.take().map(|visit| visit.typed),
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
    fn up_and_down_walk_the_entries_that_begin_alike() {
        let mut history = History::new(vec!["fix a".into(), "run".into(), "fix b".into()]);
        assert_eq!(history.older("fix"), Some("fix b".into()));
        assert_eq!(history.older("fix b"), Some("fix a".into()));
        assert_eq!(history.older("fix a"), None);
        assert_eq!(history.newer(), Some("fix b".into()));
        assert_eq!(history.newer(), Some("fix".into()));
        assert_eq!(history.newer(), None);
    }
}
