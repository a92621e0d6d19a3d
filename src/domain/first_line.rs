//! Long texts in one line.

/// The first line of a text, with ` …` if there are more.
pub fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}
