//! A request as the body of a chat completion.
//!
//! The bytes depend on the request alone, and the messages stand last: as long as the history is
//! only appended to, the body of one request, up to the end of its messages, is the beginning of
//! the next. That is what prefix caches live on.
//!
//! For the same reason reasoning is sent back with every assistant message, not only within the
//! running turn: leaving out the older ones, as some templates do on their side, would change what
//! has been sent. Reasoning with a seal belongs to another protocol and is left out.
//!
//! In what servers differ stands in [`dialect`](super::dialect) alone.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::details;
use super::dialect::{
    AfterResults, Details, EffortField, Ids, Limit, Pictures, Quirks, Reasoning, Switch, nearest,
};
use crate::domain::{
    Block, CallId, ContentHash, Effort, MediaType, Message, Role, ToolCall, ToolSpec,
};
use crate::providers::{Images, Request, history};

/// Whether to ask for reports on the reading of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The server understands `return_progress`.
    Wanted,
    /// It is not known to, and a strict server would refuse the key.
    Unknown,
}

/// The body of the request.
pub(super) fn body(request: &Request, quirks: Quirks, progress: Progress) -> Vec<u8> {
    let limit = |name| (quirks.limit == name).then_some(request.max_tokens);
    let wanted = |steps| Some(nearest(request.effort?, steps)?.name());
    let on = request.effort.map(|effort| effort != Effort::None);
    let (mut word, mut object, mut template) = (None, None, Template::default());
    match quirks.effort {
        EffortField::None => {}
        // Where there is a switch, it says that nothing is to be thought.
        EffortField::Word(_) | EffortField::Template(_)
            if quirks.switch != Switch::None && on == Some(false) => {}
        EffortField::Word(steps) => word = wanted(steps),
        EffortField::Object(steps) => object = wanted(steps).map(|effort| Asked { effort }),
        EffortField::Template(steps) => template.reasoning_effort = wanted(steps),
    }
    let mut thinking = None;
    match quirks.switch {
        Switch::None => {}
        Switch::Template => template.enable_thinking = on,
        Switch::Object => {
            let kind = |on| if on { "enabled" } else { "disabled" };
            thinking = on.map(|on| Thinking { kind: kind(on) });
        }
    }
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: limit(Limit::MaxTokens),
        max_completion_tokens: limit(Limit::MaxCompletionTokens),
        temperature: request.temperature,
        reasoning_effort: word,
        reasoning: object,
        thinking,
        chat_template_kwargs: (template != Template::default()).then_some(template),
        return_progress: (progress == Progress::Wanted).then_some(true),
        tools: request.tools.iter().map(Tool::from).collect(),
        messages: messages(request, quirks),
    };
    // Strings, numbers and maps with string keys: there is nothing in it that cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Template>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_progress: Option<bool>,
    // vLLM refuses an empty list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Spoken<'a>>,
}

/// OpenRouter's word for it.
#[derive(Serialize)]
struct Asked {
    effort: &'static str,
}

/// That of DeepSeek, Moonshot and Z.AI.
#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// What the model's template is told.
#[derive(Serialize, Default, PartialEq, Eq)]
struct Template {
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = spec;
        Self {
            kind: "function",
            function: Function { name, description, parameters: input_schema },
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Spoken<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Cow<'a, str>,
    },
}

/// What the person says: a plain string, which every server takes, unless images are with it.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(String),
    Parts(Vec<SaidPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SaidPart<'a> {
    Text { text: String },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

/// An image in the address itself: nothing is fetched because of it.
struct DataUrl<'a> {
    media_type: MediaType,
    base64: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!(
            "data:{};base64,{}",
            self.media_type.name(),
            self.base64
        ))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: Cow<'a, Value>,
}

/// What the model is made to say where the person may not speak before it.
const BRIDGE: &str = "Understood.";

/// The one system message, then the conversation.
fn messages(request: &Request, quirks: Quirks) -> Vec<Spoken<'_>> {
    let mut spoken = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        spoken.push(Spoken::System { content: &request.system });
    }
    for message in &request.messages {
        match message.role {
            Role::User => hear(message, &request.images, quirks, &mut spoken),
            Role::Assistant => spoken.push(answer(message, quirks)),
        }
    }
    spoken
}

