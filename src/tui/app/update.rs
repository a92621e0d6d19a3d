//! Routes each message to the component that it is for, and says when time matters next.

use std::time::Duration;

use crossterm::event::{KeyEventKind, MouseEvent, MouseEventKind};

use crate::config::StatusItem;
use crate::domain::ModelName;

use super::approval::Stray;
use super::attention::Presence;
use super::effect::Effect;
use super::geometry::Geometry;
use super::guard::QuestionGuard;
use super::model::{CALM, Model, Motion};
use super::msg::{Job, Msg};
use super::overlay::Overlay;
use super::picker::Choice;
use super::turn::Turn;
use super::{
    attention, caret, changes, commands, complete, completing, events, hooks, images, keys, lines,
    looks, mouse, older, pager, pages, pictures, recall, search, sidebar, status_line,
};

/// Takes a message in; what it returns is to happen.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    if matches!(msg, Msg::Key(_) | Msg::Paste(_) | Msg::Mouse(_) | Msg::Line(_)) {
        model.attention.sign(model.now);
    }
    let now = model.now;
    if is_typed(&msg) {
        on_guard(model, |guard| guard.typed(now));
    }
    match msg {
        Msg::Tick(now) => tick(model, now),
        Msg::Key(key) => keys::key(model, key),
        Msg::Line(text) => lines::line(model, &text),
        Msg::Interrupt => lines::interrupt(model),
        Msg::Paste(text) => keys::paste(model, &text),
        Msg::Mouse(event) => mouse::mouse(model, event),
        Msg::Looks(presence) => {
            attention::looks(model, presence);
            if presence == Presence::Here {
                on_guard(model, |guard| guard.start_over(now));
            }
            Vec::new()
        }
        Msg::StatusLine { id, line } => {
            status_line::answered(model, id, line);
            Vec::new()
        }
        Msg::ImageTaken { id, taken } => {
            let mut effects = images::taken(model, id, taken);
            effects.extend(completing::refresh(model));
            effects
        }
        Msg::PictureMade { id, picture } => {
            pictures::made(model, id, picture);
            Vec::new()
        }
        Msg::Resized { width, height } => {
            model.geometry.width = width;
            model.geometry.height = height;
            changes::resized(model);
            Vec::new()
        }
        Msg::Drawn(geometry) => drawn(model, *geometry),
        Msg::Painted(now) => {
            on_guard(model, |guard| guard.painted(now));
            Vec::new()
        }
        Msg::Printed(now) => {
            shown_on_top(model);
            on_guard(model, |guard| guard.painted(now));
            Vec::new()
        }
        Msg::InputIdle(now) => {
            on_guard(model, |guard| guard.input_idle(now));
            Vec::new()
        }
        Msg::ScreenLost => {
            screen_lost(model);
            Vec::new()
        }
        Msg::Agent(event) => {
            let effects = events::event(model, *event);
            search::changed(model);
            effects
        }
        Msg::FilesIndexed { id, files } => completing::indexed(model, id, files),
        Msg::HistoryRead { id, page } => recall::read(model, id, page),
        Msg::PathsRanked { id, query, matches } => completing::ranked(model, id, &query, matches),
        Msg::LinesCounted { id, path, lines } => {
            completing::counted(model, id, path, lines);
            Vec::new()
        }
        Msg::FolderListed { id, folder, names } => completing::listed(model, id, folder, names),
        Msg::Sessions { id, answer } => completing::sessions_listed(model, id, answer)
            .unwrap_or_else(|answer| sidebar::answered(model, id, answer)),
        Msg::SessionsFound { id, found } => {
            sidebar::found(model, id, found);
            Vec::new()
        }
        Msg::Found { id, hits, searched } => {
            pager::found(model, id, &hits, searched);
            Vec::new()
        }
        Msg::LinesRead { text, what } => vec![Effect::Copy { text, what }],
        Msg::PagerClosed(Ok(())) => Vec::new(),
        Msg::PagerClosed(Err(text)) => {
            model.toast(crate::domain::NoticeLevel::Error, text);
            Vec::new()
        }
        Msg::Pages { id, answer } => pages::answered(model, id, answer),
        Msg::Hooks { id, answer } => hooks::answered(model, id, answer),
        Msg::OlderFolded { id, folded } => older::folded(model, id, folded),
        Msg::ModelsListed { id, models } => {
            let mut effects = Vec::new();
            if let Ok(models) = &models {
                model.models.clone_from(models);
            }
            if model.requests.models == Some(id) {
                model.requests.models = None;
                effects = completing::refill(model);
            }
            fill_picker(model, id, models.map(drop));
            effects
        }
        Msg::GitRead { id, git } => {
            if model.requests.git == Some(id) {
                model.requests.git = None;
                model.status.git = git;
            }
            Vec::new()
        }
        Msg::EditorClosed(Ok(text)) => {
            model.composer.edited(text.trim_end_matches('\n'));
            Vec::new()
        }
        Msg::EditorClosed(Err(text)) => {
            model.toast(crate::domain::NoticeLevel::Error, text);
            Vec::new()
        }
        Msg::ThemesRead { id, library } => looks::were_read(model, id, library),
        Msg::Background(background) => {
            model.looks.background = background;
            Vec::new()
        }
        // The frame that follows lays the code out again.
        Msg::CodeColoured => Vec::new(),
        Msg::Job(Job::StopAsked) => vec![Effect::Suspend],
        Msg::Job(Job::Continued) => {
            screen_lost(model);
            vec![Effect::Retake]
        }
        Msg::Told { level, text } => {
            model.toast(level, text);
            Vec::new()
        }
    }
}

