//! What a server asks the user while it works on a call ("elicitation"): a form of flat fields, or an
//! address that the user is to open.
//!
//! The user is asked first whether to answer at all. An address is shown and never opened. Whatever a
//! server says is made harmless and cut; a form that slug cannot show is declined.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};
use url::Url;

use crate::domain::sanitize::sanitize_line;
use crate::domain::{QuestionAnswer, QuestionOption, UserQuestion};
use crate::tools::AskUser;

use super::elicitation_field::FormField;
use super::lists::{MAX_DESCRIPTION, cut};

/// The most fields of a form: nobody fills in more in a terminal.
const MAX_FIELDS: usize = 20;

/// How often a field is asked about whose answer does not fit.
const MAX_TRIES: usize = 3;

/// The longest address that is shown; one that cannot be shown whole is declined.
const MAX_URL: usize = 1500;

/// The answer of the user to what `server` asks.
pub(super) async fn answer(
    server: &str,
    request: &ElicitRequestParams,
    user: &dyn AskUser,
) -> ElicitResult {
    let content = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            match read_form(&schema) {
                Some(fields) => fill(server, message, &fields, user).await.map(Some),
                None => None,
            }
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            is_opened(server, message, url, user).await.then_some(None)
        }
        // What the protocol may have later cannot be shown.
        _ => None,
    };
    match content {
        Some(Some(content)) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        Some(None) => ElicitResult::new(ElicitationAction::Accept),
        None => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// The fields of a form; `None` where there are none, too many, or one of another kind than the protocol
/// has.
fn read_form(schema: &Value) -> Option<Vec<FormField>> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    if properties.is_empty() || properties.len() > MAX_FIELDS {
        return None;
    }
    let field = |(name, schema): (&String, &Value)| {
        FormField::read(name, schema, required.contains(&name.as_str()))
    };
    properties.iter().map(field).collect()
}

/// Asks for each field; `None` where the user declines.
async fn fill(
    server: &str,
    message: &str,
    fields: &[FormField],
    user: &dyn AskUser,
) -> Option<Map<String, Value>> {
    let names: Vec<&str> = fields.iter().map(|field| field.title.as_str()).collect();
    let about = format!("It wants to know: {}.", names.join(", "));
    if !agrees(server, message, option("Answer", &about), user).await {
        return None;
    }
    let mut content = Map::new();
    let mut open: Vec<(&FormField, Option<String>)> = fields.iter().map(|it| (it, None)).collect();
    for _ in 0..MAX_TRIES {
        let mut wrong = Vec::new();
        // All at once, so that the user sees how many there are.
        let questions = open.iter().map(|(field, why)| field.question(server, why.as_deref()));
        let answers = user.ask(questions.collect()).await?;
        for ((field, _), answer) in open.iter().zip(answers) {
            match field.value(&answer) {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(why) => wrong.push((*field, Some(why))),
            }
        }
        open = wrong;
        if open.is_empty() {
            return Some(content);
        }
    }
    None
}

/// The host of an address, and the address as a browser reads it: in ASCII, so that no other letter or sign
/// looks like a part of it. `None` for one of another kind than the web's, one with a user name, in front of
/// which a host can be pretended, and one that is too long to be shown whole.
fn shown_address(url: &str) -> Option<(String, String)> {
    let url = Url::parse(url).ok()?;
    let is_of_the_web = matches!(url.scheme(), "http" | "https");
    let names_a_user = !url.username().is_empty() || url.password().is_some();
    let host = url.host_str()?.to_owned();
    let is_shown = is_of_the_web && !names_a_user && url.as_str().len() <= MAX_URL;
    is_shown.then(|| (host, url.into()))
}

/// Shows an address; whether the user says that all is done there.
async fn is_opened(server: &str, message: &str, url: &str, user: &dyn AskUser) -> bool {
    let Some((host, url)) = shown_address(url) else { return false };
    let message = cut(message, MAX_DESCRIPTION.saturating_sub(url.len() + host.len() + 100));
    let message = format!(
        "{message} To continue, open this address on {host} in your browser; slug does not open \
         it: {url}"
    );
    // The question is cut where there is little room; this can be scrolled.
    let done = QuestionOption {
        preview: Some(url),
        ..option("Done", "You have opened it, and are done there.")
    };
    agrees(server, &message, done, user).await
}

fn option(label: &str, description: &str) -> QuestionOption {
    QuestionOption {
        label: label.to_owned(),
        description: Some(description.to_owned()),
        preview: None,
    }
}

/// Whether the user takes the first option and does not decline.
async fn agrees(server: &str, message: &str, yes: QuestionOption, user: &dyn AskUser) -> bool {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = cut(&sanitize_line(&message), MAX_DESCRIPTION).to_owned();
    let question = UserQuestion {
        question: format!("The MCP server {server} asks you: {message}"),
        header: server.to_owned(),
        options: vec![yes, option("Decline", "The server gets no answer.")],
        server: Some(server.to_owned()),
        ..UserQuestion::default()
    };
    let answers = user.ask(vec![question]).await;
    let chosen = |answer: &QuestionAnswer| answer.chosen == [0] && answer.text.is_none();
    answers.is_some_and(|answers| answers.first().is_some_and(chosen))
}
