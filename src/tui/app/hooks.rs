//! `/hooks`: a list of all hooks and what can be done with one of them: switch it off or on, or try
//! it with its whole command in view. If a project's hooks have changed since they were trusted,
//! the list also offers to trust what is new.

use std::path::Path;
use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::hooks::{
    HookAction, HookDecision, HookEvent, HookExit, HookId, HookOrigin, HookRow, HookTrial,
};

use super::approval::QuestionReview;
use super::effect::ScreenEffect;
use super::guard::QuestionGuard;
use super::keymap::{self, KeyPress};
use super::model::ScreenModel;
use super::overlay::{Overlay, OverlayOutcome, ReadingOverlay, ReadingPage};
use super::pager::{Pager, document::PagerDocument};
use super::picker::{Picker, PickerChoice, PickerItem, PickerPreview};
use super::request::RequestId;
use super::title::home_path;

/// The question whether to trust what is new in a project's hooks. Only `y` means yes, and only
/// once all of the text has been on screen.
#[derive(Debug, Clone, PartialEq)]
pub struct HookTrustQuestion {
    /// What a yes would allow, in lines.
    pub news: Arc<str>,
    /// Decides whether the question takes answers yet.
    pub guard: QuestionGuard,
    /// Whether the end of the text has been on screen.
    pub end: QuestionReview,
}

impl HookTrustQuestion {
    /// The heading of the question.
    pub const TITLE: &'static str = "Trust what is new?";

    fn new(news: Arc<str>) -> Self {
        Self { news, guard: QuestionGuard::default(), end: QuestionReview::Unseen }
    }

    /// Handles a key. `None` for a key that is not an answer, once the guard is armed.
    pub(super) fn key(&self, key: &KeyPress<'_>) -> Option<OverlayOutcome> {
        let (yes, outcome) = match keymap::typed(key)? {
            'y' => (true, self.yes()),
            'n' => (false, OverlayOutcome::Close),
            _ if self.guard.is_armed() => return None,
            _ => return Some(OverlayOutcome::Stay),
        };
        let is_accepted = self.guard.is_armed() && (!yes || self.end == QuestionReview::Seen);
        Some(if is_accepted { outcome } else { OverlayOutcome::Stay })
    }

    /// Handles a line from a front end without keys, which has printed the whole text. `None` if it
    /// is no answer.
    pub(super) fn line(&self, line: &str) -> Option<OverlayOutcome> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(self.yes()),
            "n" | "no" | "" => Some(OverlayOutcome::Close),
            _ => None,
        }
    }

    fn yes(&self) -> OverlayOutcome {
        OverlayOutcome::Choose(PickerChoice::Hook(HookChoice::News(
            HookNewsAction::Trust,
            self.news.clone(),
        )))
    }
}

/// A request to the hooks service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAdminRequest {
    List,
    /// Switch a hook off, or on again, and list all hooks.
    Switch(HookId),
    /// Run a hook with a made-up payload.
    Try(HookId),
    /// Trust the hooks that were listed as new, and list all hooks.
    Trust,
}

/// The answer to a [`HookAdminRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum HookAdminResponse {
    Listed(Vec<HookRow>),
    /// All hooks, where those of a project have changed since they were trusted.
    Changed {
        /// The hooks in force.
        rows: Vec<HookRow>,
        /// What trusting the changed hooks would allow, in lines.
        news: Arc<str>,
    },
    /// The result of a trial.
    Tried(Box<HookTrial>),
}

/// A row of the lists of `/hooks`.
#[derive(Debug, Clone, PartialEq)]
pub enum HookChoice {
    One {
        action: HookChoiceAction,
        hook: Arc<HookRow>,
    },
    /// The hooks that have changed; the text says what is new, in lines.
    News(HookNewsAction, Arc<str>),
}

/// What choosing the row of changed hooks does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookNewsAction {
    /// Shows the question whether to trust them.
    Ask,
    Trust,
}

impl HookChoice {
    /// A full description of the row, shown below the list.
    pub fn about(&self) -> String {
        match self {
            Self::One { hook, .. } => about(hook),
            Self::News(_, text) => text.to_string(),
        }
    }

    /// A description that fits all rows of the list; `None` if its rows are different hooks.
    pub fn subject(&self) -> Option<String> {
        match self {
            Self::One { action: HookChoiceAction::Open, .. } | Self::News(..) => None,
            Self::One { action: HookChoiceAction::Switch | HookChoiceAction::Try, .. } => {
                Some(self.about())
            }
        }
    }
}

/// What choosing the row of a hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookChoiceAction {
    /// Lists the actions for the hook.
    Open,
    /// Switches the hook off, or on again.
    Switch,
    /// Runs the hook with a made-up payload.
    Try,
}

/// Opens the list; its rows arrive with the answer.
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    ask(model, "Hooks", HookAdminRequest::List)
}

