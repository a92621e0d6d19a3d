//! The page of the files that the session changed: for each file, the content before the session's
//! first change against the content on disk now.
//!
//! The list of files comes from the change records of the log. The contents are read off the UI
//! task. This file holds which file is shown, in which style, and the scroll position.

mod linear_page;
pub mod patch;
pub mod view;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ratatui::layout::Position;

use crate::domain::NoticeLevel;
use crate::services::session_changes::NetFileChange;
use crate::services::store_query::StoreQuery;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap;
use crate::tui::app::keymap::{ChangesKey, KeyPlace, KeyPress};
use crate::tui::app::page_position::{PagePosition, PageRow};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::layout::diff::default_diff_style;
use crate::tui::layout::diff::rows;
use crate::tui::layout::diff::rows::{DiffFolds, DiffRow, DiffRows, DiffStyle};

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogOpening, DialogView,
};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::line::ExpectedLine;

/// From this width on, the list of files is beside the diff, otherwise above it.
const WIDE: u16 = 110;
/// Columns of the list of files beside the diff, at most a third of the screen.
const LIST: u16 = 36;

/// The state of the changes page.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesPage {
    /// `None` until the files have been read.
    pub files: Option<Arc<Vec<NetFileChange>>>,
    /// The read that is under way.
    pub asked: Option<RequestId>,
    /// The index of the file that is shown.
    pub selected: usize,
    /// The scroll position in the diff.
    pub position: PagePosition,
    /// The style that the user chose; `None` takes the default for the width.
    pub sides: Option<DiffStyle>,
    /// Which unchanged parts are unfolded.
    pub context: DiffFolds,
    /// The rows of the diff that is shown.
    pub rows: Arc<DiffRows>,
    /// Identifies `rows`: a new value whenever the rows change.
    pub version: u64,
    /// The screen width that `rows` were made for.
    width: u16,
    /// The file to select once the files are read: a path, or the end of one.
    wanted: Option<String>,
}

impl ChangesPage {
    /// A page whose files are not read yet, on the file `wanted` if there is one.
    pub fn new(wanted: Option<String>) -> Self {
        Self {
            files: None,
            asked: None,
            selected: 0,
            position: PagePosition::default(),
            sides: None,
            context: DiffFolds::Folded(BTreeSet::new()),
            rows: Arc::default(),
            version: 0,
            width: 0,
            wanted,
        }
    }

    /// The file that is shown; `None` until the files are read.
    pub fn file(&self) -> Option<&NetFileChange> {
        self.files.as_ref()?.get(self.selected)
    }

    /// The diff style on a screen of this width.
    pub fn sides_at(&self, width: u16) -> DiffStyle {
        self.sides.unwrap_or_else(|| default_diff_style(columns(width).1))
    }

    /// Makes the rows for a screen of this width. `version` must never have been used before.
    fn lay(&mut self, width: u16, version: u64) {
        let sides = self.sides_at(width);
        self.width = width;
        self.version = version;
        self.rows = match self.file().and_then(NetFileChange::diff) {
            Some(diff) => Arc::new(rows::rows(diff, sides, &self.context, usize::MAX)),
            None => Arc::default(),
        };
    }

    fn select(&mut self, file: usize) {
        if file != self.selected {
            self.selected = file;
            self.context = DiffFolds::Folded(BTreeSet::new());
        }
        self.position = PagePosition::default();
    }

    fn step_file(&mut self, by: isize) {
        let count = self.files.as_ref().map_or(0, |files| files.len());
        if count > 0 {
            let count = count as isize;
            self.select((self.selected as isize + by).rem_euclid(count) as usize);
        }
    }

    /// Goes to the next or previous change, counted from the row that a change is scrolled to.
    fn step_hunk(&mut self, direction: ChangesDirection, page: &PageGeometry) {
        let here = page.top.line + ABOVE;
        let changes = &self.rows.changes;
        let to = match direction {
            ChangesDirection::Next => changes.get(changes.partition_point(|at| *at <= here)),
            ChangesDirection::Previous => {
                changes[..changes.partition_point(|at| *at < here)].last()
            }
        };
        if let Some(line) = to.copied() {
            self.position = PagePosition {
                top: PageRow { line: line.saturating_sub(ABOVE), row: 0 },
                delta: 0,
            };
        }
    }

