//! Sending a message, and what else the user asks of the agent from the input: stopping the turn,
//! taking a queued message back, commands that wait for the turn's end.

use crate::agent::{AgentCommand, ForkPosition};
use crate::commands::{ParsedCommand, SlashCommand};
use crate::context::{RememberError, remembered_line};
use crate::domain::{NoticeLevel, PermissionMode, SessionId, UserInput};
use crate::tools::SHELL_TOOL;

use super::Conversation;
use super::block::{BlockBody, BlockId, ToolCallOrigin, ToolCallState};
use super::history::HistoryRetention;
use super::queue::{Delivery, MessageQueue};
use super::turn::{RunningTurnPhase, TurnActivity};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::{Intent, intents};
use crate::tui::app::keymap::ChatKey;
use crate::tui::app::server_offers::{self, PromptCheck};
use crate::tui::app::settings::InputSource;
use crate::tui::app::shared::SharedState;

/// Takes the text out of the input and sends it or has it run as a slash command. A slash command that
/// is invalid, or that the running turn rules out, stays in the input; `/compact` waits for the turn's end.
pub fn submit(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    delivery: Delivery,
) -> Vec<Intent> {
    let text = conversation.composer.expanded();
    if conversation.composer.editor.is_reading() {
        shared.toast(NoticeLevel::Info, "An image is still loading. Try again in a moment.");
        return Vec::new();
    }
    if text.trim().is_empty() {
        if !conversation.turn.is_idle() {
            return Vec::new();
        }
        let next = send_next(conversation, shared);
        if let Some(command) = conversation.remedy().filter(|_| next.is_empty()) {
            return vec![Intent::Run(ParsedCommand { command, may_run_in_turn: true })];
        }
        return intents(next);
    }
    let command = match shared.settings.commands.parse(&text) {
        Some(Err(error)) => {
            shared.toast(NoticeLevel::Error, error.to_string());
            return Vec::new();
        }
        Some(Ok(ParsedCommand {
            command: SlashCommand::Prompt { command, arguments }, ..
        })) => {
            match server_offers::check(shared, &command, &arguments) {
                // It is a message, which its server fills in.
                PromptCheck::Complete => None,
                PromptCheck::Missing(prompt) => {
                    conversation.composer.take();
                    conversation.completion = None;
                    conversation.dismissed = None;
                    return vec![Intent::AskPromptArguments(prompt)];
                }
                PromptCheck::Wrong(why) => {
                    shared.toast(NoticeLevel::Error, why);
                    return Vec::new();
                }
            }
        }
        Some(Ok(command)) => Some(command),
        None => None,
    };
    if command.is_none() && delivery == Delivery::Queue && is_for_memory(conversation) {
        if let Err(error) = remembered_line(&text) {
            shared.toast(NoticeLevel::Info, error.to_string());
            return Vec::new();
        }
        let typed = conversation.composer.take();
        conversation.completion = None;
        conversation.dismissed = None;
        let mut wanted = intents(remember(conversation, shared, &typed));
        wanted.push(Intent::AskWhereToRemember(typed));
        return wanted;
    }
    let is_early = !conversation.turn.is_idle();
    let too_early = command.as_ref().filter(|it| is_early && !it.may_run_in_turn);
    let waits = too_early.is_some_and(|it| after_turn(&it.command).is_some());
    if too_early.is_some() && !waits {
        return intents(warn_of_turn(shared));
    }
    let text = conversation.composer.take();
    conversation.completion = None;
    conversation.dismissed = None;
    let mut wanted = intents(remember(conversation, shared, &text));
    match command {
        Some(_) if waits => queue_command(conversation, shared, text),
        Some(command) => wanted.push(Intent::Run(command)),
        None => wanted.extend(intents(say(conversation, shared, text, delivery))),
    }
    wanted
}

/// Whether the input is one line with a `#` that the user has typed in front, and short enough for a note.
fn is_for_memory(conversation: &Conversation) -> bool {
    let typed = conversation.composer.typed();
    typed.text.starts_with('#')
        && !typed.text.trim_end().contains('\n')
        && typed.images.is_empty()
        && !conversation.composer.begins_with_paste()
        && !matches!(remembered_line(&typed.text), Err(RememberError::TooLong))
}

/// What a slash command asks of the agent, if it waits for the end of a turn as a message does; `None`
/// for one that has to be typed again. The queue holds its line, so the line must say all there is to it.
fn after_turn(command: &SlashCommand) -> Option<AgentCommand> {
    if let SlashCommand::Compact(focus) = command {
        return Some(AgentCommand::Compact { focus: focus.clone() });
    }
    (*command == SlashCommand::UndoCompaction).then_some(AgentCommand::UndoCompaction)
}

/// Has the line of a slash command wait for the end of the turn.
fn queue_command(conversation: &mut Conversation, shared: &mut SharedState, line: UserInput) {
    conversation.scroll.to_tail();
    conversation.queue.push(shared.requests.issue_steer(), line, Delivery::Queue);
}

