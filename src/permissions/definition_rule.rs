//! Rules on a tool of a server as it is defined now: `mcp__SERVER__TOOL(definition:HASH)`.

use crate::domain::ContentHash;

/// What stands before the hash in a rule on a tool as it is defined now.
const DEFINITION: &str = "definition:";
/// Digits of the hash in such a rule: 128 bits, so that no server can have two definitions for one.
const DEFINITION_DIGITS: usize = 32;
/// Why the pattern of a rule on a server's tool is none.
pub(super) const NO_DEFINITION: &str = "a rule on the tool of a server has no pattern. Only slug itself \
     writes one, `definition:` with 32 hexadecimal digits, into an allow rule";

/// The rule that allows a tool of a server as it is defined now.
pub fn rule_on_definition(tool: &str, definition: &ContentHash) -> String {
    let hash = definition.as_str().get(..DEFINITION_DIGITS).unwrap_or(definition.as_str());
    format!("{tool}({DEFINITION}{hash})")
}

/// Whether a rule allows a tool of a server as it is defined now.
pub fn is_on_definition(rule: &str) -> bool {
    let pattern = rule.strip_prefix("mcp__").and_then(|rule| rule.split_once('('));
    pattern.is_some_and(|(_, pattern)| pattern.starts_with(DEFINITION))
}

/// The hash in the pattern of such a rule.
pub(super) fn definition_of(pattern: &str) -> Option<&str> {
    pattern.strip_prefix(DEFINITION).filter(|hash| is_definition(hash))
}

fn is_definition(hash: &str) -> bool {
    hash.len() == DEFINITION_DIGITS
        && hash.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}
