//! Calls in tags, whose values are untyped text.

use serde_json::{Map, Value};

use super::read::{
    CallParseOutcome, CallParseStop, CallText, DeclaredTools, TextToolCall, json, outcome, python,
    typed,
};
use crate::domain::lenient_json;

/// The prefix of each of MiniMax M3's tags.
const MINIMAX: &str = "]<]minimax[>[";

/// Decides by the first characters of a block what it holds: JSON, functions, invocations, pairs of
/// keys and values, or Python.
pub(super) fn any(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    // DeepSeek and LongCat add names of their own to each tag.
    let plain = body.text.replace("｜DSML｜", "").replace("longcat_arg_", "arg_");
    let body = CallText { text: plain.trim(), ..body };
    if body.text.starts_with('{') {
        json(body, tools)
    } else if body.text.starts_with("<function=") {
        functions(body, tools)
    } else if body.text.starts_with("<invoke") {
        outcome(invocations(body.text, tools))
    } else if body.text.starts_with('[') {
        match json(body, tools) {
            CallParseOutcome::Broken => python(body, tools),
            read @ (CallParseOutcome::Calls(_) | CallParseOutcome::Cut) => read,
        }
    } else if body.text.contains('(') && !body.text.contains("<arg_key>") {
        python(body, tools)
    } else {
        outcome(pairs(body, tools))
    }
}

/// `<function=NAME><parameter=K>V</parameter>…</function>`, with line breaks around each value, or
/// with an object instead of the parameters. Llama 3 puts the object into the tag.
pub(super) fn functions(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    let text = body.text.trim();
    // If the closing tag ended the block, it is no longer part of the text.
    if body.is_closed && !text.ends_with("</function>") {
        return outcome(function_calls(&format!("{}</function>", body.text), tools));
    }
    outcome(function_calls(text, tools))
}

fn function_calls(
    mut rest: &str,
    tools: &DeclaredTools,
) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let tag = enter(rest, "<function=")?;
        let (name, behind) = tag.split_at(tag.find(['>', '{']).ok_or(CallParseStop::Cut)?);
        let name = name.trim().trim_matches('"');
        let mut input = Map::new();
        rest = behind.strip_prefix('>').unwrap_or(behind).trim_start();
        if rest.starts_with('{') {
            let (value, end) = lenient_json::parse_value(rest, 0)?;
            input = fields(value)?;
            rest = rest[end..].trim_start();
        }
        while let Some(behind) = rest.strip_prefix("<parameter=") {
            let (key, behind) = behind.split_once('>').ok_or(CallParseStop::Cut)?;
            let followers = ["<parameter=", "</function>"];
            let (value, behind) = until(behind, "</parameter>", &followers)?;
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            input.insert(key.to_owned(), tools.value(name, key, value));
            rest = behind.trim_start();
        }
        rest = enter(rest, "</function>")?.trim_start();
        calls.push(tools.call(name, input)?);
    }
    Ok(calls)
}

/// `<invoke name="N"><parameter name="K">V</parameter></invoke>`. DeepSeek marks for each value
/// whether it is a string.
fn invocations(mut rest: &str, tools: &DeclaredTools) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (tag, behind) = enter(rest, "<invoke ")?.split_once('>').ok_or(CallParseStop::Cut)?;
        let name = attribute(tag, "name").ok_or(CallParseStop::Broken)?;
        let mut input = Map::new();
        rest = behind.trim_start();
        while let Some(behind) = rest.strip_prefix("<parameter ") {
            let (tag, behind) = behind.split_once('>').ok_or(CallParseStop::Cut)?;
            let key = attribute(tag, "name").ok_or(CallParseStop::Broken)?;
            let (text, behind) = until(behind, "</parameter>", &["<parameter ", "</invoke>"])?;
            let value = match attribute(tag, "string").as_deref() {
                Some("true") => Value::String(text.to_owned()),
                Some("false") => typed(text).ok_or(CallParseStop::Broken)?,
                Some(_) | None => tools.value(&name, &key, text),
            };
            input.insert(key, value);
            rest = behind.trim_start();
        }
        rest = enter(rest, "</invoke>")?.trim_start();
        calls.push(tools.call(&name, input)?);
    }
    Ok(calls)
}

