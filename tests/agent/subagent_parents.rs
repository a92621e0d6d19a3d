//! What an agent and its user see while agents run that it has started: what they spend, their hooks, files
//! that two of them change, and what becomes of them when its session is compacted, forked, rewound or left.

use std::time::Duration;

use serde_json::{Value, json};
use slug_code::agent::{
    AgentCommand, AgentEvent, ForkPosition, InitialSession, RewindDestination, RewindError,
};
use slug_code::domain::{PermissionMode, RequestSource, SubagentState};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{ScriptedStream, calls, words};
use super::subagents::{RoutedModel, log_of, open, scripted, stands, start, usage};
use super::test_agent::{AgentFixture, TestAgent};
use super::windowed_model::{SUMMARY, whole_text};

/// An agent in the background that works until its command is let go.
fn background() -> (&'static str, &'static str, Value) {
    start("c1", "CHILD", &json!({"run_in_background": true}))
}

fn blocked(id: &'static str) -> ScriptedStream {
    calls(&[(id, "Bash", json!({"command": format!("block {id}")}))])
}

/// Waits until commands of agents have begun.
async fn commands_begin(fixture: &AgentFixture, commands: &[&str]) {
    let begun =
        |command: &&str| fixture.processes.log().contains(&format!("begin block {command}"));
    let all = async {
        while !commands.iter().all(begun) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("a command does not begin");
}

/// The notes on agents in the newest request of the parent.
fn notes(model: &RoutedModel) -> Vec<String> {
    let last = model.requests_with("PARENT").pop().unwrap();
    let blocks = last.messages.iter().flat_map(|message| &message.content);
    let named = blocks.filter_map(|block| block.as_context());
    named.filter(|(name, _)| *name == "agents").map(|(_, text)| text.to_owned()).collect()
}

/// A parent that has gone idle while its agent in the background works.
async fn one_works(
    later: &[ScriptedStream],
) -> (AgentFixture, std::sync::Arc<RoutedModel>, TestAgent) {
    let mut parent = vec![calls(&[background()]), words("It runs.")];
    parent.extend(later.iter().cloned());
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let (fixture, model) =
        scripted(fixture, &[("PARENT", &parent), ("CHILD", &[blocked("b1"), words("Found.")])]);
    let mut agent = open(&fixture).await;
    assert_eq!(agent.turn("PARENT").await, TurnOutcome::Answered);
    commands_begin(&fixture, &["b1"]).await;
    (fixture, model, agent)
}

/// Complaint 2: what an agent spends is seen while it runs, also where its parent does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_in_the_background_spends_is_on_record_while_it_works() {
    let mut first = blocked("b1");
    first.insert(0, usage(5_000));
    let (fixture, _) = scripted(
        AgentFixture::in_mode(PermissionMode::Yolo),
        &[
            ("PARENT", &[calls(&[background()]), words("It runs."), words("It has ended.")]),
            ("CHILD", &[first, words("Found.")]),
        ],
    );
    let mut agent = open(&fixture).await;
    agent.send("PARENT").await;
    let is_paid = |event: &AgentEvent| match event {
        AgentEvent::Recorded(record) => record.entry.as_message().is_some_and(|it| {
            it.source == RequestSource::Agent && it.usage.is_some_and(|usage| usage.input == 5_000)
        }),
        _ => false,
    };
    if !agent.events.iter().any(is_paid) {
        agent.wait_for("what was spent", is_paid).await;
    }
    assert!(stands(&agent, "c1").state.is_running());
    fixture.processes.release();
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_the_end_of_an_agent_get_its_number_and_its_type() {
    let call = start("c1", "CHILD", &json!({"subagent_type": "explore"}));
    let (fixture, _) = scripted(
        AgentFixture::new(),
        &[("PARENT", &[calls(&[call]), words("Done.")]), ("CHILD", &[words("Report.")])],
    );
    let hook = |matcher: &str, command: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
    let hooks = [hook("explore", "count"), hook("review", "other")];
    fixture.settings(&json!({"hooks": {"SubagentStop": hooks}}));
    let mut agent = open(&fixture).await;
    agent.turn("PARENT").await;
    let child = stands(&agent, "c1");
    let ran = async {
        while fixture.hooks.run().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ran).await.expect("no hook runs");
    agent.close().await;
    let inputs = fixture.hooks.inputs();
    let [(command, input)] = &inputs[..] else { panic!("{inputs:?}") };
    assert_eq!(command, "count");
    assert_eq!(input["agent_type"], "explore");
    assert_eq!(input["agent_id"], child.agent.to_string());
    assert_eq!(input["session_id"], child.session.unwrap().to_string());
}

/// Each agent knows the file as it has read it; the one that changes it second is told.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_agents_that_change_the_same_file_the_second_is_told() {
    let edit = |id, to: &str| {
        let input = json!({"file_path": "f", "old_string": "one", "new_string": to});
        calls(&[(id, "Edit", input)])
    };
    let read = |id| calls(&[(id, "Read", json!({"file_path": "f"}))]);
    let all = [start("c1", "CHILD one", &json!({})), start("c2", "CHILD two", &json!({}))];
    let (fixture, _) = scripted(
        AgentFixture::in_mode(PermissionMode::Yolo),
        &[
            ("PARENT", &[calls(&all), words("Done.")]),
            ("CHILD one", &[read("r1"), blocked("b1"), edit("e1", "A"), words("One.")]),
            ("CHILD two", &[read("r2"), blocked("b2"), edit("e2", "B"), words("Two.")]),
        ],
    );
    fixture.put("f", "one\n");
    let mut agent = open(&fixture).await;
    agent.send("PARENT").await;
    commands_begin(&fixture, &["b1", "b2"]).await;
    fixture.processes.release();
    let is_end = |event: &AgentEvent| matches!(event, AgentEvent::Subagent(it) if it.state == SubagentState::Done);
    agent.wait_for("end of the first", is_end).await;
    let first = fixture.read("f");
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let second = if first == "A\n" { "c2" } else { "c1" };
    let told = log_of(&fixture, &stands(&agent, second));
    let told = told.iter().any(|record| {
        record.entry.as_message().is_some_and(|message| {
            serde_json::to_string(&message.content).unwrap().contains("has changed since you read")
        })
    });
    assert!(told, "{first}");
    assert_eq!(fixture.read("f"), first, "the change of the first is still there");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_reaches_a_parent_that_was_compacted_meanwhile() {
    let long = |part: &str| {
        let lines: String = (0..800).map(|at| format!("{part} {at} of the answer.\n")).collect();
        words(&lines)
    };
    let (summary, seen) = (words(SUMMARY), words("It has reported."));
    let later = [long("Line"), long("Row"), long("Item"), summary.clone(), summary, seen];
    let (fixture, model, mut agent) = one_works(&later).await;
    for _ in 0..3 {
        agent.turn("tell me more").await;
    }
    agent.tell(AgentCommand::Compact { focus: None }).await;
    let compacted = |event: &AgentEvent| matches!(event, AgentEvent::Recorded(record) if matches!(record.entry, LogEntry::Compaction(_)));
    agent.wait_for("compaction", compacted).await;
    agent.wait_for_turn_end().await;
    fixture.processes.release();
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let notes = notes(&model);
    assert!(notes.len() == 1 && notes[0].contains("Found."), "{notes:?}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_rewound_while_an_agent_works() {
    let (fixture, _, mut agent) = one_works(&[words("It has reported.")]).await;
    agent.tell(AgentCommand::PlanRewind(RewindDestination::Last)).await;
    let is_plan = |event: &AgentEvent| matches!(event, AgentEvent::RewindPlanned(_));
    let planned = agent.wait_for("plan", is_plan).await;
    let AgentEvent::RewindPlanned(planned) = planned else { unreachable!() };
    let refused = RewindError::AgentsRunning("general: do CHILD".to_owned());
    assert_eq!(planned.unwrap_err(), refused);
    fixture.processes.release();
    agent.wait_for_turn_end().await;
    agent.tell(AgentCommand::PlanRewind(RewindDestination::Last)).await;
    let planned = agent.wait_for("plan", is_plan).await;
    assert!(matches!(planned, AgentEvent::RewindPlanned(Ok(_))), "{planned:?}");
    agent.close().await;
}

/// Complaint 5: nothing is told as done that is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_and_another_session_end_the_agents_of_the_one_that_is_left() {
    let (fixture, model, mut agent) = one_works(&[words("I see.")]).await;
    let (left, child) = (agent.id(), stands(&agent, "c1"));
    agent.tell(AgentCommand::Fork { session: left, at: ForkPosition::End }).await;
    agent.wait_for("fork", |event| matches!(event, AgentEvent::Forked { .. })).await;
    assert_ne!(agent.id(), left);
    let ended = log_of(&fixture, &child);
    assert!(matches!(ended.last().unwrap().entry, LogEntry::TurnEnd(_)), "{ended:#?}");
    assert!(agent.agent.children.commands(child.agent).is_none());
    agent.turn("and now?").await;
    let notes = notes(&model);
    assert!(notes.len() == 1 && notes[0].contains("or this session was left"), "{notes:?}");
    agent.close().await;
}

/// Complaint 7: what a kill leaves behind is not running. The logs are read as they lie there.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_an_agent_is_interrupted_in_its_own_log_and_for_its_parent() {
    let (killed, _, agent) = one_works(&[]).await;
    let child = stands(&agent, "c1");
    let fixture = AgentFixture { work: killed.work.clone(), ..AgentFixture::new() };
    let (from, to) = (killed.home.join("sessions"), fixture.home.join("sessions"));
    std::fs::create_dir_all(&to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if file.path().extension().is_some_and(|it| it == "jsonl") {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let (fixture, model) = scripted(
        fixture,
        &[("PARENT", &[words("I see.")]), ("CHILD", &[words("I had only looked.")])],
    );
    let mut resumed = fixture.open(InitialSession::Resume(agent.id())).await;
    resumed.turn("and now?").await;
    let notes = notes(&model);
    assert!(notes.len() == 1 && notes[0].contains("Interrupted when slug ended"), "{notes:?}");
    resumed.close().await;
    // Its own session can be opened and says what it was doing.
    let mut resumed = fixture.open(InitialSession::Resume(child.session.unwrap())).await;
    assert_eq!(resumed.turn("what did you do?").await, TurnOutcome::Answered);
    let last = model.requests_with("CHILD").pop().unwrap();
    let told = whole_text(&last.messages);
    assert!(told.contains("Interrupted: this call has no result."), "{told}");
    resumed.close().await;
    killed.processes.release();
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_change_what_another_agents_command_was_judged_by_waits_for_it() {
    let read = json!({"command": "block && cat a.txt"});
    let write = json!({"file_path": "new.txt", "content": "x"});
    for (name, input) in [("Bash", json!({"command": "git checkout b"})), ("Write", write)] {
        let parent = [
            calls(&[background()]),
            words("It runs."),
            calls(&[("g", name, input)]),
            words("Yes."),
        ];
        let child = [calls(&[("b1", "Bash", read.clone())]), words("Found.")];
        let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
        fixture.put("a.txt", "text");
        let (fixture, _) = scripted(fixture, &[("PARENT", &parent), ("CHILD", &child)]);
        let mut agent = open(&fixture).await;
        assert_eq!(agent.turn("PARENT").await, TurnOutcome::Answered);
        commands_begin(&fixture, &["&& cat a.txt"]).await;
        agent.send("go on").await;
        let call = |event: &AgentEvent| matches!(event, AgentEvent::CallStarted { name: it, .. } if it == name);
        agent.wait_for("the call", call).await;
        let has_run = || {
            let log = fixture.processes.log();
            log.iter().any(|it| it.starts_with("begin git"))
                || fixture.work.join("new.txt").exists()
        };
        for _ in 0..100 {
            assert!(!has_run(), "{name} ran beside the command");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fixture.processes.release();
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        assert!(has_run(), "{name}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_can_do_anything_run_beside_each_other() {
    let build = json!({"command": "block build"});
    let parent = [
        calls(&[background()]),
        words("It runs."),
        calls(&[("g", "Bash", json!({"command": "git checkout b"}))]),
        words("Yes."),
    ];
    let child = [calls(&[("b1", "Bash", build)]), words("Found.")];
    let (fixture, _) = scripted(
        AgentFixture::in_mode(PermissionMode::Yolo),
        &[("PARENT", &parent), ("CHILD", &child)],
    );
    let mut agent = open(&fixture).await;
    assert_eq!(agent.turn("PARENT").await, TurnOutcome::Answered);
    commands_begin(&fixture, &["build"]).await;
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    fixture.processes.release();
    agent.close().await;
}
