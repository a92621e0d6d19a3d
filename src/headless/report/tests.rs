//! What a script reads, event by event.

use chrono::DateTime;
use serde_json::{Value, json};

use super::*;
use crate::domain::{CallId, CallInput, ContextWindow, EntryId, JobEnd, JobInfo, Message, testing};
use crate::session::TurnEnd;

fn recorded(entry: LogEntry) -> AgentEvent {
    AgentEvent::Recorded(Arc::new(LogRecord {
        id: EntryId::generate(),
        timestamp: DateTime::UNIX_EPOCH,
        turn: TurnId(1),
        entry,
    }))
}

fn response(text: &str) -> AgentEvent {
    let mut entry = MessageEntry::new(Message {
        role: MessageRole::Assistant,
        content: vec![ContentBlock::Text { text: text.into() }],
    });
    entry.stop_reason = Some(StopReason::EndTurn);
    recorded(LogEntry::Message(entry))
}

fn ended(outcome: TurnOutcome) -> AgentEvent {
    recorded(LogEntry::TurnEnd(TurnEnd::of(outcome)))
}

fn play(format: OutputFormat, events: &[AgentEvent]) -> (HeadlessReport, Vec<String>, Vec<String>) {
    play_to(format, events, &RunEnd::default())
}

fn play_to(
    format: OutputFormat,
    events: &[AgentEvent],
    end: &RunEnd,
) -> (HeadlessReport, Vec<String>, Vec<String>) {
    let facts =
        RunFacts { version: "1.2.3", cwd: "/w".into(), tools: vec!["Read".into(), "Bash".into()] };
    let mut report = HeadlessReport::new(format, facts);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut lines: ReportLines = events.iter().flat_map(|event| report.take(event)).collect();
    if report.is_over() {
        lines.extend(report.finish(end));
    }
    for (stream, line) in lines {
        match stream {
            ReportStream::Out => out.push(line),
            ReportStream::Err => err.push(line),
        }
    }
    (report, out, err)
}

#[test]
fn text_is_the_last_answer_alone() {
    let events = [response("looking"), response("here"), ended(TurnOutcome::Answered)];
    let (report, out, err) = play(OutputFormat::Text, &events);
    assert_eq!((out, err), (vec!["here".to_owned()], vec![]));
    assert_eq!(report.exit(), CliExitStatus::Answered);
}

#[test]
fn the_pieces_of_an_answer_that_was_cut_off_are_one() {
    let cut = |text: &str| match response(text) {
        AgentEvent::Recorded(record) => {
            let mut record = Arc::unwrap_or_clone(record);
            if let LogEntry::Message(entry) = &mut record.entry {
                entry.stop_reason = Some(StopReason::MaxTokens);
            }
            AgentEvent::Recorded(Arc::new(record))
        }
        other => other,
    };
    let ended = ended(TurnOutcome::Answered);
    let events = [response("looking"), cut("one t"), cut("wo thr"), response("ee"), ended];
    let (_, out, _) = play(OutputFormat::Text, &events);
    assert_eq!(out, ["one two three"]);
}

#[test]
fn every_retry_is_reported_with_its_number() {
    use crate::providers::RateLimited;
    use crate::providers::retry::RetryAttempt;
    let pause = Duration::from_millis(1500);
    let (turn, reason) = (TurnId(1), "Busy.".to_owned());
    let again = Some(RetryAttempt { pause, number: 2, of: 10 });
    let held = RateLimited { wait: pause, reason: "Slow down.".to_owned() };
    let events = [
        AgentEvent::ResponseDropped { turn, reason: reason.clone(), again },
        AgentEvent::ResponseDropped { turn, reason, again: None },
        AgentEvent::RequestRateLimited { turn, held },
    ];
    let (_, out, err) = play(OutputFormat::StreamJson, &events);
    assert_eq!(err, ["Busy. Trying again in 1.5 s (2 of 10).", "Slow down. Waiting 1.5 s."]);
    let lines: Vec<Value> = out.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let retry = json!({"type": "retry", "reason": "Busy.", "wait_ms": 1500, "number": 2,
        "of": 10});
    let held = json!({"type": "held", "reason": "Slow down.", "wait_ms": 1500});
    assert_eq!(lines, [retry, held]);
}

#[test]
fn a_failure_goes_to_standard_error_and_exits_with_one() {
    let events = [ended(TurnOutcome::Failed("No server answers.".into()))];
    let (report, out, err) = play(OutputFormat::Text, &events);
    assert_eq!((out, err), (vec![], vec!["No server answers.".to_owned()]));
    assert_eq!(report.exit(), CliExitStatus::Failed);
}

