//! What servers offer besides tools: resources and prompts, read leniently. Whatever is shown of them is
//! harmless for a terminal and cut.

use serde_json::Value;

use crate::domain::sanitize::{sanitize, sanitize_line};

use super::connection::McpError;
use super::lists::{MAX_DESCRIPTION, MAX_RAW_NAME, McpListKind, cut};
use super::names::plain;

/// The longest address of a resource.
const MAX_URI: usize = 2048;

/// The most resources, templates and prompts of one server that are taken in, each.
const MAX_OFFERS: usize = 2000;

/// The most arguments of a prompt: no real one comes near.
const MAX_ARGUMENTS: usize = 50;

/// The longest title of a resource or a kind of content, in bytes.
const MAX_TITLE: usize = 200;

/// The resources and prompts of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOffers {
    pub resources: Vec<McpResource>,
    /// Resources whose addresses have places to fill in, as in RFC 6570.
    pub templates: Vec<McpResource>,
    pub prompts: Vec<McpPrompt>,
    /// A sentence for each item that was left out, and for each list that could not be read.
    pub dropped: Vec<String>,
}

/// Something that a server lets be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpResource {
    /// The address as the server writes it, or with places in braces.
    pub uri: String,
    /// Its title, or else its name.
    pub title: String,
    /// May be empty.
    pub description: String,
    /// What its content is, as the server says; may be empty.
    pub mime_type: String,
}

/// A text of a server's that the user can send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPrompt {
    /// The name on the wire.
    pub name: String,
    /// The name as users type it, behind the server's name and a colon.
    pub typed: String,
    /// One line; may be empty.
    pub description: String,
    pub arguments: Vec<McpPromptArgument>,
}

/// What a prompt is filled in with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPromptArgument {
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    pub is_required: bool,
}

pub(super) const RESOURCE_LIST: McpListKind<McpResource> = McpListKind {
    key: "resources",
    noun: "resource",
    id: |resource| &resource.uri,
    read: |item| read_resource(item, "uri"),
    limit: MAX_OFFERS,
};

pub(super) const TEMPLATE_LIST: McpListKind<McpResource> = McpListKind {
    key: "resourceTemplates",
    noun: "resource template",
    id: |template| &template.uri,
    read: |item| read_resource(item, "uriTemplate"),
    limit: MAX_OFFERS,
};

/// Two prompts whose names users would type alike count as one.
pub(super) const PROMPT_LIST: McpListKind<McpPrompt> = McpListKind {
    key: "prompts",
    noun: "prompt",
    id: |prompt| &prompt.typed,
    read: read_prompt,
    limit: MAX_OFFERS,
};

impl McpOffers {
    /// What was listed; a list that could not be read is empty, and said to be missing.
    pub(super) fn take<T>(
        &mut self,
        what: &str,
        listed: Result<(Vec<T>, Vec<String>), McpError>,
    ) -> Vec<T> {
        match listed {
            Ok((items, dropped)) => {
                self.dropped.extend(dropped);
                items
            }
            Err(error) => {
                self.dropped.push(format!("Listing its {what} failed. {error}"));
                Vec::new()
            }
        }
    }
}

fn read_resource(item: &Value, key: &str) -> Result<McpResource, &'static str> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    let uri = text(key);
    if uri.is_empty() || uri.len() > MAX_URI {
        return Err("its address is missing or too long");
    }
    if sanitize_line(uri) != uri || uri.contains('"') {
        return Err("its address has signs that no address has");
    }
    let title = [text("title"), text("name"), uri].into_iter().find(|it| !it.is_empty());
    Ok(McpResource {
        uri: uri.to_owned(),
        title: cut(&sanitize_line(title.unwrap_or_default()), MAX_TITLE).to_owned(),
        description: cut(&sanitize(text("description")), MAX_DESCRIPTION).to_owned(),
        mime_type: cut(&sanitize_line(text("mimeType")), MAX_TITLE).to_owned(),
    })
}

