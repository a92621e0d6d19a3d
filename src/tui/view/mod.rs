//! Draws the model. Pure except for its cache of laid-out lines: the same model gives the same
//! frame. What `update` has to know about the screen is returned as [`FrameGeometry`].
//!
//! One file for each part. From 40x12 up everything fits; on a narrow screen the least important
//! items go first.

pub mod activity;
mod agent_strip;
pub mod blocks;
pub mod closing_line;
pub mod completion;
pub mod composer;
mod dimmed;
pub mod field;
pub mod footer;
pub mod header;
pub mod heads;
pub mod image;
pub mod label;
pub mod layouts;
pub mod list_rows;
mod lookups;
pub mod mode_label;
pub mod paint;
pub mod pane_head;
mod pinned_message;
pub mod plan;
pub mod plan_strip;
pub mod queue;
pub mod search;
pub mod select;
mod side_panel;
pub mod sidebar;
mod start;
mod timeline;
mod tour;
pub mod transcript;
pub mod transcript_rows;
pub mod window;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::app::ScreenModel;
use super::app::conversation::side_panel::columns as panel_columns;
use super::app::focus::KeyboardFocus;
use super::app::geometry::{CellRect, FrameGeometry};
use super::app::keymap::{ChatKey, PaneKey};
use super::app::sidebar::{SidebarPlacement, on_screen};
use super::dialogs::geometry::DialogGeometry;
use super::dialogs::{DialogCanvas, DialogView};
use super::layout::StyleRole;
use dimmed::DimmedStyles;

pub use layouts::ViewLayouts;
pub use paint::RoleStyles;

/// The areas of the screen's rows, from the top.
#[derive(Debug, Clone, Copy)]
struct ScreenRowAreas {
    header: Rect,
    agents: Rect,
    header_rule: Rect,
    transcript: Rect,
    activity: Rect,
    plan: Rect,
    queue: Rect,
    /// What a dialog above the input gets.
    dock: Rect,
    /// The mark of the tour.
    tour: Rect,
    rule: Rect,
    input: Rect,
    hints: Rect,
}

