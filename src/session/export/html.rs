//! A session as one HTML file, which asks nobody for anything.
//!
//! Every text passes [`escape`] or the Markdown writer, and both make control characters visible
//! first. HTML in a message is shown and not obeyed, an image that it names becomes a link, and a
//! link leads to http, https and mail alone.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use sha2::{Digest, Sha256};

use crate::domain::sanitize::{sanitize, strip_ansi};
use crate::domain::{DiffLineTag, MessageImage, MessageRole};

use super::ContentLookup;
use super::markdown::sign;
use super::page::{ExportPage, ExportedCall, ExportedMessage, ExportedPart, ExportedResult, time};

/// What stands around the messages. Its holes are `{style}` and `{script}`, for the hashes by which
/// the policy knows its own, `{title}`, `{facts}` and `{messages}`, in order.
const TEMPLATE: &str = include_str!("../../../assets/export.html");

/// The whole file.
pub(super) fn write(page: &ExportPage<'_>, content_of: ContentLookup<'_>) -> String {
    let mut out = String::with_capacity(TEMPLATE.len() * 2);
    let mut rest = TEMPLATE;
    for (hole, fill) in [
        ("{style}", TemplateField::HashOf("style")),
        ("{script}", TemplateField::HashOf("script")),
        ("{title}", TemplateField::Title),
        ("{title}", TemplateField::Title),
        ("{facts}", TemplateField::Facts),
        ("{messages}", TemplateField::Messages),
    ] {
        let Some((before, behind)) = rest.split_once(hole) else { break };
        out.push_str(before);
        match fill {
            TemplateField::HashOf(tag) => out.push_str(&hash_of(tag)),
            TemplateField::Title => out.push_str(&escape(&page.title)),
            TemplateField::Facts => facts(&mut out, page),
            TemplateField::Messages => {
                page.messages.iter().for_each(|said| message(&mut out, said, content_of));
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

enum TemplateField {
    /// Of what stands between the tags of this name.
    HashOf(&'static str),
    Title,
    Facts,
    Messages,
}

/// As a Content-Security-Policy names a script or a style that it allows.
fn hash_of(tag: &str) -> String {
    let text = TEMPLATE.split_once(&format!("<{tag}>")).map_or("", |(_, behind)| behind);
    let text = text.split_once(&format!("</{tag}>")).map_or("", |(text, _)| text);
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

// Writing to a text never fails.
fn facts(out: &mut String, page: &ExportPage<'_>) {
    for (name, value) in &page.facts {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
    }
}

fn message(out: &mut String, said: &ExportedMessage<'_>, content_of: ContentLookup<'_>) {
    let (class, who) = match said.role {
        MessageRole::User => ("you", "You"),
        MessageRole::Assistant => ("slug", "slug"),
    };
    let at = said.at.to_rfc3339();
    let _ = write!(
        out,
        "<article class=\"{class}\"><header><b>{who}</b><time datetime=\"{at}\">{}</time>",
        time(said.at)
    );
    for about in [said.model, said.cost.as_deref()].into_iter().flatten() {
        let _ = write!(out, "<span>{}</span>", escape(about));
    }
    out.push_str("</header>\n");
    for part in &said.parts {
        match part {
            ExportedPart::Text(text) => markdown(out, text),
            ExportedPart::Shell(text) => pre(out, &escape(&strip_ansi(text))),
            ExportedPart::Image(image) => picture(out, image, content_of),
            ExportedPart::Thinking(text) => {
                out.push_str("<details class=\"thinking\"><summary>Thinking</summary>");
                markdown(out, text);
                out.push_str("</details>\n");
            }
            ExportedPart::Call(call) => pane(out, call),
        }
    }
    out.push_str("</article>\n");
}

fn pane(out: &mut String, call: &ExportedCall<'_>) {
    let class = if call.went_wrong() { "call failed" } else { "call" };
    let _ = write!(
        out,
        "<details class=\"{class}\"><summary><b>{}</b> <code>{}</code><span>{}</span></summary>",
        escape(call.name),
        escape(&call.gist()),
        escape(&call.outcome())
    );
    if let Some(input) = call.input() {
        pre(out, &escape(&input));
    }
    match call.shown_result() {
        Some(ExportedResult::Text(text)) => pre(out, &escape(&strip_ansi(text))),
        Some(ExportedResult::Diff(lines)) => {
            let lines: String = lines.iter().map(|(tag, text)| diff_line(*tag, text)).collect();
            pre(out, &lines);
        }
        None => {}
    }
    out.push_str("</details>\n");
}

fn diff_line(tag: DiffLineTag, text: &str) -> String {
    let class = match tag {
        DiffLineTag::Context => "same",
        DiffLineTag::Removed => "gone",
        DiffLineTag::Added => "new",
    };
    format!("<span class=\"{class}\">{}{}\n</span>", sign(tag), escape(text))
}

fn pre(out: &mut String, escaped: &str) {
    let _ = writeln!(out, "<pre>{escaped}</pre>");
}

fn picture(out: &mut String, image: &MessageImage, content_of: ContentLookup<'_>) {
    let name = escape(&image.to_string());
    let _ = match content_of(&image.hash) {
        Some(bytes) => {
            let kind = image.media_type.name();
            let bytes = STANDARD.encode(bytes);
            writeln!(out, "<img alt=\"{name}\" src=\"data:{kind};base64,{bytes}\">")
        }
        None => writeln!(out, "<p>({name}, which is no longer kept)</p>"),
    };
}

/// A text for any place in the file, attributes included.
fn escape(text: &str) -> String {
    let text = sanitize(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn markdown(out: &mut String, text: &str) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = sanitize(text);
    out.push_str("<div class=\"text\">");
    let mut body = String::new();
    html::push_html(&mut body, Parser::new_ext(&text, options).map(harmless));
    // The policy allows no style of an element's own. In a text a `<` is escaped.
    for (cell, side) in ["th", "td"].iter().flat_map(|cell| SIDES.map(|side| (cell, side))) {
        let styled = format!("<{cell} style=\"text-align: {side}\">");
        body = body.replace(&styled, &format!("<{cell} class=\"{side}\">"));
    }
    out.push_str(&body);
    out.push_str("</div>\n");
}

/// How a table's cells can be aligned.
const SIDES: [&str; 3] = ["left", "center", "right"];

/// A piece of Markdown that can do nothing but be read.
fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Event::InlineHtml(link(&dest_url))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => Event::InlineHtml("</a>".into()),
        other => other,
    }
}

fn link(url: &str) -> CowStr<'static> {
    let leads_out = ["http://", "https://", "mailto:"].into_iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if leads_out {
        format!("<a href=\"{}\" rel=\"noopener noreferrer\">", escape(url)).into()
    } else {
        format!("<a title=\"{}\">", escape(url)).into()
    }
}
