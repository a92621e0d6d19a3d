//! Finds the rules that may apply to a part of a call, so that not all of hundreds are tried on
//! each part: the rules on tools, on files and on domains, and those rules on commands that have
//! the command's name.
//!
//! The index does not decide whether a rule matches. Rules keep their order.

use std::collections::HashMap;

use crate::domain::RuleKind;

use super::wrappers::base_name;

/// What a rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSubject<'a> {
    Tools,
    Files,
    Domains,
    /// Commands with this name; `None` where the rule names no single command.
    Commands(Option<&'a str>),
}

/// The positions of rules in the rule list, by kind and subject.
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
    domains: Vec<usize>,
    named: HashMap<String, Vec<usize>>,
    /// Rules on commands that name no single command.
    any_command: Vec<usize>,
}

impl RuleIndex {
    /// Adds the rule at position `place`, which comes after all earlier ones.
    pub(super) fn add(&mut self, place: usize, kind: RuleKind, subject: RuleSubject<'_>) {
        let of_kind = match kind {
            RuleKind::Allow => &mut self.allow,
            RuleKind::Ask => &mut self.ask,
            RuleKind::Deny => &mut self.deny,
        };
        let places = match subject {
            RuleSubject::Tools => &mut of_kind.tools,
            RuleSubject::Files => &mut of_kind.files,
            RuleSubject::Domains => &mut of_kind.domains,
            RuleSubject::Commands(None) => &mut of_kind.any_command,
            RuleSubject::Commands(Some(name)) => of_kind.named.entry(name.to_owned()).or_default(),
        };
        places.push(place);
    }

    pub(super) fn tools(&self, kind: RuleKind) -> &[usize] {
        &self.of_kind(kind).tools
    }

    pub(super) fn files(&self, kind: RuleKind) -> &[usize] {
        &self.of_kind(kind).files
    }

    pub(super) fn domains(&self, kind: RuleKind) -> &[usize] {
        &self.of_kind(kind).domains
    }

    /// The rules that may apply to a command that begins with `word`: as it stands, without its
    /// folder, or in lower case.
    pub(super) fn commands(&self, kind: RuleKind, word: Option<&str>) -> Vec<usize> {
        let of_kind = self.of_kind(kind);
        let mut places = of_kind.any_command.clone();
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
