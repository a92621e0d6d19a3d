//! The page of `/context`: what fills the model's window, as a bar and a list of sources that open to
//! their items. Here the user folds items out of what is sent, brings them back and pins them.
//!
//! The agent owns the ledger: an edit is a request to it, and the page shows the ledger of its reply.
//! The rows are made when that arrives and when a source is opened, so a frame costs what is on screen.

mod linear_page;
pub mod lines;
pub mod view;

use std::collections::BTreeSet;

use ratatui::layout::Position;

use crate::agent::{
    AgentCommand, ContextLedger, ContextReply, ContextRequest, ContextSource, LedgerItem,
    LedgerSource,
};
use crate::domain::{AgentId, NoticeLevel};
use crate::session::{ContextAction, ContextItem};
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, LedgerKey};

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLifetime, DialogOpening, DialogView,
};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::LinearPage;

/// The state of the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextPage {
    /// `None` until the agent replies.
    pub ledger: Option<ContextLedger>,
    /// The sources whose items are shown.
    open: BTreeSet<ContextSource>,
    rows: Vec<LedgerRow>,
    /// The index of the selected row.
    pub selected: usize,
    /// Why the last edit was not made.
    pub failed: Option<String>,
    /// How many replies came: a front end without keys reads the page out again.
    pub version: usize,
}

/// A row of the list, by its place in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerRow {
    Source(usize),
    /// An item of a source.
    Item(usize, usize),
}

/// What a row stands for.
#[derive(Debug, Clone, Copy)]
pub enum LedgerEntry<'a> {
    Source(&'a LedgerSource),
    Item(&'a LedgerSource, &'a LedgerItem),
}

impl ContextPage {
    /// All rows that are not folded away.
    pub fn rows(&self) -> &[LedgerRow] {
        &self.rows
    }

    /// Whether the items of a source are shown.
    pub fn is_open(&self, source: &LedgerSource) -> bool {
        self.open.contains(&source.kind)
    }

    /// What a row stands for.
    pub fn entry(&self, row: LedgerRow) -> Option<LedgerEntry<'_>> {
        let sources = &self.ledger.as_ref()?.sources;
        match row {
            LedgerRow::Source(at) => sources.get(at).map(LedgerEntry::Source),
            LedgerRow::Item(source, at) => {
                let source = sources.get(source)?;
                Some(LedgerEntry::Item(source, source.items.get(at)?))
            }
        }
    }

    /// What the selected row stands for.
    pub fn chosen(&self) -> Option<LedgerEntry<'_>> {
        self.entry(*self.rows.get(self.selected)?)
    }

    fn list(&mut self) {
        self.rows.clear();
        let sources = self.ledger.as_ref().map_or(&[][..], |ledger| &ledger.sources);
        for (at, source) in sources.iter().enumerate() {
            self.rows.push(LedgerRow::Source(at));
            if self.open.contains(&source.kind) {
                self.rows.extend((0..source.items.len()).map(|item| LedgerRow::Item(at, item)));
            }
        }
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    fn step(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.failed = None;
    }

    /// Opens or closes the source of the selected row, and selects that source.
    fn toggle(&mut self, how: Option<bool>) {
        let Some(row) = self.rows.get(self.selected).copied() else { return };
        let (LedgerRow::Source(at) | LedgerRow::Item(at, _)) = row;
        let source = self.ledger.as_ref().and_then(|ledger| ledger.sources.get(at));
        let Some((kind, is_empty)) = source.map(|it| (it.kind, it.items.is_empty())) else {
            return;
        };
        let is_open = self.open.contains(&kind);
        let opens = how.unwrap_or(!is_open) && !is_empty;
        if opens {
            self.open.insert(kind);
        } else {
            self.open.remove(&kind);
            let source = self.rows.iter().position(|row| *row == LedgerRow::Source(at));
            self.selected = source.unwrap_or(self.selected);
        }
        self.list();
    }

    fn choose(&mut self, key: LedgerKey, page: isize) -> Vec<Intent> {
        match key {
            LedgerKey::Previous => self.step(-1),
            LedgerKey::Next => self.step(1),
            LedgerKey::PageUp => self.step(-page),
            LedgerKey::PageDown => self.step(page),
            LedgerKey::First => self.step(isize::MIN),
            LedgerKey::Last => self.step(isize::MAX),
            LedgerKey::Toggle => self.toggle(None),
            LedgerKey::Open => self.toggle(Some(true)),
            LedgerKey::Close => self.toggle(Some(false)),
            LedgerKey::Fold => return self.edit(LedgerItem::fold_action),
            LedgerKey::Pin => return self.edit(LedgerItem::pin_action),
            LedgerKey::Reload => return vec![ask(ContextRequest::Show)],
            LedgerKey::Back => return vec![Intent::Close],
        }
        Vec::new()
    }

    fn edit(&mut self, action: impl Fn(&LedgerItem) -> Option<ContextAction>) -> Vec<Intent> {
        let item = match self.chosen() {
            Some(LedgerEntry::Item(_, item)) => item,
            Some(LedgerEntry::Source(source)) => {
                let text = match source.items.iter().any(|item| item.item.is_some()) {
                    true => "Open it first, then choose an item.",
                    false => source.kind.why_fixed(),
                };
                return vec![Intent::Toast(NoticeLevel::Info, text.to_owned())];
            }
            None => return Vec::new(),
        };
        match (item.item, action(item)) {
            (Some(item), Some(action)) => vec![ask(ContextRequest::Edit { item, action })],
            (_, _) => {
                let why = match self.chosen() {
                    Some(LedgerEntry::Item(source, _)) => source.kind.why_fixed(),
                    Some(LedgerEntry::Source(_)) | None => return Vec::new(),
                };
                vec![Intent::Toast(NoticeLevel::Info, why.to_owned())]
            }
        }
    }

    /// Shows the agent's reply, with the same item selected.
    fn replied(&mut self, reply: &ContextReply) {
        let selected = self.chosen().map(|entry| match entry {
            LedgerEntry::Source(source) => (source.kind, source.path.clone(), None),
            LedgerEntry::Item(source, item) => (source.kind, source.path.clone(), item.item),
        });
        self.ledger = Some(reply.ledger.clone());
        self.failed = reply.failed.as_ref().map(ToString::to_string);
        self.version += 1;
        self.list();
        let is_same = |row: &LedgerRow| {
            let Some((kind, path, wanted)) = &selected else { return false };
            match self.entry(*row) {
                Some(LedgerEntry::Source(source)) => {
                    wanted.is_none() && source.kind == *kind && source.path == *path
                }
                Some(LedgerEntry::Item(source, item)) => {
                    wanted.is_some() && source.kind == *kind && item.item == *wanted
                }
                None => false,
            }
        };
        if let Some(at) = self.rows.iter().position(is_same) {
            self.selected = at;
        }
    }

    /// The items that can be edited, in the order of the sources: the numbers by which a line names
    /// them.
    pub fn numbered(&self) -> impl Iterator<Item = (&LedgerSource, &LedgerItem, ContextItem)> {
        let sources = self.ledger.iter().flat_map(|ledger| &ledger.sources);
        let items = sources.flat_map(|source| source.items.iter().map(move |item| (source, item)));
        items.filter_map(|(source, item)| Some((source, item, item.item?)))
    }

    fn line_edit(&self, line: &str) -> Option<Intent> {
        let (word, number) = line.split_once(char::is_whitespace)?;
        let number: usize = number.trim().parse().ok()?;
        let (_, item, id) = self.numbered().nth(number.checked_sub(1)?)?;
        let action = match word {
            "fold" => item.fold_action(),
            "pin" => item.pin_action(),
            _ => None,
        };
        Some(ask(ContextRequest::Edit { item: id, action: action? }))
    }
}

