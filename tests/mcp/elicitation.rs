//! What servers ask the user while they work on a call.

use std::collections::VecDeque;

use slug_code::domain::{QuestionAnswer, UserQuestion};
use slug_code::tools::AskUser;

use super::*;

/// A user who gives these answers, one list for each time that the user is asked; then waits for ever.
pub(super) struct ScriptedUser {
    answers: Mutex<VecDeque<Vec<QuestionAnswer>>>,
    asked: Mutex<Vec<UserQuestion>>,
}

impl ScriptedUser {
    pub(super) fn new(answers: &[Vec<QuestionAnswer>]) -> Arc<Self> {
        let answers = Mutex::new(answers.to_vec().into());
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    /// What the user was asked so far.
    pub(super) fn asked(&self) -> Vec<UserQuestion> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl AskUser for ScriptedUser {
    async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
        self.asked.lock().unwrap().extend(questions);
        let answers = self.answers.lock().unwrap().pop_front();
        match answers {
            Some(answers) => Some(answers),
            None => std::future::pending().await,
        }
    }
}

pub(super) fn chosen(at: usize) -> QuestionAnswer {
    QuestionAnswer { chosen: vec![at], ..QuestionAnswer::default() }
}

pub(super) fn typed(text: &str) -> QuestionAnswer {
    QuestionAnswer { text: Some(text.into()), ..QuestionAnswer::default() }
}

fn form() -> Value {
    json!({"message": "Who are\u{1b}[2J you?", "requestedSchema": {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 18},
            "colour": {"type": "string", "enum": ["red", "green"]},
            "mail": {"type": "boolean"},
            "name": {"type": "string", "title": "Your name", "maxLength": 5},
            "size": {"type": "number"},
        },
        "required": ["name", "age"],
    }})
}

/// A server that asks this in a call, with its user and idle limit in seconds.
async fn asking(request: &Value, idle: u64) -> McpTestEnv {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("ask"), request.to_string()).unwrap();
    let state = folder.path().to_str().unwrap().to_owned();
    let servers = json!({"s": {"command": "bash", "args": [SERVER, state], "idle_timeout": idle}});
    let env = McpTestEnv::in_folders(folder, TempDir::new().unwrap(), servers);
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    env
}

impl McpTestEnv {
    /// What the server got for its question, and what the user was asked.
    async fn asked(&self, answers: &[Vec<QuestionAnswer>]) -> (String, Vec<UserQuestion>) {
        let user = ScriptedUser::new(answers);
        let (context, _) = self.context();
        let context = ToolContext { user: user.clone(), ..context };
        let output = self.tool("mcp__s__ask").run(&context, json!({})).await.unwrap();
        (output.observation.replace('\'', "\""), user.asked())
    }
}

