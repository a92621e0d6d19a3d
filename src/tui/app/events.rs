//! How agent events change the model. Events of a turn that no longer runs are stale and ignored.

use std::sync::Arc;

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, ModelName, NoticeLevel, SessionId, TokenUsage, TurnId};
use crate::providers::ModelInfo;
use crate::session::undo::RewindHistory;
use crate::session::{LogEntry, LogRecord, SessionSpending, TurnOutcome};

use super::approval::EarlyKey;
use super::attention::{self, TurnEndKind};
use super::backfill::BackfillRequest;
use super::changes::{self, SessionChanges};
use super::commands;
use super::completion_items;
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::jump::{self, BackfillState};
use super::keymap::InputKey;
use super::model::ScreenModel;
use super::msg::{FavouriteMark, ModelRow};
use super::overlay::Overlay;
use super::pager;
use super::picker::Picker;
use super::queue::MessageQueue;
use super::rewind;
use super::rules;
use super::sidebar;
use super::status::ModelHost;
use super::store_queries;
use super::transcript::TranscriptToolOutcome;
use super::turn::{RunningTurn, RunningTurnPhase, StreamedBytes, TurnActivity};

/// Applies an event to the model.
pub fn event(model: &mut ScreenModel, event: AgentEvent) -> Vec<ScreenEffect> {
    let now = model.shared.now;
    match event {
        AgentEvent::SessionOpened { session, records } => return open(model, session, &records),
        AgentEvent::SessionRead { session, earlier } => {
            if model.conversation.status.session == Some(session) {
                rules::note_earlier(model, &earlier);
                let older = model.conversation.transcript.older(&earlier, earlier.len());
                if older.is_none() {
                    jump::arrive(model, BackfillState::Complete);
                }
                return older.map(|older| request_backfill(model, older)).into_iter().collect();
            }
        }
        AgentEvent::ModelChanged { model: name, effort, window, local } => {
            model.conversation.status.model = name.model;
            model.conversation.status.provider = name.provider;
            model.conversation.status.effort = effort;
            model.conversation.status.window = Some(window);
            model.conversation.status.host =
                if local { ModelHost::Local } else { ModelHost::Remote };
        }
        AgentEvent::ModelNeeded { provider, models } => {
            let row = |info: ModelInfo| ModelRow {
                name: ModelName::new(provider.as_str(), info.id),
                window: info.context_window,
                mark: FavouriteMark::None,
            };
            model.shared.models = models.into_iter().map(row).collect();
            let items = completion_items::models(model);
            model.overlays.push(Overlay::Picker(Box::new(Picker::ready("Models", items))));
        }
        AgentEvent::ModeChanged(mode) => model.conversation.status.mode = mode,
        AgentEvent::TitleChanged(title) => {
            model.conversation.status.title = Some(title);
            return sidebar::title_changed(model);
        }
        AgentEvent::TurnStarted { turn } => {
            model.conversation.turn = TurnActivity::Running(RunningTurn::new(turn, now));
        }
        AgentEvent::Recorded(record) => {
            note(model, &record);
            model.conversation.transcript.record(&record, now);
            if let LogEntry::FileChange(_) = record.entry {
                return changes::read(model).into_iter().collect();
            }
        }
        AgentEvent::SteerSettled { id, returned } => {
            model.conversation.queue.settle(id);
            if let Some(text) = returned {
                model.conversation.composer.append(text);
            }
        }
        AgentEvent::MessageReturned(text) => model.conversation.composer.append(text),
        AgentEvent::RequestSent { turn } => enter(model, turn, RunningTurnPhase::Waiting),
        AgentEvent::RequestRateLimited { turn, held } => {
            enter(
                model,
                turn,
                RunningTurnPhase::RateLimited { at: now + held.wait, reason: held.reason },
            );
        }
        AgentEvent::Prefill { turn, progress } => {
            enter(model, turn, RunningTurnPhase::Prefill(progress));
        }
        AgentEvent::Text { turn, text } => {
            if stream(model, turn, text.len(), RunningTurnPhase::Answering) {
                model.conversation.transcript.text(&text, now);
            }
        }
        AgentEvent::Thinking { turn, text } => {
            if stream(model, turn, text.len(), RunningTurnPhase::Thinking) {
                model.conversation.transcript.thinking(&text, now);
            }
        }
        AgentEvent::CallStarted { turn, call, name } => {
            if stream(model, turn, 0, RunningTurnPhase::Calling(name.clone())) {
                model.conversation.transcript.call_started(&call, &name, now);
            }
        }
        AgentEvent::CallInput { turn, call, json } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.stream(json.len(), now);
                model.conversation.transcript.call_input(&call, &json);
            }
        }
        AgentEvent::ResponseEnded { turn, stop: _, usage, streamed_for } => {
            response_ended(model, turn, usage, streamed_for.as_secs_f64());
        }
        AgentEvent::CacheMissed { reason } => model.conversation.status.cache_miss = Some(reason),
        AgentEvent::SpendingChanged(spending) => model.conversation.status.spending = *spending,
        AgentEvent::ResponseDropped { turn, reason, again } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.streamed = StreamedBytes::default();
                model.conversation.transcript.response_dropped(now);
                match again {
                    Some(again) => {
                        let at = now + again.pause;
                        running.enter(RunningTurnPhase::Retrying {
                            at,
                            again,
                            reason: reason.clone(),
                        });
                        model.conversation.transcript.warn_once(reason);
                    }
                    None => running.enter(RunningTurnPhase::Waiting),
                }
            }
        }
        AgentEvent::ToolStarted { turn, call } => {
            enter(model, turn, RunningTurnPhase::Tool(call.name.clone()));
            model.conversation.transcript.tool_started(&call, now);
        }
        AgentEvent::ToolProgress { turn: _, call, text } => {
            model.conversation.transcript.tool_progress(&call, &text);
            pager::progress(model, &call, &text);
        }
        AgentEvent::ToolEnded { turn, call, status, display, summary, elapsed } => {
            enter(model, turn, RunningTurnPhase::Waiting);
            model
                .conversation
                .transcript
                .tool_ended(&call, TranscriptToolOutcome { status, display, summary, elapsed });
            return pager::ended(model, &call);
        }
        AgentEvent::ApprovalAsked(request) => {
            let effects = attention::notify_question(model, &request.tool);
            model.conversation.questions.push_back(*request);
            commands::next_question(model, EarlyKey::PassThrough);
            return effects;
        }
        AgentEvent::ApprovalWithdrawn(id) => withdraw(model, id),
        AgentEvent::TodosChanged(todos) => model.conversation.todos = todos,
        AgentEvent::Notice { level, text } => model.conversation.transcript.notice(level, text),
        AgentEvent::TurnEnded { turn, outcome, usage: _ } => {
            return end_turn(model, turn, &outcome);
        }
        AgentEvent::CommandRefused(refusal) => {
            model.conversation.transcript.notice(NoticeLevel::Warning, refusal.to_string());
        }
        AgentEvent::CallRefused { call, reason } => {
            model
                .conversation
                .transcript
                .notice(NoticeLevel::Warning, format!("{}: {reason}", call.name));
        }
        AgentEvent::Rules(news) => rules::on_rule_news(model, *news),
        AgentEvent::SaveFailed { reason } => {
            model.conversation.transcript.notice(NoticeLevel::Error, reason);
        }
        AgentEvent::RewindPlanned(plan) => rewind::on_plan(model, plan),
        AgentEvent::Rewound { message, told } => return rewind::on_rewound(model, message, told),
        AgentEvent::Forked { message, .. } => {
            let text = match &message {
                None => "This is a fork; the session it came from is kept.",
                Some(_) => "This is a fork from before that message. Files stay as they are.",
            };
            return rewind::on_rewound(model, message, text);
        }
    }
    Vec::new()
}