/// Opens the page and asks for the ledger.
pub fn open(agent: AgentId) -> DialogOpening<ContextPage> {
    let ask = ScreenEffect::Agent(agent, AgentCommand::Context(ContextRequest::Show));
    DialogOpening::of(ContextPage::default(), vec![ask])
}

fn ask(request: ContextRequest) -> Intent {
    Intent::Command(AgentCommand::Context(request))
}

impl Dialog for ContextPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Context
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around)
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let rows = isize::try_from(around.measured.list_rows()).unwrap_or(1);
        match keymap::find(keymap::LEDGER, key) {
            Some(key) => self.choose(key, rows),
            None => Vec::new(),
        }
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let area = canvas.above_hints();
        let DialogCanvas { styles, buffer, measured, .. } = canvas;
        view::draw(around, self, styles, area, buffer, measured);
        None
    }

    /// Only what can be done with the selected row, in its words.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let mut hints = Vec::new();
        let mut add = |key, word| hints.push((keys.key(key), word));
        match self.chosen() {
            Some(LedgerEntry::Source(source)) if !source.items.is_empty() => {
                add(LedgerKey::Toggle, if self.is_open(source) { "close" } else { "open" });
            }
            Some(LedgerEntry::Item(_, item)) => {
                if let Some(action) = item.fold_action() {
                    add(LedgerKey::Fold, lines::verb(action));
                }
                if let Some(action) = item.pin_action() {
                    add(LedgerKey::Pin, lines::verb(action));
                }
            }
            Some(LedgerEntry::Source(_)) | None => {}
        }
        add(LedgerKey::Back, "back");
        hints
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.step(rows.signum() as isize);
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let DialogReply::Context(reply) = reply {
            self.replied(reply);
        }
        // A result that has come is a part of the next request.
        if let DialogReply::CallEnded { .. } = reply {
            return vec![ask(ContextRequest::Show)];
        }
        Vec::new()
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.ledger.is_none() { ExpectedLine::Nothing } else { ExpectedLine::LedgerEdit }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        match line.trim() {
            "" => Ok(vec![Intent::Close]),
            line => self.line_edit(line).map(|it| vec![it]).ok_or(LineAnswerError::NoEdit),
        }
    }
}
