//! Numbers as text: with their nouns, and in groups.

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

/// A number with a comma between each three digits: `4,984`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

    #[test]
    fn long_numbers_are_grouped() {
        let groups = [7, 984, 4_984, 1_234_567].map(grouped);
        assert_eq!(groups, ["7", "984", "4,984", "1,234,567"]);
    }
}
