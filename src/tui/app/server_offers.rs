//! What MCP servers offer to the user who writes: resources to mention with `@server:`, and prompts as
//! slash commands `/server:prompt`. Whatever a server says was made harmless when it was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commands::RegisteredCommand;
use crate::domain::NoticeLevel;
use crate::mcp::{McpOffers, McpPrompt, McpResource, McpServerState, McpServerStatus};
use crate::skills::PromptLibraryReport;

use super::choice::PickerChoice;
use super::intent::Intent;
use super::picker_list::PickerItem;
use super::prompt_files;
use super::settings::InputSource;
use super::shared::SharedState;

/// What a server offers that can be used now.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOffers {
    /// The server's name.
    pub server: String,
    pub offers: Arc<McpOffers>,
}

/// Whether a prompt can be sent with the arguments that were typed.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptCheck {
    /// It can, as far as slug knows: its server has the last word.
    Complete,
    /// It needs more.
    Missing(PromptToFill),
    /// A sentence.
    Wrong(String),
}

/// A prompt that needs more arguments than it has.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptToFill {
    pub server: String,
    pub prompt: McpPrompt,
    /// Those that it has, by name.
    pub values: BTreeMap<String, String>,
}

/// Takes in what servers offer. What those out of reach offer is not listed any more.
pub fn take(shared: &mut SharedState, servers: Vec<McpServerStatus>) {
    let ready = servers.into_iter().filter(|server| server.state == McpServerState::Ready);
    let ready = ready.map(|server| ServerOffers { server: server.name, offers: server.offers });
    shared.offers = ready.collect();
    register_prompts(shared);
}

/// Takes in which skills and custom commands there are.
pub fn take_prompt_files(shared: &mut SharedState, report: PromptLibraryReport) {
    shared.prompt_files = Arc::new(report);
    register_prompts(shared);
}

/// Puts skills, custom commands and prompts of servers among the slash commands. Files come before
/// servers.
fn register_prompts(shared: &mut SharedState) {
    let mut prompts: Vec<RegisteredCommand> =
        prompt_files::commands(&shared.prompt_files).collect();
    for ServerOffers { server, offers } in &*shared.offers {
        for prompt in &offers.prompts {
            let (name, source) = (prompt.command(server), format!("from {server}"));
            prompts.push(RegisteredCommand::prompt(name, prompt.description.clone(), source));
        }
    }
    shared.settings.commands = shared.settings.commands.with_prompts(prompts);
}

/// Whether a server of this name lists resources.
pub fn has_resources(all: &[ServerOffers], server: &str) -> bool {
    all.iter().any(|it| it.server == server && lists_resources(it))
}

fn lists_resources(of: &ServerOffers) -> bool {
    !of.offers.resources.is_empty() || !of.offers.templates.is_empty()
}

/// The names of the servers that list resources.
pub fn with_resources(all: &[ServerOffers]) -> Vec<String> {
    let listing = all.iter().filter(|it| lists_resources(it));
    listing.map(|it| it.server.clone()).collect()
}

/// A row for each resource of a server, and then for each address with places to fill in.
pub fn resources(all: &[ServerOffers], server: &str) -> Vec<PickerItem> {
    let of = all.iter().filter(|it| it.server == server);
    let row = |resource: &McpResource| {
        let about = resource.description.lines().next().unwrap_or_default();
        let title = if resource.title == resource.uri { "" } else { &resource.title };
        let parts = [title, about].into_iter().filter(|part| !part.is_empty());
        PickerItem {
            label: resource.uri.clone(),
            detail: parts.collect::<Vec<_>>().join(" · "),
            aside: resource.mime_type.clone(),
            keywords: String::new(),
            choice: PickerChoice::Text(resource.uri.clone()),
        }
    };
    let listed = of.flat_map(|it| it.offers.resources.iter().chain(&it.offers.templates));
    listed.map(row).collect()
}

/// Whether an address has places to fill in.
pub fn is_template(all: &[ServerOffers], server: &str, uri: &str) -> bool {
    let mut of = all.iter().filter(|it| it.server == server);
    of.any(|it| it.offers.templates.iter().any(|template| template.uri == uri))
}

/// What a prompt takes, as the line under the input says it.
pub fn usage(all: &[ServerOffers], command: &str) -> Option<String> {
    let (_, prompt) = find(all, command)?;
    let argument = |(name, about, is_required): (&str, &str, bool)| {
        let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
        if is_required { format!("{name}{about}") } else { format!("[{name}]{about}") }
    };
    let arguments = prompt.arguments.iter();
    let arguments: Vec<String> =
        arguments.map(|it| argument((&it.name, &it.description, it.is_required))).collect();
    Some(match arguments.is_empty() {
        true => format!("/{command} takes no arguments"),
        false => format!("/{command} takes {}", arguments.join(", ")),
    })
}

fn find<'a>(all: &'a [ServerOffers], command: &str) -> Option<(&'a str, &'a McpPrompt)> {
    all.iter().find_map(|ServerOffers { server, offers }| {
        let prompt = offers.prompts.iter().find(|prompt| prompt.command(server) == command)?;
        Some((server.as_str(), prompt))
    })
}

/// Checks the arguments of a prompt before it is sent.
pub fn check(shared: &SharedState, command: &str, arguments: &str) -> PromptCheck {
    let Some((server, prompt)) = find(&shared.offers, command) else {
        return PromptCheck::Complete;
    };
    let values: BTreeMap<String, String> = match prompt.read_arguments(arguments) {
        Ok(values) => values,
        Err(why) => return PromptCheck::Wrong(format!("/{command}: {why}")),
    };
    match (prompt.complaint(server, &values), shared.settings.input) {
        (None, _) => PromptCheck::Complete,
        (Some(complaint), InputSource::Lines) => PromptCheck::Wrong(complaint),
        (Some(_), InputSource::Keys) => {
            let (server, prompt) = (server.to_owned(), prompt.clone());
            PromptCheck::Missing(PromptToFill { server, prompt, values })
        }
    }
}

/// Sends a prompt that was chosen from a list, or asks for what it needs.
pub fn send(shared: &mut SharedState, command: &str, arguments: &str) -> Vec<Intent> {
    match check(shared, command, arguments) {
        PromptCheck::Complete => {
            let line = format!("/{command} {arguments}");
            vec![Intent::Send(line.trim_end().into())]
        }
        PromptCheck::Missing(prompt) => vec![Intent::AskPromptArguments(prompt)],
        PromptCheck::Wrong(why) => vec![Intent::Toast(NoticeLevel::Error, why)],
    }
}
