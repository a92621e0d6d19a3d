//! Shared code of the parsers of text calls, and the forms that are JSON or Python.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::ToolSpec;
use crate::domain::lenient_json::{self, LenientJsonError};

/// A call that was found in text.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::providers::chat) struct TextToolCall {
    pub(in crate::providers::chat) name: String,
    pub(in crate::providers::chat) input: TextCallInput,
}

/// The arguments of a call that was found in text.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::providers::chat) enum TextCallInput {
    Object(Map<String, Value>),
    /// The call was not closed, so that its arguments are not certain: all of it as it was written.
    Unclosed(String),
}

impl TextCallInput {
    /// The arguments as the model of a server's call would have sent them; no JSON where they are not
    /// certain, so that the call fails and says why.
    pub(in crate::providers::chat) fn into_text(self) -> String {
        match self {
            Self::Object(input) => Value::Object(input).to_string(),
            Self::Unclosed(text) => text,
        }
    }
}

/// The text of one or more calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallText<'a> {
    pub(super) text: &'a str,
    /// Whether the terminator has come.
    pub(super) is_closed: bool,
}

/// The result of parsing a call's text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallParseOutcome {
    Calls(Vec<TextToolCall>),
    /// The text ends within a call.
    Cut,
    /// The text is not a call.
    Broken,
}

/// Parses the calls of one form.
pub(super) type CallReader = fn(CallText<'_>, &DeclaredTools) -> CallParseOutcome;

/// Why a parser stops early; `?` works on it.
pub(super) enum CallParseStop {
    Cut,
    Broken,
}

impl From<LenientJsonError> for CallParseStop {
    fn from(flaw: LenientJsonError) -> Self {
        match flaw {
            LenientJsonError::Truncated => Self::Cut,
            LenientJsonError::TooManyValues | LenientJsonError::Syntax(_) => Self::Broken,
        }
    }
}

/// Turns a parser's result into an outcome. No calls at all count as `Broken`.
pub(super) fn outcome(read: Result<Vec<TextToolCall>, CallParseStop>) -> CallParseOutcome {
    match read {
        Ok(calls) if calls.is_empty() => CallParseOutcome::Broken,
        Ok(calls) => CallParseOutcome::Calls(calls),
        Err(CallParseStop::Cut) => CallParseOutcome::Cut,
        Err(CallParseStop::Broken) => CallParseOutcome::Broken,
    }
}

/// The tools that the request declared.
#[derive(Debug, Clone)]
pub(super) struct DeclaredTools(Arc<[ToolSpec]>);

impl Default for DeclaredTools {
    fn default() -> Self {
        Self::new(Arc::new([]))
    }
}

impl DeclaredTools {
    pub(super) fn new(specs: Arc<[ToolSpec]>) -> Self {
        Self(specs)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|spec| spec.name.as_str())
    }

    /// A call of the tool with this name; `Broken` if it is not declared.
    pub(super) fn call(
        &self,
        name: &str,
        input: Map<String, Value>,
    ) -> Result<TextToolCall, CallParseStop> {
        let name = name.trim();
        let known = |name: &str| self.names().find(|known| known.eq_ignore_ascii_case(name));
        let bare = name.strip_prefix("functions.").unwrap_or(name);
        match known(name).or_else(|| known(bare)) {
            Some(name) => {
                Ok(TextToolCall { name: name.to_owned(), input: TextCallInput::Object(input) })
            }
            None => Err(CallParseStop::Broken),
        }
    }

    /// The value of untyped text, converted to the type in the tool's schema of this field.
    pub(super) fn value(&self, tool: &str, key: &str, text: &str) -> Value {
        let spec = self.0.iter().find(|spec| spec.name == tool);
        let field = spec.and_then(|spec| spec.input_schema.get("properties")?.get(key));
        let takes = |kind: &str| field.is_some_and(|field| takes(field, kind));
        let trimmed = text.trim();
        if takes("null") && matches!(trimmed, "null" | "None") {
            return Value::Null;
        }
        if takes("string") {
            return Value::String(text.to_owned());
        }
        match typed(trimmed) {
            Some(value) if takes(kind(&value)) => value,
            Some(Value::Number(number)) if takes("integer") && is_whole(&number) => {
                Value::Number(number)
            }
            Some(_) | None => Value::String(text.to_owned()),
        }
    }
}

