//! Draws the page.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::pluralise;
use crate::domain::sanitize::sanitize_line;
use crate::services::connect::{ConnectedProvider, DetectedServer, HostedService, ServerAccess};
use crate::tui::app::editor::TextEditor;
use crate::tui::dialogs::startup::frame::{self, StartupFieldDisplay, StartupRow};
use crate::tui::layout::StyleRole;
use crate::tui::view::RoleStyles;
use crate::tui::view::paint::{self, span};

use super::{
    CheckSubject, ConnectChoice, ConnectDialog, ConnectPurpose, ConnectStep, KeyNeed,
    ProviderAction, ServerSearch,
};

/// Columns for the names of servers and services.
const NAMES: usize = 10;
/// Columns for the addresses of servers.
const ADDRESSES: usize = 25;

/// The rows of the page, the index of the row to keep in view, and the caret in it.
#[derive(Default)]
struct ConnectRows {
    rows: Vec<StartupRow>,
    marked: usize,
    caret: Option<u16>,
}

/// Draws the screen. `in_use` is the name of the provider that answers.
pub fn draw(
    page: &ConnectDialog,
    in_use: &str,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    paint::clear(area, styles, buffer);
    let column = frame::column(area);
    let (view, hints) = page_rows(page, in_use, column.body.width);
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

type ConnectHints = &'static [(&'static str, &'static str)];

fn page_rows(page: &ConnectDialog, in_use: &str, width: u16) -> (ConnectRows, ConnectHints) {
    match &page.step {
        ConnectStep::Choose => {
            let hints: ConnectHints = match page.purpose {
                ConnectPurpose::FirstRun => {
                    &[("enter", "choose"), ("r", "look again"), ("q", "quit")]
                }
                ConnectPurpose::Chat(_) => {
                    &[("enter", "choose"), ("r", "look again"), ("esc", "close")]
                }
            };
            (choose(page, in_use, width), hints)
        }
        ConnectStep::Address => {
            let mut view = ConnectRows::headed("The address of the server", width);
            let help = "Any server that speaks chat completions, for example localhost:8000 or \
                        llm.example.com.";
            view.text(help, StyleRole::Muted, width);
            view.field(&page.address, StartupFieldDisplay::Text, width);
            view.error(page, width);
            (view, &[("enter", "connect"), ("esc", "back")])
        }
        ConnectStep::Unencrypted(endpoint) => {
            let mut view = ConnectRows::headed("This address is not encrypted", width);
            view.text(&shown(endpoint.as_str()), StyleRole::User, width);
            view.gap();
            let meaning = "Anyone on the network in between can read what you send and the key, \
                           and can change the answers. In your own network that may be fine.";
            view.text(meaning, StyleRole::Warning, width);
            (view, &[("y", "use it anyway"), ("n", "back")])
        }
        ConnectStep::Key { target, need } => {
            let service =
                HostedService::ALL.into_iter().find(|it| it.endpoint() == target.endpoint);
            let heading = match service {
                Some(service) => format!("Your {} key", service.label()),
                None => "The key for this server".to_owned(),
            };
            let mut view = ConnectRows::headed(&heading, width);
            view.text(&shown(&target.endpoint), StyleRole::User, width);
            let mut help = String::from("slug sends the key to this server only.");
            if let Some(service) = service {
                help.push_str(&format!(" Get one at {}.", service.key_page()));
            }
            if *need == KeyNeed::Optional {
                help.push_str(" Leave the field empty if none is needed.");
            }
            view.text(&help, StyleRole::Muted, width);
            view.field(&page.secret.0, StartupFieldDisplay::Dots, width);
            view.error(page, width);
            view.saved_to(page, width);
            (view, &[("enter", "connect"), ("esc", "back")])
        }
        ConnectStep::Manage { provider, selected } => {
            let mut view = ConnectRows::headed(&shown(&provider.name), width);
            view.text(&details(provider), StyleRole::Muted, width);
            view.gap();
            for (number, action) in ProviderAction::of(provider).iter().enumerate() {
                view.choice(number == *selected, vec![span(action.words(), StyleRole::Text)]);
            }
            (view, &[("enter", "choose"), ("esc", "back")])
        }
        ConnectStep::Removing(provider) => {
            let mut view =
                ConnectRows::headed(&format!("Remove {}?", shown(&provider.name)), width);
            view.text(&details(provider), StyleRole::User, width);
            view.gap();
            let meaning = "slug deletes its address and its key from the configuration. This \
                           session keeps its model until you choose another.";
            view.text(meaning, StyleRole::Warning, width);
            (view, &[("y", "remove"), ("n", "cancel")])
        }
        ConnectStep::Checking { subject, .. } => {
            let mut view = ConnectRows::headed("Listing the models \u{2026}", width);
            view.text(&shown(endpoint(subject)), StyleRole::User, width);
            (view, &[("esc", "cancel")])
        }
        ConnectStep::Saving { .. } => (ConnectRows::headed("Saving \u{2026}", width), &[]),
        ConnectStep::Models { subject, models, selected } => {
            let mut view = ConnectRows::headed("Choose a model", width);
            view.text(&shown(endpoint(subject)), StyleRole::User, width);
            view.gap();
            for (number, model) in models.iter().enumerate() {
                view.choice(number == *selected, vec![span(shown(model), StyleRole::Text)]);
            }
            (view, &[("enter", "select"), ("esc", "back")])
        }
    }
}

fn choose(page: &ConnectDialog, in_use: &str, width: u16) -> ConnectRows {
    let heading = match page.purpose {
        ConnectPurpose::FirstRun => "Welcome to slug. Choose a model.",
        ConnectPurpose::Chat(_) => "Connect a model",
    };
    let mut view = ConnectRows::headed(heading, width);
    if page.error.is_some() {
        view.rows.pop();
        view.error(page, width);
        view.gap();
    }
    if let Some(news) = &page.news {
        view.text(&shown(news), StyleRole::Added, width);
        view.gap();
    }
    let selected = page.selected();
    if !page.configured.is_empty() {
        view.text("Connected", StyleRole::Muted, width);
        for provider in &page.configured {
            let mut row = vec![
                span(format!("{:<NAMES$}  ", shown(&provider.name)), StyleRole::Text),
                span(shown(&provider.endpoint), StyleRole::Muted),
            ];
            if provider.name == in_use {
                row.push(span("  current", StyleRole::Muted));
            }
            view.choice(selected == ConnectChoice::Configured(provider.name.clone()), row);
        }
        view.gap();
    }
    view.text("On this machine", StyleRole::Muted, width);
    for server in page.offered_servers() {
        let row = vec![
            span(format!("{:<NAMES$}  ", server.name), StyleRole::Text),
            span(format!("{:<ADDRESSES$}", server.endpoint), StyleRole::Text),
            span(format!("  {}", models(server)), StyleRole::Muted),
        ];
        view.choice(selected == ConnectChoice::Server(server.endpoint.clone()), row);
    }
    for file in page.offered_files() {
        let row = vec![
            span(shown(&file.name), StyleRole::Text),
            span(format!("  {}", shown(&file.details)), StyleRole::Muted),
        ];
        view.choice(selected == ConnectChoice::File(file.path.clone()), row);
    }
    match (page.looking, page.offered_servers().next()) {
        (ServerSearch::Over, None) if page.offered_files().next().is_some() => {
            view.text(
                "  select a model file, and slug starts llama-server for it",
                StyleRole::Muted,
                width,
            );
        }
        (ServerSearch::Now, _) => view.text("  looking \u{2026}", StyleRole::Muted, width),
        (ServerSearch::Over, None) => {
            let none = if page.servers.is_empty() {
                "  none found. Start one, then press r."
            } else {
                "  no other found."
            };
            view.text(none, StyleRole::Muted, width);
        }
        (ServerSearch::Over, Some(_)) => {}
    }
    view.gap();
    view.text("Hosted", StyleRole::Muted, width);
    for service in page.offered_services() {
        let key = page.keys.iter().find(|key| key.service == service);
        let aside = match key {
            Some(key) => format!("with the key in {}", key.variable),
            None => service.models().to_owned(),
        };
        let row = vec![
            span(format!("{:<NAMES$}  ", service.label()), StyleRole::Text),
            span(aside, StyleRole::Muted),
        ];
        view.choice(selected == ConnectChoice::Hosted(service), row);
    }
    let row = |text: &str| vec![span(text, StyleRole::Text)];
    view.choice(selected == ConnectChoice::Other, row("Enter an address \u{2026}"));
    if page.purpose == ConnectPurpose::FirstRun {
        view.gap();
        view.choice(selected == ConnectChoice::Demo, row("Try the demo: no server, no key"));
    }
    view.saved_to(page, width);
    view
}

fn details(provider: &ConnectedProvider) -> String {
    let key = match &provider.key {
        Some(key) => format!("key {key}"),
        None => "no key".to_owned(),
    };
    format!("{} \u{b7} {}", shown(&provider.endpoint), shown(&key))
}

fn endpoint(subject: &CheckSubject) -> &str {
    match subject {
        CheckSubject::Target(target) => &target.endpoint,
        CheckSubject::Use(provider) | CheckSubject::Test(provider) => &provider.endpoint,
    }
}

/// What a server of this machine offers, in a few words.
pub(super) fn models(server: &DetectedServer) -> String {
    match (server.access, server.models.as_slice()) {
        (ServerAccess::WantsKey, _) => "needs a key".to_owned(),
        (ServerAccess::Open, []) => "no models".to_owned(),
        (ServerAccess::Open, [model]) => shown(model),
        (ServerAccess::Open, models) => pluralise(models.len() as u64, "model"),
    }
}

pub(super) fn shown(text: &str) -> String {
    sanitize_line(text.trim())
}

impl ConnectRows {
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

    fn error(&mut self, page: &ConnectDialog, width: u16) {
        if let Some(error) = &page.error {
            self.gap();
            self.rows.extend(frame::indented("! ", error, StyleRole::Error, width));
        }
    }

    /// Says where the choice goes.
    fn saved_to(&mut self, page: &ConnectDialog, width: u16) {
        self.gap();
        let words = format!("The choice is saved to {}, readable only by you.", page.config_file);
        self.text(&words, StyleRole::Muted, width);
    }
}
