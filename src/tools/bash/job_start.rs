//! Commands that go on beside the conversation: those that begin so, and those whose call no longer
//! waits for them.

use std::time::Duration;

use serde_json::json;

use super::capture::OutputCapture;
use super::job_output::{job_state, unread_output};
use super::{BashArguments, MODEL_BYTES, binary, clean, shortened};
use crate::domain::{JobEnd, ToolDisplay, ToolOutput, ToolStatus};
use crate::tools::{
    DetachedScript, ExitCause, JobBelongings, JobSpec, JobStreams, PrintedOutput, SessionJob,
    ToolContext, ToolError,
};

/// How long a start waits for a command that ends at once, so that its error is in the result.
const EARLY_END: Duration = Duration::from_millis(300);

/// Why a call no longer waits for its command.
#[derive(Debug, Clone, Copy)]
pub(super) enum DetachReason {
    User,
    TimeLimit(Duration),
}

/// Starts a command in the background.
pub(super) async fn start_job(
    context: &ToolContext,
    wanted: &BashArguments,
) -> Result<ToolOutput, ToolError> {
    let spec = JobSpec {
        text: wanted.command.clone(),
        cwd: wanted.workdir.clone(),
        streams: wanted.streams,
        search_path: None,
        scratch: None,
        time_limit: wanted.is_limited.then_some(wanted.timeout),
        belongings: JobBelongings::default(),
    };
    let job = context.jobs.start(spec).await?;
    let place = match wanted.streams {
        JobStreams::Pipes => {
            job.process.close_input().await;
            "in the background"
        }
        JobStreams::Terminal(_) => "on a terminal",
    };
    let early = tokio::time::timeout(EARLY_END, job.process.wait());
    context.cancel.run_until_cancelled(early).await;
    let printed = unread_output(&job).await?;
    let limit = match wanted.is_limited {
        true => format!(", and is ended after {} s", wanted.timeout.as_secs_f32()),
        false => String::new(),
    };
    Ok(job_result(&job, &printed, &format!("runs {place} as job {}{limit}", job.id.0)))
}

/// Lets a command whose call no longer waits for it go on as a job.
pub(super) async fn adopt(
    context: &ToolContext,
    script: Box<dyn DetachedScript>,
    capture: &OutputCapture,
    command: &str,
    why: DetachReason,
) -> Result<ToolOutput, ToolError> {
    let (whole, total) = (capture.whole(), capture.total());
    let job = context.jobs.adopt(script, command, &whole).await.map_err(|error| {
        ToolError(format!("The command was to go on in the background, and was ended: {error}."))
    })?;
    job.progress.set_seen(whole.len() as u64);
    let plain = clean::plain(&String::from_utf8_lossy(&binary::without_binary(&whole)));
    let printed = shortened(plain.trim_end(), total, None);
    let why = match why {
        DetachReason::User => "as the user wanted".to_owned(),
        DetachReason::TimeLimit(limit) => {
            format!("it ran longer than {} s", limit.as_secs_f32())
        }
    };
    Ok(job_result(&job, &printed, &format!("runs on in the background as job {}: {why}", job.id.0)))
}

/// What the model is told of a job that has just begun, or is over already.
fn job_result(job: &SessionJob, printed: &str, begun: &str) -> ToolOutput {
    debug_assert!(printed.len() <= 2 * MODEL_BYTES);
    let end = job.process.ended();
    let (status, summary, note) = match end {
        None => {
            let advice = match job.output {
                PrintedOutput::Stream(_) => {
                    "BashOutput shows its output, KillBash ends it, and you are told when it ends"
                }
                PrintedOutput::Terminal(_) => {
                    "BashOutput shows its screen, BashInput types into it, KillBash ends it, the user \
                     can take it over in /jobs, and you are told when it ends"
                }
            };
            (ToolStatus::Done, format!("job {}", job.id.0), format!("{begun}. {advice}"))
        }
        Some(end) => {
            job.progress.tell_end();
            let status = match end {
                JobEnd::Exited(ExitCause::Code(0)) => ToolStatus::Done,
                JobEnd::Exited(_) | JobEnd::Lost => ToolStatus::Failed,
            };
            (status, "ended".to_owned(), job_state(job))
        }
    };
    let shown = if printed.is_empty() { "(no output yet)" } else { printed };
    // The user has a page for jobs, and the model tools.
    let display = end.is_none().then(|| {
        let text = format!("{printed}\n[{begun}; /jobs shows its output]");
        ToolDisplay::Terminal { text: text.trim_start().to_owned() }
    });
    ToolOutput {
        observation: format!("{shown}\n[{note}]"),
        output: json!({"job": job.id.0, "output": printed, "has_ended": end.is_some()}),
        summary: Some(summary),
        status,
        display,
        image: None,
        note: None,
        read: None,
        job: Some(job.state()),
        agent: None,
    }
}
