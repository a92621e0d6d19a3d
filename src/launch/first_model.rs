//! Asks in linear mode which model is to answer when none is configured, with numbered lines. The
//! choices are those of the screen's first-run page. Keys are never asked for, because the terminal
//! would show the typed line.

use std::io::{self, Write};

use crate::cli::Cli;
use crate::config::{self, ConfigChange, EndpointSecurity, ResolvedConfig};
use crate::domain::sanitize::sanitize;
use crate::platform::process_privacy;
use crate::services::connect::{
    ConnectTarget, DetectedApiKey, DetectedModelFile, DetectedServer, HostedService, ServerAccess,
};
use crate::services::server_address;
use crate::services::server_search::found_keys;

use super::linear::LinearStartup;
use super::local;
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
    File(DetectedModelFile),
    Key(DetectedApiKey),
    Hosted(HostedService),
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
    let files = match servers.is_empty() {
        true => local::offered(run_context, config),
        false => Vec::new(),
    };
    let (question, choices) = question(servers, files, &keys);
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
            (_, Some(FirstModelChoice::Server(server)))
                if server.access == ServerAccess::WantsKey =>
            {
                say(&format!(
                    "{} wants a key, and the terminal would show it here. Write it into {} as \
                     `api_key`, beside `endpoint = \"{}\"`, and start slug again.",
                    server.name,
                    run_context.config_file(cli).display(),
                    server.endpoint
                ))?;
                None
            }
            (_, Some(FirstModelChoice::Server(server))) => {
                let target = ConnectTarget::server(server.endpoint.clone(), None);
                Some((target, server.models.clone()))
            }
            (_, Some(FirstModelChoice::File(file))) => {
                let change = ConfigChange::LocalModel(file.path.clone());
                config::save(&run_context.config_file(cli), &[change])?;
                return Ok(StartupOutcome::Answer(StartupModel::Configured));
            }
            (_, Some(FirstModelChoice::Key(key))) => {
                say("Asking for its models.")?;
                match discovery.clone().models(ServerConsent::Chosen, key.target()).await {
                    Ok(models) => {
                        let usual = key.service.usual_model(&models);
                        Some((key.target(), usual.map_or(models, |model| vec![model])))
                    }
                    Err(error) => {
                        print::complain(&error.message);
                        None
                    }
                }
            }
            (_, Some(FirstModelChoice::Hosted(service))) => {
                let place = match service.key_variable() {
                    Some(variable) => format!("Set {variable} to it"),
                    None => format!(
                        "Write [providers.{}] with `endpoint = \"{}\"` and `api_key` into {}",
                        service.provider_name(),
                        service.endpoint(),
                        run_context.config_file(cli).display()
                    ),
                };
                say(&format!(
                    "{} needs a key, from {}. The terminal would show it here. {place}, and start \
                     slug again.",
                    service.label(),
                    service.key_page()
                ))?;
                None
            }
            (_, Some(FirstModelChoice::Other)) => {
                say(
                    "Type its address, like localhost:11434 or llm.example.com. If it wants a key, \
                     write that into the configuration file as `api_key` afterwards.",
                )?;
                None
            }
            (_, None) if number.is_some() => {
                print::complain(&format!("There are {} choices.", choices.len()));
                None
            }
            (address, None) => match server_address::complete(address) {
                Ok(address) if address.security() == EndpointSecurity::PlainRemote => {
                    print::complain(
                        "That is another machine, and plain http is not encrypted. Start slug \
                         with --endpoint and the address to be asked about it.",
                    );
                    None
                }
                Ok(address) => {
                    Some((ConnectTarget::server(address.as_str().to_owned(), None), Vec::new()))
                }
                Err(error) => {
                    print::complain(&error);
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
    files: Vec<DetectedModelFile>,
    keys: &[DetectedApiKey],
) -> (String, Vec<FirstModelChoice>) {
    let mut choices = Vec::new();
    let mut text = String::from("No model is set up. Choose one:\n");
    let mut offer = |words: String, choice| {
        choices.push(choice);
        text.push_str(&format!("{}. {words}\n", choices.len()));
    };
    for server in servers {
        let models = match (server.access, server.models.as_slice()) {
            (ServerAccess::WantsKey, _) => "which wants a key".to_owned(),
            (ServerAccess::Open, []) => "which names no model".to_owned(),
            (ServerAccess::Open, [model]) => format!("with {model}"),
            (ServerAccess::Open, models) => format!("with {} models", models.len()),
        };
        offer(
            format!("{} at {}, {models}", server.name, server.endpoint),
            FirstModelChoice::Server(server),
        );
    }
    for file in files {
        let words = format!("{}, a model file for llama-server ({})", file.name, file.details);
        offer(words, FirstModelChoice::File(file));
    }
    for service in HostedService::ALL {
        match keys.iter().find(|key| key.service == service) {
            Some(key) => {
                let words = format!("{}, with the key in {}", service.label(), key.variable);
                offer(words, FirstModelChoice::Key(key.clone()));
            }
            None => {
                offer(
                    format!("{}, with a key", service.label()),
                    FirstModelChoice::Hosted(service),
                );
            }
        }
    }
    offer("A server by its address".into(), FirstModelChoice::Other);
    offer("The demo, without a server or a key".into(), FirstModelChoice::Demo);
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
            access: ServerAccess::Open,
        };
        let servers = vec![
            server("vLLM", "http://localhost:8000/v1", &["qwen"]),
            server("Ollama", "http://localhost:11434/v1", &["a", "b"]),
        ];
        let keys = found_keys(|name| (!name.starts_with("GEMINI")).then(|| "secret".to_owned()));
        let (text, choices) = question(servers, Vec::new(), &keys);
        assert_eq!(
            text,
            "No model is set up. Choose one:\n\
             1. vLLM at http://localhost:8000/v1, with qwen\n\
             2. Ollama at http://localhost:11434/v1, with 2 models\n\
             3. Anthropic, with the key in ANTHROPIC_API_KEY\n\
             4. OpenAI, with the key in OPENAI_API_KEY\n\
             5. Gemini, with a key\n\
             6. OpenRouter, with a key\n\
             7. A server by its address\n\
             8. The demo, without a server or a key\n\
             Type a number, or an address; q leaves."
        );
        assert_eq!(choices.len(), 8);
        assert!(!text.contains("secret"));
    }
}
