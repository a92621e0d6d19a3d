//! The page of `/lsp`: the language servers with their states, and beneath the list what is known of the
//! selected one: where it works, what it finds, and what it has said last.
//!
//! One request for the servers is always open while the page is; its answer, which comes with the next
//! change, brings the next request. The selection stays with its server.

mod linear_page;
pub mod lines;
pub mod view;

use std::path::PathBuf;

use ratatui::layout::Position;

use crate::domain::NoticeLevel;
use crate::lsp::{LspServerPhase, LspServerStatus};
use crate::services::lsp_admin::LspAdminRequest;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, LspKey, ScrollAction};
use crate::tui::app::request_id::{RequestCounter, RequestId};

use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogOpening, DialogView};
use crate::tui::dialogs::geometry::selected_row;
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::LinearPage;

/// The state of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct LspPage {
    /// `None` until they are told.
    pub servers: Option<Vec<LspServerStatus>>,
    /// The index of the selected server.
    pub selected: usize,
    request: RequestId,
}

/// What the user does with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerAction {
    Restart,
    Stop,
}

/// Opens the page and asks for the servers.
pub fn open(ids: &mut RequestCounter) -> DialogOpening<LspPage> {
    let id = ids.issue();
    DialogOpening::of(LspPage::new(id), vec![ScreenEffect::FollowLsp { id, seen: None }])
}

impl LspPage {
    /// A page that knows nothing yet.
    pub fn new(request: RequestId) -> Self {
        Self { servers: None, selected: 0, request }
    }

    /// All servers that the page knows.
    pub fn all(&self) -> &[LspServerStatus] {
        self.servers.as_deref().unwrap_or_default()
    }

    /// The selected server.
    pub fn chosen(&self) -> Option<&LspServerStatus> {
        self.all().get(self.selected)
    }

    /// Takes in how the servers stand now.
    fn learn(&mut self, servers: Vec<LspServerStatus>) {
        let before = self.chosen().map(|it| (it.name.clone(), it.root.clone()));
        let is_same = |it: &LspServerStatus, root: bool| {
            let (name, folder) = before.as_ref()?;
            (it.name == *name && (!root || it.root == *folder)).then_some(())
        };
        // A server that has started meanwhile has got a folder, and another place.
        let place = |root| servers.iter().position(|it| is_same(it, root).is_some());
        self.selected = place(true).or_else(|| place(false)).unwrap_or_default();
        self.servers = Some(servers);
    }

    fn select(&mut self, how: ScrollAction, rows: usize) {
        self.selected = selected_row(self.selected, how, rows, self.all().len());
    }

    fn act(&self, action: ServerAction) -> Vec<Intent> {
        let Some(server) = self.chosen() else { return Vec::new() };
        let shown = lines::name(server);
        let Some(root) = folder_for(server, action) else {
            let text = match lines::advice(server) {
                Some((text, _)) => text,
                None => format!("{shown} does not run."),
            };
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        };
        let name = server.name.clone();
        let (job, text) = match action {
            ServerAction::Restart => {
                (LspAdminRequest::Restart { name, root }, format!("Restarting {shown}."))
            }
            ServerAction::Stop => {
                (LspAdminRequest::Stop { name, root }, format!("Stopping {shown}."))
            }
        };
        vec![Intent::Effect(ScreenEffect::ChangeLsp(job)), Intent::Toast(NoticeLevel::Info, text)]
    }
}

/// The folder of a server with which this can be done now.
fn folder_for(server: &LspServerStatus, action: ServerAction) -> Option<PathBuf> {
    let is_possible = match server.phase {
        LspServerPhase::NotInstalled(_) | LspServerPhase::Starting => false,
        LspServerPhase::Ready => true,
        LspServerPhase::NotNeeded | LspServerPhase::Stopped | LspServerPhase::Failed(_) => {
            action == ServerAction::Restart
        }
    };
    server.root.clone().filter(|_| is_possible)
}

impl Dialog for LspPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Lsp
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match keymap::find(keymap::LSP, key) {
            None => {}
            Some(LspKey::Scroll(how)) => self.select(how, around.measured.list_rows()),
            Some(LspKey::Restart) => return self.act(ServerAction::Restart),
            Some(LspKey::Stop) => return self.act(ServerAction::Stop),
            Some(LspKey::Back) => return vec![Intent::Close],
        }
        Vec::new()
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around.shared.settings.home.as_deref(), canvas);
        None
    }

    /// Only what can be done with the selected server.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let mut hints = Vec::new();
        for (action, key, word) in [
            (ServerAction::Restart, LspKey::Restart, "restart"),
            (ServerAction::Stop, LspKey::Stop, "stop"),
        ] {
            if self.chosen().is_some_and(|server| folder_for(server, action).is_some()) {
                hints.push((keys.key(key), word));
            }
        }
        hints.push((keys.key(LspKey::Back), "close"));
        hints
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        let how = if rows < 0 { ScrollAction::LineUp } else { ScrollAction::LineDown };
        self.select(how, 1);
    }

    /// Selects the server that was clicked.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let Some((list, first)) = around.measured.page.list
            && let Some((_, row)) = list.inside(column, row)
            && first + usize::from(row) < self.all().len()
        {
            self.selected = first + usize::from(row);
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::LspServers { id, seen, servers } if *id == self.request => {
                self.learn(servers.clone());
                let follow = ScreenEffect::FollowLsp { id: self.request, seen: Some(*seen) };
                vec![Intent::Effect(follow)]
            }
            _ => Vec::new(),
        }
    }

    fn is_waiting_for(&self, id: RequestId) -> bool {
        self.request == id
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around.shared.settings.home.as_deref())
    }

    fn expected_line(&self) -> ExpectedLine {
        match &self.servers {
            None => ExpectedLine::Nothing,
            Some(servers) if servers.is_empty() => ExpectedLine::Message,
            Some(_) => ExpectedLine::Row,
        }
    }

    fn is_over_once_printed(&self) -> bool {
        self.servers.as_ref().is_some_and(Vec::is_empty)
    }

    /// `restart 2` or `stop 2`, by the number in the list; a number alone shows the server.
    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(vec![Intent::Close]);
        }
        let (action, number) = match line.split_once(' ') {
            Some(("restart", number)) => (Some(ServerAction::Restart), number),
            Some(("stop", number)) => (Some(ServerAction::Stop), number),
            Some(_) | None => (None, line),
        };
        let at = number.trim().parse().ok().and_then(|number: usize| number.checked_sub(1));
        self.selected = at.filter(|at| *at < self.all().len()).ok_or(LineAnswerError::NoRow)?;
        Ok(action.map(|action| self.act(action)).unwrap_or_default())
    }
}
