//! Suggests the name that a mistyped word probably meant.

/// The least similarity, from 0 to 1, of a name that is suggested.
const MIN_SIMILARITY: f64 = 0.6;

/// The name most similar to `written`; `None` if no name is similar enough.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(written, name), name))
        .filter(|(likeness, _)| *likeness >= MIN_SIMILARITY)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_close_is_offered() {
        let names = ["scroll-page-up", "scroll-page-down", "session-fork", "quit", "rgb"];
        let table = [
            ("scroll-pgup", Some("scroll-page-up")),
            ("scrol-page-down", Some("scroll-page-down")),
            ("qiut", Some("quit")),
            ("rbg", Some("rgb")),
            ("fork", None),
            ("paint", None),
            ("", None),
        ];
        for (written, want) in table {
            assert_eq!(nearest(written, names), want, "{written}");
        }
    }
}
