//! What the list changes on disk: renaming, deleting, and undoing that.

use crate::domain::{NoticeLevel, SessionId};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::keymap::{self, FieldKey, KeyPress, SidebarKey};
use crate::tui::app::sessions::{SessionRow, SessionStoreRequest};

use super::{Sidebar, SidebarContext, SidebarMode, SidebarOutcome, SidebarReadState};

/// A change on disk, with what it takes to take it back on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SidebarChange {
    /// A title.
    Rename { session: SessionId, before: String, title: String },
    /// Gone to the trash.
    Trash(SessionRow),
    /// Back from it.
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
        around: SidebarContext<'_>,
    ) -> SidebarOutcome {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) => return self.rename(around),
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

    fn rename(&mut self, around: SidebarContext<'_>) -> SidebarOutcome {
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
        if around.open == Some(session) {
            return SidebarOutcome::Retitle(title);
        }
        self.change(SidebarChange::Rename { session, before, title });
        SidebarOutcome::Stay
    }

    pub(super) fn delete(&mut self, around: SidebarContext<'_>) {
        let Some(row) = self.session().cloned() else { return };
        if around.open == Some(row.id) {
            let text = "This session is open. Open another one first, then delete it.";
            self.say(NoticeLevel::Warning, text);
            return;
        }
        self.take_out(row.id);
        let undo = around.keys.key(SidebarKey::Undo);
        self.say(NoticeLevel::Info, format!("Deleted “{}”. {undo} brings it back.", row.name()));
        self.trashed.push(row.clone());
        self.change(SidebarChange::Trash(row));
    }

    pub(super) fn undo(&mut self) {
        let Some(row) = self.trashed.pop() else {
            self.say(NoticeLevel::Info, "Nothing has been deleted.");
            return;
        };
        self.put_in(row.clone());
        self.change(SidebarChange::Restore(row));
    }

    fn change(&mut self, change: SidebarChange) {
        self.changes.push_back(change);
        // The list that is on its way does not know of it.
        if let SidebarReadState::Asked(_) = self.reading {
            self.reading = SidebarReadState::Wanted;
        }
    }

    /// Takes a change that failed back on screen.
    pub(super) fn take_back(&mut self, change: SidebarChange) {
        match change {
            SidebarChange::Rename { session, before, .. } => {
                if let Some(tree) = &mut self.tree {
                    tree.rename(session, &before);
                }
            }
            SidebarChange::Trash(row) => {
                self.trashed.retain(|other| other.id != row.id);
                // What did not go need not come back.
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
    /// What it takes on disk.
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
