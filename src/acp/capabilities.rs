//! What both sides say of themselves in `initialize`.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal, Implementation,
    InitializeRequest, InitializeResponse, McpCapabilities, Meta, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use serde_json::{Value, json};

/// The way to sign in: the question about the model, on a terminal.
pub(super) const SETUP_METHOD: &str = "setup";
/// What follows `slug acp` on the command line for it.
const SETUP_FLAG: &str = "--setup";
const SETUP_NAME: &str = "Choose a model";
const SETUP_TEXT: &str = "Choose a model and save its key, in a terminal";

/// What the client can do, as far as slug makes use of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EditorFeatures {
    /// It has the text of open files, saved or not.
    pub(super) reads_files: bool,
    /// It shows forms.
    pub(super) has_forms: bool,
    pub(super) has_notices: bool,
    pub(super) has_compactions: bool,
    /// It shows what commands print while they run: an extension.
    pub(super) has_terminal_output: bool,
}

impl EditorFeatures {
    pub(super) fn of(request: &InitializeRequest) -> Self {
        let given = &request.client_capabilities;
        let session = given.session.as_ref();
        Self {
            reads_files: given.fs.read_text_file,
            has_forms: given.elicitation.as_ref().is_some_and(|it| it.form.is_some()),
            has_notices: session.is_some_and(|it| it.notices.is_some()),
            has_compactions: session.is_some_and(|it| it.compaction.is_some()),
            has_terminal_output: is_set(given.meta.as_ref(), "terminal_output"),
        }
    }
}

/// slug's answer to `initialize`. `program` is slug's own path.
pub(super) fn answer(request: &InitializeRequest, program: Option<&str>) -> InitializeResponse {
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .session_capabilities(
            SessionCapabilities::new()
                .list(SessionListCapabilities::new())
                .resume(SessionResumeCapabilities::new())
                .close(SessionCloseCapabilities::new())
                .delete(SessionDeleteCapabilities::new())
                .additional_directories(SessionAdditionalDirectoriesCapabilities::new()),
        );
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(sign_in(request, program).into_iter().collect())
        .agent_info(Implementation::new("slug", env!("CARGO_PKG_VERSION")).title("slug".to_owned()))
}

/// The way to sign in, in the form that the client knows; none where it cannot open a terminal.
fn sign_in(request: &InitializeRequest, program: Option<&str>) -> Option<AuthMethod> {
    let given = &request.client_capabilities;
    if given.auth.terminal {
        let method = AuthMethodTerminal::new(SETUP_METHOD, SETUP_NAME)
            .description(SETUP_TEXT.to_owned())
            .args(vec![SETUP_FLAG.to_owned()]);
        return Some(AuthMethod::Terminal(method));
    }
    let program = program.filter(|_| is_set(given.meta.as_ref(), "terminal-auth"))?;
    let started = json!({"command": program, "args": ["acp", SETUP_FLAG], "label": SETUP_NAME});
    let meta = Meta::from_iter([("terminal-auth".to_owned(), started)]);
    let method = AuthMethodAgent::new(SETUP_METHOD, SETUP_NAME);
    Some(AuthMethod::Agent(method.description(SETUP_TEXT.to_owned()).meta(meta)))
}

fn is_set(meta: Option<&Meta>, name: &str) -> bool {
    meta.and_then(|meta| meta.get(name)).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(capabilities: &Value) -> InitializeRequest {
        let whole = json!({"protocolVersion": 9, "clientCapabilities": capabilities});
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn version_1_is_answered_to_any_and_what_is_announced_is_all_there_is() {
        let answer = serde_json::to_value(answer(&request(&json!({})), None)).unwrap();
        assert_eq!(answer["protocolVersion"], 1);
        assert_eq!(answer["authMethods"], json!([]));
        let capabilities = &answer["agentCapabilities"];
        assert_eq!(capabilities["loadSession"], true);
        assert_eq!(capabilities["promptCapabilities"]["audio"], false);
        let session = capabilities["sessionCapabilities"].as_object().unwrap();
        let names: Vec<&String> = session.keys().collect();
        assert_eq!(names, ["list", "delete", "additionalDirectories", "resume", "close"]);
    }

    #[test]
    fn a_terminal_signs_in_where_the_client_has_one() {
        let method = |capabilities: Value| {
            let answer = answer(&request(&capabilities), Some("/bin/slug"));
            serde_json::to_value(answer.auth_methods).unwrap()
        };
        let stable = method(json!({"auth": {"terminal": true}, "_meta": {"terminal-auth": true}}));
        assert_eq!(stable[0]["type"], "terminal");
        assert_eq!(stable[0]["args"], json!(["--setup"]));
        let older = method(json!({"_meta": {"terminal-auth": true}}));
        let started = &older[0]["_meta"]["terminal-auth"];
        assert_eq!(started["command"], "/bin/slug");
        assert_eq!(started["args"], json!(["acp", "--setup"]));
        assert_eq!(method(json!({"auth": {"terminal": false}})), json!([]));
    }

    #[test]
    fn features_come_from_the_capabilities() {
        let features = EditorFeatures::of(&request(&json!({
            "fs": {"readTextFile": true}, "elicitation": {"form": {}},
            "session": {"notices": {}, "compaction": {}}, "_meta": {"terminal_output": true},
        })));
        let all = EditorFeatures {
            reads_files: true,
            has_forms: true,
            has_notices: true,
            has_compactions: true,
            has_terminal_output: true,
        };
        assert_eq!(features, all);
        assert_eq!(EditorFeatures::of(&request(&json!({}))), EditorFeatures::default());
    }
}
