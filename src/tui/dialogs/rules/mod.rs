//! The page of the permission rules: which rules apply, from which file, and which calls were
//! denied in this session. Here the user adds, edits and removes rules, and tests them on a call.
//!
//! The agent owns the rules: a change is a request to it, and the page shows the rules of its
//! reply. Denied calls come from the log.

mod linear_page;
pub mod view;

use std::path::{Path, PathBuf};

use ratatui::layout::Position;

use crate::agent::{self, RuleReply, RuleRequest};
use crate::domain::{AgentId, PermissionMode, RuleKind, RuleSource};
use crate::permissions::store::{RuleEdit, RuleEntry};
use crate::permissions::{PermissionTestReport, RuleListReport, RuleWarning};
use crate::tui::app::conversation::denied_calls::DeniedCall;
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap;
use crate::tui::app::keymap::{FieldKey, KeyPlace, KeyPress, RulesKey};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::linear_page::LinearPage;

use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogOpening, DialogView};
use crate::tui::dialogs::line::ExpectedLine;

/// The state of the rules page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesPage {
    /// The rules and the warnings about their files; `None` until the agent replies.
    pub list: Option<RuleListReport>,
    /// The files that can hold rules, the user's own first, the narrowest last.
    pub files: Vec<PathBuf>,
    /// The selected row, counted without headings.
    pub selected: usize,
    pub stage: RulesStage,
    /// Delays the confirmation that removes a rule.
    guard: QuestionGuard,
    /// The result of the last test.
    pub tried: Option<RulesTestResult>,
    /// Why the typed rule was not accepted.
    pub failed: Option<String>,
}

/// What the keys do on the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RulesStage {
    /// Keys move the selection and begin an action.
    #[default]
    Choosing,
    /// The same key again removes the selected rule.
    Removing,
    /// Keys are typed into the text field.
    Typing(Box<RulesTextEntry>),
}

/// The text field of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct RulesTextEntry {
    pub what: RulesEntryPurpose,
    pub editor: TextEditor,
}

/// What a typed text will be used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesEntryPurpose {
    /// A new rule for the file of this index; the index after the last file means this session
    /// only.
    Add(usize),
    /// A rule that replaces this one.
    Edit(RuleSource),
    /// A call to test the rules on.
    Try,
}

