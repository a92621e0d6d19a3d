//! A call inside a `Call` is the call that hooks, rules, questions and the log know.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, RuleReply, RuleRequest};
use slug_code::domain::{
    ApprovalAnswer, CallInput, ContentBlock, PermissionMode, RuleKind, ToolAccess, ToolCapability,
    ToolDescriptor, ToolKind, ToolOutput, ToolSpec, ToolStatus,
};
use slug_code::permissions::store::RuleEdit;
use slug_code::session::{LogEntry, TurnOutcome};
use slug_code::tools::{Tool, ToolContext, ToolError, ToolPart, ToolRegistry, WorkingDirectory};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn inside(tool: &str, input: &Value) -> (&'static str, &'static str, Value) {
    ("c1", "Call", json!({"tool": tool, "input": input}))
}

/// A deferred tool that reads a file by its name.
struct PeekTool;

static PEEK: ToolDescriptor =
    ToolDescriptor::built_in("Peek", ToolKind::Read, ToolCapability::ReadFiles).deferred();

#[async_trait]
impl Tool for PeekTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Peek".into(),
            description: "Looks into a box.".into(),
            input_schema: json!({"type": "object", "properties": {"box": {"type": "string"}}}),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &PEEK
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let name = input["box"].as_str().ok_or_else(|| ToolError("Peek: send a box.".into()))?;
        Ok(vec![ToolAccess::Read(place.resolve(name))])
    }

    async fn run(&self, _: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} is empty", input["box"])))
    }
}

async fn open(fixture: &AgentFixture) -> TestAgent {
    let mut setup = fixture.setup(Vec::new());
    let own = ToolPart { source: "a test".into(), tools: vec![Arc::new(PeekTool)] };
    let parts = vec![ToolPart::built_in(), own];
    setup.registry = Arc::new(ToolRegistry::from_parts(parts).unwrap());
    fixture.open_setup(setup, InitialSession::New).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_hooks_and_rules_are_about_the_call_inside() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}]},
        "permissions": {"deny": ["Bash(make clean)"]},
    }));
    fixture.hooks.set("guard", 0, "", "");
    let mut agent = open(&fixture).await;
    queue_replies(
        &fixture,
        [
            calls(&[inside("Bash", &json!({"command": "make clean"}))]),
            calls(&[("c2", "Call", json!({"tool": "bash", "input": "{\"cmd\": \"make all\"}"}))]),
            words("done"),
        ],
    );
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(
        (question.tool.as_str(), &question.input),
        ("Bash", &json!({"command": "make all"}))
    );
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    assert_eq!(fixture.processes.log(), ["begin make all", "end make all"]);
    let shown = agent.events.iter().any(|event| {
        matches!(event, AgentEvent::ToolStarted { call, .. } if call.name == "Bash"
            && call.input == CallInput::Valid(json!({"command": "make all"})))
    });
    assert!(shown, "{:?}", agent.events);
    let decided: Vec<(String, Option<String>)> = agent
        .records()
        .into_iter()
        .filter_map(|record| match record.entry {
            LogEntry::Permission(entry) => Some((entry.tool, entry.about)),
            _ => None,
        })
        .collect();
    let entry = |about: &str| ("Bash".to_owned(), Some(about.to_owned()));
    assert_eq!(decided, [entry("make clean"), entry("make all")]);
    // What the model sent is sent back as it was.
    let sent = agent.messages().iter().flat_map(|it| it.content.clone()).any(|block| {
        matches!(block, ContentBlock::ToolUse(call) if call.name == "Call"
            && call.input == CallInput::Valid(inside("Bash", &json!({"command": "make clean"})).2))
    });
    assert!(sent, "the history has the call as it was made");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_tool_is_found_and_called_in_each_way() {
    let fixture = AgentFixture::in_mode(PermissionMode::Ask);
    let mut agent = open(&fixture).await;
    queue_replies(
        &fixture,
        [
            calls(&[("s", "ToolSearch", json!({"query": "look into boxes"}))]),
            calls(&[inside("Peek", &json!({"box": "a"}))]),
            calls(&[("c2", "Peek", json!({"box": "b"})), ("c3", "Call", json!({"tool": "Peekk"}))]),
            calls(&[("c4", "Call", json!({"input": {}}))]),
            words("done"),
        ],
    );
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let found = agent.result("s").0;
    assert!(found.starts_with("Peek: Looks into a box.\n  input: {"), "{found}");
    assert_eq!(agent.result("c1"), ("\"a\" is empty".into(), ToolStatus::Done));
    assert_eq!(agent.result("c2"), ("\"b\" is empty".into(), ToolStatus::Done));
    let (unknown, status) = agent.result("c3");
    assert_eq!(status, ToolStatus::Failed);
    assert!(unknown.contains("There is no tool \"Peekk\". Did you mean Peek?"), "{unknown}");
    assert!(unknown.contains("ToolSearch finds others"), "{unknown}");
    assert!(agent.result("c4").0.contains("Call: `tool` is missing."));
    let tools: Vec<Vec<String>> = fixture
        .model
        .requests()
        .iter()
        .map(|request| request.tools.iter().map(|spec| spec.name.clone()).collect())
        .collect();
    assert!(tools.windows(2).all(|pair| pair[0] == pair[1]), "{tools:?}");
    assert!(!tools[0].contains(&"Peek".to_owned()), "{tools:?}");
    agent.close().await;
}

/// A rule of the settings file and one of the session alike; whoever calls the tool meets the gate.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_a_rule_denies_is_not_found() {
    let fixture = AgentFixture::in_mode(PermissionMode::Ask);
    let mut agent = open(&fixture).await;
    let search =
        |id: &'static str| calls(&[(id, "ToolSearch", json!({"query": "look into boxes"}))]);
    queue_replies(
        &fixture,
        [
            search("s1"),
            words("found"),
            search("s2"),
            calls(&[("s3", "ToolSearch", json!({"query": "select:Peek"}))]),
            calls(&[inside("Peek", &json!({"box": "a"}))]),
            words("denied"),
            search("s4"),
            words("found"),
        ],
    );
    let deny = || (RuleKind::Deny, "Peek".to_owned());
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert!(agent.result("s1").0.starts_with("Peek: Looks into a box."));
    change_rule(&mut agent, RuleEdit::Add(deny())).await;
    assert_eq!(agent.turn("again").await, TurnOutcome::Answered);
    for id in ["s2", "s3"] {
        let found = agent.result(id).0;
        assert!(!found.contains("Looks into a box"), "{found}");
    }
    let (denied, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Denied, "{denied}");
    change_rule(&mut agent, RuleEdit::Remove(deny())).await;
    assert_eq!(agent.turn("once more").await, TurnOutcome::Answered);
    assert!(agent.result("s4").0.starts_with("Peek: Looks into a box."));
    let arrays = fixture.model.requests().into_iter().map(|request| request.tools);
    let arrays: Vec<_> = arrays.collect();
    assert!(arrays.windows(2).all(|pair| pair[0] == pair[1]), "the array stays");
    agent.close().await;
}

/// Changes the rules that hold until slug ends.
async fn change_rule(agent: &mut TestAgent, edit: RuleEdit) {
    let request = RuleRequest::Change { file: None, edit };
    agent.tell(AgentCommand::Rules(request)).await;
    let reply = agent.wait_for("rules", |event| matches!(event, AgentEvent::Rules(_))).await;
    let AgentEvent::Rules(reply) = reply else { panic!("{reply:?}") };
    assert!(matches!(*reply, RuleReply::Listed { failed: None, .. }), "{reply:?}");
}
