//! Assembles tool calls from their fragments.
//!
//! The protocol numbers the calls of a response, and the first fragment of each has its id and
//! name. In practice servers leave the number out, give 0 to all calls or begin at 1; they repeat
//! ids and names, leave them empty or send them late; they send arguments as one string, as an
//! object or not at all. So a fragment belongs to the call with its number unless its id differs,
//! else to the call with its id, else to the last call. A call is complete only when the response
//! is.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::domain::{CallId, CallInput};
use crate::providers::StreamEvent;
use crate::providers::json::JsonView;
use crate::providers::response_size::KeptSize;

/// The calls of one response.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler {
    calls: Vec<PartialToolCall>,
    /// The number of calls that have been announced.
    started: usize,
    /// Ids in use, in the history or in this response.
    taken: HashSet<CallId>,
    kept: KeptSize,
}

#[derive(Debug, Default)]
struct PartialToolCall {
    /// The index that the server gave.
    number: Option<u64>,
    /// The id that the server gave.
    id: Option<String>,
    name: String,
    arguments: String,
    /// Whether it was added as a whole: what it lacks then, no limit has cut off.
    is_whole: bool,
    /// The index in slug's events, once the call has a name and is announced.
    index: Option<usize>,
}

/// One fragment in a normal form.
struct ToolCallFragment<'a> {
    number: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Cow<'a, str>,
}

impl ToolCallAssembler {
    /// An assembler without calls; `taken` are the ids that the history uses.
    pub(super) fn new(taken: HashSet<CallId>) -> Self {
        Self { taken, ..Self::default() }
    }

    /// Reads `tool_calls`: a list of fragments, or a single one.
    pub(super) fn take(&mut self, fragments: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        for fragment in fragments.items() {
            self.add(ToolCallFragment::read(fragment), out);
        }
        if fragments.is_object() {
            self.add(ToolCallFragment::read(fragments), out);
        }
    }

    /// Reads the `function_call` of older servers, which make at most one call.
    pub(super) fn take_single(&mut self, function: JsonView<'_>, out: &mut Vec<StreamEvent>) {
        if function.is_object() {
            self.add(
                ToolCallFragment { number: Some(0), ..ToolCallFragment::of_function(function) },
                out,
            );
        }
    }

    /// Adds a complete call.
    pub(super) fn add_whole(&mut self, name: &str, arguments: String, out: &mut Vec<StreamEvent>) {
        self.calls.push(PartialToolCall {
            name: name.to_owned(),
            arguments,
            is_whole: true,
            ..PartialToolCall::default()
        });
        self.announce(self.calls.len() - 1, out);
    }

