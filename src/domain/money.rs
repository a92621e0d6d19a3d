//! Exact amounts of money.
//!
//! Amounts are counted in nano-dollars, so that sums of many small costs stay exact. In JSON an
//! amount is a number of dollars; every amount survives the round trip.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(transparent))]
pub struct Money(#[cfg_attr(test, schemars(with = "f64"))] u64);

/// The text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write an amount in dollars, like 2.50")]
pub struct ParseMoneyError;

/// Nano-dollars in one dollar.
const NANOS: u64 = 1_000_000_000;

/// The largest amount that a JSON number holds exactly: about a million dollars.
const MAX_NANOS: u64 = 1 << 50;

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// An amount from nano-dollars, capped at the maximum of about a million dollars.
    pub fn from_nanos(nanos: u64) -> Self {
        Self(nanos.min(MAX_NANOS))
    }

    /// The amount in nano-dollars.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// The amount in dollars, for display only.
    pub fn dollars(self) -> f64 {
        // At most 2^50: exact before the division.
        self.0 as f64 / NANOS as f64
    }

    /// The amount multiplied by `factor`, capped at the maximum.
    pub fn times(self, factor: u64) -> Self {
        Self::from_nanos(self.0.saturating_mul(factor))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = Self::from_nanos(self.0.saturating_add(other.0));
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        let mut sum = Self::ZERO;
        for amount in amounts {
            sum += amount;
        }
        sum
    }
}

/// With cents from ten cents up, with hundredths of a cent below that.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = |to: u64| self.0.saturating_add(to / 2) / to;
        let (cents, hundredths) = (rounded(NANOS / 100), rounded(NANOS / 10_000));
        match self.0 {
            0 => f.write_str("$0"),
            _ if hundredths == 0 => f.write_str("<$0.0001"),
            _ if hundredths < 1_000 => write!(f, "$0.{hundredths:04}"),
            _ => write!(f, "${}.{:02}", cents / 100, cents % 100),
        }
    }
}

impl FromStr for Money {
    type Err = ParseMoneyError;

    /// Reads dollars in digits, with or without a `$` in front.
    fn from_str(text: &str) -> Result<Self, ParseMoneyError> {
        let text = text.trim();
        let text = text.strip_prefix('$').unwrap_or(text).trim_start();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) || whole.len() + part.len() == 0 || part.len() > 9
        {
            return Err(ParseMoneyError);
        }
        let whole: u64 =
            if whole.is_empty() { 0 } else { whole.parse().map_err(|_| ParseMoneyError)? };
        let part: u64 = format!("{part:0<9}").parse().map_err(|_| ParseMoneyError)?;
        let nanos =
            whole.checked_mul(NANOS).and_then(|it| it.checked_add(part)).ok_or(ParseMoneyError)?;
        if nanos > MAX_NANOS { Err(ParseMoneyError) } else { Ok(Self(nanos)) }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanos = (f64::deserialize(deserializer)? * NANOS as f64).round();
        if nanos >= 0.0 && nanos <= MAX_NANOS as f64 {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and between zero and 2^50"
            )]
            let nanos = nanos as u64;
            Ok(Self(nanos))
        } else {
            Err(serde::de::Error::custom(ParseMoneyError))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_formatted_for_reading() {
        let table = [
            (0, "$0"),
            (1, "<$0.0001"),
            (50_000, "$0.0001"),
            (12_345_678, "$0.0123"),
            (99_949_999, "$0.0999"),
            (99_950_000, "$0.10"),
            (123_456_789, "$0.12"),
            (2_500_000_000, "$2.50"),
            (1_999_999_999, "$2.00"),
            (1_234_567_890_123, "$1234.57"),
        ];
        for (nanos, shown) in table {
            assert_eq!(Money::from_nanos(nanos).to_string(), shown, "{nanos}");
        }
    }

    #[test]
    fn amounts_are_read_in_dollars() {
        let table = [
            ("2.50", Some(2_500_000_000)),
            ("$2.50", Some(2_500_000_000)),
            (" $ 3 ", Some(3_000_000_000)),
            (".5", Some(500_000_000)),
            ("0.000000001", Some(1)),
            ("0.0000000001", None),
            ("", None),
            ("$", None),
            (".", None),
            ("-1", None),
            ("1e3", None),
            ("1,50", None),
            ("99999999999999999999", None),
        ];
        for (text, nanos) in table {
            assert_eq!(text.parse().ok(), nanos.map(Money::from_nanos), "{text}");
        }
    }

    #[test]
    fn a_negative_amount_is_not_read() {
        assert!(serde_json::from_str::<Money>("-0.5").is_err());
    }

    proptest! {
        #[test]
        fn an_amount_survives_json(nanos in 0..=MAX_NANOS) {
            let money = Money::from_nanos(nanos);
            let json = serde_json::to_string(&money).unwrap();
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), money);
        }
    }
}
