//! The fields under which each model's reasoning goes back: those in which it came.
//!
//! Servers name the field differently and ignore names that they do not know. Where neither the
//! dialect nor a response tells, the reasoning goes back under all names, and then stays so: another
//! name later would change what has been sent, and cost the server's prompt cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::dialect::{DialectQuirks, ReasoningField};
use crate::domain::{ContentBlock, Message};
use crate::providers::ProviderRequest;

/// The fields of one model's reasoning, once they are settled.
pub(super) type ReasoningName = Arc<OnceLock<&'static [ReasoningField]>>;

/// The fields of the models of one server, by the models' names.
#[derive(Debug, Default)]
pub(super) struct ReasoningNames(Mutex<HashMap<String, ReasoningName>>);

impl ReasoningNames {
    /// Where the response of `model` tells its field; `None` where the dialect knows it.
    pub(super) fn open(&self, model: &str, quirks: DialectQuirks) -> Option<ReasoningName> {
        quirks.is_reasoning_name_open().then(|| {
            let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(names.entry(model.to_owned()).or_default())
        })
    }

    /// The differences with the fields that hold for `request`.
    pub(super) fn settle(&self, request: &ProviderRequest, quirks: DialectQuirks) -> DialectQuirks {
        let Some(name) = self.open(&request.model, quirks) else { return quirks };
        if !request.messages.iter().any(has_reasoning) {
            return quirks;
        }
        DialectQuirks { reasoning: name.get_or_init(|| quirks.reasoning), ..quirks }
    }
}

fn has_reasoning(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::Thinking { .. }))
}
