//! Asks whether an unknown folder is trusted.
//!
//! Only `y` is a yes, and only after the end was shown: no key that users press without reading.
//! Files that run programs are listed first. Nothing of the folder takes effect while the question
//! is open.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::sanitize::sanitize_line;
use crate::trust::{InventoryItemKind, TrustLineMark, TrustQuestionFile};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::keymap::{self, KeyPress, ReadingKey};
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::geometry::scrolled;
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::StyleRole;
use crate::tui::view::RoleStyles;
use crate::tui::view::paint::span;

use super::frame::{self, StartupRow};
use super::{StartupInput, StartupPage, StartupTransition};

/// The page with the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPage {
    folder: String,
    about: TrustPageSubject,
    items: Vec<TrustPageItem>,
    scroll: usize,
    size: (u16, u16),
    guard: QuestionGuard,
    end: QuestionReview,
}

/// The reason for the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustPageSubject {
    /// The user has never answered for this folder.
    Folder,
    /// The trusted folder has changed files.
    Changes,
}

/// A file that trust would activate, with its text made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrustPageItem {
    path: String,
    words: String,
    role: StyleRole,
    lines: Vec<(TrustLineMark, String)>,
}

/// The user's answer about the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// The folder is trusted from now on.
    Trust,
    /// slug starts without the folder's files.
    GoOnWithout,
    /// slug ends.
    Quit,
}

/// The job type of a page without background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeverJob {}

impl TrustPage {
    /// The question for `folder`, which lists what would become active.
    pub fn new(folder: &str, about: TrustPageSubject, items: &[TrustQuestionFile]) -> Self {
        Self {
            folder: sanitize_line(folder),
            about,
            items: items.iter().map(item).collect(),
            scroll: 0,
            size: (0, 0),
            guard: QuestionGuard::default(),
            end: QuestionReview::Unseen,
        }
    }

    fn key(&mut self, key: KeyEvent) -> StartupTransition<NeverJob, TrustAnswer> {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                return StartupTransition::Done(TrustAnswer::Quit);
            }
            KeyCode::Esc => return StartupTransition::Done(TrustAnswer::GoOnWithout),
            _ if !self.guard.is_armed() => return StartupTransition::Wait,
            KeyCode::Char('y') if plain && self.end == QuestionReview::Seen => {
                return StartupTransition::Done(TrustAnswer::Trust);
            }
            KeyCode::Char('n') if plain => {
                return StartupTransition::Done(TrustAnswer::GoOnWithout);
            }
            KeyCode::Char('q') if plain => return StartupTransition::Done(TrustAnswer::Quit),
            KeyCode::Enter => return StartupTransition::Done(TrustAnswer::GoOnWithout),
            _ => {}
        }
        let Some(ReadingKey::Scroll(how)) = keymap::find(keymap::READING, &KeyPress::built_in(key))
        else {
            return StartupTransition::Wait;
        };
        let to = scrolled(self.scroll, how, self.extent());
        if to == self.scroll {
            return StartupTransition::Wait;
        }
        self.scroll = to;
        StartupTransition::Draw(Vec::new())
    }

    fn extent(&self) -> ScrollExtent {
        let area = Rect { x: 0, y: 0, width: self.size.0, height: self.size.1 };
        let column = frame::column(area);
        let rows = self.rows(column.body.width).len();
        ScrollExtent { rows, shown: usize::from(column.body.height) }
    }

    fn rows(&self, width: u16) -> Vec<StartupRow> {
        let heading = match self.about {
            TrustPageSubject::Folder => "Do you trust this folder?",
            TrustPageSubject::Changes => {
                "This folder has changed since you trusted it. Do you still?"
            }
        };
        let mut rows = frame::text(heading, StyleRole::Strong, width);
        rows.push(StartupRow::new());
        rows.extend(frame::indented("  ", &self.folder, StyleRole::User, width));
        rows.push(StartupRow::new());
        let meaning = "Without trust none of what the folder brings along takes effect. slug works \
                       as a chat about its files, with your own rules and settings, and asks as \
                       it always does.";
        rows.extend(frame::text(meaning, StyleRole::Text, width));
        rows.push(StartupRow::new());
        if self.items.is_empty() {
            let none = "The folder has no settings, rules or instructions now. With trust slug \
                        shows its git state and reads instructions that are added later; for new \
                        settings it asks again.";
            rows.extend(frame::text(none, StyleRole::Muted, width));
            return rows;
        }
        rows.extend(frame::text("With trust, this becomes active:", StyleRole::Text, width));
        for item in &self.items {
            rows.push(StartupRow::new());
            rows.push(vec![
                span("  ", StyleRole::Text),
                span(item.path.clone(), StyleRole::Strong),
                span(format!("  {}", item.words), StyleRole::Muted),
            ]);
            for (mark, line) in &item.lines {
                let (sign, role) = match mark {
                    TrustLineMark::Same => ("    ", item.role),
                    TrustLineMark::New => ("  + ", StyleRole::Added),
                    TrustLineMark::Gone => ("  - ", StyleRole::Removed),
                };
                rows.extend(frame::indented(sign, line, role, width));
            }
        }
        rows
    }
}

