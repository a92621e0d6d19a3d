//! Answers to the model's questions from a front end without keys: a whole line each.

use crate::tui::app::intent::Intent;
use crate::tui::dialogs::line::LineAnswerError;

use super::state::{QuestionRow, QuestionsDialog};
use crate::domain::QuestionAnswer;

impl QuestionsDialog {
    /// Answers the question with a line: numbers of options, `n` to leave it to the model, `stop`, or
    /// anything else as the user's own words.
    ///
    /// # Errors
    ///
    /// For an empty line, for a number that no option has, and for several numbers where one is wanted.
    pub(super) fn answer_with(&mut self, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
        let line = line.trim();
        match line.to_lowercase().as_str() {
            "" => return Err(LineAnswerError::NoOption),
            "n" if self.document().is_none() => return Ok(self.take(QuestionRow::LeaveOpen)),
            "stop" => return Ok(vec![Intent::StopTurn]),
            _ => {}
        }
        let numbers: Option<Vec<usize>> = line
            .split([',', ' '])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        let Some(mut numbers) = numbers else { return Ok(self.accept_words(line)) };
        numbers.sort_unstable();
        numbers.dedup();
        let options = self.question().map_or(0, |question| question.options.len());
        if options == 0 {
            return Ok(self.accept_words(line));
        }
        let is_option = |number: &usize| (1..=options).contains(number);
        if !numbers.iter().all(is_option) || (numbers.len() > 1 && !self.allows_several()) {
            return Err(LineAnswerError::NoOption);
        }
        let chosen = numbers.iter().map(|number| number - 1).collect();
        self.set_answer(QuestionAnswer { chosen, ..self.kept_document() });
        Ok(self.go_on())
    }
}
