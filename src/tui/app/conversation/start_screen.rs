//! What a session shows before its first message: which sessions were used last in this folder, and
//! which of them is selected. The rows are read while the first frame is on screen already.

use std::path::Path;

use crate::domain::SessionId;

use super::Conversation;
use super::block::BlockBody;
use crate::services::sessions::{SessionList, SessionStoreRequest};
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::shared::SharedState;
use crate::tui::app::sidebar::age;

/// The most sessions that are listed: one for each digit key.
const MOST_RECENT: usize = 9;

/// The most blocks of a conversation that are looked at; a longer one is no new session.
const MOST_NOTICES: usize = 20;

/// The list of recent sessions on the start screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentSessions {
    rows: Vec<RecentSession>,
    selected: Option<usize>,
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentSession {
    pub id: SessionId,
    pub title: String,
    /// As in `12m`.
    pub age: String,
}

impl RecentSessions {
    /// The rows that a screen of this height shows.
    pub fn rows(&self, height: u16) -> &[RecentSession] {
        let most = match height {
            0..12 => 2,
            12..20 => 3,
            20..30 => 5,
            30.. => MOST_RECENT,
        };
        &self.rows[..self.rows.len().min(most)]
    }

    /// The row that enter opens.
    pub fn selected(&self) -> Option<usize> {
        self.selected
    }

    /// Takes over the sessions of a folder, without the one that is open.
    fn fill(&mut self, list: SessionList, folder: &Path, open: Option<SessionId>) {
        let SessionList { mut rows, now, .. } = list;
        rows.retain(|row| {
            row.working_directory == folder && Some(row.id) != open && !row.title.is_empty()
        });
        rows.sort_by_key(|row| std::cmp::Reverse(row.last_used_at));
        let rows = rows.into_iter().take(MOST_RECENT);
        self.rows = rows
            .map(|row| RecentSession {
                age: age(row.last_used_at, now),
                id: row.id,
                title: row.title,
            })
            .collect();
        self.selected = None;
    }
}

/// Whether the start screen is shown: nothing has been said yet. Notices do not count.
pub fn is_shown(conversation: &Conversation) -> bool {
    let blocks = conversation.transcript.blocks();
    blocks.len() <= MOST_NOTICES
        && blocks.iter().all(|block| matches!(block.body, BlockBody::Notice(_)))
}

/// Asks for the sessions used last.
pub fn ask(shared: &mut SharedState) -> ScreenEffect {
    let id = shared.requests.issue();
    shared.requests.recent = Some(id);
    // Those without a title are left out, and so is the one that is open.
    let (folder, count) = (shared.settings.cwd.clone(), 2 * MOST_RECENT);
    ScreenEffect::Sessions { id, job: SessionStoreRequest::Recent { folder, count } }
}

/// Takes the answer to [`ask`]. Without one the screen just has no list.
pub fn answered(conversation: &mut Conversation, shared: &mut SharedState, list: SessionList) {
    shared.requests.recent = None;
    let open = conversation.status.session;
    conversation.recent.fill(list, &shared.settings.cwd, open);
}

/// Moves the selection down into the list. `false` where there is nothing to move to.
pub fn down(conversation: &mut Conversation, shared: &SharedState) -> bool {
    move_to(conversation, shared, |selected| Some(selected.map_or(0, |at| at + 1)))
}

/// Moves the selection up, and from the first row back to the input. `false` where nothing is
/// selected.
pub fn up(conversation: &mut Conversation, shared: &SharedState) -> bool {
    conversation.recent.selected.is_some()
        && move_to(conversation, shared, |selected| selected.and_then(|at| at.checked_sub(1)))
}

fn move_to(
    conversation: &mut Conversation,
    shared: &SharedState,
    step: impl FnOnce(Option<usize>) -> Option<usize>,
) -> bool {
    let count = conversation.recent.rows(shared.geometry.height).len();
    if count == 0 || !is_shown(conversation) || !conversation.composer.is_empty() {
        return false;
    }
    let to = step(conversation.recent.selected);
    conversation.recent.selected = to.map(|at| at.min(count - 1));
    true
}

/// Takes the selection away, if there is one.
pub fn leave(conversation: &mut Conversation) -> bool {
    conversation.recent.selected.take().is_some()
}

/// Opens the selected session; `None` where none is selected.
pub fn open_selected(conversation: &mut Conversation) -> Option<Vec<Intent>> {
    let is_asked = is_shown(conversation) && conversation.composer.is_empty();
    let selected = conversation.recent.selected.take().filter(|_| is_asked)?;
    open(conversation, selected)
}

/// Opens the session of this row, from 0; `None` where there is no such row on screen.
pub fn open_numbered(
    conversation: &Conversation,
    shared: &SharedState,
    row: usize,
) -> Option<Vec<Intent>> {
    let is_there = conversation.composer.is_empty()
        && row < conversation.recent.rows(shared.geometry.height).len();
    if is_there && is_shown(conversation) { open(conversation, row) } else { None }
}

fn open(conversation: &Conversation, row: usize) -> Option<Vec<Intent>> {
    let session = conversation.recent.rows.get(row)?.id;
    Some(vec![Intent::Choose(PickerChoice::Session(session))])
}