fn open(
    model: &mut ScreenModel,
    session: SessionId,
    records: &Arc<Vec<LogRecord>>,
) -> Vec<ScreenEffect> {
    let older = model.conversation.transcript.open(records);
    model.shared.requests.backfill = None;
    model.conversation.scroll.to_tail();
    model.conversation.selection = None;
    model.conversation.search = None;
    model.conversation.visited = None;
    model.conversation.focus = KeyboardFocus::Input;
    // A rewind opens the same session again: queued messages are still to be sent.
    if model.conversation.status.session != Some(session) {
        model.conversation.queue = MessageQueue::default();
    }
    model.conversation.turn = TurnActivity::Idle;
    model.conversation.todos = Vec::new();
    model.conversation.changes = SessionChanges::default();
    model.conversation.denied_calls.clear();
    model.conversation.questions.clear();
    let of_session = |overlay: &Overlay| {
        matches!(
            overlay,
            Overlay::Approval(_) | Overlay::Pager(_) | Overlay::Changes(_) | Overlay::Rewind(_)
        )
    };
    model.overlays.retain(|overlay| !of_session(overlay));
    model.conversation.status.session = Some(session);
    model.conversation.status.title = None;
    model.conversation.status.usage = None;
    model.conversation.status.spending = SessionSpending::default();
    model.conversation.status.cache_miss = None;
    model.conversation.status.rate = None;
    let rewinds = RewindHistory::of(records);
    for (at, record) in records.iter().enumerate() {
        // A file change happened even if the conversation was rewound before it.
        if rewinds.is_live(at) || matches!(record.entry, LogEntry::FileChange(_)) {
            note(model, record);
        }
    }
    let mut effects = vec![
        read_git(model),
        store_queries::ask_for_folds(model, session, store_queries::parent(records)),
    ];
    let begins = matches!(records.first().map(|it| &it.entry), Some(LogEntry::Session(_)) | None);
    let part =
        if older.is_none() && begins { BackfillState::Complete } else { BackfillState::Pending };
    effects.extend(older.map(|older| request_backfill(model, older)));
    effects.extend(sidebar::session_opened(model));
    jump::arrive(model, part);
    effects
}

