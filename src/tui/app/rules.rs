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

use super::editor::{Editor, Lines};
use super::effect::Effect;
use super::guard::QuestionGuard;
use super::keymap::{self, FieldKey, Press, RulesKey};
use super::model::{Model, Settings};
use super::overlay::Overlay;
use super::title::home_path;

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
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
    pub stage: Stage,
    /// Whether the key that removes a rule does so.
    guard: QuestionGuard,
    /// What came of the last call that was tried.
    pub tried: Option<Tried>,
    /// Why what was typed does not hold.
    pub failed: Option<String>,
}

/// What the keys mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// They move, and begin something.
    #[default]
    Choosing,
    /// The selected rule goes with the same key again.
    Removing,
    /// They are typed.
    Typing(Box<Typing>),
}

/// What is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Typing {
    /// What it will be.
    pub what: What,
    /// The text so far.
    pub editor: Editor,
}

/// What is to come of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A rule for this one of the files, or behind them for this session.
    Add(usize),
    /// A rule in the place of this one.
    Edit(RuleSource),
    /// A call to try.
    Try,
}

/// A call that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// As it was typed.
    pub typed: String,
    /// The mode in which.
    pub mode: PermissionMode,
    /// What would be decided, or why that cannot be said.
    pub report: Result<PermissionTestReport, String>,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// What the rows below are.
    Heading(&'static str),
    /// A rule.
    Rule(&'a RuleSource),
    /// Something wrong in a file.
    Warning(&'a RuleWarning),
    /// A call that was refused.
    Refused(&'a Refused),
}

impl RulesPage {
    /// All rows, with the newest refusals first.
    pub fn rows<'a>(&'a self, refused: &'a [Refused]) -> Vec<Row<'a>> {
        let mut rows = Vec::new();
        let list = self.list.as_ref();
        for kind in RuleKind::ALL {
            let rules = list.into_iter().flat_map(|list| &list.rules);
            let mut rules = rules.filter(|rule| rule.kind == kind).peekable();
            if rules.peek().is_some() {
                rows.push(Row::Heading(kind.word()));
                rows.extend(rules.map(Row::Rule));
            }
        }
        let warnings = list.map_or(&[][..], |list| &list.warnings);
        if !warnings.is_empty() {
            rows.push(Row::Heading("does not hold as it reads"));
            rows.extend(warnings.iter().map(Row::Warning));
        }
        if !refused.is_empty() {
            rows.push(Row::Heading("refused in this session"));
            rows.extend(refused.iter().rev().map(Row::Refused));
        }
        rows
    }

    /// The selected row.
    pub fn chosen<'a>(&'a self, refused: &'a [Refused]) -> Option<Row<'a>> {
        let mut rows = self.rows(refused).into_iter().filter(|row| !row.is_heading());
        rows.nth(self.selected)
    }

    /// The guard of the question whether a rule goes, while that is asked.
    pub fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        (self.stage == Stage::Removing).then_some(&mut self.guard)
    }

    /// The same, to look at.
    pub fn guard(&self) -> Option<QuestionGuard> {
        (self.stage == Stage::Removing).then_some(self.guard)
    }

    /// What is typed, if anything.
    pub fn field(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            Stage::Typing(typing) => Some(&mut typing.editor),
            Stage::Choosing | Stage::Removing => None,
        }
    }

    /// Selects a row so many further, stopping at the ends.
    pub fn step(&mut self, by: isize, refused: &[Refused]) {
        let count = self.rows(refused).iter().filter(|row| !row.is_heading()).count();
        let last = count.saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.stage = Stage::Choosing;
    }

    fn type_in(&mut self, what: What, text: &str) {
        self.failed = None;
        let editor = Editor::with_text(Lines::One, text);
        self.stage = Stage::Typing(Box::new(Typing { what, editor }));
    }

    fn choose(&mut self, key: RulesKey, page: isize, refused: &[Refused]) -> Then {
        let rule = match self.chosen(refused) {
            Some(Row::Rule(rule)) => Some(rule.clone()),
            Some(Row::Heading(_) | Row::Warning(_) | Row::Refused(_)) | None => None,
        };
        if self.stage == Stage::Removing && key != RulesKey::Remove {
            self.stage = Stage::Choosing;
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
                self.type_in(What::Add(self.files.len().saturating_sub(1)), "allow ");
            }
            (RulesKey::Edit, Some(rule)) => {
                let text = format!("{} {}", rule.kind.word(), rule.rule);
                self.type_in(What::Edit(rule), &text);
            }
            (RulesKey::Remove, Some(rule)) if self.stage == Stage::Removing => {
                if !self.guard.is_armed() {
                    return Then::Stay;
                }
                self.stage = Stage::Choosing;
                let edit = RuleEdit::Remove((rule.kind, rule.rule));
                return Then::Ask(RuleRequest::Change { file: rule.file, edit });
            }
            (RulesKey::Remove, Some(_)) => {
                self.stage = Stage::Removing;
                self.guard = QuestionGuard::default();
            }
            (RulesKey::Edit | RulesKey::Remove, None) => {}
            (RulesKey::Try, _) => {
                let typed = self.tried.as_ref().map(|tried| tried.typed.clone());
                self.type_in(What::Try, &typed.unwrap_or_default());
            }
            (RulesKey::Back, _) => return Then::Close,
        }
        Then::Stay
    }

    fn typed(&mut self, key: &Press<'_>) -> Then {
        let files = self.files.len();
        let Stage::Typing(typing) = &mut self.stage else { return Then::Stay };
        match (keymap::find(keymap::FIELD, key), &mut typing.what) {
            (Some(FieldKey::Accept), what) => {
                let (what, text) = (what.clone(), typing.editor.text());
                return self.accept(what, text.trim());
            }
            (Some(FieldKey::Back), _) => {
                self.stage = Stage::Choosing;
                self.failed = None;
            }
            (Some(FieldKey::Next), What::Add(file)) => *file = (*file + 1) % (files + 1),
            (Some(FieldKey::Next | FieldKey::Newline), _) => {}
            (None, _) => typing.editor.key(key),
        }
        Then::Stay
    }

    fn accept(&mut self, what: What, text: &str) -> Then {
        if text.is_empty() {
            self.stage = Stage::Choosing;
            return Then::Stay;
        }
        let (file, edit) = match what {
            What::Try => return Then::Ask(RuleRequest::Try(text.to_owned())),
            What::Add(file) => (self.files.get(file).cloned(), listed(text).map(RuleEdit::Add)),
            What::Edit(rule) => {
                let from = (rule.kind, rule.rule);
                let edit = listed(text).map(|to| RuleEdit::Replace { from, to });
                (rule.file, edit)
            }
        };
        match edit {
            Some(edit) => Then::Ask(RuleRequest::Change { file, edit }),
            None => {
                let text = "Begin with deny, ask or allow, as in `allow Bash(npm test)`.";
                self.failed = Some(text.to_owned());
                Then::Stay
            }
        }
    }
}

