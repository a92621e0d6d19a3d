/// The text in at most `width` characters, with `…` as the last where something was cut.
pub fn shorten(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    format!("{}…", &text[..width - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts() {
        assert_eq!(shorten("planets", 4), "pla…");
        assert_eq!(shorten("größer", 4), "grö…");
    }
}
