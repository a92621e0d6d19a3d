//! The dialog that shows what going back, or forward again, would do: its rows, the answers for
//! files that the user has changed since, and the choices.
//!
//! An answer changes its file's action in the plan that is shown, so that the agent gets exactly
//! what is on screen. Without an answer, such a file is left as it is. If a file would change that
//! lies outside the workspace or is protected, Enter does not confirm.

mod linear_page;
pub mod view;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crossterm::event::KeyCode;
use ratatui::layout::Position;

use crate::agent::{AgentCommand, RewindDestination, RewindPlan};
use crate::domain::{NoticeLevel, pluralise};
use crate::session::undo::{FileAction, FilePlace, PlannedFile, SkipReason};
use crate::session::{FileChangeSource, RewindScope, UntrackedChanges, UnwatchedFolderReason};
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::rewind_messages::{NOTHING_SAID, RewindMessage, user_messages};
use crate::tui::app::conversation::sending;
use crate::tui::app::conversation::title::first_line;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, ChatKey, KeyPlace, KeyPress, RewindKey};
use crate::tui::app::picker_list::PickerItem;
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::linear_page::LinearPage;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLifetime, DialogOpening, DialogView,
};
use crate::tui::dialogs::geometry::{ScrollExtent, scrolled, wheel_scrolled};
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::picker::Picker;

/// Rows above the rows of files.
const HEAD: usize = 3;
/// How many of the files that are not covered are named.
const NAMED: usize = 5;
/// Explains the mark of [`RewindFileOutcome::BackFromCommand`].
const WHILE_A_COMMAND_RAN: &str = "$ changed while a command ran, by it or by you";

/// The state of the rewind dialog.
#[derive(Debug, Clone, PartialEq)]
pub struct RewindDialog {
    pub stage: RewindStage,
    /// Rows above the part that is shown.
    pub scroll: usize,
    pub guard: QuestionGuard,
    /// The file that the next answer is for, counted among those that need one.
    selected: usize,
}

/// How far the rewind is.
#[derive(Debug, Clone, PartialEq)]
pub enum RewindStage {
    /// The agent is still making the plan.
    Planning,
    /// The plan is shown.
    Planned(Arc<RewindPlan>),
    /// The agent carries out the plan.
    Going,
}

/// A row of the shown plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindRow {
    Gap,
    /// First line of the message to go back before.
    Message(String),
    /// A remark.
    Note(String),
    /// A change that is not taken back, or that needs care.
    Warning(String),
    File {
        /// Path of the file, relative to the working folder if it is inside.
        name: String,
        /// Lines added and removed; `None` if the content has no lines, or counting takes too long.
        lines: Option<(usize, usize)>,
        /// What happens to the file, in a few words.
        what: String,
        fate: RewindFileOutcome,
        asked: RewindFileQuestion,
    },
}

/// Whether a file is taken back to its earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindFileOutcome {
    Back,
    /// Yes. A command changed it, so what the user saved while the command ran is taken back too.
    BackFromCommand,
    Stays,
}

/// Whether the user can decide what happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindFileQuestion {
    /// No: there is only one action.
    No,
    Yes,
    /// Yes, and the next answer is for this file.
    Next,
}

impl RewindFileOutcome {
    /// The mark before the file's name, two columns wide.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Back => "· ",
            Self::BackFromCommand => "$ ",
            Self::Stays => "! ",
        }
    }
}

impl RewindDialog {
    /// A dialog at this stage; its guard starts anew.
    pub fn new(stage: RewindStage) -> Self {
        Self { stage, scroll: 0, guard: QuestionGuard::default(), selected: 0 }
    }

