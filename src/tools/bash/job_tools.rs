//! BashOutput and KillBash: look at a job and end it. Both touch the session's own jobs alone, which
//! the gate has let start.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use grep_regex::RegexMatcher;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::job_output::{JobNews, job_state, unread_output};
use super::terminal_output::{unread_screen, wait_for_screen};
use crate::domain::{
    JobId, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
    compile_regex,
};
use crate::tools::input::{ArgumentReader, InputShape};
use crate::tools::{
    JobOutput, PrintedOutput, SessionJob, Tool, ToolContext, ToolError, WorkingDirectory,
    stopped_output, titles,
};

/// The names that other agents give the argument `job`.
pub(super) const JOB_NAMES: &[&str] = &["bash_id", "shell_id", "job_id", "task_id", "id"];

/// The longest that a look waits.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long KillBash waits for what it ends; KILL comes after two seconds.
const END_WAIT: Duration = Duration::from_secs(4);

/// Shows what a job has printed since the last look.
pub(in crate::tools) struct BashOutputTool;

/// Ends a job.
pub(in crate::tools) struct KillBashTool;

const OUTPUT_SHAPE: InputShape = InputShape {
    tool: "BashOutput",
    example: r#"{"job": 999, "filter": "a regular expression", "wait": 60}"#,
    arguments: &[
        ("job", JOB_NAMES),
        ("filter", &["pattern", "regex"]),
        ("wait", &["wait_up_to", "timeout"]),
    ],
    place: "",
};

const KILL_SHAPE: InputShape = InputShape {
    tool: "KillBash",
    example: r#"{"job": 999}"#,
    arguments: &[("job", JOB_NAMES)],
    place: "",
};

static OUTPUT_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(OUTPUT_SHAPE.tool, ToolKind::Execute, ToolCapability::Conversation)
        .deferred()
        .polling();
static KILL_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(KILL_SHAPE.tool, ToolKind::Execute, ToolCapability::Conversation)
        .deferred();

struct OutputArguments {
    job: JobId,
    filter: Option<RegexMatcher>,
    wait: Duration,
}

#[async_trait]
impl Tool for BashOutputTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: OUTPUT_SHAPE.tool.into(),
            description: "Shows what a job (a command in the background) has printed since you \
                          last looked, whether it runs and, for a job on a terminal, its \
                          screen. With wait, first waits for its end or, \
                          with filter, for a line that matches. Lines that a filter leaves out are \
                          not shown again."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "job": {"type": "integer", "description": "the number of the job"},
                    "filter": {"type": "string", "description": "a regular expression: only lines that match"},
                    "wait": {"type": "integer", "description": "in s, at most 600. Default: not at all"},
                },
                "required": ["job"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &OUTPUT_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let filter = titles::text(input, "filter");
        let title = job_title(input);
        if filter.is_empty() { title } else { format!("{title} {filter:?}") }
    }

    fn canonical_input(&self, input: Value) -> Value {
        OUTPUT_SHAPE.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        output_arguments(input)?;
        Ok(vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = output_arguments(&input)?;
        let job = find(context, wanted.job)?;
        let filter = wanted.filter.as_ref();
        let until = Instant::now() + wanted.wait;
        let text = match &job.output {
            PrintedOutput::Stream(output) => {
                wait_for_output(context, &job, &**output, filter, until).await?
            }
            PrintedOutput::Terminal(terminal) => {
                let waits = wait_for_screen(&job, &**terminal, filter, until);
                let waited = context.cancel.run_until_cancelled(waits).await;
                waited.map(|()| unread_screen(&job, &**terminal, filter))
            }
        };
        Ok(text.map_or_else(stopped_output, |text| report(&job, &text, filter.is_some())))
    }
}

#[async_trait]
impl Tool for KillBashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: KILL_SHAPE.tool.into(),
            description: "Ends a job (a command in the background) and all that it started.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "job": {"type": "integer", "description": "the number of the job"},
                },
                "required": ["job"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &KILL_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        job_title(input)
    }

    fn canonical_input(&self, input: Value) -> Value {
        KILL_SHAPE.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        job_argument(&ArgumentReader::new(KILL_SHAPE, input)?)?;
        Ok(vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let job = find(context, job_argument(&ArgumentReader::new(KILL_SHAPE, &input)?)?)?;
        job.process.terminate();
        let ended = tokio::time::timeout(END_WAIT, job.process.wait());
        context.cancel.run_until_cancelled(ended).await;
        let text = unread_output(&job).await?;
        Ok(report(&job, &text, false))
    }
}

