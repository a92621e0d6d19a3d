//! The note that tells the model which jobs have ended. It goes with the next message or request, so
//! that each request still begins with the one before it, and names each end once.

use crate::context;
use crate::domain::{ContentBlock, Message, MessageRole, TurnId};
use crate::session::{LogEntry, MessageEntry};
use crate::tools::{SessionJob, job_state, last_lines};

use super::agent_loop::Agent;
use super::lost_jobs::{JOB_NOTE, LostJob};

/// How much of the end of an output the note has.
const MAX_LINES: usize = 10;
const MAX_BYTES: u64 = 2048;

impl Agent {
    /// The note on the jobs that have ended and that the model has not been told of.
    pub(super) async fn job_note(&mut self) -> Option<ContentBlock> {
        let jobs = self.session.jobs.all().into_iter();
        let ended = jobs.filter(|job| job.process.ended().is_some() && job.progress.tell_end());
        let lost = std::mem::take(&mut self.session.lost_jobs);
        let mut texts: Vec<String> = lost.iter().map(LostJob::note).collect();
        for job in ended {
            texts.push(ended_job(&job).await);
        }
        if texts.is_empty() {
            return None;
        }
        let text = self.setup.redactor.redact_own(&texts.join("\n\n")).into_owned();
        let text = context::escape_context_tags(&text);
        Some(ContentBlock::Context { name: JOB_NOTE.into(), text })
    }

    /// Tells the model which jobs have ended since its last request.
    pub(super) async fn tell_ended_jobs(&mut self, turn: TurnId) {
        if let Some(note) = self.job_note().await {
            let message = Message { role: MessageRole::User, content: vec![note] };
            self.session.write(turn, LogEntry::Message(MessageEntry::new(message))).await;
        }
    }
}

async fn ended_job(job: &SessionJob) -> String {
    let state = job_state(job);
    let about = format!("The {state}. Its command: {}", job.command);
    match last_lines(job, MAX_LINES, MAX_BYTES).await {
        Ok(lines) if lines.is_empty() => format!("{about}\nIt has printed nothing."),
        Ok(lines) => format!("{about}\nIts last lines:\n{lines}"),
        Err(error) => format!("{about}\nIts output is lost: {error}."),
    }
}
