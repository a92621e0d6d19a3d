//! Jobs of a session: they outlive the turn that started them, and end by hand or with the session.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, AgentSetup, InitialSession};
use slug_code::domain::{
    FollowedJobs, FollowedOutput, JobEnd, JobId, JobInfo, PermissionMode, ToolAccess,
    ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};
use slug_code::platform::environment::EnvironmentRules;
use slug_code::session::TurnOutcome;
use slug_code::tools::{
    ExitCause, JobBelongings, JobOutput, JobSpec, JobStarter, JobStreams, PrintedOutput,
    SessionJob, Tool, ToolContext, ToolError, ToolPart, ToolRegistry, WorkingDirectory,
};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};
use crate::support::process_host::process_host;

/// A job, and what it was started with.
type StartedTestJob = (SessionJob, Arc<dyn JobStarter>);

/// Starts its command as a job, and hands the job to the test.
#[derive(Clone, Default)]
struct BackgroundTool {
    started: Arc<Mutex<Vec<StartedTestJob>>>,
}

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in("Background", ToolKind::Execute, ToolCapability::RunCommands);

#[async_trait]
impl Tool for BackgroundTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Background".into(),
            description: "Starts a job.".into(),
            input_schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        }
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let command = input["command"].as_str().unwrap().to_owned();
        Ok(vec![ToolAccess::foreground(command, place.cwd.clone())])
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let job = context.jobs.start(spec(&input, &context.place.cwd)).await?;
        assert!(context.jobs.find(job.id).is_some());
        let text = format!("started job {}", job.id.0);
        self.started.lock().unwrap().push((job, context.jobs.clone()));
        Ok(ToolOutput::text(text))
    }
}

fn spec(input: &Value, cwd: &Path) -> JobSpec {
    JobSpec {
        text: input["command"].as_str().unwrap().to_owned(),
        cwd: cwd.to_owned(),
        streams: JobStreams::Pipes,
        search_path: None,
        scratch: None,
        time_limit: None,
        belongings: JobBelongings::default(),
    }
}

struct JobFixture {
    fixture: AgentFixture,
    tool: BackgroundTool,
}

impl JobFixture {
    fn new() -> Self {
        let host = process_host(std::env::vars_os(), &EnvironmentRules::default());
        let fixture = AgentFixture {
            sandbox: Some(Arc::new(host)),
            ..AgentFixture::in_mode(PermissionMode::Yolo)
        };
        Self { fixture, tool: BackgroundTool::default() }
    }

    async fn open(&self) -> TestAgent {
        let part = ToolPart { source: "a test".into(), tools: vec![Arc::new(self.tool.clone())] };
        let registry = Arc::new(ToolRegistry::from_parts(vec![part]).unwrap());
        let setup = AgentSetup { registry, ..self.fixture.setup(Vec::new()) };
        self.fixture.open_setup(setup, InitialSession::New).await
    }

    /// Runs a turn in which the model starts this command as a job.
    async fn start(&self, agent: &mut TestAgent, command: &str) -> (JobInfo, SessionJob) {
        let call = ("c", "Background", json!({"command": command}));
        queue_replies(&self.fixture, [calls(&[call]), words("It runs.")]);
        agent.send("start it").await;
        let started = agent.wait_for("a job", |it| matches!(it, AgentEvent::JobStarted(_))).await;
        let AgentEvent::JobStarted(info) = started else { unreachable!() };
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        let job = self.tool.started.lock().unwrap().last().unwrap().0.clone();
        assert_eq!(job.id, info.id);
        (info, job)
    }
}

async fn wait_for_end(agent: &mut TestAgent, job: JobId) -> JobEnd {
    let is_it = |event: &AgentEvent| matches!(event, AgentEvent::JobEnded { job: ended, .. } if *ended == job);
    match agent.wait_for("end of a job", is_it).await {
        AgentEvent::JobEnded { end, .. } => end,
        event => panic!("{event:?}"),
    }
}

/// All that is kept of an output, with the number of bytes in each gap.
async fn printed(output: &dyn JobOutput) -> (String, u64) {
    let (mut text, mut gap, mut from) = (Vec::new(), 0, 0);
    loop {
        let piece = output.follow(from).await.unwrap();
        text.extend(piece.bytes);
        gap += piece.skipped;
        if piece.is_last {
            return (String::from_utf8(text).unwrap(), gap);
        }
        from = piece.next;
    }
}

