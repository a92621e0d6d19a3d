//! Questions about code, and the answers of servers read leniently.

use serde_json::{Value, json};

use crate::domain::sanitize::sanitize;
use crate::tools::{CodeAnswer, CodeItem, CodeOperation, CodePlace, CodeQuery};

use super::connection::{LspError, lsp_text};
use super::edits::rename_edits;
use super::file_uri::{file_uri, path_of_uri};
use super::position::LspPosition;
use super::session::LspSession;

/// The most places that are read of an answer.
const MAX_ITEMS: usize = 10_000;

/// The most symbols inside of one another that are looked into.
const MAX_DEPTH: usize = 20;

/// Of so many functions with one name the calls are asked for.
const MAX_CALLEES: usize = 5;

/// The most bytes of an explanation.
const MAX_HOVER: usize = 8 << 10;

/// The most characters of a symbol's name, and of an address that is no file.
const MAX_NAME: usize = 200;

/// What symbols are, by the protocol's numbers from 1 on.
const SYMBOL_KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum member",
    "struct",
    "event",
    "operator",
    "type parameter",
];

/// The capability that a server needs to answer; `None` where any server can.
pub(super) fn needed_capability(operation: CodeOperation) -> Option<&'static str> {
    match operation {
        CodeOperation::Diagnostics => None,
        CodeOperation::Definition => Some("definitionProvider"),
        CodeOperation::References => Some("referencesProvider"),
        CodeOperation::Hover => Some("hoverProvider"),
        CodeOperation::DocumentSymbols => Some("documentSymbolProvider"),
        CodeOperation::WorkspaceSymbols => Some("workspaceSymbolProvider"),
        CodeOperation::Implementations => Some("implementationProvider"),
        CodeOperation::IncomingCalls | CodeOperation::OutgoingCalls => {
            Some("callHierarchyProvider")
        }
        CodeOperation::Rename => Some("renameProvider"),
    }
}

/// Asks a server, which has been told the file's text. Findings are asked for elsewhere.
///
/// # Errors
///
/// When the server has ended, refuses, or does not answer in time.
pub(super) async fn ask_session(
    session: &LspSession,
    query: &CodeQuery,
) -> Result<CodeAnswer, LspError> {
    let uri = query.path.as_deref().map(file_uri).unwrap_or_default();
    let line = query.text.lines().nth(query.position.line).unwrap_or_default();
    let position = LspPosition {
        line: u32::try_from(query.position.line).unwrap_or(u32::MAX),
        column: session.encoding.column(line, query.position.byte),
    };
    let document = json!({"uri": uri});
    let at = json!({"textDocument": document, "position": position.json()});
    let mut answer = CodeAnswer::default();
    match query.operation {
        CodeOperation::Diagnostics => {}
        CodeOperation::Definition => {
            answer.items = locations(&session.ask("textDocument/definition", at).await?);
        }
        CodeOperation::Implementations => {
            answer.items = locations(&session.ask("textDocument/implementation", at).await?);
        }
        CodeOperation::References => {
            let mut params = at;
            params["context"] = json!({"includeDeclaration": true});
            answer.items = locations(&session.ask("textDocument/references", params).await?);
        }
        CodeOperation::Hover => {
            let hover = session.ask("textDocument/hover", at).await?;
            answer.text = explanation(hover.get("contents").unwrap_or(&Value::Null));
        }
        CodeOperation::DocumentSymbols => {
            let params = json!({"textDocument": document});
            let found = session.ask("textDocument/documentSymbol", params).await?;
            symbols(&found, &uri, 0, &mut answer.items);
        }
        CodeOperation::WorkspaceSymbols => {
            let found = session.ask("workspace/symbol", json!({"query": query.name})).await?;
            symbols(&found, "", 0, &mut answer.items);
        }
        CodeOperation::IncomingCalls | CodeOperation::OutgoingCalls => {
            let (method, key) = match query.operation {
                CodeOperation::IncomingCalls => ("callHierarchy/incomingCalls", "from"),
                _ => ("callHierarchy/outgoingCalls", "to"),
            };
            let functions = session.ask("textDocument/prepareCallHierarchy", at).await?;
            for function in functions.as_array().into_iter().flatten().take(MAX_CALLEES) {
                let calls = session.ask(method, json!({"item": function})).await?;
                let calls = calls.as_array().into_iter().flatten();
                answer.items.extend(calls.filter_map(|call| called(call, key)).take(MAX_ITEMS));
            }
        }
        CodeOperation::Rename => {
            answer.edits = rename_edits(session, &at, &query.name).await?;
        }
    }
    Ok(answer)
}

/// One place, several, or links to places.
fn locations(value: &Value) -> Vec<CodeItem> {
    let one = |value: &Value| {
        let (uri, range) = match value.get("targetUri") {
            Some(uri) => {
                let range = value.get("targetSelectionRange").or_else(|| value.get("targetRange"));
                (uri, range?)
            }
            None => (value.get("uri")?, value.get("range")?),
        };
        Some(CodeItem {
            place: place(uri.as_str()?),
            line: line_of(range)?,
            label: String::new(),
            depth: 0,
        })
    };
    let mut items: Vec<CodeItem> = match value {
        Value::Array(all) => all.iter().filter_map(one).take(MAX_ITEMS).collect(),
        other => one(other).into_iter().collect(),
    };
    // Two on one line are one line to look at.
    items.dedup();
    items
}

fn place(uri: &str) -> CodePlace {
    match path_of_uri(uri) {
        Some(path) => CodePlace::File(path),
        None => CodePlace::Foreign(lsp_text(uri, MAX_NAME)),
    }
}

