//! `slug models`: the models that can be used, with window, limits and prices.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Context;
use chrono::Utc;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::catalogue::{
    self, CatalogueCache, ImageSupport, ModelCatalogue, ModelFacts, ReasoningCapability,
    ReasoningSetting,
};
use crate::cli::{Cli, CliExitStatus, ModelsList};
use crate::config::{ConfigOrigin, ModelServerConfig};
use crate::domain::sanitize::sanitize;
use crate::domain::{ModelPrice, TokenRate};
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::launch::servers::ServerConnector;
use crate::net::{HttpEndpoint, PlainHttp};
use crate::platform::paths::replace_private;
use crate::platform::redact::Redactor;
use crate::providers::{ModelInfo, Provider};

use super::report_config_errors;

/// A row of the list.
struct ModelsTableRow<'a> {
    /// The configured provider that offers the model, or the provider's name in the catalogue.
    provider: String,
    id: String,
    place: ModelRowOrigin,
    /// The context window in tokens, if the server reports it.
    served: Option<u64>,
    facts: Option<&'a ModelFacts>,
}

/// Whether a server offers the model, or only the catalogue has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModelRowOrigin {
    Server,
    Catalogue,
}

/// The headings of the columns.
const HEADS: [&str; 7] = ["model", "window", "output", "in", "cached", "out", ""];

pub(super) async fn list(
    cli: &Cli,
    run_context: &RunContext,
    list: &ModelsList,
) -> anyhow::Result<CliExitStatus> {
    let config = match run_context.config(cli, run_context.project(cli)?) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let cache = CatalogueCache::new(run_context.home.catalogue());
    let catalogue = cache.catalogue();
    if let Some(complaint) = cache.complaint() {
        print::complain(complaint);
    }
    let servers = ServerConnector::new(run_context, &config, &Redactor::default());
    // The one at slug's default address is nobody's where a model file is configured.
    let is_meant = |server: &&ModelServerConfig| {
        config.local_model().is_none() || server.endpoint.origin != ConfigOrigin::Default
    };
    let asked = config.servers().filter(is_meant).map(async |server| {
        let provider = servers.connect_or_tell(server);
        let models = provider.models().await;
        (server, provider, models)
    });
    let (mut rows, mut heads, mut failed) = (Vec::new(), Vec::new(), false);
    for (server, provider, models) in join_all(asked).await {
        let name = server.name.value.to_string();
        let endpoint = server.endpoint.value.as_str();
        heads.push((name.clone(), format!("{name}, at {endpoint}")));
        match models {
            Ok(models) => rows.extend(served(&name, models, &*provider, catalogue)),
            Err(error) => {
                failed = true;
                print::complain(&error.message);
            }
        }
    }
    let wanted = |id: &str| {
        list.filter.as_ref().is_none_or(|part| id.to_lowercase().contains(&part.to_lowercase()))
    };
    rows.retain(|row| wanted(&row.id));
    if list.filter.is_some() || list.format.json {
        rows.extend(known(catalogue).filter(|row| wanted(&format!("{}/{}", row.provider, row.id))));
    }
    let mut out = print::out();
    if list.format.json {
        let rows: Vec<Value> = rows.iter().map(ModelsTableRow::json).collect();
        writeln!(out, "{}", Value::from(rows))?;
    } else {
        out.write_all(text(&rows, &heads).as_bytes())?;
        writeln!(out, "{}", about(catalogue, list.filter.as_deref(), rows.is_empty()))?;
    }
    Ok(if failed && rows.is_empty() { CliExitStatus::Failed } else { CliExitStatus::Answered })
}

