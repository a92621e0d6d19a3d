//! Tells the front end about the jobs of a session while it shows them: how each stands, and what one
//! of them prints.
//!
//! What is told is bounded however fast a job prints: ten parts a second, each of at most 64 KB, and
//! none while the front end has not taken the last ones. What does not fit is left out, so that the
//! newest output comes through. An agent tells nothing here of its own accord: the follower exists
//! for as long as `AgentCommand::FollowJobs` says, at most to the end of the session.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::domain::{FollowedJobs, FollowedOutput, JobId, JobReport};
use crate::tools::{
    JobOutput, JobTerminal, LiveTextDecoder, PrintedOutput, SessionJob, last_lines,
};

use super::event::AgentEvent;
use super::event_queue::AgentEventSender;
use super::jobs::SessionJobs;

/// The shortest time between two parts of an output.
const OUTPUT_PAUSE: Duration = Duration::from_millis(100);
/// The time between a change of a terminal and what is told of it.
const SCREEN_PAUSE: Duration = Duration::from_millis(4);
/// The same while it changes all the time.
const FRAME_PAUSE: Duration = Duration::from_millis(16);
/// How often it is told how running jobs stand.
const REPORT_PAUSE: Duration = Duration::from_secs(1);
/// How much of what a job has printed before is told, in bytes.
const EARLIER: u64 = 256 << 10;
/// Where so many bytes wait to be told, all but the last [`NEWEST`] of them are left out.
const MOST_BEHIND: u64 = 256 << 10;
const NEWEST: u64 = 64 << 10;
/// From this many events on that the front end has not taken, nothing is told.
const MOST_WAITING: usize = 16;
/// How much of the end of an output a report has.
const REPORT_LINES: usize = 5;
const REPORT_BYTES: u64 = 1024;

/// Tells about the jobs of a session until it is dropped.
pub(super) struct JobFollower {
    _task: AbortOnDropHandle<()>,
}

impl JobFollower {
    /// Tells what is wanted about the jobs of a session.
    pub(super) fn start(
        jobs: &Arc<SessionJobs>,
        wanted: FollowedJobs,
        events: AgentEventSender,
    ) -> Self {
        let output = wanted.output_of.map(|job| (job, jobs.find(job)));
        // The session's jobs end when nobody holds them any more.
        let jobs = Arc::downgrade(jobs);
        let task = async move {
            tokio::join!(report(jobs, &events), async {
                if let Some((job, found)) = output {
                    tell_output(job, found, &events).await;
                }
            });
        };
        Self { _task: AbortOnDropHandle::new(tokio::spawn(task)) }
    }
}

/// Tells how the jobs stand, now and whenever that changes.
async fn report(jobs: Weak<SessionJobs>, events: &AgentEventSender) {
    let Some(mut changes) = jobs.upgrade().map(|jobs| jobs.changes()) else { return };
    let mut told = None;
    loop {
        changes.mark_unchanged();
        let Some(all) = jobs.upgrade().map(|jobs| jobs.reported()) else { return };
        let mut reports = Vec::with_capacity(all.len());
        for (info, job) in all {
            reports.push(JobReport {
                job: info,
                elapsed: Duration::from_secs(job.progress.elapsed().as_secs()),
                end: job.process.ended(),
                printed: job.output.length(),
                has_terminal: job.output.terminal().is_some(),
                last_lines: last_lines(&job, REPORT_LINES, REPORT_BYTES).await.unwrap_or_default(),
            });
        }
        let is_running = reports.iter().any(|it| it.end.is_none());
        if told.as_ref() != Some(&reports) && events.waiting() < MOST_WAITING {
            events.send(AgentEvent::Jobs(reports.clone()));
            told = Some(reports);
        }
        // What could not be told yet is told once the front end takes events again.
        let is_due = is_running || told.is_none() || events.waiting() >= MOST_WAITING;
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(REPORT_PAUSE), if is_due => {}
        }
    }
}

async fn tell_output(job: JobId, found: Option<SessionJob>, events: &AgentEventSender) {
    let lost = |reason: String| {
        events.send(AgentEvent::JobOutput(FollowedOutput::Lost { job, reason }));
    };
    let Some(found) = found else {
        return lost(format!("The output of job {} is no longer kept.", job.0));
    };
    match &found.output {
        PrintedOutput::Stream(output) => {
            if let Err(error) = follow_output(job, &**output, events).await {
                lost(format!("No more of this output can be shown: {error}."));
            }
        }
        PrintedOutput::Terminal(terminal) => follow_screen(job, &**terminal, events).await,
    }
}

/// Tells what the terminal of a job shows, whenever that changes.
async fn follow_screen(job: JobId, terminal: &dyn JobTerminal, events: &AgentEventSender) {
    let (mut state, mut told, mut seen) = (0, None, 0);
    let mut pause = SCREEN_PAUSE;
    loop {
        let text = terminal.text(seen);
        let (frame, scrolled) = (terminal.frame(), text.scrolled);
        seen = text.next;
        if told.as_ref() != Some(&frame) || !scrolled.is_empty() {
            told = Some(frame.clone());
            events.send(AgentEvent::JobOutput(FollowedOutput::Screen { job, frame, scrolled }));
        }
        tokio::select! {
            biased;
            next = terminal.changed(state) => state = next,
            () = tokio::time::sleep(FRAME_PAUSE), if pause == FRAME_PAUSE => {
                pause = SCREEN_PAUSE;
                continue;
            }
            // Whether it shows what is typed changes without a word.
            () = tokio::time::sleep(REPORT_PAUSE) => continue,
        }
        // What belongs together often comes in several pieces.
        tokio::time::sleep(pause).await;
        pause = FRAME_PAUSE;
        while events.waiting() >= MOST_WAITING {
            tokio::time::sleep(SCREEN_PAUSE).await;
        }
    }
}

