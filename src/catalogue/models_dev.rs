//! Reads what models.dev publishes (`api.json`): all providers with all their models.
//!
//! The text comes over the network and is not trusted. A model is left out if it is no text model
//! that calls tools, has no window, or has a name that no server would accept; so is an entry that
//! cannot be read. Only providers whose hosts slug knows are kept.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Deserialize;
use serde_json::Value;

use super::hosts::HOSTS;
use super::{ImageSupport, ModelCatalogue, ModelFacts, ReasoningCapability, ReasoningSetting};
use crate::domain::{ModelPrice, ReasoningEffort, TokenRate, TokenRates};

/// The longest name of a model that is kept, in bytes.
const LONGEST: usize = 128;

/// The input length in tokens above which the price of long requests holds, if models.dev gives
/// none.
const LONG: u64 = 200_000;

#[derive(Deserialize)]
struct ModelsDevProvider {
    models: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct ModelsDevModel {
    release_date: String,
    #[serde(default)]
    tool_call: bool,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    reasoning_options: Vec<ModelsDevReasoningOption>,
    modalities: ModelsDevModalities,
    limit: ModelsDevLimit,
    cost: Option<ModelsDevCost>,
}

#[derive(Deserialize)]
struct ModelsDevModalities {
    #[serde(default)]
    input: Vec<String>,
    #[serde(default)]
    output: Vec<String>,
}

#[derive(Deserialize)]
struct ModelsDevLimit {
    context: u64,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct ModelsDevReasoningOption {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    values: Vec<Option<String>>,
}

#[derive(Deserialize)]
struct ModelsDevCost {
    #[serde(flatten)]
    rates: ModelsDevRates,
    #[serde(default)]
    tiers: Vec<ModelsDevTier>,
    context_over_200k: Option<ModelsDevRates>,
}

#[derive(Deserialize)]
struct ModelsDevRates {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

#[derive(Deserialize)]
struct ModelsDevTier {
    #[serde(flatten)]
    rates: ModelsDevRates,
    tier: ModelsDevTierBound,
}

#[derive(Deserialize)]
struct ModelsDevTierBound {
    size: u64,
}

/// The usable models in `text`, as a catalogue dated `date`.
pub(super) fn read(text: &str, date: NaiveDate) -> Result<ModelCatalogue, serde_json::Error> {
    let mut all: BTreeMap<String, Value> = serde_json::from_str(text)?;
    let mut providers = BTreeMap::new();
    for host in &HOSTS {
        let found = all.remove(host.provider).map(serde_json::from_value::<ModelsDevProvider>);
        let Some(Ok(provider)) = found else { continue };
        let models: BTreeMap<String, ModelFacts> = provider
            .models
            .into_iter()
            .filter(|(id, _)| is_name(id))
            .filter_map(|(id, model)| Some((id, facts(&serde_json::from_value(model).ok()?)?)))
            .collect();
        if !models.is_empty() {
            providers.insert(host.provider.to_owned(), models);
        }
    }
    Ok(ModelCatalogue { date, providers })
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn facts(model: &ModelsDevModel) -> Option<ModelFacts> {
    let has = |kinds: &[String], kind: &str| kinds.iter().any(|it| it == kind);
    if !model.tool_call || !has(&model.modalities.output, "text") || model.limit.context == 0 {
        return None;
    }
    let takes_images = has(&model.modalities.input, "image");
    Some(ModelFacts {
        released: date(&model.release_date)?,
        window: model.limit.context,
        output: model.limit.output.filter(|&limit| limit > 0),
        images: if takes_images { ImageSupport::Supported } else { ImageSupport::Unsupported },
        reasoning: model.reasoning.then(|| reasoning(&model.reasoning_options)),
        price: model.cost.as_ref().and_then(price),
    })
}

/// Reads a date; some at models.dev have no day.
fn date(text: &str) -> Option<NaiveDate> {
    text.parse().or_else(|_| format!("{text}-01").parse()).ok()
}

fn reasoning(options: &[ModelsDevReasoningOption]) -> ReasoningCapability {
    let mut reasoning = ReasoningCapability::default();
    for option in options {
        match option.kind.as_str() {
            "effort" => {
                let steps = option.values.iter().flatten();
                reasoning.efforts.extend(steps.filter_map(|step| ReasoningEffort::parse(step)));
            }
            "toggle" => reasoning.settings.push(ReasoningSetting::Switch),
            "budget_tokens" => reasoning.settings.push(ReasoningSetting::Budget),
            // A setting that slug does not have.
            _ => {}
        }
    }
    reasoning.efforts.sort();
    reasoning.efforts.dedup();
    reasoning
}

fn price(cost: &ModelsDevCost) -> Option<ModelPrice> {
    let tiers = cost.tiers.iter().map(|tier| (tier.tier.size, &tier.rates));
    let long = cost.context_over_200k.iter().map(|rates| (LONG, rates));
    let tiers: Vec<_> = if cost.tiers.is_empty() { long.collect() } else { tiers.collect() };
    let mut above = Vec::new();
    for (size, their) in tiers {
        above.push((size, rates(their)?));
    }
    above.sort_by_key(|(size, _)| *size);
    Some(ModelPrice { rates: rates(&cost.rates)?, above })
}

fn rates(their: &ModelsDevRates) -> Option<TokenRates> {
    Some(TokenRates {
        input: TokenRate::per_million(their.input)?,
        output: TokenRate::per_million(their.output)?,
        cache_read: their.cache_read.and_then(TokenRate::per_million),
        cache_write: their.cache_write.and_then(TokenRate::per_million),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> ModelCatalogue {
        super::read(&value.to_string(), date("2026-11-22").unwrap()).unwrap()
    }

    fn model(change: &Value) -> Value {
        let mut model = json!({
            "id": "m", "release_date": "2026-09", "tool_call": true, "reasoning": true,
            "reasoning_options": [
                {"type": "toggle"},
                {"type": "effort", "values": ["high", "low", null, "turbo"]},
            ],
            "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
            "limit": {"context": 400_000, "output": 128_000},
            "cost": {"input": 2, "output": 10, "cache_read": 0.1,
                "context_over_200k": {"input": 4, "output": 15}},
        });
        for (key, value) in change.as_object().unwrap() {
            model[key] = value.clone();
        }
        model
    }

    #[test]
    fn an_entry_becomes_facts() {
        let read = read(&json!({"openai": {"id": "openai", "models": {"m": model(&json!({}))}}}));
        let text = read.text().unwrap();
        let line = r#""m":{"released":"2026-09-01","window":400000,"output":128000,"images":true,"reasoning":"low high toggle","price":[2,10,0.1],"above":[[200000,[4,15]]]}"#;
        assert!(text.contains(line), "{text}");
        assert!(text.contains("\"date\": \"2026-11-22\""));
    }

    #[test]
    fn unusable_models_are_left_out() {
        let table = [
            ("gpt-x", model(&json!({})), 1),
            ("gpt-x", model(&json!({"cost": null})), 1),
            ("gpt-x", model(&json!({"tool_call": false})), 0),
            ("gpt-x", model(&json!({"modalities": {"output": ["audio"]}})), 0),
            ("gpt-x", model(&json!({"limit": {"context": 0}})), 0),
            ("gpt-x", model(&json!({"limit": "much"})), 0),
            ("gpt-x", model(&json!({"release_date": "soon"})), 0),
            ("gpt\u{1b}[31m", model(&json!({})), 0),
            ("gpt x", model(&json!({})), 0),
            ("", model(&json!({})), 0),
        ];
        for (id, model, kept) in table {
            let read = read(&json!({"openai": {"models": {id: model, "good": model_of_old()}}}));
            assert_eq!(read.len(), kept + 1, "{id:?} {model}");
        }
    }

    fn model_of_old() -> Value {
        model(&json!({"reasoning": false, "reasoning_options": []}))
    }

    #[test]
    fn providers_without_a_known_host_are_left_out() {
        let models = json!({"m": model(&json!({}))});
        let read = read(&json!({
            "anthropic": {"models": models}, "nobody": {"models": models}, "google": 3,
        }));
        let kept: Vec<&str> = read.models().map(|(provider, _, _)| provider).collect();
        assert_eq!(kept, ["anthropic"]);
    }

    #[test]
    fn an_invalid_price_does_not_drop_the_model() {
        let free = model(&json!({"cost": {"input": -1, "output": 2}}));
        let read = read(&json!({"openai": {"models": {"m": free}}}));
        assert_eq!(read.models().next().unwrap().2.price, None);
    }
}
