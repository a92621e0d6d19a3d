//! What a server's refusal or a broken connection means, and what to do about it.
//!
//! Servers agree neither on the shape of an error's body nor on its status, so both are read
//! leniently, and the text decides first: too long a conversation is told by at least a dozen
//! sentences under four statuses. What a server says reaches the person capped and without control
//! characters, never with the key in it.

use std::error::Error;
use std::io;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{ProviderError, Recovery};

/// The most characters of a server's own words that are shown.
const SHOWN: usize = 600;

/// How long to wait for a server that is still loading its model.
const LOADING: Duration = Duration::from_secs(5);

/// Whom a request goes to, for telling what went wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// The endpoint as the person knows it.
    pub server: String,
    /// The model that was asked; empty for requests that name none.
    pub model: String,
    /// The key that is sent.
    pub key: Option<SecretString>,
}

/// The meaning of an answer with an error status.
pub fn of_response(
    site: &Site,
    status: u16,
    headers: &HeaderMap,
    body: &str,
    now: DateTime<Utc>,
) -> ProviderError {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if (300..400).contains(&status) {
        let target = header("location").unwrap_or("another address");
        return ask(
            Some(status),
            format!(
                "{} redirects to {}, which slug does not follow, for the key's sake. If that is \
                 right, set `endpoint` in ~/.slug/config.toml to it.",
                site.server,
                plain(target, site)
            ),
        );
    }
    let mut complaint = Complaint::read(body, site);
    complaint.status = Some(status);
    let asked = retry_after(headers, now);
    match header("x-should-retry") {
        Some("true") => complaint.meaning_or(site, Some(passing(asked))),
        Some("false") => complaint.meaning_or(site, Some(Recovery::GiveUp)),
        Some(_) | None if complaint.is_passing() => {
            complaint.meaning_or(site, Some(passing(asked)))
        }
        Some(_) | None => complaint.meaning_or(site, None),
    }
}

/// The meaning of an error that came in the place of an answer, or in the midst of one.
pub fn of_stream(site: &Site, payload: &str) -> ProviderError {
    let complaint = Complaint::read(payload, site);
    let passing = complaint.is_passing().then_some(Recovery::Retry);
    complaint.meaning_or(site, passing)
}

/// The meaning of a request that did not get through.
pub fn of_transport(site: &Site, error: &reqwest::Error) -> ProviderError {
    let server = &site.server;
    let chain = plain(&chain(error), site);
    let retry = |message| ProviderError { message, status: None, recovery: Recovery::Retry };
    if !error.is_connect() {
        return retry(format!("The connection to {server} broke: {chain}."));
    }
    if error.is_timeout() {
        return retry(format!("{server} cannot be reached: no answer within 10 s."));
    }
    if was_refused(error) {
        return ask(
            None,
            format!(
                "No server answers at {server}. Start one, or set `endpoint` in \
                 ~/.slug/config.toml."
            ),
        );
    }
    if error.is_dns() {
        return retry(format!(
            "The host of {server} cannot be found. Check `endpoint` in ~/.slug/config.toml and \
             the network."
        ));
    }
    if chain.to_lowercase().contains("certificate") {
        return ask(
            None,
            format!(
                "The certificate of {server} is not trusted: {chain}. Add its authority to the \
                 system's certificates."
            ),
        );
    }
    retry(format!("{server} cannot be reached: {chain}."))
}

/// An error with all its causes, without addresses, which may hold secrets.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = match error.downcast_ref::<reqwest::Error>() {
            Some(outer) if outer.is_builder() => "the client cannot be built".to_owned(),
            Some(_) => String::new(),
            None => error.to_string(),
        };
        if !text.is_empty() && !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    if parts.is_empty() { "no reason is given".to_owned() } else { parts.join(": ") }
}

/// How long the server asks to be left alone. Zero asks for nothing: some send it beside a
/// rounded-up header in seconds.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let asked = match header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        Some(milliseconds) => seconds(milliseconds / 1000.0),
        None => {
            let text = header("retry-after")?;
            match text.parse::<f64>() {
                Ok(count) => seconds(count),
                Err(_) => {
                    let date = DateTime::parse_from_rfc2822(text).ok()?;
                    (date.with_timezone(&Utc) - now).to_std().ok()
                }
            }
        }
    };
    asked.filter(|wait| !wait.is_zero())
}

fn passing(asked: Option<Duration>) -> Recovery {
    asked.map_or(Recovery::Retry, Recovery::RetryAfter)
}

fn ask(status: Option<u16>, message: String) -> ProviderError {
    ProviderError { message, status, recovery: Recovery::AskPerson }
}

