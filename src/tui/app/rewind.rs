//! Going back in the session, and forth again: the list of messages to go back before, and the
//! dialog that shows what would happen before anything does.
//!
//! The agent plans and does it. Nothing here is done by a key but what the dialog shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{self, RewindPlan, RewindTo};
use crate::domain::{NoticeLevel, Typed};
use crate::session::undo::{Act, Left, PlannedFile};
use crate::session::{ChangedBy, NotCovered, Rewound, Unwatched};

use super::block::{Body, Shows};
use super::commands;
use super::effect::Effect;
use super::geometry::Extent;
use super::keymap::{self, ChatKey, Press, RewindKey};
use super::model::{Focus, Model};
use super::overlay::{Overlay, Step, scrolled};
use super::picker::{Choice, Item, Picker};
use super::title::first_line;
use super::transcript::BlockId;

/// How long a second Escape may take.
const TWICE: Duration = Duration::from_millis(1500);
/// Files that are named of those that are not covered.
const NAMED: usize = 5;

/// What the mark of [`Fate::BackFromCommand`] says.
const WHILE_A_COMMAND_RAN: &str =
    "$ changed while a command ran: by the command, or by you meanwhile";

/// The dialog.
#[derive(Debug, Clone, PartialEq)]
pub struct RewindDialog {
    /// What is shown.
    pub stage: Stage,
    /// Rows above the part that is shown.
    pub scroll: usize,
}

/// What the dialog shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Nothing yet: what would happen is being looked at.
    Planning,
    /// What would happen.
    Planned(Arc<RewindPlan>),
    /// It is being done.
    Going,
}

/// A row of what would happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Nothing.
    Gap,
    /// The message that it goes back before.
    Message(String),
    /// Something to know.
    Note(String),
    /// Something that does not go back.
    Warning(String),
    /// What becomes of a file.
    File {
        /// Its name.
        name: String,
        /// Lines that come and that go.
        lines: Option<(usize, usize)>,
        /// What becomes of it, in a few words.
        what: String,
        /// Whether it goes back.
        fate: Fate,
    },
}

/// Whether a file goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It does.
    Back,
    /// It does, and so does what the person saved while the command ran that changed it.
    BackFromCommand,
    /// It stays as it is.
    Stays,
}

impl Fate {
    /// The mark before a file.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Back => "· ",
            Self::BackFromCommand => "$ ",
            Self::Stays => "! ",
        }
    }
}

impl RewindDialog {
    /// What it is about.
    pub fn title(&self) -> &'static str {
        match &self.stage {
            Stage::Planned(plan) if plan.to == RewindTo::Again => "Bring back",
            Stage::Planning | Stage::Planned(_) | Stage::Going => "Go back",
        }
    }

    /// What can be chosen, the first with Enter: its key, and what goes.
    pub fn offers(&self) -> Vec<(RewindKey, &'static str)> {
        let Stage::Planned(plan) = &self.stage else { return Vec::new() };
        let key = |at, what| match what {
            _ if at == 0 => RewindKey::Accept,
            Rewound::Files => RewindKey::Files,
            Rewound::Both | Rewound::Conversation => RewindKey::Conversation,
        };
        let word = |what| match what {
            Rewound::Both => "files and conversation",
            Rewound::Files => "files only",
            Rewound::Conversation => "conversation only",
        };
        let offers = plan.offers.iter().enumerate();
        offers.map(|(at, what)| (key(at, *what), word(*what))).collect()
    }

    /// What would happen.
    pub fn rows(&self, cwd: &Path) -> Vec<Row> {
        let plan = match &self.stage {
            Stage::Planned(plan) => plan,
            Stage::Planning | Stage::Going => return vec![Row::Note("One moment …".to_owned())],
        };
        let again = plan.to == RewindTo::Again;
        let mut rows = vec![Row::Message(first_line(&plan.message.text))];
        let count = counted(plan.messages, "message");
        let what = plan.offers.first().copied().unwrap_or(Rewound::Conversation);
        rows.push(Row::Note(match (again, what.has_conversation()) {
            (false, _) => format!("takes {count} back; your words return to the input"),
            (true, true) => format!("brings {count} back"),
            (true, false) => "the conversation stays as it is".to_owned(),
        }));
        let files = &plan.files;
        let shown: Vec<&PlannedFile> =
            files.files.iter().filter(|file| file.act != Act::Nothing).collect();
        rows.push(Row::Gap);
        if shown.is_empty() {
            rows.push(Row::Note("No file changes".to_owned()));
        }
        rows.extend(shown.iter().map(|file| row(file, cwd)));
        if rows.iter().any(|row| matches!(row, Row::File { fate: Fate::BackFromCommand, .. })) {
            rows.push(Row::Note(WHILE_A_COMMAND_RAN.to_owned()));
        }
        let same = files.files.len() - shown.len();
        if same > 0 && !shown.is_empty() {
            let text = match same {
                1 => "1 more file is so already".to_owned(),
                same => format!("{same} more files are so already"),
            };
            rows.push(Row::Note(text));
        }
        rows.extend(not_covered(&files.not_covered, cwd).into_iter().map(Row::Warning));
        rows
    }

    /// A key.
    pub fn key(&mut self, key: &Press<'_>, extent: Extent) -> Step {
        let Some(key) = keymap::find(keymap::REWIND, key) else { return Step::Stay };
        let wanted = match key {
            RewindKey::Back => return Step::Close,
            RewindKey::Scroll(how) => {
                self.scroll = scrolled(self.scroll, how, extent);
                return Step::Stay;
            }
            RewindKey::Accept => None,
            RewindKey::Files => Some(Rewound::Files),
            RewindKey::Conversation => Some(Rewound::Conversation),
        };
        self.go(wanted)
    }

    /// A line: the number of an offer, or nothing.
    pub fn line(&mut self, text: &str) -> Option<Step> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Step::Close);
        }
        let Stage::Planned(plan) = &self.stage else { return None };
        let number: usize = text.parse().ok()?;
        let offer = plan.offers.get(number.checked_sub(1)?).copied()?;
        Some(self.go(Some(offer)))
    }

    /// Chooses one of the offers, the first where none is named.
    pub fn go(&mut self, wanted: Option<Rewound>) -> Step {
        let Stage::Planned(plan) = &self.stage else { return Step::Stay };
        let mut offers = plan.offers.iter().copied();
        let what = match wanted {
            None => offers.next(),
            Some(wanted) => offers.find(|offer| *offer == wanted),
        };
        let Some(what) = what else { return Step::Stay };
        let plan = Arc::clone(plan);
        self.stage = Stage::Going;
        Step::Rewind(plan, what)
    }
}