#[test]
fn refused_calls_are_listed_and_exit_with_four() {
    let call = ToolCall {
        id: CallId::new("c"),
        name: "Bash".into(),
        input: CallInput::Valid(json!({"command": "rm x"})),
    };
    let events = [
        AgentEvent::CallRefused { call, reason: "nobody to ask".into() },
        response("could not"),
        ended(TurnOutcome::Answered),
    ];
    let (report, out, _) = play(OutputFormat::Json, &events);
    assert_eq!(report.exit(), CliExitStatus::Refused);
    let result: Value = serde_json::from_str(&out[0]).unwrap();
    assert_eq!(result["exit"], 4);
    assert_eq!(result["refused"][0]["call"]["input"]["command"], "rm x");
}

#[test]
fn refused_calls_are_reported_in_every_format() {
    for format in [OutputFormat::Text, OutputFormat::Json, OutputFormat::StreamJson] {
        let call = ToolCall {
            id: CallId::new("c"),
            name: "Bash".into(),
            input: CallInput::Valid(json!({"command": "rm x"})),
        };
        let refused =
            AgentEvent::CallRefused { call, reason: "The rule Bash(rm *) denies it.".into() };
        let (_, out, err) = play(format, &[refused, ended(TurnOutcome::Answered)]);
        assert_eq!(err, ["Refused Bash: The rule Bash(rm *) denies it."]);
        if format != OutputFormat::Text {
            let result: Value = serde_json::from_str(out.last().unwrap()).unwrap();
            assert_eq!(result["refused"][0]["reason"], "The rule Bash(rm *) denies it.");
        }
    }
}

