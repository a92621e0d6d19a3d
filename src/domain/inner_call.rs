//! The call that a call of `Call` makes. Models reach tools that are not in their tools array through
//! `Call`; history keeps what they sent, and everything else goes by the call inside.

use std::borrow::Cow;

use serde_json::Value;

use super::lenient_json;
use super::{CallInput, ToolCall};

/// The tool that runs another tool, whose name and arguments are its own arguments.
pub const CALL_TOOL: &str = "Call";

/// Names that models give the arguments of the tool inside.
const INPUT_NAMES: [&str; 4] = ["input", "arguments", "args", "parameters"];
/// Names that models give the tool inside.
const TOOL_NAMES: [&str; 3] = ["tool", "name", "tool_name"];

impl ToolCall {
    /// The call that is made: the one inside a `Call`, with the same id; any other call as it is. A
    /// `Call` that names no tool stays one, and its tool says what to send.
    pub fn inner(&self) -> Cow<'_, ToolCall> {
        let mut call = Cow::Borrowed(self);
        while let Some(inner) = inside(&call) {
            call = Cow::Owned(inner);
        }
        call
    }
}

fn inside(call: &ToolCall) -> Option<ToolCall> {
    let CallInput::Valid(Value::Object(fields)) = &call.input else { return None };
    if !call.name.eq_ignore_ascii_case(CALL_TOOL) {
        return None;
    }
    let is_known = |name: &str| TOOL_NAMES.contains(&name) || INPUT_NAMES.contains(&name);
    let has_input = INPUT_NAMES.iter().any(|name| fields.contains_key(*name));
    let is_flat = !has_input && fields.contains_key(TOOL_NAMES[0]);
    if !is_flat && !fields.keys().all(|name| is_known(name)) {
        return None;
    }
    let name = TOOL_NAMES.iter().find_map(|name| fields.get(*name)?.as_str())?.trim();
    if name.is_empty() {
        return None;
    }
    let input = INPUT_NAMES.iter().find_map(|name| fields.get(*name));
    let input = match input {
        // Models write the arguments beside the tool's name, too.
        None if is_flat => {
            let mut arguments = fields.clone();
            arguments.shift_remove(TOOL_NAMES[0]);
            CallInput::Valid(Value::Object(arguments))
        }
        None | Some(Value::Null) => CallInput::Valid(Value::Object(serde_json::Map::new())),
        Some(Value::String(text)) => match lenient_json::parse_object(text) {
            Ok(fields) => CallInput::Valid(Value::Object(fields)),
            Err(_) if text.trim().is_empty() => {
                CallInput::Valid(Value::Object(serde_json::Map::new()))
            }
            Err(_) => CallInput::Invalid(text.clone()),
        },
        Some(value) => CallInput::Valid(value.clone()),
    };
    Some(ToolCall { id: call.id.clone(), name: name.to_owned(), input })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::CallId;

    fn call(name: &str, input: Value) -> ToolCall {
        ToolCall { id: CallId::new("c1"), name: name.into(), input: CallInput::Valid(input) }
    }

    #[test]
    fn what_is_inside_is_the_call_that_is_made() {
        let fetch = call("WebFetch", json!({"url": "https://a.example"}));
        for input in [
            json!({"tool": "WebFetch", "input": {"url": "https://a.example"}}),
            json!({"name": "WebFetch", "arguments": {"url": "https://a.example"}}),
            json!({"tool": " WebFetch ", "input": "{\"url\": \"https://a.example\"}"}),
            json!({"tool": "WebFetch", "url": "https://a.example"}),
            json!({"tool": "Call", "input": {"tool": "WebFetch", "input": {"url": "https://a.example"}}}),
        ] {
            assert_eq!(*call("Call", input.clone()).inner(), fetch, "{input}");
            assert_eq!(*call("call", input).inner(), fetch);
        }
        for input in [json!({"tool": "Tasks"}), json!({"tool": "Tasks", "input": ""})] {
            assert_eq!(*call("Call", input).inner(), call("Tasks", json!({})));
        }
        let broken =
            call("Call", json!({"tool": "Tasks", "input": "{\"a\": "})).inner().into_owned();
        assert_eq!(broken.input, CallInput::Invalid("{\"a\": ".into()));
    }

    #[test]
    fn every_other_call_stays_as_it_is() {
        for other in [
            call("Read", json!({"tool": "WebFetch", "input": {}})),
            call("Call", json!({"input": {}})),
            call("Call", json!({"tool": ""})),
            call("Call", json!({"tool": "A", "input": {}, "phone": "1"})),
            call("Call", json!({"name": "A", "phone": "1"})),
            call("Call", json!(["A"])),
            ToolCall { input: CallInput::Invalid("{".into()), ..call("Call", json!({})) },
        ] {
            assert_eq!(*other.inner(), other);
        }
    }
}
