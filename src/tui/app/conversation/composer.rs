//! The input: the text that the user is typing, its history, its chips for long pastes, and its
//! draft.
//!
//! Invariant: no typed text is lost. Cleared text goes to the history, and the draft is saved half
//! a second after the last change. Not here: the completion list (`completion_state`), the meaning
//! of a sent line (`commands`), and how chips are stored in the text (`editor`).

use std::ops::Range;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::{MessageImage, UserInput};

use super::history::{InputHistory, InputHistoryEntry, RecalledInput};
use super::queue::MessageQueue;
use crate::tui::app::editor::{ChipContent, EditorLines, TextEditor};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::keymap::EditAction;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::vi::{self, ViState};

/// How long the text must be unchanged before the draft is saved.
pub const DRAFT_PAUSE: Duration = Duration::from_millis(500);

/// The input with its history, Vi state and draft.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatComposer {
    pub editor: TextEditor,
    /// The texts sent before.
    pub history: InputHistory,
    /// The state of Vi keys; `None` while they are off.
    pub vi: Option<ViState>,
    draft: ComposerDraft,
    /// The first character was pasted, not typed.
    begins_with_paste: bool,
}

/// How keys edit the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EditingMode {
    /// Each key types, without modes.
    #[default]
    Plain,
    /// Vi's modes and commands.
    Vi,
}

/// The shape of the cursor in the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaretShape {
    /// A bar between two characters.
    #[default]
    Bar,
    Block,
    /// An underline: Vi waits for the rest of a command.
    Underline,
}

/// The revisions of what a draft consists of: the text in the input, and the waiting messages.
type DraftRevision = (u64, u64);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ComposerDraft {
    saved: DraftRevision,
    /// The newest revision that has been seen, and when.
    changed: Option<(DraftRevision, Duration)>,
}

impl ChatComposer {
    /// An input with a history, oldest entry first, and the saved draft.
    pub fn new(history: Vec<InputHistoryEntry>, draft: impl Into<UserInput>) -> Self {
        let mut composer = Self {
            editor: TextEditor::new(EditorLines::Many),
            history: InputHistory::new(history),
            vi: None,
            draft: ComposerDraft::default(),
            begins_with_paste: false,
        };
        composer.load(draft);
        composer.draft.saved = (composer.editor.revision(), MessageQueue::default().revision());
        composer
    }

    /// The text with chips replaced by the text they stand for.
    pub fn expanded(&self) -> String {
        self.editor.expanded()
    }

    /// The expanded text together with its images.
    pub fn typed(&self) -> UserInput {
        self.editor.typed()
    }

    /// Whether the input has no text; a chip counts as text.
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Takes the expanded text and its images out, and empties the input.
    pub fn take(&mut self) -> UserInput {
        let text = self.typed();
        self.begins_with_paste = false;
        self.history.leave();
        self.editor.start_over(self.vi.as_ref().map_or("", ViState::register));
        if let Some(vi) = &mut self.vi {
            vi.begin();
        }
        text
    }

    /// Switches Vi keys on or off.
    pub fn set_typing(&mut self, typing: EditingMode) {
        match (typing, &self.vi) {
            (EditingMode::Plain, _) => self.vi = None,
            (EditingMode::Vi, None) => self.vi = Some(ViState::default()),
            (EditingMode::Vi, Some(_)) => {}
        }
    }

    /// Handles a key for Vi, which comes first while it is on; `None` while it is off. In an empty
    /// input, the signs that mean something at the start of a message leave normal mode.
    pub fn vi_key(&mut self, key: KeyEvent, width: u16) -> Option<vi::ViOutcome> {
        let vi = self.vi.as_mut()?;
        if self.editor.is_empty() && vi.mode() == vi::ViMode::Normal && !vi.is_pending() {
            match key.code {
                KeyCode::Char('/' | '!' | '@') => vi.begin(),
                KeyCode::Char('?') => return Some(vi::ViOutcome::Pass),
                _ => {}
            }
        }
        let revision = self.editor.revision();
        let step = vi.key(&mut self.editor, key, width);
        if self.editor.revision() != revision {
            self.history.leave();
        }
        Some(step)
    }

    /// Whether typed characters go into the text instead of being Vi commands.
    pub fn is_inserting(&self) -> bool {
        self.vi.as_ref().is_none_or(|vi| vi.mode() == vi::ViMode::Insert)
    }

    /// The bytes that are selected, by Vi or in the editor.
    pub fn selection(&self) -> Option<Range<usize>> {
        let by_vi = self.vi.as_ref().and_then(|vi| vi.selection(&self.editor));
        by_vi.or_else(|| self.editor.selection())
    }

