//! How agent events change the model. Events of a turn that no longer runs are stale and ignored.

use std::sync::Arc;

use crate::agent::{AgentEvent, ContextLedger, RuleReply};
use crate::domain::{
    AgentId, MessageRole, ModelName, NoticeLevel, RequestSource, SessionId, ToolDisplay, TurnId,
    WorkPlan,
};
use crate::providers::{ModelInfo, ProviderFault};
use crate::session::undo::RewindHistory;
use crate::session::{
    LogEntry, LogRecord, MessageEntry, SessionSpending, ends_in_command, ends_unanswered,
    note_title,
};

use crate::tui::dialogs::EarlyKey;
use crate::tui::dialogs::picker::Picker;

use super::approval_events;
use super::conversation::Conversation;
use super::conversation::completion_items;
use super::conversation::composer::ChatComposer;
use super::conversation::denied_calls;
use super::conversation::jump;
use super::conversation::pending_jump::BackfillState;
use super::conversation::rewind_messages;
use super::conversation::search;
use super::conversation::sending;
use super::conversation::side_panel::ContextShares;
use super::conversation::start_screen;
use super::conversation::status::ModelHost;
use super::conversation::transcript::backfill::{BackfillRequest, parent};
use super::conversation::turn::{RunningTurn, RunningTurnPhase, StreamedBytes, TurnActivity};
use super::conversation::turn_end;
use super::server_offers;
use crate::services::session_changes::SessionChanges;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::keys;
use crate::tui::app::model::ScreenModel;
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::shared::SharedState;
use crate::tui::app::sidebar::{self, Sidebar};
use crate::tui::app::started_agents;
use crate::tui::app::store_requests;
use crate::tui::app::{race, saved_rules};

/// Applies an event of an agent to its conversation. One of an agent that has no conversation here
/// changes nothing.
pub fn of_agent(model: &mut ScreenModel, agent: AgentId, event: AgentEvent) -> Vec<ScreenEffect> {
    if agent == model.conversation.agent {
        let mut effects = apply(model, event);
        model.conversation.keep_name();
        effects.extend(sending::send_first(&mut model.conversation, &mut model.shared));
        search::keys::changed(&mut model.conversation);
        return effects;
    }
    let Some(behind) = model.background.get_mut(&agent) else { return Vec::new() };
    std::mem::swap(&mut model.conversation, behind);
    // What lies over the chat belongs to the conversation that is shown. Only questions come up.
    let effects = if approval_events::is_about_question(&event) {
        apply(model, event)
    } else {
        let open = std::mem::take(&mut model.dialogs);
        let effects = apply(model, event);
        model.dialogs = open;
        effects
    };
    model.conversation.keep_name();
    if let Some(behind) = model.background.get_mut(&agent) {
        std::mem::swap(&mut model.conversation, behind);
    }
    effects
}

