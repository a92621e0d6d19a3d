//! The rules that an answer has just saved: the last line says so, and a key takes them back for as
//! long as it does.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent::{AgentCommand, RuleRequest};
use crate::domain::{AgentId, NoticeLevel};
use crate::permissions::store::{RuleEdit, RuleEntry};

use super::effect::ScreenEffect;
use super::settings::InputSource;
use super::shared::{SharedState, ToastMessage};

/// How long the last line offers to take a rule back.
const OFFERED_FOR: Duration = Duration::from_secs(10);
/// The key that takes the rules back. It is a letter, so it counts only while it types nothing.
pub const UNDO_KEY: char = 'u';

/// Rules that an answer has saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRules {
    /// The agent that saved them.
    agent: AgentId,
    file: PathBuf,
    rules: Vec<RuleEntry>,
    /// What the last line says; the offer ends with it.
    text: String,
}

/// Says in a toast that rules were saved, and offers to take them back.
pub fn announce(shared: &mut SharedState, agent: AgentId, file: PathBuf, rules: Vec<RuleEntry>) {
    let named = rules.iter().map(|(kind, rule)| format!("{} {rule}", kind.word()));
    let named = named.collect::<Vec<_>>().join(", ");
    let text = match shared.settings.input {
        InputSource::Keys => format!("Saved: {named}. {UNDO_KEY} undoes this."),
        InputSource::Lines => format!("Saved: {named}."),
    };
    let until = shared.now + OFFERED_FOR;
    shared.toast = Some(ToastMessage { text: text.clone(), level: NoticeLevel::Info, until });
    shared.saved_rules = Some(SavedRules { agent, file, rules, text });
}

/// Whether the last line offers to take rules back.
pub fn is_offered(shared: &SharedState) -> bool {
    let said = shared.toast.as_ref().map(|toast| toast.text.as_str());
    shared.saved_rules.as_ref().is_some_and(|saved| said == Some(saved.text.as_str()))
}

/// Takes the rules back that the last line names.
pub fn undo(shared: &mut SharedState) -> Vec<ScreenEffect> {
    let Some(SavedRules { agent, file, rules, .. }) = shared.saved_rules.take() else {
        return Vec::new();
    };
    let named = rules.iter().map(|(kind, rule)| format!("{} {rule}", kind.word()));
    let named = named.collect::<Vec<_>>().join(", ");
    shared.toast(NoticeLevel::Info, format!("Removed: {named}"));
    let removals = rules.into_iter().map(|rule| {
        let change = RuleRequest::Change { file: Some(file.clone()), edit: RuleEdit::Remove(rule) };
        ScreenEffect::Agent(agent, AgentCommand::Rules(change))
    });
    removals.collect()
}
