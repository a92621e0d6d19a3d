//! The question whether to trust what is new in a project's hooks. Only `y` means yes, and only once
//! all of the text has been on screen.

use std::sync::Arc;

use ratatui::layout::Position;

use crate::tui::app::choice::{HookChoice, HookNewsAction, PickerChoice};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, ReadingKey, ScrollAction};
use crate::tui::dialogs::dialog::{Dialog, DialogCanvas, DialogContext, DialogLayer, DialogView};
use crate::tui::dialogs::geometry::wheel_scrolled;
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, lines};
use crate::tui::dialogs::reading::{self, view::draw_page};
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::{StyleRole, StyledLine, plain};

/// The state of the question.
#[derive(Debug, Clone, PartialEq)]
pub struct HookTrustDialog {
    /// What a yes would allow, in lines.
    pub news: Arc<str>,
    /// Rows above the visible part.
    scroll: usize,
    /// Decides whether the question takes answers yet.
    guard: QuestionGuard,
    /// Whether the end of the text has been on screen.
    end: QuestionReview,
}

impl HookTrustDialog {
    /// The heading of the question.
    pub const TITLE: &'static str = "Trust the new hooks?";

    /// The question about these news.
    pub fn new(news: Arc<str>) -> Self {
        let guard = QuestionGuard::default();
        Self { news, scroll: 0, guard, end: QuestionReview::Unseen }
    }

    /// Handles a key that may be an answer. `None` for one that is not, once the guard is armed.
    fn answer(&self, key: &KeyPress<'_>) -> Option<Vec<Intent>> {
        let (yes, outcome) = match keymap::typed(key)? {
            'y' => (true, self.yes()),
            'n' => (false, vec![Intent::Close]),
            _ if self.guard.is_armed() => return None,
            _ => return Some(Vec::new()),
        };
        let is_accepted = self.guard.is_armed() && (!yes || self.end == QuestionReview::Seen);
        Some(if is_accepted { outcome } else { Vec::new() })
    }

    fn yes(&self) -> Vec<Intent> {
        let choice = HookChoice::News(HookNewsAction::Trust, self.news.clone());
        vec![Intent::Close, Intent::Choose(PickerChoice::Hook(choice))]
    }

    fn keys(&self, keys: &Keymap, is_at_end: bool) -> String {
        if is_at_end || self.end == QuestionReview::Seen {
            return "y trust, n don't".to_owned();
        }
        let down = keys.key(ReadingKey::Scroll(ScrollAction::PageDown));
        format!("{down} to the end, then y to trust")
    }
}

impl Dialog for HookTrustDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::Reading
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        self.answer(key)
            .unwrap_or_else(|| reading::page_key(&mut self.scroll, key, around.measured.extent))
    }

    fn draw(&self, around: DialogView<'_>, mut canvas: DialogCanvas<'_>) -> Option<Position> {
        // The margins outside and inside of the frame.
        let width = canvas.area.width.saturating_sub(10).max(1);
        let lines = rows(&self.news, width);
        let shown = usize::from(canvas.area.height.saturating_sub(4));
        let keys = self.keys(&around.shared.settings.keys, self.scroll + shown >= lines.len());
        draw_page(Self::TITLE, &keys, &lines, self.scroll, &mut canvas);
        None
    }

    fn paste(&mut self, _text: &str, _around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        Some(Vec::new())
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        let text = format!("{}\n{}", Self::TITLE, self.news);
        let mut out = lines(LineLabel::Question, &text);
        let answers = "Type y to trust, n to leave them off.";
        out.push(LabelledLine::new(LineLabel::Continuation, answers));
        Some(LinearPage { key: format!("hook trust {}", self.news), lines: out })
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }

    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
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

    fn expected_line(&self) -> ExpectedLine {
        ExpectedLine::Answer
    }

    fn is_over_once_printed(&self) -> bool {
        false
    }

    /// A front end without keys has printed the whole text.
    fn line(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(self.yes()),
            "n" | "no" | "" => Ok(vec![Intent::Close]),
            _ => Err(LineAnswerError::YesOrNo),
        }
    }
}

/// The news of changed hooks, every line in full.
fn rows(news: &str, width: u16) -> Vec<StyledLine> {
    let role = |line: &str| match line.trim_start().as_bytes() {
        [b'+', b' ', ..] => StyleRole::Added,
        [b'-', b' ', ..] => StyleRole::Removed,
        _ if line.starts_with(' ') => StyleRole::Text,
        _ => StyleRole::Strong,
    };
    news.lines().flat_map(|line| plain::render(line, role(line), width)).collect()
}
