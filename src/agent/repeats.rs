//! Detects repeated calls: the same call with the same result, again and again.
//!
//! Small models fall into such loops and do not leave them by themselves. After two identical
//! results slug asks the user about the third identical call: go on, or stop. In a headless run, and
//! where the call could not run anyway, it is not run; the model is told so instead, and a model that
//! still repeats it ends its turn.
//! After a call that may have changed something, all other calls count from zero again. A call that
//! sleeps, or a look at a job that runs, waits for something to change, so it may come to the same
//! result far more often; and so may the calls before a wait, which look again after it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::domain::{CallInput, ContentHash, JobState, ToolAccess, ToolCall, ToolOutput};
use crate::session::ModelFailure;
use crate::tools::{SHELL_TOOL, SLEEP_TOOL};

use super::call_plan::CallFootprint;
use super::repeated_failures::RepeatedFailures;

/// How often a call may have the same result within a turn.
const MAX_SAME_RESULTS: u32 = 2;

/// How often a look at a job that runs, or a call that sleeps, may have the same result within a
/// turn.
const MAX_SAME_POLLS: u32 = 100;

/// How many repeated calls of a turn are answered with a note to the model. After the next one the
/// turn ends.
const MAX_NOTES: u32 = 3;

/// The results of the calls of one turn, to find repetitions.
#[derive(Debug, Default)]
pub(super) struct RepeatedCalls {
    seen: Mutex<HashMap<ContentHash, RepeatedResult>>,
    notes: AtomicU32,
    /// Why the turn ends, once it does.
    hopeless: Mutex<Option<ModelFailure>>,
    /// Calls that fail in the same way, each with other arguments.
    pub(super) failures: RepeatedFailures,
}

#[derive(Debug)]
struct RepeatedResult {
    result: ContentHash,
    times: u32,
    /// After how many of them the user has let the model go on.
    accepted: u32,
    /// Whether the call looked at a job that runs, or the model waited after it.
    is_pending: bool,
}

impl RepeatedCalls {
    /// How often a call has had the same result; `None` as long as it may run again.
    pub(super) fn repeat_count(&self, call: &ToolCall) -> Option<u32> {
        let seen = self.lock();
        let RepeatedResult { times, accepted, is_pending, .. } = seen.get(&key(call)?)?;
        let most = if *is_pending || sleeps(call) { MAX_SAME_POLLS } else { MAX_SAME_RESULTS };
        (times - accepted >= most).then_some(*times)
    }

    /// Counts a repeated call that is answered with a note to the model.
    pub(super) fn count_note(&self) {
        let before = self.notes.fetch_add(1, Ordering::Relaxed);
        if before >= MAX_NOTES {
            self.give_up(ModelFailure::RepeatedCalls);
        }
    }