    /// The dialog's title.
    pub fn title(&self) -> &'static str {
        match &self.stage {
            RewindStage::Planned(plan) if plan.to == RewindDestination::Redo => "Redo",
            RewindStage::Planning | RewindStage::Planned(_) | RewindStage::Going => "Rewind",
        }
    }

    /// The choices: the key of each, and what it takes back. Enter chooses the first one.
    pub fn offers(&self) -> Vec<(RewindKey, &'static str)> {
        let key = |at, what| match what {
            _ if at == 0 => RewindKey::Accept,
            RewindScope::Files => RewindKey::Files,
            RewindScope::Both | RewindScope::Conversation => RewindKey::Conversation,
        };
        let word = |what| match what {
            RewindScope::Both => "files and conversation",
            RewindScope::Files => "files only",
            RewindScope::Conversation => "conversation only",
        };
        let offers = self.offered().into_iter().enumerate();
        offers.map(|(at, what)| (key(at, what), word(what))).collect()
    }

    /// The choices for the present answers: files are not offered if all of them are left as they
    /// are.
    fn offered(&self) -> Vec<RewindScope> {
        let RewindStage::Planned(plan) = &self.stage else { return Vec::new() };
        let has_files = plan.files.touched().next().is_some();
        let offers = plan.offers.iter().copied();
        let offers: Vec<_> = offers.filter(|what| has_files || !what.has_files()).collect();
        if offers.is_empty() { plan.offers.clone() } else { offers }
    }

    /// The other possible answer for each file that the user can decide about.
    pub fn answers(&self, cwd: &Path) -> Vec<String> {
        let RewindStage::Planned(plan) = &self.stage else { return Vec::new() };
        let asked = plan.files.files.iter().filter(|file| file.alternative.is_some());
        let answers = asked.map(|file| {
            let how = match (file.is_overridden(), plan.to) {
                (true, _) => "skip it",
                (false, RewindDestination::Redo) if file.place.needs_answer() => "restore it",
                (false, RewindDestination::Redo) => "restore it anyway",
                (false, RewindDestination::Last | RewindDestination::Before(_))
                    if file.place.needs_answer() =>
                {
                    "restore it"
                }
                (false, RewindDestination::Last | RewindDestination::Before(_)) => {
                    "restore it anyway"
                }
            };
            let after = if file.is_overridden() {
                String::new()
            } else if file.place.needs_answer() {
                format!(", though it is {}", marks(&file.place))
            } else if file.now.is_some() {
                "; /redo restores your version".to_owned()
            } else {
                String::new()
            };
            format!("{}: {how}{after}", name(file, cwd))
        });
        answers.collect()
    }

    /// The answer that the answer key would give, and how many files have one.
    pub fn answer(&self, cwd: &Path) -> Option<(String, usize)> {
        let answers = self.answers(cwd);
        let count = answers.len();
        Some((answers.into_iter().nth(self.selected)?, count))
    }

    /// The rows that show the plan.
    pub fn rows(&self, cwd: &Path) -> Vec<RewindRow> {
        let plan = match &self.stage {
            RewindStage::Planned(plan) => plan,
            RewindStage::Planning | RewindStage::Going => {
                return vec![RewindRow::Note("One moment …".to_owned())];
            }
        };
        let again = plan.to == RewindDestination::Redo;
        // The redo of a single call has no message.
        let message = first_line(&plan.message.text);
        let message = Some(message).filter(|message| !message.is_empty());
        let mut rows: Vec<RewindRow> = message.map(RewindRow::Message).into_iter().collect();
        let count = pluralise(plan.messages, "message");
        let what = plan.offers.first().copied().unwrap_or(RewindScope::Conversation);
        rows.push(RewindRow::Note(match (again, what.has_conversation()) {
            (false, _) => format!("removes {count}; your text returns to the input"),
            (true, true) => format!("restores {count}"),
            (true, false) => "the conversation is unchanged".to_owned(),
        }));
        let files = &plan.files;
        let shown: Vec<&PlannedFile> = shown(plan).collect();
        rows.push(RewindRow::Gap);
        if shown.is_empty() {
            rows.push(RewindRow::Note("No files change".to_owned()));
        }
        let mut questions = 0..;
        rows.extend(shown.iter().map(|file| {
            let asked = match file.alternative {
                None => RewindFileQuestion::No,
                Some(_) if questions.next() == Some(self.selected) => RewindFileQuestion::Next,
                Some(_) => RewindFileQuestion::Yes,
            };
            row(file, asked, cwd)
        }));
        if rows.iter().any(|row| {
            matches!(row, RewindRow::File { fate: RewindFileOutcome::BackFromCommand, .. })
        }) {
            rows.push(RewindRow::Note(WHILE_A_COMMAND_RAN.to_owned()));
        }
        let same = files.files.len() - shown.len();
        if same > 0 && !shown.is_empty() {
            let text = match same {
                1 => "1 more file is already in that state".to_owned(),
                same => format!("{same} more files are already in that state"),
            };
            rows.push(RewindRow::Note(text));
        }
        rows.extend(
            shown
                .iter()
                .filter_map(|file| place_warning(&file.path, &file.place, cwd))
                .map(RewindRow::Warning),
        );
        rows.extend(not_covered(&files.not_covered, cwd).into_iter().map(RewindRow::Warning));
        rows
    }

    /// Handles a key. Escape and scrolling work at once; other keys only once the guard is armed.
    fn handle_key(&mut self, key: &KeyPress<'_>, extent: ScrollExtent) -> Vec<Intent> {
        let pressed = key.event().map(|key| key.code);
        let Some(key) = keymap::find(keymap::REWIND, key) else { return Vec::new() };
        let wanted = match key {
            RewindKey::Back if pressed == Some(KeyCode::Esc) => return vec![Intent::Close],
            RewindKey::Scroll(how) => {
                self.scroll = scrolled(self.scroll, how, extent);
                return Vec::new();
            }
            RewindKey::Back
            | RewindKey::Answer
            | RewindKey::NextQuestion
            | RewindKey::Accept
            | RewindKey::Files
            | RewindKey::Conversation
                if !self.guard.is_armed() =>
            {
                return Vec::new();
            }
            RewindKey::Back => return vec![Intent::Close],
            RewindKey::Accept if pressed == Some(KeyCode::Enter) && self.is_dangerous() => {
                return Vec::new();
            }
            RewindKey::Answer => {
                self.toggle_answer(self.selected);
                return Vec::new();
            }
            RewindKey::NextQuestion => {
                self.next_question(extent);
                return Vec::new();
            }
            RewindKey::Accept => None,
            RewindKey::Files => Some(RewindScope::Files),
            RewindKey::Conversation => Some(RewindScope::Conversation),
        };
        self.go(wanted)
    }

    /// Whether the plan changes a file that lies outside the workspace or is protected.
    fn is_dangerous(&self) -> bool {
        let RewindStage::Planned(plan) = &self.stage else { return false };
        plan.files.touched().any(|file| file.place.needs_answer())
    }

    /// Handles a line of the front end without keys: the number of a choice, from 1; the numbers
    /// after the choices toggle answers; an empty line closes. `None` if there is no such number.
    fn choose_line(&mut self, text: &str) -> Option<Vec<Intent>> {
        let text = text.trim();
        if text.is_empty() {
            return Some(vec![Intent::Close]);
        }
        let number: usize = text.parse().ok()?;
        let at = number.checked_sub(1)?;
        let offers = self.offered();
        match offers.get(at) {
            Some(offer) => Some(self.go(Some(*offer))),
            None => self.toggle_answer(at - offers.len()).then(Vec::new),
        }
    }

    /// Gives the other answer for one of the files that the user can decide about. False if there
    /// is no such file.
    fn toggle_answer(&mut self, question: usize) -> bool {
        let RewindStage::Planned(plan) = &mut self.stage else { return false };
        let files = &mut Arc::make_mut(plan).files.files;
        let Some(file) = files.iter_mut().filter(|file| file.alternative.is_some()).nth(question)
        else {
            return false;
        };
        file.toggle_override();
        true
    }

    /// Selects the next question and scrolls it into sight.
    fn next_question(&mut self, extent: ScrollExtent) {
        let RewindStage::Planned(plan) = &self.stage else { return };
        let asked = shown(plan).enumerate().filter(|(_, file)| file.alternative.is_some());
        let rows: Vec<usize> = asked.map(|(at, _)| at + HEAD).collect();
        let next = self.selected + 1;
        self.selected = if next < rows.len() { next } else { 0 };
        if let Some(row) = rows.get(self.selected) {
            self.scroll = self.scroll.min(*row).max((row + 1).saturating_sub(extent.shown));
        }
    }

    /// Carries out one of the choices; `None` takes the first one.
    pub fn go(&mut self, wanted: Option<RewindScope>) -> Vec<Intent> {
        let RewindStage::Planned(plan) = &self.stage else { return Vec::new() };
        let mut offers = self.offered().into_iter();
        let what = match wanted {
            None => offers.next(),
            Some(wanted) => offers.find(|offer| *offer == wanted),
        };
        let Some(what) = what else { return Vec::new() };
        let plan = Arc::clone(plan);
        self.stage = RewindStage::Going;
        vec![Intent::Command(AgentCommand::Rewind { plan, what })]
    }
}

