//! The body of a server's error: its text, its status, and the tables that interpret them.

use std::time::Duration;

use serde_json::Value;

use super::RequestTarget;
use crate::net::HttpTarget;
use crate::providers::{ErrorRecovery, ProviderError, RequestOverflow};

/// The pause before asking a server again that is still loading its model.
pub(super) const LOADING: Duration = Duration::from_secs(5);

/// A server's error, whatever its shape.
pub(super) struct ServerErrorBody {
    /// The server's message, fit to be shown.
    text: String,
    /// Message, code and type in lower case, for searching.
    all: String,
    /// The HTTP status, or the status that the body names; `None` if neither is known.
    pub(super) status: Option<u16>,
    /// The pause that the body asks for.
    pub(super) delay: Option<Duration>,
    /// What the body says of the sizes of a request that is too long.
    overflow: RequestOverflow,
    /// Whether the body is a web page, so that this is not a model server.
    is_page: bool,
}

impl ServerErrorBody {
    /// Reads the body of an error, which need not be JSON.
    pub(super) fn read(body: &str, site: &RequestTarget) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(body) else {
            let page = title(body);
            let text = site.http.plain_line(page.as_deref().unwrap_or(body));
            let (all, is_page) = (text.to_lowercase(), page.is_some());
            let overflow = overflow(&Value::Null, &all);
            return Self { all, text, status: None, delay: None, overflow, is_page };
        };
        let json = json.get(0).unwrap_or(&json);
        let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
        let text = message(error)
            .or_else(|| message(json))
            .unwrap_or_else(|| if error.is_null() { String::new() } else { error.to_string() });
        let mut all = text.to_lowercase();
        for key in ["code", "type", "status"] {
            for word in [error.get(key), json.get(key)].into_iter().flatten() {
                all.push(' ');
                all.push_str(&word.as_str().map_or_else(|| word.to_string(), str::to_lowercase));
            }
        }
        if error.get("failed_generation").is_some() {
            all.push_str(FAILED_CALL);
        }
        let status = ["status_code", "code", "raw_status_code"]
            .iter()
            .find_map(|key| status_in(error.get(key)?).or_else(|| status_in(json.get(key)?)))
            .or_else(|| {
                TYPES.iter().find(|(name, _)| all.contains(name)).map(|(_, status)| *status)
            });
        let (overflow, delay) = (overflow(error, &all), delay(error));
        Self { text: site.http.plain_line(&text), all, status, delay, overflow, is_page: false }
    }

    /// Whether the same request may succeed later. An error within a response counts as transient
    /// unless it names a status that says otherwise.
    pub(super) fn is_transient(&self) -> bool {
        self.status.is_none_or(|status| matches!(status, 408 | 409 | 425 | 429 | 498 | 500..))
            || self.all.contains(FAILED_CALL)
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.all.contains(word))
    }

    fn has_any(&self, alternatives: &[&[&str]]) -> bool {
        alternatives.iter().any(|words| self.has(words))
    }

    /// The error that the text or the status means; otherwise `recovery`, or giving up.
    pub(super) fn meaning_or(
        &self,
        site: &RequestTarget,
        recovery: Option<ErrorRecovery>,
    ) -> ProviderError {
        let (recovery, message) = self
            .by_words(site)
            .or_else(|| self.by_status(site))
            .unwrap_or_else(|| (recovery.unwrap_or(ErrorRecovery::GiveUp), self.answered(site)));
        ProviderError { message, status: self.status, recovery }
    }

    fn by_words(&self, site: &RequestTarget) -> Option<(ErrorRecovery, String)> {
        let RequestTarget { http: HttpTarget { server, .. }, model, .. } = site;
        let remedy_in = |table: &[(&str, &'static str)]| {
            table.iter().find(|(words, _)| self.all.contains(words)).map(|(_, remedy)| *remedy)
        };
        if self.has_any(TOO_LONG) {
            Some((ErrorRecovery::Compact(self.overflow), self.too_long(site)))
        } else if self.has_any(NO_IMAGES) {
            Some((ErrorRecovery::LeaveImagesOut, self.no_images(site)))
        } else if let Some(remedy) = remedy_in(MISTAKES) {
            Some((ErrorRecovery::GiveUp, format!("{} {remedy}", self.answered(site))))
        } else if let Some(remedy) = remedy_in(NO_TOOLS) {
            let message = format!("{} {remedy}", self.answered(site));
            Some((ErrorRecovery::DescribeTools, message.trim_end().to_owned()))
        } else if self.has_any(NO_CREDIT) && self.delay.is_none() {
            Some((ErrorRecovery::AskUser, self.no_credit(site)))
        } else if self.has_any(BAD_KEY) {
            Some((ErrorRecovery::AskUser, self.bad_key(site)))
        } else if !model.is_empty() && self.has_any(NO_MODEL) {
            let says = self.says();
            let message =
                format!("{server} has no model `{model}`{says} Choose another with /model.");
            Some((ErrorRecovery::AskUser, message))
        } else if self.has(&[FAILED_CALL]) {
            let says = self.says();
            let message = format!(
                "{model} wrote a tool call that {server} could not read{says} If that keeps \
                 happening, choose another model with /model."
            );
            Some((ErrorRecovery::Retry, message))
        } else if self.has(&["loading model"]) {
            let message = format!("{server} is still loading the model.");
            Some((ErrorRecovery::RetryAfter(LOADING), message))
        } else {
            None
        }
    }

    fn by_status(&self, site: &RequestTarget) -> Option<(ErrorRecovery, String)> {
        let message = match self.status {
            Some(413) => {
                return Some((ErrorRecovery::Compact(self.overflow), self.too_long(site)));
            }
            Some(402) => self.no_credit(site),
            Some(401 | 403) => self.bad_key(site),
            Some(404 | 405) => self.no_server(site),
            None if self.is_page => self.no_server(site),
            Some(407) => format!(
                "The proxy{} on the way to {} requires a name and a password, or rejects those \
                 it got{} Check `proxy` in ~/.slug/config.toml, or HTTPS_PROXY.",
                site.http.proxy.as_ref().map(|proxy| format!(" {proxy},")).unwrap_or_default(),
                site.http.server,
                self.says()
            ),
            Some(_) | None => return None,
        };
        Some((ErrorRecovery::AskUser, message))
    }

    fn too_long(&self, RequestTarget { model, .. }: &RequestTarget) -> String {
        format!(
            "The conversation is too long for {model}{} Choose a model with a larger window with \
             /model, or start a new session with /new.",
            self.says()
        )
    }

    fn no_images(&self, RequestTarget { model, .. }: &RequestTarget) -> String {
        format!("{model} does not accept images{} Choose another model with /model.", self.says())
    }

    fn no_credit(&self, site: &RequestTarget) -> String {
        format!("{} Check the account's credit and limits.", self.answered(site))
    }

    fn bad_key(&self, RequestTarget { http, .. }: &RequestTarget) -> String {
        let HttpTarget { server, key, .. } = http;
        let what = if key.is_some() { "rejects the key" } else { "requires a key" };
        format!(
            "{server} {what}{} Set `api_key` in ~/.slug/config.toml, or SLUG_API_KEY.",
            self.says()
        )
    }

    fn no_server(
        &self,
        RequestTarget { http: HttpTarget { server, .. }, .. }: &RequestTarget,
    ) -> String {
        format!(
            "{server} does not answer like a model server{} Check `endpoint`, which usually \
             ends in /v1, and `provider` in ~/.slug/config.toml.",
            self.says()
        )
    }

    fn answered(
        &self,
        RequestTarget { http: HttpTarget { server, .. }, .. }: &RequestTarget,
    ) -> String {
        match self.status {
            Some(status) => format!("{server} answered {status}{}", self.says()),
            None => format!("{server} reported an error{}", self.says()),
        }
    }

    /// The server's words as the second half of a sentence.
    fn says(&self) -> String {
        match self.text.trim_end_matches('.') {
            "" => ".".to_owned(),
            text => format!(": {text}."),
        }
    }
}