/// Applies an event to the conversation that is in its place in the model.
fn apply(model: &mut ScreenModel, event: AgentEvent) -> Vec<ScreenEffect> {
    let now = model.shared.now;
    match event {
        AgentEvent::SessionOpened { session, records } => return open(model, session, &records),
        AgentEvent::SessionRead { session, earlier } => {
            if model.conversation.status.session == Some(session) {
                denied_calls::note_earlier(&mut model.conversation.denied_calls, &earlier);
                let older = model.conversation.transcript.older(&earlier, earlier.len());
                if older.is_none() {
                    jump::arrive(
                        &mut model.conversation,
                        &mut model.shared,
                        BackfillState::Complete,
                    );
                }
                return older
                    .map(|older| {
                        request_backfill(&mut model.conversation, &mut model.shared, older)
                    })
                    .into_iter()
                    .collect();
            }
        }
        AgentEvent::ModelChanged { model: name, effort, window, local } => {
            let was_failing = model.conversation.status.fault.take().is_some();
            model.conversation.is_reconnected |= was_failing && model.conversation.turn_failed;
            model.conversation.status.model = name.model;
            model.conversation.status.provider = name.provider;
            model.conversation.status.effort = effort;
            model.conversation.status.window = Some(window);
            model.conversation.status.host =
                if local { ModelHost::Local } else { ModelHost::Remote };
        }
        AgentEvent::ModelLoading(loading) => model.conversation.status.loading = loading,
        AgentEvent::ModelNeeded { provider, models } => {
            let row = |info: ModelInfo| ModelRow {
                name: ModelName::new(provider.as_str(), info.id),
                window: info.context_window,
                mark: FavouriteMark::None,
            };
            model.shared.models = models.into_iter().map(row).collect();
            let items = completion_items::models(&model.conversation, &model.shared);
            model.dialogs.push(Picker::ready("Models", items));
        }
        // A message that cannot be sent yet is for the input, where the user can see it.
        AgentEvent::ProviderFailed { fault, .. } => {
            model.conversation.status.fault =
                Some(fault).filter(|fault| *fault != ProviderFault::Other);
            if let Some(text) = model.conversation.first_message.take() {
                model.conversation.composer.append(text);
            }
        }
        AgentEvent::ModeChanged(mode) => {
            // A started agent has the mode of its parent, or that of its type.
            let is_news = model.conversation.status.started_as.is_none();
            if is_news && model.conversation.status.mode != mode {
                let text = format!("Mode {mode}: {}", mode.meaning());
                model.shared.toast(NoticeLevel::Info, text);
            }
            model.conversation.status.mode = mode;
        }
        AgentEvent::SessionState { title, todos, tasks } => {
            model.conversation.plan = WorkPlan::new(todos, tasks);
            if title.is_some() {
                model.conversation.status.title = title;
                return sidebar::title_changed(&mut model.sidebar, &mut model.shared);
            }
        }
        AgentEvent::TurnStarted { turn } => {
            model.conversation.turn = TurnActivity::Running(RunningTurn::new(turn, now));
            model.conversation.status.fault = None;
            model.conversation.turn_failed = false;
            model.conversation.is_reconnected = false;
        }
        AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) => {
            let ScreenModel { conversation, sidebar, shared, .. } = model;
            started_agents::spends(conversation, &record);
            let (mut effects, replies) = take_record(conversation, sidebar, shared, &record);
            for reply in &replies {
                effects.extend(keys::tell_dialogs(model, reply));
            }
            return effects;
        }
        AgentEvent::SteerSettled { id, returned } => {
            model.conversation.queue.settle(id);
            if let Some(text) = returned {
                model.conversation.composer.append(text);
            }
        }
        AgentEvent::MessageReturned(text) => model.conversation.composer.append(text),
        AgentEvent::RequestSent { turn } => {
            model.conversation.turn.enter(turn, RunningTurnPhase::Waiting);
        }
        AgentEvent::CompactionStarted { turn } => {
            model.conversation.turn.enter(turn, RunningTurnPhase::Compacting(None));
        }
        AgentEvent::CompactionProgress { turn, read, written } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.streamed = StreamedBytes { bytes: written, since: None };
            }
            model.conversation.turn.enter(turn, RunningTurnPhase::Compacting(read));
        }
        AgentEvent::RequestRateLimited { turn, held } => {
            model.conversation.turn.enter(
                turn,
                RunningTurnPhase::RateLimited { at: now + held.wait, reason: held.reason },
            );
        }
        AgentEvent::Prefill { turn, progress } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.note_prefill(&progress, now);
            }
            // Some servers hold back the text of a call, so this may be the last word for long.
            let is_read = progress.total > 0 && progress.processed >= progress.total;
            let phase = match is_read {
                true => RunningTurnPhase::Waiting,
                false => RunningTurnPhase::Prefill(progress),
            };
            model.conversation.turn.enter(turn, phase);
        }
        AgentEvent::Text { turn, text } => {
            if stream(
                &mut model.conversation,
                &model.shared,
                turn,
                text.len(),
                RunningTurnPhase::Answering,
            ) {
                model.conversation.transcript.text(&text, now);
            }
        }
        AgentEvent::Thinking { turn, text } => {
            if stream(
                &mut model.conversation,
                &model.shared,
                turn,
                text.len(),
                RunningTurnPhase::Thinking,
            ) {
                model.conversation.transcript.thinking(&text, now);
            }
        }
        AgentEvent::CallStarted { turn, call, name } => {
            if stream(
                &mut model.conversation,
                &model.shared,
                turn,
                0,
                RunningTurnPhase::Calling(name.clone()),
            ) {
                model.conversation.transcript.call_started(&call, &name, now);
            }
        }
        AgentEvent::CallInput { turn, call, json } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.stream(json.len(), now);
                model.conversation.transcript.call_input(&call, &json);
            }
        }
        AgentEvent::ResponseTimed { turn, streamed_for } => {
            if let Some(running) = model.conversation.turn.of(turn) {
                running.streamed_for = streamed_for;
            }
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
            model.conversation.turn.enter(turn, RunningTurnPhase::Tool(call.name.clone()));
            model.conversation.transcript.tool_started(&call, now);
        }
        AgentEvent::ToolProgress { turn: _, call, text } => {
            model.conversation.transcript.tool_progress(&call, &text);
            if !model.dialogs.is_empty() {
                return keys::tell_dialogs(model, &DialogReply::CallProgress { call, text });
            }
        }
        AgentEvent::Subagent(summary) => {
            let ScreenModel { conversation, shared, .. } = model;
            if let Some(status) = started_agents::stands(conversation, shared, &summary) {
                let composer = ChatComposer::new(Vec::new(), "");
                model.add_conversation(summary.agent, status, composer);
            }
        }
        AgentEvent::RaceStarted { sides } => {
            let ScreenModel { dialogs, shared, conversation, .. } = model;
            race::begin(dialogs, shared, conversation.agent, sides);
        }
        AgentEvent::RaceEnded { .. } => {
            model.shared.race = None;
            return keys::tell_dialogs(model, &DialogReply::RaceEnded);
        }
        AgentEvent::JobStarted(job) => model.conversation.status.jobs.push(job),
        AgentEvent::JobEnded { job, end: _ } => model.conversation.status.job_ended(job),
        AgentEvent::Jobs(all) => return keys::tell_dialogs(model, &DialogReply::Jobs(all)),
        AgentEvent::JobOutput(it) => return keys::tell_dialogs(model, &DialogReply::JobOutput(it)),
        event @ (AgentEvent::ApprovalAsked(_) | AgentEvent::QuestionsAsked(_)) => {
            let effect = approval_events::asked(&mut model.shared, &mut model.conversation, event);
            approval_events::show_next_question(model, EarlyKey::PassThrough);
            return effect.into_iter().collect();
        }
        AgentEvent::ApprovalFacts { id, facts } => {
            approval_events::counted(&mut model.shared, id, &facts);
            return keys::tell_dialogs(model, &DialogReply::ApprovalFacts { id, facts });
        }
        AgentEvent::ApprovalWithdrawn(id) => {
            approval_events::withdrawn(&mut model.shared, &mut model.dialogs, id);
            approval_events::show_next_question(model, EarlyKey::PassThrough);
        }
        AgentEvent::Notice { level, text } => model.conversation.transcript.notice(level, text),
        AgentEvent::CommandRefused(refusal) => {
            model.conversation.transcript.notice(refusal.level(), refusal.to_string());
        }
        AgentEvent::CallRefused { call, reason } => {
            model
                .conversation
                .transcript
                .notice(NoticeLevel::Warning, format!("{}: {reason}", call.name));
        }
        AgentEvent::Rules(reply) => {
            if let RuleReply::Saved { file, rules } = *reply {
                let agent = model.conversation.agent;
                saved_rules::announce(&mut model.shared, agent, file, rules);
                return Vec::new();
            }
            return keys::tell_dialogs(model, &DialogReply::Rules(reply));
        }
        AgentEvent::ContextEstimated(ledger) => note_context(&mut model.conversation, &ledger),
        AgentEvent::Context(reply) => {
            note_context(&mut model.conversation, &reply.ledger);
            return keys::tell_dialogs(model, &DialogReply::Context(reply));
        }
        AgentEvent::Memory(reply) => {
            return keys::tell_dialogs(model, &DialogReply::Memory(reply));
        }
        AgentEvent::PromptFiles(report) => {
            server_offers::take_prompt_files(&mut model.shared, *report);
        }
        AgentEvent::SaveFailed { reason } => {
            model.conversation.transcript.notice(NoticeLevel::Error, reason);
        }
        AgentEvent::RewindPlanned(plan) => {
            return keys::tell_dialogs(model, &DialogReply::RewindPlanned(plan));
        }
        AgentEvent::ReviewPlanned(plan) => {
            return keys::tell_dialogs(model, &DialogReply::ReviewPlanned(plan));
        }
        AgentEvent::Rewound { message, told } => {
            let mut effects = keys::tell_dialogs(model, &DialogReply::Rewound);
            let ScreenModel { conversation, shared, .. } = model;
            effects.extend(rewind_messages::on_rewound(conversation, shared, message, told));
            return effects;
        }
        AgentEvent::Forked { message, .. } => {
            let text = match &message {
                None => "Forked. The original is unchanged.",
                Some(_) => {
                    "Forked before that message. The original and all files are \
                    unchanged."
                }
            };
            return rewind_messages::on_rewound(
                &mut model.conversation,
                &mut model.shared,
                message,
                text,
            );
        }
    }
    Vec::new()
}

