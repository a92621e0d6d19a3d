//! Asks whether an unknown folder is trusted.
//!
//! Only `y` is a yes, and only after the end was shown: no key that users press without reading.
//! Files that run programs are listed first. Nothing of the folder takes effect while the question
//! is open.

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::Position;

use crate::domain::sanitize::sanitize_line;
use crate::trust::{InventoryItemKind, TrustLineMark, TrustQuestionFile};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, ReadingKey};
use crate::tui::app::startup::{StartupAnswer, TrustAnswer};
use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogLayer, DialogView};
use crate::tui::dialogs::geometry::{ScrollExtent, scrolled, wheel_scrolled};
use crate::tui::dialogs::linear_page::LinearPage;
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::StyleRole;
use crate::tui::view::paint::{self, span};

use super::frame::{self, StartupRow};

/// The keys that answer, each with what it does.
const ANSWERS: [(&str, &str); 3] =
    [("y", "trust"), ("n", "continue without trusting"), ("q", "quit")];

/// The question, on a page of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustDialog {
    folder: String,
    subject: TrustSubject,
    items: Vec<TrustDialogItem>,
    /// Rows above the visible part.
    scroll: usize,
    guard: QuestionGuard,
    /// Whether the end of the page has been on screen.
    end: QuestionReview,
}

/// The reason for the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustSubject {
    /// The user has never answered for this folder.
    Folder,
    /// The trusted folder has changed files.
    Changes,
}

/// A file that trust would activate, with its text made harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrustDialogItem {
    path: String,
    words: String,
    role: StyleRole,
    lines: Vec<(TrustLineMark, String)>,
}

impl TrustDialog {
    /// The question for `folder`, which lists what would become active.
    pub fn new(folder: &str, subject: TrustSubject, items: &[TrustQuestionFile]) -> Self {
        Self {
            folder: sanitize_line(folder),
            subject,
            items: items.iter().map(item).collect(),
            scroll: 0,
            guard: QuestionGuard::default(),
            end: QuestionReview::Unseen,
        }
    }

    /// The answer that a key gives. Escape needs no guard: it never trusts.
    fn answer(&self, key: &KeyPress<'_>) -> Option<TrustAnswer> {
        let event = key.event()?;
        let is_plain = !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            KeyCode::Esc => Some(TrustAnswer::GoOnWithout),
            _ if !self.guard.is_armed() => None,
            KeyCode::Enter => Some(TrustAnswer::GoOnWithout),
            KeyCode::Char('y') if is_plain && self.end == QuestionReview::Seen => {
                Some(TrustAnswer::Trust)
            }
            KeyCode::Char('n') if is_plain => Some(TrustAnswer::GoOnWithout),
            KeyCode::Char('q') if is_plain => Some(TrustAnswer::Quit),
            _ => None,
        }
    }

    /// The first visible row: after a change of size it may be further up than the last one.
    fn first_row(&self, extent: ScrollExtent) -> usize {
        self.scroll.min(extent.rows.saturating_sub(extent.shown))
    }

    fn rows(&self, width: u16) -> Vec<StartupRow> {
        let heading = match self.subject {
            TrustSubject::Folder => "Do you trust this folder?",
            TrustSubject::Changes => "This folder has changed since you trusted it. Do you still?",
        };
        let mut rows = frame::text(heading, StyleRole::Strong, width);
        rows.push(StartupRow::new());
        rows.extend(frame::indented("  ", &self.folder, StyleRole::User, width));
        rows.push(StartupRow::new());
        let meaning = "Until you trust it, slug ignores this folder's settings and instructions.";
        rows.extend(frame::text(meaning, StyleRole::Text, width));
        rows.push(StartupRow::new());
        if self.items.is_empty() {
            let none = "The folder has none yet. If you trust it, slug also runs git and your own MCP servers \
                        in it, and asks again when settings are added.";
            rows.extend(frame::text(none, StyleRole::Muted, width));
        } else {
            rows.extend(frame::text(
                "If you trust it, this becomes active:",
                StyleRole::Text,
                width,
            ));
        }
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
        rows.push(StartupRow::new());
        rows.extend(ANSWERS.iter().map(|(key, words)| {
            vec![span(format!("  {key}  "), StyleRole::Key), span(*words, StyleRole::Text)]
        }));
        rows
    }
}