fn read_prompt(item: &Value) -> Result<McpPrompt, &'static str> {
    let text = |item: &Value, key: &str| {
        let text = item.get(key).and_then(Value::as_str).unwrap_or_default();
        text.to_owned()
    };
    let name = text(item, "name");
    if name.is_empty() || name.chars().count() > MAX_RAW_NAME {
        return Err("its name is empty or too long");
    }
    let about = [text(item, "description"), text(item, "title")];
    let about = about.into_iter().find(|it| !it.trim().is_empty()).unwrap_or_default();
    let given = match item.get("arguments") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(given)) if given.len() <= MAX_ARGUMENTS => given,
        Some(Value::Array(_)) => return Err("it has too many arguments"),
        Some(_) => return Err("its arguments are no list"),
    };
    let mut arguments: Vec<McpPromptArgument> = Vec::new();
    for argument in given {
        let name = text(argument, "name");
        if name.is_empty() || name.chars().count() > MAX_RAW_NAME || sanitize_line(&name) != name {
            return Err("an argument has no usable name");
        }
        if arguments.iter().any(|known| known.name == name) {
            return Err("two of its arguments have one name");
        }
        arguments.push(McpPromptArgument {
            name,
            description: one_line(&text(argument, "description")),
            is_required: argument.get("required").and_then(Value::as_bool).unwrap_or(false),
        });
    }
    Ok(McpPrompt { typed: plain(&name), name, description: one_line(&about), arguments })
}

/// The first line that says something.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(&sanitize_line(line), MAX_DESCRIPTION).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resources(items: &Value) -> (Vec<McpResource>, Vec<String>) {
        let page = RESOURCE_LIST.page(&json!({"resources": items})).unwrap();
        (page.items, page.dropped)
    }

    #[test]
    fn one_bad_resource_leaves_the_others() {
        let long = format!("x:{}", "y".repeat(MAX_URI));
        let (read, dropped) = resources(&json!([
            {"uri": "note://a", "name": "a", "title": "The note", "mimeType": "text/plain"},
            {"uri": "note://b c/ä", "icons": 7, "size": "junk"},
            {"name": "none"},
            {"name": "long", "uri": long},
            {"name": "hostile", "uri": "note://\u{1b}[31m\u{202e}"},
            {"name": "quoted", "uri": "note://\"\" x"},
            {"name": "lines", "uri": "note://a\nb"},
            7,
        ]));
        let titles: Vec<&str> = read.iter().map(|it| &*it.title).collect();
        assert_eq!(titles, ["The note", "note://b c/ä"]);
        assert_eq!(dropped.len(), 6, "{dropped:?}");
        assert_eq!(
            dropped[0],
            "The resource \"none\" was left out: its address is missing or too long."
        );
    }

    #[test]
    fn what_is_shown_of_a_resource_is_short_and_harmless() {
        let huge = "ä\u{1b}]0;x\u{7}".repeat(5000);
        let (read, _) = resources(&json!([{
            "uri": "a:b", "name": huge, "description": huge, "mimeType": huge,
        }]));
        let McpResource { title, description, mime_type, .. } = &read[0];
        for (text, limit) in [(title, 200), (description, MAX_DESCRIPTION), (mime_type, 200)] {
            assert!(text.len() <= limit && !text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn one_bad_prompt_leaves_the_others() {
        let many: Vec<Value> = (0..51).map(|at| json!({"name": format!("a{at}")})).collect();
        let page = PROMPT_LIST.page(&json!({"prompts": [
            {"name": "review", "description": "\n Reviews\u{1b}[1m it.\nMore.", "arguments": [
                {"name": "pr", "required": true, "description": "which"}, {"name": "why"},
            ]},
            {"name": "odd name!", "title": "Odd", "arguments": null},
            {"name": ""},
            {"name": "text", "arguments": "pr"},
            {"name": "many", "arguments": many},
            {"name": "unnamed", "arguments": [{}]},
            {"name": "twice", "arguments": [{"name": "a"}, {"name": "a"}]},
            {"name": "hostile", "arguments": [{"name": "a\u{1b}[1m"}]},
        ]}));
        let page = page.unwrap();
        let read: Vec<(&str, &str)> =
            page.items.iter().map(|it| (&*it.typed, &*it.description)).collect();
        assert_eq!(read, [("review", "Reviews␛[1m it."), ("odd_name_", "Odd")]);
        let required: Vec<bool> = page.items[0].arguments.iter().map(|it| it.is_required).collect();
        assert_eq!(required, [true, false]);
        assert_eq!(page.dropped.len(), 6, "{:?}", page.dropped);
    }
}
