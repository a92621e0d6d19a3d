//! The worker thread: runs jobs one after another, and continues code that has grown.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use syntect::parsing::SyntaxSet;

use super::tokens::{CodeLexer, ScopeClassifier, find};
use super::{HighlightJob, HighlightState, HighlighterShared, MAX_RECENT, SyntaxToken};

/// How often the lines of a long block are published while it is read.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// Code that was read up to the end of a line.
struct LexedCode {
    language: Arc<str>,
    code: String,
    lexer: CodeLexer,
    lines: Vec<Arc<[SyntaxToken]>>,
}

/// Runs jobs until the owner is gone.
pub(super) fn run(shared: &HighlighterShared) {
    let syntaxes = two_face::syntax::extra_newlines();
    let mut classifier = ScopeClassifier::new();
    let mut recent: VecDeque<LexedCode> = VecDeque::new();
    while let Some(job) = shared.next() {
        let continued = recent.iter().position(|progress| progress.is_start_of(&job));
        let progress = match continued.and_then(|index| recent.remove(index)) {
            Some(progress) => progress,
            None => match find(&syntaxes, &job.language) {
                Some(syntax) => LexedCode::new(&job, CodeLexer::new(syntax)),
                None => {
                    shared.publish(&job, [].into(), HighlightState::Final);
                    continue;
                }
            },
        };
        let Some(progress) = progress.finish(&job, shared, &syntaxes, &mut classifier) else {
            return;
        };
        if recent.len() == MAX_RECENT {
            recent.pop_front();
        }
        recent.push_back(progress);
    }
}

impl LexedCode {
    fn new(job: &HighlightJob, lexer: CodeLexer) -> Self {
        Self { language: Arc::clone(&job.language), code: String::new(), lexer, lines: Vec::new() }
    }

    fn is_start_of(&self, job: &HighlightJob) -> bool {
        self.language == job.language && job.code.starts_with(&self.code)
    }

    /// Reads the rest of the job; `None` when the owner is gone meanwhile.
    fn finish(
        mut self,
        job: &HighlightJob,
        shared: &HighlighterShared,
        syntaxes: &SyntaxSet,
        classifier: &mut ScopeClassifier,
    ) -> Option<Self> {
        let mut published = Instant::now();
        let mut open = None;
        for line in job.code[self.code.len()..].split_inclusive('\n') {
            if shared.closing.load(Ordering::Acquire) {
                return None;
            }
            if line.ends_with('\n') {
                self.lines.push(self.lexer.line(line, syntaxes, classifier));
                self.code.push_str(line);
            } else {
                // The line may grow in the next version, so its end state is not kept.
                open = Some(self.lexer.clone().line(line, syntaxes, classifier));
            }
            if published.elapsed() >= PUBLISH_EVERY {
                let so_far = HighlightJob { code: self.code.as_str().into(), ..job.clone() };
                shared.publish(&so_far, self.lines.as_slice().into(), HighlightState::Pending);
                published = Instant::now();
            }
        }
        let lines = self.lines.iter().cloned().chain(open).collect();
        shared.publish(job, lines, HighlightState::Final);
        Some(self)
    }
}
