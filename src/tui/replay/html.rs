//! A replay as one HTML file with its keys: pause, step, seek, speed. It loads nothing from elsewhere,
//! and its Content-Security-Policy allows only its own styles and script, by their hashes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::domain::escape_markup;

use super::svg::SvgRecorder;

/// The page around the picture, with its placeholders in the order of [`write`].
const TEMPLATE: &str = include_str!("../../../assets/replay.html");

/// The page of a recorded replay, under a title.
pub fn write(recorder: &SvgRecorder, title: &str) -> String {
    let moving = recorder.style();
    let (width, height) = recorder.extent();
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         xml:space=\"preserve\">"
    );
    recorder.body(&mut picture, title);
    picture.push_str("</svg>");
    let title = escape_markup(title);
    let fields = [
        ("{style}", hash(between("<style>", "</style>"))),
        ("{moving}", hash(&moving)),
        ("{script}", hash(between("<script>", "</script>"))),
        ("{title}", title.clone()),
        ("{rules}", moving.clone()),
        ("{title}", title),
        ("{picture}", picture),
        ("{length}", recorder.length().as_millis().to_string()),
    ];
    let mut page = String::with_capacity(TEMPLATE.len() + moving.len());
    let mut rest = TEMPLATE;
    for (placeholder, text) in fields {
        let Some((before, behind)) = rest.split_once(placeholder) else { break };
        page.push_str(before);
        page.push_str(&text);
        rest = behind;
    }
    page.push_str(rest);
    page
}

/// The text of the template between two marks.
fn between(from: &str, to: &str) -> &'static str {
    let behind = TEMPLATE.split_once(from).map_or("", |(_, behind)| behind);
    behind.split_once(to).map_or("", |(text, _)| text)
}

/// The hash of a style or script, as a Content-Security-Policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