/// Takes what a log record says about things other than the transcript.
fn note(model: &mut ScreenModel, record: &LogRecord) {
    rules::note(model, record);
    match &record.entry {
        LogEntry::Message(message) => {
            if let Some(usage) = message.usage.filter(|_| message.source.is_main()) {
                model.conversation.status.usage = Some(usage);
            }
        }
        LogEntry::FileChange(change) => model.conversation.changes.note(change),
        LogEntry::Title { title } => model.conversation.status.title = Some(title.clone()),
        LogEntry::Todo { todos } => model.conversation.todos.clone_from(todos),
        // The next response reports how much of the context window is used.
        LogEntry::Compaction(_) => model.conversation.status.usage = None,
        LogEntry::Session(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Rewind(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => {}
    }
}

fn enter(model: &mut ScreenModel, turn: TurnId, phase: RunningTurnPhase) {
    if let Some(running) = model.conversation.turn.of(turn) {
        running.enter(phase);
    }
}

/// Counts a piece of the response. Returns whether it belongs to the running turn.
fn stream(model: &mut ScreenModel, turn: TurnId, bytes: usize, phase: RunningTurnPhase) -> bool {
    let now = model.shared.now;
    let Some(running) = model.conversation.turn.of(turn) else { return false };
    running.stream(bytes, now);
    running.enter(phase);
    true
}

fn response_ended(model: &mut ScreenModel, turn: TurnId, usage: Option<TokenUsage>, seconds: f64) {
    let Some(running) = model.conversation.turn.of(turn) else { return };
    let estimate = running.streamed.bytes / 4;
    running.tokens += usage.map_or(estimate, |usage| usage.output);
    running.streamed = StreamedBytes::default();
    if let Some(usage) = usage {
        model.conversation.status.usage = Some(usage);
        // A response that came all at once has no meaningful rate.
        model.conversation.status.rate = (seconds >= 0.5).then(|| usage.output as f64 / seconds);
    }
}

fn withdraw(model: &mut ScreenModel, id: ApprovalId) {
    model.conversation.questions.retain(|request| request.id != id);
    model.overlays.retain(
        |overlay| !matches!(overlay, Overlay::Approval(approval) if approval.request.id == id),
    );
    commands::next_question(model, EarlyKey::PassThrough);
}

fn end_turn(model: &mut ScreenModel, turn: TurnId, outcome: &TurnOutcome) -> Vec<ScreenEffect> {
    model.conversation.transcript.end_turn(turn, outcome, model.shared.now);
    if model.conversation.turn.running().is_some_and(|running| running.id != turn) {
        return Vec::new();
    }
    let took = model
        .shared
        .now
        .saturating_sub(model.conversation.turn.since().unwrap_or(model.shared.now));
    model.conversation.turn = TurnActivity::Idle;
    model.conversation.queue.requeue_steered();
    let mut effects = vec![read_git(model)];
    match outcome {
        TurnOutcome::Answered => effects.extend(commands::send_next(model)),
        // After a turn that did not end well, queued messages wait for the user to send them.
        TurnOutcome::Interrupted
        | TurnOutcome::RoundLimit
        | TurnOutcome::Budget(_)
        | TurnOutcome::Failed(_) => {
            if !model.conversation.queue.items().is_empty() {
                let keys = &model.shared.settings.keys;
                let (send, edit) = (keys.key(InputKey::Send), keys.key(InputKey::Up));
                let text = format!("Messages wait: {send} sends the first, {edit} edits it");
                model.shared.toast(NoticeLevel::Info, text);
            }
        }
    }
    let how = match outcome {
        TurnOutcome::Answered => Some(TurnEndKind::Answered),
        TurnOutcome::RoundLimit | TurnOutcome::Failed(_) => Some(TurnEndKind::Failed),
        // The user has just answered the budget question, so they are here.
        TurnOutcome::Budget(_) => None,
        TurnOutcome::Interrupted => None,
    };
    // If a queued message follows at once, slug is not done yet.
    if model.conversation.turn.is_idle() {
        effects.extend(how.and_then(|how| attention::notify_turn_end(model, took, how)));
    }
    effects
}

fn request_backfill(model: &mut ScreenModel, older: BackfillRequest) -> ScreenEffect {
    let id = model.shared.requests.issue();
    model.shared.requests.backfill = Some(id);
    ScreenEffect::Backfill { id, older }
}

fn read_git(model: &mut ScreenModel) -> ScreenEffect {
    let id = model.shared.requests.issue();
    model.shared.requests.git = Some(id);
    ScreenEffect::ReadGit(id)
}
