//! A fake screen for tests: sends it keys and events, and checks what it then shows.
//!
//! `screen(80, 24).event(…).key("enter").shows("…")`. Each key takes half a second, so that no
//! guard against fast typing gets in the way; [`TestScreen::key_at_once`] takes no time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Modifier, Style};

use crate::agent::{AgentCommand, AgentEvent, ContextRequest, RuleRequest};
use crate::config::{ConfigText, KeyPreset};
use crate::domain::ContextWindow;
use crate::domain::{
    AgentId, ApprovalId, ApprovalKind, ApprovalRequest, CallId, CallInput, CallPart, ContentBlock,
    DangerFacts, EntryId, Message, MessageRole as Speaker, PermissionMode, PermissionOutcome,
    QuestionOption, QuestionRequest, RuleFile, RuleKind, RuleSource, SessionId, StopReason,
    TokenUsage, ToolCall, ToolStatus, TurnId, UserQuestion,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, ToolResultInfo, TurnEnd, TurnOutcome};

use super::app::conversation::composer::ChatComposer;
use super::app::conversation::status::{ConversationStatus, GitSummary, ModelHost};
use super::app::keymap::Keymap;
use super::app::path_ranking;
use super::app::settings::ScreenSettings;
use super::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use super::layout::{StyleRole, SyntaxHighlighter};
use super::theme::screen_contrast::assert_readable;
use super::view::{RoleStyles, ViewLayouts, view};

/// The agent whose conversation is on screen.
pub const AGENT: AgentId = AgentId(1);

/// A screen under test. Methods change it and return it, so that a test reads as one chain.
pub struct TestScreen {
    pub model: ScreenModel,
    /// Effects since the last check or [`TestScreen::clear_effects`].
    pub effects: VecDeque<ScreenEffect>,
    layouts: RefCell<ViewLayouts>,
    terminal: Terminal<TestBackend>,
    now: Duration,
}

struct TestScreenStyles;

impl RoleStyles for TestScreenStyles {
    fn style(&self, role: StyleRole) -> Style {
        match role {
            StyleRole::Strong => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new(),
        }
    }
}

/// An empty screen of this size, in a project with a session open.
pub fn screen(width: u16, height: u16) -> TestScreen {
    let settings = ScreenSettings {
        cwd: "/home/me/src/webshop".into(),
        home: Some("/home/me".into()),
        ..ScreenSettings::default()
    };
    let status = ConversationStatus {
        project: "webshop".into(),
        git: Some(GitSummary { branch: "main".into(), added: 2, changed: 1, removed: 0 }),
        model: "qwen3-coder".into(),
        window: Some(ContextWindow::Served(128_000)),
        host: ModelHost::Local,
        mode: PermissionMode::Ask,
        session: Some(session()),
        ..ConversationStatus::default()
    };
    let composer = ChatComposer::new(vec!["run the tests".into()], "");
    let mut scene = TestScreen {
        model: ScreenModel::new(AGENT, settings, status, composer, (width, height)),
        effects: VecDeque::new(),
        layouts: RefCell::new(ViewLayouts::new(SyntaxHighlighter::off())),
        terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
        now: Duration::from_secs(1),
    };
    scene.take(ScreenMsg::Tick(scene.now));
    scene.draw();
    scene
}

impl TestScreen {
    /// Sets the keys: a preset, and the user's own bindings as TOML.
    #[track_caller]
    pub fn keys(mut self, preset: KeyPreset, own: &str) -> Self {
        let own = ConfigText { path: "keys.toml".into(), text: own.to_owned() };
        let (map, warnings) = Keymap::resolve(preset, Some(&own));
        assert_eq!(warnings, [""; 0]);
        self.model.shared.settings.keys = Arc::new(map);
        self
    }

    /// Sends a message to the model.
    pub fn msg(mut self, msg: ScreenMsg) -> Self {
        self.take(msg);
        self.draw();
        self
    }

    /// Sends an event of the agent.
    pub fn event(self, event: AgentEvent) -> Self {
        self.msg(ScreenMsg::Agent(AGENT, Box::new(event)))
    }

    /// Sends an event of any agent.
    pub fn event_of(self, agent: AgentId, event: AgentEvent) -> Self {
        self.msg(ScreenMsg::Agent(agent, Box::new(event)))
    }

    /// Sends events of the agent, one after another.
    pub fn events(self, events: impl IntoIterator<Item = AgentEvent>) -> Self {
        events.into_iter().fold(self, Self::event)
    }

