//! Agents that an agent starts: what they may do, what their parent hears of them, and what stops them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, AgentProvider, InitialSession, Interactivity};
use slug_code::domain::{
    AgentBudgets, AgentId, ApprovalAnswer, ContentBlock, MessageRole, PermissionMode,
    RequestSource, SubagentState, SubagentSummary, TokenUsage, ToolStatus, UsageBudget,
};
use slug_code::providers::{
    ErrorRecovery, ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent,
};
use slug_code::session::{LogEntry, LogRecord, MessageEntry, TurnOutcome};
use slug_code::subagents::{SubagentPlaces, SubagentType, SubagentTypes, read_subagents};
use tokio_util::sync::CancellationToken;

use super::fakes::{
    FakeModelList, ScriptedEvent, ScriptedProvider, ScriptedStream, calls, failure, play, words,
};
use super::test_agent::{AgentFixture, TestAgent};
use super::windowed_model::whole_text;

/// A model that answers each conversation from a script of its own, by a word of its first message.
pub struct RoutedModel {
    routes: Mutex<Vec<(String, VecDeque<ScriptedStream>)>>,
    requests: Mutex<Vec<ProviderRequest>>,
}

#[async_trait]
impl Provider for RoutedModel {
    fn stream(
        &self,
        request: ProviderRequest,
        _: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let first = whole_text(&request.messages[..1]);
        self.requests.lock().unwrap().push(request);
        let mut routes = self.routes.lock().unwrap();
        let route = routes.iter_mut().find(|(word, _)| first.contains(word));
        let reply = route.and_then(|(_, replies)| replies.pop_front());
        play(reply.unwrap_or_else(|| vec![failure(400, ErrorRecovery::GiveUp)]))
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let model = |name: &str| ModelInfo {
            id: name.to_owned(),
            context_window: Some(64_000),
            ..ModelInfo::default()
        };
        Ok(vec![model("test-model"), model("small-model")])
    }

    fn is_local(&self) -> bool {
        true
    }

    fn host(&self) -> Option<&str> {
        None
    }
}

impl RoutedModel {
    pub fn requests_with(&self, word: &str) -> Vec<ProviderRequest> {
        let all = self.requests.lock().unwrap();
        let is_it = |request: &&ProviderRequest| whole_text(&request.messages[..1]).contains(word);
        all.iter().filter(is_it).cloned().collect()
    }
}

/// A fixture whose model answers by these scripts.
pub fn scripted(
    fixture: AgentFixture,
    routes: &[(&str, &[ScriptedStream])],
) -> (AgentFixture, Arc<RoutedModel>) {
    let route = |(word, replies): &(&str, &[ScriptedStream])| {
        ((*word).to_owned(), replies.iter().cloned().collect())
    };
    let routes = Mutex::new(routes.iter().map(route).collect());
    let model = Arc::new(RoutedModel { routes, requests: Mutex::default() });
    (AgentFixture { provider: Some(model.clone()), ..fixture }, model)
}

pub fn start(id: &'static str, prompt: &str, more: &Value) -> (&'static str, &'static str, Value) {
    let mut input = json!({"description": format!("do {prompt}"), "prompt": prompt});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (id, "Agent", input)
}

pub fn usage(tokens: u64) -> ScriptedEvent {
    let usage = TokenUsage { input: tokens, output: 1, ..TokenUsage::default() };
    ScriptedEvent::Event(StreamEvent::Usage(usage))
}

/// How the agent of a call stands, as last told.
pub fn stands(agent: &TestAgent, call: &str) -> SubagentSummary {
    let of_it = agent.events.iter().rev().find_map(|event| match event {
        AgentEvent::Subagent(summary) if summary.call.as_str() == call => Some(summary.clone()),
        _ => None,
    });
    *of_it.unwrap_or_else(|| panic!("nothing was told of {call}"))
}

pub async fn open(fixture: &AgentFixture) -> TestAgent {
    fixture.open(InitialSession::New).await
}