#[tokio::test]
async fn a_form_is_filled_in_by_the_user() {
    let env = asking(&form(), 300).await;
    assert!(env.file("received").contains(r#""elicitation":{"form":{},"url":{}}"#));
    let open = QuestionAnswer::default();
    let first = vec![typed("seventeen"), chosen(1), chosen(0), typed("Ada"), open];
    let (reply, asked) =
        env.asked(&[vec![chosen(0)], first, vec![typed("17")], vec![typed("36")]]).await;
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(
        reply["result"],
        json!({"action": "accept", "content": {"age": 36, "colour": "green", "mail": true, "name": "Ada"}})
    );
    let questions: Vec<&str> = asked.iter().map(|it| it.question.as_str()).collect();
    assert_eq!(
        questions,
        [
            "The MCP server s asks you: Who are␛[2J you?",
            "age (required)",
            "colour (optional)",
            "mail (optional)",
            "Your name (required)",
            "size (optional)",
            "\"seventeen\" is no whole number. age (required)",
            "It must be at least 18. age (required)",
        ]
    );
    assert!(asked.iter().all(|it| it.server.as_deref() == Some("s") && it.header == "s"));
}

#[tokio::test]
async fn the_user_may_decline() {
    let env = asking(&form(), 300).await;
    let open = QuestionAnswer::default;
    let no_value = vec![typed("1"), chosen(0), chosen(0), open(), open()];
    let wrong = || vec![typed("1"), QuestionAnswer::default()];
    for answers in [
        vec![vec![chosen(1)]],
        vec![vec![QuestionAnswer::default()]],
        vec![vec![typed("Answer")]],
        vec![vec![chosen(0)], no_value, wrong(), wrong()],
    ] {
        let (reply, _) = env.asked(&answers).await;
        assert!(reply.contains(r#""result":{"action":"decline"}"#), "{answers:?}: {reply}");
    }
}

#[tokio::test]
async fn where_nobody_can_answer_a_server_is_declined() {
    let env = asking(&form(), 300).await;
    let output = env.call("mcp__s__ask", json!({})).await.unwrap();
    assert!(output.observation.contains("{'action':'decline'}"), "{}", output.observation);
}

#[tokio::test]
async fn an_address_is_shown_and_not_opened() {
    // The second letter of the host is Cyrillic.
    let url = "https://l\u{430}b.example/x\u{202e}";
    let request = json!({"mode": "url", "message": "Log in.", "url": url, "elicitationId": "1"});
    let env = asking(&request, 300).await;
    let (reply, asked) = env.asked(&[vec![chosen(0)]]).await;
    assert!(reply.contains(r#""result":{"action":"accept"}"#), "{reply}");
    assert_eq!(
        asked[0].question,
        "The MCP server s asks you: Log in. To continue, open this address on xn--lb-7kc.example in \
         your browser; slug does not open it: https://xn--lb-7kc.example/x%E2%80%AE"
    );
    let preview = asked[0].options[0].preview.as_deref();
    assert_eq!(preview, Some("https://xn--lb-7kc.example/x%E2%80%AE"));
    let (reply, _) = env.asked(&[vec![chosen(1)]]).await;
    assert!(reply.contains(r#""action":"decline""#), "{reply}");
    let long = format!("https://login.example/{}", "x".repeat(1500));
    for odd in [
        long.as_str(),
        "https://bank.example@login.example/",
        "https://bank.example:443@login.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "login.example",
        "https://",
    ] {
        let request =
            json!({"mode": "url", "message": "Log in.", "url": odd, "elicitationId": "1"});
        std::fs::write(env.folder.path().join("ask"), request.to_string()).unwrap();
        let (reply, asked) = env.asked(&[]).await;
        assert!(reply.contains(r#""action":"decline""#) && asked.is_empty(), "{odd}: {reply}");
    }
}

/// A form that cannot be shown reaches no user.
#[tokio::test]
async fn an_odd_form_is_declined() {
    let many: serde_json::Map<String, Value> =
        (0..21).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
    for schema in [
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": many}),
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}),
        json!("form"),
    ] {
        let env = asking(&json!({"message": "x", "requestedSchema": schema}), 300).await;
        let (reply, asked) = env.asked(&[]).await;
        assert_eq!(asked, [], "{schema}");
        let is_refused = reply.contains(r#""action":"decline""#) || reply.contains(r#""error":"#);
        assert!(is_refused, "{schema}: {reply}");
    }
}

/// The call's time runs on only once the user has answered, and stopping the call withdraws the question.
#[tokio::test]
async fn a_call_waits_for_the_user_and_can_be_stopped() {
    let env = asking(&form(), 1).await;
    let user = Arc::new(ScriptedUser { answers: Mutex::default(), asked: Mutex::default() });
    let (context, _) = env.context();
    let (tool, stop) = (env.tool("mcp__s__ask"), context.cancel.clone());
    let context = ToolContext { user, ..context };
    let called = tokio::spawn(async move { tool.run(&context, json!({})).await });
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(!called.is_finished(), "the server waits for the user");
    stop.cancel();
    assert_eq!(called.await.unwrap().unwrap().status, ToolStatus::Cancelled);
    let error = env.call("mcp__s__hang", json!({})).await.unwrap_err().0;
    assert!(error.contains("It did not answer within 1 seconds."), "{error}");
}