    /// Lets time pass.
    pub fn after(mut self, millis: u64) -> Self {
        self.now += Duration::from_millis(millis);
        self.take(ScreenMsg::Tick(self.now));
        self.draw();
        self
    }

    /// Presses a key half a second after what was before: `y`, `enter`, `ctrl+c`, `shift+tab`.
    pub fn key(self, name: &str) -> Self {
        self.after(500).key_at_once(name)
    }

    /// Presses a key without letting time pass.
    pub fn key_at_once(self, name: &str) -> Self {
        self.msg(ScreenMsg::Key(key_named(name)))
    }

    /// Types text, key by key.
    pub fn types(self, text: &str) -> Self {
        text.chars().fold(self.after(500), |scene, c| {
            scene.msg(ScreenMsg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)))
        })
    }

    /// Sends a mouse event at a cell.
    pub fn mouse(self, kind: MouseEventKind, column: u16, row: u16) -> Self {
        let modifiers = KeyModifiers::NONE;
        self.msg(ScreenMsg::Mouse(MouseEvent { kind, column, row, modifiers }))
    }

    /// Clicks the first place that shows `text`, which must hold no wide characters.
    pub fn click(self, text: &str) -> Self {
        let shown = self.text();
        // Each row of the text is in quotes.
        let rows = shown.lines().map(|row| row.strip_prefix('"').unwrap_or(row)).enumerate();
        let mut places =
            rows.filter_map(|(at, row)| Some((at, row[..row.find(text)?].chars().count())));
        let (row, column) = places.next().unwrap_or_else(|| panic!("no {text:?}:\n{shown}"));
        let at = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        self.drag(at, at)
    }

    /// Presses the button at one cell and releases it at another.
    pub fn drag(self, from: (u16, u16), to: (u16, u16)) -> Self {
        let left = MouseButton::Left;
        self.mouse(MouseEventKind::Down(left), from.0, from.1)
            .mouse(MouseEventKind::Drag(left), to.0, to.1)
            .mouse(MouseEventKind::Up(left), to.0, to.1)
    }

    /// Gives the screen another size.
    pub fn resized(mut self, width: u16, height: u16) -> Self {
        self.terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        self.msg(ScreenMsg::Resized { width, height })
    }

    /// How many blocks were laid out so far.
    pub fn layout_count(&self) -> u64 {
        self.layouts.borrow().layout_count()
    }

    /// The last frame as text, each row in quotes.
    pub fn text(&self) -> String {
        self.terminal.backend().to_string()
    }

    /// The last frame as text, as [`TestScreen::text`]. Fails if a cell of it cannot be read in one
    /// of the shipped themes.
    #[track_caller]
    pub fn readable_text(&self) -> String {
        let size = self.terminal.backend().buffer().area;
        assert_readable(|styles| {
            let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
            let layouts = &mut *self.layouts.borrow_mut();
            let drawn = terminal.draw(|frame| drop(view(&self.model, layouts, styles, frame)));
            drawn.unwrap().buffer.clone()
        });
        self.text()
    }

    /// The column and row of the terminal's cursor.
    pub fn caret(&self) -> (u16, u16) {
        self.terminal.backend().cursor_position().into()
    }

    /// The text of the cells before the terminal's cursor, and of the cell under it.
    pub fn around_caret(&self) -> (String, String) {
        let ((x, y), buffer) = (self.caret(), self.terminal.backend().buffer());
        let symbol = |x: u16| buffer.cell((x, y)).map_or(" ", |cell| cell.symbol());
        ((0..x).map(symbol).collect(), symbol(x).to_owned())
    }

    /// Asserts that the screen shows `text`.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.text().contains(text), "no {text:?} in\n{}", self.text());
        self
    }

    /// Asserts that the screen does not show `text`.
    #[track_caller]
    pub fn hides(self, text: &str) -> Self {
        assert!(!self.text().contains(text), "{text:?} in\n{}", self.text());
        self
    }

    /// Asserts the effects since the last check.
    #[track_caller]
    pub fn expect_effects(mut self, wanted: &[ScreenEffect]) -> Self {
        let effects: Vec<ScreenEffect> = self.effects.drain(..).collect();
        assert_eq!(effects, wanted, "{}", self.text());
        self
    }

    /// Gives the workspace these files and folders.
    pub fn files(mut self, files: &[&str]) -> Self {
        let mut files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        path_ranking::sort(&mut files);
        let asked = self.effects.iter().rev().find_map(|effect| match effect {
            ScreenEffect::IndexFiles { id, servers } => Some((*id, servers.clone())),
            _ => None,
        });
        let (id, servers) = asked.unwrap();
        self.effects.clear();
        let files = Arc::new(files);
        let mentionable = path_ranking::with_servers(&files, &servers);
        self.msg(ScreenMsg::FilesIndexed { id, files, mentionable })
    }

    /// Carries out rankings of paths until no more are asked for.
    pub fn rank_paths(mut self) -> Self {
        while let Some(at) =
            self.effects.iter().position(|effect| matches!(effect, ScreenEffect::RankPaths { .. }))
        {
            if let Some(ScreenEffect::RankPaths { id, query, paths }) = self.effects.remove(at) {
                let matches = path_ranking::best(&paths.all, &paths.recent, &query);
                self = self.msg(ScreenMsg::PathsRanked { id, query, matches });
            }
        }
        self
    }

    /// Drops the effects so far.
    pub fn clear_effects(mut self) -> Self {
        self.effects.clear();
        self
    }

    /// The selected text.
    pub fn selected(&self) -> String {
        self.model
            .conversation
            .selection
            .map(|selection| selection.text(&self.model.conversation.transcript))
            .unwrap_or_default()
    }

    /// The text and address of each link on screen, row by row.
    pub fn links(&self) -> Vec<(String, String)> {
        let (buffer, layouts) = (self.terminal.backend().buffer(), self.layouts.borrow());
        let mut links: Vec<(String, String)> = Vec::new();
        let mut last = None;
        for (index, cell) in buffer.content().iter().enumerate() {
            let row = index / usize::from(buffer.area.width);
            let link = layouts.links().read(cell.underline_color);
            let place = link.as_ref().map(|(number, _)| (row, *number));
            match (link, links.last_mut()) {
                (Some(_), Some((text, _))) if place == last => text.push_str(cell.symbol()),
                (Some((_, link)), _) => {
                    links.push((cell.symbol().to_owned(), link.address().to_owned()));
                }
                (None, _) => {}
            }
            last = place;
        }
        links
    }

    fn is_armed(&self) -> bool {
        !self.model.dialogs.is_empty() && self.model.dialogs.takes_answers()
    }

    fn take(&mut self, msg: ScreenMsg) {
        let effects = update(&mut self.model, msg);
        self.effects.extend(effects);
    }

    fn draw(&mut self) {
        let mut geometry = None;
        let (model, layouts) = (&self.model, self.layouts.get_mut());
        self.terminal
            .draw(|frame| geometry = Some(view(model, layouts, &TestScreenStyles, frame)))
            .unwrap();
        let effects = update(&mut self.model, ScreenMsg::Drawn(Box::new(geometry.unwrap())));
        // A frame asks only for what it would show: pictures, the figures of the panel, what the rules
        // say about the tools of a server, and a terminal of its size.
        let is_shown = |effect: &ScreenEffect| {
            matches!(
                effect,
                ScreenEffect::DrawPicture { .. }
                    | ScreenEffect::Agent(_, AgentCommand::Context(ContextRequest::Show))
                    | ScreenEffect::Agent(_, AgentCommand::Rules(RuleRequest::Try(_)))
                    | ScreenEffect::Agent(_, AgentCommand::ResizeJob { .. })
            )
        };
        assert!(effects.iter().all(is_shown), "{effects:?}");
        self.effects.extend(effects);
        self.take(ScreenMsg::Painted(self.now));
        let (was_armed, has_held) = (self.is_armed(), !self.model.held_keys.is_empty());
        self.take(ScreenMsg::InputIdle(self.now));
        if self.is_armed() != was_armed || has_held {
            self.draw();
        }
    }
}