/// Runs a slash command from a list, which has no text to keep: it waits where a typed one would. One that
/// needs words is typed, for the user to add them.
pub fn run_from_list(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    name: &str,
) -> Vec<Intent> {
    let line = format!("/{name}");
    let parsed = match shared.settings.commands.parse(&line) {
        Some(Ok(parsed)) => parsed,
        Some(Err(error)) => {
            shared.toast(NoticeLevel::Info, error.to_string());
            conversation.composer.load(format!("{line} "));
            return Vec::new();
        }
        None => return Vec::new(),
    };
    if conversation.turn.is_idle() || after_turn(&parsed.command).is_none() {
        return vec![Intent::Run(parsed)];
    }
    queue_command(conversation, shared, line.into());
    Vec::new()
}

/// Whether Escape would stop something: a turn, or a shell command of the user.
pub fn is_busy(conversation: &Conversation) -> bool {
    // A `!` command of the user is among the newest calls, so a look at the end is enough.
    let user_command = conversation.transcript.blocks().iter().rev().take(8).any(|block| {
        matches!(&block.body, BlockBody::Tool(tool) if tool.origin == ToolCallOrigin::User && !tool.is_over())
    });
    user_command || !conversation.turn.is_idle()
}

/// Sends a message or a `!` command to the agent, or queues it while a turn runs.
pub fn say(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    text: UserInput,
    delivery: Delivery,
) -> Vec<ScreenEffect> {
    conversation.scroll.to_tail();
    let command = text.text.strip_prefix('!').map(|command| command.trim().to_owned());
    if !conversation.turn.is_idle() {
        // A shell command cannot join a running turn: it waits for the end of the turn.
        let delivery = if command.is_some() { Delivery::Queue } else { delivery };
        let id = shared.requests.issue_steer();
        conversation.queue.push(id, text.clone(), delivery);
        return match delivery {
            Delivery::Queue => Vec::new(),
            Delivery::Steer => vec![conversation.command(AgentCommand::Steer { id, text })],
        };
    }
    let effects = match command {
        Some(command) if command.is_empty() => Vec::new(),
        Some(command) => vec![conversation.command(AgentCommand::Shell { command })],
        None => vec![conversation.command(AgentCommand::Send { text })],
    };
    start(conversation, shared, &effects);
    effects
}

/// Sends the message of the command line as soon as there is a session and a model for it. A `!` or `/`
/// in front means nothing there: a text that a script hands over runs nothing.
pub fn send_first(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let status = &conversation.status;
    if status.session.is_none() || status.model.is_empty() || !conversation.turn.is_idle() {
        return Vec::new();
    }
    let Some(text) = conversation.first_message.take() else { return Vec::new() };
    conversation.scroll.to_tail();
    let mut effects = remember(conversation, shared, &text);
    effects.push(conversation.command(AgentCommand::Send { text }));
    start(conversation, shared, &effects);
    effects
}

/// Marks a turn as starting if the effects start one, so that the next message waits for it.
pub fn start(conversation: &mut Conversation, shared: &SharedState, effects: &[ScreenEffect]) {
    let begins = effects.iter().any(|effect| {
        matches!(
            effect,
            ScreenEffect::Agent(
                _,
                AgentCommand::Send { .. } | AgentCommand::Retry | AgentCommand::Race { .. }
            )
        )
    });
    if begins {
        conversation.turn = TurnActivity::Starting { since: shared.now };
    }
}

/// Sends the first queued message, and the commands before it that take no turn.
pub fn send_next(conversation: &mut Conversation, shared: &mut SharedState) -> Vec<ScreenEffect> {
    let mut effects = Vec::new();
    while let Some(text) = conversation.queue.take_next() {
        let parsed = shared.settings.commands.parse(&text.text).and_then(Result::ok);
        let Some(command) = parsed.and_then(|parsed| after_turn(&parsed.command)) else {
            effects.extend(say(conversation, shared, text, Delivery::Queue));
            break;
        };
        let takes_turn = matches!(command, AgentCommand::Compact { .. });
        effects.push(conversation.command(command));
        if takes_turn {
            conversation.turn = TurnActivity::Starting { since: shared.now };
            break;
        }
    }
    effects
}

