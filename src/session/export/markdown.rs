//! A session as Markdown. What was said stands as it was said; calls, results and thinking are
//! folded. Control characters are made visible throughout.

use std::fmt::Write as _;

use crate::domain::sanitize::{sanitize, strip_ansi};
use crate::domain::{DiffLineTag, MessageRole};

use super::page::{ExportPage, ExportedCall, ExportedMessage, ExportedPart, ExportedResult, time};

/// The whole file.
pub(super) fn write(page: &ExportPage<'_>) -> String {
    let mut out = format!("# {}\n\n", one_line(&page.title));
    for (name, value) in &page.facts {
        let _ = writeln!(out, "- {name}: {}", one_line(value));
    }
    if let Some(header) = page.header {
        let _ = writeln!(out, "- session: {}", header.session_id);
    }
    for said in &page.messages {
        message(&mut out, said);
    }
    out
}

// Writing to a text never fails.
fn message(out: &mut String, said: &ExportedMessage<'_>) {
    let who = match said.role {
        MessageRole::User => "You",
        MessageRole::Assistant => "slug",
    };
    let about = [said.model.map(one_line), said.cost.clone()].into_iter().flatten();
    let about: String = about.map(|it| format!(" · {it}")).collect();
    let _ = write!(out, "\n## {who}\n\n<sub>{}{}</sub>\n", time(said.at), escape(&about));
    for part in &said.parts {
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
    let mut head = call.name.to_owned();
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
    let Some(seen) = call.shown_result() else { return };
    out.push_str("\n\n");
    match seen {
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

/// The first character of a line of a diff.
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

/// A block of code behind more backticks than stand in a row in it.
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