/// `text` as a JSON value, if all of it is one.
pub(super) fn typed(text: &str) -> Option<Value> {
    let (value, end) = lenient_json::parse_value(text, 0).ok()?;
    text[end..].trim().is_empty().then_some(value)
}

/// Objects and lists of objects, one after another.
pub(super) fn json(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(objects(body.text, tools, CallMarkers::Yes))
}

/// `functools[{…}]`, the form of Phi-4-mini.
pub(super) fn functools(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    json(CallText { text: body.text.strip_prefix("functools").unwrap_or(body.text), ..body }, tools)
}

/// Objects without any marks: only their shape says that they are calls.
pub(super) fn bare_json(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(objects(body.text, tools, CallMarkers::No))
}

/// Whether marks around an object say that it is a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallMarkers {
    Yes,
    No,
}

fn objects(
    text: &str,
    tools: &DeclaredTools,
    marked: CallMarkers,
) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut calls = Vec::new();
    let mut at = 0;
    loop {
        let rest =
            text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
        if rest.is_empty() {
            return if calls.is_empty() { Err(CallParseStop::Cut) } else { Ok(calls) };
        }
        if !rest.starts_with(['{', '[']) {
            return Err(CallParseStop::Broken);
        }
        let (value, end) = lenient_json::parse_value(text, text.len() - rest.len())?;
        at = end;
        match value {
            Value::Array(items) => {
                for item in items {
                    calls.push(call(item, tools, marked)?);
                }
            }
            value => calls.push(call(value, tools, marked)?),
        }
    }
}

/// The call of a tool that was not declared, if all of `text` is one object without marks.
pub(super) fn undeclared(text: &str, tools: &DeclaredTools) -> Option<TextToolCall> {
    let value = typed(text)?;
    let kind = value.get("type").map(|kind| kind.as_str().unwrap_or_default());
    let is_call_kind =
        |kind| matches!(kind, "function" | "tool_use" | "tool_call" | "function_call");
    let (name, input) = name_and_input(value.clone(), CallMarkers::No).ok()?;
    let name = name.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.'));
    let is_call = is_name && kind.is_none_or(is_call_kind) && tools.call(name, Map::new()).is_err();
    is_call.then(|| TextToolCall { name: name.to_owned(), input: TextCallInput::Object(input) })
}

/// The call in a text without marks that only lacks brackets at its end. `is_alone` says whether the call
/// of an undeclared tool counts.
///
/// Where nothing but the last brace is missing and no argument is an object, the brace has one place and
/// the call is whole. Everywhere else its arguments may go on, so they are not read.
pub(super) fn unclosed(text: &str, tools: &DeclaredTools, is_alone: bool) -> Option<TextToolCall> {
    let missing = missing_brackets(text)?;
    let closed = format!("{text}{missing}");
    let declared = || call(typed(&closed)?, tools, CallMarkers::No).ok();
    let call = declared().or_else(|| undeclared(&closed, tools).filter(|_| is_alone))?;
    let is_whole = missing == "}"
        && !text.trim_end().ends_with(',')
        && matches!(&call.input, TextCallInput::Object(input)
            if !input.values().any(Value::is_object));
    if is_whole {
        return Some(call);
    }
    Some(TextToolCall { input: TextCallInput::Unclosed(text.trim_end().to_owned()), ..call })
}

/// The brackets that close all that `text` leaves open; `None` if it ends within a string.
fn missing_brackets(text: &str) -> Option<String> {
    let (mut open, mut is_quoted, mut is_escaped) = (Vec::new(), false, false);
    for letter in text.chars() {
        match letter {
            _ if std::mem::take(&mut is_escaped) => {}
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => open.push('}'),
            '[' if !is_quoted => open.push(']'),
            '}' | ']' if !is_quoted => {
                open.pop();
            }
            _ => {}
        }
    }
    (!is_quoted).then(|| open.into_iter().rev().collect())
}

