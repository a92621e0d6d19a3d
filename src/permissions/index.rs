//! Which rules may speak of a call, so that not all of hundreds are tried on each part of it: those
//! on tools, those on files, and of those on commands the ones with the command's name.
//!
//! Whether a rule holds is not said here. Rules stay in their order.

use std::collections::HashMap;

use crate::domain::RuleKind;

use super::wrappers::base_name;

/// What a rule speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSubject<'a> {
    Tools,
    Files,
    /// Commands of this name, where the rule gives one.
    Commands(Option<&'a str>),
}

/// The places of rules in their list.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    allow: RuleKindIndex,
    ask: RuleKindIndex,
    deny: RuleKindIndex,
}

#[derive(Debug, Clone, Default)]
struct RuleKindIndex {
    tools: Vec<usize>,
    files: Vec<usize>,
    named: HashMap<String, Vec<usize>>,
    /// Those on commands of more than one name.
    open: Vec<usize>,
}

impl RuleIndex {
    /// Takes in the rule at a place behind all before.
    pub(super) fn add(&mut self, place: usize, kind: RuleKind, subject: RuleSubject<'_>) {
        let of_kind = match kind {
            RuleKind::Allow => &mut self.allow,
            RuleKind::Ask => &mut self.ask,
            RuleKind::Deny => &mut self.deny,
        };
        let places = match subject {
            RuleSubject::Tools => &mut of_kind.tools,
            RuleSubject::Files => &mut of_kind.files,
            RuleSubject::Commands(None) => &mut of_kind.open,
            RuleSubject::Commands(Some(name)) => of_kind.named.entry(name.to_owned()).or_default(),
        };
        places.push(place);
    }

    /// The rules on tools.
    pub(super) fn tools(&self, kind: RuleKind) -> &[usize] {
        &self.of_kind(kind).tools
    }

    /// The rules on files.
    pub(super) fn files(&self, kind: RuleKind) -> &[usize] {
        &self.of_kind(kind).files
    }

    /// The rules that may speak of a command that begins with this word, as it stands, without its
    /// folder, or in lower case.
    pub(super) fn commands(&self, kind: RuleKind, word: Option<&str>) -> Vec<usize> {
        let of_kind = self.of_kind(kind);
        let mut places = of_kind.open.clone();
        if let Some(word) = word {
            let name = base_name(word);
            for name in [word, name, &name.to_ascii_lowercase()] {
                places.extend(of_kind.named.get(name).into_iter().flatten());
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    fn of_kind(&self, kind: RuleKind) -> &RuleKindIndex {
        match kind {
            RuleKind::Allow => &self.allow,
            RuleKind::Ask => &self.ask,
            RuleKind::Deny => &self.deny,
        }
    }
}
