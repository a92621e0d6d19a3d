//! Routes each message to its component, and says when the screen has to wake up next.

use std::time::Duration;

use crossterm::event::{KeyEventKind, MouseEvent, MouseEventKind};

use crate::config::StatusItem;
use crate::domain::{ModelName, NoticeLevel};
use crate::tui::dialogs::DialogStack;
use crate::tui::dialogs::hooks;
use crate::tui::dialogs::picker::history;
use crate::tui::dialogs::settings;
use crate::tui::dialogs::stack::DialogIntents;

use crate::agent::{AgentCommand, ContextRequest};

use super::agent_events;
use super::attention::TerminalFocus;
use super::choice::PickerChoice;
use super::conversation::image_input;
use super::conversation::turn::TurnActivity;
use super::conversation::{Conversation, waiting};
use super::conversation::{
    caret, completion_items, completion_state, older_records, search, sending, start_screen,
    transcript_mouse,
};
use super::dialog_reply::{DialogReply, ListRows};
use super::effect::ScreenEffect;
use super::geometry::FrameGeometry;
use super::intent::{Intent, intents};
use super::keymap::AlwaysKey;
use super::model::ScreenModel;
use super::msg::{JobControl, ScreenMsg};
use super::picker_list::PickerPreview;
use super::request_id::RequestId;
use super::server_offers;
use super::setting_admin::timing_words;
use super::setting_response::{SavedSetting, SettingResponse};
use super::settings::{MotionPreference, REDUCED_MOTION_SECONDS};
use super::shared::SharedState;
use super::sidebar::Sidebar;
use super::themes;
use super::tour_progress;
use super::{keys, line_input, mouse, sidebar, started_agents, status_line, store_queries};
use crate::services::sessions::SessionStoreResponse;
use crate::services::store_query::StoreQueryResult;

