//! Which values that slug sends to a server are secret: they are taken out of what comes back from it,
//! and out of errors and logs, as slug's own keys are.
//!
//! In headers and in the address that is whatever a variable gives; elsewhere, where a variable may
//! well be a folder, names and shapes of secrets decide.

use std::collections::BTreeSet;

use reqwest::Url;

use crate::domain::secrets::{is_secret_name, is_secret_value};
use crate::platform::redact::Redactor;

use super::definition::{McpServerDefinition, McpTransport, expand};
use super::login::{is_word, learn_secrets};

/// Headers that hold secrets, besides those whose names say so.
const SECRET_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// Has `redactor` take the secrets of a definition out of texts. `lookup` gives the variables.
pub(super) fn learn(
    redactor: &Redactor,
    definition: &McpServerDefinition,
    lookup: &dyn Fn(&str) -> Option<String>,
) {
    let secrets = secrets_of(definition, lookup);
    learn_secrets(redactor, &definition.name, secrets.iter().map(String::as_str));
}

/// The secrets of a definition.
fn secrets_of(
    definition: &McpServerDefinition,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut secrets = Vec::new();
    let expanded = |text: &str| expand(text, lookup, &mut BTreeSet::new());
    match &definition.transport {
        McpTransport::Stdio { command, args, env, .. } => {
            for text in std::iter::once(command).chain(args).chain(env.values()) {
                let given = variables(text, lookup).into_iter();
                let is_secret = |(name, value): &(String, String)| {
                    is_secret_name(name) || is_secret_value(value)
                };
                secrets.extend(given.filter(is_secret).map(|(_, value)| value));
            }
            for (name, text) in env {
                let value = expanded(text);
                if is_secret_name(name) || is_secret_value(&value) {
                    secrets.push(value);
                }
            }
        }
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
            let given = variables(url, lookup).into_iter().map(|(_, value)| value);
            secrets.extend(given.filter(|value| !is_place(value)));
            secrets.extend(secrets_of_address(&expanded(url)));
            for (name, text) in headers {
                secrets.extend(variables(text, lookup).into_iter().map(|(_, value)| value));
                let name = name.to_ascii_lowercase().replace('-', "_");
                let is_one = |it: &&str| it.replace('-', "_") == name;
                if is_secret_name(&name) || SECRET_HEADERS.iter().any(is_one) {
                    let value = expanded(text);
                    // The token behind its scheme.
                    secrets.extend(value.split_once(' ').map(|(_, token)| token.to_owned()));
                    secrets.push(value);
                }
            }
        }
    }
    secrets.extend(definition.expanded_login(lookup).client_secret);
    secrets
}

/// The variables that a text names, with their values.
fn variables(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let found = std::cell::RefCell::new(Vec::new());
    let noting = |name: &str| {
        let value = lookup(name)?;
        found.borrow_mut().push((name.to_owned(), value.clone()));
        Some(value)
    };
    expand(text, &noting, &mut BTreeSet::new());
    found.into_inner()
}

/// The password of an address, and the parts of its query that are secret.
fn secrets_of_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return Vec::new() };
    let query = url.query_pairs();
    let query = query.filter(|(name, value)| is_secret_name(name) || is_secret_value(value));
    let query = query.map(|(_, value)| value.into_owned());
    query.chain(url.password().map(str::to_owned)).collect()
}

/// Whether a text is no more than the name of a machine, with or without a scheme, a port and a path of
/// short words.
fn is_place(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let mut parts = rest.trim_end_matches('/').split('/');
    let host = parts.next().unwrap_or_default();
    let is_host = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-:".contains(c);
    let is_named = host.contains('.') || host.starts_with("localhost");
    is_named && host.len() < 64 && host.chars().all(is_host) && parts.all(is_word)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::definition::McpDefinitions;
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/someone",
            "TOKEN" => "t0ken-of-mine",
            "ORG" => "org-1234567",
            "HOST" => "mcp.example.com",
            "WHOLE" => "https://mcp.example.com/s/5ecret-path",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn secrets(server: &Value) -> Vec<String> {
        let file = json!({"mcpServers": {"one": server}}).to_string();
        let found = McpDefinitions::read_file(&file);
        assert_eq!(found.problems, Vec::<String>::new());
        let redactor = Redactor::default();
        learn(&redactor, &found.servers[0], &lookup);
        let said = "/home/someone t0ken-of-mine org-1234567 mcp.example.com 5ecret-path \
                    l1teral-key p4ssword-1 disabled Bearer 2025-01-01 cl1ent-secret";
        let clean = redactor.redact_own(said).into_owned();
        let kept: Vec<&str> = clean.split(' ').collect();
        said.split(' ').filter(|word| !kept.contains(word)).map(str::to_owned).collect()
    }

    #[test]
    fn what_goes_to_a_server_is_taken_out_of_texts() {
        let env = json!({"DIR": "${HOME}", "X": "${TOKEN}", "MY_KEY": "l1teral-key",
                         "AUTH_TOKEN": "disabled"});
        let program = json!({"command": "a", "args": ["${HOME}", "--org=${ORG}"], "env": env});
        assert_eq!(secrets(&program), ["t0ken-of-mine", "l1teral-key"]);
        let address = "https://u:p4ssword-1@${HOST}/mcp?token=l1teral-key&version=2025-01-01";
        let headers = json!({"Authorization": "Bearer ${TOKEN}", "X-Org": "${ORG}"});
        let oauth = json!({"clientId": "c", "clientSecret": "cl1ent-secret"});
        let web = json!({"type": "http", "url": address, "headers": headers, "oauth": oauth});
        let expected =
            ["t0ken-of-mine", "org-1234567", "l1teral-key", "p4ssword-1", "cl1ent-secret"];
        assert_eq!(secrets(&web), expected);
        let hidden = json!({"type": "http", "url": "${WHOLE}"});
        let file = json!({"mcpServers": {"one": hidden}}).to_string();
        let redactor = Redactor::default();
        learn(&redactor, &McpDefinitions::read_file(&file).servers[0], &lookup);
        let clean = redactor.text("error for https://mcp.example.com/s/5ecret-path");
        assert_eq!(clean, "error for [redacted]");
    }
}
