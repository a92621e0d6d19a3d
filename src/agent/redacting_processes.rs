//! Removes slug's own keys from the output of calls before the model, the log or the screen gets
//! it.
//!
//! A command that prints slug's configuration prints the key in it. The values that slug holds are
//! removed, in the forms that `platform::redact` knows. The output of commands is cleaned as it
//! arrives, everything else when the call has ended. Contents of files that a call changed are
//! stored unchanged, for rewinding.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentBlock, ToolDisplay, ToolOutput};
use crate::platform::redact::{RedactionStream, Redactor};
use crate::tools::{
    DetachPolicy, DetachedScript, JobHandle, JobSpec, JobStreams, OutputSink, ProcessError,
    Processes, ScriptExit, ScriptOutcome, ScriptSpec,
};

/// Runs commands and takes slug's keys out of what they print.
pub(super) struct RedactingProcesses {
    pub(super) processes: Arc<dyn Processes>,
    pub(super) redactor: Redactor,
    /// The value of PATH that the call was approved with; `None` for the usual one.
    pub(super) search_path: Option<OsString>,
    /// The real path of the folder that the call was approved for; `None` for the script's own.
    pub(super) cwd: Option<PathBuf>,
    /// The session's scratch folder.
    pub(super) scratch: Option<PathBuf>,
}

#[async_trait]
impl Processes for RedactingProcesses {
    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        let mut stream = self.redactor.stream();
        let mut clean = |bytes: &[u8]| stream.push(bytes, output);
        let exit = self.processes.run(self.spec(script), &mut clean, cancel).await;
        stream.end(output);
        exit
    }

    async fn run_detachable(
        &self,
        script: ScriptSpec,
        detach: DetachPolicy,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptOutcome, ProcessError> {
        let mut stream = self.redactor.stream();
        let mut clean = |bytes: &[u8]| stream.push(bytes, output);
        let script = self.spec(script);
        match self.processes.run_detachable(script, detach, &mut clean, cancel).await {
            Ok(ScriptOutcome::Detached(script)) => {
                let redactor = self.redactor.clone();
                Ok(ScriptOutcome::Detached(Box::new(RedactedScript { script, redactor, stream })))
            }
            ended => {
                stream.end(output);
                ended
            }
        }
    }

    async fn start(
        &self,
        job: JobSpec,
        output: Box<dyn OutputSink>,
    ) -> Result<Arc<dyn JobHandle>, ProcessError> {
        let search_path = self.search_path.clone().or(job.search_path);
        let redactor = self.redactor.clone();
        let output: Box<dyn OutputSink> = match job.streams {
            JobStreams::Pipes => {
                Box::new(RedactingSink { stream: redactor.stream(), redactor, output })
            }
            // What could be the beginning of a key would wait for more, and a letter that was just
            // typed with it. So the keys are taken out where the screen is read (`job_terminal`).
            JobStreams::Terminal(_) => output,
        };
        let cwd = self.cwd.clone().unwrap_or(job.cwd);
        let job = JobSpec { cwd, search_path, scratch: self.scratch.clone(), ..job };
        self.processes.start(job, output).await
    }
}

impl RedactingProcesses {
    /// The script in the surroundings of its call.
    fn spec(&self, script: ScriptSpec) -> ScriptSpec {
        let search_path = self.search_path.clone().or(script.search_path);
        let cwd = self.cwd.clone().unwrap_or(script.cwd);
        ScriptSpec { cwd, search_path, scratch: self.scratch.clone(), ..script }
    }
}

/// A script that goes on as a job. What could be the beginning of a key is not lost between the two.
struct RedactedScript {
    script: Box<dyn DetachedScript>,
    redactor: Redactor,
    stream: RedactionStream,
}

impl DetachedScript for RedactedScript {
    fn elapsed(&self) -> Duration {
        self.script.elapsed()
    }

    fn into_job(self: Box<Self>, output: Box<dyn OutputSink>) -> Arc<dyn JobHandle> {
        let Self { script, redactor, stream } = *self;
        script.into_job(Box::new(RedactingSink { redactor, stream, output }))
    }
}

/// Takes slug's keys out of what a job prints. What could be the beginning of a key waits for more.
struct RedactingSink {
    redactor: Redactor,
    stream: RedactionStream,
    output: Box<dyn OutputSink>,
}

#[async_trait]
impl OutputSink for RedactingSink {
    async fn write(&mut self, bytes: &[u8]) {
        // A job may run longer than slug knows all of its keys.
        self.stream.refresh(&self.redactor);
        let mut clean = Vec::with_capacity(bytes.len());
        self.stream.push(bytes, &mut |bytes| clean.extend_from_slice(bytes));
        if !clean.is_empty() {
            self.output.write(&clean).await;
        }
    }

    async fn end(&mut self) {
        let mut clean = Vec::new();
        self.stream.end(&mut |bytes| clean.extend_from_slice(bytes));
        if !clean.is_empty() {
            self.output.write(&clean).await;
        }
        self.output.end().await;
    }
}

/// The same output without slug's keys.
pub(super) fn without_keys(redactor: &Redactor, output: ToolOutput) -> ToolOutput {
    if redactor.knows_nothing() {
        return output;
    }
    let clean = |text: String| redactor.redact_own(&text).into_owned();
    ToolOutput {
        output: redactor.redact_own_json(output.output),
        observation: clean(output.observation),
        display: output.display.map(|display| redacted_display(redactor, display)),
        summary: output.summary.map(clean),
        status: output.status,
        image: output.image,
        note: output.note.map(|note| redacted_note(redactor, note)),
        read: output.read,
        job: output.job,
        agent: output.agent,
    }
}

fn redacted_note(redactor: &Redactor, note: ContentBlock) -> ContentBlock {
    match note {
        ContentBlock::Context { name, text } => {
            ContentBlock::Context { name, text: redactor.redact_own(&text).into_owned() }
        }
        other @ (ContentBlock::Text { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. }
        | ContentBlock::Image(_)) => other,
    }
}

fn redacted_display(redactor: &Redactor, display: ToolDisplay) -> ToolDisplay {
    match display {
        ToolDisplay::Terminal { text } => {
            ToolDisplay::Terminal { text: redactor.redact_own(&text).into_owned() }
        }
        ToolDisplay::Diff(mut diff) => {
            for line in diff.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
                if let Cow::Owned(clean) = redactor.redact_own(&line.text) {
                    line.text = clean;
                }
            }
            ToolDisplay::Diff(diff)
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;
    use crate::domain::FileDiff;

    #[test]
    fn s100_every_part_of_an_output_is_cleaned() {
        let redactor = Redactor::default();
        let output = ToolOutput {
            display: Some(ToolDisplay::Diff(FileDiff::between("f", "", "key=CANARY-123\n"))),
            ..ToolOutput::text("it is CANARY-123")
                .with_output(json!({"lines": ["CANARY-123"], "CANARY-123": 1}))
                .with_summary("CANARY-123")
        };
        assert_eq!(without_keys(&redactor, output.clone()), output);
        redactor.learn_key("work", &SecretString::from("CANARY-123"));
        let clean = without_keys(&redactor, output);
        assert_eq!(clean.observation, "it is [redacted: slug's key for work]");
        assert!(!format!("{clean:?}").contains("CANARY"), "{clean:?}");
        let text = "CANARY-123".to_owned();
        let terminal = redacted_display(&redactor, ToolDisplay::Terminal { text });
        let text = "[redacted: slug's key for work]".to_owned();
        assert_eq!(terminal, ToolDisplay::Terminal { text });
    }
}
