//! The page that reviews what a turn or the session changed: all changes of all files, one below the
//! other. The user rejects changes, or takes them back in; Enter has the agent take the rejected ones
//! out of the files.
//!
//! The agent plans the review from the log and carries the rejection out. This file holds which
//! changes are rejected, which one the keys act on, and the scroll position. A change whose lines
//! were changed since can be read, and not be rejected.

mod linear_page;
pub mod page_lines;
pub mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::layout::Position;

use crate::agent::{AgentCommand, ReviewPlan, ReviewScope};
use crate::domain::{ExcludedHunks, NoticeLevel, TurnId};
use crate::session::undo::{FileRejection, ReviewedFile};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::rewind_messages::NOTHING_SAID;
use crate::tui::app::conversation::sending;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, ChatKey, KeyPlace, KeyPress, ReviewKey};
use crate::tui::app::page_position::{PagePosition, PageRow};
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::layout::diff::default_diff_style;
use crate::tui::layout::diff::rows::DiffStyle;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogOpening, DialogView,
};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use page_lines::{PlacedChange, ReviewLines};

/// Rows kept above a change that is scrolled to: its context lines and the name of its file.
const ABOVE: usize = 5;

/// The state of the review page.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReview {
    /// What is shown; `None` until the agent has planned it.
    plan: Option<Arc<ReviewPlan>>,
    /// The rejected changes of each file.
    rejected: BTreeMap<PathBuf, ExcludedHunks>,
    /// The index of the change that keys act on.
    focus: usize,
    /// The scroll position.
    position: PagePosition,
    /// The style that the user chose; `None` takes the default for the width.
    sides: Option<DiffStyle>,
    lines: Arc<ReviewLines>,
    /// The screen width that `lines` were made for.
    width: u16,
    step: ReviewStep,
}

/// What Enter does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReviewStep {
    Choosing,
    /// A rejected change is in a file outside the workspace or a protected one; the user has been
    /// told, and confirms it with another Enter.
    Confirming,
    /// The agent takes the changes out.
    Applying,
}

/// The direction in which to look for a change or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReviewDirection {
    Next,
    Previous,
}

impl TurnReview {
    /// A page that is not planned yet.
    pub fn new() -> Self {
        Self {
            plan: None,
            rejected: BTreeMap::new(),
            focus: 0,
            position: PagePosition::default(),
            sides: None,
            lines: Arc::default(),
            width: 0,
            step: ReviewStep::Choosing,
        }
    }

    fn files(&self) -> &[ReviewedFile] {
        self.plan.as_ref().map_or(&[], |plan| &plan.changes.files)
    }

    fn is_rejected(&self, change: &PlacedChange) -> bool {
        let file = self.files().get(change.file);
        let rejected = file.and_then(|file| self.rejected.get(&file.path));
        rejected.is_some_and(|rejected| rejected.has(change.change))
    }

    fn rejected_count(&self) -> usize {
        self.rejected.values().map(ExcludedHunks::count).sum()
    }

    /// The diff style on a screen of this width.
    fn sides_at(&self, width: u16) -> DiffStyle {
        self.sides.unwrap_or_else(|| default_diff_style(view::diff_width(width)))
    }

    /// Makes the lines for a screen of this width.
    fn lay(&mut self, shared: &mut SharedState) {
        self.width = shared.geometry.width;
        let sides = self.sides_at(self.width);
        let lines = match &self.plan {
            Some(plan) => page_lines::lines(&plan.changes, sides, &shared.settings.cwd, || {
                shared.requests.issue().0
            }),
            None => ReviewLines::default(),
        };
        self.lines = Arc::new(lines);
        self.focus = self.focus.min(self.lines.changes.len().saturating_sub(1));
    }

