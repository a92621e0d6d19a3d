//! The line that closes a turn, as text in roles.

use crate::domain::{format_tokens, pluralise};
use crate::session::TurnChanges;
use crate::tui::app::conversation::closing_line::{ClosingLine, TurnEnding};
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan};

use super::heads::format_elapsed;
use super::paint::{line, span};

/// The line between its dashes. A turn that did not end with an answer has a sign of its own in their
/// place, so that no colour has to be seen.
pub fn render(closing: &ClosingLine) -> StyledLine {
    let (sign, role) = match closing.ending {
        TurnEnding::Answered => ("─ ", StyleRole::Border),
        TurnEnding::Stopped | TurnEnding::RoundLimit | TurnEnding::Budget => {
            ("■ ", StyleRole::Warning)
        }
        TurnEnding::Failed => ("✗ ", StyleRole::Error),
    };
    let mut spans = vec![span(sign, role)];
    spans.extend(parts(closing, role));
    if closing.ending == TurnEnding::Answered {
        spans.push(span(" ─", StyleRole::Border));
    }
    line(spans)
}

/// The same in words.
pub fn words(closing: &ClosingLine) -> String {
    parts(closing, StyleRole::Text).into_iter().map(|span| span.text).collect()
}

fn parts(closing: &ClosingLine, label: StyleRole) -> Vec<StyledSpan> {
    let mut parts: Vec<Vec<StyledSpan>> = Vec::new();
    let mut muted = |text: String| parts.push(vec![span(text, StyleRole::Muted)]);
    if let Some(elapsed) = closing.elapsed.and_then(format_elapsed) {
        muted(elapsed);
    }
    let written = closing.tokens;
    if written > 0 {
        muted(format!("{} tokens", format_tokens(written)));
    }
    if let Some(cost) = closing.cost {
        muted(cost.to_string());
    }
    if let Some(changes) = closing.changes {
        parts.insert(usize::from(closing.elapsed.is_some()), of_changes(&changes));
    }
    if let Some(words) = closing.label() {
        parts.insert(0, vec![span(words, label)]);
    }
    parts.join(&span(" · ", StyleRole::Muted))
}

fn of_changes(changes: &TurnChanges) -> Vec<StyledSpan> {
    let mut spans = vec![span(pluralise(changes.files, "file"), StyleRole::Muted)];
    if let Some(lines) = changes.lines {
        let counts =
            [(lines.added, '+', StyleRole::Success), (lines.removed, '-', StyleRole::Error)];
        let counts = counts.into_iter().filter(|(count, _, _)| *count > 0);
        spans.extend(counts.map(|(count, sign, role)| span(format!(" {sign}{count}"), role)));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Money;
    use crate::session::{ChangedLines, TurnEnd, TurnOutcome};

    fn shown(outcome: TurnOutcome, change: impl Fn(&mut TurnEnd)) -> String {
        let mut end = TurnEnd::of(outcome);
        change(&mut end);
        render(&ClosingLine::of(&end)).spans.into_iter().map(|span| span.text).collect()
    }

    #[test]
    fn what_is_unknown_or_nothing_is_left_out() {
        let lines = |added, removed| Some(ChangedLines { added, removed });
        let whole = shown(TurnOutcome::Answered, |end| {
            end.elapsed_ms = 14_400;
            end.changes = Some(TurnChanges { files: 3, lines: lines(7, 2) });
            end.usage.output = 5_120;
            end.cost = Some(Money::from_nanos(20_000_000));
        });
        assert_eq!(whole, "─ 14 s · 3 files +7 -2 · 5.1k tokens · $0.0200 ─");
        let quick = shown(TurnOutcome::Answered, |end| {
            end.elapsed_ms = 499;
            end.changes = Some(TurnChanges { files: 1, lines: lines(4, 0) });
        });
        assert_eq!(quick, "─ 1 file +4 ─");
        let command = shown(TurnOutcome::Answered, |end| {
            end.elapsed_ms = 500;
            end.changes = Some(TurnChanges { files: 2, lines: None });
        });
        assert_eq!(command, "─ 0.5 s · 2 files ─");
        assert!(!ClosingLine::of(&TurnEnd::of(TurnOutcome::Answered)).is_worth_a_line());
    }

    #[test]
    fn a_turn_without_an_answer_says_so() {
        let shown = |outcome| shown(outcome, |end| end.elapsed_ms = 65_000);
        assert_eq!(shown(TurnOutcome::Interrupted), "■ You stopped the turn · 1:05");
        assert_eq!(shown(TurnOutcome::Failed("No server.".into())), "✗ Failed · 1:05");
        assert_eq!(shown(TurnOutcome::RoundLimit), "■ Round limit reached · 1:05");
        assert_eq!(shown(TurnOutcome::Budget("Spent.".into())), "■ Budget used up · 1:05");
    }
}
