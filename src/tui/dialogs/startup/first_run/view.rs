//! Draws the first run.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::sanitize::sanitize_line;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::startup::{DetectedApiKey, DetectedServer};
use crate::tui::dialogs::startup::frame::{self, StartupFieldDisplay, StartupRow};
use crate::tui::layout::StyleRole;
use crate::tui::view::RoleStyles;
use crate::tui::view::paint::{self, span};

use super::{FirstRunChoice, FirstRunDialog, FirstRunStep, ServerSearch};

/// Columns for the names of servers.
const NAMES: usize = 10;
/// Columns for the addresses of servers.
const ADDRESSES: usize = 25;

/// The rows of the page, the index of the row to keep in view, and the caret in it.
#[derive(Default)]
struct FirstRunRows {
    rows: Vec<StartupRow>,
    marked: usize,
    caret: Option<u16>,
}

/// Draws the screen.
pub fn draw(
    page: &FirstRunDialog,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    paint::clear(area, styles, buffer);
    let column = frame::column(area);
    let (view, hints) = page_rows(page, column.body.width);
    let height = usize::from(column.body.height);
    // One row below the selected one stays visible, to show that the list continues.
    let most = view.rows.len().saturating_sub(height);
    let first = (view.marked + 2).saturating_sub(height).min(most);
    frame::rows(&view.rows, first, styles, column.body, buffer);
    frame::hints(hints, styles, column.hints, buffer);
    let below = view.marked.checked_sub(first).filter(|below| *below < height)?;
    let y = column.body.y + u16::try_from(below).ok()?;
    view.caret.map(|x| Position { x: column.body.x + x, y }).filter(|at| area.contains(*at))
}

type FirstRunHints = &'static [(&'static str, &'static str)];

fn page_rows(page: &FirstRunDialog, width: u16) -> (FirstRunRows, FirstRunHints) {
    match &page.step {
        FirstRunStep::Choose => {
            (choose(page, width), &[("enter", "choose"), ("r", "look again"), ("q", "quit")])
        }
        FirstRunStep::Address => {
            let mut view = FirstRunRows::headed("The address of the server", width);
            let help = "Any server that speaks chat completions, for example \
                        https://host/v1 or http://localhost:8000/v1.";
            view.text(help, StyleRole::Muted, width);
            view.field(&page.address, StartupFieldDisplay::Text, width);
            view.error(page, width);
            (view, &[("enter", "go on"), ("esc", "back")])
        }
        FirstRunStep::Unencrypted => {
            let mut view = FirstRunRows::headed("This address is not encrypted", width);
            view.text(&shown(&page.address.text()), StyleRole::User, width);
            view.gap();
            let meaning = "Whoever is on the network between here and there can read what you \
                           send and the key, and can change the answers. In a network of your \
                           own that may be fine.";
            view.text(meaning, StyleRole::Warning, width);
            (view, &[("y", "use it all the same"), ("n", "back")])
        }
        FirstRunStep::Key => {
            let mut view = FirstRunRows::headed("The key for this server", width);
            view.text(&shown(&page.address.text()), StyleRole::User, width);
            view.text(
                "It goes there and nowhere else. Leave it empty if none is needed.",
                StyleRole::Muted,
                width,
            );
            view.field(&page.secret.0, StartupFieldDisplay::Dots, width);
            (view, &[("enter", "check the server"), ("esc", "back")])
        }
        FirstRunStep::Checking { target, .. } => {
            let mut view = FirstRunRows::headed("Asking for its models …", width);
            view.text(&shown(&target.endpoint), StyleRole::User, width);
            (view, &[("esc", "back")])
        }
        FirstRunStep::Models { target, models, selected } => {
            let mut view = FirstRunRows::headed("Which model?", width);
            view.text(&shown(&target.endpoint), StyleRole::User, width);
            view.gap();
            for (number, model) in models.iter().enumerate() {
                view.choice(number == *selected, vec![span(shown(model), StyleRole::Text)]);
            }
            (view, &[("enter", "use it"), ("esc", "back")])
        }
    }
}