/// MiniMax M3: an invocation whose parameters are tags with their own names.
pub(super) fn minimax(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(minimax_calls(body.text, tools))
}

fn minimax_calls(text: &str, tools: &DeclaredTools) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut calls = Vec::new();
    let mut pieces = text.split(MINIMAX).filter(|piece| !piece.trim().is_empty());
    while let Some(piece) = pieces.next() {
        let (tag, _) = enter(piece, "<invoke ")?.split_once('>').ok_or(CallParseStop::Cut)?;
        let name = attribute(tag, "name").ok_or(CallParseStop::Broken)?;
        let mut input = Map::new();
        loop {
            let piece = pieces.next().ok_or(CallParseStop::Cut)?;
            if piece.trim_end() == "</invoke>" {
                break;
            }
            let (tag, value) = enter(piece, "<")?.split_once('>').ok_or(CallParseStop::Cut)?;
            let key = attribute(tag, "name").unwrap_or_else(|| tag.to_owned());
            let element = tag.split(' ').next().unwrap_or_default();
            let closer = pieces.next().ok_or(CallParseStop::Cut)?;
            if enter(closer, "</")?.trim_end() != format!("{element}>") {
                return Err(CallParseStop::Broken);
            }
            let value = tools.value(&name, &key, value);
            input.insert(key, value);
        }
        calls.push(tools.call(&name, input)?);
    }
    Ok(calls)
}

/// `NAME<arg_key>K</arg_key><arg_value>V</arg_value>…`. Only the end of the block shows that there
/// are no more pairs.
fn pairs(body: CallText<'_>, tools: &DeclaredTools) -> Result<Vec<TextToolCall>, CallParseStop> {
    if !body.is_closed {
        return Err(CallParseStop::Cut);
    }
    let start = body.text.find("<arg_key>").unwrap_or(body.text.len());
    let name = body.text[..start].trim();
    let mut input = Map::new();
    let mut rest = &body.text[start..];
    while !rest.is_empty() {
        let (key, behind) =
            enter(rest, "<arg_key>")?.split_once("</arg_key>").ok_or(CallParseStop::Cut)?;
        let behind = enter(behind.trim_start(), "<arg_value>")?;
        let (text, behind) = until(behind, "</arg_value>", &["<arg_key>", ""])?;
        let key = key.trim();
        input.insert(key.to_owned(), tools.value(name, key, text));
        rest = behind.trim_start();
    }
    Ok(vec![tools.call(name, input)?])
}

/// The text behind `tag`, which has to come next.
pub(super) fn enter<'a>(text: &'a str, tag: &str) -> Result<&'a str, CallParseStop> {
    text.strip_prefix(tag).ok_or(if tag.starts_with(text) {
        CallParseStop::Cut
    } else {
        CallParseStop::Broken
    })
}

/// The value before the first `closer` that one of `followers` follows, so that a value may contain
/// such a tag. An empty follower stands for the end.
fn until<'a>(
    text: &'a str,
    closer: &str,
    followers: &[&str],
) -> Result<(&'a str, &'a str), CallParseStop> {
    let closes = |(at, _): &(usize, &str)| {
        let next = text[at + closer.len()..].trim_start();
        followers.iter().any(|follower| match follower.is_empty() {
            true => next.is_empty(),
            false => next.starts_with(follower),
        })
    };
    let (at, _) = text.match_indices(closer).find(closes).ok_or(CallParseStop::Cut)?;
    Ok((&text[..at], &text[at + closer.len()..]))
}

/// The value of an attribute in a tag.
pub(super) fn attribute(tag: &str, name: &str) -> Option<String> {
    let value = tag.split_once(&format!("{name}=\""))?.1.split_once('"')?.0;
    Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
}

fn fields(value: Value) -> Result<Map<String, Value>, CallParseStop> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(CallParseStop::Broken)
        }
    }
}
