//! What a job has printed since the model last looked, as the model reads it: plain text within
//! bounds, however much there is.

use std::io;
use std::time::Duration;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::capture::OutputCapture;
use super::terminal_output::{last_rows, unread_screen};
use super::{MODEL_BYTES, binary, clean};
use crate::domain::{ExitCause, JobEnd};
use crate::tools::{JobOutput, PrintedOutput, SessionJob, ToolError, truncation};

/// A line that a filter looks at is cut here.
const MAX_LINE: usize = 16 << 10;

/// What a job has printed since the last look.
pub(super) struct JobNews {
    capture: OutputCapture,
    /// Bytes that were printed and are not kept.
    skipped: u64,
    /// A line whose end has not come yet.
    open_line: Vec<u8>,
    /// Where the next look begins.
    next: u64,
    matches: u64,
}

impl JobNews {
    /// Nothing yet, from where the model has looked last.
    pub(super) fn since_last_look(job: &SessionJob) -> Self {
        let capture = OutputCapture::keeping(MODEL_BYTES / 2);
        let next = job.progress.seen();
        Self { capture, skipped: 0, open_line: Vec::new(), next, matches: 0 }
    }

    /// Takes in all that is there of a stream. With a filter only its lines count.
    ///
    /// # Errors
    ///
    /// When the output could not be kept or cannot be read.
    pub(super) async fn read(
        &mut self,
        output: &dyn JobOutput,
        filter: Option<&RegexMatcher>,
    ) -> io::Result<()> {
        while self.next < output.length() {
            let piece = output.follow(self.next).await?;
            self.skipped += piece.skipped;
            self.next = piece.next;
            match filter {
                None => self.capture.push(&piece.bytes),
                Some(filter) => self.push_lines(&piece.bytes, filter),
            }
        }
        Ok(())
    }

    fn push_lines(&mut self, bytes: &[u8], filter: &RegexMatcher) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE.saturating_sub(self.open_line.len());
            self.open_line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.take_open_line(filter);
            }
        }
    }

    fn take_open_line(&mut self, filter: &RegexMatcher) {
        let line = String::from_utf8_lossy(&self.open_line);
        let line = clean::plain(line.trim_end_matches(['\r', '\n']));
        // A search in memory does not fail.
        if filter.is_match(line.as_bytes()).unwrap_or(false) {
            self.matches += 1;
            self.capture.push(line.as_bytes());
            self.capture.push(b"\n");
        }
        self.open_line.clear();
    }

    /// Whether a line has matched; one without an end counts, too, as a prompt has none.
    pub(super) fn has_match(&self, filter: &RegexMatcher) -> bool {
        self.matches > 0 || filter.is_match(&self.open_line).unwrap_or(false)
    }

    /// Where the next look begins.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The text for the model. Notes in `job` how far it has looked.
    pub(super) fn take(mut self, job: &SessionJob, filter: Option<&RegexMatcher>) -> String {
        if let Some(filter) = filter {
            self.take_open_line(filter);
        }
        job.progress.set_seen(self.next);
        let whole = self.capture.whole();
        let text = binary::without_binary(&whole);
        let plain = clean::plain(&String::from_utf8_lossy(&text));
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!("[{} not kept]\n", truncation::size(skipped)),
        };
        skipped + plain.trim_end()
    }
}

/// What the model has not seen yet of a job, which counts as seen from then on.
pub(super) async fn unread_output(job: &SessionJob) -> Result<String, ToolError> {
    match &job.output {
        PrintedOutput::Stream(output) => {
            let mut news = JobNews::since_last_look(job);
            let read = news.read(&**output, None).await;
            read.map_err(|error| ToolError(format!("{error}.")))?;
            Ok(news.take(job, None))
        }
        PrintedOutput::Terminal(terminal) => Ok(unread_screen(job, &**terminal, None)),
    }
}

/// The last lines that are kept of a job's output, plain, for the note about its end.
pub(crate) async fn last_lines(job: &SessionJob, lines: usize, bytes: u64) -> io::Result<String> {
    let output = match &job.output {
        PrintedOutput::Stream(output) => output,
        PrintedOutput::Terminal(terminal) => return Ok(last_rows(&**terminal, lines, bytes)),
    };
    let length = output.length();
    let mut from = length.saturating_sub(bytes);
    let (start, mut tail) = (from, Vec::new());
    while from < length {
        let piece = output.follow(from).await?;
        tail.extend(piece.bytes);
        from = piece.next;
    }
    let plain = clean::plain(&String::from_utf8_lossy(&binary::without_binary(&tail)));
    let mut kept: Vec<&str> = plain.trim_end().lines().rev().take(lines + 1).collect();
    // The first of them may begin in its middle.
    if kept.len() > lines || (start > 0 && kept.len() > 1) {
        kept.pop();
    }
    kept.reverse();
    Ok(kept.join("\n"))
}

/// How a job stands, as the model is told.
pub(crate) fn job_state(job: &SessionJob) -> String {
    let time = elapsed(job.progress.elapsed());
    match job.process.ended() {
        None => format!("job {} runs, {time} so far", job.id.0),
        Some(end) => format!("job {} has ended after {time}: {}", job.id.0, ending(end)),
    }
}

/// How a job ended, as the model is told.
fn ending(end: JobEnd) -> String {
    match end {
        JobEnd::Exited(ExitCause::Code(code)) => format!("exit status {code}"),
        JobEnd::Exited(ExitCause::Signal(signal)) => format!("killed by signal {signal}"),
        JobEnd::Exited(ExitCause::TimedOut) => "its time limit was over".to_owned(),
        JobEnd::Exited(ExitCause::Cancelled) => "it was ended by slug".to_owned(),
        JobEnd::Lost => "slug does not know how".to_owned(),
    }
}

fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f32()),
        seconds => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}
