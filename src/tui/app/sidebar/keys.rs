//! The keys of the list of sessions: what each does while the list has the focus.

use crate::domain::NoticeLevel;
use crate::session::SessionGrouping;
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::keymap::{self, ChatKey, KeyPress, ListKey, SidebarKey};

use super::{Sidebar, SidebarContext, SidebarMode, SidebarOutcome, SidebarScope};

impl Sidebar {
    /// Handles a key while the list has the focus.
    pub fn key(&mut self, key: &KeyPress<'_>, context: SidebarContext<'_>) -> SidebarOutcome {
        self.top = self.first_shown(context.page);
        // The keys that leave and close work while text is typed, too.
        if keymap::is(SidebarKey::Leave, key) {
            return SidebarOutcome::Leave;
        }
        if keymap::is(ChatKey::Sessions, key) {
            return SidebarOutcome::Close;
        }
        self.is_chosen = true;
        let step = match &self.mode {
            SidebarMode::Browsing => match keymap::find(keymap::SIDEBAR, key) {
                Some(command) => self.command(command, context),
                None => return SidebarOutcome::Pass,
            },
            SidebarMode::Filtering(_) => self.filter_key(key, context),
            SidebarMode::Renaming { .. } => self.title_key(key, context),
        };
        self.top = self.first_shown(context.page);
        step
    }

    fn command(&mut self, command: SidebarKey, context: SidebarContext<'_>) -> SidebarOutcome {
        self.note = None;
        let page = isize::try_from(context.page.max(2) - 1).unwrap_or(1);
        match command {
            SidebarKey::Previous => self.step(-1),
            SidebarKey::Next => self.step(1),
            SidebarKey::PageUp => self.step(-page),
            SidebarKey::PageDown => self.step(page),
            SidebarKey::First => self.step(isize::MIN),
            SidebarKey::Last => self.step(isize::MAX),
            SidebarKey::Open => return self.open_selected(context),
            SidebarKey::Fork => {
                let upto = self.session().and_then(|row| self.pane.chosen(row.id));
                return self
                    .session()
                    .map_or(SidebarOutcome::Stay, |row| SidebarOutcome::Fork(row.id, upto));
            }
            SidebarKey::Rename => self.begin_rename(),
            SidebarKey::Delete => self.delete(context),
            SidebarKey::Undo => self.undo(),
            SidebarKey::Filter => {
                self.mode = SidebarMode::Filtering(TextEditor::new(EditorLines::One));
            }
            SidebarKey::Preview => self.pane.toggle(),
            SidebarKey::PreviousMessage => self.choose(-1),
            SidebarKey::NextMessage => self.choose(1),
            SidebarKey::Group => self.group(),
            SidebarKey::Compare => return self.compare(context),
            SidebarKey::Export => return self.export(),
            SidebarKey::SumUp => {
                return self
                    .session()
                    .map_or(SidebarOutcome::Stay, |row| SidebarOutcome::SumUp(row.id));
            }
            SidebarKey::Scope => {
                self.scope = match self.scope {
                    SidebarScope::AllProjects => SidebarScope::ThisProject,
                    SidebarScope::ThisProject => SidebarScope::AllProjects,
                };
                self.show("");
            }
            SidebarKey::Help => return SidebarOutcome::Help,
            SidebarKey::Leave => return SidebarOutcome::Leave,
            SidebarKey::Close => return SidebarOutcome::Close,
        }
        SidebarOutcome::Stay
    }

    /// Switches to the next grouping, and has it saved.
    fn group(&mut self) {
        let before = self.selection();
        let Some(tree) = &mut self.tree else { return };
        let next = tree.grouping().next();
        tree.group(next);
        self.grouped = Some(next);
        self.restore_selection(before);
        let text = match next {
            SessionGrouping::Project => "By project, newest first",
            SessionGrouping::Date => "By date, all projects",
            SessionGrouping::Forks => "By fork",
        };
        self.say(NoticeLevel::Info, text);
    }

    fn export(&mut self) -> SidebarOutcome {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return SidebarOutcome::Stay;
        };
        self.say(NoticeLevel::Info, format!("Exporting “{name}” …"));
        SidebarOutcome::Export(id)
    }

    /// Marks the selected session, or compares it with the one that is marked.
    fn compare(&mut self, context: SidebarContext<'_>) -> SidebarOutcome {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return SidebarOutcome::Stay;
        };
        match self.marked.take() {
            Some(marked) if marked != id => return SidebarOutcome::Compare([marked, id]),
            Some(_) => self.say(NoticeLevel::Info, "Comparison cancelled."),
            None => {
                self.marked = Some(id);
                let key = context.keys.key(SidebarKey::Compare);
                let text = format!("Press {key} on another session to compare it with “{name}”.");
                self.say(NoticeLevel::Info, text);
            }
        }
        SidebarOutcome::Stay
    }

    /// Moves to another message of the preview.
    fn choose(&mut self, by: isize) {
        if let Some(session) = self.session().map(|row| row.id) {
            self.pane.choose(session, by);
        }
    }

    fn filter_key(&mut self, key: &KeyPress<'_>, context: SidebarContext<'_>) -> SidebarOutcome {
        let page = isize::try_from(context.page.max(2) - 1).unwrap_or(1);
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.step(-1),
            Some(ListKey::Next) => self.step(1),
            Some(ListKey::PageUp) => self.step(-page),
            Some(ListKey::PageDown) => self.step(page),
            Some(ListKey::Accept) => return self.open_selected(context),
            Some(ListKey::Back) => {
                self.mode = SidebarMode::Browsing;
                self.show("");
            }
            None => {
                if let Some(editor) = self.editor() {
                    editor.key(key);
                }
                self.edited();
            }
        }
        SidebarOutcome::Stay
    }
}