#[test]
fn the_event_stream_is_one_object_a_line_and_ends_with_the_result() {
    let session = SessionId::generate();
    let events = [
        AgentEvent::SessionOpened { session, records: Arc::default() },
        response("hi"),
        ended(TurnOutcome::Answered),
    ];
    let (_, out, _) = play(OutputFormat::StreamJson, &events);
    let kinds: Vec<String> = out
        .iter()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            value["type"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(kinds, ["session", "message", "result"]);
}

fn model_is(model: &str) -> AgentEvent {
    AgentEvent::ModelChanged {
        model: ModelName::new("local", model),
        effort: None,
        window: ContextWindow::Served(8192),
        local: true,
    }
}

#[test]
fn the_first_line_says_what_runs_and_waits_for_the_model() {
    let session = SessionId::generate();
    let opened = AgentEvent::SessionOpened { session, records: Arc::default() };
    let mode = AgentEvent::ModeChanged(PermissionMode::AllowEdits);
    let first = |model: Value, provider: Value| {
        json!({"type": "session", "id": session, "version": "1.2.3", "cwd": "/w",
            "provider": provider, "model": model, "mode": "allow-edits",
            "tools": ["Read", "Bash"]})
    };
    let known = first(json!("m"), json!("local"));
    for (events, line) in [
        (vec![mode.clone(), model_is("m"), opened.clone()], known.clone()),
        (vec![mode.clone(), opened.clone(), model_is("m")], known),
        (
            vec![mode, opened.clone(), ended(TurnOutcome::Interrupted)],
            first(Value::Null, Value::Null),
        ),
    ] {
        let (_, out, _) = play(OutputFormat::StreamJson, &events);
        assert_eq!(serde_json::from_str::<Value>(&out[0]).unwrap(), line, "{events:?}");
    }
    let text = "The server offers several models.".to_owned();
    let notice = AgentEvent::Notice { level: NoticeLevel::Info, text: text.clone() };
    let (_, out, err) = play(OutputFormat::StreamJson, &[opened.clone(), notice.clone()]);
    assert_eq!((out, err), (vec![], vec![text]), "not before the model is known");
    let (_, out, _) = play(OutputFormat::StreamJson, &[opened, notice, model_is("m")]);
    assert!(out.len() == 2 && out[0].contains(r#""model":"m""#), "{out:?}");
}

#[test]
fn the_result_has_the_figures_of_the_run() {
    let calls = {
        let mut message = MessageEntry::new(Message {
            role: MessageRole::Assistant,
            content: vec![ContentBlock::ToolUse(ToolCall {
                id: CallId::new("c"),
                name: "Read".into(),
                input: CallInput::Valid(json!({})),
            })],
        });
        message.stop_reason = Some(StopReason::ToolUse);
        recorded(LogEntry::Message(message))
    };
    let job = |id, command: &str| {
        AgentEvent::JobStarted(JobInfo { id: JobId(id), command: command.into() })
    };
    let events = [
        model_is("m"),
        job(1, "make"),
        job(2, "serve"),
        calls.clone(),
        AgentEvent::JobEnded { job: JobId(1), end: JobEnd::Lost },
        // The calls behind the last round are not run, and are no round.
        calls,
        response("done"),
        recorded(LogEntry::TurnEnd(TurnEnd { rounds: 1, ..TurnEnd::of(TurnOutcome::Answered) })),
    ];
    let delta = |name: &str, lines| FileDelta { name: name.into(), lines };
    let end = RunEnd {
        elapsed: Duration::from_millis(1234),
        files: vec![delta("a.rs", Some((3, 1))), delta("b.png", None)],
        background: vec!["sleep 300 &\necho ok".into()],
    };
    let (_, out, err) = play_to(OutputFormat::Json, &events, &end);
    let named = ["serve", "sleep 300 & echo ok"];
    assert_eq!(err, named.map(|command| format!("Still running, and ended now: {command}")));
    let result: Value = serde_json::from_str(&out[0]).unwrap();
    for (key, value) in [
        ("rounds", json!(1)),
        ("turns", json!(0)),
        ("duration_ms", json!(1234)),
        ("provider", json!("local")),
        ("model", json!("m")),
        ("stop_reason", json!("end_turn")),
        (
            "files",
            json!([{"path": "a.rs", "added": 3, "removed": 1},
                   {"path": "b.png", "added": null, "removed": null}]),
        ),
        ("background", json!(["serve", "sleep 300 &\necho ok"])),
        ("error", Value::Null),
    ] {
        assert_eq!(result[key], value, "{key}");
    }
}

#[test]
fn a_run_whose_time_is_up_exits_with_three_unless_it_answered() {
    for (outcome, exit, kind) in [
        (Some(TurnOutcome::Interrupted), CliExitStatus::Limit, json!("timeout")),
        (None, CliExitStatus::Limit, json!("timeout")),
        (Some(TurnOutcome::Answered), CliExitStatus::Answered, Value::Null),
        (Some(TurnOutcome::Failed("No.".into())), CliExitStatus::Failed, json!("failed")),
    ] {
        let mut report = HeadlessReport::new(OutputFormat::Json, RunFacts::default());
        report.stop_for_time();
        if let Some(event) = outcome.clone().map(ended) {
            assert_eq!(report.take(&event), []);
        }
        let lines = report.finish(&RunEnd::default());
        let (_, result) = lines.last().unwrap();
        let result: Value = serde_json::from_str(result).unwrap();
        assert_eq!((report.exit(), &result["error"]["kind"]), (exit, &kind), "{outcome:?}");
        assert_eq!(result["exit"], exit.code());
    }
}

fn an_agent(state: SubagentState, tool_calls: u32) -> SubagentSummary {
    SubagentSummary { tool_calls, tokens: 900, elapsed_ms: 1_500, ..testing::subagent(state) }
}

#[test]
fn what_was_refused_to_an_agent_counts_for_the_exit_status() {
    let agent = AgentEvent::Subagent(Box::new(SubagentSummary {
        refused_calls: 2,
        ..an_agent(SubagentState::Done, 5)
    }));
    let events = [agent, ended(TurnOutcome::Answered)];
    let (report, out, err) = play(OutputFormat::Json, &events);
    assert_eq!(report.exit(), CliExitStatus::Refused);
    let told = "Agent 7 (explore: find the callers) is done. 2 calls not permitted.";
    assert!(err.iter().any(|line| line == told), "{err:?}");
    let result: Value = serde_json::from_str(out.last().unwrap()).unwrap();
    assert_eq!((&result["refused_to_agents"], &result["exit"]), (&json!(2), &json!(4)));
}

#[test]
fn each_line_of_an_agent_has_its_number_and_its_end_is_told_once() {
    let agent = |state, tool_calls| AgentEvent::Subagent(Box::new(an_agent(state, tool_calls)));
    let (running, silent) = (SubagentState::Running, SubagentState::Silent);
    let events =
        [agent(running, 0), agent(running, 1), agent(silent, 1), ended(TurnOutcome::Answered)];
    let (_, out, err) = play(OutputFormat::StreamJson, &events);
    let lines: Vec<Value> = out.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_it: Vec<&Value> = lines.iter().filter(|line| line["type"] == "agent").collect();
    assert_eq!(of_it.len(), 3);
    for line in &of_it {
        assert_eq!((&line["agent"], &line["call"]), (&json!(7), &json!("c1")), "{line}");
    }
    assert_eq!(of_it[2]["state"], "silent");
    let told: Vec<&String> = err.iter().filter(|line| line.contains("find the callers")).collect();
    assert_eq!(
        told,
        [
            "Agent 7 (explore: find the callers) is running.",
            "Agent 7 (explore: find the callers) is silent."
        ]
    );
}
