//! A disk that fails, for the tests of the rooms that write: the call that is counted down to gives
//! an error, on this thread alone.

use std::cell::Cell;
use std::io;

thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work` with its `call`-th call to the disk failing, counted from 0. `None` when there are
/// fewer calls, so that every one has failed once when this is reached.
pub fn with_failing_call<T>(call: usize, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(Some(call));
    let done = work();
    LEFT.replace(None).is_none().then_some(done)
}

/// Before each call.
pub fn step() -> io::Result<()> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => {
            LEFT.set(None);
            Err(io::Error::other("injected"))
        }
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}
