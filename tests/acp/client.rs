//! A client of the protocol. Every line of slug's is read as the type that the protocol has for it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};

use super::script;
use crate::support::test_env::TestEnv;

/// The longest that a test waits for anything.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// How the client answers a request of slug's; `None` answers nothing.
type Answerer = Box<dyn FnMut(&str, &Value) -> Option<Value>>;

pub struct EditorClient {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: i64,
    methods: HashMap<i64, String>,
    /// Everything that slug has written, in order.
    pub seen: Vec<Value>,
    /// Says yes to every question at first.
    pub answers: Answerer,
}

impl EditorClient {
    /// slug with the scripted model.
    pub fn scripted(env: &TestEnv, responses: &[&str]) -> Self {
        Self::scripted_with(env, responses, json!({}))
    }

    pub fn scripted_with(env: &TestEnv, responses: &[&str], capabilities: Value) -> Self {
        let script = script(env, responses);
        Self::start(env.command(&["--demo", &script, "acp"]), capabilities)
    }

    /// Starts slug and initialises it.
    #[allow(clippy::needless_pass_by_value, reason = "tests write what they send in place")]
    pub fn start(command: Command, capabilities: Value) -> Self {
        let mut client = Self::started(command);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let answer = client.request("initialize", params).unwrap();
        assert_eq!(answer["protocolVersion"], 1);
        client
    }

    pub fn started(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let answers: Answerer = Box::new(|method, params| {
            (method == "session/request_permission").then(|| choose(params, "allow_once"))
        });
        let (next_id, methods, seen) = (1, HashMap::new(), Vec::new());
        Self { child, stdin, lines, next_id, methods, seen, answers }
    }

    pub fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    #[allow(clippy::needless_pass_by_value, reason = "tests write what they send in place")]
    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send_line(message.to_string().as_bytes());
    }

    /// Sends a request and returns its id.
    #[allow(clippy::needless_pass_by_value, reason = "tests write what they send in place")]
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.methods.insert(id, method.to_owned());
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(message.to_string().as_bytes());
        id
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    /// Waits for the answer to a request.
    pub fn answer_to(&mut self, id: i64) -> Result<Value, Value> {
        let is_answer = |it: &Value| it["id"] == id && it.get("method").is_none();
        let answer = self.wait_for("an answer", is_answer);
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// The first message that is wanted, among those seen or those to come.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.seen.iter().find(|it| is_wanted(it)) {
            return found.clone();
        }
        loop {
            let Ok(line) = self.lines.recv_timeout(WAIT_TIMEOUT) else {
                panic!("{what} does not come; seen: {:#?}", self.seen)
            };
            if is_wanted(self.take(&line)) {
                return self.seen.last().unwrap().clone();
            }
        }
    }

    /// Checks a line, keeps it, and answers it where it is a request.
    fn take(&mut self, line: &str) -> &Value {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let method = message.get("method").and_then(Value::as_str);
        match method {
            Some(method) => check_params(method, &message["params"]),
            None => {
                let of = message["id"].as_i64().and_then(|id| self.methods.get(&id));
                check_answer(of.map(String::as_str), &message);
            }
        }
        if let (Some(method), Some(id)) = (method, message.get("id"))
            && let Some(result) = (self.answers)(method, &message["params"])
        {
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            self.send_line(answer.to_string().as_bytes());
        }
        self.seen.push(message);
        self.seen.last().unwrap()
    }

    pub fn new_session(&mut self, env: &TestEnv) -> String {
        let params = json!({"cwd": env.workspace(), "mcpServers": []});
        let answer = self.request("session/new", params).unwrap();
        answer["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a text and waits for the end of its turn.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.request("session/prompt", super::prompt(session, text)).unwrap()
    }

    /// Closes the input; slug has to end at once, with nothing more than protocol.
    #[track_caller]
    pub fn ends_well(mut self) {
        drop(self.stdin.take());
        while let Ok(line) = self.lines.recv_timeout(WAIT_TIMEOUT) {
            self.take_last(&line);
        }
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(errors, "");
        assert!(self.child.wait().unwrap().success());
    }

    /// Takes a line when nothing can be answered any more.
    fn take_last(&mut self, line: &str) {
        self.answers = Box::new(|_, _| None);
        self.take(line);
    }
}

impl Drop for EditorClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer that takes the first option of a kind.
pub fn choose(params: &Value, kind: &str) -> Value {
    let options = params["options"].as_array().unwrap();
    match options.iter().find(|it| it["kind"] == kind) {
        Some(option) => {
            json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
        }
        None => panic!("no {kind} in {params}"),
    }
}

/// The updates of a kind, in order.
pub fn updates_of<'a>(seen: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    seen.iter().map(|it| &it["params"]["update"]).filter(move |it| it["sessionUpdate"] == kind)
}

/// Whether a message is an update of a kind with this value.
pub fn notified(message: &Value, kind: &str, key: &str, value: &str) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == kind && update[key] == value
}

fn check_params(method: &str, params: &Value) {
    let params = params.clone();
    let read = match method {
        "session/update" => reads::<acp::SessionNotification>(params),
        "session/request_permission" => reads::<acp::RequestPermissionRequest>(params),
        "elicitation/create" => reads::<acp::CreateElicitationRequest>(params),
        "fs/read_text_file" => reads::<acp::ReadTextFileRequest>(params),
        "$/cancel_request" => reads::<acp::CancelRequestNotification>(params),
        other => panic!("slug does not send {other}"),
    };
    read.unwrap_or_else(|error| panic!("{method}: {error}"));
}

fn check_answer(method: Option<&str>, message: &Value) {
    if let Some(error) = message.get("error") {
        assert!(reads::<acp::Error>(error.clone()).is_ok(), "{message}");
        return;
    }
    let result = message["result"].clone();
    let read = match method {
        Some("initialize") => reads::<acp::InitializeResponse>(result),
        Some("authenticate") => reads::<acp::AuthenticateResponse>(result),
        Some("session/new") => reads::<acp::NewSessionResponse>(result),
        Some("session/load") => reads::<acp::LoadSessionResponse>(result),
        Some("session/resume") => reads::<acp::ResumeSessionResponse>(result),
        Some("session/list") => reads::<acp::ListSessionsResponse>(result),
        Some("session/close") => reads::<acp::CloseSessionResponse>(result),
        Some("session/delete") => reads::<acp::DeleteSessionResponse>(result),
        Some("session/prompt") => reads::<acp::PromptResponse>(result),
        Some("session/set_mode") => reads::<acp::SetSessionModeResponse>(result),
        Some("session/set_config_option") => reads::<acp::SetSessionConfigOptionResponse>(result),
        other => panic!("an answer to {other:?}: {message}"),
    };
    read.unwrap_or_else(|error| panic!("{method:?}: {error}"));
}

fn reads<T: serde::de::DeserializeOwned>(value: Value) -> Result<(), serde_json::Error> {
    serde_json::from_value::<T>(value).map(drop)
}
