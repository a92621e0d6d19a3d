//! What a component or dialog asks of the rest of the screen: one closed list of plain values, carried
//! out in one place (`keys::carry_out`). A component changes itself; whatever lies elsewhere it returns
//! as an intent, so that it knows none of the other components.

use std::sync::Arc;

use crate::agent::{AgentCommand, ReviewScope, RewindDestination};
use crate::commands::ParsedCommand;
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, ModelName, NoticeLevel, QuestionAnswer, SessionId,
    UserInput,
};

use crate::services::text_document::TextDocument;

use super::choice::PickerChoice;
use super::conversation::block::BlockId;
use super::conversation::pending_jump::PendingJump;
use super::conversation::search::TranscriptMatch;
use super::dialog_reply::DialogReply;
use super::effect::ScreenEffect;
use super::keymap::ScrollAction;
use super::server_offers::PromptToFill;
use super::text_query::TextQuery;
use crate::tui::branch_page::BranchPage;

/// A wish of a component or dialog. Intents are carried out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// Have this done outside of the screen.
    Effect(ScreenEffect),
    /// Give the agent of the conversation in front a command.
    Command(AgentCommand),
    /// Show a toast.
    Toast(NoticeLevel, String),
    /// Close the dialog that returned this; nothing where no dialog did.
    Close,
    /// Give the agent this answer, do what follows from it, and show the next question.
    Answer(ApprovalId, ApprovalAnswer, AnswerFollowUp),
    /// Give the agent these answers to the model's questions, and show the next question.
    AnswerQuestions(ApprovalId, Vec<QuestionAnswer>),
    /// Show the question that waits, if there is one.
    ShowQuestion,
    /// Scroll the conversation in front.
    ScrollTranscript(ScrollAction),
    /// Do what the row of a list stands for.
    Choose(PickerChoice),
    /// Mark a model as a favourite, or take the mark away.
    MarkModel(ModelName),
    /// Run a slash command.
    Run(ParsedCommand),
    /// Give the agent a command that is allowed only between turns; warn while a turn runs.
    WhenIdle(AgentCommand),
    /// Give the keys to the input.
    FocusInput,
    /// Give the keys to the list of sessions.
    FocusSessions,
    /// Give the keys back to the list of sessions, if it is open.
    ReturnToSessions,
    /// Show the conversation with the next agent, if there are several.
    NextConversation,
    /// Show the conversation with an agent; of one that is not on screen any more, open its session.
    ShowAgent(AgentId, Option<SessionId>),
    /// Stop the turn of an agent.
    StopAgent(AgentId),
    /// List the agents that the model has started.
    OpenAgents,
    /// Open the list of sessions, give it the keys, or close it.
    ToggleSessions,
    /// Show the keys and commands.
    OpenHelp,
    /// Lists all keys; those of the place under the dialog come first.
    OpenAllKeys,
    /// List all commands and keys.
    OpenPalette,
    /// List the texts sent before.
    OpenHistory,
    /// List the messages to go back before.
    ListMessages,
    /// Show what going there would do.
    OpenRewind(RewindDestination),
    /// Review what a part of the session changed.
    OpenReview(ReviewScope),
    /// Show a block in full.
    ViewBlock(BlockId),
    /// Show what the log says about a block.
    ExplainBlock(BlockId),
    /// Show a block in full, at a match of the search in the transcript.
    OpenPagerAt(TranscriptMatch, TextQuery),
    /// Show the comparison of two branches.
    OpenBranches(BranchPage),
    /// Go to a place in a session.
    GoTo(PendingJump),
    /// Show what the session changed: this file first, by its path or the end of one.
    OpenChanges(Option<String>),
    /// Show a text in full.
    OpenText { title: String, text: String },
    /// Show a text in full that is cut into lines already.
    OpenDocument { title: String, document: Arc<TextDocument> },
    /// Stop the running turn.
    StopTurn,
    /// Tell the open dialogs.
    TellDialogs(DialogReply),
    /// Add a text to the input, below what is typed there.
    AppendToInput(UserInput),
    /// Send a message; while a turn runs, have it wait.
    Send(UserInput),
    /// Ask where to remember a line that begins with `#`.
    AskWhereToRemember(UserInput),
    /// Ask for what a prompt of a server needs.
    AskPromptArguments(PromptToFill),
}

/// What an answer to a permission question brings with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFollowUp {
    Nothing,
    /// The turn of the agent that asks is stopped.
    StopTurn,
    /// The agent that asks gets the mode `allow-edits`.
    AllowEdits,
    /// Those of these requests that still wait get a yes.
    AllowWaiting(Vec<ApprovalId>),
}

/// Effects as intents, for slices whose callers expect intents.
pub fn intents(effects: Vec<ScreenEffect>) -> Vec<Intent> {
    effects.into_iter().map(Intent::Effect).collect()
}
