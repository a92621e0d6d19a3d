//! Draws the rule above the input, and the last line with hints for the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::NoticeLevel;
use crate::tui::app::conversation::sending;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::{CellRect, ConversationGeometry};
use crate::tui::app::keymap::{
    ChatKey, EditAction, EmptyInputKey, InputKey, KeyContext, PendingKeys, ScrollAction,
    SidebarKey, in_words,
};
use crate::tui::app::{ScreenModel, is_text_below_question, place};
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::list_rows;
use super::mode_label;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// Draws the rule above the input. When the view is scrolled up, the rule says how much is new
/// below; returns the cells of that text, which can be clicked. A toast stands at its right end.
pub fn draw_rule(
    model: &ScreenModel,
    geometry: &ConversationGeometry,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<CellRect> {
    paint::rule(area, styles, buffer);
    if model.dialogs.is_empty()
        && let Some(mut toast) = toast(model, area.width.saturating_sub(4))
    {
        toast.text = format!(" {} ", toast.text);
        let width = spans_width(std::slice::from_ref(&toast)).min(area.width);
        let place =
            Rect { x: area.x + area.width.saturating_sub(width.saturating_add(1)), width, ..area };
        paint::spans(&[toast], styles, place.intersection(area), buffer);
        return None;
    }
    if geometry.anchor == crate::tui::app::conversation::scroll::ScrollAnchor::Tail {
        return None;
    }
    let key = model.shared.settings.keys.key(ChatKey::Scroll(ScrollAction::Bottom));
    let text = match model.conversation.scroll.new_below(model.conversation.transcript.lines()) {
        0 => format!(" more below   {key} "),
        1 => format!(" 1 new line below   {key} "),
        new => format!(" {new} new lines below   {key} "),
    };
    let wide = paint::width(&text).min(area.width);
    let place = Rect { x: area.x + (area.width - wide) / 2, width: wide, ..area };
    paint::spans(&[span(text, StyleRole::System)], styles, place, buffer);
    Some(place.into())
}

/// Draws the last line: the continuations of a key sequence, or the mode and hints for the keys.
pub fn draw_hints(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if let Some(pending) = &model.shared.pending {
        let begun = span(format!("{} …  ", pending.label()), StyleRole::Strong);
        let rest = pairs(&continuations(model, pending));
        let begun_width = spans_width(std::slice::from_ref(&begun));
        let rest = list_rows::fit(rest, area.width.saturating_sub(begun_width));
        paint::spans(&[vec![begun], rest].concat(), styles, area, buffer);
        return;
    }
    let (mut left, mut right) = hints(model);
    let mut mode = vi_mode(model);
    let wanted = spans_width(&mode) + spans_width(&pairs(&left)) + spans_width(&pairs(&right));
    mode.extend(permission_mode(model, area.width.saturating_sub(wanted)));
    // Under a dialog there is no rule for a toast.
    if !model.dialogs.is_empty()
        && let Some(toast) = toast(model, area.width.saturating_sub(1))
    {
        let room = area.width.saturating_sub(spans_width(std::slice::from_ref(&toast)) + 2);
        let hints = list_rows::fit(pairs(&left), room);
        paint::both_edges(&hints, &[toast], styles, area, buffer);
        return;
    }
    // These stay longest: the first hint, how to stop, and the way to all keys.
    let taken = spans_width(&mode);
    while taken + spans_width(&pairs(&left)) + spans_width(&pairs(&right)) + 3 > area.width {
        let sessions = right.iter().position(|(_, word)| *word == "sessions");
        match (left.len(), sessions) {
            (0..=2, Some(at)) => {
                right.remove(at);
            }
            (0, None) => {
                if right.pop().is_none() {
                    break;
                }
            }
            (_, _) => {
                left.pop();
            }
        }
    }
    let left = [mode, pairs(&left)].concat();
    paint::both_edges(&left, &pairs(&right), styles, area, buffer);
}

/// The short notice, if there is one.
fn toast(model: &ScreenModel, width: u16) -> Option<StyledSpan> {
    let toast = model.shared.toast.as_ref()?;
    let role = match toast.level {
        NoticeLevel::Info => StyleRole::System,
        NoticeLevel::Warning => StyleRole::Warning,
        NoticeLevel::Error => StyleRole::Error,
    };
    Some(span(truncate(&harmless(&toast.text), width), role))
}

/// The permission mode while the input has the focus, and the key that changes it where there is room
/// for all of it.
fn permission_mode(model: &ScreenModel, room: u16) -> Vec<StyledSpan> {
    let is_typing = model.conversation.focus == KeyboardFocus::Input;
    if !model.dialogs.is_empty() || !is_typing {
        return Vec::new();
    }
    let mut spans = mode_label::spans(model);
    let gap = span("   ", StyleRole::Text);
    let key = format!(" {}", model.shared.settings.keys.key(ChatKey::NextMode));
    let key = span(key, StyleRole::Muted);
    // Between the hints on both sides there are three columns.
    if spans_width(&[spans.clone(), vec![key.clone(), gap.clone()]].concat()) + 3 <= room {
        spans.push(key);
    }
    spans.push(gap);
    spans
}

/// Vi's mode, while the input has the focus.
fn vi_mode(model: &ScreenModel) -> Vec<StyledSpan> {
    match &model.conversation.composer.vi {
        Some(vi)
            if model.conversation.focus == KeyboardFocus::Input && model.dialogs.is_empty() =>
        {
            vec![span(vi.label(), StyleRole::Strong), span("  ", StyleRole::Text)]
        }
        Some(_) | None => Vec::new(),
    }
}

type FooterHints = Vec<(String, &'static str)>;

/// The keys that continue a sequence, and what each would do.
fn continuations(model: &ScreenModel, pending: &PendingKeys) -> FooterHints {
    let rows = place(model).listed().flat_map(|context| model.shared.settings.keys.rows(context));
    let rests = rows.flat_map(|row| {
        let word = row.hint.unwrap_or(row.help);
        row.continues(&pending.chords).map(move |rest| (in_words(rest), word))
    });
    rests.collect()
}

/// The hints on the left and on the right of the last line.
fn hints(model: &ScreenModel) -> (FooterHints, FooterHints) {
    match model.dialogs.top() {
        Some(dialog) => {
            let typed = is_text_below_question(model);
            let hints = dialog.hints(&model.shared.settings.keys).into_iter();
            let hints = hints.map(|(key, word)| match word {
                "select" if typed => (key, "queue your text"),
                _ => (key, word),
            });
            (hints.collect(), Vec::new())
        }
        None => chat_hints(model),
    }
}

fn chat_hints(model: &ScreenModel) -> (FooterHints, FooterHints) {
    let runs = crate::tui::app::is_busy(&model.conversation);
    let map = &model.shared.settings.keys;
    let has_command = sending::has_foreground_command(&model.conversation);
    let has_edit = model.conversation.transcript.last_edit().is_some();
    let all = map.hints(KeyContext::Chat).filter(|(_, word)| match *word {
        "stop" => runs,
        // There is room for one of them.
        "background" => has_command,
        "undo edit" => !runs && has_edit && model.conversation.composer.editor.is_empty(),
        "sessions" => !has_command,
        _ => true,
    });
    let keys = map.hint(EmptyInputKey::Help);
    match model.conversation.focus {
        KeyboardFocus::Pane(_) => {
            let panes = map.hints(KeyContext::Panes).filter(|(_, word)| match *word {
                "keys" => false,
                "undo" => is_edit(model),
                _ => true,
            });
            let back = (map.key(ChatKey::Focus), "input");
            let stop = all.filter(|(_, word)| matches!(*word, "stop" | "background"));
            (panes.collect(), stop.chain([back]).chain(keys).collect())
        }
        KeyboardFocus::Caret(_) => {
            let back = (map.key(ChatKey::Focus), "input");
            (map.hints(KeyContext::Caret).collect(), vec![back])
        }
        // The list itself shows its other keys.
        KeyboardFocus::Sidebar => {
            let leave = (map.key(SidebarKey::Leave), "input");
            (Vec::new(), vec![leave, (map.key(SidebarKey::Close), "close")])
        }
        KeyboardFocus::Input
            if model.conversation.completion.as_ref().is_some_and(|open| !open.list.is_empty()) =>
        {
            (map.hints(KeyContext::Completion).collect(), Vec::new())
        }
        KeyboardFocus::Input if !model.conversation.composer.is_inserting() => {
            let left = [("i", "insert"), ("v", "select"), ("enter", "send")];
            let left = left.map(|(key, word)| (key.to_owned(), word));
            (left.to_vec(), all.filter(|(_, word)| *word != "panes").chain(keys).collect())
        }
        KeyboardFocus::Input => {
            let typing =
                map.hints(KeyContext::Input).filter(|(_, word)| !runs || *word != "newline");
            let is_shell = model.conversation.composer.editor.text().starts_with('!');
            let typing = typing.map(|(key, word)| match word {
                "send" if is_shell => (key, "run"),
                _ => (key, word),
            });
            let now = runs.then(|| (map.key(InputKey::Steer), "send now"));
            let signs = map.hints(KeyContext::EmptyInput).filter(|(_, word)| *word != "keys");
            let all = all.filter(|(_, word)| *word != "panes");
            let kept = kept_hints(model);
            (typing.chain(now).chain(signs).chain(kept).collect(), all.chain(keys).collect())
        }
    }
}

/// Whether the pane with the focus shows an edit that can be undone.
fn is_edit(model: &ScreenModel) -> bool {
    let KeyboardFocus::Pane(id) = model.conversation.focus else { return false };
    let block = model.conversation.transcript.get(id);
    let tool = block.and_then(|block| block.body.tool_call());
    tool.is_some_and(|tool| tool.is_edit() && !tool.is_undone)
}

/// On an empty input: the keys that bring back what was there, if there is anything.
fn kept_hints(model: &ScreenModel) -> FooterHints {
    let (composer, map) = (&model.conversation.composer, &model.shared.settings.keys);
    let kept = [
        (EditAction::Undo, composer.editor.can_undo()),
        (EditAction::Yank, composer.editor.can_yank()),
    ];
    let kept = kept.into_iter().filter(|(_, is_there)| *is_there && composer.is_empty());
    kept.filter_map(|(action, _)| map.hint(action)).collect()
}

fn pairs(hints: &[(String, &'static str)]) -> Vec<StyledSpan> {
    let mut spans = Vec::new();
    for (key, word) in hints {
        if !spans.is_empty() {
            spans.push(span("  ", StyleRole::Muted));
        }
        spans.push(span(key.clone(), StyleRole::Key));
        spans.push(span(format!(" {word}"), StyleRole::Muted));
    }
    spans
}