/// What runs programs or allows something is highlighted. The folder's texts may hold anything, so
/// they are made harmless here.
fn item(item: &TrustQuestionFile) -> TrustDialogItem {
    let acts = item.kinds.iter().any(|kind| match kind {
        InventoryItemKind::Settings
        | InventoryItemKind::Hooks
        | InventoryItemKind::Servers
        | InventoryItemKind::LanguageServers
        | InventoryItemKind::PromptPermissions => true,
        InventoryItemKind::Configuration
        | InventoryItemKind::PromptFiles
        | InventoryItemKind::Agents
        | InventoryItemKind::Instructions => false,
    });
    TrustDialogItem {
        path: sanitize_line(&item.path.display().to_string()),
        words: item.words(),
        role: if acts { StyleRole::Warning } else { StyleRole::Text },
        lines: item.lines.iter().map(|(mark, line)| (*mark, sanitize_line(line))).collect(),
    }
}

impl Dialog for TrustDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::Reading
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        if let Some(answer) = self.answer(key) {
            return give(answer);
        }
        match keymap::find(keymap::READING, key) {
            Some(ReadingKey::Scroll(how)) if self.guard.is_armed() => {
                self.scroll = scrolled(self.scroll, how, around.measured.extent);
            }
            // A page is left by an answer.
            Some(ReadingKey::Scroll(_) | ReadingKey::Back) | None => {}
        }
        Vec::new()
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let DialogCanvas { styles, area, buffer, measured, .. } = canvas;
        paint::clear(area, styles, buffer);
        let column = frame::column(area);
        let rows = self.rows(column.body.width);
        let extent = ScrollExtent { rows: rows.len(), shown: usize::from(column.body.height) };
        let first = self.first_row(extent);
        frame::rows(&rows, first, styles, column.body, buffer);
        let below = rows.len().saturating_sub(first + extent.shown);
        if below > 0 {
            let (then, role) = match self.end {
                QuestionReview::Seen => ("", StyleRole::Muted),
                QuestionReview::Unseen => (", then y trusts it", StyleRole::Warning),
            };
            let rows = if below == 1 { "row" } else { "rows" };
            let more = vec![span(format!("↓ {below} more {rows}{then}"), role)];
            frame::rows(&[more], 0, styles, column.margin, buffer);
        }
        // Where all fits, the answers stand below the text already.
        if extent.rows > extent.shown {
            frame::hints(&ANSWERS, styles, column.hints, buffer);
        }
        measured.extent = extent;
        measured.is_cramped = extent.shown == 0;
        None
    }

    fn paste(&mut self, _text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        Some(Vec::new())
    }

    fn cancel(&self) -> Vec<Intent> {
        give(TrustAnswer::Quit)
    }

    /// Without a screen this is asked as text before the conversation.
    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        None
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }

    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.scroll = self.first_row(around.measured.extent);
        if layer == DialogLayer::Top {
            self.end.drawn(self.scroll, around.measured);
        }
        Vec::new()
    }

    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        Some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        Some(self.guard)
    }
}

