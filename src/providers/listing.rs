//! Lists the models of a server, with the context window that each is served with.
//!
//! The window that counts is the served one, not the one that the model was trained with. vLLM and
//! hosted services list it. Others report it elsewhere, and slug asks only a server on this machine
//! whose list shows what it is: llama.cpp at `/props`, LM Studio at `/api/v0/models`, Ollama at
//! `/api/ps` for loaded models and at `/api/show` for each model.

use std::collections::HashMap;

use reqwest::RequestBuilder;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::failure::{self, RequestTarget};
use super::{ErrorRecovery, ModelCapabilities, ModelInfo, ProviderError};
use crate::domain::ChatDialect;
use crate::net::{HttpClient, HttpEndpoint};

/// The most bytes of a list of models; the longest known ones are under 2 MB.
const LIST_BYTES: usize = 16 << 20;

/// The field names under which servers list the served window.
const WINDOWS: [&str; 6] = [
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
];

/// Where servers list the most tokens that a model may write: Gemini, Groq, Mistral and others, and
/// OpenRouter.
const OUTPUTS: [&str; 4] = [
    "/outputTokenLimit",
    "/max_completion_tokens",
    "/max_output_tokens",
    "/top_provider/max_completion_tokens",
];

/// The server's software, if its list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerSoftware {
    LlamaCpp,
    LmStudio,
    Ollama,
    Vllm,
    Sglang,
}

/// The value of `owned_by` in each server's list.
const OWNERS: [(&str, ServerSoftware); 5] = [
    ("llamacpp", ServerSoftware::LlamaCpp),
    ("organization_owner", ServerSoftware::LmStudio),
    ("library", ServerSoftware::Ollama),
    ("vllm", ServerSoftware::Vllm),
    ("sglang", ServerSoftware::Sglang),
];

impl ServerSoftware {
    fn dialect(self) -> ChatDialect {
        match self {
            Self::LlamaCpp => ChatDialect::LlamaCpp,
            Self::LmStudio => ChatDialect::LmStudio,
            Self::Ollama => ChatDialect::Ollama,
            Self::Vllm => ChatDialect::Vllm,
            Self::Sglang => ChatDialect::Sglang,
        }
    }
}

/// A server's list of models.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerModelList {
    pub(super) models: Vec<ModelInfo>,
    /// The dialect that the list shows.
    pub(super) dialect: Option<ChatDialect>,
    /// What the server says about its models, by their ids.
    pub(super) capabilities: HashMap<String, ModelCapabilities>,
}

/// Fetches the list, and asks the server for windows that the list does not have.
pub(super) async fn fetch(
    list: RequestBuilder,
    http: &HttpClient,
    endpoint: &HttpEndpoint,
    site: &RequestTarget,
) -> Result<ServerModelList, ProviderError> {
    let list = failure::fetch(list, site, LIST_BYTES).await?;
    let list: Value = serde_json::from_str(&list).map_err(|_| no_list(site))?;
    let entries = entries(&list).ok_or_else(|| no_list(site))?;
    let software = software(entries);
    let mut models: Vec<ModelInfo> = entries.iter().filter_map(model).collect();
    let said = |entry| Some((model(entry)?.id, ModelCapabilities::listed(entry)));
    let mut capabilities: HashMap<_, _> = entries.iter().filter_map(said).collect();
    if endpoint.is_local()
        && let Some(software) = software
    {
        let server = ContextWindowQuery { http, endpoint, site };
        server.add_windows(software, &mut models, &mut capabilities).await;
    }
    let dialect = software.map(ServerSoftware::dialect);
    Ok(ServerModelList { models, dialect, capabilities })
}

/// A server that is asked for windows that its list does not have.
struct ContextWindowQuery<'a> {
    http: &'a HttpClient,
    endpoint: &'a HttpEndpoint,
    site: &'a RequestTarget,
}

impl ServerModelList {
    /// A list of configured names.
    pub(super) fn of(names: &[String]) -> Self {
        let model = |name: &String| ModelInfo { id: name.clone(), ..ModelInfo::default() };
        let models = names.iter().map(model).collect();
        Self { models, dialect: None, capabilities: HashMap::new() }
    }
}

