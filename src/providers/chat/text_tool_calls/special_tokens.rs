//! Calls between a model's special tokens: a name, then JSON or something close to it.

use serde_json::{Map, Value};

use super::read::{
    CallParseOutcome, CallParseStop, CallText, DeclaredTools, TextToolCall, json, outcome, typed,
};
use super::tags::{attribute, enter};
use crate::domain::lenient_json;

/// `[{…}]`, or `NAME[CALL_ID]id[ARGS]{…}` with both marks optional.
pub(super) fn mistral(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    match body.text.trim_start().starts_with(['[', '{']) {
        true => json(body, tools),
        false => outcome(named_arguments(body.text, tools)),
    }
}

fn named_arguments(text: &str, tools: &DeclaredTools) -> Result<Vec<TextToolCall>, CallParseStop> {
    let start = text.find(['[', '{']).ok_or(CallParseStop::Cut)?;
    let (name, mut rest) = (&text[..start], &text[start..]);
    if let Some(behind) = rest.strip_prefix("[CALL_ID]") {
        rest = &behind[behind.find(['[', '{']).ok_or(CallParseStop::Cut)?..];
    }
    rest = rest.strip_prefix("[ARGS]").unwrap_or(rest);
    let (input, _) = object(rest)?;
    Ok(vec![tools.call(name, input)?])
}

/// `functions.NAME <|constrain|>json<|message|>{…}`.
pub(super) fn harmony(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    let read = || -> Result<Vec<TextToolCall>, CallParseStop> {
        let (header, rest) = body.text.split_once("<|message|>").ok_or(CallParseStop::Cut)?;
        let name = header.split([' ', '<']).next().unwrap_or_default();
        let (input, _) = object(rest)?;
        Ok(vec![tools.call(name, input)?])
    };
    outcome(read())
}

/// `functions.NAME:0<|tool_call_argument_begin|>{…}`.
pub(super) fn kimi_k2(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(repeated(body.text, "<|tool_call_begin|>", "<|tool_call_end|>", |text| {
        let (id, rest) =
            text.split_once("<|tool_call_argument_begin|>").ok_or(CallParseStop::Cut)?;
        let name = id.rsplit_once(':').map_or(id, |(name, _)| name);
        let (input, rest) = object(rest)?;
        Ok((tools.call(name, input)?, rest))
    }))
}

/// `NAME<｜tool▁sep｜>{…}`, or `function<｜tool▁sep｜>NAME` and a code fence.
pub(super) fn deepseek(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(repeated(
        body.text,
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        |text| {
            let (kind, rest) = text.split_once("<｜tool▁sep｜>").ok_or(CallParseStop::Cut)?;
            if rest.trim_start().starts_with('{') {
                let (input, rest) = object(rest)?;
                return Ok((tools.call(kind, input)?, rest));
            }
            let (name, rest) = rest.split_once("```json").ok_or(CallParseStop::Cut)?;
            let (input, rest) = object(rest)?;
            let rest = rest.trim_start();
            Ok((tools.call(name, input)?, rest.strip_prefix("```").unwrap_or(rest)))
        },
    ))
}

/// `call:NAME{key:value}`, whose strings have delimiters of their own.
pub(super) fn gemma(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    let read = || -> Result<Vec<TextToolCall>, CallParseStop> {
        let text = quoted(&quoted(body.text, "<|\"|>")?, "<escape>")?;
        repeated(&text, "call:", "", |text| {
            let start = text.find('{').ok_or(CallParseStop::Cut)?;
            let (input, rest) = object(&text[start..])?;
            Ok((tools.call(&text[..start], input)?, rest))
        })
    };
    outcome(read())
}

/// `text` with everything between two `mark`s turned into a JSON string.
fn quoted(text: &str, mark: &str) -> Result<String, CallParseStop> {
    let mut plain = String::new();
    for (at, piece) in text.split(mark).enumerate() {
        match at % 2 {
            0 => plain.push_str(piece),
            _ => plain.push_str(&Value::from(piece).to_string()),
        }
    }
    if text.matches(mark).count().is_multiple_of(2) { Ok(plain) } else { Err(CallParseStop::Cut) }
}

/// `<|open|>call tool="NAME"<|sep|>`, with each argument in marks of the same kind.
pub(super) fn kimi_k3(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    // If the end of the call ended the block, it is no longer part of the text.
    let text = body.text.trim_end().trim_end_matches("<|sep|>");
    let text = match body.is_closed && !text.ends_with("<|close|>call") {
        true => format!("{text}<|close|>call"),
        false => text.to_owned(),
    };
    outcome(repeated(&text, "<|open|>call ", "<|close|>call", |text| {
        let (tag, mut rest) = text.split_once("<|sep|>").ok_or(CallParseStop::Cut)?;
        let name = attribute(tag, "tool").ok_or(CallParseStop::Broken)?;
        let mut input = Map::new();
        while let Some(behind) = rest.trim_start().strip_prefix("<|open|>argument ") {
            let (tag, behind) = behind.split_once("<|sep|>").ok_or(CallParseStop::Cut)?;
            let (text, behind) =
                behind.split_once("<|close|>argument").ok_or(CallParseStop::Cut)?;
            let key = attribute(tag, "key").ok_or(CallParseStop::Broken)?;
            let value = match attribute(tag, "type").as_deref() {
                Some("string") => Value::from(text),
                Some(_) => typed(text).ok_or(CallParseStop::Broken)?,
                None => tools.value(&name, &key, text),
            };
            input.insert(key, value);
            rest = behind.strip_prefix("<|sep|>").unwrap_or(behind);
        }
        let rest = rest.trim_start();
        // A call that is not closed may have more arguments.
        enter(rest, "<|close|>call")?;
        Ok((tools.call(&name, input)?, rest))
    }))
}

/// Calls one after another, each between `opener` and `closer`, either of which may be missing.
fn repeated<'a>(
    text: &'a str,
    opener: &str,
    closer: &str,
    read: impl Fn(&'a str) -> Result<(TextToolCall, &'a str), CallParseStop>,
) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut calls = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (call, behind) = read(rest.strip_prefix(opener).unwrap_or(rest))?;
        calls.push(call);
        let behind = behind.trim_start();
        let behind = behind.strip_prefix(closer).unwrap_or(behind);
        rest = behind.strip_prefix("<|sep|>").unwrap_or(behind).trim_start();
    }
    if calls.is_empty() { Err(CallParseStop::Cut) } else { Ok(calls) }
}

/// The next object, and the text behind it.
fn object(text: &str) -> Result<(Map<String, Value>, &str), CallParseStop> {
    let (value, end) = lenient_json::parse_value(text, 0)?;
    match value {
        Value::Object(fields) => Ok((fields, &text[end..])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(CallParseStop::Broken)
        }
    }
}