/// What runs programs or allows something is highlighted. The folder's texts may hold anything, so
/// they are made harmless here.
fn item(item: &TrustQuestionFile) -> TrustPageItem {
    let acts = item.kinds.iter().any(|kind| match kind {
        InventoryItemKind::Settings | InventoryItemKind::Hooks => true,
        InventoryItemKind::Configuration | InventoryItemKind::Instructions => false,
    });
    TrustPageItem {
        path: sanitize_line(&item.path.display().to_string()),
        words: item.words(),
        role: if acts { StyleRole::Warning } else { StyleRole::Text },
        lines: item.lines.iter().map(|(mark, line)| (*mark, sanitize_line(line))).collect(),
    }
}

impl StartupPage for TrustPage {
    type Note = NeverJob;
    type Job = NeverJob;
    type Answer = TrustAnswer;

    fn update(
        &mut self,
        input: StartupInput<NeverJob>,
    ) -> StartupTransition<NeverJob, TrustAnswer> {
        match input {
            StartupInput::Opened => StartupTransition::Draw(Vec::new()),
            StartupInput::Key(key) => self.key(key),
            StartupInput::Paste(_) => StartupTransition::Wait,
            StartupInput::Size { width, height } => {
                self.size = (width, height);
                let extent = self.extent();
                self.scroll = self.scroll.min(extent.rows.saturating_sub(extent.shown));
                StartupTransition::Draw(Vec::new())
            }
            StartupInput::Note(nothing) => match nothing {},
        }
    }

    fn guard_mut(&mut self) -> &mut QuestionGuard {
        &mut self.guard
    }

    fn drawn(&mut self) {
        self.guard.drawn();
        self.end.drawn(self.scroll, self.extent());
    }

