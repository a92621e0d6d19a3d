//! `/settings`: a list of all settings with value and source, and over it a list of values or a field
//! for the one that is chosen. The file is checked and written by the settings service; the list takes
//! over what it answers, and its first row then takes the change back.

mod field;

use crate::config::{
    SettingChange, SettingDescriptor, SettingInput, SettingKind, SettingOption, SettingValue,
};
use crate::domain::NoticeLevel;
use crate::tui::app::choice::{PickerChoice, SettingChoice};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::picker_list::PickerItem;
use crate::tui::app::request_id::RequestCounter;
use crate::tui::app::setting_admin::{SettingRequest, timing_words};
use crate::tui::app::setting_response::SettingResponse;

use crate::tui::dialogs::dialog::DialogOpening;
use crate::tui::dialogs::picker::Picker;

pub use field::SettingField;

/// What choosing a row of the lists leads to.
#[derive(Debug)]
pub enum SettingOpening {
    /// The values to choose from.
    Values(Box<Picker>),
    Field(Box<SettingField>),
    Intent(Box<Intent>),
}

/// Opens the list; its rows arrive with the answer.
pub fn open(ids: &mut RequestCounter) -> DialogOpening<Picker> {
    let id = ids.issue();
    let effect = ScreenEffect::Settings { id, job: SettingRequest::List };
    DialogOpening::of(Picker::waiting("Settings", id), vec![effect])
}

/// Does what a row of the lists stands for.
pub fn choose(ids: &mut RequestCounter, choice: SettingChoice) -> SettingOpening {
    match choice {
        SettingChoice::Set(change) | SettingChoice::Undo(change) => {
            let (id, job) = (ids.issue(), SettingRequest::Change(change));
            SettingOpening::Intent(Box::new(Intent::Effect(ScreenEffect::Settings { id, job })))
        }
        SettingChoice::Open(value) => change(value),
    }
}

/// Asks for the new value of a setting, or says why it cannot be changed here.
fn change(value: SettingValue) -> SettingOpening {
    let setting = value.setting;
    let toast = |text| SettingOpening::Intent(Box::new(Intent::Toast(NoticeLevel::Warning, text)));
    if let Some(why) = value.overridden {
        return toast(why);
    }
    match setting.kind {
        SettingKind::Text if value.value.contains('\n') => {
            toast(format!("{} has several lines. Change it in config.toml.", setting.key))
        }
        SettingKind::Switch => {
            let option = |name| SettingOption { name, meaning: "" };
            values(&value, &["true", "false"].map(option))
        }
        SettingKind::Choice(names) => values(&value, &names()),
        SettingKind::Number | SettingKind::Text | SettingKind::List(_) => {
            SettingOpening::Field(Box::new(SettingField::new(value)))
        }
        SettingKind::Command(command) => {
            let choice = PickerChoice::Command(command.to_owned());
            SettingOpening::Intent(Box::new(Intent::Choose(choice)))
        }
        SettingKind::File => toast(format!("Set `{}` in config.toml itself.", setting.key)),
    }
}

/// The list of the values that a setting can have, the current one selected.
fn values(value: &SettingValue, options: &[SettingOption]) -> SettingOpening {
    let setting = value.setting;
    let item = |label: &str, detail: &str, aside: &str, to| PickerItem {
        label: label.to_owned(),
        detail: detail.to_owned(),
        aside: aside.to_owned(),
        keywords: String::new(),
        choice: PickerChoice::Setting(SettingChoice::Set(SettingChange { setting, to })),
    };
    let typed = |it: &SettingOption| {
        let aside = if it.name == value.value { "current" } else { "" };
        item(it.name, it.meaning, aside, SettingInput::Typed(it.name.to_owned()))
    };
    let reset = item("reset", "removes it from config.toml", "", SettingInput::Default);
    let rows = options.iter().map(typed).chain([reset]).collect();
    let mut picker = Picker::ready(setting.key, rows);
    let current = options.iter().position(|it| it.name == value.value);
    picker.list.select(current.unwrap_or(options.len()));
    SettingOpening::Values(Box::new(picker))
}

/// The rows of the list that an answer stands for.
pub fn rows(answer: SettingResponse) -> Vec<PickerItem> {
    let SettingResponse { values, saved } = answer;
    let undo = saved.map(|saved| PickerItem {
        label: format!("Undo {}", saved.undo.setting.key),
        detail: match &saved.undo.to {
            SettingInput::Default => "back to the default".to_owned(),
            SettingInput::Typed(text) | SettingInput::Toml(text) => format!("back to {text}"),
        },
        aside: String::new(),
        keywords: String::new(),
        choice: PickerChoice::Setting(SettingChoice::Undo(saved.undo)),
    });
    undo.into_iter().chain(values.into_iter().map(listed)).collect()
}

fn listed(value: SettingValue) -> PickerItem {
    let setting = value.setting;
    PickerItem {
        label: setting.key.to_owned(),
        detail: value.value.clone(),
        aside: value.source.clone(),
        keywords: format!("{} {}", setting.synonyms(), setting.summary),
        choice: PickerChoice::Setting(SettingChoice::Open(value)),
    }
}

impl SettingChoice {
    /// What is shown of the row below the list.
    pub fn about(&self) -> String {
        match self {
            Self::Open(value) => about(value),
            Self::Set(change) | Self::Undo(change) => about_setting(change.setting),
        }
    }
}

fn about(value: &SettingValue) -> String {
    let more = match (&value.overridden, value.setting.kind) {
        (Some(why), _) => why.clone(),
        (None, SettingKind::Command(command)) => {
            format!("Changed in /{command}, which this opens.")
        }
        (None, SettingKind::File) => "Can only be changed in config.toml.".to_owned(),
        (
            None,
            SettingKind::Switch
            | SettingKind::Choice(_)
            | SettingKind::Number
            | SettingKind::Text
            | SettingKind::List(_),
        ) => String::new(),
    };
    format!("{}\n{}", about_setting(value.setting), more).trim_end().to_owned()
}

fn about_setting(setting: &SettingDescriptor) -> String {
    let SettingDescriptor { key, summary, timing, .. } = setting;
    format!("{key}: {summary}.\nA change {}.", timing_words(*timing))
}