    fn unfold(&mut self, from: usize) {
        if let DiffFolds::Folded(open) = &mut self.context {
            open.insert(from);
        }
    }

    /// The first fold that is in view.
    fn first_visible_fold(&self, page: &PageGeometry) -> Option<usize> {
        page.rows.iter().find_map(|row| self.fold_at(*row))
    }

    fn fold_at(&self, row: usize) -> Option<usize> {
        match self.rows.rows.get(row)? {
            DiffRow::Folded { from, .. } => Some(*from),
            DiffRow::Note(_) | DiffRow::Line(_) | DiffRow::Pair(..) | DiffRow::Omitted(_) => None,
        }
    }

    /// Takes over the files that were read, and stays on the file that was shown.
    fn take(&mut self, files: Arc<Vec<NetFileChange>>) {
        let shown = self.file().map(|file| file.path.clone());
        let find = |is: &dyn Fn(&NetFileChange) -> bool| files.iter().position(is);
        let wanted = self.wanted.take();
        let by_name = wanted.as_ref().and_then(|name| find(&|file| named(file, name)));
        let before = shown.and_then(|path| find(&|file| file.path == path));
        let first = files.iter().position(|file| file.diff().is_some()).unwrap_or(0);
        let (at, fresh) = (by_name.or(before).unwrap_or(first), before.is_none());
        self.files = Some(files);
        if fresh || by_name.is_some() {
            self.select(at);
        } else {
            self.selected = at;
        }
    }
}

/// Rows kept above a change that is scrolled to: its context lines and the fold above them.
const ABOVE: usize = 4;

/// The direction in which to look for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangesDirection {
    Next,
    Previous,
}

fn named(file: &NetFileChange, name: &str) -> bool {
    let name = name.trim_start_matches("./");
    file.name == name || file.path == Path::new(name) || file.path.ends_with(name)
}

/// The columns of the list of files (0 if it is above the diff) and of the diff.
pub fn columns(width: u16) -> (u16, u16) {
    let list = if width >= WIDE { LIST.min(width / 3) } else { 0 };
    // A separator line, and a margin on either side of the diff.
    let around = if list > 0 { list + 3 } else { 2 };
    (list, width.saturating_sub(around).max(1))
}

/// Opens the page, on the file `wanted` if there is one.
pub fn open(
    conversation: &Conversation,
    shared: &mut SharedState,
    wanted: Option<String>,
) -> DialogOpening<ChangesPage> {
    if conversation.changes.files.is_empty() {
        shared.toast(NoticeLevel::Info, "This session has not changed anything yet.");
        return DialogOpening::nothing();
    }
    let mut page = ChangesPage::new(wanted);
    let effect = page.read(conversation, shared);
    DialogOpening::of(page, vec![effect])
}

impl ChangesPage {
    /// Reads the files, again or for the first time.
    fn read(&mut self, conversation: &Conversation, shared: &mut SharedState) -> ScreenEffect {
        let files = conversation.changes.files.clone();
        let cwd = shared.settings.cwd.clone();
        let id = shared.requests.issue();
        self.asked = Some(id);
        ScreenEffect::QueryStore { id, job: StoreQuery::Changes { files, cwd } }
    }

