//! The list of dialogs.
//!
//! An enum that stands for `dyn Dialog`, and not a `Box<dyn Dialog>`: so the screen's model stays a
//! plain value that tests clone and compare, and a test or the line mode can look at one kind of
//! dialog. The macro writes all that is per kind from the one list at the end.

use std::ops::{Deref, DerefMut};

use super::agents::AgentsPage;
use super::approval::ApprovalDialog;
use super::changes::ChangesPage;
use super::connect::ConnectDialog;
use super::context::ContextPage;
use super::dialog::Dialog;
use super::hooks::HookTrustDialog;
use super::jobs::JobsPage;
use super::key_sheet::KeySheet;
use super::lsp::LspPage;
use super::mcp::McpPage;
use super::memory::MemoryPage;
use super::pager::Pager;
use super::picker::Picker;
use super::prompt_arguments::PromptArgumentDialog;
use super::questions::QuestionsDialog;
use super::race::RacePage;
use super::reading::ReadingDialog;
use super::remember::RememberDialog;
use super::rewind::RewindDialog;
use super::rules::RulesPage;
use super::settings::SettingField;
use super::startup::TrustDialog;
use super::turn_review::TurnReview;

macro_rules! open_dialogs {
    ($($(#[$doc:meta])* $kind:ident($state:ty),)*) => {
        /// A dialog on the stack. It dereferences to what every dialog can do.
        #[derive(Debug, Clone, PartialEq)]
        pub enum OpenDialog {
            $($(#[$doc])* $kind(Box<$state>),)*
        }

        impl Deref for OpenDialog {
            type Target = dyn Dialog;

            fn deref(&self) -> &Self::Target {
                match self { $(Self::$kind(dialog) => &**dialog,)* }
            }
        }

        impl DerefMut for OpenDialog {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Self::$kind(dialog) => &mut **dialog,)* }
            }
        }

        $(impl From<$state> for OpenDialog {
            fn from(dialog: $state) -> Self {
                Self::$kind(Box::new(dialog))
            }
        })*
    };
}

open_dialogs! {
    /// A permission question.
    Approval(ApprovalDialog),
    /// What the model asks.
    Questions(QuestionsDialog),
    /// A list to choose from.
    Picker(Picker),
    /// The sheet of keys.
    KeySheet(KeySheet),
    /// A short page to read.
    Reading(ReadingDialog),
    /// The question whether to trust what is new in a project's hooks.
    HookTrust(HookTrustDialog),
    /// A long text in full.
    Pager(Pager),
    /// The files that the session changed.
    Changes(ChangesPage),
    /// What fills the context window.
    Context(ContextPage),
    /// The jobs, and what one of them prints.
    Jobs(JobsPage),
    /// The agents that calls have started.
    Agents(AgentsPage),
    /// The two sides of a race.
    Race(RacePage),
    /// The MCP servers.
    Mcp(McpPage),
    /// The language servers.
    Lsp(LspPage),
    /// The instruction files.
    Memory(MemoryPage),
    /// The question where to remember a line.
    Remember(RememberDialog),
    /// The permission rules.
    Rules(RulesPage),
    /// The new value of a setting.
    SettingField(SettingField),
    /// What a prompt of a server needs.
    PromptArguments(PromptArgumentDialog),
    /// The rewind dialog.
    Rewind(RewindDialog),
    /// The review of a turn.
    Review(TurnReview),
    /// The question whether the folder is trusted.
    Trust(TrustDialog),
    /// The page that connects models.
    Connect(ConnectDialog),
}
