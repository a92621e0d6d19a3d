//! What the list changes on disk: renaming, deleting, and undoing that.

use crate::domain::{NoticeLevel, SessionId};
use crate::tui::app::editor::{Editor, Lines};
use crate::tui::app::keymap::{self, FieldKey, Press, SidebarKey};
use crate::tui::app::sessions::{SessionJob, SessionRow};

use super::{Around, Mode, Reading, Sidebar, Step};

/// A change on disk, with what it takes to take it back on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
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
            let editor = Editor::with_text(Lines::One, &row.title);
            self.mode = Mode::Renaming { session: row.id, editor };
        }
    }

    pub(super) fn title_key(&mut self, key: &Press<'_>, around: Around<'_>) -> Step {
        match keymap::find(keymap::FIELD, key) {
            Some(FieldKey::Accept) => return self.rename(around),
            Some(FieldKey::Back) => self.mode = Mode::Browsing,
            Some(FieldKey::Next | FieldKey::Newline) => {}
            None => {
                if let Some(editor) = self.editor() {
                    editor.key(key);
                }
            }
        }
        Step::Stay
    }

    fn rename(&mut self, around: Around<'_>) -> Step {
        let mode = std::mem::replace(&mut self.mode, Mode::Browsing);
        let (Mode::Renaming { session, editor }, Some(tree)) = (mode, &mut self.tree) else {
            return Step::Stay;
        };
        let title = editor.text().trim().to_owned();
        let before = tree.get(session).map(|row| row.title.clone()).unwrap_or_default();
        if title.is_empty() || title == before {
            return Step::Stay;
        }
        tree.rename(session, &title);
        if around.open == Some(session) {
            return Step::Retitle(title);
        }
        self.change(Change::Rename { session, before, title });
        Step::Stay
    }

    pub(super) fn delete(&mut self, around: Around<'_>) {
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
        self.change(Change::Trash(row));
    }

    pub(super) fn undo(&mut self) {
        let Some(row) = self.trashed.pop() else {
            self.say(NoticeLevel::Info, "Nothing has been deleted.");
            return;
        };
        self.put_in(row.clone());
        self.change(Change::Restore(row));
    }

    fn change(&mut self, change: Change) {
        self.changes.push_back(change);
        // The list that is on its way does not know of it.
        if let Reading::Asked(_) = self.reading {
            self.reading = Reading::Wanted;
        }
    }

    /// Takes a change that failed back on screen.
    pub(super) fn take_back(&mut self, change: Change) {
        match change {
            Change::Rename { session, before, .. } => {
                if let Some(tree) = &mut self.tree {
                    tree.rename(session, &before);
                }
            }
            Change::Trash(row) => {
                self.trashed.retain(|other| other.id != row.id);
                // What did not go need not come back.
                self.changes.retain(|change| *change != Change::Restore(row.clone()));
                self.put_in(row);
            }
            Change::Restore(row) => {
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

impl Change {
    /// What it takes on disk.
    pub(super) fn job(&self) -> SessionJob {
        match self {
            Self::Rename { session, title, .. } => {
                SessionJob::Rename { session: *session, title: title.clone() }
            }
            Self::Trash(row) => SessionJob::Trash { session: row.id },
            Self::Restore(row) => SessionJob::Restore { session: row.id },
        }
    }
}