/// The log of the agent of a call.
pub fn log_of(fixture: &AgentFixture, summary: &SubagentSummary) -> Vec<LogRecord> {
    fixture.store.read(summary.session.unwrap()).unwrap().records
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_reports_to_its_call_and_its_log_names_the_call() {
    let call = start("c1", "CHILD", &json!({"subagent_type": "explore"}));
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[("PARENT", &[calls(&[call]), words("Done.")]), ("CHILD", &[words("It is in a.rs:7.")])],
    );
    let mut agent = open(&fixture).await;
    assert_eq!(agent.turn("PARENT, look").await, TurnOutcome::Answered);
    let (result, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Done);
    assert!(result.contains("(explore: do CHILD) is done"), "{result}");
    assert!(result.contains("<report>\nIt is in a.rs:7.\n</report>"), "{result}");
    let summary = stands(&agent, "c1");
    assert_eq!(summary.state, SubagentState::Done);
    let records = log_of(&fixture, &summary);
    let LogEntry::Session(header) = &records[0].entry else { panic!("{records:#?}") };
    let origin = header.spawned_by.clone().unwrap();
    assert_eq!((origin.session, origin.call.as_str()), (agent.id(), "c1"));
    // The session of the child is in no list.
    let listed: Vec<_> = fixture.store.list().unwrap().iter().map(|it| it.session_id).collect();
    assert_eq!(listed, [agent.id()]);
    assert_eq!(fixture.store.newest_in(&fixture.work).unwrap(), Some(agent.id()));
    // It knows its prompt and nothing of the conversation.
    let asked = &model.requests_with("CHILD")[0];
    assert!(!asked.messages.iter().any(|message| message.text().contains("PARENT")));
    agent.close().await;
}

/// Complaint 1: agents that start agents.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_starts_no_agents_and_asks_nobody() {
    let call = start("c1", "CHILD", &json!({}));
    let inner = ("c2", "Task", json!({"description": "x", "prompt": "GRANDCHILD"}));
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[
            ("PARENT", &[calls(&[call]), words("Done.")]),
            ("CHILD", &[calls(&[inner]), words("I did it myself.")]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let request = &model.requests_with("CHILD")[0];
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"Bash") && names.contains(&"Edit"), "{names:?}");
    assert!(!names.contains(&"Agent") && !names.contains(&"AskUser"), "{names:?}");
    assert!(model.requests_with("GRANDCHILD").is_empty());
    assert!(request.system.contains("You were started by another agent"));
    assert_eq!(stands(&agent, "c1").state, SubagentState::Done);
    agent.close().await;
}

/// Complaint 1: a fan-out without end.
#[tokio::test(flavor = "multi_thread")]
async fn a_ninth_agent_at_once_is_refused_and_not_to_be_retried() {
    let hang = vec![ScriptedEvent::Hang];
    let ids = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"];
    let all: Vec<_> = ids.iter().map(|id| start(id, &format!("CHILD {id}"), &json!({}))).collect();
    let hanging: Vec<ScriptedStream> = vec![hang; 9];
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[("PARENT", &[calls(&all), words("Done.")]), ("CHILD", &hanging)],
    );
    let mut agent = open(&fixture).await;
    agent.send("PARENT").await;
    // They start together, so which of them is one too many is not known.
    let is_end = |event: &AgentEvent| super::test_agent::tool_end(event).is_some();
    agent.wait_for("refusal", is_end).await;
    let has_ended = |id: &&&str| {
        agent.messages().iter().any(|it| it.message().answers().any(|it| it.as_str() == **id))
    };
    let refused = *ids.iter().find(has_ended).unwrap();
    let (result, status) = agent.result(refused);
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains("8 agents run already") && result.contains("Do not retry"), "{result}");
    // Complaint 14: what stops the parent stops its children.
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    for id in ids.iter().filter(|id| **id != refused) {
        while stands(&agent, id).state.is_running() {
            agent.event().await;
        }
        assert_eq!(stands(&agent, id).state, SubagentState::Stopped, "{id}");
    }
    assert!(model.requests_with("CHILD").len() <= 8);
    agent.close().await;
}

/// Complaint 2: what children spend is the session's, and its budget ends them.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_child_spends_counts_for_its_parent_and_the_budget_of_the_session_ends_it() {
    let mut expensive = calls(&[("r1", "Glob", json!({"pattern": "*"}))]);
    expensive.insert(0, usage(5_000));
    let call = start("c1", "CHILD", &json!({}));
    let fixture = AgentFixture {
        budgets: AgentBudgets {
            session: UsageBudget { tokens: Some(4_000), money: None },
            ..AgentBudgets::default()
        },
        interactivity: Interactivity::Headless,
        ..AgentFixture::new()
    };
    let (fixture, _) = scripted(
        fixture,
        &[("PARENT", &[calls(&[call]), words("x")]), ("CHILD", &[expensive, words("more")])],
    );
    let mut agent = open(&fixture).await;
    let outcome = agent.turn("PARENT").await;
    assert!(matches!(outcome, TurnOutcome::Budget(_)), "{outcome:?}");
    let summary = stands(&agent, "c1");
    assert_eq!(summary.state, SubagentState::OutOfBudget);
    assert!(agent.result("c1").0.contains("The budget of the session is used up"));
    let conversation = agent.conversation();
    let of_agents = conversation.spending.by_source().iter();
    let of_agents: Vec<_> = of_agents.filter(|(it, _)| *it == RequestSource::Agent).collect();
    assert_eq!(of_agents[0].1.usage.input, 5_000);
    assert!(conversation.messages.iter().all(|(_, it)| !it.content.is_empty()));
    agent.close().await;
}

