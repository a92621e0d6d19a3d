//! The page of the files that the session changed: for each file, the content before the session's
//! first change against the content on disk now.
//!
//! The list of files comes from the change records of the log. The contents are read off the UI
//! task. This file holds which file is shown, in which style, and the scroll position.

pub mod patch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentHash, FileDiff, NoticeLevel};
use crate::session::FileChangeEntry;
use crate::tui::layout::diff::default_diff_style;
use crate::tui::layout::diff::rows::{self, DiffFolds, DiffRow, DiffRows, DiffStyle};

use super::effect::ScreenEffect;
use super::geometry::PageGeometry;
use super::keymap::{self, ChangesKey, KeyPress};
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::page_position::{PagePosition, PageRow};
use super::request::RequestId;
use super::store_queries::StoreQuery;

/// From this width on, the list of files is beside the diff, otherwise above it.
const WIDE: u16 = 110;
/// Columns of the list of files beside the diff, at most a third of the screen.
const LIST: u16 = 36;

/// The files that the session changed, in the order of their first change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChanges {
    files: Vec<ChangedFile>,
}

/// A file that the session changed, with its content before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// An absolute path.
    pub path: PathBuf,
    /// The content before the first change; `None` if the file did not exist.
    pub before: Option<ContentHash>,
    /// The content after the last change; `None` if that change removed the file.
    pub after: Option<ContentHash>,
    /// The permission bits after the first change; `None` if the log does not say.
    pub mode: Option<u32>,
}

/// The net change of a file over the session, ready to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetFileChange {
    /// An absolute path.
    pub path: PathBuf,
    /// The path from the repository root, or from the working folder outside a repository.
    pub name: String,
    pub content: NetChangeContent,
    pub external_change: ExternalChange,
    /// The permission bits; `None` if there is no file.
    pub mode: Option<u32>,
}

/// What the page shows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetChangeContent {
    Changed(Arc<FileDiff>),
    /// The file did not exist before the session.
    New(Arc<FileDiff>),
    /// The file existed before the session and is gone.
    Deleted(Arc<FileDiff>),
    /// The content is the same as before the session.
    Same,
    /// The change cannot be shown; holds the reason.
    Unknown(String),
}

/// What other programs did to a file since the session last changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalChange {
    Nothing,
    /// The content on disk is not what the session left.
    Changed,
    /// The file is no longer there.
    Deleted,
}

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

impl SessionChanges {
    /// Adds a change record of the log.
    pub fn note(&mut self, change: &FileChangeEntry) {
        match self.files.iter_mut().find(|file| file.path == change.path) {
            Some(file) => file.after.clone_from(&change.after),
            None => self.files.push(ChangedFile {
                path: change.path.clone(),
                before: change.before.clone(),
                after: change.after.clone(),
                mode: change.mode,
            }),
        }
    }
}

impl SessionChanges {
    /// Whether the session changed the file with this absolute path.
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == Path::new(path))
    }
}

impl NetFileChange {
    /// The diff, if there is one to show.
    pub fn diff(&self) -> Option<&Arc<FileDiff>> {
        match &self.content {
            NetChangeContent::Changed(diff)
            | NetChangeContent::New(diff)
            | NetChangeContent::Deleted(diff) => Some(diff),
            NetChangeContent::Same | NetChangeContent::Unknown(_) => None,
        }
    }
}

