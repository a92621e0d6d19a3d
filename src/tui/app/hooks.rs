//! `/hooks`: a list of the hooks there are, and what can be done with one of them: switching it off
//! or on, and trying it out, which is chosen with its whole command in sight. Where a project's hooks
//! have changed since they were trusted, what is new stands there, too, to be trusted.

use std::path::Path;
use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::hooks::{
    HookAction, HookDecision, HookEvent, HookExit, HookId, HookOrigin, HookRow, HookTrial,
};

use super::approval::QuestionReview;
use super::effect::{RequestId, ScreenEffect};
use super::guard::QuestionGuard;
use super::keymap::{self, KeyPress};
use super::model::ScreenModel;
use super::overlay::{Overlay, OverlayOutcome, ReadingOverlay, ReadingPage};
use super::pager::{Pager, document::PagerDocument};
use super::picker::{Picker, PickerChoice, PickerItem, PickerPreview};
use super::title::home_path;

/// The question whether what is new in a project's hooks is trusted. Only `y` says yes, and only
/// once all of it was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct HookTrustQuestion {
    /// What a yes would mean, in lines.
    pub news: Arc<str>,
    /// Whether it takes answers.
    pub guard: QuestionGuard,
    /// Whether its end has been on screen.
    pub end: QuestionReview,
}

impl HookTrustQuestion {
    /// What is asked.
    pub const TITLE: &'static str = "Trust what is new?";

    fn new(news: Arc<str>) -> Self {
        Self { news, guard: QuestionGuard::default(), end: QuestionReview::Unseen }
    }

    /// A key that answers, or would if it did not come too early.
    pub(super) fn key(&self, key: &KeyPress<'_>) -> Option<OverlayOutcome> {
        let (yes, step) = match keymap::typed(key)? {
            'y' => (true, self.yes()),
            'n' => (false, OverlayOutcome::Close),
            _ if self.guard.is_armed() => return None,
            _ => return Some(OverlayOutcome::Stay),
        };
        let is_taken = self.guard.is_armed() && (!yes || self.end == QuestionReview::Seen);
        Some(if is_taken { step } else { OverlayOutcome::Stay })
    }

    /// A line, from a front end without keys, which has said all of it.
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

/// What is asked of the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAdminRequest {
    /// Which there are.
    List,
    /// That one be switched off, or on again; then which there are.
    Switch(HookId),
    /// That one be run with a made-up moment.
    Try(HookId),
    /// That what was listed as new be trusted; then which there are.
    Trust,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAdminResponse {
    /// The hooks.
    Listed(Vec<HookRow>),
    /// The same, where some of a project have changed since they were trusted.
    Changed {
        /// Those that hold.
        rows: Vec<HookRow>,
        /// What a yes to what is there now would mean, in lines.
        news: Arc<str>,
    },
    /// What the hook did.
    Tried(Box<HookTrial>),
}

/// A row of these lists.
#[derive(Debug, Clone, PartialEq)]
pub enum HookChoice {
    /// A hook.
    One {
        /// What choosing it does.
        action: HookChoiceAction,
        /// The hook.
        hook: Arc<HookRow>,
    },
    /// What is new, in lines.
    News(HookNewsAction, Arc<str>),
}

/// What choosing what is new does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookNewsAction {
    /// Asks about it.
    Ask,
    /// Trusts it.
    Trust,
}

impl HookChoice {
    /// All there is to know of it.
    pub fn about(&self) -> String {
        match self {
            Self::One { hook, .. } => about(hook),
            Self::News(_, text) => text.to_string(),
        }
    }

    /// What all rows of its list are about, where that is one thing.
    pub fn subject(&self) -> Option<String> {
        match self {
            Self::One { action: HookChoiceAction::Open, .. } | Self::News(..) => None,
            Self::One { action: HookChoiceAction::Switch | HookChoiceAction::Try, .. } => {
                Some(self.about())
            }
        }
    }
}

/// What choosing a row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookChoiceAction {
    /// Shows what can be done with the hook.
    Open,
    /// Switches it off, or on again.
    Switch,
    /// Tries it out.
    Try,
}

/// Opens the list.
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    ask(model, "Hooks", HookAdminRequest::List)
}