impl Row<'_> {
    /// Whether it only says what is below it.
    pub fn is_heading(self) -> bool {
        matches!(self, Self::Heading(_))
    }
}

enum Then {
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
pub fn stands_in(rule: &RuleSource, settings: &Settings) -> String {
    match (&rule.file, rule.line) {
        (None, _) => "this session".to_owned(),
        (Some(file), None) => short(file, settings),
        (Some(file), Some(line)) => format!("{}:{line}", short(file, settings)),
    }
}

/// A settings file: inside the working folder from there on.
pub fn short(file: &Path, settings: &Settings) -> String {
    match file.strip_prefix(&settings.cwd) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => home_path(file, settings.home.as_deref()),
    }
}

/// Opens the page.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.overlays.push(Overlay::Rules(Box::default()));
    vec![ask(RuleRequest::List)]
}

/// A key for the page at this place in the stack.
pub fn key(model: &mut Model, at: usize, key: &Press<'_>) -> Vec<Effect> {
    let rows = model.geometry.list.map_or(1, |list| isize::try_from(list.height).unwrap_or(1));
    let Some(Overlay::Rules(page)) = model.overlays.get_mut(at) else { return Vec::new() };
    let then = match page.stage {
        Stage::Typing(_) => page.typed(key),
        Stage::Choosing | Stage::Removing => match keymap::find(keymap::RULES, key) {
            Some(key) => page.choose(key, rows.max(1), &model.refused),
            None => Then::Stay,
        },
    };
    match then {
        Then::Stay => Vec::new(),
        Then::Ask(order) => vec![ask(order)],
        Then::Close => {
            model.overlays.remove(at);
            Vec::new()
        }
    }
}

/// What came of something that was asked of the rules.
pub fn told(model: &mut Model, news: RuleReply) {
    let Model { overlays, refused, .. } = model;
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
            let is_try = matches!(&page.stage, Stage::Typing(typing) if typing.what == What::Try);
            if failed.is_none() && !is_try {
                page.step(0, refused);
            }
            page.failed = failed;
        }
        RuleReply::Tried { typed, mode, report } => {
            page.tried = Some(Tried { typed, mode, report });
        }
    }
}

/// Takes note of a refusal.
pub fn note(model: &mut Model, record: &LogRecord) {
    model.refused.extend(refusal(record));
}

/// Takes note of the refusals in the part of the log before what was shown at first.
pub fn note_earlier(model: &mut Model, earlier: &[LogRecord]) {
    model.refused.splice(0..0, earlier.iter().filter_map(refusal));
}

fn refusal(record: &LogRecord) -> Option<Refused> {
    match &record.entry {
        LogEntry::Permission(entry) if entry.decision == PermissionOutcome::Deny => {
            Some(Refused { at: record.timestamp, entry: entry.clone() })
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

fn ask(order: RuleRequest) -> Effect {
    Effect::Agent(agent::AgentCommand::Rules(order))
}
