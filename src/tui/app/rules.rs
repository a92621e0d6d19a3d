//! The permission rules over the whole screen: what holds, from which file, and what was refused in
//! this session. Rules are added, edited, removed and tried on a call here.
//!
//! The agent has the rules: a change is asked of it, and the page shows what it says holds then.
//! A refusal is a line of the log.

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
use super::model::{ScreenModel, ScreenSettings};
use super::overlay::Overlay;
use super::title::home_path;

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedCall {
    /// When.
    pub at: DateTime<Utc>,
    /// What, and by whom or what.
    pub entry: PermissionEntry,
}

/// The page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesPage {
    /// The rules and what is wrong in their files; `None` until they come.
    pub list: Option<RuleListReport>,
    /// The files that rules can be kept in, the person's own first.
    pub files: Vec<PathBuf>,
    /// The selected row, counted among those that are no headings.
    pub selected: usize,
    /// What the keys mean.
    pub stage: RulesStage,
    /// Whether the key that removes a rule does so.
    guard: QuestionGuard,
    /// What came of the last call that was tried.
    pub tried: Option<RulesTestResult>,
    /// Why what was typed does not hold.
    pub failed: Option<String>,
}

/// What the keys mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RulesStage {
    /// They move, and begin something.
    #[default]
    Choosing,
    /// The selected rule goes with the same key again.
    Removing,
    /// They are typed.
    Typing(Box<RulesTextEntry>),
}

/// What is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct RulesTextEntry {
    /// What it will be.
    pub what: RulesEntryPurpose,
    /// The text so far.
    pub editor: TextEditor,
}

/// What is to come of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesEntryPurpose {
    /// A rule for this one of the files, or behind them for this session.
    Add(usize),
    /// A rule in the place of this one.
    Edit(RuleSource),
    /// A call to try.
    Try,
}

/// A call that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesTestResult {
    /// As it was typed.
    pub typed: String,
    /// The mode in which.
    pub mode: PermissionMode,
    /// What would be decided, or why that cannot be said.
    pub report: Result<PermissionTestReport, String>,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RulesRow<'a> {
    /// What the rows below are.
    Heading(&'static str),
    /// A rule.
    Rule(&'a RuleSource),
    /// Something wrong in a file.
    Warning(&'a RuleWarning),
    /// A call that was refused.
    Refused(&'a DeniedCall),
}

impl RulesPage {
    /// All rows, with the newest refusals first.
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

    /// The selected row.
    pub fn chosen<'a>(&'a self, refused: &'a [DeniedCall]) -> Option<RulesRow<'a>> {
        let mut rows = self.rows(refused).into_iter().filter(|row| !row.is_heading());
        rows.nth(self.selected)
    }

    /// The guard of the question whether a rule goes, while that is asked.
    pub fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(&mut self.guard)
    }

    /// The same, to look at.
    pub fn guard(&self) -> Option<QuestionGuard> {
        (self.stage == RulesStage::Removing).then_some(self.guard)
    }

    /// What is typed, if anything.
    pub fn field(&mut self) -> Option<&mut TextEditor> {
        match &mut self.stage {
            RulesStage::Typing(typing) => Some(&mut typing.editor),
            RulesStage::Choosing | RulesStage::Removing => None,
        }
    }

    /// Selects a row so many further, stopping at the ends.
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
            // The narrowest file is the one that an "always" goes to.
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
                *file = (*file + 1) % (files + 1)
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
    /// Whether it only says what is below it.
    pub fn is_heading(self) -> bool {
        matches!(self, Self::Heading(_))
    }
}

enum RulesOutcome {
    Stay,
    Close,
    Ask(RuleRequest),
}

/// The rule in a text that begins with its list.
pub fn listed(text: &str) -> Option<RuleEntry> {
    let (word, rule) = text.trim().split_once(' ')?;
    let kind = RuleKind::ALL.into_iter().find(|kind| kind.word() == word)?;
    Some((kind, rule.trim().to_owned()))
}

/// Where a rule stands: its file, short, and its line.
pub fn rule_location(rule: &RuleSource, settings: &ScreenSettings) -> String {
    match (&rule.file, rule.line) {
        (None, _) => "this session".to_owned(),
        (Some(file), None) => short(file, settings),
        (Some(file), Some(line)) => format!("{}:{line}", short(file, settings)),
    }
}

/// A settings file: inside the working folder from there on.
pub fn short(file: &Path, settings: &ScreenSettings) -> String {
    match file.strip_prefix(&settings.cwd) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => home_path(file, settings.home.as_deref()),
    }
}

/// Opens the page.
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.overlays.push(Overlay::Rules(Box::default()));
    vec![ask(RuleRequest::List)]
}

/// A key for the page at this place in the stack.
pub fn key(model: &mut ScreenModel, at: usize, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    let rows = model.geometry.list.map_or(1, |list| isize::try_from(list.height).unwrap_or(1));
    let Some(Overlay::Rules(page)) = model.overlays.get_mut(at) else { return Vec::new() };
    let then = match page.stage {
        RulesStage::Typing(_) => page.typed(key),
        RulesStage::Choosing | RulesStage::Removing => match keymap::find(keymap::RULES, key) {
            Some(key) => page.choose(key, rows.max(1), &model.denied_calls),
            None => RulesOutcome::Stay,
        },
    };
    match then {
        RulesOutcome::Stay => Vec::new(),
        RulesOutcome::Ask(order) => vec![ask(order)],
        RulesOutcome::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
    }
}

/// What came of something that was asked of the rules.
pub fn on_rule_news(model: &mut ScreenModel, news: RuleReply) {
    let ScreenModel { overlays, denied_calls: refused, .. } = model;
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
    match news {
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

/// Takes note of a refusal.
pub fn note(model: &mut ScreenModel, record: &LogRecord) {
    model.denied_calls.extend(refusal(record));
}

/// Takes note of the refusals in the part of the log before what was shown at first.
pub fn note_earlier(model: &mut ScreenModel, earlier: &[LogRecord]) {
    model.denied_calls.splice(0..0, earlier.iter().filter_map(refusal));
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

fn ask(order: RuleRequest) -> ScreenEffect {
    ScreenEffect::Agent(agent::AgentCommand::Rules(order))
}
