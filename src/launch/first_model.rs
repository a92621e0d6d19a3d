//! Asks in linear mode which model is to answer when none is configured, with numbered lines. The
//! choices are those of the screen's first-run page. Keys are never asked for, because the terminal
//! would show the typed line.

use std::io::{self, Write};

use crate::cli::Cli;
use crate::config::{ConfigEndpoint as Address, EndpointSecurity, ResolvedConfig};
use crate::domain::sanitize::sanitize;
use crate::platform::process_privacy;
use crate::tui::app::startup::{DetectedApiKey, DetectedServer, FirstRunEndpoint};
use crate::tui::server_search::found_keys;

use super::linear::LinearStartup;
use super::print;
use super::questions;
use super::run_context::RunContext;
use super::server_discovery::{ServerConsent, ServerDiscovery};
use super::startup::{StartupModel, StartupOutcome};

/// The most models that are listed; others can be typed.
const MAX_LISTED: usize = 20;

/// A choice with a number.
enum FirstModelChoice {
    Server(DetectedServer),
    Key(DetectedApiKey),
    Other,
    Demo,
}

/// Asks which model is to answer, and writes the answer into the configuration.
pub(super) async fn ask(
    startup: &mut LinearStartup,
    cli: &Cli,
    run_context: &RunContext,
    config: &ResolvedConfig,
) -> anyhow::Result<StartupOutcome<StartupModel>> {
    let discovery = ServerDiscovery::new(run_context, config);
    say("Looking for servers on this machine.")?;
    let servers = questions::local_servers(&discovery).await;
    let keys = found_keys(|name| process_privacy::variable(name)?.into_string().ok());
    let (question, choices) = question(servers, &keys);
    loop {
        let answer = match startup.ask(&question).await? {
            StartupOutcome::Answer(answer) => answer,
            StartupOutcome::Quit => return Ok(StartupOutcome::Quit),
            StartupOutcome::Signal(signal) => return Ok(StartupOutcome::Signal(signal)),
        };
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let target_and_models = match (
            answer.as_str(),
            number.and_then(|number| choices.get(number)),
        ) {
            ("" | "q" | "quit", _) => return Ok(StartupOutcome::Quit),
            ("demo", _) | (_, Some(FirstModelChoice::Demo)) => {
                return Ok(StartupOutcome::Answer(StartupModel::Demo));
            }
            (_, Some(FirstModelChoice::Server(server))) => {
                let target = FirstRunEndpoint::local(server.endpoint.clone(), None);
                Some((target, server.models.clone()))
            }
            (_, Some(FirstModelChoice::Key(key))) => {
                say("Asking for its models.")?;
                match discovery.clone().models(ServerConsent::Chosen, key.target()).await {
                    Ok(models) => Some((key.target(), models)),
                    Err(error) => {
                        print::complain(&error);
                        None
                    }
                }
            }
            (_, Some(FirstModelChoice::Other)) => {
                say("Type its address, like http://localhost:11434/v1. If it wants a key, write \
                     that into the configuration file as `api_key` afterwards.")?;
                None
            }
            (_, None) if number.is_some() => {
                print::complain(&format!("There are {} choices.", choices.len()));
                None
            }
            (address, None) => match Address::parse(address) {
                Ok(address) if address.security() == EndpointSecurity::PlainRemote => {
                    print::complain(
                        "That is another machine, and plain http is not encrypted. Start slug \
                         with --endpoint and the address to be asked about it.",
                    );
                    None
                }
                Ok(_) => Some((FirstRunEndpoint::local(answer.clone(), None), Vec::new())),
                Err(error) => {
                    print::complain(&error.to_string());
                    None
                }
            },
        };
        let Some((target, models)) = target_and_models else { continue };
        let model = match choose_model(startup, models).await? {
            StartupOutcome::Answer(model) => model,
            StartupOutcome::Quit => return Ok(StartupOutcome::Quit),
            StartupOutcome::Signal(signal) => return Ok(StartupOutcome::Signal(signal)),
        };
        questions::save(cli, run_context, target, model)?;
        return Ok(StartupOutcome::Answer(StartupModel::Configured));
    }
}

