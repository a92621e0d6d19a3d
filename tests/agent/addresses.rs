//! Commands and events name their agent, so two agents in one process do not mix.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use slug_code::agent::{
    AddressedEvent, AgentCommand, AgentEvent, AgentEventReceiver, AgentHandle, CommandRefusal,
    InitialSession, event_queue, spawn_into,
};
use slug_code::domain::{AgentId, ApprovalAnswer, CallId, TurnId};
use slug_code::session::{LogEntry, TurnOutcome};
use tokio::time::timeout;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies, turn_end};

/// Two agents in folders of their own that tell one front end.
struct TwoAgents {
    fixtures: [AgentFixture; 2],
    agents: [AgentHandle; 2],
    events: AgentEventReceiver,
    told: BTreeMap<AgentId, Vec<AgentEvent>>,
}

impl TwoAgents {
    fn start() -> Self {
        let fixtures = [AgentFixture::new(), AgentFixture::new()];
        let (first, events) = event_queue(AgentId::generate());
        let second = first.for_agent(AgentId::generate());
        let spawn = |at: usize, outbox| {
            spawn_into(fixtures[at].setup(Vec::new()), InitialSession::New, outbox)
        };
        let agents = [spawn(0, first), spawn(1, second)];
        Self { fixtures, agents, events, told: BTreeMap::new() }
    }

    async fn next(&mut self) -> AddressedEvent {
        let next = timeout(Duration::from_secs(60), self.events.recv()).await;
        let next = next.unwrap_or_else(|_| panic!("nothing more came after {:#?}", self.told));
        let next = next.expect("the agents are gone");
        self.told.entry(next.agent).or_default().push(next.event.clone());
        next
    }

    async fn tell(&self, at: usize, command: AgentCommand) {
        let agent = &self.agents[at];
        agent.commands.send(command.to(agent.id)).await.unwrap();
    }

    /// The text that an agent has streamed.
    fn text(&self, at: usize) -> String {
        let text = |event: &AgentEvent| match event {
            AgentEvent::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.told[&self.agents[at].id].iter().filter_map(text).collect()
    }

    async fn close(self) {
        let Self { agents, events, .. } = self;
        drop(events);
        for AgentHandle { commands, task, .. } in agents {
            drop(commands);
            timeout(Duration::from_secs(60), task).await.expect("it does not end").unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_of_one_process_mix_neither_commands_nor_events() {
    let mut two = TwoAgents::start();
    let answers = ["the roof leaks", "the door creaks"];
    for (fixture, answer) in two.fixtures.iter().zip(answers) {
        // The same ids of turn and call in both.
        let call = ("c1", "Bash", json!({"command": "touch x"}));
        queue_replies(fixture, [calls(&[call]), words(answer)]);
    }
    for at in 0..2 {
        two.tell(at, AgentCommand::Send { text: "go".into() }).await;
    }
    let mut questions = BTreeMap::new();
    while questions.len() < 2 {
        let AddressedEvent { agent, event } = two.next().await;
        if let AgentEvent::ApprovalAsked(question) = event {
            assert_eq!((question.turn, &question.call), (TurnId(1), &CallId::new("c1")));
            questions.insert(agent, question.id);
        }
    }
    let ids = two.agents.each_ref().map(|agent| agent.id);
    assert_ne!(questions[&ids[0]], questions[&ids[1]]);

    // An answer that goes to the wrong agent, under either name, runs nothing.
    let wrong = AgentCommand::Answer { id: questions[&ids[0]], answer: ApprovalAnswer::Once };
    two.tell(1, wrong.clone()).await;
    two.agents[1].commands.send(wrong.to(ids[0])).await.unwrap();
    loop {
        let AddressedEvent { agent, event } = two.next().await;
        if let AgentEvent::CommandRefused(refusal) = event {
            assert_eq!((agent, refusal), (ids[1], CommandRefusal::OtherAgent(ids[0])));
            break;
        }
    }
    assert!(two.fixtures.iter().all(|fixture| fixture.processes.log().is_empty()));

    let no = ApprovalAnswer::Deny { instruction: None };
    two.tell(0, AgentCommand::Answer { id: questions[&ids[0]], answer: ApprovalAnswer::Once })
        .await;
    two.tell(1, AgentCommand::Answer { id: questions[&ids[1]], answer: no }).await;
    let mut ended = 0;
    while ended < 2 {
        if let Some((_, outcome)) = turn_end(&two.next().await.event) {
            assert_eq!(*outcome, TurnOutcome::Answered);
            ended += 1;
        }
    }
    assert_eq!([two.text(0), two.text(1)], answers);
    let ran = two.fixtures.each_ref().map(|fixture| fixture.processes.log().is_empty());
    assert_eq!(ran, [false, true], "only the call that was allowed has run");
    for (at, answer) in answers.into_iter().enumerate() {
        let texts = two.told[&ids[at]].iter().filter_map(|event| match event {
            AgentEvent::Recorded(record) => match &record.entry {
                LogEntry::Message(message) => Some(message.message().text()),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(texts.filter(|text| text.contains("the ")).collect::<Vec<_>>(), [answer]);
    }
    two.close().await;
}
