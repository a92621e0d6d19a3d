//! What is known of hosted models without asking anyone: windows, limits, prices and abilities.
//!
//! The facts are those of <https://models.dev>, in a lean form of slug's own (`assets/catalogue`,
//! with their licence). They are read when somebody first asks, never on the way to the first
//! frame. What `slug models refresh` has fetched lies over them.
//!
//! A price belongs to a model at a provider, so it is given only where the host that is asked is
//! one of a provider's own. A server on this machine has none, nor has a host that nobody knows.

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
    /// When they were fetched.
    pub date: NaiveDate,
    providers: BTreeMap<String, BTreeMap<String, ModelFacts>>,
}

/// What is known of a model at a provider. All of them write text and call tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// When it came out.
    pub released: NaiveDate,
    /// How much it can read at once, in tokens.
    pub window: u64,
    /// The longest answer, in tokens.
    pub output: Option<u64>,
    /// Whether it takes images.
    pub images: ImageSupport,
    /// How its reasoning can be set; `None` for one that does not reason.
    pub reasoning: Option<ReasoningCapability>,
    /// What its tokens cost.
    pub price: Option<ModelPrice>,
}

/// Whether a model takes images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageSupport {
    /// It does.
    Supported,
    /// It does not.
    #[default]
    Unsupported,
}

/// How a model's reasoning can be set. With nothing in it, nobody has told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningCapability {
    /// The steps that it knows, the least first.
    pub efforts: Vec<ReasoningEffort>,
    /// Its other settings.
    pub settings: Vec<ReasoningSetting>,
}

/// A setting of a model's reasoning besides its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningSetting {
    /// On or off.
    Switch,
    /// So many tokens.
    Budget,
}

impl ModelCatalogue {
    /// All models, by provider and name.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str, &ModelFacts)> {
        self.providers.iter().flat_map(|(provider, models)| {
            models.iter().map(|(id, facts)| (provider.as_str(), id.as_str(), facts))
        })
    }

    /// How many models there are.
    pub fn len(&self) -> usize {
        self.providers.values().map(BTreeMap::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.providers.values().all(BTreeMap::is_empty)
    }

    /// Lays a newer catalogue over this one. What it no longer has stays known.
    pub fn lay_over(&mut self, newer: Self) {
        self.date = newer.date;
        for (provider, models) in newer.providers {
            self.providers.entry(provider).or_default().extend(models);
        }
    }
}
