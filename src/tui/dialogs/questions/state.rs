//! The state of the model's questions, and how an answer is taken.

use crate::domain::{QuestionAnswer, QuestionRequest, UserQuestion};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::QuestionKey;
use crate::tui::dialogs::dialog::EarlyKey;
use crate::tui::dialogs::review::QuestionReview;

/// The questions of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionsDialog {
    pub(super) request: QuestionRequest,
    /// The answers so far, one for each question.
    pub(super) answers: Vec<QuestionAnswer>,
    /// The index of the question that is asked.
    pub(super) at: usize,
    /// The row that Enter takes.
    pub(super) mark: QuestionRow,
    /// The open field, if one is.
    pub(super) field: Option<QuestionField>,
    /// How often the user has changed a document.
    pub(super) revision: u64,
    /// Rows scrolled past at the top of what stands below the title.
    pub(super) scroll: usize,
    /// Whether the end of the document has been on screen: only then an option can be taken.
    pub(super) review: QuestionReview,
    pub(super) guard: QuestionGuard,
    pub(super) early_key: EarlyKey,
}

/// What the user types.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum QuestionField {
    OwnWords(TextEditor),
    /// What the question is about, such as a plan.
    Document(TextEditor),
}

impl QuestionField {
    pub(super) fn editor(&mut self) -> &mut TextEditor {
        match self {
            Self::OwnWords(editor) | Self::Document(editor) => editor,
        }
    }
}

/// A row that can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionRow {
    /// An option, by its index.
    Option(usize),
    OwnWords,
    LeaveOpen,
}

impl QuestionsDialog {
    /// The first question, not drawn yet.
    pub fn new(request: QuestionRequest, early_key: EarlyKey) -> Self {
        let answers = vec![QuestionAnswer::default(); request.questions.len()];
        let mut dialog = Self {
            request,
            answers,
            at: 0,
            mark: QuestionRow::OwnWords,
            field: None,
            revision: 0,
            scroll: 0,
            review: QuestionReview::Unseen,
            guard: QuestionGuard::default(),
            early_key,
        };
        dialog.show(0);
        dialog
    }

    pub(super) fn question(&self) -> Option<&UserQuestion> {
        self.request.questions.get(self.at)
    }

    pub(super) fn rows(&self) -> Vec<QuestionRow> {
        let options = self.question().map_or(0, |question| question.options.len());
        let options = (0..options).map(QuestionRow::Option);
        let has_document = self.document().is_some();
        let others = [QuestionRow::OwnWords, QuestionRow::LeaveOpen];
        let others =
            others.into_iter().filter(|row| !has_document || *row != QuestionRow::LeaveOpen);
        options.chain(others).collect()
    }

    /// What the question is about, such as a plan. as the user has changed it.
    pub(super) fn document(&self) -> Option<&str> {
        let changed = self.answers.get(self.at).and_then(|answer| answer.document.as_deref());
        changed.or_else(|| self.question()?.document.as_deref())
    }

    /// An answer with nothing but the document as the user has changed it.
    pub(super) fn kept_document(&self) -> QuestionAnswer {
        let document = self.answers.get(self.at).and_then(|answer| answer.document.clone());
        QuestionAnswer { document, ..QuestionAnswer::default() }
    }

    pub(super) fn allows_several(&self) -> bool {
        self.question().is_some_and(|question| question.allows_several)
    }

    /// Shows a question. Its guard starts over: a digit typed for the one before answers nothing.
    pub(super) fn show(&mut self, at: usize) {
        self.at = at;
        self.field = None;
        self.scroll = 0;
        self.review = match self.document() {
            Some(_) => QuestionReview::Unseen,
            None => QuestionReview::Seen,
        };
        let chosen = self.answers.get(at).and_then(|answer| answer.chosen.first());
        let first = self.rows().first().copied().unwrap_or(QuestionRow::OwnWords);
        self.mark = chosen.map_or(first, |chosen| QuestionRow::Option(*chosen));
        self.guard.hidden();
        if at > 0 {
            self.early_key = EarlyKey::Discard;
        }
    }

    /// Goes to the next question; after the last one the answers are sent.
    pub(super) fn go_on(&mut self) -> Vec<Intent> {
        if self.at + 1 < self.request.questions.len() {
            self.show(self.at + 1);
            return Vec::new();
        }
        vec![Intent::AnswerQuestions(self.request.id, self.answers.clone())]
    }