/// Draws a frame, and returns where its parts are.
pub fn view(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    frame: &mut Frame<'_>,
) -> FrameGeometry {
    layouts.draw_for(model.conversation.agent);
    let keys = &model.shared.settings.keys;
    layouts.name_view_key(format!("{} {}", keys.key(ChatKey::Focus), keys.key(PaneKey::View)));
    layouts.paint_on(model.shared.settings.canvas.map(|(canvas, _)| canvas));
    let area = frame.area();
    let FrameGeometry { screen: mut geometry, conversation: mut shown } =
        FrameGeometry::of_size(area.width, area.height);
    let side = on_screen(&model.sidebar, model.shared.geometry.width, model.conversation.focus);
    let chat = beside(area, side);
    let typed = model.conversation.composer.editor.rows(input_width(chat));
    let ScreenModel { conversation, background, shared, .. } = model;
    let around = DialogView { conversation, background, shared };
    let room = RowHeights::of(model, chat, typed.len(), ChatDock::Used).dock_room(chat.height);
    let dock = model.dialogs.iter();
    let dock = dock.filter_map(|it| it.docked_rows(around, layouts, (chat.width, room))).max();
    let rows = ScreenRowAreas::split(model, chat, typed.len(), dock).with_edges(area);
    let columns =
        panel_columns(&model.conversation.transcript, model.shared.settings.panel, chat.width);
    let (talk, panel) = beside_panel(rows.transcript, columns);
    // What a question is not about steps back, and stays readable.
    let dimmed = DimmedStyles(styles);
    let behind: &dyn RoleStyles = if dock.is_some() { &dimmed } else { styles };

    let buffer = frame.buffer_mut();
    buffer.set_style(area, styles.style(StyleRole::Screen));
    header::draw(model, styles, rows.header, buffer);
    agent_strip::draw(model, styles, rows.agents, buffer);
    paint::rule(rows.header_rule, styles, buffer);
    transcript::draw(model, layouts, behind, talk, buffer, &mut shown);
    geometry.panel = panel.map(|area| side_panel::draw(model, behind, area, buffer));
    activity::draw(model, behind, rows.activity, buffer);
    plan_strip::draw(model, behind, rows.plan, buffer);
    queue::draw(model, behind, rows.queue, buffer);
    tour::draw(model, styles, rows.tour, buffer);
    shown.below = footer::draw_rule(model, &shown, styles, rows.rule, buffer);
    let caret = composer::draw(model, &typed, behind, rows.input, buffer, &mut shown);
    if dock.is_none() {
        composer::draw_placeholder(model, styles, rows.input, buffer);
    }
    let typed_in = search::draw(model, &shown, styles, rows.hints, buffer);
    if typed_in.is_none() {
        footer::draw_hints(model, styles, rows.hints, buffer);
    }
    completion::draw_completion(model, styles, rows.rule, buffer);

    let mut caret = match model.conversation.focus {
        KeyboardFocus::Input | KeyboardFocus::Pane(_) => Some(caret),
        KeyboardFocus::Caret(_) => transcript::caret(model, &shown),
        KeyboardFocus::Sidebar => None,
    };
    if let Some(SidebarPlacement::Beside(columns) | SidebarPlacement::Over(columns)) = side {
        let y = rows.transcript.y;
        let height = rows.hints.y.saturating_sub(y);
        let place = Rect { y, height, width: columns.min(area.width), ..area };
        let keys = match model.conversation.focus {
            KeyboardFocus::Sidebar => sidebar::SidebarKeyFocus::Focused,
            KeyboardFocus::Input | KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_) => {
                sidebar::SidebarKeyFocus::Unfocused
            }
        };
        let map = &*model.shared.settings.keys;
        let context = sidebar::SidebarViewContext {
            now: model.shared.now,
            open: model.conversation.status.session,
            keys,
            map,
        };
        let drawn = sidebar::draw(&model.sidebar, context, styles, place, buffer);
        geometry.sidebar = Some(drawn.rows);
        caret = caret.or(drawn.caret);
    }
    caret = typed_in.flatten().or(caret).filter(|_| model.dialogs.is_empty());
    for dialog in model.dialogs.iter() {
        let mut measured = DialogGeometry::default();
        let canvas = DialogCanvas {
            layouts: &mut *layouts,
            styles,
            area,
            dock: rows.dock,
            buffer: &mut *buffer,
            measured: &mut measured,
        };
        caret = dialog.draw(around, canvas);
        geometry.dialogs.push(measured);
    }
    if let Some(caret) = caret
        && area.contains(caret)
    {
        frame.set_cursor_position(caret);
    }
    FrameGeometry { screen: geometry, conversation: shown }
}

/// The area that the sidebar leaves for the chat.
fn beside(area: Rect, side: Option<SidebarPlacement>) -> Rect {
    match side {
        Some(SidebarPlacement::Beside(columns)) => {
            let columns = columns.min(area.width);
            Rect { x: area.x + columns, width: area.width - columns, ..area }
        }
        Some(SidebarPlacement::Over(_)) | None => area,
    }
}

/// The transcript's area without the columns of the panel, and the panel's area.
fn beside_panel(area: Rect, columns: Option<u16>) -> (Rect, Option<Rect>) {
    let Some(columns) = columns else { return (area, None) };
    let width = area.width.saturating_sub(columns);
    (Rect { width, ..area }, Some(Rect { x: area.x + width, width: area.width - width, ..area }))
}

/// Columns of the input's text: without the prompt on its left and a margin for the caret after the
/// last column.
fn input_width(area: Rect) -> u16 {
    area.width.saturating_sub(4).max(1)
}

impl ScreenRowAreas {
    /// Extends the first and the last rows over the whole screen.
    fn with_edges(self, area: Rect) -> Self {
        let whole = |row: Rect| Rect { x: area.x, width: area.width, ..row };
        Self {
            header: whole(self.header),
            agents: whole(self.agents),
            header_rule: whole(self.header_rule),
            hints: whole(self.hints),
            ..self
        }
    }

