//! Whether the model that is asked for is there.

use super::Finding;
use super::endpoint::Answer;
use crate::catalogue::CatalogueCache;
use crate::config::{ModelChoice, ModelServerConfig};
use crate::providers::ModelInfo;

const SUBJECT: &str = "model";

/// What is known of a model whose server says nothing of it.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) catalogue: &'a CatalogueCache,
    /// The server's host; none on this machine, whose models may be served with any window.
    pub(super) host: Option<&'a str>,
}

pub(super) fn check(
    server: &ModelServerConfig,
    answer: &Answer,
    known: Known<'_>,
) -> Option<Finding> {
    let models = match answer {
        Answer::Models(models) => models,
        Answer::Refused { status: 401 | 403, .. } | Answer::Silence(_) => return None,
        Answer::Refused { message, .. } => {
            return Some(Finding::warn(
                SUBJECT,
                format!("The server does not list its models: {message}"),
                "Check that the endpoint ends in /v1, and name a model with `model`.",
            ));
        }
    };
    Some(match (&server.model.value, models.as_slice()) {
        (_, []) => Finding::fail(
            SUBJECT,
            "The server offers no model.",
            "Load one into the server, or name another endpoint.",
        ),
        (ModelChoice::Served, [model]) => Finding::ok(SUBJECT, describe(server, model, known)),
        (ModelChoice::Served, several) => Finding::warn(
            SUBJECT,
            format!("The server offers {} models: {}.", several.len(), names(several)),
            "Name one with `model`; slug asks otherwise, and takes the first without a screen.",
        ),
        (ModelChoice::Named(name), several) => {
            match several.iter().find(|model| model.id == *name) {
                Some(model) => Finding::ok(SUBJECT, describe(server, model, known)),
                None => Finding::fail(
                    SUBJECT,
                    format!("{name} ({}) is not on the server.", server.model.origin),
                    format!("Choose one of: {}.", names(several)),
                ),
            }
        }
    })
}

fn describe(server: &ModelServerConfig, model: &ModelInfo, known: Known<'_>) -> String {
    let id = &model.id;
    match (model.context_window, known.window(id)) {
        (Some(window), _) => format!("{id}, with a window of {window} tokens."),
        (None, Some(window)) => format!(
            "{id}, with a window of {window} tokens, as slug's catalogue says; the server does \
             not say."
        ),
        (None, None) => {
            let window = &server.context_window;
            format!(
                "{id}. The server does not say its window; {} tokens are assumed ({}).",
                window.value, window.origin
            )
        }
    }
}

impl Known<'_> {
    /// The window that the agent takes where the server does not say.
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
