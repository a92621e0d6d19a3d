//! The guided tour of the demo: its marks, and what each says. What ends a mark is in
//! [`super::tour_progress`].

use super::keymap::{
    AlwaysKey, ApprovalKey, ChangesKey, ChatKey, InputKey, Keymap, ListKey, RewindKey, ScrollAction,
};

/// What the user is shown how to do, in this order.
const MARKS: [TourMark; 12] = [
    TourMark::Send,
    TourMark::Watch,
    TourMark::LeaveOut,
    TourMark::TakeIn,
    TourMark::AllowEdit,
    TourMark::RunTests,
    TourMark::Answer,
    TourMark::OpenPalette,
    TourMark::ClosePalette,
    TourMark::OpenChanges,
    TourMark::Undo,
    TourMark::Rewind,
];

/// The keys that mean something only while the tour is shown.
pub const TOUR_KEYS: [AlwaysKey; 2] = [AlwaysKey::SkipMark, AlwaysKey::LeaveTour];

/// The card at the end: what to press for what others do not have, as tried on the day that the
/// comparison names.
pub const CARD: [(&str, &str); 6] = [
    ("Accept part of an edit", "each change has its own box; the model is told what you left out"),
    (
        "Edit the command, or the rule, before your yes",
        "what you read is what runs and what is saved",
    ),
    ("See every part of a command judged", "`a && b | c` is three decisions, each with its rule"),
    (
        "Undo files and conversation together, and redo",
        "also what commands changed; nothing is lost",
    ),
    ("Keep every session", "list, search, fork and compare them beside the chat"),
    ("Show it to others", "`slug replay ID --format svg` draws a session, without its secrets"),
];

/// One thing that the tour shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TourMark {
    /// Send the prepared message.
    Send,
    /// slug reads without a question.
    Watch,
    /// Leave a change of the edit out.
    LeaveOut,
    /// Take it in again.
    TakeIn,
    AllowEdit,
    RunTests,
    /// slug answers.
    Answer,
    OpenPalette,
    ClosePalette,
    OpenChanges,
    Undo,
    /// Confirm what the undo shows.
    Rewind,
}

/// Where the marks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TourForm {
    Screen,
    /// As lines. What only keys can do is left out.
    Lines,
}

/// How much of the question on screen has been shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionExtent {
    InPart,
    /// To its end, or there is no question.
    Whole,
}

/// How far the tour is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TourState {
    form: TourForm,
    at: usize,
}

impl TourState {
    /// A tour at its first mark.
    pub fn new(form: TourForm) -> Self {
        Self { form, at: 0 }
    }

    /// The mark that is shown; `None` after the last one.
    pub fn mark(&self) -> Option<TourMark> {
        let is_shown = |mark: &&TourMark| self.form == TourForm::Screen || mark.line().is_some();
        MARKS.get(self.at).filter(is_shown).copied()
    }

    /// Whether all marks are over.
    pub fn is_over(&self) -> bool {
        self.at >= MARKS.len()
    }

    /// Ends the mark that is shown.
    pub fn skip(&mut self) {
        self.at += 1;
    }

    /// The number of the mark, and of all.
    pub fn number(&self) -> (usize, usize) {
        let is_shown = |mark: &&TourMark| self.form == TourForm::Screen || mark.line().is_some();
        let before = MARKS.iter().take(self.at).filter(is_shown).count();
        (before + 1, MARKS.iter().filter(is_shown).count())
    }

    /// What the mark says, with the keys as they are bound.
    pub fn text(&self, keys: &Keymap, read: QuestionExtent) -> String {
        let mark = MARKS.get(self.at);
        match self.form {
            TourForm::Screen => mark.map(|mark| mark.text(keys, read)).unwrap_or_default(),
            TourForm::Lines => mark.and_then(|mark| mark.line()).unwrap_or_default().to_owned(),
        }
    }

    /// The keys that end the mark and the tour, each with its word.
    pub fn keys(keys: &Keymap) -> [(String, &'static str); 2] {
        [
            (keys.key(AlwaysKey::SkipMark), "skip"),
            (keys.key(AlwaysKey::LeaveTour), "leave the tour"),
        ]
    }
}

impl TourMark {
    fn text(self, keys: &Keymap, read: QuestionExtent) -> String {
        let send = keys.key(InputKey::Send);
        let yes = keys.key(ApprovalKey::Once);
        match self {
            Self::Send => format!("{send} sends the message in the input."),
            Self::Watch => {
                "slug reads without asking. It asks before it changes a file.".to_owned()
            }
            Self::LeaveOut => format!("{} leaves this change out.", keys.key(ApprovalKey::Pick)),
            Self::TakeIn => format!("{} includes it again.", keys.key(ApprovalKey::Pick)),
            Self::AllowEdit if read == QuestionExtent::InPart => {
                let down = keys.key(ApprovalKey::Scroll(ScrollAction::PageDown));
                format!("{down} shows the rest of the edit. Then {yes} allows it.")
            }
            Self::AllowEdit => format!("{yes} allows the edit."),
            Self::RunTests => {
                let edit = keys.key(ApprovalKey::EditCommand);
                format!("{yes} runs the tests. {edit} would edit the command first.")
            }
            Self::Answer => "slug sums up what it did.".to_owned(),
            Self::OpenPalette => {
                format!("{} lists every command and key.", keys.key(ChatKey::Palette))
            }
            Self::ClosePalette => {
                format!("Type to search the list. {} closes it.", keys.key(ListKey::Back))
            }
            Self::OpenChanges => {
                let back = keys.key(ChangesKey::Back);
                format!("Type /diff and press {send}: what this session changed. {back} closes it.")
            }
            Self::Undo => format!("Type /undo and press {send}: back before your message."),
            Self::Rewind => {
                let accept = keys.key(RewindKey::Accept);
                format!("{accept} takes back the conversation and the file. /redo restores both.")
            }
        }
    }

    /// What a front end without keys says; `None` for what it cannot do.
    fn line(self) -> Option<&'static str> {
        match self {
            Self::Send => Some(
                "Type a message and press enter. The task is always the same: customers say that a \
                 500 g parcel costs too much.",
            ),
            Self::Watch => Some("slug reads without asking. It asks before it changes a file."),
            Self::AllowEdit => Some("y allows the edit; n refuses it; t says what to do instead."),
            Self::RunTests => Some("y runs the tests; e and a command runs that one instead."),
            Self::OpenChanges => Some("/diff reads out what this session changed."),
            Self::Undo => Some("/undo goes back before your message, with the file."),
            Self::Rewind => {
                Some("1 takes back the conversation and the file; /redo restores both.")
            }
            Self::LeaveOut
            | Self::TakeIn
            | Self::Answer
            | Self::OpenPalette
            | Self::ClosePalette => None,
        }
    }
}
