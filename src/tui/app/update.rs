//! Routes each message to its component, and says when the screen has to wake up next.

use std::time::Duration;

use crossterm::event::{KeyEventKind, MouseEvent, MouseEventKind};

use crate::config::StatusItem;
use crate::domain::ModelName;

use super::approval::EarlyKey;
use super::attention::TerminalFocus;
use super::effect::ScreenEffect;
use super::geometry::ScreenGeometry;
use super::guard::QuestionGuard;
use super::model::ScreenModel;
use super::msg::{JobControl, ScreenMsg};
use super::overlay::Overlay;
use super::picker::PickerChoice;
use super::settings::{MotionPreference, REDUCED_MOTION_SECONDS};
use super::turn::TurnActivity;
use super::{
    attention, backfill, caret, changes, commands, completion_items, completion_state, events,
    history_picker, hooks, images, keys, line_input, mouse, pager, pictures, search, sidebar,
    status_line, store_queries, theme_state,
};

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
        on_guard(model, |guard| guard.typed(now));
    }
    match msg {
        ScreenMsg::Tick(now) => tick(model, now),
        ScreenMsg::Key(key) => keys::key(model, key),
        ScreenMsg::Line(text) => line_input::line(model, &text),
        ScreenMsg::Interrupt => line_input::interrupt(model),
        ScreenMsg::Paste(text) => keys::paste(model, &text),
        ScreenMsg::Mouse(event) => mouse::mouse(model, event),
        ScreenMsg::FocusChanged(focus) => {
            attention::set_focus(model, focus);
            if focus == TerminalFocus::Focused {
                on_guard(model, |guard| guard.start_over(now));
            }
            Vec::new()
        }
        ScreenMsg::StatusLine { id, line } => {
            status_line::answered(model, id, line);
            Vec::new()
        }
        ScreenMsg::ImageLoaded { id, taken } => {
            let mut effects = images::on_image_loaded(model, id, taken);
            effects.extend(completion_state::refresh(model));
            effects
        }
        ScreenMsg::PictureMade { id, picture } => {
            pictures::made(model, id, picture);
            Vec::new()
        }
        ScreenMsg::Resized { width, height } => {
            model.shared.geometry.width = width;
            model.shared.geometry.height = height;
            changes::resized(model);
            Vec::new()
        }
        ScreenMsg::Drawn(geometry) => drawn(model, *geometry),
        ScreenMsg::Painted(now) => {
            on_guard(model, |guard| guard.painted(now));
            Vec::new()
        }
        ScreenMsg::Printed(now) => {
            shown_on_top(model);
            on_guard(model, |guard| guard.painted(now));
            Vec::new()
        }
        ScreenMsg::InputIdle(now) => {
            on_guard(model, |guard| guard.input_idle(now));
            Vec::new()
        }
        ScreenMsg::ScreenLost => {
            screen_lost(model);
            Vec::new()
        }
        // Another agent has no conversation here.
        ScreenMsg::Agent(agent, _) if agent != model.conversation.agent => Vec::new(),
        ScreenMsg::Agent(_, event) => {
            let effects = events::event(model, *event);
            search::changed(model);
            effects
        }
        ScreenMsg::FilesIndexed { id, files } => {
            completion_state::on_files_indexed(model, id, files)
        }
        ScreenMsg::HistoryRead { id, page } => history_picker::on_history_read(model, id, page),
        ScreenMsg::PathsRanked { id, query, matches } => {
            completion_state::on_paths_ranked(model, id, &query, matches)
        }
        ScreenMsg::LinesCounted { id, path, lines } => {
            completion_state::on_lines_counted(model, id, path, lines);
            Vec::new()
        }
        ScreenMsg::FolderListed { id, folder, names } => {
            completion_state::on_folder_listed(model, id, folder, names)
        }
        ScreenMsg::Sessions { id, answer } => {
            completion_state::on_sessions_listed(model, id, answer)
                .unwrap_or_else(|answer| sidebar::answered(model, id, answer))
        }
        ScreenMsg::SessionsFound { id, found } => {
            sidebar::found(model, id, found);
            Vec::new()
        }
        ScreenMsg::Found { id, hits, searched } => {
            pager::found(model, id, &hits, searched);
            Vec::new()
        }
        ScreenMsg::LinesRead { text, what } => vec![ScreenEffect::Copy { text, what }],
        ScreenMsg::PagerClosed(Ok(())) => Vec::new(),
        ScreenMsg::PagerClosed(Err(text)) => {
            model.shared.toast(crate::domain::NoticeLevel::Error, text);
            Vec::new()
        }
        ScreenMsg::StoreAnswered { id, answer } => store_queries::answered(model, id, answer),
        ScreenMsg::Hooks { id, answer } => hooks::answered(model, id, answer),
        ScreenMsg::Backfilled { id, folded } => backfill::on_backfilled(model, id, folded),
        ScreenMsg::ModelsListed { id, models } => {
            let mut effects = Vec::new();
            if let Ok(models) = &models {
                model.shared.models.clone_from(models);
            }
            if model.shared.requests.models == Some(id) {
                model.shared.requests.models = None;
                effects = completion_state::refill(model);
            }
            fill_picker(model, id, models.map(drop));
            effects
        }
        ScreenMsg::GitRead { id, git } => {
            if model.shared.requests.git == Some(id) {
                model.shared.requests.git = None;
                model.conversation.status.git = git;
            }
            Vec::new()
        }
        ScreenMsg::EditorClosed(Ok(text)) => {
            model.conversation.composer.edited(text.trim_end_matches('\n'));
            Vec::new()
        }
        ScreenMsg::EditorClosed(Err(text)) => {
            model.shared.toast(crate::domain::NoticeLevel::Error, text);
            Vec::new()
        }
        ScreenMsg::ThemesRead { id, library } => theme_state::on_themes_read(model, id, library),
        ScreenMsg::Background(background) => {
            model.shared.theme.background = background;
            Vec::new()
        }
        // The frame that follows lays the code out again.
        ScreenMsg::CodeColoured => Vec::new(),
        ScreenMsg::JobControl(JobControl::StopRequested) => vec![ScreenEffect::Suspend],
        ScreenMsg::JobControl(JobControl::Continued) => {
            screen_lost(model);
            vec![ScreenEffect::ReclaimTerminal]
        }
        ScreenMsg::Notice { level, text } => {
            model.shared.toast(level, text);
            Vec::new()
        }
    }
}