/// Applies a new record to the conversation. Returns what follows from it, for the screen and for
/// what lies over the chat.
fn take_record(
    conversation: &mut Conversation,
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    record: &LogRecord,
) -> (Vec<ScreenEffect>, Vec<DialogReply>) {
    let had_title = conversation.status.title.is_some();
    note(conversation, record);
    let ended_calls = conversation.transcript.record(record, shared.now);
    let (mut effects, mut replies) = (Vec::new(), Vec::new());
    for call in ended_calls {
        let others = conversation.transcript.running_tool();
        let phase = others.map_or(RunningTurnPhase::Waiting, RunningTurnPhase::Tool);
        conversation.turn.enter(record.turn, phase);
        let tool = conversation.transcript.of_call(&call);
        let output = tool.and_then(|tool| tool.full_output.clone());
        replies.push(DialogReply::CallEnded { call, output });
    }
    match &record.entry {
        LogEntry::Message(message) => {
            if message.role == MessageRole::Assistant {
                end_response(conversation, record.turn, message);
            }
            if !had_title {
                note_title(&mut conversation.status.title, &record.entry);
                if conversation.status.title.is_some() {
                    effects.extend(sidebar::title_changed(sidebar, shared));
                }
            }
        }
        LogEntry::Title { .. } => effects.extend(sidebar::title_changed(sidebar, shared)),
        LogEntry::FileChange(_) => replies.push(DialogReply::FileChanged),
        LogEntry::TurnEnd(end) => {
            effects.extend(turn_end::end_turn(conversation, shared, record.turn, &end.outcome));
        }
        LogEntry::Session(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Rewind(_)
        | LogEntry::Compaction(_)
        | LogEntry::ContextEdit(_)
        | LogEntry::Interrupted
        | LogEntry::Todo { .. }
        | LogEntry::Tasks(_)
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => {}
    }
    (effects, replies)
}

/// What is said about a session whose last turn slug did not live to end.
const UNANSWERED: &str =
    "slug ended before your last message was answered. /retry goes on from here.";

const IN_COMMAND: &str = "slug ended while a `!` command of yours ran. It may have run in part, and its \
                          output is lost.";

fn open(
    model: &mut ScreenModel,
    session: SessionId,
    records: &Arc<Vec<LogRecord>>,
) -> Vec<ScreenEffect> {
    let older = model.conversation.transcript.open(records);
    model.conversation.requests.backfill = None;
    model.conversation.scroll.to_tail();
    model.conversation.selection = None;
    model.conversation.search = None;
    model.conversation.visited = None;
    model.conversation.focus = KeyboardFocus::Input;
    // A rewind opens the same session again: queued messages are still to be sent.
    if model.conversation.status.session != Some(session) {
        sending::return_queue(&mut model.conversation, &mut model.shared);
        let ScreenModel { conversation, background, shared, .. } = model;
        started_agents::forget(conversation, background, shared);
    }
    model.conversation.turn = TurnActivity::Idle;
    model.conversation.turn_failed = false;
    model.conversation.is_reconnected = false;
    model.conversation.plan = WorkPlan::default();
    model.conversation.context_shares = ContextShares::default();
    model.conversation.context_shares.outdate();
    model.conversation.changes = SessionChanges::default();
    model.conversation.denied_calls.clear();
    model.shared.questions.retain(|(asking, _)| *asking != model.conversation.agent);
    // A question of another agent stays.
    let agent = model.conversation.agent;
    let asks_here = model.shared.asker.as_ref().is_none_or(|it| it.agent == agent);
    model.dialogs.session_closed(asks_here);
    model.conversation.status.session = Some(session);
    model.conversation.status.title = None;
    model.conversation.status.usage = None;
    model.conversation.status.estimate = None;
    model.conversation.status.spending = SessionSpending::default();
    model.conversation.status.cache_miss = None;
    model.conversation.status.rate = None;
    let rewinds = RewindHistory::of(records);
    for (at, record) in records.iter().enumerate() {
        // A file change happened even if the conversation was rewound before it.
        if rewinds.is_live(at) || matches!(record.entry, LogEntry::FileChange(_)) {
            note(&mut model.conversation, record);
        }
    }
    let mut effects = vec![
        turn_end::read_git(&mut model.conversation, &mut model.shared),
        store_requests::ask_for_folds(
            &mut model.conversation,
            &mut model.shared,
            session,
            parent(records),
        ),
    ];
    if records.is_empty() {
        effects.push(start_screen::ask(&mut model.shared));
    }
    let begins = matches!(records.first().map(|it| &it.entry), Some(LogEntry::Session(_)) | None);
    let part =
        if older.is_none() && begins { BackfillState::Complete } else { BackfillState::Pending };
    effects.extend(
        older.map(|older| request_backfill(&mut model.conversation, &mut model.shared, older)),
    );
    // A conversation behind another one is under its own key while it takes an event.
    let is_behind = model.background.contains_key(&model.conversation.agent);
    let is_at_hit = is_behind || model.conversation.pending_jump.is_some();
    effects.extend(sidebar::session_opened(&mut model.sidebar, &mut model.shared, is_at_hit));
    jump::arrive(&mut model.conversation, &mut model.shared, part);
    if ends_unanswered(records) {
        model.conversation.transcript.notice(NoticeLevel::Info, UNANSWERED.to_owned());
    }
    if ends_in_command(records) {
        model.conversation.transcript.notice(NoticeLevel::Info, IN_COMMAND.to_owned());
    }
    if asks_here && !is_behind {
        model.shared.asker = None;
        approval_events::show_next_question(model, EarlyKey::Discard);
    }
    effects
}

/// Takes what fills the context window.
fn note_context(conversation: &mut Conversation, ledger: &ContextLedger) {
    conversation.context_shares.measured(ledger);
    if ledger.is_estimate {
        conversation.status.usage = None;
        conversation.status.estimate = Some(ledger.used);
    }
}

/// Takes what a log record says about things other than the transcript.
fn note(conversation: &mut Conversation, record: &LogRecord) {
    denied_calls::note(&mut conversation.denied_calls, record);
    match &record.entry {
        LogEntry::Message(message) => {
            if let Some(usage) = message.usage.filter(|_| message.source.is_main()) {
                let is_counted = !message.is_usage_estimated;
                conversation.status.usage = Some(usage).filter(|_| is_counted);
                let estimate = Some(usage.input + usage.output);
                conversation.status.estimate = estimate.filter(|_| !is_counted);
            }
            let display = message.result.as_ref().and_then(|result| result.display.as_ref());
            if let Some(ToolDisplay::Diff(diff)) = display {
                conversation.changes.note_diff(diff);
            }
        }
        LogEntry::FileChange(change) => conversation.changes.note(change),
        LogEntry::Title { .. } => note_title(&mut conversation.status.title, &record.entry),
        LogEntry::Todo { todos } => conversation.plan.todos.clone_from(todos),
        LogEntry::Tasks(change) => conversation.plan.apply(change),
        // The next response reports how much of the context window is used.
        LogEntry::Compaction(compaction) => {
            conversation.status.usage = None;
            conversation.status.estimate = compaction.tokens.map(|tokens| tokens.after);
            conversation.context_shares.outdate();
        }
        LogEntry::ContextEdit(_) => {
            conversation.status.usage = None;
            conversation.status.estimate = None;
        }
        LogEntry::Session(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Rewind(_)
        | LogEntry::Interrupted
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => {}
        LogEntry::TurnEnd(_) => conversation.context_shares.outdate(),
    }
}

/// Counts a piece of the response. Returns whether it belongs to the running turn.
fn stream(
    conversation: &mut Conversation,
    shared: &SharedState,
    turn: TurnId,
    bytes: usize,
    phase: RunningTurnPhase,
) -> bool {
    let now = shared.now;
    let Some(running) = conversation.turn.of(turn) else { return false };
    running.stream(bytes, now);
    running.enter(phase);
    true
}

fn end_response(conversation: &mut Conversation, turn: TurnId, message: &MessageEntry) {
    let Some(running) = conversation.turn.of(turn) else { return };
    if message.source != RequestSource::Main && message.source != RequestSource::Compaction {
        return;
    }
    let estimate = running.streamed.bytes / 4;
    running.tokens += message.usage.map_or(estimate, |usage| usage.output);
    running.streamed = StreamedBytes::default();
    let seconds = std::mem::take(&mut running.streamed_for).as_secs_f64();
    if let Some(usage) = message.usage.filter(|_| message.source.is_main()) {
        // A response that came all at once has no meaningful rate.
        conversation.status.rate = (seconds >= 0.5).then(|| usage.output as f64 / seconds);
    }
}

fn request_backfill(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    older: BackfillRequest,
) -> ScreenEffect {
    let id = shared.requests.issue();
    conversation.requests.backfill = Some(id);
    ScreenEffect::Backfill { id, older }
}
