//! What a run without a screen says when no model is set up: three ways to one, and what is there
//! already.
//!
//! slug's default address may have a server all the same, so it is asked first.

use anyhow::bail;

use crate::config::ResolvedConfig;
use crate::platform::process_privacy;
use crate::services::connect::{DetectedApiKey, DetectedServer};
use crate::services::server_search::found_keys;

use super::questions;
use super::run_context::RunContext;
use super::server_discovery::ServerDiscovery;

/// Checks that a server answers at the default address, since nothing else is configured.
///
/// # Errors
///
/// Fails when none does. The message has the commands that set a model up.
pub(super) async fn check(run_context: &RunContext, config: &ResolvedConfig) -> anyhow::Result<()> {
    let servers = questions::local_servers(&ServerDiscovery::new(run_context, config)).await;
    let default = config.server.endpoint.value.as_str();
    if servers.iter().any(|server| server.endpoint == default) {
        return Ok(());
    }
    let keys = found_keys(|name| process_privacy::variable(name)?.into_string().ok());
    bail!(advice(&servers, &keys));
}

/// Three ways to a model, with the server and the key that are there.
fn advice(servers: &[DetectedServer], keys: &[DetectedApiKey]) -> String {
    let endpoint = servers.first().map_or("http://localhost:11434/v1", |server| &server.endpoint);
    let server = match servers.first() {
        Some(server) => format!("use {}, which runs on this machine", server.name),
        None => "use a server on this machine".to_owned(),
    };
    let (provider, key) = match keys.first() {
        Some(key) => (key.service.provider_name(), format!("use the key in {}", key.variable)),
        None => ("anthropic", "use a hosted model; set ANTHROPIC_API_KEY first".to_owned()),
    };
    let ways = [
        ("slug".to_owned(), "choose a model once; slug saves it"),
        (format!("slug -e {endpoint} -p \u{2026}"), server.as_str()),
        (format!("slug --provider {provider} -p \u{2026}"), key.as_str()),
    ];
    let widest = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let mut text = String::from("No model is set up. Do one of these:");
    for (command, what) in ways {
        text.push_str(&format!("\n  {command:<widest$}   {what}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::connect::ServerAccess;

    #[test]
    fn three_ways_are_named_with_what_is_there() {
        assert_eq!(
            advice(&[], &[]),
            "No model is set up. Do one of these:\n\
             \x20 slug                                     choose a model once; slug saves it\n\
             \x20 slug -e http://localhost:11434/v1 -p \u{2026}   use a server on this machine\n\
             \x20 slug --provider anthropic -p \u{2026}           use a hosted model; set ANTHROPIC_API_KEY first"
        );
        let server = DetectedServer {
            name: "llama.cpp",
            endpoint: "http://localhost:8080/v1".into(),
            models: Vec::new(),
            access: ServerAccess::Open,
        };
        let keys = found_keys(|name| (name == "GEMINI_API_KEY").then(|| "CANARY".to_owned()));
        let text = advice(&[server], &keys);
        assert!(text.contains("slug -e http://localhost:8080/v1 -p"), "{text}");
        assert!(text.contains("use llama.cpp, which runs on this machine"), "{text}");
        assert!(text.contains("slug --provider gemini -p"), "{text}");
        assert!(
            text.contains("use the key in GEMINI_API_KEY") && !text.contains("CANARY"),
            "{text}"
        );
    }
}
