//! Finds a model by the name that a server uses for it.
//!
//! Names may carry a date (`claude-haiku-4-5-20251001`, `gpt-5-2025-08-07`) and the maker in front
//! (`openai/gpt-5`). Only these two are stripped: `:nitro` and the like stand for a different
//! price, so only the lookup of a window ignores them.

use std::cmp::Reverse;

use chrono::Days;

use super::hosts::{makers, provider_at};
use super::{ImageSupport, ModelCatalogue, ModelFacts};
use crate::domain::TokenRate;

impl ModelCatalogue {
    /// The facts about a model at this host; `None` if the host belongs to no known provider.
    pub fn find(&self, host: &str, model: &str) -> Option<&ModelFacts> {
        self.at(provider_at(host)?, model)
    }

    /// The context window in tokens, for a server at this host that does not list it.
    pub fn fallback_window(&self, host: &str, model: &str) -> Option<u64> {
        let here = self.find(host, model).map(|facts| facts.window);
        here.or_else(|| self.maker_window(model))
    }

    /// The context window in tokens that the model's maker gives it, for a host that is not known.
    /// No other fact is taken from the maker: the rest depends on the server.
    pub fn maker_window(&self, model: &str) -> Option<u64> {
        let model = model.split_once(':').map_or(model, |(model, _)| model);
        makers().find_map(|maker| self.at(maker, model)).map(|facts| facts.window)
    }

    /// The newest model of a provider whose name begins with `prefix`.
    pub fn newest(&self, provider: &str, prefix: &str) -> Option<&str> {
        let models = self.providers.get(provider)?.iter();
        let named = models.filter(|(id, _)| id.starts_with(prefix));
        named.max_by_key(|(id, facts)| (facts.released, *id)).map(|(id, _)| id.as_str())
    }

    /// The next smaller model at this host, to stand in for one whose server is overloaded: the
    /// dearest of those that cost less, come from the same maker, are not much older, and take what
    /// this one takes. `None` if there is none or the price is not known.
    pub fn next_smaller(&self, host: &str, model: &str) -> Option<&str> {
        let provider = provider_at(host)?;
        let (own_name, own) = self.entry(provider, model)?;
        let own_price = written_rate(own)?;
        let oldest = own.released.checked_sub_days(MAX_AGE)?;
        let maker = |name: &str| name.split('-').next().unwrap_or_default().to_owned();
        let stands_in = |name: &str, other: &ModelFacts| {
            let is_special = |word: &&str| name.contains(*word) && !own_name.contains(*word);
            maker(name) == maker(own_name)
                && written_rate(other).is_some_and(|price| price < own_price)
                && other.released >= oldest
                && other.window >= own.window
                && (other.images == own.images || other.images == ImageSupport::Supported)
                && !SPECIAL_PURPOSES.iter().any(is_special)
        };
        let models = self.providers.get(provider)?.iter();
        let smaller = models.filter(|(name, other)| stands_in(name, other));
        let first = smaller
            .max_by_key(|(name, other)| (written_rate(other), other.released, Reverse(*name)));
        first.map(|(name, _)| name.as_str())
    }

    fn at(&self, provider: &str, model: &str) -> Option<&ModelFacts> {
        self.entry(provider, model).map(|(_, facts)| facts)
    }

    /// A model by any of its names, with the catalogue's own name for it.
    fn entry(&self, provider: &str, model: &str) -> Option<(&str, &ModelFacts)> {
        let models = self.providers.get(provider)?;
        let short = model.rsplit_once('/').map_or(model, |(_, short)| short);
        let names = [model, undated(model), short, undated(short)];
        let (name, facts) = names.iter().find_map(|name| models.get_key_value(*name))?;
        Some((name, facts))
    }
}

/// How much older than a model one that stands in for it may be.
const MAX_AGE: Days = Days::new(120);

/// Words in the names of models that are not made for every task, or not served by every protocol.
const SPECIAL_PURPOSES: [&str; 8] =
    ["codex", "image", "audio", "live", "search", "research", "computer", "customtools"];

