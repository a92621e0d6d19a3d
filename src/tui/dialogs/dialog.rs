//! What every dialog can do. A dialog knows the conversation and what is shared, never the whole
//! screen: what it wants elsewhere it returns as intents.
//!
//! Each question of the shell about an open dialog ("does it close with the session?", "which keys does
//! it take?") is one method here, so that a new dialog answers them in its own folder.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::config::ThemeChoice;
use crate::domain::{AgentId, ApprovalId, ApprovalRequest, FollowedJobs};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{KeyPlace, KeyPress, Keymap};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;
use crate::tui::view::{RoleStyles, ViewLayouts};

use super::geometry::DialogGeometry;
use super::line::{ExpectedLine, LineAnswerError};
use super::linear_page::LinearPage;

/// A dialog, list or page over the chat.
pub trait Dialog: Debug {
    /// The place that its keys are looked up in.
    fn place(&self) -> KeyPlace;

    /// Handles a key that none of the keys that work everywhere is.
    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent>;

    /// Draws the dialog on the whole screen's area, and notes what it measures. Returns the caret's
    /// cell while the user types in it.
    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position>;

    /// How many rows above the input the dialog takes, at this width and of so many at most. `None`
    /// for a dialog that lies over the screen.
    fn docked_rows(
        &self,
        _around: DialogView<'_>,
        _layouts: &mut ViewLayouts,
        (_width, _room): (u16, u16),
    ) -> Option<u16> {
        None
    }

    /// The hints for the last line: key and word.
    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let named = self.place().listed().filter(|context| !context.is_general());
        named.flat_map(|context| keys.hints(context)).collect()
    }

    /// What happens to a key that comes before the dialog takes keys; `None` if it takes this one.
    fn early_key(&self, _key: &KeyPress<'_>) -> Option<EarlyKey> {
        None
    }

    /// Takes text in one piece. `None` if the text is for the input of the chat.
    fn paste(&mut self, _text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        None
    }

    /// What ctrl+c does.
    fn cancel(&self) -> Vec<Intent> {
        vec![Intent::Close]
    }

    /// Whether all keys, pastes and mouse events go to the dialog as they come, also those that work
    /// everywhere, and no question comes up over it.
    fn takes_everything(&self) -> bool {
        false
    }

    /// Takes a key as it comes, while the dialog takes everything.
    fn raw_key(&mut self, _key: KeyEvent, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        Vec::new()
    }

    /// Takes a mouse event as it comes, while the dialog takes everything.
    fn raw_mouse(&mut self, _event: MouseEvent, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        Vec::new()
    }

    /// Turns the wheel by a number of rows; negative is up.
    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>);

    /// The left mouse button goes down on a cell.
    fn click(&mut self, _at: (u16, u16), _around: &mut DialogContext<'_>) -> Vec<Intent> {
        Vec::new()
    }

    /// The mouse moves to a cell with the button held. `None` if the dialog does not care: what was
    /// dragged before it opened is still dragged.
    fn drag(&mut self, _at: (u16, u16), _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        None
    }

    /// The mouse button is released. `None` as for [`Self::drag`].
    fn button_up(&mut self) -> Option<Vec<Intent>> {
        None
    }

    /// Takes an answer, or other news, that may be for this dialog.
    fn reply(&mut self, _reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        Vec::new()
    }

    /// Whether the dialog waits for the answer to this request.
    fn is_waiting_for(&self, _id: RequestId) -> bool {
        false
    }

    /// A frame with the dialog was composed. What was measured is in `around`.
    fn drawn(&mut self, _layer: DialogLayer, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        Vec::new()
    }

    /// The guard that delays answers; `None` if the dialog asks no question.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        None
    }

    /// A copy of what [`Self::guard_mut`] borrows.
    fn guard(&self) -> Option<QuestionGuard> {
        None
    }

    /// Another program had the terminal, so unread input may not be meant for the dialog.
    fn screen_lost(&mut self) {
        self.guard_mut().into_iter().for_each(QuestionGuard::hidden);
    }

    /// The jobs that the agent has to tell about while the dialog is open; `None` for none.
    fn followed_jobs(&self) -> Option<FollowedJobs> {
        None
    }

    /// Whether the dialog closes when another session is opened.
    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Screen
    }

    /// The permission question that it asks.
    fn approval(&self) -> Option<&ApprovalRequest> {
        None
    }

    /// The id of the question that waits for its answer: one about a permission, or the model's.
    fn open_question(&self) -> Option<ApprovalId> {
        self.approval().map(|request| request.id)
    }

    /// The theme that the screen shows while the dialog is open.
    fn theme_preview(&self) -> Option<&ThemeChoice> {
        None
    }

    /// What a front end without a screen prints of it. `None` while there is nothing to print yet.
    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage>;

    /// What came to the page after it was printed, each with a key of its own; the page has it, too.
    fn linear_additions(&self, _around: DialogView<'_>) -> Vec<LinearPage> {
        Vec::new()
    }

    /// A front end without a screen has printed the page, or an addition.
    fn printed(&mut self, _shared: &SharedState) {}

    /// How a front end without keys understands the next line.
    fn expected_line(&self) -> ExpectedLine {
        ExpectedLine::Message
    }

    /// Whether a front end without keys, which has printed the dialog, closes it with the next line.
    fn is_over_once_printed(&self) -> bool {
        true
    }

    /// Takes a line from a front end without keys.
    ///
    /// # Errors
    ///
    /// Says why the line is no answer.
    fn line(&mut self, _line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        Ok(vec![Intent::Close])
    }
}

