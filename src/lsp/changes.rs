//! What is new after a change: asked of each server in a task of its own, which goes on when nobody waits
//! for it any more. What it finds then is told with a later request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::tools::FileChange;

use super::connection::LspError;
use super::diagnostic::{LspDiagnostic, LspFindings, LspSeverity, findings_text, new_findings};
use super::session::LspFileEvent;
use super::slot::LspSlot;

/// How long a server may take for the findings in one text.
const FINDINGS_LIMIT: Duration = Duration::from_secs(30);

/// In so many other files new errors are told.
const MAX_ELSEWHERE: usize = 5;

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

    /// Runs a check of changes. Its findings go to whoever waits for what this returns, else they are late.
    /// What is found in other files is told with the first change.
    pub(super) fn run(
        self: &Arc<Self>,
        tickets: Vec<(ChangeTicket, PathBuf)>,
        show: impl Fn(&Path) -> String + Send + 'static,
        check: impl Future<Output = FoundByFile> + Send + 'static,
    ) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        let late = self.clone();
        tokio::spawn(async move {
            let found = check.await;
            let text =
                |(path, found): &(PathBuf, Vec<LspDiagnostic>)| findings_text(&show(path), found);
            let texts: Vec<String> = found.iter().map(text).collect();
            if sender.send((!texts.is_empty()).then(|| texts.join("\n"))).is_err() {
                for ((path, _), text) in found.iter().zip(texts) {
                    let own = tickets.iter().find(|(_, it)| it == path).or(tickets.first());
                    if let Some((ticket, path)) = own {
                        late.add(*ticket, path.clone(), text);
                    }
                }
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

/// What is new, by file: the changed files first.
pub(super) type FoundByFile = Vec<(PathBuf, Vec<LspDiagnostic>)>;

/// What a server finds after changes that it did not find before: in the changed files, and errors in others
/// that are open in it. Nothing where it cannot say.
pub(super) async fn check_changes(slot: Arc<LspSlot>, changes: Vec<FileChange>) -> FoundByFile {
    let texts: Vec<ChangedText> =
        changes.iter().filter_map(|change| ChangedText::of(&slot, change)).collect();
    let found = changed_findings(&slot, &texts).await;
    found.unwrap_or_else(|why| {
        tracing::debug!(why, "no findings after a change");
        Vec::new()
    })
}

/// A changed file as a server is told of it.
struct ChangedText {
    path: PathBuf,
    language: String,
    before: Option<String>,
    after: String,
}

impl ChangedText {
    /// `None` where the file is no text.
    fn of(slot: &LspSlot, change: &FileChange) -> Option<Self> {
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some(text.trim_start_matches('\u{feff}').to_owned())
        };
        let before = match &change.before {
            Some(before) => Some(text(before)?),
            None => None,
        };
        let extension = change.path.extension()?.to_str()?.to_ascii_lowercase();
        let language = slot.definition.language(&extension).unwrap_or_default().to_owned();
        Some(Self { path: change.path.clone(), language, before, after: text(&change.after)? })
    }
}

/// The server is told of all old texts before it is asked, and of all new ones: else it would find in one
/// file what the others still lack.
async fn changed_findings(
    slot: &Arc<LspSlot>,
    changes: &[ChangedText],
) -> Result<FoundByFile, String> {
    let session = slot.session().await?;
    let _checking = session.checking.lock().await;
    let gone = |error: LspError| error.to_string();
    let mut old = Vec::new();
    for change in changes {
        // A new file has had no findings.
        let synced = match &change.before {
            None => None,
            Some(before) => {
                let file = (change.path.as_path(), &*change.language);
                Some(session.sync(file, before, None).await.map_err(gone)?)
            }
        };
        old.push(synced);
    }
    let mut known = Vec::new();
    for (change, synced) in changes.iter().zip(old) {
        known.push(match synced {
            None => Some(Arc::default()),
            Some(synced) => session.findings(&change.path, synced, FINDINGS_LIMIT).await,
        });
    }
    let changed: Vec<&Path> = changes.iter().map(|it| it.path.as_path()).collect();
    let known_elsewhere = session.findings_elsewhere(&changed).await;
    let mut new = Vec::new();
    for change in changes {
        let is_new = change.before.is_none();
        let event = if is_new { LspFileEvent::Created } else { LspFileEvent::Changed };
        let file = (change.path.as_path(), &*change.language);
        new.push(session.sync(file, &change.after, Some(event)).await.map_err(gone)?);
    }
    session.sync_open().await.map_err(gone)?;
    let mut all = Vec::new();
    for ((change, known), synced) in changes.iter().zip(known).zip(new) {
        let found = session.findings(&change.path, synced, FINDINGS_LIMIT).await;
        // Without both nobody can say what is new.
        let (Some(known), Some(found)) = (known, found) else { continue };
        let before = change.before.as_deref().unwrap_or_default();
        let new = new_findings(
            LspFindings { text: before, items: &known },
            LspFindings { text: &change.after, items: &found },
        );
        all.push((change.path.clone(), new));
    }
    session.settle().await;
    let mut files = 0;
    for (path, found) in session.findings_elsewhere(&changed).await {
        let Some(known) = known_elsewhere.get(&path) else { continue };
        let text = session.text(&path).await.unwrap_or_default();
        let mut new = new_findings(
            LspFindings { text: &text, items: known },
            LspFindings { text: &text, items: &found },
        );
        new.retain(|it| it.severity == LspSeverity::Error);
        if !new.is_empty() && files < MAX_ELSEWHERE {
            files += 1;
            all.push((path, new));
        }
    }
    all.retain(|(_, new)| !new.is_empty());
    Ok(all)
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
            let found = move || match check[..] {
                [] => Vec::new(),
                [..] => vec![(PathBuf::from("/w/a"), check)],
            };
            late.run(vec![(ticket, path.clone())], |_| "a".into(), async move { found() })
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
        drop(late.run(vec![(ticket, path.clone())], |_| "a".into(), async {
            finished.await.unwrap();
            vec![(PathBuf::from("/w/a"), finding())]
        }));
        late.begin(&path);
        finish.send(()).unwrap();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        assert_eq!(late.take(), None);
    }
}
