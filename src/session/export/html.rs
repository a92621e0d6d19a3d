//! Writes a session as one HTML file, which loads nothing from elsewhere.
//!
//! Every text passes through [`escape_markup`] or the Markdown writer, and both make control characters
//! visible first. HTML in a message is shown as text, an image that a message names becomes a link,
//! and links lead only to http, https and mail addresses.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use sha2::{Digest, Sha256};

use crate::domain::sanitize::{sanitize, strip_ansi};
use crate::domain::{DiffLineTag, MessageImage, MessageRole, escape_markup};

use super::ContentLookup;
use super::markdown::sign;
use super::page::{ExportPage, ExportedCall, ExportedMessage, ExportedPart, ExportedResult, time};

/// The page around the messages. Its placeholders are, in order, `{style}` and `{script}` for the
/// hashes by which the Content-Security-Policy knows the page's own style and script, `{title}`
/// twice, `{facts}` and `{messages}`.
const TEMPLATE: &str = include_str!("../../../assets/export.html");

/// Fills the template with the page.
pub(super) fn write(page: &ExportPage<'_>, content_of: ContentLookup<'_>) -> String {
    let mut out = String::with_capacity(TEMPLATE.len() * 2);
    let mut rest = TEMPLATE;
    for (placeholder, field) in [
        ("{style}", TemplateField::HashOf("style")),
        ("{script}", TemplateField::HashOf("script")),
        ("{title}", TemplateField::Title),
        ("{title}", TemplateField::Title),
        ("{facts}", TemplateField::Facts),
        ("{messages}", TemplateField::Messages),
    ] {
        let Some((before, behind)) = rest.split_once(placeholder) else { break };
        out.push_str(before);
        match field {
            TemplateField::HashOf(tag) => out.push_str(&hash_of(tag)),
            TemplateField::Title => out.push_str(&escape_markup(&page.title)),
            TemplateField::Facts => facts(&mut out, page),
            TemplateField::Messages => {
                page.messages.iter().for_each(|exported| message(&mut out, exported, content_of));
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

enum TemplateField {
    /// The hash of the text between the tags of this name.
    HashOf(&'static str),
    Title,
    Facts,
    Messages,
}

/// The hash of the template's script or style, as a Content-Security-Policy names it.
fn hash_of(tag: &str) -> String {
    let text = TEMPLATE.split_once(&format!("<{tag}>")).map_or("", |(_, behind)| behind);
    let text = text.split_once(&format!("</{tag}>")).map_or("", |(text, _)| text);
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

// Writing to a `String` never fails.
fn facts(out: &mut String, page: &ExportPage<'_>) {
    for (name, value) in &page.facts {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape_markup(value));
    }
}

fn message(out: &mut String, exported: &ExportedMessage<'_>, content_of: ContentLookup<'_>) {
    let (class, who) = match exported.role {
        MessageRole::User => ("you", "You"),
        MessageRole::Assistant => ("slug", "slug"),
    };
    let at = exported.at.to_rfc3339();
    let _ = write!(
        out,
        "<article class=\"{class}\"><header><b>{who}</b><time datetime=\"{at}\">{}</time>",
        time(exported.at)
    );
    for about in [exported.model, exported.cost.as_deref()].into_iter().flatten() {
        let _ = write!(out, "<span>{}</span>", escape_markup(about));
    }
    out.push_str("</header>\n");
    for part in &exported.parts {
        match part {
            ExportedPart::Text(text) => markdown(out, text),
            ExportedPart::Shell(text) => pre(out, &escape_markup(&strip_ansi(text))),
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
        escape_markup(&call.name),
        escape_markup(&call.gist()),
        escape_markup(&call.outcome())
    );
    if let Some(input) = call.input() {
        pre(out, &escape_markup(&input));
    }
    match call.shown_result() {
        Some(ExportedResult::Text(text)) => pre(out, &escape_markup(&strip_ansi(text))),
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
    format!("<span class=\"{class}\">{}{}\n</span>", sign(tag), escape_markup(text))
}

fn pre(out: &mut String, escaped: &str) {
    let _ = writeln!(out, "<pre>{escaped}</pre>");
}

fn picture(out: &mut String, image: &MessageImage, content_of: ContentLookup<'_>) {
    let name = escape_markup(&image.to_string());
    let _ = match content_of(&image.hash) {
        Some(bytes) => {
            let kind = image.media_type.name();
            let bytes = STANDARD.encode(bytes);
            writeln!(out, "<img alt=\"{name}\" src=\"data:{kind};base64,{bytes}\">")
        }
        None => writeln!(out, "<p>({name}, no longer stored)</p>"),
    };
}

fn markdown(out: &mut String, text: &str) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = sanitize(text);
    out.push_str("<div class=\"text\">");
    let mut body = String::new();
    html::push_html(&mut body, Parser::new_ext(&text, options).map(harmless));
    // The Content-Security-Policy allows no `style` attributes, so they become classes. Within a
    // text a `<` is escaped, so only real tags match.
    for (cell, side) in ["th", "td"].iter().flat_map(|cell| SIDES.map(|side| (cell, side))) {
        let styled = format!("<{cell} style=\"text-align: {side}\">");
        body = body.replace(&styled, &format!("<{cell} class=\"{side}\">"));
    }
    out.push_str(&body);
    out.push_str("</div>\n");
}

/// How a table's cells can be aligned.
const SIDES: [&str; 3] = ["left", "center", "right"];

/// Turns a piece of Markdown into one that cannot do anything but be read: HTML becomes text, and
/// links and images become plain links.
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
    let is_allowed = ["http://", "https://", "mailto:"].into_iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if is_allowed {
        format!("<a href=\"{}\" rel=\"noopener noreferrer\">", escape_markup(url)).into()
    } else {
        format!("<a title=\"{}\">", escape_markup(url)).into()
    }
}