    /// The shape of the cursor for the current mode.
    pub fn caret_shape(&self) -> CaretShape {
        match &self.vi {
            Some(vi) if vi.is_pending() => CaretShape::Underline,
            Some(_) if !self.is_inserting() => CaretShape::Block,
            Some(_) | None => CaretShape::Bar,
        }
    }

    /// Replaces the text.
    pub fn load(&mut self, text: impl Into<UserInput>) {
        self.begins_with_paste = false;
        self.editor.load(&text.into());
        self.settle();
    }

    /// Appends a text to the typed one, or loads it if nothing is typed.
    pub fn append(&mut self, text: UserInput) {
        let whole = match self.typed() {
            typed if typed.is_blank() => text,
            typed => typed.followed_by(text),
        };
        self.load(whole);
    }

    /// Takes a text back that was edited in another program. Images whose labels are still in it
    /// stay.
    pub fn edited(&mut self, text: &str) {
        let images = self.typed().images;
        self.load(UserInput { text: text.to_owned(), images });
    }

    /// Inserts a chip. `None` if the input has as many chips as it can hold.
    pub fn insert_chip(&mut self, content: ChipContent) -> Option<()> {
        self.history.leave();
        self.editor.insert_chip(content)
    }

    /// Replaces the chip that waits for this request by an image.
    pub fn settle_image(&mut self, id: RequestId, image: MessageImage) {
        self.editor.settle_image(id, image);
    }

    /// Replaces the chip that waits for this request by `found`, or by what was pasted if that is
    /// `None`.
    pub fn settle_text(&mut self, id: RequestId, found: Option<&str>) {
        self.editor.settle_text(id, found);
        self.settle();
    }

    /// Types one character; a newline is allowed.
    pub fn type_char(&mut self, c: char) {
        self.history.leave();
        if self.editor.caret() == 0 {
            self.begins_with_paste = false;
        }
        self.editor.insert_char(c);
    }

    /// Whether the first character was pasted.
    pub fn begins_with_paste(&self) -> bool {
        self.begins_with_paste
    }

    /// Inserts pasted text; a long paste becomes a chip.
    pub fn paste(&mut self, text: &str) {
        self.history.leave();
        if self.editor.caret() == 0 {
            self.begins_with_paste = true;
        }
        self.editor.paste(text);
    }

    /// Applies an editing key in an input that is `width` columns wide.
    pub fn edit(&mut self, edit: EditAction, width: u16) {
        let before = self.editor.revision();
        self.editor.apply(edit, width);
        if self.editor.revision() != before {
            self.history.leave();
        }
        self.settle();
    }

    /// Handles Enter after a backslash: replaces the backslash by a line end instead of sending.
    /// Returns whether it did.
    pub fn continue_line(&mut self) -> bool {
        let caret = self.editor.caret();
        let text = self.editor.text();
        let backslashes = text[..caret].bytes().rev().take_while(|byte| *byte == b'\\').count();
        // An escaped backslash is meant literally.
        if backslashes % 2 == 0 {
            return false;
        }
        self.history.leave();
        self.editor.replace(caret - 1, caret, "\n");
        true
    }

    /// Moves a row up; at the top, loads an older text of the history.
    pub fn up(&mut self, width: u16) {
        if !self.editor.up(width) {
            self.older();
        }
    }

    /// Moves a row down; at the bottom, loads a newer text of the history.
    pub fn down(&mut self, width: u16) {
        if !self.editor.down(width) {
            self.newer();
        }
    }

    /// Loads the previous text of the history that starts like the typed text.
    pub fn older(&mut self) {
        if let Some(text) = self.history.older(&self.editor.text()) {
            self.load(text);
        }
    }

    /// Loads the next text of the history; after the newest, the text that was typed.
    pub fn newer(&mut self) {
        match self.history.newer() {
            Some(RecalledInput::Sent(text)) => self.load(text),
            // Its chips are still known.
            Some(RecalledInput::Typed(text)) => {
                let end = self.editor.text().len();
                self.editor.replace(0, end, &text);
                self.settle();
            }
            None => {}
        }
    }

    /// Moves the caret to where Vi allows it.
    fn settle(&mut self) {
        if let Some(vi) = &self.vi {
            vi.settle(&mut self.editor);
        }
    }

