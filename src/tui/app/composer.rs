//! The input: what the person is typing, with its history, its pasted chips and its draft.
//!
//! Nothing typed is lost: what is cleared goes to the history, and the draft is saved half a
//! second after the last change. Long pastes stand in the text as a label and are put back when
//! the text leaves, so that typing stays quick. What is popped up under `@` and `/` is
//! `complete`'s; what a sent line means is decided in `update`.

use std::time::Duration;

use super::editor::{Edit, Editor, Lines};
use super::effect::Effect;
use super::history::History;

/// How long after the last change the draft is saved.
pub const DRAFT_PAUSE: Duration = Duration::from_millis(500);

const CHIP_LINES: usize = 20;
const CHIP_CHARS: usize = 2000;
/// Text that slug puts back itself (a draft, history) stays editable up to this size.
const LOAD_CHARS: usize = 20_000;

/// The input.
#[derive(Debug, Clone, PartialEq)]
pub struct Composer {
    /// The text and the caret.
    pub editor: Editor,
    /// What was sent before.
    pub history: History,
    chips: Vec<Chip>,
    pasted: usize,
    draft: Draft,
}

/// A long paste that stands in the text as a label.
#[derive(Debug, Clone, PartialEq)]
struct Chip {
    label: String,
    content: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Draft {
    saved: u64,
    /// When the text was last seen to change, and in which revision.
    changed: Option<(u64, Duration)>,
}

impl Composer {
    /// An input with a history, oldest entry first, and the draft that was left.
    pub fn new(history: Vec<String>, draft: &str) -> Self {
        let mut composer = Self {
            editor: Editor::new(Lines::Many),
            history: History::new(history),
            chips: Vec::new(),
            pasted: 0,
            draft: Draft::default(),
        };
        composer.load(draft);
        composer.draft.saved = composer.editor.revision();
        composer
    }

    /// The text with its chips put back.
    pub fn expanded(&self) -> String {
        self.chips.iter().fold(self.editor.text(), |text, chip| {
            if text.contains(&chip.label) { text.replace(&chip.label, &chip.content) } else { text }
        })
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Takes the text out, chips put back, and remembers it.
    pub fn take(&mut self) -> String {
        let text = self.expanded();
        self.editor.set_text("");
        self.chips.clear();
        if !text.trim().is_empty() {
            self.history.add(&text);
        }
        text
    }

    /// Puts a text in the place of what is there.
    pub fn load(&mut self, text: &str) {
        self.editor.set_text("");
        if text.len() > LOAD_CHARS {
            self.insert_chip(text);
        } else {
            self.editor.insert(text);
        }
    }

    /// Puts a text behind what is there.
    pub fn append(&mut self, text: &str) {
        let whole = match self.expanded() {
            typed if typed.trim().is_empty() => text.to_owned(),
            typed => format!("{typed}\n{text}"),
        };
        self.load(&whole);
    }

    /// Types one character.
    pub fn type_char(&mut self, c: char) {
        self.history.leave();
        self.editor.insert_char(c);
    }

    /// Takes in pasted text.
    pub fn paste(&mut self, text: &str) {
        self.history.leave();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() > CHIP_LINES || text.chars().count() > CHIP_CHARS {
            self.insert_chip(&text);
        } else {
            self.editor.insert(&text);
        }
    }

    /// Does what an editing key stands for. A chip goes as a whole.
    pub fn edit(&mut self, edit: Edit) {
        let text = self.editor.text();
        let caret = self.editor.caret();
        let label = self.chips.iter().map(|chip| chip.label.as_str());
        let gone = match edit {
            Edit::Backspace => label
                .filter(|label| text[..caret].ends_with(label))
                .map(|label| (caret - label.len(), caret))
                .next(),
            Edit::Delete => label
                .filter(|label| text[caret..].starts_with(label))
                .map(|label| (caret, caret + label.len()))
                .next(),
            Edit::Left
            | Edit::Right
            | Edit::WordLeft
            | Edit::WordRight
            | Edit::Home
            | Edit::End
            | Edit::KillWordLeft
            | Edit::KillWordRight
            | Edit::KillHome
            | Edit::KillEnd
            | Edit::Yank
            | Edit::Undo
            | Edit::Redo => None,
        };
        match gone {
            Some((start, end)) => self.editor.replace(start, end, ""),
            None => self.editor.apply(edit),
        }
    }

    /// A row up, and at the top the older text.
    pub fn up(&mut self, width: u16) {
        if self.editor.up(width) {
            return;
        }
        if let Some(text) = self.history.older(&self.editor.text()) {
            self.load(&text);
        }
    }

    /// A row down, and at the bottom the newer text.
    pub fn down(&mut self, width: u16) {
        if self.editor.down(width) {
            return;
        }
        if let Some(text) = self.history.newer() {
            self.load(&text);
        }
    }

    /// Notes the time; saves the draft when the text has rested long enough.
    pub fn tick(&mut self, now: Duration) -> Option<Effect> {
        let revision = self.editor.revision();
        if revision == self.draft.saved {
            self.draft.changed = None;
            return None;
        }
        match self.draft.changed {
            Some((seen, at)) if seen == revision => {
                if now < at + DRAFT_PAUSE {
                    return None;
                }
                self.draft = Draft { saved: revision, changed: None };
                Some(Effect::SaveDraft { text: self.expanded() })
            }
            Some(_) | None => {
                self.draft.changed = Some((revision, now));
                None
            }
        }
    }

    /// When `tick` next has something to do.
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        let revision = self.editor.revision();
        match self.draft.changed {
            _ if revision == self.draft.saved => None,
            Some((seen, at)) if seen == revision => Some(at + DRAFT_PAUSE),
            Some(_) | None => Some(now),
        }
    }

