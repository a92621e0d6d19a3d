//! Draws the input and its caret.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::commands::SlashCommand;
use crate::domain::PermissionMode;
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::turn::TurnActivity;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::ConversationGeometry;
use crate::tui::app::keymap::{ChatKey, InputKey};
use crate::tui::app::softwrap::{self, SoftWrapRow};
use crate::tui::layout::StyleRole;

use super::field::typed_row;
use super::mode_label;
use super::paint::{self, RoleStyles, span};

/// Draws the input, whose rows of text are `typed`, and returns the caret's cell.
pub fn draw(
    model: &ScreenModel,
    typed: &[SoftWrapRow],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    geometry: &mut ConversationGeometry,
) -> Position {
    let text = model.conversation.composer.editor.text();
    let room = text_area(area);
    let editor = &model.conversation.composer.editor;
    let (row, column) = softwrap::place_with(&text, typed, editor.caret(), editor.chips());
    let above = (row + 1).saturating_sub(usize::from(area.height.max(1)));
    geometry.input = room.into();
    geometry.input_above = above;

    let focused = model.conversation.focus == KeyboardFocus::Input;
    // The `!` of a shell command is part of the text.
    let is_shell = text.starts_with('!');
    let prompt_role = if !focused {
        StyleRole::Muted
    } else if is_shell {
        StyleRole::Tool
    } else {
        match model.conversation.status.mode {
            PermissionMode::Ask => StyleRole::User,
            other => mode_label::role(other),
        }
    };
    let mark = Rect { x: area.x + 1, width: 1, ..area };
    paint::spans(&[span(if is_shell { "$" } else { "❯" }, prompt_role)], styles, mark, buffer);
    for (y, row) in (area.y..area.y + area.height).zip(typed.iter().skip(above)) {
        let place = Rect { y, height: 1, width: room.width + 1, ..room };
        paint::spans(&typed_row(editor, &text, row), styles, place, buffer);
        if let Some((from, to)) = selected_columns(model, &text, row) {
            let columns = to.min(place.width).saturating_sub(from);
            let cells = Rect { x: place.x + from, width: columns, ..place };
            buffer.set_style(cells, Modifier::REVERSED);
        }
    }
    let y = area.y + u16::try_from(row - above).unwrap_or(0);
    Position { x: (room.x + column).min(area.x + area.width.saturating_sub(1)), y }
}

/// Says in an empty input what it is for now.
pub fn draw_placeholder(
    model: &ScreenModel,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    if !model.conversation.composer.editor.text().is_empty() {
        return;
    }
    let words = match &model.conversation.turn {
        TurnActivity::Idle => idle_words(model),
        TurnActivity::Starting { .. } | TurnActivity::Running(_) => {
            let keys = &model.shared.settings.keys;
            let key = keys.key(InputKey::Steer);
            let next = match is_started_agent(model) {
                true => format!(" · {} next agent", keys.key(ChatKey::NextConversation)),
                false => String::new(),
            };
            format!("Sent when this turn ends · {key} sends now{next}")
        }
    };
    paint::spans(&[span(words, StyleRole::Muted)], styles, text_area(area), buffer);
}

/// What Enter does in an empty input while no turn runs.
fn idle_words(model: &ScreenModel) -> String {
    let keys = &model.shared.settings.keys;
    let send = keys.key(InputKey::Send);
    match (model.conversation.queue.items().len(), model.conversation.remedy()) {
        (0, None) if is_started_agent(model) => {
            let (next, all) = (keys.key(ChatKey::NextConversation), keys.key(ChatKey::Agents));
            format!("Message this agent · {next} next agent · {all} all agents")
        }
        (0, None) => "What should I do?".to_owned(),
        (0, Some(SlashCommand::Retry)) if model.conversation.is_reconnected => {
            format!("{send}: try again, with /retry")
        }
        (0, Some(SlashCommand::Retry)) => {
            format!("{send}: try again, with /retry · /connect changes the server")
        }
        (0, Some(_)) => format!("{send}: fix it now, with /connect"),
        (1, _) => format!("{send} sends the queued message"),
        (_, _) => format!("{send} sends the first queued message"),
    }
}

/// Whether the conversation in front is that of an agent which a call has started.
fn is_started_agent(model: &ScreenModel) -> bool {
    let front = model.conversation.agent;
    model.shared.started_agents.iter().any(|it| it.summary.agent == front)
}

/// The cells of the input's text: the prompt is on their left.
fn text_area(area: Rect) -> Rect {
    Rect { x: area.x + 3, width: area.width.saturating_sub(4).max(1), ..area }
}

/// The selected columns of a row.
fn selected_columns(model: &ScreenModel, text: &str, row: &SoftWrapRow) -> Option<(u16, u16)> {
    let (selected, editor) =
        (model.conversation.composer.selection()?, &model.conversation.composer.editor);
    let (from, to) = (selected.start.max(row.start), selected.end.min(row.end));
    let column = |at: usize| softwrap::columns_with(&text[row.start..at], editor.chips());
    (from < to).then(|| (column(from), column(to)))
}