/// The result of testing the rules on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesTestResult {
    /// The call, as the user typed it.
    pub typed: String,
    /// The permission mode of the test.
    pub mode: PermissionMode,
    /// The decision, or why there is none.
    pub report: Result<PermissionTestReport, String>,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RulesRow<'a> {
    /// A heading for the rows below; it cannot be selected.
    Heading(&'static str),
    Rule(&'a RuleSource),
    /// A problem in a file of rules.
    Warning(&'a RuleWarning),
    Refused(&'a DeniedCall),
}

impl RulesPage {
    /// All rows: rules by kind, warnings, then denied calls with the newest first.
    pub fn rows<'a>(&'a self, refused: &'a [DeniedCall]) -> Vec<RulesRow<'a>> {
        let mut rows = Vec::new();
        let list = self.list.as_ref();
        for kind in RuleKind::ALL {
            let rules = list.into_iter().flat_map(|list| &list.rules);
            let mut rules = rules.filter(|rule| rule.kind == kind).peekable();
            if rules.peek().is_some() {
                rows.push(RulesRow::Heading(kind.word()));
                rows.extend(rules.map(RulesRow::Rule));
            }
        }
        let warnings = list.map_or(&[][..], |list| &list.warnings);
        if !warnings.is_empty() {
            rows.push(RulesRow::Heading("does not apply as written"));
            rows.extend(warnings.iter().map(RulesRow::Warning));
        }
        if !refused.is_empty() {
            rows.push(RulesRow::Heading("Refused in this session"));
            rows.extend(refused.iter().rev().map(RulesRow::Refused));
        }
        rows
    }

    /// The selected row, which is never a heading.
    pub fn chosen<'a>(&'a self, refused: &'a [DeniedCall]) -> Option<RulesRow<'a>> {
        let mut rows = self.rows(refused).into_iter().filter(|row| !row.is_heading());
        rows.nth(self.selected)
    }

    /// The text field, while it is open.
    pub fn field(&mut self) -> Option<&mut TextEditor> {
        match &mut self.stage {
            RulesStage::Typing(typing) => Some(&mut typing.editor),
            RulesStage::Choosing | RulesStage::Removing => None,
        }
    }

    /// Moves the selection by a number of rows; stops at the ends. Ends the question whether to
    /// remove a rule.
    pub fn step(&mut self, by: isize, refused: &[DeniedCall]) {
        let count = self.rows(refused).iter().filter(|row| !row.is_heading()).count();
        let last = count.saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.stage = RulesStage::Choosing;
    }

    fn type_in(&mut self, what: RulesEntryPurpose, text: &str) {
        self.failed = None;
        let editor = TextEditor::with_text(EditorLines::One, text);
        self.stage = RulesStage::Typing(Box::new(RulesTextEntry { what, editor }));
    }

    fn choose(&mut self, key: RulesKey, page: isize, refused: &[DeniedCall]) -> Vec<Intent> {
        let rule = match self.chosen(refused) {
            Some(RulesRow::Rule(rule)) => Some(rule.clone()),
            Some(RulesRow::Heading(_) | RulesRow::Warning(_) | RulesRow::Refused(_)) | None => None,
        };
        if self.stage == RulesStage::Removing && key != RulesKey::Remove {
            self.stage = RulesStage::Choosing;
        }
        match (key, rule) {
            (RulesKey::Previous, _) => self.step(-1, refused),
            (RulesKey::Next, _) => self.step(1, refused),
            (RulesKey::PageUp, _) => self.step(-page, refused),
            (RulesKey::PageDown, _) => self.step(page, refused),
            (RulesKey::First, _) => self.step(isize::MIN, refused),
            (RulesKey::Last, _) => self.step(isize::MAX, refused),
            // A new rule goes to the narrowest file, as an "always" answer does.
            (RulesKey::Add, _) => {
                self.type_in(RulesEntryPurpose::Add(self.files.len().saturating_sub(1)), "allow ");
            }
            (RulesKey::Edit, Some(rule)) => {
                let text = format!("{} {}", rule.kind.word(), rule.rule);
                self.type_in(RulesEntryPurpose::Edit(rule), &text);
            }
            (RulesKey::Remove, Some(rule)) if self.stage == RulesStage::Removing => {
                if !self.guard.is_armed() {
                    return Vec::new();
                }
                self.stage = RulesStage::Choosing;
                let edit = RuleEdit::Remove((rule.kind, rule.rule));
                return vec![ask(RuleRequest::Change { file: rule.file, edit })];
            }
            (RulesKey::Remove, Some(_)) => {
                self.stage = RulesStage::Removing;
                self.guard = QuestionGuard::default();
            }
            (RulesKey::Edit | RulesKey::Remove, None) => {}
            (RulesKey::Try, _) => {
                let typed = self.tried.as_ref().map(|tried| tried.typed.clone());
                self.type_in(RulesEntryPurpose::Try, &typed.unwrap_or_default());
            }
            (RulesKey::Back, _) => return vec![Intent::Close],
        }
        Vec::new()
    }

    fn typed(&mut self, key: &KeyPress<'_>) -> Vec<Intent> {
        let files = self.files.len();
        let RulesStage::Typing(typing) = &mut self.stage else { return Vec::new() };
        match (keymap::find(keymap::FIELD, key), &mut typing.what) {
            (Some(FieldKey::Accept), what) => {
                let (what, text) = (what.clone(), typing.editor.text());
                return self.accept(what, text.trim());
            }
            (Some(FieldKey::Back), _) => {
                self.stage = RulesStage::Choosing;
                self.failed = None;
            }
            (Some(FieldKey::Next), RulesEntryPurpose::Add(file)) => {
                *file = (*file + 1) % (files + 1);
            }
            (Some(FieldKey::Next | FieldKey::Newline), _) => {}
            (None, _) => typing.editor.key(key),
        }
        Vec::new()
    }

    fn accept(&mut self, what: RulesEntryPurpose, text: &str) -> Vec<Intent> {
        if text.is_empty() {
            self.stage = RulesStage::Choosing;
            return Vec::new();
        }
        let (file, edit) = match what {
            RulesEntryPurpose::Try => {
                return vec![ask(RuleRequest::Try(text.to_owned()))];
            }
            RulesEntryPurpose::Add(file) => {
                (self.files.get(file).cloned(), listed(text).map(RuleEdit::Add))
            }
            RulesEntryPurpose::Edit(rule) => {
                let from = (rule.kind, rule.rule);
                let edit = listed(text).map(|to| RuleEdit::Replace { from, to });
                (rule.file, edit)
            }
        };
        match edit {
            Some(edit) => vec![ask(RuleRequest::Change { file, edit })],
            None => {
                let text = "Start with deny, ask or allow, for example `allow Bash(npm test)`.";
                self.failed = Some(text.to_owned());
                Vec::new()
            }
        }
    }
}

impl RulesRow<'_> {
    /// Whether the row is a heading.
    pub fn is_heading(self) -> bool {
        matches!(self, Self::Heading(_))
    }
}

/// Parses a rule as typed, `deny`, `ask` or `allow` and the rule; `None` if the text begins
/// otherwise.
pub fn listed(text: &str) -> Option<RuleEntry> {
    let (word, rule) = text.trim().split_once(' ')?;
    let kind = RuleKind::ALL.into_iter().find(|kind| kind.word() == word)?;
    Some((kind, rule.trim().to_owned()))
}

/// Where a rule is written: its shortened file name and line, or "this session".
pub fn rule_location(rule: &RuleSource, settings: &ScreenSettings) -> String {
    match (&rule.file, rule.line) {
        (None, _) => "this session".to_owned(),
        (Some(file), None) => short(file, settings),
        (Some(file), Some(line)) => format!("{}:{line}", short(file, settings)),
    }
}

/// A shortened path of a settings file: relative to the working folder if inside, else with `~`.
pub fn short(file: &Path, settings: &ScreenSettings) -> String {
    match file.strip_prefix(&settings.cwd) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => home_path(file, settings.home.as_deref()),
    }
}

/// Opens the page and requests the rules.
pub fn open(agent: AgentId) -> DialogOpening<RulesPage> {
    let ask = ScreenEffect::Agent(agent, agent::AgentCommand::Rules(RuleRequest::List));
    DialogOpening::of(RulesPage::default(), vec![ask])
}

impl RulesPage {
    /// Shows the agent's reply to a request about the rules.
    fn replied(&mut self, reply: &RuleReply, denied: &[DeniedCall]) {
        match reply {
            RuleReply::Listed { list, files, failed } => {
                self.list = Some(list.clone());
                self.files.clone_from(files);
                let is_try = matches!(&self.stage, RulesStage::Typing(typing) if typing.what == RulesEntryPurpose::Try);
                if failed.is_none() && !is_try {
                    self.step(0, denied);
                }
                self.failed = failed.as_ref().map(ToString::to_string);
            }
            RuleReply::Saved { .. } => {}
            RuleReply::Tried { typed, mode, report } => {
                let report = report.clone().map_err(|error| error.to_string());
                let typed = typed.clone();
                self.tried = Some(RulesTestResult { typed, mode: *mode, report });
            }
        }
    }
}

impl Dialog for RulesPage {
    fn place(&self) -> KeyPlace {
        match self.stage {
            RulesStage::Choosing | RulesStage::Removing => KeyPlace::Rules,
            RulesStage::Typing(_) => KeyPlace::Field,
        }
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let rows = isize::try_from(around.measured.list_rows()).unwrap_or(1);
        match self.stage {
            RulesStage::Typing(_) => self.typed(key),
            RulesStage::Choosing | RulesStage::Removing => match keymap::find(keymap::RULES, key) {
                Some(key) => self.choose(key, rows, &around.conversation.denied_calls),
                None => Vec::new(),
            },
        }
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let area = canvas.above_hints();
        let DialogCanvas { styles, buffer, measured, .. } = canvas;
        view::draw(around, self, styles, area, buffer, measured)
    }

    fn paste(&mut self, text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        if let Some(field) = self.field() {
            field.paste(text);
        }
        Some(Vec::new())
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around)
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.step(rows.signum() as isize, &around.conversation.denied_calls);
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let DialogReply::Rules(reply) = reply {
            self.replied(reply, &around.conversation.denied_calls);
        }
        Vec::new()
    }

    /// The guard of the question whether to remove a rule; `None` while it is not asked.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(self.guard)
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.list.is_none() { ExpectedLine::Nothing } else { ExpectedLine::Message }
    }
}

fn ask(request: RuleRequest) -> Intent {
    Intent::Command(agent::AgentCommand::Rules(request))
}