/// Parses a key's name, such as `ctrl+c`.
pub fn key_named(name: &str) -> KeyEvent {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    for (prefix, modifier) in [
        ("ctrl+", KeyModifiers::CONTROL),
        ("alt+", KeyModifiers::ALT),
        ("shift+", KeyModifiers::SHIFT),
    ] {
        if let Some(inner) = rest.strip_prefix(prefix) {
            modifiers |= modifier;
            rest = inner;
        }
    }
    let code = match rest {
        "f1" => KeyCode::F(1),
        "f6" => KeyCode::F(6),
        "f8" => KeyCode::F(8),
        "f9" => KeyCode::F(9),
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" if modifiers == KeyModifiers::SHIFT => KeyCode::BackTab,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "delete" => KeyCode::Delete,
        "end" => KeyCode::End,
        "home" => KeyCode::Home,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        "space" => KeyCode::Char(' '),
        one if one.chars().count() == 1 => KeyCode::Char(one.chars().next().unwrap()),
        other => panic!("no key is called {other}"),
    };
    KeyEvent::new(code, modifiers)
}

/// The turn of all test events.
pub const TURN: TurnId = TurnId(1);

/// The session of all test events.
pub fn session() -> SessionId {
    "0190a0a0-0000-7000-8000-000000000001".parse().unwrap()
}