pub(super) async fn refresh(cli: &Cli, run_context: &RunContext) -> anyhow::Result<CliExitStatus> {
    let config = match run_context.config(cli, run_context.project(cli)?) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let servers = ServerConnector::new(run_context, &config, &Redactor::default());
    let http = servers.http(&config.server.connection.shared());
    let from = HttpEndpoint::parse(catalogue::SOURCE, PlainHttp::LoopbackOnly)?;
    let fetched = catalogue::refresh(&http, &from, Utc::now().date_naive()).await?;
    let path = run_context.home.catalogue();
    replace_private(&path, fetched.text()?.as_bytes())
        .with_context(|| format!("Cannot write {}", path.display()))?;
    let (count, from, path) = (fetched.len(), catalogue::SOURCE, path.display());
    writeln!(print::out(), "{count} models from {from} saved in {path}.")?;
    Ok(CliExitStatus::Answered)
}

fn served<'a>(
    name: &str,
    models: Vec<ModelInfo>,
    provider: &dyn Provider,
    catalogue: &'a ModelCatalogue,
) -> Vec<ModelsTableRow<'a>> {
    let row = |model: ModelInfo| ModelsTableRow {
        provider: name.to_owned(),
        facts: provider.host().and_then(|host| catalogue.find(host, &model.id)),
        id: model.id,
        place: ModelRowOrigin::Server,
        served: model.context_window,
    };
    models.into_iter().map(row).collect()
}

fn known(catalogue: &ModelCatalogue) -> impl Iterator<Item = ModelsTableRow<'_>> {
    catalogue.models().map(|(provider, id, facts)| ModelsTableRow {
        provider: provider.to_owned(),
        id: id.to_owned(),
        place: ModelRowOrigin::Catalogue,
        served: None,
        facts: Some(facts),
    })
}

impl ModelsTableRow<'_> {
    fn price(&self) -> Option<&ModelPrice> {
        self.facts?.price.as_ref()
    }

    fn window(&self) -> Option<u64> {
        self.served.or(self.facts.map(|facts| facts.window))
    }

    fn cells(&self) -> [String; 7] {
        let count = |count: Option<u64>| count.map(tokens).unwrap_or_default();
        let rates = self.price().map(|price| price.rates);
        let rate = |rate: Option<TokenRate>| {
            rate.map(|rate| format!("${}", rate.dollars_per_million())).unwrap_or_default()
        };
        let id = match self.place {
            ModelRowOrigin::Server => sanitize(&self.id).into_owned(),
            ModelRowOrigin::Catalogue => format!("{}/{}", self.provider, self.id),
        };
        [
            id,
            count(self.window()),
            count(self.facts.and_then(|facts| facts.output)),
            rate(rates.map(|rates| rates.input)),
            rate(rates.and_then(|rates| rates.cache_read)),
            rate(rates.map(|rates| rates.output)),
            self.facts.map(abilities).unwrap_or_default(),
        ]
    }

    fn json(&self) -> Value {
        let facts = self.facts;
        let reasoning = facts.and_then(|facts| facts.reasoning.as_ref());
        json!({
            "provider": self.provider,
            "id": self.id,
            "offered": self.place == ModelRowOrigin::Server,
            "context_window": self.window(),
            "window_from": match (self.served, facts) {
                (Some(_), _) => Some("server"),
                (None, Some(_)) => Some("catalogue"),
                (None, None) => None,
            },
            "max_output": facts.and_then(|facts| facts.output),
            "released": facts.map(|facts| facts.released),
            "images": facts.map(|facts| facts.images == ImageSupport::Supported),
            "reasoning": facts.map(|_| reasoning.is_some()),
            "efforts": reasoning.map(|reasoning| &reasoning.efforts),
            "price": self.price().map(|price| {
                let rate = TokenRate::dollars_per_million;
                json!({
                    "input": rate(price.rates.input),
                    "output": rate(price.rates.output),
                    "cache_read": price.rates.cache_read.map(rate),
                    "cache_write": price.rates.cache_write.map(rate),
                })
            }),
        })
    }
}

fn abilities(facts: &ModelFacts) -> String {
    let images = match facts.images {
        ImageSupport::Supported => Some("images".to_owned()),
        ImageSupport::Unsupported => None,
    };
    let reasoning = facts.reasoning.as_ref().map(reasons);
    let dearer = facts.price.as_ref().and_then(|price| price.above.first());
    let dearer = dearer.map(|(size, _)| format!("costs more above {}", tokens(*size)));
    images.into_iter().chain(reasoning).chain(dearer).collect::<Vec<_>>().join(", ")
}