/// When the screen next changes by itself; `None` if nothing moves, so that no timer runs.
pub fn wake_at(model: &ScreenModel) -> Option<Duration> {
    let beat = match (&model.conversation.turn, model.shared.settings.motion) {
        (TurnActivity::Idle, _) if !commands::is_busy(model) => None,
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
    [beat, due_at(model), next_minute(model)].into_iter().flatten().min()
}

/// When something is due next that also matters without a screen.
pub fn due_at(model: &ScreenModel) -> Option<Duration> {
    let again =
        (model.shared.needs_redraw || search::is_looking(model)).then_some(model.shared.now);
    let pending = model.shared.pending.as_ref().map(|pending| pending.until);
    [
        pending,
        model.shared.toast.as_ref().map(|toast| toast.until),
        model.conversation.composer.wake_at(model.shared.now),
        mouse::wake_at(model),
        again,
        model.shared.attention.wake_at(),
        status_line::wake_at(model),
        armed_at(model),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// When the question on top will accept answers, if nothing is typed before; `None` if there is
/// none.
pub fn armed_at(model: &ScreenModel) -> Option<Duration> {
    model.overlays.last()?.guard()?.due_at()
}

/// The next full minute, if the first line shows the time: its only item that changes by itself.
fn next_minute(model: &ScreenModel) -> Option<Duration> {
    let counts = model.shared.settings.status_items.has(StatusItem::Time);
    counts.then(|| Duration::from_secs((model.shared.now.as_secs() / 60 + 1) * 60))
}

fn tick(model: &mut ScreenModel, now: Duration) -> Vec<ScreenEffect> {
    model.shared.now = now;
    model.shared.needs_redraw = false;
    mouse::tick(model);
    search::tick(model);
    if model.shared.toast.as_ref().is_some_and(|toast| toast.until <= now) {
        model.shared.toast = None;
    }
    if model.shared.pending.as_ref().is_some_and(|pending| pending.until <= now) {
        model.shared.pending = None;
    }
    if model.conversation.rewinding.is_some_and(|until| until <= now) {
        model.conversation.rewinding = None;
    }
    let mut effects: Vec<ScreenEffect> =
        model.conversation.composer.tick(now).into_iter().collect();
    effects.extend(attention::tick(model));
    effects.extend(status_line::tick(model));
    effects
}

/// Whether a message shows that the user is typing or clicking.
fn is_typed(msg: &ScreenMsg) -> bool {
    let is_button = |event: &MouseEvent| matches!(event.kind, MouseEventKind::Down(_));
    matches!(msg, ScreenMsg::Key(key) if key.kind != KeyEventKind::Release)
        || matches!(msg, ScreenMsg::Mouse(event) if is_button(event))
        || matches!(msg, ScreenMsg::Paste(_) | ScreenMsg::Line(_))
}

/// Tells the guard of the topmost overlay, if it asks a question.
fn on_guard(model: &mut ScreenModel, tell: impl FnOnce(&mut QuestionGuard)) {
    if let Some(guard) = model.overlays.last_mut().and_then(Overlay::guard_mut) {
        tell(guard);
    }
}

/// Tells the guards which questions are visible: only the topmost one, as questions below another
/// overlay accept no answer.
fn shown_on_top(model: &mut ScreenModel) {
    let Some((top, below)) = model.overlays.split_last_mut() else { return };
    below.iter_mut().filter_map(Overlay::guard_mut).for_each(QuestionGuard::hidden);
    top.guard_mut().into_iter().for_each(QuestionGuard::drawn);
}

/// Another program had the terminal, so unread input may not be meant for slug: keys are dropped
/// until the question is armed again.
fn screen_lost(model: &mut ScreenModel) {
    for overlay in &mut model.overlays {
        overlay.guard_mut().into_iter().for_each(QuestionGuard::hidden);
        if let Overlay::Approval(approval) = overlay {
            approval.early_key = EarlyKey::Discard;
        }
    }
}

fn drawn(model: &mut ScreenModel, geometry: ScreenGeometry) -> Vec<ScreenEffect> {
    model.conversation.scroll.found(geometry.anchor);
    shown_on_top(model);
    if let (Some(overlay), Some(extent)) = (model.overlays.last_mut(), geometry.dialog) {
        match overlay {
            Overlay::Approval(approval) => approval.drawn(extent),
            Overlay::Reading(reading) => reading.drawn(extent),
            Overlay::Picker(_)
            | Overlay::Pager(_)
            | Overlay::Changes(_)
            | Overlay::Rules(_)
            | Overlay::Rewind(_) => {}
        }
    }
    if let Some(page) = &geometry.page {
        for overlay in &mut model.overlays {
            match overlay {
                Overlay::Pager(pager) => pager.drawn(page),
                Overlay::Changes(changes) => changes.drawn(page),
                Overlay::Approval(_)
                | Overlay::Picker(_)
                | Overlay::Reading(_)
                | Overlay::Rules(_)
                | Overlay::Rewind(_) => {}
            }
        }
    }
    model.shared.geometry = geometry;
    mouse::drawn(model);
    caret::drawn(model);
    let wanted = std::mem::take(&mut model.shared.geometry.pictures);
    let mut effects = pictures::seen(model, &wanted);
    effects.extend(pager::update_layout(model));
    effects
}

/// Fills the list that waits for the models, with the present model selected.
fn fill_picker(model: &mut ScreenModel, id: super::request::RequestId, models: Result<(), String>) {
    let answers = PickerChoice::Model(ModelName::new(
        &model.conversation.status.provider,
        &model.conversation.status.model,
    ));
    let items = models.map(|()| completion_items::models(model));
    let now = items.iter().flatten().position(|item| item.choice == answers).unwrap_or_default();
    for overlay in &mut model.overlays {
        if let Overlay::Picker(picker) = overlay {
            picker.fill(id, items.clone(), now);
        }
    }
}
