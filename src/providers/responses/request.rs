//! A request as the body of Responses.
//!
//! The server keeps nothing. Reasoning goes back as it came, encrypted, and only together with the
//! item that followed it: alone it is refused. Another server's is left out.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::domain::{Block, Effort, MediaType, Message, Protocol, Role, ToolCall, ToolSpec};
use crate::providers::{Request, history};

/// The body of the request.
pub fn body(request: &Request) -> Vec<u8> {
    let reasons = reasons(&request.model);
    let mut input = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message.role {
            Role::User => hear(message, request, &mut input),
            Role::Assistant => answer(message, &mut input),
        }
    }
    let body = Body {
        model: &request.model,
        stream: true,
        store: false,
        include: match reasons {
            Reasons::Never => &[],
            Reasons::Always | Reasons::Unknown => &["reasoning.encrypted_content"],
        },
        max_output_tokens: request.max_tokens,
        temperature: request.temperature.filter(|_| reasons != Reasons::Always),
        reasoning: reasoning(reasons, request.effort),
        instructions: &request.system,
        tools: request.tools.iter().map(Tool::from).collect(),
        input,
    };
    // Strings, numbers and maps with string keys: there is nothing in it that cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Unless told otherwise the service takes only schemas in which all is required.
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self { kind: "function", name, description, parameters: input_schema, strict: false }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Own(Own<'a>),
    /// As the server made it.
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Own<'a> {
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: Cow<'a, Value>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: DataUrl<'a> },
    OutputText { text: Cow<'a, str>, annotations: [(); 0] },
}

/// An image in the address itself: nothing is fetched because of it.
struct DataUrl<'a> {
    media_type: MediaType,
    base64: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { media_type, base64 } = self;
        serializer.collect_str(&format_args!("data:{};base64,{base64}", media_type.name()))
    }
}

/// Results come first, right behind the calls that they answer; then what the person said.
fn hear<'a>(message: &'a Message, request: &'a Request, input: &mut Vec<Item<'a>>) {
    let mut content = Vec::new();
    for block in &message.content {
        let text = match block {
            Block::ToolResult { tool_use_id, content, is_error } => {
                input.push(Item::Own(Own::FunctionCallOutput {
                    call_id: history::call_id(tool_use_id),
                    output: history::output(content, *is_error),
                }));
                continue;
            }
            Block::Image(image) => match request.images.get(&image.hash) {
                Some(base64) => {
                    let image_url = DataUrl { media_type: image.media_type, base64 };
                    content.push(Part::InputImage { image_url });
                    continue;
                }
                None => Cow::Owned(history::missing(image)),
            },
            Block::Text { text } => Cow::Borrowed(text.as_str()),
            Block::Context { name, text } => Cow::Owned(history::context(name, text)),
            // Only a model thinks and calls.
            Block::Thinking { .. } | Block::Sealed { .. } | Block::ToolUse(_) => continue,
        };
        content.push(Part::InputText { text });
    }
    if !content.is_empty() {
        let (id, status, phase) = (None, None, None);
        input.push(Item::Own(Own::Message { role: "user", content, id, status, phase }));
    }
}

fn answer<'a>(message: &'a Message, input: &mut Vec<Item<'a>>) {
    let before = input.len();
    // Reasoning that waits for the item behind it, and what belongs to that item.
    let mut waiting: Vec<Item> = Vec::new();
    let mut bound = Bound::default();
    for block in &message.content {
        let item = match block {
            Block::Text { text } => {
                let Bound { id, phase } = std::mem::take(&mut bound);
                said(Cow::Borrowed(text), id, phase)
            }
            Block::ToolUse(call) => called(call, std::mem::take(&mut bound).id),
            Block::Sealed { protocol: Protocol::Responses, data } => match data.get("type") {
                Some(kind) if kind == "reasoning" => {
                    waiting.push(Item::Sealed(data));
                    continue;
                }
                Some(_) => Item::Sealed(data),
                None => {
                    bound = Bound::read(data);
                    continue;
                }
            },
            Block::Sealed {
                protocol: Protocol::ChatCompletions | Protocol::Anthropic | Protocol::Gemini,
                ..
            }
            | Block::Thinking { .. }
            // Only the person shows these.
            | Block::Context { .. }
            | Block::Image(_)
            | Block::ToolResult { .. } => continue,
        };
        input.append(&mut waiting);
        input.push(item);
    }
    if input.len() == before {
        // A response that only thought.
        input.push(said(Cow::Borrowed("(nothing said)"), None, None));
    }
}

/// What is known of an item beside what it says.
#[derive(Default)]
struct Bound<'a> {
    id: Option<&'a str>,
    phase: Option<&'a str>,
}

impl<'a> Bound<'a> {
    fn read(data: &'a Value) -> Self {
        let field = |name| data.get(name).and_then(Value::as_str);
        Self { id: field("id"), phase: field("phase") }
    }
}

fn said<'a>(text: Cow<'a, str>, id: Option<&'a str>, phase: Option<&'a str>) -> Item<'a> {
    let content = vec![Part::OutputText { text, annotations: [] }];
    let status = Some("completed");
    Item::Own(Own::Message { role: "assistant", content, id, status, phase })
}

fn called<'a>(call: &'a ToolCall, id: Option<&'a str>) -> Item<'a> {
    Item::Own(Own::FunctionCall {
        id,
        call_id: history::call_id(&call.id),
        name: history::tool_name(&call.name),
        arguments: history::arguments(&call.input),
    })
}

/// Whether a model reasons, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reasons {
    /// It is one of OpenAI's that do.
    Always,
    /// It is one of OpenAI's that do not, and refuse to be told how.
    Never,
    /// It is another's.
    Unknown,
}

fn reasons(model: &str) -> Reasons {
    let name = model.rsplit('/').next().unwrap_or(model);
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if begins(&["gpt-3", "gpt-4", "chatgpt", "gpt-5-chat"]) {
        Reasons::Never
    } else if begins(&["gpt-oss"]) {
        Reasons::Unknown
    } else if begins(&["gpt-", "o1", "o3", "o4", "codex"]) {
        Reasons::Always
    } else {
        Reasons::Unknown
    }
}

fn reasoning(reasons: Reasons, effort: Option<Effort>) -> Option<Reasoning> {
    let effort = effort.map(Effort::name);
    match reasons {
        Reasons::Never => None,
        Reasons::Always => Some(Reasoning { effort, summary: Some("auto") }),
        Reasons::Unknown => effort.map(|it| Reasoning { effort: Some(it), summary: None }),
    }
}

/// Arguments travel as a string of compact JSON, keys in the order in which the model wrote them.
fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

#[cfg(test)]
mod tests;