/// Handles a message, and returns the effects to carry out.
pub fn update(model: &mut ScreenModel, msg: ScreenMsg) -> Vec<ScreenEffect> {
    if matches!(
        msg,
        ScreenMsg::Key(_) | ScreenMsg::Paste(_) | ScreenMsg::Mouse(_) | ScreenMsg::Line(_)
    ) {
        model.shared.attention.record_activity(model.shared.now);
    }
    let now = model.shared.now;
    if is_typed(&msg) {
        model.dialogs.on_guard(|guard| guard.typed(now));
    }
    let mut effects = match msg {
        ScreenMsg::Tick(now) => {
            let has_question = model.has_question();
            tick(&mut model.conversation, &mut model.shared, now, has_question)
        }
        ScreenMsg::Key(key) => {
            let ScreenModel { held_keys, dialogs, shared, .. } = model;
            let typed = held_keys.add(key, dialogs, &shared.settings.keys, now);
            typed.into_iter().flat_map(|key| keys::key(model, key)).collect()
        }
        ScreenMsg::Line(text) => line_input::line(model, &text),
        // ctrl+c stops what runs; when nothing runs, the second one leaves.
        ScreenMsg::Interrupt => keys::always_key(model, AlwaysKey::Cancel),
        ScreenMsg::Paste(text) => keys::paste(model, &text),
        ScreenMsg::Mouse(event) => mouse::mouse(model, event),
        ScreenMsg::FocusChanged(focus) => {
            model.shared.attention.set_focus(focus);
            if focus == TerminalFocus::Focused {
                model.dialogs.on_guard(|guard| guard.start_over(now));
            }
            Vec::new()
        }
        ScreenMsg::StatusLine { id, line } => {
            status_line::command::answered(&mut model.conversation, &mut model.shared, id, line);
            Vec::new()
        }
        ScreenMsg::ImageLoaded { id, taken } => {
            let mut effects =
                image_input::on_image_loaded(&mut model.conversation, &mut model.shared, id, taken);
            effects.extend(completion_state::refresh(&mut model.conversation, &mut model.shared));
            effects
        }
        ScreenMsg::PictureMade { id, picture } => {
            model.shared.pictures.made(id, picture);
            Vec::new()
        }
        ScreenMsg::Resized { width, height } => {
            model.shared.geometry.width = width;
            model.shared.geometry.height = height;
            keys::tell_dialogs(model, &DialogReply::Resized)
        }
        ScreenMsg::Drawn(frame) => {
            let ScreenModel { conversation, shared, dialogs, .. } = model;
            let (mut effects, asked) = drawn(conversation, shared, dialogs, *frame);
            effects.extend(keys::carry_out_each(model, asked));
            effects
        }
        ScreenMsg::Painted(now) => {
            model.dialogs.on_guard(|guard| guard.painted(now));
            Vec::new()
        }
        ScreenMsg::Printed(now) => {
            if let Some(dialog) = model.dialogs.top_mut() {
                dialog.printed(&model.shared);
            }
            model.dialogs.shown();
            model.dialogs.on_guard(|guard| guard.painted(now));
            Vec::new()
        }
        ScreenMsg::InputIdle(now) => {
            let ScreenModel { held_keys, dialogs, shared, .. } = model;
            let typed = held_keys.settle(dialogs, &shared.settings.keys, now);
            let effects = typed.into_iter().flat_map(|key| keys::key(model, key)).collect();
            model.dialogs.on_guard(|guard| guard.input_idle(now));
            effects
        }
        ScreenMsg::ScreenLost => {
            model.dialogs.screen_lost();
            Vec::new()
        }
        ScreenMsg::Agent(agent, event) => agent_events::of_agent(model, agent, *event),
        ScreenMsg::Connect(event) => keys::tell_dialogs(model, &DialogReply::Connect(event)),
        ScreenMsg::FilesIndexed { id, files, mentionable } => completion_state::on_files_indexed(
            &mut model.conversation,
            &mut model.shared,
            id,
            (files, mentionable),
        ),
        ScreenMsg::HistoryRead { id, page } => {
            let is_shown = model.dialogs.is_waiting_for(id);
            let (conversation, shared) = (&mut model.conversation, &mut model.shared);
            let read = history::on_history_read(conversation, shared, id, page, is_shown);
            let Some((reply, effect)) = read else { return Vec::new() };
            let mut effects = keys::tell_dialogs(model, &reply);
            effects.extend(effect);
            effects
        }
        ScreenMsg::PathsRanked { id, query, matches } => {
            let ScreenModel { conversation, background, shared, .. } = model;
            waiting(conversation, background, |asked| asked.rank == Some(id))
                .map_or_else(Vec::new, |it| {
                    completion_state::on_paths_ranked(it, shared, id, &query, matches)
                })
        }
        ScreenMsg::LinesCounted { id, path, lines } => {
            let ScreenModel { conversation, background, .. } = model;
            if let Some(it) = waiting(conversation, background, |asked| asked.lines == Some(id)) {
                completion_state::on_lines_counted(it, id, path, lines);
            }
            Vec::new()
        }
        ScreenMsg::FolderListed { id, folder, names } => {
            let ScreenModel { conversation, background, shared, .. } = model;
            waiting(conversation, background, |asked| asked.folder == Some(id))
                .map_or_else(Vec::new, |it| {
                    completion_state::on_folder_listed(it, shared, id, folder, names)
                })
        }
        ScreenMsg::Sessions { id, answer } => {
            let ScreenModel { conversation, shared, sidebar, .. } = model;
            if shared.requests.recent == Some(id) {
                if let Ok(SessionStoreResponse::Listed(list)) = answer {
                    start_screen::answered(conversation, shared, list);
                }
                return Vec::new();
            }
            let wanted = sessions_answered(conversation, shared, sidebar, id, answer);
            keys::carry_out(model, None, wanted)
        }
        ScreenMsg::BranchesLaidOut { id, page } => {
            let wanted = match model.dialogs.is_waiting_for(id) {
                true => vec![Intent::TellDialogs(DialogReply::BranchesLaidOut { id, page })],
                false => sidebar::branches_laid_out(&mut model.sidebar, id, page),
            };
            keys::carry_out(model, None, wanted)
        }
        ScreenMsg::SessionsFound { id, found } => {
            sidebar::found(&mut model.sidebar, id, found);
            Vec::new()
        }
        ScreenMsg::Found { id, hits, searched } => {
            keys::tell_dialogs(model, &DialogReply::Found { id, hits, searched })
        }
        ScreenMsg::LinesRead { text, what } => vec![ScreenEffect::Copy { text, what }],
        ScreenMsg::PagerClosed(Ok(())) => Vec::new(),
        ScreenMsg::PagerClosed(Err(text)) => {
            model.shared.toast(NoticeLevel::Error, text);
            Vec::new()
        }
        ScreenMsg::StoreAnswered { answer: Ok(StoreQueryResult::StoreSize(size)), .. } => {
            model.conversation.status.store = Some(size);
            Vec::new()
        }
        ScreenMsg::StoreAnswered { id, answer } => {
            let ScreenModel { conversation, background, .. } = model;
            let waiting = waiting(conversation, background, |asked| asked.folds == Some(id));
            let wanted = store_queries::answered(waiting, id, answer);
            keys::carry_out(model, None, wanted)
        }
        ScreenMsg::Settings { id, answer } => {
            if let Ok(SettingResponse { saved: Some(saved), .. }) = &answer {
                let ScreenModel { conversation, background, shared, .. } = &mut *model;
                let conversations = background.values_mut().chain([conversation]);
                setting_saved(shared, conversations, saved);
            }
            let answer = answer.map(settings::rows);
            // Nobody else tells of it.
            if let Err(reason) = &answer
                && !model.dialogs.is_waiting_for(id)
            {
                model.shared.toast(NoticeLevel::Error, reason.clone());
            }
            keys::tell_dialogs(model, &DialogReply::Settings { id, answer })
        }
        ScreenMsg::Hooks { id, answer } => {
            let rows = hooks::rows(answer, &model.shared.settings);
            keys::tell_dialogs(model, &DialogReply::Rows { id, rows })
        }
        ScreenMsg::LspServers { id, seen, servers } => {
            keys::tell_dialogs(model, &DialogReply::LspServers { id, seen, servers })
        }
        ScreenMsg::McpServers { id, seen, servers } => {
            keys::tell_dialogs(model, &DialogReply::McpServers { id, seen, servers })
        }
        ScreenMsg::ServerOffers { seen, servers } => {
            server_offers::take(&mut model.shared, servers);
            let mut effects = vec![ScreenEffect::FollowOffers { seen: Some(seen) }];
            effects.extend(completion_state::refill(&mut model.conversation, &mut model.shared));
            effects
        }
        ScreenMsg::Backfilled { id, folded } => {
            let ScreenModel { conversation, background, shared, .. } = model;
            waiting(conversation, background, |asked| asked.backfill == Some(id))
                .map_or_else(Vec::new, |it| older_records::on_backfilled(it, shared, id, folded))
        }
        ScreenMsg::ModelsListed { id, models } => {
            let mut effects = Vec::new();
            if let Ok(models) = &models {
                model.shared.models.clone_from(models);
            }
            if model.shared.requests.models == Some(id) {
                model.shared.requests.models = None;
                effects = completion_state::refill(&mut model.conversation, &mut model.shared);
            }
            let (conversation, shared) = (&model.conversation, &model.shared);
            let reply = models_listed(conversation, shared, id, models.map(drop));
            effects.extend(keys::tell_dialogs(model, &reply));
            effects
        }
        ScreenMsg::GitRead { id, git } => {
            let ScreenModel { conversation, background, .. } = model;
            if let Some(it) = waiting(conversation, background, |asked| asked.git == Some(id)) {
                it.requests.git = None;
                it.status.git = git;
            }
            Vec::new()
        }
        ScreenMsg::EditorClosed(Ok(text)) => {
            model.conversation.composer.edited(text.trim_end_matches('\n'));
            Vec::new()
        }
        ScreenMsg::EditorClosed(Err(text)) => {
            model.shared.toast(NoticeLevel::Error, text);
            Vec::new()
        }
        ScreenMsg::FileEdited(change) => {
            keys::tell_dialogs(model, &DialogReply::FileEdited(change))
        }
        ScreenMsg::ThemesRead { id, library } => {
            themes::on_themes_read(&mut model.dialogs, &mut model.shared, id, library)
        }
        ScreenMsg::Background(background) => {
            model.shared.theme.background = background;
            Vec::new()
        }
        // The frame that follows lays the code out again.
        ScreenMsg::CodeColoured => Vec::new(),
        ScreenMsg::JobControl(JobControl::StopRequested) => vec![ScreenEffect::Suspend],
        ScreenMsg::JobControl(JobControl::Continued) => {
            model.dialogs.screen_lost();
            vec![ScreenEffect::ReclaimTerminal]
        }
        ScreenMsg::Notice { level, text } => {
            model.shared.toast(level, text);
            Vec::new()
        }
    };
    tour_progress::advance(&model.conversation, &mut model.shared, &mut model.dialogs);
    effects.extend(follow_jobs(&model.conversation, &mut model.shared, &model.dialogs));
    effects
}