fn choose(page: &FirstRunDialog, width: u16) -> FirstRunRows {
    let mut view = FirstRunRows::headed("Welcome to slug. Which model shall it use?", width);
    let selected = page.selected();
    view.text("Servers on this machine", StyleRole::Muted, width);
    for server in &page.servers {
        let row = vec![
            span(format!("{:<NAMES$}  ", server.name), StyleRole::Text),
            span(format!("{:<ADDRESSES$}", server.endpoint), StyleRole::Text),
            span(format!("  {}", models(server)), StyleRole::Muted),
        ];
        view.choice(selected == FirstRunChoice::Server(server.endpoint.clone()), row);
    }
    match (page.looking, page.servers.is_empty()) {
        (ServerSearch::Now, _) => view.text("  looking …", StyleRole::Muted, width),
        (ServerSearch::Over, true) => {
            view.text("  none answers. Start one, and press r.", StyleRole::Muted, width);
        }
        (ServerSearch::Over, false) => {}
    }
    view.gap();
    if !page.keys.is_empty() {
        view.text("Keys in the environment", StyleRole::Muted, width);
        let widest = page.keys.iter().map(|key| key.variable.len()).max().unwrap_or(0);
        for DetectedApiKey { variable, service, .. } in &page.keys {
            let row = vec![
                span(format!("{variable:<widest$}  "), StyleRole::Text),
                span(*service, StyleRole::Muted),
            ];
            view.choice(selected == FirstRunChoice::Key(variable), row);
        }
        view.gap();
    }
    let row = |text: &str| vec![span(text, StyleRole::Text)];
    view.choice(selected == FirstRunChoice::Other, row("Another server …"));
    view.choice(
        selected == FirstRunChoice::Demo,
        row("Look around with the demo: no server, no key"),
    );
    view.error(page, width);
    view.gap();
    let kept = format!("What you choose is kept in {}.", page.config_file);
    view.text(&kept, StyleRole::Muted, width);
    view
}

fn models(server: &DetectedServer) -> String {
    match server.models.as_slice() {
        [] => "no model yet".to_owned(),
        [one] => shown(one),
        [_, _, ..] => format!("{} models", server.models.len()),
    }
}

fn shown(text: &str) -> String {
    sanitize_line(text.trim())
}

impl FirstRunRows {
    fn headed(title: &str, width: u16) -> Self {
        let mut view = Self::default();
        view.text(title, StyleRole::Strong, width);
        view.gap();
        view
    }

    fn gap(&mut self) {
        self.rows.push(StartupRow::new());
    }

    fn text(&mut self, text: &str, role: StyleRole, width: u16) {
        self.rows.extend(frame::text(text, role, width));
    }

    fn choice(&mut self, is_selected: bool, mut row: StartupRow) {
        row.insert(0, span(if is_selected { "❯ " } else { "  " }, StyleRole::User));
        if is_selected {
            self.marked = self.rows.len();
            for span in &mut row {
                if span.role == StyleRole::Text {
                    span.role = StyleRole::Strong;
                }
            }
        }
        self.rows.push(row);
    }

    fn field(&mut self, editor: &TextEditor, shows: StartupFieldDisplay, width: u16) {
        self.gap();
        let mark = "❯ ";
        let left = paint::width(mark);
        let (text, caret) = frame::field(editor, shows, width.saturating_sub(left));
        self.marked = self.rows.len();
        self.caret = Some(left + caret);
        self.rows.push(vec![span(mark, StyleRole::User), span(text, StyleRole::Text)]);
    }

    fn error(&mut self, page: &FirstRunDialog, width: u16) {
        if let Some(error) = &page.error {
            self.gap();
            self.rows.extend(frame::indented("! ", error, StyleRole::Error, width));
        }
    }
}