/// Results come first, right behind the calls that they answer; then what the person said, and
/// the images that go with it.
fn hear<'a>(
    message: &'a Message,
    images: &'a Images,
    quirks: Quirks,
    spoken: &mut Vec<Spoken<'a>>,
) {
    let mut texts = Vec::new();
    let mut shown = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult { tool_use_id, content, is_error } => spoken.push(Spoken::Tool {
                tool_call_id: call_id(tool_use_id, quirks),
                content: history::output(content, *is_error),
            }),
            Block::Text { text } => texts.push(Cow::Borrowed(text.as_str())),
            Block::Context { name, text } => texts.push(Cow::Owned(history::context(name, text))),
            Block::Image(image) => match images.get(&image.hash) {
                Some(base64) if quirks.pictures == Pictures::Sent => {
                    let url = DataUrl { media_type: image.media_type, base64 };
                    shown.push(SaidPart::ImageUrl { image_url: ImageUrl { url } });
                }
                Some(_) | None => texts.push(Cow::Owned(history::missing(image))),
            },
            // Only a model thinks and calls.
            Block::Thinking { .. } | Block::Sealed { .. } | Block::ToolUse(_) => {}
        }
    }
    if texts.is_empty() && shown.is_empty() {
        return;
    }
    if quirks.after_results == AfterResults::TheModel
        && matches!(spoken.last(), Some(Spoken::Tool { .. }))
    {
        spoken.push(Spoken::said(BRIDGE));
    }
    let text = texts.join("\n\n");
    if !shown.is_empty() {
        let text = (!texts.is_empty()).then_some(SaidPart::Text { text });
        let parts = text.into_iter().chain(shown).collect();
        spoken.push(Spoken::User { content: Said::Parts(parts) });
    } else {
        spoken.push(Spoken::User { content: Said::Text(text) });
    }
}

fn answer(message: &Message, quirks: Quirks) -> Spoken<'_> {
    let text = message.text();
    let tool_calls: Vec<Call> = message.calls().map(|it| call(it, quirks)).collect();
    let details = match quirks.details {
        Details::Kept => message.content.iter().find_map(details::kept_in),
        Details::Read => None,
    };
    // The parts have the whole of it.
    let reasoning: String = match details {
        Some(_) => String::new(),
        None => message.content.iter().filter_map(unsealed).collect(),
    };
    let goes = |field| !reasoning.is_empty() && quirks.reasoning.contains(&field);
    let text = match goes(Reasoning::Tags) {
        true => format!("<think>\n{reasoning}\n</think>\n\n{text}"),
        false => text,
    };
    Spoken::Assistant {
        // Null is what OpenAI itself sends beside calls, so it is what servers are tested with.
        content: (!text.is_empty() || tool_calls.is_empty()).then_some(text),
        reasoning_content: goes(Reasoning::Content).then(|| reasoning.clone()),
        reasoning: goes(Reasoning::Plain).then(|| reasoning.clone()),
        reasoning_details: details,
        tool_calls,
    }
}

impl Spoken<'_> {
    fn said(text: &str) -> Self {
        Self::Assistant {
            content: Some(text.to_owned()),
            reasoning_content: None,
            reasoning: None,
            reasoning_details: None,
            tool_calls: Vec::new(),
        }
    }
}

fn unsealed(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking { thinking, signature: None } => Some(thinking),
        Block::Thinking { signature: Some(_), .. }
        | Block::Sealed { .. }
        | Block::Text { .. }
        | Block::Context { .. }
        | Block::Image(_)
        | Block::ToolUse(_)
        | Block::ToolResult { .. } => None,
    }
}

fn call(call: &ToolCall, quirks: Quirks) -> Call<'_> {
    Call {
        id: call_id(&call.id, quirks),
        kind: "function",
        function: CalledFunction {
            name: history::tool_name(&call.name),
            arguments: history::arguments(&call.input),
        },
    }
}

/// The same for a call and its result, and in every request.
fn call_id(id: &CallId, quirks: Quirks) -> Cow<'_, str> {
    const NINE: usize = 9;
    let id = id.as_str();
    let fits = id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match quirks.ids {
        Ids::Nine if !fits => {
            let hash = ContentHash::of(id.as_bytes()).to_string();
            Cow::Owned(hash.chars().take(NINE).collect())
        }
        Ids::Nine | Ids::Any => Cow::Borrowed(id),
    }
}

/// Arguments travel as a string of compact JSON, keys in the order in which the model wrote them.
fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

#[cfg(test)]
mod tests;
