//! Bash: runs a command.
//!
//! The model gets plain text without escape sequences: of long output the head and the tail, of a
//! progress line its last state. The user sees the output as it comes, and with its colours. Long
//! output is also in a file of the scratch folder, which the model may read.

mod binary;
mod capture;
mod clean;
mod job_output;
mod job_start;
mod job_tools;
mod terminal_output;
mod type_tool;
mod whole_output;

pub(crate) use capture::LiveTextDecoder;
pub(crate) use job_output::{job_state, last_lines};
pub(super) use job_tools::{BashOutputTool, KillBashTool};
pub(super) use type_tool::BashInputTool;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::input::{ArgumentReader, InputShape};
use super::{
    DetachPolicy, ExitCause, JobStreams, ProcessError, ScriptExit, ScriptOutcome, ScriptSpec, Tool,
    ToolContext, ToolError, WorkingDirectory, off_thread, titles, truncation,
};
use crate::domain::{
    CommandPace, TerminalSize, ToolAccess, ToolCapability, ToolDescriptor, ToolDisplay, ToolKind,
    ToolOutput, ToolSpec, ToolStatus, first_line, first_step,
};
use capture::OutputCapture;
use job_start::{DetachReason, adopt, start_job};
use whole_output::{SavedOutput, WholeOutput};

/// Runs a command with bash, within a time limit.
pub(super) struct BashTool;

const SHAPE: InputShape = InputShape {
    tool: "Bash",
    example: r#"{"command": "a command line", "workdir": "path/to/folder", "timeout": 300000}"#,
    arguments: &[
        ("command", &["cmd", "script"]),
        ("description", &[]),
        ("run_in_background", &["background", "is_background"]),
        ("timeout", &["timeout_ms"]),
        ("tty", &["terminal", "pty"]),
        ("workdir", &["cwd"]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Execute, ToolCapability::RunCommands);

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);
/// The most bytes of output that the model gets.
const MODEL_BYTES: usize = 30 << 10;

struct BashArguments {
    command: String,
    /// The folder that the command starts in.
    workdir: PathBuf,
    timeout: Duration,
    /// Whether the call itself set the time limit, so that it ends the command.
    is_limited: bool,
    pace: CommandPace,
    /// What it reads from and prints to as a job.
    streams: JobStreams,
    /// Whether the call asked for more than [`LONGEST_TIMEOUT`].
    is_shortened: bool,
}

#[async_trait]
impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Runs a command with bash. Each call is a new shell: cd and variables do \
                          not last. No input. run_in_background makes it a job, tty one on a \
                          terminal."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "description": {"type": "string", "description": "what it does, in 5 words"},
                    "timeout": {"type": "integer", "description": "ms (below 1000: s), at most 600000. Without it, a job after 120 s"},
                    "run_in_background": {"type": "boolean"},
                    "tty": {"type": "boolean"},
                    "workdir": {"type": "string"},
                },
                "required": ["command"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let command = titles::text(input, "command");
        let description = titles::text(input, "description").trim();
        let command = match command.trim().contains('\n') && !description.is_empty() {
            true => first_line(description),
            false => first_step(command),
        };
        match titles::text(input, "workdir") {
            "" => command,
            folder => format!("{command} (in {})", first_line(folder)),
        }
    }

    fn canonical_input(&self, input: Value) -> Value {
        let mut input = SHAPE.canonical(input);
        if let Some(Value::Array(words)) = input.get("command")
            && let Some(line) = command_line(words)
        {
            input["command"] = Value::String(line);
        }
        input
    }

    fn on_terminal(&self, input: &Value) -> Option<Value> {
        let mut input = input.clone();
        input.as_object_mut()?.insert("tty".to_owned(), Value::Bool(true));
        Some(input)
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        let BashArguments { command, workdir, pace, .. } = parse_arguments(input, place)?;
        Ok(vec![ToolAccess::Run { command, cwd: workdir, pace }])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted = parse_arguments(&input, &context.place)?;
        if wanted.pace == CommandPace::Background {
            return start_job(context, &wanted).await;
        }
        let script =
            ScriptSpec::new(wanted.command.clone(), wanted.workdir.clone(), wanted.timeout);
        let mut capture = OutputCapture::new();
        let mut whole = WholeOutput::new(context.outputs.clone());
        let mut live = LiveTextDecoder::new();
        let mut output = |bytes: &[u8]| {
            capture.push(bytes);
            whole.push(bytes);
            let text = live.text(bytes);
            if !text.is_empty() {
                context.effects.progress(text);
            }
        };
        let (processes, cancel) = (&context.processes, context.cancel.clone());
        let detach = context.jobs.detach_policy();
        let detach = detach
            .map(|it| DetachPolicy { at_time_limit: it.at_time_limit && !wanted.is_limited, ..it });
        let exit = match detach {
            None => processes.run(script, &mut output, cancel).await?,
            Some(detach) => {
                let asked = detach.asked.clone();
                match processes.run_detachable(script, detach, &mut output, cancel).await? {
                    ScriptOutcome::Ended(exit) => exit,
                    ScriptOutcome::Detached(script) => {
                        let why = match asked.is_cancelled() {
                            true => DetachReason::User,
                            false => DetachReason::TimeLimit(wanted.timeout),
                        };
                        return adopt(context, script, &capture, &wanted.command, why).await;
                    }
                }
            }
        };
        // A separate token: what was printed is reported even if the command was stopped.
        let reported =
            off_thread(&CancellationToken::new(), move || BashReport::new(&capture, whole)).await?;
        let report = reported.ok_or_else(|| ToolError("The output was lost.".into()))?;
        Ok(format_result(report, exit, &wanted, context).await)
    }
}

