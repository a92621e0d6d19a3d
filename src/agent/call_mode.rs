//! The mode of an agent as a running call sees and changes it.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{PermissionMode, TurnId};
use crate::session::LogEntry;
use crate::tools::ModeControl;

use super::event::AgentEvent;
use super::event_queue::AgentEventSender;
use super::journal::SessionJournal;
use super::permission_state::PermissionState;
use super::tool_gate::ToolGate;

/// Changes the mode for a call.
pub(super) struct CallMode {
    turn: TurnId,
    permissions: Arc<PermissionState>,
    journal: Arc<SessionJournal>,
    events: AgentEventSender,
}

impl CallMode {
    pub(super) fn of(gate: &ToolGate) -> Self {
        Self {
            turn: gate.turn,
            permissions: gate.permissions.clone(),
            journal: gate.journal.clone(),
            events: gate.events.clone(),
        }
    }
}

#[async_trait]
impl ModeControl for CallMode {
    fn mode(&self) -> PermissionMode {
        self.permissions.mode()
    }

    fn before_plan(&self) -> Option<PermissionMode> {
        self.permissions.mode_before_plan()
    }

    async fn set(&self, mode: PermissionMode) {
        self.permissions.set_mode(mode);
        self.journal.write(self.turn, LogEntry::Mode { mode }).await;
        self.events.send(AgentEvent::ModeChanged(mode));
    }
}