fn give(answer: TrustAnswer) -> Vec<Intent> {
    vec![Intent::Effect(ScreenEffect::AnswerStartup(StartupAnswer::Trust(answer)))]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crossterm::event::KeyEvent;

    use super::super::samples::{self, StartupScene};
    use super::*;
    use crate::tui::app::ScreenMsg;

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

    /// The question on a screen of this size, before its first frame.
    fn trust(items: &[TrustQuestionFile], width: u16, height: u16) -> StartupScene {
        let dialog = TrustDialog::new("~/src/webshop", TrustSubject::Folder, items);
        StartupScene::new(dialog, width, height)
    }

    fn trust_answer(effects: Vec<ScreenEffect>) -> Option<TrustAnswer> {
        samples::answer(effects).map(|answer| match answer {
            StartupAnswer::Trust(answer) => answer,
            StartupAnswer::FirstRun(other) => panic!("{other:?}"),
        })
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
            (KeyCode::Char('?'), none, None),
            (KeyCode::Tab, none, None),
        ];
        for (code, modifiers, answer) in cases {
            let effects = armed(&items()).event(KeyEvent::new(code, modifiers));
            assert_eq!(trust_answer(effects), answer, "{code:?}");
        }
    }

    #[test]
    fn a_line_end_in_a_command_or_a_name_is_seen() {
        let item = TrustQuestionFile {
            path: "rules/a\nTrusted.md".into(),
            kinds: vec![InventoryItemKind::Hooks],
            lines: vec![(TrustLineMark::Same, "on Stop runs true # was:\ntouch x".to_owned())],
        };
        let shown = armed(&[item]).picture();
        assert!(shown.contains("true # was:␊touch x"), "{shown}");
        assert!(shown.contains("rules/a␊Trusted.md"), "{shown}");
    }

    /// The question on a screen that shows all of it, after the wait of its guard.
    fn armed(items: &[TrustQuestionFile]) -> StartupScene {
        let mut trust = trust(items, 80, 60);
        trust.arm();
        trust
    }

    #[test]
    fn a_key_that_comes_too_early_is_no_answer() {
        let early = ["y", "n", "q"].map(|c| KeyCode::Char(c.chars().next().unwrap()));
        for code in early.into_iter().chain([KeyCode::Enter]) {
            let mut trust = trust(&items(), 80, 60);
            assert_eq!(trust_answer(trust.key(code)), None, "{code:?}, before it is drawn");
            trust.draw();
            trust.send(ScreenMsg::Painted(Duration::ZERO));
            trust.send(ScreenMsg::InputIdle(Duration::from_millis(299)));
            assert_eq!(trust_answer(trust.key(code)), None, "{code:?}, just painted");
        }
        let escaped = trust(&items(), 40, 12).key(KeyCode::Esc);
        assert_eq!(trust_answer(escaped), Some(TrustAnswer::GoOnWithout));
    }

    #[test]
    fn a_yes_is_taken_once_the_end_was_shown() {
        let mut trust = trust(&items(), 40, 12);
        let yes = |trust: &mut StartupScene| trust_answer(trust.press(KeyCode::Char('y')));
        assert_eq!(yes(&mut trust), None);
        trust.key(KeyCode::PageDown);
        assert_eq!(yes(&mut trust), None, "there is more below");
        trust.key(KeyCode::End);
        assert_eq!(trust_answer(trust.key(KeyCode::Char('y'))), None, "it was not drawn yet");
        assert!(!trust.picture().contains("more row"));
        assert_eq!(yes(&mut trust), Some(TrustAnswer::Trust));
        trust.key(KeyCode::Home);
        assert_eq!(yes(&mut trust), Some(TrustAnswer::Trust), "it was shown before");
    }

    #[test]
    fn pasted_text_answers_nothing() {
        assert_eq!(armed(&items()).send(ScreenMsg::Paste("y".into())), []);
    }

    #[test]
    fn everything_can_be_scrolled_to() {
        let mut trust = trust(&items(), 40, 12);
        let mut seen = String::new();
        loop {
            let page = trust.picture();
            seen.push_str(&page);
            trust.press(KeyCode::PageDown);
            if trust.picture() == page {
                break;
            }
        }
        assert!(seen.contains("Bash(npm *)") && seen.contains("88 lines"), "{seen}");
        let end = trust.picture();
        trust.press(KeyCode::Down);
        assert_eq!(trust.picture(), end, "it ends there");
    }

    #[test]
    fn no_row_is_lost_when_the_screen_grows() {
        let mut trust = trust(&items(), 40, 12);
        trust.press(KeyCode::End);
        trust.resize(80, 60);
        trust.draw();
        assert!(trust.picture().contains("Do you trust this folder?"), "{}", trust.picture());
    }

    #[test]
    fn the_text_of_a_folder_cannot_draw() {
        let lines = vec![(TrustLineMark::Same, "allow  Bash(x)\u{1b}[2J\u{202e}\nnext".to_owned())];
        let items = vec![TrustQuestionFile {
            path: "a\tb".into(),
            kinds: vec![InventoryItemKind::Settings],
            lines,
        }];
        let picture = trust(&items, 80, 24).picture();
        assert!(picture.contains("␛[2J‹U+202E›␊next") && picture.contains("a    b"), "{picture}");
    }

    #[test]
    fn at_80_columns() {
        insta::assert_snapshot!(trust(&items(), 80, 24).readable_picture());
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
        let files = [changed, emptied];
        let dialog = TrustDialog::new("~/src/webshop", TrustSubject::Changes, &files);
        insta::assert_snapshot!(StartupScene::new(dialog, 80, 24).readable_picture());
    }

    #[test]
    fn at_120_columns() {
        insta::assert_snapshot!(trust(&items(), 120, 40).readable_picture());
    }

    #[test]
    fn on_the_smallest_screen() {
        insta::assert_snapshot!(trust(&items(), 40, 12).readable_picture());
    }

    #[test]
    fn of_an_empty_folder() {
        insta::assert_snapshot!(trust(&[], 80, 24).readable_picture());
    }

    #[test]
    fn no_yes_is_taken_where_the_question_cannot_be_read() {
        for (width, height) in (1..=6).flat_map(|y| (1..=30).map(move |x| (x, y))) {
            let mut trust = trust(&items(), width, height);
            let mut seen = String::new();
            for _ in 0..200 {
                seen.push_str(&trust.picture());
                if trust_answer(trust.press(KeyCode::Char('y'))).is_some() {
                    let is_read = seen.contains("Do you trust") && seen.contains("88 lines");
                    assert!(width >= 20 && is_read, "{width}x{height}\n{seen}");
                    break;
                }
                trust.press(KeyCode::PageDown);
            }
        }
    }

    #[test]
    fn nothing_breaks_at_any_size() {
        for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
            let mut trust = trust(&items(), width, height);
            trust.draw();
            trust.picture();
        }
    }
}