    /// Announces calls that never got a name, so that the model learns of its mistake.
    pub(super) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        for at in 0..self.calls.len() {
            if self.calls[at].index.is_none() && !self.calls[at].arguments.is_empty() {
                self.announce(at, out);
            }
        }
    }

    /// How much of the response its calls are.
    pub(super) fn kept(&self) -> KeptSize {
        self.kept
    }

    /// Whether the response has any call so far.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether the arguments of the last call are truncated.
    pub(super) fn is_cut(&self) -> bool {
        let is_cut =
            |call: &PartialToolCall| !call.is_whole && CallInput::is_truncated(&call.arguments);
        self.calls.last().is_some_and(is_cut)
    }

    fn add(&mut self, fragment: ToolCallFragment<'_>, out: &mut Vec<StreamEvent>) {
        self.kept.text(&fragment.arguments);
        let at = self.find(&fragment).unwrap_or_else(|| {
            self.kept.block();
            self.kept.text(fragment.id.as_deref().unwrap_or_default());
            self.calls
                .push(PartialToolCall { number: fragment.number, ..PartialToolCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_none() {
            call.id = fragment.id.map(Cow::into_owned);
        }
        if let (true, Some(name)) = (call.name.is_empty(), fragment.name) {
            call.name = name.into_owned();
        }
        call.arguments.push_str(&fragment.arguments);
        match call.index {
            Some(index) if !fragment.arguments.is_empty() => {
                let json = fragment.arguments.into_owned();
                out.push(StreamEvent::ToolInputDelta { index, json });
            }
            Some(_) => {}
            None if call.name.is_empty() => {}
            None => self.announce(at, out),
        }
    }

    /// The call that a fragment continues; `None` if it begins a new one.
    fn find(&self, fragment: &ToolCallFragment) -> Option<usize> {
        let at = match (fragment.number, fragment.id.as_deref()) {
            (Some(number), _) => self.calls.iter().rposition(|call| call.number == Some(number))?,
            (None, Some(id)) => {
                return self.calls.iter().rposition(|call| call.id.as_deref() == Some(id));
            }
            (None, None) => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[at];
        let goes_on = match (&fragment.id, &call.id, &fragment.name) {
            (Some(id), Some(known), _) => id == known,
            (Some(_), None, _) | (None, _, None) => true,
            (None, _, Some(name)) => {
                call.name.is_empty() || (*name == call.name && !call.is_whole())
            }
        };
        goes_on.then_some(at)
    }

    fn announce(&mut self, at: usize, out: &mut Vec<StreamEvent>) {
        let index = self.started;
        self.started += 1;
        let call = &mut self.calls[at];
        call.index = Some(index);
        let given = call.id.as_deref().map(CallId::new);
        let id = given.filter(|id| !self.taken.contains(id)).unwrap_or_else(CallId::generate);
        self.taken.insert(id.clone());
        out.push(StreamEvent::ToolUseStarted { index, id, name: call.name.clone() });
        if !call.arguments.is_empty() {
            let json = call.arguments.clone();
            out.push(StreamEvent::ToolInputDelta { index, json });
        }
    }
}

impl PartialToolCall {
    /// Whether the arguments are already a complete object, so that nothing can follow.
    fn is_whole(&self) -> bool {
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

impl<'a> ToolCallFragment<'a> {
    fn read(fragment: JsonView<'a>) -> Self {
        // Some servers put name and arguments beside the id.
        let function = fragment.get("function");
        Self {
            number: fragment.get("index").number(),
            id: fragment.get("id").non_empty_text(),
            ..Self::of_function(if function.is_object() { function } else { fragment })
        }
    }

    fn of_function(function: JsonView<'a>) -> Self {
        let arguments = function.get("arguments");
        let arguments = if arguments.is_object() || arguments.is_list() {
            Cow::Owned(arguments.to_value().to_string())
        } else {
            arguments.text().unwrap_or_default()
        };
        Self { number: None, id: None, name: function.get("name").non_empty_text(), arguments }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::providers::json::JsonTape;

    /// Each call as "id name arguments" after these `tool_calls`.
    fn assembled(fragments: &[Value]) -> Vec<String> {
        assembled_beside(HashSet::new(), fragments)
    }

    fn take(calls: &mut ToolCallAssembler, fragments: &Value, out: &mut Vec<StreamEvent>) {
        let text = fragments.to_string();
        calls.take(JsonTape::default().read(&text).unwrap(), out);
    }

    fn assembled_beside(taken: HashSet<CallId>, fragments: &[Value]) -> Vec<String> {
        let mut calls = ToolCallAssembler::new(taken);
        let mut out = Vec::new();
        for fragment in fragments {
            take(&mut calls, fragment, &mut out);
        }
        calls.finish(&mut out);
        let mut seen: Vec<String> = Vec::new();
        for event in out {
            match event {
                StreamEvent::ToolUseStarted { index, id, name } => {
                    assert_eq!(index, seen.len(), "calls are numbered in order");
                    let id = if id.as_str().starts_with("call_0") { "own" } else { id.as_str() };
                    seen.push(format!("{id} {name} "));
                }
                StreamEvent::ToolInputDelta { index, json } => seen[index].push_str(&json),
                other => panic!("{other:?}"),
            }
        }
        seen
    }

    #[test]
    fn all_the_ways_in_which_servers_send_calls() {
        let f = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
        let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
            (
                "as the protocol has it",
                vec![
                    json!([{"index": 0, "id": "a", "type": "function", "function": f("Read", "")}]),
                    json!([{"index": 0, "function": {"arguments": "{\"x\""}}]),
                    json!([{"index": 1, "id": "b", "function": f("Grep", "")}]),
                    json!([{"index": 0, "function": {"arguments": ":1}"}}]),
                    json!([{"index": 1, "function": {"arguments": "{}"}}]),
                ],
                vec!["a Read {\"x\":1}", "b Grep {}"],
            ),
            (
                "several in one delta",
                vec![json!([
                    {"index": 0, "id": "a", "function": f("Read", "{}")},
                    {"index": 1, "id": "b", "function": f("Read", "{}")},
                ])],
                vec!["a Read {}", "b Read {}"],
            ),
            (
                "no index",
                vec![json!([
                    {"id": "a", "function": f("Read", "{}")},
                    {"id": "b", "function": f("Read", "{}")},
                ])],
                vec!["a Read {}", "b Read {}"],
            ),
            (
                "always index 0, with new ids",
                vec![
                    json!([{"index": 0, "id": "a", "function": f("Read", "{}")}]),
                    json!([{"index": 0, "id": "b", "function": f("Read", "{}")}]),
                ],
                vec!["a Read {}", "b Read {}"],
            ),
            (
                "the first index is 1",
                vec![
                    json!([{"index": 1, "id": "a", "function": f("Read", "")}]),
                    json!([{"index": 1, "function": {"arguments": "{}"}}]),
                ],
                vec!["a Read {}"],
            ),
            (
                "id and name repeated, empty or null",
                vec![
                    json!([{"index": 0, "id": "a", "function": f("Read", "{")}]),
                    json!([{"index": 0, "id": "a", "function": f("Read", "")}]),
                    json!([{"index": 0, "id": "", "function": f("", "")}]),
                    json!([{"index": 0, "id": null, "function": {"name": null, "arguments": "}"}}]),
                ],
                vec!["a Read {}"],
            ),
            (
                "another name and no id",
                vec![
                    json!([{"index": 0, "function": f("Read", "{}")}]),
                    json!([{"index": 0, "function": f("Grep", "{}")}]),
                ],
                vec!["own Read {}", "own Grep {}"],
            ),
            (
                "neither index nor id, the same tool twice",
                vec![
                    json!([{"function": f("Read", "{}")}]),
                    json!([{"function": f("Read", "{}")}]),
                ],
                vec!["own Read {}", "own Read {}"],
            ),
            (
                "neither index nor id on what follows",
                vec![
                    json!([{"id": "a", "function": f("Read", "{")}]),
                    json!([{"function": {"arguments": "}"}}]),
                ],
                vec!["a Read {}"],
            ),
            (
                "arguments as an object, tool_calls as an object",
                vec![
                    json!({"index": 0, "id": "0", "function": {"name": "Read", "arguments": {"x": 1}}}),
                ],
                vec!["0 Read {\"x\":1}"],
            ),
            (
                "no arguments at all",
                vec![
                    json!([{"index": 0, "id": "a", "function": {"name": "Now", "arguments": null}}]),
                ],
                vec!["a Now "],
            ),
            (
                "the name comes late",
                vec![
                    json!([{"index": 0, "id": "a", "function": {"arguments": "{"}}]),
                    json!([{"index": 0, "function": f("Read", "}")}]),
                ],
                vec!["a Read {}"],
            ),
            (
                "the name never comes",
                vec![json!([{"index": 0, "id": "a", "function": {"arguments": "{}"}}])],
                vec!["a  {}"],
            ),
            (
                "one id for two calls",
                vec![json!([
                    {"index": 0, "id": "0", "function": f("Read", "{}")},
                    {"index": 1, "id": "0", "function": f("Grep", "{}")},
                ])],
                vec!["0 Read {}", "own Grep {}"],
            ),
            ("nothing", vec![json!(null), json!([]), json!("x"), json!([null])], vec![]),
        ];
        for (what, fragments, expected) in table {
            assert_eq!(assembled(&fragments), expected, "{what}");
        }
    }

    #[test]
    fn an_id_of_the_history_is_not_used_again() {
        let call = json!([{"index": 0, "id": "functions.Read:0",
                           "function": {"name": "Read", "arguments": "{}"}}]);
        let taken = HashSet::from([CallId::new("functions.Read:0")]);
        assert_eq!(assembled_beside(taken, &[call]), ["own Read {}"]);
    }

    #[test]
    fn truncated_arguments_are_distinguished_from_invalid_ones() {
        let cut = |arguments: &str| {
            let mut calls = ToolCallAssembler::default();
            let function = json!({"name": "Read", "arguments": arguments});
            let fragments = json!([{"index": 0, "id": "a", "function": function}]);
            take(&mut calls, &fragments, &mut Vec::new());
            calls.is_cut()
        };
        assert!(cut("{\"a\": \"b"));
        assert!(cut("{'a': True, "));
        assert!(!cut("{\"a\": nope}"));
        assert!(!cut("{}"));
        assert!(!cut(""));
    }
}