fn was_refused(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>()
            && io.kind() == io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// A server's error, whatever its shape.
struct Complaint {
    /// What it says, fit to be shown.
    text: String,
    /// Text, code and type in lower case, to be searched.
    all: String,
    /// The HTTP status, or the one that the body names.
    status: Option<u16>,
}

impl Complaint {
    fn read(body: &str, site: &Site) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(body) else {
            let text = plain(&readable(body), site);
            return Self { all: text.to_lowercase(), text, status: None };
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
        let status = ["status_code", "code", "raw_status_code"]
            .iter()
            .find_map(|key| status_in(error.get(key)?).or_else(|| status_in(json.get(key)?)));
        Self { text: plain(&text, site), all, status }
    }

    /// Whether the same request may well succeed later. An error in the midst of an answer counts
    /// as such unless it names a status that says otherwise.
    fn is_passing(&self) -> bool {
        self.status.is_none_or(|status| matches!(status, 408 | 409 | 425 | 429 | 498 | 500..))
            // The model wrote a call that its server refuses; it may write a better one.
            || self.all.contains("tool_use_failed")
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.all.contains(word))
    }

    fn has_any(&self, alternatives: &[&[&str]]) -> bool {
        alternatives.iter().any(|words| self.has(words))
    }

    /// What is known of the complaint by its text or status; otherwise `recovery`, or giving up.
    fn meaning_or(&self, site: &Site, recovery: Option<Recovery>) -> ProviderError {
        let Site { server, model, .. } = site;
        let says = self.says();
        let status = self.status;
        let answered = || match status {
            Some(status) => format!("{server} answered {status}{says}"),
            None => format!("{server} reported an error{says}"),
        };
        if self.has_any(TOO_LONG) || status == Some(413) {
            return ProviderError {
                message: format!(
                    "The conversation is longer than what {model} can read{says} Use /compact, or \
                     begin a new session with /new."
                ),
                status,
                recovery: Recovery::Compact,
            };
        }
        if let Some((_, remedy)) = MISTAKES.iter().find(|(words, _)| self.all.contains(words)) {
            let message = format!("{} {remedy}", answered());
            return ProviderError { message, status, recovery: Recovery::GiveUp };
        }
        if let Some((_, remedy)) = SETTINGS.iter().find(|(words, _)| self.all.contains(words)) {
            return ask(status, format!("{} {remedy}", answered()));
        }
        if status == Some(402) || self.has_any(NO_CREDIT) {
            return ask(status, format!("{} Check the account's credit and limits.", answered()));
        }
        if matches!(status, Some(401 | 403)) || self.has_any(BAD_KEY) {
            let what = if site.key.is_some() { "refuses the key" } else { "wants a key" };
            return ask(
                status,
                format!(
                    "{server} {what}{says} Set `api_key` in ~/.slug/config.toml, or SLUG_API_KEY."
                ),
            );
        }
        if !model.is_empty() && self.has_any(NO_MODEL) {
            return ask(
                status,
                format!("{server} has no model `{model}`{says} Choose another with /model."),
            );
        }
        if let Some(404 | 405) = status {
            return ask(
                status,
                format!(
                    "There is no chat completions server at {server}{says} Set `endpoint` in \
                     ~/.slug/config.toml; it usually ends in /v1."
                ),
            );
        }
        if status == Some(407) {
            return ask(
                status,
                format!(
                    "The proxy on the way to {server} wants a password{says} Check HTTPS_PROXY."
                ),
            );
        }
        if status == Some(503) && self.has(&["loading model"]) {
            return ProviderError {
                message: format!("{server} is still loading the model."),
                status,
                recovery: Recovery::RetryAfter(LOADING),
            };
        }
        let recovery = recovery.unwrap_or(Recovery::GiveUp);
        ProviderError { message: answered(), status, recovery }
    }

    /// The server's words as the second half of a sentence.
    fn says(&self) -> String {
        match self.text.trim_end_matches('.') {
            "" => ".".to_owned(),
            text => format!(": {text}."),
        }
    }
}

/// Each row is a set of words that together say: the conversation is too long.
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

/// Failures that a server reports as its own, some with status 500, and that would come again.
const MISTAKES: &[(&str, &str)] = &[
    ("failed to parse tool call arguments", "The history has a call that this server cannot read."),
    ("image input is not supported", "This model reads no images."),
    ("cannot use both json_schema and grammar", "Begin a new session with /new."),
];

/// Failures that the person mends by starting the server differently.
const SETTINGS: &[(&str, &str)] = &[
    ("requires --jinja", "Start llama-server with --jinja."),
    (
        "requires --enable-auto-tool-choice",
        "Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model.",
    ),
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

/// The sentence in an error: a string, or where servers keep it. OpenRouter's own sentence says
/// less than that of the provider behind it, which it hands on in `metadata.raw`.
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

fn status_in(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// A body that is not JSON: of a web page, its title.
fn readable(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    if !lower.contains("<html") && !lower.contains("<!doctype") {
        return body.to_owned();
    }
    let title = lower.find("<title>").map(|at| at + "<title>".len()).and_then(|start| {
        let end = lower[start..].find("</title>")?;
        Some(body[start..start + end].trim())
    });
    format!("a web page, not a model's answer ({})", title.unwrap_or("without a title"))
}

/// `text` on one line, capped, without control characters and without the key.
fn plain(text: &str, site: &Site) -> String {
    let mut text = text.to_owned();
    if let Some(key) = &site.key
        && !key.expose_secret().is_empty()
    {
        text = text.replace(key.expose_secret(), "[the key]");
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