impl ContextWindowQuery<'_> {
    async fn add_windows(
        &self,
        software: ServerSoftware,
        models: &mut [ModelInfo],
        capabilities: &mut HashMap<String, ModelCapabilities>,
    ) {
        let unknown: Vec<&mut ModelInfo> =
            models.iter_mut().filter(|model| model.context_window.is_none()).collect();
        match software {
            // These list the window.
            ServerSoftware::Vllm | ServerSoftware::Sglang => {}
            ServerSoftware::LlamaCpp => {
                let props = self.ask("props", None).await;
                let served = props.as_ref().and_then(window_in);
                for model in unknown {
                    model.context_window = served;
                }
            }
            ServerSoftware::LmStudio => {
                let Some(list) = self.ask("api/v0/models", None).await else { return };
                for model in unknown {
                    model.context_window = lm_studio_window(&list, &model.id);
                }
            }
            ServerSoftware::Ollama => {
                let loaded = self.ask("api/ps", None).await.unwrap_or_default();
                for model in unknown {
                    model.context_window = match loaded_window(&loaded, &model.id) {
                        Some(window) => Some(window),
                        None => {
                            let body = json!({ "model": model.id });
                            let details = self.ask("api/show", Some(&body)).await;
                            if let Some(details) = &details {
                                let shown = ModelCapabilities::shown(details);
                                capabilities.insert(model.id.clone(), shown);
                            }
                            details.as_ref().and_then(shown_window)
                        }
                    };
                }
            }
        }
    }

    /// The response to a request for a path beside the endpoint. `None` is not a failure: older
    /// versions and some settings do not serve the path.
    async fn ask(&self, path: &str, body: Option<&Value>) -> Option<Value> {
        let client = self.http.client(self.endpoint).ok()?;
        let url = self.endpoint.beside(path);
        let request = match body {
            Some(body) => {
                client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string())
            }
            None => client.get(url),
        };
        match failure::fetch(request, self.site, LIST_BYTES).await {
            Ok(answer) => serde_json::from_str(&answer).ok(),
            Err(error) => {
                tracing::debug!(%error, path, "the served window is not known");
                None
            }
        }
    }
}

fn software(entries: &[Value]) -> Option<ServerSoftware> {
    let owners = || entries.iter().filter_map(|entry| entry.get("owned_by")?.as_str());
    let of = |(name, software): (&str, ServerSoftware)| {
        owners().any(|owner| owner == name).then_some(software)
    };
    OWNERS.into_iter().find_map(of)
}

/// The entries of a list: in `data`, in Gemini's `models`, or the bare array that some servers
/// send.
fn entries(list: &Value) -> Option<&Vec<Value>> {
    list.get("data").or_else(|| list.get("models")).unwrap_or(list).as_array()
}

fn model(entry: &Value) -> Option<ModelInfo> {
    let id = entry.get("id").or_else(|| entry.get("name"))?.as_str()?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    // Gemini also lists models that generate no text.
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    if id.is_empty() || methods.is_some_and(|all| !all.iter().any(|it| it == "generateContent")) {
        return None;
    }
    let id = id.to_owned();
    let context_window =
        WINDOWS.iter().find_map(|key| entry.get(key)?.as_u64()).filter(|&window| window > 0);
    let max_output =
        OUTPUTS.iter().find_map(|place| entry.pointer(place)?.as_u64()).filter(|&most| most > 0);
    Some(ModelInfo { id, context_window, max_output })
}

fn window_in(props: &Value) -> Option<u64> {
    let window = props.pointer("/default_generation_settings/n_ctx")?.as_u64()?;
    (window > 0).then_some(window)
}

/// The window that LM Studio has loaded a model with, or the largest that it could.
fn lm_studio_window(list: &Value, id: &str) -> Option<u64> {
    let entry = entries(list)?.iter().find(|entry| entry.get("id").is_some_and(|it| it == id))?;
    let count = |key| entry.get(key).and_then(Value::as_u64).filter(|&window| window > 0);
    count("loaded_context_length").or_else(|| count("max_context_length"))
}