/// When something on the screen next changes by itself. Nothing moves: no timer.
pub fn wake_at(model: &Model) -> Option<Duration> {
    let beat = match (&model.turn, model.settings.motion) {
        (Turn::Idle, _) if !commands::something_runs(model) => None,
        (Turn::Idle | Turn::Starting { .. } | Turn::Running(_), Motion::Full) => Some(500),
        (Turn::Idle | Turn::Starting { .. } | Turn::Running(_), Motion::Reduced) => {
            Some(u128::from(CALM) * 1000)
        }
    };
    let beat = beat.map(|beat: u128| {
        let next = (model.now.as_millis() / beat + 1) * beat;
        Duration::from_millis(u64::try_from(next).unwrap_or(u64::MAX))
    });
    [beat, due_at(model), next_minute(model)].into_iter().flatten().min()
}

/// When something is next to be done, be there a screen or not.
pub fn due_at(model: &Model) -> Option<Duration> {
    let again = (model.restless || search::is_looking(model)).then_some(model.now);
    let pending = model.pending.as_ref().map(|pending| pending.until);
    [
        pending,
        model.toast.as_ref().map(|toast| toast.until),
        model.composer.wake_at(model.now),
        mouse::wake_at(model),
        again,
        model.attention.wake_at(),
        status_line::wake_at(model),
        armed_at(model),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// When the question on top takes answers, if nothing is typed before.
pub fn armed_at(model: &Model) -> Option<Duration> {
    model.overlays.last()?.guard()?.due_at()
}

/// The one item of the first line that moves by itself.
fn next_minute(model: &Model) -> Option<Duration> {
    let counts = model.settings.status_items.has(StatusItem::Time);
    counts.then(|| Duration::from_secs((model.now.as_secs() / 60 + 1) * 60))
}

fn tick(model: &mut Model, now: Duration) -> Vec<Effect> {
    model.now = now;
    model.restless = false;
    mouse::tick(model);
    search::tick(model);
    if model.toast.as_ref().is_some_and(|toast| toast.until <= now) {
        model.toast = None;
    }
    if model.pending.as_ref().is_some_and(|pending| pending.until <= now) {
        model.pending = None;
    }
    if model.rewinding.is_some_and(|until| until <= now) {
        model.rewinding = None;
    }
    let mut effects: Vec<Effect> = model.composer.tick(now).into_iter().collect();
    effects.extend(attention::tick(model));
    effects.extend(status_line::tick(model));
    effects
}

/// Whether it says that a hand is at the keys or the mouse.
fn is_typed(msg: &Msg) -> bool {
    let is_button = |event: &MouseEvent| matches!(event.kind, MouseEventKind::Down(_));
    matches!(msg, Msg::Key(key) if key.kind != KeyEventKind::Release)
        || matches!(msg, Msg::Mouse(event) if is_button(event))
        || matches!(msg, Msg::Paste(_) | Msg::Line(_))
}

/// Tells the question that keys are for, if one is asked.
fn on_guard(model: &mut Model, tell: impl FnOnce(&mut QuestionGuard)) {
    if let Some(guard) = model.overlays.last_mut().and_then(Overlay::guard_mut) {
        tell(guard);
    }
}

/// The topmost question is in the frame; one below another overlay takes nothing.
fn shown_on_top(model: &mut Model) {
    let Some((top, below)) = model.overlays.split_last_mut() else { return };
    below.iter_mut().filter_map(Overlay::guard_mut).for_each(QuestionGuard::hidden);
    top.guard_mut().into_iter().for_each(QuestionGuard::drawn);
}

/// What waits in the terminal was typed at somebody else: it is dropped until a question is armed.
fn screen_lost(model: &mut Model) {
    for overlay in &mut model.overlays {
        overlay.guard_mut().into_iter().for_each(QuestionGuard::hidden);
        if let Overlay::Approval(approval) = overlay {
            approval.stray = Stray::Nowhere;
        }
    }
}

fn drawn(model: &mut Model, geometry: Geometry) -> Vec<Effect> {
    model.scroll.found(geometry.anchor);
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
    model.geometry = geometry;
    mouse::drawn(model);
    caret::drawn(model);
    let wanted = std::mem::take(&mut model.geometry.pictures);
    let mut effects = pictures::seen(model, &wanted);
    effects.extend(pager::lay_anew(model));
    effects
}

/// Puts the models into the list that waits for them, with the one that answers now selected.
fn fill_picker(model: &mut Model, id: super::effect::RequestId, models: Result<(), String>) {
    let answers = Choice::Model(ModelName::new(&model.status.provider, &model.status.model));
    let items = models.map(|()| complete::models(model));
    let now = items.iter().flatten().position(|item| item.choice == answers).unwrap_or_default();
    for overlay in &mut model.overlays {
        if let Overlay::Picker(picker) = overlay {
            picker.fill(id, items.clone(), now);
        }
    }
}