    /// Takes a row as a digit or a click does.
    pub(super) fn take(&mut self, row: QuestionRow) -> Vec<Intent> {
        self.mark = row;
        match row {
            QuestionRow::Option(_) if self.review == QuestionReview::Unseen => Vec::new(),
            QuestionRow::Option(option) if self.allows_several() => {
                self.toggle(option);
                Vec::new()
            }
            QuestionRow::Option(option) => {
                self.set_answer(QuestionAnswer { chosen: vec![option], ..self.kept_document() });
                self.go_on()
            }
            QuestionRow::OwnWords => {
                let said = self.answers.get(self.at).and_then(|answer| answer.text.as_deref());
                let said = said.unwrap_or_default();
                let editor = TextEditor::with_text(EditorLines::Many, said);
                self.field = Some(QuestionField::OwnWords(editor));
                Vec::new()
            }
            QuestionRow::LeaveOpen if self.document().is_some() => Vec::new(),
            QuestionRow::LeaveOpen => {
                self.set_answer(QuestionAnswer::default());
                self.go_on()
            }
        }
    }

    pub(super) fn toggle(&mut self, option: usize) {
        let Some(answer) = self.answers.get_mut(self.at) else { return };
        match answer.chosen.iter().position(|chosen| *chosen == option) {
            Some(at) => drop(answer.chosen.remove(at)),
            None => answer.chosen.push(option),
        }
        answer.chosen.sort_unstable();
    }

    /// Takes the marked row; where several may be chosen, those that are.
    pub(super) fn accept(&mut self) -> Vec<Intent> {
        let has_choice = self.answers.get(self.at).is_some_and(|it| !it.chosen.is_empty());
        match self.mark {
            QuestionRow::Option(_) if self.allows_several() && has_choice => self.go_on(),
            QuestionRow::Option(option) if self.allows_several() => {
                self.toggle(option);
                self.go_on()
            }
            row => self.take(row),
        }
    }

    /// Takes over the user's own words. Where several answers are possible, they go with the options.
    pub(super) fn accept_words(&mut self, words: &str) -> Vec<Intent> {
        let words = words.trim();
        self.field = None;
        if words.is_empty() {
            return Vec::new();
        }
        let kept = self.answers.get(self.at).filter(|_| self.allows_several());
        let chosen = kept.map(|answer| answer.chosen.clone()).unwrap_or_default();
        let text = Some(words.to_owned());
        self.set_answer(QuestionAnswer { chosen, text, ..self.kept_document() });
        self.go_on()
    }

    /// Opens the document to change it.
    pub(super) fn edit_document(&mut self) {
        if let Some(text) = self.document() {
            let editor = TextEditor::with_text(EditorLines::Many, text);
            self.field = Some(QuestionField::Document(editor));
        }
    }

    /// Takes over what the user has made of the document; an empty text leaves it as it is.
    pub(super) fn accept_document(&mut self, text: &str) {
        self.field = None;
        self.scroll = 0;
        self.revision += 1;
        if !text.trim().is_empty() {
            let document = Some(text.to_owned());
            self.set_answer(QuestionAnswer { document, ..QuestionAnswer::default() });
        }
    }

    pub(super) fn set_answer(&mut self, answer: QuestionAnswer) {
        if let Some(place) = self.answers.get_mut(self.at) {
            *place = answer;
        }
    }

    pub(super) fn move_mark(&mut self, by: isize) {
        let rows = self.rows();
        let at = rows.iter().position(|row| *row == self.mark).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(rows.len() - 1);
        self.mark = rows[at];
        if self.document().is_none() {
            self.scroll = 0;
        }
    }

    pub(super) fn press(&mut self, key: QuestionKey, pressed: Option<char>) -> Vec<Intent> {
        match key {
            QuestionKey::Number => {
                let digit = pressed.and_then(|key| key.to_digit(10)).unwrap_or_default();
                let option = (digit as usize).checked_sub(1).map(QuestionRow::Option);
                let row = option.filter(|row| self.rows().contains(row));
                row.map_or_else(Vec::new, |row| self.take(row))
            }
            QuestionKey::Accept => self.accept(),
            QuestionKey::Toggle => match self.mark {
                QuestionRow::Option(option) if self.allows_several() => {
                    self.toggle(option);
                    Vec::new()
                }
                QuestionRow::Option(_) | QuestionRow::OwnWords | QuestionRow::LeaveOpen => {
                    Vec::new()
                }
            },
            QuestionKey::RowAbove => {
                self.move_mark(-1);
                Vec::new()
            }
            QuestionKey::RowBelow => {
                self.move_mark(1);
                Vec::new()
            }
            QuestionKey::OwnWords => self.take(QuestionRow::OwnWords),
            QuestionKey::LeaveOpen => self.take(QuestionRow::LeaveOpen),
            QuestionKey::Back => {
                if let Some(before) = self.at.checked_sub(1) {
                    self.show(before);
                }
                Vec::new()
            }
            QuestionKey::EditDocument => {
                self.edit_document();
                Vec::new()
            }
            QuestionKey::Stop => vec![Intent::StopTurn],
            QuestionKey::Scroll(_) => Vec::new(),
        }
    }
}