    fn insert_chip(&mut self, content: &str) {
        self.pasted += 1;
        let size = match content.lines().count() {
            0 | 1 => format!("{} characters", content.chars().count()),
            lines => format!("{lines} lines"),
        };
        let label = format!("[pasted {size} #{}]", self.pasted);
        self.editor.insert(&label);
        self.chips.push(Chip { label, content: content.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer() -> Composer {
        Composer::new(vec!["old".into()], "")
    }

    #[test]
    fn a_long_paste_is_a_chip_until_it_is_sent() {
        let mut composer = composer();
        let pasted = "line\r\n".repeat(30);
        composer.type_char('a');
        composer.paste(&pasted);
        composer.type_char('b');
        assert_eq!(composer.editor.text(), "a[pasted 30 lines #1]b");
        assert_eq!(composer.take(), format!("a{}b", "line\n".repeat(30)));
        assert!(composer.is_empty());
    }

    #[test]
    fn a_chip_goes_as_a_whole() {
        let mut composer = composer();
        composer.paste(&"x".repeat(2001));
        composer.edit(Edit::Backspace);
        assert_eq!(composer.editor.text(), "");
        composer.edit(Edit::Undo);
        assert_eq!(composer.expanded().len(), 2001);
    }

    #[test]
    fn up_at_the_top_calls_the_history() {
        let mut composer = composer();
        composer.up(40);
        assert_eq!(composer.editor.text(), "old");
        composer.down(40);
        assert_eq!(composer.editor.text(), "");
    }

    #[test]
    fn the_draft_is_saved_once_the_text_rests() {
        let mut composer = composer();
        let at = Duration::from_millis;
        composer.type_char('a');
        assert_eq!(composer.tick(at(0)), None);
        composer.type_char('b');
        assert_eq!(composer.tick(at(400)), None);
        assert_eq!(composer.tick(at(800)), None);
        assert_eq!(composer.wake_at(at(800)), Some(at(900)));
        assert_eq!(composer.tick(at(900)), Some(Effect::SaveDraft { text: "ab".into() }));
        assert_eq!(composer.wake_at(at(900)), None);
    }
}
