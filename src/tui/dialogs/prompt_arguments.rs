//! Asks for the arguments that a prompt of an MCP server needs, one after another. With the last one the
//! prompt is sent; Escape puts its line into the input.

use ratatui::layout::{Position, Rect};

use crate::domain::UserInput;
use crate::mcp::{McpPrompt, McpPromptArgument};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, FieldKey, KeyPlace, KeyPress};
use crate::tui::app::server_offers::PromptToFill;
use crate::tui::layout::{StyleRole, plain};
use crate::tui::view::field::draw_field;
use crate::tui::view::paint;

use super::dialog::{Dialog, DialogCanvas, DialogContext, DialogView};
use super::line::{ExpectedLine, LineAnswerError};
use super::linear_page::{LabelledLine, LineLabel, LinearPage};

/// The field for one argument of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptArgumentDialog {
    prompt: PromptToFill,
    typed: TextEditor,
    /// Whether an empty field was sent.
    is_empty_refused: bool,
}

impl PromptArgumentDialog {
    /// Asks for what this prompt does not have yet.
    pub fn new(prompt: PromptToFill) -> Self {
        let typed = TextEditor::new(EditorLines::One);
        Self { prompt, typed, is_empty_refused: false }
    }

    fn asked(&self) -> Option<&McpPromptArgument> {
        let PromptToFill { prompt, values, .. } = &self.prompt;
        prompt.missing(values).first().copied()
    }

    fn line_so_far(&self) -> UserInput {
        let PromptToFill { server, prompt, values } = &self.prompt;
        prompt.line(server, values).into()
    }

    /// Takes a value; with the last one the prompt is sent.
    fn take(&mut self, value: &str) -> Vec<Intent> {
        self.is_empty_refused = value.trim().is_empty();
        let asked = self.asked().map(|asked| asked.name.clone());
        if let Some(name) = asked.filter(|_| !self.is_empty_refused) {
            self.prompt.values.insert(name, value.to_owned());
            self.typed = TextEditor::new(EditorLines::One);
        }
        match self.asked() {
            Some(_) => Vec::new(),
            None => vec![Intent::Close, Intent::Send(self.line_so_far())],
        }
    }

    fn leave(&self) -> Vec<Intent> {
        vec![Intent::Close, Intent::AppendToInput(self.line_so_far())]
    }

    fn about(&self) -> String {
        let mut text = String::new();
        if let Some(asked) = self.asked().filter(|asked| !asked.description.is_empty()) {
            text.push_str(&format!("{}: {}\n", asked.name, asked.description));
        }
        let PromptToFill { server, prompt: McpPrompt { description, .. }, .. } = &self.prompt;
        let about = if description.is_empty() { "" } else { ": " };
        text.push_str(&format!("A prompt of the MCP server {server}{about}{description}"));
        text
    }
}

impl Dialog for PromptArgumentDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::Field
    }

    fn key(&mut self, key: &KeyPress<'_>, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::FIELD, key) {
            None => {
                self.typed.key(key);
                Vec::new()
            }
            Some(FieldKey::Accept) => self.take(&self.typed.text()),
            Some(FieldKey::Back) => self.leave(),
            Some(FieldKey::Next | FieldKey::Newline) => Vec::new(),
        }
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, .. } = canvas;
        let width = area.width.saturating_sub(4).min(90);
        let inside = width.saturating_sub(6);
        let mut below = match self.is_empty_refused {
            true => plain::render("The prompt needs this.", StyleRole::Error, inside),
            false => Vec::new(),
        };
        below.extend(plain::render(&self.about(), StyleRole::Muted, inside));
        let height = u16::try_from(below.len()).unwrap_or(2).saturating_add(4);
        let outer = paint::centred(area, width, height.min(area.height));
        let name = self.asked().map_or("", |asked| asked.name.as_str());
        let PromptToFill { server, prompt, .. } = &self.prompt;
        let title = format!("/{} needs {name}", prompt.command(server));
        let inner = paint::frame(&title, "", styles, outer, buffer);
        if inner.height == 0 {
            return None;
        }
        let field = Rect { height: 1, ..inner };
        let caret = draw_field(&self.typed, styles, field, buffer);
        for (y, line) in (inner.y + 2..inner.y + inner.height).zip(&below) {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
        }
        Some(caret)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        self.typed.paste(text);
        Some(Vec::new())
    }

    fn cancel(&self) -> Vec<Intent> {
        self.leave()
    }

    fn wheel(&mut self, _rows: i32, _around: &mut DialogContext<'_>) {}

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        let name = &self.asked()?.name;
        let now = format!("Type {name}, or an empty line to go back.");
        let lines = vec![
            LabelledLine::new(LineLabel::Note, now),
            LabelledLine::new(LineLabel::Continuation, self.about()),
        ];
        Some(LinearPage { key: format!("prompt {name}"), lines })
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        match line.trim() {
            "" => Ok(vec![Intent::Close]),
            line => Ok(self.take(line)),
        }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn expected_line(&self) -> ExpectedLine {
        ExpectedLine::Value
    }
}
