//! Sleep: waits, and ends early when there is something new to look at.
//!
//! A model that waits for what goes on elsewhere would run `sleep` in a shell, where nothing ends the wait:
//! not the end of a job, and not a message of the user.

use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::input::{ArgumentReader, InputShape};
use super::{SessionJob, Tool, ToolContext, ToolError, WorkingDirectory, stopped_output, titles};
use crate::domain::{ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec};

/// The tool whose calls let time pass, so that others may come to something else after it.
pub const SLEEP_TOOL: &str = "Sleep";

/// The longest wait, in seconds.
const LONGEST: u64 = 600;

/// Whether the user has sent a message that the model gets after the calls that run. Clones are the same
/// signal.
#[derive(Debug, Clone, Default)]
pub struct SteeringSignal(watch::Sender<bool>);

impl SteeringSignal {
    /// Says whether a message waits.
    pub fn set(&self, is_waiting: bool) {
        self.0.send_replace(is_waiting);
    }

    /// Returns as soon as a message waits.
    async fn wait(&self) {
        // The sender is here, so there is no error.
        let _ = self.0.subscribe().wait_for(|is_waiting| *is_waiting).await;
    }
}

/// Waits.
pub(super) struct SleepTool;

const SHAPE: InputShape = InputShape {
    tool: SLEEP_TOOL,
    example: r#"{"seconds": 60, "reason": "the build runs"}"#,
    arguments: &[("seconds", &["duration", "time", "wait"]), ("reason", &["description"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SLEEP_TOOL, ToolKind::Other, ToolCapability::Conversation)
        .deferred()
        .polling();

/// What ends a wait, but for the user who stops it.
enum WaitEnd<'a> {
    TimePassed,
    JobEnded(&'a SessionJob),
    MessageSent,
}

#[async_trait]
impl Tool for SleepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SLEEP_TOOL.into(),
            description: "Waits. Ends early when a job (a command in the background) ends or the \
                          user sends a message. Use it instead of the command sleep."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "seconds": {"type": "integer", "description": "at most 600"},
                    "reason": {"type": "string", "description": "what you wait for, in a few words"},
                },
                "required": ["seconds"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let seconds = seconds(input).map(|seconds| format!("{seconds} s")).unwrap_or_default();
        titles::join(&[&seconds, titles::text(input, "reason")])
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        seconds(input)?;
        Ok(vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let time = Duration::from_secs(seconds(&input)?);
        let jobs = context.jobs.all();
        // One that ended since the last request is news, too.
        let awaited = jobs.iter().filter(|job| !job.progress.is_end_told());
        let mut ends: FuturesUnordered<_> = awaited
            .map(|job| async move {
                job.process.wait().await;
                job
            })
            .collect();
        let began = Instant::now();
        let end = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Ok(stopped_output()),
            () = context.steering.wait() => WaitEnd::MessageSent,
            Some(job) = ends.next() => WaitEnd::JobEnded(job),
            () = tokio::time::sleep(time) => WaitEnd::TimePassed,
        };
        Ok(report(&end, time, began.elapsed()))
    }
}

/// How many seconds a call waits.
fn seconds(input: &Value) -> Result<u64, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    match input.number("seconds")? {
        Some(seconds @ 1..) => Ok(seconds.min(LONGEST)),
        Some(0) => Err(input.wrong("`seconds` must be 1 or more")),
        None => Err(input.wrong("`seconds` is missing")),
    }
}

fn report(end: &WaitEnd<'_>, wanted: Duration, waited: Duration) -> ToolOutput {
    let (wanted, waited) = (wanted.as_secs(), waited.as_secs());
    let (text, summary) = match end {
        WaitEnd::TimePassed => (format!("{wanted} s have passed."), "waited"),
        WaitEnd::JobEnded(job) => (
            format!(
                "Job {} ({}) has ended, after {waited} s of {wanted} s.",
                job.id.0, job.command
            ),
            "a job ended",
        ),
        WaitEnd::MessageSent => (
            format!("The user has sent a message, after {waited} s of {wanted} s. It follows."),
            "a message came",
        ),
    };
    ToolOutput::text(text).with_output(json!({"seconds": waited})).with_summary(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ToolStatus;
    use crate::tools::testing::ToolTestEnv;

    #[tokio::test]
    async fn it_waits_as_long_as_the_call_says() {
        let env = ToolTestEnv::new();
        let began = Instant::now();
        let output = env.run(&SleepTool, json!({"duration": "1"})).await.unwrap();
        assert_eq!(output.observation, "1 s have passed.");
        assert!(began.elapsed() >= Duration::from_secs(1));
    }

    #[tokio::test]
    async fn a_message_of_the_user_ends_a_wait_also_one_that_came_before() {
        let env = ToolTestEnv::new();
        let sleep = env.run(&SleepTool, json!({"seconds": 600}));
        let send = async { env.context.steering.set(true) };
        let (output, ()) = tokio::join!(sleep, send);
        let expected = "The user has sent a message, after 0 s of 600 s. It follows.";
        assert_eq!(output.unwrap().observation, expected);
        let again = env.run(&SleepTool, json!({"seconds": 600})).await.unwrap();
        assert_eq!(again.observation, expected);
        // A message that the model has, or that the user took back, ends no wait.
        env.context.steering.set(false);
        let past = env.run(&SleepTool, json!({"seconds": 1})).await.unwrap();
        assert_eq!(past.observation, "1 s have passed.");
    }

    #[tokio::test]
    async fn it_can_be_stopped() {
        let env = ToolTestEnv::new();
        let sleep = env.run(&SleepTool, json!({"seconds": 600}));
        let stop = async { env.context.cancel.cancel() };
        assert_eq!(tokio::join!(sleep, stop).0.unwrap().status, ToolStatus::Cancelled);
    }

    #[test]
    fn a_wait_has_a_time_of_at_most_ten_minutes() {
        let place = WorkingDirectory { cwd: "/w".into(), home: None };
        for (input, wrong) in [
            (json!({}), "`seconds` is missing"),
            (json!({"seconds": 0}), "`seconds` must be 1 or more"),
            (json!({"seconds": "soon"}), "`seconds`"),
        ] {
            let error = SleepTool.access(&input, &place).unwrap_err();
            assert!(error.0.contains(wrong), "{error}");
        }
        assert_eq!(SleepTool.access(&json!({"seconds": 5}), &place), Ok(vec![ToolAccess::Nothing]));
        assert_eq!(seconds(&json!({"seconds": 86_400})), Ok(600));
        let title =
            SleepTool.call_title(&json!({"seconds": 900, "reason": "the build"}), &place.cwd);
        assert_eq!(title, "600 s the build");
    }
}