    /// Shows a plan. What was rejected stays so in files that are the same. Returns whether some of
    /// it is not.
    fn take(&mut self, plan: &Arc<ReviewPlan>, shared: &mut SharedState) -> bool {
        let is_same_part = self.plan.as_ref().is_some_and(|shown| shown.scope == plan.scope);
        let before = self.rejected_count();
        let old = self.plan.replace(Arc::clone(plan));
        let old = old.as_ref().map_or(&[][..], |plan| &plan.changes.files);
        self.rejected.retain(|path, _| {
            let find = |files: &[ReviewedFile]| files.iter().find(|it| it.path == *path).cloned();
            let file = find(&plan.changes.files);
            is_same_part && file.is_some() && file == find(old)
        });
        if !is_same_part {
            (self.focus, self.position) = (0, PagePosition::default());
        }
        self.step = ReviewStep::Choosing;
        self.lay(shared);
        self.rejected_count() < before
    }

    /// Rejects a change, or takes it back in. False where it cannot be rejected.
    fn toggle(&mut self, change: usize) -> bool {
        let Some(placed) = self.lines.changes.get(change).cloned() else { return false };
        let Some(file) = self.files().get(placed.file) else { return false };
        if !file.can_reject(placed.change) {
            return false;
        }
        let path = file.path.clone();
        self.rejected.entry(path).or_default().toggle(placed.change);
        self.rejected.retain(|_, changes| changes.count() > 0);
        true
    }

    /// Rejects those of these changes that can be, or takes all of them back in where none is left
    /// to reject.
    fn toggle_all(&mut self, changes: &[usize]) {
        let can = |review: &Self, change: &usize| {
            let placed = review.lines.changes.get(*change);
            placed.is_some_and(|placed| {
                !review.is_rejected(placed)
                    && review
                        .files()
                        .get(placed.file)
                        .is_some_and(|file| file.can_reject(placed.change))
            })
        };
        let open: Vec<usize> = changes.iter().copied().filter(|at| can(self, at)).collect();
        let turned = if open.is_empty() { changes } else { &open };
        for change in turned {
            self.toggle(*change);
        }
    }

    /// The changes of the file that the focused one is in.
    fn of_focused_file(&self) -> Vec<usize> {
        let changes = &self.lines.changes;
        let file = changes.get(self.focus).map(|change| change.file);
        (0..changes.len()).filter(|at| Some(changes[*at].file) == file).collect()
    }

    /// All changes but those of files that need an answer of their own.
    fn of_all_files(&self) -> Vec<usize> {
        let needs = |change: &PlacedChange| {
            self.files().get(change.file).is_some_and(|file| file.place.needs_answer())
        };
        let changes = self.lines.changes.iter().enumerate();
        changes.filter(|(_, change)| !needs(change)).map(|(at, _)| at).collect()
    }

    fn step_change(&mut self, direction: ReviewDirection, page: &PageGeometry) {
        let to = match direction {
            ReviewDirection::Next => self.focus + 1,
            ReviewDirection::Previous => self.focus.saturating_sub(1),
        };
        self.go_to(to.min(self.lines.changes.len().saturating_sub(1)), page);
    }

    fn step_file(&mut self, direction: ReviewDirection, page: &PageGeometry) {
        let changes = &self.lines.changes;
        let Some(here) = changes.get(self.focus).map(|change| change.file) else { return };
        let first_of = |file: usize| changes.iter().position(|change| change.file == file);
        let to = match direction {
            ReviewDirection::Next => changes.iter().position(|change| change.file > here),
            ReviewDirection::Previous => changes
                .iter()
                .rfind(|change| change.file < here)
                .and_then(|change| first_of(change.file)),
        };
        if let Some(to) = to {
            self.go_to(to, page);
        }
    }

    /// Focuses a change, and scrolls where it is not wholly in sight.
    fn go_to(&mut self, change: usize, page: &PageGeometry) {
        let Some(placed) = self.lines.changes.get(change) else { return };
        self.focus = change;
        let last = placed.lines.end.saturating_sub(1);
        if !(page.rows.contains(&placed.lines.start) && page.rows.contains(&last)) {
            let line = placed.lines.start.saturating_sub(ABOVE);
            self.position = PagePosition { top: PageRow { line, row: 0 }, delta: 0 };
        }
    }