/// What a dialog sees, and may change, while it handles something.
#[derive(Debug)]
pub struct DialogContext<'a> {
    /// The conversation in front.
    pub conversation: &'a Conversation,
    pub shared: &'a mut SharedState,
    /// What the last frame with the dialog measured.
    pub measured: &'a DialogGeometry,
}

/// What a dialog sees while it is drawn.
#[derive(Debug, Clone, Copy)]
pub struct DialogView<'a> {
    /// The conversation in front.
    pub conversation: &'a Conversation,
    /// The conversations behind it.
    pub background: &'a BTreeMap<AgentId, Conversation>,
    pub shared: &'a SharedState,
}

/// What a dialog is drawn on.
pub struct DialogCanvas<'a> {
    pub layouts: &'a mut ViewLayouts,
    pub styles: &'a dyn RoleStyles,
    /// The whole screen.
    pub area: Rect,
    /// The rows above the input that a dialog in the dock gets; fewer than it wants, or none, where
    /// the screen is small.
    pub dock: Rect,
    pub buffer: &'a mut Buffer,
    /// Takes what the dialog measures.
    pub measured: &'a mut DialogGeometry,
}

impl DialogCanvas<'_> {
    /// The screen without its last line, which holds the hints.
    pub fn above_hints(&self) -> Rect {
        Rect { height: self.area.height.saturating_sub(1), ..self.area }
    }
}

/// Whether a dialog gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogLayer {
    Top,
    /// Another dialog lies over it.
    Covered,
}

/// When a dialog closes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogLifetime {
    /// When another session is opened: it shows something of this one.
    Session,
    /// Not at all.
    Screen,
}

/// What happens to a key that comes before a question takes answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyKey {
    /// It goes to what is under the dialog: the user was typing there.
    PassThrough,
    /// It goes there, too, and shows that the user types a text.
    Text,
    /// It is dropped: the user was answering the previous question.
    Discard,
}

/// A dialog that is to be opened, or `None` if there is nothing to show, and what that takes.
#[derive(Debug)]
pub struct DialogOpening<D> {
    pub dialog: Option<D>,
    pub effects: Vec<ScreenEffect>,
}

impl<D> DialogOpening<D> {
    /// Opens the dialog, and asks for these effects.
    pub fn of(dialog: D, effects: Vec<ScreenEffect>) -> Self {
        Self { dialog: Some(dialog), effects }
    }

    /// Opens nothing.
    pub fn nothing() -> Self {
        Self { dialog: None, effects: Vec::new() }
    }
}
