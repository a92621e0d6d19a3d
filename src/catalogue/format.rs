//! The file format of a catalogue: JSON with one model per line, so that a refresh gives a readable
//! diff.
//!
//! The bundled file (compressed) and the one that `slug models refresh` writes share this format. A
//! price is `[input, output, cache read, cache write]` in dollars per million tokens, as far as
//! they are known. `above` holds such prices by the number of input tokens above which they apply.
//! `reasoning` lists the effort steps, `toggle` and `budget`.

use std::collections::BTreeMap;
use std::io::Read;

use chrono::NaiveDate;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize, Serializer};

use super::{ImageSupport, ModelCatalogue, ModelFacts, ReasoningCapability, ReasoningSetting};
use crate::domain::{ModelPrice, ReasoningEffort, TokenRate, TokenRates};

/// The bundled catalogue: `assets/catalogue/models.json`, compressed to a tenth of its size.
const BUNDLED: &[u8] = include_bytes!("../../assets/catalogue/models.json.gz");

/// Where the facts come from; written into the file.
const SOURCE: &str = "https://models.dev";

/// The licence of the facts; written into the file.
const LICENCE: &str = "MIT, Copyright (c) 2025 models.dev";

#[derive(Deserialize)]
struct CatalogueFile {
    date: NaiveDate,
    providers: BTreeMap<String, BTreeMap<String, CatalogueRow>>,
}

#[derive(Serialize, Deserialize)]
struct CatalogueRow {
    released: NaiveDate,
    window: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    #[serde(default, skip_serializing_if = "is_refused")]
    images: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<Vec<Option<PriceNumber>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    above: Vec<(u64, Vec<Option<PriceNumber>>)>,
}

/// A price that is written without a decimal point if it is whole.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
struct PriceNumber(f64);

impl ModelCatalogue {
    /// Reads the catalogue that is compiled into slug.
    ///
    /// # Errors
    ///
    /// Fails if the bundled bytes are damaged; a test reads them.
    pub fn bundled() -> Result<Self, serde_json::Error> {
        let mut text = String::new();
        GzDecoder::new(BUNDLED).read_to_string(&mut text).map_err(serde_json::Error::io)?;
        Self::parse(&text)
    }

    /// Reads a catalogue from the text of a file.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not JSON in this format; the error carries the place.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let CatalogueFile { date, providers } = serde_json::from_str(text)?;
        let models = |rows: BTreeMap<String, CatalogueRow>| {
            rows.into_iter().map(|(id, row)| (id, row.facts())).collect()
        };
        let providers = providers.into_iter().map(|(name, rows)| (name, models(rows))).collect();
        Ok(Self { date, providers })
    }

    /// The catalogue as the text of a file, with models sorted by provider and name.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be written as JSON.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        let head = |name, value: &str| Ok(format!("{name}: {}", serde_json::to_string(value)?));
        let mut providers = Vec::new();
        for (provider, models) in &self.providers {
            let mut rows = Vec::new();
            for (id, facts) in models {
                let (id, row) = (serde_json::to_string(id)?, CatalogueRow::of(facts));
                rows.push(format!("{id}:{}", serde_json::to_string(&row)?));
            }
            let provider = serde_json::to_string(provider)?;
            providers.push(format!("{provider}: {{\n{}\n}}", rows.join(",\n")));
        }
        let heads: Result<Vec<String>, serde_json::Error> = [
            head("\"source\"", SOURCE),
            head("\"licence\"", LICENCE),
            head("\"date\"", &self.date.to_string()),
        ]
        .into_iter()
        .collect();
        let (heads, providers) = (heads?.join(",\n"), providers.join(",\n"));
        Ok(format!("{{\n{heads},\n\"providers\": {{\n{providers}\n}}\n}}\n"))
    }
}

impl CatalogueRow {
    fn of(facts: &ModelFacts) -> Self {
        let price = facts.price.as_ref();
        let above = price.map(|price| price.above.as_slice()).unwrap_or_default();
        Self {
            released: facts.released,
            window: facts.window,
            output: facts.output,
            images: facts.images == ImageSupport::Supported,
            reasoning: facts.reasoning.as_ref().map(words),
            price: price.map(|price| numbers(price.rates)),
            above: above.iter().map(|(size, rates)| (*size, numbers(*rates))).collect(),
        }
    }

    fn facts(self) -> ModelFacts {
        let above = |above: Vec<(u64, Vec<Option<PriceNumber>>)>| {
            let rates = |(size, row): (u64, Vec<_>)| Some((size, rates(&row)?));
            above.into_iter().filter_map(rates).collect()
        };
        let rates = self.price.and_then(|row| rates(&row));
        ModelFacts {
            released: self.released,
            window: self.window,
            output: self.output,
            images: if self.images { ImageSupport::Supported } else { ImageSupport::Unsupported },
            reasoning: self.reasoning.as_deref().map(reasoning),
            price: rates.map(|rates| ModelPrice { rates, above: above(self.above) }),
        }
    }
}

