//! Prices of tokens.

use super::{Money, TokenUsage};

/// The price of one token in pico-dollars, which is the price of a million tokens in micro-dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenRate(u64);

/// The price of each kind of token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenRates {
    /// A token that the model reads.
    pub input: TokenRate,
    /// A token that the model writes, thinking included.
    pub output: TokenRate,
    /// A token that the model reads from the provider's cache; `None` if it costs as much as
    /// `input`.
    pub cache_read: Option<TokenRate>,
    /// A token that is written to that cache; `None` if it costs as much as `input`.
    pub cache_write: Option<TokenRate>,
}

/// The price of a model's requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPrice {
    /// The rates of short requests.
    pub rates: TokenRates,
    /// The rates of longer requests: they hold for all tokens of a request whose input is longer
    /// than this number of tokens. The shortest comes first.
    pub above: Vec<(u64, TokenRates)>,
}

/// The highest price in dollars per million tokens that is believed.
const MAX_DOLLARS: f64 = 1e6;

/// Pico-dollars in a nano-dollar.
const PICOS: u128 = 1_000;

impl TokenRate {
    /// A rate from dollars per million tokens; `None` if the number cannot be a price.
    pub fn per_million(dollars: f64) -> Option<Self> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between zero and 10^12"
        )]
        (0.0..=MAX_DOLLARS).contains(&dollars).then(|| Self((dollars * 1e6).round() as u64))
    }

    /// The rate in dollars per million tokens, for display only.
    pub fn dollars_per_million(self) -> f64 {
        self.0 as f64 / 1e6
    }

    fn of(self, tokens: u64) -> u128 {
        u128::from(self.0) * u128::from(tokens)
    }
}

impl ModelPrice {
    /// The cost of a response with this usage.
    pub fn of(&self, usage: TokenUsage) -> Money {
        let rates = self.rates_for(usage.input);
        let cached = usage.cache_read.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let picos = rates.input.of(fresh)
            + rates.output.of(usage.output)
            + rates.cache_read.unwrap_or(rates.input).of(cached)
            + rates.cache_write.unwrap_or(rates.input).of(written);
        let nanos = (picos + PICOS / 2) / PICOS;
        Money::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn rates_for(&self, input: u64) -> TokenRates {
        let above = self.above.iter().rev().find(|(size, _)| input > *size);
        above.map_or(self.rates, |(_, rates)| *rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(dollars: f64) -> TokenRate {
        TokenRate::per_million(dollars).unwrap()
    }

    fn sonnet() -> ModelPrice {
        let rates = |factor: f64| TokenRates {
            input: rate(3.0 * factor),
            output: rate(15.0 * factor),
            cache_read: Some(rate(0.3 * factor)),
            cache_write: Some(rate(3.75 * factor)),
        };
        ModelPrice { rates: rates(1.0), above: vec![(200_000, rates(2.0))] }
    }

    fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> TokenUsage {
        TokenUsage { input, output, cache_read, cache_write }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let table = [
            (usage(1_000_000, 0, 0, 0), 6_000_000_000),
            (usage(100_000, 0, 0, 0), 300_000_000),
            (usage(0, 1_000, 0, 0), 15_000_000),
            (usage(100_000, 0, 100_000, 0), 30_000_000),
            (usage(100_000, 0, 0, 100_000), 375_000_000),
            (
                usage(100_000, 1_000, 90_000, 5_000),
                27_000_000 + 18_750_000 + 15_000_000 + 15_000_000,
            ),
            // Some servers count cached tokens in addition to the others.
            (usage(10, 0, 90_000, 0), 3_000),
            (usage(0, 0, 0, 0), 0),
        ];
        for (usage, nanos) in table {
            assert_eq!(sonnet().of(usage), Money::from_nanos(nanos), "{usage:?}");
        }
    }

    #[test]
    fn a_long_request_costs_more_for_all_of_its_tokens() {
        assert_eq!(sonnet().of(usage(200_000, 0, 0, 0)), Money::from_nanos(600_000_000));
        assert_eq!(sonnet().of(usage(200_001, 0, 0, 0)), Money::from_nanos(1_200_006_000));
    }

    #[test]
    fn cached_tokens_without_a_price_cost_as_much_as_others() {
        let rates = TokenRates { input: rate(1.0), output: rate(2.0), ..TokenRates::default() };
        let price = ModelPrice { rates, above: Vec::new() };
        assert_eq!(price.of(usage(1_000, 0, 900, 0)), price.of(usage(1_000, 0, 0, 0)));
    }

    #[test]
    fn a_rate_is_exact_to_a_thousandth_of_a_cent_per_million_tokens() {
        assert_eq!(rate(0.0689).dollars_per_million(), 0.0689);
        assert_eq!(TokenRate::per_million(-1.0), None);
        assert_eq!(TokenRate::per_million(f64::NAN), None);
    }
}