    /// Tracks changes of the text and of the waiting messages; saves them as the draft after
    /// [`DRAFT_PAUSE`] without a change.
    pub fn tick(&mut self, now: Duration, queue: &MessageQueue) -> Option<ScreenEffect> {
        let revision = (self.editor.revision(), queue.revision());
        if revision == self.draft.saved {
            self.draft.changed = None;
            return None;
        }
        match self.draft.changed {
            Some((seen, at)) if seen == revision => {
                if now < at + DRAFT_PAUSE {
                    return None;
                }
                self.draft = ComposerDraft { saved: revision, changed: None };
                Some(ScreenEffect::SaveDraft { text: queue.unsent(self.typed()) })
            }
            Some(_) | None => {
                self.draft.changed = Some((revision, now));
                None
            }
        }
    }

    /// When `tick` next has something to do; `None` if the draft is saved.
    pub fn wake_at(&self, now: Duration, queue: &MessageQueue) -> Option<Duration> {
        let revision = (self.editor.revision(), queue.revision());
        match self.draft.changed {
            _ if revision == self.draft.saved => None,
            Some((seen, at)) if seen == revision => Some(at + DRAFT_PAUSE),
            Some(_) | None => Some(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::SteerId;
    use crate::tui::app::conversation::queue::Delivery;

    fn composer() -> ChatComposer {
        ChatComposer::new(vec!["old".into()], "")
    }

    #[test]
    fn a_long_paste_is_sent_in_full() {
        let mut composer = composer();
        let pasted = "line\r\n".repeat(30);
        composer.type_char('a');
        composer.paste(&pasted);
        composer.type_char('b');
        assert_eq!(composer.editor.text().chars().count(), 3);
        assert_eq!(composer.take().text, format!("a{}b", "line\n".repeat(30)));
        assert!(composer.is_empty());
    }

    #[test]
    fn a_chip_comes_back_from_the_history_with_what_was_typed() {
        let mut composer = composer();
        composer.paste(&"x\n".repeat(30));
        composer.history = InputHistory::new(vec![(composer.editor.text() + " and more").into()]);
        composer.up(40);
        composer.down(40);
        assert_eq!(composer.expanded(), "x\n".repeat(30));
    }

    #[test]
    fn enter_behind_a_backslash_ends_the_line() {
        for (text, want) in [("a\\", Some("a\n")), ("a\\\\", None), ("a", None), ("", None)] {
            let mut composer = composer();
            composer.load(text);
            assert_eq!(composer.continue_line(), want.is_some(), "{text}");
            assert_eq!(composer.editor.text(), want.unwrap_or(text));
        }
    }

    #[test]
    fn up_after_an_edit_searches_with_the_new_text() {
        let mut composer = ChatComposer::new(vec!["one".into(), "two".into()], "");
        composer.up(40);
        assert_eq!(composer.editor.text(), "two");
        composer.edit(EditAction::KillHome, 40);
        composer.type_char('o');
        composer.up(40);
        assert_eq!(composer.editor.text(), "one");
    }

    #[test]
    fn up_at_the_top_loads_the_history() {
        let mut composer = composer();
        composer.up(40);
        assert_eq!(composer.editor.text(), "old");
        composer.down(40);
        assert_eq!(composer.editor.text(), "");
    }

    #[test]
    fn the_draft_is_saved_once_the_text_rests() {
        let (mut composer, mut queue) = (composer(), MessageQueue::default());
        let at = Duration::from_millis;
        composer.type_char('a');
        assert_eq!(composer.tick(at(0), &queue), None);
        composer.type_char('b');
        assert_eq!(composer.tick(at(400), &queue), None);
        assert_eq!(composer.tick(at(800), &queue), None);
        assert_eq!(composer.wake_at(at(800), &queue), Some(at(900)));
        assert_eq!(
            composer.tick(at(900), &queue),
            Some(ScreenEffect::SaveDraft { text: "ab".into() })
        );
        assert_eq!(composer.wake_at(at(900), &queue), None);
        // A message that waits is not sent yet.
        queue.push(SteerId::default(), "first".into(), Delivery::Queue);
        assert_eq!(composer.wake_at(at(1_000), &queue), Some(at(1_000)));
        assert_eq!(composer.tick(at(1_000), &queue), None);
        let saved = composer.tick(at(1_500), &queue);
        assert_eq!(saved, Some(ScreenEffect::SaveDraft { text: "first\nab".into() }));
        assert_eq!(queue.take_next(), Some("first".into()));
        assert_eq!(composer.tick(at(1_600), &queue), None);
        let saved = composer.tick(at(2_100), &queue);
        assert_eq!(saved, Some(ScreenEffect::SaveDraft { text: "ab".into() }));
    }
}