fn row(file: &PlannedFile, cwd: &Path) -> Row {
    let (what, fate) = match &file.act {
        Act::Nothing => ("as it is".to_owned(), Fate::Stays),
        Act::Remove => ("removed".to_owned(), Fate::Back),
        Act::Put(put) if put.is_merged => ("merged with your changes".to_owned(), Fate::Back),
        Act::Put(put) => {
            let word = match &file.now {
                None => "brought back",
                Some(now) if now.hash == put.image.hash => "permissions restored",
                Some(_) => "restored",
            };
            (word.to_owned(), Fate::Back)
        }
        Act::Leave(left) => {
            let why = match left {
                Left::SameLines => "you changed the same lines",
                Left::Changed => "you changed it since",
                Left::Removed => "you removed it since",
                Left::MadeAnew => "you made it anew",
                Left::Lost => "its content is not kept",
                Left::Other(what) => what,
            };
            (format!("left: {why}"), Fate::Stays)
        }
    };
    let name = file.path.strip_prefix(cwd).unwrap_or(&file.path);
    let name = name.to_string_lossy().into_owned();
    let fate = match (fate, file.by) {
        (Fate::Back, ChangedBy::Command) => Fate::BackFromCommand,
        (fate, ChangedBy::Command | ChangedBy::Tool | ChangedBy::Rewind) => fate,
    };
    Row::File { name, lines: file.lines, what, fate }
}

