//! The names under which models call the tools of servers: `mcp__SERVER__TOOL`.
//!
//! Providers take up to 64 of `A-Za-z0-9_-`. A name that had to be changed or cut ends in a hash of the
//! server's and the tool's real names, so that no two tools share one and it is the same in every run.
//! No server has a name with which its tools would begin like those of another: [`is_distinct`].

use sha2::{Digest, Sha256};

use crate::tools::READ_RESOURCE_TOOL;

/// The longest name that every provider takes.
const MAX_NAME: usize = 64;

/// The digits of the hash behind a changed name.
const HASH_DIGITS: usize = 12;

/// What each name of a server's tool begins with.
pub const MCP_PREFIX: &str = "mcp__";

/// The name under which models call `tool` of `server`. A tool that has the name of reading resources gets
/// another: a rule on those must not cover it.
pub fn model_tool_name(server: &str, tool: &str) -> String {
    unique_name(server, tool, plain(tool).eq_ignore_ascii_case(READ_RESOURCE_TOOL))
}

/// The name that reading resources of `server` has in rules.
pub(super) fn resources_name(server: &str) -> String {
    unique_name(server, READ_RESOURCE_TOOL, false)
}

fn unique_name(server: &str, tool: &str, is_taken: bool) -> String {
    let name = format!("{MCP_PREFIX}{}__{}", plain(server), plain(tool));
    // A part that holds the separator could be read as another server's tool.
    let is_exact = !server.contains("__") && plain(server) == server && plain(tool) == tool;
    if is_exact && !is_taken && name.len() <= MAX_NAME {
        return name;
    }
    let other = if is_taken { "\n" } else { "" };
    let hash = Sha256::digest(format!("{server}\n{tool}{other}"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut kept = &name[..name.len().min(MAX_NAME - HASH_DIGITS - 1)];
    if kept.len() < MCP_PREFIX.len() + server.len() + "__".len() {
        // With the sign before the hash, the end of a cut server's name would be a separator.
        kept = kept.trim_end_matches('_');
    }
    format!("{kept}_{}", &hash[..HASH_DIGITS])
}

/// The name of a server in the names of its tools, and in rules.
pub(super) fn model_server_name(server: &str) -> String {
    plain(server)
}

/// Whether what stands before the first `__` in the names of a server's tools is this name, whatever
/// the tools are called.
pub(super) fn is_distinct(server: &str) -> bool {
    let name = plain(server);
    !name.starts_with('_') && !name.ends_with('_') && !name.contains("__")
}

/// The part of a name with each character that providers refuse replaced.
pub(super) fn plain(part: &str) -> String {
    part.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::super::definition::{McpDefinitionSource, McpDefinitions};
    use super::*;

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(model_tool_name("github", "list-issues"), "mcp__github__list-issues");
    }

    /// S94: a rule on all tools of a server, `mcp__SERVER__*`, covers no tool of another.
    #[test]
    fn s94_no_tool_begins_like_those_of_another_server() {
        let mut servers = vec![String::new()];
        for _ in 0..4 {
            let longer =
                servers.iter().flat_map(|name| ["a", "_", ".", "-"].map(|it| name.clone() + it));
            servers = servers.iter().cloned().chain(longer).collect();
        }
        let long = |count| ["", "_b", ".b.c", "-_c"].map(|end| "a".repeat(count) + end);
        servers.extend((38..=60).flat_map(long));
        let read = McpDefinitions::read_table(
            &servers.into_iter().map(|name| (name, json!({"command": "x"}))).collect(),
            McpDefinitionSource::User,
            "a file",
        );
        let names: Vec<String> = read.servers.into_iter().map(|server| server.name).collect();
        assert!(names.len() > 100, "{}", names.len());
        let starts: Vec<String> =
            names.iter().map(|name| format!("{MCP_PREFIX}{}__", model_server_name(name))).collect();
        for (at, server) in names.iter().enumerate() {
            for tool in ["x", "_x", "__x", "x__y", "a__x", "", "_", "é", &"y".repeat(70)] {
                let name = model_tool_name(server, tool);
                let other =
                    |(other, start): &(usize, &String)| *other != at && name.starts_with(*start);
                let other = starts.iter().enumerate().find(other);
                assert_eq!(other, None, "{server:?} {tool:?} is {name}");
            }
        }
    }

    /// S94: a rule on reading a server's resources, `mcp__SERVER__ReadMcpResource`, covers none of its tools.
    #[test]
    fn s94_no_tool_has_the_name_of_reading_resources() {
        for server in ["notes", "a.b", &"x".repeat(60)] {
            let resources = resources_name(server);
            for tool in ["ReadMcpResource", "readmcpresource", "READMCPRESOURCE", "Readmcpresource"]
            {
                let name = model_tool_name(server, tool);
                assert!(!name.eq_ignore_ascii_case(&resources), "{name}");
                assert!(name.len() <= MAX_NAME, "{name}");
            }
        }
        assert_eq!(resources_name("notes"), "mcp__notes__ReadMcpResource");
    }

    /// S94: names never take the place of another tool's.
    #[test]
    fn s94_every_name_is_namespaced_fits_and_is_there_once() {
        let long = "x".repeat(100);
        let pairs = [
            ("a", "b"),
            ("a.b", "c"),
            ("a b", "c"),
            ("a_b", "c"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("a", "Bash"),
            ("a", "mcp__a__b"),
            ("a", "\u{1b}[31m"),
            ("a", "b\u{200b}"),
            ("a", ""),
            (&*long, "y"),
            ("x", &*long),
            (&long[..99], "y"),
        ];
        let names: Vec<String> =
            pairs.iter().map(|(server, tool)| model_tool_name(server, tool)).collect();
        for name in &names {
            assert!(name.starts_with(MCP_PREFIX) && name.len() <= MAX_NAME, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{name}");
        }
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), pairs.len(), "{names:?}");
    }
}
