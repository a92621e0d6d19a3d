//! What the first run looks like.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::sanitize::sanitize;
use crate::tui::app::editor::TextEditor;
use crate::tui::layout::Role;
use crate::tui::view::Styles;
use crate::tui::view::paint::{self, span};
use crate::tui::welcome::frame::{self, Row, Shows};

use super::{Choice, FirstRun, FoundKey, Looking, Server, Step};

/// Columns of the names of servers.
const NAMES: usize = 10;
/// Columns of their addresses.
const ADDRESSES: usize = 25;

/// What is drawn: rows, the one to keep in view, and a caret in it.
#[derive(Default)]
struct Sheet {
    rows: Vec<Row>,
    marked: usize,
    caret: Option<u16>,
}

/// Draws the screen.
pub fn draw(
    page: &FirstRun,
    styles: &dyn Styles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let column = frame::column(area);
    let (sheet, hints) = sheet(page, column.body.width);
    let height = usize::from(column.body.height);
    // A row more below the marked one, so that it is seen that the list goes on.
    let most = sheet.rows.len().saturating_sub(height);
    let first = (sheet.marked + 2).saturating_sub(height).min(most);
    frame::rows(&sheet.rows, first, styles, column.body, buffer);
    frame::hints(hints, styles, column.hints, buffer);
    let below = sheet.marked.checked_sub(first).filter(|below| *below < height)?;
    let y = column.body.y + u16::try_from(below).ok()?;
    sheet.caret.map(|x| Position { x: column.body.x + x, y }).filter(|at| area.contains(*at))
}

type Hints = &'static [(&'static str, &'static str)];

fn sheet(page: &FirstRun, width: u16) -> (Sheet, Hints) {
    match &page.step {
        Step::Choose => {
            (choose(page, width), &[("enter", "choose"), ("r", "look again"), ("q", "quit")])
        }
        Step::Address => {
            let mut sheet = Sheet::headed("The address of the server", width);
            let help = "Any server that speaks chat completions, for example \
                        https://host/v1 or http://localhost:8000/v1.";
            sheet.text(help, Role::Muted, width);
            sheet.field(&page.address, Shows::Text, width);
            sheet.error(page, width);
            (sheet, &[("enter", "go on"), ("esc", "back")])
        }
        Step::Unencrypted => {
            let mut sheet = Sheet::headed("This address is not encrypted", width);
            sheet.text(&shown(&page.address.text()), Role::User, width);
            sheet.gap();
            let meaning = "Whoever is on the network between here and there can read what you \
                           send and the key, and can change the answers. In a network of your \
                           own that may be fine.";
            sheet.text(meaning, Role::Warning, width);
            (sheet, &[("y", "use it all the same"), ("n", "back")])
        }
        Step::Key => {
            let mut sheet = Sheet::headed("The key for this server", width);
            sheet.text(&shown(&page.address.text()), Role::User, width);
            sheet.text(
                "It goes there and nowhere else. Leave it empty if none is needed.",
                Role::Muted,
                width,
            );
            sheet.field(&page.secret, Shows::Dots, width);
            (sheet, &[("enter", "check the server"), ("esc", "back")])
        }
        Step::Checking { target, .. } => {
            let mut sheet = Sheet::headed("Asking for its models …", width);
            sheet.text(&shown(&target.endpoint), Role::User, width);
            (sheet, &[("esc", "back")])
        }
        Step::Models { target, models, selected } => {
            let mut sheet = Sheet::headed("Which model?", width);
            sheet.text(&shown(&target.endpoint), Role::User, width);
            sheet.gap();
            for (number, model) in models.iter().enumerate() {
                sheet.choice(number == *selected, vec![span(shown(model), Role::Text)]);
            }
            (sheet, &[("enter", "use it"), ("esc", "back")])
        }
    }
}

fn choose(page: &FirstRun, width: u16) -> Sheet {
    let mut sheet = Sheet::headed("Welcome to slug. Which model shall it use?", width);
    let selected = page.selected();
    sheet.text("Servers on this machine", Role::Muted, width);
    for server in &page.servers {
        let row = vec![
            span(format!("{:<NAMES$}  ", server.name), Role::Text),
            span(format!("{:<ADDRESSES$}", server.endpoint), Role::Text),
            span(format!("  {}", models(server)), Role::Muted),
        ];
        sheet.choice(selected == Choice::Server(server.endpoint.clone()), row);
    }
    match (page.looking, page.servers.is_empty()) {
        (Looking::Now, _) => sheet.text("  looking …", Role::Muted, width),
        (Looking::Over, true) => {
            sheet.text("  none answers. Start one, and press r.", Role::Muted, width);
        }
        (Looking::Over, false) => {}
    }
    sheet.gap();
    if !page.keys.is_empty() {
        sheet.text("Keys in the environment", Role::Muted, width);
        let widest = page.keys.iter().map(|key| key.variable.len()).max().unwrap_or(0);
        for FoundKey { variable, service, .. } in &page.keys {
            let row = vec![
                span(format!("{variable:<widest$}  "), Role::Text),
                span(*service, Role::Muted),
            ];
            sheet.choice(selected == Choice::Key(variable), row);
        }
        sheet.gap();
    }
    let row = |text: &str| vec![span(text, Role::Text)];
    sheet.choice(selected == Choice::Other, row("Another server …"));
    sheet.choice(selected == Choice::Demo, row("Look around with the demo: no server, no key"));
    sheet.error(page, width);
    sheet.gap();
    let kept = format!("What you choose is kept in {}.", page.config_file);
    sheet.text(&kept, Role::Muted, width);
    sheet
}

fn models(server: &Server) -> String {
    match server.models.as_slice() {
        [] => "no model yet".to_owned(),
        [one] => shown(one),
        [_, _, ..] => format!("{} models", server.models.len()),
    }
}

fn shown(text: &str) -> String {
    sanitize(text.trim()).replace(['\n', '\t'], " ")
}

impl Sheet {
    fn headed(title: &str, width: u16) -> Self {
        let mut sheet = Self::default();
        sheet.text(title, Role::Strong, width);
        sheet.gap();
        sheet
    }

    fn gap(&mut self) {
        self.rows.push(Row::new());
    }

    fn text(&mut self, text: &str, role: Role, width: u16) {
        self.rows.extend(frame::text(text, role, width));
    }

    fn choice(&mut self, is_selected: bool, mut row: Row) {
        row.insert(0, span(if is_selected { "❯ " } else { "  " }, Role::User));
        if is_selected {
            self.marked = self.rows.len();
            for span in &mut row {
                if span.role == Role::Text {
                    span.role = Role::Strong;
                }
            }
        }
        self.rows.push(row);
    }

    fn field(&mut self, editor: &TextEditor, shows: Shows, width: u16) {
        self.gap();
        let mark = "❯ ";
        let left = paint::width(mark);
        let (text, caret) = frame::field(editor, shows, width.saturating_sub(left));
        self.marked = self.rows.len();
        self.caret = Some(left + caret);
        self.rows.push(vec![span(mark, Role::User), span(text, Role::Text)]);
    }

    fn error(&mut self, page: &FirstRun, width: u16) {
        if let Some(error) = &page.error {
            self.gap();
            self.rows.extend(frame::indented("! ", error, Role::Error, width));
        }
    }
}