/// Does what a row says.
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
    // Its rows run something, or change what runs.
    picker.guard = Some(QuestionGuard::default());
    model.overlays.push(Overlay::Picker(Box::new(picker)));
    Vec::new()
}

/// Takes an answer in. Nobody waits for it where its list was closed.
pub fn answered(
    model: &mut ScreenModel,
    id: RequestId,
    answer: Result<HookAdminResponse, String>,
) -> Vec<ScreenEffect> {
    let waits = |overlay: &Overlay| match overlay {
        Overlay::Picker(picker) => picker.waits_for(id),
        Overlay::Approval(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => false,
    };
    let Some(at) = model.overlays.iter().position(waits) else { return Vec::new() };
    let (cwd, home) = (model.settings.cwd.clone(), model.settings.home.clone());
    let near = |row| with_short_path(row, &cwd, home.as_deref());
    match answer {
        Ok(HookAdminResponse::Listed(rows)) if rows.is_empty() => {
            model.overlays.remove(at);
            let text = "There are no hooks. They stand in ~/.slug/settings.json, or in \
                        .slug/settings.json and .slug/hooks.json of a project.";
            model.toast(NoticeLevel::Info, text);
        }
        Ok(HookAdminResponse::Listed(rows)) => {
            fill(model, at, id, rows.into_iter().map(near).map(listed).collect());
        }
        Ok(HookAdminResponse::Changed { rows, news }) => {
            let rows = rows.into_iter().map(near).map(listed);
            let items = std::iter::once(changed(news)).chain(rows).collect();
            fill(model, at, id, items);
        }
        Ok(HookAdminResponse::Tried(trial)) => {
            let trial = HookTrial { hook: near(trial.hook), ..*trial };
            let document = PagerDocument::new(model.requests.issue().0, &trial_report(&trial));
            let title = format!("{} tried out", name(&trial.hook));
            if let Some(overlay) = model.overlays.get_mut(at) {
                *overlay = Overlay::Pager(Box::new(Pager::new(title, Arc::new(document))));
            }
        }
        Err(reason) => {
            model.overlays.remove(at);
            model.toast(NoticeLevel::Error, reason);
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

/// With its file as people read it: relative in the working folder, or below `~`.
fn with_short_path(row: HookRow, cwd: &Path, home: Option<&Path>) -> HookRow {
    let file = &row.origin.file;
    let file = file.strip_prefix(cwd).map_or_else(|_| home_path(file, home).into(), Path::to_owned);
    HookRow { origin: HookOrigin { file, ..row.origin }, ..row }
}

fn ask(model: &mut ScreenModel, title: &'static str, job: HookAdminRequest) -> Vec<ScreenEffect> {
    let id = model.requests.issue();
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
    let item = |label: &str, detail: &str, does| PickerItem {
        label: label.to_owned(),
        detail: detail.to_owned(),
        aside: String::new(),
        choice: PickerChoice::Hook(HookChoice::One { action: does, hook: hook.clone() }),
    };
    let switch = match hook.is_on {
        true => item(
            "Switch off",
            "until it changes, or is switched on again",
            HookChoiceAction::Switch,
        ),
        false => item("Switch on", "", HookChoiceAction::Switch),
    };
    let tries = match &hook.action {
        HookAction::Command { .. } => Some(item(
            "Try it",
            "runs the command below, with a made-up input",
            HookChoiceAction::Try,
        )),
        HookAction::Prompt(_) | HookAction::Unreadable(_) => None,
    };
    std::iter::once(switch).chain(tries).collect()
}

fn name(row: &HookRow) -> String {
    format!("{} {}", row.event.name(), row.filter).trim_end().to_owned()
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

/// All there is to know of a hook.
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

/// What a trial came to.
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
        for (what, said) in [("output", &ran.stdout), ("error", &ran.stderr)] {
            if !said.trim().is_empty() {
                text.push_str(&format!("\nStandard {what}:\n{}\n", said.trim_end()));
            }
        }
    }
    for (what, said) in [
        ("The model would be told", &verdict.context),
        ("You would be told", &verdict.message),
        ("The turn would end", &verdict.stop),
    ] {
        if let Some(said) = said {
            text.push_str(&format!("\n{what}:\n{said}\n"));
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