/// Complaint 3: the model of a child is named, and is not that of its parent where its type says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_has_the_model_that_its_call_or_its_type_names() {
    let call = start("c1", "CHILD", &json!({"model": "small-model"}));
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[("PARENT", &[calls(&[call]), words("Done.")]), ("CHILD", &[words("Report.")])],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    assert_eq!(model.requests_with("CHILD")[0].model, "small-model");
    assert_eq!(model.requests_with("PARENT")[0].model, "test-model");
    assert_eq!(stands(&agent, "c1").model.as_deref(), Some("small-model"));
    agent.close().await;
}

/// The model does not choose who gets the conversation; the user does, in the file of a type.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_type_and_no_call_names_a_model_of_another_provider() {
    for (order, provider) in [
        (json!({"model": "other/small"}), None),
        (json!({"model": "other/small", "subagent_type": "far"}), None),
        (json!({"model": "test/small-model", "subagent_type": "far"}), Some("test")),
        (json!({"subagent_type": "far"}), Some("other")),
    ] {
        let call = start("c1", "CHILD", &order);
        let (fixture, model) = scripted(
            AgentFixture::in_mode(PermissionMode::Yolo),
            &[("PARENT", &[calls(&[call]), words("Done.")]), ("CHILD", &[words("Report.")])],
        );
        let other = Arc::new(ScriptedProvider::new(FakeModelList::Named(vec!["big", "small"])));
        other.reply(words("Report."));
        let far = SubagentType {
            name: "far".into(),
            model: Some("other/big".into()),
            ..SubagentTypes::default().get(None).unwrap().clone()
        };
        let there = AgentProvider {
            name: "other".into(),
            provider: other.clone(),
            model: Some("big".into()),
            max_tokens: None,
            window: 100_000,
            effort: None,
        };
        let fixture = AgentFixture {
            others: vec![there],
            subagents: SubagentTypes::with(vec![far]),
            ..fixture
        };
        let mut agent = open(&fixture).await;
        agent.turn("PARENT").await;
        let (result, status) = agent.result("c1");
        assert_eq!(status == ToolStatus::Done, provider.is_some(), "{order}: {result}");
        assert_eq!(model.requests_with("CHILD").len(), usize::from(provider == Some("test")));
        assert_eq!(other.requests().len(), usize::from(provider == Some("other")), "{order}");
        assert!(provider.is_some() || result.contains("test/NAME"), "{result}");
        agent.close().await;
    }
}

