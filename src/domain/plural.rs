//! Numbers with their nouns.

use std::fmt;

/// A number with its noun: "1 line", "2 lines", "3 matches". For nouns whose plural ends in "s".
pub fn pluralise<N: fmt::Display + PartialEq + From<u8> + Copy>(count: N, noun: &str) -> String {
    let ending = match count == N::from(1) {
        true => "",
        false if noun.ends_with("ch") => "es",
        false => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_ending() {
        assert_eq!(
            [pluralise(1_u64, "match"), pluralise(0_usize, "match"), pluralise(2_u64, "line")],
            ["1 match", "0 matches", "2 lines"]
        );
    }
}
