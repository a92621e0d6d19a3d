//! A failing disk for tests of the rooms that write: one chosen call to the disk gives an error, on
//! the current thread only.

use std::cell::Cell;
use std::io;

thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work`, in which the `call`-th call to the disk fails, counted from 0. Returns `None` if
/// `work` makes fewer calls: a loop that ends there has made each call fail once.
pub fn with_failing_call<T>(call: usize, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(Some(call));
    let done = work();
    LEFT.replace(None).is_none().then_some(done)
}

/// Called before each call to the disk; counts down to the one that fails.
///
/// # Errors
///
/// Fails with the error "injected" if this is the call that [`with_failing_call`] chose.
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
