//! What the model and the user are told about an edit: how its places were found, or why not. Pure.

use std::fmt::Write;

use serde_json::Value;

use super::arguments::left_out;
use super::closest_match;
use super::lines::split;
use super::matching::{EditMismatch, MatchQuality};
use super::steps::{EditPlace, EditStep, EditedText, StepFailure};
use crate::tools::ToolError;
use crate::tools::change::SeenState;
use crate::tools::truncation;

/// The most lines that are shown of each place whose indentation was mapped.
const SHOWN_LINES: usize = 20;

/// Where an edit goes, for its title: the lines `5-8`, or how many changes it makes.
pub(super) fn title_of_places(input: &Value) -> String {
    let number = |key: &str| input.get(key).and_then(Value::as_u64).filter(|number| *number > 0);
    let several = input.get("edits").and_then(Value::as_array).map_or(0, Vec::len);
    match (number("start_line"), number("end_line")) {
        _ if several > 1 => format!("{several} changes"),
        (Some(first), Some(last)) if last > first => format!("{first}-{last}"),
        (Some(first), _) => first.to_string(),
        (None, _) => String::new(),
    }
}

const READ_FIRST: &str = " Read the file, then send the numbers that it has now.";

/// What the result says about places that were not found exactly; empty where all were.
pub(super) fn how_found(edited: &EditedText) -> String {
    match edited.quality {
        MatchQuality::Exact => String::new(),
        MatchQuality::Normalised => {
            String::from(" It was found with other dashes, quotes or spaces.")
        }
        MatchQuality::Trimmed => {
            let mut told = String::from(
                " It was found with other white space at the ends of lines; the new lines got the \
                 file's indentation:",
            );
            let lines = split(&edited.text);
            for range in &edited.mapped_lines {
                for number in range.clone().take(SHOWN_LINES) {
                    let line = lines.get(number - 1).copied().unwrap_or_default();
                    let _ = write!(told, "\n{number}\t{line}");
                }
                if range.len() > SHOWN_LINES {
                    let _ = write!(told, "\n[{} more lines]", range.len() - SHOWN_LINES);
                }
            }
            told
        }
    }
}

/// The error where a place was found only with other characters, in a file that the model does not
/// know as it is.
pub(super) fn not_exact(seen: SeenState, shown: &str) -> ToolError {
    ToolError(format!(
        "`old_string` is not exactly in {shown} (white space, dashes or quotes differ), and {}. \
         Nothing was changed. Read it, then send the text exactly as it is there.",
        unknown(seen, shown)
    ))
}

/// Why the model does not know what the file holds now.
fn unknown(seen: SeenState, shown: &str) -> String {
    match seen {
        SeenState::Unread => format!("you have not read {shown} yet"),
        SeenState::Current | SeenState::Changed => {
            format!("{shown} has changed since you read it")
        }
    }
}

/// The error about a change that cannot be made.
pub(super) fn explain(
    failure: &StepFailure,
    step: &EditStep,
    seen: SeenState,
    shown: &str,
) -> ToolError {
    // A model that may not read the file learns nothing about it here.
    let is_known = seen != SeenState::Unread;
    let told = match failure {
        StepFailure::Mismatch { mismatch, text } => mismatched(mismatch, step, (text, seen), shown),
        StepFailure::OtherLine { line, expected, found, elsewhere } => {
            let mut told = format!("Line {line} of {shown} is not {expected:?}");
            if is_known {
                let _ = write!(told, ", but {found:?}");
            }
            told.push_str(". Nothing was changed.");
            match elsewhere.as_slice() {
                _ if !is_known => told.push_str(READ_FIRST),
                [] => told.push_str(READ_FIRST),
                [only] => {
                    let _ = write!(told, " That text is at line {only}.");
                }
                several => {
                    let several: Vec<String> = several.iter().map(usize::to_string).collect();
                    let _ = write!(told, " That text is at lines {}.", several.join(", "));
                }
            }
            told
        }
        StepFailure::PastEnd { line, count } => {
            let lines = match is_known {
                true => format!(", but {}", truncation::pluralise(*count as u64, "line")),
                false => String::new(),
            };
            format!("{shown} has no line {line}{lines}. Nothing was changed.{READ_FIRST}")
        }
        StepFailure::Overlap { line } => format!(
            "an earlier change of this call has changed the text at line {line}. Nothing was \
             changed. Put what belongs together into one change."
        ),
        StepFailure::NotEmpty => format!(
            "`old_string` is empty, but {shown} exists. Send the text to replace, or use Write to \
             replace the whole file."
        ),
        StepFailure::Placeholder(line) => return left_out(line),
    };
    ToolError(told)
}

fn mismatched(
    mismatch: &EditMismatch,
    step: &EditStep,
    (text, seen): (&str, SeenState),
    shown: &str,
) -> String {
    let old = match &step.place {
        EditPlace::Text { old, .. } => old.replace("\r\n", "\n"),
        EditPlace::Lines { .. } | EditPlace::After { .. } | EditPlace::NewFile => String::new(),
    };
    let (quality, numbers) = match mismatch {
        EditMismatch::Nowhere => {
            return match seen {
                SeenState::Unread => format!(
                    "`old_string` is not in {shown}, and you have not read {shown} yet. Nothing \
                     was changed. Read it first, then repeat the call."
                ),
                SeenState::Current | SeenState::Changed => {
                    let changed = match seen {
                        SeenState::Changed => ", which has changed since you read it",
                        SeenState::Current | SeenState::Unread => "",
                    };
                    let hint = closest_match::hint(text, &old, &step.new);
                    format!(
                        "`old_string` is not in {shown}{changed}. Nothing was changed.\n{}",
                        hint.trim_end()
                    )
                }
            };
        }
        EditMismatch::TooMuch { places, size } => {
            return format!(
                "{shown} would have {} with {} replaced, too much to edit here. Nothing was changed. Use \
                 Bash, for example sed -i.",
                truncation::size(*size as u64),
                truncation::pluralise(*places as u64, "place")
            );
        }
        EditMismatch::Indentation(_) if seen != SeenState::Current => {
            return not_exact(seen, shown).0;
        }
        EditMismatch::Indentation(line) => {
            let lines = split(text);
            let there = lines.get(line - 1..).unwrap_or_default();
            let there: Vec<String> = there
                .iter()
                .take(split(&old).len().min(SHOWN_LINES))
                .enumerate()
                .map(|(at, text)| format!("{}\t{}", line + at, closest_match::visible(text)))
                .collect();
            return format!(
                "`old_string` is at line {line} of {shown} with other indentation, and \
                 `new_string` begins with another one again, so it is not certain what the new \
                 lines should get. Nothing was changed. Send both with the indentation of the file \
                 (→ is a tab, · a space):\n{}",
                there.join("\n")
            );
        }
        EditMismatch::Several(quality, numbers) => (quality, numbers),
    };
    let first: Vec<String> = numbers.iter().take(10).map(usize::to_string).collect();
    let more = if numbers.len() > first.len() { ", …" } else { "" };
    let (how, remedy) = match quality {
        MatchQuality::Exact => ("", "Include lines around it, or set `replace_all` to true."),
        MatchQuality::Normalised => (
            ", and none exactly (dashes, quotes or spaces differ)",
            "Send it exactly as the file has it, with lines around it.",
        ),
        MatchQuality::Trimmed => (
            ", and none exactly (indentation differs)",
            "Send it exactly as the file has it, with lines around it.",
        ),
    };
    format!(
        "`old_string` matches {} places in {shown}{how}, at lines {}{more}. Nothing was changed. \
         {remedy}",
        numbers.len(),
        first.join(", "),
    )
}