/// Complaint 8: the rules of the parent hold, and so does plan mode.
#[tokio::test(flavor = "multi_thread")]
async fn deny_rules_and_plan_mode_of_the_parent_hold_in_a_child() {
    for (mode, kind) in [
        (PermissionMode::Yolo, "general"),
        (PermissionMode::Plan, "general"),
        (PermissionMode::Yolo, "explore"),
    ] {
        let call = start("c1", "CHILD", &json!({"subagent_type": kind}));
        let tries = [
            ("w1", "Bash", json!({"command": "rm secret"})),
            ("w2", "Write", json!({"file_path": "new.txt", "content": "x"})),
        ];
        let (fixture, _) = scripted(
            AgentFixture::in_mode(mode),
            &[
                ("PARENT", &[calls(&[call]), words("Done.")]),
                ("CHILD", &[calls(&tries), words("Report.")]),
            ],
        );
        fixture.settings(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
        let mut agent = open(&fixture).await;
        agent.turn("PARENT").await;
        let records = log_of(&fixture, &stands(&agent, "c1"));
        let results: Vec<ToolStatus> = records
            .iter()
            .filter_map(|record| record.entry.as_message()?.result.as_ref())
            .map(|result| result.status)
            .collect();
        let writes = mode == PermissionMode::Yolo && kind == "general";
        let of_write = if writes { ToolStatus::Done } else { ToolStatus::Denied };
        assert_eq!(results, [ToolStatus::Denied, of_write], "{mode} {kind}");
        assert_eq!(fixture.read("new.txt"), if writes { "x" } else { "" });
        agent.close().await;
    }
}

/// Complaint 9: an answer for the session holds for all.
#[tokio::test(flavor = "multi_thread")]
async fn questions_of_children_come_up_and_an_answer_for_the_session_holds_for_all() {
    let all = [start("c1", "CHILD one", &json!({})), start("c2", "CHILD two", &json!({}))];
    let make = || calls(&[("b", "Bash", json!({"command": "make all"}))]);
    let (fixture, _) = scripted(
        AgentFixture::new(),
        &[
            ("PARENT", &[calls(&all), words("Done.")]),
            ("CHILD one", &[make(), words("One.")]),
            ("CHILD two", &[make(), words("Two.")]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.send("PARENT").await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalAsked(_));
    let first = agent.wait_for_other("question", asked).await;
    let AgentEvent::ApprovalAsked(request) = first.event else { unreachable!() };
    assert_ne!(first.agent, agent.agent.id);
    let rules = request.allow_rules.clone();
    assert!(!rules.is_empty());
    let commands = agent.agent.children.commands(first.agent).unwrap();
    let answer = ApprovalAnswer::Session { rules };
    let answer = AgentCommand::Answer { id: request.id, answer };
    commands.send(answer.to(first.agent)).await.unwrap();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.result("c1").0.contains("One.") && agent.result("c2").0.contains("Two."));
    agent.close().await;
}

/// Complaint 11: an error is never a report; what was said before it comes with a note.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_server_is_no_report() {
    let call = start("c1", "CHILD", &json!({}));
    let mut partial = calls(&[("r1", "Glob", json!({"pattern": "*"}))]);
    let begun = StreamEvent::Text("I have found a.rs so far.".into());
    partial.insert(0, ScriptedEvent::Event(begun));
    let (fixture, _) = scripted(
        AgentFixture::new(),
        &[
            ("PARENT", &[calls(&[call]), words("Done.")]),
            ("CHILD", &[partial, vec![failure(400, ErrorRecovery::GiveUp)]]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let (result, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains("has not done its task (failed"), "{result}");
    assert!(result.contains("This is no report"), "{result}");
    assert!(result.contains("I have found a.rs so far."), "{result}");
    assert_eq!(stands(&agent, "c1").state, SubagentState::Failed);
    agent.close().await;
}

/// Complaint 5: the result is in the child's log before the parent hears of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_from_the_background_comes_once_as_a_turn_of_its_own() {
    let call = start("c1", "CHILD", &json!({"run_in_background": true}));
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[
            ("PARENT", &[calls(&[call]), words("It runs."), words("It has reported.")]),
            ("CHILD", &[calls(&[("b", "Bash", json!({"command": "block it"}))]), words("Found.")]),
        ],
    );
    fixture.settings(&json!({"permissions": {"allow": ["Bash(block *)"]}}));
    let mut agent = open(&fixture).await;
    assert_eq!(agent.turn("PARENT").await, TurnOutcome::Answered);
    assert!(agent.result("c1").0.contains("works in the background"));
    let names_it = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("general: do CHILD"));
    // Complaint 5: what still runs is named.
    agent.wait_for("notice of what still runs", names_it).await;
    assert!(stands(&agent, "c1").state.is_running());
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let requests = model.requests_with("PARENT");
    assert_eq!(requests.len(), 3);
    let notes: Vec<&ContentBlock> = requests[2]
        .messages
        .iter()
        .flat_map(|message| &message.content)
        .filter(|block| block.as_context().is_some_and(|(name, _)| name == "agents"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].as_context().unwrap().1.contains("Found."));
    let told: Vec<MessageEntry> =
        agent.messages().into_iter().filter(|it| !it.agents.is_empty()).collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].role, MessageRole::User);
    let ended = log_of(&fixture, &told[0].agents[0]);
    assert!(ended.iter().any(|record| matches!(record.entry, LogEntry::TurnEnd(_))));
    agent.close().await;
}