fn numbers(rates: TokenRates) -> Vec<Option<PriceNumber>> {
    let number = |rate: TokenRate| PriceNumber(rate.dollars_per_million());
    let TokenRates { input, output, cache_read, cache_write } = rates;
    let mut rates = vec![Some(input), Some(output), cache_read, cache_write];
    while rates.last().is_some_and(Option::is_none) {
        rates.pop();
    }
    rates.into_iter().map(|rate| rate.map(number)).collect()
}

fn rates(row: &[Option<PriceNumber>]) -> Option<TokenRates> {
    let at = |place: usize| {
        row.get(place).copied().flatten().and_then(|it| TokenRate::per_million(it.0))
    };
    Some(TokenRates { input: at(0)?, output: at(1)?, cache_read: at(2), cache_write: at(3) })
}

fn words(reasoning: &ReasoningCapability) -> String {
    let settings = reasoning.settings.iter().map(|setting| setting.word());
    let words: Vec<&str> =
        reasoning.efforts.iter().map(|effort| effort.name()).chain(settings).collect();
    words.join(" ")
}

/// Unknown words are ignored: they name settings that slug does not have.
fn reasoning(words: &str) -> ReasoningCapability {
    let words = || words.split_ascii_whitespace();
    ReasoningCapability {
        efforts: words().filter_map(ReasoningEffort::parse).collect(),
        settings: words().filter_map(ReasoningSetting::parse).collect(),
    }
}

impl ReasoningSetting {
    const ALL: [Self; 2] = [Self::Switch, Self::Budget];

    fn word(self) -> &'static str {
        match self {
            Self::Switch => "toggle",
            Self::Budget => "budget",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.word() == word)
    }
}

impl Serialize for PriceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and a price, which is between zero and a million"
        )]
        if self.0.fract() == 0.0 {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_refused(images: &bool) -> bool {
    !images
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// The file that the bundled bytes are made from.
    const FACTS: &str = include_str!("../../assets/catalogue/models.json");

    /// `SLUG_WRITE_CATALOGUE=1 cargo test --lib catalogue` rebuilds the bundled bytes.
    #[test]
    fn the_bundled_bytes_hold_the_facts_file() {
        if std::env::var_os("SLUG_WRITE_CATALOGUE").is_some() {
            let place = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/catalogue/models.json.gz");
            let mut file =
                GzEncoder::new(std::fs::File::create(place).unwrap(), Compression::best());
            file.write_all(FACTS.as_bytes()).unwrap();
            file.finish().unwrap();
        }
        let bundled = ModelCatalogue::bundled().unwrap();
        assert_eq!(bundled, ModelCatalogue::parse(FACTS).unwrap(), "write them anew");
    }

    #[test]
    fn the_facts_are_as_slug_would_write_them() {
        let text = ModelCatalogue::parse(FACTS).unwrap().text().unwrap();
        let other = text.lines().zip(FACTS.lines()).find(|(slugs, facts)| slugs != facts);
        assert_eq!(other, None);
        assert_eq!(text.len(), FACTS.len());
    }

    #[test]
    fn the_bundled_bytes_stay_small() {
        assert!(BUNDLED.len() < 20_000, "{}", BUNDLED.len());
    }

    #[test]
    fn a_row_holds_every_fact() {
        let text = r#"{"date": "2026-10-30", "providers": {"a": {"m":
            {"released":"2026-01-02","window":1000000,"output":64000,"images":true,
             "reasoning":"low high new budget","price":[3,15.5,null,3.75],
             "above":[[200000,[6,22.5]]]}}}}"#;
        let catalogue = ModelCatalogue::parse(text).unwrap();
        let (_, _, facts) = catalogue.models().next().unwrap();
        assert_eq!((facts.window, facts.output), (1_000_000, Some(64_000)));
        assert_eq!(facts.images, ImageSupport::Supported);
        let reasoning = facts.reasoning.clone().unwrap();
        assert_eq!(reasoning.efforts, [ReasoningEffort::Low, ReasoningEffort::High]);
        assert_eq!(reasoning.settings, [ReasoningSetting::Budget]);
        let price = facts.price.clone().unwrap();
        assert_eq!(price.rates.output, TokenRate::per_million(15.5).unwrap());
        assert_eq!((price.rates.cache_read, price.above.len()), (None, 1));
        assert_eq!(ModelCatalogue::parse(&catalogue.text().unwrap()).unwrap(), catalogue);
    }

    #[test]
    fn an_invalid_price_is_ignored() {
        let text = r#"{"date": "2026-10-30", "providers": {"a": {"m":
            {"released":"2026-01-02","window":8192,"price":[-3,15]}}}}"#;
        let catalogue = ModelCatalogue::parse(text).unwrap();
        let (_, _, facts) = catalogue.models().next().unwrap();
        assert_eq!(
            (&facts.price, &facts.reasoning, facts.images),
            (&None, &None, ImageSupport::Unsupported)
        );
    }
}
