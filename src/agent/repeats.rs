//! Calls that lead nowhere: the same call with the same result, again and again.
//!
//! Small models fall into such loops and do not get out by themselves. After two identical results
//! the third identical call is a question to the person: go on, or stop. Where nobody is there to
//! ask it is answered with a word to the model instead of being run, and a model that does not
//! listen ends its turn. Any call that may have changed something makes every other worth
//! repeating.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::{CallInput, ContentHash, ToolAccess, ToolCall, ToolOutput};

/// How often a call may come to the same result within a turn.
const SAME_RESULTS: u32 = 2;

/// How many such calls are answered with a word where nobody can be asked. A model that makes yet
/// another one hears no words.
const WORDS: u32 = 3;

/// What the calls of one turn have come to.
#[derive(Debug, Default)]
pub(super) struct RepeatedCalls {
    seen: Mutex<HashMap<ContentHash, RepeatedResult>>,
    words: AtomicU32,
}

/// What becomes of a call that leads nowhere, where nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatAction {
    /// The model is told so.
    TellModel,
    /// The turn ends.
    EndTurn,
}

#[derive(Debug)]
struct RepeatedResult {
    result: ContentHash,
    times: u32,
}

impl RepeatedCalls {
    /// How often a call has led nowhere, where that is often enough to stop.
    pub(super) fn repeat_count(&self, call: &ToolCall) -> Option<u32> {
        let times = self.lock().get(&key(call)?)?.times;
        (times >= SAME_RESULTS).then_some(times)
    }

    /// Such a call has come where nobody can be asked.
    pub(super) fn next_action(&self) -> RepeatAction {
        let before = self.words.fetch_add(1, Ordering::Relaxed);
        if before < WORDS { RepeatAction::TellModel } else { RepeatAction::EndTurn }
    }

    /// The person lets the model go on with it: it counts anew.
    pub(super) fn forget(&self, call: &ToolCall) {
        if let Some(key) = key(call) {
            self.lock().remove(&key);
        }
    }

    /// Takes note of a result.
    pub(super) fn note(&self, call: &ToolCall, accesses: &[ToolAccess], output: &ToolOutput) {
        let Some(key) = key(call) else { return };
        let result = ContentHash::of(output.observation.as_bytes());
        let mut seen = self.lock();
        if may_have_changed(accesses, output) {
            seen.retain(|other, _| *other == key);
        }
        match seen.get_mut(&key) {
            Some(before) if before.result == result => before.times += 1,
            Some(_) | None => {
                seen.insert(key, RepeatedResult { result, times: 1 });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ContentHash, RepeatedResult>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command may change things and then fail; a write that failed has changed nothing.
fn may_have_changed(accesses: &[ToolAccess], output: &ToolOutput) -> bool {
    let known = accesses.iter().any(|access| match access {
        ToolAccess::Write(_) => !output.status.is_error(),
        other => !other.is_read(),
    });
    known || accesses.is_empty()
}

fn key(call: &ToolCall) -> Option<ContentHash> {
    match &call.input {
        CallInput::Valid(input) => {
            Some(ContentHash::of(format!("{}\n{input}", call.name).as_bytes()))
        }
        CallInput::Invalid(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::CallId;

    fn call(name: &str, path: &str) -> ToolCall {
        ToolCall {
            id: CallId::generate(),
            name: name.into(),
            input: CallInput::Valid(json!({"file_path": path})),
        }
    }

    fn reads() -> Vec<ToolAccess> {
        vec![ToolAccess::Read("/w/a".into())]
    }

    #[test]
    fn the_third_identical_call_with_identical_results_is_not_worth_running() {
        let repeats = RepeatedCalls::default();
        let read = call("Read", "a");
        for _ in 0..2 {
            assert_eq!(repeats.repeat_count(&read), None);
            repeats.note(&read, &reads(), &ToolOutput::text("same"));
        }
        assert!(repeats.repeat_count(&read).is_some());
        assert_eq!(repeats.repeat_count(&call("Read", "b")), None);
        repeats.forget(&read);
        assert_eq!(repeats.repeat_count(&read), None);
    }

    #[test]
    fn another_result_begins_anew() {
        let repeats = RepeatedCalls::default();
        let read = call("Read", "a");
        for text in ["one", "two", "three", "four"] {
            assert_eq!(repeats.repeat_count(&read), None);
            repeats.note(&read, &reads(), &ToolOutput::text(text));
        }
    }

    #[test]
    fn after_a_change_everything_else_is_worth_repeating() {
        let repeats = RepeatedCalls::default();
        let read = call("Read", "a");
        for _ in 0..2 {
            repeats.note(&read, &reads(), &ToolOutput::text("same"));
        }
        let writes = [ToolAccess::Write("/w/b".into())];
        repeats.note(&call("Write", "b"), &writes, &ToolOutput::text("written"));
        assert_eq!(repeats.repeat_count(&read), None);
    }

    #[test]
    fn a_command_that_failed_may_have_changed_something_and_a_write_may_not() {
        let run = [ToolAccess::Run { command: "make".into(), cwd: "/w".into() }];
        let write = [ToolAccess::Write("/w/b".into())];
        for (accesses, worth_it) in [(&run, true), (&write, false)] {
            let repeats = RepeatedCalls::default();
            let read = call("Read", "a");
            for _ in 0..2 {
                repeats.note(&read, &reads(), &ToolOutput::text("same"));
            }
            repeats.note(&call("Other", "b"), accesses, &ToolOutput::failed("no"));
            assert_eq!(repeats.repeat_count(&read).is_none(), worth_it, "{accesses:?}");
        }
    }
}
