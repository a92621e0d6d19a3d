//! What the model is told of calls that did not go as it asked.

use crate::domain::{ToolOutput, ToolStatus};
use crate::permissions::Approved;

use super::decide::Whose;
use super::part::Taken;

/// What the model is told of a call that the person stopped.
const CANCELLED: &str = "Cancelled by the user.";

pub(super) fn denied_by_person(instruction: Option<String>) -> ToolOutput {
    match instruction {
        Some(instruction) => {
            denied(&format!("The user said no, and to do this instead: {instruction}"))
        }
        None => denied(
            "The user said no. Do not repeat the call or work around it; ask what they want instead.",
        ),
    }
}

/// Tells the model when something else ran than it asked for.
pub(super) fn with_change(output: ToolOutput, approved: &Approved, input: Whose) -> ToolOutput {
    match input {
        Whose::Models => output,
        Whose::Persons => {
            let note = format!("The user changed this call. What ran: {}\n\n", approved.input());
            ToolOutput { observation: note + &output.observation, ..output }
        }
        Whose::InPart(taken) => in_part(output, &taken),
    }
}

/// Tells the model what the person left out of a change, so that it knows what the file holds.
fn in_part(output: ToolOutput, part: &Taken) -> ToolOutput {
    let Taken { taken, of, left_out } = part;
    let note = format!(
        "The user took {taken} of the {of} changes in this call and left out what follows. There \
         the file keeps the lines with - and does not get those with +. Do not make these changes \
         again unless they ask.\n{left_out}\n"
    );
    let summary = output.summary.map(|summary| format!("{taken} of {of} changes  {summary}"));
    ToolOutput { observation: note + &output.observation, summary, ..output }
}

pub(super) fn denied(observation: &str) -> ToolOutput {
    ToolOutput { status: ToolStatus::Denied, ..ToolOutput::text(observation) }
}

pub(super) fn stopped() -> ToolOutput {
    ToolOutput { status: ToolStatus::Cancelled, ..ToolOutput::text(CANCELLED) }
}

/// A call that was left behind in the middle of its work, with what it had printed.
pub(super) fn stopped_after(so_far: &str) -> ToolOutput {
    match so_far.trim_end() {
        "" => stopped(),
        so_far => ToolOutput {
            status: ToolStatus::Cancelled,
            ..ToolOutput::text(format!("{so_far}\n[stopped by the user]"))
        },
    }
}

pub(super) fn crashed() -> ToolOutput {
    ToolOutput::failed(
        "The tool itself failed, and what it had done by then is not known. Look before you go on, \
         and do not repeat the call as it was.",
    )
}

pub(super) fn not_json(raw: &str) -> ToolOutput {
    let end = raw.floor_char_boundary(200);
    ToolOutput::failed(format!(
        "Not run: the arguments are not a JSON object, perhaps because they were cut off. They \
         began with: {} Send the whole call again.",
        &raw[..end]
    ))
}