/// Opens the dialog and asks the agent what going there would do.
pub fn open(
    conversation: &Conversation,
    shared: &mut SharedState,
    to: RewindDestination,
) -> DialogOpening<RewindDialog> {
    if sending::is_busy(conversation) {
        let stop = shared.settings.keys.key(ChatKey::Back);
        let text = format!("A turn is running. Stop it first with {stop}.");
        shared.toast(NoticeLevel::Warning, text);
        return DialogOpening::nothing();
    }
    if conversation.status.session.is_none() {
        shared.toast(NoticeLevel::Info, NOTHING_SAID);
        return DialogOpening::nothing();
    }
    let ask = ScreenEffect::Agent(conversation.agent, AgentCommand::PlanRewind(to));
    DialogOpening::of(RewindDialog::new(RewindStage::Planning), vec![ask])
}

/// Opens the list of the user's messages, the newest first.
pub fn list(conversation: &Conversation, shared: &mut SharedState) -> DialogOpening<Picker> {
    let item = |message: &RewindMessage<'_>| PickerItem {
        label: message.title(),
        detail: String::new(),
        aside: message.files_changed(),
        keywords: String::new(),
        choice: PickerChoice::Rewind(message.entry),
    };
    let items: Vec<PickerItem> = user_messages(&conversation.transcript).iter().map(item).collect();
    if items.is_empty() {
        shared.toast(NoticeLevel::Info, NOTHING_SAID);
        return DialogOpening::nothing();
    }
    DialogOpening::of(Picker::ready("Rewind to", items), Vec::new())
}