/// The most bytes of a tool's name, as providers allow.
const MAX_NAME: usize = 128;

/// The field names under which models write the arguments.
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];

fn call(
    value: Value,
    tools: &DeclaredTools,
    marked: CallMarkers,
) -> Result<TextToolCall, CallParseStop> {
    let (name, input) = name_and_input(value, marked)?;
    tools.call(&name, input)
}

fn name_and_input(
    value: Value,
    marked: CallMarkers,
) -> Result<(String, Map<String, Value>), CallParseStop> {
    let Value::Object(mut fields) = value else { return Err(CallParseStop::Broken) };
    if let Some(Value::Object(function)) = fields.get_mut("function") {
        fields = std::mem::take(function);
    }
    let name = ["name", "function", "tool"].iter().find_map(|key| fields.get(*key)?.as_str());
    let Some(name) = name.map(str::to_owned) else { return Err(CallParseStop::Broken) };
    let arguments = ARGUMENTS.iter().find_map(|key| fields.remove(*key));
    let known = |key: &str| matches!(key, "name" | "function" | "tool" | "type" | "id");
    if marked == CallMarkers::No && (arguments.is_none() || !fields.keys().all(|key| known(key))) {
        return Err(CallParseStop::Broken);
    }
    let input = match arguments {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(input)) => input,
        Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
        Some(Value::String(text)) => {
            lenient_json::parse_object(&text).map_err(|_| CallParseStop::Broken)?
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(CallParseStop::Broken);
        }
    };
    Ok((name, input))
}

/// `name(key=value, …)`, one or more, with or without brackets.
pub(super) fn python(body: CallText<'_>, tools: &DeclaredTools) -> CallParseOutcome {
    outcome(python_calls(body.text, tools))
}

fn python_calls(text: &str, tools: &DeclaredTools) -> Result<Vec<TextToolCall>, CallParseStop> {
    let mut rest = text.trim_start();
    let is_list = rest.starts_with('[');
    rest = rest.strip_prefix('[').unwrap_or(rest);
    let mut calls = Vec::new();
    loop {
        rest = rest.trim_start_matches(|it: char| it.is_whitespace() || it == ',');
        if is_list && let Some(behind) = rest.strip_prefix(']') {
            return if behind.trim().is_empty() { Ok(calls) } else { Err(CallParseStop::Broken) };
        }
        if rest.is_empty() {
            return if is_list || calls.is_empty() { Err(CallParseStop::Cut) } else { Ok(calls) };
        }
        let (name, behind) = rest.split_once('(').ok_or(CallParseStop::Cut)?;
        let (input, behind) = keywords(behind)?;
        calls.push(tools.call(name, input)?);
        rest = behind;
    }
}

fn keywords(mut rest: &str) -> Result<(Map<String, Value>, &str), CallParseStop> {
    let mut input = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(')') {
            return Ok((input, behind));
        }
        let (key, behind) = rest.split_once('=').ok_or(CallParseStop::Cut)?;
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|it| it.is_alphanumeric() || it == '_') {
            return Err(CallParseStop::Broken);
        }
        let (value, end) = lenient_json::parse_value(behind, 0)?;
        input.insert(key.to_owned(), value);
        rest = behind[end..].trim_start();
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.is_empty() => return Err(CallParseStop::Cut),
            None if !rest.starts_with(')') => return Err(CallParseStop::Broken),
            None => {}
        }
    }
}

/// Whether the schema of a field allows this type.
fn takes(schema: &Value, kind: &str) -> bool {
    let named = match schema.get("type") {
        Some(Value::String(name)) => name == kind || (name == "number" && kind == "integer"),
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => false,
    };
    named
        || schema.get("enum").and_then(Value::as_array).is_some_and(|values| {
            schema.get("type").is_none() && values.iter().any(|value| self::kind(value) == kind)
        })
        || ["anyOf", "oneOf"].iter().any(|key| {
            let choices = schema.get(key).and_then(Value::as_array);
            choices.is_some_and(|choices| choices.iter().any(|choice| takes(choice, kind)))
        })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_whole(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}