/// The line that a range starts on, from 1.
fn line_of(range: &Value) -> Option<u64> {
    LspPosition::read(range.get("start")?).map(|at| u64::from(at.line) + 1)
}

/// What a symbol is and how it is called.
fn symbol_label(symbol: &Value) -> Option<String> {
    let name = lsp_text(symbol.get("name")?.as_str()?, MAX_NAME);
    let kind = symbol.get("kind").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let kind = kind.and_then(|kind| SYMBOL_KINDS.get(kind.checked_sub(1)?)).copied();
    let container = symbol.get("containerName").and_then(Value::as_str).unwrap_or_default();
    let container = lsp_text(container, MAX_NAME);
    let inside = if container.is_empty() { container } else { format!(" in {container}") };
    Some(format!("{} {name}{inside}", kind.unwrap_or("symbol")))
}

/// Symbols with others inside, or a flat list of them; `uri` is the file of those that name none.
fn symbols(value: &Value, uri: &str, depth: usize, items: &mut Vec<CodeItem>) {
    for symbol in value.as_array().into_iter().flatten() {
        if items.len() >= MAX_ITEMS || depth > MAX_DEPTH {
            return;
        }
        let location = symbol.get("location");
        let own_uri = location.and_then(|it| it.get("uri")).and_then(Value::as_str);
        let range = location.and_then(|it| it.get("range"));
        let range = range.or_else(|| symbol.get("selectionRange")).or_else(|| symbol.get("range"));
        if let Some(label) = symbol_label(symbol) {
            let line = range.and_then(line_of).unwrap_or(1);
            items.push(CodeItem { place: place(own_uri.unwrap_or(uri)), line, label, depth });
        }
        if let Some(children) = symbol.get("children") {
            symbols(children, uri, depth + 1, items);
        }
    }
}

/// A function that calls or is called.
fn called(call: &Value, key: &str) -> Option<CodeItem> {
    let function = call.get(key)?;
    let range = function.get("selectionRange").or_else(|| function.get("range"))?;
    Some(CodeItem {
        place: place(function.get("uri")?.as_str()?),
        line: line_of(range)?,
        label: symbol_label(function)?,
        depth: 0,
    })
}

/// Text, marked up or as code, or a list of such.
fn explanation(contents: &Value) -> String {
    let one = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.get("value").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    let text = match contents {
        Value::Array(parts) => parts.iter().map(one).collect::<Vec<_>>().join("\n\n"),
        other => one(other),
    };
    let text = sanitize(text.trim());
    let cut = text.floor_char_boundary(MAX_HOVER.min(text.len()));
    match cut < text.len() {
        true => format!("{}\n[the rest is left out]", &text[..cut]),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(line: u32) -> Value {
        json!({"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}})
    }

    #[test]
    fn places_are_read_in_all_their_forms() {
        let lines = |value: Value| -> Vec<(CodePlace, u64)> {
            locations(&value).into_iter().map(|it| (it.place, it.line)).collect()
        };
        let file = |path: &str| CodePlace::File(path.into());
        assert_eq!(lines(Value::Null), []);
        assert_eq!(lines(json!({"uri": "file:///a%20b", "range": range(2)})), [(file("/a b"), 3)]);
        assert_eq!(
            lines(json!([
                {"targetUri": "file:///a", "targetRange": range(5), "targetSelectionRange": range(6)},
                {"targetUri": "file:///a", "targetRange": range(6)},
                {"uri": "jdt://x\u{1b}", "range": range(0)},
                {"uri": 4, "range": range(0)},
                {"uri": "file:///b"},
            ])),
            [(file("/a"), 7), (CodePlace::Foreign("jdt://x␛".into()), 1)],
            "the same line twice is one place"
        );
    }

    #[test]
    fn symbols_are_read_nested_and_flat() {
        let mut items = Vec::new();
        let nested = json!([
            {"name": "A", "kind": 5, "range": range(0), "selectionRange": range(1), "children": [
                {"name": "m", "kind": 6, "range": range(2)}, {"kind": 6}]},
            {"name": "f", "kind": 99, "containerName": "A",
             "location": {"uri": "file:///b", "range": range(3)}},
        ]);
        symbols(&nested, "file:///a", 0, &mut items);
        let told: Vec<_> = items.iter().map(|it| (&*it.label, it.line, it.depth)).collect();
        assert_eq!(told, [("class A", 2, 0), ("method m", 3, 1), ("symbol f in A", 4, 0)]);
        assert_eq!(items[2].place, CodePlace::File("/b".into()));

        let mut deep = json!([{"name": "x", "kind": 1, "range": range(0)}]);
        for _ in 0..60 {
            deep = json!([{"name": "x", "kind": 1, "range": range(0), "children": deep}]);
        }
        items.clear();
        symbols(&deep, "file:///a", 0, &mut items);
        assert_eq!(items.len(), MAX_DEPTH + 1);
    }

    #[test]
    fn explanations_are_joined_cut_and_harmless() {
        let contents = json!(["a\u{1b}[31m", {"language": "rust", "value": "fn f()"}]);
        assert_eq!(explanation(&contents), "a␛[31m\n\nfn f()");
        assert_eq!(explanation(&json!({"kind": "markdown", "value": " x "})), "x");
        assert_eq!(explanation(&json!(null)), "");
        let long = explanation(&json!("é".repeat(MAX_HOVER)));
        assert!(long.len() < MAX_HOVER + 40 && long.ends_with("left out]"));
    }
}