/// Complaint 7: what ended with slug is not running.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_resume_a_child_that_ran_is_interrupted_and_the_model_is_told_once() {
    let call = start("c1", "CHILD", &json!({"run_in_background": true}));
    let (fixture, model) = scripted(
        AgentFixture::new(),
        &[
            ("PARENT", &[calls(&[call]), words("It runs."), words("I see."), words("Yes.")]),
            ("CHILD", &[vec![ScriptedEvent::Hang]]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    agent.turn("and now?").await;
    agent.turn("sure?").await;
    let last = model.requests_with("PARENT").pop().unwrap();
    let told = last.messages.iter().flat_map(|message| &message.content).filter(|block| {
        block.as_context().is_some_and(|(_, text)| text.contains("Interrupted when slug ended"))
    });
    assert_eq!(told.count(), 1);
    agent.close().await;
}

/// Complaint 6: each can be stopped by itself; the parent hears that it was stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_the_user_stops_is_told_as_stopped() {
    let call = start("c1", "CHILD", &json!({}));
    let (fixture, _) = scripted(
        AgentFixture::new(),
        &[("PARENT", &[calls(&[call]), words("Done.")]), ("CHILD", &[vec![ScriptedEvent::Hang]])],
    );
    let mut agent = open(&fixture).await;
    agent.send("PARENT").await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::RequestSent { .. });
    let child: AgentId = agent.wait_for_other("request", asked).await.agent;
    assert!(agent.agent.children.stop_turn(child));
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (result, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Cancelled);
    assert!(result.contains("stopped"), "{result}");
    agent.close().await;
}

/// What a child changes is a change of its parent's session, which a rewind takes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_childs_changes_of_files_are_on_its_parents_record() {
    let call = start("c1", "CHILD", &json!({}));
    let write = ("w", "Write", json!({"file_path": "new.txt", "content": "x"}));
    let (fixture, _) = scripted(
        AgentFixture::in_mode(PermissionMode::Yolo),
        &[
            ("PARENT", &[calls(&[call]), words("Done.")]),
            ("CHILD", &[calls(&[write]), words("Written.")]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let changed = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::FileChange(change) => Some(change),
        _ => None,
    });
    let changed = changed.expect("no change on record");
    assert_eq!(changed.path, fixture.work.join("new.txt"));
    assert_eq!(changed.call.unwrap().as_str(), "c1");
    agent.close().await;
}

/// Complaint 15: told not to start agents, an agent starts none.
#[tokio::test(flavor = "multi_thread")]
async fn a_deny_rule_switches_agents_off() {
    let call = start("c1", "CHILD", &json!({}));
    let (fixture, model) = scripted(
        AgentFixture::in_mode(PermissionMode::Yolo),
        &[("PARENT", &[calls(&[call]), words("Done.")])],
    );
    fixture.settings(&json!({"permissions": {"deny": ["Agent"]}}));
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    assert!(model.requests_with("CHILD").is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_file_narrows_tools_rounds_and_instructions() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.put(
        ".claude/agents/scout.md",
        "---\nname: scout\ndescription: Use it: always\ntools: Read, Grep(x), mcp__none__*\n\
         maxTurns: 1\ncolor: red\n---\nYou are a scout.\n",
    );
    let places = SubagentPlaces {
        slug_home: fixture.home.clone(),
        user_home: None,
        project: Some(fixture.work.clone()),
    };
    let found = read_subagents(&places);
    let [warning] = &*found.warnings else { panic!("{:?}", found.warnings) };
    assert!(warning.contains("`Grep(x)`"), "{warning}");
    let call = start("c1", "CHILD", &json!({"subagent_type": "scout"}));
    let look = |id: &'static str| calls(&[(id, "Read", json!({"file_path": "a"}))]);
    let (fixture, model) = scripted(
        AgentFixture { subagents: found.types, ..fixture },
        &[
            ("PARENT", &[calls(&[call]), words("Done.")]),
            ("CHILD", &[look("r1"), look("r2"), words("So far.")]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let request = &model.requests_with("CHILD")[0];
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Read"]);
    assert!(request.system.starts_with("You are a scout."), "{}", request.system);
    assert_eq!(stands(&agent, "c1").state, SubagentState::OutOfRounds);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_type_and_a_type_without_tools_start_nothing() {
    let fixture = AgentFixture::new();
    fixture.put(
        ".slug/agents/bare.md",
        "---\ndescription: has nothing\ntools: [NoSuchTool]\n---\nYou are bare.\n",
    );
    let places = SubagentPlaces {
        slug_home: fixture.home.clone(),
        user_home: None,
        project: Some(fixture.work.clone()),
    };
    let all = [
        start("c1", "CHILD", &json!({"subagent_type": "poet"})),
        start("c2", "CHILD", &json!({"subagent_type": "bare"})),
    ];
    let (fixture, model) = scripted(
        AgentFixture { subagents: read_subagents(&places).types, ..fixture },
        &[("PARENT", &[calls(&all), words("Done.")])],
    );
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let (result, status) = agent.result("c1");
    assert!(status == ToolStatus::Failed && result.contains("bare, general, explore"), "{result}");
    let (result, status) = agent.result("c2");
    assert!(status == ToolStatus::Failed && result.contains("Do not retry"), "{result}");
    assert!(model.requests_with("CHILD").is_empty());
    agent.close().await;
}
