//! What the end of a hook's command means. Pure.
//!
//! Exit status 0: a text that begins with `{` is read as JSON; any other text becomes context for
//! the model, where the event allows that. JSON that begins but cannot be understood is a failure.
//! A hook on a guard event blocks when it fails, unless its exit status has another meaning.

use serde_json::Value;

use super::event::HookEvent;
use super::hook::HookForm;
use super::run::HookExit;

/// The longest text of a hook that is passed on, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 10_000;

/// What one hook wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookVerdict {
    pub decision: HookDecision,
    /// The call's changed arguments; `None` leaves them as they are.
    pub input: Option<Value>,
    /// A text for the model.
    pub context: Option<String>,
    /// A text for the user.
    pub message: Option<String>,
    /// A failure that does not block.
    pub fault: Option<String>,
    /// Why the turn is to end; `None` lets it continue.
    pub stop: Option<String>,
}

/// Whether the event may continue, with the hook's reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookDecision {
    /// The hook decides nothing.
    #[default]
    Nothing,
    /// Continue, without a question where only the mode would ask.
    Allow(String),
    /// The user is to be asked.
    Ask(String),
    /// Do not continue. The reason is never empty.
    Block(String),
}

impl HookVerdict {
    fn block(reason: impl Into<String>) -> Self {
        Self { decision: HookDecision::Block(reason.into()), ..Self::default() }
    }

    fn fault(what: impl Into<String>) -> Self {
        Self { fault: Some(what.into()), ..Self::default() }
    }

    /// The verdict of a hook that failed: a guard blocks, any other hook only reports the failure.
    pub(super) fn failed(event: HookEvent, what: impl Into<String>) -> Self {
        if event.is_guard() { Self::block(what) } else { Self::fault(what) }
    }

    /// The verdict of a hook that only has a text for the model.
    pub(super) fn context(text: &str) -> Self {
        let text = short(text);
        Self { context: (!text.is_empty()).then_some(text), ..Self::default() }
    }
}

/// The meaning of a command's end, with what it printed. `form` decides what an exit status other
/// than 0 means.
pub fn verdict(
    event: HookEvent,
    form: HookForm,
    exit: &HookExit,
    stdout: &str,
    stderr: &str,
) -> HookVerdict {
    match exit {
        HookExit::Code(0) => parse_output(event, stdout.trim()),
        // The status with which a shell reports a command that it cannot find (127) or run (126).
        HookExit::Code(126 | 127) => {
            HookVerdict::failed(event, format!("It cannot run: {}", reason(stderr, stdout)))
        }
        HookExit::Code(code) => match form {
            HookForm::Short => HookVerdict::block(reason(stderr, stdout)),
            HookForm::Matcher if *code == 2 => HookVerdict::block(reason(stderr, "")),
            HookForm::Matcher => {
                let reason = reason(stderr, stdout);
                HookVerdict::fault(format!("It ended with status {code}: {reason}"))
            }
        },
        HookExit::Signal(signal) => {
            HookVerdict::failed(event, format!("It was killed by signal {signal}."))
        }
        HookExit::TimedOut(limit) => HookVerdict::failed(
            event,
            format!("It took longer than {} and was stopped.", seconds(limit.as_secs_f64())),
        ),
        HookExit::NotStarted(why) => HookVerdict::failed(event, why.as_str()),
        HookExit::Cancelled => HookVerdict::default(),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds} second{}", if (seconds - 1.0).abs() < f64::EPSILON { "" } else { "s" })
}

/// The meaning of what a command printed that ended with status 0.
fn parse_output(event: HookEvent, output: &str) -> HookVerdict {
    if !output.starts_with('{') {
        return if event.tells_model() {
            HookVerdict::context(output)
        } else {
            HookVerdict::default()
        };
    }
    let value: Value = match serde_json::from_str(output) {
        Ok(value) => value,
        Err(error) => {
            return HookVerdict::failed(event, format!("Its output is not JSON: {error}."));
        }
    };
    parse_json(event, &value).unwrap_or_else(|what| {
        HookVerdict::failed(event, format!("Its output is not valid: {what}."))
    })
}

fn parse_json(event: HookEvent, value: &Value) -> Result<HookVerdict, String> {
    let specific = match value.get("hookSpecificOutput") {
        None => &Value::Null,
        Some(specific) if specific.is_object() => specific,
        Some(_) => return Err("`hookSpecificOutput` is not an object".into()),
    };
    if let Some(name) = text(specific, "hookEventName")?
        && name != event.name()
    {
        return Err(format!("`hookEventName` is {name}, but must be {}", event.name()));
    }
    let stop_reason = text(value, "stopReason")?;
    let stop = match value.get("continue") {
        None | Some(Value::Bool(true)) => None,
        Some(Value::Bool(false)) => Some(reason_or_default(stop_reason)),
        Some(_) => return Err("`continue` is neither true nor false".into()),
    };
    let input = match specific.get("updatedInput") {
        None | Some(Value::Null) => None,
        Some(input) if event == HookEvent::PreToolUse && input.is_object() => Some(input.clone()),
        Some(_) if event == HookEvent::PreToolUse => {
            return Err("`updatedInput` is not an object".into());
        }
        Some(_) => None,
    };
    Ok(HookVerdict {
        decision: parse_decision(event, value, specific)?,
        input,
        context: text(specific, "additionalContext")?
            .filter(|_| event.tells_model())
            .map(short)
            .filter(|text| !text.is_empty()),
        message: text(value, "systemMessage")?.map(short),
        fault: None,
        stop,
    })
}

fn parse_decision(
    event: HookEvent,
    value: &Value,
    specific: &Value,
) -> Result<HookDecision, String> {
    if let Some(decision) = text(specific, "permissionDecision")?
        && event == HookEvent::PreToolUse
    {
        let reason = text(specific, "permissionDecisionReason")?;
        return match decision {
            "allow" => Ok(HookDecision::Allow(reason.map(short).unwrap_or_default())),
            "ask" => Ok(HookDecision::Ask(reason.map(short).unwrap_or_default())),
            "deny" => Ok(HookDecision::Block(reason_or_default(reason))),
            other => Err(format!("`permissionDecision` is `{other}`, not allow, ask or deny")),
        };
    }
    let reason = text(value, "reason")?;
    let short = || reason.map(short).unwrap_or_default();
    match text(value, "decision")? {
        None => Ok(HookDecision::Nothing),
        Some("block" | "deny") => Ok(HookDecision::Block(reason_or_default(reason))),
        Some("approve" | "allow") if event == HookEvent::PreToolUse => {
            Ok(HookDecision::Allow(short()))
        }
        Some("approve" | "allow") => Ok(HookDecision::Nothing),
        Some("ask") if event == HookEvent::PreToolUse => Ok(HookDecision::Ask(short())),
        Some(other) => Err(format!("`decision` is `{other}`, not block")),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<Option<&'a str>, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not text")),
    }
}

/// Why a command failed: its standard error, or else its standard output.
fn reason(stderr: &str, stdout: &str) -> String {
    let words = [stderr, stdout].into_iter().map(str::trim).find(|text| !text.is_empty());
    reason_or_default(words)
}

fn reason_or_default(reason: Option<&str>) -> String {
    match reason.map(short) {
        Some(reason) if !reason.is_empty() => reason,
        Some(_) | None => "It gave no reason.".into(),
    }
}

/// At most [`MAX_TEXT_CHARS`] characters of a text, with a note where the rest is left out.
fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{} [the rest is left out]", &text[..end]),
        None => text.to_owned(),
    }
}
