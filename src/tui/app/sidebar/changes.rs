//! Changes of sessions on disk: renaming, deleting, and undoing a deletion.

use crate::domain::{NoticeLevel, SessionId};
use crate::services::sessions::{SessionRow, SessionStoreRequest};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::keymap::{self, FieldKey, KeyPress, SidebarKey};

use super::{Sidebar, SidebarContext, SidebarMode, SidebarOutcome, SidebarReadState};

/// A change on disk, with what is needed to revert it on screen if it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SidebarChange {
    Rename {
        session: SessionId,
        before: String,
        title: String,
    },
    /// Moves a session to the trash.
    Trash(SessionRow),
    /// Brings a session back from the trash.
    Restore(SessionRow),
}

impl Sidebar {
    pub(super) fn begin_rename(&mut self) {
        if let Some(row) = self.session() {
            let editor = TextEditor::with_text(EditorLines::One, &row.title);
            self.mode = SidebarMode::Renaming { session: row.id, editor };
        }
    }

    pub(super) fn title_key(
        &mut self,
        key: &KeyPress<'_>,
        context: SidebarContext<'_>,
    ) -> SidebarOutcome {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) => return self.rename(context),
            Some(FieldKey::Back) => self.mode = SidebarMode::Browsing,
            Some(FieldKey::Next | FieldKey::Newline) => {}
            None => {
                if let Some(editor) = self.editor() {
                    editor.key(key);
                }
            }
        }
        SidebarOutcome::Stay
    }

    fn rename(&mut self, context: SidebarContext<'_>) -> SidebarOutcome {
        let mode = std::mem::replace(&mut self.mode, SidebarMode::Browsing);
        let (SidebarMode::Renaming { session, editor }, Some(tree)) = (mode, &mut self.tree) else {
            return SidebarOutcome::Stay;
        };
        let title = editor.text().trim().to_owned();
        let before = tree.get(session).map(|row| row.title.clone()).unwrap_or_default();
        if title.is_empty() || title == before {
            return SidebarOutcome::Stay;
        }
        tree.rename(session, &title);
        if context.open == Some(session) {
            return SidebarOutcome::Retitle(title);
        }
        self.change(SidebarChange::Rename { session, before, title });
        SidebarOutcome::Stay
    }

    pub(super) fn delete(&mut self, context: SidebarContext<'_>) {
        let Some(row) = self.session().cloned() else { return };
        if context.open == Some(row.id) {
            let text = "This session is open. Open another one first.";
            self.say(NoticeLevel::Warning, text);
            return;
        }
        self.take_out(row.id);
        let undo = context.keys.key(SidebarKey::Undo);
        self.say(NoticeLevel::Info, format!("Deleted “{}”. {undo} restores it.", row.name()));
        self.trashed.push(row.clone());
        self.change(SidebarChange::Trash(row));
    }

    pub(super) fn undo(&mut self) {
        let Some(row) = self.trashed.pop() else {
            self.say(NoticeLevel::Info, "Nothing to restore.");
            return;
        };
        self.put_in(row.clone());
        self.change(SidebarChange::Restore(row));
    }

    fn change(&mut self, change: SidebarChange) {
        self.changes.push_back(change);
        // A list that is being read may not contain this change: read it again.
        if let SidebarReadState::Asked(_) = self.reading {
            self.reading = SidebarReadState::Wanted;
        }
    }

    /// Reverts a change on screen that failed on disk.
    pub(super) fn take_back(&mut self, change: SidebarChange) {
        match change {
            SidebarChange::Rename { session, before, .. } => {
                if let Some(tree) = &mut self.tree {
                    tree.rename(session, &before);
                }
            }
            SidebarChange::Trash(row) => {
                self.trashed.retain(|other| other.id != row.id);
                // The session was not deleted, so a queued restore of it is void.
                self.changes.retain(|change| *change != SidebarChange::Restore(row.clone()));
                self.put_in(row);
            }
            SidebarChange::Restore(row) => {
                self.take_out(row.id);
                self.trashed.push(row);
            }
        }
    }

    fn take_out(&mut self, session: SessionId) {
        let line = self.selected;
        if let Some(tree) = &mut self.tree {
            tree.remove(session);
        }
        self.selected = line;
        self.step(0);
    }

    fn put_in(&mut self, row: SessionRow) {
        let session = row.id;
        if let Some(tree) = &mut self.tree {
            tree.insert(row);
        }
        self.find(session);
    }
}

impl SidebarChange {
    /// The request that makes the change on disk.
    pub(super) fn job(&self) -> SessionStoreRequest {
        match self {
            Self::Rename { session, title, .. } => {
                SessionStoreRequest::Rename { session: *session, title: title.clone() }
            }
            Self::Trash(row) => SessionStoreRequest::Trash { session: row.id },
            Self::Restore(row) => SessionStoreRequest::Restore { session: row.id },
        }
    }
}