    fn draw(&self, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let column = frame::column(area);
        let rows = self.rows(column.body.width);
        frame::rows(&rows, self.scroll, styles, column.body, buffer);
        let below = rows.len().saturating_sub(self.scroll + usize::from(column.body.height));
        if below > 0 {
            let (then, role) = match self.end {
                QuestionReview::Seen => ("", StyleRole::Muted),
                QuestionReview::Unseen => (", then y trusts it", StyleRole::Warning),
            };
            let rows = if below == 1 { "row" } else { "rows" };
            let more = vec![span(format!("↓ {below} more {rows}{then}"), role)];
            frame::rows(&[more], 0, styles, column.margin, buffer);
        }
        let hints = [("y", "trust it"), ("n", "go on without"), ("q", "quit")];
        frame::hints(&hints, styles, column.hints, buffer);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::samples::{arm, key, picture};
    use super::*;

    fn items() -> Vec<TrustQuestionFile> {
        let item = |path: &str, kinds: &[InventoryItemKind], lines: &[&str]| TrustQuestionFile {
            path: path.into(),
            kinds: kinds.to_owned(),
            lines: lines.iter().map(|line| (TrustLineMark::Same, (*line).to_owned())).collect(),
        };
        let rules_and_hooks = [
            "deny Bash(git push *)",
            "allow Bash(npm *)",
            "allow Edit(src/**)",
            "on Stop runs npm test",
        ];
        vec![
            item(
                ".slug/settings.json",
                &[InventoryItemKind::Settings, InventoryItemKind::Hooks],
                &rules_and_hooks,
            ),
            item(
                ".slug/config.toml",
                &[InventoryItemKind::Configuration],
                &["model = \"qwen3-coder\""],
            ),
            item("SLUG.md", &[InventoryItemKind::Instructions], &["88 lines of instructions"]),
        ]
    }

    fn trust(items: &[TrustQuestionFile]) -> TrustPage {
        let mut trust = TrustPage::new("~/src/webshop", TrustPageSubject::Folder, items);
        trust.update(StartupInput::Size { width: 40, height: 12 });
        trust
    }

    #[test]
    fn only_y_says_yes() {
        use TrustAnswer::{GoOnWithout, Quit, Trust};
        let none = KeyModifiers::NONE;
        let cases = [
            (KeyCode::Char('y'), none, Some(Trust)),
            (KeyCode::Char('n'), none, Some(GoOnWithout)),
            (KeyCode::Enter, none, Some(GoOnWithout)),
            (KeyCode::Esc, none, Some(GoOnWithout)),
            (KeyCode::Char('q'), none, Some(Quit)),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Quit)),
            (KeyCode::Char('y'), KeyModifiers::CONTROL, None),
            (KeyCode::Char('Y'), KeyModifiers::SHIFT, None),
            (KeyCode::Char(' '), none, None),
            (KeyCode::Tab, none, None),
        ];
        for (code, modifiers, answer) in cases {
            let mut trust = armed(&items());
            let next = trust.update(StartupInput::Key(KeyEvent::new(code, modifiers)));
            let got = match next {
                StartupTransition::Done(answer) => Some(answer),
                StartupTransition::Wait | StartupTransition::Draw(_) => None,
            };
            assert_eq!(got, answer, "{code:?}");
        }
    }

    #[test]
    fn a_line_end_in_a_command_or_a_name_is_seen() {
        let item = TrustQuestionFile {
            path: "rules/a\nTrusted.md".into(),
            kinds: vec![InventoryItemKind::Hooks],
            lines: vec![(TrustLineMark::Same, "on Stop runs true # was:\ntouch x".to_owned())],
        };
        let shown = picture(&armed(&[item]), 80, 60);
        assert!(shown.contains("true # was:␊touch x"), "{shown}");
        assert!(shown.contains("rules/a␊Trusted.md"), "{shown}");
    }

    /// The question on a screen that shows all of it, after the wait of its guard.
    fn armed(items: &[TrustQuestionFile]) -> TrustPage {
        let mut trust = trust(items);
        trust.update(StartupInput::Size { width: 80, height: 60 });
        arm(&mut trust);
        trust
    }

    /// The answer that a key gives, if any.
    fn answer(trust: &mut TrustPage, code: KeyCode) -> Option<TrustAnswer> {
        match trust.update(key(code)) {
            StartupTransition::Done(answer) => Some(answer),
            StartupTransition::Wait | StartupTransition::Draw(_) => None,
        }
    }

    #[test]
    fn a_key_that_comes_too_early_is_no_answer() {
        let early = ["y", "n", "q"].map(|c| KeyCode::Char(c.chars().next().unwrap()));
        for code in early.into_iter().chain([KeyCode::Enter]) {
            let mut trust = trust(&items());
            trust.update(StartupInput::Size { width: 80, height: 60 });
            assert_eq!(answer(&mut trust, code), None, "{code:?}, before it is drawn");
            trust.drawn();
            trust.guard.painted(Duration::ZERO);
            trust.guard.input_idle(Duration::from_millis(299));
            assert_eq!(answer(&mut trust, code), None, "{code:?}, just painted");
        }
        assert_eq!(answer(&mut trust(&items()), KeyCode::Esc), Some(TrustAnswer::GoOnWithout));
    }

    #[test]
    fn a_yes_is_taken_once_the_end_was_shown() {
        let mut trust = trust(&items());
        let yes = |trust: &mut TrustPage| {
            arm(trust);
            answer(trust, KeyCode::Char('y'))
        };
        assert_eq!(yes(&mut trust), None);
        trust.update(key(KeyCode::PageDown));
        assert_eq!(yes(&mut trust), None, "there is more below");
        trust.update(key(KeyCode::End));
        assert_eq!(answer(&mut trust, KeyCode::Char('y')), None, "it was not drawn yet");
        assert!(!picture(&trust, 40, 12).contains("more row"));
        assert_eq!(yes(&mut trust), Some(TrustAnswer::Trust));
        trust.update(key(KeyCode::Home));
        assert_eq!(yes(&mut trust), Some(TrustAnswer::Trust), "it was shown before");
    }

    #[test]
    fn pasted_text_answers_nothing() {
        assert_eq!(
            armed(&items()).update(StartupInput::Paste("y".into())),
            StartupTransition::Wait
        );
    }

    #[test]
    fn everything_can_be_scrolled_to() {
        let mut trust = trust(&items());
        let mut seen = String::new();
        loop {
            seen.push_str(&picture(&trust, 40, 12));
            arm(&mut trust);
            if trust.update(key(KeyCode::PageDown)) == StartupTransition::Wait {
                break;
            }
        }
        assert!(seen.contains("Bash(npm *)") && seen.contains("88 lines"), "{seen}");
        assert_eq!(trust.update(key(KeyCode::Down)), StartupTransition::Wait, "it ends there");
    }

    #[test]
    fn the_text_of_a_folder_cannot_draw() {
        let lines = vec![(TrustLineMark::Same, "allow  Bash(x)\u{1b}[2J\u{202e}\nnext".to_owned())];
        let items = vec![TrustQuestionFile {
            path: "a\tb".into(),
            kinds: vec![InventoryItemKind::Settings],
            lines,
        }];
        let picture = picture(&trust(&items), 80, 24);
        assert!(picture.contains("␛[2J‹U+202E›␊next") && picture.contains("a    b"), "{picture}");
    }

    #[test]
    fn at_80_columns() {
        insta::assert_snapshot!(picture(&trust(&items()), 80, 24));
    }

    #[test]
    fn what_changed_is_marked() {
        let lines = [
            (TrustLineMark::Same, "allow Bash(npm *)"),
            (TrustLineMark::New, "allow Bash(*)"),
            (TrustLineMark::Gone, "deny Bash(git push *)"),
        ];
        let lines = lines.map(|(mark, line)| (mark, line.to_owned())).to_vec();
        let changed = TrustQuestionFile {
            path: ".slug/settings.json".into(),
            kinds: vec![InventoryItemKind::Settings],
            lines,
        };
        let gone = vec![(TrustLineMark::Gone, "on Stop runs npm test".to_owned())];
        let emptied =
            TrustQuestionFile { path: ".slug/hooks.json".into(), kinds: Vec::new(), lines: gone };
        let mut trust =
            TrustPage::new("~/src/webshop", TrustPageSubject::Changes, &[changed, emptied]);
        trust.update(StartupInput::Size { width: 80, height: 24 });
        insta::assert_snapshot!(picture(&trust, 80, 24));
    }

    #[test]
    fn at_120_columns() {
        insta::assert_snapshot!(picture(&trust(&items()), 120, 40));
    }

    #[test]
    fn on_the_smallest_screen() {
        insta::assert_snapshot!(picture(&trust(&items()), 40, 12));
    }

    #[test]
    fn of_an_empty_folder() {
        insta::assert_snapshot!(picture(&trust(&[]), 80, 24));
    }

    #[test]
    fn nothing_breaks_at_any_size() {
        for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
            picture(&trust(&items()), width, height);
        }
    }
}
