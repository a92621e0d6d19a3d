//! All the state of the screen: what its conversations share, the conversation, the list of sessions
//! and what lies over them.

use std::collections::BTreeMap;

use crate::domain::{AgentId, ApprovalRequest};
use crate::tui::dialogs::DialogStack;

use super::conversation::Conversation;
use super::conversation::composer::{CaretShape, ChatComposer};
use super::conversation::status::ConversationStatus;
use super::held_keys::HeldKeys;
use super::settings::ScreenSettings;
use super::shared::SharedState;
use super::sidebar::Sidebar;

/// The state of the screen. `update` changes it; the view only reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenModel {
    pub shared: SharedState,
    /// The conversation that is shown.
    pub conversation: Conversation,
    /// The conversations with other agents. They go on without being drawn.
    pub background: BTreeMap<AgentId, Conversation>,
    pub sidebar: Sidebar,
    /// What lies over the chat.
    pub dialogs: DialogStack,
    /// Keys that wait for the end of what is typed in one go.
    pub held_keys: HeldKeys,
}

impl ScreenModel {
    /// An empty screen of this size (columns, rows).
    pub fn new(
        agent: AgentId,
        settings: ScreenSettings,
        status: ConversationStatus,
        mut composer: ChatComposer,
        size: (u16, u16),
    ) -> Self {
        composer.set_typing(settings.typing);
        Self {
            conversation: Conversation::new(agent, settings.cwd.clone(), status, composer, size),
            sidebar: Sidebar::new(settings.cwd.clone()),
            background: BTreeMap::new(),
            dialogs: DialogStack::default(),
            held_keys: HeldKeys::default(),
            shared: SharedState::new(settings, size),
        }
    }

    /// Adds a conversation with another agent, behind the one that is shown. Nothing changes where
    /// this agent has one already.
    pub fn add_conversation(
        &mut self,
        agent: AgentId,
        status: ConversationStatus,
        mut composer: ChatComposer,
    ) {
        // A conversation behind another one is under its key while it takes an event.
        let mut all = std::iter::once(&self.conversation).chain(self.background.values());
        if all.any(|it| it.agent == agent) {
            return;
        }
        let ScreenSettings { cwd, typing, .. } = &self.shared.settings;
        composer.set_typing(*typing);
        let size = (self.shared.geometry.width, self.shared.geometry.height);
        self.background
            .entry(agent)
            .or_insert_with(|| Conversation::new(agent, cwd.clone(), status, composer, size));
        self.shared.behind = self.background.len();
    }

    /// The agent of the next conversation, in the order of their ids; `None` where there is one only.
    pub fn next_agent(&self) -> Option<AgentId> {
        let next = self.background.range(self.conversation.agent..).next();
        next.or_else(|| self.background.iter().next()).map(|(agent, _)| *agent)
    }

    /// Shows the conversation with an agent, where there is one behind the one that is shown.
    pub fn show(&mut self, agent: AgentId) {
        let Some(conversation) = self.background.remove(&agent) else { return };
        let before = std::mem::replace(&mut self.conversation, conversation);
        self.background.insert(before.agent, before.put_aside());
    }

    /// The conversation with an agent; `None` if the screen has none.
    pub fn conversation_with(&self, agent: AgentId) -> Option<&Conversation> {
        if agent == self.conversation.agent {
            return Some(&self.conversation);
        }
        self.background.get(&agent)
    }

    /// The permission question on screen; more may wait in [`SharedState::questions`].
    pub fn question(&self) -> Option<&ApprovalRequest> {
        self.dialogs.approval()
    }

    /// Whether an answer of the user is waited for: about a permission, or to the model.
    pub fn has_question(&self) -> bool {
        self.dialogs.open_question().is_some()
    }

    /// The shape of the terminal's cursor.
    pub fn caret_shape(&self) -> CaretShape {
        if self.dialogs.is_empty() { self.conversation.caret_shape() } else { CaretShape::Bar }
    }
}