/// Has the agent in front tell about its jobs while a dialog shows them, and nobody otherwise.
fn follow_jobs(
    conversation: &Conversation,
    shared: &mut SharedState,
    dialogs: &DialogStack,
) -> Vec<ScreenEffect> {
    let wanted = dialogs.followed_jobs().map(|jobs| (conversation.agent, jobs));
    if wanted == shared.followed_jobs {
        return Vec::new();
    }
    let before = std::mem::replace(&mut shared.followed_jobs, wanted);
    // A new request takes the place of the same agent's last one.
    let left = before.map(|(agent, _)| agent).filter(|it| wanted.is_none_or(|(to, _)| to != *it));
    let all = left.map(|agent| (agent, None)).into_iter();
    let all = all.chain(wanted.map(|(agent, jobs)| (agent, Some(jobs))));
    all.map(|(agent, jobs)| ScreenEffect::Agent(agent, AgentCommand::FollowJobs(jobs))).collect()
}

/// When the screen next changes by itself; `None` if nothing moves, so that no timer runs.
pub fn wake_at(model: &ScreenModel) -> Option<Duration> {
    let beat = match (&model.conversation.turn, model.shared.settings.motion) {
        (TurnActivity::Idle, _)
            if !sending::is_busy(&model.conversation)
                && started_agents::running(&model.shared).next().is_none() =>
        {
            None
        }
        (
            TurnActivity::Idle | TurnActivity::Starting { .. } | TurnActivity::Running(_),
            MotionPreference::Full,
        ) => Some(500),
        (
            TurnActivity::Idle | TurnActivity::Starting { .. } | TurnActivity::Running(_),
            MotionPreference::Reduced,
        ) => Some(u128::from(REDUCED_MOTION_SECONDS) * 1000),
    };
    let beat = beat.map(|beat: u128| {
        let next = (model.shared.now.as_millis() / beat + 1) * beat;
        Duration::from_millis(u64::try_from(next).unwrap_or(u64::MAX))
    });
    [beat, due_at(model), next_minute(&model.shared)].into_iter().flatten().min()
}

