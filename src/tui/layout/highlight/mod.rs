//! Highlights code off the UI thread: code shows plain until its colours have arrived.
//!
//! A request never waits. Code that is not highlighted yet is queued for one worker thread, which
//! loads the syntaxes for the first code, and which raises the generation and calls the callback
//! whenever it has something new. Code that grows, as a streaming block does, is continued where
//! the worker left it. Results are tokens, not colours, and their cache is bounded.

mod tokens;
mod worker;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::clock_cache::ClockCache;
use super::{HighlightState, SyntaxTokenKind};

/// Code above this many bytes stays plain.
const MAX_BYTES: usize = 512 * 1024;
/// Code above this many lines stays plain.
const MAX_LINES: usize = 10_000;
/// Code with a line above this many bytes stays plain.
const MAX_LINE: usize = 4 * 1024;
/// Bytes of results that are kept.
const CACHE_BYTES: usize = 8 * 1024 * 1024;
/// Most blocks that wait. Beyond that the oldest are dropped, and requested again when shown.
const MAX_QUEUE: usize = 64;
/// Results that are remembered so that grown code can be continued.
const MAX_RECENT: usize = 4;

/// A run of one kind in a line of code. It begins where the previous token ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxToken {
    /// End of the token in its line, in bytes.
    pub end: u32,
    pub syntax: SyntaxTokenKind,
}

/// The tokens that are known for a piece of code.
#[derive(Debug, Clone, Default)]
pub struct HighlightResult {
    lines: Option<Arc<[Arc<[SyntaxToken]>]>>,
    pub colours: HighlightState,
}

impl HighlightResult {
    /// How many lines, counted from the first, have tokens.
    pub fn len(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.len())
    }

    /// Whether no line has tokens yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of a line; empty where they are not known.
    pub fn line(&self, index: usize) -> &[SyntaxToken] {
        self.lines.as_ref().and_then(|lines| lines.get(index)).map_or(&[], |tokens| tokens)
    }
}

/// Gives code its colours. Owns the worker thread, and joins it when dropped.
pub struct SyntaxHighlighter {
    shared: Option<Arc<HighlighterShared>>,
}

/// The state that the UI thread and the worker share.
struct HighlighterShared {
    state: Mutex<HighlighterState>,
    wake: Condvar,
    generation: AtomicU64,
    closing: AtomicBool,
    hasher: RandomState,
    notify: Box<dyn Fn() + Send + Sync>,
}

struct HighlighterState {
    worker: HighlightWorker,
    queue: VecDeque<HighlightJob>,
    /// The job that the worker is running.
    current: Option<HighlightKey>,
    done: ClockCache<HighlightKey, HighlightResult>,
    /// The last results, for code that has grown since. The newest is the last.
    recent: VecDeque<RecentCode>,
}

enum HighlightWorker {
    /// Not started: no code was requested yet.
    Idle,
    Running(JoinHandle<()>),
    /// The system could not start a thread.
    Failed,
}

/// Hash of code and language, and the length of both.
type HighlightKey = (u64, usize);

#[derive(Clone)]
struct HighlightJob {
    key: HighlightKey,
    language: Arc<str>,
    code: Arc<str>,
}

struct RecentCode {
    language: Arc<str>,
    code: Arc<str>,
    lines: Arc<[Arc<[SyntaxToken]>]>,
}

impl SyntaxHighlighter {
    /// A highlighter that calls `notify`, from its own thread, whenever it has new tokens.
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        let state = HighlighterState {
            worker: HighlightWorker::Idle,
            queue: VecDeque::new(),
            current: None,
            done: ClockCache::new(CACHE_BYTES),
            recent: VecDeque::new(),
        };
        Self {
            shared: Some(Arc::new(HighlighterShared {
                state: Mutex::new(state),
                wake: Condvar::new(),
                generation: AtomicU64::new(0),
                closing: AtomicBool::new(false),
                hasher: RandomState::new(),
                notify: Box::new(notify),
            })),
        }
    }

    /// A highlighter that leaves all code plain, for screens without colours.
    pub fn off() -> Self {
        Self { shared: None }
    }

    /// A number that rises whenever there are new tokens.
    pub fn generation(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.generation.load(Ordering::Acquire))
    }

    /// Whether code waits for its colours.
    pub fn is_working(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| {
            let state = shared.lock();
            !matches!(state.worker, HighlightWorker::Failed)
                && (state.current.is_some() || !state.queue.is_empty())
        })
    }

    /// The tokens of `code` that are known now; the rest is queued. `language` is the word after a
    /// fence, a file extension or a file name.
    pub fn highlight(&self, language: &str, code: &str) -> HighlightResult {
        let Some(shared) = &self.shared else { return HighlightResult::default() };
        if tokens::is_plain(language) || exceeds_limits(code) {
            return HighlightResult::default();
        }
        let key = (shared.hasher.hash_one((language, code)), language.len() + code.len());
        let mut state = shared.lock();
        if let Some(done) = state.done.get(&key) {
            return done.clone();
        }
        let lines = state.prefix(language, code);
        if matches!(state.worker, HighlightWorker::Idle) {
            state.worker = HighlighterShared::start(shared);
        }
        if matches!(state.worker, HighlightWorker::Failed) {
            return HighlightResult::default();
        }
        if state.current != Some(key) {
            state.enqueue(HighlightJob { key, language: language.into(), code: code.into() });
            shared.wake.notify_one();
        }
        HighlightResult { lines, colours: HighlightState::Pending }
    }
}

