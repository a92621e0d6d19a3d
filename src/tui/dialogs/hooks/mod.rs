//! `/hooks`: a list of all hooks and what can be done with one of them: switch it off or on, or try
//! it with its whole command in view. If a project's hooks have changed since they were trusted,
//! the list also offers to trust what is new.

mod trust;

use std::path::Path;
use std::sync::Arc;

use crate::domain::NoticeLevel;
use crate::hooks::{HookAction, HookDecision, HookEvent, HookExit, HookOrigin, HookRow, HookTrial};
use crate::services::hook_admin::{HookAdminRequest, HookAdminResponse};
use crate::tui::app::choice::{HookChoice, HookChoiceAction, HookNewsAction, PickerChoice};
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::dialog_reply::ListRows;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::picker_list::{PickerItem, PickerPreview};
use crate::tui::app::request_id::RequestCounter;
use crate::tui::app::settings::ScreenSettings;

use crate::tui::dialogs::dialog::DialogOpening;
use crate::tui::dialogs::picker::Picker;

pub use trust::HookTrustDialog;

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

/// A dialog that choosing a row of the lists opens.
#[derive(Debug)]
pub enum HookDialogOpening {
    List(Box<DialogOpening<Picker>>),
    Trust(HookTrustDialog),
}

/// Opens the list; its rows arrive with the answer.
pub fn open(ids: &mut RequestCounter) -> DialogOpening<Picker> {
    ask(ids, "Hooks", HookAdminRequest::List)
}

/// Does what a row of the lists stands for.
pub fn choose(ids: &mut RequestCounter, choice: HookChoice) -> HookDialogOpening {
    let opening = match choice {
        HookChoice::One { action: HookChoiceAction::Open, hook } => {
            let mut picker = Picker::ready("Hook", actions(&hook));
            picker.beneath = PickerPreview::Whole;
            // The rows run something, or change what runs.
            picker.guard = Some(QuestionGuard::default());
            DialogOpening::of(picker, Vec::new())
        }
        HookChoice::One { action: HookChoiceAction::Switch, hook } => {
            ask(ids, "Hooks", HookAdminRequest::Switch(hook.id.clone()))
        }
        HookChoice::One { action: HookChoiceAction::Try, hook } => {
            ask(ids, "Testing the hook", HookAdminRequest::Try(hook.id.clone()))
        }
        HookChoice::News(HookNewsAction::Ask, news) => {
            return HookDialogOpening::Trust(HookTrustDialog::new(news));
        }
        HookChoice::News(HookNewsAction::Trust, _) => ask(ids, "Hooks", HookAdminRequest::Trust),
    };
    HookDialogOpening::List(Box::new(opening))
}

/// The rows of the list that an answer stands for.
pub fn rows(answer: Result<HookAdminResponse, String>, settings: &ScreenSettings) -> ListRows {
    let shorten = |row| with_short_path(row, &settings.cwd, settings.home.as_deref());
    let items = match answer {
        Ok(HookAdminResponse::Listed(rows)) if rows.is_empty() => {
            let text = "No hooks. Add them to .slug/settings.json or ~/.slug/settings.json.";
            return ListRows::Closed(NoticeLevel::Info, text.to_owned());
        }
        Ok(HookAdminResponse::Listed(rows)) => rows.into_iter().map(shorten).map(listed).collect(),
        Ok(HookAdminResponse::Changed { rows, news }) => {
            let rows = rows.into_iter().map(shorten).map(listed);
            std::iter::once(changed(news)).chain(rows).collect()
        }
        Ok(HookAdminResponse::Tried(trial)) => {
            let trial = HookTrial { hook: shorten(trial.hook), ..*trial };
            let title = format!("{} tested", name(&trial.hook));
            return ListRows::Report { title, text: trial_report(&trial) };
        }
        Err(reason) => return ListRows::Closed(NoticeLevel::Error, reason),
    };
    ListRows::Loaded { items, now: 0, beneath: PickerPreview::Whole }
}

/// Shortens the file's path for the screen: relative to the working folder, or below `~`.
fn with_short_path(row: HookRow, cwd: &Path, home: Option<&Path>) -> HookRow {
    let file = &row.origin.file;
    let file = file.strip_prefix(cwd).map_or_else(|_| home_path(file, home).into(), Path::to_owned);
    HookRow { origin: HookOrigin { file, ..row.origin }, ..row }
}

fn ask(
    ids: &mut RequestCounter,
    title: &'static str,
    job: HookAdminRequest,
) -> DialogOpening<Picker> {
    let id = ids.issue();
    DialogOpening::of(Picker::waiting(title, id), vec![ScreenEffect::Hooks { id, job }])
}

fn listed(row: HookRow) -> PickerItem {
    let state = match (&row.action, row.is_on, &row.last) {
        (_, false, _) => "off",
        (HookAction::Unreadable(_), true, _) => "unreadable",
        (_, true, Some(last)) => last.split(':').next().unwrap_or_default(),
        (_, true, None) => "on",
    };
    PickerItem {
        label: name(&row),
        detail: one_line(row.action.text()),
        aside: state.to_owned(),
        keywords: String::new(),
        choice: PickerChoice::Hook(HookChoice::One {
            action: HookChoiceAction::Open,
            hook: Arc::new(row),
        }),
    }
}

fn changed(news: Arc<str>) -> PickerItem {
    PickerItem {
        label: "Hooks have changed".to_owned(),
        detail: "the new version is not active yet".to_owned(),
        aside: "not trusted".to_owned(),
        keywords: String::new(),
        choice: PickerChoice::Hook(HookChoice::News(HookNewsAction::Ask, news)),
    }
}

fn actions(hook: &Arc<HookRow>) -> Vec<PickerItem> {
    let item = |label: &str, detail: &str, action| PickerItem {
        label: label.to_owned(),
        detail: detail.to_owned(),
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Hook(HookChoice::One { action, hook: hook.clone() }),
    };
    let switch_item = match hook.is_on {
        true => {
            item("Switch off", "until it changes or is switched on again", HookChoiceAction::Switch)
        }
        false => item("Switch on", "", HookChoiceAction::Switch),
    };
    let try_item = match &hook.action {
        HookAction::Command { .. } => {
            Some(item("Try it", "runs the command below with sample input", HookChoiceAction::Try))
        }
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
    if let Some(last) = &row.last {
        text.push_str(&format!("\nLast run: it {last}"));
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
            HookExit::TimedOut(_) => format!("It was killed after {took} ms."),
            HookExit::NotStarted(_) => "It did not run.".to_owned(),
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
        ("The model would see", &verdict.context),
        ("You would see", &verdict.message),
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
            Some(fault) => format!("fails and is ignored: {fault}"),
            None => "allows it.".to_owned(),
        },
    }
}
