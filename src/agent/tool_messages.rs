//! What the model is told about calls that were not run as it asked.

use serde_json::Value;

use crate::domain::{CallInput, ToolDisplay, ToolOutput, ToolSpec, ToolStatus, lenient_json};
use crate::tools::ToolError;

use super::partial_approval::PartialApproval;

/// What the model is told about a call that the user stopped.
const CANCELLED: &str = "Cancelled by the user.";

/// What the model is told about a call that stands in one response more than once.
pub(super) const SAME_CALL: &str =
    "Not run: this response has the same call twice. Use the result of the first one.";

pub(super) fn denied_by_user(instruction: Option<String>) -> ToolOutput {
    match instruction {
        Some(instruction) => {
            let shown = format!("You said no: {instruction}");
            denied(&format!("The user said no, and to do this instead: {instruction}"))
                .with_display(ToolDisplay::Terminal { text: shown })
        }
        None => denied(
            "The user said no. Do not repeat the call or work around it; ask what they want instead.",
        )
        .with_display(ToolDisplay::Terminal { text: "You said no".into() }),
    }
}

/// Who wrote other arguments than the model did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentsEditor {
    User,
    Hook,
}

/// Tells the model that other arguments ran than it sent, and the user what ran, unless they chose
/// only how the same command runs.
pub(super) fn with_other_input(
    output: ToolOutput,
    editor: ArgumentsEditor,
    sent: &CallInput,
    ran: &Value,
) -> ToolOutput {
    let (who, to_user) = match editor {
        ArgumentsEditor::User => ("The user", "You"),
        ArgumentsEditor::Hook => ("A hook", "A hook"),
    };
    let note = format!("{who} changed this call. What ran: {ran}\n\n");
    let command = ran.get("command").and_then(Value::as_str);
    let has_it = |sent: &Value| sent.get("command").and_then(Value::as_str) == command;
    let is_same = command.is_some() && matches!(sent, CallInput::Valid(sent) if has_it(sent));
    let above = if is_same && editor == ArgumentsEditor::User {
        String::new()
    } else {
        let shown = command.map_or_else(|| ran.to_string(), str::to_owned);
        format!("{to_user} changed it to `{shown}`\n\n")
    };
    let display = match output.display {
        Some(ToolDisplay::Diff(diff)) => ToolDisplay::Diff(diff),
        Some(ToolDisplay::Terminal { text }) => ToolDisplay::Terminal { text: above + &text },
        None => ToolDisplay::Terminal { text: above + &output.observation },
    };
    let observation = note + &output.observation;
    ToolOutput { observation, display: Some(display), ..output }
}

/// Tells the model which changes the user left out, so that it knows what the file holds.
pub(super) fn with_partial_note(output: ToolOutput, part: &PartialApproval) -> ToolOutput {
    let PartialApproval { accepted, total, excluded } = part;
    let note = format!(
        "The user took {accepted} of the {total} changes in this call and left out what follows. There \
         the file keeps the lines with - and does not get those with +. Do not make these changes \
         again unless they ask.\n{excluded}\n"
    );
    let summary = output.summary.map(|summary| format!("{accepted} of {total} changes  {summary}"));
    ToolOutput { observation: note + &output.observation, summary, ..output }
}

/// What the model is told instead of running a repeated call.
pub(super) fn repeated_call(times: u32) -> ToolOutput {
    ToolOutput::failed(format!(
        "Not run: this exact call has already had the same result {times} times in a row, and \
         no other call has changed anything since. Use that result: go on with something else, or answer now."
    ))
}

/// What is added to an error that a tool has come to in so many responses in a row.
pub(super) fn failing_calls(times: u32, tool: &str) -> String {
    format!(
        "{tool} has failed with this same error {times} times in a row. Other values do not help: do \
         what the error says, or go on without {tool}."
    )
}

/// The same where the arguments are not those of the tool: says what they are.
pub(super) fn invalid_calls(times: u32, spec: &ToolSpec) -> String {
    let name = &spec.name;
    let required: Vec<&str> = spec.input_schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let arguments = spec.input_schema["properties"].as_object().into_iter().flatten();
    let arguments: Vec<String> = arguments
        .map(|(argument, schema)| {
            let kind = schema["type"].as_str().unwrap_or("any value");
            let need = if required.contains(&&**argument) { "required" } else { "optional" };
            format!("\"{argument}\": {kind}, {need}")
        })
        .collect();
    format!(
        "The arguments of {name} were wrong {times} times in a row. A valid call of {name} has one JSON \
         object with these arguments and no others: {{{}}}. Send that, or go on without {name}.",
        arguments.join("; ")
    )
}