/// The price of a token that the model writes.
fn written_rate(facts: &ModelFacts) -> Option<TokenRate> {
    facts.price.as_ref().map(|price| price.rates.output)
}

/// The name without a date (`-20251001`, `@20251001` or `-2025-10-01`) at its end.
fn undated(model: &str) -> &str {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let cut = |length: usize| {
        let at = model.len().checked_sub(length).filter(|&at| at > 0)?;
        let (name, date) = model.split_at_checked(at)?;
        let date = date.strip_prefix(['-', '@'])?;
        let is_date = match date.as_bytes() {
            [_, _, _, _, b'-', _, _, b'-', _, _] => date.split('-').all(is_digits),
            digits => digits.len() == 8 && is_digits(date),
        };
        (is_date && date.starts_with("20")).then_some(name)
    };
    cut("-20251001".len()).or_else(|| cut("-2025-10-01".len())).unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_taken_off() {
        let table = [
            ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
            ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
            ("gpt-5-2025-08-07", "gpt-5"),
            ("gpt-5", "gpt-5"),
            ("-20251001", "-20251001"),
            ("mistral-large-2411", "mistral-large-2411"),
            ("model-12345678", "model-12345678"),
            ("gpt-5-2025-08-0x", "gpt-5-2025-08-0x"),
            ("ä-20251001", "ä"),
            ("日本日本日本", "日本日本日本"),
            ("", ""),
        ];
        for (model, name) in table {
            assert_eq!(undated(model), name);
        }
    }

    #[test]
    fn a_model_is_found_by_the_names_that_servers_give_it() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        let table = [
            ("api.anthropic.com", "claude-sonnet-5-5", true),
            ("api.anthropic.com", "claude-sonnet-5-5-20260928", true),
            ("api.anthropic.com", "anthropic/claude-sonnet-5-5", true),
            ("api.openai.com", "gpt-5-2025-08-07", true),
            ("openrouter.ai", "anthropic/claude-sonnet-5.5", true),
            ("openrouter.ai", "anthropic/claude-sonnet-5.5:nitro", false),
            ("generativelanguage.googleapis.com", "models/gemini-flash-latest", true),
            ("api.anthropic.com", "gpt-5", false),
            ("gateway.example.com", "gpt-5", false),
            ("localhost", "gpt-5", false),
            ("api.openai.com", "", false),
        ];
        for (host, model, known) in table {
            assert_eq!(catalogue.find(host, model).is_some(), known, "{model} at {host}");
        }
    }

    #[test]
    fn the_next_smaller_model_is_of_the_same_maker_and_takes_as_much() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        let table = [
            ("api.anthropic.com", "claude-opus-5-5", Some("claude-sonnet-5-5")),
            ("api.anthropic.com", "claude-sonnet-5-5-20260928", Some("claude-haiku-5-5")),
            ("api.anthropic.com", "claude-haiku-5-5", None),
            ("api.openai.com", "gpt-5.6", Some("gpt-5.6-terra")),
            ("api.openai.com", "my-own-model", None),
            ("gateway.example.com", "claude-opus-5-5", None),
        ];
        for (host, model, smaller) in table {
            assert_eq!(catalogue.next_smaller(host, model), smaller, "{model} at {host}");
        }
        for (provider, model, facts) in catalogue.models() {
            let host = ["api.anthropic.com", "api.openai.com", "openrouter.ai"]
                .into_iter()
                .find(|host| provider_at(host) == Some(provider));
            let Some(smaller) = host.and_then(|host| catalogue.next_smaller(host, model)) else {
                continue;
            };
            let smaller = catalogue.at(provider, smaller).unwrap();
            assert!(written_rate(smaller) < written_rate(facts), "{model}");
            assert!(smaller.window >= facts.window, "{model}");
        }
    }

    #[test]
    fn elsewhere_only_the_window_is_known() {
        let catalogue = ModelCatalogue::bundled().unwrap();
        let window = catalogue.find("api.openai.com", "gpt-5").map(|facts| facts.window);
        assert_eq!(catalogue.maker_window("openai/gpt-5:online"), window);
        assert!(window.is_some());
        assert_eq!(catalogue.maker_window("my-own-model"), None);
    }
}
