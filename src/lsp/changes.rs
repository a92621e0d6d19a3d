//! What is new after a change: asked of each server in a task of its own, which goes on when nobody waits
//! for it any more. What it finds then is told with a later request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::tools::FileChange;

use super::connection::LspError;
use super::diagnostic::{LspDiagnostic, LspFindings, findings_text, new_findings};
use super::session::LspFileEvent;
use super::slot::LspSlot;

/// How long a server may take for the findings in one text.
const FINDINGS_LIMIT: Duration = Duration::from_secs(30);

/// The most files whose late findings wait to be told.
const MAX_LATE: usize = 5;

/// Findings that came too late for the call that made the change.
#[derive(Debug, Default)]
pub(super) struct LateFindings(Mutex<LateState>);

#[derive(Debug, Default)]
struct LateState {
    next: u64,
    /// The last change of each file that is being looked at or told.
    current: BTreeMap<PathBuf, u64>,
    texts: BTreeMap<PathBuf, Vec<String>>,
}

/// Tells the changes of a file apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeTicket(u64);

impl LateFindings {
    /// Begins to look at a change. What was found in the file before it is no longer told.
    pub(super) fn begin(&self, path: &Path) -> ChangeTicket {
        let mut state = self.state();
        state.next += 1;
        let ticket = state.next;
        state.texts.remove(path);
        state.current.insert(path.to_owned(), ticket);
        ChangeTicket(ticket)
    }

    /// Runs a check of a change. Its findings go to whoever waits for what this returns, else they are late.
    pub(super) fn run(
        self: &Arc<Self>,
        ticket: ChangeTicket,
        path: PathBuf,
        shown: String,
        check: impl Future<Output = Vec<LspDiagnostic>> + Send + 'static,
    ) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        let late = self.clone();
        tokio::spawn(async move {
            let found = check.await;
            let text = (!found.is_empty()).then(|| findings_text(&shown, &found));
            if let Err(Some(text)) = sender.send(text) {
                late.add(ticket, path, text);
            }
        });
        receiver
    }

    /// All that is late, once.
    pub(super) fn take(&self) -> Option<String> {
        let texts = std::mem::take(&mut self.state().texts);
        let texts: Vec<String> = texts.into_values().flatten().collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn add(&self, ticket: ChangeTicket, path: PathBuf, text: String) {
        let mut state = self.state();
        let is_current = state.current.get(&path) == Some(&ticket.0);
        if is_current && (state.texts.contains_key(&path) || state.texts.len() < MAX_LATE) {
            state.texts.entry(path).or_default().push(text);
        }
    }

    fn state(&self) -> MutexGuard<'_, LateState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server finds in a changed file that it did not find before; nothing where it cannot say.
pub(super) async fn check_change(
    slot: Arc<LspSlot>,
    change: Arc<FileChange>,
    language: String,
) -> Vec<LspDiagnostic> {
    let found = changed_findings(&slot, &change, &language).await;
    found.unwrap_or_else(|why| {
        tracing::debug!(why, "no findings after a change");
        Vec::new()
    })
}

async fn changed_findings(
    slot: &Arc<LspSlot>,
    change: &FileChange,
    language: &str,
) -> Result<Vec<LspDiagnostic>, String> {
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).map_err(|_| "no text".to_owned())?;
        Ok::<_, String>(text.trim_start_matches('\u{feff}').to_owned())
    };
    let after = text(&change.after)?;
    let before = change.before.as_deref().map(text).transpose()?;
    let session = slot.session().await?;
    let _checking = session.checking.lock().await;
    let file = (change.path.as_path(), language);
    let gone = |error: LspError| error.to_string();
    // What it finds in the old text, unless the file is new.
    let known = match &before {
        None => Some(Arc::default()),
        Some(before) => {
            let synced = session.sync(file, before, None).await.map_err(gone)?;
            session.findings(&change.path, synced, FINDINGS_LIMIT).await
        }
    };
    let event = if before.is_some() { LspFileEvent::Changed } else { LspFileEvent::Created };
    let synced = session.sync(file, &after, Some(event)).await.map_err(gone)?;
    session.sync_open().await.map_err(gone)?;
    let found = session.findings(&change.path, synced, FINDINGS_LIMIT).await;
    // Without both nobody can say what is new.
    let (Some(known), Some(found)) = (known, found) else {
        return Err("the server does not say what it finds".to_owned());
    };
    Ok(new_findings(
        LspFindings { text: before.as_deref().unwrap_or_default(), items: &known },
        LspFindings { text: &after, items: &found },
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finding() -> Vec<LspDiagnostic> {
        LspDiagnostic::read_list(&json!([
            {"range": {"start": {"line": 0, "character": 0}}, "message": "bad"}]))
    }

    #[tokio::test]
    async fn findings_go_to_who_waits_and_else_are_told_later_once() {
        let late = Arc::new(LateFindings::default());
        let path = PathBuf::from("/w/a");
        let run = |check: Vec<LspDiagnostic>| {
            let ticket = late.begin(&path);
            late.run(ticket, path.clone(), "a".into(), async { check })
        };
        let text = "New diagnostics in a (found by language servers):\n1: error: bad";
        assert_eq!(run(finding()).await, Ok(Some(text.to_owned())));
        assert_eq!(run(Vec::new()).await, Ok(None));
        assert_eq!(late.take(), None);

        drop(run(finding()));
        tokio::task::yield_now().await;
        assert_eq!(late.take().as_deref(), Some(text));
        assert_eq!(late.take(), None, "told once");

        // The file is changed again before the findings in the change before are there.
        let (finish, finished) = oneshot::channel::<()>();
        let ticket = late.begin(&path);
        drop(late.run(ticket, path.clone(), "a".into(), async {
            finished.await.unwrap();
            finding()
        }));
        late.begin(&path);
        finish.send(()).unwrap();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        assert_eq!(late.take(), None);
    }
}