impl Dialog for RewindDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::Rewind
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.handle_key(key, around.measured.extent)
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, measured, .. } = canvas;
        view::draw(around, self, styles, area, buffer, measured);
        None
    }

    fn paste(&mut self, _text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        Some(Vec::new())
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        linear_page::linear_page(self, around)
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }

    /// Shows the agent's plan, or closes and says why there is none.
    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        match reply {
            DialogReply::RewindPlanned(Ok(plan)) => {
                *self = Self::new(RewindStage::Planned(Arc::clone(plan)));
                Vec::new()
            }
            DialogReply::RewindPlanned(Err(reason)) => {
                vec![Intent::Close, Intent::Toast(NoticeLevel::Warning, reason.to_string())]
            }
            _ => Vec::new(),
        }
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn expected_line(&self) -> ExpectedLine {
        match self.stage {
            RewindStage::Planned(_) => ExpectedLine::Row,
            RewindStage::Planning | RewindStage::Going => ExpectedLine::Nothing,
        }
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        self.choose_line(line).ok_or(LineAnswerError::NoRow)
    }
}

/// The files that have a row.
fn shown(plan: &RewindPlan) -> impl Iterator<Item = &PlannedFile> {
    plan.files.files.iter().filter(|file| file.action != FileAction::Nothing)
}

fn name(file: &PlannedFile, cwd: &Path) -> String {
    file.path.strip_prefix(cwd).unwrap_or(&file.path).to_string_lossy().into_owned()
}

