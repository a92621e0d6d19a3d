//! What the store keeps of the user's answers and of definitions.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::mcp::definition::McpDefinitions;
use crate::mcp::lists::TOOL_LIST;

fn server(command: &str) -> McpServerDefinition {
    let text = json!({"mcpServers": {"s": {"command": command}}}).to_string();
    McpDefinitions::read_file(&text).servers.remove(0)
}

fn tools(description: &str) -> Vec<McpToolDefinition> {
    let page = json!({"tools": [{"name": "a"}, {"name": "b", "description": description}]});
    TOOL_LIST.page(&page).unwrap().items
}

/// S55, S66: a yes is for one server of one folder, as it is written.
#[test]
fn s66_a_yes_is_for_this_definition_in_this_folder() {
    let home = TempDir::new().unwrap();
    let store = McpStore::new(home.path());
    let (one, other) = (Path::new("/w/a"), Path::new("/w/b"));
    assert!(!store.is_allowed(one, &server("x")).unwrap());
    store.allow(one, &server("x")).unwrap();
    let again = McpStore::new(home.path());
    assert!(again.is_allowed(one, &server("x")).unwrap());
    assert!(!again.is_allowed(one, &server("y")).unwrap());
    assert!(!again.is_allowed(other, &server("x")).unwrap());
}

/// S93: what was seen first holds until the user accepts what came later.
#[test]
fn s93_a_changed_definition_is_told_until_it_is_accepted() {
    let home = TempDir::new().unwrap();
    let store = McpStore::new(home.path());
    assert_eq!(store.pin(&server("x"), &tools("one")).unwrap(), Vec::<String>::new());
    assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), ["b"]);
    assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), ["b"]);
    assert_eq!(store.pin(&server("y"), &tools("two")).unwrap(), Vec::<String>::new());
    store.accept(&server("x"), &tools("two")).unwrap();
    assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), Vec::<String>::new());
    assert_eq!(store.pin(&server("x"), &tools("one")).unwrap(), ["b"]);
}

#[test]
fn a_broken_store_allows_nothing() {
    let home = TempDir::new().unwrap();
    std::fs::write(home.path().join("mcp.json"), "{").unwrap();
    let store = McpStore::new(home.path());
    assert!(store.is_allowed(Path::new("/w"), &server("x")).is_err());
    assert!(store.pin(&server("x"), &tools("one")).is_err());
    assert!(store.allow(Path::new("/w"), &server("x")).is_err());
}

fn always_loaded(command: &str) -> McpServerDefinition {
    McpServerDefinition { always_load: true, ..server(command) }
}

fn pinned(store: &McpStore, server: &McpServerDefinition) -> Vec<(String, String)> {
    let definitions = store.pinned(server).unwrap().into_iter();
    definitions.map(|tool| (tool.name, tool.description)).collect()
}

fn named(tools: &[(&str, &str)]) -> Vec<(String, String)> {
    tools.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// S93: what is put into the tools array is what was seen first or accepted.
#[test]
fn s93_the_definitions_of_a_server_that_is_always_loaded_are_kept_as_they_were_accepted() {
    let home = TempDir::new().unwrap();
    let store = McpStore::new(home.path());
    let server = always_loaded("x");
    assert_eq!(pinned(&store, &server), []);
    store.pin(&server, &tools("one")).unwrap();
    let again = McpStore::new(home.path());
    assert_eq!(pinned(&again, &server), named(&[("a", ""), ("b", "one")]));
    assert_eq!(store.pin(&server, &tools("two")).unwrap(), ["b"]);
    assert_eq!(pinned(&again, &server), named(&[("a", ""), ("b", "one")]));
    store.accept(&server, &tools("two")[1..]).unwrap();
    assert_eq!(pinned(&again, &server), named(&[("a", ""), ("b", "two")]));
    store.pin(&server, &tools("two")[..1]).unwrap();
    assert_eq!(pinned(&again, &server), named(&[("a", "")]), "the server no longer has it");
    assert_eq!(pinned(&again, &always_loaded("y")), []);
    let without_a = McpServerDefinition { disabled_tools: ["a".to_owned()].into(), ..server };
    assert_eq!(pinned(&again, &without_a), []);
    let mode = std::fs::metadata(home.path().join("mcp.json")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
}

#[test]
fn a_store_with_hashes_alone_is_read_and_gets_the_definitions() {
    let home = TempDir::new().unwrap();
    let store = McpStore::new(home.path());
    store.pin(&server("x"), &tools("one")).unwrap();
    let text = std::fs::read_to_string(home.path().join("mcp.json")).unwrap();
    assert!(!text.contains("definitions"), "only of servers that are always loaded: {text}");
    let server = always_loaded("x");
    assert_eq!(pinned(&store, &server), []);
    assert_eq!(store.pin(&server, &tools("two")).unwrap(), ["b"]);
    assert_eq!(pinned(&store, &server), named(&[("a", "")]), "only what was seen first");
    store.pin(&server, &tools("one")).unwrap();
    assert_eq!(pinned(&store, &server), named(&[("a", ""), ("b", "one")]));
    // A slug that knows no definitions writes the hashes alone.
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = server.hash().to_string();
    file["tools"][&key]["b"] = json!(tools("two")[1].hash);
    file["definitions"] = json!({key: tools("one")});
    std::fs::write(home.path().join("mcp.json"), file.to_string()).unwrap();
    assert_eq!(pinned(&store, &server), named(&[("a", "")]), "of two answers the newer");
}

#[test]
fn definitions_are_kept_as_far_as_they_fit() {
    let home = TempDir::new().unwrap();
    let store = McpStore::new(home.path());
    let schema = json!({"type": "object", "title": "x".repeat(50 << 10)});
    let tool = |name: &str| json!({"name": name, "inputSchema": schema});
    let mut list: Vec<_> = ["d", "c", "b", "a"].map(tool).to_vec();
    list.push(json!({"name": "small"}));
    let tools = TOOL_LIST.page(&json!({"tools": list})).unwrap().items;
    store.pin(&always_loaded("x"), &tools).unwrap();
    let names: Vec<String> =
        pinned(&store, &always_loaded("x")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "small"]);
    assert_eq!(store.pin(&always_loaded("x"), &tools).unwrap(), Vec::<String>::new());
}
