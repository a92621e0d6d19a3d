//! What the end of a turn changes on screen: the activity, the messages that wait, the notification.
//! Not here: the line that closes the turn in the transcript (`closing_line`).

use crate::domain::{NoticeLevel, TurnId};
use crate::session::TurnOutcome;

use super::Conversation;
use super::sending;
use super::turn::TurnActivity;
use crate::tui::app::attention::TurnEndKind;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::keymap::InputKey;
use crate::tui::app::settings::InputSource;
use crate::tui::app::shared::SharedState;

/// Ends the running turn and sends the next message that waits. After a turn that did not end well, queued
/// messages wait for the user, who is told so.
pub fn end_turn(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    turn: TurnId,
    outcome: &TurnOutcome,
) -> Vec<ScreenEffect> {
    if conversation.turn.running().is_some_and(|running| running.id != turn) {
        return Vec::new();
    }
    let took = shared.now.saturating_sub(conversation.turn.since().unwrap_or(shared.now));
    conversation.turn = TurnActivity::Idle;
    conversation.turn_failed =
        matches!(outcome, TurnOutcome::Failed(_) | TurnOutcome::ModelFailed(_));
    conversation.queue.requeue_steered();
    let mut effects = vec![read_git(conversation, shared)];
    match outcome {
        TurnOutcome::Answered => effects.extend(sending::send_next(conversation, shared)),
        TurnOutcome::Interrupted
        | TurnOutcome::RoundLimit
        | TurnOutcome::Budget(_)
        | TurnOutcome::Failed(_)
        | TurnOutcome::ModelFailed(_) => {
            if !conversation.queue.items().is_empty() {
                let keys = &shared.settings.keys;
                let (send, edit) = (keys.key(InputKey::Send), keys.key(InputKey::Up));
                let is_one = conversation.queue.items().len() == 1;
                let (what, first, last) = match is_one {
                    true => ("1 message queued", "it", "it"),
                    false => ("Several messages queued", "the first", "the last"),
                };
                let how = format!("{send} sends {first}, {edit} edits {last}");
                let text = match (shared.settings.input, conversation.composer.is_empty()) {
                    (InputSource::Lines, _) => format!("{what}: an empty line sends {first}"),
                    (InputSource::Keys, true) => format!("{what}: {how}"),
                    (InputSource::Keys, false) => {
                        format!("{what}. Once the input is empty, {how}")
                    }
                };
                shared.toast(NoticeLevel::Info, text);
            }
        }
    }
    let how = match outcome {
        TurnOutcome::Answered => Some(TurnEndKind::Answered),
        TurnOutcome::RoundLimit | TurnOutcome::Failed(_) | TurnOutcome::ModelFailed(_) => {
            Some(TurnEndKind::Failed)
        }
        // The user has just answered the budget question, so they are here.
        TurnOutcome::Budget(_) => None,
        TurnOutcome::Interrupted => None,
    };
    // If a queued message follows at once, slug is not done yet; a started agent reports to its parent.
    if conversation.turn.is_idle() && conversation.status.started_as.is_none() {
        let how = how.filter(|_| took >= shared.settings.notify_after);
        let project = &conversation.status.project;
        effects.extend(how.and_then(|how| shared.attention.notify_turn_end(project, took, how)));
    }
    effects
}

/// Asks for the state of git, which the first line shows.
pub fn read_git(conversation: &mut Conversation, shared: &mut SharedState) -> ScreenEffect {
    let id = shared.requests.issue();
    conversation.requests.git = Some(id);
    ScreenEffect::ReadGit(id)
}
