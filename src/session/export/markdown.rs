//! Writes a session as Markdown. Messages stand as they were written; calls, results and thinking
//! are in `<details>` blocks, which are folded. Control characters are made visible throughout.

use std::fmt::Write as _;

use crate::domain::sanitize::{sanitize, strip_ansi};
use crate::domain::{DiffLineTag, MessageRole};

use super::page::{ExportPage, ExportedCall, ExportedMessage, ExportedPart, ExportedResult, time};

/// Writes the whole file.
pub(super) fn write(page: &ExportPage<'_>) -> String {
    let mut out = format!("# {}\n\n", one_line(&page.title));
    for (name, value) in &page.facts {
        let _ = writeln!(out, "- {name}: {}", one_line(value));
    }
    if let Some(header) = page.header {
        let _ = writeln!(out, "- session: {}", header.session_id);
    }
    for exported in &page.messages {
        message(&mut out, exported);
    }
    out
}

// Writing to a `String` never fails.
fn message(out: &mut String, exported: &ExportedMessage<'_>) {
    let who = match exported.role {
        MessageRole::User => "You",
        MessageRole::Assistant => "slug",
    };
    let about = [exported.model.map(one_line), exported.cost.clone()].into_iter().flatten();
    let about: String = about.map(|it| format!(" · {it}")).collect();
    let _ = write!(out, "\n## {who}\n\n<sub>{}{}</sub>\n", time(exported.at), escape(&about));
    for part in &exported.parts {
        out.push('\n');
        match part {
            ExportedPart::Text(text) => out.push_str(sanitize(text).trim_end()),
            ExportedPart::Shell(text) => fence(out, "", &sanitize(&strip_ansi(text))),
            ExportedPart::Image(image) => {
                let _ = write!(out, "*({})*", one_line(&image.to_string()));
            }
            ExportedPart::Thinking(text) => write_details(out, "Thinking", |out| {
                fence(out, "", &sanitize(text));
            }),
            ExportedPart::Call(call) => write_details(out, &head(call), |out| body(out, call)),
        }
        out.push('\n');
    }
}

fn head(call: &ExportedCall<'_>) -> String {
    let mut head = call.name.clone().into_owned();
    for more in [call.gist(), call.outcome()] {
        if !more.is_empty() {
            head.push_str(" · ");
            head.push_str(&more);
        }
    }
    one_line(&head)
}

fn body(out: &mut String, call: &ExportedCall<'_>) {
    if let Some(input) = call.input() {
        fence(out, "json", &sanitize(&input));
    }
    let Some(result) = call.shown_result() else { return };
    out.push_str("\n\n");
    match result {
        ExportedResult::Text(text) => fence(out, "", &sanitize(&strip_ansi(text))),
        ExportedResult::Diff(lines) => {
            let lines: Vec<String> = lines
                .iter()
                .map(|(tag, text)| format!("{}{}", sign(*tag), sanitize(text)))
                .collect();
            fence(out, "diff", &lines.join("\n"));
        }
    }
}

/// The character that marks a line of a diff: a space, `-` or `+`.
pub(super) fn sign(tag: DiffLineTag) -> char {
    match tag {
        DiffLineTag::Context => ' ',
        DiffLineTag::Removed => '-',
        DiffLineTag::Added => '+',
    }
}

fn write_details(out: &mut String, head: &str, body: impl FnOnce(&mut String)) {
    let _ = write!(out, "<details>\n<summary>{}</summary>\n\n", escape(head));
    body(out);
    out.push_str("\n\n</details>");
}

/// A code block whose fence has more backticks than any row of them in the text.
fn fence(out: &mut String, language: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    let _ = write!(out, "{ticks}{language}\n{}\n{ticks}", text.trim_end_matches('\n'));
}

fn one_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
