//! The open dialogs, and for each what its last frame measured.

use crate::config::ThemeChoice;
use crate::domain::{ApprovalId, ApprovalRequest, FollowedJobs};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;

use super::dialog::{Dialog, DialogContext, DialogLayer, DialogLifetime, DialogOpening};
use super::geometry::DialogGeometry;
use super::open_dialog::OpenDialog;

/// The open dialogs, the topmost last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DialogStack {
    open: Vec<StackedDialog>,
}

#[derive(Debug, Clone, PartialEq)]
struct StackedDialog {
    dialog: OpenDialog,
    measured: DialogGeometry,
}

/// What dialogs ask for: the index of each that asks, and its intents. The topmost comes first, so
/// that closing one moves none of those that follow.
pub type DialogIntents = Vec<(usize, Vec<Intent>)>;

impl DialogStack {
    /// Whether no dialog is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many dialogs are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// The index of the dialog that gets the keys.
    pub fn top_index(&self) -> Option<usize> {
        self.open.len().checked_sub(1)
    }

    /// The dialog that gets the keys.
    pub fn top(&self) -> Option<&OpenDialog> {
        self.open.last().map(|it| &it.dialog)
    }

    /// The dialog that gets the keys.
    pub fn top_mut(&mut self) -> Option<&mut OpenDialog> {
        self.open.last_mut().map(|it| &mut it.dialog)
    }

    /// The dialogs, the topmost last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &OpenDialog> {
        self.open.iter().map(|it| &it.dialog)
    }

    /// Puts a dialog on top.
    pub fn push(&mut self, dialog: impl Into<OpenDialog>) {
        self.open
            .push(StackedDialog { dialog: dialog.into(), measured: DialogGeometry::default() });
    }

    /// Puts a dialog on top if there is one to open, and returns what that takes.
    pub fn open<D: Into<OpenDialog>>(&mut self, opening: DialogOpening<D>) -> Vec<ScreenEffect> {
        if let Some(dialog) = opening.dialog {
            self.push(dialog);
        }
        opening.effects
    }

    /// Closes the dialog of this index.
    pub fn close(&mut self, at: usize) {
        if at < self.open.len() {
            self.open.remove(at);
        }
    }

    /// Closes what shows something of the session; its open question only if `asks`, as another
    /// agent may have asked.
    pub fn session_closed(&mut self, asks: bool) {
        self.open.retain(|it| match it.dialog.lifetime() {
            DialogLifetime::Session => !asks && it.dialog.open_question().is_some(),
            DialogLifetime::Screen => true,
        });
    }

    /// Closes the question with this id.
    pub fn withdraw(&mut self, id: ApprovalId) {
        self.open.retain(|it| it.dialog.open_question() != Some(id));
    }

    /// Closes what a front end without keys has printed.
    pub fn printed_is_over(&mut self) {
        self.open.retain(|it| !it.dialog.is_over_once_printed());
    }

    /// The permission question that is asked.
    pub fn approval(&self) -> Option<&ApprovalRequest> {
        self.iter().find_map(|dialog| dialog.approval())
    }

    /// The id of the question that waits for its answer.
    pub fn open_question(&self) -> Option<ApprovalId> {
        self.iter().find_map(|dialog| dialog.open_question())
    }

    /// The theme that the topmost dialog with one previews.
    pub fn theme_preview(&self) -> Option<&ThemeChoice> {
        self.iter().rev().find_map(|dialog| dialog.theme_preview())
    }

    /// The jobs that the agent has to tell about for an open dialog.
    pub fn followed_jobs(&self) -> Option<FollowedJobs> {
        self.iter().find_map(|dialog| dialog.followed_jobs())
    }

    /// Whether a dialog waits for the answer to this request.
    pub fn is_waiting_for(&self, id: RequestId) -> bool {
        self.iter().any(|dialog| dialog.is_waiting_for(id))
    }

    /// Whether an answer counts now: the guard of the topmost question is armed, or there is no
    /// question.
    pub fn takes_answers(&self) -> bool {
        self.top().is_none_or(|dialog| dialog.guard().is_none_or(QuestionGuard::is_armed))
    }

    /// Whether the dialog on top takes all input as it comes.
    pub fn takes_everything(&self) -> bool {
        self.top().is_some_and(|dialog| dialog.takes_everything())
    }

    /// Has the dialog of this index do something.
    pub fn with<T>(
        &mut self,
        at: usize,
        conversation: &Conversation,
        shared: &mut SharedState,
        act: impl FnOnce(&mut dyn Dialog, &mut DialogContext<'_>) -> T,
    ) -> Option<T> {
        let StackedDialog { dialog, measured } = self.open.get_mut(at)?;
        Some(act(&mut **dialog, &mut DialogContext { conversation, shared, measured }))
    }

    /// Tells every dialog.
    pub fn reply(
        &mut self,
        reply: &DialogReply,
        conversation: &Conversation,
        shared: &mut SharedState,
    ) -> DialogIntents {
        self.each(conversation, shared, |dialog, _, around| dialog.reply(reply, around))
    }

    /// Takes over what a frame measured, in the order of the dialogs.
    pub fn drawn(
        &mut self,
        measured: Vec<DialogGeometry>,
        conversation: &Conversation,
        shared: &mut SharedState,
    ) -> DialogIntents {
        for (it, measured) in self.open.iter_mut().zip(measured) {
            it.measured = measured.on_screen((shared.geometry.width, shared.geometry.height));
        }
        self.shown();
        self.each(conversation, shared, |dialog, layer, around| dialog.drawn(layer, around))
    }

    /// Tells the guard of the topmost dialog, if it asks a question.
    pub fn on_guard(&mut self, tell: impl FnOnce(&mut QuestionGuard)) {
        if let Some(guard) = self.top_mut().and_then(|dialog| dialog.guard_mut()) {
            tell(guard);
        }
    }

    /// Tells the guards which questions are visible: only the topmost one, as questions below another
    /// dialog accept no answer, and that one only if the screen has room for it.
    pub fn shown(&mut self) {
        let Some((top, below)) = self.open.split_last_mut() else { return };
        let guards = below.iter_mut().filter_map(|it| it.dialog.guard_mut());
        guards.for_each(QuestionGuard::hidden);
        let tell = match top.measured.is_cramped {
            true => QuestionGuard::hidden,
            false => QuestionGuard::drawn,
        };
        top.dialog.guard_mut().into_iter().for_each(tell);
    }

    /// Another program had the terminal.
    pub fn screen_lost(&mut self) {
        self.open.iter_mut().for_each(|it| it.dialog.screen_lost());
    }

    fn each(
        &mut self,
        conversation: &Conversation,
        shared: &mut SharedState,
        mut act: impl FnMut(&mut dyn Dialog, DialogLayer, &mut DialogContext<'_>) -> Vec<Intent>,
    ) -> DialogIntents {
        let mut asked = DialogIntents::new();
        let mut layer = DialogLayer::Top;
        for (at, StackedDialog { dialog, measured }) in self.open.iter_mut().enumerate().rev() {
            let mut around = DialogContext { conversation, shared: &mut *shared, measured };
            let intents = act(&mut **dialog, layer, &mut around);
            if !intents.is_empty() {
                asked.push((at, intents));
            }
            layer = DialogLayer::Covered;
        }
        asked
    }
}