    /// Divides the chat. A dialog that wants to be above the input leaves a few rows to the transcript
    /// where there are enough, and takes what is above the input where there are not.
    fn split(model: &ScreenModel, area: Rect, typed: usize, dock: Option<u16>) -> Self {
        let dock_use = if dock.is_some() { ChatDock::Used } else { ChatDock::Empty };
        let heights = RowHeights::of(model, area, typed, dock_use);
        let mut top = area.y;
        let mut bottom = area.y + area.height;
        let mut from_top = |height: u16| {
            let height = height.min(bottom.saturating_sub(top));
            top += height;
            Rect { x: area.x, y: top - height, width: area.width, height }
        };
        let header = from_top(heights.header);
        let agents = from_top(heights.agents);
        let header_rule = from_top(heights.header_rule);
        let mut from_bottom = |height: u16| {
            let height = height.min(bottom.saturating_sub(top));
            bottom -= height;
            Rect { x: area.x, y: bottom, width: area.width, height }
        };
        let hints = from_bottom(1);
        from_bottom(heights.gap);
        let input = from_bottom(heights.input);
        let rule = from_bottom(heights.rule);
        let tour = from_bottom(heights.tour);
        let dock = from_bottom(dock.unwrap_or(0).min(heights.dock_room(area.height)));
        from_bottom(heights.dock_gap);
        let queue = from_bottom(heights.queue);
        let plan = from_bottom(heights.plan);
        let activity = from_bottom(heights.activity);
        let transcript =
            Rect { x: area.x, y: top, width: area.width, height: bottom.saturating_sub(top) };
        Self {
            header,
            agents,
            header_rule,
            transcript,
            activity,
            plan,
            queue,
            dock,
            tour,
            rule,
            input,
            hints,
        }
    }
}

/// Whether a dialog is above the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatDock {
    Empty,
    Used,
}

/// Heights of the chat's rows but the transcript and the dock, which share what is left.
#[derive(Debug, Clone, Copy)]
struct RowHeights {
    header: u16,
    /// The strip of agents that run.
    agents: u16,
    header_rule: u16,
    activity: u16,
    /// The plan under that line; none beside a dock, which needs the room.
    plan: u16,
    queue: u16,
    /// An empty row above the dock, of the transcript's.
    dock_gap: u16,
    tour: u16,
    rule: u16,
    input: u16,
    /// An empty row between the input and the last line.
    gap: u16,
    /// What the transcript keeps beside a dock.
    least_transcript: u16,
}

impl RowHeights {
    fn of(model: &ScreenModel, chat: Rect, typed: usize, dock: ChatDock) -> Self {
        let height = chat.height;
        let is_docked = dock == ChatDock::Used;
        let tall = u16::from(height >= 16);
        let is_tight = is_docked && height < 12;
        let edge = u16::from(!is_tight);
        let most = (height / 3).max(1);
        let is_said = is_docked && activity::says_only_that_a_question_waits(model);
        Self {
            header: edge,
            agents: tall * agent_strip::height(model),
            header_rule: tall,
            activity: if is_said { 0 } else { activity::height(model) },
            plan: if is_docked { 0 } else { plan_strip::height(model, chat) },
            queue: queue::height(model),
            dock_gap: u16::from(is_docked && height >= ROOMY),
            tour: tour::height(model, chat.width),
            rule: edge,
            input: u16::try_from(typed).unwrap_or(most).clamp(1, most),
            gap: if is_docked && height < ROOMY { 0 } else { tall },
            least_transcript: if height >= 16 { height / 5 } else { edge },
        }
    }

    /// How many rows a dialog above the input may take.
    fn dock_room(self, height: u16) -> u16 {
        let above = if self.header == 0 { 0 } else { self.queue + self.activity };
        let around =
            self.header + self.agents + self.header_rule + self.tour + self.rule + self.input;
        let around = around + self.gap + 1;
        height.saturating_sub(around + above + self.least_transcript)
    }
}

/// From this height on a question has empty rows around it.
const ROOMY: u16 = 30;

impl From<Rect> for CellRect {
    fn from(rect: Rect) -> Self {
        Self { x: rect.x, y: rect.y, width: rect.width, height: rect.height }
    }
}
