//! The field for the new value of a setting.

use ratatui::layout::{Position, Rect};

use crate::config::{SettingChange, SettingInput, SettingKind, SettingValue};
use crate::tui::app::choice::{PickerChoice, SettingChoice};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, FieldKey, KeyPlace, KeyPress};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::setting_admin::{SettingRequest, timing_words};
use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogView};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage};
use crate::tui::layout::{StyleRole, plain};
use crate::tui::view::field::draw_field;
use crate::tui::view::paint::{self, span};

/// The field for the new value of a setting, with the current one in it. It closes once the value is
/// saved; a value that is refused stays in it, with the reason below.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingField {
    value: SettingValue,
    typed: TextEditor,
    stage: FieldStage,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldStage {
    Typing,
    Saving(RequestId),
    Refused(String),
}

impl SettingField {
    /// The field for the setting whose value this is.
    pub fn new(value: SettingValue) -> Self {
        let mut typed = TextEditor::new(EditorLines::One);
        if value.source != "default" {
            typed.paste(&value.value);
        }
        Self { value, typed, stage: FieldStage::Typing }
    }

    fn change(&self, text: &str) -> SettingChange {
        let to = SettingInput::Typed(text.to_owned());
        SettingChange { setting: self.value.setting, to }
    }

    fn save(&mut self, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if matches!(self.stage, FieldStage::Saving(_)) {
            return Vec::new();
        }
        let id = around.shared.requests.issue();
        self.stage = FieldStage::Saving(id);
        let job = SettingRequest::Change(self.change(&self.typed.text()));
        vec![Intent::Effect(ScreenEffect::Settings { id, job })]
    }

    /// What an empty field stands for.
    fn placeholder(&self) -> String {
        match self.value.source.as_str() {
            "default" => format!("{} (default)", self.value.value),
            _ => "default".to_owned(),
        }
    }

    fn about(&self) -> String {
        let setting = self.value.setting;
        let list = match setting.kind {
            SettingKind::List(words) if words().is_empty() => {
                "Separate words with spaces. ".to_owned()
            }
            SettingKind::List(words) => format!("Words: {}\n", words().join(" ")),
            SettingKind::Switch
            | SettingKind::Choice(_)
            | SettingKind::Number
            | SettingKind::Text
            | SettingKind::Command(_)
            | SettingKind::File => String::new(),
        };
        let (summary, timing) = (setting.summary, timing_words(setting.timing));
        format!("{summary}\n{list}Leave empty for the default. A change {timing}.")
    }
}

impl Dialog for SettingField {
    fn place(&self) -> KeyPlace {
        KeyPlace::Field
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) => return self.save(around),
            Some(FieldKey::Back) => return vec![Intent::Close],
            Some(FieldKey::Next | FieldKey::Newline) => {}
            None => self.typed.key(key),
        }
        Vec::new()
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, .. } = canvas;
        let width = area.width.saturating_sub(4).min(90);
        let inside = width.saturating_sub(6);
        let mut below = match &self.stage {
            FieldStage::Refused(reason) => plain::render(reason, StyleRole::Error, inside),
            FieldStage::Typing | FieldStage::Saving(_) => Vec::new(),
        };
        below.extend(plain::render(&self.about(), StyleRole::Muted, inside));
        let height = u16::try_from(below.len()).unwrap_or(2).saturating_add(4);
        let outer = paint::centred(area, width, height.min(area.height));
        let inner = paint::frame(self.value.setting.key, "", styles, outer, buffer);
        if inner.height == 0 {
            return None;
        }
        let field = Rect { height: 1, ..inner };
        let caret = draw_field(&self.typed, styles, field, buffer);
        if self.typed.is_empty() {
            paint::spans(&[span(self.placeholder(), StyleRole::Muted)], styles, field, buffer);
        }
        for (y, line) in (inner.y + 2..inner.y + inner.height).zip(&below) {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
        }
        Some(caret)
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::Settings { id, answer } if self.is_waiting_for(*id) => match answer {
                Ok(_) => vec![Intent::Close],
                Err(reason) => {
                    self.stage = FieldStage::Refused(reason.clone());
                    Vec::new()
                }
            },
            _ => Vec::new(),
        }
    }

    fn is_waiting_for(&self, id: RequestId) -> bool {
        self.stage == FieldStage::Saving(id)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        self.typed.paste(text);
        Some(Vec::new())
    }

    fn wheel(&mut self, _rows: i32, _around: &mut DialogContext<'_>) {}

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        let key = self.value.setting.key;
        let now = format!(
            "{key} is {}. Type the new value, or an empty line to go back.",
            self.value.value
        );
        let lines = vec![
            LabelledLine::new(LineLabel::Note, now),
            LabelledLine::new(LineLabel::Continuation, self.about()),
        ];
        Some(LinearPage { key: format!("setting {key}"), lines })
    }

    fn expected_line(&self) -> ExpectedLine {
        ExpectedLine::Value
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        if line.trim().is_empty() {
            return Ok(vec![Intent::Close]);
        }
        let choice = PickerChoice::Setting(SettingChoice::Set(self.change(line)));
        Ok(vec![Intent::Close, Intent::Choose(choice)])
    }
}
