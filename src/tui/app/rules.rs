//! The page of the permission rules: which rules apply, from which file, and which calls were
//! denied in this session. Here the user adds, edits and removes rules, and tests them on a call.
//!
//! The agent owns the rules: a change is a request to it, and the page shows the rules of its
//! reply. Denied calls come from the log.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::agent::{self, RuleReply, RuleRequest};
use crate::domain::{PermissionMode, PermissionOutcome, RuleKind, RuleSource};
use crate::permissions::store::{RuleEdit, RuleEntry};
use crate::permissions::{PermissionTestReport, RuleListReport, RuleWarning};
use crate::session::{LogEntry, LogRecord, PermissionEntry};

use super::editor::{EditorLines, TextEditor};
use super::effect::ScreenEffect;
use super::guard::QuestionGuard;
use super::keymap::{self, FieldKey, KeyPress, RulesKey};
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::settings::ScreenSettings;
use super::title::home_path;

/// A tool call that was denied in this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedCall {
    pub at: DateTime<Utc>,
    pub entry: PermissionEntry,
}

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
            rows.push(RulesRow::Heading("does not hold as it reads"));
            rows.extend(warnings.iter().map(RulesRow::Warning));
        }
        if !refused.is_empty() {
            rows.push(RulesRow::Heading("refused in this session"));
            rows.extend(refused.iter().rev().map(RulesRow::Refused));
        }
        rows
    }

    /// The selected row, which is never a heading.
    pub fn chosen<'a>(&'a self, refused: &'a [DeniedCall]) -> Option<RulesRow<'a>> {
        let mut rows = self.rows(refused).into_iter().filter(|row| !row.is_heading());
        rows.nth(self.selected)
    }

    /// The guard of the question whether to remove a rule; `None` while it is not asked.
    pub fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(&mut self.guard)
    }

    /// A copy of what [`Self::guard_mut`] borrows.
    pub fn guard(&self) -> Option<QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(self.guard)
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

    fn choose(&mut self, key: RulesKey, page: isize, refused: &[DeniedCall]) -> RulesOutcome {
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
                    return RulesOutcome::Stay;
                }
                self.stage = RulesStage::Choosing;
                let edit = RuleEdit::Remove((rule.kind, rule.rule));
                return RulesOutcome::Ask(RuleRequest::Change { file: rule.file, edit });
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
            (RulesKey::Back, _) => return RulesOutcome::Close,
        }
        RulesOutcome::Stay
    }

    fn typed(&mut self, key: &KeyPress<'_>) -> RulesOutcome {
        let files = self.files.len();
        let RulesStage::Typing(typing) = &mut self.stage else { return RulesOutcome::Stay };
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
        RulesOutcome::Stay
    }

    fn accept(&mut self, what: RulesEntryPurpose, text: &str) -> RulesOutcome {
        if text.is_empty() {
            self.stage = RulesStage::Choosing;
            return RulesOutcome::Stay;
        }
        let (file, edit) = match what {
            RulesEntryPurpose::Try => return RulesOutcome::Ask(RuleRequest::Try(text.to_owned())),
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
            Some(edit) => RulesOutcome::Ask(RuleRequest::Change { file, edit }),
            None => {
                let text = "Begin with deny, ask or allow, as in `allow Bash(npm test)`.";
                self.failed = Some(text.to_owned());
                RulesOutcome::Stay
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

enum RulesOutcome {
    Stay,
    Close,
    Ask(RuleRequest),
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
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.overlays.push(Overlay::Rules(Box::default()));
    vec![ask(model, RuleRequest::List)]
}

/// Handles a key for the page at index `at` of the overlays.
pub fn key(model: &mut ScreenModel, at: usize, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    let rows =
        model.shared.geometry.list.map_or(1, |list| isize::try_from(list.height).unwrap_or(1));
    let Some(Overlay::Rules(page)) = model.overlays.get_mut(at) else { return Vec::new() };
    let outcome = match page.stage {
        RulesStage::Typing(_) => page.typed(key),
        RulesStage::Choosing | RulesStage::Removing => match keymap::find(keymap::RULES, key) {
            Some(key) => page.choose(key, rows.max(1), &model.conversation.denied_calls),
            None => RulesOutcome::Stay,
        },
    };
    match outcome {
        RulesOutcome::Stay => Vec::new(),
        RulesOutcome::Ask(request) => vec![ask(model, request)],
        RulesOutcome::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
    }
}

/// Shows the agent's reply to a request about the rules in the topmost rules page.
pub fn on_rule_news(model: &mut ScreenModel, reply: RuleReply) {
    let ScreenModel { overlays, conversation, .. } = model;
    let refused = &conversation.denied_calls;
    let pages = overlays.iter_mut().filter_map(|overlay| match overlay {
        Overlay::Rules(page) => Some(&mut **page),
        Overlay::Approval(_)
        | Overlay::Picker(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Changes(_)
        | Overlay::Rewind(_) => None,
    });
    let Some(page) = pages.last() else { return };
    match reply {
        RuleReply::Listed { list, files, failed } => {
            page.list = Some(list);
            page.files = files;
            let is_try = matches!(&page.stage, RulesStage::Typing(typing) if typing.what == RulesEntryPurpose::Try);
            if failed.is_none() && !is_try {
                page.step(0, refused);
            }
            page.failed = failed;
        }
        RuleReply::Tried { typed, mode, report } => {
            page.tried = Some(RulesTestResult { typed, mode, report });
        }
    }
}

/// Adds a record of the log to the denied calls, if it is one.
pub fn note(model: &mut ScreenModel, record: &LogRecord) {
    model.conversation.denied_calls.extend(refusal(record));
}

/// Adds the denied calls of an older part of the log, which is loaded later, before the others.
pub fn note_earlier(model: &mut ScreenModel, earlier: &[LogRecord]) {
    model.conversation.denied_calls.splice(0..0, earlier.iter().filter_map(refusal));
}

fn refusal(record: &LogRecord) -> Option<DeniedCall> {
    match &record.entry {
        LogEntry::Permission(entry) if entry.decision == PermissionOutcome::Deny => {
            Some(DeniedCall { at: record.timestamp, entry: entry.clone() })
        }
        LogEntry::Session(_)
        | LogEntry::Message(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Rewind(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => None,
    }
}

fn ask(model: &ScreenModel, request: RuleRequest) -> ScreenEffect {
    ScreenEffect::Agent(model.conversation.agent, agent::AgentCommand::Rules(request))
}