/// What a job has printed since the last look, once it has ended, a line matches or the time is over;
/// `None` where the call was stopped first.
async fn wait_for_output(
    context: &ToolContext,
    job: &SessionJob,
    output: &dyn JobOutput,
    filter: Option<&RegexMatcher>,
    until: Instant,
) -> Result<Option<String>, ToolError> {
    let mut news = JobNews::since_last_look(job);
    loop {
        // Looked at before the output, all of which has come then.
        let has_ended = job.process.ended().is_some();
        news.read(output, filter).await.map_err(|error| ToolError(format!("{error}.")))?;
        let is_there = filter.is_some_and(|filter| news.has_match(filter));
        if has_ended || is_there || Instant::now() >= until {
            return Ok(Some(news.take(job, filter)));
        }
        let next = news.next();
        tokio::select! {
            () = context.cancel.cancelled() => return Ok(None),
            _ = job.process.wait() => {}
            _ = output.follow(next), if filter.is_some() => {}
            () = tokio::time::sleep_until(until) => {}
        }
    }
}

fn output_arguments(input: &Value) -> Result<OutputArguments, ToolError> {
    let input = ArgumentReader::new(OUTPUT_SHAPE, input)?;
    let job = job_argument(&input)?;
    let wait = match input.number("wait")?.unwrap_or_default() {
        seconds @ 0..1_000 => Duration::from_secs(seconds),
        // Nobody waits so many seconds: milliseconds, as the timeout of Bash.
        milliseconds => Duration::from_millis(milliseconds),
    };
    let filter = input.optional_text("filter")?.filter(|it| !it.is_empty());
    let filter = filter.map(|pattern| {
        compile_regex(&pattern, |_| {})
            .map_err(|error| input.wrong(format!("`filter` is no regular expression: {error}")))
    });
    Ok(OutputArguments { job, filter: filter.transpose()?, wait: wait.min(LONGEST_WAIT) })
}

pub(super) fn job_argument(input: &ArgumentReader<'_>) -> Result<JobId, ToolError> {
    input.number("job")?.map(JobId).ok_or_else(|| input.wrong("`job` is missing"))
}

pub(super) fn job_title(input: &Value) -> String {
    match input.get("job") {
        Some(Value::Number(job)) => format!("job {job}"),
        Some(Value::String(job)) => format!("job {job}"),
        Some(_) | None => String::new(),
    }
}

/// The job of this number, or what the model is told where there is none.
pub(super) fn find(context: &ToolContext, id: JobId) -> Result<SessionJob, ToolError> {
    let jobs = context.jobs.all();
    if let Some(job) = jobs.iter().find(|job| job.id == id) {
        return Ok(job.clone());
    }
    let name = |job: &SessionJob| format!("{} ({})", job.id.0, job.command);
    let named = jobs.iter().map(name).collect::<Vec<_>>().join(", ");
    let others = if named.is_empty() { "none".to_owned() } else { named };
    Err(ToolError(format!(
        "There is no job {}. Jobs end with their session. The jobs now: {others}.",
        id.0
    )))
}

pub(super) fn report(job: &SessionJob, text: &str, is_filtered: bool) -> ToolOutput {
    let has_ended = job.process.ended().is_some();
    if has_ended {
        job.progress.tell_end();
    }
    let shown = match (text.is_empty(), is_filtered) {
        (false, _) => text,
        (true, true) => "(no new line matches)",
        (true, false) => "(no new output)",
    };
    let summary = if has_ended { "ended" } else { "runs" };
    ToolOutput::text(format!("{shown}\n[{}]", job_state(job)))
        .with_output(json!({"job": job.id.0, "output": text, "has_ended": has_ended}))
        .with_job(job.state())
        .with_summary(summary)
}