    /// Ends the turn after the calls of this response. The first reason stays.
    pub(super) fn give_up(&self, why: ModelFailure) {
        self.hopeless.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Why the turn ends, because what the model is told does not help; `None` as long as it may go on.
    pub(super) fn hopeless(&self) -> Option<ModelFailure> {
        *self.hopeless.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the model as many tries again: the user has said something.
    pub(super) fn begin_anew(&self) {
        self.notes.store(0, Ordering::Relaxed);
        *self.hopeless.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.failures.forget_all();
    }

    /// Lets the model repeat this call as often again, because the user says so.
    pub(super) fn go_on(&self, call: &ToolCall) {
        let Some(key) = key(call) else { return };
        if let Some(result) = self.lock().get_mut(&key) {
            result.accepted = result.times;
        }
    }

    /// Notes the result of a call that ran.
    pub(super) fn note(&self, call: &ToolCall, accesses: &[ToolAccess], output: &ToolOutput) {
        let Some(key) = key(call) else { return };
        if may_have_changed(accesses, output) {
            self.lock().retain(|other, _| *other == key);
        }
        if call.name == SLEEP_TOOL {
            self.lock().values_mut().for_each(|result| result.is_pending = true);
        }
        self.note_unrun(call, output);
    }

    /// Notes what the model is told about a call that was not run, and so has changed nothing.
    pub(super) fn note_unrun(&self, call: &ToolCall, output: &ToolOutput) {
        let Some(key) = key(call) else { return };
        let result = ContentHash::of(output.observation.as_bytes());
        let is_pending = matches!(output.job, Some(JobState::Running(_)));
        let mut seen = self.lock();
        match seen.get_mut(&key) {
            Some(before) if before.result == result => before.times += 1,
            Some(_) | None => {
                seen.insert(key, RepeatedResult { result, times: 1, accepted: 0, is_pending });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ContentHash, RepeatedResult>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which calls of one response are the same as a call before them, with nothing in between that may
/// have changed what they come to. A look at what goes on by itself, and a command that sleeps, may stand
/// there more than once.
pub(super) fn repeated_within(calls: &[ToolCall], footprints: &[CallFootprint]) -> Vec<bool> {
    let mut since: Vec<&ToolCall> = Vec::new();
    calls
        .iter()
        .zip(footprints)
        .map(|(call, footprint)| {
            let is_same =
                |other: &&ToolCall| (&other.name, &other.input) == (&call.name, &call.input);
            let polls = *footprint == CallFootprint::Polls || sleeps(call);
            if since.iter().any(is_same) && !polls {
                return true;
            }
            if footprint.may_change() {
                since.clear();
            }
            since.push(call);
            false
        })
        .collect()
}

/// Whether a call may have changed something. A command can change things and then fail; a write
/// that failed has changed nothing.
fn may_have_changed(accesses: &[ToolAccess], output: &ToolOutput) -> bool {
    let known = accesses.iter().any(|access| match access {
        ToolAccess::Write(_) => !output.status.is_error(),
        other => !other.is_read(),
    });
    known || accesses.is_empty()
}

/// Whether a call waits, or is a command that sleeps, as in `sleep 5; status`.
fn sleeps(call: &ToolCall) -> bool {
    let CallInput::Valid(input) = &call.input else { return false };
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    let is_end = |c: char| c.is_whitespace() || ";&|()".contains(c);
    let is_command = call.name == SHELL_TOOL && command.split(is_end).any(|word| word == "sleep");
    is_command || call.name == SLEEP_TOOL
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
    use crate::domain::{CallId, JobId};

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
    fn the_third_identical_call_with_identical_results_is_a_repetition() {
        let repeats = RepeatedCalls::default();
        let read = call("Read", "a");
        for _ in 0..2 {
            assert_eq!(repeats.repeat_count(&read), None);
            repeats.note(&read, &reads(), &ToolOutput::text("same"));
        }
        assert!(repeats.repeat_count(&read).is_some());
        assert_eq!(repeats.repeat_count(&call("Read", "b")), None);
        repeats.go_on(&read);
        for _ in 0..2 {
            assert_eq!(repeats.repeat_count(&read), None);
            repeats.note(&read, &reads(), &ToolOutput::text("same"));
        }
        assert_eq!(repeats.repeat_count(&read), Some(4), "all of them are counted");
    }

    #[test]
    fn after_three_notes_a_model_that_repeats_its_calls_is_given_up() {
        let repeats = RepeatedCalls::default();
        for _ in 0..3 {
            repeats.count_note();
            assert_eq!(repeats.hopeless(), None);
        }
        repeats.count_note();
        repeats.give_up(ModelFailure::RepeatedFailures);
        assert_eq!(repeats.hopeless(), Some(ModelFailure::RepeatedCalls));
        repeats.begin_anew();
        repeats.count_note();
        assert_eq!(repeats.hopeless(), None, "the user has said something");
    }

    #[test]
    fn a_call_that_was_not_run_has_changed_nothing() {
        let repeats = RepeatedCalls::default();
        let (read, refused) = (call("Read", "a"), call("Bash", "b"));
        for _ in 0..2 {
            repeats.note(&read, &reads(), &ToolOutput::text("same"));
            repeats.note_unrun(&refused, &ToolOutput::failed("no rule allows it"));
        }
        assert_eq!(repeats.repeat_count(&read), Some(2));
        assert_eq!(repeats.repeat_count(&refused), Some(2));
    }

    #[test]
    fn equal_calls_in_one_response_run_once_unless_something_changes_between_them() {
        let command = |command: &str| ToolCall {
            input: CallInput::Valid(json!({"command": command})),
            ..call("Bash", "")
        };
        let broken = || ToolCall { input: CallInput::Invalid("{".into()), ..call("Read", "") };
        let read = || (call("Read", "a"), false);
        let run = |text: &str| (command(text), true);
        for (calls, expected) in [
            (
                vec![read(), read(), (call("Read", "b"), false), read()],
                vec![false, true, false, true],
            ),
            (vec![run("make"), run("make"), run("make")], vec![false, true, true]),
            (vec![run("make"), (call("Write", "a"), true), run("make")], vec![false; 3]),
            (vec![read(), run("make"), read()], vec![false; 3]),
            (vec![run("sleep 1; s"), run("sleep 1; s")], vec![false; 2]),
            (vec![(broken(), false), (broken(), false)], vec![false, true]),
        ] {
            let footprint = |changes| match changes {
                true => CallFootprint::Unknown,
                false => CallFootprint::Reads(Vec::new()),
            };
            let calls = calls.into_iter().map(|(call, changes)| (call, footprint(changes)));
            let (calls, footprints): (Vec<ToolCall>, Vec<_>) = calls.unzip();
            assert_eq!(repeated_within(&calls, &footprints), expected, "{calls:?}");
        }
    }

    #[test]
    fn a_look_at_a_job_is_no_repetition_as_long_as_the_job_runs() {
        let look = call("Look", "");
        let twice = [look.clone(), look.clone()];
        let polls = [CallFootprint::Polls, CallFootprint::Polls];
        assert_eq!(repeated_within(&twice, &polls), [false, false]);

        let repeats = RepeatedCalls::default();
        let nothing = [ToolAccess::Nothing];
        let output = |job, text| ToolOutput::text(text).with_job(job);
        for _ in 0..20 {
            assert_eq!(repeats.repeat_count(&look), None);
            repeats.note(&look, &nothing, &output(JobState::Running(JobId(7)), "nothing new"));
        }
        for _ in 0..2 {
            assert_eq!(repeats.repeat_count(&look), None);
            repeats.note(&look, &nothing, &output(JobState::Ended(JobId(7)), "it has ended"));
        }
        assert_eq!(repeats.repeat_count(&look), Some(2));
    }

    #[test]
    fn another_result_resets_the_count() {
        let repeats = RepeatedCalls::default();
        let read = call("Read", "a");
        for text in ["one", "two", "three", "four"] {
            assert_eq!(repeats.repeat_count(&read), None);
            repeats.note(&read, &reads(), &ToolOutput::text(text));
        }
    }

    #[test]
    fn polling_is_not_the_same_call_again() {
        let command = |command: &str| ToolCall {
            input: CallInput::Valid(json!({"command": command})),
            ..call("Bash", "")
        };
        let run = [ToolAccess::foreground(String::new(), "/w")];
        for (text, may_poll) in [
            ("sleep 5; ./status", true),
            ("(sleep 5&&gh run view 7)", true),
            ("while true; do sleep 1; done", true),
            ("gh run view 7", false),
            ("echo sleepy; cat sleep.txt", false),
        ] {
            let repeats = RepeatedCalls::default();
            for _ in 0..10 {
                repeats.note(&command(text), &run, &ToolOutput::text("in progress"));
            }
            assert_eq!(repeats.repeat_count(&command(text)).is_none(), may_poll, "{text}");
        }
        let repeats = RepeatedCalls::default();
        for _ in 0..MAX_SAME_POLLS {
            repeats.note(&command("sleep 5"), &run, &ToolOutput::text(""));
        }
        assert_eq!(repeats.repeat_count(&command("sleep 5")), Some(MAX_SAME_POLLS));
    }

    #[test]
    fn what_is_looked_at_again_after_a_wait_is_no_repetition() {
        let repeats = RepeatedCalls::default();
        let look = call("Read", "log");
        let wait =
            ToolCall { input: CallInput::Valid(json!({"seconds": 5})), ..call(SLEEP_TOOL, "") };
        for _ in 0..10 {
            repeats.note(&look, &reads(), &ToolOutput::text("not yet"));
            assert_eq!(repeats.repeat_count(&wait), None);
            repeats.note(&wait, &[ToolAccess::Nothing], &ToolOutput::text("5 s have passed."));
            assert_eq!(repeats.repeat_count(&look), None);
        }
        for _ in 10..MAX_SAME_POLLS {
            repeats.note(&look, &reads(), &ToolOutput::text("not yet"));
        }
        assert_eq!(repeats.repeat_count(&look), Some(MAX_SAME_POLLS));
    }

    #[test]
    fn after_a_change_all_other_calls_may_run_again() {
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
    fn a_failed_command_may_have_changed_something_and_a_failed_write_has_not() {
        let run = [ToolAccess::foreground("make", "/w")];
        let write = [ToolAccess::Write("/w/b".into())];
        for (accesses, may_repeat) in [(&run, true), (&write, false)] {
            let repeats = RepeatedCalls::default();
            let read = call("Read", "a");
            for _ in 0..2 {
                repeats.note(&read, &reads(), &ToolOutput::text("same"));
            }
            repeats.note(&call("Other", "b"), accesses, &ToolOutput::failed("no"));
            assert_eq!(repeats.repeat_count(&read).is_none(), may_repeat, "{accesses:?}");
        }
    }
}
