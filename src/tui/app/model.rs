//! All the state of the screen: what its conversations share, the conversation, the list of sessions
//! and what lies over them.

use crate::domain::{AgentId, ApprovalRequest};

use super::composer::{CaretShape, ChatComposer};
use super::conversation::Conversation;
use super::overlay::Overlay;
use super::settings::ScreenSettings;
use super::shared::SharedState;
use super::sidebar::Sidebar;
use super::status::ScreenStatus;

/// The state of the screen. `update` changes it; the view only reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenModel {
    pub shared: SharedState,
    /// The conversation that is shown.
    pub conversation: Conversation,
    pub sidebar: Sidebar,
    /// Overlays over the chat, the topmost last.
    pub overlays: Vec<Overlay>,
}

impl ScreenModel {
    /// An empty screen of this size (columns, rows).
    pub fn new(
        agent: AgentId,
        settings: ScreenSettings,
        status: ScreenStatus,
        mut composer: ChatComposer,
        size: (u16, u16),
    ) -> Self {
        composer.set_typing(settings.typing);
        Self {
            conversation: Conversation::new(agent, settings.cwd.clone(), status, composer),
            sidebar: Sidebar::new(settings.cwd.clone()),
            overlays: Vec::new(),
            shared: SharedState::new(settings, size),
        }
    }

    /// The permission question on screen; more may wait in [`Conversation::questions`].
    pub fn question(&self) -> Option<&ApprovalRequest> {
        self.overlays.iter().find_map(|overlay| match overlay {
            Overlay::Approval(approval) => Some(&approval.request),
            Overlay::Picker(_)
            | Overlay::Reading(_)
            | Overlay::Pager(_)
            | Overlay::Changes(_)
            | Overlay::Rules(_)
            | Overlay::Rewind(_) => None,
        })
    }

    /// Whether slug waits for an answer to a permission question.
    pub fn has_question(&self) -> bool {
        self.question().is_some()
    }

    /// The shape of the terminal's cursor.
    pub fn caret_shape(&self) -> CaretShape {
        if self.overlays.is_empty() { self.conversation.caret_shape() } else { CaretShape::Bar }
    }
}