/// The error code for a call that the server cannot parse. The model may write a better one.
const FAILED_CALL: &str = "tool_use_failed";

/// Each row is a set of phrases that together mean that the conversation is too long.
const TOO_LONG: &[&[&str]] = &[
    &["context_length_exceeded"],
    &["exceeds the context window"],
    &["maximum context length"],
    &["maximum model length"],
    &["exceed_context_size_error"],
    &["exceeds the available context size"],
    &["prompt too long"],
    &["prompt is too long"],
    &["trying to keep the first", "overflows"],
    &["n_keep", "n_ctx"],
    &["context size has been exceeded"],
    &["total length of all messages is too long"],
    &["too_many_prompt_tokens"],
    &["longer than the model's context length"],
    &["request too large for model"],
    &["input token count", "exceeds the maximum"],
    &["max_completion_tokens' is too large"],
];

/// What stands before the window in such errors: OpenAI's and vLLM's, vLLM's older one, llama.cpp's, LM
/// Studio's two, Gemini's and Anthropic's.
const BEFORE_WINDOW: &[&str] = &[
    "maximum context length is ",
    "maximum model length of ",
    "available context size (",
    "context length of only ",
    "n_ctx: ",
    "tokens allowed (",
    " tokens > ",
];

/// What stands before the length of the prompt in such errors: OpenAI's, vLLM's two, llama.cpp's, Anthropic's
/// and Gemini's.
const BEFORE_PROMPT: &[&str] = &[
    "messages resulted in ",
    "your request has ",
    "decoder prompt (length ",
    "request (",
    "prompt is too long: ",
    "input token count (",
];