    /// What Enter does: has the rejected changes taken out, once the user has confirmed those of
    /// files that need it.
    fn apply(&mut self, conversation: &Conversation, shared: &mut SharedState) -> Vec<Intent> {
        if self.rejected.is_empty() {
            let text = "No change is rejected.".to_owned();
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        }
        if sending::is_busy(conversation) {
            let stop = shared.settings.keys.key(ChatKey::Back);
            let text = format!("A turn is running. Wait for its end, or stop it with {stop}.");
            return vec![Intent::Toast(NoticeLevel::Warning, text)];
        }
        let named = self.files().iter().filter(|file| self.rejected.contains_key(&file.path));
        let mut needs = named.filter(|file| file.place.needs_answer());
        if let (ReviewStep::Choosing, Some(file)) = (self.step, needs.next()) {
            let place = page_lines::place_sentence(file, &shared.settings.cwd);
            let key = shared.settings.keys.key(ReviewKey::Apply);
            let text = format!("{place} {key} again rejects it anyway.");
            self.step = ReviewStep::Confirming;
            return vec![Intent::Toast(NoticeLevel::Warning, text)];
        }
        self.rejection().map(Intent::Command).into_iter().collect()
    }

    /// The command that takes the rejected changes out; `None` where that is already under way.
    fn rejection(&mut self) -> Option<AgentCommand> {
        let plan = self.plan.clone().filter(|_| self.step != ReviewStep::Applying)?;
        self.step = ReviewStep::Applying;
        let rejected = self.rejected.iter();
        let rejected = rejected
            .map(|(path, changes)| FileRejection { path: path.clone(), changes: changes.clone() })
            .collect();
        Some(AgentCommand::Reject { plan, rejected })
    }

    fn press(&mut self, key: ReviewKey, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let page = &around.measured.page;
        if key != ReviewKey::Apply && self.step == ReviewStep::Confirming {
            self.step = ReviewStep::Choosing;
        }
        match key {
            ReviewKey::Scroll(how) => self.position.scroll(how, usize::from(page.area.height)),
            ReviewKey::NextChange => self.step_change(ReviewDirection::Next, page),
            ReviewKey::PreviousChange => self.step_change(ReviewDirection::Previous, page),
            ReviewKey::NextFile => self.step_file(ReviewDirection::Next, page),
            ReviewKey::PreviousFile => self.step_file(ReviewDirection::Previous, page),
            ReviewKey::Toggle if self.toggle(self.focus) => {
                // As in a list: the next decision is on the next change.
                self.step_change(ReviewDirection::Next, page);
            }
            ReviewKey::Toggle => {
                let text = "This change cannot be rejected.".to_owned();
                return vec![Intent::Toast(NoticeLevel::Info, text)];
            }
            ReviewKey::ToggleFile => self.toggle_all(&self.of_focused_file()),
            ReviewKey::ToggleAll => self.toggle_all(&self.of_all_files()),
            ReviewKey::Apply => return self.apply(around.conversation, around.shared),
            ReviewKey::EarlierTurn => return self.other_turn(|plan| plan.earlier),
            ReviewKey::LaterTurn => return self.other_turn(|plan| plan.later),
            ReviewKey::Session => {
                let is_session =
                    self.plan.as_ref().is_some_and(|plan| plan.scope == ReviewScope::Session);
                let scope = if is_session { ReviewScope::LastTurn } else { ReviewScope::Session };
                return vec![Intent::Command(AgentCommand::PlanReview(scope))];
            }
            ReviewKey::Sides => {
                self.sides = Some(match self.sides_at(around.shared.geometry.width) {
                    DiffStyle::Unified => DiffStyle::SideBySide,
                    DiffStyle::SideBySide => DiffStyle::Unified,
                });
                self.lay(around.shared);
                self.position = PagePosition::default();
            }
            ReviewKey::Back => return vec![Intent::Close],
        }
        Vec::new()
    }