/// What commands changed and cannot be taken back, in sentences.
fn not_covered(all: &[NotCovered], cwd: &Path) -> Vec<String> {
    let named: BTreeSet<&Path> =
        all.iter().flat_map(|it| &it.files).map(|file| file.path.as_path()).collect();
    let more: u64 = all.iter().map(|it| it.more).sum();
    let mut said = Vec::new();
    let count = named.len() as u64 + more;
    if count > 0 {
        let names: Vec<_> = named
            .iter()
            .take(NAMED)
            .map(|path| path.strip_prefix(cwd).unwrap_or(path).to_string_lossy())
            .collect();
        let rest = if count > names.len() as u64 { ", …" } else { "" };
        let are = if count == 1 { "is" } else { "are" };
        let files = counted(count, "file");
        said.push(format!(
            "{files} changed by commands {are} not covered: {}{rest}",
            names.join(", ")
        ));
    }
    let folder = all.iter().find_map(|it| it.folder);
    said.extend(folder.map(|why| {
        let why = match why {
            Unwatched::TooManyFiles => "this folder has too many files to watch",
            Unwatched::TooSlow => "this folder takes too long to look at",
            Unwatched::Unreadable => "this folder could not be looked at",
        };
        format!("What commands changed is not covered: {why}.")
    }));
    said
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Asks what going there would do, and shows it.
pub fn open(model: &mut Model, to: RewindTo) -> Vec<Effect> {
    if commands::something_runs(model) {
        let stop = model.settings.keys.key(ChatKey::Back);
        model.toast(NoticeLevel::Warning, format!("A turn is running. Stop it with {stop} first."));
        return Vec::new();
    }
    if model.status.session.is_none() {
        model.toast(NoticeLevel::Info, "Nothing has been said in this session yet.");
        return Vec::new();
    }
    let dialog = RewindDialog { stage: Stage::Planning, scroll: 0 };
    model.overlays.push(Overlay::Rewind(Box::new(dialog)));
    vec![Effect::Agent(agent::Command::PlanRewind(to))]
}

/// The list of the person's messages, the newest first.
pub fn list(model: &mut Model) -> Vec<Effect> {
    let mut items = Vec::new();
    let mut files = BTreeSet::new();
    for block in model.transcript.blocks().iter().rev() {
        match &block.body {
            Body::Tool(tool) => {
                if let Shows::Diff(diff) = &tool.shows {
                    files.insert(diff.path.clone());
                }
            }
            Body::User(text) => {
                if let Some(entry) = block.entry {
                    let aside = match std::mem::take(&mut files).len() as u64 {
                        0 => String::new(),
                        count => counted(count, "file"),
                    };
                    items.push(Item {
                        label: first_line(text),
                        detail: String::new(),
                        aside,
                        choice: Choice::Rewind(entry),
                    });
                }
            }
            Body::Assistant(_)
            | Body::Thinking(_)
            | Body::Image(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => {}
        }
    }
    if items.is_empty() {
        model.toast(NoticeLevel::Info, "Nothing has been said in this session yet.");
        return Vec::new();
    }
    model.overlays.push(Overlay::Picker(Box::new(Picker::ready("Go back before", items))));
    Vec::new()
}

/// Escape, with nothing to close or stop: the second one in a row opens the list.
pub fn escape(model: &mut Model) -> Vec<Effect> {
    let has_messages = model.transcript.blocks().iter().any(|block| block.entry.is_some());
    if model.focus != Focus::Input || !has_messages {
        model.focus = Focus::Input;
        return Vec::new();
    }
    if model.rewinding.take().is_some_and(|until| model.now < until) {
        model.toast = None;
        return list(model);
    }
    let key = model.settings.keys.key(ChatKey::Back);
    model.toast(NoticeLevel::Info, format!("{key} again: go back to an earlier message"));
    model.rewinding = Some(model.now + TWICE);
    Vec::new()
}

/// Goes back before the message that a block belongs to.
pub fn at(model: &mut Model, block: BlockId) -> Vec<Effect> {
    let upto = model.transcript.index(block);
    let blocks = model.transcript.blocks().iter().take(upto + 1).rev();
    let mut own = blocks.filter(|block| matches!(block.body, Body::User(_)));
    match own.find_map(|block| block.entry) {
        Some(entry) => open(model, RewindTo::Before(entry)),
        None => {
            model.toast(NoticeLevel::Info, "There is no message of yours to go back before.");
            Vec::new()
        }
    }
}

/// The agent says what would happen, or why it cannot.
pub fn planned(model: &mut Model, plan: Result<Arc<RewindPlan>, String>) {
    let dialog = |overlay: &Overlay| matches!(overlay, Overlay::Rewind(_));
    let Some(at) = model.overlays.iter().position(dialog) else { return };
    match plan {
        Ok(plan) => {
            if let Some(Overlay::Rewind(dialog)) = model.overlays.get_mut(at) {
                **dialog = RewindDialog { stage: Stage::Planned(plan), scroll: 0 };
            }
        }
        Err(reason) => {
            model.overlays.remove(at);
            model.toast(NoticeLevel::Warning, reason);
        }
    }
}

/// It was done: what the person had said is theirs again.
pub fn done(model: &mut Model, message: Option<Typed>, told: String) -> Vec<Effect> {
    model.toast(NoticeLevel::Info, told);
    let Some(message) = message else { return Vec::new() };
    let mut effects = Vec::new();
    if !model.composer.is_empty() {
        let draft = model.composer.take();
        effects.extend(commands::remember(model, &draft));
    }
    model.composer.load(message);
    effects
}
