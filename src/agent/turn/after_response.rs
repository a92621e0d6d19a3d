//! What follows a whole response: its calls, the end of the turn, or the rest of an answer that the
//! output limit cut.

use crate::domain::{ContentBlock, Message, StopReason, ToolCall};
use crate::session::{ModelFailure, TurnOutcome};

use super::{
    AfterCalls, RoundsNoteState, SteeringState, StopHookState, SummaryState, TruncationPoint,
    TurnAction, TurnMachine, TurnMachinePhase,
};
use crate::agent::normalise::is_silent;

/// How often an answer is continued after the output limit.
const MAX_CONTINUATIONS: u32 = 3;

/// How many responses in a row may end in the midst of their only call.
const MAX_CUT_CALLS: u32 = 4;

/// How many rounds before the end the model is told of it.
const NOTED_ROUNDS: u32 = 5;

/// How many responses in a row a provider may pause where rounds have no limit.
const MAX_PAUSES: u32 = 100;

/// What the model is told about calls behind the last round.
const NO_ROUNDS_LEFT: &str = "Not run: this turn has used all its rounds of tool calls.";

/// What the model is told about calls in a response that the provider withheld.
const WITHHELD: &str = "Not run: the provider withheld the rest of this response.";

impl TurnMachine {
    /// What to do after this response, which is about to be recorded.
    pub(super) fn after_response(
        &mut self,
        message: &Message,
        stop: StopReason,
    ) -> Vec<TurnAction> {
        let calls: Vec<ToolCall> = message.calls().map(|call| call.inner().into_owned()).collect();
        if self.summary == SummaryState::Asked {
            return self.after_summary(calls);
        }
        let is_silent = is_silent(message);
        if stop == StopReason::MaxTokens && calls.is_empty() {
            let cut = if is_silent { TruncationPoint::Thought } else { TruncationPoint::Answer };
            return self.cut_off(cut);
        }
        let continued = std::mem::take(&mut self.continued);
        if stop != StopReason::Paused {
            self.pauses = 0;
        }
        match stop {
            StopReason::Refusal => self.withheld(calls),
            StopReason::Paused if calls.is_empty() => self.paused(),
            // Behind a part of the answer, nothing is the end of it.
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Paused
            | StopReason::Interrupted
                if is_silent && continued == 0 =>
            {
                self.unusable(ModelFailure::EmptyAnswer)
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Paused
            | StopReason::Interrupted
                if calls.is_empty() =>
            {
                self.answered()
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Paused
            | StopReason::Interrupted
                if self.has_used_its_rounds() =>
            {
                self.out_of_rounds(calls)
            }
            StopReason::MaxTokens => {
                // Servers complete cut arguments to valid JSON, so the last call cannot be trusted,
                // unless text follows it.
                let is_cut = matches!(message.content.last(), Some(ContentBlock::ToolUse(_)));
                let complete = calls.len() - usize::from(is_cut);
                self.run_uncut(calls, complete)
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::Paused
            | StopReason::Interrupted => {
                let all = calls.len();
                self.run_uncut(calls, all)
            }
        }
    }

    /// Runs the first calls, which are complete, and answers those that the output limit cut.
    fn run_uncut(&mut self, mut calls: Vec<ToolCall>, complete: usize) -> Vec<TurnAction> {
        self.rounds += 1;
        let cut = calls.split_off(complete);
        if calls.is_empty() {
            self.cut_calls += 1;
            let mut actions = vec![TurnAction::RefuseCut(cut)];
            actions.extend(if self.cut_calls > MAX_CUT_CALLS {
                self.unusable(ModelFailure::OutputLimit)
            } else {
                self.tool_boundary()
            });
            return actions;
        }
        self.cut_calls = 0;
        self.phase = TurnMachinePhase::Running(AfterCalls::Continue);
        let mut actions = vec![TurnAction::Run(calls)];
        if !cut.is_empty() {
            actions.push(TurnAction::RefuseCut(cut));
        }
        actions
    }

    /// Calls of a response that the provider cut may be incomplete.
    fn withheld(&mut self, calls: Vec<ToolCall>) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        if !calls.is_empty() {
            actions.push(TurnAction::Refuse { calls, reason: WITHHELD.to_owned() });
        }
        actions.extend(self.unusable(ModelFailure::ContentFilter));
        actions
    }

    fn has_used_its_rounds(&self) -> bool {
        self.limits.tool_rounds.is_some_and(|most| self.rounds >= most)
    }

    /// Does not run the calls, and asks what is done and what is open instead.
    fn out_of_rounds(&mut self, calls: Vec<ToolCall>) -> Vec<TurnAction> {
        self.summary = SummaryState::Asked;
        let reason = NO_ROUNDS_LEFT.to_owned();
        let mut actions = vec![TurnAction::Refuse { calls, reason }, TurnAction::AskForSummary];
        actions.extend(self.request());
        actions
    }

    /// Ends the turn behind the summary. A server may take the request for text as a wish only.
    fn after_summary(&mut self, calls: Vec<ToolCall>) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        if !calls.is_empty() {
            actions.push(TurnAction::Refuse { calls, reason: NO_ROUNDS_LEFT.to_owned() });
        }
        actions.extend(self.end(TurnOutcome::RoundLimit));
        actions
    }

    /// The note that tells the model, once, that the end of its rounds is near.
    pub(super) fn note_rounds_left(&mut self) -> Vec<TurnAction> {
        let left = self.limits.tool_rounds.map(|most| most.saturating_sub(self.rounds));
        match (left, self.rounds_note) {
            (Some(left), RoundsNoteState::NotYet) if left == NOTED_ROUNDS => {
                self.rounds_note = RoundsNoteState::Told;
                vec![TurnAction::NoteRoundsLeft(left)]
            }
            (Some(_) | None, RoundsNoteState::NotYet | RoundsNoteState::Told) => Vec::new(),
        }
    }

    /// The turn cannot go on with what the model sent. A waiting message of the user's continues it.
    pub(super) fn unusable(&mut self, failure: ModelFailure) -> Vec<TurnAction> {
        match self.steering {
            SteeringState::None => self.end(TurnOutcome::ModelFailed(failure)),
            SteeringState::Waiting => self.steer_and_request(),
        }
    }

    /// The answer is complete. A waiting message of the user's continues the turn.
    fn answered(&mut self) -> Vec<TurnAction> {
        match self.steering {
            SteeringState::None if self.hook_continuations_left > 0 => {
                self.phase = TurnMachinePhase::Ending;
                vec![TurnAction::AskHooks(self.stop_hook_state)]
            }
            SteeringState::None => self.end(TurnOutcome::Answered),
            SteeringState::Waiting => self.steer_and_request(),
        }
    }

    pub(super) fn hooks_allow_end(&mut self) -> Vec<TurnAction> {
        match (&self.phase, self.steering) {
            (TurnMachinePhase::Ending, SteeringState::None) => self.end(TurnOutcome::Answered),
            (TurnMachinePhase::Ending, SteeringState::Waiting) => self.steer_and_request(),
            (
                TurnMachinePhase::Idle
                | TurnMachinePhase::Streaming(_)
                | TurnMachinePhase::Running(_)
                | TurnMachinePhase::Pausing
                | TurnMachinePhase::Compacting(_)
                | TurnMachinePhase::Over,
                _,
            ) => Vec::new(),
        }
    }

    /// Continues the turn for a hook. The number is limited, or a turn might never end.
    pub(super) fn hooks_continue(&mut self) -> Vec<TurnAction> {
        match self.phase {
            TurnMachinePhase::Ending => {
                self.hook_continuations_left = self.hook_continuations_left.saturating_sub(1);
                self.stop_hook_state = StopHookState::Active;
                self.tool_boundary()
            }
            TurnMachinePhase::Idle
            | TurnMachinePhase::Streaming(_)
            | TurnMachinePhase::Running(_)
            | TurnMachinePhase::Pausing
            | TurnMachinePhase::Compacting(_)
            | TurnMachinePhase::Over => Vec::new(),
        }
    }

    /// Continues an answer that the output limit cut. A note of slug's follows it in the
    /// conversation, because some servers refuse one whose last message is the model's.
    fn cut_off(&mut self, cut: TruncationPoint) -> Vec<TurnAction> {
        if self.steering == SteeringState::Waiting {
            return self.steer_and_request();
        }
        if self.continued >= MAX_CONTINUATIONS {
            let mut actions = vec![TurnAction::WarnTruncated];
            actions.extend(self.end(TurnOutcome::Answered));
            return actions;
        }
        self.continued += 1;
        let mut actions = vec![TurnAction::ContinueTruncated(cut)];
        actions.extend(self.request());
        actions
    }

    /// Sends a paused response back so that the provider continues it (Anthropic's stop reason
    /// `pause_turn`). This counts as a round, or a provider that always pauses would never end.
    fn paused(&mut self) -> Vec<TurnAction> {
        if self.has_used_its_rounds() || self.pauses >= MAX_PAUSES {
            return self.end(TurnOutcome::RoundLimit);
        }
        self.pauses += 1;
        self.rounds += 1;
        self.tool_boundary()
    }
}