/// A log record with this entry.
pub fn record(entry: LogEntry) -> LogRecord {
    let timestamp = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    LogRecord { id: EntryId::generate(), timestamp, turn: TURN, entry }
}

/// A log record with a message of the user.
pub fn user(text: &str) -> LogRecord {
    record(LogEntry::Message(MessageEntry::new(Message::user(text))))
}

/// A log record with a complete response of the model.
pub fn assistant(content: Vec<ContentBlock>) -> LogRecord {
    let message = Message { role: Speaker::Assistant, content };
    let stop_reason = Some(StopReason::EndTurn);
    record(LogEntry::Message(MessageEntry { stop_reason, ..MessageEntry::new(message) }))
}

/// A log record with the result of a call.
pub fn result(call: &str, content: &str, info: ToolResultInfo) -> LogRecord {
    let block = ContentBlock::ToolResult {
        tool_use_id: CallId::new(call),
        content: content.to_owned(),
        is_error: info.status.is_error(),
    };
    let message = Message { role: Speaker::User, content: vec![block] };
    record(LogEntry::Message(MessageEntry { result: Some(info), ..MessageEntry::new(message) }))
}

/// A response with the tokens that it took.
pub fn with_usage(mut response: LogRecord, usage: TokenUsage) -> LogRecord {
    if let LogEntry::Message(message) = &mut response.entry {
        message.usage = Some(usage);
    }
    response
}

/// A log record that gives the session a title.
pub fn title(title: &str) -> LogRecord {
    record(LogEntry::Title { title: title.into() })
}

/// A log record that ends the turn.
pub fn turn_end(outcome: TurnOutcome) -> LogRecord {
    record(LogEntry::TurnEnd(TurnEnd::of(outcome)))
}

/// A tool call with this input.
pub fn call(id: &str, name: &str, input: serde_json::Value) -> ToolCall {
    ToolCall { id: CallId::new(id), name: name.into(), input: CallInput::Valid(input) }
}

/// The result info of a call that succeeded.
pub fn done(name: &str, elapsed_ms: u64) -> ToolResultInfo {
    let status = ToolStatus::Done;
    ToolResultInfo {
        name: name.into(),
        status,
        summary: None,
        display: None,
        elapsed_ms,
        kept: None,
        job: None,
        agent: None,
    }
}

/// The event that reports a log record.
pub fn recorded(record: &LogRecord) -> AgentEvent {
    AgentEvent::Recorded(Arc::new(record.clone()))
}

/// A question of the model with two answers.
pub fn questions(id: u64) -> AgentEvent {
    let option =
        |label: &str| QuestionOption { label: label.into(), description: None, preview: None };
    let question = UserQuestion {
        question: "Which one?".into(),
        header: String::new(),
        options: vec![option("This"), option("That")],
        ..UserQuestion::default()
    };
    AgentEvent::QuestionsAsked(Box::new(QuestionRequest {
        id: ApprovalId(id),
        turn: TURN,
        call: CallId::new("c1"),
        questions: vec![question],
    }))
}

/// An approval question for a command of two parts, the first of which a rule allows.
pub fn question(id: u64, command: &str) -> AgentEvent {
    AgentEvent::ApprovalAsked(Box::new(ApprovalRequest {
        id: ApprovalId(id),
        turn: TURN,
        call: CallId::new("c1"),
        tool: "Bash".into(),
        input: serde_json::json!({ "command": command }),
        cwd: "/home/me/src/webshop".into(),
        kind: ApprovalKind::Permission,
        reason: String::new(),
        parts: vec![
            CallPart {
                text: "git status".into(),
                decision: PermissionOutcome::Allow,
                rule: Some(RuleSource {
                    rule: "Bash(git status)".into(),
                    kind: RuleKind::Allow,
                    file: Some("/home/me/.slug/settings.json".into()),
                    line: Some(3),
                }),
            },
            CallPart { text: "rm -rf build/".into(), decision: PermissionOutcome::Ask, rule: None },
        ],
        allow_rules: vec!["Bash(rm -rf build/)".into()],
        deny_rule: Some("Bash(rm *)".into()),
        rule_file: RuleFile("/home/me/.slug/settings.json".into()),
        preview: None,
        other_previews: Vec::new(),
        dangers: Vec::new(),
        facts: DangerFacts::Unknown,
    }))
}
