//! The thread that starts supervisors and reaps them. The kernel ties a supervisor to the thread that
//! started it, so this one lives as long as anything does that may start another.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// The interval at which ending supervisors are checked.
const REAP_EVERY: Duration = Duration::from_millis(100);

/// Starts supervisors on a thread of their own. Clones use the same thread.
#[derive(Debug, Clone)]
pub(super) struct SupervisorStarter {
    requests: mpsc::Sender<StarterRequest>,
}

impl SupervisorStarter {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub(super) fn new() -> io::Result<Self> {
        let (requests, received) = mpsc::channel();
        thread::Builder::new()
            .name("children".to_owned())
            .spawn(move || start_and_reap(&received))?;
        Ok(Self { requests })
    }

    /// Starts a supervisor.
    ///
    /// # Errors
    ///
    /// When the system cannot start it.
    pub(super) async fn start(&self, command: Command) -> io::Result<SupervisorHandle> {
        let (reply, started) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts commands has ended");
        let request = StarterRequest::Start { command: Box::new(command), reply };
        self.requests.send(request).map_err(|_| gone())?;
        let child = started.await.map_err(|_| gone())??;
        Ok(SupervisorHandle { child: Some(child), reaper: self.requests.clone() })
    }
}

/// A started supervisor. The drop hands it back to the thread, which reaps it.
#[derive(Debug)]
pub(super) struct SupervisorHandle {
    child: Option<Child>,
    reaper: mpsc::Sender<StarterRequest>,
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            // The thread lives as long as a sender does.
            let _ = self.reaper.send(StarterRequest::Reap(child));
        }
    }
}

/// A request to the thread that starts supervisors.
enum StarterRequest {
    Start { command: Box<Command>, reply: oneshot::Sender<io::Result<Child>> },
    Reap(Child),
}

/// Runs the thread. Supervisors end by themselves when their socket closes; the thread only waits
/// for them, so that they do not stay as zombies.
fn start_and_reap(jobs: &mpsc::Receiver<StarterRequest>) {
    let mut ending: Vec<Child> = Vec::new();
    loop {
        let job = if ending.is_empty() {
            jobs.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(REAP_EVERY)
        };
        match job {
            Ok(StarterRequest::Start { mut command, reply }) => {
                let started = command.spawn();
                // Only the children may hold the writing end of the pipe.
                drop(command);
                if let Err(Ok(child)) = reply.send(started) {
                    ending.push(child);
                }
            }
            Ok(StarterRequest::Reap(child)) => ending.push(child),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        ending.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}