/// The window that Ollama has loaded a model with.
fn loaded_window(loaded: &Value, id: &str) -> Option<u64> {
    let models = loaded.get("models")?.as_array()?;
    let entry = models.iter().find(|entry| entry.get("name").is_some_and(|name| name == id))?;
    entry.get("context_length")?.as_u64().filter(|&window| window > 0)
}

/// The window that Ollama would load a model with: its `num_ctx` setting, else the trained length.
fn shown_window(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "num_ctx").then(|| words.next()?.parse().ok())?
    });
    let info = || shown.get("model_info")?.as_object();
    let trained = || {
        let (_, window) = info()?.iter().find(|(key, _)| key.ends_with(".context_length"))?;
        window.as_u64()
    };
    set.or_else(trained).filter(|&window| window > 0)
}

fn no_list(site: &RequestTarget) -> ProviderError {
    ProviderError {
        message: format!(
            "{} does not list its models like a model server. Check `endpoint` and `provider` \
             in ~/.slug/config.toml.",
            site.http.server
        ),
        // The server answered, but not with a list.
        status: Some(200),
        recovery: ErrorRecovery::AskUser,
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
    fn the_most_that_a_model_may_write_is_found_under_each_name() {
        for (entry, most) in [
            (json!({"id": "a", "max_completion_tokens": 8192}), Some(8192)),
            (json!({"id": "a", "max_output_tokens": 4096}), Some(4096)),
            (json!({"id": "a", "top_provider": {"max_completion_tokens": 16384}}), Some(16384)),
            (json!({"id": "a", "top_provider": {"max_completion_tokens": null}}), None),
            (json!({"id": "a", "max_completion_tokens": 0}), None),
            (json!({"id": "a", "max_model_len": 4096}), None),
        ] {
            assert_eq!(model(&entry).unwrap().max_output, most, "{entry}");
        }
    }

    #[test]
    fn geminis_models_are_those_that_make_text() {
        let list = json!({"models": [
            {"name": "models/gemini-3-flash", "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
        ]});
        let models: Vec<_> = entries(&list).unwrap().iter().filter_map(model).collect();
        let flash = ModelInfo {
            id: "gemini-3-flash".to_owned(),
            context_window: Some(1_048_576),
            max_output: Some(65_536),
        };
        assert_eq!(models, [flash]);
    }

    #[test]
    fn ollamas_window_is_the_one_it_loads_a_model_with() {
        let info = json!({"general.architecture": "qwen3", "qwen3.context_length": 40960});
        let table = [
            (
                json!({"parameters": "stop   \"<|im_end|>\"\nnum_ctx      8192", "model_info": info}),
                Some(8192),
            ),
            (json!({"parameters": "top_k 20", "model_info": info}), Some(40960)),
            (json!({"model_info": info}), Some(40960)),
            (json!({"model_info": {}}), None),
            (json!({"error": "model not found"}), None),
        ];
        for (shown, window) in table {
            assert_eq!(shown_window(&shown), window, "{shown}");
        }
        let loaded = json!({"models": [{"name": "a:8b", "context_length": 4096}]});
        assert_eq!(loaded_window(&loaded, "a:8b"), Some(4096));
        assert_eq!(loaded_window(&loaded, "b"), None);
        assert_eq!(loaded_window(&Value::Null, "b"), None);
    }

    #[test]
    fn lm_studios_loaded_window_wins_over_the_largest() {
        let list = json!({"data": [
            {"id": "a", "loaded_context_length": 8192, "max_context_length": 32768},
            {"id": "b", "max_context_length": 32768},
        ]});
        assert_eq!(lm_studio_window(&list, "a"), Some(8192));
        assert_eq!(lm_studio_window(&list, "b"), Some(32768));
        assert_eq!(lm_studio_window(&list, "c"), None);
    }

    #[test]
    fn lists_come_in_two_shapes() {
        assert_eq!(entries(&json!({"data": [{"id": "a"}]})).unwrap().len(), 1);
        assert_eq!(entries(&json!([{"id": "a"}, {"id": "b"}])).unwrap().len(), 2);
        assert!(entries(&json!({"detail": "Not Found"})).is_none());
        assert_eq!(model(&json!({"object": "model"})), None);
    }
}