/// What stands behind it in those of vLLM that count the completion, too.
const BEHIND_PROMPT: &str = " in the messages";

/// Error types and their statuses, for errors within a response, after a 200.
const TYPES: &[(&str, u16)] = &[
    ("overloaded_error", 529),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("api_error", 500),
    ("server_error", 500),
    ("timeout_error", 504),
];

/// Phrases that refuse an image because the model, or the server, accepts none.
const NO_IMAGES: &[&[&str]] = &[
    &["image input is not supported"],
    &["support image input"],
    &["not support image"],
    &["unknown variant `image_url`"],
    &["not a multimodal model"],
    &["at most 0 image"],
    &["image_url", "only supported by"],
];

/// Permanent failures that a server reports as its own, some with status 500.
const MISTAKES: &[(&str, &str)] = &[
    (
        "failed to parse tool call arguments",
        "The conversation has a call that this server \
        cannot read.",
    ),
    ("cannot use both json_schema and grammar", "Start a new session with /new."),
];

/// Phrases that refuse the tools of a request, and how the user gets a server to take them.
/// Ollama's and OpenRouter's are about the model (ollama/ollama#6027, OpenRouter's 404).
const NO_TOOLS: &[(&str, &str)] = &[
    ("requires --jinja", "Start llama-server with --jinja."),
    (
        "requires --enable-auto-tool-choice",
        "Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model.",
    ),
    ("does not support tools", ""),
    ("no endpoints found that support tool use", ""),
];

const NO_CREDIT: &[&[&str]] =
    &[&["insufficient_quota"], &["enforced_spend_limit_reached"], &["exceeded your current quota"]];

const BAD_KEY: &[&[&str]] = &[
    &["invalid_api_key"],
    &["api_key_invalid"],
    &["incorrect api key"],
    &["invalid api key"],
    &["api key not valid"],
    &["authentication_error"],
];

const NO_MODEL: &[&[&str]] = &[
    &["model_not_found"],
    &["model not found"],
    &["not a valid model"],
    &["model", "does not exist"],
    &["model", "not found"],
];

/// The message of an error: a string, or one of the known fields. OpenRouter's own message says
/// less than the upstream provider's, which is in `metadata.raw`.
fn message(error: &Value) -> Option<String> {
    if let Some(text) = error.as_str() {
        return Some(text.to_owned());
    }
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str)
        && !raw.is_empty()
    {
        let inner = serde_json::from_str::<Value>(raw).ok();
        let inner = inner.as_ref().map(|json| json.get("error").unwrap_or(json));
        return Some(inner.and_then(message).unwrap_or_else(|| raw.to_owned()));
    }
    ["message", "detail", "msg"].iter().find_map(|key| match error.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(details) => {
            Some(details.iter().filter_map(message).collect::<Vec<_>>().join("; "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    })
}

/// Google's `RetryInfo`: "34.4s". A daily quota does not come back by waiting.
fn delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let quotas = details.iter().filter_map(|it| it.get("violations")?.as_array()).flatten();
    let mut ids = quotas.filter_map(|it| it.get("quotaId")?.as_str());
    if ids.any(|id| id.contains("PerDay")) {
        return None;
    }
    let text = details.iter().find_map(|it| it.get("retryDelay")?.as_str())?;
    let seconds = text.trim().strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_zero())
}

/// The sizes that an error names: llama.cpp has fields for them, others write them in lower case `words`.
fn overflow(error: &Value, words: &str) -> RequestOverflow {
    let field = |name: &str| error.get(name).and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    let window = field("n_ctx").or_else(|| number_behind(BEFORE_WINDOW, words));
    let prompt =
        field("n_prompt_tokens").or_else(|| number_behind(BEFORE_PROMPT, words)).or_else(|| {
            let before = words.split_once(BEHIND_PROMPT)?.0;
            let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
            before[start..].parse().ok()
        });
    RequestOverflow { window, prompt }
}

/// The number behind the first of these phrases that has one.
fn number_behind(phrases: &[&str], words: &str) -> Option<u64> {
    let number = |phrase: &&str| {
        let (_, behind) = words.split_once(phrase)?;
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        behind[..end].parse().ok()
    };
    phrases.iter().find_map(number).filter(|number| *number > 0)
}

fn status_in(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The title of a web page; `None` if the body is no page.
fn title(body: &str) -> Option<String> {
    let lower = body.to_ascii_lowercase();
    if !lower.contains("<html") && !lower.contains("<!doctype") {
        return None;
    }
    let title = lower.find("<title>").map(|at| at + "<title>".len()).and_then(|start| {
        let end = lower[start..].find("</title>")?;
        Some(body[start..start + end].trim())
    });
    Some(format!("it sent a web page ({})", title.unwrap_or("without a title")))
}
