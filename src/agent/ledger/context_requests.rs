//! The agent's half of the ledger: measures what the next request would be, and puts decisions on
//! record, also while a turn runs.

use crate::agent::AgentEvent;
use crate::agent::agent_loop::Agent;
use crate::agent::compaction::estimate::measure_fixed;
use crate::context;
use crate::session::{
    ContextAction, ContextEditEntry, ContextItem, ContextPart, LogEntry, LogError,
};

use super::parts::LedgerInput;
use super::{ContextEditError, ContextLedger, ContextReply, ContextRequest};

impl Agent {
    /// Does what is asked, and tells the ledger as it is then.
    pub(in crate::agent) async fn context(&mut self, request: ContextRequest) {
        let failed = match request {
            ContextRequest::Show => None,
            ContextRequest::Edit { item, action } => self.edit_context(item, action).await.err(),
        };
        let ledger = self.ledger().await;
        self.events.send(AgentEvent::Context(Box::new(ContextReply { ledger, failed })));
    }

    /// Puts a decision on record. The next request shows it.
    async fn edit_context(
        &mut self,
        item: ContextItem,
        action: ContextAction,
    ) -> Result<(), ContextEditError> {
        if let Some(reason) = self.session.read_only.clone() {
            return Err(ContextEditError::ReadOnlySession(reason));
        }
        let ledger = self.ledger().await;
        let found = ledger.find(item).ok_or(ContextEditError::NotPossible)?;
        if ![found.fold_action(), found.pin_action()].contains(&Some(action)) {
            return Err(ContextEditError::NotPossible);
        }
        // The conversation is made anew from what is on disk, so nothing may be missing there.
        let log = |error: LogError| ContextEditError::Log(error.to_string());
        self.session.save().await.map_err(log)?;
        self.session.note(LogEntry::ContextEdit(ContextEditEntry { item, action })).await;
        let records = self.saved_records().await.map_err(ContextEditError::Log)?;
        self.session.rebuild_conversation(&records);
        if item.part == ContextPart::Compaction && action == ContextAction::BringBack {
            self.hold_compaction().await;
        }
        Ok(())
    }

    /// What fills the context window now.
    pub(in crate::agent) async fn ledger(&mut self) -> ContextLedger {
        self.session.catch_up();
        // While the server has not listed its models, it is the one that answered last.
        let answered = self.session.conversation.measured_request.as_ref();
        let answered = answered.map(|request| request.model.clone());
        let model = self.model.clone().or(answered).unwrap_or_default();
        let instructions = self.instructions().await;
        let custom = self.setup.system_prompt.clone();
        let skills = self.skill_listing(&model).await;
        let system = context::system_prompt(custom.as_deref(), &instructions, &skills);
        let tools = self.setup.registry.specs();
        let limits = self.limits_of(&model, measure_fixed(&system, &tools)).await;
        let input = LedgerInput {
            prompt: context::own_prompt(custom.as_deref()),
            instructions: &instructions,
            skills: &skills,
            tools: &tools,
            conversation: &self.session.conversation,
            last_turn: self.session.last_turn(),
            limits: &limits,
            estimator: self.room.tokens.of(&model),
            cwd: &self.setup.place.cwd,
        };
        input.ledger()
    }
}