/// When something is due next that also matters without a screen.
pub fn due_at(model: &ScreenModel) -> Option<Duration> {
    let again = (model.shared.needs_redraw || search::keys::is_looking(&model.conversation))
        .then_some(model.shared.now);
    let pending = model.shared.pending.as_ref().map(|pending| pending.until);
    [
        pending,
        model.shared.toast.as_ref().map(|toast| toast.until),
        model.conversation.composer.wake_at(model.shared.now, &model.conversation.queue),
        transcript_mouse::wake_at(&model.conversation),
        again,
        model.shared.attention.wake_at(),
        model.shared.status_line.wake_at(),
        idle_wanted_at(model),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// From when on the model has to be told that no input waits: the question on top then takes answers,
/// or keys are held until then. `None` if neither is so.
pub fn idle_wanted_at(model: &ScreenModel) -> Option<Duration> {
    if !model.held_keys.is_empty() {
        return Some(Duration::ZERO);
    }
    model.dialogs.top()?.guard()?.due_at()
}

/// The next full minute, if the first line shows the time: its only item that changes by itself.
fn next_minute(shared: &SharedState) -> Option<Duration> {
    let counts = shared.settings.status_items.has(StatusItem::Time);
    counts.then(|| Duration::from_secs((shared.now.as_secs() / 60 + 1) * 60))
}

/// Whether a message shows that the user is typing or clicking.
fn is_typed(msg: &ScreenMsg) -> bool {
    let is_button = |event: &MouseEvent| matches!(event.kind, MouseEventKind::Down(_));
    matches!(msg, ScreenMsg::Key(key) if key.kind != KeyEventKind::Release)
        || matches!(msg, ScreenMsg::Mouse(event) if is_button(event))
        || matches!(msg, ScreenMsg::Paste(_) | ScreenMsg::Line(_))
}

fn tick(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    now: Duration,
    has_question: bool,
) -> Vec<ScreenEffect> {
    shared.now = now;
    shared.needs_redraw = false;
    transcript_mouse::tick(conversation, shared);
    search::keys::tick(conversation);
    if shared.toast.as_ref().is_some_and(|toast| toast.until <= now) {
        shared.toast = None;
    }
    if shared.pending.as_ref().is_some_and(|pending| pending.until <= now) {
        shared.pending = None;
    }
    if conversation.rewinding.is_some_and(|until| until <= now) {
        conversation.rewinding = None;
    }
    let draft = conversation.composer.tick(now, &conversation.queue);
    let mut effects: Vec<ScreenEffect> = draft.into_iter().collect();
    effects.extend(shared.attention.tick(now, has_question));
    effects.extend(status_line::command::tick(conversation, shared, has_question));
    effects
}

/// Says that a setting is saved, and lets it take effect. The keys of the input change in every
/// conversation.
fn setting_saved<'a>(
    shared: &mut SharedState,
    conversations: impl Iterator<Item = &'a mut Conversation>,
    saved: &SavedSetting,
) {
    let setting = saved.undo.setting;
    let when = timing_words(setting.timing);
    let text = format!("Saved {} in {}. It {when}.", setting.key, saved.file);
    shared.toast(NoticeLevel::Info, text);
    saved.live.clone().apply(setting.key, &mut shared.settings);
    if setting.key == "ui.vi" {
        let typing = shared.settings.typing;
        conversations.for_each(|it| it.composer.set_typing(typing));
    }
}

/// What fills the list that waits for the models, with the present model selected.
fn models_listed(
    conversation: &Conversation,
    shared: &SharedState,
    id: RequestId,
    models: Result<(), String>,
) -> DialogReply {
    let status = &conversation.status;
    let answers = PickerChoice::Model(ModelName::new(&status.provider, &status.model));
    let rows = match models {
        Ok(()) => {
            let items = completion_items::models(conversation, shared);
            let now = items.iter().position(|item| item.choice == answers).unwrap_or_default();
            ListRows::Loaded { items, now, beneath: PickerPreview::Nothing }
        }
        Err(reason) => ListRows::Failed(reason),
    };
    DialogReply::Rows { id, rows }
}

/// Routes an answer of the store to the completion list or the list of sessions.
fn sessions_answered(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    sidebar: &mut Sidebar,
    id: RequestId,
    answer: Result<SessionStoreResponse, String>,
) -> Vec<Intent> {
    match completion_state::on_sessions_listed(conversation, shared, id, answer) {
        Ok(effects) => intents(effects),
        Err(answer) => sidebar::answered(sidebar, shared, id, answer),
    }
}

/// Takes over what a frame measured; returns what it wants done, and what dialogs ask for.
fn drawn(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    dialogs: &mut DialogStack,
    frame: FrameGeometry,
) -> (Vec<ScreenEffect>, DialogIntents) {
    let FrameGeometry { screen: mut geometry, conversation: measured } = frame;
    let measured_dialogs = std::mem::take(&mut geometry.dialogs);
    conversation.scroll.found(measured.anchor);
    shared.geometry = geometry;
    conversation.geometry = measured;
    let asked = dialogs.drawn(measured_dialogs, conversation, shared);
    transcript_mouse::drawn(conversation, shared);
    caret::keys::drawn(conversation, shared);
    let wanted = std::mem::take(&mut conversation.geometry.pictures);
    let canvas = shared.settings.canvas;
    let mut effects = Vec::new();
    if shared.geometry.panel.is_some() && conversation.context_shares.take_stale() {
        effects.push(conversation.command(AgentCommand::Context(ContextRequest::Show)));
    }
    effects.extend(shared.pictures.seen(canvas, &mut shared.requests.ids, &wanted));
    (effects, asked)
}