/// Tells what a job prints until its output is over.
async fn follow_output(
    job: JobId,
    output: &dyn JobOutput,
    events: &AgentEventSender,
) -> io::Result<()> {
    let mut decoder = LiveTextDecoder::new();
    let known = output.length();
    let (mut told, mut next) = (0, known.saturating_sub(EARLIER));
    loop {
        let piece = output.follow(next).await?;
        next = piece.next;
        let mut bytes = &piece.bytes[..];
        let mut skipped = next - bytes.len() as u64 - told;
        if skipped > 0 {
            // The text goes on at the start of a line, if there is one.
            let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes = &bytes[cut..];
            skipped += cut as u64;
            decoder = LiveTextDecoder::new();
        }
        told = next;
        if skipped > 0 || !bytes.is_empty() {
            let text = decoder.text(bytes).to_owned();
            events.send(AgentEvent::JobOutput(FollowedOutput::Printed { job, skipped, text }));
        }
        if piece.is_last {
            return Ok(());
        }
        if next < known {
            continue;
        }
        tokio::time::sleep(OUTPUT_PAUSE).await;
        while events.waiting() >= MOST_WAITING {
            tokio::time::sleep(OUTPUT_PAUSE).await;
        }
        let length = output.length();
        if length - next > MOST_BEHIND {
            next = length - NEWEST;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::agent::event_queue::{AgentEventReceiver, event_queue};
    use crate::domain::{AgentId, JobOutputPiece};

    /// A job that prints so many lines of 64 bytes, and so many more each time that it is read.
    struct FastOutput {
        length: AtomicU64,
        grows_by: u64,
        ends_at: u64,
    }

    const LINE: u64 = 64;

    #[async_trait]
    impl JobOutput for FastOutput {
        async fn follow(&self, from: u64) -> io::Result<JobOutputPiece> {
            let length = self.length();
            let next = length.min(from + (64 << 10));
            let line = |at: u64| format!("{at:063}\n").into_bytes();
            let lines: Vec<u8> = (from / LINE..next.div_ceil(LINE)).flat_map(line).collect();
            let start = usize::try_from(from % LINE).unwrap();
            let bytes = lines[start..start + usize::try_from(next - from).unwrap()].to_vec();
            let is_last = length == self.ends_at && next == length;
            self.length.store((length + self.grows_by).min(self.ends_at), Ordering::Relaxed);
            Ok(JobOutputPiece { skipped: 0, bytes, next, is_last })
        }

        fn length(&self) -> u64 {
            self.length.load(Ordering::Relaxed)
        }
    }

    /// What was left out before each part that has come, and its text.
    fn taken(receiver: &mut AgentEventReceiver) -> Vec<(u64, String)> {
        let events = std::iter::from_fn(|| receiver.try_recv().ok());
        let output = events.filter_map(|addressed| match addressed.event {
            AgentEvent::JobOutput(FollowedOutput::Printed { skipped, text, .. }) => {
                Some((skipped, text))
            }
            _ => None,
        });
        output.collect()
    }

    #[tokio::test]
    async fn of_a_hundred_megabytes_the_newest_come_through_and_the_rest_is_counted() {
        let (sender, mut receiver) = event_queue(AgentId(1));
        let total = 100 << 20;
        let output = FastOutput { length: (1 << 20).into(), grows_by: 10 << 20, ends_at: total };
        let follows = follow_output(JobId(1), &output, &sender);
        tokio::pin!(follows);
        let mut all = Vec::new();
        loop {
            tokio::select! {
                end = &mut follows => break end.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(50)) => {
                    let parts = taken(&mut receiver);
                    assert!(parts.len() <= 6, "{}", parts.len());
                    all.extend(parts);
                }
            }
        }
        all.extend(taken(&mut receiver));
        assert!(all.iter().all(|part| part.1.len() <= 64 << 10));
        let told: u64 = all.iter().map(|part| part.1.len() as u64).sum();
        let skipped: u64 = all.iter().map(|part| part.0).sum();
        assert_eq!(told + skipped, total);
        assert!(told < 8 << 20, "{told}");
        // Lines are whole, also behind a gap, and the last one is there.
        let lines = || all.iter().flat_map(|part| part.1.lines());
        assert!(lines().all(|line| line.len() == 63));
        assert_eq!(lines().next_back(), Some(&*format!("{:063}", total / LINE - 1)));
    }

    #[tokio::test]
    async fn while_the_front_end_takes_nothing_little_waits_for_it() {
        let (sender, mut receiver) = event_queue(AgentId(1));
        let output = FastOutput { length: 0.into(), grows_by: 32 << 10, ends_at: 40 << 20 };
        let follows = follow_output(JobId(1), &output, &sender);
        let waits = tokio::time::timeout(Duration::from_secs(3), follows).await;
        assert!(waits.is_err(), "it went on to the end");
        assert!(taken(&mut receiver).len() <= MOST_WAITING);
    }
}