/// The question, a numbered line for each choice, and the choices.
fn question(
    servers: Vec<DetectedServer>,
    keys: &[DetectedApiKey],
) -> (String, Vec<FirstModelChoice>) {
    let mut choices = Vec::new();
    let mut text = String::from("No model is configured. Which one is to answer?\n");
    let mut offer = |words: String, choice| {
        choices.push(choice);
        text.push_str(&format!("{}. {words}\n", choices.len()));
    };
    for server in servers {
        let models = match server.models.as_slice() {
            [] => "which names no model".to_owned(),
            [model] => format!("with {model}"),
            models => format!("with {} models", models.len()),
        };
        offer(
            format!("{} at {}, {models}", server.name, server.endpoint),
            FirstModelChoice::Server(server),
        );
    }
    for key in keys {
        let words = format!("{}, with the key in {}", key.service, key.variable);
        offer(words, FirstModelChoice::Key(key.clone()));
    }
    offer("Another server, by its address".into(), FirstModelChoice::Other);
    offer("The demo: a scripted model that needs nothing".into(), FirstModelChoice::Demo);
    text.push_str("Type a number, or an address; q leaves.");
    (text, choices)
}

/// Asks which of several models is to answer. An empty line takes the first.
async fn choose_model(
    startup: &mut LinearStartup,
    models: Vec<String>,
) -> anyhow::Result<StartupOutcome<Option<String>>> {
    if models.len() < 2 {
        return Ok(StartupOutcome::Answer(models.into_iter().next()));
    }
    let mut question = String::from("Which model?\n");
    for (number, model) in models.iter().enumerate().take(MAX_LISTED) {
        question.push_str(&format!("{}. {model}\n", number + 1));
    }
    if models.len() > MAX_LISTED {
        question.push_str(&format!("And {} more.\n", models.len() - MAX_LISTED));
    }
    question.push_str("Type a number or a name; an empty line takes the first.");
    loop {
        let answer = match startup.ask(&question).await? {
            StartupOutcome::Answer(answer) => answer,
            StartupOutcome::Quit => return Ok(StartupOutcome::Quit),
            StartupOutcome::Signal(signal) => return Ok(StartupOutcome::Signal(signal)),
        };
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = models.iter().position(|model| *model == answer);
        let at = if answer.is_empty() { Some(0) } else { named.or(number) };
        match at.and_then(|at| models.get(at)) {
            Some(model) => return Ok(StartupOutcome::Answer(Some(model.clone()))),
            None => print::complain(&format!("There is no model `{answer}`.")),
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{}", sanitize(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_servers_and_keys_are_offered_by_number() {
        let server = |name, endpoint: &str, models: &[&str]| DetectedServer {
            name,
            endpoint: endpoint.into(),
            models: models.iter().map(|&model| model.into()).collect(),
        };
        let servers = vec![
            server("vLLM", "http://localhost:8000/v1", &["qwen"]),
            server("Ollama", "http://localhost:11434/v1", &["a", "b"]),
        ];
        let keys = found_keys(|name| (!name.starts_with("GEMINI")).then(|| "secret".to_owned()));
        let (text, choices) = question(servers, &keys);
        assert_eq!(
            text,
            "No model is configured. Which one is to answer?\n\
             1. vLLM at http://localhost:8000/v1, with qwen\n\
             2. Ollama at http://localhost:11434/v1, with 2 models\n\
             3. https://api.openai.com/v1, with the key in OPENAI_API_KEY\n\
             4. https://api.anthropic.com, with the key in ANTHROPIC_API_KEY\n\
             5. Another server, by its address\n\
             6. The demo: a scripted model that needs nothing\n\
             Type a number, or an address; q leaves."
        );
        assert_eq!(choices.len(), 6);
        assert!(!text.contains("secret"));
    }
}
