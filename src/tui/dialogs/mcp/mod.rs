//! The page of `/mcp`: the servers of the Model Context Protocol with their states, and what is known of
//! the one that is opened: what is started, its tools with what a call of each meets, and its errors.
//!
//! One request for the servers is always open while the page is; its answer, which comes with the next
//! change, brings the next request. A yes is given only to what is shown: to lines that have all been on
//! screen since they came, and with the hash that they are about.

mod linear_page;
pub mod lines;
pub mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::layout::Position;

use crate::agent::{AgentCommand, RuleReply, RuleRequest, RuleTestError};
use crate::domain::{ContentHash, NoticeLevel, PermissionMode};
use crate::mcp::{McpServerState, McpServerStatus, McpToolDefinition, model_tool_name};
use crate::permissions::PermissionTestReport;
use crate::services::mcp_admin::McpAdminRequest;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, McpKey, ScrollAction};
use crate::tui::app::request_id::{RequestCounter, RequestId};
use crate::tui::app::shared::SharedState;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogOpening, DialogView,
};
use crate::tui::dialogs::geometry::{scrolled, wheel_scrolled};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::LinearPage;

use view::McpServerLayout;

/// What the permission rules say about the tools, by the names that models use.
pub type McpToolDecisions = BTreeMap<String, Result<PermissionTestReport, RuleTestError>>;

/// The state of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct McpPage {
    /// By name; `None` until they are told.
    pub servers: Option<Vec<McpServerStatus>>,
    /// The index of the selected server.
    pub selected: usize,
    /// What is shown of the selected server in place of the list.
    pub opened: Option<OpenedMcpServer>,
    pub decisions: McpToolDecisions,
    /// The mode in which these hold; `None` where they have to be asked for again.
    decided_in: Option<PermissionMode>,
    request: RequestId,
}

/// How much of the opened server is on screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenedMcpServer {
    /// Rows above the visible part.
    pub scroll: usize,
    /// So many rows from the top have all been on screen.
    seen: usize,
    /// Whether all rows of the question have been among them.
    is_question_seen: bool,
    pub layout: McpServerLayout,
    guard: QuestionGuard,
}

/// What a server waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpQuestion {
    /// A yes to what has this hash.
    Start(ContentHash),
    /// That these changed definitions are accepted.
    Definitions(Vec<McpToolDefinition>),
}

impl McpQuestion {
    /// What a server waits for, if it does.
    pub fn of(server: &McpServerStatus) -> Option<Self> {
        if let Some(question) = &server.start_question {
            return Some(Self::Start(question.hash.clone()));
        }
        let changed: Vec<McpToolDefinition> = server.changed().cloned().collect();
        (!changed.is_empty()).then_some(Self::Definitions(changed))
    }
}

/// Opens the page and asks for the servers.
pub fn open(ids: &mut RequestCounter) -> DialogOpening<McpPage> {
    let id = ids.issue();
    DialogOpening::of(McpPage::new(id), vec![ScreenEffect::FollowMcp { id, seen: None }])
}

impl McpPage {
    /// A page that knows nothing yet.
    pub fn new(request: RequestId) -> Self {
        let (servers, opened, decided_in) = (None, None, None);
        let decisions = McpToolDecisions::new();
        Self { servers, selected: 0, opened, decisions, decided_in, request }
    }

    /// All servers that the page knows.
    pub fn all(&self) -> &[McpServerStatus] {
        self.servers.as_deref().unwrap_or_default()
    }

    /// The selected server.
    pub fn chosen(&self) -> Option<&McpServerStatus> {
        self.all().get(self.selected)
    }

    /// Where the user logs in to the selected server, while a login waits for them.
    fn login_address(&self) -> Option<&str> {
        self.chosen()?.login_address.as_deref()
    }

    fn question(&self) -> Option<McpQuestion> {
        self.chosen().and_then(McpQuestion::of)
    }

    /// Shows the selected server in place of the list.
    fn open(&mut self) {
        self.opened = self.chosen().map(|_| OpenedMcpServer::default());
        self.decided_in = None;
    }

    /// Lays the opened server out for the screen.
    fn lay_out(&mut self, shared: &SharedState) {
        let (Some(opened), Some(servers)) = (&mut self.opened, &self.servers) else { return };
        if let Some(server) = servers.get(self.selected) {
            let (keys, width) = (&shared.settings.keys, shared.geometry.width);
            opened.layout = McpServerLayout::of(server, keys, width);
        }
    }

    /// Asks the agent what a call of each tool of the opened server would meet.
    fn ask_for_decisions(&self) -> Vec<Intent> {
        let Some(server) = self.chosen().filter(|_| self.opened.is_some()) else {
            return Vec::new();
        };
        let names = server.tools.iter().map(|tool| model_tool_name(&server.name, &tool.name));
        let ask = |name| Intent::Command(AgentCommand::Rules(RuleRequest::Try(name)));
        names.map(ask).collect()
    }