/// Moves the last queued message back into the input.
pub fn take_back(conversation: &mut Conversation) -> Vec<ScreenEffect> {
    match conversation.queue.items().last().map(|item| (item.id, item.delivery)) {
        // The message may already be on its way: the agent reports whether it came back.
        Some((id, Delivery::Steer)) => {
            vec![conversation.command(AgentCommand::WithdrawSteer { id })]
        }
        Some((_, Delivery::Queue)) => {
            if let Some(item) = conversation.queue.take_last() {
                conversation.composer.load(item.text);
            }
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// Puts the messages that wait in a session that is left into the input. Where each line replaces the
/// input, they are written instead, to be sent again.
pub fn return_queue(conversation: &mut Conversation, shared: &mut SharedState) {
    let count = conversation.queue.items().len();
    if count > 0 {
        let unsent = conversation.unsent();
        conversation.queue = MessageQueue::default();
        let text = match (shared.settings.input, count) {
            (InputSource::Keys, 1) => "The queued message is in the input.".to_owned(),
            (InputSource::Keys, _) => format!("The {count} queued messages are in the input."),
            (InputSource::Lines, 1) => {
                format!(
                    "The queued message was not sent. Type it again to send it:\n{}",
                    unsent.text
                )
            }
            (InputSource::Lines, _) => format!(
                "The {count} queued messages were not sent. Type them again to send them:\n{}",
                unsent.text
            ),
        };
        if shared.settings.input == InputSource::Keys {
            conversation.composer.load(unsent);
        }
        shared.toast(NoticeLevel::Info, text);
    }
}

/// Adds a text that leaves the input to the history.
pub fn remember(
    conversation: &mut Conversation,
    shared: &SharedState,
    text: &UserInput,
) -> Vec<ScreenEffect> {
    match conversation.composer.history.add(text, &shared.settings.commands) {
        HistoryRetention::Keep => vec![ScreenEffect::AddHistory(text.clone())],
        HistoryRetention::Skip => Vec::new(),
    }
}

/// Asks the running turn to stop, and shows that it does.
pub fn stop_turn(conversation: &mut Conversation) -> Vec<ScreenEffect> {
    if let TurnActivity::Running(running) = &mut conversation.turn {
        running.phase = RunningTurnPhase::Stopping;
    }
    vec![ScreenEffect::CancelTurn(conversation.agent)]
}

/// Whether a command runs that can go on in the background.
pub fn has_foreground_command(conversation: &Conversation) -> bool {
    conversation.transcript.blocks().iter().rev().take(8).any(|block| {
        matches!(&block.body, BlockBody::Tool(tool)
            if tool.name == SHELL_TOOL && tool.state == ToolCallState::Running)
    })
}

/// Lets the running command go on in the background.
pub fn detach_command(conversation: &Conversation) -> Vec<ScreenEffect> {
    match has_foreground_command(conversation) {
        true => vec![ScreenEffect::Agent(conversation.agent, AgentCommand::DetachCommand)],
        false => Vec::new(),
    }
}

/// Switches to the next mode. Never switches to the mode that asks nothing, so that nobody gets
/// there by accident.
pub fn next_mode(conversation: &mut Conversation, shared: &SharedState) -> Vec<ScreenEffect> {
    let next = match conversation.status.mode {
        PermissionMode::Plan => PermissionMode::Ask,
        PermissionMode::Ask => PermissionMode::AllowEdits,
        PermissionMode::AllowEdits if shared.settings.boundary.is_some() => PermissionMode::Sandbox,
        PermissionMode::AllowEdits | PermissionMode::Sandbox | PermissionMode::Yolo => {
            PermissionMode::Plan
        }
    };
    vec![conversation.command(AgentCommand::SetMode(next))]
}

/// Sends the agent a command that is allowed only between turns; warns while a turn runs.
pub fn when_idle(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    command: AgentCommand,
) -> Vec<ScreenEffect> {
    if conversation.turn.is_idle() {
        return vec![conversation.command(command)];
    }
    warn_of_turn(shared)
}

/// Says that something has to wait for the end of the turn.
pub fn warn_of_turn(shared: &mut SharedState) -> Vec<ScreenEffect> {
    let stop = shared.settings.keys.key(ChatKey::Back);
    warn(shared, &format!("A turn is running. Stop it first with {stop}."))
}

/// What commands for a session say before there is one.
pub const NO_SESSION: &str = "No session yet. Send a message first.";

/// Forks the session after the message that a block comes from.
pub fn fork_at(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    block: BlockId,
) -> Vec<ScreenEffect> {
    let upto = conversation.transcript.get(block).and_then(|block| block.entry);
    match (conversation.status.session, upto) {
        (Some(session), Some(entry)) => {
            fork(conversation, shared, session, ForkPosition::After(entry))
        }
        (_, None) => warn(shared, "This message is not saved yet, so it cannot be forked."),
        (None, _) => warn(shared, NO_SESSION),
    }
}

/// Forks a session and opens the fork; warns while a turn runs.
pub fn fork(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    session: SessionId,
    at: ForkPosition,
) -> Vec<ScreenEffect> {
    when_idle(conversation, shared, AgentCommand::Fork { session, at })
}

/// Shows a warning, for what cannot be done.
pub fn warn(shared: &mut SharedState, text: &str) -> Vec<ScreenEffect> {
    shared.toast(NoticeLevel::Warning, text);
    Vec::new()
}