impl std::fmt::Debug for SyntaxHighlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter")
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl Drop for SyntaxHighlighter {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        let worker = {
            let mut state = shared.lock();
            shared.closing.store(true, Ordering::Release);
            std::mem::replace(&mut state.worker, HighlightWorker::Failed)
        };
        shared.wake.notify_all();
        if let HighlightWorker::Running(thread) = worker
            && thread.join().is_err()
        {
            tracing::error!("the highlighting thread panicked");
        }
    }
}

impl HighlighterShared {
    fn start(shared: &Arc<Self>) -> HighlightWorker {
        let own = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("highlight".into());
        match thread.spawn(move || worker::run(&own)) {
            Ok(thread) => HighlightWorker::Running(thread),
            Err(error) => {
                tracing::warn!(%error, "no thread for highlighting; code stays plain");
                HighlightWorker::Failed
            }
        }
    }

    /// Locks the state. A poisoned lock is used all the same: a panic elsewhere leaves the state
    /// usable.
    fn lock(&self) -> MutexGuard<'_, HighlighterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next block, newest first; `None` when the owner is gone.
    fn next(&self) -> Option<HighlightJob> {
        let mut state = self.lock();
        state.current = None;
        loop {
            if self.closing.load(Ordering::Acquire) {
                return None;
            }
            if let Some(job) = state.queue.pop_back() {
                state.current = Some(job.key);
                return Some(job);
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes the tokens so far visible to the screen.
    fn publish(
        &self,
        job: &HighlightJob,
        lines: Arc<[Arc<[SyntaxToken]>]>,
        colours: HighlightState,
    ) {
        {
            let mut state = self.lock();
            if colours == HighlightState::Final {
                let bytes =
                    lines.iter().map(|line| 32 + line.len() * size_of::<SyntaxToken>()).sum();
                let done = HighlightResult { lines: Some(Arc::clone(&lines)), colours };
                state.done.insert(job.key, done, bytes);
            }
            let (language, code) = (Arc::clone(&job.language), Arc::clone(&job.code));
            state.remember(RecentCode { language, code, lines });
        }
        self.generation.fetch_add(1, Ordering::Release);
        (self.notify)();
    }
}

impl HighlighterState {
    /// The tokens of the longest recent code that `code` begins with.
    fn prefix(&self, language: &str, code: &str) -> Option<Arc<[Arc<[SyntaxToken]>]>> {
        let known = self.recent.iter().filter(|recent| *recent.language == *language);
        let known = known.filter(|recent| code.starts_with(&*recent.code));
        known.max_by_key(|recent| recent.lines.len()).map(|recent| Arc::clone(&recent.lines))
    }

    fn remember(&mut self, new: RecentCode) {
        self.recent.retain(|old| old.language != new.language || !new.code.starts_with(&*old.code));
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(new);
    }

    fn enqueue(&mut self, job: HighlightJob) {
        self.queue.retain(|old| old.language != job.language || !job.code.starts_with(&*old.code));
        if self.queue.len() == MAX_QUEUE {
            self.queue.pop_front();
        }
        self.queue.push_back(job);
    }
}

fn exceeds_limits(code: &str) -> bool {
    code.len() > MAX_BYTES
        || code.split('\n').enumerate().any(|(at, line)| at >= MAX_LINES || line.len() > MAX_LINE)
}

#[cfg(test)]
mod tests;