fn reasons(reasoning: &ReasoningCapability) -> String {
    let budget = reasoning.settings.contains(&ReasoningSetting::Budget);
    match (reasoning.efforts.as_slice(), budget) {
        ([], false) => "reasons".to_owned(),
        ([], true) => "reasons within a budget".to_owned(),
        ([one], _) => format!("reasons ({one})"),
        ([least, .., most], _) => format!("reasons ({least} to {most})"),
    }
}

/// The rows of each server below a line that names it, then the rows that only the catalogue has.
fn text(rows: &[ModelsTableRow<'_>], servers: &[(String, String)]) -> String {
    let mut text = String::new();
    let of_servers = servers.iter().map(|(name, head)| (Some(name), head.as_str()));
    for (server, head) in of_servers.chain([(None, "In the catalogue")]) {
        let is_here = |row: &&ModelsTableRow<'_>| match server {
            Some(name) => row.place == ModelRowOrigin::Server && row.provider == *name,
            None => row.place == ModelRowOrigin::Catalogue,
        };
        let cells: Vec<[String; 7]> =
            rows.iter().filter(is_here).map(ModelsTableRow::cells).collect();
        if !cells.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{head}\n");
            table(&mut text, &cells);
            text.push('\n');
        }
    }
    text
}

fn table(text: &mut String, rows: &[[String; 7]]) {
    let heads = HEADS.map(str::to_owned);
    let all = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    for row in all() {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for column in 1..6 {
            let _ = write!(line, "  {:>1$}", row[column], widths[column]);
        }
        let _ = write!(line, "  {}", row[6]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn about(catalogue: &ModelCatalogue, filter: Option<&str>, nothing: bool) -> String {
    let (count, date) = (catalogue.len(), catalogue.date);
    let known = format!("The catalogue has {count} models as of {date}");
    match filter {
        Some(part) if nothing => {
            format!("No model has `{}` in its name. {known}.", sanitize(part))
        }
        Some(_) => format!("Prices are in dollars per million tokens, as of {date}."),
        None => format!(
            "{known}; give a part of a name to list those that match. Prices are in dollars per million \
             tokens."
        ),
    }
}

fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1000),
        1_000_000.. => format!("{}M", (count / 10_000) as f64 / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::services;
    use crate::domain::ProviderProtocol;

    #[test]
    fn anthropics_default_model_is_the_newest_sonnet() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        let newest = catalogue.newest("anthropic", "claude-sonnet-");
        assert_eq!(services::of(ProviderProtocol::Anthropic).model, newest);
    }

    #[test]
    fn every_service_is_in_the_catalogue_with_its_default_model() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        for service in &services::SERVICES {
            let host = service.origin.trim_start_matches("https://");
            assert!(catalogue::provider_at(host).is_some(), "{host}");
            let model = service.model.unwrap_or("gpt-5");
            assert!(catalogue.find(host, model).is_some(), "{model} at {host}");
        }
    }

    #[test]
    fn a_row_says_what_is_known() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        let sonnet = known(&catalogue).find(|row| row.id == "claude-sonnet-5-5");
        let rows = [
            sonnet.unwrap(),
            ModelsTableRow {
                provider: "openai".into(),
                id: "qwen\u{1b}[31m3".into(),
                place: ModelRowOrigin::Server,
                served: Some(131_072),
                facts: None,
            },
        ];
        let head = "openai, at http://localhost:8000/v1";
        let text = text(&rows, &[("openai".to_owned(), head.to_owned())]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], head);
        assert!(lines[3].ends_with("131k") && !lines[3].contains('$'), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let sonnet = lines.iter().rfind(|line| !line.is_empty()).unwrap();
        assert!(sonnet.contains("1M") && sonnet.contains("$10"), "{text}");
    }
}
