//! Whether what a formatter has printed can take the place of the text.

use super::service::{FormatterEnd, FormatterOutput};

/// The most bytes that are taken from a formatter, for a text of this size.
pub(super) fn output_limit(text: &str) -> usize {
    text.len().saturating_mul(2).saturating_add(64 << 10)
}

/// The most characters of what a formatter says that are passed on.
const MAX_COMPLAINT: usize = 200;

/// The formatted text, or why there is none, as the rest of a sentence that begins with the formatter's
/// name. A formatter moves white space, and adds or takes away a bracket or a comma: one that loses a
/// tenth of the letters and digits, or doubles them, has done something else.
pub(super) fn judge(output: FormatterOutput, text: &str, seconds: u64) -> Result<String, String> {
    match output.end {
        FormatterEnd::Code(0) => {}
        FormatterEnd::Code(code) => {
            let said = first_line(&output.complaint).or_else(|| first_line(&output.text));
            let said = said.unwrap_or_else(|| format!("it ended with status {code}"));
            return Err(format!("failed: {said}"));
        }
        FormatterEnd::Killed => return Err("was ended by a signal".into()),
        FormatterEnd::TimedOut => return Err(format!("took more than {seconds} s")),
    }
    let formatted = output.text;
    if formatted.len() >= output_limit(text) {
        return Err("printed far more than it was given".into());
    }
    if formatted.trim().is_empty() && !text.trim().is_empty() {
        return Err("printed nothing".into());
    }
    let replaced = |text: &str| text.matches('\u{fffd}').count();
    if replaced(&formatted) != replaced(text) || formatted.contains('\0') && !text.contains('\0') {
        return Err("printed bytes that are no text".into());
    }
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let (before, after) = (letters(text), letters(&formatted));
    if after * 10 < before * 9 {
        return Err("left out a part of the text".into());
    }
    if after > before * 2 + 200 {
        return Err("added far more than a formatter does".into());
    }
    Ok(formatted)
}

/// The first line that says something, harmless for a terminal; `None` where there is none.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = crate::domain::sanitize::sanitize_line(line);
    Some(match line.char_indices().nth(MAX_COMPLAINT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
