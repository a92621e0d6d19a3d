//! What a hook's end means. Pure.
//!
//! Status 0: a text that begins with `{` is read as JSON, any other becomes context where the
//! event tells the model something. JSON that was begun and cannot be understood is a failure. A
//! hook that stands guard and fails otherwise than by a status that means something else blocks.

use serde_json::Value;

use super::event::HookEvent;
use super::hook::Form;
use super::run::Ended;

/// The longest text of a hook that is passed on, in characters.
pub(super) const LONGEST: usize = 10_000;

/// What one hook wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Whether it may go on.
    pub word: Told,
    /// The call's arguments as they are to be.
    pub input: Option<Value>,
    /// For the model.
    pub context: Option<String>,
    /// For the person.
    pub message: Option<String>,
    /// What went wrong, where that stops nothing.
    pub fault: Option<String>,
    /// Why the turn is to end.
    pub stop: Option<String>,
}

/// Whether it may go on, with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Told {
    /// It says nothing.
    #[default]
    Nothing,
    /// Yes, without a question where only the mode would ask.
    Allow(String),
    /// The person is to be asked.
    Ask(String),
    /// No. There always is a reason.
    Block(String),
}

impl Verdict {
    fn block(reason: impl Into<String>) -> Self {
        Self { word: Told::Block(reason.into()), ..Self::default() }
    }

    fn fault(what: impl Into<String>) -> Self {
        Self { fault: Some(what.into()), ..Self::default() }
    }

    /// Of a hook that could not do its work.
    pub(super) fn failed(event: HookEvent, what: impl Into<String>) -> Self {
        if event.is_guard() { Self::block(what) } else { Self::fault(what) }
    }

    /// Of a text for the model.
    pub(super) fn context(text: &str) -> Self {
        let text = short(text);
        Self { context: (!text.is_empty()).then_some(text), ..Self::default() }
    }
}

/// What it means that a command ended so, having printed this.
pub fn verdict(
    event: HookEvent,
    form: Form,
    ended: &Ended,
    output: &str,
    complaint: &str,
) -> Verdict {
    match ended {
        Ended::Code(0) => said(event, output.trim()),
        // What a shell says of a command that it does not find or may not run.
        Ended::Code(126 | 127) => {
            Verdict::failed(event, format!("It cannot be run: {}", reason(complaint, output)))
        }
        Ended::Code(code) => match form {
            Form::Short => Verdict::block(reason(complaint, output)),
            Form::Matcher if *code == 2 => Verdict::block(reason(complaint, "")),
            Form::Matcher => {
                let reason = reason(complaint, output);
                Verdict::fault(format!("It ended with status {code}: {reason}"))
            }
        },
        Ended::Signal(signal) => Verdict::failed(event, format!("Signal {signal} ended it.")),
        Ended::TimedOut(limit) => Verdict::failed(
            event,
            format!("It took longer than {} and was ended.", seconds(limit.as_secs_f64())),
        ),
        Ended::NotStarted(why) => Verdict::failed(event, why.as_str()),
        Ended::Cancelled => Verdict::default(),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds} second{}", if (seconds - 1.0).abs() < f64::EPSILON { "" } else { "s" })
}

/// What it printed, having ended well.
fn said(event: HookEvent, output: &str) -> Verdict {
    if !output.starts_with('{') {
        return if event.tells_model() { Verdict::context(output) } else { Verdict::default() };
    }
    let value: Value = match serde_json::from_str(output) {
        Ok(value) => value,
        Err(error) => {
            return Verdict::failed(event, format!("What it printed is not JSON: {error}."));
        }
    };
    understood(event, &value)
        .unwrap_or_else(|what| Verdict::failed(event, format!("What it printed is odd: {what}.")))
}

fn understood(event: HookEvent, value: &Value) -> Result<Verdict, String> {
    let specific = match value.get("hookSpecificOutput") {
        None => &Value::Null,
        Some(specific) if specific.is_object() => specific,
        Some(_) => return Err("`hookSpecificOutput` is no object".into()),
    };
    if let Some(name) = text(specific, "hookEventName")?
        && name != event.name()
    {
        return Err(format!("it answers {name}, and was asked for {}", event.name()));
    }
    let stop_reason = text(value, "stopReason")?;
    let stop = match value.get("continue") {
        None | Some(Value::Bool(true)) => None,
        Some(Value::Bool(false)) => Some(given(stop_reason)),
        Some(_) => return Err("`continue` is neither true nor false".into()),
    };
    let input = match specific.get("updatedInput") {
        None | Some(Value::Null) => None,
        Some(input) if event == HookEvent::PreToolUse && input.is_object() => Some(input.clone()),
        Some(_) if event == HookEvent::PreToolUse => {
            return Err("`updatedInput` is no object".into());
        }
        Some(_) => None,
    };
    Ok(Verdict {
        word: word(event, value, specific)?,
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

fn word(event: HookEvent, value: &Value, specific: &Value) -> Result<Told, String> {
    if let Some(decision) = text(specific, "permissionDecision")?
        && event == HookEvent::PreToolUse
    {
        let reason = text(specific, "permissionDecisionReason")?;
        return match decision {
            "allow" => Ok(Told::Allow(reason.map(short).unwrap_or_default())),
            "ask" => Ok(Told::Ask(reason.map(short).unwrap_or_default())),
            "deny" => Ok(Told::Block(given(reason))),
            other => Err(format!("`permissionDecision` is `{other}`, not allow, ask or deny")),
        };
    }
    let reason = text(value, "reason")?;
    let short = || reason.map(short).unwrap_or_default();
    match text(value, "decision")? {
        None => Ok(Told::Nothing),
        Some("block" | "deny") => Ok(Told::Block(given(reason))),
        Some("approve" | "allow") if event == HookEvent::PreToolUse => Ok(Told::Allow(short())),
        Some("approve" | "allow") => Ok(Told::Nothing),
        Some("ask") if event == HookEvent::PreToolUse => Ok(Told::Ask(short())),
        Some(other) => Err(format!("`decision` is `{other}`, not block")),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<Option<&'a str>, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is no text")),
    }
}

/// Why a command failed, in its own words.
fn reason(complaint: &str, output: &str) -> String {
    let words = [complaint, output].into_iter().map(str::trim).find(|text| !text.is_empty());
    given(words)
}

fn given(reason: Option<&str>) -> String {
    match reason.map(short) {
        Some(reason) if !reason.is_empty() => reason,
        Some(_) | None => "It gave no reason.".into(),
    }
}

/// At most so much of a text, with a word where some of it is left out.
fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} [the rest is left out]", &text[..end]),
        None => text.to_owned(),
    }
}
