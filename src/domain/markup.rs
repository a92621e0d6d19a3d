//! Text for HTML and SVG.

use super::sanitize::sanitize;

/// Escapes a text for any place in HTML or XML, attributes included, and makes it harmless first.
pub fn escape_markup(text: &str) -> String {
    let text = sanitize(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No character of XML.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let escaped = escape_markup("<a href='x'>\"&\u{1b}\u{ffff}</a>");
        assert_eq!(escaped, "&lt;a href=&#39;x&#39;&gt;&quot;&amp;␛\u{fffd}&lt;/a&gt;");
    }
}