fn row(file: &PlannedFile, asked: RewindFileQuestion, cwd: &Path) -> RewindRow {
    let (what, fate) = match &file.action {
        FileAction::Nothing => ("as it is".to_owned(), RewindFileOutcome::Stays),
        FileAction::Remove if file.replaces_user_changes() => {
            ("removed; /redo restores your version".to_owned(), RewindFileOutcome::Back)
        }
        FileAction::Remove => ("removed".to_owned(), RewindFileOutcome::Back),
        FileAction::Put(put) if put.is_merged => {
            ("merged with your changes".to_owned(), RewindFileOutcome::Back)
        }
        FileAction::Put(put) => {
            let word = match &file.now {
                None => "restored",
                Some(now) if now.hash == put.version.hash => "permissions restored",
                Some(_) if file.replaces_user_changes() => "restored; /redo restores your version",
                Some(_) => "restored",
            };
            (word.to_owned(), RewindFileOutcome::Back)
        }
        FileAction::Skip(left) => (format!("skipped: {}", left.words()), RewindFileOutcome::Stays),
    };
    let marked = match (&file.action, file.place.needs_answer()) {
        (_, false) => what,
        (FileAction::Skip(SkipReason::NeedsAnswer), true) => {
            format!("skipped: {}", marks(&file.place))
        }
        (_, true) => format!("{what}, {}", marks(&file.place)),
    };
    let name = name(file, cwd);
    let fate = match (fate, file.by) {
        (RewindFileOutcome::Back, FileChangeSource::Command) => RewindFileOutcome::BackFromCommand,
        (fate, FileChangeSource::Command | FileChangeSource::Tool | FileChangeSource::Rewind) => {
            fate
        }
    };
    RewindRow::File { name, lines: file.lines, what: marked, fate, asked }
}

/// The label of a file that needs an answer of its own; empty for other files.
fn marks(place: &FilePlace) -> &'static str {
    match (place.is_outside, &place.protected) {
        (true, Some(_)) => "protected and outside",
        (true, None) => "outside the workspace",
        (false, Some(_)) => "protected",
        (false, None) if place.is_one_of_links => "one of several links",
        (false, None) => "",
    }
}

/// The same as `marks`, in a sentence.
pub fn place_warning(path: &Path, place: &FilePlace, cwd: &Path) -> Option<String> {
    let name = path.strip_prefix(cwd).unwrap_or(path).to_string_lossy();
    match (place.is_outside, &place.protected) {
        (true, Some(what)) => Some(format!("{name} is outside the workspace and changes {what}.")),
        (true, None) => Some(format!("{name} is outside the workspace.")),
        (false, Some(what)) => Some(format!("{name} is protected: it changes {what}.")),
        (false, None) if place.is_one_of_links => {
            Some(format!("{name} is one of several links: where it will lead is not known."))
        }
        (false, None) => None,
    }
}

/// Changes by commands that cannot be taken back, in sentences.
pub fn not_covered(all: &[UntrackedChanges], cwd: &Path) -> Vec<String> {
    let named: BTreeSet<&Path> =
        all.iter().flat_map(|it| &it.files).map(|file| file.path.as_path()).collect();
    let more: u64 = all.iter().map(|it| it.more).sum();
    let mut sentences = Vec::new();
    let count = named.len() as u64 + more;
    if count > 0 {
        let names: Vec<_> = named
            .iter()
            .take(NAMED)
            .map(|path| path.strip_prefix(cwd).unwrap_or(path).to_string_lossy())
            .collect();
        let rest = if count > names.len() as u64 { ", …" } else { "" };
        let are = if count == 1 { "is" } else { "are" };
        let files = pluralise(count, "file");
        sentences.push(format!(
            "{files} changed by commands {are} not covered: {}{rest}",
            names.join(", ")
        ));
    }
    let folder = all.iter().find_map(|it| it.folder);
    sentences.extend(folder.map(|why| {
        let why = match why {
            UnwatchedFolderReason::TooManyFiles => "this folder has too many files to watch",
            UnwatchedFolderReason::TooSlow => "this folder takes too long to scan",
            UnwatchedFolderReason::Unreadable => "this folder could not be scanned",
        };
        format!("Changes by commands are not covered: {why}.")
    }));
    sentences
}