/// Does what a row of the lists stands for.
pub fn choose(model: &mut ScreenModel, choice: HookChoice) -> Vec<ScreenEffect> {
    match choice {
        HookChoice::One { action: HookChoiceAction::Open, hook } => {
            show(model, "Hook", actions(&hook))
        }
        HookChoice::One { action: HookChoiceAction::Switch, hook } => {
            ask(model, "Hooks", HookAdminRequest::Switch(hook.id.clone()))
        }
        HookChoice::One { action: HookChoiceAction::Try, hook } => {
            ask(model, "Trying the hook", HookAdminRequest::Try(hook.id.clone()))
        }
        HookChoice::News(HookNewsAction::Ask, news) => {
            let question = ReadingPage::HookTrust(Box::new(HookTrustQuestion::new(news)));
            model.overlays.push(Overlay::Reading(ReadingOverlay::new(question)));
            Vec::new()
        }
        HookChoice::News(HookNewsAction::Trust, _) => ask(model, "Hooks", HookAdminRequest::Trust),
    }
}

fn show(model: &mut ScreenModel, title: &'static str, items: Vec<PickerItem>) -> Vec<ScreenEffect> {
    let mut picker = Picker::ready(title, items);
    picker.beneath = PickerPreview::Whole;
    // The rows run something, or change what runs.
    picker.guard = Some(QuestionGuard::default());
    model.overlays.push(Overlay::Picker(Box::new(picker)));
    Vec::new()
}