/// The output of a job that has no terminal.
fn stream(job: &SessionJob) -> Arc<dyn JobOutput> {
    match &job.output {
        PrintedOutput::Stream(output) => Arc::clone(output),
        PrintedOutput::Terminal(_) => panic!("it is on a terminal"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_outlives_its_turn_until_the_user_ends_it() {
    let fixture = JobFixture::new();
    let mut agent = fixture.open().await;
    let text = "while read line; do echo \"got $line\"; done";
    let (info, job) = fixture.start(&mut agent, text).await;
    assert_eq!(info.command, text);
    assert!(agent.result("c").0.contains(&format!("started job {}", info.id.0)));

    queue_replies(&fixture.fixture, [words("Still there.")]);
    assert_eq!(agent.turn("another turn").await, TurnOutcome::Answered);
    job.process.write(b"one\n").await.unwrap();
    assert_eq!(stream(&job).follow(0).await.unwrap().bytes, b"got one\n");

    agent.tell(AgentCommand::EndJob { job: JobId(u64::MAX) }).await;
    agent.tell(AgentCommand::EndJob { job: info.id }).await;
    let end = wait_for_end(&mut agent, info.id).await;
    assert_eq!(end, JobEnd::Exited(ExitCause::Cancelled));
    assert_eq!(printed(&*stream(&job)).await.0, "got one\n");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_by_itself_is_told_and_can_still_be_read() {
    let fixture = JobFixture::new();
    let mut agent = fixture.open().await;
    let (info, job) = fixture.start(&mut agent, "read line; echo over; exit 3").await;
    job.process.close_input().await;
    let end = wait_for_end(&mut agent, info.id).await;
    assert_eq!(end, JobEnd::Exited(ExitCause::Code(3)));
    let starter = fixture.tool.started.lock().unwrap()[0].1.clone();
    let found = starter.find(info.id).unwrap();
    assert_eq!(printed(&*stream(&found)).await, ("over\n".to_owned(), 0));
    // Of the jobs that have ended, only the last ones are known.
    for _ in 0..16 {
        let (info, _) = fixture.start(&mut agent, "true").await;
        if !agent
            .events
            .iter()
            .any(|it| matches!(it, AgentEvent::JobEnded { job, .. } if *job == info.id))
        {
            wait_for_end(&mut agent, info.id).await;
        }
    }
    assert!(starter.find(info.id).is_none());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_ends_with_its_session() {
    let fixture = JobFixture::new();
    let mut agent = fixture.open().await;
    let (first, job) = fixture.start(&mut agent, "exec sleep 1000").await;
    agent.tell(AgentCommand::NewSession).await;
    let end = wait_for_end(&mut agent, first.id).await;
    assert_eq!(end, JobEnd::Exited(ExitCause::Cancelled));
    assert!(job.process.ended().is_some());
    // What is told before the new session is open vanishes with the old one.
    let is_told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text == "The job `exec sleep 1000` ended with the session.");
    if !agent.events.iter().any(is_told) {
        agent.wait_for("notice", is_told).await;
    }
    let opened = agent.events.iter().rposition(|it| matches!(it, AgentEvent::SessionOpened { .. }));
    assert!(agent.events.iter().position(is_told) > opened, "{:?}", agent.events);
    // A call that goes on after its session was left starts nothing there.
    let late = fixture.tool.started.lock().unwrap()[0].1.clone();
    let input = json!({"command": "exec sleep 1000"});
    let Err(error) = late.start(spec(&input, &fixture.fixture.work)).await else {
        panic!("a job was started in a session that was left")
    };
    assert!(error.to_string().contains("the session was left"), "{error}");
    assert!(late.find(first.id).is_none());

    let (_, job) = fixture.start(&mut agent, "exec sleep 1000").await;
    agent.close().await;
    let began = Instant::now();
    while job.process.ended().is_none() {
        assert!(began.elapsed() < Duration::from_secs(20), "it outlives its agent");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_and_the_last_megabytes_of_a_job_are_kept() {
    let fixture = JobFixture::new();
    let mut agent = fixture.open().await;
    let text = "echo first; head -c 12000000 /dev/zero | tr '\\0' x; echo last";
    let (_, job) = fixture.start(&mut agent, text).await;
    assert_eq!(job.process.wait().await, JobEnd::Exited(ExitCause::Code(0)));
    let (kept, gap) = printed(&*stream(&job)).await;
    assert!(kept.starts_with("first\nxxx") && kept.ends_with("xxxlast\n"));
    assert_eq!(job.output.length(), 12_000_011);
    assert_eq!((kept.len() as u64, gap), (10 << 20, 12_000_011 - (10 << 20)));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s100_slugs_own_key_is_in_no_output_of_a_job() {
    let fixture = JobFixture::new();
    fixture.fixture.redactor.learn_key("work", &SecretString::from("CANARY-0123456789"));
    let mut agent = fixture.open().await;
    let text = "read a; printf 'it is CANARY-01'; read b; printf '23456789'; read c; echo .; \
                read d; echo LATER-0123456789";
    let (info, job) = fixture.start(&mut agent, text).await;
    for (line, length) in [("a\n", 6), ("b\n", 6), ("c\n", 39)] {
        job.process.write(line.as_bytes()).await.unwrap();
        // A part of a key is held back until more comes.
        let began = Instant::now();
        while job.output.length() < length {
            assert!(began.elapsed() < Duration::from_secs(20), "{}", job.output.length());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    fixture.fixture.redactor.learn_key("new", &SecretString::from("LATER-0123456789"));
    job.process.write(b"d\n").await.unwrap();
    assert_eq!(wait_for_end(&mut agent, info.id).await, JobEnd::Exited(ExitCause::Code(0)));
    let marks = ("[redacted: slug's key for work]", "[redacted: slug's key for new]");
    let expected = format!("it is {}.\n{}\n", marks.0, marks.1);
    assert_eq!(printed(&*stream(&job)).await.0, expected);
    let (info, _) = fixture.start(&mut agent, ": CANARY-0123456789").await;
    assert!(info.command.ends_with(&format!(" {}", marks.0)), "{}", info.command);
    agent.close().await;
}

fn follow(job: JobId) -> AgentCommand {
    AgentCommand::FollowJobs(Some(FollowedJobs { output_of: Some(job) }))
}

/// What has come of a job's output since it was followed.
fn followed(agent: &TestAgent, job: JobId) -> String {
    let parts = agent.events.iter().filter_map(|event| match event {
        AgentEvent::JobOutput(FollowedOutput::Printed { job: of, text, .. }) if *of == job => {
            Some(text.as_str())
        }
        _ => None,
    });
    parts.collect()
}

fn is_output(event: &AgentEvent, text: &str) -> bool {
    let printed = |of: &FollowedOutput| matches!(of, FollowedOutput::Printed { text: it, .. } if it.contains(text));
    matches!(event, AgentEvent::JobOutput(of) if printed(of))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_front_end_is_told_about_jobs_while_it_follows_them() {
    let fixture = JobFixture::new();
    fixture.fixture.redactor.learn_key("work", &SecretString::from("CANARY-0123456789"));
    let mut agent = fixture.open().await;
    let text = "echo it is CANARY-0123456789; while read line; do echo \"got $line\"; done; exit 3";
    let (info, job) = fixture.start(&mut agent, text).await;
    let is_told = |it: &AgentEvent| matches!(it, AgentEvent::Jobs(_) | AgentEvent::JobOutput(_));
    assert!(!agent.events.iter().any(is_told), "nobody has asked");

    agent.tell(follow(info.id)).await;
    agent.wait_for("what was printed before", |it| is_output(it, "it is")).await;
    job.process.write(b"one\n").await.unwrap();
    agent.wait_for("what is printed now", |it| is_output(it, "got one")).await;
    let told = followed(&agent, info.id);
    assert_eq!(told, "it is [redacted: slug's key for work]\ngot one\n");
    job.process.close_input().await;
    let ended = |it: &AgentEvent| matches!(it, AgentEvent::Jobs(all) if all[0].end.is_some());
    let AgentEvent::Jobs(reports) = agent.wait_for("its end", ended).await else { unreachable!() };
    let [report] = &*reports else { panic!("{reports:?}") };
    assert_eq!((&report.job, report.printed), (&info, told.len() as u64));
    assert_eq!(report.end, Some(JobEnd::Exited(ExitCause::Code(3))));
    assert_eq!(report.last_lines, told.trim_end());

    agent.tell(follow(JobId(u64::MAX))).await;
    let lost = |it: &AgentEvent| matches!(it, AgentEvent::JobOutput(FollowedOutput::Lost { .. }));
    agent.wait_for("a job that is not known", lost).await;
    agent.tell(AgentCommand::FollowJobs(None)).await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_output_the_end_is_told_and_the_rest_counted() {
    let fixture = JobFixture::new();
    let mut agent = fixture.open().await;
    let (info, job) = fixture.start(&mut agent, "seq 3000000; echo last").await;
    job.process.wait().await;
    agent.tell(follow(info.id)).await;
    agent.wait_for("the end of the output", |it| is_output(it, "\nlast\n")).await;
    let skipped: u64 = agent
        .events
        .iter()
        .map(|event| match event {
            AgentEvent::JobOutput(FollowedOutput::Printed { skipped, .. }) => *skipped,
            _ => 0,
        })
        .sum();
    let told = followed(&agent, info.id);
    assert_eq!(skipped + told.len() as u64, job.output.length());
    assert!(told.len() <= 256 << 10, "{}", told.len());
    assert!(told.lines().next().unwrap().len() == 7, "a line is not whole");
    agent.close().await;
}