    /// Does what a key stands for. The rows are made again where it changes them.
    fn press(&mut self, key: ChangesKey, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let shown = &around.measured.page;
        let width = around.shared.geometry.width;
        match key {
            ChangesKey::Scroll(how) => {
                self.position.scroll(how, usize::from(shown.area.height));
                return Vec::new();
            }
            ChangesKey::NextHunk => {
                self.step_hunk(ChangesDirection::Next, shown);
                return Vec::new();
            }
            ChangesKey::PreviousHunk => {
                self.step_hunk(ChangesDirection::Previous, shown);
                return Vec::new();
            }
            ChangesKey::NextFile => self.step_file(1),
            ChangesKey::PreviousFile => self.step_file(-1),
            ChangesKey::Sides => {
                self.sides = Some(match self.sides_at(width) {
                    DiffStyle::Unified => DiffStyle::SideBySide,
                    DiffStyle::SideBySide => DiffStyle::Unified,
                });
                self.position = PagePosition::default();
            }
            ChangesKey::Context => {
                self.context = match self.context {
                    DiffFolds::Folded(_) => DiffFolds::All,
                    DiffFolds::All => DiffFolds::Folded(BTreeSet::new()),
                };
                self.position = PagePosition::default();
            }
            ChangesKey::Unfold => match self.first_visible_fold(shown) {
                Some(fold) => self.unfold(fold),
                None => return Vec::new(),
            },
            ChangesKey::Copy => {
                let text = self.file().map(patch::of).unwrap_or_default();
                return vec![copied(text, "the patch of the file")];
            }
            ChangesKey::CopyAll => {
                let files = self.files.iter().flat_map(|files| files.iter());
                let text = files.map(patch::of).collect();
                return vec![copied(text, "the patch of all files")];
            }
            ChangesKey::Reload => {
                return vec![Intent::Effect(self.read(around.conversation, around.shared))];
            }
            ChangesKey::Back => return vec![Intent::Close],
        }
        self.lay(width, around.shared.requests.issue().0);
        Vec::new()
    }
}

impl Dialog for ChangesPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Changes
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let key = keymap::find(keymap::CHANGES, key);
        key.map_or_else(Vec::new, |key| self.press(key, around))
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let area = canvas.above_hints();
        let DialogCanvas { layouts, styles, buffer, measured, .. } = canvas;
        view::draw(self, layouts, styles, area, buffer, measured);
        None
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self)
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.position.by(isize::try_from(rows).unwrap_or(0));
    }

    /// Shows the file, or unfolds the part, that was clicked.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let shown = &around.measured.page;
        let in_list = shown.list.and_then(|(list, first)| {
            list.inside(column, row).map(|(_, row)| first + usize::from(row))
        });
        let in_diff = shown.area.inside(column, row);
        let in_diff = in_diff.and_then(|(_, row)| shown.rows.get(usize::from(row)).copied());
        let count = self.files.as_ref().map_or(0, |files| files.len());
        match (in_list.filter(|file| *file < count), in_diff.and_then(|row| self.fold_at(row))) {
            (Some(file), _) => self.select(file),
            (None, Some(fold)) => self.unfold(fold),
            (None, None) => return Vec::new(),
        }
        self.lay(around.shared.geometry.width, around.shared.requests.issue().0);
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let width = around.shared.geometry.width;
        match reply {
            DialogReply::Changes { id, files } if self.asked == Some(*id) => {
                self.asked = None;
                if let Some(files) = files {
                    self.take(Arc::clone(files));
                    self.lay(width, id.0);
                }
            }
            DialogReply::FileChanged => {
                return vec![Intent::Effect(self.read(around.conversation, around.shared))];
            }
            // The rows are made again if the new width changes the diff style.
            DialogReply::Resized if self.sides_at(self.width) != self.sides_at(width) => {
                self.lay(width, around.shared.requests.issue().0);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Takes over the scroll position as the view clamped it.
    fn drawn(&mut self, _layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.position = PagePosition { top: around.measured.page.top, delta: 0 };
        Vec::new()
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.asked.is_some() { ExpectedLine::Nothing } else { ExpectedLine::Message }
    }
}

fn copied(text: String, what: &'static str) -> Intent {
    if text.is_empty() {
        let text = "Nothing to copy: no difference";
        return Intent::Toast(NoticeLevel::Info, text.to_owned());
    }
    Intent::Effect(ScreenEffect::Copy { text, what })
}

#[cfg(test)]
mod tests {
    use crate::services::session_changes::{ExternalChange, NetChangeContent};
    use crate::tui::dialogs::changes::*;

    #[test]
    fn a_file_is_found_by_the_end_of_its_path() {
        let net = NetFileChange {
            path: "/w/src/cart.rs".into(),
            name: "src/cart.rs".into(),
            content: NetChangeContent::Same,
            external_change: ExternalChange::Nothing,
            mode: None,
        };
        for name in ["src/cart.rs", "./src/cart.rs", "cart.rs", "/w/src/cart.rs"] {
            assert!(named(&net, name), "{name}");
        }
        assert!(!named(&net, "art.rs"));
    }
}