/// Takes an answer. Ignored if the list that waited for it has been closed.
pub fn answered(
    model: &mut ScreenModel,
    id: RequestId,
    answer: Result<HookAdminResponse, String>,
) -> Vec<ScreenEffect> {
    let is_waiting = |overlay: &Overlay| match overlay {
        Overlay::Picker(picker) => picker.waits_for(id),
        Overlay::Approval(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => false,
    };
    let Some(at) = model.overlays.iter().position(is_waiting) else { return Vec::new() };
    let (cwd, home) = (model.shared.settings.cwd.clone(), model.shared.settings.home.clone());
    let shorten = |row| with_short_path(row, &cwd, home.as_deref());
    match answer {
        Ok(HookAdminResponse::Listed(rows)) if rows.is_empty() => {
            model.overlays.remove(at);
            let text = "There are no hooks. They stand in ~/.slug/settings.json, or in \
                        .slug/settings.json and .slug/hooks.json of a project.";
            model.shared.toast(NoticeLevel::Info, text);
        }
        Ok(HookAdminResponse::Listed(rows)) => {
            fill(model, at, id, rows.into_iter().map(shorten).map(listed).collect());
        }
        Ok(HookAdminResponse::Changed { rows, news }) => {
            let rows = rows.into_iter().map(shorten).map(listed);
            let items = std::iter::once(changed(news)).chain(rows).collect();
            fill(model, at, id, items);
        }
        Ok(HookAdminResponse::Tried(trial)) => {
            let trial = HookTrial { hook: shorten(trial.hook), ..*trial };
            let document =
                PagerDocument::new(model.shared.requests.issue().0, &trial_report(&trial));
            let title = format!("{} tried out", name(&trial.hook));
            if let Some(overlay) = model.overlays.get_mut(at) {
                *overlay = Overlay::Pager(Box::new(Pager::new(title, Arc::new(document))));
            }
        }
        Err(reason) => {
            model.overlays.remove(at);
            model.shared.toast(NoticeLevel::Error, reason);
        }
    }
    Vec::new()
}

fn fill(model: &mut ScreenModel, at: usize, id: RequestId, items: Vec<PickerItem>) {
    if let Some(Overlay::Picker(picker)) = model.overlays.get_mut(at) {
        picker.fill(id, Ok(items), 0);
        picker.beneath = PickerPreview::Whole;
    }
}

/// Shortens the file's path for the screen: relative to the working folder, or below `~`.
fn with_short_path(row: HookRow, cwd: &Path, home: Option<&Path>) -> HookRow {
    let file = &row.origin.file;
    let file = file.strip_prefix(cwd).map_or_else(|_| home_path(file, home).into(), Path::to_owned);
    HookRow { origin: HookOrigin { file, ..row.origin }, ..row }
}

fn ask(model: &mut ScreenModel, title: &'static str, job: HookAdminRequest) -> Vec<ScreenEffect> {
    let id = model.shared.requests.issue();
    model.overlays.push(Overlay::Picker(Box::new(Picker::waiting(title, id))));
    vec![ScreenEffect::Hooks { id, job }]
}

fn listed(row: HookRow) -> PickerItem {
    let state = match (&row.action, row.is_on, row.event, &row.last) {
        (_, false, _, _) => "off",
        (HookAction::Unreadable(_), true, _, _) => "unreadable",
        (_, true, HookEvent::SubagentStop, _) => "no subagents yet",
        (_, true, _, Some(last)) => last.split(':').next().unwrap_or_default(),
        (_, true, _, None) => "on",
    };
    PickerItem {
        label: name(&row),
        detail: one_line(row.action.text()),
        aside: state.to_owned(),
        choice: PickerChoice::Hook(HookChoice::One {
            action: HookChoiceAction::Open,
            hook: Arc::new(row),
        }),
    }
}

fn changed(news: Arc<str>) -> PickerItem {
    PickerItem {
        label: "Hooks have changed".to_owned(),
        detail: "what is new does not hold yet".to_owned(),
        aside: "not trusted".to_owned(),
        choice: PickerChoice::Hook(HookChoice::News(HookNewsAction::Ask, news)),
    }
}

fn actions(hook: &Arc<HookRow>) -> Vec<PickerItem> {
    let item = |label: &str, detail: &str, action| PickerItem {
        label: label.to_owned(),
        detail: detail.to_owned(),
        aside: String::new(),
        choice: PickerChoice::Hook(HookChoice::One { action, hook: hook.clone() }),
    };
    let switch_item = match hook.is_on {
        true => item(
            "Switch off",
            "until it changes, or is switched on again",
            HookChoiceAction::Switch,
        ),
        false => item("Switch on", "", HookChoiceAction::Switch),
    };
    let try_item = match &hook.action {
        HookAction::Command { .. } => Some(item(
            "Try it",
            "runs the command below, with a made-up input",
            HookChoiceAction::Try,
        )),
        HookAction::Prompt(_) | HookAction::Unreadable(_) => None,
    };
    std::iter::once(switch_item).chain(try_item).collect()
}

fn name(row: &HookRow) -> String {
    format!("{} {}", row.event.name(), row.filter).trim_end().to_owned()
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

/// A full description of a hook.
fn about(row: &HookRow) -> String {
    let mut text = match &row.action {
        HookAction::Command { line, limit } => {
            format!("{line}\n\nA command, for at most {} s", limit.as_secs_f64())
        }
        HookAction::Prompt(text) => format!("{text}\n\nA text for the model"),
        HookAction::Unreadable(why) => format!("It cannot be read: {why}.\n\nUnreadable"),
    };
    text.push_str(&format!(", from {}", row.origin));
    if row.event == HookEvent::SubagentStop {
        text.push_str("\nslug has no subagents yet, so this never comes.");
    }
    if let Some(last) = &row.last {
        text.push_str(&format!("\nThe last time it {last}"));
    }
    text
}

/// The report of a trial, for the pager.
fn trial_report(trial: &HookTrial) -> String {
    let verdict = &trial.verdict;
    let mut text = format!("{}\n\nIt {}", about_command(&trial.hook), verdict_words(trial));
    if let Some(ran) = &trial.ran {
        let took = ran.elapsed.as_millis();
        let ended = match &ran.exit {
            HookExit::Code(code) => format!("It ended with status {code} after {took} ms."),
            HookExit::Signal(signal) => format!("Signal {signal} ended it after {took} ms."),
            HookExit::TimedOut(_) => format!("It was ended after {took} ms."),
            HookExit::NotStarted(_) => "It was not run.".to_owned(),
            HookExit::Cancelled => "It was stopped.".to_owned(),
        };
        text.push_str(&format!("\n{ended}\n"));
        for (what, output) in [("output", &ran.stdout), ("error", &ran.stderr)] {
            if !output.trim().is_empty() {
                text.push_str(&format!("\nStandard {what}:\n{}\n", output.trim_end()));
            }
        }
    }
    for (what, effect) in [
        ("The model would be told", &verdict.context),
        ("You would be told", &verdict.message),
        ("The turn would end", &verdict.stop),
    ] {
        if let Some(effect) = effect {
            text.push_str(&format!("\n{what}:\n{effect}\n"));
        }
    }
    if let Some(input) = &verdict.input {
        text.push_str(&format!("\nThe call would become:\n{input:#}\n"));
    }
    text
}

fn about_command(row: &HookRow) -> String {
    format!("{}\n{}\n\n{}", name(row), row.origin, row.action.text())
}

fn verdict_words(trial: &HookTrial) -> String {
    match &trial.verdict.decision {
        HookDecision::Block(_) if trial.hook.event == HookEvent::PostToolUse => {
            "would tell the model that the call was wrong.".to_owned()
        }
        HookDecision::Block(reason) => format!("blocks: {reason}"),
        HookDecision::Ask(reason) => format!("asks {reason}").trim_end().to_owned(),
        HookDecision::Allow(reason) => format!("allows {reason}").trim_end().to_owned(),
        HookDecision::Nothing => match &trial.verdict.fault {
            Some(fault) => format!("fails, and is passed over: {fault}"),
            None => "lets it pass.".to_owned(),
        },
    }
}