/// The same where no tool has the name.
pub(super) fn unknown_tools(times: u32) -> String {
    format!(
        "You called tools that do not exist {times} times in a row. Do not guess names: call one of the tools above, or \
         answer without a call."
    )
}

/// What the model is told about a call in whose midst the output limit cut the response.
pub(super) fn cut_call(max_tokens: Option<u32>) -> String {
    format!(
        "Not run: the response was cut off at {} in the middle of this call. Send it again in smaller \
         parts: for a long file, Write its beginning and add the rest with one Edit after another; \
         for other long arguments, several calls. Send only calls, without text.",
        output_limit(max_tokens)
    )
}

/// What the model is told before its rounds of tool calls are used up.
pub(super) fn rounds_left(left: u32) -> String {
    format!(
        "{left} rounds of tool calls are left in this turn. Bring the work to a state that can stay \
         as it is, then answer with what is done and what is open."
    )
}

/// An output limit in words.
pub(super) fn output_limit(max_tokens: Option<u32>) -> String {
    match max_tokens {
        Some(tokens) => format!("its output limit of {tokens} tokens"),
        None => "the server's output limit".to_owned(),
    }
}

pub(super) fn denied(observation: &str) -> ToolOutput {
    ToolOutput { status: ToolStatus::Denied, ..ToolOutput::text(observation) }
}

pub(super) fn stopped() -> ToolOutput {
    ToolOutput { status: ToolStatus::Cancelled, ..ToolOutput::text(CANCELLED) }
}

/// The result of a call that was stopped while it ran, with what it had printed.
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

/// Shows the model where its arguments stop being a JSON object.
pub(super) fn not_json(raw: &str) -> ToolError {
    let mistake = match lenient_json::parse_object(raw) {
        Ok(_) => "they are nested too deeply".to_owned(),
        Err(flaw) => flaw.to_string(),
    };
    ToolError(format!(
        "Not run: the arguments are not a JSON object: {mistake}. Send the whole call again, with \
         the arguments as one JSON object."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: ToolOutput) -> String {
        match output.display {
            Some(ToolDisplay::Terminal { text }) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_user_reads_other_words_than_the_model() {
        assert_eq!(shown(denied_by_user(None)), "You said no");
        let told = denied_by_user(Some("do not push".into()));
        assert!(told.observation.starts_with("The user said no"), "{}", told.observation);
        assert_eq!(shown(told), "You said no: do not push");
        let ran = serde_json::json!({"command": "make"});
        let with = |sent: Value| {
            let sent = CallInput::Valid(sent);
            with_other_input(ToolOutput::text("built"), ArgumentsEditor::User, &sent, &ran)
        };
        let output = with(serde_json::json!({"command": "make all"}));
        assert!(output.observation.starts_with("The user changed this call. What ran: {"));
        assert_eq!(shown(output), "You changed it to `make`\n\nbuilt");
        let output = with(serde_json::json!({"command": "make", "tty": false}));
        assert!(output.observation.starts_with("The user changed this call. What ran: {"));
        assert_eq!(shown(output), "built");
    }

    #[test]
    fn a_hint_at_valid_arguments_names_each_with_its_type() {
        let input_schema = serde_json::json!({
            "properties": {"limit": {"type": "integer"}, "path": {"type": "string"}, "x": {}},
            "required": ["path"],
        });
        let hint = |input_schema| {
            invalid_calls(
                5,
                &ToolSpec { name: "Read".into(), description: "".into(), input_schema },
            )
        };
        let told = "no others: {\"limit\": integer, optional; \"path\": string, required; \"x\": any value, optional}. ";
        assert!(hint(input_schema).contains(told));
        assert!(hint(serde_json::json!({})).contains("no others: {}."));
    }

    #[test]
    fn the_model_is_shown_where_its_arguments_went_wrong() {
        let text = not_json("{\"path\": \"a\" \"limit\": 3}").0;
        assert!(text.contains("line 1, column 14: expected `,` or `}`"), "{text}");
        assert!(text.contains("found `\\\"limit\\\": 3}`"), "{text}");
        assert!(not_json("{\"path\": \"a").0.contains("break off"));
        assert!(not_json(&"[".repeat(9)).0.contains("expected an object"));
    }
}