    /// Shows the servers as they are now. What is asked anew has not been seen yet.
    fn told(&mut self, seen: u64, servers: &[McpServerStatus]) -> Vec<Intent> {
        let before = self.question();
        let tools = self.chosen().map(|server| Arc::clone(&server.tools));
        self.servers = Some(servers.to_vec());
        self.selected = self.selected.min(servers.len().saturating_sub(1));
        if self.question() != before
            && let Some(opened) = &mut self.opened
        {
            *opened = OpenedMcpServer::default();
        }
        let follow = ScreenEffect::FollowMcp { id: self.request, seen: Some(seen) };
        let mut wanted = vec![Intent::Effect(follow)];
        if self.chosen().map(|server| &server.tools) != tools.as_ref() {
            wanted.extend(self.ask_for_decisions());
        }
        wanted
    }

    fn scroll(&mut self, how: ScrollAction, around: &DialogContext<'_>) {
        if let Some(opened) = &mut self.opened {
            opened.scroll = scrolled(opened.scroll, how, around.measured.extent);
            return;
        }
        let page = isize::try_from(around.measured.list_rows()).unwrap_or(1);
        let by = match how {
            ScrollAction::LineUp => -1,
            ScrollAction::LineDown => 1,
            ScrollAction::HalfUp | ScrollAction::PageUp => -page,
            ScrollAction::HalfDown | ScrollAction::PageDown => page,
            ScrollAction::Top => isize::MIN,
            ScrollAction::Bottom => isize::MAX,
        };
        let last = self.all().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    fn press(&mut self, key: McpKey, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match (key, &self.opened) {
            (McpKey::Scroll(how), _) => self.scroll(how, around),
            (McpKey::Open, None) => self.open(),
            (McpKey::Open, Some(_)) | (McpKey::Leave, None) => {}
            (McpKey::Leave | McpKey::Back, Some(_)) => self.opened = None,
            (McpKey::Back, None) => return vec![Intent::Close],
            (McpKey::Restart, _) => return self.restart(),
            (McpKey::LogIn, _) => return self.log_in(),
            (McpKey::Accept, _) if self.question().is_none() && self.login_address().is_some() => {
                let text = self.login_address().unwrap_or_default().to_owned();
                return vec![Intent::Effect(ScreenEffect::Copy { text, what: "the address" })];
            }
            (McpKey::Allow | McpKey::Accept, None) if self.question().is_some() => self.open(),
            (McpKey::Allow | McpKey::Accept, None) => return self.agree(key),
            (McpKey::Allow | McpKey::Accept, Some(opened)) => {
                if self.question().is_some() && !opened.is_question_seen {
                    let text = "Read it to its end first.".to_owned();
                    return vec![Intent::Toast(NoticeLevel::Info, text)];
                }
                if self.question().is_none() || opened.guard.is_armed() {
                    return self.agree(key);
                }
            }
        }
        Vec::new()
    }

    fn restart(&self) -> Vec<Intent> {
        let Some(server) = self.chosen() else { return Vec::new() };
        if !can_restart(server) {
            let text = lines::remedy(server).unwrap_or_default();
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        }
        let restart = McpAdminRequest::Restart(server.name.clone());
        let text = format!("Restarting {}.", lines::name(server));
        vec![
            Intent::Effect(ScreenEffect::ChangeMcp(restart)),
            Intent::Toast(NoticeLevel::Info, text),
        ]
    }

    fn log_in(&self) -> Vec<Intent> {
        let Some(server) = self.chosen() else { return Vec::new() };
        let name = lines::name(server);
        if server.state != McpServerState::NeedsLogin && server.login_address.is_none() {
            let text = format!("{name} does not ask for a login.");
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        }
        let login = McpAdminRequest::LogIn(server.name.clone());
        vec![
            Intent::Effect(ScreenEffect::ChangeMcp(login)),
            Intent::Toast(NoticeLevel::Info, format!("Asking {name} how to log in.")),
        ]
    }

    /// Gives the yes that the key stands for to what is shown.
    fn agree(&mut self, key: McpKey) -> Vec<Intent> {
        let Some(server) = self.chosen() else { return Vec::new() };
        let name = server.name.clone();
        let job = match (key, self.question()) {
            (McpKey::Allow, Some(McpQuestion::Start(shown))) => McpAdminRequest::Allow(name, shown),
            (McpKey::Accept, Some(McpQuestion::Definitions(shown))) => {
                McpAdminRequest::Accept(name, shown)
            }
            (key, _) => {
                let what = if key == McpKey::Allow { "allow" } else { "accept" };
                let text = format!("{} has nothing to {what}.", lines::name(server));
                return vec![Intent::Toast(NoticeLevel::Info, text)];
            }
        };
        if let Some(opened) = &mut self.opened {
            opened.guard = QuestionGuard::default();
        }
        vec![Intent::Effect(ScreenEffect::ChangeMcp(job))]
    }
}

/// Whether a server may run, and is not just starting.
fn can_restart(server: &McpServerStatus) -> bool {
    match server.state {
        McpServerState::Disabled | McpServerState::NotAllowed | McpServerState::Starting => false,
        McpServerState::Ready | McpServerState::NeedsLogin | McpServerState::Failed(_) => true,
    }
}

impl Dialog for McpPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Mcp
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let Some(key) = keymap::find(keymap::MCP, key) else { return Vec::new() };
        let was_open = self.opened.is_some();
        let wanted = self.press(key, around);
        if !was_open {
            self.lay_out(around.shared);
        }
        wanted
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, canvas);
        None
    }

    /// Only what can be done with what is shown.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let mut hints = Vec::new();
        let mut add = |key, word| hints.push((keys.key(key), word));
        if let Some(server) = self.chosen() {
            if self.opened.is_none() {
                add(McpKey::Open, "open");
            }
            if server.login_address.is_some() {
                add(McpKey::Accept, "copy address");
            }
            if server.state == McpServerState::NeedsLogin {
                add(McpKey::LogIn, "log in");
            }
            if can_restart(server) {
                add(McpKey::Restart, "restart");
            }
        }
        add(McpKey::Back, if self.opened.is_some() { "back" } else { "close" });
        hints
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        match &mut self.opened {
            Some(opened) => {
                opened.scroll = wheel_scrolled(opened.scroll, rows, around.measured.extent);
            }
            None => {
                let how = if rows < 0 { ScrollAction::LineUp } else { ScrollAction::LineDown };
                self.scroll(how, around);
            }
        }
    }

    /// Selects the server that was clicked.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let clicked = around.measured.page.list.and_then(|(list, first)| {
            list.inside(column, row).map(|(_, row)| first + usize::from(row))
        });
        if let Some(at) = clicked.filter(|at| *at < self.all().len()) {
            self.selected = at;
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::McpServers { id, seen, servers } if *id == self.request => {
                let wanted = self.told(*seen, servers);
                self.lay_out(around.shared);
                return wanted;
            }
            DialogReply::Resized => {
                // Other rows: those of a question that is half read have to be read again.
                if let Some(opened) = self.opened.as_mut().filter(|it| !it.is_question_seen) {
                    (opened.scroll, opened.seen) = (0, 0);
                }
                self.lay_out(around.shared);
            }
            DialogReply::Rules(reply) => {
                if let RuleReply::Tried { typed, report, .. } = &**reply {
                    self.decisions.insert(typed.clone(), report.clone());
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn is_waiting_for(&self, id: RequestId) -> bool {
        self.request == id
    }

    /// Notes what has been on screen. What the rules say is asked again after a change of the mode, and
    /// after a question that may have saved a rule.
    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if layer == DialogLayer::Covered {
            self.decided_in = None;
            return Vec::new();
        }
        let extent = around.measured.extent;
        let Some(opened) = &mut self.opened else { return Vec::new() };
        opened.scroll = opened.scroll.min(extent.rows.saturating_sub(extent.shown));
        if !around.measured.is_cramped && opened.scroll <= opened.seen {
            opened.seen = opened.seen.max(opened.scroll + extent.shown);
        }
        opened.is_question_seen |= opened.seen > 0 && opened.seen >= opened.layout.question;
        let mode = around.conversation.status.mode;
        match self.decided_in == Some(mode) {
            true => Vec::new(),
            false => {
                self.decided_in = Some(mode);
                self.ask_for_decisions()
            }
        }
    }

    /// The guard of what is asked about the opened server.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        self.question()?;
        self.opened.as_mut().map(|opened| &mut opened.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        self.question()?;
        self.opened.as_ref().map(|opened| opened.guard)
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self)
    }

    fn expected_line(&self) -> ExpectedLine {
        match (&self.servers, &self.opened) {
            (None, _) => ExpectedLine::Nothing,
            (Some(servers), _) if servers.is_empty() => ExpectedLine::Message,
            (Some(_), None) => ExpectedLine::Row,
            (Some(_), Some(_)) => ExpectedLine::Answer,
        }
    }

    fn is_over_once_printed(&self) -> bool {
        self.servers.as_ref().is_some_and(Vec::is_empty)
    }

    /// A front end without keys has printed all of what is opened.
    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        match (line.trim(), &self.opened) {
            ("", None) => Ok(vec![Intent::Close]),
            ("", Some(_)) => {
                self.opened = None;
                Ok(Vec::new())
            }
            ("restart", Some(_)) => Ok(self.restart()),
            ("login", Some(_)) => Ok(self.log_in()),
            ("allow", Some(_)) => Ok(self.agree(McpKey::Allow)),
            ("accept", Some(_)) => Ok(self.agree(McpKey::Accept)),
            (_, Some(_)) => Err(LineAnswerError::NoServerAction),
            (number, None) => {
                let at = number.parse().ok().and_then(|number: usize| number.checked_sub(1));
                self.selected =
                    at.filter(|at| *at < self.all().len()).ok_or(LineAnswerError::NoRow)?;
                self.open();
                Ok(self.ask_for_decisions())
            }
        }
    }
}
