//! Whether the server offers the configured model.

use super::DoctorFinding;
use super::endpoint::EndpointProbe;
use crate::catalogue::CatalogueCache;
use crate::config::{ModelChoice, ModelServerConfig};
use crate::providers::ModelInfo;

const SUBJECT: &str = "model";

/// Looks up the window of a model in the catalogue, for a server that does not report it.
#[derive(Clone, Copy)]
pub(super) struct CatalogueLookup<'a> {
    pub(super) catalogue: &'a CatalogueCache,
    /// The server's host; `None` on this machine, where a model may be served with any window.
    pub(super) host: Option<&'a str>,
}

pub(super) fn check(
    server: &ModelServerConfig,
    answer: &EndpointProbe,
    known: CatalogueLookup<'_>,
) -> Option<DoctorFinding> {
    let models = match answer {
        EndpointProbe::Models(models) => models,
        EndpointProbe::Refused { status: 401 | 403, .. } | EndpointProbe::NoAnswer(_) => {
            return None;
        }
        EndpointProbe::Refused { message, .. } => {
            return Some(DoctorFinding::warn(
                SUBJECT,
                format!("The server does not list its models: {message}"),
                "Check that the endpoint ends in /v1, and set `model`.",
            ));
        }
    };
    Some(match (&server.model.value, models.as_slice()) {
        (_, []) => DoctorFinding::fail(
            SUBJECT,
            "The server offers no models.",
            "Load a model into the server, or set another endpoint.",
        ),
        (ModelChoice::Served, [model]) => {
            DoctorFinding::ok(SUBJECT, describe(server, model, known))
        }
        (ModelChoice::Served, several) => DoctorFinding::warn(
            SUBJECT,
            format!("The server offers {} models: {}.", several.len(), names(several)),
            "Set `model` to one of them; otherwise slug asks, or takes the first where it \
                cannot ask.",
        ),
        (ModelChoice::Named(name), several) => {
            match several.iter().find(|model| model.id == *name) {
                Some(model) => DoctorFinding::ok(SUBJECT, describe(server, model, known)),
                None => DoctorFinding::fail(
                    SUBJECT,
                    format!("{name} ({}) is not on the server.", server.model.origin),
                    format!("Choose one of: {}.", names(several)),
                ),
            }
        }
    })
}

fn describe(server: &ModelServerConfig, model: &ModelInfo, known: CatalogueLookup<'_>) -> String {
    let id = &model.id;
    match (model.context_window, known.window(id)) {
        (Some(window), _) => format!("{id}, with a context window of {window} tokens."),
        (None, Some(window)) => format!(
            "{id}, with a context window of {window} tokens according to slug's catalogue; the \
             server does not say."
        ),
        (None, None) => {
            let window = &server.context_window;
            format!(
                "{id}. Its context window is not known; {} tokens are assumed ({}).",
                window.value, window.origin
            )
        }
    }
}

impl CatalogueLookup<'_> {
    /// The window that the agent uses when the server does not report one.
    fn window(self, model: &str) -> Option<u64> {
        self.catalogue.catalogue().fallback_window(self.host?, model)
    }
}

fn names(models: &[ModelInfo]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> = models.iter().take(SHOWN).map(|model| model.id.as_str()).collect();
    if models.len() > SHOWN {
        names.push("…");
    }
    names.join(", ")
}