/// The line that runs a command which came as a list of words; of `bash -c` the script alone.
fn command_line(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    match words.as_slice() {
        ["bash" | "/bin/bash" | "/usr/bin/bash", "-c" | "-lc", script] => {
            Some((*script).to_owned())
        }
        // A list of one word is a line that was put into a list.
        [line] => Some((*line).to_owned()),
        words => Some(words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// A word that bash reads as exactly this text.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<BashArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let command = input.text("command")?;
    if command.trim().is_empty() {
        return Err(input.wrong("`command` is empty"));
    }
    if command.contains('\0') {
        return Err(input.wrong("`command` holds a NUL character"));
    }
    // Only for the user, who reads it in the call.
    input.optional_text("description")?;
    let requested = match input.number("timeout")? {
        None | Some(0) => DEFAULT_TIMEOUT,
        // No call gives a command less than a second: small numbers are seconds.
        Some(seconds @ 1..1_000) => Duration::from_secs(seconds),
        Some(milliseconds) => Duration::from_millis(milliseconds),
    };
    let timeout = requested.min(LONGEST_TIMEOUT);
    let is_limited = !matches!(input.number("timeout")?, None | Some(0));
    let streams = match input.flag("tty")? {
        true => JobStreams::Terminal(TerminalSize::UNSEEN),
        false => JobStreams::Pipes,
    };
    // Nothing waits for a command on a terminal: whoever types there may take their time.
    let pace = match (input.flag("run_in_background")?, streams) {
        (true, _) | (false, JobStreams::Terminal(_)) => CommandPace::Background,
        (false, JobStreams::Pipes) => CommandPace::Foreground,
    };
    let workdir = input.optional_path("workdir", place)?.unwrap_or_else(|| place.cwd.clone());
    let is_shortened = requested > timeout;
    Ok(BashArguments { command, workdir, timeout, is_limited, pace, streams, is_shortened })
}

/// The output of a command in the forms that the result needs.
struct BashReport {
    observation: String,
    display: Option<String>,
    /// The whole output; `None` where the model gets all of it.
    whole: Option<Vec<u8>>,
    total: u64,
}

impl BashReport {
    fn new(capture: &OutputCapture, file: WholeOutput) -> Self {
        let (whole, total) = (capture.whole(), capture.total());
        let text = binary::without_binary(&whole);
        let has_binary = matches!(text, Cow::Owned(_));
        let printed = String::from_utf8_lossy(&text);
        let plain = clean::plain(&printed);
        let plain = plain.trim_end();
        let is_cut = plain.len() > MODEL_BYTES || capture.is_cut();
        let saved = file.finish(is_cut);
        let coloured = || shortened(&clean::last_states(&printed), total, None);
        let observation = shortened(plain, total, saved.as_ref());
        let display = printed.contains('\u{1b}').then(coloured);
        let whole = (is_cut || has_binary).then(|| whole.clone());
        Self { observation, display, whole, total }
    }
}

/// The head and the tail of a long text, with a note about the part between them.
fn shortened(text: &str, total: u64, saved: Option<&SavedOutput>) -> String {
    let Some(ends) = truncation::ends(text, MODEL_BYTES) else { return text.to_owned() };
    let lines = truncation::pluralise(ends.hidden.lines().count() as u64, "line");
    let (hidden, total) = (truncation::size(ends.hidden.len() as u64), truncation::size(total));
    let rest = match saved {
        Some(SavedOutput { path, is_whole }) => {
            let what = if *is_whole { "All of it" } else { "The beginning of it" };
            format!(". {what} is in {}: use Grep or Read on it", path.display())
        }
        None => {
            ", kept for the user. To see more, run it through head, tail or grep, or into a file"
                .to_owned()
        }
    };
    format!(
        "{}\n[{lines}, {hidden}, left out here; {total} in all{rest}.]\n{}",
        ends.head.trim_end_matches('\n'),
        ends.tail
    )
}

async fn format_result(
    report: BashReport,
    exit: ScriptExit,
    wanted: &BashArguments,
    context: &ToolContext,
) -> ToolOutput {
    let BashReport { observation: printed, display, whole, total } = report;
    let kept = match whole {
        Some(whole) => context.effects.keep(whole).await,
        None => None,
    };
    let mut notes = Vec::new();
    let (status, summary) = match exit.cause {
        ExitCause::Code(0) => (ToolStatus::Done, None),
        ExitCause::Code(code) => {
            notes.push(format!("exit status {code}"));
            (ToolStatus::Failed, Some(format!("exit {code}")))
        }
        ExitCause::Signal(signal) => {
            notes.push(format!("killed by signal {signal}"));
            (ToolStatus::Failed, Some(format!("signal {signal}")))
        }
        ExitCause::TimedOut => {
            notes.push(format!(
                "timed out after {} s and was killed; give a longer timeout (ms, at most 600000), \
                 or run it with run_in_background",
                wanted.timeout.as_secs_f32()
            ));
            (ToolStatus::Failed, Some("timed out".to_owned()))
        }
        ExitCause::Cancelled => {
            notes.push("stopped by the user".to_owned());
            (ToolStatus::Cancelled, Some("stopped".to_owned()))
        }
    };
    if exit.left_running {
        notes.push("something it started still runs in the background".to_owned());
    }
    if wanted.is_shortened {
        notes.push("the timeout was lowered to 600 s, the most there is".to_owned());
    }
    let of_sandbox = [exit.refused_note(), exit.denied_note(), exit.made_note()];
    notes.extend(of_sandbox.into_iter().flatten());
    let mut observation = printed.clone();
    if printed.is_empty() {
        observation.push_str("(no output)");
    }
    for note in &notes {
        observation.push_str(&format!("\n[{note}]"));
    }
    let exit_code = match exit.cause {
        ExitCause::Code(code) => Some(code),
        ExitCause::Signal(_) | ExitCause::TimedOut | ExitCause::Cancelled => None,
    };
    ToolOutput {
        output: json!({
            "exit_code": exit_code, "output": printed, "bytes": total, "kept": kept,
            "notes": notes, "left_running": exit.left_running,
        }),
        observation,
        display: display.map(|text| ToolDisplay::Terminal { text }),
        summary,
        status,
        image: None,
        note: None,
        read: None,
        job: None,
        agent: None,
    }
}

impl From<ProcessError> for ToolError {
    fn from(error: ProcessError) -> Self {
        Self(format!("{error}. Nothing was run."))
    }
}

#[cfg(test)]
mod tests;
