//! What models a server has, and how much of a conversation each of them is served with.
//!
//! The window that counts is the one that is served, not the one that the model was trained with.
//! vLLM and hosted services list it; llama.cpp tells it at `/props`, which only a server on this
//! machine that has shown to be llama.cpp is asked for.

use reqwest::RequestBuilder;
use serde_json::Value;

use super::failure::Site;
use super::http::{self, Endpoint, Http};
use super::{ModelInfo, ProviderError, Recovery};

/// The most bytes of a list of models; the longest ones known are under 2 MB.
const LIST_BYTES: usize = 16 << 20;

/// The names under which servers list the served window.
const WINDOWS: [&str; 6] = [
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
];

/// A server's list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) models: Vec<ModelInfo>,
    /// The server is llama.cpp.
    pub(super) is_llama_cpp: bool,
}

/// Sends the request for the list, and asks for the window where the list does not have it.
pub(super) async fn fetch(
    list: RequestBuilder,
    http: &Http,
    endpoint: &Endpoint,
    site: &Site,
) -> Result<Listing, ProviderError> {
    let list = http::fetch(list, site, LIST_BYTES).await?;
    let list: Value = serde_json::from_str(&list).map_err(|_| no_list(site))?;
    let entries = entries(&list).ok_or_else(|| no_list(site))?;
    let is_llama_cpp =
        entries.iter().any(|entry| entry.get("owned_by").is_some_and(|by| by == "llamacpp"));
    let mut models: Vec<ModelInfo> = entries.iter().filter_map(model).collect();
    if endpoint.is_local() && is_llama_cpp {
        let served = served_window(http, endpoint, site).await;
        for model in models.iter_mut().filter(|model| model.context_window.is_none()) {
            model.context_window = served;
        }
    }
    Ok(Listing { models, is_llama_cpp })
}

/// What llama.cpp serves. Not knowing it is no failure: older versions and some settings do not
/// tell.
async fn served_window(http: &Http, endpoint: &Endpoint, site: &Site) -> Option<u64> {
    let props = http.client(endpoint).ok()?.get(endpoint.beside("props"));
    match http::fetch(props, site, LIST_BYTES).await {
        Ok(props) => window_in(&serde_json::from_str(&props).ok()?),
        Err(error) => {
            tracing::debug!(%error, "the served window is not known");
            None
        }
    }
}

/// The entries of a list: in `data`, in Gemini's `models`, or the bare array that some servers send.
fn entries(list: &Value) -> Option<&Vec<Value>> {
    list.get("data").or_else(|| list.get("models")).unwrap_or(list).as_array()
}

fn model(entry: &Value) -> Option<ModelInfo> {
    let id = entry.get("id").or_else(|| entry.get("name"))?.as_str()?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    // Gemini's list has those that make no text, too.
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    if id.is_empty() || methods.is_some_and(|all| !all.iter().any(|it| it == "generateContent")) {
        return None;
    }
    let id = id.to_owned();
    let context_window =
        WINDOWS.iter().find_map(|key| entry.get(key)?.as_u64()).filter(|&window| window > 0);
    Some(ModelInfo { id, context_window })
}

fn window_in(props: &Value) -> Option<u64> {
    let window = props.pointer("/default_generation_settings/n_ctx")?.as_u64()?;
    (window > 0).then_some(window)
}

fn no_list(site: &Site) -> ProviderError {
    ProviderError {
        message: format!(
            "{} does not list its models as a model server does. Check `endpoint` and `provider` \
             in ~/.slug/config.toml.",
            site.server
        ),
        status: None,
        recovery: Recovery::AskPerson,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_are_found_under_each_name() {
        let table = [
            (json!({"id": "a", "max_model_len": 32768}), Some(32768)),
            (json!({"id": "a", "context_length": 8192}), Some(8192)),
            (json!({"id": "a", "context_window": 131_072}), Some(131_072)),
            (json!({"id": "a", "max_context_length": 4096}), Some(4096)),
            (json!({"id": "a", "meta": {"n_ctx_train": 32768}}), None),
            (json!({"id": "a", "max_model_len": null}), None),
        ];
        for (entry, window) in table {
            assert_eq!(model(&entry).unwrap().context_window, window, "{entry}");
        }
    }

    #[test]
    fn geminis_models_are_those_that_make_text() {
        let list = json!({"models": [
            {"name": "models/gemini-3-flash", "inputTokenLimit": 1_048_576,
                "supportedGenerationMethods": ["generateContent", "countTokens"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
        ]});
        let models: Vec<_> = entries(&list).unwrap().iter().filter_map(model).collect();
        let flash = ModelInfo { id: "gemini-3-flash".to_owned(), context_window: Some(1_048_576) };
        assert_eq!(models, [flash]);
    }

    #[test]
    fn lists_come_in_two_shapes() {
        assert_eq!(entries(&json!({"data": [{"id": "a"}]})).unwrap().len(), 1);
        assert_eq!(entries(&json!([{"id": "a"}, {"id": "b"}])).unwrap().len(), 2);
        assert!(entries(&json!({"detail": "Not Found"})).is_none());
        assert_eq!(model(&json!({"object": "model"})), None);
    }
}