impl ChangesPage {
    fn new(wanted: Option<String>) -> Self {
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

    /// Takes over the scroll position as the view clamped it.
    pub fn drawn(&mut self, page: &PageGeometry) {
        self.position = PagePosition { top: page.top, delta: 0 };
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
pub fn open(model: &mut ScreenModel, wanted: Option<String>) -> Vec<ScreenEffect> {
    if model.conversation.changes.files.is_empty() {
        model.shared.toast(NoticeLevel::Info, "This session has changed nothing so far.");
        return Vec::new();
    }
    model.overlays.push(Overlay::Changes(Box::new(ChangesPage::new(wanted))));
    read(model).into_iter().collect()
}

/// Reads the files again if the page is open.
pub fn read(model: &mut ScreenModel) -> Option<ScreenEffect> {
    let files = model.conversation.changes.files.clone();
    let cwd = model.shared.settings.cwd.clone();
    let id = model.shared.requests.issue();
    let page = page_of(model)?;
    page.asked = Some(id);
    Some(ScreenEffect::QueryStore { id, job: StoreQuery::Changes { files, cwd } })
}

/// Takes the result of a read; `files` is `None` if it failed.
pub fn answered(model: &mut ScreenModel, id: RequestId, files: Option<Arc<Vec<NetFileChange>>>) {
    let width = model.shared.geometry.width;
    let Some(page) = page_of(model).filter(|page| page.asked == Some(id)) else { return };
    page.asked = None;
    if let Some(files) = files {
        page.take(files);
        page.lay(width, id.0);
    }
}

/// Makes the rows again if the new width changes the diff style.
pub fn resized(model: &mut ScreenModel) {
    let (width, id) = (model.shared.geometry.width, model.shared.requests.issue());
    if let Some(page) = page_of(model)
        && page.sides_at(page.width) != page.sides_at(width)
    {
        page.lay(width, id.0);
    }
}

/// Handles a key for the page at index `at` of the overlays.
pub fn key(model: &mut ScreenModel, at: usize, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    let Some(key) = keymap::find(keymap::CHANGES, key) else { return Vec::new() };
    let shown = model.shared.geometry.page.clone().unwrap_or_default();
    let (width, id) = (model.shared.geometry.width, model.shared.requests.issue());
    let Some(Overlay::Changes(page)) = model.overlays.get_mut(at) else { return Vec::new() };
    match key {
        ChangesKey::Scroll(how) => {
            page.position.scroll(how, usize::from(shown.area.height));
            return Vec::new();
        }
        ChangesKey::NextHunk => {
            page.step_hunk(ChangesDirection::Next, &shown);
            return Vec::new();
        }
        ChangesKey::PreviousHunk => {
            page.step_hunk(ChangesDirection::Previous, &shown);
            return Vec::new();
        }
        ChangesKey::NextFile => page.step_file(1),
        ChangesKey::PreviousFile => page.step_file(-1),
        ChangesKey::Sides => {
            page.sides = Some(match page.sides_at(width) {
                DiffStyle::Unified => DiffStyle::SideBySide,
                DiffStyle::SideBySide => DiffStyle::Unified,
            });
            page.position = PagePosition::default();
        }
        ChangesKey::Context => {
            page.context = match page.context {
                DiffFolds::Folded(_) => DiffFolds::All,
                DiffFolds::All => DiffFolds::Folded(BTreeSet::new()),
            };
            page.position = PagePosition::default();
        }
        ChangesKey::Unfold => match page.first_visible_fold(&shown) {
            Some(fold) => page.unfold(fold),
            None => return Vec::new(),
        },
        ChangesKey::Copy => {
            let text = page.file().map(patch::of).unwrap_or_default();
            return copied(model, text, "the patch of the file");
        }
        ChangesKey::CopyAll => {
            let files = page.files.iter().flat_map(|files| files.iter());
            let text = files.map(patch::of).collect();
            return copied(model, text, "the patch of all files");
        }
        ChangesKey::Reload => return read(model).into_iter().collect(),
        ChangesKey::Back => {
            model.overlays.remove(at);
            return Vec::new();
        }
    }
    page.lay(width, id.0);
    Vec::new()
}

/// Handles a click on a file or on a fold.
pub fn click(model: &mut ScreenModel, column: u16, row: u16) {
    let Some(shown) = model.shared.geometry.page.clone() else { return };
    let (width, id) = (model.shared.geometry.width, model.shared.requests.issue());
    let Some(page) = page_of(model) else { return };
    let in_list = shown.list.and_then(|(list, first)| {
        list.inside(column, row).map(|(_, row)| first + usize::from(row))
    });
    let in_diff = shown.area.inside(column, row);
    let in_diff = in_diff.and_then(|(_, row)| shown.rows.get(usize::from(row)).copied());
    let count = page.files.as_ref().map_or(0, |files| files.len());
    match (in_list.filter(|file| *file < count), in_diff.and_then(|row| page.fold_at(row))) {
        (Some(file), _) => page.select(file),
        (None, Some(fold)) => page.unfold(fold),
        (None, None) => return,
    }
    page.lay(width, id.0);
}

fn copied(model: &mut ScreenModel, text: String, what: &'static str) -> Vec<ScreenEffect> {
    if text.is_empty() {
        model.shared.toast(NoticeLevel::Info, "There is no difference to copy");
        return Vec::new();
    }
    vec![ScreenEffect::Copy { text, what }]
}

fn page_of(model: &mut ScreenModel) -> Option<&mut ChangesPage> {
    model.overlays.iter_mut().find_map(|overlay| match overlay {
        Overlay::Changes(page) => Some(&mut **page),
        Overlay::Approval(_)
        | Overlay::Picker(_)
        | Overlay::Reading(_)
        | Overlay::Pager(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{FileChangeSource, FileKind, FileVersion};

    fn change(path: &str, before: Option<&str>, after: &str) -> FileChangeEntry {
        let image = |text: &str| {
            let hash = ContentHash::of(text.as_bytes());
            FileVersion { kind: FileKind::File, hash, mode: None }
        };
        let before = before.map(image);
        FileChangeEntry::new(path.into(), before, Some(image(after)), FileChangeSource::Tool)
    }

    #[test]
    fn a_file_counts_once_from_its_first_change_to_its_last() {
        let mut changes = SessionChanges::default();
        for (path, before, after) in
            [("/a", Some("1"), "2"), ("/b", None, "x"), ("/a", Some("2"), "3")]
        {
            changes.note(&change(path, before, after));
        }
        let hashes = |file: &ChangedFile| (file.before.clone(), file.after.clone());
        assert_eq!(changes.files.len(), 2);
        let first = change("/a", Some("1"), "3");
        assert_eq!(hashes(&changes.files[0]), (first.before, first.after));
    }

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
