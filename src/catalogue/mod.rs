//! Facts about hosted models that need no request: windows, limits, prices and abilities.
//!
//! The facts come from <https://models.dev>, in slug's own compact format (`assets/catalogue`, with
//! their licence). They are read on first use, never before the first frame. What
//! `slug models refresh` has fetched is laid over them.
//!
//! A price belongs to a model at a provider, so slug gives one only if the host is one of a
//! provider's own. A server on this machine has no price, nor has an unknown host.

mod cache;
mod format;
mod hosts;
mod lookup;
mod models_dev;
mod refresh;

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::domain::{ModelPrice, ReasoningEffort};

pub use cache::CatalogueCache;
pub use hosts::{ProviderHosts, provider_at};
pub use refresh::{CatalogueRefreshError, SOURCE, refresh};

/// Facts about models, by provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCatalogue {
    /// The day on which the facts were fetched.
    pub date: NaiveDate,
    providers: BTreeMap<String, BTreeMap<String, ModelFacts>>,
}

/// The facts about one model at one provider. Only models that write text and call tools are
/// listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// The day of the model's release.
    pub released: NaiveDate,
    /// The context window, in tokens.
    pub window: u64,
    /// The output limit, in tokens; `None` if it is not known.
    pub output: Option<u64>,
    /// Whether it accepts images.
    pub images: ImageSupport,
    /// How its reasoning can be set; `None` if the model does not reason.
    pub reasoning: Option<ReasoningCapability>,
    /// `None` if models.dev gives no price.
    pub price: Option<ModelPrice>,
}

/// Whether a model accepts images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageSupport {
    /// Images may be part of a message.
    Supported,
    /// The server would refuse an image.
    #[default]
    Unsupported,
}

/// How a model's reasoning can be set. Empty if the model reasons, but models.dev lists no setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningCapability {
    /// The effort steps that it knows, the least first.
    pub efforts: Vec<ReasoningEffort>,
    /// The settings besides the effort steps.
    pub settings: Vec<ReasoningSetting>,
}

/// A setting of a model's reasoning besides its effort steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningSetting {
    /// Reasoning can be switched on and off.
    Switch,
    /// Reasoning takes a budget in tokens.
    Budget,
}

impl ModelCatalogue {
    /// All models as (provider, model, facts), sorted by provider and name.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str, &ModelFacts)> {
        self.providers.iter().flat_map(|(provider, models)| {
            models.iter().map(|(id, facts)| (provider.as_str(), id.as_str(), facts))
        })
    }

    /// The number of models of all providers.
    pub fn len(&self) -> usize {
        self.providers.values().map(BTreeMap::len).sum()
    }

    /// Whether the catalogue has no model.
    pub fn is_empty(&self) -> bool {
        self.providers.values().all(BTreeMap::is_empty)
    }

    /// Lays a newer catalogue over this one. Models that `newer` does not list stay.
    pub fn lay_over(&mut self, newer: Self) {
        self.date = newer.date;
        for (provider, models) in newer.providers {
            self.providers.entry(provider).or_default().extend(models);
        }
    }
}