    fn other_turn(&self, turn: impl Fn(&ReviewPlan) -> Option<TurnId>) -> Vec<Intent> {
        match self.plan.as_deref().and_then(turn) {
            Some(turn) => {
                vec![Intent::Command(AgentCommand::PlanReview(ReviewScope::Turn(turn)))]
            }
            None => {
                let text = "No other turn there has changed a file.".to_owned();
                vec![Intent::Toast(NoticeLevel::Info, text)]
            }
        }
    }

    /// The focus follows a scrolled page: it is on a change in sight, where there is one.
    fn follow(&mut self, page: &PageGeometry) {
        let is_seen =
            |change: &PlacedChange| page.rows.iter().any(|line| change.lines.contains(line));
        let changes = &self.lines.changes;
        if !changes.get(self.focus).is_some_and(is_seen)
            && let Some(seen) = changes.iter().position(is_seen)
        {
            self.focus = seen;
        }
    }
}

impl Default for TurnReview {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens the page, and asks the agent what was changed.
pub fn open(
    conversation: &Conversation,
    shared: &mut SharedState,
    scope: ReviewScope,
) -> DialogOpening<TurnReview> {
    if conversation.status.session.is_none() {
        shared.toast(NoticeLevel::Info, NOTHING_SAID);
        return DialogOpening::nothing();
    }
    let ask = ScreenEffect::Agent(conversation.agent, AgentCommand::PlanReview(scope));
    DialogOpening::of(TurnReview::new(), vec![ask])
}

impl Dialog for TurnReview {
    fn place(&self) -> KeyPlace {
        KeyPlace::Review
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let key = keymap::find(keymap::REVIEW, key);
        key.map_or_else(Vec::new, |key| self.press(key, around))
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around, canvas);
        None
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around)
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.position.by(isize::try_from(rows).unwrap_or(0));
    }

    /// Rejects the change that was clicked, or takes it back in.
    fn click(&mut self, (column, row): (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let shown = &around.measured.page;
        let line = shown.area.inside(column, row);
        let line = line.and_then(|(_, row)| shown.rows.get(usize::from(row)).copied());
        let changes = &self.lines.changes;
        let clicked = line.and_then(|line| changes.iter().position(|it| it.lines.contains(&line)));
        if let Some(change) = clicked {
            self.focus = change;
            self.toggle(change);
        }
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::ReviewPlanned(Ok(plan)) => {
                if self.take(plan, around.shared) {
                    let text = "A file has changed. Check its changes again.".to_owned();
                    return vec![Intent::Toast(NoticeLevel::Warning, text)];
                }
                Vec::new()
            }
            DialogReply::ReviewPlanned(Err(reason)) => {
                vec![Intent::Close, Intent::Toast(NoticeLevel::Warning, reason.to_string())]
            }
            DialogReply::Rewound => vec![Intent::Close],
            DialogReply::FileChanged if self.step != ReviewStep::Applying => {
                let scope = self.plan.as_ref().map(|plan| plan.scope);
                let again = |scope| Intent::Command(AgentCommand::PlanReview(scope));
                scope.map(again).into_iter().collect()
            }
            // The lines are made again if the new width changes the diff style.
            DialogReply::Resized
                if self.sides_at(self.width) != self.sides_at(around.shared.geometry.width) =>
            {
                self.lay(around.shared);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Takes over the scroll position as the view clamped it.
    fn drawn(&mut self, _layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let page = &around.measured.page;
        if self.position.delta != 0 || self.position.top.line == usize::MAX {
            self.follow(page);
        }
        self.position = PagePosition { top: page.top, delta: 0 };
        Vec::new()
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn expected_line(&self) -> ExpectedLine {
        if self.plan.is_some() { ExpectedLine::Row } else { ExpectedLine::Nothing }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        linear_page::answer(self, line)
    }
}
